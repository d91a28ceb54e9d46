"""Whether an algorithm still answers as it did when a study was made.

A study's file keeps what each of its algorithms answers to a few small claims, with its default
parameters and with each hyperparameter at both ends of its grid. What is answered now is compared
with that, up to rounding: a table that the code would no longer make is found without making it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from veracity.algorithms import Algorithm
from veracity.claims.encoded import Encoded
from veracity.claims.read import read_claims
from veracity.discovery import answer
from veracity.preparing import Prepared, prepare
from veracity.study.measure import judged_facts
from veracity.study.settings import GRID, parameters_of, with_settings
from veracity.synthetic import Synthetic

__all__ = ["CLOSE", "Answers", "answers_of", "changed"]

Answers = dict[str, dict[str, str]]
"""By algorithm and setting: the plausibilities of some facts, in a line that people can compare."""

CLOSE = 2e-3
"""Answers that differ by no more are the same: processors do not round alike."""

SOME_FACTS = 4
"""How many facts are kept of each answer."""


def answers_of(names: Iterable[str]) -> Answers:
    """What algorithms answer now, as JSON can hold it."""
    return {name: dict(_answers(name)) for name in names}


def changed(then: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Of the algorithms that answered so then, those that answer otherwise now."""
    return [name for name, answers in then.items() if not _is_close(answers, _answers(name))]


def _is_close(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    if then.keys() != now.keys():
        return False
    one, other = ([list(map(float, told[key].split())) for key in now] for told in (then, now))
    return bool(np.allclose(one, other, rtol=0.0, atol=CLOSE))


@lru_cache
def _answers(name: str) -> dict[str, str]:
    """One algorithm, as it is and at the ends of what it can be set to."""
    ends = [(one, GRID[one][end]) for one in parameters_of(name) for end in (0, -1)]
    settings: list[dict[str, float]] = [{}, *({one: value} for one, value in ends)]
    return {json.dumps(one): _answer(with_settings(name, one)) for one in settings}


def _answer(algorithm: Algorithm[Any]) -> str:
    if "categorical" in algorithm.kinds:
        answers = judged_facts(_claims(), algorithm)
    else:
        answers = answer(_numbers(), algorithm).truths.sort("entity")["value"].to_numpy()
    some = np.linspace(0, len(answers) - 1, SOME_FACTS).astype(np.int64)
    return " ".join(f"{one:.5f}" for one in answers[some])


@lru_cache
def _numbers() -> Prepared:
    """A few numbers, on which sources err by more and by less."""
    rng = np.random.default_rng(4)
    rows = [
        {"source": f"s{s}", "entity": e, "value": float(e + rng.normal(0.5 * (s == 1), 0.2 + s))}
        for e in range(40)
        for s in range(5)
    ]
    return prepare(read_claims(rows, kind="numeric"))


@lru_cache
def _claims() -> Encoded:
    """A few claims, some of them copied, on which no algorithm is sure."""
    drawn = Synthetic(sources=9, items=70, accuracy=0.6, accuracy_variability=4.0, copying=0.3)
    return prepare(read_claims(drawn.draw(seed=4).claims)).encoded
