"""Quantiles are those of closed formulas, and the same in portions."""

import subprocess
import sys

import numpy as np
from scipy.stats import chi2

from veracity.algorithms.distributions import PORTION, beta_quantile, chi2_quantile, log_gamma


def test_log_gamma_counts_the_orders_of_things():
    n = np.arange(1.0, 150.0)
    np.testing.assert_allclose(log_gamma(n + 1.0), np.cumsum(np.log(n)), rtol=1e-12, atol=1e-12)


def test_beta_quantiles_are_those_of_closed_formulas():
    a = np.geomspace(1e-2, 1e6, 50)
    one = np.ones_like(a)
    for p in (0.05, 0.95):
        np.testing.assert_allclose(beta_quantile(a, one, p), p ** (1.0 / a), rtol=1e-9)
        above = -np.expm1(np.log1p(-p) / a)
        np.testing.assert_allclose(beta_quantile(one, a, p), above, rtol=1e-9)
        arcsine = np.sin(p * np.pi / 2.0) ** 2
        np.testing.assert_allclose(beta_quantile(one / 2.0, one / 2.0, p), arcsine, rtol=1e-9)


def test_many_quantiles_are_the_same_as_few():
    rng = np.random.default_rng(5)
    a, b = 0.5 + 100.0 * rng.random((2, PORTION + 100))
    few = np.append(beta_quantile(a[:99], b[:99], 0.05), beta_quantile(a[99:], b[99:], 0.05))
    np.testing.assert_array_equal(beta_quantile(a, b, 0.05), few)


def test_chi2_quantiles_are_those_of_the_slow_library():
    n = np.append(np.arange(1.0, 50.0), np.geomspace(50.0, 1e7, 50))
    for p in (0.005, 0.025, 0.2):
        np.testing.assert_allclose(chi2_quantile(n, p), chi2.ppf(p, n), rtol=1e-12)


def test_scipy_is_loaded_by_no_import_and_its_statistics_never():
    code = (
        "import sys, veracity, veracity.algorithms.base; print('scipy.special' in sys.modules);"
        "claims = veracity.synthetic.flights().claims;"
        "veracity.discover(claims, 'catd').sources; print('scipy.stats' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, check=True, capture_output=True, text=True)
    assert printed.stdout.split() == ["False", "False"]
