"""How heavy the tails of errors are, by what claims and items tell: degrees of freedom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.distributions import log_gamma
from veracity.algorithms.ltd_rbm_n.items import USUAL_FREEDOM, Inferred, Machine, Measured
from veracity.encoding.block import FloatArray

STRIDE = float(np.log(1.5))
"""By how much, in logs, degrees of freedom move in a round at most."""

MOST_BLUNT = 4.0
"""No truth is told to vary by more than this many times what its claims' weights say."""


def three_around(freedom: float) -> FloatArray:
    """Degrees of freedom that are compared: fewer, these, and more."""
    return freedom * np.exp(STRIDE * np.arange(-1.0, 2.0))


class Errors(NamedTuple):
    """Squared errors in units of what is usual, and how new each claim is; of those that tell."""

    square: FloatArray
    novelty: FloatArray


def studentised(claims: Measured, found: Inferred, machine: Machine) -> Errors:
    """Errors of claims; a truth is nearer to its claims than it should be, which is made up for."""
    share = found.weight / claims.of_claim(found.total)
    tells = claims.of_claim((claims.n_claims > 1.0) & (claims.has_scale > 0.0)) & (share < 0.99)
    precision = claims.of_claim(found.item_weight) / machine.variance[claims.numbers.source]
    square = (precision * found.away**2)[tells] / (1.0 - share[tells])
    return Errors(square, claims.novelty[tells])


def fit_of_tails(errors: Errors, machine: Machine) -> FloatArray:
    """How well errors fit to fewer and to more degrees of freedom: logs of likelihoods."""
    square, new = errors
    fits = [_log_likelihood(f, square, np.ones(1)) for f in three_around(machine.tails)]
    return np.array([float((new * fit).sum()) for fit in fits])


def pulls_of(errors: Errors, machine: Machine) -> FloatArray:
    """Sums over claims: of weights u, of squared pulls u² e², and of slopes of u e."""
    square, new = errors
    tails = machine.tails
    weight = (tails + 1.0) / (tails + square)
    slope = weight * (tails - square) / (tails + square)
    sums = (new * weight, new * weight**2 * square, new * slope)
    return np.array([float(one.sum()) for one in sums])


def bluntness(pulls: FloatArray) -> float:
    """The variance of an estimate by weights, over what the weights say (Huber's sandwich).

    Σ (u e)² Σ u / (Σ slope)². For errors as the machine has them it is (f + 3) / (f + 1).
    """
    weight, square, slope = pulls
    if slope <= 0.0:
        return MOST_BLUNT
    return float(np.clip(square * weight / slope**2, 1.0, MOST_BLUNT))


def fit_of_items(claims: Measured, found: Inferred, machine: Machine) -> FloatArray:
    """The same of the spreads of items."""
    n_different = np.rint(claims.sums(claims.novelty))
    tells = (n_different > 1.0) & (claims.has_scale > 0.0)
    own = found.weight / claims.of_claim(found.item_weight)
    square = claims.sums(claims.novelty * own * found.away**2)[tells]
    free = n_different[tells] - np.isnan(claims.known[tells])
    return np.array(
        [float(_log_likelihood(f, square, free).sum()) for f in three_around(machine.evenness)]
    )


def _log_likelihood(freedom: float, square: FloatArray, n: FloatArray) -> FloatArray:
    """Of squares that are sums of n, divided by a precision of so many degrees of freedom."""
    half = np.asarray(freedom / 2.0)
    told = log_gamma(half + n / 2.0) - log_gamma(half) - 0.5 * n * np.log(freedom)
    return np.asarray(told - (half + n / 2.0) * np.log1p(square / freedom))


def best_of_three(freedom: float, fits: FloatArray) -> float:
    """Degrees of freedom that fit better: the top of a parabola through the logs, if it has one."""
    few, same, many = fits - 0.5 * np.log(three_around(freedom) / USUAL_FREEDOM) ** 2
    bend = few - 2.0 * same + many
    if bend < 0.0:
        step = float(np.clip(0.5 * (few - many) / bend, -1.0, 1.0))
    else:
        step = 1.0 if many > few else -1.0
    return float(np.clip(freedom * np.exp(STRIDE * step), 1.0, 100.0))
