"""`discover`: from claims to a `Result`; and `judge` and `update`, with what was learned before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from reprlib import repr as short
from typing import Any

from veracity.algorithms import Algorithm, algorithm_named
from veracity.algorithms.item_features import ItemFeatures
from veracity.algorithms.parameters import require_share
from veracity.algorithms.source_features import SourceFeatures
from veracity.answers import answer, as_result, require_sound, with_kinds_of_items
from veracity.engines import Engine
from veracity.errors import ParameterError, TooLarge
from veracity.fit.fitted import Fitted
from veracity.fit.judging import judge_all
from veracity.fit.loop import Learned, prior_rates, survey_of
from veracity.opening import AnyClaims, engine_for, is_spark, opened
from veracity.preparing import Clock, Prepared, prepare
from veracity.printing import counted
from veracity.progress import Progress, no_progress, shows_progress
from veracity.reading.normalise import Normalise
from veracity.reading.options import ReadOptions, SourceFrom, Wide
from veracity.reading.schema import Kind
from veracity.result import Result

USUAL_ALGORITHM: dict[Kind, str] = {
    "categorical": "veracity",
    "multiple": "veracity",
    "binary": "veracity",
    "numeric": "gtm",
}
"""What answers where no algorithm is named."""


@shows_progress
def discover(  # noqa: PLR0913 - all that can be said of a run, by name
    claims: object,
    algorithm: Algorithm[Any] | str | None = None,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    kind: Kind | None = None,
    known: object | None = None,
    normalise: Normalise = False,
    wide: Wide | None = None,
    source_from: SourceFrom | None = None,
    samples: bool = False,
    encoding: str | None = None,
    source_features: object | None = None,
    item_features: object | None = None,
    min_plausibility: float | None = None,
    seed: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find which values are true, how sure that is, and how far each source can be trusted.

    Parameters
    ----------
    claims
        A path (CSV, TSV, Parquet, JSON, Arrow, Excel; a folder, a glob or a list of them), a polars
        or pandas frame, an Arrow table, anything else with an Arrow stream, a list of dictionaries,
        a Spark frame, the address of a database with a table (``sqlite:///file.db#claims``), or
        what `read_claims` or `read_database` returned.
    algorithm
        An algorithm or the name of one; `Veracity` unless said otherwise, or `GTM` for numbers.
    columns
        Which column plays which part, e.g. ``{"source": "website"}``, if names do not show it.
        The part "time" lets only the newest claim of a source count; "weight" is how much a claim
        counts: a confidence, or a count.
    kind
        "categorical" (one value of an item is true, the default), "multiple" (several may be),
        "binary" (rows say that a fact is true or false), or "numeric" (values are numbers, and so
        is the truth, which need not have been claimed by anybody).
    known
        Known truths, in any form that claims can have: their items keep them, and the sources are
        calibrated on them.
    normalise
        Whether values that mean the same, such as ``7:05 PM`` and ``19:05``, are brought to one
        spelling; or what the values of some attributes are, e.g. ``{"departure": "time"}``; the
        others are recognised. `Result.changes` lists what was changed.
    wide
        "attributes" if a row is all that a source says about an entity, with a column for each
        attribute, or "sources" if there is a column for each source: these two are recognised where
        they are plain. "entities" if a row is all that a source says, with a column for each
        entity. "samples" if a source was asked several times, with a column for each of its answers
        to one question; or, for "multiple", a column for each of its values.
    source_from
        "filename" if each file is a source, "sheet" if each sheet of a workbook is one, "table" if
        each of several tables of a database is.
    samples
        Whether rows of one source about one item are samples, as of a model that was asked several
        times: each value counts by its share.
    encoding
        The encoding of text files; UTF-8, or what they show to be another, unless given.
    source_features
        What is known about the sources besides their claims, in any form that claims can have: a
        column with their names, the others with numbers or text. Sources with few claims borrow
        from similar ones, and `Result.features` shows what each feature is worth.
    item_features
        What is known about the items: columns entity and, where it is needed, attribute, the others
        with numbers or text. Sources may be better on some kinds of items than on others.
    min_plausibility
        Leave the value of an item empty if its plausibility is below this. For "multiple",
        the threshold above which a value counts as true (0.5 unless given).
    seed
        The seed of random numbers, instead of the algorithm's own; questions are drawn by it, too.
    engine
        Where the work is done; this machine, on all cores, unless said otherwise. The work on a
        Spark frame is done where it lives.
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
    engine = engine_for(claims, engine)
    chosen = None if algorithm is None else chosen_algorithm(algorithm, seed, engine)
    _check_min_plausibility("discover", min_plausibility)
    described = {"source_features": source_features, "item_features": item_features}
    if chosen is not None:
        _require_use(chosen, described, kind)
    tell = progress or no_progress
    prepared = prepare(
        claims,
        columns=columns,
        kind=kind,
        known=known,
        normalise=normalise,
        wide=wide,
        source_from=source_from,
        samples=samples,
        encoding=encoding,
        tell=tell,
        engine=engine,
        algorithm=chosen,
    )
    chosen = chosen or chosen_algorithm(USUAL_ALGORITHM[prepared.table.kind], seed, engine)
    _check_min_plausibility("discover", min_plausibility, prepared.table.kind)
    chosen, prepared = _describing(chosen, described, prepared)
    result = answer(prepared, chosen, engine, tell, min_plausibility)
    result.run = replace(result.run, seed=seed or 0)
    return result


def _require_use(
    algorithm: Algorithm[Any], described: Mapping[str, object | None], kind: Kind | None
) -> None:
    """Refuse features for an algorithm that does not learn from them."""
    own = {own.name for own in fields(algorithm)}  # type: ignore[arg-type]
    for name, data in described.items():
        if data is not None and name not in own:
            raise ParameterError(
                f"{algorithm.name} has no use for features of {name.partition('_')[0]}s: leave out "
                f"{name}{_instead(name, algorithm.kinds if kind is None else (kind,))}"
            )


def _instead(features: str, kinds: Sequence[Kind]) -> str:
    """What takes such features of claims of these kinds."""
    if kinds == ("numeric",) and features == "source_features":
        return "; of numbers, what is known of sources goes into a prior of errors, for ltd-rbm-n"
    if kinds == ("numeric",):
        return "; no algorithm for numbers learns from them"
    return ", or take veracity"


def _describing(
    algorithm: Algorithm[Any], described: Mapping[str, object | None], prepared: Prepared
) -> tuple[Algorithm[Any], Prepared]:
    """The algorithm with features of sources and items, and what is to be said of these."""
    _require_use(algorithm, described, prepared.table.kind)
    given: dict[str, Any] = {}
    notes, columns = list(prepared.notes), prepared.table.columns
    if described["source_features"] is not None:
        features = SourceFeatures.read(described["source_features"], columns)
        own = (*features.notes, *features.notes_on(prepared.encoded.names.sources))
        notes += [f"source features: {note}" for note in own]
        given["source_features"] = features
    if described["item_features"] is not None:
        given["item_features"] = ItemFeatures.read(described["item_features"], columns)
        notes += [f"item features: {note}" for note in given["item_features"].notes]
    if not given:
        return algorithm, prepared
    return replace(algorithm, **given), replace(prepared, notes=tuple(notes))  # type: ignore[type-var]


def judge(
    fitted: Fitted,
    claims: object,
    how: ReadOptions,
    min_plausibility: float | None,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Result:
    """`Fitted.judge`: an answer without learning."""
    _check_min_plausibility("judge", min_plausibility, fitted.kind)
    tell, engine = progress or no_progress, engine_for(claims, engine)
    algorithm = fitted.algorithm
    prepared = with_kinds_of_items(_prepare_for(fitted, claims, how, engine, tell), algorithm)
    clock, encoded = Clock(), prepared.encoded
    grown = fitted.grown(encoded.names)
    state, names = grown.state, grown.names
    with prepared.engine.hold(encoded.blocks) as held:
        survey = survey_of(held, encoded.kind, names)
        tell("judging", 0, 1)
        judged = judge_all(held, algorithm, state, encoded.kind, names.n_sources)
    require_sound(judged, state)
    clock.lap("learn")
    learned = Learned(survey=survey, prior=prior_rates(algorithm, survey), state=state)
    result = as_result(prepared, grown, judged, learned, min_plausibility, clock)
    result.run = replace(result.run, judged=True)
    return result


def update(
    fitted: Fitted,
    claims: object,
    how: ReadOptions,
    min_plausibility: float | None,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Result:
    """`Fitted.update`: go on learning from new claims."""
    _check_min_plausibility("update", min_plausibility, fitted.kind)
    tell, engine = progress or no_progress, engine_for(claims, engine)
    prepared = _prepare_for(fitted, claims, how, engine, tell)
    return answer(prepared, fitted.algorithm, engine, tell, min_plausibility, fitted.kept)


def knowing_more(fitted: Fitted, **described: object | None) -> Fitted:
    """The fit, with features of further sources and items, if there are any."""
    given: dict[str, Any] = {}
    for name, data in described.items():
        if data is None:
            continue
        known = getattr(fitted.algorithm, name)
        if known is None:
            raise ParameterError(
                f"the fit learned nothing of features: leave out {name}, or discover with them"
            )
        given[name] = known.with_more(data, fitted.columns)
    return replace(fitted, algorithm=replace(fitted.algorithm, **given)) if given else fitted  # type: ignore[type-var]


def _prepare_for(
    fitted: Fitted,
    claims: object,
    how: ReadOptions,
    engine: Engine,
    tell: Progress,
) -> Prepared:
    """New claims, normalised as the old ones were, and numbered as they are."""
    if isinstance(claims, AnyClaims) and claims.kind != fitted.kind:
        raise ParameterError(f"the fit is of {fitted.kind} claims, these are {claims.kind} ones")
    claims = opened(claims, how, engine, like=fitted)
    prepared = prepare(claims, tell=tell, engine=engine)
    if prepared.encoded.names.n_unnumbered and not fitted.names.n_unnumbered:
        raise TooLarge(
            f"{prepared.table.origin}: the fit knows "
            f"{counted(len(fitted.names.labels), 'value')}, and these claims name more than "
            f"{prepared.encoded.names.n_unnumbered:,}; hand them over in portions"
        )
    encoded = prepared.encoded.numbered_as(fitted.names)
    n_met, n_all = len(fitted.names.sources), len(encoded.names.sources)
    notes = prepared.notes
    if n_all > n_met:
        new = counted(n_all - n_met, "source was", "sources were")
        like = "as the mean of the known ones"
        if fitted.algorithm.source_features is not None:
            like = "as their features say"
        notes = (*notes, f"{new} not known before, and counted {like}")
    return replace(prepared, encoded=encoded, notes=notes)


def chosen_algorithm(
    algorithm: Algorithm[Any] | str, seed: int | None = None, engine: Engine | None = None
) -> Algorithm[Any]:
    """The algorithm that was asked for, with the seed if it takes one.

    Where a name is all that was said, it is the form that suits the engine.
    """
    chosen = algorithm
    if isinstance(chosen, str):
        chosen = algorithm_named(chosen)
        chosen = chosen.by_sweeps() if is_spark(engine) else chosen
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
    if seed is None or "seed" not in (field.name for field in fields(chosen)):  # type: ignore[arg-type]
        return chosen
    return replace(chosen, seed=seed)  # type: ignore[type-var]


def _check_min_plausibility(
    owner: str, min_plausibility: float | None, kind: Kind | None = None
) -> None:
    if min_plausibility is None:
        return
    require_share(owner, min_plausibility=min_plausibility)
    if kind == "numeric":
        raise ParameterError(f"{owner}: min_plausibility is not for numeric claims")
