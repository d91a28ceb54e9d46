from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

import veracity
from veracity.algorithms import CATALOGUE

# CI tries the same examples every time; anywhere else new ones are tried.
settings.register_profile(
    "veracity",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("veracity")

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared_data():
    """The real data sets, or a skip that says so."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data sets are not here: see docs/data-sets.md")
    return SHARED_DATA


@pytest.fixture(params=sorted(CATALOGUE))
def algorithm(request: pytest.FixtureRequest):
    """Every algorithm, with its default parameters."""
    return CATALOGUE[request.param].make()


@pytest.fixture(scope="session")
def flights():
    """The demo's data."""
    return veracity.synthetic.flights()


@pytest.fixture
def two_against_one() -> pl.DataFrame:
    """Two sources say 1, one says 2."""
    return pl.DataFrame({"source": ["a", "b", "c"], "entity": ["x"] * 3, "value": ["1", "1", "2"]})
