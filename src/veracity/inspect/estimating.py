"""Estimate the accuracy of the rest of the table from the answers to drawn questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.algorithms.distributions import beta_quantile
from veracity.algorithms.rules import is_best_of_item, item_sums
from veracity.encoding.block import SAME, UNKNOWN, Block, BoolArray, FloatArray
from veracity.errors import ParameterError
from veracity.fit.alternatives import MOST_CLAIMS, learn_and_judge
from veracity.inspect.questions import (
    FEWEST_DRAWN,
    Answered,
    answered_of,
    is_trusted,
    sureness_of,
    taken_facts,
)
from veracity.printing import Shown, counted
from veracity.result import Result

LEVEL = 0.9
"""Probability that the interval contains the share that is right."""

FOLDS = 5
"""Parts of the drawn answers; each is compared with what is learned without it."""

LITTLE = 0.01
"""Share of the other answers that change if a part of the known answers is left out. Below it,
further answers are expected to bring little."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Estimate(Shown):
    """The share of the items that is right, as answers to drawn questions show it.

    Attributes
    ----------
    drawn
        Number of answers to drawn questions. Below 20 there is no estimate.
    known
        Number of items whose truth is known.
    others
        Number of the other items, which the estimate is about.
    right, low, high
        Share of the other items that is right, with the ends of its 90 % interval; None below 20.
    changes
        Share of the other answers that change, at most, if a fifth of the drawn answers is left
        out; None below 20.
    is_trusted
        True if the last 20 drawn answers were wrong no more often than their plausibilities imply.
    enough
        Share of right items that the user asks for.
    """

    drawn: int
    known: int
    others: int
    right: float | None = None
    low: float | None = None
    high: float | None = None
    changes: float | None = None
    is_trusted: bool = False
    enough: float | None = None

    @property
    def is_enough(self) -> bool:
        """Return True if further answers should change little, or `low` is at least `enough`."""
        if self.low is None or self.changes is None:
            return False
        is_reached = self.enough is not None and self.low >= self.enough
        return is_reached or (self.is_trusted and self.changes < LITTLE)

    @property
    def table(self) -> tuple[float, float, float] | None:
        """Return the share of all items (known ones, too) that is right, and its interval."""
        if self.right is None or self.low is None or self.high is None:
            return None
        right, low, high = (
            (self.known + share * self.others) / (self.known + self.others)
            for share in (self.right, self.low, self.high)
        )
        return right, low, high

    def contents(self) -> dict[str, Any]:
        """Return all fields by name."""
        return {**vars(self), "table": self.table, "is_enough": self.is_enough}

    def __str__(self) -> str:
        """Return the estimate, and whether to go on asking, in two sentences."""
        if self.right is None or self.low is None or self.high is None or self.table is None:
            answers = counted(self.drawn, "drawn question is", "drawn questions are")
            return (
                f"{answers} answered: too few to say how right the other items are, which takes "
                f"{FEWEST_DRAWN}"
            )
        interval = f"{LEVEL:.0%}: {100 * self.low:.0f}-{100 * self.high:.0f}%"
        others, known = counted(self.others, "item"), counted(self.known, "known item")
        further = "change little: you can stop asking" if self.is_enough else "help: ask again"
        if self.is_enough and self.enough is not None and self.low >= self.enough:
            further = f"be unnecessary: at least {self.enough:.0%} was asked for"
        return (
            f"of the {others} not looked up, {_about(self.right)} are right ({interval}); with "
            f"the {known}, {_about(self.table[0])} of the table. Further answers are likely to "
            f"{further}"
        )


def _about(share: float) -> str:
    """Return a share in words; it is never worded as all or nothing."""
    return "nearly all" if share > 0.995 else f"about {share:.0%}"


def estimate_of(result: Result) -> Estimate:
    """Estimate the share of the items not looked up that is right.

    The drawn answers are split into five folds. What is learned without a fold answers its items,
    so that no item is judged by its own known answer. If close calls were asked for, too, drawn
    items in more doubt than any remaining item do not count: no remaining item is like them.
    """
    if result.kind == "numeric":
        raise ParameterError(
            "estimate: an estimated number is hardly ever exactly right; compare the numbers with "
            "known ones in evaluate, which has a tolerance"
        )
    result = result.fetch()
    fitted, least, asked = result.fitted, result.run.min_plausibility, result.run.asked
    encoded, n_known = result.encoded, result.encoded.n_known
    if asked and encoded.n_claims > MOST_CLAIMS:
        encoded = encoded.sampled(MOST_CLAIMS)
    history, _ = answered_of(encoded, asked)
    drawn = [one for one in history if one.told["drawn"]]
    found = Estimate(drawn=len(drawn), known=n_known, others=result.encoded.n_items - n_known)
    if len(drawn) < FEWEST_DRAWN or fitted is None or not found.others:
        return found
    blocks, changed = list(encoded.blocks), list[float]()
    wrong, sureness = np.zeros((2, len(drawn)))
    now = result.plausibility_by_block
    if encoded is not result.encoded:
        now = learn_and_judge(encoded, blocks, fitted.algorithm)[1]
    order = np.random.default_rng([result.run.seed, len(drawn)]).permutation(len(drawn))
    for fold in (order[first::FOLDS] for first in range(FOLDS)):
        hidden = list(_hiding(blocks, [drawn[n] for n in fold]))
        then = learn_and_judge(encoded, hidden, fitted.algorithm)[1]
        for n in fold:
            part, item = drawn[n].part, drawn[n].item
            wrong[n] = _wrong(blocks[part], then[part], result.kind, least)[item]
            sureness[n] = _sureness(blocks[part], then[part], result.kind, least)[item]
        pairs = zip(blocks, now, then, strict=True)
        differs = [_differs(*own, result.kind, least)[~own[0].is_known] for own in pairs]
        changed.append(float(np.concatenate(differs).mean()))
    counts = np.ones(len(drawn), dtype=np.bool_)
    if len(drawn) < len(history):
        left = [
            _sureness(block, own, result.kind, least)[~block.is_known].min(initial=1.0)
            for block, own in zip(blocks, now, strict=True)
        ]
        counts = sureness >= min(left)
    if not counts.any():
        return found
    error, low, high = interval_of(wrong[counts], weights_of(drawn)[counts])
    return replace(
        found,
        right=1.0 - error,
        low=1.0 - high,
        high=1.0 - low,
        changes=max(changed),
        is_trusted=is_trusted(history),
    )


def weights_of(drawn: Sequence[Answered]) -> FloatArray:
    """Return how many items each answer stands for, relative to others.

    If n of u items were drawn, and this item with probability n q, its weight is 1 / (u q).
    """
    asked_of = np.array([one.told["asked_of"] for one in drawn])
    _, batch, n_of_batch = np.unique(asked_of, return_inverse=True, return_counts=True)
    inclusion = np.array([one.told["inclusion"] for one in drawn])
    return np.asarray(n_of_batch[batch] / (asked_of * inclusion))


def interval_of(wrong: FloatArray, weight: FloatArray) -> tuple[float, float, float]:
    """Return the weighted share that is wrong, and the ends of its 90 % interval.

    It is Jeffreys' interval for the number of answers that would give this variance.

    >>> [round(end, 3) for end in interval_of(np.array([1.0, 0.0, 0.0, 0.0]), np.ones(4))]
    [0.25, 0.046, 0.651]
    """
    total = weight.sum()
    share = float((weight * wrong).sum() / total)
    variance = float((weight**2 * (wrong - share) ** 2).sum() / total**2)
    n = share * (1.0 - share) / variance if variance > 0.0 else total**2 / (weight**2).sum()
    n = min(float(n), float(len(weight)))
    a, b = np.array([share * n + 0.5]), np.array([(1.0 - share) * n + 0.5])
    tail = (1.0 - LEVEL) / 2.0
    low, high = (float(beta_quantile(a, b, end)[0]) for end in (tail, 1.0 - tail))
    return share, min(low, share), max(high, share)


def _hiding(blocks: Sequence[Block], answers: Sequence[Answered]) -> Iterator[Block]:
    """Return the blocks as if these answers were not known."""
    for number, block in enumerate(blocks):
        known = block.known_of_fact.copy()
        for own in (one.item for one in answers if one.part == number):
            known[block.first_fact_of_item[own] : block.first_fact_of_item[own + 1]] = UNKNOWN
        yield block._replace(known_of_fact=known)


def _wrong(block: Block, plausibility: FloatArray, kind: str, least: float | None) -> FloatArray:
    """Return how wrong the answer to each known item is: 0, 1, or a share if values tie."""
    true = block.known_of_fact == 1
    if kind == "categorical":
        best = is_best_of_item(plausibility, block)
        right = item_sums(best * true.astype(np.float64), block)
        return np.asarray(1.0 - right / item_sums(best.astype(np.float64), block))
    tied = (np.round(plausibility, SAME) == 0.5) & (kind == "binary")
    wrong = np.where(tied, 0.5, taken_facts(block, plausibility, kind, least) != true)
    return np.maximum.reduceat(wrong.astype(np.float64), block.first_fact_of_item[:-1])


def _sureness(block: Block, plausibility: FloatArray, kind: str, least: float | None) -> FloatArray:
    return sureness_of(block, plausibility, taken_facts(block, plausibility, kind, least), kind)


def _differs(
    block: Block, one: FloatArray, other: FloatArray, kind: str, least: float | None
) -> BoolArray:
    """Return the items on which two answers differ."""
    facts = taken_facts(block, one, kind, least) != taken_facts(block, other, kind, least)
    return np.asarray(np.logical_or.reduceat(facts, block.first_fact_of_item[:-1]))
