"""Claims for tests: drawn by hypothesis, or spelt out."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from typing import Any

import polars as pl
from hypothesis import strategies as st

from veracity import Local
from veracity.algorithms import Algorithm
from veracity.algorithms.base import Turn
from veracity.encoding.block import Block
from veracity.encoding.encode import encode
from veracity.encoding.partitions import CLAIMS_PER_BLOCK, Encoded
from veracity.encoding.survey import Survey, counted
from veracity.reading.claims import Claims
from veracity.reading.roles import Kind

names = st.sampled_from("abcdefgh")
VALUE_SCHEMA = {"source": pl.String, "entity": pl.String, "value": pl.String}
BINARY_SCHEMA = {"source": pl.String, "fact": pl.String, "claim": pl.Boolean}


@st.composite
def value_rows(draw: st.DrawFn, max_size: int = 40) -> pl.DataFrame:
    """Draw rows of source, entity and value; a source may name several values of one entity."""
    row = st.tuples(names, st.sampled_from("uvwxyz"), st.sampled_from("1234"))
    rows = draw(st.lists(row, min_size=1, max_size=max_size))
    return pl.DataFrame(rows, schema=VALUE_SCHEMA, orient="row")


@st.composite
def binary_rows(draw: st.DrawFn, max_size: int = 40) -> pl.DataFrame:
    """Draw rows of source, fact and claim; no source contradicts itself."""
    pairs = st.tuples(names, st.sampled_from("pqrstuv"))
    claims = draw(st.dictionaries(pairs, st.booleans(), min_size=1, max_size=max_size))
    rows = [(source, fact, claim) for (source, fact), claim in claims.items()]
    return pl.DataFrame(rows, schema=BINARY_SCHEMA, orient="row")


def as_encoded(
    rows: pl.DataFrame, kind: Kind = "categorical", claims_per_block: int = CLAIMS_PER_BLOCK
) -> Encoded:
    """Return the rows, encoded; those with facts are binary."""
    kind = "binary" if "fact" in rows.columns else kind
    return encode(Claims.of_rows(rows, kind, "a test"), claims_per_block=claims_per_block)


def as_block(rows: pl.DataFrame, kind: Kind = "categorical") -> Block:
    """Return the rows as a single block."""
    (block,) = as_encoded(rows, kind).blocks
    return block


def survey_of(encoded: Encoded) -> Survey:
    """Return the survey of the only block."""
    (block,) = encoded.blocks
    return Survey(encoded.kind, encoded.names, counted(block, encoded.names.n_sources))


def started(algorithm: Algorithm[Any], encoded: Encoded) -> Any:
    """Return the state before the first phase."""
    survey = survey_of(encoded)
    known = survey.counted.known_of_source
    return algorithm.start(survey, algorithm.prior.rates(encoded.names.sources.to_list(), known))


def states(algorithm: Algorithm[Any], encoded: Encoded, n_rounds: int) -> Iterator[Any]:
    """Yield the state before the rounds, and after each of `n_rounds` rounds."""
    state = started(algorithm, encoded)
    with Local(threads=1).hold(encoded.blocks) as held:
        for phase in algorithm.phases(state):
            for number in range(1, 2 if phase.change is None else n_rounds + 1):
                if phase.change is not None and number == 1:
                    yield state
                for step in phase.steps:
                    total = held.sweep(step.look, state, Turn(number, algorithm.seed))
                    state = step.learn(state, total)
                if phase.change is not None:
                    yield state


def clock_times(rows: pl.DataFrame) -> pl.DataFrame:
    """Return flights with times as HH:MM and gates without terminals."""
    text = pl.col("value").str.to_uppercase().str.replace_all("\u00a0", " ")
    is_time = ~pl.col("attribute").str.contains("gate")
    hour = text.str.extract(r"(\d{1,2}):\d{2}", 1).cast(pl.Int64)
    minute = text.str.extract(r"\d{1,2}:(\d{2})", 1)
    half = text.str.extract(r"\d{1,2}:\d{2}(?::\d{2})?\s*([AP])", 1)
    shift = (
        pl.when((half == "P") & (hour < 12)).then(12).when((half == "A") & (hour == 12)).then(-12)
    )
    time = (hour + shift.otherwise(0)).cast(pl.String).str.zfill(2) + ":" + minute
    gate = text.str.replace(r"^TERMINAL \S+ - ", "").str.strip_chars()
    value = pl.when(is_time).then(time).otherwise(gate)
    return rows.with_columns(value=value).drop_nulls("value").unique(maintain_order=True)


@contextlib.contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond this size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
