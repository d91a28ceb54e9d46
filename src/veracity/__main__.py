"""The command ``veracity``, also as ``python -m veracity``."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys

FRESH = 200_000
"""Number of new objects before the garbage collector runs. Loading libraries makes some hundred
thousand objects, which are all needed."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of the C library of Linux: see mallopt(3)."""

MOST_KEPT = 32 << 20
"""Bytes of a freed array that stay with the process; the maximum that can be set."""

OF_FRAMES, AS_IT_IS = "_RJEM_MALLOC_CONF", "dirty_decay_ms:500,muzzy_decay_ms:1000"
"""Variable by which the frame library configures its memory, and its default."""


def main() -> None:
    """Load the command and run it; show no traceback on Ctrl-C while it is loading or ending."""
    _settle()
    try:
        from veracity.cli import main as run

        run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            with contextlib.suppress(OSError):  # nobody may be there to be told
                sys.stderr.write("error: stopped before the end; no half-written result is left\n")
        sys.exit(1)
    finally:
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # the work is done: nothing is left to stop
        # Looking through memory once more at the end takes up to a quarter of a short run. DuckDB
        # would call what is not looked through a leak, on standard error.
        if "duckdb" not in sys.modules:
            gc.freeze()


def _settle() -> None:
    """Configure the memory and threads of a short process, which saves a tenth of its time.

    NumPy's linear algebra would start a thread for each core, which waits in a busy loop for large
    matrices; here there are no large matrices. The C library would give every freed array of some
    hundred kilobytes back to the system, to be handed out anew page by page. The frame library,
    which reads and frees all rows in passing, would hold on to what it freed in the last half
    second, and to all that the system may take back: a fifth of the memory of a run.
    """
    gc.set_threshold(FRESH)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if os.environ.get(OF_FRAMES, AS_IT_IS) == AS_IT_IS:  # who calls may have loaded it, too
        os.environ[OF_FRAMES] = "dirty_decay_ms:200,muzzy_decay_ms:0"
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, MOST_KEPT)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


if __name__ == "__main__":
    main()
