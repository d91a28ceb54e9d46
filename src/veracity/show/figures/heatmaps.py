"""Draw matrices: agreement of sources, and confusions of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from veracity.checks.coverage import FEW_SHARED
from veracity.checks.pairing import joined_values
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.partitions import Encoded
from veracity.errors import ParameterError
from veracity.reading.roles import Kind
from veracity.result.crowds import confusions_of
from veracity.show.figures.base import (
    Colours,
    Figure,
    altair,
    drawable,
    heatmap,
    shades_of,
)

if TYPE_CHECKING:
    from veracity.result import Result

MOST_SOURCES = 60
"""Largest number of sources in a matrix; the most active are taken."""


def agreement_table(result: Result, most: int = MOST_SOURCES) -> pl.DataFrame:
    """Return one row per ordered pair of the most active sources; agreeing sources are neighbours.

    `shared` is the number of items on which both make claims, `same` the number on which they
    agree, and `agreement` the ratio, if they share five or more.
    """
    if len(result.tables.sources) < 2:
        raise ParameterError("plot: agreement needs two sources or more; there is one")
    sources = result.tables.sources.with_row_index("row")
    ranked = sources.sort("claims", descending=True, maintain_order=True).head(most)
    shared, same = meetings(result.encoded, ranked["row"].to_numpy())
    nothing = np.full(same.shape, np.nan)
    agreement = np.divide(same, shared, out=nothing, where=shared >= FEW_SHARED)
    order = _side_by_side(same, shared)
    one, other = (grid.ravel() for grid in np.meshgrid(order, order, indexing="ij"))
    rows = pl.DataFrame(
        {
            "source": ranked["source"].gather(one),
            "other": ranked["source"].gather(other),
            "agreement": agreement[one, other],
            "shared": shared[one, other].astype(np.int64),
            "same": same[one, other].astype(np.int64),
        }
    )
    return rows.filter(one != other).with_columns(pl.col("agreement").fill_nan(None))


def _side_by_side(same: FloatArray, shared: FloatArray) -> IntArray:
    """Return an order in which sources that agree are neighbours: the leaves of average linkage.

    A pair that shares few items counts as having average agreement.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    apart = ~np.eye(len(same), dtype=bool)
    usual = same[apart].sum() / max(shared[apart].sum(), 1.0)
    distance = 1.0 - (same + FEW_SHARED * usual) / (shared + FEW_SHARED)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree))


def agreement_figure(result: Result, theme: str = "light") -> Figure:
    """Draw how often each pair of sources agrees; sources that agree are side by side."""
    table = agreement_table(result)
    order = drawable(table)["source"].unique(maintain_order=True).to_list()
    step = max(12, min(130, 520 // len(order)))  # large for few: the note above has to fit

    def draw(colours: Colours) -> Any:
        alt = altair()

        def axis(angle: int) -> dict[str, Any]:
            letters = {"labelFontSize": min(11, step - 2), "labelLimit": 150, "labelOverlap": False}
            own = alt.Axis(**letters, labelAngle=angle, ticks=False, grid=False)
            return {"title": None, "axis": own, "scale": alt.Scale(domain=order)}

        legend = alt.Legend(format=".0%")
        cells = heatmap(
            table,
            alt.X("source:N", **axis(-90)),
            alt.Y("other:N", **axis(0)),
            shades_of(colours, "agreement", (0.0, 0.7, 1.0), title="agreement", legend=legend),
            label=".2f" if step > 30 else "",
            light_from=0.8,
            colours=colours,
            tooltip=[
                "source:N",
                "other:N",
                alt.Tooltip("agreement:Q", format=".1%"),
                alt.Tooltip("shared:Q", title="items shared", format=","),
                alt.Tooltip("same:Q", title="the same said", format=","),
            ],
        )
        size = step * len(order)
        return cells.properties(width=size, height=size)

    note = _note(result, table, len(order))
    title = "How often sources say the same"
    return Figure(title=title, note=note, table=table, draw=draw, theme=theme)


def _note(result: Result, table: pl.DataFrame, shown: int) -> str:
    n_sources = len(result.tables.sources)
    parts = [f"The {shown} most active of {n_sources:,} sources."] if n_sources > shown else []
    parts.append("Share of the common items; sources that agree are side by side.")
    if (table["shared"] < FEW_SHARED).any():
        parts.append(f"Empty: fewer than {FEW_SHARED} shared items.")
    return " ".join(parts)


# --- confusions -----------------------------------------------------------------------------------

MOST_MATRICES = 12
"""Largest number of matrices in a figure; the sources with most claims are taken."""

MOST_LABELS = 30
"""Largest number of labels in a matrix."""


def confusions_figure(result: Result, theme: str = "light") -> Figure:
    """Draw the probability that a source claims a label, given the true label."""
    confusions = confusions_of(result)
    claims = confusions.group_by("source").agg(total=pl.col("claims").sum().round(6))
    chosen = claims.sort("total", "source", descending=[True, False]).head(MOST_MATRICES)
    chosen = chosen.select("source").with_row_index("place")
    table = chosen.join(confusions, on="source").sort("place", "true", "said").drop("place")
    n_labels = table["true"].n_unique()
    if table.is_empty():
        raise ParameterError("plot: no true label is among the claims, so nothing is confused")
    if n_labels > MOST_LABELS:
        raise ParameterError(
            f"plot: {n_labels} labels are too many for a matrix one can read; "
            "result.confusions has them as a table"
        )
    order = drawable(table)["source"].unique(maintain_order=True).to_list()
    step = max(14, min(34, 240 // n_labels))

    def draw(colours: Colours) -> Any:
        alt = altair()
        axis = alt.Axis(ticks=False, grid=False, labelOverlap=False, labelLimit=120)
        legend = alt.Legend(format=".0%")
        matrix = heatmap(
            table,
            alt.X("said:N", title="label said", axis=axis),
            alt.Y("true:N", title="true label", axis=axis),
            shades_of(colours, "probability", (0.0, 0.5, 1.0), legend=legend),
            label=".2f" if step > 24 else "",
            light_from=0.6,
            colours=colours,
            tooltip=[
                "source:N", "true:N", "said:N", alt.Tooltip("probability:Q", format=".1%"),
                alt.Tooltip("claims:Q", format=",.1f"),
            ],
        )  # fmt: skip
        header = alt.Header(labelLimit=200, title=None)
        facet = alt.Facet("source:N", sort=order, header=header)
        sized = matrix.properties(width=alt.Step(step), height=alt.Step(step))
        return sized.facet(facet, columns=4)

    note = "How likely a source is to say a label, given the true one: right is on the diagonal."
    n_sources = len(result.tables.sources)
    if n_sources > len(order):
        note += f" The {len(order)} most active of {n_sources:,} sources."
    return Figure(title="Who confuses what", note=note, table=table, draw=draw, theme=theme)


# --- what sources say of the same items -----------------------------------------------------------


def meetings(encoded: Encoded, chosen: IntArray) -> tuple[FloatArray, FloatArray]:
    """Count the items that each pair of the chosen sources shares, and those on which it agrees.

    If a source claims several values of an item, all of them together are its answer.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - loaded on first use

    slot = np.full(encoded.names.n_sources, -1, dtype=np.int64)
    slot[chosen] = np.arange(len(chosen))
    counts = np.zeros((2, len(chosen), len(chosen)))
    for block in encoded.blocks:
        source, item, answer = _answers(block, encoded.kind)
        is_chosen = slot[source] >= 0
        row = slot[source][is_chosen]
        for number, column in enumerate((item, answer)):
            shape = (len(chosen), int(column.max()) + 1)
            met = csr_array((np.ones(len(row)), (row, column[is_chosen])), shape=shape)
            counts[number] += (met @ met.T).toarray()
    return counts[0], counts[1]


def _answers(block: Block, kind: Kind) -> tuple[IntArray, IntArray, IntArray]:
    """Return the source, the item and the number of each answer; equal answers share a number."""
    if kind == "binary":  # who speaks of a fact without supporting it denies it
        item = block.item_of_voice
        return block.source_of_voice.astype(np.int64), item, 2 * item + block.affirms
    fact = block.fact_of_support
    item, source = block.item_of_fact[fact], block.source_of_support.astype(np.int64)
    if len(block.source_of_voice) == len(source):  # nobody names two values
        return source, item, fact
    who, about, joined = joined_values(block)
    _, answer = np.unique(joined, return_inverse=True)
    return who, about, answer
