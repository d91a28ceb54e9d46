"""Values of any kind: one accuracy a source, and one for each attribute if they differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.algorithms.base import Tally, Weights, hold_known, kernels, logit, sigmoid
from veracity.algorithms.prior import UNLEARNED, PriorRates
from veracity.algorithms.shapes.pooling import (
    USUAL_CORRELATION,
    correlation_of,
    design_effect,
    likeliest_strength,
    log_known,
    pooled,
    shrunk,
)
from veracity.encode import UNKNOWN, Block, FloatArray, IntArray

__all__ = ["Parts", "Values", "count_named", "count_voices"]

ATTRIBUTE_STRENGTHS = tuple(2.0**n for n in range(14))
"""How little and how much a source's accuracy may weigh against that on an attribute, in claims."""


class Parts(NamedTuple):
    """What sources say, parted by attribute: a cell for each source and attribute.

    All else is [source, attribute]: of how many items with a choice the source speaks, and how
    often it is right and wrong where the truth is known.
    """

    cell_of_support: IntArray
    spoken: FloatArray
    known_right: FloatArray
    known_wrong: FloatArray

    @classmethod
    def of(
        cls, block: Block, attribute_of_item: IntArray, n_sources: int, named: IntArray
    ) -> Parts:
        """The cells of supports; who names several values of an item still speaks of one."""
        n_attributes = int(attribute_of_item.max()) + 1
        n_supports = np.diff(block.first_support_of_fact)
        attribute = np.repeat(attribute_of_item[block.item_of_fact], n_supports)
        cell = block.source_of_support.astype(np.int64) * n_attributes + attribute

        def count(weight_of_fact: NDArray[np.bool_], share: FloatArray | float = 1.0) -> FloatArray:
            weight = np.repeat(weight_of_fact, n_supports) * share
            counts = np.bincount(cell, weight, n_sources * n_attributes)
            return np.asarray(counts.reshape(n_sources, n_attributes), dtype=np.float64)

        spoken = count(~is_lone(block)[block.item_of_fact], 1.0 / named)
        right = count(block.known_of_fact == 1)
        wrong = count(block.known_of_fact != UNKNOWN, 1.0 / named) - right
        return cls(cell, spoken, right, np.maximum(wrong, 0.0))

    def counts(self, block: Block, plausibility: FloatArray) -> FloatArray:
        """[source, attribute, outcome]: how often right where there is a choice, and wrong."""
        of_open = plausibility * ~is_lone(block)[block.item_of_fact]
        of_support = np.repeat(of_open, np.diff(block.first_support_of_fact))
        right = np.bincount(self.cell_of_support, of_support, self.spoken.size)
        right = right.reshape(self.spoken.shape)
        return np.stack([right, np.maximum(self.spoken - right, 0.0)], axis=2)

    def weigh_known(self, accuracy: FloatArray) -> FloatArray:
        """Accuracies as the known truths correct them: see `PriorRates.weigh_known`."""
        return pooled(self.known_right, self.known_right + self.known_wrong, accuracy, UNLEARNED)


class Values(NamedTuple):
    """One accuracy a source; an error is any other value of the item, claimed or one more, alike.

    So of an item with K claimed values, K are false, and a source that names one outweighs one that
    does not by ``log(K accuracy / (1 - accuracy))``. One that names m of them is right if the truth
    is among them: each has ``log((K - m + 1) / m accuracy / (1 - accuracy))``. Where there is a
    choice sources err more often than elsewhere, so there are two accuracies: where values differ,
    and on all that several speak of. The second one is for items of which a single value is
    claimed.

    When all that is learned, the first may go on to differ by attribute, as far as the claims show
    that it does. Not before: on one attribute alone, most may err and be believed.
    """

    disputed: FloatArray
    accuracy: FloatArray
    weight_of_support: FloatArray
    n_named: IntArray
    """How many values of the item the supporter names, this one included; one a support."""
    prior: PriorRates
    strength: float
    parts: Parts | None = None
    """None where reliability is not to differ by attribute."""
    correlation: float = USUAL_CORRELATION
    of_attribute: FloatArray | None = None
    """[source, attribute], where values differ; None before it is looked at."""

    def study(self, block: Block, label_of_fact: IntArray) -> Tally:
        """How often the sources are right where there is a choice, and how likely the known is."""
        plausibility = hold_known(self._judge(block, 0.0, none=False), block)
        settled = self.settle(self.prior)
        known = log_known(block, lambda correlation: settled._judge(block, correlation, none=True))
        if self.parts is not None and self.of_attribute is not None:
            return known, self.parts.counts(block, plausibility)
        counts = count_voices(block, plausibility, len(self.accuracy))
        is_said_once = is_lone(block) & (np.diff(block.first_voice_of_item) == 1)
        lone, said_once = (
            _supports(block, items, len(counts)) for items in (is_lone(block), is_said_once)
        )
        return known, counts - lone[:, None], counts - said_once[:, None]

    def learn(self, tally: Tally) -> Values:
        """Shares of right claims, with the mean of all as a few claims more."""
        known, *counted = tally
        correlation = correlation_of(known)
        if self.of_attribute is not None:
            of_attribute = self._pooled_by_attribute(*counted)
            return self._replace(of_attribute=of_attribute, correlation=correlation)
        disputed, everywhere = (
            shrunk(counts[:, 0], counts[:, 1], self.prior, self.strength) for counts in counted
        )
        return self._replace(disputed=disputed, accuracy=everywhere, correlation=correlation)

    def by_attribute(self) -> Values:
        """Let the accuracies differ by attribute from now on, if they are to and do not yet."""
        if self.parts is None or self.of_attribute is not None:
            return self
        n_attributes = self.parts.spoken.shape[1]
        return self._replace(of_attribute=np.tile(self.disputed[:, None], n_attributes))

    def _pooled_by_attribute(self, counts: FloatArray) -> FloatArray:
        """Accuracies by attribute, with the source's own as more claims: how many, is learned."""
        expected = np.tile(self.disputed[:, None], counts.shape[1])
        plain = np.stack([expected, 1.0 - expected], axis=2)
        strength = likeliest_strength(counts, plain, ATTRIBUTE_STRENGTHS)
        learned = pooled(counts[:, :, 0], counts.sum(axis=2), expected, strength)
        return np.where((self.prior.is_fixed == 1)[:, None], expected, learned)

    def settle(self, prior: PriorRates) -> Values:
        """Correct the accuracies by the known truths."""
        disputed = prior.weigh_known_accuracy(self.disputed)
        of_attribute = self.of_attribute
        if self.parts is not None and of_attribute is not None:
            move = (logit(disputed) - logit(self.disputed))[:, None]
            known = self.parts.weigh_known(sigmoid(logit(of_attribute) + move))
            of_attribute = np.where((prior.is_fixed == 1)[:, None], of_attribute, known)
        return self._replace(
            disputed=disputed,
            accuracy=prior.weigh_known_accuracy(self.accuracy),
            of_attribute=of_attribute,
        )

    def change(self, after: Values) -> float:
        """By how much the accuracies moved, on average."""
        if after.of_attribute is None:
            return float(np.abs(after.disputed - self.disputed).mean())
        if self.of_attribute is None:  # they have only begun to differ
            return np.inf
        return float(np.abs(after.of_attribute - self.of_attribute).mean())

    def judge(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> FloatArray:
        """Plausibilities; what is missing to one is that no claimed value is true."""
        return self._judge(block, self.correlation if temper else 0.0, none=True)

    def weights(self, block: Block, label_of_fact: IntArray, *, temper: bool) -> Weights:
        """What each claim is worth, copies and doubt counted in; that none is true has 0."""
        return Weights(
            logit(self.disputed),
            np.zeros(len(self.disputed)),
            "softmax",
            of_claim=self._words(block, self.correlation if temper else 0.0, none=True),
            unclaimed=np.zeros(len(block.first_fact_of_item) - 1),
        )

    def _words(self, block: Block, correlation: float, *, none: bool) -> FloatArray:
        """What each claim adds to the score of its fact."""
        n_facts = np.diff(block.first_fact_of_item)
        n_supports = np.diff(block.first_support_of_fact)
        if self.parts is None or self.of_attribute is None:
            words = logit(self.disputed)[block.source_of_support]
        else:
            words = logit(self.of_attribute).ravel()[self.parts.cell_of_support]
        if none:
            is_lone = np.repeat(np.repeat(n_facts == 1, n_facts), n_supports)
            words[is_lone] = logit(self.accuracy)[block.source_of_support[is_lone]]
        n_values = np.repeat(np.repeat(n_facts, n_facts), n_supports)
        words += np.log((n_values - self.n_named + 1) / self.n_named)
        effect = design_effect(block, self.weight_of_support, correlation)
        return np.asarray(
            words * self.weight_of_support / np.repeat(np.repeat(effect, n_facts), n_supports)
        )

    def _judge(self, block: Block, correlation: float, *, none: bool) -> FloatArray:
        n_facts = np.diff(block.first_fact_of_item)
        words = self._words(block, correlation, none=none)
        score = np.add.reduceat(words, block.first_support_of_fact[:-1])
        if not none:
            return np.asarray(kernels.normalise_log(score, block.first_fact_of_item))
        log_claimed = np.logaddexp.reduceat(score, block.first_fact_of_item[:-1])
        return np.asarray(np.exp(score - np.repeat(np.logaddexp(log_claimed, 0.0), n_facts)))


def is_lone(block: Block) -> NDArray[np.bool_]:
    """Of which items a single value is claimed, and no truth known."""
    is_unknown = block.known_of_fact[block.first_fact_of_item[:-1]] == UNKNOWN
    return np.asarray(is_unknown & (np.diff(block.first_fact_of_item) == 1))


def _supports(block: Block, is_meant: NDArray[np.bool_], n_sources: int) -> FloatArray:
    """How often each source supports a fact of the items that are meant."""
    is_fact = np.repeat(is_meant, np.diff(block.first_fact_of_item))
    is_support = np.repeat(is_fact, np.diff(block.first_support_of_fact))
    counts = np.bincount(block.source_of_support[is_support], minlength=n_sources)
    return counts.astype(np.float64)


def count_voices(block: Block, plausibility: FloatArray, n_sources: int) -> FloatArray:
    """How often each source names the truth, and on how many items it speaks."""
    right = kernels.count_votes(block, plausibility, n_sources)[:, 0]
    return np.stack([right, np.bincount(block.source_of_voice, minlength=n_sources)], axis=1)


def count_named(block: Block, n_sources: int) -> IntArray:
    """For each support, how many values of the item its source names."""
    if len(block.source_of_support) == len(block.source_of_voice):
        return np.ones(len(block.source_of_support), dtype=np.int32)
    item = np.repeat(block.item_of_fact, np.diff(block.first_support_of_fact)).astype(np.int64)
    _, voice, n_named = np.unique(
        item * n_sources + block.source_of_support, return_inverse=True, return_counts=True
    )
    return np.asarray(n_named[voice], dtype=np.int32)
