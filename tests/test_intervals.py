"""Intervals of the sources' rates: wide where little is known, and true as often as they say."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import beta

import veracity
from claims import binary_rows, value_rows
from marks import few_kinds
from veracity.algorithms import CATALOGUE
from veracity.result.intervals import beta_range
from veracity.synthetic import Synthetic

RATES = ("tpr", "fpr", "accuracy")
PAIRS = [
    (name, kind)
    for name in sorted(CATALOGUE)
    for kind in ("categorical", "multiple", "binary")
    if kind in CATALOGUE[name].make().kinds
]


def discover(claims, algorithm="ltd-rbm", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", veracity.errors.NotConverged)
        return veracity.discover(claims, algorithm, **options)


def width(sources, rate="accuracy"):
    return (sources[f"{rate}_high"] - sources[f"{rate}_low"]).to_numpy()


def of(successes, trials, unsure=0.0, *, lean=0.0, swing=0.0):
    """The interval of counts; nothing leans, unless said."""
    counts = (np.array([float(x)]) for x in (successes, trials, unsure))
    low, high = beta_range(*counts, swing, lean)
    return float(low[0]), float(high[0])


# --- on paper -------------------------------------------------------------------------------------


def test_where_truths_are_certain_it_is_nearly_the_interval_of_jeffreys():
    assert_allclose(of(700, 1000), beta.ppf([0.05, 0.95], 700.5, 300.5), atol=1e-3)


def test_an_answer_that_leans_leaves_doubt_however_much_is_claimed():
    low, high = of(5e8, 1e9, lean=0.05)
    assert_allclose([low, high], [0.5 - 1.645 * 0.05, 0.5 + 1.645 * 0.05], atol=2e-3)


def test_answers_that_are_too_sure_together_move_all_trials_of_a_source():
    low, high = of(500, 1000, swing=50.0)
    assert_allclose((high - low) / 2 / 1.645, (0.25 / 1000 + 0.05**2) ** 0.5, rtol=0.02)


def test_where_nothing_is_known_all_is_possible():
    assert of(0, 0) == (0.0, 1.0)


def test_who_never_erred_may_never_err():
    low, high = of(50, 50)
    assert high == 1.0
    assert 0.9 < low < 1.0


def test_truths_as_unsure_as_the_source_itself_double_the_variance():
    sure, unsure = of(700, 1000), of(700, 1000, unsure=1000 * 0.7 * 0.3)
    assert_allclose((unsure[1] - unsure[0]) / (sure[1] - sure[0]), 2**0.5, rtol=0.01)


@given(
    trials=st.floats(0, 1e9), share=st.floats(0, 1), unsure=st.floats(0, 0.25), more=st.floats(1, 9)
)
def test_ends_are_in_order_and_doubt_never_narrows(trials, share, unsure, more):
    low, high = of(share * trials, trials, unsure * trials)
    assert 0.0 <= low <= high <= 1.0
    wide_low, wide_high = of(share * trials, trials, more * unsure * trials)
    assert wide_high - wide_low >= high - low - 1e-9


def test_two_sources_that_agree_a_hundred_times_are_surer_than_twice():
    claims = [
        pl.DataFrame({"source": ["a", "b"] * n, "entity": sorted([*range(n)] * 2), "value": "1"})
        for n in (2, 100)
    ]
    few, many = (discover(rows).sources for rows in claims)
    assert (width(many) < 0.1).all()
    assert (width(few) > 0.4).all()


# --- contract -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), few_kinds(PAIRS))
@settings(max_examples=8)
@given(data=st.data())
def test_every_rate_is_in_its_interval_and_every_interval_in_0_to_1(name, kind, data):
    rows = data.draw(binary_rows() if kind == "binary" else value_rows())
    sources = discover(rows, name, kind=kind).sources
    for rate in RATES:
        low, high = (sources[f"{rate}_{end}"] for end in ("low", "high"))
        assert low.is_finite().all()
        assert low.is_between(0.0, 1.0).all()
        assert high.is_between(0.0, 1.0).all()
        told = sources.filter(pl.col(rate).is_not_null())
        assert (told[f"{rate}_low"] <= told[rate] + 1e-12).all()
        assert (told[rate] <= told[f"{rate}_high"] + 1e-12).all()


def test_a_source_that_nobody_can_contradict_may_be_anything():
    claims = pl.DataFrame({"source": ["a"] * 50, "entity": range(50), "value": ["1"] * 50})
    sources = discover(claims).sources
    assert sources.select("accuracy_low", "accuracy_high").rows() == [(0.0, 1.0)]


def test_known_truths_tell_even_of_a_lone_source():
    claims = pl.DataFrame({"source": ["a"] * 50, "entity": range(50), "value": ["1"] * 50})
    sources = discover(claims, known=claims.drop("source")).sources
    assert sources["accuracy_low"][0] > 0.9


def test_a_fixed_rate_is_what_it_is():
    rate = veracity.algorithms.Rate(tpr=0.6, fpr=0.1, fixed=True)
    algorithm = veracity.algorithms.LTDRBM(prior=veracity.Prior(of_source={"a": rate}))
    claims = Synthetic(sources=5, items=60).draw(seed=3).claims
    claims = claims.with_columns(pl.col("source").replace("source0", "a"))
    (fixed,) = discover(claims, algorithm).sources.filter(pl.col("source") == "a").to_dicts()
    assert_allclose([fixed["tpr_low"], fixed["tpr_high"]], 0.6)
    assert_allclose([fixed["fpr_low"], fixed["fpr_high"]], 0.1)


def test_many_claims_make_narrow_intervals():
    few, many = (
        discover(Synthetic(sources=10, items=n).draw(seed=1).claims).sources for n in (20, 2000)
    )
    for rate in RATES:
        assert width(many, rate).mean() < width(few, rate).mean() / 2


# --- simulation -----------------------------------------------------------------------------------

SPREAD = [
    {"sources": sources, "items": items, "accuracy": accuracy, "frequency": frequency}
    for sources in (6, 12, 30)
    for items in (50, 200, 800)
    for accuracy in (0.6, 0.75, 0.9)
    for frequency in (0.15, 0.5)
]


def coverage(algorithm, **options):
    """How often the interval of each rate contains the rate the source was drawn with."""
    hits = {rate: [] for rate in RATES}
    for seed, parameters in enumerate(SPREAD):
        drawn = Synthetic(**parameters, **options).draw(seed=95_000 + seed)
        result = discover(drawn.claims, algorithm)
        both = result.sources.join(drawn.sources.select("source", true="accuracy"), on="source")
        both = both.join(false_facts(result, drawn.truth), on="source", how="left")
        fpr = (pl.col("claims") * (1.0 - pl.col("true")) / pl.col("n_false")).clip(0.0, 1.0)
        true = {"tpr": pl.col("true"), "accuracy": pl.col("true"), "fpr": fpr}
        for rate in RATES:
            is_hit = true[rate].is_between(f"{rate}_low", f"{rate}_high")
            hits[rate] += both.select(is_hit).to_series().drop_nulls().to_list()
    return {rate: float(np.mean(hits[rate])) for rate in RATES}


def false_facts(result, truth):
    """On how many false facts each source speaks."""
    keys = ["entity", "attribute"]
    true = truth.with_columns(is_true=pl.lit(value=True))
    facts = result.facts.join(true, on=[*keys, "value"], how="left", maintain_order="left")
    facts = facts.with_columns(n_false=pl.col("is_true").is_null().sum().over(keys))
    spoken = result.claims.join(facts, on=[*keys, "value"])
    total = spoken.group_by("source").agg(pl.col("n_false").sum())
    return total.filter(pl.col("n_false") > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ltd-rbm", "one-coin", "accu"])
def test_ninety_percent_intervals_contain_the_rate_of_independent_sources_mostly(name):
    """More often than said: that the answer leans, as on real data, is allowed for here, too."""
    for rate, share in coverage(name).items():
        assert 0.85 <= share <= 0.99, (rate, share)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    ["crowd_bluebird", "crowd_rte", "crowd_web", "crowd_s_rel", "flight_raha", "weather_raw"],
)
def test_ninety_percent_intervals_hold_for_most_sources_of_real_data(shared_data, name):
    result = discover(shared_data / name / "claims.parquet", "veracity")
    truth = shared_data / name / "truth.parquet"
    told = veracity.profile(result, truth).by_source.filter(pl.col("known") >= 30)
    both = told.select("source", true="accuracy").join(result.sources, on="source")
    holds = both.select(pl.col("true").is_between("accuracy_low", "accuracy_high")).to_series()
    assert holds.mean() >= 0.75
