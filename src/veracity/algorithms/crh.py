"""CRH: truths and weights that minimise the weighted distance between truths and claims.

Li, Li, Gao, Zhao, Fan, Han: Resolving Conflicts in Heterogeneous Data by Truth Discovery and Source
Reliability Estimation (SIGMOD 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    BySource,
    CountBySource,
    Labels,
    Memory,
    Phase,
    Step,
    Turn,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.numbers import (
    SAME_SPREAD,
    Distances,
    as_told,
    calibrated,
    distances,
    numbers_of,
    weighted_estimate,
)
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import (
    Weights,
    is_best_of_item,
    item_sums,
    ratio,
    share_of_item,
    with_paired,
)
from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.kernels.loading import kernels
from veracity.reading.schema import Kind
from veracity.similarity import MOST_VALUES, as_numbers, pairs_within


class NumbersAmongValues(NamedTuple):
    """What tells which values are to be judged as numbers, where these stand among others."""

    balance_of_attribute: FloatArray
    """The facts of each attribute that are numbers, less those that are none."""
    labels: Labels

    @property
    def is_number_of_attribute(self) -> BoolArray:
        """Which attributes have more numbers than other values."""
        return np.asarray(self.balance_of_attribute > 0.0)

    def of_facts(self, block: Block) -> FloatArray:
        """The value of each fact as a number, NaN where it is none."""
        return as_numbers(self.labels.gather(block.label_of_fact))


class Losses(NamedTuple):
    """What each source weighs, its mean loss and its claims, and what known numbers tell of it."""

    weight: BySource
    mean_loss: BySource
    n_claims: CountBySource
    known_loss: CountBySource
    n_known: CountBySource
    numbers: NumbersAmongValues | None = None


class NumberPairs(NamedTuple):
    """Pairs of numbers of one item, each pair once, and how near they are, in two measures."""

    fact: IntArray
    other: IntArray
    near: FloatArray
    """One less their distance as a share of the item's range: never negative."""
    gain: FloatArray
    """One less their distance in standard deviations of the item's numbers: one less the loss."""


@dataclass(frozen=True, kw_only=True)
class CRH(Algorithm[Losses]):
    """A source's weight is -log of its share of all loss; truth is the weighted vote or mean.

    The loss of a value is 0 or 1; that of a number is its squared distance from the truth, in
    standard deviations of the item's claims. A source's loss is the mean over its claims.

    Where values and numbers stand in one table, both losses can be added up (`both_losses`). The
    loss of a number among values is its absolute distance, in the same standard deviations, and its
    truth is the weighted median, which is one of the values.

    Parameters
    ----------
    both_losses
        In a run on values, judge an attribute most of whose values are numbers by their distances.
    most_values
        Numbers of an item with more than these values are judged as values: pairs grow with their
        square.
    max_rounds, tolerance
        It stops when a round moves no weight by `tolerance`, the largest weight being one.
    """

    name = "crh"
    kinds: ClassVar[tuple[Kind, ...]] = ("categorical", "numeric")
    state_type = Losses
    takes_shares = True

    both_losses: bool = False
    most_values: int = MOST_VALUES
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 1, most_values=self.most_values, max_rounds=self.max_rounds)

    def start(self, survey: Survey, prior: PriorRates) -> Losses:
        """All sources weigh the same."""
        nothing = np.zeros(survey.n_sources)
        state = Losses(np.ones(survey.n_sources), nothing, nothing, nothing, nothing)
        if not self.both_losses or survey.kind == "numeric":
            return state
        survey.require_labels(self.name)
        numbers = NumbersAmongValues(np.zeros(survey.n_attributes), survey.names.labels)
        return state._replace(numbers=numbers)

    def phases(self, state: Losses) -> tuple[Phase[Losses], ...]:
        """Rounds; before them, which attributes are numbers, where that is asked for."""
        if state.numbers is None:
            return super().phases(state)
        attributes = Phase("attributes", (Step(self.tally_attributes, self.learn_attributes),))
        rounds = Phase("rounds", (Step(self.tally, self.learn, self.pairs),), self.change)
        return (attributes, rounds)

    def tally_attributes(self, block: Block, state: Losses, turn: Turn) -> tuple[FloatArray]:
        """How many facts of each attribute are numbers, less those that are none."""
        assert state.numbers is not None
        is_number = ~np.isnan(state.numbers.of_facts(block))
        attribute = block.attribute_of_item[block.item_of_fact]
        n_attributes = len(state.numbers.balance_of_attribute)
        more = np.bincount(attribute, np.where(is_number, 1.0, -1.0), n_attributes)
        return (more.astype(np.float64),)

    def learn_attributes(self, state: Losses, total: tuple[FloatArray]) -> Losses:
        """The same, of all claims."""
        assert state.numbers is not None
        return state._replace(numbers=state.numbers._replace(balance_of_attribute=total[0]))

    def pairs(self, block: Block, state: Losses) -> NumberPairs:
        """How near the numbers of an item are to each other, if its attribute is one of numbers."""
        assert state.numbers is not None
        is_meant = state.numbers.is_number_of_attribute[block.attribute_of_item]
        number = np.where(is_meant[block.item_of_fact], state.numbers.of_facts(block), np.nan)
        return _number_pairs(number, block, self.most_values)

    def tally(self, block: Block, state: Losses, turn: Turn) -> Distances:
        """The loss of every source against the truths its weight makes."""
        n_sources = len(state.weight)
        if block.is_numeric:
            numbers = numbers_of(block)
            return distances(numbers, weighted_estimate(numbers, state.weight)[0], n_sources)
        gain = self._winners(block, state, turn.memory)
        if turn.memory is not None:  # who is near a winner has gained a part, or lost more than all
            pairs: NumberPairs = turn.memory
            gain = with_paired(gain, (pairs.fact, pairs.other, pairs.gain))
        counts = kernels.count_votes(block, gain, n_sources)
        nothing = np.zeros(n_sources)
        return Distances(counts[:, 1] - counts[:, 0], counts[:, 1], nothing, nothing)

    def learn(self, state: Losses, total: Distances) -> Losses:
        """The weights that minimise the weighted loss."""
        mean_loss = ratio(total.square, total.n_claims)
        return state._replace(
            weight=self.weights_from(mean_loss, total.n_claims),
            mean_loss=mean_loss,
            n_claims=total.n_claims,
            known_loss=total.known_square,
            n_known=total.n_known,
        )

    def weights_from(self, mean_loss: FloatArray, n_claims: FloatArray) -> FloatArray:
        """-log of the share of all loss, given Σ exp(-weight) = 1; the largest weight is one."""
        if mean_loss.sum() <= 0.0:  # nobody errs
            return np.ones_like(mean_loss)
        loss = some_loss(mean_loss)
        weight = -np.log(loss / loss.sum())
        return np.asarray(weight / max(weight.max(), 1e-12))

    def change(self, before: Losses, after: Losses) -> float:
        """The largest move of any weight."""
        return float(np.abs(after.weight - before.weight).max())

    def calibrate(self, state: Losses, prior: PriorRates) -> Losses:
        """Correct the losses by known numbers; known values are clamped, and that is all."""
        if not state.n_known.any():
            return state
        loss = calibrated(state.mean_loss, (state.known_loss, state.n_known))
        return state._replace(mean_loss=loss, weight=self.weights_from(loss, state.n_claims))

    def estimate(self, block: Block, state: Losses) -> tuple[FloatArray, FloatArray]:
        """The weighted mean, and its standard error."""
        numbers = numbers_of(block)
        return as_told(numbers, *weighted_estimate(numbers, state.weight))

    def weigh(self, block: Block, state: Losses, memory: Memory = None) -> Weights:
        """The weight of the source: values have their share of the weighted vote.

        A number has the weight of every claim, less what its distance from it is of the range.
        """
        if block.is_numeric:
            return Weights("estimate", state.weight)
        if state.numbers is None:
            return Weights("share", state.weight)
        pairs: NumberPairs = memory or self.pairs(block, state)
        return Weights("share", state.weight, pairs=(pairs.fact, pairs.other, pairs.near))

    def trust(self, state: Losses) -> FloatArray:
        """The weight."""
        return state.weight

    def notes(self, state: Losses) -> list[str]:
        """How many attributes were taken for numbers."""
        if state.numbers is None:
            return []
        is_number = state.numbers.is_number_of_attribute
        n_numbers, n_attributes = np.count_nonzero(is_number), len(is_number)
        return [
            f"attributes that are judged as numbers, by distance: {n_numbers} of {n_attributes}"
        ]

    def grow(self, state: Losses, names: Names) -> Losses:
        """New sources as usual; new attributes are no numbers as long as nothing is learned."""
        state = super().grow(state, names)
        if state.numbers is None:
            return state
        balance = state.numbers.balance_of_attribute
        n_new = max(len(names.attributes) - len(balance), 0)
        return state._replace(numbers=NumbersAmongValues(np.pad(balance, (0, n_new)), names.labels))

    def _winners(self, block: Block, state: Losses, memory: Memory) -> FloatArray:
        """One for the fact an item's weights favour, nothing for the others; ties share the one."""
        is_best = is_best_of_item(self.judge(block, state, memory), block)
        return clamp_known(share_of_item(is_best.astype(np.float64), block), block)


def _number_pairs(number_of_fact: FloatArray, block: Block, most_values: int) -> NumberPairs:
    """The pairs of numbers of each item; what is no number, NaN, is in none.

    Equal numbers are as near as can be, however they are written.
    """
    is_number = ~np.isnan(number_of_fact)
    fact, other = pairs_within(block.first_fact_of_item, most_values)
    is_meant = is_number[fact] & is_number[other]
    fact, other = fact[is_meant], other[is_meant]
    item, number = block.item_of_fact, np.where(is_number, number_of_fact, 0.0)
    largest = np.maximum.reduceat(np.abs(number), block.first_fact_of_item[:-1])
    number = ratio(number, largest[item])  # so that no square overflows
    votes = np.where(is_number, block.votes_of_fact, 0.0)
    n_votes = item_sums(votes, block)
    mean = ratio(item_sums(votes * number, block), n_votes)
    deviation = np.sqrt(ratio(item_sums(votes * (number - mean[item]) ** 2, block), n_votes))
    apart, item_of_pair = np.abs(number[fact] - number[other]), item[fact]
    span = np.zeros(block.n_items)
    np.maximum.at(span, item_of_pair, apart)
    near, gain = (1.0 - _in_units(apart, unit[item_of_pair]) for unit in (span, deviation))
    return NumberPairs(fact, other, near, gain)


def _in_units(apart: FloatArray, unit: FloatArray) -> FloatArray:
    """Distances in units; nothing, where the unit is no more than rounding."""
    return ratio(apart, np.where(unit > SAME_SPREAD, unit, 0.0))


def some_loss(loss: FloatArray) -> FloatArray:
    """Losses, none of them zero: half the least stands for none, or weights were infinite."""
    return np.asarray(np.maximum(loss, loss[loss > 0.0].min() / 2.0))
