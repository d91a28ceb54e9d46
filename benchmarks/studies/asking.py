"""Compare answers to `questions` with those to random items and to the smallest margins."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from command import typed

from veracity.algorithms.default import Veracity
from veracity.api import answer
from veracity.encoding.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.errors import NotConverged, ParameterError
from veracity.inspect.questions import questions_of
from veracity.printing import counted
from veracity.reading.plan import ASKED as ASKED_BEFORE
from veracity.reading.plan import ASKED_COLUMNS, asked_before
from veracity.result import Result
from veracity.study.base import Row, StudyOfDatasets
from veracity.study.data import Judged, read_dataset
from veracity.study.measure import right_and_sure

ASKED, RANDOM, MARGIN = "asked", "random", "smallest margin"
"""How the items to look up are chosen."""

BATCH = 10
"""So many answers come in before it is asked again."""

MOST_ASKED = 0.5
"""The share of the items that is asked for at most: of fewer there would be little left to tell."""


@dataclass(frozen=True, kw_only=True)
class AskingStudy(StudyOfDatasets):
    """How far answers help, by how many there are and how their items were chosen.

    Parameters
    ----------
    datasets
        Folders with claims and truth; ``+normalised`` behind one has its values normalised.
    budgets
        After how many answers it is measured.
    draws
        How often items are drawn at random.
    seed
        Where the drawing starts.
    """

    name: ClassVar[str] = "asking"
    title: ClassVar[str] = "What answers are worth"
    about: ClassVar[str] = (
        "The default judges each dataset while answers come in, ten at a time: those that "
        "result.questions asks for, those of items with the smallest margins, or those of items "
        "drawn at random. Only items whose truth is known take part, since of others nobody could "
        "answer. 'Accuracy' is on all of them, where what was answered is right; 'others' is on "
        "those that were not asked for, and 'others before' what the answer without known truths "
        "has there."
    )

    budgets: tuple[int, ...] = (0, 10, 20, 30, 50, 100)
    draws: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.draws < 1:
            raise ParameterError(f"study: draws must be at least 1, got {self.draws}")
        if not self.budgets or any(b < 0 or b % BATCH for b in self.budgets):
            raise ParameterError(
                f"study: budgets must be multiples of {BATCH}, got {list(self.budgets)}"
            )

    def tasks(self, rows: pl.DataFrame) -> Sequence[str]:
        """One task per dataset and way to choose items; several where chance chooses."""
        ways = [(ASKED, 0), (MARGIN, 0), *((RANDOM, draw) for draw in range(self.draws))]
        return [f"{how}|{draw}|{folder}" for folder in self.datasets for how, draw in ways]

    def do(self, task: str) -> list[Row]:
        """Let answers come in."""
        how, draw, folder = task.split("|", maxsplit=2)
        data = read_dataset(folder, known_only=True)
        return _curve(data, how, [self.seed, int(draw)], sorted(set(self.budgets)))

    def tables(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return accuracies by number of answers, on all items and on those not asked for."""
        return {
            "asking": _spread(rows, "accuracy"),
            "others": _spread(rows, "others"),
            "curves": _means(rows),
        }

    def findings(self, tables: dict[str, pl.DataFrame]) -> list[str]:
        """Say where asking is worse than chance."""
        found = []
        for measure, meant in (("accuracy", "on all items"), ("others", "on the others")):
            worse = _worse_than_chance(tables["curves"], measure)
            found += [
                f"{row['dataset']}: after {counted(row['budget'], 'answer')}, asked "
                f"{row['asked']:.3f} {meant}, at random {row['random']:.3f}: worse than chance"
                for row in worse.iter_rows(named=True)
            ]
        return found or ["nowhere is asking worse than chance"]


# --- answers come in ------------------------------------------------------------------------------


def _curve(data: Judged, how: str, seed: Sequence[int], budgets: Sequence[int]) -> list[Row]:
    """One row per budget: how right the answer is when so many items are known."""
    can_answer = data.can_know
    is_known = np.zeros_like(can_answer)
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(can_answer))
    asked: tuple[dict[str, Any], ...] = ()
    result = _answered(data, is_known, asked)
    before, rows = _right(data, result), []
    for budget in budgets:
        if budget > MOST_ASKED * can_answer.sum():
            break
        while is_known.sum() < budget:
            if how == RANDOM:
                chosen = drawn[:budget]
            elif how == MARGIN:
                chosen = _closest(result, can_answer & ~is_known)
            else:
                questions = questions_of(result, BATCH)
                chosen = _numbers_of(questions, data)
                drawing = pl.struct(*ASKED_COLUMNS).alias(ASKED_BEFORE)
                asked += asked_before(
                    questions.with_columns(drawing), data.encoded.example.items.columns
                )
            if not len(chosen):
                break  # nobody differs any more: there is nothing to ask
            is_known[chosen] = True
            result = _answered(data, is_known, asked)
        measured = _measured(_right(data, result), before, is_known[can_answer])
        rows.append({"dataset": data.name, "how": how, "budget": budget, **measured})
    return rows


def _answered(data: Judged, is_known: BoolArray, asked: tuple[dict[str, Any], ...]) -> Result:
    """What is found if the truths of some items are known, as answers to questions or otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        prepared = replace(data.prepared, encoded=data.with_known_truths(is_known), asked=asked)
        return answer(prepared, Veracity())


def _numbers_of(questions: pl.DataFrame, data: Judged) -> IntArray:
    """The items that are asked for, by their numbers among all that can be answered."""
    numbered = data.encoded.items.with_row_index("number")
    numbered = numbered.filter(pl.Series(data.can_know))
    found = questions.join(numbered, on=data.encoded.example.items.columns, maintain_order="left")
    return found["number"].to_numpy().astype(np.int64)


def _closest(result: Result, can_ask: BoolArray) -> IntArray:
    """The items with the smallest margins, by their numbers among all."""
    encoded = result.encoded
    plausibility = encoded.by_block(result.tables.facts["plausibility"].to_numpy())
    pairs = zip(encoded.blocks, plausibility, strict=True)
    margin = np.concatenate([_margin(block, own) for block, own in pairs])
    ranked = np.argsort(np.where(can_ask, np.round(margin, SAME), np.inf), kind="stable")
    return ranked[: min(BATCH, int(can_ask.sum()))]


def _margin(block: Block, plausibility: FloatArray) -> FloatArray:
    """By how much the best value of an item is ahead; all of it where there is a single one."""
    order = np.lexsort((-plausibility, block.item_of_fact))
    ranked, first = plausibility[order], block.first_fact_of_item[:-1]
    second = np.minimum(first + 1, block.n_facts - 1)
    return np.asarray(ranked[first] - np.where(block.n_facts_of_item > 1, ranked[second], 0.0))


def _right(data: Judged, result: Result) -> FloatArray:
    """Of each item whose truth is known: whether the answer is right."""
    return right_and_sure(data.truth, result.tables.facts["plausibility"].to_numpy())[0]


def _measured(right: FloatArray, before: FloatArray, is_known: BoolArray) -> Row:
    return {
        "answers": int(is_known.sum()),
        "accuracy": float(np.where(is_known, 1.0, right).mean()),
        "others": float(right[~is_known].mean()),
        "others_before": float(before[~is_known].mean()),
    }


# --- what came of it ------------------------------------------------------------------------------


def _means(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per dataset, way to choose and budget; the mean of all draws."""
    measures = ("accuracy", "others", "others_before")
    means = [pl.col(name).cast(pl.Float64).mean() for name in measures]
    deviations = pl.col("accuracy", "others").std().name.suffix("_std")
    keys = ["dataset", "how", "budget"]
    return rows.group_by(keys, maintain_order=True).agg(
        pl.col("answers").mean(), *means, deviations, draws=pl.len()
    )


def _spread(rows: pl.DataFrame, measure: str) -> pl.DataFrame:
    """One row per dataset and way to choose, one column per budget."""
    means = _means(rows).with_columns(pl.col("budget").cast(pl.String))
    return means.pivot("budget", index=["dataset", "how"], values=measure)


def _worse_than_chance(curves: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Where what was asked for helps less than the mean of what was drawn, beyond its error."""
    asked, drawn = (curves.filter(pl.col("how") == how) for how in (ASKED, RANDOM))
    error = pl.col(f"{measure}_std").fill_null(0.0) / pl.col("draws").sqrt()
    drawn = drawn.select("dataset", "budget", random=pl.col(measure), error=2.0 * error)
    both = asked.select("dataset", "budget", asked=pl.col(measure)).join(
        drawn, on=["dataset", "budget"], maintain_order="left"
    )
    return both.filter(pl.col("asked") < pl.col("random") - pl.col("error") - 1e-9)


if __name__ == "__main__":
    typed(AskingStudy)
