"""Measure fits that are kept up to date: ``python benchmarks/studies/keeping.py PART DATA``.

PART is `replay` (claims come day by day, against runs on all claims so far), `recursive` (error of
the rates over time, in one pass and in batches) or `settle` (five batches and `settle`, against one
run). The first two draw a figure into docs/keeping.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl

import veracity
from veracity.errors import VeracityError
from veracity.reading.claims import read_truths_beside
from veracity.synthetic import Ranges

FIGURES = Path(__file__).parents[2] / "docs" / "keeping"
ALGORITHMS = ("veracity", "ltd-rbm", "mle", "one-coin", "dawid-skene")
KEYS = ["entity", "attribute"]


def share_right(truths: pl.DataFrame, truth: pl.DataFrame) -> float:
    """Return the share of known truths, of items that are claimed, that were found."""
    both = truths.join(truth, on=KEYS, suffix="_true")
    return float((both["value"] == both["value_true"]).fill_null(value=False).mean() or 0.0)


def days(data: Path) -> Iterator[tuple[str, list[pl.DataFrame], pl.DataFrame]]:
    """Yield the name of a data set, its claims of each day, and its truth."""
    weather = pl.read_parquet(data / "weather_raw" / "claims_with_timestamp.parquet")
    time = pl.col("TimeStamp").str.to_titlecase().str.to_datetime("%a %b %d %H:%M:%S %Y")
    weather = weather.with_columns(time=time).drop("TimeStamp").drop_nulls().sort("time")
    of_day = weather.with_columns(day=pl.col("time").dt.date()).partition_by(
        "day", include_key=False
    )
    yield "weather", of_day, pl.read_parquet(data / "weather_raw" / "truth.parquet")
    claims = veracity.read_claims(data / "flight_raw" / "claims.parquet", normalise=True)
    rows = claims.rows.with_columns(day=pl.col("entity").str.split("|").list.last())
    truth, _ = read_truths_beside(claims, data / "flight_raw" / "truth.parquet")
    yield "flights", rows.sort("day").partition_by("day", include_key=False), truth


def replay(data: Path) -> None:
    """Update a fit day by day, and compare its answers with those of runs on all claims so far."""
    rows = []
    for name, of_day, truth in days(data):
        every, answers = max(len(of_day) // 6, 1), pl.DataFrame()
        columns = {"time": "time"} if "time" in of_day[0].columns else None
        fitted = None
        for number, new in enumerate(of_day, 1):
            if fitted is None:
                result = veracity.discover(new, columns=columns)
            else:
                result = fitted.update(new)
            fitted, found = result.fitted, result.truths.select(*KEYS, "value")
            answers = found if answers.is_empty() else pl.concat([
                answers.join(found, on=KEYS, how="anti"), found])  # fmt: skip
            made = {"updates": answers}
            if number % every == 0 or number == len(of_day):
                fresh = veracity.discover(pl.concat(of_day[:number]), columns=columns)
                made["a run on all claims so far"] = fresh.truths
            if number == len(of_day):
                made["updates, settled"] = fitted.settle().truths
            for how, truths in made.items():
                right = share_right(truths, truth)
                rows.append({"data": name, "day": number, "answers": how, "right": right})
                print(name, number, how, f"{right:.4f}", flush=True)
    base = alt.Chart(pl.DataFrame(rows)).encode(
        x=alt.X("day:Q"),
        y=alt.Y("right:Q", scale=alt.Scale(zero=False), axis=alt.Axis(format="%")),
        color=alt.Color("answers:N", title=None),
    )
    chart = alt.layer(base.mark_line(), base.mark_point(filled=True)).properties(
        width=300, height=200
    )
    chart.facet("data:N").resolve_scale(x="independent", y="independent").save(
        FIGURES / "replay.svg"
    )


def drawn_facts(seed: int, n_facts: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Draw sources that call facts true or false, each with rates of its own, and these rates."""
    rng = np.random.default_rng(seed)
    truth, n_sources = rng.random(n_facts) < 0.5, 20
    tpr, fpr = rng.uniform(0.55, 0.95, n_sources), rng.uniform(0.05, 0.45, n_sources)
    fact, source = np.nonzero(rng.random((n_facts, n_sources)) < 0.3)
    rate = np.where(truth[fact], tpr[source], fpr[source])
    claims = pl.DataFrame({"source": source, "fact": fact, "claim": rng.random(len(fact)) < rate})
    return claims, pl.DataFrame({"source": np.arange(n_sources), "true": tpr, "false": fpr})


def recursive(data: Path) -> None:
    """Follow the error of the rates over time, and compare accuracies on the paper's claims."""
    rows = []
    for seed in range(10):
        claims, rates = drawn_facts(seed, 4000)
        fitted = None
        for end in range(100, 4001, 100):
            new = claims.filter(pl.col("fact").is_between(end - 100, end - 1))
            one_pass = "recursive-em"
            result = (
                veracity.discover(new, one_pass, kind="binary")
                if fitted is None
                else fitted.update(new)
            )
            fitted, found = result.fitted, {one_pass: result}
            if end % 500 == 0 or end == 100:
                sofar = claims.filter(pl.col("fact") < end)
                found["mle on all so far"] = veracity.discover(sofar, "mle", kind="binary")
            for how, made in found.items():
                both = made.sources.join(rates, on="source")
                off = both.select(
                    (
                        (pl.col("tpr") - pl.col("true")).abs()
                        + (pl.col("fpr") - pl.col("false")).abs()
                    )
                    / 2
                )
                rows.append({"facts": end, "how": how, "error": off.mean().item()})
    means = pl.DataFrame(rows).group_by("how", "facts").agg(pl.col("error").mean())
    print(means.filter(pl.col("facts").is_in([100, 500, 1000, 2000, 4000])).sort("facts", "how"))
    y = alt.Y("error:Q", title="mean error of tpr and fpr")
    base = alt.Chart(means).encode(x="facts:Q", y=y, color=alt.Color("how:N", title=None))
    chart = alt.layer(base.mark_line(), base.mark_point(filled=True))
    chart.properties(width=420, height=220).save(FIGURES / "recursive.svg")
    names, accuracy = ("mle", "recursive-em"), []
    for n in range(150):
        drawn = Ranges().draw(seed=[5, n]).draw(seed=[6, n])
        if 300 <= len(drawn.claims) <= 60_000:
            own = [veracity.discover(drawn.claims, name) for name in names]
            accuracy.append([veracity.evaluate(one, drawn.truth).accuracy for one in own])
    print(len(accuracy), dict(zip(names, np.mean(accuracy, axis=0).round(4), strict=True)))


def settle(data: Path) -> None:
    """Learn in five batches of any rows, settle, and compare with a run on all claims."""
    for folder in sorted(data.iterdir()):
        if not {"claims.parquet", "truth.parquet"} <= {file.name for file in folder.iterdir()}:
            continue
        claims = pl.read_parquet(folder / "claims.parquet")
        claims = claims.sample(fraction=1.0, shuffle=True, seed=1)
        keys = [name for name in claims.columns if name != "value"]
        claims = claims.unique(keys, keep="first", maintain_order=True)
        size = -(-len(claims) // 5)
        for name in ALGORITHMS:
            try:
                fitted = veracity.discover(claims[:size], name).fitted
                for first in range(size, len(claims), size):
                    fitted = fitted.update(claims[first : first + size]).fitted
                found = [fitted.settle(), veracity.discover(claims, name)]
                right = [veracity.evaluate(one, folder / "truth.parquet").accuracy for one in found]
            except VeracityError as error:
                print(folder.name, name, "refused:", str(error)[:80], flush=True)
                continue
            print(folder.name, name, *(f"{own:.4f}" for own in right), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    part, folder = sys.argv[1:]
    {"replay": replay, "recursive": recursive, "settle": settle}[part](Path(folder))
