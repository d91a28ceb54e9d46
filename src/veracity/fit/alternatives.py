"""Find other answers that the claims allow, each consistent with itself.

No number computed from claims distinguishes a careful minority from one that errs together. But the
same algorithm without one of its parts finds the other answer. If the two differ on many items, the
claims cannot decide between them; only known truths can.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm
from veracity.algorithms.rules import is_best_of_item, ratio
from veracity.encoding.block import UNKNOWN, Block, BoolArray, FloatArray
from veracity.encoding.partitions import Encoded
from veracity.engines import Blocks, Local
from veracity.errors import NotConverged
from veracity.fit.judging import Judged, judge_all
from veracity.fit.loop import Learned, learn, survey_of
from veracity.progress import Progress

MUCH = 0.15
"""Smallest share of items with other values that makes another answer. Models of the same answer
differ on a few per cent of the items, models of different answers on fifteen to fifty per cent."""

FEWEST_KNOWN = 5
"""Known items from which they choose between answers."""

ENOUGH_KNOWN = 20
"""Number of known items from which other answers need no warning."""

CLEARLY = 3.0
"""Least difference of the log-likelihoods of known truths from which they choose the other answer.
"""

LEAST_PLAUSIBLE = 0.01
"""Smallest plausibility of a known truth in that choice, so that a wrong one does not outweigh all
others."""

MOST_CLAIMS = 100_000
"""Number of claims, about, from which alternatives learn: a share of items needs no more."""


@dataclass(frozen=True)
class Alternative:
    """Alternative answer that the claims allow: its assumption, and the items on which it differs.

    `differs` is the share of the items with another value, and `moved` by how much more often each
    source is right in it. `state` is what `algorithm` learned.
    """

    assumption: str
    differs: float
    moved: FloatArray
    sample: Sample
    answer: Sequence[FloatArray]
    algorithm: Algorithm[Any]
    state: Any


class Sample(NamedTuple):
    """Some of the items of encoded claims: their blocks, which items they are, and the answer."""

    encoded: Encoded
    blocks: tuple[Block, ...]
    chosen: tuple[BoolArray, ...]
    answer: Sequence[FloatArray]


def compare_alternatives(
    held: Blocks, encoded: Encoded, learned: Learned, judged: Judged, progress: Progress
) -> tuple[Learned, Judged, list[Alternative]]:
    """Search for alternative answers; if there is one, mix it into all plausibilities."""
    algorithm, state = learned.algorithm, learned.state
    if not algorithm.alternatives(state) or not judged.plausibility:
        return learned, judged, []
    progress("looking for another answer", 0, 1)
    some, answer = encoded.sampled_with(judged.plausibility, MOST_CLAIMS)
    if learned.rules is not None:  # other answers are without rules
        answer = [algorithm.judge(block, state) for block in some.blocks]
    found = find_alternatives(algorithm, state, some, answer)
    if found:
        state = algorithm.doubting(state, found[0].state)
        learned = replace(learned, state=state)
        judged = judge_all(held, learned)
    return learned, judged, found


def find_alternatives(
    algorithm: Algorithm[Any], state: Any, encoded: Encoded, plausibility: Sequence[FloatArray]
) -> list[Alternative]:
    """Return other answers than that of an algorithm with its state; none if much is known."""
    others = algorithm.alternatives(state)
    if not others or not plausibility or encoded.n_known >= ENOUGH_KNOWN:
        return []
    found, sample = list[Alternative](), _sampled(encoded, plausibility)
    for assumption, other in others.items():
        its_state, answer = learn_and_judge(encoded, sample.blocks, other)
        pairs = zip(sample.blocks, sample.answer, answer, strict=True)
        differs = float(np.concatenate([differing(*pair) for pair in pairs]).mean())
        if differs > MUCH:
            moved = _right(sample, answer) - _right(sample, sample.answer)
            found.append(Alternative(assumption, differs, moved, sample, answer, other, its_state))
    return found


def chosen_by_known_truths(
    encoded: Encoded, algorithm: Algorithm[Any]
) -> tuple[str, Algorithm[Any]] | None:
    """Return the alternative that known truths choose in place of the algorithm, if they do.

    Each learns without them, and is then measured by how likely they are to it.
    """
    if encoded.kind != "categorical" or encoded.n_known < FEWEST_KNOWN:
        return None
    known = list(encoded.sampled(MOST_CLAIMS).blocks)
    hidden = [b._replace(known_of_fact=np.full_like(b.known_of_fact, UNKNOWN)) for b in known]

    def log_likelihood(algorithm: Algorithm[Any]) -> tuple[float, Any]:
        state, answer = learn_and_judge(encoded, hidden, algorithm)
        of_known = [p[b.known_of_fact == 1] for b, p in zip(known, answer, strict=True)]
        return sum(float(np.log(np.maximum(p, LEAST_PLAUSIBLE)).sum()) for p in of_known), state

    own, state = log_likelihood(algorithm)
    others = algorithm.alternatives(state)
    likely = {assumption: log_likelihood(other)[0] for assumption, other in others.items()}
    best = max(likely, key=likely.__getitem__, default=None)
    return None if best is None or likely[best] <= own + CLEARLY else (best, others[best])


def learn_and_judge(
    encoded: Encoded, blocks: Iterable[Block], algorithm: Algorithm[Any]
) -> tuple[Any, Sequence[FloatArray]]:
    """Let an algorithm learn from other blocks with the names of these claims, and judge them."""
    with warnings.catch_warnings(), Local().hold(blocks) as held:
        warnings.simplefilter("ignore", NotConverged)  # it is not the answer
        learned = learn(held, algorithm, survey_of(held, encoded))
        return learned.state, judge_all(held, learned).plausibility


def differing(block: Block, one: FloatArray, other: FloatArray) -> BoolArray:
    """Mark the items on which two answers have no value in common."""
    both = is_best_of_item(one, block) & is_best_of_item(other, block)
    return ~np.logical_or.reduceat(both, block.first_fact_of_item[:-1])


def _sampled(encoded: Encoded, plausibility: Sequence[FloatArray]) -> Sample:
    """Draw a fixed random sample of items."""
    share = MOST_CLAIMS / max(encoded.n_claims, 1)
    blocks, chosen, answers = [], [], []
    for block, answer in zip(encoded.blocks, plausibility, strict=True):
        is_chosen = block.sampled(share)
        blocks.append(block if share >= 1.0 else block.select(is_chosen))
        chosen.append(is_chosen)
        answers.append(answer[np.repeat(is_chosen, block.n_facts_of_item)])
    return Sample(encoded, tuple(blocks), tuple(chosen), tuple(answers))


def _right(sample: Sample, answer: Sequence[FloatArray]) -> FloatArray:
    """Return the share of each source's claims that an answer takes for true."""
    n_sources = len(sample.encoded.names.sources)
    right, n = np.zeros(n_sources), np.zeros(n_sources)
    for block, plausibility in zip(sample.blocks, answer, strict=True):
        is_right = np.repeat(is_best_of_item(plausibility, block), block.n_supports_of_fact)
        share = block.share_of_support if block.has_shares else np.ones(len(is_right))
        right += np.bincount(block.source_of_support, is_right * share, n_sources)
        n += np.bincount(block.source_of_support, share, n_sources)
    return ratio(right, n)
