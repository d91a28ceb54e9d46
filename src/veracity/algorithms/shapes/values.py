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
    of_voices,
    pooled,
    says_most,
    shrunk,
)
from veracity.encode import UNKNOWN, Block, FloatArray, IntArray

__all__ = ["Cells", "Values", "count_named", "count_voices"]

ATTRIBUTE_STRENGTHS = tuple(2.0**n for n in range(14))
"""How little and how much a source's accuracy may weigh against that on an attribute, in claims."""


class Cells(NamedTuple):
    """What sources say, in cells: a cell is a source, or a source on one attribute.

    A source that names several values of an item speaks of it once. `spoken` tells of how many
    items with a choice; `known`, [cell, outcome], how often it is right, and wrong, where the truth
    is known.
    """

    cell_of_support: IntArray
    source_of_cell: IntArray
    spoken: FloatArray
    known: FloatArray

    @classmethod
    def by_source(cls, block: Block, n_named: IntArray | None, n_sources: int) -> Cells:
        """A cell for each source."""
        return cls._counted(block, n_named, block.source_of_support, np.arange(n_sources))

    @classmethod
    def by_attribute(
        cls, block: Block, n_named: IntArray | None, attribute_of_item: IntArray, n_sources: int
    ) -> Cells:
        """A cell for each source and attribute it speaks of."""
        n_attributes = int(attribute_of_item.max()) + 1
        n_supports = np.diff(block.first_support_of_fact)
        attribute = np.repeat(attribute_of_item[block.item_of_fact], n_supports)
        place = block.source_of_support * np.int32(n_attributes) + attribute  # cells are few enough
        is_filled = np.zeros(n_sources * n_attributes, dtype=np.bool_)
        is_filled[place] = True
        cell_of_place = np.cumsum(is_filled, dtype=np.int32) - np.int32(1)
        source_of_cell = np.flatnonzero(is_filled) // n_attributes
        return cls._counted(block, n_named, cell_of_place[place], source_of_cell)

    @classmethod
    def _counted(
        cls,
        block: Block,
        n_named: IntArray | None,
        cell_of_support: IntArray,
        source_of_cell: IntArray,
    ) -> Cells:
        """The cells with what is spoken in them."""
        n_supports = np.diff(block.first_support_of_fact)

        def count(is_meant: NDArray[np.bool_], n_named: IntArray | None) -> FloatArray:
            if not is_meant.any():
                return np.zeros(len(source_of_cell))
            weight = of_voices(np.repeat(is_meant.astype(np.float64), n_supports), n_named)
            return np.bincount(cell_of_support, weight, len(source_of_cell)).astype(np.float64)

        spoken = count(~is_lone(block)[block.item_of_fact], n_named)
        right = count(block.known_of_fact == 1, None)
        wrong = np.maximum(count(block.known_of_fact != UNKNOWN, n_named) - right, 0.0)
        return cls(cell_of_support, source_of_cell, spoken, np.stack([right, wrong], axis=1))

    def outcomes(self, block: Block, plausibility: FloatArray) -> FloatArray:
        """[cell, outcome]: how often right where there is a choice, and wrong."""
        of_open = plausibility * ~is_lone(block)[block.item_of_fact]
        of_support = np.repeat(of_open, np.diff(block.first_support_of_fact))
        right = np.bincount(self.cell_of_support, of_support, len(self.spoken))
        return np.stack([right, np.maximum(self.spoken - right, 0.0)], axis=1)

    def weigh_known(self, accuracy: FloatArray, prior: PriorRates) -> FloatArray:
        """Accuracies as the known truths correct them: see `PriorRates.weigh_known`."""
        known = pooled(self.known[:, 0], self.known.sum(axis=1), accuracy, UNLEARNED)
        return np.where(prior.is_fixed[self.source_of_cell] == 1, accuracy, known)


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
    n_named: IntArray | None
    """For each support, how many values of the item its source names; None if all name one."""
    prior: PriorRates
    strength: float
    sources: Cells
    attributes: Cells | None = None
    """None where reliability is not to differ by attribute."""
    correlation: float = USUAL_CORRELATION
    by_attribute: FloatArray | None = None
    """One a cell of `attributes`, where values differ; None before they begin to differ."""

    def study(self, block: Block, label_of_fact: IntArray) -> Tally:
        """How often the sources are right where there is a choice, and how likely the known is."""
        plausibility = hold_known(self._judge(block, 0.0, none=False), block)
        known = log_known(block, lambda rho: self.settle(self.prior)._judge(block, rho, none=True))
        if self.attributes is not None and self.by_attribute is not None:
            return known, self.attributes.outcomes(block, plausibility)
        counts = count_voices(block, plausibility, len(self.accuracy))
        of_one_value = is_lone(block)
        of_one_claim = of_one_value & (np.diff(block.first_voice_of_item) == 1)
        lone, said_once = (
            _supports(block, items, len(counts)) for items in (of_one_value, of_one_claim)
        )
        return known, counts - lone[:, None], counts - said_once[:, None]

    def learn(self, tally: Tally) -> Values:
        """Shares of right claims, with the mean of all as a few claims more."""
        known, *counted = tally
        correlation = correlation_of(known)
        if self.attributes is not None and self.by_attribute is not None:
            by_attribute = self._pooled_by_attribute(self.attributes, *counted)
            return self._replace(by_attribute=by_attribute, correlation=correlation)
        disputed, everywhere = (
            shrunk(counts[:, 0], counts[:, 1], self.prior, self.strength) for counts in counted
        )
        return self._replace(disputed=disputed, accuracy=everywhere, correlation=correlation)

    def tell_apart(self) -> Values:
        """Let the accuracies differ by attribute from now on, if they are to and do not yet."""
        if self.attributes is None or self.by_attribute is not None:
            return self
        return self._replace(by_attribute=self.disputed[self.attributes.source_of_cell])

    def _pooled_by_attribute(self, attributes: Cells, outcomes: FloatArray) -> FloatArray:
        """Accuracies by attribute, with the source's own as more claims: how many, is learned."""
        expected = self.disputed[attributes.source_of_cell]
        is_free = self.prior.is_fixed[attributes.source_of_cell] == 0
        tells = is_free & says_most(np.where(is_free, attributes.spoken, 0.0), 2)
        plain = np.stack([expected, 1.0 - expected], axis=1)
        strength = likeliest_strength(outcomes[tells], plain[tells], ATTRIBUTE_STRENGTHS)
        learned = pooled(outcomes[:, 0], outcomes.sum(axis=1), expected, strength)
        return np.where(is_free, learned, expected)

    def settle(self, prior: PriorRates) -> Values:
        """Correct the accuracies by the known truths."""
        by_attribute = self.by_attribute
        if self.attributes is not None and by_attribute is not None:
            by_attribute = self._settled_by_attribute(self.attributes, by_attribute, prior)
        return self._replace(
            disputed=self.sources.weigh_known(self.disputed, prior),
            accuracy=self.sources.weigh_known(self.accuracy, prior),
            by_attribute=by_attribute,
        )

    def _settled_by_attribute(
        self, attributes: Cells, by_attribute: FloatArray, prior: PriorRates
    ) -> FloatArray:
        """All of a source move as it does on what is known, against what was to be expected there.

        Then each is corrected by what is known of its own attribute.
        """
        of_known = attributes.known.sum(axis=1) * by_attribute
        n_known = self.sources.known.sum(axis=1)
        summed = np.bincount(attributes.source_of_cell, of_known, len(n_known))
        expected = np.where(n_known > 0.0, summed / np.maximum(n_known, 1.0), self.disputed)
        move = logit(self.sources.weigh_known(expected, prior)) - logit(expected)
        moved = sigmoid(logit(by_attribute) + move[attributes.source_of_cell])
        return attributes.weigh_known(moved, prior)

    def change(self, after: Values) -> float:
        """By how much the accuracies moved, on average."""
        if after.by_attribute is None:
            return float(np.abs(after.disputed - self.disputed).mean())
        if self.by_attribute is None:  # they have only begun to differ
            return np.inf
        return float(np.abs(after.by_attribute - self.by_attribute).mean())

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
        n_supports = np.diff(block.first_support_of_fact[block.first_fact_of_item])  # of an item
        if self.attributes is None or self.by_attribute is None:
            words = logit(self.disputed)[block.source_of_support]
        else:
            words = logit(self.by_attribute)[self.attributes.cell_of_support]
        if none:
            is_single = np.repeat(n_facts == 1, n_supports)
            words[is_single] = logit(self.accuracy)[block.source_of_support[is_single]]
        if self.n_named is None:
            words += np.repeat(np.log(n_facts), n_supports)
        else:
            words += np.log((np.repeat(n_facts, n_supports) - self.n_named + 1) / self.n_named)
        words *= self.weight_of_support
        if correlation > 0.0:
            weight = of_voices(self.weight_of_support, self.n_named)
            words /= np.repeat(design_effect(block, weight, correlation), n_supports)
        return words

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


def count_named(block: Block, n_sources: int) -> IntArray | None:
    """For each support, how many values of the item its source names; None if all name one."""
    if len(block.source_of_support) == len(block.source_of_voice):
        return None
    return np.asarray(kernels.count_named(block, n_sources))
