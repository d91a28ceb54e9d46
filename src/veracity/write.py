"""Folders of results appear whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from veracity.errors import OutputError

__all__ = ["check_target", "finished_folder"]


def check_target(target: Path, *, force: bool, marker: str) -> None:
    """Refuse to write where something is that must not be lost.

    Even with `force`, only an empty folder or one that holds the file `marker` is replaced.
    """
    if not target.exists() and not target.is_symlink():
        return
    if not force:
        raise OutputError(f"{target} exists; choose another name, or --force to replace it")
    if not target.is_dir() or not ((target / marker).exists() or not any(target.iterdir())):
        raise OutputError(f"{target} exists and was not written by veracity; it is not replaced")


@contextlib.contextmanager
def finished_folder(target: Path) -> Iterator[Path]:
    """Give a folder to write to, which takes its name only when all in it is written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    try:
        (beside / "new").mkdir()
        yield beside / "new"
        if target.exists():
            target.rename(beside / "old")
        (beside / "new").rename(target)
    except (OSError, pl.exceptions.PolarsError) as error:
        if (beside / "old").exists():
            (beside / "old").rename(target)
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"cannot write {target}: {reason}; nothing was written") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
