"""Run a study: its tasks on all cores, stopped and resumed at any time, and the outcome shown.

Rows are stored in one file as they come. A study that is started again in the same folder continues
where it was stopped. Tables, figures and a page are made of the rows.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from veracity._version import __version__
from veracity.errors import OutputError, ParameterError, StudyError
from veracity.io.atomic import atomic_file, write_errors
from veracity.progress import Progress, no_progress
from veracity.show.figures.base import Figure
from veracity.show.html import page
from veracity.show.sections import Section, Table
from veracity.study.base import Row, Study

STUDY_FILE = "study.json"
"""The file that makes a folder that of a study."""

ROWS_FILE = "rows.parquet"

SECONDS_BETWEEN_WRITES = 10.0
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
    rows = _Rows(study, None if folder is None else Path(folder))
    n_workers = 1 if study.measures_time else workers or os.cpu_count() or 1
    try:
        while left := rows.left():
            n_done = rows.n_tasks
            tell(f"study {study.name}", n_done, n_done + len(left))
            with closing(_done(study, left, n_workers)) as done:
                for number, (task, found) in enumerate(done, start=1):
                    rows.add(task, found)
                    tell(f"study {study.name}", n_done + number, n_done + len(left))
    finally:
        rows.write()
    return rows.all


class _Rows:
    """Rows of the tasks that are done, in memory and in one file, in the order of the tasks."""

    def __init__(self, study: Study, folder: Path | None) -> None:
        self._study, self._file = study, None if folder is None else folder / ROWS_FILE
        self.all = pl.DataFrame(schema={"task": pl.String})
        self._fresh: list[Row] = []
        if folder is not None:
            _claim(folder, study)
        if self._file is not None and self._file.exists():
            self.all = pl.read_parquet(self._file, glob=False)
        self.n_tasks = self.all["task"].n_unique()
        self._n_written, self._last_written = len(self.all), time.monotonic()

    def left(self) -> list[str]:
        """Return the tasks that are not done."""
        self._merge()
        done = set(self.all["task"])
        return [task for task in dict.fromkeys(self._study.tasks(self.all)) if task not in done]

    def add(self, task: str, rows: list[Row]) -> None:
        """Add the rows of a task that is done."""
        if not rows:
            raise ValueError(f"task {task!r} returned no row, so it cannot be marked as done")
        self._fresh += [{"task": task, **row} for row in rows]
        self.n_tasks += 1
        if time.monotonic() - self._last_written > SECONDS_BETWEEN_WRITES:
            self.write()

    def write(self) -> None:
        """Write all rows to the file, unless it has them."""
        self._merge()
        if self._file is not None and len(self.all) > self._n_written:
            with atomic_file(self._file) as file:
                self.all.write_parquet(file)
        self._n_written, self._last_written = len(self.all), time.monotonic()

    def _merge(self) -> None:
        """Move the new rows to the others."""
        if not self._fresh:
            return
        fresh, self._fresh = pl.DataFrame(self._fresh, infer_schema_length=None), []
        rows = pl.concat([self.all, fresh], how="diagonal_relaxed")
        place = {task: n for n, task in enumerate(dict.fromkeys(self._study.tasks(rows)))}
        order = pl.col("task").replace_strict(place, default=len(place), return_dtype=pl.Int64)
        self.all = rows.sort(order, maintain_order=True)


def publish(study: Study, rows: pl.DataFrame, folder: str | os.PathLike[str]) -> Path:
    """Write tables (CSV), figures (SVG and PNG) and a page that needs no network; give its path."""
    target = Path(folder)
    made = _claim(target, study)
    tables = study.tables(rows)
    figures = study.figures(tables)
    for name, table in tables.items():
        with atomic_file(target / f"{name}.csv") as file:
            table.write_csv(file, float_precision=6)
    for name, figure in figures.items():
        for suffix in (".svg", ".png"):
            figure.save(target / f"{name}{suffix}", force=True)
    with atomic_file(target / "index.html") as file:
        file.write_text(page(study.title, _sections(study, tables, figures, made)), "utf-8")
    return target / "index.html"


def _sections(
    study: Study, tables: dict[str, pl.DataFrame], figures: dict[str, Figure], made: dict[str, Any]
) -> list[Section]:
    """Return the sections of the page: method, findings, figures, tables, settings."""
    machine = ", ".join(f"{name} {value}" for name, value in made["machine"].items())
    settings = [(name, json.dumps(value)) for name, value in made["settings"].items()]
    how = f"Made by veracity {made['veracity']}, started {made['started']}, on {machine}."
    shown = [Table(title=name.replace("_", " "), rows=table) for name, table in tables.items()]
    used = Table(title="Settings", rows=pl.DataFrame(settings, ["setting", "value"], orient="row"))
    drawn = [Section(figure=figure) for figure in figures.values()]
    return [
        Section(title="Method", anchor="method", sentences=[study.about]),
        Section(title="Findings", anchor="findings", sentences=study.findings(tables)),
        *([Section(title="Figures", anchor="figures", more=drawn)] if drawn else []),
        Section(title="Tables", anchor="tables", more=[Section(tables=[one]) for one in shown]),
        Section(title="How it was made", anchor="made", sentences=[how], tables=[used]),
    ]


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
            with _starting_workers():
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
def _starting_workers() -> Iterator[None]:
    """Give processes that start in this block one thread each, and let them ignore Ctrl-C."""
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value
        if is_main:
            signal.signal(signal.SIGINT, handler)


def _claim(folder: Path, study: Study) -> dict[str, Any]:
    """Make the folder, or check that it belongs to this study; return the content of its file."""
    settings = json.loads(json.dumps(asdict(study)))
    marker = folder / STUDY_FILE
    with write_errors(folder):
        if marker.exists():
            try:
                made: dict[str, Any] = json.loads(marker.read_text(encoding="utf-8"))
                own = made["veracity"], made["study"], made["settings"]
            except (ValueError, TypeError, KeyError) as error:
                raise OutputError(f"{marker} is damaged; choose another folder") from error
            if own != (__version__, study.name, settings):
                raise OutputError(
                    f"{folder} holds a study of veracity {own[0]}, or with other settings; choose "
                    f"another folder, or give the settings in {marker.name} to go on with it"
                )
            return made
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


def _machine() -> dict[str, Any]:
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "polars": pl.__version__,
    }
