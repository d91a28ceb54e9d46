"""Spark for tests: one session, with two workers, for all tests of a process."""

from __future__ import annotations

import functools
import shutil

import polars as pl
import pytest

import veracity
from veracity.io.frames import spark_table

__all__ = ["PARTS", "as_polars", "engine", "frame_of", "in_one_group"]

PARTS = 3

in_one_group = pytest.mark.xdist_group("spark")
"""Tests that share a session, whose start takes as long as a dozen of them."""


@functools.cache
def engine() -> veracity.Spark:
    """Spark with two workers, and claims in a few parts."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Java, on which Spark runs, is not here")
    session = veracity.Spark(master="local[2]").started()
    return veracity.Spark(session, partitions=PARTS)


def frame_of(rows: pl.DataFrame):
    """The rows as a Spark frame, in no order."""
    return engine().session.createDataFrame(spark_table(rows)).repartition(4)


def as_polars(frame) -> pl.DataFrame:
    """What a Spark frame holds."""
    return pl.DataFrame(pl.from_arrow(frame.toArrow()))
