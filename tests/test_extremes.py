"""Extreme numbers, parameters and shapes: a finite answer without a warning, or a clear refusal."""

from __future__ import annotations

import dataclasses
import math
import sys
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from marks import slow_unless
from veracity.algorithms import CATALOGUE
from veracity.errors import NotConverged, ParameterError
from veracity.testing import some_claims

NUMERIC = ["gtm", "crh", "catd", "ltd-rbm-n"]
LARGEST = sys.float_info.max
SMALLEST = 5e-324


def discover(claims, algorithm, **options):
    """The answer; a warning other than that rounds were too few is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NotConverged)
        return veracity.discover(claims, algorithm, **options)


def assert_finite(result):
    for table in (result.truths, result.facts, result.sources):
        for column in table.select(pl.selectors.float()):
            told = column.drop_nulls()
            assert told.is_finite().all(), column


# --- numbers --------------------------------------------------------------------------------------


def numbers(told):
    """Claims of sources a, b, ... about each entity."""
    rows = [
        (source, entity, float(value))
        for entity, values in told.items()
        for source, value in zip("abcd", values, strict=False)
    ]
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


USUAL = numbers(
    {"v": [0, 0, 2, 0], "w": [3], "x": [1, 2, 3, 9], "y": [5, 5.5, 5, 7], "z": [1, 1, 1, 1]}
)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize(
    ("times", "plus"), [(1e300, 0), (1.9e307, 0), (-1e-300, 0), (3, 1e6), (0.1, -1e12), (1, 1e14)]
)
def test_estimates_move_with_the_numbers_however_large(name, times, plus):
    usual = discover(USUAL, name, kind="numeric")
    moved = discover(USUAL.with_columns(pl.col("value") * times + plus), name, kind="numeric")
    expected, close = usual.truths["value"] * times + plus, 1e-9 * abs(times)
    assert_allclose(moved.truths["value"], expected, rtol=1e-9, atol=close)
    close = 1e-9 if plus != -1e12 else 1e-3  # a tenth loses digits where it is added to so much
    assert_allclose(moved.sources["trust"], usual.sources["trust"], rtol=close, atol=close)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("known", [None, {"x": 1e-310, "y": 1e308}, {"x": -LARGEST, "z": LARGEST}])
def test_huge_next_to_tiny_and_denormal_is_estimated_in_between(name, known):
    claims = numbers(
        {
            "x": [LARGEST, -LARGEST, 1e-300, 0],
            "y": [SMALLEST, 2 * SMALLEST, 0, SMALLEST],
            "z": [1e308, 1e308, 1e-308, 2e-308],
            "same": [LARGEST] * 4,
            "one": [-1e200],
        }
    )
    if known is not None:
        known = pl.DataFrame({"entity": list(known), "value": list(known.values())})
    result = discover(claims, name, kind="numeric", known=known)
    assert_finite(result)
    ends = claims.group_by("entity").agg(low=pl.min("value"), high=pl.max("value"))
    truths = result.truths.join(ends, on="entity")
    if known is not None:
        truths = truths.join(known, on="entity", how="anti")
    if name != "ltd-rbm-n":  # it takes off what sources are too high by
        assert truths["value"].is_between(truths["low"], truths["high"]).all()
    truth = pl.DataFrame({"entity": ["x", "y", "z"], "value": [-LARGEST, 0.0, LARGEST]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measures = veracity.evaluate(result, truth).measures()
        result.why("x")
    assert all(math.isfinite(measure) for measure in measures.values())


@pytest.mark.parametrize("name", NUMERIC)
@settings(max_examples=15)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from("xyz"),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_any_numbers_get_finite_estimates(name, rows):
    claims = pl.DataFrame(
        rows, schema={"source": pl.String, "entity": pl.String, "value": pl.Float64}, orient="row"
    )
    assert_finite(discover(claims, name, kind="numeric"))


def test_numbers_that_differ_far_behind_the_point_are_told_apart():
    # microseconds since 1970: a spread of 100 in 1.7e15
    moments = [1.7e15, 1.7e15 + 1, 1.7e15 + 100]
    claims = numbers(dict.fromkeys("uvwxyz", moments))
    assert discover(claims, "gtm", kind="numeric").sources["deviation"].min() > 0.1


@pytest.mark.parametrize("tolerance", [math.nan, math.inf, -1, "wide"])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    result = discover(USUAL, "gtm", kind="numeric")
    truth = pl.DataFrame({"entity": ["x"], "value": [2.0]})
    with pytest.raises(ParameterError, match="evaluate: tolerance must be"):
        veracity.evaluate(result, truth, tolerance=tolerance)


@pytest.mark.parametrize("threshold", [math.nan, -0.1, 2, "high"])
def test_a_threshold_that_is_none_is_refused(threshold):
    claims = pl.DataFrame({"source": ["a"], "entity": ["x"], "value": ["1"]})
    result = discover(claims, "majority-vote", kind="multiple")
    with pytest.raises(ParameterError, match="evaluate: threshold must be"):
        veracity.evaluate(result, claims, threshold=threshold)


# --- parameters -----------------------------------------------------------------------------------

EXTREMES = [
    math.nan, math.inf, -math.inf, -1, -0.5, 0, SMALLEST, 0.5, 1 - 2**-53, 1, 1.5, 1e300, LARGEST,
    2**62, 10**30, 10**400, True, None, "x", [1.0], 1j, np.float32(0.5), np.int64(3),
]  # fmt: skip

COUNTS_OF_ROUNDS = ("max_rounds", "min_rounds", "rounds", "steps", "gibbs_steps")
"""As many may be asked for; but they would be made, where rounds go round in circles."""

PARAMETERS = [
    (name, field.name)
    for name, entry in CATALOGUE.items()
    for field in dataclasses.fields(entry.load())
]


def made(name, parameters):
    """The algorithm with these parameters, or why there is none."""
    try:
        return CATALOGUE[name].make(**parameters), ""
    except ParameterError as error:
        return None, str(error)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_any_parameter_is_refused_by_its_name_or_gives_a_finite_answer(name, parameter):
    kinds = CATALOGUE[name].make().kinds
    claims = {kind: some_claims(kind, 1, 25) for kind in (kinds[0], kinds[-1])}
    n_tried = 0  # kinds take turns
    for extreme in EXTREMES:
        algorithm, refusal = made(name, {parameter: extreme})
        if algorithm is None:
            assert parameter in refusal, f"{extreme!r}: {refusal}"
            assert len(refusal) < 300
            continue
        if parameter in COUNTS_OF_ROUNDS and extreme == 2**62:
            continue
        n_tried += 1
        for kind in [kind for kind in claims if kind in algorithm.kinds][n_tried % 2 :: 2]:
            assert_finite(discover(claims[kind], algorithm, kind=kind))


# --- shapes ---------------------------------------------------------------------------------------

MANY = 20_000
"""So many that whatever takes their square, in time or memory, is noticed."""


def claims_of(source, entity, value):
    return pl.DataFrame({"source": source, "entity": entity, "value": value})


SHAPES = {
    "one claim": claims_of(["a"], ["x"], [1]),
    "one source": claims_of(["a"] * 3, ["x", "y", "z"], [1, 2, 1]),
    "one source says everything": claims_of(["a"] * 3, ["x"] * 3, [1, 2, 3]),
    "all agree": claims_of(["a", "b", "c"] * 4, list("uvwx") * 3, list("1234") * 3),
    "all differ": claims_of(["a", "b", "c"] * 4, list("uuuvvvwwwxxx"), range(12)),
    "nobody meets": claims_of(list("abcd"), list("uvwx"), [1, 2, 1, 2]),
    "all say all": claims_of(list("aabbcc"), ["x"] * 6, [1, 2] * 3),
    "a crowd agrees": claims_of(range(MANY), ["x"] * MANY, [1] * MANY),
    "a crowd of two minds": claims_of(range(MANY), ["x"] * MANY, [1, 2] * (MANY // 2)),
    "a crowd of as many minds": claims_of(range(MANY), ["x"] * MANY, range(MANY)),
    "a source of many items": claims_of(["a"] * MANY, range(MANY), [1, 2] * (MANY // 2)),
}


FEWER_ROUNDS = {"ltm": {"rounds": 8, "burn_in": 2, "chains": 2}}
"""A sampler draws as often whatever the claims are like; a few draws tell the same of them."""


def as_kind(shape, kind):
    """The claims of a shape as claims of a kind; None if they cannot be any."""
    if kind == "binary":
        return claims_of_facts(shape)
    if kind == "numeric":
        return shape.with_columns(pl.col("value").cast(pl.Float64))
    return shape


def claims_of_facts(shape):
    """Each pair of entity and value as a fact that its source affirms, or denies if it is odd."""
    fact = pl.format("{} {}", "entity", "value")
    odd = pl.col("source").cast(pl.String).str.contains("[bd13579]$")
    return shape.select("source", fact=fact, claim=~odd)


@pytest.mark.parametrize("shape", slow_unless(lambda shape: len(SHAPES[shape]) < MANY, SHAPES))
@pytest.mark.parametrize("name", CATALOGUE)
def test_any_shape_gets_a_finite_answer_without_a_warning(name, shape):
    algorithm = CATALOGUE[name].make(**FEWER_ROUNDS.get(name, {}))
    for kind in algorithm.kinds:
        claims = as_kind(SHAPES[shape], kind)
        if name == "dawid-skene" and claims["value"].n_unique() > 100:  # such labels are none
            with pytest.raises(ParameterError, match="use OneCoin"):
                discover(claims, algorithm, kind=kind)
            continue
        if name.endswith("-cd") and shape == "a crowd of as many minds" and kind != "binary":
            with pytest.raises(ParameterError, match="use negative_phase='exact'"):
                discover(claims, algorithm, kind=kind)  # each would be drawn for each
            continue
        result = discover(claims, algorithm, kind=kind)
        assert_finite(result)
        if kind == "categorical":
            facts = result.facts.group_by("entity").agg(pl.col("plausibility").sum())
            assert (facts["plausibility"] < 1.0 + 1e-9).all()
