"""Compute logs of the gamma function, and quantiles of distributions.

`scipy.special` loads on the first call, `scipy.stats` never: it takes longer than most answers do.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl

from veracity.encoding.block import FloatArray

PORTION = 1 << 16
"""Number of quantiles computed at a time on one thread: SciPy needs no interpreter meanwhile."""


def log_gamma(x: FloatArray) -> FloatArray:
    """Return the log of the gamma function, of numbers above zero.

    >>> np.exp(log_gamma(np.array([1.0, 5.0]))).round(9).tolist()
    [1.0, 24.0]
    """
    from scipy.special import gammaln  # noqa: PLC0415 - takes its time to load

    return np.asarray(gammaln(x))


def log_likely_counts(counts: FloatArray, shares: FloatArray, strengths: FloatArray) -> FloatArray:
    """Return the log-likelihoods of counts around shares, for each strength: [row, strength].

    Rows of counts, one for each outcome, are Dirichlet-multinomial draws whose prior counts are the
    shares times the strength; the order of the outcomes is given.

    >>> one_each = np.array([[1.0, 1.0]]), np.array([[0.5, 0.5]])
    >>> np.exp(log_likely_counts(*one_each, np.array([2.0]))).round(9).tolist()
    [[0.166666667]]
    """
    total, start = counts.sum(axis=1)[:, None], strengths[:, None] * shares[:, None, :]
    of_outcomes = (log_gamma(counts[:, None, :] + start) - log_gamma(start)).sum(axis=2)
    return np.asarray(of_outcomes - (log_gamma(total + strengths) - log_gamma(strengths)))


def beta_quantile(a: FloatArray, b: FloatArray, probability: float) -> FloatArray:
    """Return the number below which this share of a beta distribution lies.

    >>> float(beta_quantile(np.array([1.0]), np.array([1.0]), 0.05)[0].round(12))
    0.05
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - takes its time to load

    if a.size <= PORTION:
        return np.asarray(betaincinv(a, b, probability))
    portions = (np.array_split(parameter, -(-a.size // PORTION)) for parameter in (a, b))
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        return np.concatenate(list(pool.map(lambda a, b: betaincinv(a, b, probability), *portions)))


def chi2_quantile(degrees: FloatArray, probability: float) -> FloatArray:
    """Return the number below which this share of a χ² distribution lies.

    >>> chi2_quantile(np.array([2.0]), 0.5).round(9).tolist()  # 2 log 2
    [1.386294361]
    """
    from scipy.special import gammaincinv  # noqa: PLC0415 - takes its time to load

    return np.asarray(2.0 * gammaincinv(degrees / 2.0, probability))
