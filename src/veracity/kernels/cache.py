"""Where compiled kernels are kept."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path


def places() -> list[Path]:
    """Where machine code is looked for; it is kept at the first that can be written to."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    beside, *homes = _usual_places()
    return [beside / "__pycache__", *(home / "veracity" for home in homes)]


def find_cache() -> None:
    """Give Numba a place for what it compiles where neither package nor home can be written to."""
    if os.environ.get("NUMBA_CACHE_DIR") or any(map(_can_be_written, _usual_places())):
        return
    os.environ["NUMBA_CACHE_DIR"] = str(_own_temporary())


def _usual_places() -> list[Path]:
    """Where Numba looks by itself: beside the kernels, and in the home, if there is one."""
    with contextlib.suppress(RuntimeError, KeyError):  # a container's user may be in no list
        home = Path("~/.cache").expanduser()
        return [Path(__file__).parent, Path(os.environ.get("XDG_CACHE_HOME") or home)]
    return [Path(__file__).parent]


def _can_be_written(place: Path) -> bool:
    """Whether files can be made in a place, or it can be made where it is to be."""
    there = next((p for p in (place, *place.parents) if p.exists()), place)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _own_temporary() -> Path:
    """A folder that is nobody else's: what is in it will be run."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    own = Path(tempfile.gettempdir()) / f"veracity-{user}"
    with contextlib.suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
        is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
        if is_private and found.st_uid == user:
            return own
    fresh = Path(tempfile.mkdtemp(prefix="veracity-"))
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    return fresh
