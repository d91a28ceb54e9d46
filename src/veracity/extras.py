"""Extras are for what not everybody needs. Messages that advise one get their words from here."""

from __future__ import annotations

IS_PUBLISHED = False
"""Whether the package can be had from a package index; until then it is installed from a clone."""


def how_to_get(extra: str) -> str:
    """What to type to get an extra.

    >>> how_to_get("plot")
    "pip install '.[plot]' in your clone of veracity"
    """
    if IS_PUBLISHED:
        return f"pip install 'veracity[{extra}]'"
    return f"pip install '.[{extra}]' in your clone of veracity"
