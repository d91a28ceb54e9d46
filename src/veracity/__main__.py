"""The command ``veracity``, also as ``python -m veracity``: it may be stopped at any time."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Load the command and run it; while it is loading, Ctrl-C is no error to explain."""
    try:
        from veracity.cli import main as run
    except KeyboardInterrupt:
        os.write(2, b"error: stopped before the end; no half-written result is left\n")
        sys.exit(1)
    run()


if __name__ == "__main__":
    main()
