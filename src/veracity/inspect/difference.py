"""Show what changed from one run to the next, and why: `diff`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.encoding.partitions import Partition
from veracity.errors import ParameterError
from veracity.inspect.evaluation import usual_tolerance
from veracity.io.frames import FrameKind, hand_back
from veracity.naming import as_text
from veracity.printing import Shown
from veracity.reading.roles import keys_of
from veracity.result import Result
from veracity.result.records import own_names
from veracity.result.tables import claims_of_part

SHOWN = 2
"""Number of claims or sources named in a reason."""

LEAST_MOVE = 0.005
"""Smallest change of a source that counts as a reason."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Difference(Shown):
    """Changes from one run to another. Tables are frames of the same kind as in the later run.

    Attributes
    ----------
    items
        One row per item whose value has changed, is new or is gone (`change`), with its value and
        plausibility `before` and `after`, and the `reason`.
    sources
        One row per source, the largest change first: its accuracy (for numbers: its deviation)
        `before` and `after`. `beyond` is true if it is now outside its earlier interval.
    same
        Number of items with the same value in both.
    notes
        Differences of the runs: algorithm, parameters, normalising, all items new or gone.
    """

    items: Any
    sources: Any
    same: int
    notes: list[str]
    frame_kind: FrameKind = "polars"
    headings: Mapping[str, str] = field(default_factory=dict)
    """Names of the columns in the claims of the later run."""


def diff(result: Result, other: Result) -> Difference:
    """Compare two results: list the items that changed, with reasons, and the sources that changed.

    Parameters
    ----------
    result
        The earlier result.
    other
        The later result: with more claims, with known truths, or of another algorithm.

    Examples
    --------
    >>> import veracity
    >>> rows = {"source": ["a", "b", "c"], "entity": ["x"] * 3, "value": ["1", "2", "2"]}
    >>> claims = pl.DataFrame(rows)
    >>> before, after = (veracity.discover(some) for some in (claims.head(1), claims))
    >>> diff(before, after).items["reason"].to_list()
    ['2 new claims: b says 2, c says 2']
    """
    if result.kind != other.kind:
        raise ParameterError(f"diff: one run is of {result.kind} claims, one of {other.kind} ones")
    before, after = _Run.of(result), _Run.of(other)
    if before.keys != after.keys:
        named = " and ".join(", ".join(run.keys) for run in (before, after))
        raise ParameterError(f"diff: items are named by {named}; the runs cannot be compared")
    both = before.truths.join(
        after.truths, on=before.keys, how="full", coalesce=True, nulls_equal=True,
        maintain_order="left_right", suffix="_after",
    ).rename({"value": "before", "value_after": "after"})  # fmt: skip
    both = both.with_columns(change=_change(result.kind == "numeric"))
    moved, settings = _moves(result, other), _settings(result, other)
    changed = both.filter(pl.col("change") != "same")
    reasons = _reasons(changed.filter(pl.col("change") == "changed"), before, after, moved)
    told = changed.join(
        reasons, on=before.keys, how="left", nulls_equal=True, maintain_order="left"
    )
    sure = [name for name in told.columns if name.startswith("plausibility")]
    items = told.with_columns(_default_reason(settings)).select(
        *before.keys, "change", "before", "after", *sure, "reason"
    )
    kind = other.frame_kind if other.frame_kind != "spark" else "polars"
    return Difference(
        items=hand_back(items, kind),
        sources=hand_back(moved, kind),
        same=len(both) - len(changed),
        notes=[*settings, *_only_new(both, result, other)],
        frame_kind=kind,
        headings=own_names(
            list(dict.fromkeys([*items.columns, *moved.columns])),
            other.run.input.columns,
            other.kind,
        ),
    )


def _only_new(both: pl.DataFrame, result: Result, other: Result) -> list[str]:
    """Return a note if the runs have different items because one holds only new claims."""
    is_of_one = both["change"].is_in(["new", "gone"])
    if both.is_empty() or not is_of_one.any():
        return []
    why = "a run that judge or update wrote has only the new claims"
    if is_of_one.all():
        return [f"the runs have no item in common; {why}"]
    is_judged = result.run.judged or other.run.judged
    return [f"items may be new or gone for this: {why}"] if is_judged else []


class _Run(NamedTuple):
    """Parts of a result that are compared; names and values are text, to match between runs."""

    keys: list[str]
    truths: pl.DataFrame
    result: Result

    @classmethod
    def of(cls, result: Result) -> _Run:
        """Return one row per item with its value and plausibility."""
        here = result.fetch()
        truths = here.tables.truths
        keys = keys_of(truths)
        told = [name for name in ("plausibility", "uncertainty") if name in truths.columns]
        truths = _in_text(truths.select(*keys, "value", *told), keys, here.kind == "numeric")
        if here.kind == "multiple":
            several = pl.col("value").drop_nulls().sort().str.join(" | ")
            truths = truths.group_by(keys, maintain_order=True).agg(
                several, pl.col("plausibility").max()
            )
        if here.kind == "numeric":
            truths = truths.with_columns(allowed=usual_tolerance(keys))
        return cls(keys, truths, here)

    def claims_on(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return the claims on these items, and whether the truth of the item is known."""
        return pl.concat([self._of_part(part, items) for part in self.result.encoded.parts])

    def _of_part(self, part: Partition, items: pl.DataFrame) -> pl.DataFrame:
        names = _in_text(part.items, self.keys)
        meant = items.select(self.keys).with_columns(is_meant=pl.lit(value=True))
        is_meant = names.join(
            meant, on=self.keys, how="left", maintain_order="left", nulls_equal=True
        )["is_meant"].fill_null(value=False)
        chosen = part.select(is_meant.to_numpy())
        block, kind = chosen.block, self.result.kind
        is_number = kind == "numeric"
        if is_number:
            chosen = replace(chosen, values=pl.Series(block.number_of_fact))
        sources = as_text(self.result.encoded.names.sources)
        said = claims_of_part(chosen, sources, kind).rename({"claim": "value"}, strict=False)
        n_claims = block.n_voices_of_item if kind == "binary" else block.n_supports_of_item
        said = said.with_columns(known=np.repeat(block.is_known, n_claims))
        return _in_text(said, self.keys, is_number).select(*self.keys, "value", "source", "known")


def _in_text(table: pl.DataFrame, keys: list[str], is_number: bool = False) -> pl.DataFrame:
    names = [*keys, *([] if is_number or "value" not in table.columns else ["value"])]
    return table.with_columns(as_text(table[name]) for name in names)


def _change(is_number: bool) -> pl.Expr:
    """Return an expression that calls each item new, gone, changed or the same."""
    told = "allowed" if is_number else "plausibility"
    was, now = pl.col("before"), pl.col("after")
    is_same = was.eq_missing(now)
    if is_number:
        is_same = (was - now).abs() <= pl.max_horizontal("allowed", "allowed_after")
        is_same = is_same | (was.is_null() & now.is_null())
    is_new, is_gone = pl.col(told).is_null(), pl.col(f"{told}_after").is_null()
    return (
        pl.when(is_new).then(pl.lit("new")).when(is_gone).then(pl.lit("gone"))
        .when(is_same).then(pl.lit("same")).otherwise(pl.lit("changed"))
    )  # fmt: skip


# --- sources --------------------------------------------------------------------------------------


def _moves(result: Result, other: Result) -> pl.DataFrame:
    """Return the change of each source, the largest first."""
    measure = "deviation" if result.kind == "numeric" else "accuracy"
    sources = [one.tables.sources for one in (result, other)]
    sources = [table.with_columns(as_text(table["source"])) for table in sources]
    ends = [name for name in (f"{measure}_low", f"{measure}_high") if name in sources[0].columns]
    was = sources[0].select("source", *ends, before=measure, claims_before="claims")
    now = sources[1].select("source", after=measure, claims_after="claims")
    both = was.join(now, on="source", how="full", coalesce=True)
    beyond = pl.lit(value=False)
    if ends:
        low, high = ends
        beyond = ~pl.col("after").is_between(pl.col(low), pl.col(high)).fill_null(value=True)
    moved = both.with_columns(change=pl.col("after") - pl.col("before"), beyond=beyond).drop(ends)
    order = pl.col("change").abs().fill_null(np.inf).round(9)
    return moved.sort(order, "source", descending=[True, False])


# --- why ------------------------------------------------------------------------------------------


def _reasons(changed: pl.DataFrame, before: _Run, after: _Run, moved: pl.DataFrame) -> pl.DataFrame:
    """Return why each item changed: a known truth, claims, or sources."""
    keys = before.keys
    was, now = before.claims_on(changed), after.claims_on(changed)
    known = [said.group_by(keys).agg(pl.col("known").any()) for said in (was, now)]
    on: dict[str, Any] = {"on": keys, "how": "left", "nulls_equal": True}
    table = changed.join(known[0], **on).join(known[1], suffix="_after", **on)
    come, gone = (
        _without(some, others, keys).join(
            changed.select(*keys, wanted=pl.col(told).cast(pl.String)), **on
        )
        for some, others, told in ((now, was, "after"), (was, now, "before"))
    )
    has_one_value = before.result.kind in ("categorical", "binary")
    table = table.join(_decided(pl.concat([come, gone]), keys, has_one_value), **on)
    table = table.join(_listed(come, keys, ("new claim", "new claims"), "says"), **on)
    gone = _listed(gone, keys, ("claim gone", "claims gone"), "said")
    table = table.join(gone, suffix="_gone", **on)
    table = table.join(_risen(changed, now, keys, moved), suffix="_moved", **on)
    is_known, was_known = (pl.col(name).fill_null(value=False) for name in ("known_after", "known"))
    claims = pl.concat_str("told", "told_gone", separator="; ", ignore_nulls=True)
    reason = (
        pl.when(is_known & ~was_known).then(pl.lit("its truth is known now"))
        .when(was_known & ~is_known).then(pl.lit("its truth is no longer known"))
        .when(pl.col("decided") | pl.col("told_moved").is_null()).then(claims.replace("", None))
        .otherwise("told_moved")
    )  # fmt: skip
    return table.select(*keys, reason=reason)


def _decided(claims: pl.DataFrame, keys: list[str], has_one_value: bool) -> pl.DataFrame:
    """Return the items that claims changed: new claims for the new value, or lost old ones."""
    if has_one_value:
        claims = claims.filter(pl.col("value") == pl.col("wanted"))
    return claims.select(keys).unique().with_columns(decided=pl.lit(value=True))


def _without(claims: pl.DataFrame, others: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return claims.join(others, on=[*keys, "value", "source"], how="anti", nulls_equal=True)


def _listed(
    claims: pl.DataFrame, keys: list[str], what: tuple[str, str], verb: str
) -> pl.DataFrame:
    """Describe the claims on each item, e.g. ``2 new claims: tower says D3, orbit says D3``."""
    text = claims.with_columns(pl.col("value").cast(pl.String))
    is_other = pl.col("value").ne_missing(pl.col("wanted"))  # those that decided come first
    ordered = text.sort(is_other, "source", "value")
    one = pl.format(f"{{}} {verb} {{}}", "source", "value")
    listed = ordered.group_by(keys).agg(
        n=pl.len(), some=one.head(SHOWN).str.join(", "), more=pl.len() > SHOWN
    )
    many = pl.when(pl.col("n") == 1).then(pl.lit(what[0])).otherwise(pl.lit(what[1]))
    dots = pl.when("more").then(pl.lit(", ...")).otherwise(pl.lit(""))
    return listed.select(*keys, told=pl.format("{} {}: {}{}", "n", many, "some", dots))


def _risen(
    changed: pl.DataFrame, now: pl.DataFrame, keys: list[str], moved: pl.DataFrame
) -> pl.DataFrame:
    """Return the sources whose change explains that of the item.

    These rose and claim the new value, or fell and claim another. For numbers, all sources whose
    deviation changed are named.
    """
    moves = moved.filter(pl.col("change").abs() >= LEAST_MOVE)
    said = now.join(moves.rename({"before": "was", "after": "is"}), on="source")
    said = said.join(changed.select(*keys, "before", "after"), on=keys, nulls_equal=True)
    if said["value"].dtype == pl.String:
        is_new, is_old = pl.col("value") == pl.col("after"), pl.col("value") == pl.col("before")
        rise = pl.col("change") > 0
        said = said.filter((is_new & rise) | (is_old & ~rise))
    one = pl.format(
        "{} {} from {} to {}", "source",
        pl.when(pl.col("change") > 0).then(pl.lit("rose")).otherwise(pl.lit("fell")),
        pl.col("was").round(2), pl.col("is").round(2),
    )  # fmt: skip
    ordered = said.sort(-pl.col("change").abs().round(9), "source")
    return ordered.group_by(keys).agg(told=one.head(SHOWN).str.join(", "))


def _default_reason(settings: list[str]) -> pl.Expr:
    """Return the reason for items without any other reason."""
    close = "a close call: little has changed in what is thought of its sources"
    rest = "the runs differ in their settings" if settings else close
    is_changed = pl.col("change") == "changed"
    told = pl.when(is_changed).then(pl.coalesce("reason", pl.lit(rest)))
    return told.otherwise(pl.lit(None)).alias("reason")


def _settings(result: Result, other: Result) -> list[str]:
    """Return the differences in the settings of the runs."""
    one, two = result.run, other.run
    if one.algorithm != two.algorithm:
        return [f"the algorithm was {one.algorithm}, and is {two.algorithm}"]
    notes = [
        f"the parameter {name} was {one.parameters.get(name)}, and is {two.parameters.get(name)}"
        for name in sorted(set(one.parameters) | set(two.parameters))
        if one.parameters.get(name) != two.parameters.get(name) and name != "prior"
    ]
    if one.parameters.get("prior") != two.parameters.get("prior"):
        notes.append("the prior is another one")
    if (one.normalisation is None) != (two.normalisation is None):
        notes.append(f"values are {'no longer ' * (two.normalisation is None)}normalised")
    return notes
