"""Compare the answers of all algorithms with those of an earlier state of the code.

``python tools/golden.py record FILE`` keeps the plausibilities of facts and all numbers of sources
on small data sets; ``python tools/golden.py compare FILE`` lists those that differ by more than
1e-9. FILE stands outside the repository.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import veracity
from veracity.algorithms import CATALOGUE
from veracity.errors import VeracityError

SHARED = Path(os.environ.get("VERACITY_DATA", Path(__file__).parents[2] / "shared" / "data"))
SMALL = {
    "categorical": ("crowd_bluebird", "crowd_rte", "flight_raha", "llm_tempowic"),
    "numeric": ("crowd_n_emotion",),
    "multiple": ("book_multi",),
}
MOST_CLAIMS = 20_000
CLOSE = 1e-9


def data_sets() -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield name, kind and claims of each small data set that is here."""
    flights = veracity.synthetic.flights().claims
    yield "flights", "categorical", flights
    yield "flights", "multiple", flights
    facts = pl.concat_str("entity", "attribute", "value", separator="|").alias("fact")
    binary = flights.head(3000).select("source", facts)
    yield "flights", "binary", binary.with_columns(claim=pl.int_range(pl.len()) % 7 != 0)
    for kind, names in SMALL.items():
        for name in names:
            path = SHARED / name / "claims.parquet"
            if path.is_file():
                claims = pl.read_parquet(path)
                entity, size = pl.col("entity"), len(claims)
                is_in = entity.rank("dense") <= entity.n_unique() * MOST_CLAIMS // size
                yield name, kind, claims.filter(is_in)


def answers() -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield each table of numbers, in the order of its rows by name."""
    for name, kind, claims in data_sets():
        for algorithm, entry in CATALOGUE.items():
            if kind not in entry.make().kinds:
                continue
            try:
                result = veracity.discover(claims, algorithm, kind=kind)
            except VeracityError:  # some are for few labels only
                continue
            for table in ("truths" if kind == "numeric" else "facts", "sources"):
                own = getattr(result, table)
                numbers = own.select(sorted(own.columns)).select(
                    pl.selectors.numeric().cast(pl.Float64)
                )
                yield f"{name} {kind} {algorithm} {table}", numbers.to_numpy()


def compare(path: Path) -> int:
    """Print what differs, and return how many tables do."""
    n_other = n_seen = 0
    with np.load(path) as before:
        for name, now in answers():
            n_seen += 1
            old = before[name] if name in before else np.empty(0)
            if old.shape != now.shape:
                n_other += 1
                print(f"{name}: shape {old.shape}, now {now.shape}")
            elif not np.allclose(old, now, rtol=0, atol=CLOSE, equal_nan=True):
                n_other += 1
                print(f"{name}: differs by {np.nanmax(np.abs(old - now)):.2g}")
    print(f"{n_other} of {n_seen} tables differ by more than {CLOSE:g}")
    return n_other


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", file]:
            found: Any = dict(answers())
            np.savez_compressed(file, **found)
        case ["compare", file]:
            sys.exit(compare(Path(file)) > 0)
        case _:
            sys.exit(__doc__)
