"""One piece of work for `run.py`, which starts it as a process of its own and measures that.

What a piece finds out it prints as JSON, on the last line.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

WARM = 60_000
"""Claims that are enough for the compiled kernels to be loaded."""

WARM_PAIRS = 300_000
"""Claims that are enough for the compiled kernels of pairs of sources, too."""

OVER_ALL = "ltd-rbm, all items"
"""Whose rounds the others' are compared with."""

VOTE = """
    copy (select entity, attribute, arg_max(value, n) as value from (
        select entity, attribute, value, {count} as n from {source} group by all
    ) group by all) to '{out}' (format parquet)
"""


def vote_in_sql(path: str, out: str, count: str = "count(distinct source)") -> None:
    """A majority vote as a column database takes it; as in veracity, repetitions count once."""
    import duckdb

    source = f"read_csv('{path}', all_varchar=true)" if path.endswith(".csv") else f"'{path}'"
    duckdb.sql(VOTE.format(count=count, source=source, out=out))


def vote_of_rows(path: str, out: str) -> None:
    """The same, counting rows: repetitions count each time."""
    vote_in_sql(path, out, "count(*)")


def fill_database(path: str, address: str) -> None:
    """The claims of a file as a table of a database."""
    import polars as pl

    from veracity.io.database_tables import write_tables

    write_tables(address, {"claims": pl.read_parquet(path)}, None, run="bench", force=True)


def algorithms(path: str) -> dict[str, dict[str, float]]:
    """CPU-seconds of answers from encoded claims, and how many rounds they take."""
    from veracity.algorithms import CATALOGUE, LTDRBM
    from veracity.api import answer, prepare

    prepared = prepare(path)
    small = prepare(str(Path(path).with_name(f"regular-{WARM_PAIRS}.parquet")))
    tried = {name: entry.make() for name, entry in CATALOGUE.items() if name not in SKIPPED}
    tried[OVER_ALL] = LTDRBM(shorten=False)
    found = {}
    for name, algorithm in tried.items():
        if "categorical" not in algorithm.kinds:
            continue
        answer(small, algorithm)  # compiles
        result, seconds = timed(lambda own=algorithm: answer(prepared, own))
        found[name] = {"cpu": seconds, "rounds": result.run.rounds}
    return found


SKIPPED = ("dawid-skene",)
"""A confusion matrix for ten thousand labels fits no memory."""


def crowd_kit(path: str) -> dict[str, dict]:
    """Seconds and accuracy from a frame in memory: crowd-kit's OneCoinDawidSkene, and ours."""
    import polars as pl
    from crowdkit.aggregation import OneCoinDawidSkene

    import veracity

    claims = pl.read_parquet(path)
    claims = claims.select("source", entity=pl.concat_str("entity", "attribute"), value="value")
    truth = pl.read_parquet(Path(path).with_suffix(".truth"))
    truth = truth.select(entity=pl.concat_str("entity", "attribute"), true="value")
    frame = claims.rename({"source": "worker", "entity": "task", "value": "label"}).to_pandas()
    theirs, their_seconds = timed(lambda: OneCoinDawidSkene(n_iter=10).fit_predict(frame))
    their_truths = pl.DataFrame({"entity": list(theirs.index), "value": list(theirs)})

    def accuracy(truths: pl.DataFrame) -> float:
        return float(
            truths.join(truth, on="entity")
            .select((pl.col("value") == pl.col("true")).mean())
            .item()
        )

    found = {}
    for name, algorithm in (("LTD-RBM", "ltd-rbm"), ("the default", None)):
        veracity.discover(claims.head(WARM), algorithm)  # loads what is compiled
        ours, seconds = timed(lambda a=algorithm: veracity.discover(claims, a))
        found[name] = {"cpu": seconds, "accuracy": accuracy(ours.truths)}
    return {"ours": found, "theirs": {"cpu": their_seconds, "accuracy": accuracy(their_truths)}}


def in_memory(path: str) -> dict[str, float]:
    """Seconds from a frame in memory, by algorithm."""
    import polars as pl

    import veracity

    claims, found = pl.read_csv(path, infer_schema=False), {}
    algorithms = {"LTD-RBM": "ltd-rbm", "TruthFinder": "truth-finder", "the default": None}
    for name, algorithm in algorithms.items():
        veracity.discover(claims.head(WARM), algorithm)  # loads what is compiled
        found[name] = timed(lambda a=algorithm: veracity.discover(claims, a))[1]
    return found


def truthdiscovery(path: str) -> dict[str, float]:
    """Seconds of `truthdiscovery`'s TruthFinder, in the Python that has it."""
    import csv
    import types

    sys.modules.setdefault("cairo", types.ModuleType("cairo"))  # for pictures only
    from truthdiscovery.algorithm import TruthFinder
    from truthdiscovery.input import Dataset

    with Path(path).open(newline="") as file:
        value_of = {(s, e + a): v for s, e, a, v in list(csv.reader(file))[1:]}  # one each
    rows = [(source, item, value) for (source, item), value in value_of.items()]
    _, seconds = timed(lambda: TruthFinder().run(Dataset(rows)))
    return {"theirs": seconds}


def timed(work: Callable[[], object]) -> tuple:
    began = time.process_time()
    return work(), time.process_time() - began


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
