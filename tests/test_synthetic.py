"""The generator's promises."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veracity.errors import ParameterError, TooLarge
from veracity.synthetic import NOBODY, Ranges, SourceModels, Synthetic, flights

shares = st.floats(0.02, 0.98)
parameters = st.builds(
    Synthetic,
    sources=st.integers(1, 12),
    items=st.integers(1, 60),
    values=st.integers(2, 5),
    frequency=shares,
    frequency_variability=st.floats(0.01, 1000.0),
    accuracy=shares,
    accuracy_variability=st.floats(0.01, 1000.0),
    copying=st.floats(0.0, 1.0),
    copy_frequency=shares,
    copy_variability=st.floats(0.01, 1000.0),
)
seeds = st.integers(0, 2**32)


def is_near(n_hits, n_tries, share):
    """Whether so many hits are to be expected: five standard deviations are one in a million."""
    spread = np.sqrt(n_tries * share * (1.0 - share))
    return np.abs(n_hits - n_tries * share) <= 5.0 * spread + 1.0


@pytest.fixture(scope="module", params=[0, 1, 2])
def large(request):
    drawn = Synthetic(sources=12, items=20_000, copying=0.6).draw_arrays(request.param)
    assert (drawn.models.original != NOBODY).any()
    return drawn


def test_sources_speak_as_often_as_their_frequency_says(large):
    n_claims = np.bincount(large.source_of_claim, minlength=12)
    assert is_near(n_claims, 20_000, large.models.frequency).all()


def test_sources_are_right_as_often_as_their_accuracy_says(large):
    is_own = large.original_of_claim == NOBODY
    is_right = large.value_of_claim == large.true_value_of_item[large.item_of_claim]
    n_own = np.bincount(large.source_of_claim[is_own], minlength=12)
    n_right = np.bincount(large.source_of_claim[is_own & is_right], minlength=12)
    assert is_near(n_right, n_own, large.models.accuracy).all()


def test_sources_copy_as_often_as_their_copy_frequency_says(large):
    is_copied = large.original_of_claim != NOBODY
    n_claims = np.bincount(large.source_of_claim, minlength=12)
    n_copied = np.bincount(large.source_of_claim[is_copied], minlength=12)
    assert is_near(n_copied, n_claims, large.models.copy_frequency).all()


def test_wrong_values_are_equally_likely():
    drawn = Synthetic(sources=3, items=30_000, values=4, accuracy=0.4).draw_arrays(1)
    shift = (drawn.value_of_claim - drawn.true_value_of_item[drawn.item_of_claim]) % 4
    assert stats.chisquare(np.bincount(shift, minlength=4)[1:]).pvalue > 1e-6


def test_models_have_the_mean_and_variability_that_were_asked_for():
    asked = Synthetic(sources=20_000, items=1, accuracy=0.7, accuracy_variability=9.0)
    accuracy = asked.draw_arrays(3).models.accuracy
    assert stats.kstest(accuracy, stats.beta(0.7 * 9.0, 0.3 * 9.0).cdf).pvalue > 1e-6


@given(parameters, seeds)
def test_a_copied_claim_is_its_originals_claim(parameters, seed):
    drawn = parameters.draw_arrays(seed)
    claimed = {
        (s, i): v
        for s, i, v in zip(
            drawn.source_of_claim, drawn.item_of_claim, drawn.value_of_claim, strict=True
        )
    }
    for claim in np.flatnonzero(drawn.original_of_claim != NOBODY):
        original, item = drawn.original_of_claim[claim], drawn.item_of_claim[claim]
        assert original == drawn.models.original[drawn.source_of_claim[claim]]
        assert claimed[original, item] == drawn.value_of_claim[claim]


@given(parameters, seeds)
def test_nobody_copies_in_a_circle(parameters, seed):
    original = parameters.draw_arrays(seed).models.original
    for source in range(len(original)):
        seen = {source}
        while (source := int(original[source])) != NOBODY:
            assert source not in seen
            seen.add(source)


def test_chains_of_copying_occur():
    original = Synthetic(sources=30, items=5, copying=0.9).draw_arrays(1).models.original
    copiers = np.flatnonzero(original != NOBODY)
    assert (original[original[copiers]] != NOBODY).any()


@given(parameters, seeds)
def test_a_source_speaks_of_an_item_once(parameters, seed):
    drawn = parameters.draw(seed)
    assert not drawn.claims.select("source", "entity").is_duplicated().any()
    assert drawn.claims["value"].is_in(drawn.truth["value"].unique()).sum() <= len(drawn.claims)


@given(parameters, seeds)
def test_the_same_seed_draws_the_same(parameters, seed):
    first, second = parameters.draw(seed), parameters.draw(seed)
    assert all(one.equals(other) for one, other in zip(first, second, strict=True))


def test_neither_order_nor_names_tell_the_truth():
    drawn = Synthetic(sources=10, items=5000, accuracy=0.6, copying=0.5).draw(4)
    number = drawn.truth["value"].value_counts()["count"]
    assert stats.chisquare(number.to_numpy()).pvalue > 1e-6
    judged = drawn.claims.join(drawn.truth, on=["entity", "attribute"], suffix="_true")
    two_values = judged.group_by("entity").agg(
        pl.col("value").unique().sort(), pl.col("value_true").first()
    )
    two_values = two_values.filter(pl.col("value").list.len() == 2)
    is_first = two_values["value"].list.first() == two_values["value_true"]
    is_last = two_values["value"].list.last() == two_values["value_true"]
    assert stats.binomtest(is_first.sum(), is_first.sum() + is_last.sum()).pvalue > 1e-6


def test_what_was_copied_is_told_by_name():
    drawn = Synthetic(sources=8, items=200, copying=0.7).draw(5)
    assert drawn.copied.columns == ["source", "original", "entity", "attribute"]
    copier = drawn.sources.drop_nulls("original").select("source", "original")
    assert drawn.copied.join(copier, on=["source", "original"], how="anti").is_empty()
    keys = ["entity", "attribute"]
    both = drawn.copied.join(drawn.claims, on=["source", *keys]).join(
        drawn.claims, left_on=["original", *keys], right_on=["source", *keys], suffix="_original"
    )
    assert len(both) == len(drawn.copied) > 0
    assert (both["value"] == both["value_original"]).all()


def test_source_models_can_be_given():
    models = SourceModels(
        np.array([1.0, 0.5]), np.array([1.0, 0.0]), np.array([NOBODY, 0]), np.array([0.0, 1.0])
    )
    drawn = Synthetic(sources=2, items=1000).draw_arrays(0, models)
    assert (drawn.value_of_claim == drawn.true_value_of_item[drawn.item_of_claim]).all()
    assert (drawn.original_of_claim[drawn.source_of_claim == 1] == 0).all()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"original": [1, 0]}, "circle"),
        ({"original": [2, NOBODY]}, "below 2"),
        ({"accuracy": [0.5, 1.5]}, "accuracy must be from 0 to 1"),
        ({"frequency": [0.5]}, "2 sources"),
        ({"frequency": [0.1, 0.9], "original": [NOBODY, 0], "copy_frequency": [0, 1]}, "more than"),
    ],
)
def test_impossible_source_models_are_refused(change, reason):
    usual = {"frequency": [0.5, 0.5], "accuracy": [0.5, 0.5]}
    parts = {**usual, "original": [NOBODY] * 2, "copy_frequency": [0.1, 0.1], **change}
    models = SourceModels(**{name: np.array(part) for name, part in parts.items()})
    with pytest.raises(ParameterError, match=reason):
        Synthetic(sources=2, items=10).draw(0, models)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sources": 0},
        {"items": 0},
        {"values": 1},
        {"accuracy": 1.0},
        {"copying": 1.1},
        {"copy_variability": 0.0},
        {"frequency": float("nan")},
    ],
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Synthetic(**wrong)


@pytest.mark.parametrize("many", [{"sources": 10**12}, {"items": 10**18}, {"values": 2**62}])
def test_what_does_not_fit_is_refused_before_anything_is_drawn(many):
    with pytest.raises(TooLarge, match="draw fewer sources, items or values"):
        Synthetic(**many).draw()


def test_values_without_names_take_no_room():
    drawn = Synthetic(sources=1, items=5, values=2**62).draw_arrays()
    assert len(drawn.true_value_of_item) == 5


@given(seeds)
def test_random_parameters_lie_in_their_ranges_and_fixed_ones_stay(seed):
    ranges = Ranges()
    drawn = ranges.draw(seed, accuracy=0.123)
    assert drawn.accuracy == 0.123
    for name in ("sources", "items", "values", "frequency", "copying", "copy_frequency"):
        low, high = getattr(ranges, name)
        assert low <= getattr(drawn, name) <= high


def test_the_demo_is_always_the_same():
    assert flights().claims.equals(flights().claims)
    assert flights().copied.is_empty()
