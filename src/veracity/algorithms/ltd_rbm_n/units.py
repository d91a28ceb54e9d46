"""What claims tell of the units of a machine for numbers, and the units that fit it best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import CountBySource
from veracity.algorithms.distributions import log_gamma
from veracity.algorithms.ltd_rbm_n.items import (
    USUAL_FREEDOM,
    Inferred,
    Machine,
    Measured,
    interval_factor,
)
from veracity.algorithms.ltd_rbm_n.tails import (
    best_of_three,
    bluntness,
    fit_of_items,
    fit_of_tails,
    pulls_of,
    studentised,
)
from veracity.algorithms.numbers import LARGEST
from veracity.algorithms.prior import PriorSpreads
from veracity.encoding.block import BoolArray, FloatArray

STRENGTHS = np.exp(np.linspace(0.0, np.log(100.0), 24))
"""How many claims the precision of all sources may be worth against a source's own."""

USUAL_STRENGTH = 5.0

USUAL_BIAS = 0.3
"""The variance of biases before any claim, in units of the usual error."""

LEAST_BIAS = 1e-6
"""Biases vary by no less than this; and by no more than one over it."""

FASTEST = 1e3
"""By how much a scale may change in a round."""

FINEST = 1e-20
"""No error counts as less of the scale than this, and none as more than one over it."""


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
    """Σ λ w u (1 - share in the truth): what is told of the bias, the truth not being known."""

    @property
    def square_of_source(self) -> FloatArray:
        """Over all attributes."""
        return np.asarray(self.square.sum(axis=1))

    @property
    def n_of_source(self) -> FloatArray:
        """Over all attributes."""
        return np.asarray(self.n_claims.sum(axis=1))


class Told(NamedTuple):
    """What a block tells of the machine."""

    claims: Cells
    known: Cells
    """Of items whose truth is known alone."""
    drawn: Cells | None
    """Of numbers and truths that the machine draws, for the sampled negative phase."""
    truths: FloatArray
    """[attribute]: items; sums and sums of squares of their truths, and sums of variances."""
    tails: FloatArray
    evenness: FloatArray
    pulls: FloatArray


class Common(NamedTuple):
    """What units have in common."""

    strength: float = USUAL_STRENGTH
    """How many claims the precision of all sources is worth against a source's own."""
    bias_variance: float = USUAL_BIAS
    """ω²: how far biases are from none; zero, if there are none."""


# --- what a block tells ---------------------------------------------------------------------------


def told(claims: Measured, found: Inferred, machine: Machine, drawn: Inferred | None) -> Told:
    """What the claims of a block tell, given their truths (E-step).

    A lone claim tells nothing of its source, unless the truth is known.
    """
    is_known, errors = ~np.isnan(claims.known), studentised(claims, found, machine)
    tells = (claims.has_scale > 0.0) & ((claims.n_claims > 1.0) | is_known)
    return Told(
        _sums_of(claims, found, machine, tells),
        _sums_of(claims, found, machine, tells & is_known),
        None if drawn is None else _sums_of(claims, drawn, machine, tells),
        _truths(claims, found, len(machine.scale)),
        fit_of_tails(errors, machine),
        fit_of_items(claims, found, machine),
        pulls_of(errors, machine),
    )


def _sums_of(claims: Measured, found: Inferred, machine: Machine, tells: BoolArray) -> Cells:
    """Sums by source and attribute, over the items that tell."""
    n_sources, n_columns = machine.bias.shape
    if not tells.any():
        return Cells(*np.zeros((5, n_sources, n_columns)))
    chosen = claims.of_claim(tells)
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


def drawn_from(claims: Measured, found: Inferred, steps: int, rng: np.random.Generator) -> Inferred:
    """Truths given numbers and numbers given truths, drawn in turns from the data on."""
    bias = found.pull - found.away
    near = found.total - claims.sums(found.weight)
    is_known = ~np.isnan(claims.known)
    truth, away = found.truth, found.away
    for _ in range(steps):
        truth = truth + np.sqrt(found.variance) * rng.standard_normal(len(truth))
        noise = rng.standard_normal(len(found.weight)) / np.sqrt(found.weight)
        number = claims.of_claim(truth) + noise
        mean = (claims.sums(found.weight * number) - near * claims.offset) / found.total
        truth = np.where(is_known, claims.known, mean)
        away = number - claims.of_claim(truth)
    return found._replace(truth=truth, away=away, pull=away + bias)


def _truths(claims: Measured, found: Inferred, n_attributes: int) -> FloatArray:
    away, has = claims.offset + found.truth, claims.has_scale
    columns = (has, has * away, has * away**2, has * found.variance)
    sums = [np.bincount(claims.attribute, column, n_attributes) for column in columns]
    return np.stack(sums, axis=1)


# --- the units that fit best ----------------------------------------------------------------------


def learned(
    machine: Machine, common: Common, total: Told, expected: PriorSpreads, rate: float
) -> tuple[Machine, Common]:
    """The units that fit what was told best (M-step), and what they have in common.

    `rate` is the step along the gradient, where the negative phase was sampled.
    """
    variance_expected, bias_expected = _in_units(expected, machine)
    strength = _strength(total.claims, variance_expected)
    machine = machine._replace(
        variance=_variances(machine, total, (strength, variance_expected), rate)
    )
    if common.bias_variance > 0.0:
        prior = (common.bias_variance, bias_expected)
        machine, bias_variance = _with_biases(machine, total, prior, rate)
        common = common._replace(bias_variance=bias_variance)
    return machine, common._replace(strength=strength)


def _in_units(expected: PriorSpreads, machine: Machine) -> tuple[FloatArray, FloatArray]:
    """Variances and biases that are expected, in units of the scale: one and none, unless told."""
    scale = machine.scale[0] if machine.scale[0] > 0.0 else 1.0
    with np.errstate(over="ignore"):
        error, bias = (np.clip(own / scale, -1.0 / FINEST, 1.0 / FINEST) for own in expected[:2])
    variance = np.where(expected.error > 0.0, np.maximum(error, FINEST) ** 2, 1.0)
    return variance, bias[:, None]


def with_expected(machine: Machine, expected: PriorSpreads, *, fixed_only: bool) -> Machine:
    """The machine with what is expected of sources in its place: of all that are told, or fixed."""
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
    """How much sources are alike: the strength that fits their squares best.

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


def _variances(
    machine: Machine, total: Told, prior: tuple[float, FloatArray], rate: float
) -> FloatArray:
    """Those of sources with few claims stay near what is expected."""
    strength, expected = prior
    square, n = total.claims.square_of_source, total.claims.n_of_source
    if total.drawn is None:
        return np.asarray((strength * expected + square) / (strength + n))
    before = machine.variance
    excess = square - total.drawn.square_of_source + strength * (expected - before)
    slope = excess / before / (n + strength)
    return np.asarray(before * np.exp(rate * np.clip(slope, -1.0, 1.0)))


def _with_biases(
    machine: Machine, total: Told, prior: tuple[float, FloatArray], rate: float
) -> tuple[Machine, float]:
    """The biases, and their variance; those of sources with few claims stay near what is expected.

    Biases have heavy tails, too: one that is huge tells nothing of the others.
    """
    variance, expected = prior
    claims, freedom = total.claims, USUAL_FREEDOM
    usual = (freedom + 1.0) / (freedom + (machine.bias - expected) ** 2 / variance)
    tight = usual / variance
    step = 1.0 / (claims.weight + tight)
    if total.drawn is None:
        bias = (claims.pull + tight * expected) * step
    else:
        slope = claims.pull - total.drawn.pull + tight * (expected - machine.bias)
        bias = machine.bias + rate * slope * step
    speaks = claims.n_claims > 0.0
    shift, level_doubt = _shift(bias, total, tight * speaks, expected)
    bias = np.where(speaks, bias + shift, expected)
    n_told = (claims.firm / (claims.firm + tight)).sum()
    if n_told > 0.0:
        square = (usual * (bias - expected) ** 2).sum()
        variance = float(np.clip(square / n_told, LEAST_BIAS, 1.0 / LEAST_BIAS))
    doubt = 1.0 / (claims.firm + tight)
    return machine._replace(bias=bias, doubt=doubt, level_doubt=level_doubt), variance


def _shift(
    bias: FloatArray, total: Told, tight: FloatArray, expected: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """By how much all biases of each attribute are moved, and the variance of that.

    Truths would follow wherever they went. So what sources have in common is as expected, unless
    known truths tell otherwise.
    """
    known = total.known
    away = known.pull - known.weight * bias + tight * (expected - bias)
    steep = (known.weight + tight).sum(axis=0)
    steep = np.where(steep > 0.0, steep, 1.0)
    blunt = (USUAL_FREEDOM + 3.0) / (USUAL_FREEDOM + 1.0)  # a mean by weights of a t distribution
    wide = interval_factor((tight > 0.0).sum(axis=0).astype(np.float64)) ** 2
    return np.asarray(away.sum(axis=0) / steep), np.asarray(wide * blunt / steep)


def with_truths(machine: Machine, truths: FloatArray) -> Machine:
    """Mean and precision of all truths, by attribute; a few tell none (James and Stein)."""
    n, total, square, variance = truths.T
    mean = total / np.maximum(n, 1.0)
    spread = np.maximum(square - n * mean**2, 0.0) + variance
    is_told = (n > 3.0) & (spread > 0.0)
    precision = np.where(is_told, (n - 3.0) / np.where(is_told, spread, 1.0), 0.0)
    with np.errstate(over="ignore"):
        centre = np.clip(machine.centre + mean * machine.scale, -LARGEST, LARGEST)
    return machine._replace(centre=centre, truth_precision=precision)


def rescaled(machine: Machine, claims: Cells, least: FloatArray, free: BoolArray) -> Machine:
    """The same in other units: the mean precision of the sources is one.

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


def with_freedoms(machine: Machine, total: Told, tails: float | None) -> Machine:
    """Degrees of freedom that fit better; those of claims are given, if not None."""
    return machine._replace(
        tails=best_of_three(machine.tails, total.tails) if tails is None else tails,
        evenness=best_of_three(machine.evenness, total.evenness),
        bluntness=bluntness(total.pulls),
    )
