"""LTD-RBM: the machine, its training, its priors; and as a flow."""

from __future__ import annotations

import warnings
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

import veracity
from claims import as_block, as_encoded, binary_rows, started, value_rows
from veracity import Local, Prior, kernels
from veracity.algorithms import LTDRBM, Rate
from veracity.algorithms.base import Turn
from veracity.algorithms.catalogue import by_sweeps
from veracity.algorithms.flow import LIMIT
from veracity.algorithms.ltd_rbm import RBM, rates_of, source_bias, weights_of
from veracity.algorithms.rules import logit, sigmoid
from veracity.api import prepare
from veracity.errors import NotConverged
from veracity.kernels import Machine, Pace, reference
from veracity.synthetic import Synthetic

# --- test_ltd_rbm.py ------------------------------------------------------------------------------


probability = st.floats(1e-4, 1 - 1e-4)
probabilities = arrays(np.float64, st.integers(1, 6), elements=probability)
NEVER = 1e9
"""A limit or batch size that is never reached."""


def machine_for(block, seed=0):
    """A machine with rates of its own for every source."""
    rng = np.random.default_rng(seed)
    n_sources = int(block.source_of_voice.max()) + 1
    tpr, fpr = rng.uniform(0.05, 0.95, n_sources), rng.uniform(0.05, 0.95, n_sources)
    return Machine(*weights_of(tpr, fpr), float(rng.normal()), np.zeros(n_sources)), tpr, fpr


def training(machine, single_truth=False):
    a, w, b, is_fixed = machine
    return RBM(a, w, is_fixed, b, 1.0, single_truth)


def judged(block, machine, single_truth=False):
    return LTDRBM().judge(block, training(machine, single_truth))


# --- the machine and the rates are one ------------------------------------------------------------


@given(tpr=probabilities, fpr=probability)
def test_weights_and_rates_are_a_round_trip(tpr, fpr):
    found_tpr, found_fpr = rates_of(*weights_of(tpr, np.full_like(tpr, fpr)))
    assert_allclose(found_tpr, tpr, rtol=1e-9)
    assert_allclose(found_fpr, fpr, rtol=1e-9)


@given(tpr=probabilities, fpr=probability)
def test_source_bias_is_the_log_ratio_of_not_claiming(tpr, fpr):
    bias = source_bias(*weights_of(tpr, np.full_like(tpr, fpr)))
    assert_allclose(bias, np.log(1 - tpr) - np.log(1 - fpr), atol=1e-9)


@given(rows=st.one_of(binary_rows(), value_rows()), seed=st.integers(0, 99))
def test_plausibility_is_bayes_rule_whatever_claims_are_missing(rows, seed):
    block = as_block(rows, "multiple")
    machine, tpr, fpr = machine_for(block, seed)
    prevalence = float(sigmoid(np.array(machine.hidden_bias)))
    expected = []
    for voices, supporters in facts_of(block):
        if_true, if_false = prevalence, 1 - prevalence
        for source in voices:
            says = source in supporters
            if_true *= tpr[source] if says else 1 - tpr[source]
            if_false *= fpr[source] if says else 1 - fpr[source]
        expected.append(if_true / (if_true + if_false))
    assert_allclose(judged(block, machine), expected, rtol=1e-9)


def facts_of(block):
    """The voices and the supporters of each fact."""
    for item in range(block.n_items):
        voices = block.source_of_voice[slice(*block.first_voice_of_item[item : item + 2])]
        for fact in range(*block.first_fact_of_item[item : item + 2]):
            first, last = block.first_support_of_fact[fact : fact + 2]
            yield voices, set(block.source_of_support[first:last].tolist())


# --- one value is true ----------------------------------------------------------------------------


@given(rows=value_rows(), seed=st.integers(0, 99))
def test_normalised_odds_add_up_to_one_and_keep_the_order(rows, seed):
    block = as_block(rows)
    machine, _, _ = machine_for(block, seed)
    alone, together = judged(block, machine), judged(block, machine, single_truth=True)
    first = block.first_fact_of_item
    assert_allclose(np.add.reduceat(together, first[:-1]), 1.0)
    for a, b in pairwise(first):
        before = np.argsort(alone[a:b], kind="stable")
        assert (np.diff(together[a:b][before]) >= -1e-12).all()


@given(p=arrays(np.float64, st.integers(1, 5), elements=probability))
def test_normalised_odds_are_the_posterior_given_exactly_one_truth(p):
    weight_of_truth = np.zeros(len(p))
    for truths in product([0, 1], repeat=len(p)):
        if sum(truths) == 1:
            weight_of_truth[truths.index(1)] = np.prod(np.where(truths, p, 1 - p))
    nobody = np.array([-np.inf])
    found = reference.normalise_log(logit(p), np.array([0, len(p)]), nobody)
    assert_allclose(found, weight_of_truth / weight_of_truth.sum())


def test_equal_reliabilities_make_ltd_rbm_a_vote(flights):
    prior = Prior(of_source={name: Rate(fixed=True) for name in flights.sources["source"]})
    fixed = veracity.discover(flights.claims, LTDRBM(prior=prior))
    vote = veracity.discover(flights.claims, "majority-vote")
    untied = ~vote.truths["tied"]
    assert fixed.truths["value"].filter(untied).equals(vote.truths["value"].filter(untied))


# --- the gradient ---------------------------------------------------------------------------------


def log_likelihood(a, w, b, claims):
    """Of all claims, by summing over every state of an RBM whose sources all speak on all facts."""
    states = np.array(list(product([0, 1], repeat=len(a))))
    log_z = np.logaddexp(states @ a, b + states @ (a + w))
    seen = np.logaddexp(claims @ a, b + claims @ (a + w))
    return float(seen.sum() - len(claims) * np.logaddexp.reduce(log_z))


@given(data=arrays(np.bool_, (4, 3)), seed=st.integers(0, 99))
def test_exact_gradient_is_the_slope_of_the_log_likelihood(data, seed):
    rng = np.random.default_rng(seed)
    a, w, b = rng.normal(size=3), rng.normal(size=3), rng.normal()
    global_bias = b - source_bias(a, w).sum()
    da, dw = gradient_of(data, Machine(a, w, global_bias, np.zeros(3)))
    step = 1e-5
    for i, unit in enumerate(np.eye(3) * step):
        up, down = (log_likelihood(a + sign * unit, w, b, data) for sign in (1, -1))
        assert da[i] == pytest.approx((up - down) / (2 * step), abs=1e-5)
        up, down = (log_likelihood(a, w + sign * unit, b, data) for sign in (1, -1))
        assert dw[i] == pytest.approx((up - down) / (2 * step), abs=1e-5)


def gradient_of(data, machine, sampled=0, seed=0):
    """The move of a and w after one batch of all facts, over a rate so low that it is straight."""
    rows = [(f"s{s}", f"f{f}", bool(data[f, s])) for f in range(len(data)) for s in range(3)]
    block = as_block(pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row"))
    rate = 1e-6
    pace = Pace(rate, int(NEVER), NEVER, False, sampled, np.inf)
    rng = np.random.default_rng(seed)
    items = kernels.reorder(block, np.arange(len(data)))
    a, w, _ = kernels.ascend(items, machine, pace, rng)
    return (a - machine.visible_bias) / rate, (w - machine.weight) / rate


def test_expected_cd_gradient_approaches_the_exact_one_as_steps_grow():
    data = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1], [1, 0, 0]], dtype=bool)
    a, w = weights_of(np.array([0.9, 0.8, 0.6]), np.array([0.2, 0.1, 0.3]))
    machine = Machine(a, w, 0.3, np.zeros(3))
    exact = np.concatenate(gradient_of(data, machine))
    many = np.tile(data, (4000, 1))  # the mean over copies of the data is the expectation
    distance = []
    for steps in (1, 3, 20):
        found = np.concatenate(gradient_of(many, machine, sampled=steps)) / 4000
        distance.append(np.abs(found - exact).max())
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 0.06


def test_splitting_a_batch_changes_little():
    rows = veracity.synthetic.Synthetic(sources=6, items=200).draw(seed=3).claims
    block = as_block(rows.drop("attribute"))
    machine, _, _ = machine_for(block)
    items = kernels.reorder(block, np.arange(block.n_items))
    rng, moves = np.random.default_rng(0), {}
    for rate in (1e-4, 1e-5):
        ends = [
            kernels.ascend(items, machine, Pace(rate, size, 13.8, False, 0), rng)
            for size in (1, 150)
        ]
        moves[rate] = max(np.abs(ends[0][i] - ends[1][i]).max() for i in range(3))
    assert moves[1e-5] < moves[1e-4] / 50  # O(rate squared)


# --- symmetry -------------------------------------------------------------------------------------


def mirrored_rates(prior):
    """What the sources' rates are when every claim and every truth is turned around."""
    of_source = {
        name: Rate(tpr=1 - rate.fpr, fpr=1 - rate.tpr, fixed=rate.fixed)
        for name, rate in prior.of_source.items()
    }
    return Prior(
        tpr=1 - prior.fpr, fpr=1 - prior.tpr, prevalence=1 - prior.prevalence, of_source=of_source
    )


@given(
    rows=binary_rows(), rates=st.lists(st.tuples(probability, probability), min_size=8, max_size=8)
)
def test_flipping_every_claim_and_swapping_the_rates_mirrors_the_answer(rows, rates):
    fixed = {s: Rate(tpr=t, fpr=f, fixed=True) for s, (t, f) in zip("abcdefgh", rates, strict=True)}
    prior = Prior(prevalence=0.4, of_source=fixed)
    flipped = rows.with_columns(~pl.col("claim"))
    one = veracity.discover(rows, LTDRBM(prior=prior), kind="binary")
    other = veracity.discover(flipped, LTDRBM(prior=mirrored_rates(prior)), kind="binary")
    assert_allclose(one.facts["plausibility"], 1 - other.facts["plausibility"], atol=1e-9)
    assert_allclose(one.sources["tpr"], 1 - other.sources["fpr"], atol=1e-9)


def test_training_decides_the_same_on_flipped_claims():
    # Steps in (a, w, b) are not the same steps after a flip, so only decisions can be compared.
    rng = np.random.default_rng(4)
    truth = rng.random(400) < 0.5
    accuracy = np.array([0.9, 0.85, 0.8, 0.6, 0.6])
    rows = [
        (f"s{s}", f"f{f:03d}", bool(truth[f] ^ (rng.random() > accuracy[s])))
        for f in range(400)
        for s in range(5)
    ]
    claims = pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row")
    prior = Prior(prevalence=0.5)
    one = veracity.discover(claims, LTDRBM(prior=prior), kind="binary")
    flipped = claims.with_columns(~pl.col("claim"))
    other = veracity.discover(flipped, LTDRBM(prior=mirrored_rates(prior)), kind="binary")
    assert (one.truths["value"] != other.truths["value"]).mean() > 0.99


@given(rows=value_rows(), word=st.integers(0, 5))
def test_one_more_supporter_who_is_right_more_often_never_makes_a_fact_less_plausible(rows, word):
    prior = Prior(of_source={name: Rate(tpr=0.7, fpr=0.3, fixed=True) for name in "abcdefghi"})
    entity, value = rows.row(word % len(rows))[1:]
    more = pl.concat([rows, pl.DataFrame([("i", entity, value)], schema=rows.schema, orient="row")])
    ours = (pl.col("entity") == entity) & (pl.col("value") == value)
    before, after = (
        veracity.discover(r, LTDRBM(prior=prior), kind="multiple").facts.filter(ours)[
            "plausibility"
        ][0]
        for r in (rows, more)
    )
    assert after >= before - 1e-12


# --- prior knowledge ------------------------------------------------------------------------------


both_ways = pytest.mark.parametrize("learning", ["batches", "flow"])


@both_ways
@pytest.mark.parametrize("single_truth", [False, True])
def test_a_fixed_source_stays_as_it_is_while_others_learn(flights, learning, single_truth):
    prior = Prior(of_source={"hoppit": Rate(tpr=0.33, fpr=0.11, fixed=True)})
    machine = LTDRBM(prior=prior, learning=learning, single_truth=single_truth)
    sources = veracity.discover(flights.claims, machine).sources
    fixed = sources.filter(pl.col("source") == "hoppit")
    assert_allclose([fixed["tpr"][0], fixed["fpr"][0]], [0.33, 0.11])
    assert (sources.filter(pl.col("source") != "hoppit")["tpr"] != 0.8).all()


@both_ways
def test_nothing_is_trained_where_all_sources_are_fixed(flights, learning):
    rates = flights.sources.rows()
    prior = Prior(of_source={s: Rate(tpr=a, fpr=0.1, fixed=True) for s, a in rates}, prevalence=0.3)
    result = veracity.discover(flights.claims, LTDRBM(prior=prior, learning=learning))
    assert result.run.rounds == 0
    assert result.converged
    assert result.run.prevalence == pytest.approx(0.3)
    assert_allclose(dict(result.sources.select("source", "tpr").iter_rows())["radar"], 0.92)


def test_kinds_of_sources_start_from_the_rates_of_their_kind():
    prior = Prior(
        of_kind={"airline": Rate(tpr=0.9, fpr=0.1)},
        kind_of_source={"aa": "airline", "ua": "airline"},
    )
    assert prior.rates(["aa", "orbitz", "ua"]).tpr.tolist() == [0.9, 0.8, 0.9]


def test_the_own_rate_of_a_source_comes_before_that_of_its_kind():
    prior = Prior(
        fpr=0.3,
        prevalence=1.0,
        of_kind={"airline": Rate(tpr=0.9, fpr=0.1, fixed=True)},
        kind_of_source={"aa": "airline", "ua": "airline"},
        of_source={"ua": Rate(tpr=0.6), "far": Rate(tpr=0.0, fpr=1.0)},
    )
    rates = prior.rates(["aa", "far", "orbitz", "ua"])
    assert rates.tpr.tolist() == [0.9, 1e-6, 0.8, 0.6]
    assert rates.fpr.tolist() == [0.1, 1 - 1e-6, 0.3, 0.2]
    assert rates.is_fixed.tolist() == [1, 0, 0, 0]
    assert rates.known.tolist() == [[0.0] * 4] * 4
    assert rates.prevalence == 1 - 1e-6  # nothing could be learned from certainty
    assert prior.unknown(["aa", "orbitz"]) == ["far", "ua"]


def test_known_facts_weigh_on_rates_as_ten_others_do():
    # Of five known facts two are true, of which the first source supports one; of the three false
    # ones it supports two. The second is fixed.
    known = np.array([[1.0, 3.0, 2.0, 5.0]] * 2)
    prior = Prior(of_source={"b": Rate(fixed=True)}).rates(["a", "b"], known)
    tpr, fpr = prior.weigh_known(np.array([0.8, 0.8]), np.array([0.2, 0.2]))
    assert_allclose(tpr, [(1 + 8) / (2 + 10), 0.8])
    assert_allclose(fpr, [(2 + 2) / (3 + 10), 0.2])
    assert_allclose(prior.weigh_known_accuracy(np.array([0.5, 0.5])), [(1 + 5) / (3 + 10), 0.5])


def test_a_prior_table_speaks_of_sources_and_kinds():
    table = pl.DataFrame(
        {
            "source": [None, "aa", "orbitz"],
            "kind": ["airline", "airline", None],
            "tpr": [0.95, None, 0.5],
            "fpr": [0.01, None, 0.4],
            "fixed": [None, None, "yes"],
        }
    )
    rates = Prior.from_table(table).rates(["aa", "orbitz", "other"])
    assert rates.tpr.tolist() == [0.95, 0.5, 0.8]
    assert rates.is_fixed.tolist() == [0, 1, 0]


def test_a_prior_that_names_unknown_sources_is_told(two_against_one):
    prior = Prior(of_source={"nobody": Rate()})
    notes = veracity.discover(two_against_one, LTDRBM(prior=prior)).notes
    assert any("nobody" in note for note in notes)


def test_a_good_source_known_beforehand_outweighs_two_bad_ones(two_against_one):
    prior = Prior(of_source={"c": Rate(tpr=0.99, fpr=0.01, fixed=True)})
    assert veracity.discover(two_against_one, LTDRBM(prior=prior)).truths["value"].to_list() == [
        "2"
    ]


# --- training -------------------------------------------------------------------------------------


WAYS = [
    *({"negative_phase": phase, "single_truth": single}
      for phase in ("exact", "sampled") for single in (False, True)),
    *({"learning": "flow", "single_truth": single} for single in (False, True)),
    *({"batch_size": size} for size in (1, 10, 1000, 100_000)),
    *({"learning_rate": rate, "batch_size": size, "facts_per_step": None}
      for rate in (0.03, 0.1, 1.0) for size in (100, 100_000)),
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_training_beats_the_vote_on_the_flights_whatever_the_batches_and_the_rate(flights, way):
    result = veracity.discover(flights.claims, LTDRBM(**way))
    vote = veracity.discover(flights.claims, "majority-vote")
    accuracy, of_vote = (veracity.evaluate(r, flights.truth).accuracy for r in (result, vote))
    assert accuracy > of_vote + (0.02 if "batch_size" in way else 0.03)


def test_the_learning_rate_decays_from_round_to_round():
    block = as_block(veracity.synthetic.Synthetic(items=50).draw().claims)
    start = training(machine_for(block)[0])
    slow = LTDRBM(learning_rate=1e-6, decay=0.5)
    first, third = (slow.ascend(block, start, Turn(n))[0].weight - start.weight for n in (1, 3))
    assert_allclose(third, first * np.exp(-1.0), rtol=1e-3, atol=1e-9)


@pytest.fixture(scope="module")
def many():
    """Claims of which some are enough for a round, where the threshold is lowered."""
    return veracity.synthetic.Synthetic(items=20_000, sources=12).draw(seed=1)


@pytest.fixture
def hasty(many, monkeypatch):
    monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY", 10_000)
    return veracity.discover(many.claims, "ltd-rbm")


@pytest.fixture(scope="module")
def patient(many):
    return veracity.discover(many.claims, LTDRBM(shorten=False))


def test_rounds_on_some_of_the_items_learn_as_much(many, hasty, patient):
    assert hasty.fitted.state.share_of_items < 0.1
    assert (hasty.truths["value"] == patient.truths["value"]).mean() > 0.97
    right, patiently = (veracity.evaluate(r, many.truth).accuracy for r in (hasty, patient))
    assert right > patiently - 0.002


def test_after_rounds_on_some_of_the_items_rates_are_counted_and_right(many, hasty, patient):
    """At least as right as those of the full schedule, which stops before it gets there."""
    true = many.sources.select("source", true="accuracy")  # a tpr: all speak on all of an item
    one, other = (
        (r.sources.join(true, on="source").select(pl.col("tpr") - pl.col("true")))["tpr"].abs()
        for r in (hasty, patient)
    )
    assert one.mean() < 0.02
    assert one.mean() < other.mean()


def test_rounds_on_some_of_the_items_stop_when_their_changes_may_be_chance(many, hasty):
    """A rate that is counted from 500 claims has a standard error of up to 0.5 / sqrt(500)."""
    changes = [one["change"] for one in hasty.run.trace]
    assert changes[-1] < 0.0224 < min(changes[:-1])
    assert hasty.run.converged
    stricter, laxer = (
        veracity.discover(many.claims, LTDRBM(tolerance=tolerance)) for tolerance in (1e-6, 0.2)
    )
    assert stricter.run.rounds == hasty.run.rounds > laxer.run.rounds


def test_rounds_stop_there_also_where_sources_say_so_little_that_all_items_are_looked_at(
    monkeypatch,
):
    claims = veracity.synthetic.Synthetic(items=300, sources=100).draw(seed=1).claims
    fully = veracity.discover(claims, "ltd-rbm")
    monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY", 5_000)
    hastily = veracity.discover(claims, "ltd-rbm")
    assert hastily.fitted.state.share_of_items == fully.fitted.state.share_of_items == 1.0
    assert hastily.run.rounds < fully.run.rounds
    assert hastily.run.trace[-1]["change"] < 0.0224
    assert not [note for note in hastily.notes if "each round" in note]  # it looked at all
    assert (hastily.truths["value"] == fully.truths["value"]).mean() > 0.99


def test_who_does_not_get_there_is_told_what_would_have_been_enough(many, hasty):
    with pytest.warns(
        NotConverged, match=r"the last change was 0\.[0-9]+, the tolerance is 0\.022"
    ):
        veracity.discover(many.claims, LTDRBM(max_rounds=2))


def test_rounds_on_some_of_the_items_are_told_of(hasty, patient):
    (note,) = [note for note in hasty.notes if "each round used a new sample of 0.087" in note]
    assert note.endswith("set shorten=False")
    assert not [note for note in patient.notes if "each round" in note]


def test_every_round_draws_other_items_and_in_another_order(many):
    encoded = as_encoded(many.claims)
    (block,) = encoded.blocks
    start = started(LTDRBM(), encoded)._replace(share_of_items=0.1)
    # a share of 0.1 is a tenth of the gradients, so a tenth of the way for steps this small
    slow = LTDRBM(learning_rate=1e-9, decay=0.0)
    part, other = (slow.ascend(block, start, Turn(n))[0].weight - start.weight for n in (1, 2))
    whole = slow.ascend(block, start._replace(share_of_items=1.0), Turn(1))[0].weight - start.weight
    assert_allclose(part, 0.1 * whole, rtol=0.5)
    assert (part != other).all()


def test_a_round_looks_at_all_items_where_sources_say_little(monkeypatch):
    monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY", 100)
    encoded = as_encoded(veracity.synthetic.Synthetic(items=500).draw().claims)
    assert started(LTDRBM(), encoded).share_of_items == 1.0


def test_the_share_of_a_round_worked_out_by_hand(monkeypatch):
    # Three sources speak of 3, 5 and 7 items: 15 claims, 5 of the median source.
    rows = [(s, f"e{i}", "1") for s, n in (("a", 3), ("b", 5), ("c", 7)) for i in range(n)]
    encoded = as_encoded(pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row"))
    for plenty, of_source, share in ((9, 2, 0.6), (3, 2, 0.4), (3, 1, 0.2), (15, 1, 1), (99, 9, 1)):
        monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY", plenty)
        monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY_OF_SOURCE", of_source)
        assert started(LTDRBM(), encoded).share_of_items == pytest.approx(share)
        assert started(LTDRBM(shorten=False), encoded).share_of_items == 1.0
    # Batches of 400 facts take steps as for 200, so a round needs twice as many items.
    monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY", 3)
    monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY_OF_SOURCE", 1)
    assert started(LTDRBM(batch_size=400), encoded).share_of_items == pytest.approx(0.4)
    assert started(
        LTDRBM(batch_size=400, facts_per_step=None), encoded
    ).share_of_items == pytest.approx(0.2)


def two_sources(**changes):
    """A state with two sources, the second of them fixed."""
    a, w = weights_of(np.array([0.8, 0.6]), np.array([0.3, 0.1]))
    return RBM(a, w, np.array([0.0, 1.0]), 0.0, 1.0, False)._replace(**changes)


def test_rates_are_counted_over_the_judged_facts_by_hand():
    # Of 4 true facts the first source supports 3, of 5 false ones 2; what was thought is one more.
    total = (np.array([[3.0, 5.0, 4.0, 9.0]] * 2), np.array([7.0, 19.0]))
    rates = LTDRBM().take_counts(two_sources(), total).rates
    assert_allclose(rates.tpr, [(3 + 0.8) / 5, 0.6])
    assert_allclose(rates.fpr, [(2 + 0.3) / 6, 0.1])
    assert rates.prevalence == pytest.approx((7 + 0.5) / 20)
    # Under a single truth the prevalence is no part of the machine.
    assert LTDRBM(single_truth=True).take_counts(two_sources(), total).hidden_bias == 0.0


def test_counted_rates_stay_within_the_limit_of_the_machine():
    always = np.array([[1e15, 1e15, 1e15, 2e15]] * 2)  # all that is true, and nothing that is false
    closed = LTDRBM().take_counts(two_sources(), (always, np.array([0.0, 1e15])))
    assert closed.visible_bias[0] == -LIMIT
    assert closed.weight[0] == 2.0 * LIMIT
    assert closed.hidden_bias == -LIMIT


def test_a_closing_count_is_of_the_facts_as_they_are_judged_and_known(monkeypatch):
    monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY", 1)
    monkeypatch.setattr("veracity.algorithms.ltd_rbm.PLENTY_OF_SOURCE", 1)
    rows = [("a", "p", True), ("a", "q", True), ("a", "r", False), ("b", "p", True),
            ("b", "q", False), ("b", "r", False)]  # fmt: skip
    claims = pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row")
    known = pl.DataFrame({"fact": ["r"], "claim": [True]})
    encoded, algorithm = prepare(claims, kind="binary", known=known).encoded, LTDRBM()
    state = started(algorithm, encoded)
    rounds, closing = algorithm.phases(state)
    assert (rounds.name, closing.name) == ("rounds", "closing count")
    assert (rounds.change, closing.change) == (algorithm.change, None)
    (block,), (step,) = encoded.blocks, closing.steps
    p, q, _ = algorithm.judge(block, state)  # and r is true, whatever is claimed of it
    (of_source, of_facts), _ = step.look(block, state, Turn())
    assert_allclose(of_source, [[p + q, 2, p + q + 1, 3], [p, 1, p + q + 1, 3]])
    assert_allclose(of_facts, [p + q + 1, 3])
    assert step.learn == algorithm.take_counts


def test_no_prevalence_drives_the_hidden_unit_beyond_its_limit(two_against_one):
    for prevalence, bias in ((1e-300, -LIMIT), (1.0 - 1e-16, LIMIT)):
        start = started(LTDRBM(prior=Prior(prevalence=prevalence)), as_encoded(two_against_one))
        assert start.hidden_bias == bias


def test_many_facts_make_a_step_no_longer_unless_the_limit_is_lifted():
    rows = veracity.synthetic.Synthetic(sources=5, items=60).draw(seed=1).claims
    (block,), start = as_encoded(rows).blocks, started(LTDRBM(), as_encoded(rows))

    def reached(most):
        algorithm = LTDRBM(batch_size=10_000, facts_per_step=most)
        return np.abs(algorithm.ascend(block, start, Turn(1))[0].weight - start.weight).max()

    assert reached(10) < reached(20) < reached(None)
    assert reached(None) == reached(10_000)


def test_a_flow_looks_at_all_items_whatever_the_share():
    assert LTDRBM().describe(two_sources(share_of_items=0.25)).notes
    assert not LTDRBM().describe(two_sources()).notes
    assert not LTDRBM(learning="flow").describe(two_sources(share_of_items=0.25)).notes


def test_of_a_flow_that_has_not_begun_all_is_left():
    flow = LTDRBM(learning="flow")
    (phase,) = flow.phases(two_sources())
    assert phase.name == "flow"
    assert phase.change(two_sources(), two_sources()) == 1.0


def test_a_round_moves_as_far_as_the_rate_that_moves_most():
    before = two_sources()
    for tpr, fpr, move in (([0.7, 0.2], [0.3, 0.1], 0.4), ([0.8, 0.6], [0.1, 0.05], 0.2)):
        a, w = weights_of(np.array(tpr), np.array(fpr))
        after = before._replace(visible_bias=a, weight=w)
        assert LTDRBM().change(before, after) == pytest.approx(move)
    moved = before._replace(hidden_bias=float(logit(np.array(0.9))))
    assert LTDRBM().change(before, moved) == pytest.approx(0.4)


def test_sweeps_are_for_the_exact_phase_alone():
    assert by_sweeps(LTDRBM(decay=0.3)) == LTDRBM(decay=0.3, learning="flow")
    sampled = LTDRBM(negative_phase="sampled")
    assert by_sweeps(sampled) == sampled
    assert LTDRBM().depends_on_blocks
    assert not LTDRBM(learning="flow").depends_on_blocks
    with pytest.raises(veracity.errors.ParameterError, match="needs negative_phase='exact'"):
        LTDRBM(learning="flow", negative_phase="sampled")


def test_sampling_too_many_pairs_is_refused_with_a_way_out(monkeypatch, two_against_one):
    monkeypatch.setattr("veracity.algorithms.ltd_rbm.MOST_DRAWS", 5)
    with pytest.raises(veracity.errors.ParameterError, match="negative_phase='exact'"):
        veracity.discover(two_against_one, LTDRBM(negative_phase="sampled"))


def test_single_truth_is_refused_where_several_values_may_be_true(two_against_one):
    with pytest.raises(
        veracity.errors.ParameterError,
        match="ltd-rbm-c is for categorical claims, not multiple ones",
    ):
        veracity.discover(two_against_one, LTDRBM(single_truth=True), kind="multiple")


@pytest.mark.parametrize("k", [500, 2000, 20_000])
@pytest.mark.parametrize("single_truth", [False, True])
def test_one_item_with_very_many_values_does_not_spoil_the_others(flights, k, single_truth):
    sites = flights.sources["source"].to_list()
    many = pl.DataFrame(
        {
            "source": [sites[i % 9] for i in range(k)],
            "entity": ["odd"] * k,
            "attribute": ["gate"] * k,
            "value": [f"v{i}" for i in range(k)],
        }
    )
    result = veracity.discover(pl.concat([flights.claims, many]), LTDRBM(single_truth=single_truth))
    assert veracity.evaluate(result, flights.truth).accuracy > 0.95


@pytest.mark.parametrize(
    ("parameters", "name"),
    [({"single_truth": True}, "ltd-rbm-c"), ({"negative_phase": "sampled"}, "ltd-rbm-cd"),
     ({"single_truth": True, "negative_phase": "sampled"}, "ltd-rbm-c-cd")],
)  # fmt: skip
def test_each_way_to_train_goes_by_its_own_name(two_against_one, parameters, name):
    result = veracity.discover(two_against_one, LTDRBM(**parameters))
    assert result.run.algorithm == name


def test_steps_by_a_very_high_rate_come_to_rest(flights):
    """One batch of all facts, again and again: the steps of a plain gradient would only grow."""
    block = as_block(flights.claims)
    end = started(LTDRBM(), as_encoded(flights.claims))
    hasty = LTDRBM(learning_rate=10.0, batch_size=100_000, facts_per_step=None)
    for _ in range(60):
        before, end = end, hasty.ascend(block, end, Turn(1))[0]
    assert hasty.change(before, end) < 1e-3
    assert 0.05 < end.rates.prevalence < 0.95


# --- ltd-rbm as a flow ----------------------------------------------------------------------------


both_machines = pytest.mark.parametrize("single_truth", [False, True], ids=["plain", "single"])


def discover(claims, algorithm, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return veracity.discover(claims, algorithm, **options)


def flow(**parameters):
    return LTDRBM(learning="flow", **parameters)


def rates(result):
    """All that the machine knows, in one array."""
    found = result.fitted.state.rates
    return np.concatenate([found.tpr, found.fpr, [found.prevalence]])


@pytest.fixture(scope="module")
def drawn():
    return Synthetic(sources=10, items=600, accuracy=0.7).draw(seed=1)


def two_sided(seed=4, n_facts=400):
    """Binary claims of five sources, all of which speak on all facts."""
    rng = np.random.default_rng(seed)
    truth, accuracy = rng.random(n_facts) < 0.4, [0.9, 0.85, 0.8, 0.7, 0.6]
    rows = [
        (f"s{s}", f, bool(truth[f] ^ (rng.random() > accuracy[s])))
        for s in range(5)
        for f in range(n_facts)
    ]
    return pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row")


# --- free of order, blocks and seed ---------------------------------------------------------------


@both_machines
def test_the_machine_is_the_same_whatever_the_cut_into_blocks(drawn, single_truth):
    algorithm = flow(single_truth=single_truth)
    whole = discover(drawn.claims, algorithm)
    for size in (1000, 150):
        cut = discover(drawn.claims, algorithm, engine=Local(threads=2, claims_per_block=size))
        assert len(cut.encoded.blocks) > 1
        assert_allclose(rates(cut), rates(whole), atol=1e-9)
        assert cut.run.rounds == whole.run.rounds


@both_machines
def test_the_machine_is_the_same_whatever_the_order_of_rows_or_the_seed(drawn, single_truth):
    algorithm = flow(single_truth=single_truth)
    shuffled = drawn.claims.sample(fraction=1.0, shuffle=True, seed=3)
    one = discover(drawn.claims, algorithm)
    other = discover(shuffled, algorithm, seed=99)
    assert (rates(one) == rates(other)).all()  # the same computation


@both_machines
def test_names_of_sources_change_nothing(drawn, single_truth):
    algorithm = flow(single_truth=single_truth)
    turned = drawn.claims.with_columns(pl.col("source").str.reverse())
    one, other = (discover(claims, algorithm) for claims in (drawn.claims, turned))
    assert_allclose(one.facts["plausibility"], other.facts["plausibility"], atol=1e-9)


# --- what it follows ------------------------------------------------------------------------------


@both_machines
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_limit_of_small_steps_of_mini_batches(seed, single_truth):
    claims = Synthetic(sources=10, items=600, accuracy=0.7).draw(seed=seed).claims
    # fifty rounds' worth of time at once, or ninety rounds at a thirtieth of the usual rate
    followed = discover(
        claims, flow(single_truth=single_truth, learning_rate=0.03 / 50, decay=0.0, max_rounds=50)
    )
    small = LTDRBM(
        single_truth=single_truth, learning_rate=0.01 / 30, decay=0.0, max_rounds=90, min_rounds=90
    )
    climbed = discover(claims, small)
    assert climbed.run.rounds == 90
    assert followed.converged
    assert_allclose(rates(followed), rates(climbed), atol=0.005)


def test_its_time_is_that_of_all_steps_together(drawn):
    # rate (1 + e^-d + e^-2d + ...), for fifty rounds; without decay, fifty times the rate
    for decay, time in ((0.5, 0.01 / (1 - np.exp(-0.5))), (0.0, 0.5)):
        algorithm = flow(decay=decay)
        encoded = as_encoded(drawn.claims)
        start = started(algorithm, encoded)
        learned = algorithm.learn(start, algorithm.tally(encoded.blocks[0], start, Turn()))
        assert learned.flow.end == pytest.approx(time, rel=1e-6)


def test_at_its_end_sources_are_expected_to_say_what_they_do():
    # Where the likelihood is highest, the model's moments are those of the data.
    claims = two_sided()
    found = discover(claims, flow(learning_rate=10.0), kind="binary").fitted.state.rates
    n_said = claims.group_by("source").agg(pl.col("claim").sum()).sort("source")["claim"]
    expected = 400 * (found.prevalence * found.tpr + (1 - found.prevalence) * found.fpr)
    assert_allclose(expected, n_said, atol=0.5)


@both_machines
def test_the_change_that_is_told_is_the_time_still_to_go(drawn, single_truth):
    trace = discover(drawn.claims, flow(single_truth=single_truth)).trace["change"].to_numpy()
    assert trace[-1] == 0.0
    assert (np.diff(trace) <= 0.0).all()
    assert (trace <= 1.0).all()


def test_too_few_sweeps_are_told(drawn):
    with pytest.warns(NotConverged, match="ltd-rbm did not converge in 2 rounds"):
        result = veracity.discover(drawn.claims, flow(max_rounds=2))
    assert not result.converged


# --- steady ---------------------------------------------------------------------------------------


@both_machines
def test_ten_times_the_rate_is_as_steady(drawn, single_truth):
    usual, fast, faster = (
        discover(drawn.claims, flow(single_truth=single_truth, learning_rate=rate))
        for rate in (0.01, 0.1, 1.0)
    )
    accuracy = [veracity.evaluate(r, drawn.truth).accuracy for r in (usual, fast, faster)]
    assert min(accuracy) > accuracy[0] - 0.04
    assert all(result.converged for result in (usual, fast, faster))
    # ten times as long, and as far as it goes: there is one place to arrive at
    assert_allclose(rates(faster), rates(fast), atol=0.15)


@both_machines
def test_without_decay_it_comes_to_its_end(drawn, single_truth):
    result = discover(drawn.claims, flow(single_truth=single_truth, decay=0.0))
    assert result.converged
    vote = discover(drawn.claims, "majority-vote")
    accuracy, of_vote = (veracity.evaluate(r, drawn.truth).accuracy for r in (result, vote))
    assert accuracy > of_vote - 0.02


@settings(max_examples=25)
@given(rows=st.one_of(value_rows(), binary_rows()), rate=st.sampled_from([1e-3, 0.01, 0.3, 10.0]))
def test_no_claims_and_no_rate_lead_it_astray(rows, rate):
    kind = "binary" if "fact" in rows.columns else "multiple"
    result = discover(rows, flow(learning_rate=rate), kind=kind)
    assert np.isfinite(rates(result)).all()
    assert ((rates(result) > 0.0) & (rates(result) < 1.0)).all()


# --- what is known --------------------------------------------------------------------------------


@both_machines
def test_known_truths_are_held_and_teach(drawn, single_truth):
    known, rest = drawn.truth.head(200), drawn.truth.tail(-200)
    wrong = known.with_columns(value=pl.lit("v0"))  # as if v0 were true of all of them
    taught = discover(drawn.claims, flow(single_truth=single_truth), known=wrong)
    held = taught.facts.join(wrong.drop("value"), on=["entity", "attribute"])
    assert held["plausibility"].is_in([0.0, 1.0]).all()
    assert (held.filter(pl.col("value") == "v0")["plausibility"] == 1.0).all()
    usual = discover(drawn.claims, flow(single_truth=single_truth), known=known)
    assert veracity.evaluate(usual, rest).accuracy > veracity.evaluate(taught, rest).accuracy
    assert usual.sources["tpr"].mean() > taught.sources["tpr"].mean() + 0.1


# --- kept -----------------------------------------------------------------------------------------


@both_machines
def test_the_way_is_not_kept_but_the_place_is(drawn, single_truth):
    fitted = discover(drawn.claims, flow(single_truth=single_truth)).fitted
    assert fitted.state.flow is None
    assert not any(name.startswith("state.flow") for name in fitted.to_arrays())


@both_machines
def test_learning_in_two_parts_leads_close_to_learning_from_all(drawn, single_truth):
    is_first = pl.col("entity").rank("dense") <= 100
    first, second = drawn.claims.filter(is_first), drawn.claims.filter(~is_first)
    algorithm = flow(single_truth=single_truth)
    alone, together = discover(first, algorithm), discover(drawn.claims, algorithm)
    updated = alone.fitted.update(second)
    assert_allclose(rates(updated), rates(together), atol=0.05)
    to_go = np.abs(rates(alone) - rates(together)).mean()
    assert np.abs(rates(updated) - rates(together)).mean() < to_go / 3


# --- as good as mini-batches ----------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("name", ["crowd_bluebird", "crowd_rte", "crowd_web", "flight_raha"])
def test_on_real_claims_the_answers_are_as_good_as_those_of_mini_batches(name, shared_data):
    folder = shared_data / name
    by_flow, by_batches = (
        veracity.evaluate(
            discover(folder / "claims.parquet", algorithm), folder / "truth.parquet"
        ).accuracy
        for algorithm in (flow(), LTDRBM())
    )
    assert abs(by_flow - by_batches) < 0.005
