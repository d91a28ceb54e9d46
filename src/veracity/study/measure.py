"""How right an algorithm is on encoded claims: what `evaluate` measures, from arrays alone."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from veracity.algorithms import Algorithm
from veracity.discovery import fit, say_nothing
from veracity.claims.encode import UNKNOWN, Claims, Encoded, FloatArray, IntArray
from veracity.engines import Local
from veracity.errors import NotConverged, ParameterError
from veracity.inspect.evaluation import N_BINS
from veracity.result.tables import SAME

__all__ = ["Measured", "accuracy", "calibration_error", "measure"]


class Measured(NamedTuple):
    """One run of an algorithm."""

    accuracy: float
    calibration_error: float
    seconds: float
    rounds: int
    converged: bool


def measure(encoded: Encoded, known: IntArray, algorithm: Algorithm[Any]) -> Measured:
    """Let an algorithm judge claims, on one thread; `known` is the truth of each fact."""
    prior = algorithm.prior.rates(encoded.sources.to_list())
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # the rows say it
        found = fit(encoded.claims, algorithm, prior, Local(threads=1), say_nothing)
    seconds = time.perf_counter() - began
    if found.plausibility is None:
        raise ParameterError(f"{algorithm.name} estimates numbers; there is no share of right ones")
    right = accuracy(encoded.claims, found.plausibility, known)
    doubt = calibration_error(encoded.claims, found.plausibility, known)
    return Measured(right, doubt, seconds, len(found.trace), found.converged)


def accuracy(claims: Claims, score_of_fact: FloatArray, known: IntArray) -> float:
    """Share of the items with known truth whose highest fact is true; ties share the credit.

    An item of which no fact is true counts as wrong: nobody claims its truth.
    """
    return float(_judged(claims, score_of_fact, known)[0].mean())


def calibration_error(claims: Claims, plausibility: FloatArray, known: IntArray) -> float:
    """By how much the plausibility of the highest facts is off, in tenths, on average."""
    right, highest = _judged(claims, plausibility, known)
    tenth = np.clip((highest * N_BINS).astype(np.int64), 0, N_BINS - 1)
    gap = np.bincount(tenth, right - highest, N_BINS)
    return float(np.abs(gap).sum() / len(right))


def _judged(
    claims: Claims, score_of_fact: FloatArray, known: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Of each item with known truth: the share of its highest facts that is true, their score."""
    first = claims.all.first_fact_of_item[:-1]
    score = np.round(score_of_fact, SAME)
    top = np.maximum.reduceat(score, first)
    is_top = score == np.repeat(top, np.diff(claims.all.first_fact_of_item))
    n_top = np.add.reduceat(is_top.astype(np.float64), first)
    n_right = np.add.reduceat((is_top & (known == 1)).astype(np.float64), first)
    is_judged = known[first] != UNKNOWN
    return (n_right / n_top)[is_judged], top[is_judged]
