"""What was found, as tables: truths, facts, sources, trace; saved as a folder and loaded again."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from veracity._version import __version__
from veracity.claims.block import Names
from veracity.claims.encode import Encoded
from veracity.claims.schema import Kind
from veracity.errors import UnreadableFile
from veracity.explain import Why, explain
from veracity.fit.fitted import Fitted
from veracity.io.folders import check_target, finished_folder
from veracity.io.frames import FrameKind, hand_back
from veracity.printing import printable
from veracity.result.layout import claims_table, encoded_from, layout_table
from veracity.result.run import Run
from veracity.result.tables import Rightness, Tables, rightness, sources_by_attribute

__all__ = ["RUN_FILE", "Result", "load"]

RUN_FILE = "run.json"
"""The file that makes a folder the folder of a run."""

FITTED_FILE = "fitted.npz"
"""What was learned, as arrays."""


class Result:
    """What was found: which values are true, how plausible every fact is, what to think of sources.

    Tables come in the kind of frame the claims came in.
    """

    def __init__(
        self,
        tables: Tables,
        run: Run,
        frame_kind: FrameKind = "polars",
        *,
        fitted: Fitted | None = None,
        encoded: Encoded | Callable[[], Encoded | None] | None = None,
    ) -> None:
        self.tables = tables
        self.run = run
        self.frame_kind = frame_kind
        self.fitted = fitted
        self._encoded = encoded

    @cached_property
    def encoded(self) -> Encoded | None:
        """The claims as they were judged; None if they were saved by an older version."""
        return self._encoded() if callable(self._encoded) else self._encoded

    @property
    def truths(self) -> Any:  # noqa: ANN401 - the user's own kind of frame
        """One row per item: the value settled on, its plausibility, runner-up and margin."""
        return hand_back(self.tables.truths, self.frame_kind)

    @property
    def facts(self) -> Any:  # noqa: ANN401
        """One row per fact: its plausibility, how many sources support and oppose it."""
        return hand_back(self.tables.facts, self.frame_kind)

    @property
    def sources(self) -> Any:  # noqa: ANN401
        """One row per source: its tpr, fpr and accuracy, with 90 % intervals; claims and items."""
        return hand_back(self.tables.sources, self.frame_kind)

    @property
    def sources_by_attribute(self) -> Any:  # noqa: ANN401
        """One row per source and attribute: how often it is right there, and on how many claims.

        A claim is right as far as it is plausible. None where there are no attributes.
        """
        if self.encoded is None or self.rightness is None:
            return None
        table = sources_by_attribute(self.encoded, self.rightness)
        return None if table is None else hand_back(table, self.frame_kind)

    @cached_property
    def rightness(self) -> Rightness | None:
        """How often each source is right on each attribute, as arrays; None for numbers."""
        if self.encoded is None or "plausibility" not in self.tables.facts.columns:
            return None
        return rightness(self.encoded, self.tables.facts["plausibility"].to_numpy())

    @property
    def copies(self) -> Any:  # noqa: ANN401
        """One row per pair of sources of which one seems to copy; None if nobody looked."""
        copies = self.tables.copies
        return None if copies is None else hand_back(copies, self.frame_kind)

    @property
    def readings(self) -> Any:  # noqa: ANN401
        """One row per other way to read the claims, that which differs most first; mostly none.

        How it is come by, on what share of the items it `differs`, which sources it believes more
        and less, and examples. Known truths decide between readings: see `questions`.
        """
        table = importlib.import_module("veracity.result.readings").readings_table
        return hand_back(table(self.run.readings), self.frame_kind)

    @property
    def changes(self) -> Any:  # noqa: ANN401
        """One row per value that normalising changed: before and after; None if nobody asked."""
        changes = self.tables.changes
        return None if changes is None else hand_back(changes, self.frame_kind)

    @property
    def trace(self) -> Any:  # noqa: ANN401
        """One row per round: how far it moved the sources' rates, and the seconds it took."""
        schema = {"round": pl.Int64, "change": pl.Float64, "seconds": pl.Float64}
        return hand_back(pl.DataFrame(self.run.trace, schema=schema), self.frame_kind)

    @property
    def converged(self) -> bool:
        """Whether the last round changed less than the tolerance."""
        return self.run.converged

    @property
    def kind(self) -> Kind:
        """The kind of claims."""
        return self.run.kind

    @property
    def notes(self) -> list[str]:
        """What a user should know: columns recognised, claims left out, limits of the data."""
        return list(self.run.notes)

    def why(self, entity: object, attribute: object = None) -> Why:
        """Why an item has its value: who says what, how far they are believed, what that weighs.

        For binary claims, name the fact. Without an attribute, all items of the entity are told.
        """
        return explain(self, entity, attribute)

    def questions(self, budget: int = 10) -> Any:  # noqa: ANN401
        """One row per item whose true value would help most, at most `budget` of them.

        The item, the `values` to choose from, how plausible the first of them is, how much it would
        help (`gain`, to compare), and why. Hand the answers to `discover` as `known`.
        """
        table = importlib.import_module("veracity.questions").questions_of(self, budget)
        return hand_back(table, self.frame_kind)

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
        tables = {name: table for name, table in self.frames().items() if table is not None}
        n_written, n_rows = 0, sum(map(len, tables.values()))
        with finished_folder(target) as unfinished:
            for name, table in tables.items():
                if progress is not None:
                    progress("writing", n_written, n_rows)
                table.write_parquet(unfinished / f"{name}.parquet", compression_level=1)
                n_written += len(table)
            if progress is not None:
                progress("writing", n_rows, n_rows)
            if self.fitted is not None:
                with (unfinished / FITTED_FILE).open("wb") as file:
                    np.savez(file, **self.fitted.to_arrays())  # type: ignore[arg-type]
            now = datetime.now(UTC).isoformat(timespec="seconds")
            files = sorted(path.name for path in unfinished.iterdir())
            saved = replace(self.run, veracity=__version__, saved=now, files=files)
            (unfinished / RUN_FILE).write_text(
                json.dumps(saved.to_json(), indent=2, ensure_ascii=False), encoding="utf-8"
            )
        return target

    def frames(self) -> dict[str, pl.DataFrame | None]:
        """All that a folder has: the tables, and the claims they were made from."""
        frames: dict[str, pl.DataFrame | None] = dict(vars(self.tables))
        if self.encoded is not None:
            frames["claims"] = claims_table(self.encoded)
            frames["layout"] = layout_table(self.encoded)
            frames["labels"] = self.encoded.names.labels.to_frame("label")
            frames["attributes"] = self.encoded.names.attributes.to_frame("attribute")
        return frames

    def __repr__(self) -> str:
        """Sum up in a few lines."""
        return printable("\n".join(self.lines()), lines=True)

    def _repr_html_(self) -> str:
        """Sum up for a notebook."""
        html: str = importlib.import_module("veracity.show.notebook").summary_html(self)
        return html

    def lines(self) -> list[str]:
        """What it was made from, how it went, and the notes: one line each."""
        given, rounds = self.run.input, self.run.rounds
        contested = int(self.tables.truths["contested"].sum())
        how = (
            f"{'converged' if self.converged else 'NOT converged'} after {counted(rounds, 'round')}"
        )
        if self.run.judged:
            how = "judged by what was learned before"
        return [
            f"{self.run.algorithm} on {counted(given.claims, 'claim')} of "
            f"{counted(given.sources, 'source')} about {counted(given.items, 'item')} "
            f"({counted(given.facts, 'fact')})",
            f"{how}; {counted(contested, 'item')} {'is' if contested == 1 else 'are'} contested",
            *(f"note: {note}" for note in self.notes),
        ]

    @property
    def plot(self) -> Any:  # noqa: ANN401 - `Plots`, which is further down the flow
        """The figures of this result, e.g. ``result.plot.sources()``: see `veracity.plot.Plots`."""
        return importlib.import_module("veracity.show.plot").Plots(self)


def counted(number: int, what: str) -> str:
    """How many there are of something.

    >>> counted(1, "item"), counted(2000, "item")
    ('1 item', '2,000 items')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def load(folder: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    path = Path(folder)
    if not (path / RUN_FILE).is_file():
        raise UnreadableFile(
            f"{path}: not the folder of a run (no run.json); 'veracity discover --out' makes one"
        )
    try:
        run = Run.from_json(json.loads((path / RUN_FILE).read_text(encoding="utf-8")))
        tables = Tables(*(_read_table(path, field.name) for field in fields(Tables)))
        _check_tables(tables)
        encoded = _encoded_in(path, run, tables)
        fitted = _fitted_in(path, run, encoded)
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(f"{path}: the run is damaged ({error}); discover it again") from error
    return Result(tables, run, fitted=fitted, encoded=encoded)


def _read_table(path: Path, name: str) -> Any:  # noqa: ANN401 - a frame, or none if it may lack
    file = path / f"{name}.parquet"
    is_needed = name in ("truths", "facts", "sources")
    return pl.read_parquet(file) if is_needed or file.exists() else None


def _encoded_in(path: Path, run: Run, tables: Tables) -> Encoded | None:
    """The claims, from the tables; None if an older version saved the run."""
    claims, layout, labels, attributes = (
        _read_table(path, name) for name in ("claims", "layout", "labels", "attributes")
    )
    if claims is None or layout is None or labels is None or attributes is None:
        return None
    names = Names(tables.sources["source"], labels["label"], attributes["attribute"])
    return encoded_from(tables, (claims, layout), names, run.kind)


def _fitted_in(path: Path, run: Run, encoded: Encoded | None) -> Fitted | None:
    """What was learned; None where it was not kept, or cannot be made again from a file."""
    file = path / FITTED_FILE
    if encoded is None or not file.exists():
        return None
    restored = importlib.import_module("veracity.algorithms.catalogue").restored
    algorithm = restored(run.algorithm, run.parameters)
    if algorithm is None:
        return None
    with np.load(file, allow_pickle=False) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    fitted = Fitted.from_arrays(algorithm, encoded.names, run.kind, kept, run.normalisation)
    return replace(fitted, columns=run.input.columns)


def _check_tables(tables: Tables) -> None:
    """Refuse what `Result.save` does not write."""
    for name, table in (("truths", tables.truths), ("facts", tables.facts)):
        if not {"value", "plausibility", "claims", "supporters"} & set(table.columns):
            raise ValueError(f"{name}.parquet lacks its columns")
