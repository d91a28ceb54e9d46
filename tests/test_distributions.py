"""What is worked out without SciPy is what SciPy says."""

import numpy as np
import pytest
from scipy.special import betaincinv, gammaln

from veracity.algorithms.distributions import beta_quantile, log_gamma


def test_log_gamma_is_exact():
    x = np.geomspace(1e-3, 1e7, 500)
    np.testing.assert_allclose(log_gamma(x), gammaln(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("probability", [0.05, 0.95])
@pytest.mark.parametrize("share", [0.0, 1e-9, 0.01, 0.5, 0.9, 1.0])
def test_beta_quantiles_are_exact(share, probability):
    trials = np.append(0.0, np.geomspace(1e-3, 2e4, 60))
    for some in (trials, trials[trials < 9_000.0]):  # with very many, SciPy is asked
        a, b = some * share + 0.5, some * (1.0 - share) + 0.5
        found = beta_quantile(a, b, probability)
        np.testing.assert_allclose(found, betaincinv(a, b, probability), rtol=1e-9, atol=1e-12)


def test_many_quantiles_are_exact_too():
    rng = np.random.default_rng(5)
    trials = np.append(12.0 * rng.random(60_000), 100.0 * rng.random(3_000))
    share = rng.beta(0.5, 0.5, len(trials))
    a, b = trials * share + 0.5, trials * (1.0 - share) + 0.5
    for probability in (0.05, 0.95):
        found = beta_quantile(a, b, probability)
        np.testing.assert_allclose(found, betaincinv(a, b, probability), rtol=1e-9, atol=1e-12)


def test_many_quantiles_of_one_distribution_are_the_same():
    a, b = np.full(20_000, 3.5), np.full(20_000, 0.5)
    found = beta_quantile(a, b, 0.05)
    np.testing.assert_allclose(found, betaincinv(3.5, 0.5, 0.05), rtol=1e-9)
