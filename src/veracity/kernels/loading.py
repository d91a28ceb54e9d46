"""Which kernels run: the reference where claims are few, the compiled ones everywhere else."""

from __future__ import annotations

import getpass
import importlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from veracity.kernels import reference

__all__ = ["FEW", "kernels", "kernels_for"]

FEW = 10_000
"""Claims up to which loading Numba, and compiling on the first run, takes longer than the work."""

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
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    places = (Path(__file__).parent, *[p for p in (home, *home.parents) if p.exists()][:1])
    if not any(os.access(place, os.W_OK) for place in places):
        own = Path(tempfile.gettempdir()) / f"veracity-{getpass.getuser()}"
        own.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid") and own.stat().st_uid != os.getuid():  # what is there will be run
            own = Path(tempfile.mkdtemp(prefix="veracity-"))
        os.environ.setdefault("NUMBA_CACHE_DIR", str(own))
