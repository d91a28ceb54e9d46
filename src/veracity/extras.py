"""Optional extras of the package, and the wording of messages that advise one."""

from __future__ import annotations

IS_PUBLISHED = False
"""True if the package is on a package index; until then it is installed from a clone."""


def how_to_get(extra: str) -> str:
    """Return the command that installs an extra.

    >>> how_to_get("plot")
    "pip install '.[plot]' in your clone of veracity"
    """
    if IS_PUBLISHED:
        return f"pip install 'veracity[{extra}]'"
    return f"pip install '.[{extra}]' in your clone of veracity"
