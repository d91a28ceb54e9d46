"""What was found, as tables: truths, facts, sources, trace; saved as a folder and loaded again."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from veracity._version import __version__
from veracity.algorithms import Algorithm
from veracity.errors import UnreadableFile
from veracity.explain import Why, explain
from veracity.notebook import summary_html
from veracity.schema import FrameKind, Kind
from veracity.tables import Tables, hand_back, sources_by_attribute
from veracity.write import check_target, finished_folder

__all__ = ["RUN_FILE", "Result", "describe_parameters", "hand_back", "load"]

RUN_FILE = "run.json"
"""The file that makes a folder the folder of a run."""


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
        """One row a source: its tpr, fpr and accuracy, with 90 % intervals; claims and items."""
        return hand_back(self.tables.sources, self.frame_kind)

    @property
    def sources_by_attribute(self) -> Any:  # noqa: ANN401
        """One row a source and attribute: how often it is right there, and on how many claims.

        A claim is right as far as it is plausible. None where there are no attributes.
        """
        table = sources_by_attribute(self.tables)
        return None if table is None else hand_back(table, self.frame_kind)

    @property
    def copies(self) -> Any:  # noqa: ANN401
        """One row a pair of sources of which one seems to copy the other; None if nobody looked."""
        copies = self.tables.copies
        return None if copies is None else hand_back(copies, self.frame_kind)

    @property
    def changes(self) -> Any:  # noqa: ANN401
        """One row a value that normalising changed: before and after; None if nobody asked."""
        changes = self.tables.changes
        return None if changes is None else hand_back(changes, self.frame_kind)

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

    def why(self, entity: object, attribute: object = None) -> Why:
        """Why an item has its value: who says what, how far they are believed, what that weighs.

        For binary claims, name the fact. Without an attribute, all items of the entity are told.
        """
        return explain(self.tables, self.run, entity, attribute, self.frame_kind)

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        force: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Path:
        """Write the result as a folder: all of it, or nothing.

        An existing folder is refused unless `force`, and then replaced only if it is a result.
        `progress` is told how many rows are written, and of how many.
        """
        target = Path(folder)
        check_target(target, force=force, marker=RUN_FILE)
        tables = {name: table for name, table in vars(self.tables).items() if table is not None}
        n_written, n_rows = 0, sum(map(len, tables.values()))
        with finished_folder(target) as unfinished:
            for name, table in tables.items():
                if progress is not None:
                    progress("writing", n_written, n_rows)
                table.write_parquet(unfinished / f"{name}.parquet", compression_level=1)
                n_written += len(table)
            if progress is not None:
                progress("writing", n_rows, n_rows)
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
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        """Sum up for a notebook."""
        return summary_html(self._lines(), self.tables)

    def _lines(self) -> list[str]:
        given = self.run["input"]
        rounds = self.run["rounds"]
        return [
            f"{self.run['algorithm']} on {given['claims']:,} claims of {given['sources']:,} "
            f"sources about {given['items']:,} items ({given['facts']:,} facts)",
            f"{'converged' if self.converged else 'NOT converged'} after {rounds} rounds; "
            f"{int(self.tables.truths['contested'].sum()):,} items are contested",
            *(f"note: {note}" for note in self.notes),
        ]

    @property
    def plot(self) -> Any:  # noqa: ANN401 - `Plots`, which is further down the flow
        """The figures of this result, e.g. ``result.plot.sources()``: see `veracity.plot.Plots`."""
        return importlib.import_module("veracity.plot").Plots(self)


def load(folder: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    path = Path(folder)
    if not (path / RUN_FILE).is_file():
        raise UnreadableFile(
            f"{path}: not the folder of a run (no run.json); 'veracity discover --out' makes one"
        )
    try:
        run = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
        tables = Tables(*(_read_table(path, field.name) for field in fields(Tables)))
        _check_run(run, tables)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(f"{path}: the run is damaged ({error}); discover it again") from error
    return Result(tables, run)


def _read_table(path: Path, name: str) -> Any:  # noqa: ANN401 - a frame, or none if it may lack
    file = path / f"{name}.parquet"
    is_needed = name in ("truths", "facts", "sources")
    return pl.read_parquet(file) if is_needed or file.exists() else None


def _check_run(run: Any, tables: Tables) -> None:  # noqa: ANN401 - whatever the file holds
    """Refuse what `Result.save` does not write."""
    wanted = {"kind", "algorithm", "input", "trace", "converged", "rounds", "notes"}
    missing = wanted - set(run) if isinstance(run, dict) else wanted
    if missing:
        raise ValueError(f"{RUN_FILE} does not tell {', '.join(sorted(missing))}")
    for name, table in (("truths", tables.truths), ("facts", tables.facts)):
        if not {"value", "plausibility", "claims", "supporters"} & set(table.columns):
            raise ValueError(f"{name}.parquet lacks its columns")


def describe_parameters(algorithm: Algorithm[Any]) -> dict[str, Any]:
    """The parameters of an algorithm, as JSON can hold them."""
    described: dict[str, Any] = json.loads(json.dumps(_plain(algorithm), default=str))
    return described


def _plain(value: Any) -> Any:  # noqa: ANN401 - any parameter
    """Dataclasses and mappings as dictionaries with text for keys; nothing is copied."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return value
