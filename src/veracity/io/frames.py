"""Frames in the user's own kind."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

__all__ = ["ROWS_PER_BATCH", "FrameKind", "hand_back"]

FrameKind = Literal["polars", "pandas", "pyarrow"]
"""The kind of frame a user gave and gets back."""

ROWS_PER_BATCH = 1 << 20
"""How many rows of a table are taken at a time."""


def hand_back(frame: pl.DataFrame, kind: FrameKind) -> Any:  # noqa: ANN401
    """The table in the user's own kind of frame."""
    if kind == "pandas":
        return frame.to_pandas()
    return frame.to_arrow() if kind == "pyarrow" else frame
