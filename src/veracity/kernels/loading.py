"""Which kernels run: the reference where claims are few, the compiled ones everywhere else."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from veracity.kernels import reference

__all__ = ["FEW", "kernels", "kernels_for"]

FEW = 50_000
"""Claims up to which loading Numba and what it compiled before takes longer than the work itself
in NumPy, whatever the claims are like; compiling on the first run takes ten times as long."""

ALWAYS_COMPILED = ("climb", "gibbs")
"""Their reference goes from fact to fact, round after round: too slow even for few claims."""


def kernels_for(n_claims: int) -> ModuleType:
    """The kernels for so many claims, where what one of them is given does not tell."""
    return reference if n_claims <= FEW else _compiled()


class _Kernels:
    """Every kernel by its name, as ``kernels.sum_votes(...)``.

    The size of what it is given decides which twin runs, and nothing else: same claims, same bits.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in reference.__all__:
            raise AttributeError(name)

        def either(*arguments: Any) -> Any:  # noqa: ANN401 - as the kernel's own
            # arrays that tell where groups begin have one entry more than there are claims
            is_small = name not in ALWAYS_COMPILED and max(map(_size, arguments)) <= FEW + 1
            return getattr(reference if is_small else _compiled(), name)(*arguments)

        self.__dict__[name] = either
        return either


kernels = _Kernels()


def _size(argument: object) -> int:
    """How much a kernel has to go through for an argument."""
    if isinstance(argument, tuple):
        return max(map(_size, argument))
    return len(argument) if hasattr(argument, "__len__") else 1


@cache
def _compiled() -> ModuleType:
    """The compiled kernels; Numba takes its time to load, so it does on first use."""
    _find_cache()
    return importlib.import_module("veracity.kernels.compiled")


def _find_cache() -> None:
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
