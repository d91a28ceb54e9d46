from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln

import veracity
from claims import as_claims
from veracity import LTM, Prior
from veracity.algorithms.ltm import split_r_hat

ROWS = [
    ("a", "p", True), ("b", "p", True), ("c", "p", False),
    ("a", "q", False), ("b", "q", True),
    ("a", "r", True), ("c", "r", True), ("b", "r", False),
    ("c", "s", True), ("a", "s", False),
]  # fmt: skip
CLAIMS = pl.DataFrame(ROWS, schema=["source", "fact", "claim"], orient="row")


def exact_posterior(strength, prior):
    """P(fact is true | claims), summed over all truths with the rates integrated out."""
    facts = sorted({fact for _, fact, _ in ROWS})
    weight, total = np.zeros(len(facts)), 0.0
    for truths in product([0, 1], repeat=len(facts)):
        log_weight = 0.0
        for source in "abc":
            counts = np.zeros((2, 2))
            for who, fact, claim in ROWS:
                if who == source:
                    counts[truths[facts.index(fact)], int(claim)] += 1
            for is_true, mean in ((1, prior.tpr), (0, prior.fpr)):
                yes, no = strength * mean, strength * (1 - mean)
                log_weight += betaln(counts[is_true, 1] + yes, counts[is_true, 0] + no)
                log_weight -= betaln(yes, no)
        weight += np.exp(log_weight) * np.array(truths)
        total += np.exp(log_weight)
    return weight / total


def test_sampling_finds_the_exact_posterior():
    prior = Prior(tpr=0.7, fpr=0.3)
    sampler = LTM(
        prior=prior, tpr_strength=4.0, fpr_strength=4.0, rounds=4000, burn_in=100, tolerance=0.05
    )
    result = veracity.discover(CLAIMS, sampler, kind="binary")
    assert_allclose(result.facts["plausibility"], exact_posterior(4.0, prior), atol=0.015)
    assert result.converged


def test_rates_are_posterior_means_given_the_plausibilities():
    sampler = LTM(tpr_strength=10.0, fpr_strength=20.0)
    result = veracity.discover(CLAIMS, sampler, kind="binary")
    p = dict(result.facts.select("fact", "plausibility").iter_rows())
    spoken = [(fact, claim) for source, fact, claim in ROWS if source == "a"]
    right = sum(p[fact] for fact, claim in spoken if claim)
    tpr = (right + 10.0 * 0.8) / (sum(p[fact] for fact, _ in spoken) + 10.0)
    assert result.sources["tpr"][0] == pytest.approx(tpr)


def test_chains_that_disagree_have_not_converged():
    rounds = np.arange(40.0)
    apart = np.stack([np.sin(rounds), 10 + np.sin(rounds)], axis=1)
    together = np.random.default_rng(0).normal(size=(400, 4))
    assert split_r_hat(apart) > 2.0
    assert split_r_hat(together) == pytest.approx(1.0, abs=0.02)


def test_r_hat_says_nothing_of_too_few_draws():
    assert split_r_hat(np.ones((3, 4))) == float("inf")


def test_chains_that_never_move_apart_agree():
    assert split_r_hat(np.ones((10, 4))) == 1.0


def test_rounds_must_leave_something_after_burn_in():
    with pytest.raises(veracity.errors.ParameterError, match="rounds must be at least 11, got 10"):
        LTM(rounds=10, burn_in=10)


def test_thinning_keeps_every_third_round():
    sampler = LTM(rounds=20, burn_in=10, thinning=2)
    claims = as_claims(CLAIMS)
    _, chains = sampler.start(claims, sampler.prior.rates("abc"))
    kept = np.full(claims.n_facts, 4.0 * sampler.chains)  # rounds 11, 14, 17, 20: each drew p = 1
    assert_allclose(sampler.judge(claims.all, (None, kept), chains, False), 1.0)


def test_a_sampler_that_has_not_converged_says_so():
    with pytest.warns(veracity.errors.NotConverged, match="ltm did not converge in 5 rounds"):
        result = veracity.discover(CLAIMS, LTM(rounds=5, burn_in=3), kind="binary")
    assert not result.converged
    assert any("did not converge" in note for note in result.notes)
