"""CRH, CATD and GTM, which weigh sources of numbers, and functions that these share.

CRH: Li, Li, Gao, Zhao, Fan, Han: Resolving Conflicts in Heterogeneous Data by Truth Discovery and
Source Reliability Estimation (SIGMOD 2014). CATD: Li, Li, Gao, Su, Zhao, Demirbas, Fan, Han: A
Confidence-Aware Approach for Truth Discovery on Long-Tail Data (VLDB 2015). GTM: Zhao, Han: A
Probabilistic Model for Estimating Real-valued Truth from Conflicting Sources (2012).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import (
    Algorithm,
    Description,
    Labels,
    Memory,
    Phase,
    Step,
    Turn,
    clamp_known,
)
from veracity.algorithms.distributions import chi2_quantile
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import UNLEARNED, PriorRates
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
from veracity.reading.roles import Kind
from veracity.trees import BySource, CountBySource
from veracity.values import MOST_VALUES, as_numbers, pairs_within

LARGEST = float(np.finfo(np.float64).max)

BELOW_ONE = float(np.nextafter(1.0, 0.0))
"""Largest number below one; its product with any power of two is exact."""

ALL = slice(None)

FARTHEST = 1e100
"""Maximum distance of a known truth from the claims: a larger one could not be squared."""

SAME_SPREAD = 2.0**-48
"""Relative spread up to which claims agree; it is smaller than rounding errors."""


class Units(NamedTuple):
    """Units of each item: numbers are counted from `zero`, in powers of two that come near them.

    So sums and squares neither overflow nor vanish, however large or small numbers are, and none
    loses a digit by the change.
    """

    exponent: IntArray
    zero: FloatArray
    """The lowest claim, scaled."""
    span: FloatArray
    """Range of the claims, scaled."""

    def away(self, number: FloatArray, item: IntArray | slice = ALL) -> FloatArray:
        """Return numbers in the units of their items; those of strangers may be far."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(number, -self.exponent[item]) - self.zero[item]
        return np.clip(scaled, -FARTHEST, FARTHEST)

    def back(self, number: FloatArray) -> FloatArray:
        """Return one number for each item, among its claims, in the unit of the input."""
        inside = np.clip(number, 0.0, self.span) + self.zero
        return np.asarray(np.ldexp(np.clip(inside, -BELOW_ONE, BELOW_ONE), self.exponent))

    def length(self, number: FloatArray) -> FloatArray:
        """Return a length of each item in the unit of the input."""
        with np.errstate(over="ignore"):  # the largest number stands for what is beyond it
            length = np.ldexp(number, self.exponent)
        return np.where(np.isnan(number), np.nan, np.minimum(length, LARGEST))


class Numbers(NamedTuple):
    """Number, item and source of each support; mean and standard deviation of each item.

    All are in the `units` of their items; ``centre`` and ``scale`` are of an item's claims.
    """

    number: FloatArray
    item: IntArray
    source: IntArray
    centre: FloatArray
    scale: FloatArray
    known: FloatArray
    """The known truth of each item, NaN where it is not known."""
    units: Units
    known_input: FloatArray
    """The known truth of each item, in the unit of the input."""

    @property
    def standard(self) -> FloatArray:
        """Numbers in standard deviations from their item's mean."""
        return self.distance(self.centre)

    def distance(self, truth_of_item: FloatArray) -> FloatArray:
        """Return how far numbers are from these truths, in standard deviations of their item."""
        scale = np.where(self.scale > 0.0, self.scale, 1.0)  # where all agree, nobody is far
        distance: FloatArray = (self.number - truth_of_item[self.item]) / scale[self.item]
        return distance

    @property
    def is_single(self) -> BoolArray:
        """Items with a single claim, from which no uncertainty follows."""
        return np.equal(np.bincount(self.item, minlength=len(self.centre)), 1)


def numbers_of(block: Block) -> Numbers:
    """Return the supports of a block as numbers."""
    n_items = len(block.first_fact_of_item) - 1
    n_supports_of_fact = np.diff(block.first_support_of_fact)
    item = np.repeat(block.item_of_fact, n_supports_of_fact)
    units = _units_of(block)
    number = units.away(np.repeat(block.number_of_fact, n_supports_of_fact), item)
    centre = _mean_by(number, item, n_items)
    scale = np.sqrt(_mean_by((number - centre[item]) ** 2, item, n_items))
    scale = np.where(scale > SAME_SPREAD, scale, 0.0)
    known_input = block.known_number_of_item
    known = units.away(known_input)
    return Numbers(number, item, block.source_of_support, centre, scale, known, units, known_input)


def difference(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return ``one - other``; the largest number if the difference overflows."""
    with np.errstate(over="ignore"):
        return np.clip(one - other, -LARGEST, LARGEST)


def _units_of(block: Block) -> Units:
    first = block.first_fact_of_item[:-1]
    lowest, highest = (
        extreme.reduceat(block.number_of_fact, first) for extreme in (np.minimum, np.maximum)
    )
    exponent = np.frexp(np.maximum(np.abs(lowest), np.abs(highest)))[1]
    zero = np.ldexp(lowest, -exponent)
    return Units(exponent, zero, np.ldexp(highest, -exponent) - zero)


class Distances(NamedTuple):
    """Summed squared distances of each source from the truths, and its claims; of all, of known."""

    square: FloatArray
    n_claims: FloatArray
    known_square: FloatArray
    n_known: FloatArray


def distances(numbers: Numbers, truth_of_item: FloatArray, n_sources: int) -> Distances:
    """Sum the distances of the sources from these truths, and from the known ones.

    Truths are in the units of their items, as `Numbers` are.

    Where all sources agree there is no scale, so nothing is learned from a known truth.
    """
    has_scale = numbers.scale > 0.0
    is_known = ~np.isnan(numbers.known) & has_scale
    truth = np.where(is_known, numbers.known, np.where(has_scale, truth_of_item, numbers.centre))
    square = numbers.distance(truth) ** 2
    of_known = is_known[numbers.item]
    return Distances(
        *(
            np.bincount(numbers.source, weight, n_sources).astype(np.float64)
            for weight in (square, np.ones_like(square), square * of_known, of_known)
        )
    )


def calibrated(mean_square: FloatArray, known: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return mean squared distances, corrected by those from the known truths.

    The errors learned without them weigh as much as `UNLEARNED` known items.
    """
    square, n_known = known
    return np.asarray((square + UNLEARNED * mean_square) / (n_known + UNLEARNED))


def _mean_by(
    number: FloatArray, group: IntArray, n_groups: int, weight: FloatArray | None = None
) -> FloatArray:
    """Return the mean of each group, weighted if weights are given; none is empty."""
    if weight is None:
        weight = np.ones_like(number)
    total = np.bincount(group, weight, n_groups)
    mean: FloatArray = np.bincount(group, weight * number, n_groups) / total
    return mean


def weighted_estimate(
    numbers: Numbers, weight_of_source: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean of each item's claims, and its standard error, in its units.

    The error is that of a mean of as many claims as the weights are worth, (Σw)² / Σw², spread as
    the item's are; that of a lone claim is unknown: NaN.
    """
    n_items = len(numbers.centre)
    weight = _relative(weight_of_source[numbers.source], numbers.item, n_items)
    estimate = _mean_by(numbers.number, numbers.item, n_items, weight)
    total = np.bincount(numbers.item, weight, n_items)
    worth = total**2 / np.bincount(numbers.item, weight**2, n_items)
    spread = _mean_by((numbers.number - estimate[numbers.item]) ** 2, numbers.item, n_items, weight)
    is_several = worth > 1.0 + 1e-9
    variance = np.where(is_several, spread / np.where(is_several, worth - 1.0, 1.0), np.nan)
    return estimate, np.sqrt(variance)


def in_input_units(
    numbers: Numbers, estimate: FloatArray, error: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return estimates and errors in the unit of the input; known truths replace estimates."""
    is_known = ~np.isnan(numbers.known_input)
    estimate, error = numbers.units.back(estimate), numbers.units.length(error)
    return np.where(is_known, numbers.known_input, estimate), np.where(is_known, 0.0, error)


def _relative(weight: FloatArray, item: IntArray, n_items: int) -> FloatArray:
    """Return weights relative to the largest of their item, so that squares do not underflow."""
    largest = np.zeros(n_items)
    np.maximum.at(largest, item, weight)
    is_some = largest > 0.0
    relative: FloatArray = weight / np.where(is_some, largest, 1.0)[item]
    return np.where(is_some[item], relative, 1.0)


class NumbersAmongValues(NamedTuple):
    """Attributes whose values are judged as numbers, in a table of values and numbers."""

    balance_of_attribute: FloatArray
    """Number of facts of each attribute that are numbers, less the number of other facts."""
    labels: Labels

    @property
    def is_number_of_attribute(self) -> BoolArray:
        """Attributes with more numbers than other values."""
        return np.asarray(self.balance_of_attribute > 0.0)

    def of_facts(self, block: Block) -> FloatArray:
        """Return the value of each fact as a number; NaN if it is not a number."""
        return as_numbers(self.labels.gather(block.label_of_fact))


class Losses(NamedTuple):
    """Weight of each source, its mean loss and claims; its loss and claims on known truths."""

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
    """Similarity: one less the distance as a share of the item's range, never negative."""
    gain: FloatArray
    """Gain: one less the distance in standard deviations of the item's numbers."""


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
    takes_shares = True

    both_losses: bool = False
    most_values: int = bounded(MOST_VALUES, at_least=1)
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Losses:
        """Give all sources the same weight."""
        nothing = np.zeros(survey.n_sources)
        state = Losses(np.ones(survey.n_sources), nothing, nothing, nothing, nothing)
        if not self.both_losses or survey.kind == "numeric":
            return state
        survey.require_labels(self.name)
        numbers = NumbersAmongValues(np.zeros(survey.n_attributes), survey.names.labels)
        return state._replace(numbers=numbers)

    def phases(self, state: Losses) -> tuple[Phase[Losses], ...]:
        """Return rounds; with `both_losses`, the attributes that are numbers are found first."""
        if state.numbers is None:
            return super().phases(state)
        attributes = Phase("attributes", (Step(self.tally_attributes, self.learn_attributes),))
        rounds = Phase("rounds", (Step(self.tally, self.learn, self.pairs),), self.change)
        return (attributes, rounds)

    def tally_attributes(self, block: Block, state: Losses, turn: Turn) -> tuple[FloatArray]:
        """Count the facts of each attribute that are numbers, less the other facts."""
        assert state.numbers is not None
        is_number = ~np.isnan(state.numbers.of_facts(block))
        attribute = block.attribute_of_item[block.item_of_fact]
        n_attributes = len(state.numbers.balance_of_attribute)
        more = np.bincount(attribute, np.where(is_number, 1.0, -1.0), n_attributes)
        return (more.astype(np.float64),)

    def learn_attributes(self, state: Losses, total: tuple[FloatArray]) -> Losses:
        """Learn which attributes are numbers."""
        assert state.numbers is not None
        return state._replace(numbers=state.numbers._replace(balance_of_attribute=total[0]))

    def pairs(self, block: Block, state: Losses) -> NumberPairs:
        """Compare the numbers of each item, if its attribute is numeric."""
        assert state.numbers is not None
        is_meant = state.numbers.is_number_of_attribute[block.attribute_of_item]
        number = np.where(is_meant[block.item_of_fact], state.numbers.of_facts(block), np.nan)
        return _number_pairs(number, block, self.most_values)

    def tally(self, block: Block, state: Losses, turn: Turn) -> Distances:
        """Sum up the loss of every source against the truths that the weights make."""
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
        """Learn the weights that minimise the weighted loss."""
        mean_loss = ratio(total.square, total.n_claims)
        return state._replace(
            weight=self.weights_from(mean_loss, total.n_claims),
            mean_loss=mean_loss,
            n_claims=total.n_claims,
            known_loss=total.known_square,
            n_known=total.n_known,
        )

    def weights_from(self, mean_loss: FloatArray, n_claims: FloatArray) -> FloatArray:
        """Return -log of each source's share of all loss, the paper's w; the maximum is one."""
        if mean_loss.sum() <= 0.0:  # nobody errs
            return np.ones_like(mean_loss)
        loss = positive_loss(mean_loss)
        weight = -np.log(loss / loss.sum())
        return np.asarray(weight / max(weight.max(), 1e-12))

    def calibrate(self, state: Losses, prior: PriorRates) -> Losses:
        """Correct the losses by known numbers; known values are clamped, and that is all."""
        if not state.n_known.any():
            return state
        loss = calibrated(state.mean_loss, (state.known_loss, state.n_known))
        return state._replace(mean_loss=loss, weight=self.weights_from(loss, state.n_claims))

    def estimate(self, block: Block, state: Losses) -> tuple[FloatArray, FloatArray]:
        """Return the weighted mean, and its standard error."""
        numbers = numbers_of(block)
        return in_input_units(numbers, *weighted_estimate(numbers, state.weight))

    def weigh(self, block: Block, state: Losses, memory: Memory = None) -> Weights:
        """Weigh by source: values have their share of the weighted vote.

        A number has the weight of every claim, less what its distance from it is of the range.
        """
        if block.is_numeric:
            return Weights("estimate", state.weight)
        if state.numbers is None:
            return Weights("share", state.weight)
        pairs: NumberPairs = memory or self.pairs(block, state)
        return Weights("share", state.weight, pairs=(pairs.fact, pairs.other, pairs.near))

    def trust(self, state: Losses) -> FloatArray:
        """Return the weight."""
        return state.weight

    def describe(self, state: Losses, counts: FloatArray | None = None) -> Description:
        """Return the counted rates, and the number of attributes that count as numeric."""
        described = super().describe(state, counts)
        if state.numbers is None:
            return described
        is_number = state.numbers.is_number_of_attribute
        n_numbers, n_attributes = np.count_nonzero(is_number), len(is_number)
        note = f"attributes that are judged as numbers, by distance: {n_numbers} of {n_attributes}"
        return replace(described, notes=(note,))

    def grow(self, state: Losses, names: Names) -> Losses:
        """Add new sources as usual; new attributes are no numbers until something is learned."""
        state = super().grow(state, names)
        if state.numbers is None:
            return state
        balance = state.numbers.balance_of_attribute
        n_new = max(len(names.attributes) - len(balance), 0)
        return state._replace(numbers=NumbersAmongValues(np.pad(balance, (0, n_new)), names.labels))

    def _winners(self, block: Block, state: Losses, memory: Memory) -> FloatArray:
        """Return one for the fact that wins its item, zero for the others; ties share the one."""
        is_best = is_best_of_item(self.judge(block, state, memory), block)
        return clamp_known(share_of_item(is_best.astype(np.float64), block), block)


@dataclass(frozen=True, kw_only=True)
class CATD(CRH):
    """A source's weight is the lower end of a confidence interval of its precision.

    weight = χ²(significance / 2, number of claims) / loss, with χ² the lower quantile, so that few
    claims never weigh much, however right they look. Losses and truths are those of CRH.

    Parameters
    ----------
    significance
        One less the confidence of the interval.
    both_losses, most_values
        As for CRH: numbers among values are judged by distances.
    max_rounds, tolerance
        It stops when a round moves no weight by `tolerance`, the largest weight being one.
    """

    name = "catd"

    significance: float = bounded(0.05, above=0, below=1)

    def weights_from(self, mean_loss: FloatArray, n_claims: FloatArray) -> FloatArray:
        """Return the lower end of the interval, the largest weight being one."""
        if mean_loss.sum() <= 0.0:  # nobody errs
            return np.ones_like(mean_loss)
        n_claims = np.maximum(n_claims, 1.0)
        smallest = np.finfo(np.float64).tiny  # in place of a quantile that is too small to tell
        quantile = np.maximum(chi2_quantile(n_claims, self.significance / 2.0), smallest)
        weight = quantile / positive_loss(mean_loss * n_claims)
        return np.asarray(weight / weight.max())


class Variances(NamedTuple):
    """Variance σ² of each source; its distances from known truths, and their number."""

    variance: BySource
    known_square: CountBySource
    n_known: CountBySource


@dataclass(frozen=True, kw_only=True)
class GTM(Algorithm[Variances]):
    """Truths and variances that are most likely a posteriori, by expectation maximisation.

    Claims are taken in standard deviations from the mean of their item's.

    Parameters
    ----------
    truth_variance
        Prior variance of a truth, whose prior mean is that of the item's claims.
    variance_shape, variance_scale
        Inverse gamma prior of a source's variance.
    max_rounds, tolerance
        It stops when a round moves no variance by `tolerance`.
    """

    name = "gtm"
    kinds: ClassVar[tuple[Kind, ...]] = ("numeric",)

    truth_variance: float = bounded(1.0, above=0)
    variance_shape: float = bounded(10.0, above=0)
    variance_scale: float = bounded(10.0, above=0)
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Variances:
        """Give every source the variance of the prior."""
        variance = self.variance_scale / (self.variance_shape + 1.0)
        nothing = np.zeros(survey.n_sources)
        return Variances(np.full(survey.n_sources, variance), nothing, nothing)

    def tally(self, block: Block, state: Variances, turn: Turn) -> Distances:
        """Sum up how far the sources are from the truths that their variances make (E-step)."""
        numbers = numbers_of(block)
        truth, _ = self._truths(numbers, state.variance)
        return distances(numbers, numbers.centre + numbers.scale * truth, len(state.variance))

    def learn(self, state: Variances, total: Distances) -> Variances:
        """σ² = (2 scale + Σ distance²) / (2 shape + 2 + claims): most likely variances (M-step)."""
        variance = (2.0 * self.variance_scale + total.square) / (
            2.0 * (self.variance_shape + 1.0) + total.n_claims
        )
        return Variances(variance, total.known_square, total.n_known)

    def change(self, before: Variances, after: Variances) -> float:
        """Return the largest move of any variance."""
        return float(np.abs(after.variance - before.variance).max())

    def calibrate(self, state: Variances, prior: PriorRates) -> Variances:
        """Correct the variances by the known truths."""
        return state._replace(variance=calibrated(state.variance, state[1:]))

    def estimate(self, block: Block, state: Variances) -> tuple[FloatArray, FloatArray]:
        """Return the posterior mean and standard deviation of the truth of each item."""
        numbers = numbers_of(block)
        truth, variance = self._truths(numbers, state.variance)
        error = np.where(numbers.is_single, np.nan, numbers.scale * np.sqrt(variance))
        return in_input_units(numbers, numbers.centre + numbers.scale * truth, error)

    def weigh(self, block: Block, state: Variances, memory: Memory = None) -> Weights:
        """Weigh the precision of the source; that of the prior goes to the mean of the claims."""
        return Weights("estimate", 1.0 / state.variance, prior=1.0 / self.truth_variance)

    def trust(self, state: Variances) -> FloatArray:
        """Return the precision, the inverse of the variance."""
        return 1.0 / state.variance

    def _truths(self, numbers: Numbers, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the posterior mean and variance of each truth, in standard units of its item."""
        precision = 1.0 / variance[numbers.source]
        n_items = len(numbers.centre)
        total = 1.0 / self.truth_variance + np.bincount(numbers.item, precision, n_items)
        mean: FloatArray = np.bincount(numbers.item, precision * numbers.standard, n_items) / total
        return mean, np.asarray(1.0 / total)


def _number_pairs(number_of_fact: FloatArray, block: Block, most_values: int) -> NumberPairs:
    """Return the pairs of numbers of each item; NaN is in none.

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
    """Return distances in units; zero if the unit is no larger than rounding errors."""
    return ratio(apart, np.where(unit > SAME_SPREAD, unit, 0.0))


def positive_loss(loss: FloatArray) -> FloatArray:
    """Return losses above zero: zeros become half the smallest loss, to avoid infinite weights."""
    return np.asarray(np.maximum(loss, loss[loss > 0.0].min() / 2.0))
