"""What distributions need: logs of the gamma function, and quantiles of beta distributions.

SciPy has both, but takes longer to load than most answers take. So what few numbers need is worked
out here, and so are quantiles of few trials; the others are left to SciPy, if they are many.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.rules import logit, sigmoid
from veracity.encoding.block import FloatArray

FEW = 50_000
"""Quantiles up to which loading SciPy would take longer than they do."""

WIDE = 10_000.0
"""Up to so many trials the continued fraction is short."""

NARROW = 32.0
"""Up to so many it is so short that it takes half the time that SciPy does."""

PORTION = 1 << 16
"""So many quantiles are worked out at a time. Fewer would stay in a processor's cache, but threads
would wait for the interpreter: 8,192 take twice as long."""

LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip
"""Lanczos' coefficients for g = 7, with which the gamma function is exact to 15 digits."""

KNOTS = 128
"""For many quantiles of few trials, so many steps of each parameter are worked out first: between
them, a straight line is so near that one of Halley's steps is enough."""

HALLEYS = 50
"""Steps that no quantile needs: the start is so near that three or four do."""

NEAR = 1e-3
"""A step, relative to what is left of either side, after which another would change nothing that
is told, since errors are cubed."""

EXACT = 1e-10
"""The relative error that a continued fraction may have."""


def log_gamma(x: FloatArray) -> FloatArray:
    """The log of the gamma function, of numbers above zero.

    >>> np.exp(log_gamma(np.array([1.0, 5.0]))).round(9).tolist()
    [1.0, 24.0]
    """
    x = np.asarray(x, dtype=np.float64) - 1.0
    total = np.full_like(x, LANCZOS[0])
    for place, coefficient in enumerate(LANCZOS[1:], 1):
        total += coefficient / (x + place)
    base = x + 7.5
    return np.asarray(0.5 * np.log(2.0 * np.pi) + (x + 0.5) * np.log(base) - base + np.log(total))


def log_likely_counts(counts: FloatArray, shares: FloatArray, strengths: FloatArray) -> FloatArray:
    """How likely, in logs, counts are around shares that are worth so many counts: [row, strength].

    Rows of counts, one for each outcome, are taken for Dirichlet-multinomial draws; in which order
    the outcomes came is given.

    >>> one_each = np.array([[1.0, 1.0]]), np.array([[0.5, 0.5]])
    >>> np.exp(log_likely_counts(*one_each, np.array([2.0]))).round(9).tolist()
    [[0.166666667]]
    """
    total, start = counts.sum(axis=1)[:, None], strengths[:, None] * shares[:, None, :]
    of_outcomes = (log_gamma(counts[:, None, :] + start) - log_gamma(start)).sum(axis=2)
    return np.asarray(of_outcomes - (log_gamma(total + strengths) - log_gamma(strengths)))


def beta_quantile(a: FloatArray, b: FloatArray, probability: float) -> FloatArray:
    """The number below which so much of a beta distribution lies.

    >>> float(beta_quantile(np.array([1.0]), np.array([1.0]), 0.05)[0].round(12))
    0.05
    """
    trials = a + b
    if a.size <= FEW and trials.max(initial=0.0) <= WIDE:
        return _quantile(a, b, probability)
    is_narrow = trials <= NARROW
    quantile = np.empty_like(trials)
    quantile[is_narrow] = _narrow_quantile(a[is_narrow], b[is_narrow], probability)
    if not is_narrow.all():
        from scipy.special import betaincinv  # noqa: PLC0415 - takes its time to load

        quantile[~is_narrow] = betaincinv(a[~is_narrow], b[~is_narrow], probability)
    return quantile


def _narrow_quantile(a: FloatArray, b: FloatArray, probability: float) -> FloatArray:
    """The quantiles of many distributions of few trials each, in portions for all cores."""
    if a.size <= KNOTS**2:
        return _quantile(a, b, probability)
    grid, n_portions = _Grid.of(a, b, probability), -(-a.size // PORTION)

    def quantile(a: FloatArray, b: FloatArray) -> FloatArray:
        return _refined(a, b, probability, grid.at(a, b))

    portions = (np.array_split(parameter, n_portions) for parameter in (a, b))
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        return np.concatenate(list(pool.map(quantile, *portions)))


class _Grid(NamedTuple):
    """The log-odds of quantiles at steps of the logs of both parameters."""

    log_odds: FloatArray
    least: FloatArray
    step: FloatArray

    @classmethod
    def of(cls, a: FloatArray, b: FloatArray, probability: float) -> _Grid:
        """Worked out for all that these parameters lie between."""
        least = np.log([a.min(), b.min()])
        width = np.log([a.max(), b.max()]) - least
        step = np.maximum(width / (KNOTS - 1), 1e-9)  # parameters may all be the same
        knots = np.exp(least[:, None] + step[:, None] * np.arange(KNOTS))
        of_a, of_b = (own.ravel() for own in np.meshgrid(*knots, indexing="ij"))
        quantile = _quantile(of_a, of_b, probability).reshape(KNOTS, KNOTS)
        return cls(logit(quantile), least, step)

    def at(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """About where the quantiles are: between four others."""
        place = (np.log([a, b]) - self.least[:, None]) / self.step[:, None]
        knot = np.clip(place.astype(np.int64), 0, KNOTS - 2)
        of_a, of_b = place - knot
        at = self.log_odds.ravel()
        first = knot[0] * KNOTS + knot[1]
        low = (1.0 - of_b) * at[first] + of_b * at[first + 1]
        high = (1.0 - of_b) * at[first + KNOTS] + of_b * at[first + KNOTS + 1]
        return sigmoid((1.0 - of_a) * low + of_a * high)


def _quantile(a: FloatArray, b: FloatArray, probability: float) -> FloatArray:
    """The quantiles of some distributions."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = _near_quantile(a, b, probability)
    return _refined(a, b, probability, near)


def _refined(a: FloatArray, b: FloatArray, probability: float, near: FloatArray) -> FloatArray:
    """Quantiles from near ones, by Halley's steps."""
    x = np.clip(near, np.finfo(float).tiny, 1.0 - 2.0**-53)
    log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b)
    for _ in range(HALLEYS):
        density = np.exp(a * np.log(x) + b * np.log1p(-x) - log_beta)  # times x (1 - x)
        off = (_share_below(a, b, x, density) - probability) * x * (1.0 - x) / density
        bend = off * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))
        new = x - off / (1.0 - 0.5 * np.minimum(1.0, bend))
        new = np.where(new <= 0.0, 0.5 * x, np.where(new >= 1.0, 0.5 * (1.0 + x), new))
        moved = (np.abs(new - x) / np.minimum(new, 1.0 - new)).max(initial=0.0)
        x = new
        if moved < NEAR:
            break
    return np.asarray(x)


def _near_quantile(a: FloatArray, b: FloatArray, probability: float) -> FloatArray:
    """About where a quantile is (Abramowitz and Stegun, 26.5.22; powers where a or b is small)."""
    tail = np.sqrt(-2.0 * np.log(min(probability, 1.0 - probability)))
    z = tail - (2.30753 + 0.27061 * tail) / (1.0 + tail * (0.99229 + 0.04481 * tail))
    z = z if probability < 0.5 else -z
    of_a, of_b = 1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0)
    h, third = 2.0 / (of_a + of_b), (z * z - 3.0) / 6.0
    w = z * np.sqrt(third + h) / h - (of_b - of_a) * (third + 5.0 / 6.0 - 2.0 / (3.0 * h))
    low, high = (a / (a + b)) ** a / a, (b / (a + b)) ** b / b
    by_powers = np.where(
        probability < low / (low + high),
        (a * (low + high) * probability) ** (1.0 / a),
        1.0 - (b * (low + high) * (1.0 - probability)) ** (1.0 / b),
    )
    return np.where((a >= 1.0) & (b >= 1.0), a / (a + b * np.exp(2.0 * w)), by_powers)


def _share_below(a: FloatArray, b: FloatArray, x: FloatArray, density: FloatArray) -> FloatArray:
    """How much of a beta distribution lies below x: a continued fraction, from the nearer end."""
    from_above = x > (a + 1.0) / (a + b + 2.0)
    a, b = np.where(from_above, b, a), np.where(from_above, a, b)
    share = density * _fraction(a, b, np.where(from_above, 1.0 - x, x)) / a
    return np.where(from_above, 1.0 - share, share)


def _fraction(a: FloatArray, b: FloatArray, x: FloatArray) -> FloatArray:
    """The continued fraction of the incomplete beta function, from the front (Lentz)."""
    below = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    above, fraction, n, step = np.ones_like(x), below, 0, below
    while np.abs(step - 1.0).max(initial=0.0) > EXACT:
        n += 1
        place, step = a + 2.0 * n, np.ones_like(x)
        for part in (
            n * (b - n) * x / ((place - 1.0) * place),
            -(a + n) * (a + b + n) * x / (place * (place + 1.0)),
        ):
            below, above = 1.0 / (1.0 + part * below), 1.0 + part / above
            step = step * below * above
        fraction = fraction * step
    return fraction
