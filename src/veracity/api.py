"""The pipeline: open, choose, encode, learn, judge, compare alternatives, tabulate.

`discover`, `judge` and `update` take claims as users have them. `prepare` encodes claims once for
any number of algorithms, and `answer` lets one of them answer.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, TypeGuard, Unpack

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm, algorithm_named
from veracity.algorithms.catalogue import by_sweeps
from veracity.algorithms.item_features import ItemFeatures, with_kinds
from veracity.algorithms.parameters import require_share
from veracity.algorithms.source_features import SourceFeatures
from veracity.alike import (
    Alikeness,
    ancestors_of,
    kinds_of,
    learned_alikeness,
    merged_notes,
    with_merged_originals,
)
from veracity.checks import QUICK, Evidence, run_checks
from veracity.encoding.known import with_known
from veracity.encoding.partitions import Encoded, PartitionKey
from veracity.engines import Engine, Local, threads_of
from veracity.errors import EngineError, InputError, ParameterError, TooLarge, UnreadableFile
from veracity.fit.alternatives import Alternative, chosen_by_known_truths, compare_alternatives
from veracity.fit.fitted import Fitted
from veracity.fit.judging import Judged, judge_all
from veracity.fit.keeping import HalfLife, faded, revised
from veracity.fit.loop import Learned, learn, prior_rates, survey_of
from veracity.fit.ruled import examples_of, require_fit
from veracity.fit.watch import Watch, counts_by_others
from veracity.io.addresses import is_database
from veracity.io.frames import is_spark_frame
from veracity.io.memory import release_memory
from veracity.io.paths import OTHER_SUFFIXES, STANDARD_INPUT
from veracity.io.text_files import JSON_SUFFIXES
from veracity.kernels import MAX_CLAIMS_NUMPY
from veracity.logic.factors import rows_of, with_marks
from veracity.logic.rules import Rules
from veracity.naming import as_text
from veracity.printing import counted, did_you_mean, in_short, some
from veracity.progress import LOG, Progress, no_progress, shows_progress
from veracity.reading import claims as local_claims
from veracity.reading.claims import Claims, read_truths_beside
from veracity.reading.normalise import Normalise
from veracity.reading.normalise.alike import AlikeKind
from veracity.reading.options import AlikeChoice, ReadArguments, ReadOptions, SourceFrom, Wide
from veracity.reading.plan import asked_before
from veracity.reading.roles import Kind, carries_more
from veracity.reading.spark import SparkClaims, open_on_spark
from veracity.result import Result
from veracity.result.alternatives import described
from veracity.result.history import with_batch
from veracity.result.run import Input, Run, describe_parameters
from veracity.result.tables import Tables, tabulate
from veracity.trees import grown, merged, merged_all, to_arrays

if TYPE_CHECKING:
    import polars as pl

    from veracity.engines.spark import Spark

AnyClaims = Claims | SparkClaims
"""Claims that were opened: they are read when they are encoded."""

USUAL_ALGORITHM: dict[Kind, str] = {
    "categorical": "veracity",
    "multiple": "veracity",
    "binary": "veracity",
    "numeric": "gtm",
}
"""The algorithm for each kind of claims, unless another is named."""


@dataclass(frozen=True)
class Prepared:
    """Claims ready for any algorithm: opened, encoded, with the known truths."""

    table: AnyClaims
    encoded: Encoded
    engine: Engine
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    asked: tuple[dict[str, Any], ...] = ()
    """The questions whose answers are among the known truths: see `Run.asked`."""
    rules: Rules | None = None

    def with_notes(self, *notes: str) -> Prepared:
        """Return a copy with further notes."""
        return replace(self, notes=(*self.notes, *notes))


# --- the pipeline ---------------------------------------------------------------------------------


@shows_progress
def discover(  # noqa: PLR0913 - every option of a run, by name
    claims: object,
    algorithm: Algorithm[Any] | str | None = None,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    kind: Kind | None = None,
    known: object | None = None,
    truth_columns: Mapping[str, str | list[str]] | None = None,
    normalise: Normalise = False,
    no_value: Sequence[str] = (),
    wide: Wide | None = None,
    source_from: SourceFrom | None = None,
    samples: bool = False,
    encoding: str | None = None,
    alike: AlikeChoice = None,
    hierarchy: object | None = None,
    source_features: object | None = None,
    item_features: object | None = None,
    rules: object | None = None,
    min_plausibility: float | None = None,
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find the true values, their plausibility, and the reliability of each source.

    Parameters
    ----------
    claims
        A path (CSV, TSV, Parquet, JSON, Arrow, Excel; a folder, a glob or a list of them), a polars
        or pandas frame, an Arrow table, anything else with an Arrow stream, a list of dictionaries,
        a Spark frame, the address of a database with a table (``sqlite:///file.db#claims``), or the
        return value of `read_claims` or `read_database`.
    algorithm
        An algorithm or its name; by default `Veracity`, or `GTM` for numbers.
    columns
        Column of each role, e.g. ``{"source": "website"}``, if names do not show it. With the role
        "time", only the newest claim of a source counts. The role "weight" is the weight of a
        claim: a confidence, or a count.
    kind
        "categorical" (one value of an item is true, the default), "multiple" (several may be),
        "binary" (rows call a fact true or false), or "numeric" (values are numbers, and the truth
        is a number that no source need have claimed).
    known
        Known truths, in any form that claims can have. Their items get these values, and the
        sources are calibrated on them.
    truth_columns
        Column of known truths for each role, e.g. ``{"entity": "id", "value": "gold"}``, if names
        do not show it.
    normalise
        True to write values of the same meaning, such as ``7:05 PM`` and ``19:05``, in one
        spelling; or the types of the values of some attributes, e.g. ``{"departure": "time"}``; the
        others are recognised. `Result.changes` lists the changes.
    no_value
        Texts that stand for a missing value, e.g. ``["k.A.", "9999"]``: their claims are left out,
        normalised or not.
    wide
        "attributes" if a row has a source and an entity, with a column for each attribute, or
        "sources" if there is a column for each source: these two are recognised where they are
        clear. "entities" if a row has a source, with a column for each entity. "samples" if a
        source was asked several times, with a column for each of its answers to one question; or,
        for "multiple", a column for each of its values.
    source_from
        "filename" if each file is a source, "sheet" if each sheet of a workbook is one, "table" if
        each of several tables of a database is.
    samples
        True if rows of one source about one item are samples, as of a model that was asked several
        times: each value counts by its share.
    encoding
        The encoding of text files; by default UTF-8, or another that is recognised.
    alike
        True to merge text values that say the same, and to count those that say less ("Hutton" for
        "Hutton, David V.") as brief forms of the fuller ones; by default, if they are normalised.
        "words", "spellings", "people" or "numbers" compares all values so, and a mapping those of
        some attributes. A function of two lists of values returns a matrix of shares: of what each
        value says, the other says, too.
    hierarchy
        Table with the columns value and parent, or a list of paths such as ``Europe/Italy/Milan``:
        a claim of a region counts as a less precise form of each place in it.
    source_features
        Features of the sources, in any form that claims can have: a column with their names, the
        others with numbers or text. Sources with few claims are expected to be like similar ones,
        and `Result.features` shows the effect of each feature.
    item_features
        Features of the items: columns entity and, where it is needed, attribute, the others with
        numbers or text. Sources may be better on some kinds of items than on others.
    rules
        Rules between the values of an entity: the path of a TOML file, or a list of tables such as
        ``{"compare": "departure < arrival"}``. Their strengths are learned unless they are given.
    min_plausibility
        Leave the value of an item empty if its plausibility is below this. For "multiple",
        the threshold above which a value counts as true (0.5 unless given).
    seed
        The seed of random numbers, instead of the algorithm's own; also for drawing questions.
    engine
        The engine; by default this machine, with all cores. A Spark frame is processed by its
        Spark.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> import polars as pl
    >>> claims = pl.DataFrame({
    ...     "source": ["a", "b", "c"], "entity": ["x"] * 3, "value": ["1", "1", "2"]})
    >>> discover(claims, "majority-vote").truths["value"].to_list()
    ['1']
    """
    progress, engine = progress or no_progress, engine_for(claims, engine)
    table = open_claims(
        claims, engine, columns=columns, kind=kind, normalise=normalise, no_value=no_value,
        wide=wide, source_from=source_from, samples=samples, encoding=encoding,
        alike=alike, hierarchy=hierarchy,
    )  # fmt: skip
    _check_min_plausibility("discover", min_plausibility, table.kind)
    chosen = suited(chosen_algorithm(algorithm, table.kind, seed, engine), table)
    features = {"source_features": source_features, "item_features": item_features}
    chosen, read_rules = _with_features(chosen, table, features), None
    if rules is not None:
        read_rules, chosen = Rules.read(rules), by_sweeps(chosen)
        require_fit(chosen, table.kind)

    prepared = prepare(
        table, known, truth_columns=truth_columns, engine=engine, progress=progress,
        key="item" if rules is None else "entity",
    )  # fmt: skip
    prepared = _with_rules(prepared, read_rules, chosen)
    notes = _notes_on_features(chosen, features, prepared.encoded)
    result = answer(prepared.with_notes(*notes), chosen, progress, min_plausibility)
    result.run = replace(result.run, seed=seed or 0)
    return _logged("discover", result)


def judge(
    fitted: Fitted,
    claims: object,
    *,
    min_plausibility: float | None = None,
    source_features: object | None = None,
    item_features: object | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadArguments],
) -> Result:
    """Judge new claims by an earlier fit; nothing is learned."""
    progress, engine = progress or no_progress, engine_for(claims, engine)
    _check_min_plausibility("judge", min_plausibility, fitted.kind)
    fitted = _with_more_features(fitted, source_features, item_features)
    table = open_claims(claims, engine, like=fitted, **options)
    prepared = _prepare_like(fitted, table, engine, progress)
    prepared = _with_rules(prepared, fitted.rules, fitted.algorithm)
    prepared = _with_kinds_of_items(prepared, fitted.algorithm)

    timer, encoded = Timer(), prepared.encoded
    fitted = fitted.grown(encoded.names)
    with engine.hold(encoded.blocks) as held:
        survey, algorithm = survey_of(held, encoded), fitted.algorithm
        prior = prior_rates(algorithm, survey)
        learned = Learned(
            algorithm=algorithm, survey=survey, prior=prior, state=fitted.state,
            rules=prepared.rules,
        )  # fmt: skip
        progress("judging", 0, 1)
        judged = judge_all(held, learned)
    _check_finite(judged, learned.state)
    timer.stop("learn")
    result = _tabulated(prepared, fitted, learned, judged, min_plausibility, timer)
    result.run = replace(result.run, judged=True)
    return _logged("judge", result)


def update(
    fitted: Fitted,
    claims: object,
    *,
    withdrawn: object | None = None,
    half_life: HalfLife = None,
    min_plausibility: float | None = None,
    source_features: object | None = None,
    item_features: object | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadArguments],
) -> Result:
    """Learn from new claims as well; of items that they do not name, the sums count."""
    progress, engine = progress or no_progress, engine_for(claims, engine)
    _check_min_plausibility("update", min_plausibility, fitted.kind)
    _refuse_rules(fitted)
    fitted = _with_more_features(fitted, source_features, item_features)
    table = open_claims(claims, engine, like=fitted, **options)
    algorithm = suited(fitted.algorithm, table)
    prepared = _prepare_like(fitted, table, engine, progress)
    prepared = _with_kinds_of_items(prepared, algorithm)
    encoded, taken_back = prepared.encoded, None
    if withdrawn is not None:
        rows = open_claims(withdrawn, engine, like=fitted, **options)
        taken_back = engine.encode(rows, progress).numbered_as(encoded.names)  # type: ignore[arg-type]
    new = encoded
    before = faded(fitted, half_life, encoded.n_claims, encoded.until)
    before, encoded, notes = revised(before, encoded, taken_back, engine)
    prepared = replace(prepared, encoded=encoded).with_notes(*notes)
    result = answer(prepared, algorithm, progress, min_plausibility, before=before, new=new)
    return _logged("update", result)


def _logged(work: str, result: Result) -> Result:
    """Write a line about a result to the log, and a warning for each finding."""
    given, seconds = result.run.input, sum(result.run.seconds.values())
    sizes = given.claims, given.sources, given.items
    LOG.info("%s: %d claims of %d sources about %d items in %.2f s", work, *sizes, seconds)
    for finding in result.run.findings:
        LOG.warning("%s: %s", finding["name"], finding["seen"])
    return result


def settle(
    fitted: Fitted,
    *,
    min_plausibility: float | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Result:
    """Learn again from all claims that a fit has at hand."""
    progress, engine = progress or no_progress, engine or Local()
    _check_min_plausibility("settle", min_plausibility, fitted.kind)
    _refuse_rules(fitted)
    if fitted.claims is None:
        raise InputError(
            "the earlier claims are not at hand, so there is nothing to learn again from; run "
            "discover on all claims"
        )
    encoded = replace(fitted.claims, names=fitted.names, alikeness=fitted.alikeness)
    none = Claims.of_rows(encoded.example.items.clear(), fitted.kind, "the claims of the fit")
    none.columns, none.normalisation = fitted.columns, fitted.normalisation
    none.no_value, none.rows_read = fitted.no_value, encoded.n_claims
    prepared = Prepared(none, encoded, engine, (), {})
    result = answer(prepared, fitted.algorithm, progress, min_plausibility, settles=fitted)
    plans, again = fitted.plans, result.fitted
    assert again is not None
    result.fitted = replace(again, plans=plans, until=fitted.until)
    given = replace(result.run.input, plans=[dict(plan) for plan in plans])
    result.run = replace(result.run, input=given)
    return _logged("settle", result)


def prepare(
    claims: object,
    known: object | None = None,
    *,
    truth_columns: Mapping[str, str | list[str]] | None = None,
    engine: Engine | None = None,
    progress: Progress = no_progress,
    like: Alikeness | None = None,
    key: PartitionKey = "item",
    **options: Unpack[ReadArguments],
) -> Prepared:
    """Read and encode claims once, for any number of algorithms; options are as for `discover`.

    `key` is "entity" if blocks have to hold whole entities, as rules need it.
    """
    engine = engine_for(claims, engine)
    progress("reading", 0, 1)
    timer = Timer()
    table = open_claims(claims, engine, **options)
    read_before = table.seconds if table is claims else 0.0  # not by this timer
    truths, read_notes = (
        (None, []) if known is None else read_truths_beside(table, known, truth_columns)
    )
    encoded = engine.encode(table, progress, key)  # type: ignore[arg-type] # Spark's are for Spark alone
    notes = [*table.notes, *encoded.notes, *_notes_on_repeated(table, encoded)]
    encoded, more_notes = _with_alike(encoded, table, like)
    notes += more_notes
    asked: tuple[dict[str, Any], ...] = ()
    if truths is not None:
        encoded, match_notes = with_known(encoded, truths)
        asked = asked_before(truths, encoded.example.items.columns)
        notes += [f"known: {note}" for note in (*read_notes, *match_notes)]
    timer.stop("encode")
    encoding = timer.seconds["encode"] - table.seconds + read_before
    seconds = {"read": round(table.seconds, 4), "encode": round(encoding, 4)}
    return Prepared(table, encoded, engine, tuple(notes), seconds, asked)


def _with_alike(
    encoded: Encoded, table: AnyClaims, like: Alikeness | None
) -> tuple[Encoded, list[str]]:
    """Merge the values of each item that mean the same, and find those that say less."""
    choice = table.alike
    is_wanted = table.hierarchy is not None or (bool(table.normalisation) and choice is not False)
    if encoded.kind != "categorical" or not (is_wanted or choice or like):
        return encoded, []
    if like is None:
        kinds, said = kinds_of(table.normalisation), _said_alike(choice, encoded)
        like = Alikeness()
        if callable(choice):
            like = Alikeness(function=choice)
        elif choice or (table.normalisation and choice is None):
            like = learned_alikeness(
                encoded, kinds, said, usual="text" if choice is True else "unchanged"
            )
        if table.hierarchy is not None:
            like = replace(like, ancestors=ancestors_of(table.hierarchy))
    if not like:
        return encoded, []
    encoded, found = encoded.with_alike(replace(like, lists_claims=encoded.is_in_memory))
    originals = with_merged_originals(table.originals, found, encoded.names.sources)
    changes, notes = merged_notes(found)
    if table.hierarchy is not None and not any(one.n_parts for one in found):
        notes.append(
            "hierarchy: no item has a value together with one above it; the hierarchy changes "
            "nothing if it writes values in another way than the claims"
        )
    changes = changes.select(
        "attribute", pl.lit("text").alias("kind"), "before", "after",
        pl.lit("merged").alias("change"), "claims",
    )  # fmt: skip
    together = changes if table.changes is None else pl.concat([table.changes, changes])
    return replace(encoded, alikeness=like, changes=together, originals=originals), notes


def _said_alike(choice: AlikeChoice, encoded: Encoded) -> Mapping[str, AlikeKind]:
    """Return the kinds that the user gave, by attribute; refuse attributes that are not there."""
    names = as_text(encoded.names.attributes).to_list() or [""]
    if isinstance(choice, str):
        return dict.fromkeys(names, choice)
    said = choice if isinstance(choice, Mapping) else {}
    for name in said:
        if name not in names:
            near = did_you_mean(str(name), names) or "name attributes as the claims do"
            if names == [""]:
                near = "give one kind for all values, such as alike='words'"
            raise ParameterError(f"alike: the claims have no attribute '{in_short(name)}'; {near}")
    return said


def answer(
    prepared: Prepared,
    algorithm: Algorithm[Any],
    progress: Progress = no_progress,
    min_plausibility: float | None = None,
    before: Fitted | None = None,
    new: Encoded | None = None,
    settles: Fitted | None = None,
) -> Result:
    """Run an algorithm that suits the claims; in an update, it continues learning.

    It learns, judges, is compared with other answers that the claims allow, and gets its names
    back; reasons to doubt the answer are looked for at the same time. Of an update's claims, those
    are `new` that are not earlier ones on the same items. A fit that it `settles` has its history.
    """
    prepared = _with_kinds_of_items(prepared, algorithm)
    other = chosen_by_known_truths(prepared.encoded, algorithm) if before is None else None
    if other is not None:
        assumption, algorithm = other
        prepared = prepared.with_notes(
            f"the claims allow two answers; the known truths agree with this one: {assumption}"
        )

    timer, table, encoded, engine = Timer(), prepared.table, prepared.encoded, prepared.engine
    with engine.hold(encoded.blocks) as held:
        survey = own = survey_of(held, encoded)
        if before is not None:
            survey = own._replace(counted=merged(own.counted, before.counted))
            n_own, n_all = own.claims_of_source.sum(), survey.claims_of_source.sum()
            survey = survey._replace(share_new=float(n_own / n_all))
        budget, is_normalised = (
            QUICK._replace(threads=threads_of(engine)),
            bool(table.normalisation),
        )
        evidence = Evidence(own, encoded, held, budget, are_normalised=is_normalised)
        with evidence.start():
            learned = learn(held, algorithm, survey, before, progress, prepared.rules)
            progress("judging", 0, 1)
            judged = judge_all(held, learned)
            learned, judged, others = compare_alternatives(held, encoded, learned, judged, progress)
            if before is not None:
                _check_finite(judged, learned.state)
            timer.stop("learn")
            fitted = Fitted(
                algorithm=algorithm,
                state=learned.state,
                names=encoded.names,
                kind=encoded.kind,
                counted=survey.counted,
                totals=learned.totals,
                rounds=len(learned.trace) + (0 if before is None else before.rounds),
                normalisation=table.normalisation,
                columns=dict(table.columns),
                plans=tuple(table.plans),
                no_value=tuple(table.no_value),
                alikeness=encoded.alikeness,
                rules=learned.rules,
                claims=encoded if before is None else before.claims,
                until=encoded.until if before is None else max(before.until, encoded.until),
                clock=0.0 if before is None else before.clock,
            )
            result = _tabulated(prepared, fitted, learned, judged, min_plausibility, timer, others)
        evidence.about(result, judged.plausibility)
        if settles is not None:
            _remember(result, fitted, settles.watch, settles.history)
        elif judged.plausibility:
            _watch(result, fitted, evidence, before, new)
        found = run_checks(evidence)
        result.run = replace(result.run, findings=[one.row() for one in found])
    if encoded.n_claims > MAX_CLAIMS_NUMPY:
        release_memory()  # what learning took: the tables that are written next need room
    return result


def _watch(
    result: Result,
    fitted: Fitted,
    evidence: Evidence,
    before: Fitted | None,
    new: Encoded | None,
) -> None:
    """Add the batch to the history of the sources, and notice which of them have changed."""
    n_sources, counts = fitted.names.n_sources, []
    for part, own in zip(evidence.sample.parts, evidence.sample_plausibility, strict=True):
        is_new, weights = None, fitted.algorithm.weigh(part.block, fitted.state)
        if new is not None and new.n_claims < evidence.encoded.n_claims:
            is_new = part.voices_in(new.parts, n_sources)
        found = counts_by_others(part.block, own, weights, fitted.kind, n_sources, is_new)
        counts.append(found)
    watch = None if before is None else before.watch
    watch = grown(watch, n_sources) if watch is not None else Watch.unseen(n_sources)
    watch, change = watch.after(merged_all(counts))
    earlier, items = None if before is None else before.history, (new or evidence.encoded)
    history = with_batch(earlier, result.tables.sources, change, items.items_of_source)
    _remember(result, fitted, watch, history)


def _remember(
    result: Result, fitted: Fitted, watch: Watch | None, history: pl.DataFrame | None
) -> None:
    """Keep the history of the sources with the result and with its fit."""
    result.tables = Tables(**{**vars(result.tables), "history": history})
    result.fitted = replace(fitted, watch=watch, history=history)


def _tabulated(
    prepared: Prepared,
    fitted: Fitted,
    learned: Learned,
    judged: Judged,
    min_plausibility: float | None,
    timer: Timer,
    others: Sequence[Alternative] = (),
) -> Result:
    """Put the names back, and describe the run."""
    table, encoded, algorithm = prepared.table, prepared.encoded, learned.algorithm
    n_learned = float(fitted.counted.supports_of_source.sum())
    counts = None if judged.met is None else judged.met.counts
    description = algorithm.describe(learned.state, counts)
    tables = tabulate(
        encoded, judged, learned, description, min_plausibility,
        n_learned=n_learned,
        changes=table.changes if encoded.changes is None else encoded.changes,
        originals=table.originals if encoded.originals is None else encoded.originals,
    )  # fmt: skip
    timer.stop("tabulate")
    notes, sources = [*prepared.notes], as_text(encoded.names.sources).to_list()
    if unknown := algorithm.prior.unknown(sources):
        notes.append(f"the prior names sources that make no claim: {some(unknown, 5)}")
    if learned.trace:
        notes += description.notes
    rules = []
    if learned.rules is not None and judged.rules is not None:
        examples = examples_of(encoded, learned.rules, judged.rules)
        rules = rows_of(learned.rules, judged.rules, examples, learned.rule_sums)
        n_all, n_loopy, n_unsettled = judged.rules.components.tolist()
        if n_loopy:
            notes.append(
                f"rules: {n_loopy:,} of {n_all:,} groups of items that rules connect are too large "
                f"for exact inference; messages settled in {n_loopy - n_unsettled:,} of them"
            )
    run = Run(
        algorithm=algorithm.name,
        parameters=describe_parameters(algorithm),
        kind=table.kind,
        normalisation=table.normalisation,
        alikeness=None if encoded.alikeness is None else encoded.alikeness.to_json(),
        input=Input(
            origin=table.origin,
            columns=dict(table.columns),
            shape=dict(table.shape),
            types=dict(table.types),
            plans=[dict(plan) for plan in table.plans],
            no_value=list(table.no_value),
            rows=table.rows_read,
            claims=encoded.n_claims,
            sources=int(np.count_nonzero(encoded.items_of_source)),  # an earlier fit knows others
            items=encoded.n_items,
            facts=encoded.n_facts,
            known=encoded.n_known,
        ),
        min_plausibility=min_plausibility,
        prevalence=None if description.rates is None else description.rates.prevalence,
        rounds=len(learned.trace),
        converged=learned.converged,
        tolerance=learned.tolerance,
        trace=learned.trace,
        seconds={**prepared.seconds, **timer.seconds},
        asked=list(prepared.asked),
        alternatives=[described(other) for other in others],
        rules=rules,
        notes=notes,
    )
    return Result(
        tables, run, table.frame_kind, fitted=fitted, encoded=encoded,
        plausibility=judged.plausibility if len(judged.plausibility) else None,
    )  # fmt: skip


class Timer:
    """Seconds of each phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stop(self, phase: str) -> None:
        """End a phase, and begin the next."""
        now = time.perf_counter()
        self.seconds[phase] = round(now - self._last, 4)
        self._last = now


# --- open -----------------------------------------------------------------------------------------


def engine_for(claims: object, engine: Engine | None) -> Engine:
    """Return the engine that was asked for, or this machine; that of a Spark frame is its own."""
    is_engine = all(hasattr(engine, part) for part in ("encode", "hold"))
    if engine is not None and (not is_engine or isinstance(engine, type)):
        raise ParameterError(
            f"engine must be an engine, such as Local(threads=2), got {short(engine)}"
        )
    if not is_spark_frame(claims):
        return engine or Local()
    if engine is None:
        engine = importlib.import_module(SPARK).Spark()
    if not is_spark(engine):
        raise ParameterError(
            "a Spark frame is processed by its own Spark: leave out engine, or pass "
            "veracity.Spark(...); to process it here, pass frame.toPandas() or frame.toArrow()"
        )
    if engine.session is not None:
        return engine
    return replace(engine, session=claims.sparkSession)  # type: ignore[attr-defined]


SPARK = "veracity.engines.spark"
"""The module that is loaded only where Spark is used."""


def is_spark(engine: Engine | None) -> TypeGuard[Spark]:
    """Return True if the engine is Spark; then somebody has loaded it."""
    loaded = sys.modules.get(SPARK)
    return loaded is not None and isinstance(engine, loaded.Spark)


_worked_in: list[int] = []
"""The process in which claims were opened first."""


READ_BEFORE = "columns, kind and normalise cannot be changed after the claims were read"


def refuse_arguments(options: ReadArguments) -> None:
    """Raise unless there are no arguments of reading: the claims were read already."""
    _check_names(options)
    if any(options.values()):
        raise ParameterError(READ_BEFORE)


def _check_names(options: ReadArguments) -> None:
    """Raise TypeError, as Python does, for an argument that there is not."""
    known = tuple(ReadArguments.__annotations__)
    for name in options:
        if name not in known:
            near = did_you_mean(name, known) or f"claims are read by {', '.join(known)}"
            raise TypeError(f"there is no argument '{name}'; {near}")


def open_claims(
    claims: object, engine: Engine, like: Fitted | None = None, **options: Unpack[ReadArguments]
) -> AnyClaims:
    """Find the claims in the input of `discover`; they are read when they are encoded.

    Those that an earlier fit is to judge are read like its own: of the same kind, by the names of
    columns it knows if they are there, with values normalised and spelt alike.
    """
    if not _worked_in:
        _worked_in.append(os.getpid())
    elif _worked_in[0] != os.getpid():
        raise EngineError(
            "this process was forked after veracity had been used, so Polars would wait for ever; "
            "start processes with multiprocessing.get_context('spawn')"
        )
    _check_names(options)
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if isinstance(claims, AnyClaims):
        if given.pop("kind", claims.kind) != claims.kind or any(given.values()):
            raise ParameterError(READ_BEFORE)
        if like is not None and claims.kind != like.kind:
            raise ParameterError(f"the fit is of {like.kind} claims, these are {claims.kind} ones")
        return claims
    how = ReadOptions(**given)
    if like is not None:
        settled = [name for name in ("kind", "normalise", "no_value") if given.get(name)]
        if settled:
            raise ParameterError(
                f"{settled[0]} is that of the fit and cannot be changed; leave it out: new claims "
                "are read like the old ones"
            )
        how = replace(
            how,
            kind=like.kind,
            likely=like.columns,
            likely_wide=like.likely_wide,
            normalise=False,
            no_value=like.no_value,
        )
    if is_spark_frame(claims) or (is_spark(engine) and _is_read_by_spark(claims)):
        assert is_spark(engine)
        found = open_on_spark(claims, None if is_spark_frame(claims) else engine.started(), how)
        if like is not None and like.normalisation is not None:
            return found.normalised_as(like.normalisation, like.values)
        return found if how.normalise is False else found.normalised(how.normalise)
    memory = getattr(engine, "allowed", None)
    if like is None:
        return local_claims.open_claims(claims, how, memory=memory)
    return local_claims.open_claims_like(
        claims, how, normalisation=like.normalisation, like=like.values, memory=memory
    )


def _is_read_by_spark(claims: object) -> bool:
    """Return True for a file that Spark reads; databases and other files are read here."""
    if not isinstance(claims, str | os.PathLike):
        return False
    path = os.fspath(claims)
    name = path.partition("#")[0].lower()
    is_other = name == STANDARD_INPUT or name.endswith((*JSON_SUFFIXES, *OTHER_SUFFIXES))
    return not is_database(path) and (not is_other or "://" in path)


def _refuse_rules(fitted: Fitted) -> None:
    if fitted.rules is not None:
        raise ParameterError(
            "the fit was learned under rules, which need all claims on an entity at once; run "
            "discover on all claims, with the rules"
        )


def _with_rules(prepared: Prepared, rules: Rules | None, algorithm: Algorithm[Any]) -> Prepared:
    """Add rules to the claims, if there are any."""
    if rules is None:
        return prepared
    encoded, bound = with_marks(prepared.encoded, rules, learns_shares=algorithm.learns_shares)
    return replace(prepared, encoded=encoded, rules=bound)


def _prepare_like(fitted: Fitted, table: AnyClaims, engine: Engine, progress: Progress) -> Prepared:
    """Read and encode new claims, and number their names as those of an earlier fit are."""
    key: PartitionKey = "item" if fitted.rules is None else "entity"
    prepared = prepare(table, engine=engine, progress=progress, like=fitted.alikeness, key=key)
    if prepared.encoded.names.n_unnumbered and not fitted.names.n_unnumbered:
        raise TooLarge(
            f"{table.origin}: the fit has "
            f"{counted(len(fitted.names.labels), 'value')}, and these claims have more than "
            f"{prepared.encoded.names.n_unnumbered:,}; judge them in portions"
        )
    encoded = prepared.encoded.numbered_as(fitted.names)
    prepared = replace(prepared, encoded=encoded)
    n_new = len(encoded.names.sources) - len(fitted.names.sources)
    if not n_new:
        return prepared
    has_features = fitted.algorithm.source_features is not None
    like = "as their features predict" if has_features else "as the mean of the known ones"
    new = counted(n_new, "source is new and counts", "sources are new and count")
    return prepared.with_notes(f"{new} {like}")


def _notes_on_repeated(table: AnyClaims, encoded: Encoded) -> list[str]:
    """Note repeated claims of one source on one item, with equal and with different values."""
    if isinstance(table, SparkClaims) or encoded.kind == "binary" or carries_more(table):
        return []  # what was left out, or counts by its share, has a note
    notes = []
    n_same = table.rows_kept - encoded.n_claims
    if n_same > 0:
        rows = counted(n_same, "duplicate row was", "duplicate rows were")
        notes.append(f"{rows} ignored")
    n_other = encoded.n_claims - sum(len(block.source_of_voice) for block in encoded.blocks)
    if n_other and encoded.kind != "multiple":
        more = counted(n_other, "claim contradicts another", "claims contradict another")
        notes.append(
            f"{more} claim of the same source on the same item; all of them count. To count only "
            "the newest, name a time column (--columns time=NAME); to divide the source's vote, "
            "use samples=True or --samples"
        )
    return notes


# --- choose ---------------------------------------------------------------------------------------


def chosen_algorithm(
    algorithm: Algorithm[Any] | str | None,
    kind: Kind = "categorical",
    seed: int | None = None,
    engine: Engine | None = None,
) -> Algorithm[Any]:
    """Return the requested or default algorithm, with the seed if it uses one.

    An algorithm given by name gets the form that suits the engine.
    """
    chosen: Any = USUAL_ALGORITHM[kind] if algorithm is None else algorithm
    if isinstance(chosen, str):
        chosen = algorithm_named(chosen)
        chosen = by_sweeps(chosen) if is_spark(engine) else chosen
    if isinstance(chosen, type) and hasattr(chosen, "kinds"):
        name = chosen.__name__
        raise ParameterError(
            f"algorithm must be an algorithm; {name} is a class; call it: {name}()"
        )
    if not hasattr(chosen, "kinds"):
        raise ParameterError(
            "algorithm must be an algorithm, such as Veracity(strength=4.0), or the name of one, "
            f"got {short(chosen)}"
        )
    if seed is None or "seed" not in _parameters_of(chosen):
        return chosen  # type: ignore[no-any-return]
    return replace(chosen, seed=seed)  # type: ignore[no-any-return]


def suited(algorithm: Algorithm[Any], table: AnyClaims) -> Algorithm[Any]:
    """Return the algorithm in a form for these claims, which counts their shares if they have any.

    Refuse one that is not for claims of their kind.
    """
    if table.kind not in algorithm.kinds:
        raise ParameterError(
            f"{algorithm.name} is for {' or '.join(algorithm.kinds)} claims, not {table.kind} "
            f"ones; choose another algorithm, or set kind='{algorithm.kinds[0]}' or --kind "
            f"{algorithm.kinds[0]}"
        )
    if not has_shares(table):
        return algorithm
    for form in (algorithm, by_sweeps(algorithm)):
        if form.takes_shares:
            return form
    raise ParameterError(
        f"{algorithm.name} counts every claim in full, so it takes no samples and no weights; "
        "choose another algorithm, such as veracity, or leave out samples and weights"
    )


def has_shares(table: AnyClaims) -> bool:
    """Return True if claims have weights or are samples, so that each counts by its share."""
    return table.kind != "numeric" and ("weight" in table.columns or "samples" in table.shape)


def _parameters_of(algorithm: Algorithm[Any]) -> set[str]:
    return {field.name for field in fields(algorithm)}  # type: ignore[arg-type]


def _with_features(
    algorithm: Algorithm[Any], table: AnyClaims, features: Mapping[str, object]
) -> Algorithm[Any]:
    """Return the algorithm with features of sources and items, if it learns from them."""
    given: dict[str, Any] = {}
    for name, data in features.items():
        if data is None:
            continue
        if name not in _parameters_of(algorithm):
            if table.kind != "numeric":
                advice = ", or use veracity"
            elif name == "source_features":
                advice = "; for numbers, give ltd-rbm-n a prior of the sources' errors"
            else:
                advice = "; no algorithm for numbers learns from them"
            raise ParameterError(f"{algorithm.name} does not use {name}: leave them out{advice}")
        reader = SourceFeatures if name == "source_features" else ItemFeatures
        given[name] = reader.read(data, table.columns)
    return replace(algorithm, **given) if given else algorithm  # type: ignore[type-var]


def _with_more_features(
    fitted: Fitted, source_features: object | None, item_features: object | None
) -> Fitted:
    """Return the fit with features of further sources and items, if there are any."""
    given: dict[str, Any] = {}
    for name, data in (("source_features", source_features), ("item_features", item_features)):
        if data is None:
            continue
        known = getattr(fitted.algorithm, name)
        if known is None:
            raise ParameterError(
                f"the fit was learned without {name}: leave them out, or discover with them"
            )
        given[name] = known.with_more(data, fitted.columns)
    return replace(fitted, algorithm=replace(fitted.algorithm, **given)) if given else fitted  # type: ignore[type-var]


def _notes_on_features(
    algorithm: Algorithm[Any], features: Mapping[str, object], encoded: Encoded
) -> list[str]:
    """Return notes on the features that were read, and on sources without any."""
    notes = []
    of_sources, of_items = algorithm.source_features, algorithm.item_features
    if features["source_features"] is not None and of_sources is not None:
        own = (*of_sources.notes, *of_sources.notes_on(encoded.names.sources))
        notes += [f"source features: {note}" for note in own]
    if features["item_features"] is not None and of_items is not None:
        notes += [f"item features: {note}" for note in of_items.notes]
    return notes


def _with_kinds_of_items(prepared: Prepared, algorithm: Algorithm[Any]) -> Prepared:
    """Add the kinds of items, where the algorithm has features of these."""
    if algorithm.item_features is None:
        return prepared
    encoded, notes = with_kinds(prepared.encoded, algorithm.item_features)
    prepared = replace(prepared, encoded=encoded)
    return prepared.with_notes(*(f"item features: {note}" for note in notes))


# --- check ----------------------------------------------------------------------------------------


def _check_min_plausibility(owner: str, min_plausibility: float | None, kind: Kind) -> None:
    if min_plausibility is None:
        return
    require_share(owner, min_plausibility=min_plausibility)
    if kind == "numeric":
        raise ParameterError(f"{owner}: min_plausibility is not for numeric claims")


def _check_finite(judged: Judged, state: object) -> None:
    """Raise an error for answers that are NaN: the fit may come from a damaged or forged file."""
    learned = [array for array in to_arrays(state).values() if array.dtype.kind == "f"]
    if not judged.is_sound or any(np.isnan(array).any() for array in learned):
        raise UnreadableFile(
            "the saved model gives no probabilities: its run is damaged or was edited; run "
            "discover on the claims again"
        )
