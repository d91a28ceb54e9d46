from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, settings

import veracity
from veracity.algorithms import CATALOGUE

# CI tries the same examples every time; anywhere else new ones are tried. That a mutant is noticed
# is enough: the example by which it is need not be made small.
MUTATED = "MUTANT_UNDER_TEST" in os.environ
settings.register_profile(
    "veracity",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    phases=(Phase.explicit, Phase.generate) if MUTATED else tuple(Phase),
)
settings.load_profile("veracity")

IN_ONE_GROUP = re.compile(
    r"/test_(spark|names|report_browser|site|study_paper)\.py::|\[docs/(spark)\.md\]"
)
"""Tests that share what takes seconds to make: a session of Spark, a browser, a study."""

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any):
    """Tests that share something go to one worker, the largest groups first.

    Marks could say the same, but from pytest 9.2 on xdist does not see them (its issue 1386).
    """
    from xdist.scheduler import LoadGroupScheduling

    class InGroups(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            shared = IN_ONE_GROUP.search(nodeid)
            return shared[1] or shared[2] if shared else super()._split_scope(nodeid)

    return InGroups(config, log) if config.getvalue("dist") == "loadgroup" else None


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
