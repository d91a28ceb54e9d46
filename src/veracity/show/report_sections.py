"""Make the sections of a report, from the summary to how the answer was made."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from veracity._version import __version__
from veracity.encoding.block import SAME
from veracity.explain import Why
from veracity.inspect.checking import Health
from veracity.inspect.estimating import Estimate
from veracity.inspect.evaluation import Evaluation
from veracity.inspect.profiling import Profile
from veracity.naming import as_text, name_text
from veracity.printing import counted, in_short
from veracity.reading.roles import keys_of
from veracity.result import Result
from veracity.result.crowds import confusions_of
from veracity.result.intervals import LEVEL
from veracity.show.cells import number_text, sentence, share_text
from veracity.show.figures.base import Figure
from veracity.show.lookup import MOST_ITEMS, lookup_of
from veracity.show.of_inspection import NOT_ALL_IS_WELL, first_rows, section_of_finding
from veracity.show.of_result import accuracy_by_attribute, called_by_user, table_of_questions
from veracity.show.reproduce import command
from veracity.show.sections import Section, Table, sections_of

SURE = 0.95
"""Smallest plausibility of a value that is called sure."""

MOST_SOURCES = 1_000
"""Largest number of sources that are listed, those with most claims."""

MOST_ROWS = 100
"""Largest number of rows of other tables."""

MOST_LABELS = 20
LEAST_ITEMS_OF_LABEL = 5
"""Smallest number of items per label; with fewer, values do not count as labels."""

MOST_MATRICES = 12
"""Largest number of sources whose own confusions are shown, those with most claims."""

MEANINGS = {
    "accuracy": "share that is right; a tie counts in part",
    "log_loss": "mean of -log of the true value's plausibility; smaller is better",
    "brier": "squared distance of plausibilities from truth; smaller is better",
    "calibration_error": "distance of plausibilities from the share that is right; 0 is best",
    "precision": "share of the values taken for true that are true",
    "recall": "share of the true values that are taken for true",
    "f1": "precision and recall in one number",
    "mae": "mean distance of the estimates from the truths",
    "rmse": "root of the mean squared distance",
    "within": "share of estimates near enough, a tenth of a standard deviation by default",
}


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Content of a report. Without known truths there is no evaluation."""

    result: Result
    profile: Profile
    health: Health
    questions: pl.DataFrame
    explained: list[Why]
    figures: Mapping[str, Figure]
    evaluation: Evaluation | None
    vote: Evaluation | None
    scored: pl.DataFrame | None
    estimate: Estimate | None

    @property
    def called(self) -> dict[str, str]:
        """Return the user's names for the columns that name sources and items."""
        return called_by_user(self.result, ["source", *keys_of(self.result.tables.truths)])

    def things(self, number: int) -> str:
        """Return the word for the things asked about: items, or facts if claims are binary."""
        return ("fact" if self.result.kind == "binary" else "item") + "s" * (number != 1)


def report_sections(found: Findings) -> list[Section]:
    """Return the sections of a report in order, without empty ones."""
    sections = [
        summary(found),
        rightness(found),
        items_to_check(found),
        lookup(found),
        sources(found),
        labels(found),
        copies(found),
        data(found),
        making(found),
    ]
    return [section for section in sections if section is not None]


# --- summary --------------------------------------------------------------------------------------


def summary(found: Findings) -> Section:
    """Return what was found in numbers and sentences, and the warnings."""
    warnings = [section_of_finding(one) for one in found.health.findings]
    n = len(warnings)
    title = f"{counted(n, 'warning')} before you believe it" if n else "No check gave a warning"
    checks = Section(title=title, more=warnings, sentences=[] if n else [NOT_ALL_IS_WELL])
    parts = [_vote_is_better(found), checks]
    return Section(
        title="Summary", anchor="summary", numbers=_key_numbers(found), sentences=_words(found),
        more=[part for part in parts if part is not None],
    )  # fmt: skip


def _vote_is_better(found: Findings) -> Section | None:
    """Return a warning if known truths show that a majority vote is right more often."""
    ours, vote = (None if one is None else one.accuracy for one in (found.evaluation, found.vote))
    if ours is None or vote is None or vote <= ours:
        return None
    return Section(
        title=f"A plain majority vote is right more often here: {vote:.1%} of what is known, this "
        f"answer only {ours:.1%}.",
        tone="serious",
        sentences=[
            "Do not use the answer as it is: look at what is wrong below, give some of the truths "
            "as known, or compare other algorithms."
        ],
    )


def _key_numbers(found: Findings) -> list[tuple[str, str]]:
    given = found.result.run.input
    numbers = [
        (found.things(2), f"{given.items:,}"),
        ("sources", f"{given.sources:,}"),
        ("claims", f"{given.claims:,}"),
        ("contested", share_text(_count_contested(found.result) / max(given.items, 1))),
    ]
    if "plausibility" in found.result.tables.truths.columns:
        wrong = float((1.0 - _sureness(found.result)).sum())
        numbers.append(("expected to be wrong", _about(wrong)))
    if found.health.against_vote is not None:
        numbers.append(("unlike a vote", f"{found.health.against_vote.changed:,}"))
    if found.evaluation is not None and found.evaluation.accuracy is not None:
        numbers.append(("right, where truth is known", f"{found.evaluation.accuracy:.1%}"))
    if found.vote is not None and found.vote.accuracy is not None:
        numbers.append(("right, by a majority vote", f"{found.vote.accuracy:.1%}"))
    return numbers


def _words(found: Findings) -> list[str]:
    """Return the findings in sentences."""
    result = found.result
    sentences = [_given(found), *_sure_words(found)]
    if found.health.against_vote is not None:
        sentences.append(sentence(str(found.health.against_vote)))
    sentences += _best_and_worst(result.tables.sources)
    return sentences


def _given(found: Findings) -> str:
    given, n_contested = found.result.run.input, _count_contested(found.result)
    sources_make = counted(given.sources, "source makes", "sources make")
    things = f"{given.items:,} {found.things(given.items)}"
    start = f"{sources_make} {counted(given.claims, 'claim')} about {things}"
    if n_contested == 0:
        return f"{start}, and nobody contradicts another."
    verb = "is" if n_contested == 1 else "are"
    differ = share_text(n_contested / given.items)
    return f"{start}; {n_contested:,} of them ({differ}) {verb} contested."


def _count_contested(result: Result) -> int:
    """Count the items on which sources differ."""
    contested = result.tables.truths.filter("contested")
    return contested.select(keys_of(contested)).n_unique() if len(contested) else 0


def _sure_words(found: Findings) -> list[str]:
    """Describe how sure the answer is, and how many items have no answer."""
    result, truths = found.result, found.result.tables.truths
    if result.kind == "numeric":
        errors = truths["uncertainty"].drop_nulls()
        if errors.is_empty():
            return []
        half = float(errors.median())  # type: ignore[arg-type]
        return [f"The standard error of half of the estimates is {half:.3g} or less."]
    sureness = _sureness(result)
    n, n_sure, wrong = len(sureness), int((sureness >= SURE).sum()), float((1.0 - sureness).sum())
    things = "values" if result.kind == "multiple" else found.things(n)
    assumed = "If sources err independently of each other"
    if result.run.algorithm == "veracity" and result.kind == "categorical":
        assumed = "If sources share no more mistakes than in most data"
    how_many = "hardly any is" if wrong < 0.5 else f"about {_about(wrong)} of the {n:,} are"
    sentences = [
        f"The answer is at least {SURE:.0%} plausible for {n_sure:,} of {n:,} {things} "
        f"({share_text(n_sure / n)}). {assumed}, {how_many} wrong."
    ]
    n_empty = truths["value"].null_count()
    if n_empty:
        verb = "is" if n_empty == 1 else "are"
        what = found.things(n_empty)
        sentences.append(f"{n_empty:,} {what} {verb} left without a value: none is plausible.")
    return sentences


def _about(number: float) -> str:
    return "less than 1" if 0.0 < number < 0.5 else f"{number:,.0f}"


def _sureness(result: Result) -> pl.Series:
    """Return the plausibility of each answer, whether it is that a fact is true or false."""
    if result.kind == "categorical":
        return result.tables.truths["plausibility"]
    p = result.tables.facts["plausibility"]
    least = result.run.min_plausibility if result.kind == "multiple" else None
    is_true = p >= (0.5 if least is None else least)
    return pl.select(pl.when(is_true).then(p).otherwise(1.0 - p)).to_series()


def _best_and_worst(sources: pl.DataFrame) -> list[str]:
    """Name the best and the worst source, if the claims show them."""
    if len(sources) < 2:
        return []
    if "deviation" in sources.columns:
        ranked = sources.sort("deviation", maintain_order=True)
        best, worst = (ranked.row(row, named=True) for row in (0, -1))
        return [
            f"{_name(best)} is nearest to the estimates on the whole, {_name(worst)} farthest "
            "from them."
        ]
    known = sources.drop_nulls("accuracy")
    if len(known) < 2 or "accuracy_low" not in known.columns:
        return []
    best = known.sort("accuracy_low", descending=True, maintain_order=True).row(0, named=True)
    worst = worst_first(known).row(0, named=True)
    return [
        f"The most reliable source is {_name(best)}, right in {_interval(best)} of its claims; "
        f"the least reliable is {_name(worst)}, right in {_interval(worst)} "
        f"({LEVEL:.0%} intervals)."
    ]


def _name(source: dict[str, Any]) -> str:
    return in_short(name_text(source["source"]))


def _interval(source: dict[str, Any]) -> str:
    low, high = (f"{source[f'accuracy_{end}'] * 100:.0f}" for end in ("low", "high"))
    return f"{low}%" if low == high else f"{low} to {high}%"


# --- how right it is ------------------------------------------------------------------------------


def rightness(found: Findings) -> Section | None:
    """Return the section on accuracy: an estimate from questions, measures, figures, errors."""
    evaluation = found.evaluation
    sentences = [] if found.estimate is None else [sentence(str(found.estimate))]
    if evaluation is None:
        title, anchor = "How right it is", "evaluation"
        return Section(title=title, anchor=anchor, sentences=sentences) if sentences else None
    notes = (note for note in evaluation.notes if not note.startswith("estimated"))
    measures = {k: v for k, v in evaluation.measures().items() if k != "judged"}
    vote = {} if found.vote is None else found.vote.measures()
    rows = [
        {
            "measure": name.replace("_", " "),
            "number": float(number),
            **({"vote": float(vote[name])} if name in vote else {}),
            "meaning": MEANINGS.get(name, ""),
        }
        for name, number in measures.items()
    ]
    headings = {"number": "this answer", "vote": "a majority vote"}
    caption = f"Against {counted(evaluation.judged, 'known truth')}"
    tables = [Table(title=caption, rows=pl.DataFrame(rows), headings=headings)]
    by_attribute = evaluation.by_attribute
    parts = by_attribute is not None and len(by_attribute) > 1
    if parts:
        tables += first_rows("Accuracy by attribute", by_attribute, MOST_ROWS)
    wrong = wrong_items(found)
    if wrong.is_empty():
        sentences.append("Nothing whose truth is known was judged wrongly.")
    is_number = found.result.kind == "numeric"
    caption = "The estimates farthest off" if is_number else "What is wrong, the surest first"
    tables += first_rows(caption, wrong, MOST_ROWS, headings=found.called)
    return Section(
        title="How right it is",
        anchor="evaluation",
        sentences=[*sentences, *map(sentence, notes)],
        tables=tables,
        figure=found.figures.get("calibration"),
        more=[Section(figure=found.figures.get("accuracy"))] if parts else [],
    )


def wrong_items(found: Findings) -> pl.DataFrame:
    """Return the wrong answers, the surest first; for numbers, those farthest off first."""
    scored, kind = found.scored, found.result.kind
    assert scored is not None
    keys = keys_of(scored)
    down = [True, *(False for _ in keys)]
    if kind == "numeric":
        shown = scored.select(*keys, "estimate", pl.col("value").alias("truth"), "distance")
        return shown.sort("distance", *keys, descending=down)
    wrong = scored.filter(pl.col("right") < 1.0)
    wrong = wrong.sort(pl.col("sure").round(SAME), *keys, descending=down)
    if kind == "categorical":
        settled = found.result.tables.truths.select(*keys, "claims", settled_on="value")
        wrong = wrong.join(settled, on=keys, how="left", maintain_order="left", nulls_equal=True)
        return wrong.select(
            *keys, "settled_on", truth="value", plausibility="sure", claims="claims"
        )
    value = ["value"] if "value" in wrong.columns and kind == "multiple" else []
    return wrong.select(*keys, *value, settled_on="taken", truth="is_true", plausibility="p")


# --- items ----------------------------------------------------------------------------------------


def items_to_check(found: Findings) -> Section:
    """Return the section of items to look up next, with the reasons for their values."""
    title, things = "What to check next", found.things(2)
    if found.questions.is_empty():
        nothing = f"All {things} are known: there is nothing to look up."
        return Section(title=title, anchor="items", sentences=[nothing])
    table = table_of_questions(found.questions, found.result)
    anchors = [f"item-{number}" for number in range(len(found.questions))]
    reasons = []
    named = found.questions.iter_rows(named=True)
    for anchor, row, why in zip(anchors, named, found.explained, strict=True):
        names = [row[key] for key in keys_of(found.questions)]
        item = " · ".join(in_short(name_text(one)) for one in names if one not in (None, ""))
        of_why = sections_of(why)[0]
        answer = row["answer"] or ""
        if found.result.kind == "numeric" and answer:
            answer = number_text(float(answer), "value")
        answer = f": {in_short(answer)}" if answer else ""
        reasons.append(
            Section(
                title=f"{item}{answer}", anchor=anchor, sentences=of_why.sentences,
                tables=of_why.tables, folded=True,
            )
        )  # fmt: skip
    return Section(
        title=title,
        anchor="items",
        sentences=[
            "Items are drawn: more often where the answer is in doubt, but some that nobody "
            "disputes, which show how right the others are. Their true values, given as known "
            "truths, make the answer better."
        ],
        tables=[
            Table(
                title=f"{things.capitalize()} to look up next", rows=table.rows,
                headings=table.headings, links=anchors,
            )
        ],
        more=[Section(title="Why they have their values", more=reasons)],
    )  # fmt: skip


def lookup(found: Findings) -> Section:
    """Return the section with the search box and its items."""
    n_items, things = found.result.run.input.items, found.things(2)
    words = "Type a part of a name to see what was settled on, and who says what."
    if n_items > MOST_ITEMS:
        words += f" {MOST_ITEMS:,} of {n_items:,} {things} are in this page: the closest calls."
    return Section(
        title="Look up any item", anchor="lookup", sentences=[words],
        lookup=lookup_of(found.result, things),
    )  # fmt: skip


# --- sources --------------------------------------------------------------------------------------


def worst_first(sources: pl.DataFrame) -> pl.DataFrame:
    """Sort sources: those that are certainly bad come first, those with few claims later."""
    if "deviation" in sources.columns:
        return sources.sort("deviation", descending=True, nulls_last=True, maintain_order=True)
    by = "accuracy_high" if "accuracy_high" in sources.columns else "accuracy"
    return sources.sort(pl.col(by).round(SAME), nulls_last=True, maintain_order=True)


def sources(found: Findings) -> Section:
    """Return the section on the accuracy of each source, the worst first."""
    result, all_sources = found.result, found.result.tables.sources
    most = all_sources.sort("claims", descending=True, maintain_order=True).head(MOST_SOURCES)
    ranked = worst_first(most)
    others = found.profile.by_source.rename({"accuracy": "right"}, strict=False)
    wanted = "source|known" if result.kind == "numeric" else "source|agreement|known|right"
    rows = ranked.join(
        others.select(pl.col(f"^({wanted})$")), on="source", how="left", maintain_order="left"
    )
    headings = found.called | {
        "agreement": "agreement with others",
        "known": "claims on known truths",
        "right": "right on known truths",
    }
    words = (
        "Accuracy is the share of a source's claims that is plausible. tpr is how often it claims "
        "a fact that is true, fpr how often one that is false. Many telling claims make intervals "
        "short."
    )
    if result.kind == "numeric":
        words = (
            "The deviation is how far a source is from the estimates, in standard deviations of "
            "the numbers claimed; smaller is better. The bias, where one was learned, is by how "
            "much its numbers are too high."
        )
    table = Table(
        title="Sources, the worst first", rows=rows, n_rows=len(all_sources), headings=headings
    )
    more = []
    by_attribute = accuracy_by_attribute(result, rows["source"], found.called)
    if by_attribute:
        words_of_parts = "How often each source is right on each attribute, by plausibility."
        more.append(Section(title="By attribute", sentences=[words_of_parts], tables=by_attribute))
    if result.tables.features is not None:
        about = (
            "Features of sources and items were weighed: sources with few claims are expected to "
            "be like others with the same features, and better on some kinds of items than on "
            "others. Weights are log-odds, for numbers per standard deviation, with "
            f"{LEVEL:.0%} intervals."
        )
        tables = first_rows("What features are worth", result.tables.features, MOST_SOURCES)
        more.append(Section(title="Features", sentences=[about], tables=tables))
    history = found.figures.get("history")
    if history is not None:
        more.append(Section(title="In every batch of claims", figure=history))
    figure = found.figures.get("sources")
    return Section(
        title="The sources", anchor="sources", sentences=[words], tables=[table], figure=figure,
        more=more,
    )  # fmt: skip


# --- labels ---------------------------------------------------------------------------------------


def labels(found: Findings) -> Section | None:
    """Return the section on labels: how often each is claimed and true, and who confuses which."""
    result = found.result
    if result.kind != "categorical":
        return None
    n_labels, n_items = result.tables.facts["value"].n_unique(), result.run.input.items
    if not (1 < n_labels <= MOST_LABELS and n_items >= LEAST_ITEMS_OF_LABEL * n_labels):
        return None
    facts = result.tables.facts.group_by(label="value").agg(claims=pl.col("supporters").sum())
    truths = result.tables.truths.drop_nulls("value").group_by(label="value").agg(items=pl.len())
    shares = facts.join(truths, on="label", how="left").sort("label")
    claimed, true = pl.col("claims"), pl.col("items").fill_null(0)
    shares = shares.select(
        "label", "claims", share=claimed / claimed.sum(), share_true=true / true.sum()
    )
    headings = {"share": "share of the claims", "share_true": "share of the truths"}
    confusions = confusions_of(result)
    names = ("source", "true", "said")
    confusions = confusions.with_columns(as_text(confusions[name]) for name in names)
    claims = confusions.group_by("true", "said").agg(pl.col("claims").sum())
    of_all = claims.with_columns(probability=pl.col("claims") / pl.col("claims").sum().over("true"))
    most = result.tables.sources.sort("claims", descending=True, maintain_order=True)
    of_sources = []
    most = most.head(MOST_MATRICES)
    for source, n_claims in most.select(as_text(most["source"]), "claims").iter_rows():
        name = in_short(source)
        matrix = _matrix(confusions.filter(pl.col("source") == source), f"What {name} says of it")
        title = f"{name}: {counted(n_claims, 'claim')}"
        of_sources.append(Section(title=title, tables=[matrix], folded=True))
    return Section(
        title="The labels",
        anchor="labels",
        sentences=[
            "In the matrices, each row is a label that is true, each column one that is claimed: "
            "the share of the claims, weighted by how plausible it is that the row is the truth. "
            "Off the diagonal is what sources take for something else."
        ],
        tables=[
            Table(title="Labels", rows=shares, headings=headings),
            _matrix(of_all, "What all sources say of what is true"),
        ],
        more=[Section(title="Those who say most", more=of_sources)],
    )


def _matrix(confusions: pl.DataFrame, title: str) -> Table:
    """Return a matrix with a row per true label and a column per claimed label."""
    share_of = {(true, said): share or 0.0 for true, said, share in
                confusions.select("true", "said", "probability").iter_rows()}  # fmt: skip
    said = confusions["said"].unique().sort().to_list()
    true = confusions["true"].unique().sort()
    columns = {f"{i}": [share_of.get((t, one), 0.0) for t in true] for i, one in enumerate(said)}
    rows = pl.DataFrame({"label": true, **columns})
    headings = {"label": "true"} | {f"{i}": one for i, one in enumerate(said)}
    return Table(title=title, rows=rows, headings=headings, shaded=True)


# --- copies and data ------------------------------------------------------------------------------


def copies(found: Findings) -> Section:
    """Return the section on pairs that may have copied, with the evidence and agreement."""
    headings = {
        "source": "copier", "direction": "this way round", "shared": "shared items",
        "expected_agreeing": "agreeing, expected", "mistakes": "shared mistakes",
        "expected_mistakes": "shared mistakes, expected",
    }  # fmt: skip
    by_algorithm = found.result.tables.copies
    tables = first_rows(
        "Pairs of sources that may have copied", found.profile.pairs, MOST_ROWS, headings=headings
    )
    if by_algorithm is not None and "probability" in by_algorithm.columns:
        title = f"Pairs that {found.result.run.algorithm} discounts as copies"
        tables += first_rows(title, by_algorithm, MOST_ROWS, headings=headings)
    words = "No pair of sources shares more mistakes than chance explains."
    if tables:
        words = (
            "Both share more mistakes than independent sources would: one may have copied from the "
            "other, or both from a third. It is a suspicion, not a proof. Who copied from whom "
            "shows where what one adds is right more often, or less, than what both say; "
            "otherwise it is this way round with a probability of one half."
        )
    return Section(
        title="Suspected copies", anchor="copies", sentences=[words], tables=tables,
        figure=found.figures.get("agreement"),
    )  # fmt: skip


def data(found: Findings) -> Section:
    """Return the section on the claims, and on what was done to them."""
    (like,) = sections_of(found.profile)
    parts = found.profile.by_attribute is not None and len(found.profile.by_attribute) > 1
    return Section(
        title="The data",
        anchor="data",
        sentences=[like.title, *like.sentences],
        tables=first_rows("Attributes", found.profile.by_attribute, MOST_ROWS) if parts else [],
        figure=found.figures.get("plausibility"),
        more=[_changes(found, found.result.run.input.rows)],
    )


def _changes(found: Findings, n_rows: int) -> Section:
    """Return the changes by normalising, with the number of rows of each."""
    n_claims, made, sentences = found.result.run.input.claims, found.result.tables.changes, []
    if n_rows:
        rest = (
            "All of them count." if n_rows == n_claims else f"{counted(n_claims, 'claim')} count."
        )
        sentences.append(f"{counted(n_rows, 'row was', 'rows were')} read. {rest}")
    tables = list[Table]()
    if made is None:
        sentences.append("Values were taken as they are: normalising was not asked for.")
    elif made.is_empty():
        sentences.append("Normalising changed no value.")
    else:
        ranked = made.sort("claims", descending=True, maintain_order=True)
        title = "Values that normalising changed, the most frequent first"
        tables = first_rows(title, ranked, MOST_ROWS)
    return Section(
        title="Normalised and left out", anchor="changes", sentences=sentences, tables=tables
    )


# --- how it was made ------------------------------------------------------------------------------


def making(found: Findings) -> Section:
    """Return the section on how the answer was made; the commands to repeat it are folded."""
    run = found.result.run
    how = "converged" if found.result.converged else "did not converge"
    seconds = sum(run.seconds.values())
    took = f", in {seconds:,.1f} seconds" if seconds else ""
    saved = f" The run was saved at {run.saved}." if run.saved else ""
    settings = {
        "claims": run.input.origin,
        "kind of claims": run.kind,
        "algorithm": run.algorithm,
        **run.parameters,
        "known truths": run.input.known,
        "min_plausibility": run.min_plausibility,
        "normalised": "yes" if run.normalisation else "no",
    }
    rows = [(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in settings.items()]  # fmt: skip
    versions = [("veracity, which discovered", str(run.veracity or __version__)),
                ("veracity, which wrote this page", __version__),
                ("python", platform.python_version())]  # fmt: skip
    tables = [
        Table(title="Settings", rows=pl.DataFrame(rows, ["setting", "value"], orient="row")),
        Table(title="Versions", rows=pl.DataFrame(versions, ["package", "version"], orient="row")),
    ]
    parts = [
        Section(
            title="Notes on the claims and the run", folded=True,
            sentences=[sentence(note) for note in found.result.notes],
        ),
        Section(
            title="The command that makes it again", folded=True, code=command(found.result)
        ),
        Section(title="Settings and versions", folded=True, tables=tables),
    ]  # fmt: skip
    return Section(
        title="How it was made",
        anchor="making",
        sentences=[
            f"{run.algorithm} {how} after {counted(run.rounds, 'round')}{took}.{saved} What "
            "follows is for whoever made this page."
        ],
        more=[one for one in parts if one.sentences or one.code or one.tables],
    )
