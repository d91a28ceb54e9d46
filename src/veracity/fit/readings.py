"""Whether the claims can be read in two ways, each consistent with itself.

No number computed from claims tells a careful minority from one that errs together. But rival
models find the other reading: where an algorithm, with one of its ingredients left out, answers
otherwise on a good part of the items, the claims do not decide, and only known truths can.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm
from veracity.algorithms.rules import is_best_of_item, ratio
from veracity.encoding.block import UNKNOWN, Block, BoolArray, FloatArray
from veracity.encoding.partitions import Encoded
from veracity.engines import Local
from veracity.errors import NotConverged
from veracity.fit.judging import Judged, judge_all
from veracity.fit.loop import learn, survey_of

MUCH = 0.15
"""The share of items from which another answer is another reading: models that agree on what the
claims say differ on a few per cent of the items, those that do not on fifteen to fifty."""

FEWEST_KNOWN = 5
"""Known items from which they choose between readings."""

ENOUGH_KNOWN = 20
"""Known items from which no other reading is worth a warning."""

CLEARLY = 3.0
"""By how much likelier, in logs, known truths must be to who reads the claims otherwise."""

LEAST_PLAUSIBLE = 0.01
"""Known truths that a reading finds less plausible count as this, so that one which is itself wrong
does not outweigh all others."""

MOST_CLAIMS = 100_000
"""Rivals look at items with about so many claims: a share needs no more."""


@dataclass(frozen=True)
class Reading:
    """Another way to read the claims: how it is come by, and on what share of the items it differs.

    `moved` is by how much it believes each source more often right, or less; `rival` the algorithm
    that reads them so, and `state` what it learned.
    """

    name: str
    differs: float
    moved: FloatArray
    sample: Sample
    other: Sequence[FloatArray]
    rival: Algorithm[Any]
    state: Any


class Sample(NamedTuple):
    """Blocks of some items, which items of all blocks these are, and the answer to them."""

    blocks: tuple[Block, ...]
    chosen: tuple[BoolArray, ...]
    answer: Sequence[FloatArray]


def find_readings(
    encoded: Encoded,
    algorithm: Algorithm[Any],
    state: Any,
    judged: Judged,
) -> list[Reading]:
    """Other readings of the claims, in the order of the rivals; none if all rivals agree."""
    rivals = algorithm.rivals(state)
    if not rivals or not judged.plausibility or encoded.n_known >= ENOUGH_KNOWN:
        return []
    sample = _sampled(encoded, judged.plausibility)
    found = []
    for name, rival in rivals.items():
        its_state, other = answered_again(encoded, sample.blocks, rival)
        assert other.met is not None
        differs = _share(sample, other.plausibility)
        if differs > MUCH:
            own, its = (_right(sample, answer, len(encoded.names.sources)) for answer in
                        (sample.answer, other.plausibility))  # fmt: skip
            moved, answer = ratio(*its) - ratio(*own), other.plausibility
            found.append(Reading(name, differs, moved, sample, answer, rival, its_state))
    return found


def decided(encoded: Encoded, algorithm: Algorithm[Any]) -> tuple[str, Algorithm[Any]] | None:
    """The reading that the known truths choose in the place of the algorithm's own, if they do.

    Each reading learns without them, and then tells how likely it finds them.
    """
    if encoded.kind != "categorical" or encoded.n_known < FEWEST_KNOWN:
        return None
    known = list(encoded.sampled(MOST_CLAIMS).blocks)
    hidden = _hidden(known)
    state, own = _log_known(encoded, algorithm, hidden, known)
    likely = {
        name: (_log_known(encoded, rival, hidden, known)[1], rival)
        for name, rival in algorithm.rivals(state).items()
    }
    if not likely:
        return None
    best = max(likely, key=lambda name: likely[name][0])
    return (best, likely[best][1]) if likely[best][0] > own + CLEARLY else None


def _hidden(known: Sequence[Block]) -> list[Block]:
    """The same blocks, as if nothing were known."""
    nothing = [np.full_like(block.known_of_fact, UNKNOWN) for block in known]
    return [b._replace(known_of_fact=n) for b, n in zip(known, nothing, strict=True)]


def _log_known(
    encoded: Encoded, algorithm: Algorithm[Any], hidden: list[Block], known: list[Block]
) -> tuple[Any, float]:
    """What is learned without known truths, and how likely, in logs, these are then."""
    state, judged = answered_again(encoded, hidden, algorithm)
    total = 0.0
    for block, plausibility in zip(known, judged.plausibility, strict=True):
        of_known = plausibility[block.known_of_fact == 1]
        total += float(np.log(np.maximum(of_known, LEAST_PLAUSIBLE)).sum())
    return state, total


def _sampled(encoded: Encoded, plausibility: Sequence[FloatArray]) -> Sample:
    """Items drawn at random, always the same ones."""
    share = MOST_CLAIMS / max(encoded.n_claims, 1)
    blocks, chosen, answers = [], [], []
    for block, answer in zip(encoded.blocks, plausibility, strict=True):
        is_chosen = block.sampled(share)
        blocks.append(block if share >= 1.0 else block.select(is_chosen))
        chosen.append(is_chosen)
        answers.append(answer[np.repeat(is_chosen, block.n_facts_of_item)])
    return Sample(tuple(blocks), tuple(chosen), tuple(answers))


def answered_again(
    encoded: Encoded, blocks: Iterable[Block], rival: Algorithm[Any]
) -> tuple[Any, Judged]:
    """Let an algorithm learn from other blocks with the same names, and judge these."""
    names = encoded.names
    with warnings.catch_warnings(), Local().hold(blocks) as held:
        warnings.simplefilter("ignore", NotConverged)  # it is not the answer
        learned = learn(held, survey_of(held, encoded.kind, names), rival)
        judged = judge_all(held, rival, learned.state, encoded.kind, names.n_sources)
        return learned.state, judged


def differing(block: Block, one: FloatArray, other: FloatArray) -> BoolArray:
    """On which items two answers have no value in common."""
    both = is_best_of_item(one, block) & is_best_of_item(other, block)
    return ~np.logical_or.reduceat(both, block.first_fact_of_item[:-1])


def _share(sample: Sample, other: Sequence[FloatArray]) -> float:
    pairs = zip(sample.blocks, sample.answer, other, strict=True)
    return float(np.concatenate([differing(*pair) for pair in pairs]).mean())


def _right(
    sample: Sample, answer: Sequence[FloatArray], n_sources: int
) -> tuple[FloatArray, FloatArray]:
    """How often each source names what an answer takes for true, and how often it speaks."""
    right, n = np.zeros(n_sources), np.zeros(n_sources)
    for block, plausibility in zip(sample.blocks, answer, strict=True):
        is_right = np.repeat(is_best_of_item(plausibility, block), block.n_supports_of_fact)
        share = block.share_of_support if block.has_shares else np.ones(len(is_right))
        right += np.bincount(block.source_of_support, is_right * share, n_sources)
        n += np.bincount(block.source_of_support, share, n_sources)
    return right, n
