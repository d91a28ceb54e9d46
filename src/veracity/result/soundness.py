"""Whether the tables of a saved run are what `Result.save` writes, and go together.

A folder may be damaged, edited, or come from a stranger. All that later work relies on is checked
here, once; whatever does not hold is a `ValueError` that names the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from veracity.encoding.block import UNKNOWN
from veracity.encoding.names import Names
from veracity.reading.schema import Kind, keys_of
from veracity.result.features import FEATURE_NUMBERS, FEATURE_TEXTS
from veracity.result.tables import Tables


def _is_share(column: pl.Series) -> bool:
    return column.dtype.is_float() and bool(column.is_between(-1e-6, 1.0 + 1e-6).all())


def _is_rate(column: pl.Series) -> bool:
    """A share, where there is one."""
    return column.dtype.is_float() and _is_share(column.fill_nan(None))


def _is_measure(column: pl.Series) -> bool:
    return column.dtype.is_numeric() and bool((column >= 0).all())


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_float() and bool(column.is_finite().all())


def _is_count(column: pl.Series) -> bool:
    return column.dtype.is_integer() and not column.null_count() and bool((column >= 0).all())


def _is_truth(column: pl.Series) -> bool:
    return column.dtype == pl.Boolean and not column.null_count()


Check = Callable[[pl.Series], bool]

ANSWER: dict[str, Check] = {"claims": _is_count, "contested": _is_truth}
TRUTHS: dict[Kind, dict[str, Check]] = {
    "categorical": {**ANSWER, "plausibility": _is_share, "margin": _is_share,
                    "values": _is_count, "tied": _is_truth},
    "multiple": {**ANSWER, "plausibility": _is_share, "values": _is_count},
    "binary": {**ANSWER, "plausibility": _is_share, "margin": _is_share, "tied": _is_truth},
    "numeric": {**ANSWER, "values": _is_count, "uncertainty": _is_number},
}  # fmt: skip
JUDGED: dict[str, Check] = {
    "plausibility": _is_share, "supporters": _is_count, "opposers": _is_count,
}  # fmt: skip
NUMBERS: dict[str, Check] = {"supporters": _is_count, "distance": _is_number}
MET: dict[str, Check] = {"claims": _is_count, "items": _is_count}
RATES = {name: _is_rate for rate in ("tpr", "fpr", "accuracy") for name in
         (rate, f"{rate}_low", f"{rate}_high")}  # fmt: skip
COPIES: dict[str, Check] = {
    "direction": _is_share, "shared": _is_count, "agreeing": _is_count,
    "expected_agreeing": _is_measure, "mistakes": _is_count, "expected_mistakes": _is_measure,
}  # fmt: skip
MAY_BE_NULL = frozenset({"tpr", "fpr", "accuracy", "uncertainty"})


def check_tables(tables: Tables, kind: Kind) -> None:
    """Refuse tables that are not those of a result of this kind."""
    facts, truths, sources = tables.facts, tables.truths, tables.sources
    check_schema("truths", truths.schema, kind)
    check_schema("facts", facts.schema, kind)
    _check_columns("truths", truths, TRUTHS[kind])
    _check_columns("facts", facts, NUMBERS if kind == "numeric" else JUDGED)
    _check_columns("sources", sources, {**MET, **({} if kind == "numeric" else RATES)})
    for name in ("trust", "bias"):
        if name in sources.columns:
            _check_columns("sources", sources, {name: _is_number})
    if kind == "numeric":
        _check_columns("truths", truths, {"value": _is_number})
        _check_columns("facts", facts, {"value": _is_number})
        _check_columns("sources", sources, {"deviation": _is_number})
    _check_keys(truths, facts, kind)
    _check_source_names(sources)
    if tables.copies is not None:
        estimated = {"probability": _is_share} if "probability" in tables.copies.columns else {}
        _check_columns("copies", tables.copies, {**COPIES, **estimated})
        for name in ("source", "original"):
            _require(name in tables.copies.columns, f"copies.parquet lacks '{name}'")
            own, named = tables.copies[name], sources["source"]
            is_known = own.dtype == named.dtype and own.is_in(named.implode()).all()
            _require(bool(is_known), "copies.parquet tells of sources that are not there")
    if tables.changes is not None:
        wanted = {"before": pl.String, "after": pl.String, "claims": None}
        _check_types("changes", tables.changes.schema, wanted)
    if tables.features is not None:
        _check_types("features", tables.features.schema, dict.fromkeys(FEATURE_TEXTS, pl.String))
        _check_columns("features", tables.features, dict.fromkeys(FEATURE_NUMBERS, _is_number))


def check_schema(name: str, schema: Mapping[str, pl.DataType], kind: Kind) -> None:
    """Refuse a table of truths or facts without its keys and values."""
    keys = ["fact"] if kind == "binary" else ["entity"]
    wanted = [*keys, *([] if kind == "binary" and name == "facts" else ["value"])]
    _check_types(name, schema, dict.fromkeys(wanted))
    _require(
        not any(schema[key].is_nested() for key in schema), f"{name}.parquet has lists in its cells"
    )
    if name == "truths" and kind == "binary":
        _check_types(name, schema, {"value": pl.Boolean})
    if kind == "numeric":
        _check_types(name, schema, {"value": pl.Float64})


def _check_types(
    name: str, schema: Mapping[str, pl.DataType], wanted: Mapping[str, object]
) -> None:
    for column, kind in wanted.items():
        _require(column in schema, f"{name}.parquet lacks '{column}'")
        _require(kind is None or schema[column] == kind, f"{name}.parquet: '{column}' is no {kind}")


def _check_columns(name: str, table: pl.DataFrame, checks: Mapping[str, Check]) -> None:
    for column, is_sound in checks.items():
        _require(column in table.columns, f"{name}.parquet lacks '{column}'")
        cells = table[column]
        _require(
            column in MAY_BE_NULL or not cells.null_count(),
            f"{name}.parquet has no {column} in some rows",
        )
        _require(is_sound(cells), f"{name}.parquet: what stands in '{column}' cannot be")


def _check_keys(truths: pl.DataFrame, facts: pl.DataFrame, kind: Kind) -> None:
    """Truths are of the items the facts are of; those of an item stand together."""
    keys = keys_of(facts)
    _require(keys == keys_of(truths), "truths.parquet and facts.parquet name items differently")
    _require(
        all(truths.schema[key] == facts.schema[key] for key in keys),
        "truths.parquet and facts.parquet name items differently",
    )
    wanted = keys if kind == "binary" else [*keys, "value"]
    named = facts.select(wanted)
    _require(not sum(named.null_count().row(0)), "facts.parquet has facts without a name")
    _require(named.n_unique() == len(named), "facts.parquet has facts twice")
    _require(len(facts) > 0, "facts.parquet is empty")
    items = facts.select(keys)
    in_order = items.filter(items.select(pl.struct(keys).rle_id()).to_series().diff() != 0)
    grouped = pl.concat([items.head(1), in_order])
    _require(grouped.n_unique() == len(grouped), "the facts of an item do not stand together")
    found = truths.select(keys)
    is_same = found.unique(maintain_order=True).equals(grouped)
    _require(is_same, "truths.parquet and facts.parquet are of different items")
    if kind != "multiple":
        _require(len(found) == len(grouped), "truths.parquet has items twice")
    if kind in ("categorical", "multiple"):
        same = truths.schema["value"] == facts.schema["value"]
        _require(same, "the values of truths.parquet and facts.parquet are of different types")
        _require(
            truths.filter(pl.col("value").is_not_null())
            .join(facts, on=wanted, how="anti")
            .is_empty(),
            "truths.parquet tells of values that are no facts",
        )


def _check_source_names(sources: pl.DataFrame) -> None:
    _require("source" in sources.columns, "sources.parquet lacks 'source'")
    named = sources["source"]
    _require(not named.dtype.is_nested(), "sources.parquet has lists for names")
    _require(not named.null_count(), "sources.parquet has sources without a name")
    _require(named.n_unique() == len(named), "sources.parquet has sources twice")


def check_names(names: Names, facts: Mapping[str, pl.DataType]) -> None:
    """Refuse names that cannot be those of the facts."""
    for what, own in (("labels", names.labels), ("attributes", names.attributes)):
        _require(not own.null_count(), f"{what}.parquet has names that are none")
        _require(own.n_unique() == len(own), f"{what}.parquet has names twice")
    if "attribute" in facts:
        is_same = names.attributes.dtype == facts["attribute"]
        _require(is_same, "attributes.parquet does not go with the facts")
    _require(names.n_unnumbered >= 0, "open_values.parquet tells of fewer than no values")


def check_claims(
    facts: pl.DataFrame, claims: pl.DataFrame, layout: pl.DataFrame, names: Names, kind: Kind
) -> None:
    """Refuse claims that are not those of the facts and sources."""
    for column in ("fact", "source"):
        _require(column in claims.columns, f"claims.parquet lacks '{column}'")
        _require(_is_count(claims[column]), f"claims.parquet: '{column}' has no numbers of rows")
    fact, source = claims["fact"].to_numpy(), claims["source"].to_numpy()
    _require(len(claims) > 0, "claims.parquet is empty")
    _require(
        int(fact.max()) < len(facts) and int(source.max()) < names.n_sources,
        "claims.parquet does not go with the facts and sources",
    )
    _require(claims["fact"].is_sorted(), "claims.parquet is not in the order of the facts")
    supports = fact
    if kind == "binary":
        is_told = "claim" in claims.columns and _is_truth(claims["claim"])
        _require(is_told, "claims.parquet does not tell which claims affirm")
        supports = fact[claims["claim"].to_numpy()]
    if "share" in claims.columns:
        _check_shares(claims, kind)
    counted = np.bincount(supports, minlength=len(facts))
    _require(
        np.array_equal(counted, facts["supporters"].to_numpy()),
        "claims.parquet and facts.parquet count different supporters",
    )
    _check_layout(facts, layout, names)


def _check_shares(claims: pl.DataFrame, kind: Kind) -> None:
    """Refuse shares that are none, and facts called true with more of a word than there is."""
    share = claims["share"]
    is_sound = _is_share(share) and not share.null_count() and bool((share > 0.0).all())
    _require(is_sound, "claims.parquet: what stands in 'share' cannot be")
    if kind == "binary":
        _require("affirmed" in claims.columns, "claims.parquet lacks 'affirmed'")
        affirmed = claims["affirmed"]
        is_sound = _is_share(affirmed) and not affirmed.null_count()
        is_sound = is_sound and bool((affirmed <= share + 1e-6).all())
        is_sound = is_sound and (affirmed > 0.0).equals(claims["claim"])
        _require(is_sound, "claims.parquet: what stands in 'affirmed' cannot be")


def check_values(
    tables: Tables, layout: pl.DataFrame, kind: Kind, min_plausibility: float | None
) -> None:
    """Refuse truths without a value where nothing was too little plausible, or known otherwise."""
    if min_plausibility is not None or kind in ("multiple", "numeric"):
        return
    keys = keys_of(tables.facts)
    known = tables.facts.select(keys).with_columns(layout["known"])
    refuted = known.group_by(keys).agg(pl.col("known").max()).filter(pl.col("known") == 0)
    empty = tables.truths.filter(pl.col("value").is_null()).select(keys)
    if kind == "categorical":
        empty = empty.join(refuted, on=keys, how="anti")
    _require(empty.is_empty(), "truths.parquet lacks values")


def check_counts(claims: pl.DataFrame, sources: pl.DataFrame) -> None:
    """Refuse claims of which sources have made others than they are said to have made."""
    counted = np.bincount(claims["source"].to_numpy(), minlength=len(sources))
    _require(
        np.array_equal(counted, sources["claims"].to_numpy()),
        "claims.parquet and sources.parquet count different claims",
    )


def _check_layout(facts: pl.DataFrame, layout: pl.DataFrame, names: Names) -> None:
    wanted = {"label": pl.Int32, "known": pl.Int8, "known_number": pl.Float64}
    _check_types("layout", layout.schema, wanted)
    _require(len(layout) == len(facts), "layout.parquet does not go with the facts")
    _require(not sum(layout.null_count().row(0)), "layout.parquet has cells with nothing in them")
    label = layout["label"]
    _require(
        bool(label.is_between(0, max(len(names.labels) - 1, 0)).all()),
        "layout.parquet does not go with the labels",
    )
    is_known = bool(layout["known"].is_between(UNKNOWN, 1).all())
    _require(is_known, "layout.parquet knows what cannot be known")


def check_blocks(blocks: pl.DataFrame, n_facts: int, n_claims: int) -> None:
    """Refuse blocks that are not all of the facts and claims."""
    _check_types("blocks", blocks.schema, {"facts": pl.Int64, "claims": pl.Int64})
    is_sound = all(_is_count(blocks[name]) for name in ("facts", "claims"))
    sums = (blocks["facts"].sum(), blocks["claims"].sum())
    _require(is_sound and sums == (n_facts, n_claims), "blocks.parquet does not go with the facts")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
