"""LTD-RBM for numbers: units by hand, biases, tails, intervals, priors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric import ENDLESS, SHAPES, draw_numbers
from numpy.testing import assert_allclose

import veracity
from claims import as_block, as_encoded, started
from veracity import Prior
from veracity.algorithms import ErrorSpread, NumericLTDRBM, Rate
from veracity.algorithms.base import Turn
from veracity.algorithms.ltd_rbm_n import Cells, rescaled
from veracity.algorithms.ltd_rbm_n_items import infer, measured
from veracity.errors import BadValue, ParameterError


def claims_of(rows):
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def drawn(seed, **how):
    """Numbers of sources that differ in precision, and the truths they scatter around."""
    claims, truth = draw_numbers(seed, **how)
    return claims, truth["value"].to_numpy()


def found(claims, **parameters):
    algorithm = NumericLTDRBM(**parameters)
    return veracity.discover(claims, algorithm, kind="numeric").truths.sort("entity")


def machine_of(claims, **units):
    """A machine of one unit scale, with normal errors and no biases unless told."""
    encoded = as_encoded(claims, "numeric")
    machine = started(NumericLTDRBM(), encoded).machine
    machine = machine._replace(scale=np.ones(1), tails=ENDLESS, evenness=ENDLESS)
    return machine._replace(**{name: np.array(unit) for name, unit in units.items()})


# --- by hand --------------------------------------------------------------------------------------


def test_a_truth_is_the_mean_by_precision_less_biases():
    # Precisions 1 and 3 at 0 and 4, the second too high by 1: (0 + 3 · 3) / 4, variance 1 / 4.
    claims = claims_of([("a", "x", 0.0), ("b", "x", 4.0)])
    machine = machine_of(claims, variance=[1.0, 1 / 3], bias=[[0.0], [1.0]])
    told = measured(as_block(claims, "numeric"), machine)
    item = infer(told, machine)
    assert_allclose(2.0 + item.truth, [2.25], rtol=1e-6)  # told from the median
    assert_allclose(item.variance, [0.25], rtol=1e-6)


def test_the_bias_of_the_hidden_unit_draws_a_truth_to_the_mean_of_all():
    # Precisions 1 and 1 at 0 and 4, and 2 at the mean of all truths, 10: (0 + 4 + 20) / 4.
    claims = claims_of([("a", "x", 0.0), ("b", "x", 4.0)])
    machine = machine_of(claims, centre=[10.0], truth_precision=[2.0])
    told = measured(as_block(claims, "numeric"), machine)
    assert_allclose(2.0 + infer(told, machine).truth, [6.0], rtol=1e-6)


def test_a_claim_far_off_weighs_as_student_t_has_it():
    # u = (f + 1) / (f + λ ((x - t)² + v)) at the end, with f = 4.
    claims = claims_of([(name, "x", x) for name, x in zip("abcd", (0, 0.5, 1, 9), strict=True)])
    machine = machine_of(claims)._replace(tails=4.0)
    item = infer(measured(as_block(claims, "numeric"), machine), machine)
    assert_allclose(item.weight, 5.0 / (4.0 + item.away**2 + item.variance), rtol=1e-3)
    assert item.weight[3] < item.weight[0] / 8


def test_variances_are_mean_squares_drawn_to_the_mean_of_all():
    # ∂ log λ = 0: (strength + Σ ((x - t)² + v)) / (strength + n), before the scale is chosen anew.
    claims, _ = drawn(0, n_sources=3, n_items=40, speaks=1.0)
    algorithm, encoded = NumericLTDRBM(biases=False), as_encoded(claims, "numeric")
    (block,), state = encoded.blocks, started(NumericLTDRBM(biases=False), encoded)
    state = algorithm.learn_scales(state, algorithm.tally_widths(block, state, Turn()))
    total, _ = algorithm.tally(block, state, Turn())
    item = infer(measured(block, state.machine), state.machine)
    square = item.weight * (item.away**2 + item.variance[block.item_of_fact])  # λ is one
    by_source = np.bincount(block.source_of_support, square)
    learned = algorithm.learn(state, total)
    strength = learned.common.strength
    expected = (strength + by_source) / (strength + 40.0)
    precision = learned.machine.variance / expected
    assert_allclose(precision, precision[0])
    assert_allclose((1.0 / learned.machine.variance).mean(), 1.0)


@pytest.mark.parametrize("share", np.linspace(0.1, 0.9, 9))
def test_a_scale_grows_no_larger_than_numbers_are(share):
    claims = claims_of([("a", "x", 0.0), ("b", "x", 1.0)])
    largest = float(np.finfo(np.float64).max)
    machine = machine_of(claims, scale=[share * largest])
    far = Cells(*np.full((5, 2, 1), 1e9))._replace(n_claims=np.ones((2, 1)))
    grown = rescaled(machine, far, np.zeros(1), np.ones(2, dtype=bool))
    assert grown.scale.tolist() == [largest]


def test_variances_that_steps_have_driven_apart_stay_numbers():
    claims = claims_of([("a", "x", 0.0), ("b", "x", 1.0)])
    machine = machine_of(claims, variance=[1e-200, 1e200])
    told = Cells(*np.ones((5, 2, 1)))
    learned = rescaled(machine, told, np.zeros(1), np.ones(2, dtype=bool))
    assert_allclose(learned.variance, [0.5, 1e40])


# --- what it learns -------------------------------------------------------------------------------


def test_biases_are_taken_off():
    claims, truth = drawn(2, bias=2.0)
    off = {
        biases: np.abs(found(claims, biases=biases)["value"].to_numpy() - truth).mean()
        for biases in (False, True)
    }
    mean = claims.group_by("entity").agg(pl.mean("value")).sort("entity")["value"].to_numpy()
    apart = np.std(found(claims)["value"].to_numpy() - truth)
    assert apart < np.std(mean - truth) / 2
    assert off[True] < off[False]


def test_sources_are_told_by_how_much_they_are_too_high(tmp_path):
    claims, _ = drawn(2, n_sources=4, speaks=1.0)
    high = {"s0": 6.0, "s1": -2.0}
    claims = claims.with_columns(pl.col("value") + pl.col("source").replace_strict(high, default=0))
    result = veracity.discover(claims, NumericLTDRBM(), kind="numeric")
    bias = dict(result.sources.select("source", "bias").iter_rows())
    assert bias["s0"] - bias["s1"] == pytest.approx(8.0, abs=0.5)
    assert veracity.load(result.save(tmp_path / "run")).sources.equals(result.sources)
    for other in (NumericLTDRBM(biases=False), veracity.algorithms.GTM()):
        assert "bias" not in veracity.discover(claims, other, kind="numeric").sources.columns
    two = pl.concat([claims.with_columns(attribute=pl.lit(name)) for name in ("p", "q")])
    assert "bias" not in veracity.discover(two, NumericLTDRBM(), kind="numeric").sources.columns


def test_a_wrong_unit_does_not_move_an_item():
    claims, truth = drawn(3)
    wrong = (pl.int_range(pl.len()) % 50 == 0).alias("wrong")
    claims = claims.with_columns(pl.when(wrong).then(pl.col("value") * 1000).otherwise("value"))
    off = np.abs(found(claims)["value"].to_numpy() - truth)
    assert np.mean(off < 3.0) > 0.97
    gtm = veracity.discover(claims, "gtm", kind="numeric").truths.sort("entity")["value"]
    assert off.mean() < np.abs(gtm.to_numpy() - truth).mean() / 10


def test_the_bias_of_the_hidden_unit_helps_where_truths_are_close_together():
    claims, truth = drawn(5, speaks=0.3, spread=0.5)
    far, near = (
        np.abs(found(claims, hidden_bias=near)["value"].to_numpy() - truth).mean()
        for near in (False, True)
    )
    assert near < 0.8 * far


@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@settings(max_examples=25)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from("abcd"),
            st.sampled_from("xyz"),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
    ),
    algorithm=st.sampled_from(
        [
            NumericLTDRBM(),
            NumericLTDRBM(biases=False),
            NumericLTDRBM(hidden_bias=True),
        ]
    ),
)
def test_any_numbers_have_estimates_also_with_sources_that_come_later(rows, algorithm):
    result = veracity.discover(claims_of(rows), algorithm, kind="numeric")
    later = result.fitted.update(claims_of([("new", "x", 1.0), ("a", "x", 2.0)]))
    for told in (result, later):
        assert told.truths["value"].is_finite().all()
        assert not told.truths["uncertainty"].is_nan().any()
        assert (told.truths["uncertainty"].drop_nulls() >= 0.0).all()
        assert told.sources["trust"].is_finite().all()


def test_intervals_hold_nine_of_ten_truths():
    covered = {}
    for name, how in SHAPES.items():
        held = []
        for seed in range(6):
            claims, truth = drawn(seed, **how)
            truths = found(claims)
            off = np.abs(truths["value"].to_numpy() - truth)
            held.append(np.mean(off <= 1.645 * truths["uncertainty"].to_numpy()))
        covered[name] = np.mean(held)
    assert 0.88 <= np.mean(list(covered.values())) <= 0.92
    assert all(0.86 <= share <= 0.94 for share in covered.values()), covered


# --- what is known --------------------------------------------------------------------------------


def test_known_truths_tell_what_all_sources_are_off_by():
    claims, truth = drawn(4)
    claims = claims.with_columns(pl.col("value") + 5.0)  # all are too high
    known = pl.DataFrame({"entity": [f"e{i:03}" for i in range(60)], "value": truth[:60]})
    result = veracity.discover(claims, NumericLTDRBM(), kind="numeric", known=known)
    off = result.truths.sort("entity")["value"].to_numpy() - truth
    assert_allclose(off[:60], 0.0, atol=1e-9)
    assert np.abs(off[60:].mean()) < 1.0


def test_a_fixed_prior_stays_and_decides():
    rows = [(name, f"e{i}", i + off) for i in range(30) for name, off in (("a", 0.0), ("b", 3.0))]
    for trusted, off in (("a", 0.0), ("b", 3.0)):
        sure = Prior(of_source={trusted: ErrorSpread(error=0.01, fixed=True)})
        values = found(claims_of(rows), prior=sure).sort("value")["value"]
        assert_allclose(values, np.arange(30) + off, atol=0.2)


@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@pytest.mark.parametrize("bias", [0.0, 1e90])
@pytest.mark.parametrize("error", [1e-90, 1e90])
def test_errors_of_any_size_may_be_expected(error, bias):
    prior = Prior(of_source={"s1": ErrorSpread(error=error, bias=bias, fixed=True)})
    truths = found(drawn(0, n_items=20)[0], prior=prior)
    assert truths["value"].is_finite().all()
    assert truths["uncertainty"].is_finite().all()


def test_a_table_of_errors_is_a_prior_of_numbers():
    prior = Prior.from_table({"source": ["a", "b"], "error": [0.5, 2.0], "bias": [None, 1.0]})
    assert prior.of_source == {"a": ErrorSpread(error=0.5), "b": ErrorSpread(error=2.0, bias=1.0)}
    with pytest.raises(BadValue, match="error must be above 0"):
        Prior.from_table({"source": ["a"], "error": [-1.0]})


def test_rates_are_not_for_numbers_and_errors_not_for_values():
    claims = claims_of([("a", "x", 1.0), ("b", "x", 2.0)])
    rates, errors = (Prior(of_source={"a": one}) for one in (Rate(), ErrorSpread(error=1.0)))
    with pytest.raises(ParameterError, match="is given as ErrorSpread, not as Rate"):
        found(claims, prior=rates)
    with pytest.raises(ParameterError, match="is given as Rate, not as ErrorSpread"):
        veracity.discover(claims, veracity.algorithms.MLE(prior=errors))
    two = claims.with_columns(attribute=pl.Series(["length", "weight"]))
    with pytest.raises(ParameterError, match="2 attributes; discover them apart"):
        found(two, prior=errors)


# --- why GTM is the default -----------------------------------------------------------------------
