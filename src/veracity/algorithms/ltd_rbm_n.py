"""LTD-RBM for numbers: visible units that are Gaussian, and the truth of an item as hidden unit.

Broelemann, Gottron, Kasneci (Restricted Boltzmann Machines for Robust and Fast Latent Truth
Discovery) announce a machine for continuous values. This is one::

    E(x, t) = ½ τ (t - μ)² + Σ_s ½ λ_s w u_s (x_s - t - b_s)²

Each source is a visible unit with a bias b and a precision λ; the truth t of an item is the hidden
unit. A source without a claim has no term. Claims and items have weights u and w of their own, so
errors have heavy tails: a Student t is a normal distribution of uncertain precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, Description, Memory, Phase, Step, Turn
from veracity.algorithms.distributions import log_gamma
from veracity.algorithms.ltd_rbm_n_items import (
    USUAL_FREEDOM,
    Inferred,
    Machine,
    Measured,
    Reached,
    Widths,
    best_of_three,
    bluntness,
    errors_of,
    fit_of_items,
    fit_of_tails,
    infer,
    interval_factor,
    measured,
    pulls_of,
    scales_from,
    studentised,
    truths_in_input_units,
    widths_of,
)
from veracity.algorithms.numbers import LARGEST
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import NO_PRIOR, UNLEARNED, Prior, PriorRates, PriorSpreads
from veracity.algorithms.rules import Weights
from veracity.encoding.block import Block, BoolArray, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.errors import ParameterError
from veracity.naming import as_text
from veracity.reading.roles import Kind
from veracity.trees import CountBySource

MOST_CELLS = 20_000_000
"""Number of pairs of source and attribute beyond which sources have no biases."""

STRENGTHS = np.exp(np.linspace(0.0, np.log(100.0), 24))
"""Candidate weights, in claims, of the precision of all sources in that of a source."""

USUAL_STRENGTH = 5.0

USUAL_BIAS = 0.3
"""The variance of biases before any claim, in units of the usual error."""

LEAST_BIAS = 1e-6
"""Smallest variance of biases; the largest is its inverse."""

FASTEST = 1e3
"""Largest factor by which a scale may change in a round."""

FINEST = 1e-20
"""Smallest error relative to the scale; the largest is its inverse."""


class Cells(NamedTuple):
    """Sums over the claims of a source about an attribute, [source, attribute]."""

    square: CountBySource
    """Σ w u ((x - b - t)² + v)."""
    n_claims: CountBySource
    weight: CountBySource
    """Σ λ w u."""
    pull: CountBySource
    """Σ λ w u (x - t)."""
    firm: CountBySource
    """Σ λ w u (1 - share in the truth): the precision of the bias, the truth being unknown."""

    @property
    def square_of_source(self) -> FloatArray:
        """The sum over all attributes."""
        return np.asarray(self.square.sum(axis=1))

    @property
    def n_of_source(self) -> FloatArray:
        """The sum over all attributes."""
        return np.asarray(self.n_claims.sum(axis=1))


class Statistics(NamedTuple):
    """Sufficient statistics of the machine."""

    claims: Cells
    known: Cells
    """Sums over items whose truth is known."""
    truths: FloatArray
    """[attribute]: number of items; sums of truths, of their squares, and of variances."""
    tails: FloatArray
    evenness: FloatArray
    pulls: FloatArray


class Common(NamedTuple):
    """Parameters that all units share."""

    strength: float = USUAL_STRENGTH
    """k, the weight, in claims, of the precision of all sources in that of a source."""
    bias_variance: float = USUAL_BIAS
    """ω², the variance of biases; zero if there are none."""


class NumericRBM(NamedTuple):
    """Machine with its parameters, the shared parameters of its units, and its prior."""

    machine: Machine
    common: Common
    known: Cells
    least_scale: FloatArray
    expected: PriorSpreads


@dataclass(frozen=True, kw_only=True)
class NumericLTDRBM(Algorithm[NumericRBM]):
    """Latent truth discovery for numbers, with a restricted Boltzmann machine of Gaussian units.

    Parameters
    ----------
    prior
        Prior errors of sources, as `ErrorSpread`, which the claims may correct. Only where there is
        one attribute, as errors have its unit.
    hidden_bias
        True if truths are drawn to the mean of their attribute's, as the hidden unit's own bias and
        precision: only for truths that spread evenly around it.
    biases
        True if a source may be too high or too low throughout an attribute.
    tails
        Degrees of freedom of the errors of claims; learned, if None. Few mean that claims far from
        the others hardly count.
    max_rounds, tolerance
        It stops when a round moves no variance by this share, and no bias by this share of the
        usual error.
    """

    name = "ltd-rbm-n"
    kinds: ClassVar[tuple[Kind, ...]] = ("numeric",)

    prior: Prior = NO_PRIOR
    hidden_bias: bool = False
    biases: bool = True
    tails: float | None = bounded(None, at_least=1)
    max_rounds: int = bounded(500, at_least=1)
    tolerance: float = bounded(1e-3, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> NumericRBM:
        """Give all sources equal errors, and leave scales and truths at zero."""
        n_sources, n_attributes = survey.n_sources, survey.n_attributes
        has_biases = self.biases and n_sources * n_attributes <= MOST_CELLS
        cells, nothing = np.zeros((n_sources, n_attributes)), np.zeros(n_attributes)
        cells = cells if has_biases else cells[:, :1]
        return NumericRBM(
            machine=Machine(
                variance=np.ones(n_sources),
                bias=cells,
                doubt=cells,
                level_doubt=nothing,
                scale=nothing,
                centre=nothing,
                truth_precision=nothing,
                tails=USUAL_FREEDOM if self.tails is None else float(self.tails),
                evenness=USUAL_FREEDOM,
                bluntness=1.0,
            ),
            common=Common() if has_biases else Common(bias_variance=0.0),
            known=Cells(cells, cells, cells, cells, cells),
            least_scale=nothing,
            expected=self._expected(survey),
        )

    def _expected(self, survey: Survey) -> PriorSpreads:
        expected = self.prior.spreads(as_text(survey.names.sources).to_list())
        if expected.error.any() and survey.n_attributes > 1:
            raise ParameterError(
                "NumericLTDRBM: errors in the prior are in the unit of the numbers, but there are "
                f"{survey.n_attributes:,} attributes; discover them apart"
            )
        return expected

    def phases(self, state: NumericRBM) -> tuple[Phase[NumericRBM], ...]:
        """Return a sweep that finds how far claims are apart, then rounds."""
        return (
            Phase("scales", (Step(self.tally_widths, self.learn_scales),)),
            Phase("rounds", (Step(self.tally, self.learn, remembers=True),), self.change),
        )

    def tally_widths(self, block: Block, state: NumericRBM, turn: Turn) -> Widths:
        """Sum up how far claims are from the median of their item."""
        return widths_of(block, len(state.machine.scale))

    def learn_scales(self, state: NumericRBM, total: Widths) -> NumericRBM:
        """Set first scales; those that were learned from earlier claims stay."""
        scale, centre, least = scales_from(Widths(*total))
        machine = state.machine
        is_new = machine.scale == 0.0
        machine = machine._replace(
            scale=np.where(is_new, scale, machine.scale),
            centre=np.where(is_new, centre, machine.centre),
        )
        if is_new.any():
            machine = with_expected(machine, state.expected, fixed_only=False)
        return state._replace(machine=machine, least_scale=least)

    def tally(self, block: Block, state: NumericRBM, turn: Turn) -> tuple[Statistics, Reached]:
        """Infer truths and weights, and sum up the statistics of the units (E-step)."""
        claims = measured(block, state.machine)
        found = infer(claims, state.machine, turn.memory)
        reached = Reached(found.truth * claims.unit, found.item_weight)
        return statistics_of(claims, found, state.machine), reached

    def learn(self, state: NumericRBM, total: Statistics) -> NumericRBM:
        """Learn the units that fit best (M-step), and their common parameters."""
        claims, known, *rest = total
        total = Statistics(Cells(*claims), Cells(*known), *rest)
        machine, common = learned(state.machine, state.common, total, state.expected)
        machine = with_freedoms(machine, total, self.tails)
        if self.hidden_bias:
            machine = with_truths(machine, total.truths)
        machine = rescaled(machine, total.claims, state.least_scale, state.expected.error == 0.0)
        return state._replace(
            machine=with_expected(machine, state.expected, fixed_only=True),
            common=common,
            known=total.known,
        )

    def change(self, before: NumericRBM, after: NumericRBM) -> float:
        """Return the largest move of any variance, in logs, or of any bias."""
        old, new = before.machine, after.machine
        variance = np.abs(np.log(new.variance / old.variance)).max()
        return float(max(variance, np.abs(new.bias - old.bias).max()))

    def calibrate(self, state: NumericRBM, prior: PriorRates) -> NumericRBM:
        """Correct variances and biases by the known truths; the learned ones count as ten."""
        known, machine = state.known, state.machine
        variance = (known.square_of_source + UNLEARNED * machine.variance) / (
            known.n_of_source + UNLEARNED
        )
        bias = machine.bias
        if state.common.bias_variance > 0.0:
            learned_before = UNLEARNED / machine.variance[:, None]
            bias = (known.pull + learned_before * bias) / (known.weight + learned_before)
        machine = machine._replace(variance=variance, bias=bias)
        return state._replace(machine=with_expected(machine, state.expected, fixed_only=True))

    # --- judging ----------------------------------------------------------------------------------

    def estimate(self, block: Block, state: NumericRBM) -> tuple[FloatArray, FloatArray]:
        """Return the truth of each item, and its error: 1.64 of it on either side hold 90 %."""
        claims = measured(block, state.machine)
        found = infer(claims, state.machine)
        return truths_in_input_units(claims, found, errors_of(claims, found, state.machine))

    def weigh(self, block: Block, state: NumericRBM, memory: Memory = None) -> Weights:
        """Weigh the precision of each claim, and of the mean of truths; biases are subtracted."""
        machine = state.machine
        claims = measured(block, machine)
        found = infer(claims, machine)
        bias = (found.pull - found.away) * claims.of_claim(machine.scale[claims.attribute])
        return Weights(
            "estimate",
            1.0 / machine.variance,
            prior=found.total - claims.sums(found.weight),
            of_claim=found.weight,
            shift_of_claim=bias if bias.any() else None,
            centre_of_item=machine.centre[claims.attribute],
        )

    def trust(self, state: NumericRBM) -> FloatArray:
        """Return the precision λ, the inverse of the variance; its mean over all sources is 1."""
        return 1.0 / state.machine.variance

    def describe(self, state: NumericRBM, counts: FloatArray | None = None) -> Description:
        """Return b in the unit of the numbers, if they have one and biases are learned."""
        machine = state.machine
        if state.common.bias_variance == 0.0 or len(machine.scale) > 1:
            return Description()
        with np.errstate(over="ignore"):
            bias = machine.bias[:, 0] * machine.scale[0]
        return Description(bias=np.asarray(np.clip(bias, -LARGEST, LARGEST)))

    def grow(self, state: NumericRBM, names: Names) -> NumericRBM:
        """Add new sources like the others, of unknown bias; new attributes have no scale."""
        n_sources = len(state.machine.variance)
        n_more = max(len(names.attributes), 1) - len(state.machine.scale)
        if n_more > 0:
            state = _with_attributes(state, n_more)
        state = super().grow(state, names)
        bias, doubt = state.machine.bias.copy(), state.machine.doubt.copy()
        bias[n_sources:], doubt[n_sources:] = 0.0, state.common.bias_variance
        return state._replace(machine=state.machine._replace(bias=bias, doubt=doubt))


def _with_attributes(state: NumericRBM, n_more: int) -> NumericRBM:
    """Return the state with room for new attributes."""
    machine = state.machine
    if machine.bias.shape[1] == len(machine.scale):  # else there are too many to have biases
        columns = ((0, 0), (0, n_more))
        doubt = np.pad(machine.doubt, columns, constant_values=state.common.bias_variance)
        machine = machine._replace(bias=np.pad(machine.bias, columns), doubt=doubt)
        state = state._replace(known=Cells(*(np.pad(cells, columns) for cells in state.known)))
    level, scale, centre, precision = (
        np.pad(of_attribute, (0, n_more))
        for of_attribute in (
            machine.level_doubt, machine.scale, machine.centre, machine.truth_precision
        )
    )  # fmt: skip
    machine = machine._replace(
        level_doubt=level, scale=scale, centre=centre, truth_precision=precision
    )
    return state._replace(machine=machine, least_scale=np.pad(state.least_scale, (0, n_more)))


# --- sufficient statistics -----------------------------------------------------------------------


def statistics_of(claims: Measured, found: Inferred, machine: Machine) -> Statistics:
    """Return the sufficient statistics of a block, given its truths (E-step).

    Nothing is learned of the source of a lone claim, unless the truth is known.
    """
    is_known, errors = ~np.isnan(claims.known), studentised(claims, found, machine)
    counts = (claims.has_scale > 0.0) & ((claims.n_claims > 1.0) | is_known)
    return Statistics(
        _sums_of(claims, found, machine, counts),
        _sums_of(claims, found, machine, counts & is_known),
        _truths(claims, found, len(machine.scale)),
        fit_of_tails(errors, machine),
        fit_of_items(claims, found, machine),
        pulls_of(errors, machine),
    )


def _sums_of(claims: Measured, found: Inferred, machine: Machine, counts: BoolArray) -> Cells:
    """Return sums by source and attribute, over the items that count."""
    n_sources, n_columns = machine.bias.shape
    if not counts.any():
        return Cells(*np.zeros((5, n_sources, n_columns)))
    chosen = claims.of_claim(counts)
    source = claims.numbers.source[chosen].astype(np.int64)
    cell = source * n_columns + machine.column(claims)[chosen]
    new, variance = claims.novelty[chosen], claims.of_claim(found.variance)[chosen]
    weight, away, pull = (of_claim[chosen] for of_claim in (found.weight, found.away, found.pull))
    square = new * weight * machine.variance[source] * (away**2 + variance)
    firm = weight * (1.0 - weight * variance)
    sums = (
        np.bincount(cell, number, n_sources * n_columns).astype(np.float64)
        for number in (square, new, weight, weight * pull, firm)
    )
    return Cells(*(of_cell.reshape(n_sources, n_columns) for of_cell in sums))


def _truths(claims: Measured, found: Inferred, n_attributes: int) -> FloatArray:
    away, has = claims.offset + found.truth, claims.has_scale
    columns = (has, has * away, has * away**2, has * found.variance)
    sums = [np.bincount(claims.attribute, column, n_attributes) for column in columns]
    return np.stack(sums, axis=1)


# --- the units that fit best ----------------------------------------------------------------------


def learned(
    machine: Machine, common: Common, total: Statistics, expected: PriorSpreads
) -> tuple[Machine, Common]:
    """Return the units that fit best (M-step), and their common parameters."""
    variance_expected, bias_expected = _in_units(expected, machine)
    strength = _strength(total.claims, variance_expected)
    variance = _variances(total.claims, strength, variance_expected)
    machine = machine._replace(variance=variance)
    if common.bias_variance > 0.0:
        prior = (common.bias_variance, bias_expected)
        machine, bias_variance = _with_biases(machine, total, prior)
        common = common._replace(bias_variance=bias_variance)
    return machine, common._replace(strength=strength)


def _in_units(expected: PriorSpreads, machine: Machine) -> tuple[FloatArray, FloatArray]:
    """Return the expected variances and biases in units of the scale: one and zero by default."""
    scale = machine.scale[0] if machine.scale[0] > 0.0 else 1.0
    with np.errstate(over="ignore"):
        error, bias = (np.clip(own / scale, -1.0 / FINEST, 1.0 / FINEST) for own in expected[:2])
    variance = np.where(expected.error > 0.0, np.maximum(error, FINEST) ** 2, 1.0)
    return variance, bias[:, None]


def with_expected(machine: Machine, expected: PriorSpreads, *, fixed_only: bool) -> Machine:
    """Set the machine to the prior, for all sources in it or only for the fixed ones."""
    is_held = (expected.is_fixed if fixed_only else expected.error) > 0.0
    if not is_held.any():
        return machine
    variance, bias = _in_units(expected, machine)
    of_cells = is_held[:, None]
    return machine._replace(
        variance=np.where(is_held, variance, machine.variance),
        bias=np.where(of_cells, bias, machine.bias),
        doubt=np.where(of_cells, 0.0, machine.doubt) if fixed_only else machine.doubt,
    )


def _strength(claims: Cells, expected: FloatArray) -> float:
    """Return k, how much sources are alike: the strength that fits their squares best.

    Where 1 / variance is drawn from a gamma distribution of mean one, it is the likelihood of a sum
    of n squares, integrated over the variance.
    """
    n = claims.n_of_source
    speaks = n > 0.0
    square, n = (claims.square_of_source / expected)[speaks, None], n[speaks, None]
    half = STRENGTHS / 2.0
    fits = log_gamma(half + n / 2.0) - log_gamma(half) + half * np.log(STRENGTHS)
    fits = fits - (half + n / 2.0) * np.log(STRENGTHS + square)
    doubt = 0.5 * np.log(STRENGTHS / USUAL_STRENGTH) ** 2  # of few sources little is known
    return float(STRENGTHS[(fits.sum(axis=0) - doubt).argmax()])


def _variances(claims: Cells, strength: float, expected: FloatArray) -> FloatArray:
    """1 / λ = (k · expected + Σ w u ((x - b - t)² + v)) / (k + n), k being the strength."""
    square, n = claims.square_of_source, claims.n_of_source
    return np.asarray((strength * expected + square) / (strength + n))


def _with_biases(
    machine: Machine, total: Statistics, prior: tuple[float, FloatArray]
) -> tuple[Machine, float]:
    """B = Σ λ w u (x - t) / (Σ λ w u + r / ω²), and ω²: the biases and their variance.

    r = (f + 1) / (f + b² / ω²) gives biases heavy tails, so that a huge one moves no other.
    """
    variance, expected = prior
    claims, freedom = total.claims, USUAL_FREEDOM
    usual = (freedom + 1.0) / (freedom + (machine.bias - expected) ** 2 / variance)
    tight = usual / variance
    bias = (claims.pull + tight * expected) / (claims.weight + tight)
    speaks = claims.n_claims > 0.0
    shift, level_doubt = _shift(bias, total, tight * speaks, expected)
    bias = np.where(speaks, bias + shift, expected)
    n_counted = (claims.firm / (claims.firm + tight)).sum()
    if n_counted > 0.0:
        square = (usual * (bias - expected) ** 2).sum()
        variance = float(np.clip(square / n_counted, LEAST_BIAS, 1.0 / LEAST_BIAS))
    doubt = 1.0 / (claims.firm + tight)
    return machine._replace(bias=bias, doubt=doubt, level_doubt=level_doubt), variance


def _shift(
    bias: FloatArray, total: Statistics, tight: FloatArray, expected: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the common move of all biases of each attribute, and its variance.

    Truths would follow any common move. So the part that biases share is as expected, unless known
    truths contradict.
    """
    known = total.known
    away = known.pull - known.weight * bias + tight * (expected - bias)
    steep = (known.weight + tight).sum(axis=0)
    steep = np.where(steep > 0.0, steep, 1.0)
    blunt = (USUAL_FREEDOM + 3.0) / (USUAL_FREEDOM + 1.0)  # a mean by weights of a t distribution
    wide = interval_factor((tight > 0.0).sum(axis=0).astype(np.float64)) ** 2
    return np.asarray(away.sum(axis=0) / steep), np.asarray(wide * blunt / steep)


def with_truths(machine: Machine, truths: FloatArray) -> Machine:
    """Set mean and precision of all truths, by attribute; not from a few (James and Stein)."""
    n, total, square, variance = truths.T
    mean = total / np.maximum(n, 1.0)
    spread = np.maximum(square - n * mean**2, 0.0) + variance
    is_known = (n > 3.0) & (spread > 0.0)
    precision = np.where(is_known, (n - 3.0) / np.where(is_known, spread, 1.0), 0.0)
    with np.errstate(over="ignore"):
        centre = np.clip(machine.centre + mean * machine.scale, -LARGEST, LARGEST)
    return machine._replace(centre=centre, truth_precision=precision)


def rescaled(machine: Machine, claims: Cells, least: FloatArray, free: BoolArray) -> Machine:
    """Change the units: the mean precision of the sources becomes one.

    Attributes whose claims are farther from truths than is usual for their sources get a larger
    scale, those that are nearer a smaller one, but none less than `least`.
    """
    free = free & (claims.n_of_source > 0.0)
    variance = _bounded(machine.variance)
    usual = float((1.0 / variance[free]).mean()) if free.any() else 1.0
    n = claims.n_claims.sum(axis=0)
    square = (claims.square / variance[:, None]).sum(axis=0)
    misfit = np.where(n > 0.0, square / np.maximum(n, 1.0), 1.0)
    ratio = np.sqrt(np.clip(misfit / usual, 1.0 / FASTEST, FASTEST))
    old = np.where(machine.scale > 0.0, machine.scale, 1.0)
    with np.errstate(over="ignore"):
        new = np.clip(old * ratio, least, LARGEST)
    ratio = np.where(machine.scale > 0.0, new / old, 1.0)
    of_cells = ratio if machine.bias.shape[1] == len(ratio) else 1.0
    return machine._replace(
        variance=_bounded(variance * usual),
        bias=machine.bias / of_cells,
        doubt=machine.doubt / of_cells**2,
        level_doubt=machine.level_doubt / ratio**2,
        scale=np.where(machine.scale > 0.0, new, 0.0),
        truth_precision=machine.truth_precision * ratio**2,
    )


def _bounded(variance: FloatArray) -> FloatArray:
    return np.asarray(np.clip(variance, FINEST**2, FINEST**-2))


def with_freedoms(machine: Machine, total: Statistics, tails: float | None) -> Machine:
    """Set degrees of freedom that fit better; those of claims are given, if not None."""
    return machine._replace(
        tails=best_of_three(machine.tails, total.tails) if tails is None else tails,
        evenness=best_of_three(machine.evenness, total.evenness),
        bluntness=bluntness(total.pulls),
    )
