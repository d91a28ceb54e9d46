"""Who says the same as whom: a matrix in which near-copies stand side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.parameters import require_at_least
from veracity.doubts.overlap import FEW_SHARED
from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray
from veracity.encoding.partitions import Encoded
from veracity.errors import ParameterError
from veracity.show.plot.figure import Look, altair, chart_of, drawable, finish, look_of

if TYPE_CHECKING:
    from altair import TopLevelMixin

    from veracity.result import Result

MOST_SOURCES = 60
"""So many sources fit in a matrix one can read; of more, the most active."""

NEAR = 0.9
"""Groups that agree as much, on average, are outlined."""


def agreement_table(result: Result, most: int = MOST_SOURCES) -> pl.DataFrame:
    """One row per pair of the most active sources, both ways round, groups that agree side by side.

    `shared` items are those of which both speak; the `same` is said by both of some of them, and
    `agreement` is the ratio, if they share five or more. Of a shared item, one or both may say what
    is not plausible: `mistakes` counts these, `same_mistakes` those of which both say the same.
    `group` numbers the groups that agree on nine of ten items or more, if both are in the same one.
    """
    chosen = _most_active(result, most)
    met = _met(result, chosen)
    agreement = np.divide(
        met.same, met.shared, out=np.full(met.same.shape, np.nan), where=met.shared >= FEW_SHARED
    )
    order, group = _side_by_side(met.same, met.shared)
    one, other = (grid.ravel() for grid in np.meshgrid(order, order, indexing="ij"))
    names = result.tables.sources["source"].gather(chosen)
    rows = pl.DataFrame(
        {
            "source": names.gather(one),
            "other": names.gather(other),
            "agreement": agreement[one, other],
            "shared": met.shared[one, other].astype(np.int64),
            "same": met.same[one, other].astype(np.int64),
            "mistakes": met.mistakes[one, other].astype(np.int64),
            "same_mistakes": met.same_mistakes[one, other].astype(np.int64),
            "group": np.where(group[one] == group[other], group[one], 0),
        }
    )
    pairs = rows.filter(one != other).with_columns(pl.col("agreement").fill_nan(None))
    # Who shares few items with all others of a group is in it by the mean of all, not by evidence.
    is_seen = [pl.col("agreement").count().over("group", own) > 0 for own in ("source", "other")]
    is_group = (pl.col("group") > 0) & is_seen[0] & is_seen[1]
    return pairs.with_columns(group=pl.when(is_group).then("group"))


def _most_active(result: Result, most: int) -> IntArray:
    """Row numbers of the sources with most claims."""
    require_at_least("agreement_table", 2, most=most)
    if len(result.tables.sources) < 2:
        raise ParameterError("plot: agreement needs two sources or more; there is one")
    ranked = result.tables.sources.with_row_index("row").sort(
        "claims", descending=True, maintain_order=True
    )
    return ranked["row"].head(most).to_numpy()


def _met(result: Result, chosen: IntArray) -> Met:
    """What each two of the chosen sources say of the same items."""
    facts = result.tables.facts
    p = facts["plausibility"].to_numpy() if "plausibility" in facts.columns else np.ones(len(facts))
    return meetings(result.encoded, p < 0.5, chosen)


def _side_by_side(same: FloatArray, shared: FloatArray) -> tuple[IntArray, IntArray]:
    """An order in which sources that agree are neighbours, and which group each source is in.

    The order is that of the leaves of average linkage. A pair that shares few items is taken to
    agree about as much as pairs usually do.
    """
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    apart = ~np.eye(len(same), dtype=bool)
    usual = same[apart].sum() / max(shared[apart].sum(), 1.0)
    distance = 1.0 - (same + FEW_SHARED * usual) / (shared + FEW_SHARED)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return leaves_list(tree), fcluster(tree, 1.0 - NEAR, "distance")


def plot_agreement(
    result: Result, theme: str = "light", table: pl.DataFrame | None = None
) -> TopLevelMixin:
    """The share of shared items on which two sources say the same, for all pairs."""
    if table is not None and not {"source", "other"} <= set(table.columns):
        raise ParameterError("plot: the table of an agreement must be what agreement_table made")
    alt, look = altair(), look_of(theme)
    table = drawable(agreement_table(result) if table is None else table)
    order = table["source"].unique(maintain_order=True).to_list()
    step = max(12, min(130, 520 // len(order)))  # large for few: the note above has to fit
    cells = chart_of(table).encode(
        x=alt.X("source:N", **_names(alt, order, step, -90)),
        y=alt.Y("other:N", **_names(alt, order, step, 0)),
        tooltip=_tooltip(alt),
    )
    layers = [cells.mark_rect().encode(color=_shade(alt, look))]
    if step > 30:
        layers.append(_numbers(alt, look, cells))
    layers.append(_outlines(alt, look, table))
    size = step * len(order)
    chart = alt.layer(*layers).properties(width=size, height=size)
    note = _note(result, table, len(order))
    figure: TopLevelMixin = finish(chart, look, "How often sources say the same", note)
    return figure


def _names(alt: Any, order: list[str], step: int, angle: int) -> dict[str, Any]:
    letters = {"labelFontSize": min(11, step - 2), "labelLimit": 150, "labelOverlap": False}
    axis = alt.Axis(**letters, labelAngle=angle, ticks=False, grid=False)
    return {"title": None, "axis": axis, "scale": alt.Scale(domain=order)}


def _note(result: Result, table: pl.DataFrame, shown: int) -> str:
    n_sources = len(result.tables.sources)
    parts = [f"The {shown} most active of {n_sources:,} sources."] if n_sources > shown else []
    parts.append("Share of the common items; sources that agree are side by side.")
    if table["group"].count():
        parts.append("Outlined: groups that agree on 9 of 10 or more, near-copies or all right.")
    if (table["shared"] < FEW_SHARED).any():
        parts.append(f"Empty: fewer than {FEW_SHARED} shared items.")
    return " ".join(parts)


def _outlines(alt: Any, look: Look, table: pl.DataFrame) -> Any:
    """A square around each group of near-copies."""
    members = table.drop_nulls("group").unique(["group", "source"], maintain_order=True)
    squares = members.group_by("group", maintain_order=True).agg(
        first=pl.col("source").first(), last=pl.col("source").last()
    )
    return (
        chart_of(squares)
        .mark_rect(filled=False, stroke=look.against, strokeWidth=2)
        .encode(
            x=alt.X("first:N", bandPosition=0),
            x2=alt.X2("last:N", bandPosition=1),
            y=alt.Y("first:N", bandPosition=0),
            y2=alt.Y2("last:N", bandPosition=1),
        )
    )


def _shade(alt: Any, look: Look) -> Any:
    scale = alt.Scale(range=list(look.shades), domain=[0.0, 0.7, 1.0], interpolate="lab")
    return alt.Color("agreement:Q", scale=scale, title="agreement", legend=alt.Legend(format=".0%"))


def _tooltip(alt: Any) -> list[Any]:
    counts = {
        "shared": "items shared",
        "same": "the same said",
        "mistakes": "one or both mistaken",
        "same_mistakes": "the same mistake",
    }
    return [
        "source:N",
        "other:N",
        alt.Tooltip("agreement:Q", format=".1%"),
        *(alt.Tooltip(f"{name}:Q", title=title, format=",") for name, title in counts.items()),
    ]


def _numbers(alt: Any, look: Look, cells: Any) -> Any:
    """The agreement in each cell, in a colour that stands out from it."""
    known = cells.transform_filter("isValid(datum.agreement)")
    return known.mark_text(fontSize=10).encode(
        text=alt.Text("agreement:Q", format=".2f"),
        color=alt.condition("datum.agreement > 0.85", alt.value(look.paper), alt.value(look.ink)),
    )


class Met(NamedTuple):
    """For each two sources: items both speak of, items of which both say the same.

    Of a shared item, one or both may say what is mistaken: `mistakes` counts these,
    `same_mistakes` those of which both say the same.
    """

    shared: FloatArray
    same: FloatArray
    mistakes: FloatArray
    same_mistakes: FloatArray


class _Answers(NamedTuple):
    """What sources say of items: one answer each, the same number for the same answer."""

    source: IntArray
    item: IntArray
    answer: IntArray
    is_mistake: BoolArray


def meetings(encoded: Encoded, is_mistake: BoolArray, chosen: IntArray) -> Met:
    """What each two of the chosen sources say of the same items, given which facts are mistaken.

    A source that names several values of an item gives one answer: all of them.
    """
    slot = np.full(encoded.names.n_sources, -1, dtype=np.int64)
    slot[chosen] = np.arange(len(chosen))
    total = np.zeros((4, len(chosen), len(chosen)))
    for block, own in zip(encoded.blocks, encoded.by_block(is_mistake), strict=True):
        is_binary = encoded.kind == "binary"
        answers = _denied(block, own) if is_binary else _answers(block, own)
        total += _meet(answers, slot, len(chosen))
    return Met(*total)


def _answers(block: Block, is_mistake: BoolArray) -> _Answers:
    fact = block.fact_of_support
    item, source = block.item_of_fact[fact], block.source_of_support.astype(np.int64)
    if len(block.source_of_voice) == len(source):  # nobody names two values
        return _Answers(source, item, fact, is_mistake[fact])
    order = np.lexsort((fact, source, item))
    fact, item, source = fact[order], item[order], source[order]
    is_first = np.append(True, (np.diff(item) != 0) | (np.diff(source) != 0))
    first = np.flatnonzero(is_first)
    mixed = (fact.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    _, answer = np.unique(np.add.reduceat(mixed, first), return_inverse=True)
    mistaken = np.logical_or.reduceat(is_mistake[fact], first)
    return _Answers(source[first], item[first], answer, mistaken)


def _denied(block: Block, is_mistake: BoolArray) -> _Answers:
    """Who speaks of a binary fact without supporting it denies it."""
    item, says_so = block.item_of_voice, block.affirms
    source = block.source_of_voice.astype(np.int64)
    return _Answers(source, item, 2 * item + says_so, says_so == is_mistake[item])


def _meet(answers: _Answers, slot: IntArray, n_slots: int) -> FloatArray:
    from scipy.sparse import csr_array  # noqa: PLC0415 - loaded on first use

    row = slot[answers.source]
    is_chosen = row >= 0
    is_wrong = is_chosen & answers.is_mistake

    def table(column: IntArray, meant: BoolArray) -> Any:
        """One row per source, 1 in the columns it meets."""
        shape = (n_slots, int(column.max()) + 1)
        return csr_array((np.ones(meant.sum()), (row[meant], column[meant])), shape=shape)

    speaks, wrong = table(answers.item, is_chosen), table(answers.item, is_wrong)
    says, says_wrong = table(answers.answer, is_chosen), table(answers.answer, is_wrong)
    either = (wrong @ speaks.T).toarray()
    mistakes = either + either.T - (wrong @ wrong.T).toarray()
    return np.stack(
        [
            (speaks @ speaks.T).toarray(),
            (says @ says.T).toarray(),
            mistakes,
            (says_wrong @ says_wrong.T).toarray(),
        ]
    )
