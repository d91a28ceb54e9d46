"""The head of the page: what was found in plain words, and what speaks against believing it."""

from __future__ import annotations

from html import escape
from typing import Any

import polars as pl

from veracity.printing import counted
from veracity.result import Result
from veracity.result.intervals import LEVEL
from veracity.result.warnings import DataWarning
from veracity.show.report.gather import Findings
from veracity.show.report.markup import (
    Look,
    beside,
    bullets,
    details,
    paragraph,
    share,
    table,
    text,
)
from veracity.show.report.rightness import vote_is_better, warn_of_vote

SURE = 0.95
"""Values from this plausibility on are called sure."""


def summary(found: Findings) -> str:
    """What was found: numbers, sentences, warnings."""
    numbers = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(number)}</dd></div>"
        for name, number in _key_numbers(found)
    )
    vote = warn_of_vote(found) if vote_is_better(found) else ""
    return f'<dl class="key">{numbers}</dl>{beside(bullets(told(found)), vote + _warnings(found))}'


def _key_numbers(found: Findings) -> list[tuple[str, str]]:
    """The few numbers to know first."""
    given, truths = found.result.run.input, found.result.tables.truths
    numbers = [
        (thing(found.result, 2), f"{given.items:,}"),
        ("sources", f"{given.sources:,}"),
        ("claims", f"{given.claims:,}"),
        ("contested", share(count_contested(found.result) / max(given.items, 1))),
    ]
    if "plausibility" in truths.columns:
        numbers.append(("expected to be wrong", _about(_expected_wrong(found.result))))
    if found.health.against_vote is not None:
        numbers.append(("unlike a vote", f"{found.health.against_vote.changed:,}"))
    if found.evaluation is not None and found.evaluation.accuracy is not None:
        numbers.append(("right, where truth is known", f"{found.evaluation.accuracy:.1%}"))
    if found.vote is not None and found.vote.accuracy is not None:
        numbers.append(("right, by a majority vote", f"{found.vote.accuracy:.1%}"))
    return numbers


def told(found: Findings) -> list[str]:
    """The findings, a sentence or two each."""
    result = found.result
    sentences = [_given(result), *_sureness(result)]
    if found.health.against_vote is not None:
        against = str(found.health.against_vote)
        sentences.append(f"{against[0].upper()}{against[1:]}.")
    sentences += _sources(result.tables.sources)
    if found.evaluation is not None:
        sentences.append(_rightness(found))
    if not result.converged:
        sentences.append("The algorithm did not converge: more rounds might change the answer.")
    return sentences


def thing(result: Result, number: int) -> str:
    """What is asked for: items, or facts where claims are binary."""
    return ("fact" if result.kind == "binary" else "item") + "s" * (number != 1)


def _given(result: Result) -> str:
    given = result.run.input
    n_items, n_contested = given.items, count_contested(result)
    things = thing(result, n_items)
    sources = counted(given.sources, "source makes", "sources make")
    start = f"{sources} {counted(given.claims, 'claim')} about {n_items:,} {things}"
    if n_contested == 0:
        return f"{start}, and nobody contradicts another."
    differ = share(n_contested / n_items)
    verb = "is" if n_contested == 1 else "are"
    return f"{start}; {n_contested:,} of them ({differ}) {verb} contested."


def count_contested(result: Result) -> int:
    """Of how many items sources say different things."""
    truths = result.tables.truths
    contested = truths.filter("contested")
    return contested.select(pl.col("^(entity|attribute|fact)$")).n_unique() if len(contested) else 0


def _sureness(result: Result) -> list[str]:
    """How sure the answer is, and where there is none."""
    truths = result.tables.truths
    if result.kind == "numeric":
        errors = truths["uncertainty"].drop_nulls()
        if errors.is_empty():
            return []
        half = float(errors.median())  # type: ignore[arg-type]
        return [f"The standard error of half of the estimates is {half:.3g} or less."]
    sureness = _sure(result)
    n, n_sure = len(sureness), int((sureness >= SURE).sum())
    things = "values" if result.kind == "multiple" else thing(result, n)
    how = f"The answer is at least {SURE:.0%} plausible for {n_sure:,} of {n:,} {things}"
    sentences = [f"{how} ({share(n_sure / n)}). {_how_many_wrong(result, n)}"]
    n_empty = truths["value"].null_count()
    if n_empty:
        verb = "is" if n_empty == 1 else "are"
        what = thing(result, n_empty)
        sentences.append(f"{n_empty:,} {what} {verb} left without a value: none is plausible.")
    return sentences


def _how_many_wrong(result: Result, n: int) -> str:
    """Say how many answers are expected to be wrong, and on which assumption that rests."""
    if result.run.algorithm == "veracity" and result.kind == "categorical":
        assumed = "If sources share no more mistakes than in most data"
    else:
        assumed = "If sources err independently of each other"
    wrong = _expected_wrong(result)
    if wrong < 0.5:
        return f"{assumed}, hardly any is wrong."
    return f"{assumed}, about {_about(wrong)} of the {n:,} are wrong."


def _about(number: float) -> str:
    return "less than 1" if 0.0 < number < 0.5 else f"{number:,.0f}"


def _expected_wrong(result: Result) -> float:
    return float((1.0 - _sure(result)).sum())


def _sure(result: Result) -> pl.Series:
    """How plausible each answer is, be it that a fact is true or that it is false."""
    if result.kind == "categorical":
        return result.tables.truths["plausibility"]
    p = result.tables.facts["plausibility"]
    least = result.run.min_plausibility if result.kind == "multiple" else None
    is_true = p >= (0.5 if least is None else least)
    return pl.select(pl.when(is_true).then(p).otherwise(1.0 - p)).to_series()


def _sources(sources: pl.DataFrame) -> list[str]:
    """The best and the worst source, as far as the claims tell."""
    if len(sources) < 2:
        return []
    if "deviation" in sources.columns:
        ranked = sources.sort("deviation", maintain_order=True)
        best, worst = (ranked.row(row, named=True) for row in (0, -1))
        return [
            f"{best['source']} is nearest to the estimates on the whole, {worst['source']} "
            "farthest from them."
        ]
    known = sources.drop_nulls("accuracy")
    if len(known) < 2 or "accuracy_low" not in known.columns:
        return []
    best = known.sort("accuracy_low", descending=True, maintain_order=True).row(0, named=True)
    worst = known.sort("accuracy_high", maintain_order=True).row(0, named=True)
    return [
        f"The most reliable source is {best['source']}, right in {_interval(best)} of its claims; "
        f"the least reliable is {worst['source']}, right in {_interval(worst)} "
        f"({LEVEL:.0%} intervals)."
    ]


def _interval(source: dict[str, Any]) -> str:
    low, high = (f"{source[f'accuracy_{end}'] * 100:.0f}" for end in ("low", "high"))
    return f"{low}%" if low == high else f"{low} to {high}%"


def _rightness(found: Findings) -> str:
    assert found.evaluation is not None  # who calls has looked
    judged, accuracy = found.evaluation.judged, found.evaluation.accuracy
    what = "values" if found.result.kind == "multiple" else thing(found.result, judged)
    if accuracy is None:
        return (
            f"The estimates of the {judged:,} {what} whose truth is known are off by "
            f"{found.evaluation.mae:.4g} on average."
        )
    vote = "" if found.vote is None else f"; a majority vote is right on {found.vote.accuracy:.1%}"
    return f"Of {judged:,} {what} whose truth is known, {accuracy:.1%} are judged rightly{vote}."


def _warnings(found: Findings) -> str:
    """What the health check says."""
    if found.health.is_healthy:
        return paragraph(
            "The health check has no warning. It cannot see mistakes that all sources share: only "
            "known truths show these.",
            "healthy",
        )
    warnings = "".join(map(_warning, found.health.warnings))
    n = len(found.health.warnings)
    return f"<h3>{counted(n, 'warning')} before you believe it</h3>{warnings}"


def _warning(warning: DataWarning) -> str:
    evidence = ""
    if warning.evidence is not None and len(warning.evidence):
        shown: pl.DataFrame = warning.evidence.head(10)
        look = Look(caption=f"Evidence of {warning.name}", of=len(warning.evidence))
        evidence = details("Evidence", table(shown, look))
    seen = f"{warning.seen[0].upper()}{warning.seen[1:]}."
    return (
        f'<div class="warning {escape(warning.severity)}"><p><strong>'
        f"{text(warning.severity.capitalize())}: {text(warning.name)}.</strong> {text(seen)}</p>"
        f"<p><em>This means:</em> {text(warning.means)}.</p>"
        f"<p><em>Would help:</em> {text(warning.help)}.</p>{evidence}</div>"
    )
