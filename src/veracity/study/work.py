"""Carrying out a study: its tasks on all cores, stopped and resumed at will, and the outcome shown.

Rows are kept in parts as they come; a study that is started again in the same folder goes on where
it was stopped. At the end the parts become one file, from which tables, figures and page are made.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from veracity._version import __version__
from veracity.errors import OutputError, StudyError
from veracity.plot import save_figure
from veracity.study.base import Row, Study
from veracity.study.page import write_page
from veracity.write import finished_file

__all__ = ["STUDY_FILE", "carry_out", "publish"]

Progress = Callable[[str, int, int], None]

STUDY_FILE = "study.json"
"""The file that makes a folder that of a study."""

ROWS_FILE = "rows.parquet"
PARTS = "parts"

SECONDS_BETWEEN_PARTS = 10.0
"""So much work, at most, is lost when a study is stopped."""

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
"""Tasks share the cores; threads within each would only get in each other's way."""


def carry_out(
    study: Study,
    folder: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Do what is left to do of a study, and give all its rows.

    Parameters
    ----------
    study
        What to do.
    folder
        Where rows are kept; one that holds the same study, stopped before, is resumed. Without it
        nothing is written.
    workers
        How many processes share the tasks; as many as there are cores by default.
    progress
        Called with phase, done and total as the work goes on.
    """
    ledger = _Ledger(study, None if folder is None else Path(folder))
    n_workers = 1 if study.measures_time else workers or os.cpu_count() or 1
    try:
        while left := _left(study, ledger.rows()):
            n_done = ledger.n_tasks
            for number, (task, rows) in enumerate(_done(study, left, n_workers), start=1):
                ledger.add(task, rows)
                if progress is not None:
                    progress(f"study {study.name}", n_done + number, n_done + len(left))
    finally:
        ledger.write_part()
    return ledger.finish()


def publish(study: Study, rows: pl.DataFrame, folder: str | os.PathLike[str]) -> Path:
    """Write tables (CSV), figures (SVG and PNG) and a page that needs no network; give its path."""
    target = Path(folder)
    tables = study.tables(rows)
    figures = study.figures(tables)
    for name, table in tables.items():
        with finished_file(target / f"{name}.csv") as file:
            table.write_csv(file, float_precision=6)
    for name, figure in figures.items():
        for suffix in (".svg", ".png"):
            save_figure(figure, target / f"{name}{suffix}")
    drawn = {name: (target / f"{name}.svg").read_text(encoding="utf-8") for name in figures}
    made = json.loads((target / STUDY_FILE).read_text(encoding="utf-8"))
    return write_page(target / "index.html", study, tables, drawn, made)


def _left(study: Study, rows: pl.DataFrame) -> list[str]:
    done = set(rows["task"]) if "task" in rows.columns else set()
    return [task for task in study.tasks(rows) if task not in done]


def _done(study: Study, tasks: Sequence[str], n_workers: int) -> Iterator[tuple[str, list[Row]]]:
    """The tasks with their rows, as they get done."""
    if n_workers == 1 or len(tasks) == 1:
        for task in tasks:
            yield task, study.do(task)
        return
    spawn = multiprocessing.get_context("spawn")  # forking would copy the locks of other threads
    with _environment(ONE_THREAD), ProcessPoolExecutor(n_workers, spawn, _ignore_stop) as pool:
        task_of = {pool.submit(study.do, task): task for task in tasks}
        try:
            for future in as_completed(task_of):
                yield task_of[future], future.result()
        except BrokenProcessPool as error:
            raise StudyError(
                "a worker died, most likely for lack of memory; start the same command again with "
                "fewer workers: what is done is kept"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _ignore_stop() -> None:
    """Ctrl-C is the parent's business: it stops the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Variables that the processes started meanwhile will find."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Ledger:
    """The rows of the tasks that are done, in memory and on disk."""

    def __init__(self, study: Study, folder: Path | None) -> None:
        self.folder = folder
        self.n_tasks = 0
        self._frames: list[pl.DataFrame] = []
        self._fresh: list[Row] = []
        self._last_written = time.monotonic()
        if folder is not None:
            _claim(folder, study)
            done = folder / ROWS_FILE
            kept = [done] if done.exists() else sorted((folder / PARTS).glob("*.parquet"))
            self._frames = [_read_rows(file) for file in kept]
            self.n_tasks = sum(frame["task"].n_unique() for frame in self._frames)

    def rows(self) -> pl.DataFrame:
        fresh = [pl.DataFrame(self._fresh, infer_schema_length=None)] if self._fresh else []
        frames = [*self._frames, *fresh]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()

    def add(self, task: str, rows: list[Row]) -> None:
        self._fresh += [{"task": task, **row} for row in rows]
        self.n_tasks += 1
        if time.monotonic() - self._last_written > SECONDS_BETWEEN_PARTS:
            self.write_part()

    def write_part(self) -> None:
        self._last_written = time.monotonic()
        if self.folder is None or not self._fresh:
            return
        frame = pl.DataFrame(self._fresh, infer_schema_length=None)
        parts = self.folder / PARTS
        parts.mkdir(exist_ok=True)
        with finished_file(parts / f"{len(list(parts.iterdir())):05d}.parquet") as file:
            frame.write_parquet(file)
        self._frames.append(frame)
        self._fresh = []

    def finish(self) -> pl.DataFrame:
        """One file in place of the parts."""
        rows = self.rows()
        if self.folder is not None and (self.folder / PARTS).exists():
            with finished_file(self.folder / ROWS_FILE) as file:
                rows.write_parquet(file)
            for part in (self.folder / PARTS).iterdir():
                part.unlink()
            (self.folder / PARTS).rmdir()
        return rows


def _read_rows(file: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StudyError(
            f"{file}: damaged; delete it to have its tasks done again, and start once more"
        ) from error


def _claim(folder: Path, study: Study) -> None:
    """Make the folder this study's, or find that it is."""
    settings = json.loads(json.dumps(study.settings()))
    marker = folder / STUDY_FILE
    if marker.exists():
        _check_same(marker, study.name, settings)
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder} is no folder of a study; choose another name")
    made = {
        "veracity": __version__,
        "study": study.name,
        "settings": settings,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with finished_file(marker) as file:
        file.write_text(json.dumps(made, indent=2), encoding="utf-8")


def _check_same(marker: Path, name: str, settings: dict[str, Any]) -> None:
    try:
        made = json.loads(marker.read_text(encoding="utf-8"))
        is_same = (made["study"], made["settings"]) == (name, settings)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise OutputError(f"{marker} is damaged; choose another folder") from error
    if not is_same:
        raise OutputError(
            f"{marker.parent} holds a study with other settings; choose another folder, or give "
            f"the settings in {marker.name} to go on with it"
        )


def _machine() -> dict[str, Any]:
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "polars": pl.__version__,
    }
