"""What was found, as tables: truths, facts, sources, trace; saved as a folder and loaded again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from veracity._version import __version__
from veracity.algorithms import Algorithm, Rates
from veracity.encode import Claims, Encoded, FloatArray, IntArray
from veracity.errors import UnreadableFile
from veracity.schema import FrameKind, Kind
from veracity.write import check_target, finished_folder

__all__ = [
    "RUN_FILE",
    "SAME",
    "Result",
    "Tables",
    "describe_parameters",
    "hand_back",
    "load",
    "tabulate",
]

SAME = 9
"""Plausibilities that agree to this many decimals are tied."""

RUN_FILE = "run.json"
"""The file that makes a folder the folder of a run."""


@dataclass(frozen=True)
class Tables:
    """The three tables of a result, as polars frames."""

    truths: pl.DataFrame
    facts: pl.DataFrame
    sources: pl.DataFrame


class Result:
    """What was found: which values are true, how plausible every fact is, what to think of sources.

    Tables come in the kind of frame the claims came in.
    """

    def __init__(
        self, tables: Tables, run: dict[str, Any], frame_kind: FrameKind = "polars"
    ) -> None:
        self.tables = tables
        self.run = run
        self.frame_kind = frame_kind

    @property
    def truths(self) -> Any:  # noqa: ANN401 - the user's own kind of frame
        """One row an item: the value settled on, its plausibility, the runner-up and the margin."""
        return hand_back(self.tables.truths, self.frame_kind)

    @property
    def facts(self) -> Any:  # noqa: ANN401
        """One row a fact: its plausibility, how many sources support it and how many oppose it."""
        return hand_back(self.tables.facts, self.frame_kind)

    @property
    def sources(self) -> Any:  # noqa: ANN401
        """One row a source: its tpr, fpr and accuracy, and on how many claims they rest."""
        return hand_back(self.tables.sources, self.frame_kind)

    @property
    def trace(self) -> Any:  # noqa: ANN401
        """One row a round: how far it moved the sources' rates, and the seconds it took."""
        schema = {"round": pl.Int64, "change": pl.Float64, "seconds": pl.Float64}
        return hand_back(pl.DataFrame(self.run["trace"], schema=schema), self.frame_kind)

    @property
    def converged(self) -> bool:
        """Whether the last round changed less than the tolerance."""
        return bool(self.run["converged"])

    @property
    def kind(self) -> Kind:
        """The kind of claims."""
        kind: Kind = self.run["kind"]
        return kind

    @property
    def notes(self) -> list[str]:
        """What a user should know: columns recognised, claims left out, limits of the data."""
        return list(self.run["notes"])

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the result as a folder: all of it, or nothing.

        An existing folder is refused unless `force`, and then replaced only if it is a result.
        """
        target = Path(folder)
        check_target(target, force=force, marker=RUN_FILE)
        with finished_folder(target) as unfinished:
            self.tables.truths.write_parquet(unfinished / "truths.parquet")
            self.tables.facts.write_parquet(unfinished / "facts.parquet")
            self.tables.sources.write_parquet(unfinished / "sources.parquet")
            saved = {
                "veracity": __version__,
                "saved": datetime.now(UTC).isoformat(timespec="seconds"),
                **self.run,
            }
            (unfinished / RUN_FILE).write_text(
                json.dumps(saved, indent=2, ensure_ascii=False), encoding="utf-8"
            )
        return target

    def __repr__(self) -> str:
        """Sum up in a few lines."""
        given = self.run["input"]
        rounds = self.run["rounds"]
        lines = [
            f"{self.run['algorithm']} on {given['claims']:,} claims of {given['sources']:,} "
            f"sources about {given['items']:,} items ({given['facts']:,} facts)",
            f"{'converged' if self.converged else 'NOT converged'} after {rounds} rounds; "
            f"{int(self.tables.truths['contested'].sum()):,} items are contested",
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)


def load(folder: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    path = Path(folder)
    if not (path / RUN_FILE).is_file():
        raise UnreadableFile(
            f"{path}: not the folder of a run (no run.json); 'veracity discover --out' makes one"
        )
    try:
        run = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
        tables = Tables(
            *(pl.read_parquet(path / f"{name}.parquet") for name in ("truths", "facts", "sources"))
        )
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(f"{path}: the run is damaged ({error}); discover it again") from error
    return Result(tables, run)


def describe_parameters(algorithm: Algorithm[Any]) -> dict[str, Any]:
    """The parameters of an algorithm, as JSON can hold them."""
    parameters: dict[str, Any] = asdict(algorithm) if is_dataclass(algorithm) else {}
    described: dict[str, Any] = json.loads(json.dumps(_with_text_keys(parameters), default=str))
    return described


def _with_text_keys(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {str(key): _with_text_keys(inner) for key, inner in value.items()}
    return value


def tabulate(
    encoded: Encoded,
    plausibility: FloatArray,
    counts: FloatArray,
    rates: Rates,
    min_plausibility: float | None,
) -> Tables:
    """Put the names back on what was found."""
    facts = _facts_table(encoded, plausibility)
    if encoded.claims.kind == "categorical":
        truths = _single_truths(encoded, facts, min_plausibility)
    elif encoded.claims.kind == "multiple":
        truths = _multiple_truths(encoded, facts, min_plausibility)
    else:
        truths = _binary_truths(facts, min_plausibility)
    return Tables(truths, facts, _sources_table(encoded, counts, rates))


def _facts_table(encoded: Encoded, plausibility: FloatArray) -> pl.DataFrame:
    block = encoded.claims.all
    item_of_fact = _item_of_fact(encoded.claims)
    supporters = np.diff(block.first_support_of_fact)
    columns = encoded.items[item_of_fact]
    if encoded.value_of_fact is not None:
        columns = columns.with_columns(value=encoded.value_of_fact)
    return columns.with_columns(
        plausibility=plausibility,
        supporters=supporters,
        opposers=np.diff(block.first_voice_of_item)[item_of_fact] - supporters,
    )


def _single_truths(
    encoded: Encoded, facts: pl.DataFrame, min_plausibility: float | None
) -> pl.DataFrame:
    first = encoded.claims.all.first_fact_of_item
    n_values = np.diff(first)
    rank = _ranked(encoded.claims, facts)
    best = rank[first[:-1]]
    has_second = n_values > 1
    second = rank[np.minimum(first[:-1] + 1, first[1:] - 1)]
    plausibility = facts["plausibility"].to_numpy()
    margin = np.where(has_second, plausibility[best] - plausibility[second], plausibility[best])
    chosen = facts["value"].gather(best)
    truths = encoded.items.with_columns(
        value=chosen,
        plausibility=plausibility[best],
        runner_up=facts["value"].gather(second),
        margin=np.maximum(margin, 0.0),
        values=n_values,
        claims=np.diff(encoded.claims.all.first_support_of_fact[first]),
        contested=has_second,
        tied=has_second & (np.round(margin, SAME) <= 0.0),
    ).with_columns(runner_up=pl.when("contested").then("runner_up"))
    return _abstain(truths, pl.col("plausibility"), min_plausibility)


def _multiple_truths(
    encoded: Encoded, facts: pl.DataFrame, min_plausibility: float | None
) -> pl.DataFrame:
    threshold = 0.5 if min_plausibility is None else min_plausibility
    columns = encoded.items.columns
    is_true = pl.col("plausibility") >= threshold
    n_true = is_true.sum().over(columns)
    is_best = pl.col("plausibility").arg_max().over(columns) == pl.int_range(pl.len()).over(columns)
    return (
        facts.with_columns(
            values=pl.len().over(columns),
            claims=pl.col("supporters").sum().over(columns),
            contested=pl.col("opposers") > 0,
        )
        .filter(is_true | ((n_true == 0) & is_best))
        .with_columns(value=pl.when(pl.col("plausibility") >= threshold).then("value"))
        .select(*columns, "value", "plausibility", "values", "claims", "contested")
    )


def _binary_truths(facts: pl.DataFrame, min_plausibility: float | None) -> pl.DataFrame:
    p = pl.col("plausibility")
    truths = facts.select(
        "fact",
        value=p > 0.5,
        plausibility=p,
        margin=(2.0 * p - 1.0).abs(),
        claims=pl.col("supporters") + pl.col("opposers"),
        contested=(pl.col("supporters") > 0) & (pl.col("opposers") > 0),
        tied=((2.0 * p - 1.0).abs().round(SAME) <= 0.0),
    )
    return _abstain(truths, pl.max_horizontal(p, 1.0 - p), min_plausibility)


def _abstain(
    truths: pl.DataFrame, sureness: pl.Expr, min_plausibility: float | None
) -> pl.DataFrame:
    """Leave the value empty where it is not sure enough."""
    if min_plausibility is None:
        return truths
    return truths.with_columns(value=pl.when(sureness >= min_plausibility).then("value"))


def _ranked(claims: Claims, facts: pl.DataFrame) -> IntArray:
    """Facts of each item, the most plausible first.

    Of tied ones the one with more supporters comes first, then the first in sorted order: a rule
    that does not depend on the order of the claims.
    """
    plausibility = np.round(facts["plausibility"].to_numpy(), SAME)
    supporters = facts["supporters"].to_numpy()
    return np.lexsort((-supporters, -plausibility, _item_of_fact(claims)))


def _sources_table(encoded: Encoded, counts: FloatArray, rates: Rates) -> pl.DataFrame:
    supports_of_true, supports, true, facts = counts.T
    if encoded.claims.kind == "binary":
        right, made = 2.0 * supports_of_true + facts - supports - true, facts
    else:
        right, made = supports_of_true, supports
    items = np.bincount(encoded.claims.all.source_of_voice, minlength=encoded.claims.n_sources)
    return pl.DataFrame(
        {
            "source": encoded.sources,
            "tpr": rates.tpr,
            "fpr": rates.fpr,
            "accuracy": np.where(
                made > 0, np.clip(right / np.maximum(made, 1.0), 0.0, 1.0), np.nan
            ),
            "claims": made.astype(np.int64),
            "items": items,
        }
    ).with_columns(pl.col("tpr", "fpr", "accuracy").fill_nan(None))


def _item_of_fact(claims: Claims) -> IntArray:
    return np.repeat(np.arange(claims.n_items), np.diff(claims.all.first_fact_of_item))


def hand_back(frame: pl.DataFrame, kind: FrameKind) -> Any:  # noqa: ANN401
    """The table in the user's own kind of frame."""
    if kind == "pandas":
        return frame.to_pandas()
    return frame.to_arrow() if kind == "pyarrow" else frame
