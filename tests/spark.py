"""Spark for tests: one session, with two workers, for all tests of a process."""

from __future__ import annotations

import functools
import os
import shutil
import sys

import polars as pl
import pytest

import veracity
from veracity.engines.spark import OWN_SETTINGS
from veracity.io.frames import spark_table

__all__ = ["PARTS", "QUICK_JAVA", "as_polars", "engine", "frame_of"]

PARTS = 3

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java works on so little that compiling it well takes longer than the work."""

QUICK = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
}


@functools.cache
def engine() -> veracity.Spark:
    """Spark with two workers, and claims in a few parts."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Java, on which Spark runs, is not here")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config(map=OWN_SETTINGS | QUICK)
    return veracity.Spark(builder.getOrCreate(), partitions=PARTS)


def frame_of(rows: pl.DataFrame):
    """The rows as a Spark frame, in no order."""
    return engine().session.createDataFrame(spark_table(rows)).repartition(4)


def as_polars(frame) -> pl.DataFrame:
    """What a Spark frame holds."""
    return pl.DataFrame(pl.from_arrow(frame.toArrow()))
