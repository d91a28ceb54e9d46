"""Measure free memory, read amounts such as "8GB", and check that work fits in memory."""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
from pathlib import Path

from veracity.errors import ParameterError, TooLarge

BYTES_PER_CLAIM = 100
"""Memory of a run for each claim, from reading to tables: see docs/performance.md."""

USUAL_TEXT = 40
"""Bytes of new names of a claim that are within that."""

COPIES_OF_TEXT = 3
"""Number of copies of long names in memory at the same time: as read, as stored, and as sorted."""

BYTES_PER_CLAIM_HERE = 200
"""Memory of a claim that is brought to this machine, with its share of names and tables."""

SHARE_HERE = 0.5
"""Maximum share of the free memory for data that is fetched to this machine."""

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
UNITS |= {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

LEAST = 10**3
"""Smaller amounts surely lack a unit."""

MEMINFO = Path("/proc/meminfo")
GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
GROUP_USE = Path("/sys/fs/cgroup/memory.current")


def as_bytes(memory: str | int) -> int:
    """Return an amount of memory, such as ``"8GB"``, in bytes.

    >>> as_bytes("1.5 GB"), as_bytes(4_000_000)
    (1500000000, 4000000)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", str(memory))
    if found is None or found[2].upper() not in UNITS:
        raise ParameterError(f"memory must be an amount such as '8GB', got {memory!r}")
    n_bytes = int(float(found[1]) * UNITS[found[2].upper()])
    if n_bytes < LEAST:
        raise ParameterError(f"memory must be at least 1KB, got {memory!r}; give it a unit: '8GB'")
    return n_bytes


def release_memory() -> None:
    """Return freed memory to the system.

    The C library of Linux keeps small portions for the thread that freed them, and that may be
    over.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def require_memory(
    n_bytes: int, what: str, advice: str = "leave out rows, or use a machine with more memory"
) -> None:
    """Raise `TooLarge` if the object certainly does not fit in memory."""
    free = free_memory()
    if free is not None and n_bytes > free:
        raise TooLarge(
            f"{what} need about {n_bytes / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are "
            f"free; {advice}"
        )


def bytes_per_claim(new_text: float) -> float:
    """Return the mean memory of a claim, given its bytes of new names.

    >>> bytes_per_claim(26.0), bytes_per_claim(1040.0)
    (100.0, 3100.0)
    """
    return BYTES_PER_CLAIM + COPIES_OF_TEXT * max(new_text - USUAL_TEXT, 0.0)


def fits_in_memory(n_claims: int, memory: int | None = None, each: float = BYTES_PER_CLAIM) -> bool:
    """Return True if `n_claims` fit in memory: in the free memory, unless `memory` is given."""
    memory = free_memory() if memory is None else memory
    return memory is None or each * n_claims <= memory


def claims_that_fit() -> int:
    """Return how many claims from elsewhere fit on this machine at once."""
    free = free_memory()
    return sys.maxsize if free is None else int(SHARE_HERE * free / BYTES_PER_CLAIM_HERE)


def free_memory() -> int | None:
    """Return the bytes of free memory, or None if the system does not report them."""
    told = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        told.append(1024 * int(line.split()[1]))
    with contextlib.suppress(OSError, ValueError):  # "max" is no number, and no limit
        limit, use = (int(path.read_text(encoding="ascii")) for path in (GROUP_LIMIT, GROUP_USE))
        told.append(max(limit - use, 0))
    return min(told, default=None)
