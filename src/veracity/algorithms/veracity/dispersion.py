"""Whether voices on one item err alike: how far items scatter beyond what independent errors would.

Where sources err each by itself, given what is true, how many are right on an item scatters as
their accuracies say. Where errors are the item's, it is easy for all or hard for all, and the
number scatters more. Real crowds and sites do, as a rule; what shows that these ones do not is a
reason to be surer. Unless sources do not agree beyond chance either: then nothing is known of what
is true, and so nothing of errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.claims.block import Block, FloatArray, IntArray

ENOUGH_CLAIMS = 100_000
"""Items with about so many claims are looked at: the error of the mean is small then."""

FEWEST_VOICES = 5
"""Voices from which an item tells: with fewer, what is taken for true is what most of them say."""

MOST_NAMED = 2
"""Values that voices of an item may name on average, if it is to tell."""

USUAL, SPREAD = 0.05, 0.8
"""The correlation of being right on one item, in real data: its median, and the standard deviation
of its logarithm. Of twelve sets with truths it was .015 to .17 on all but one."""

BIAS = 0.003
"""What the correlation may be off for other reasons than chance."""

RARELY = 0.2
"""How often sources are taken to err each by itself, before the claims are looked at."""

LEAST = 0.01

BY_CHANCE = 2.0
"""Standard errors up to which sources agree no better than by chance; from one more on, they do."""


class Dispersion(NamedTuple):
    """Sums over items: products of two voices' errors, as observed and as if all erred alike.

    With the sums of squares and of products of both, from which the error of their ratio follows.
    """

    observed: float = 0.0
    alike: float = 0.0
    observed_squared: float = 0.0
    alike_squared: float = 0.0
    observed_alike: float = 0.0


class Same(NamedTuple):
    """Sums over items: pairs of voices that say the same, all pairs, squares and products."""

    same: float = 0.0
    pairs: float = 0.0
    same_squared: float = 0.0
    pairs_squared: float = 0.0
    same_pairs: float = 0.0

    def beyond(self, chance: float) -> float:
        """How clearly voices agree beyond chance: 0 not at all, 1 clearly.

        >>> Same(50.0, 100.0, 2500.0, 1e4, 5e3).beyond(0.5)
        0.0
        """
        squares = self.same_squared + chance**2 * self.pairs_squared
        squares -= 2.0 * chance * self.same_pairs
        error = np.sqrt(max(squares, 0.0))
        beyond = (self.same - chance * self.pairs) / error if error > 0.0 else 0.0
        return float(np.clip(beyond - BY_CHANCE, 0.0, 1.0))


Pairs = tuple[IntArray, IntArray]
"""Supports of the same item, two by two, whose sources depend on each other."""

NO_PAIRS: Pairs = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Scatter(NamedTuple):
    """For each possible truth of each item, in one row: how many are right beyond expectation.

    `weight` is how plausible it is, `beyond` the number of right voices less the expected one;
    `variance` and `deviation` are the sums of the voices' own. Voices that depend on each other
    agree for a reason that is not the item's: `beyond_of_pairs` and `deviation_of_pairs` are the
    sums of products over such pairs, to be left out.
    """

    item: IntArray
    weight: FloatArray
    beyond: FloatArray
    variance: FloatArray
    deviation: FloatArray
    beyond_of_pairs: FloatArray
    deviation_of_pairs: FloatArray

    def summed(self, n_items: int) -> Dispersion:
        """What the items tell, added up: (Σ x)² - Σ x² is the sum over all pairs, both ways."""
        pairs = self.weight * (self.beyond**2 - self.variance - 2.0 * self.beyond_of_pairs)
        if_alike = self.deviation**2 - self.variance - 2.0 * self.deviation_of_pairs
        if_alike = self.weight * if_alike
        seen, alike = (np.bincount(self.item, own, n_items) for own in (pairs, if_alike))
        sums = (seen, alike, seen**2, alike**2, seen * alike)
        return Dispersion(*(float(own.sum()) for own in sums))


def telling_items(block: Block, n_claims: float) -> Block:
    """Those of a block's items that are looked at: always the same, wherever they lie.

    Where voices name many values each, whether they are right says little.
    """
    tells = (block.n_voices_of_item >= FEWEST_VOICES) & ~block.is_known
    tells &= block.n_supports_of_item <= MOST_NAMED * block.n_voices_of_item
    return block.select(tells & block.drawn(ENOUGH_CLAIMS / max(n_claims, 1.0), least=0))


def said_the_same(block: Block) -> Same:
    """How often voices on the same item say the same."""
    named, voices = (
        n.astype(np.float64) for n in (block.n_supports_of_fact, block.n_supports_of_item)
    )
    same = np.add.reduceat(named * (named - 1.0), block.first_fact_of_item[:-1])
    pairs = voices * (voices - 1.0)
    sums = (same, pairs, same**2, pairs**2, same * pairs)
    return Same(*(float(own.sum()) for own in sums))


def said_of_label(block: Block, n_labels: int) -> FloatArray:
    """How often each label is claimed; nothing, if labels are not counted."""
    if not n_labels:
        return np.zeros(0)
    n_claims = block.n_supports_of_fact.astype(np.float64)
    return np.asarray(np.bincount(block.label_of_fact, n_claims, n_labels), dtype=np.float64)


def chance_of(said: FloatArray) -> float:
    """How often claims on different items say the same, given how often each label is claimed.

    >>> chance_of(np.array([3.0, 1.0]))
    0.625
    """
    share = said / max(said.sum(), 1.0)
    return float((share**2).sum())


def err_alike(total: Dispersion, agrees: float = 1.0) -> float:
    """How far voices err alike: 1 as usual, or where the claims do not tell; 0 if they do not.

    A Bayes factor: that the correlation is a usual one, against that it is zero. It tells nothing
    unless sources agree: `agrees` is how clearly they do.

    >>> err_alike(Dispersion())
    1.0
    """
    if total.alike <= 0.0:
        return 1.0
    found, error = _correlation(total)
    spread = np.linspace(-3.0, 3.0, 61)
    usual = np.exp(np.log(USUAL) + SPREAD * spread)
    share = np.exp(-0.5 * spread**2)
    if_alike = float(np.average(_density(found - usual, error), weights=share))
    if_not = float(_density(np.array(found), error))
    alike = if_alike / max((1.0 - RARELY) * if_alike + RARELY * if_not, 1e-300)
    alike = float(np.clip(alike, LEAST, 1.0))
    return 1.0 - (1.0 - alike) * agrees


def _correlation(total: Dispersion) -> tuple[float, float]:
    """The correlation of being right on one item, which is not negative; and its standard error."""
    ratio = total.observed / total.alike
    squares = (
        total.observed_squared - 2.0 * ratio * total.observed_alike + ratio**2 * total.alike_squared
    )
    error = np.sqrt(max(squares, 0.0)) / total.alike
    return max(ratio, 0.0), float(np.hypot(error, BIAS))


def _density(difference: FloatArray, error: float) -> FloatArray:
    return np.exp(-0.5 * (difference / error) ** 2) / error
