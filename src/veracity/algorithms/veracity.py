"""Veracity: the default. Reliabilities learned with caution, mirrors counted once, doubt told.

Five ingredients, none of them new by itself: a model of the sources that fits the shape of the
claims (`shapes`), empirical-Bayes shrinkage towards what holds for all sources, accuracies that
come to differ by attribute where the claims show it, mirrors found by their agreement and counted
once (`mirrors`), and plausibilities tempered because voices on one item err alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    Copies,
    Memory,
    Rates,
    Tally,
    Turn,
    Weights,
    hold_known,
    kernels,
    logit,
    share_of_item,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.mirrors import Mirrors, find_mirrors
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.shapes import (
    NOTHING_KNOWN,
    Cells,
    Facts,
    Labels,
    Shape,
    Values,
    count_named,
    count_voices,
    plain_confusion,
)
from veracity.encode import Block, Claims, FloatArray, IntArray

__all__ = ["Veracity"]

MOST_LABELS = 20
"""Distinct values up to which they are labels, if there are enough items to share them."""

ITEMS_PER_LABEL = 5

MOST_CELLS = 20_000_000
"""Cells of all confusion matrices, or of all sources and attributes, beyond which sources have an
accuracy only."""

RUN_OF_LABELS, RUN_OF_VALUES = 8.0, 32.0
"""Claims in a row that must be copied. Where any value may be named, accurate sources agree on
nearly all, too, so there it takes more to be a mirror."""

Belief = tuple[Shape, Mirrors | None]


@dataclass(frozen=True, kw_only=True)
class Veracity(Algorithm[Belief]):
    """What to use where nothing is known of the claims.

    Parameters
    ----------
    prior
        What is known of the sources. Fixed ones stay as they are. For the others what is expected
        before they say anything is moved as their rates differ from the usual ones.
    strength
        How many claims of its own what holds for all sources weighs in what is learned of one.
    confusions
        Where items share a few labels, learn which ones a source mistakes for which.
    attributes
        Where they do not share labels, learn on which attributes a source is better than on others.
    mirrors
        Look for sources that mirror each other, and count their word once.
    temper
        Temper the plausibilities: voices on one item err alike, so many are no proof.
    max_rounds, tolerance
        It stops when a round moves the accuracies by less than `tolerance` on average.
    """

    name = "veracity"
    learns_from = "all"

    prior: Prior = NO_PRIOR
    strength: float = 8.0
    confusions: bool = True
    attributes: bool = True
    mirrors: bool = True
    temper: bool = True
    max_rounds: int = 100
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_positive(self, strength=self.strength, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Belief]:
        """Find the mirrors, and learn from a vote in which they count once."""
        block = claims.all
        if claims.kind != "categorical":
            return (_no_labels(claims),), (self._facts(claims, prior), None)
        label_of_fact, n_labels = self._labels(claims)
        weight, mirrors = np.ones(len(block.source_of_support)), None
        if self.mirrors:
            run = RUN_OF_VALUES if n_labels is None else RUN_OF_LABELS
            mirrors, weight = find_mirrors(block, claims.n_sources, n_labels, run)
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        words = np.maximum(logit(tpr) - logit(fpr), 0.0)[block.source_of_support]
        said = np.add.reduceat(words * weight, block.first_support_of_fact[:-1])
        vote = hold_known(share_of_item(said, block), block)
        if n_labels is None:
            shape: Shape = self._values(claims, prior, vote, weight)
        else:
            shape = self._confused(claims, prior, vote, weight, label_of_fact, n_labels)
        return (label_of_fact,), (shape, mirrors)

    def study(
        self, block: Block, memory: Memory, reliability: Belief, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Judge the facts, and count how the sources' words met them."""
        return memory, reliability[0].study(block, memory[0])

    def learn(self, reliability: Belief, tally: Tally) -> Belief:
        """Take in the counts; when accuracies move no more, let them differ by attribute."""
        shape, mirrors = reliability
        learned = shape.learn(tally)
        if (
            isinstance(learned, Values)
            and self.change(reliability, (learned, None)) < self.tolerance
        ):
            learned = learned.tell_apart()
        return learned, mirrors

    def change(self, before: Belief, after: Belief) -> float:
        """By how much a round moved the accuracies, on average."""
        return before[0].change(after[0])  # type: ignore[arg-type]

    def settle(self, reliability: Belief, prior: PriorRates) -> Belief:
        """Correct what was learned by the known truths."""
        return reliability[0].settle(prior), reliability[1]

    def judge(
        self, block: Block, memory: Memory, reliability: Belief, single_truth: bool
    ) -> FloatArray:
        """Bayes' rule, tempered."""
        return reliability[0].judge(block, memory[0], temper=self.temper)

    def weights(self, claims: Claims, memory: Memory, reliability: Belief) -> Weights:
        """What the claims weigh, mirrors counted once, tempered."""
        return reliability[0].weights(claims.all, memory[0], temper=self.temper)

    def trust(self, reliability: Belief) -> FloatArray:
        """The accuracy."""
        return reliability[0].accuracy

    def rates(self, reliability: Belief, counts: FloatArray) -> Rates:
        """As the sources' words met the facts; those that are fixed stay as they are."""
        counted, prior = super().rates(reliability, counts), reliability[0].prior
        is_fixed = prior.is_fixed == 1
        return counted._replace(
            tpr=np.where(is_fixed, prior.tpr, counted.tpr),
            fpr=np.where(is_fixed, prior.fpr, counted.fpr),
        )

    def copies(self, reliability: Belief) -> Copies | None:
        """The pairs of sources that mirror each other."""
        return None if reliability[1] is None else reliability[1].copies()

    def _labels(self, claims: Claims) -> tuple[IntArray, int | None]:
        """The label of each fact and how many there are; None where values are no labels."""
        if claims.label_of_fact is None or not self.confusions:
            return _no_labels(claims), None
        names, label_of_fact = np.unique(claims.label_of_fact, return_inverse=True)
        n_labels = max(len(names), 2)
        is_shared = n_labels <= MOST_LABELS and claims.n_items >= ITEMS_PER_LABEL * n_labels
        if not is_shared or claims.n_sources * n_labels**2 > MOST_CELLS:
            return _no_labels(claims), None
        return label_of_fact.astype(np.int64), n_labels

    def _values(
        self, claims: Claims, prior: PriorRates, vote: FloatArray, weight: FloatArray
    ) -> Values:
        """Accuracies against the vote."""
        counts = count_voices(claims.all, vote, claims.n_sources)
        n_named = count_named(claims.all, claims.n_sources)
        sources = Cells.by_source(claims.all, n_named, claims.n_sources)
        attributes = self._attributes(claims, n_named)
        values = Values(
            prior.tpr, prior.tpr, weight, n_named, prior, self.strength, sources, attributes
        )
        return values.learn((NOTHING_KNOWN, counts, counts))

    def _attributes(self, claims: Claims, n_named: IntArray | None) -> Cells | None:
        """What sources say by attribute; None where that is not to matter, or is too much."""
        attribute = claims.attribute_of_item
        if attribute is None or not self.attributes:
            return None
        n_cells = claims.n_sources * (int(attribute.max()) + 1)
        if not claims.n_sources < n_cells <= MOST_CELLS:
            return None
        return Cells.by_attribute(claims.all, n_named, attribute, claims.n_sources)

    def _confused(
        self,
        claims: Claims,
        prior: PriorRates,
        vote: FloatArray,
        weight: FloatArray,
        label_of_fact: IntArray,
        n_labels: int,
    ) -> Labels:
        """Confusions with the vote."""
        block, n_sources = claims.all, claims.n_sources
        place = (block.item_of_fact, label_of_fact)
        label, known = np.zeros((2, claims.n_items, n_labels))
        label[place], known[place] = vote, block.known_of_fact == 1
        known_counts = kernels.count_confusions(block, label_of_fact, known, n_sources)
        counts = kernels.count_confusions(block, label_of_fact, label, n_sources)
        plain = plain_confusion(prior.tpr, n_labels)
        share = np.full(n_labels, 1.0 / n_labels)
        n_named = count_named(block, n_sources)
        empty = Labels(prior.tpr, plain, share, weight, n_named, known_counts, prior, self.strength)
        return empty.learn((counts, NOTHING_KNOWN, label.sum(axis=0)))

    def _facts(self, claims: Claims, prior: PriorRates) -> Facts:
        """Rates against the vote."""
        block = claims.all
        vote = np.diff(block.first_support_of_fact) / block.n_voices_of_fact
        vote = hold_known(vote, block)
        counts = kernels.count_votes(block, vote, claims.n_sources)
        facts = Facts(prior.tpr, prior.fpr, 0.5, prior, self.strength)
        return facts.learn((counts, vote.sum(), len(vote)))


def _no_labels(claims: Claims) -> IntArray:
    return np.zeros(claims.n_facts, dtype=np.int64)
