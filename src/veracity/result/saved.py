"""The folder of a run: how its files are marked as belonging together, and how they are read.

Every file carries the id of the run, and ``run.json`` tells the digest of each, and that of what it
tells itself: files of two runs are never taken for one, also if a writer replaces the folder while
it is read, and none is taken for sound that is not as it was saved. A digest is no signature: who
makes one up for a forged table meets the checks of `soundness`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.base import Algorithm
from veracity.algorithms.item_features import ItemFeatures, with_kinds
from veracity.encoding.names import Names
from veracity.encoding.on_disk import Budget, store_partitions
from veracity.encoding.partitions import Encoded, Partition, PartitionsInMemory
from veracity.engines import Local
from veracity.errors import UnreadableFile, VeracityError, first_line
from veracity.fit.fitted import Fitted
from veracity.io.atomic import recover
from veracity.io.frames import ROWS_PER_BATCH
from veracity.io.lazy import LazyTable
from veracity.io.memory import BYTES_PER_CLAIM, fits_in_memory, require_memory
from veracity.io.temp_files import TempFolder
from veracity.reading.schema import Kind
from veracity.result.layout import part_from
from veracity.result.run import Run
from veracity.result.soundness import (
    check_blocks,
    check_claims,
    check_counts,
    check_names,
    check_schema,
    check_tables,
    check_values,
)
from veracity.result.tables import Tables

RUN_FILE = "run.json"
"""The file that makes a folder the folder of a run."""

FITTED_FILE = "fitted.npz"
"""What was learned, as arrays."""

ALWAYS_THERE = ("truths", "facts", "sources", "claims", "layout", "labels", "attributes")
"""The tables that every run has; the others are written where there is something to tell."""

RUN_MARK = "veracity.run"
"""The entry under which every file has the id of its run."""

LITTLE = 10**9
"""Bytes of memory that are used where the system does not tell how many are free."""

TRIES = 6
PAUSE = 0.05
"""A run that is replaced while it is read is read again: so often, after so many seconds, then
after twice as many."""


@dataclass(frozen=True)
class Saved:
    """What is in the folder of a run."""

    run: Run
    tables: Tables
    encoded: Encoded | Callable[[], Encoded]
    fitted: Fitted | None


def read_saved(path: Path) -> Saved:
    """All of a run, as it was at one time; an `UnreadableFile` if it is damaged, or is no run."""
    _require_run(path)
    for attempt in range(TRIES):
        before = _id_of(path)
        try:
            saved = _Folder(path).read()
        except VeracityError:
            raise
        except (Exception, pl.exceptions.PanicException) as error:  # readers raise what they like
            if _id_of(path) == before:
                raise UnreadableFile(
                    f"{path}: the run is damaged: {_reason(error)}; discover it again"
                ) from error
        else:
            if _id_of(path) == before:
                return saved
        time.sleep(PAUSE * 2**attempt)
    raise UnreadableFile(
        f"{path}: the run was replaced by another each of the {TRIES} times it was read; load it "
        "when nobody writes to it"
    )


def _require_run(path: Path) -> None:
    if not (path / RUN_FILE).is_file():
        recover(path.absolute().parent)  # who was killed may have set it aside
    if not (path / RUN_FILE).is_file():
        time.sleep(PAUSE)  # or somebody is replacing it this moment
    if not (path / RUN_FILE).is_file():
        what = (
            "not the folder of a run (no run.json)" if path.exists() else "there is no such folder"
        )
        raise UnreadableFile(
            f"{path}: {what}; result.save(folder) and 'veracity discover --out' make one"
        )


def _reason(error: BaseException) -> str:
    return f"no {error}" if isinstance(error, KeyError) else first_line(error)[:300]


def _id_of(path: Path) -> str | None:
    """The id of the run that is there now; None if that cannot be told."""
    try:
        return str(json.loads((path / RUN_FILE).read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def sealed(told: dict[str, Any]) -> dict[str, Any]:
    """What ``run.json`` tells, with a digest of it."""
    content = {name: value for name, value in told.items() if name != "seal"}
    text = json.dumps(content, sort_keys=True)
    return {**content, "seal": hashlib.sha256(text.encode()).hexdigest()}


def digest_of(file: Path) -> str:
    """The digest by which a file is known to be as it was saved."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


class _Folder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        told = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
        self.run = Run.from_json(told)
        self.id, self.digests = told["id"], told["digests"]
        if told != sealed(told):
            raise ValueError(f"{RUN_FILE} is not as it was saved")

    def read(self) -> Saved:
        """All that is kept."""
        for name in self.run.files:
            if not self.file(name).is_file():
                raise ValueError(f"{name} is not there")
        read = self._on_disk if self._is_large() else self._in_memory
        tables, names, encoded = read()
        fitted = self._fitted(names, tables)
        if fitted is not None and fitted.algorithm.item_features is not None:
            encoded = _with_kinds(encoded, fitted.algorithm.item_features)
        return Saved(self.run, tables, encoded, fitted)

    def file(self, name: str) -> Path:
        """A file of the run."""
        if Path(name).name != name:
            raise ValueError(f"{name!r} is no file of a run")
        return self.path / name

    def _is_large(self) -> bool:
        """Whether the run has to stay on disk."""
        n_claims = self.run.input.claims
        if fits_in_memory(n_claims):
            return False
        if not self.file("blocks.parquet").exists():
            require_memory(BYTES_PER_CLAIM * n_claims, f"{self.path}: its {n_claims:,} claims")
        return True

    def _in_memory(self) -> tuple[Tables, Names, Encoded]:
        """The tables, the names, and the claims as one block."""
        run = self.run
        tables = Tables(*(self._table(field.name) for field in fields(Tables)))
        check_tables(tables, run.kind)
        claims, layout = (self._table(name) for name in ("claims", "layout"))
        names = self._names(tables.sources, tables.facts.schema)
        check_claims(tables.facts, claims, layout, names, run.kind)
        check_counts(claims, tables.sources)
        check_values(tables, layout, run.kind, run.min_plausibility)
        self._check_counts(len(tables.facts), len(claims))
        part = part_from(tables.facts, (claims, layout), names, run.kind)
        return tables, names, Encoded(run.kind, names, PartitionsInMemory((part,)))

    def _on_disk(self) -> tuple[Tables, Names, Callable[[], Encoded]]:
        """The same of a run that memory does not hold: its tables are read when they are asked for.

        So are its claims, block by block, as they were when they were saved.
        """
        run = self.run
        truths, facts = (self._scanned(name) for name in ("truths", "facts"))
        for table in (truths, facts):
            check_schema(table.name, table.schema, run.kind)
        others = {field.name: self._table(field.name) for field in fields(Tables)[2:]}
        tables = Tables(truths, facts, **others)
        names = self._names(tables.sources, facts.schema)
        n_claims = len(self._scanned("claims"))
        check_blocks(self._table("blocks"), len(facts), n_claims)
        self._check_counts(len(facts), n_claims)

        def encoded() -> Encoded:
            engine = Local()
            budget = Budget(TempFolder(), engine.allowed or LITTLE, os.cpu_count() or 1)
            return Encoded(run.kind, names, store_partitions(self._parts(names, run.kind), budget))

        return tables, names, encoded

    def _check_counts(self, n_facts: int, n_claims: int) -> None:
        told = self.run.input
        if (told.facts, told.claims) != (n_facts, n_claims):
            raise ValueError("run.json counts other facts and claims than there are")

    def _parts(self, names: Names, kind: Kind) -> Iterator[Partition]:
        """The claims, one block after the other."""
        first_fact = first_claim = 0
        for n_facts, n_claims in self._table("blocks").iter_rows():
            facts, layout = (self._rows(name, first_fact, n_facts) for name in ("facts", "layout"))
            claims = self._rows("claims", first_claim, n_claims)
            claims = claims.with_columns(pl.col("fact") - first_fact)
            with _still_sound(self.path):
                check_claims(facts, claims, layout, names, kind)
                yield part_from(facts, (claims, layout), names, kind)
            first_fact, first_claim = first_fact + n_facts, first_claim + n_claims

    def _scanned(self, name: str) -> LazyTable:
        self._check_mark(f"{name}.parquet")
        rows = pl.scan_parquet(self.file(f"{name}.parquet"), glob=False)
        n_rows = rows.select(pl.len()).collect().item()

        def piece(number: int) -> pl.DataFrame:
            return self._rows(name, number * ROWS_PER_BATCH, ROWS_PER_BATCH)

        return LazyTable(name, piece, -(-n_rows // ROWS_PER_BATCH), n_rows)

    def _rows(self, name: str, first: int, n_rows: int) -> pl.DataFrame:
        """Some rows of a table, long after the run was loaded."""
        with _still_sound(self.path):
            file = self.file(f"{name}.parquet")
            self._check_mark(file.name)
            rows = pl.scan_parquet(file, glob=False).slice(first, n_rows).collect()
            self._check_mark(file.name)  # it may have been replaced meanwhile
        return rows

    def _table(self, name: str) -> Any:
        file = self.file(f"{name}.parquet")
        if name not in ALWAYS_THERE and not file.exists():
            return None
        self._check_digest(file)
        self._check_mark(file.name)
        return pl.scan_parquet(file, glob=False).collect()

    def _check_digest(self, file: Path) -> None:
        if digest_of(file) != self.digests.get(file.name):
            raise ValueError(f"{file.name} is not as it was saved")

    def _check_mark(self, name: str) -> None:
        try:
            mark = pl.read_parquet_metadata(self.file(name)).get(RUN_MARK)
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise ValueError(f"{name} is damaged: {first_line(error)}") from error
        if mark != self.id:
            raise ValueError(f"{name} is of another run")

    def _names(self, sources: pl.DataFrame, facts: Any) -> Names:
        """The names of sources, labels and attributes."""
        labels, attributes = (self._table(name) for name in ("labels", "attributes"))
        n_unnumbered = self._table("open_values")
        names = Names(
            sources["source"], labels["label"], attributes["attribute"],
            0 if n_unnumbered is None else int(n_unnumbered.item()),
        )  # fmt: skip
        check_names(names, facts)
        return names

    def _fitted(self, names: Names, tables: Tables) -> Fitted | None:
        """What was learned; None where it was not kept, or cannot be made again from a file."""
        file, run = self.path / FITTED_FILE, self.run
        if not file.exists():
            return None
        self._check_digest(file)
        restored = importlib.import_module("veracity.algorithms.catalogue").restored
        algorithm = restored(run.algorithm, run.parameters)
        if algorithm is None:
            return None
        algorithm = _describing(algorithm, tables)
        fitted = Fitted.from_arrays(algorithm, names, run.kind, self._arrays(), run.normalisation)
        return replace(fitted, columns=run.input.columns)

    def _arrays(self) -> dict[str, Any]:
        try:
            with np.load(self.path / FITTED_FILE, allow_pickle=False) as arrays:
                kept = {name: arrays[name] for name in arrays.files}
        except MemoryError:
            raise ValueError(f"{FITTED_FILE} asks for more memory than it is large") from None
        mark = kept.pop(RUN_MARK, None)
        if str(mark) != self.id:
            raise ValueError(f"{FITTED_FILE} is of another run")
        return kept


def _describing(algorithm: Algorithm[Any], tables: Tables) -> Algorithm[Any]:
    """The algorithm with the tables of features that were kept beside it."""
    given: dict[str, Any] = {}
    for name in ("source_features", "item_features"):
        known, table = getattr(algorithm, name), getattr(tables, name)
        if known is not None:
            if table is None:
                raise ValueError(f"{name}.parquet is not there")
            given[name] = known.with_table(table)
    return replace(algorithm, **given) if given else algorithm  # type: ignore[type-var]


def _with_kinds(
    encoded: Encoded | Callable[[], Encoded], features: ItemFeatures
) -> Encoded | Callable[[], Encoded]:
    """The claims, as they are or when they are asked for, with the kinds of their items."""
    if callable(encoded):
        read = encoded
        return lambda: with_kinds(read(), features)[0]
    return with_kinds(encoded, features)[0]


class _still_sound:  # noqa: N801 - a context manager
    """What is wrong with a run that is read bit by bit is told as when it is loaded."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Say which run is damaged, or was replaced."""
        expected = (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
        if isinstance(error, expected) and not isinstance(error, VeracityError):
            raise UnreadableFile(
                f"{self._path}: the run is damaged, or was replaced since it was loaded: "
                f"{_reason(error)}; load it again"
            ) from error
