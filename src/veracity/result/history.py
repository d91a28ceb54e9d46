"""Keep the accuracy of each source in every batch of claims."""

from __future__ import annotations

import numpy as np
import polars as pl

from veracity.encoding.block import FloatArray, IntArray

CHANGES = {-1.0: "fell", 0.0: None, 1.0: "rose"}


def with_batch(
    earlier: pl.DataFrame | None,
    sources: pl.DataFrame,
    change_of_source: FloatArray,
    items_of_source: IntArray,
) -> pl.DataFrame:
    """Return the history with a batch: one row per source that makes claims on items in it.

    `sources` is the table of the sources of the batch.
    """
    number = 1 if earlier is None or earlier.is_empty() else int(earlier["batch"].max()) + 1  # type: ignore[arg-type]
    changes = pl.Series([CHANGES[one] for one in change_of_source.tolist()], dtype=pl.String)
    batch = sources.select(
        pl.lit(number).alias("batch"),
        "source",
        "accuracy",
        "accuracy_low",
        "accuracy_high",
        "claims",
        change=changes,
    ).filter(pl.Series(items_of_source > 0))
    return batch if earlier is None else pl.concat([earlier, batch], how="vertical_relaxed")


def accuracy_before(history: pl.DataFrame, source: object) -> float:
    """Return the accuracy of a source in the batches since its last change but this one."""
    own = history.filter(pl.col("source") == source)
    accuracy, claims = own["accuracy"][:-1].to_numpy(), own["claims"][:-1].to_numpy()
    first = max(np.flatnonzero(own["change"][:-1].is_not_null().to_numpy()), default=0)
    return float(np.average(accuracy[first:], weights=claims[first:]))
