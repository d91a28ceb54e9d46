"""The compiled kernels are loaded when they are first needed."""

from __future__ import annotations

import getpass
import importlib
import os
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

__all__ = ["compiled"]


@cache
def compiled() -> ModuleType:
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
