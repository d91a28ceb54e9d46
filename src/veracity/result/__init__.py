"""What was found, as tables: truths, facts, sources, trace; saved as a folder and loaded again."""

from __future__ import annotations

import importlib
import json
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from veracity._version import __version__
from veracity.claims.block import BoolArray, FloatArray, Names
from veracity.claims.encode import Encoded, Part, PartsInMemory
from veracity.claims.schema import Kind
from veracity.claims.spilled import Room, spilled_parts
from veracity.engines import Local
from veracity.errors import NoClaims, ParameterError, UnreadableFile
from veracity.explain import Why, explain
from veracity.fit.fitted import Fitted
from veracity.io.databases import write_tables
from veracity.io.folders import check_target, finished_folder
from veracity.io.frames import ROWS_PER_BATCH, FrameKind, hand_back
from veracity.io.memory import BYTES_PER_CLAIM, fits, require_room
from veracity.io.pieces import PieceTable
from veracity.io.spill import Spill
from veracity.printing import printable
from veracity.result.layout import blocks_table, part_from, saved_tables
from veracity.result.run import Run, notes_table
from veracity.result.tables import (
    Rightness,
    Short,
    Tables,
    TablesOfPart,
    rightness,
    sources_by_attribute,
)

__all__ = ["DATABASE_TABLES", "RUN_FILE", "Result", "load"]

RUN_FILE = "run.json"
"""The file that makes a folder the folder of a run."""

LITTLE = 10**9
"""Bytes of memory that are used where the system does not tell how many are free."""
DATABASE_TABLES = ["truths", "facts", "sources", "notes"]
"""The tables that `Result.write_database` writes."""

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
        plausibility: Sequence[FloatArray] | None = None,
    ) -> None:
        self.tables = tables
        self.run = run
        self.frame_kind = frame_kind
        self.fitted = fitted
        self._encoded = encoded
        self._plausibility = plausibility
        self._whole: Result | None = None  # of which this is a part, on this machine

    @cached_property
    def encoded(self) -> Encoded | None:
        """The claims as they were judged; None if they were saved by an older version."""
        return self._encoded() if callable(self._encoded) else self._encoded

    @property
    def plausibility_by_block(self) -> Sequence[FloatArray]:
        """The plausibilities of the facts of each block."""
        if self.encoded is not None and self.encoded.is_elsewhere:
            return self.here().plausibility_by_block
        if self._plausibility is not None:
            return self._plausibility
        assert self.encoded is not None  # without claims there are no blocks
        return self.encoded.by_block(self.tables.facts["plausibility"].to_numpy())

    @property
    def truths(self) -> Any:  # noqa: ANN401 - the user's own kind of frame
        """One row per item: the value settled on, its plausibility, runner-up and margin."""
        return self._handed("truths")

    @property
    def facts(self) -> Any:  # noqa: ANN401
        """One row per fact: its plausibility, how many sources support and oppose it."""
        return self._handed("facts")

    def _handed(self, name: str) -> Any:  # noqa: ANN401
        """A table with one row per item or fact: a frame of the engine's own, if it has one."""
        table = vars(self.tables)[name]
        if self.frame_kind == "spark" and isinstance(table, PieceTable):
            return table.frame
        return hand_back(getattr(self.tables, name), self.frame_kind)

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
        if self.encoded is None or self.kind == "numeric":
            return None
        if self._whole is not None:
            return self._whole.rightness
        if self.encoded.is_elsewhere:
            return rightness(self.encoded, vars(self.tables)["facts"].answers)
        return rightness(self.encoded, self.plausibility_by_block)

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

    def here(
        self, choose: Callable[[Part], BoolArray] | None = None, nothing: str = "no item is meant"
    ) -> Result:
        """The same on this machine, about all items or some, if it is elsewhere; else itself.

        What does not fit is refused; where no item is chosen, `nothing` says so.
        """
        if self.encoded is None or not self.encoded.is_elsewhere:
            return self
        answers = vars(self.tables)["facts"].answers
        encoded, found = self.encoded.here(choose, answers)
        if not len(encoded.parts):
            raise NoClaims(nothing)
        make = TablesOfPart(self.kind, self.run.min_plausibility)
        truths, facts = encoded.parts.tables(make, found, {"truths": 0, "facts": 0})
        tables = replace(self.tables, truths=truths, facts=facts)
        kept = None if self.kind == "numeric" else found
        here = Result(tables, self.run, fitted=self.fitted, encoded=encoded, plausibility=kept)
        here._whole = self
        return here

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
                target_file = unfinished / f"{name}.parquet"
                if progress is not None:
                    progress("writing", n_written, n_rows)
                if isinstance(table, PieceTable):
                    tell = _told(table, progress)
                    table.write_parquet(target_file, compression_level=1, tell=tell)
                else:
                    table.write_parquet(target_file, compression_level=1)
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

    def scan(self, name: str) -> pl.LazyFrame:
        """A table that `save` writes, such as ``"facts"``, as a lazy polars frame.

        Where the claims are on disk, nothing of it is in memory until the query asks for it.
        """
        table = self.frames().get(name)
        if table is None:
            known = ", ".join(name for name, table in self.frames().items() if table is not None)
            raise ParameterError(f"scan: no table {name!r}; there are {known}")
        return table.scan() if isinstance(table, PieceTable) else table.lazy()

    def write_database(
        self,
        address: str,
        schema: str | None = None,
        *,
        force: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> str:
        """Write the tables truths, facts, sources and notes to a database: all of them, or nothing.

        Tables of these names are replaced if veracity wrote them; those of others stay unless
        `force`. Returns the address without its password.

        Parameters
        ----------
        address
            Where, e.g. ``postgresql://user@host/database`` or ``sqlite:///file.db``.
        schema
            The schema for the tables, made if it is not there; for SQLite, which has none, what
            their names begin with. It may also stand in the address, behind a ``#``.
        force
            Whether tables of others are replaced, too.
        progress
            Called with phase, done and total as rows are written.
        """
        run = uuid.uuid4().hex[:12]
        own = self.tables
        frames = (own.truths, own.facts, own.sources, notes_table(self.run, run))
        tables = dict(zip(DATABASE_TABLES, frames, strict=True))
        return write_tables(address, tables, schema, run=run, force=force, tell=progress)

    def frames(self) -> dict[str, pl.DataFrame | PieceTable | None]:
        """All that a folder has: the tables, and the claims they were made from."""
        frames: dict[str, pl.DataFrame | PieceTable | None] = dict(vars(self.tables))
        if self.encoded is not None:
            frames["claims"], frames["layout"] = saved_tables(self.encoded)
            frames["labels"] = self.encoded.names.labels.to_frame("label")
            frames["attributes"] = self.encoded.names.attributes.to_frame("attribute")
            if len(self.encoded.blocks) > 1:
                frames["blocks"] = blocks_table(self.encoded)
            if self.encoded.names.n_open:
                frames["open_values"] = pl.DataFrame({"values": [self.encoded.names.n_open]})
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
        contested = self.in_short.n_contested
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

    @cached_property
    def in_short(self) -> Short:
        """How many truths there are and are contested, and the closest calls: in one look."""
        return Short.of(vars(self.tables)["truths"])

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


def _told(
    table: PieceTable, progress: Callable[[str, int, int], None] | None
) -> Callable[[int], None] | None:
    """Who tells how many pieces of a table are written."""
    if progress is None:
        return None
    return lambda number: progress(f"writing {table.name}", number, table.n_pieces)


def load(folder: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    path = Path(folder)
    if not (path / RUN_FILE).is_file():
        raise UnreadableFile(
            f"{path}: not the folder of a run (no run.json); 'veracity discover --out' makes one"
        )
    try:
        run = Run.from_json(json.loads((path / RUN_FILE).read_text(encoding="utf-8")))
        tables, encoded, names = (_on_disk if _is_large(path, run) else _in_memory)(path, run)
        fitted = _fitted_in(path, run, names)
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(f"{path}: the run is damaged ({error}); discover it again") from error
    return Result(tables, run, fitted=fitted, encoded=encoded)


def _is_large(path: Path, run: Run) -> bool:
    """Whether a run has to stay on disk."""
    if fits(run.input.claims):
        return False
    if not (path / "blocks.parquet").exists():
        n_bytes = BYTES_PER_CLAIM * run.input.claims
        require_room(n_bytes, f"{path}: its {run.input.claims:,} claims")
    return True


def _in_memory(path: Path, run: Run) -> tuple[Tables, Encoded | None, Names | None]:
    """The tables of a run, its claims as one block, and the names; an older version kept fewer."""
    tables = Tables(*(_read_table(path, field.name) for field in fields(Tables)))
    _check_tables(tables)
    claims, layout = (_read_table(path, name) for name in ("claims", "layout"))
    names = _names_in(path, tables.sources)
    if claims is None or layout is None or names is None:
        return tables, None, None
    part = part_from(tables.facts, (claims, layout), names, run.kind)
    return tables, Encoded(run.kind, names, PartsInMemory((part,))), names


def _on_disk(path: Path, run: Run) -> tuple[Tables, Callable[[], Encoded], Names]:
    """The same of a run that memory does not hold: its tables are read when they are asked for.

    So are its claims, block by block, as they were when they were saved.
    """
    truths, facts = (_scanned_table(path, name) for name in ("truths", "facts"))
    small = (_read_table(path, name) for name in ("sources", "copies", "changes"))
    tables = Tables(truths, facts, *small)
    names = _names_in(path, tables.sources)
    if names is None:
        raise ValueError("labels.parquet or attributes.parquet is not there")

    def encoded() -> Encoded:
        engine = Local()
        room = Room(Spill(), engine.allowed or LITTLE, os.cpu_count() or 1)
        return Encoded(run.kind, names, spilled_parts(_saved_parts(path, names, run.kind), room))

    return tables, encoded, names


def _saved_parts(path: Path, names: Names, kind: Kind) -> Iterator[Part]:
    """The claims of a run, one block after the other."""
    tables = {n: pl.scan_parquet(path / f"{n}.parquet") for n in ("facts", "claims", "layout")}
    first_fact = first_claim = 0
    for n_facts, n_claims in pl.read_parquet(path / "blocks.parquet").iter_rows():
        facts, layout = (
            tables[name].slice(first_fact, n_facts).collect() for name in ("facts", "layout")
        )
        claims = tables["claims"].slice(first_claim, n_claims).collect()
        claims = claims.with_columns(pl.col("fact") - first_fact)
        yield part_from(facts, (claims, layout), names, kind)
        first_fact, first_claim = first_fact + n_facts, first_claim + n_claims


def _scanned_table(path: Path, name: str) -> PieceTable:
    rows = pl.scan_parquet(path / f"{name}.parquet")
    n_rows = rows.select(pl.len()).collect().item()

    def piece(number: int) -> pl.DataFrame:
        return rows.slice(number * ROWS_PER_BATCH, ROWS_PER_BATCH).collect()

    return PieceTable(name, piece, -(-n_rows // ROWS_PER_BATCH), n_rows)


def _read_table(path: Path, name: str) -> Any:  # noqa: ANN401 - a frame, or none if it may lack
    file = path / f"{name}.parquet"
    is_needed = name in ("truths", "facts", "sources")
    return pl.read_parquet(file) if is_needed or file.exists() else None


def _names_in(path: Path, sources: pl.DataFrame) -> Names | None:
    """The names of sources, labels and attributes; None if an older version saved the run."""
    labels, attributes = (_read_table(path, name) for name in ("labels", "attributes"))
    if labels is None or attributes is None:
        return None
    n_open = _read_table(path, "open_values")
    return Names(
        sources["source"], labels["label"], attributes["attribute"],
        0 if n_open is None else n_open.item(),
    )  # fmt: skip


def _fitted_in(path: Path, run: Run, names: Names | None) -> Fitted | None:
    """What was learned; None where it was not kept, or cannot be made again from a file."""
    file = path / FITTED_FILE
    if names is None or not file.exists():
        return None
    restored = importlib.import_module("veracity.algorithms.catalogue").restored
    algorithm = restored(run.algorithm, run.parameters)
    if algorithm is None:
        return None
    with np.load(file, allow_pickle=False) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    fitted = Fitted.from_arrays(algorithm, names, run.kind, kept, run.normalisation)
    return replace(fitted, columns=run.input.columns)


def _check_tables(tables: Tables) -> None:
    """Refuse what `Result.save` does not write."""
    for name, table in (("truths", tables.truths), ("facts", tables.facts)):
        if not {"value", "plausibility", "claims", "supporters"} & set(table.columns):
            raise ValueError(f"{name}.parquet lacks its columns")
