"""What every algorithm promises, whatever it is."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from claims import binary_rows, value_rows
from veracity.algorithms import ALGORITHMS

KINDS = ("categorical", "multiple", "binary")
every_algorithm = pytest.mark.parametrize(
    "name", sorted(name for name, make in ALGORITHMS.items() if "categorical" in make().kinds)
)


def discover(claims, algorithm, kind="categorical", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", veracity.errors.NotConverged)
        return veracity.discover(claims, algorithm, kind=kind, **options)


def rows_of(kind, **options):
    return binary_rows(**options) if kind == "binary" else value_rows(**options)


def allows(name, kind):
    return kind in ALGORITHMS[name]().kinds


@pytest.fixture(scope="module")
def labels():
    """Items that share four values, as every algorithm can take them."""
    return veracity.synthetic.Synthetic(sources=9, items=120, accuracy=0.75).draw(seed=2).claims


@every_algorithm
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(data=st.data())
def test_plausibilities_and_rates_are_probabilities_for_any_claims(name, kind, data):
    if not allows(name, kind):
        return
    result = discover(data.draw(rows_of(kind)), name, kind)
    assert result.facts["plausibility"].is_between(0.0, 1.0).all()
    assert not result.facts["plausibility"].is_nan().any()
    for rate in ("tpr", "fpr", "accuracy"):
        told = result.sources[rate].drop_nulls()
        assert told.is_between(0.0, 1.0).all()
        assert not told.is_nan().any()


@every_algorithm
@settings(max_examples=20)
@given(rows=value_rows(), seed=st.integers(0, 99))
def test_the_order_of_the_rows_changes_nothing(name, rows, seed):
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=seed)
    one, other = discover(rows, name), discover(shuffled, name)
    assert one.truths.equals(other.truths)
    assert one.facts.equals(other.facts)
    assert one.sources.equals(other.sources)


@every_algorithm
@settings(max_examples=20)
@given(rows=value_rows())
def test_new_names_in_the_old_order_change_nothing(name, rows):
    renamed = rows.with_columns(pl.col("source", "entity").str.replace("^", "new "))
    one, other = discover(rows, name), discover(renamed, name)
    assert_allclose(one.facts["plausibility"], other.facts["plausibility"], atol=1e-12)


@every_algorithm
@settings(max_examples=20)
@given(rows=value_rows(), seed=st.integers(0, 99))
def test_shuffled_names_of_sources_change_nothing(name, rows, seed):
    if name == "ltm":
        return  # a sampler draws anew
    old = list("abcdefgh")
    new = np.random.default_rng(seed).permutation(old)
    renamed = rows.with_columns(pl.col("source").replace_strict(old, new))
    one, other = discover(rows, name), discover(renamed, name)
    assert_allclose(one.facts["plausibility"], other.facts["plausibility"], atol=1e-9)


@every_algorithm
def test_the_same_seed_gives_the_same_answer(name, labels):
    one, other = (discover(labels, name, seed=11) for _ in range(2))
    assert one.facts.equals(other.facts)


@every_algorithm
@pytest.mark.parametrize(
    "rows",
    [
        [("a", "x", "1")],
        [("a", "x", "1"), ("a", "y", "2"), ("a", "z", "1")],
        [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "1")],
        [("a", "x", "1"), ("b", "x", "2"), ("c", "x", "3")],
        [("a", "x", "1"), ("b", "x", "1"), ("c", "y", "3")],
        [("a", "x", "1"), ("a", "x", "2"), ("a", "x", "3")],
    ],
    ids=["one claim", "one source", "all agree", "nobody agrees", "no overlap", "undecided source"],
)
def test_meagre_claims_get_an_answer_for_every_item(name, rows):
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    result = discover(claims, name)
    assert result.truths["value"].null_count() == 0
    assert len(result.truths) == claims["entity"].n_unique()


@every_algorithm
def test_where_all_sources_agree_their_value_is_the_truth(name):
    rows = {"source": list("abcd") * 5, "entity": list("uvwxy") * 4, "value": list("12345") * 4}
    truths = discover(pl.DataFrame(rows), name).truths
    assert truths["value"].to_list() == list("12345")
    assert (truths["plausibility"] > 0.5).all()


@every_algorithm
def test_plausibilities_of_an_items_values_add_up_to_at_most_one(name, labels):
    facts = discover(labels, name).facts
    total = facts.group_by("entity", "attribute").agg(pl.col("plausibility").sum())["plausibility"]
    assert (total < 1.0 + 1e-9).all()


@every_algorithm
def test_a_hundred_thousand_values_of_one_item_are_no_trouble(name):
    n = 100_000
    claims = pl.DataFrame({"source": range(n), "entity": [1] * n, "value": range(n)})
    claims = pl.concat([claims, pl.DataFrame({"source": [n], "entity": [1], "value": [77]})])
    if name == "dawid-skene":  # a hundred thousand labels are none
        with pytest.raises(veracity.errors.ParameterError, match="use OneCoin"):
            discover(claims, name)
    else:
        assert discover(claims, name).truths["value"].to_list() == [77]


@every_algorithm
def test_parameters_are_frozen(name):
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALGORITHMS[name]().seed = 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: veracity.LTDRBM(learning_rate=0), "LTDRBM: learning_rate must be above 0, got 0"),
        (lambda: veracity.LTDRBM(decay=-1), "LTDRBM: decay must be at least 0, got -1"),
        (lambda: veracity.LTDRBM(batch_size=0), "LTDRBM: batch_size must be at least 1, got 0"),
        (lambda: veracity.LTDRBM(max_rounds=1), "LTDRBM: max_rounds must be at least 2, got 1"),
        (
            lambda: veracity.LTDRBM(negative_phase="none"),
            "LTDRBM: negative_phase must be one of exact, sampled, got 'none'",
        ),
        (lambda: veracity.LTM(chains=0), "LTM: chains must be at least 1, got 0"),
        (lambda: veracity.LTM(tpr_strength=float("nan")), "LTM: tpr_strength must be above 0, got"),
        (lambda: veracity.Prior(tpr=1.0), "Prior: tpr must be between 0 and 1, got 1.0"),
        (lambda: veracity.Rate(fpr=-0.1), "Rate: fpr must be between 0 and 1, got -0.1"),
        (
            lambda: veracity.Prior(kind_of_source={"aa": "airline"}),
            "Prior: kind_of_source names the kind 'airline', but of_kind does not",
        ),
        (lambda: veracity.Local(threads=0), "Local: threads must be at least 1, got 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused_with_whose_what_and_got(make, message):
    with pytest.raises(veracity.errors.ParameterError) as caught:
        make()
    assert message in str(caught.value)
