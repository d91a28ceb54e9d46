"""Whether an algorithm still answers as it did when a study was made.

A study's file keeps what each of its algorithms answers to a few small claims, with its default
parameters and with each hyperparameter at both ends of its grid; and, with its default parameters,
to claims of many sources, of values that items share and of values that they do not, or how sure it
is of its estimates. What is answered now is compared with that, up to rounding: a table
that the code would no longer make is found without making it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm
from veracity.answers import answer
from veracity.encoding.block import FloatArray
from veracity.encoding.partitions import Encoded
from veracity.errors import ParameterError
from veracity.preparing import Prepared, prepare
from veracity.reading.claims import read_claims
from veracity.study.measure import judged_facts
from veracity.study.settings import GRID, parameters_of, with_settings
from veracity.synthetic import Synthetic

Answers = dict[str, dict[str, str]]
"""By algorithm and setting: the plausibilities of some facts, in a line that people can compare."""

CLOSE = 2e-3
"""Answers that differ by no more are the same: processors do not round alike."""

SOME_FACTS = 4
"""How many facts are kept of each answer."""

MORE_FACTS = 16
"""How many are kept of answers to the claims of many sources."""

SHARED = "shared values"

_MANY = Synthetic(
    sources=45, items=160, frequency=0.15, accuracy=0.5, accuracy_variability=3.0, copying=0.4,
    copy_frequency=0.8,
)  # fmt: skip
OF_MANY = {
    SHARED: _MANY,
    "open values": _MANY,
    "crowded items": replace(_MANY, items=16, frequency=0.9, accuracy=0.35),
}
"""How claims of many sources are drawn: those of a few items are spoken of by nearly all."""


def answers_of(names: Iterable[str]) -> Answers:
    """What algorithms answer now, as JSON can hold it."""
    return {name: dict(_answers(name)) for name in names}


def changed(then: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Of the algorithms that answered so then, those that answer otherwise now."""
    return [name for name, answers in then.items() if not _is_close(answers, _answers(name))]


def _is_close(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    if then.keys() != now.keys():
        return False
    return all(_are_close(line, now[key]) for key, line in then.items())


def _are_close(one: str, other: str) -> bool:
    then, now = (np.array(line.split(), dtype=np.float64) for line in (one, other))
    return len(then) == len(now) and np.allclose(then, now, rtol=0.0, atol=CLOSE, equal_nan=True)


@lru_cache
def _answers(name: str) -> dict[str, str]:
    """One algorithm, as it is and at the ends of what it can be set to."""
    ends = [(one, GRID[one][end]) for one in parameters_of(name) for end in (0, -1)]
    settings: list[dict[str, float]] = [{}, *({one: value} for one, value in ends)]
    answers = {json.dumps(one): _answer(with_settings(name, one)) for one in settings}
    return answers | _more_answers(with_settings(name, {}))


def _answer(algorithm: Algorithm[Any]) -> str:
    if "categorical" in algorithm.kinds:
        return _line(judged_facts(_claims(), algorithm), SOME_FACTS)
    return _line(_estimates(algorithm, "value"), SOME_FACTS)


def _more_answers(algorithm: Algorithm[Any]) -> dict[str, str]:
    """What shows in claims of many sources only, or in how sure estimates are."""
    if "categorical" not in algorithm.kinds:
        return {"uncertainty": _line(_estimates(algorithm, "uncertainty"), MORE_FACTS)}
    answers = {}
    for kind in OF_MANY:
        with suppress(ParameterError):  # who needs labels refuses values that no items share
            answers[kind] = _line(judged_facts(_claims_of_many(kind), algorithm), MORE_FACTS)
    return answers


def _line(answers: FloatArray, n_some: int) -> str:
    some = np.linspace(0, len(answers) - 1, n_some).astype(np.int64)
    return " ".join(f"{one:.5f}" for one in answers[some])


def _estimates(algorithm: Algorithm[Any], column: str) -> FloatArray:
    told = answer(_numbers(), algorithm).truths.sort("entity")[column]
    return np.asarray(told.to_numpy(), dtype=np.float64)


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


@lru_cache
def _claims_of_many(kind: str) -> Encoded:
    """Claims of two attributes by many sources, of which some copy."""
    drawn = OF_MANY[kind].draw(seed=4).claims
    attribute = pl.when(pl.col("entity").str.contains("[02468]$")).then(pl.lit("a"))
    value = pl.col("value") if kind == SHARED else pl.concat_str("entity", "value")
    drawn = drawn.with_columns(attribute=attribute.otherwise(pl.lit("b")), value=value)
    return prepare(read_claims(drawn)).encoded
