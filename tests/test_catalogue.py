"""A catalogue of five suppliers who write in their own ways comes out right."""

from __future__ import annotations

import pytest

import veracity
from catalogue import SUPPLIERS, catalogue


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_catalogue_of_five_suppliers_is_right_and_no_placeholder_wins(seed):
    claims, truths = catalogue(seed=seed)
    result = veracity.discover(claims, normalise=True)
    evaluation = veracity.evaluate(result, truths)
    assert evaluation.accuracy >= 0.985
    assert evaluation.judged == len(truths)
    placeholders = {habits.placeholder for habits in SUPPLIERS.values()}
    assert not placeholders & set(result.truths["value"])
