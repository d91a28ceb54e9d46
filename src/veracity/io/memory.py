"""Whether what is asked for can fit in memory, before it is tried."""

from __future__ import annotations

import contextlib
from pathlib import Path

from veracity.errors import TooLarge

__all__ = ["BYTES_PER_CLAIM", "free_memory", "require_room"]

BYTES_PER_CLAIM = 40
"""What encoding needs at the very least: numbers of source, item and value, twice, and keys."""

MEMINFO = Path("/proc/meminfo")
GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
GROUP_USE = Path("/sys/fs/cgroup/memory.current")


def require_room(n_bytes: int, what: str) -> None:
    """Refuse what surely does not fit; what may fit is tried."""
    free = free_memory()
    if free is not None and n_bytes > free:
        raise TooLarge(
            f"{what} need about {n_bytes / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are "
            "free; leave out rows, or use a machine with more memory or a cluster engine"
        )


def free_memory() -> int | None:
    """Bytes that can still be had, or None where the system does not tell."""
    told = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        told.append(1024 * int(line.split()[1]))
    with contextlib.suppress(OSError, ValueError):  # "max" is no number, and no limit
        limit, use = (int(path.read_text(encoding="ascii")) for path in (GROUP_LIMIT, GROUP_USE))
        told.append(max(limit - use, 0))
    return min(told, default=None)
