"""Claims for the benchmarks, drawn at random: strings, ten claims and 3.1 facts per item."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import polars as pl

SHAPES = ("regular", "many sources", "giant item", "many facts", "few labels")


PART = 10_000_000
"""More claims than these are drawn and written in parts."""


def draw(
    n_claims: int, shape: str = "regular", seed: int = 1, n_items: int | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Claims of 1,000 sources of differing accuracy about items with five possible values; truths.

    "many sources": one for every ten claims. "giant item": a tenth of all claims are about one
    item. "many facts": and there no two sources say the same. "few labels": all items have the same
    five values.
    """
    rng = np.random.default_rng(seed)
    n_items = n_items or n_claims // 10
    n_sources = n_items if shape == "many sources" else 1_000
    n_values = 5 if shape == "few labels" else max(10, n_items // 10)
    item = rng.integers(n_items, size=n_claims)
    if shape in ("giant item", "many facts"):
        item[: n_claims // 10] = 0
    source = rng.integers(n_sources, size=n_claims)
    accuracy = np.random.default_rng(0).beta(7, 3, n_sources)  # the same in all parts
    is_right = rng.random(n_claims) < accuracy[source]
    choice = np.where(is_right, 0, rng.integers(1, 5, size=n_claims))
    value = _value(item, choice, n_values)
    if shape == "many facts":
        n_values = max(n_values, n_claims // 10)
        value[: n_claims // 10] = np.arange(n_claims // 10)
    claims = pl.DataFrame(
        {
            "source": _named("source", source, n_sources),
            "entity": _named("entity", item // 4, n_items // 4 + 1),
            "attribute": _named("attribute", item % 4, 4),
            "value": _named("value", value, n_values),
        }
    )
    told = np.arange(n_items if n_items <= n_claims else 0)  # of a part nobody asks for the truths
    truth = pl.DataFrame(
        {
            "entity": _named("entity", told // 4, n_items // 4 + 1),
            "attribute": _named("attribute", told % 4, 4),
            "value": _named("value", _value(told, 0, n_values), n_values),
        }
    )
    if shape in ("giant item", "many facts"):  # others are in random order already
        claims = claims.sample(fraction=1.0, shuffle=True, seed=seed)
    return claims, truth


def write(folder: Path, n_claims: int, shape: str = "regular", *, csv: bool = False) -> Path:
    """Draw claims and write them, once; the truths beside them."""
    path = folder / f"{shape.replace(' ', '-')}-{n_claims}{'.csv' if csv else '.parquet'}"
    if n_claims > PART:
        path.mkdir(exist_ok=True)
        for part in range(n_claims // PART):
            _write_part(path / f"{part}.parquet", n_claims, shape, part)
    elif not path.exists():
        claims, truth = draw(n_claims, shape)
        claims.write_csv(path) if csv else claims.write_parquet(path, row_group_size=1 << 20)
        truth.write_parquet(path.with_suffix(".truth"))
    return path


def _write_part(path: Path, n_claims: int, shape: str, part: int) -> None:
    """Draw and write one part of many, unless it is there: who was interrupted goes on."""
    if path.exists():
        return
    claims, _ = draw(PART, shape, part, n_claims // 10)
    unfinished = path.with_suffix(".unfinished")
    claims.write_parquet(unfinished, row_group_size=1 << 20, compression_level=1)
    unfinished.rename(path)


def _value(item: np.ndarray, choice: np.ndarray | int, n_values: int) -> np.ndarray:
    return (item * 2_654_435_761 + choice * 40_503) % n_values


def _named(word: str, number: np.ndarray, count: int) -> pl.Series:
    """Names of numbers below a count."""
    return _names(word, count).gather(number)


@functools.cache
def _names(word: str, count: int) -> pl.Series:
    """All names, each spelt once, for all parts."""
    return word + pl.Series(np.arange(count)).cast(pl.String).str.zfill(len(str(count - 1)))


if __name__ == "__main__":
    import sys

    write(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], csv=sys.argv[4] == "csv")
