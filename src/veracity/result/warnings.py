"""What misleads truth discovery: one system of warnings, for every answer and every check.

A warning says what was seen, what it means, and what would help. Those that follow from sums over
all claims come with every answer, as its notes; `check` looks for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from veracity.algorithms.base import Copies, Rates
from veracity.dependence.pairs import first_of_joined
from veracity.encoding.block import BoolArray, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.fit.fitted import Fitted
from veracity.fit.judging import Judged
from veracity.fit.loop import Learned, not_converged
from veracity.naming import as_text
from veracity.printing import in_short

Severity = Literal["serious", "caution"]

ADVICE: dict[str, tuple[str, str]] = {
    "two-readings": (
        "the claims can be read in two ways, each consistent with itself, and nothing in them "
        "tells which is right: answers are those of one reading, plausibilities mix both",
        "known truths of a few items on which the readings differ: 'veracity ask' names them",
    ),
    "lone-sources": (
        "nobody can say whether they are right: their rates are the prior's, not learned from data",
        "claims of other sources about the same items, or known truths of some of them",
    ),
    "separate-parts": (
        "each part is judged by itself: reliabilities cannot be compared across parts, and one "
        "part may be right where another is flipped",
        "sources that speak of items of several parts, or known truths in every part; see also "
        "whether names of entities are spelt differently in the parts",
    ),
    "fewer-than-three": (
        "where two sources differ, nothing tells which one is right: it takes a third to fix "
        "their reliabilities",
        "a third source, known truths, or a prior that says which source is better",
    ),
    "single-source-items": (
        "their only value is taken as it is; how plausible it is follows from what the source says "
        "elsewhere",
        "more sources for these items; do not read their plausibility as agreement",
    ),
    "few-claims": (
        "a source that is met so rarely cannot be told from a better or a worse one: its "
        "reliability stays near the prior",
        "more claims of each source, merging names of the same source, or an algorithm that "
        "expects little of each (majority-vote, one-coin)",
    ),
    "dominant-source": (
        "it can only be checked where others speak, and what it says sets the scale for them",
        "more claims of others, known truths of items it speaks of, or leaving it out to see what "
        "changes",
    ),
    "little-conflict": (
        "there is next to nothing to decide, and nothing to learn of who errs: all sources look "
        "equally good",
        "the agreed values may be used as they are; to rank sources it takes items they differ on",
    ),
    "flip-risk": (
        "the claims fit about as well if the worst sources are taken for the best: true and false "
        "may be swapped",
        "some known truths, known good sources in the prior, or normalised values if sources "
        "mean the same and write it differently",
    ),
    "near-copies": (
        "one opinion is counted several times: what the group says wins, right or wrong",
        "merging the copies into one source, or accu-copy, which discounts copies; if the group "
        "is known to be good, known truths or a prior that say so",
    ),
    "far-from-vote": (
        "the answer rests on reliabilities more than on numbers of sources: it is much better than "
        "a vote, or much worse",
        "looking up the examples; a few known truths tell which of the two it is",
    ),
    "nothing-to-learn": (
        "sources contradict each other more often than if they guessed, as rules do that claim one "
        "label each: nothing can be learned of their accuracies, and plausibilities are those of a "
        "vote",
        "sources that claim more than one label",
    ),
    "assumption": (
        "the sources are much alike, so the answer rests on small differences between them: it may "
        "be far better than a vote, or worse",
        "looking up a few items on which the answer differs from the vote: 'veracity ask' names "
        "items",
    ),
    "one-family": (
        "they may have copied from each other or from one original; if each of them looked at the "
        "items itself, the answer without this is better",
        "dependence=False (--set dependence=false) counts every claim in full; known truths of a "
        "few items choose between the two answers",
    ),
    "turned-over": (
        "either these sources know other things, or several of them share an error there and the "
        "answer follows it: nothing in the claims tells which",
        "looking up a few items of this attribute: 'veracity ask' names items",
    ),
    "spellings": (
        "sources that mean the same seem to contradict each other, and their votes are split",
        "normalise=True, or --normalise on the command line",
    ),
    "number-spellings": (
        "where all values are numbers, 1 and 1.00 are the same; here others are words, so all of "
        "them are compared as they are written, and votes for one number are split",
        "normalise=True, or --normalise on the command line",
    ),
    "close-numbers": (
        "values are compared as names: 19.9 is no closer to 20 than 5 is, so one source is "
        "believed, and those that are nearly right count as wrong",
        "kind='numeric', or --kind numeric, which estimates a number from what all of them say; of "
        "a wide table that has words, too, with these columns alone: --columns value=NAME+OTHER",
    ),
    "entity-spellings": (
        "what is said of one thing under two names is never compared, and it has two answers",
        "write names in one way in all sources before they are read: in small letters, say, and "
        "with the leading zeros that a spreadsheet takes off numbers",
    ),
    "placeholders": (
        "what says that there is no value is counted as a value, and may win",
        "normalise=True, or --normalise, leaves them out; or remove them beforehand",
    ),
}
"""What each warning means, and what would help."""

MANY_ALONE = 0.01
"""The share of sources that share no item with another, from which it is worth a warning."""

LITTLE_CONFLICT = 0.01
"""The share of shared items that are disputed, below which there is next to nothing to decide."""


@dataclass(frozen=True)
class DataWarning:
    """One warning: what was `seen`, what it `means`, what would `help`, and evidence, if any."""

    name: str
    severity: Severity
    seen: str
    means: str
    help: str
    evidence: Any = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        return {**vars(self), "evidence": dicts(self.evidence)}


# --- from sums over all claims --------------------------------------------------------------------


def notes_on_fit(fitted: Fitted, learned: Learned, judged: Judged) -> list[str]:
    """What a user should know before believing the answer."""
    notes, survey = [], learned.survey
    unknown = fitted.algorithm.prior.unknown(as_text(survey.names.sources).to_list())
    if unknown:
        notes.append(f"the prior names sources that make no claim: {some(unknown, 5)}")
    if survey.n_sources == 1:
        notes.append("there is a single source: its word cannot be checked against another's")
    else:
        notes += [one.seen for one in lone_sources(survey)]
    if judged.met is not None:
        rates = fitted.algorithm.rates(fitted.state, judged.met.counts)
        if survey.n_sources > 1 and survey.counted.undisputed == survey.counted.items:
            notes.append("no source contradicts another: there is nothing to decide")
        if is_upside_down(rates, judged.met.counts[:, 3]):
            notes.append(
                "on the whole the sources support false facts more often than true ones: the "
                "answer may be flipped; known truths, or good sources in the prior, would show it"
            )
    notes += _who_copies(survey.names, fitted.algorithm.copies(fitted.state))
    if learned.trace:
        notes += fitted.algorithm.notes(fitted.state)
    if not learned.converged:
        notes.append(not_converged(fitted.algorithm, learned))
    return notes


def _who_copies(names: Names, copies: Copies | None) -> list[str]:
    """Say who may have copied, in the largest group of them, with the clearest evidence."""
    if copies is None or not len(copies.source):
        return []
    copying = np.unique(np.concatenate([copies.source, copies.original]))
    group = first_of_joined(copies.source, copies.original, len(names.sources))[copying]
    first, sizes = np.unique(group, return_counts=True)
    largest = as_text(names.sources.gather(copying[group == first[sizes.argmax()]])).to_list()
    who = f"{some(largest, 5)} may have copied"
    if len(first) > 1:
        who = f"{len(copying):,} sources in {len(first):,} groups may have copied; the largest "
        who += f"group is {some(largest, 5)}"
    return [f"copies: {who}; {shared_mistakes(names, copies)}"]


def shared_mistakes(names: Names, copies: Copies) -> str:
    """Say how many mistakes the clearest pair shares, and how many are expected."""
    one, other = as_text(names.sources.gather([copies.source[0], copies.original[0]])).sort()
    told = f"{in_short(one)} and {in_short(other)} share {copies.mistakes[0]:,.0f} mistakes, where "
    return f"{told}independent sources would share {copies.expected_mistakes[0]:,.0f}"


def lone_sources(survey: Survey) -> list[DataWarning]:
    """Sources that share no item with another."""
    speaks = survey.counted.items_of_source > 0.0
    is_lone: BoolArray = (survey.counted.shared_of_source == 0.0)[speaks]
    if is_lone.mean() < MANY_ALONE:
        return []
    names = as_text(survey.names.sources.filter(speaks).filter(is_lone)).to_list()
    share = count(len(names), len(is_lone), "sources", "shares", "share")
    seen = f"{share} no item with another: {some(names)}"
    return [data_warning("lone-sources", seen, serious=is_lone.mean() >= 0.5)]


def two_readings(readings: list[dict[str, Any]]) -> list[DataWarning]:
    """Whether the claims can be read otherwise."""
    if not readings:
        return []
    first = readings[0]
    seen = f"{first['reading']}, {first['differs']:.0%} of the items have another value, such as "
    seen += "; ".join(first["examples"][:2])
    return [data_warning("two-readings", seen, serious=True)]


def is_upside_down(rates: Rates, weight: FloatArray) -> bool:
    """Whether, according to the answer, sources support false facts more often than true ones."""
    return bool(np.nansum((rates.tpr - rates.fpr) * weight) < 0.0)


def few_conflicts(n_contested: int, n_shared: int) -> list[DataWarning]:
    """Whether there is next to nothing to decide."""
    if n_contested >= LITTLE_CONFLICT * n_shared:
        return []
    seen = f"sources differ on {count(n_contested, n_shared, 'shared items')}"
    return [data_warning("little-conflict", seen)]


# --- in words ------------------------------------------------------------------------------------


def data_warning(
    name: str, seen: str, evidence: pl.DataFrame | None = None, *, serious: bool | np.bool_ = False
) -> DataWarning:
    """A warning with the advice that goes with its name."""
    return DataWarning(name, "serious" if serious else "caution", seen, *ADVICE[name], evidence)


def count(part: int, whole: int, what: str, does: str = "", do: str = "") -> str:
    """How many of how many, and what one of them does, or several do.

    >>> count(3, 4, "items"), count(1, 4, "items", "has", "have")
    ('3 of 4 items (75%)', '1 of 4 items (25%) has')
    """
    told = f"{part:,} of {whole:,} {what} ({part / max(whole, 1):.0%})"
    return f"{told} {does if part == 1 else do}".rstrip()


def some(names: Sequence[object], most: int = 3) -> str:
    """The first names, and how many more there are.

    >>> some(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    shown = ", ".join(in_short(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def dicts(table: Any) -> list[dict[str, Any]]:
    """The rows of a table, as JSON can hold them; none if there is no table."""
    return [] if table is None else pl.DataFrame(table).to_dicts()
