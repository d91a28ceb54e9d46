"""Findings that are known: being mended elsewhere; the battery in CI expects them for now.

Each line goes when its item is mended. `make attack` reports them all the same.
"""

from __future__ import annotations

import re

KNOWN: tuple[tuple[str, str], ...] = (
    (r": raw control characters", "15.9: escape sequences reach the terminal"),
    (r"casting from Duration|casting from Binary|invalid utf", "15: Duration and Binary columns"),
    (r": message of more than", "15: unbounded text"),
    (r"characters on standard output", "15: unbounded text"),
    (r"RuntimeWarning: overflow", "15.8: numbers beyond 1e154"),
    (r"File out of specification", "15: --prior with a damaged Parquet"),
    (r"^runs: (this is a bug|warning|aborts)", "15.6: a run that was damaged or edited"),
    (r"^memory: ", "15.10: small packed, huge unpacked"),
)
"""Pairs of a pattern of a finding (``part: key``) and the item that will mend it."""


def known_as(part: str, key: str) -> str | None:
    """The item that will mend this finding; None if nobody knows of it."""
    return next((item for pattern, item in KNOWN if re.search(pattern, f"{part}: {key}")), None)
