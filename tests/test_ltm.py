from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln

import veracity
from claims import as_encoded, started, survey_of
from veracity import Local, Prior
from veracity.algorithms import LTM
from veracity.algorithms.base import Turn
from veracity.algorithms.ltm import Drawn, split_r_hat

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


def test_rates_and_prevalence_worked_out_by_hand():
    # Of 4 true facts the first source supports 3, of 5 false ones 2; the second one 1 and 0.
    prior = Prior(tpr=0.7, fpr=0.1)
    sampler = LTM(prior=prior, tpr_strength=10.0, fpr_strength=20.0)
    state = started(sampler, as_encoded(CLAIMS.filter(pl.col("source") != "c")))
    counts = np.array([[3.0, 5.0, 4.0, 9.0], [1.0, 1.0, 2.0, 3.0]])
    rates = sampler.describe(state, counts).rates
    assert_allclose(rates.tpr, [(3 + 7) / (4 + 10), (1 + 7) / (2 + 10)])
    assert_allclose(rates.fpr, [(2 + 2) / (5 + 20), (0 + 2) / (1 + 20)])
    assert rates.prevalence == pytest.approx(6 / 12)


def test_new_claims_are_weighed_by_the_mean_rates_of_all_rounds_that_count():
    sampler = LTM(prior=Prior(prevalence=0.3), rounds=12, burn_in=10, chains=2)
    start = started(sampler, as_encoded(CLAIMS))
    kept = np.zeros_like(start.kept_counts)
    kept[0, 0, 1], kept[0, 1, 1] = (2.0, 30.0), (0.0, 8.0)  # no and yes to true facts, per chain
    state = start._replace(kept_counts=kept)
    weights = sampler.weigh(as_encoded(CLAIMS).blocks[0], state)
    tpr, fpr = (38 / 4 + 80) / (40 / 4 + 100), 0.2  # two rounds count, in two chains
    assert_allclose(weights.support[0], np.log(tpr / fpr))
    assert_allclose(weights.oppose[0], np.log((1 - tpr) / (1 - fpr)))
    assert weights.prior == pytest.approx(np.log(0.3 / 0.7))
    assert (weights.rule, weights.account) == ("sigmoid", "average")
    single = sampler.weigh(as_encoded(CLAIMS).blocks[0], state._replace(single_truth=True))
    assert single.rule == "softmax"


def test_chains_start_with_nothing_drawn_and_their_true_facts_are_told():
    sampler = LTM(rounds=12, burn_in=10, chains=2)
    state = started(sampler, as_encoded(CLAIMS))
    lanes = sampler.split(state)
    assert [(lane.number, lane.n_true, lane.n_drawn) for lane in lanes] == [(0, 0, 0), (1, 0, 0)]
    counts = [np.full_like(lane.counts, lane.number + 1.0) for lane in lanes]
    lanes = tuple(
        lane._replace(n_true=n, counts=own)
        for lane, n, own in zip(lanes, (3, 1), counts, strict=True)
    )
    joined = sampler.join(state, lanes)
    assert joined.n_true[0].tolist() == [3.0, 1.0]
    assert joined.rounds == 1
    # what was learned goes on as a prior, and all else begins anew
    late = joined._replace(kept_counts=2.0 * joined.counts)
    again = sampler.resume(late, survey_of(as_encoded(CLAIMS)), None)
    assert_allclose(again.prior, state.prior + (1.0 + 2.0) / 2.0)
    assert not again.counts.any()
    assert not again.kept_counts.any()
    assert not again.n_true.any()
    assert again.rounds == 0


def test_r_hat_worked_out_by_hand():
    # Halves 0 2, 2 2, 1 3 and 5 5: variances 2, 0, 2, 0 within, means 1, 2, 2, 5 of variance 3.
    draws = np.array([[0.0, 2.0], [2.0, 2.0], [1.0, 5.0], [3.0, 5.0]])
    assert split_r_hat(draws) == pytest.approx(np.sqrt(1 / 2 + 3 / 1))
    sampler = LTM(rounds=6, burn_in=2, chains=2)
    after = started(sampler, as_encoded(CLAIMS))._replace(
        n_true=np.concatenate([np.full((2, 2), 99.0), draws]), rounds=6
    )
    assert sampler.change(after, after) == pytest.approx(np.sqrt(3.5) - 1.0)


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
    with pytest.raises(
        veracity.errors.ParameterError, match=r"rounds .* at least 11 \(burn_in \+ 1\), got 10"
    ):
        LTM(rounds=10, burn_in=10)


def test_thinning_keeps_every_third_round():
    sampler = LTM(rounds=20, burn_in=10, thinning=2)
    encoded = as_encoded(CLAIMS)
    (block,) = encoded.blocks
    kept = np.full(block.n_facts, 4.0)  # rounds 11, 14, 17, 20: in each, p = 1
    memory = [Drawn(np.ones(block.n_facts, dtype=np.int8), kept)] * sampler.chains
    assert_allclose(sampler.judge(block, started(sampler, encoded), memory), 1.0)


def test_every_round_that_counts_adds_one_probability_to_each_fact():
    sampler = LTM(rounds=20, burn_in=10, thinning=2)
    encoded = as_encoded(CLAIMS)
    (block,), state = encoded.blocks, started(sampler, encoded)
    chain, memory, counted, n_true = sampler.split(state)[0], None, [], 0
    for number in range(1, 21):
        before = np.zeros(block.n_facts) if memory is None else memory.kept
        chain, memory = sampler.draw(block, chain._replace(n_drawn=0), Turn(number, 0, memory))
        n_true += memory.truth.sum()
        if (memory.kept != before).any():
            counted.append(number)
    assert counted == [11, 14, 17, 20]
    assert chain.n_true == n_true > 0


def test_the_cut_into_blocks_does_not_change_what_is_drawn():
    claims = veracity.synthetic.Synthetic(sources=8, items=200).draw(seed=4).claims
    one, many = (
        veracity.discover(claims, LTM(), engine=Local(claims_per_block=size))
        for size in (10**6, 40)
    )
    assert len(many.encoded.blocks) > 10
    assert one.facts.equals(many.facts)


def test_the_old_claims_go_on_as_part_of_the_prior_each_as_one_claim():
    claims = veracity.synthetic.Synthetic(sources=8, items=100).draw(seed=4).claims
    fitted = veracity.discover(claims, LTM()).fitted
    survey = survey_of(as_encoded(claims))
    resumed = LTM().resume(fitted.state, survey, LTM().prior.rates(range(8)))
    added = (resumed.prior - fitted.state.prior).sum(axis=(1, 2))
    assert_allclose(added, survey.counted.facts_of_source)


def test_a_sampler_that_has_not_converged_says_so():
    with pytest.warns(veracity.errors.NotConverged, match="ltm did not converge in 5 rounds"):
        result = veracity.discover(CLAIMS, LTM(rounds=5, burn_in=3), kind="binary")
    assert not result.converged
    assert "not-converged" in result.findings["name"]


def test_new_claims_are_judged_in_closed_form_by_the_counts_that_were_learned():
    # incremental LTM, as the paper has it: the posterior of each fact by itself, with the rates
    # that follow from expected counts and priors
    fitted = veracity.discover(CLAIMS, LTM(rounds=20, burn_in=5), kind="binary").fitted
    state, n_kept = fitted.state, 15
    counts = state.kept_counts.mean(axis=1) / n_kept + state.prior
    fpr, tpr = (counts[:, i, 1] / counts[:, i].sum(axis=1) for i in (0, 1))
    new = pl.DataFrame({"source": ["a", "b"], "fact": ["new"] * 2, "claim": [True, False]})
    true, false = tpr[0] * (1 - tpr[1]), fpr[0] * (1 - fpr[1])
    judged = fitted.judge(new).facts["plausibility"].item()
    assert judged == pytest.approx(true / (true + false))
