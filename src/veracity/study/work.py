"""Run a study: its tasks on all cores, stopped and resumed at any time, and the outcome shown.

Rows are stored in parts as they come. A study that is started again in the same folder continues
where it was stopped. At the end the parts become one file, from which tables, figures and page are
made.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import shutil
import signal
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from veracity._version import __version__
from veracity.errors import OutputError, ParameterError, StudyError
from veracity.io.atomic import atomic_file, write_errors
from veracity.progress import Progress, no_progress
from veracity.show.figures.base import save_chart
from veracity.study.base import Row, Study
from veracity.study.page import write_page

STUDY_FILE = "study.json"
"""The file that makes a folder that of a study."""

ROWS_FILE = "rows.parquet"
SAMPLE_FILE = "sample.csv"
"""Rows of a few tasks, to be repeated by readers who want to check them."""

SOME_TASKS = 4
"""Number of these tasks."""

MOST_SECONDS = 5.0
"""Maximum seconds of a task in the sample, if other tasks take less."""

PARTS = "parts"

SECONDS_BETWEEN_PARTS = 10.0
"""Maximum seconds of work that is lost when a study is stopped."""

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
"""Tasks share the cores; threads within each would only get in each other's way."""


def carry_out(
    study: Study,
    folder: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Run the tasks of a study that are left, and return all its rows.

    Parameters
    ----------
    study
        The study.
    folder
        Folder for the rows; a stopped study in this folder is resumed. Without a folder, no file is
        written.
    workers
        Number of processes that share the tasks; by default, the number of cores.
    progress
        Called with phase, done and total as the work goes on.
    """
    if workers is not None and workers < 1:
        raise ParameterError(f"study: workers must be at least 1, got {workers}")
    tell = progress or no_progress
    ledger = _Ledger(study, None if folder is None else Path(folder))
    n_workers = 1 if study.measures_time else workers or os.cpu_count() or 1
    try:
        while left := _left(study, ledger.rows()):
            ledger.check_version()
            n_done = ledger.n_tasks
            tell(f"study {study.name}", n_done, n_done + len(left))
            with closing(_done(study, left, n_workers)) as done:
                for number, (task, rows) in enumerate(done, start=1):
                    ledger.add(task, rows)
                    tell(f"study {study.name}", n_done + number, n_done + len(left))
    finally:
        ledger.write_part()
    return ledger.finish(study)


def publish(study: Study, rows: pl.DataFrame, folder: str | os.PathLike[str]) -> Path:
    """Write tables (CSV), figures (SVG and PNG) and a page that needs no network; give its path."""
    target = Path(folder)
    made = _claim(target, study)
    tables = study.tables(rows)
    for name, table in tables.items():
        with atomic_file(target / f"{name}.csv") as file:
            table.write_csv(file, float_precision=6)
    if {"task", study.measure, "seconds"} <= set(rows.columns):
        with atomic_file(target / SAMPLE_FILE) as file:
            _sample(rows, study.measure).write_csv(file, float_precision=6)
    figures = study.figures(tables)
    for name, figure in figures.items():
        for suffix in (".svg", ".png"):
            save_chart(figure, target / f"{name}{suffix}", force=True)
    drawn = {name: (target / f"{name}.svg").read_text(encoding="utf-8") for name in figures}
    return write_page(target / "index.html", study, tables, drawn, made)


def _sample(rows: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return the rows of a few tasks: neither the smallest nor those that take long."""
    seconds = rows.group_by("task", maintain_order=True).agg(pl.col("seconds").sum())
    timed = seconds.filter(pl.col("seconds") > 0.0).sort("seconds", maintain_order=True)
    short = timed.filter(pl.col("seconds") <= MOST_SECONDS)
    timed = short if len(short) else timed
    some = timed.slice(len(timed) // 4, SOME_TASKS)["task"]
    kept = [name for name in ("task", "algorithm", "variant", measure) if name in rows.columns]
    return rows.filter(pl.col("task").is_in(some.implode())).select(kept)


def _left(study: Study, rows: pl.DataFrame) -> list[str]:
    done = set(rows["task"]) if "task" in rows.columns else set()
    return [task for task in dict.fromkeys(study.tasks(rows)) if task not in done]


def _done(
    study: Study, tasks: Sequence[str], n_workers: int
) -> Generator[tuple[str, list[Row]], None, None]:
    """Yield the tasks with their rows, as they get done."""
    n_workers = min(n_workers, len(tasks))
    if n_workers == 1:
        for task in tasks:
            yield task, study.do(task)
        return
    others = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")  # forking would copy the locks of other threads
    with ProcessPoolExecutor(n_workers, spawn, _leave_with_parent) as pool:
        try:
            with _environment(ONE_THREAD), _interrupts_ignored():
                task_of = {pool.submit(study.do, task): task for task in tasks}
            for future in as_completed(task_of):
                yield task_of[future], future.result()
        except BrokenProcessPool as error:
            raise StudyError(
                "a worker died, most likely for lack of memory; start the same again with fewer "
                "workers: what is done is kept (a script of your own that starts a study must do "
                "so under if __name__ == '__main__')"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


def _leave_with_parent() -> None:
    """End this worker as soon as its parent has ended."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C; processes started in this block ignore it as long as they live."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


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
        self._made_by = __version__
        self._frames: list[pl.DataFrame] = []
        self._fresh: list[Row] = []
        self._last_written = time.monotonic()
        if folder is not None:
            made = _claim(folder, study)
            self._made_by = made["veracity"]
            for file in [*folder.glob(ROWS_FILE), *sorted((folder / PARTS).glob("*.parquet"))]:
                self._keep(_read_rows(file))

    def _keep(self, frame: pl.DataFrame) -> None:
        """Return rows from disk without duplicates, which a stop between two files may leave."""
        if self._frames:
            frame = frame.filter(~pl.col("task").is_in(self.rows()["task"].unique().implode()))
        self._frames.append(frame)
        self.n_tasks += frame["task"].n_unique()

    def check_version(self) -> None:
        """Raise an error unless the tasks so far were done by this version."""
        if self._made_by != __version__:
            raise StudyError(
                f"{self.folder} holds a study begun by veracity {self._made_by}, and this is "
                f"{__version__}, which may find other rows; choose another folder"
            )

    def rows(self) -> pl.DataFrame:
        fresh = [pl.DataFrame(self._fresh, infer_schema_length=None)] if self._fresh else []
        frames = [*self._frames, *fresh]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()

    def add(self, task: str, rows: list[Row]) -> None:
        if not rows:
            raise ValueError(f"task {task!r} returned no row, so it cannot be marked as done")
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
        with write_errors(parts):
            parts.mkdir(exist_ok=True)
        numbers = [int(part.stem) for part in parts.glob("*.parquet") if part.stem.isdecimal()]
        with atomic_file(parts / f"{max(numbers, default=-1) + 1:05d}.parquet") as file:
            frame.write_parquet(file)
        self._frames.append(frame)
        self._fresh = []

    def finish(self, study: Study) -> pl.DataFrame:
        """Merge the parts into one file, in the order of the tasks."""
        rows = self.rows()
        if rows.is_empty():
            return rows
        place = {task: number for number, task in enumerate(dict.fromkeys(study.tasks(rows)))}
        order = pl.col("task").replace_strict(place, default=len(place), return_dtype=pl.Int64)
        rows = rows.sort(order, maintain_order=True)
        if self.folder is not None and (self.folder / PARTS).exists():
            with atomic_file(self.folder / ROWS_FILE) as file:
                rows.write_parquet(file)
            with write_errors(self.folder / PARTS):
                shutil.rmtree(self.folder / PARTS)
        return rows


def _read_rows(file: Path) -> pl.DataFrame:
    try:
        rows = pl.read_parquet(file, glob=False)
        if "task" not in rows.columns:
            raise pl.exceptions.ColumnNotFoundError("task")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StudyError(
            f"{file}: damaged; delete it to have its tasks done again, and start once more"
        ) from error
    return rows


def _claim(folder: Path, study: Study) -> dict[str, Any]:
    """Make the folder, or check that it belongs to this study; return the content of its file."""
    settings = json.loads(json.dumps(study.settings()))
    marker = folder / STUDY_FILE
    with write_errors(folder):
        if marker.exists():
            return _check_same(marker, study.name, settings)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder} is no folder of a study; choose another name")
        study.check()
        folder.mkdir(parents=True, exist_ok=True)
    made = {
        "veracity": __version__,
        "study": study.name,
        "settings": settings,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
    }
    with atomic_file(marker) as file:
        file.write_text(json.dumps(made, indent=2), encoding="utf-8")
    return made


def _check_same(marker: Path, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    try:
        made: dict[str, Any] = json.loads(marker.read_text(encoding="utf-8"))
        is_same = (made["study"], made["settings"]) == (name, settings)
        is_whole = {"veracity", "started", "machine"} <= made.keys()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise OutputError(f"{marker} is damaged; choose another folder") from error
    if not is_whole:
        raise OutputError(f"{marker} is damaged; choose another folder")
    if not is_same:
        raise OutputError(
            f"{marker.parent} holds a study with other settings; choose another folder, or give "
            f"the settings in {marker.name} to go on with it"
        )
    return made


def _machine() -> dict[str, Any]:
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "polars": pl.__version__,
    }
