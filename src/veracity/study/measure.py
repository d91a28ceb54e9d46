"""Measure the accuracy of an algorithm on encoded claims, as `evaluate` does on tables."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm
from veracity.algorithms.rules import is_best_of_item
from veracity.encoding.block import SAME, UNKNOWN, Block, FloatArray
from veracity.encoding.partitions import Encoded
from veracity.engines import Local
from veracity.errors import NotConverged, ParameterError
from veracity.fit.alternatives import compare_alternatives
from veracity.fit.judging import judge_all
from veracity.fit.loop import Learned, learn, survey_of
from veracity.inspect.evaluation import calibration_error as calibration_error_of
from veracity.progress import no_progress


class Measured(NamedTuple):
    """Measures of one run of an algorithm."""

    accuracy: float
    calibration_error: float
    seconds: float
    """Seconds of the processor, without the time of other programs."""
    rounds: int
    converged: bool


def measure(encoded: Encoded, truth: Encoded, algorithm: Algorithm[Any]) -> Measured:
    """Run an algorithm on claims, on one thread; `truth` has the same claims with known truths."""
    began = time.process_time()
    learned, plausibility = answered(encoded, algorithm)
    seconds = time.process_time() - began
    right, doubt = accuracy(truth, plausibility), calibration_error(truth, plausibility)
    return Measured(right, doubt, seconds, len(learned.trace), learned.converged)


def answered(encoded: Encoded, algorithm: Algorithm[Any]) -> tuple[Learned, FloatArray]:
    """Return the fit of an algorithm, and the plausibility of all facts."""
    if "categorical" not in algorithm.kinds:
        raise ParameterError(f"{algorithm.name} estimates numbers; there is no share of right ones")
    with warnings.catch_warnings(), Local(threads=1).hold(encoded.blocks) as held:
        warnings.simplefilter("ignore", NotConverged)  # the rows say it
        learned = learn(held, algorithm, survey_of(held, encoded))
        judged = judge_all(held, learned)
        learned, judged, _ = compare_alternatives(held, encoded, learned, judged, no_progress)
    return learned, np.concatenate(judged.plausibility)


def accuracy(truth: Encoded, score_of_fact: FloatArray) -> float:
    """Return the share of the known items whose highest fact is true; ties share the credit.

    An item of which no fact is true counts as wrong: nobody claims its truth.
    """
    return float(right_and_sure(truth, score_of_fact)[0].mean())


def calibration_error(truth: Encoded, plausibility: FloatArray) -> float:
    """Return the mean error of the plausibility of the highest facts, by tenths."""
    right, highest = right_and_sure(truth, plausibility)
    return calibration_error_of(pl.DataFrame({"right": right, "sure": highest}))


def right_and_sure(truth: Encoded, score_of_fact: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, for each item with known truth, the true share of its best facts, and their score."""
    pairs = zip(truth.blocks, truth.by_block(score_of_fact), strict=True)
    found = [_judged_in(block, own) for block, own in pairs]
    right, top = (np.concatenate(part) for part in zip(*found, strict=True))
    return right, top


def _judged_in(block: Block, score_of_fact: FloatArray) -> tuple[FloatArray, FloatArray]:
    first, known = block.first_fact_of_item[:-1], block.known_of_fact
    score = np.round(score_of_fact, SAME)
    top = np.maximum.reduceat(score, first)
    is_top = is_best_of_item(score_of_fact, block)
    n_top = np.add.reduceat(is_top.astype(np.float64), first)
    n_right = np.add.reduceat((is_top & (known == 1)).astype(np.float64), first)
    is_judged = known[first] != UNKNOWN
    return (n_right / n_top)[is_judged], top[is_judged]
