"""Write the files of a run, two at a time, each with what `saved` knows it by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import polars as pl

from veracity.fit.fitted import Fitted
from veracity.io.lazy import LazyTable
from veracity.progress import Progress
from veracity.result.saved import FITTED_FILE, RUN_MARK, digest_of

ONLY_LOADED = ("claims", "layout")
"""The tables of a folder that nobody asks for single rows: they need no statistics of columns."""


def write_files(
    folder: Path,
    frames: Mapping[str, pl.DataFrame | LazyTable | None],
    fitted: Fitted | None,
    run_id: str,
    tell: Progress,
) -> dict[str, str]:
    """Write the tables of a run, and what was learned; the digests of the files, by their names.

    One file is made while another is packed. Tables on disk or on executors are written one after
    the other: there is room for one piece.
    """
    tables = {name: table for name, table in frames.items() if table is not None}
    n_written, n_rows = 0, sum(map(len, tables.values()))
    mark, digests = {RUN_MARK: run_id}, dict[str, str]()

    def write(name: str, work: Callable[[Path], None]) -> None:
        work(folder / name)
        digests[name] = digest_of(folder / name)

    pool = ThreadPoolExecutor(1 if any(map(_is_elsewhere, tables.values())) else 2)
    try:
        tell("writing", 0, n_rows)
        learned = list[Future[None]]()
        if fitted is not None:  # may be large where sources are many: it is begun first
            learned.append(pool.submit(write, FITTED_FILE, partial(_write_fitted, fitted, mark)))
        works = {name: partial(_write_table, name, tables[name], mark, tell) for name in tables}
        written = [pool.submit(write, f"{name}.parquet", works[name]) for name in tables]
        for table, done in zip(tables.values(), written, strict=True):
            done.result()
            n_written += len(table)
            tell("writing", n_written, n_rows)
        for done in learned:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)  # who is stopped writes nothing more
    return dict(sorted(digests.items()))


def _is_elsewhere(table: pl.DataFrame | LazyTable) -> TypeGuard[LazyTable]:
    """Whether a table is made of what is on disk or on executors."""
    return isinstance(table, LazyTable) and not table.is_kept


def _write_table(
    name: str, table: pl.DataFrame | LazyTable, mark: dict[str, str], tell: Progress, file: Path
) -> None:
    """Write a table as a Parquet file."""
    how: dict[str, Any] = {"compression_level": 1, "metadata": mark}
    how["statistics"] = name not in ONLY_LOADED
    if _is_elsewhere(table):
        how["tell"] = partial(_tell_piece, table, tell)
    table.write_parquet(file, **how)


def _write_fitted(fitted: Fitted, mark: dict[str, str], file: Path) -> None:
    """Write what was learned, as arrays."""
    with file.open("wb") as content:
        np.savez(content, **fitted.to_arrays(), **mark)  # type: ignore[arg-type]


def _tell_piece(table: LazyTable, tell: Progress, number: int) -> None:
    """Tell how many pieces of a table are written."""
    tell(f"writing {table.name}", number, table.n_chunks)
