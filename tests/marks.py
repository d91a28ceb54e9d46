"""Mark the cases of a test that run in ``make test-all`` only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from veracity.algorithms import CATALOGUE

WITH_EVERY_KIND = ("majority-vote", "mle", "veracity")
"""Algorithms that are tested with every kind of claims in ``make test``, too."""


def slow_unless(is_quick: Callable[[Any], bool], cases: Iterable[Any]) -> list[Any]:
    """Return the cases for ``parametrize``, with the mark ``slow`` on those that are not quick."""
    return [case if is_quick(case) else slow(case) for case in cases]


def slow(case: Any) -> Any:
    """Return one case with the mark ``slow``; a tuple has one entry per argument."""
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)


def few_kinds(pairs: Iterable[tuple[str, str]]) -> list[Any]:
    """Return pairs of algorithm and kind; for most algorithms all but their first kind are slow."""
    first = {name: entry.make().kinds[0] for name, entry in CATALOGUE.items()}
    return slow_unless(lambda pair: pair[0] in WITH_EVERY_KIND or pair[1] == first[pair[0]], pairs)
