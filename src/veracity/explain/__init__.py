"""Why an item has the value it has: rows that add up, and the same in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from veracity.algorithms.numbers import difference
from veracity.algorithms.rules import Weights
from veracity.encoding.block import SAME, BoolArray, FloatArray, IntArray
from veracity.encoding.partitions import Partition
from veracity.errors import ParameterError
from veracity.explain.contributions import Contribution, Item, items_at
from veracity.explain.sentences import told_in_words
from veracity.io.frames import FrameKind, hand_back
from veracity.naming import as_text, name_text, text_like
from veracity.printing import counted, did_you_mean, html_by, in_short, printable
from veracity.reading.schema import keys_of

if TYPE_CHECKING:
    from veracity.result import Result

MOST_VALUES = 20
"""Claims are listed for the most plausible values of an item, these at most."""

MOST_ROWS = 100
"""Of the claims that bear on a value those that weigh most are listed, the others summed up."""

MOST_ITEMS = 50
"""Of an entity with more attributes these are told; the others are counted."""

MOST_SAID = 5
"""Of a source that names many values of an item so many are told; the others are counted."""

SHOWN_ROWS = 20
"""Rows in the text of an explanation."""


@dataclass(frozen=True)
class Why:
    """Why items have the values they have.

    The prior and the weights of a value's rows add up to its score; from the scores of an item's
    values their plausibilities follow, by a rule.
    """

    words: str
    """The reasons in plain words, one line per item."""
    tables: tuple[pl.DataFrame, pl.DataFrame]
    scale: str | None
    """What weights and scores are: "log-odds", "votes", or "numbers"; None if there are none."""
    rule: str | None
    """How plausibilities follow from scores: see `veracity.algorithms.rules.Rule`."""
    account: str
    """ "exact"; "average", for samplers; or "none", where judging is not by weights."""
    frame_kind: FrameKind = "polars"

    @property
    def values(self) -> Any:
        """One row per value: its plausibility, its score, the score before any claim."""
        return hand_back(self.tables[0], self.frame_kind)

    @property
    def rows(self) -> Any:
        """One row per claim and value it bears on: who claims what, and what that weighs.

        A row without a source sums up the claims that weigh less; `claims` is how many. Where a
        vote counts beside the claims, it has the first row: `claimed` is "(the vote)".
        """
        return hand_back(self.tables[1], self.frame_kind)

    _repr_html_ = html_by("why_html")

    def __repr__(self) -> str:
        """The words, and the tables below."""
        with pl.Config(
            tbl_rows=SHOWN_ROWS, tbl_cols=20, tbl_width_chars=120, tbl_hide_dataframe_shape=True,
            tbl_hide_column_data_types=True, float_precision=3, fmt_str_lengths=24,
        ):  # fmt: skip
            parts = [self.words, *(str(without_keys(table)) for table in self.tables)]
        hidden = len(self.tables[1]) - SHOWN_ROWS
        shown = "\n".join([*parts, f"({counted(hidden, 'more row')})"] if hidden > 0 else parts)
        return printable(shown, lines=True)


THE_VOTE = "(the vote)"
"""What stands for the claim in the row of a vote that counts beside the claims themselves."""

SCALES = {"softmax": "log-odds", "sigmoid": "log-odds", "estimate": "numbers"}
"""What scores are, by rule; votes for all others."""


def explain(result: Result, entity: object, attribute: object = None) -> Why:
    """Why the items of this entity, or this one item or binary fact, have their values."""
    of_entity = f"'{entity}'" if attribute is None else f"'{attribute}' of '{entity}'"
    named = ItemsNamed(str(entity), None if attribute is None else str(attribute))
    result = result.fetch(named, f"why: nobody speaks of {of_entity}; see result.truths")
    keys = keys_of(result.tables.facts)
    rows = _find(result.tables.facts, keys, [entity, attribute])
    items, n_items = items_at(result, rows, MOST_ITEMS)
    parts = [_explain_item(result, item, keys) for item in items]
    lines = [
        words if len(parts) == 1 else f"{_name_in(values, keys[-1])}: {words}"
        for words, values, _ in parts
    ]
    frames = (pl.concat([part[1] for part in parts]), _of_all_items([part[2] for part in parts]))
    weights = items[0].weights
    if n_items > len(items):
        lines.append(
            f"... and {counted(n_items - len(items), 'more attribute')}; name the one you want."
        )
    lines += _caveats(result.run.algorithm, items[0])
    if weights is None:
        return Why("\n".join(lines), frames, None, None, "none", result.frame_kind)
    scale = SCALES.get(weights.rule, "votes")
    return Why("\n".join(lines), frames, scale, weights.rule, weights.account, result.frame_kind)


def _caveats(algorithm: str, item: Item) -> list[str]:
    """How far the rows are to be believed, where that is not all the way."""
    if item.weights is None:
        return [
            f"({algorithm} does not judge by weights; the rows tell who says what, and how far "
            "each source is trusted.)"
        ]
    if item.weights.account == "average":
        return [
            f"({algorithm} draws truths at random; the weights are averages, and the "
            "plausibilities follow from them only about.)"
        ]
    return []


def without_keys(table: pl.DataFrame) -> pl.DataFrame:
    """A table to be shown: what is the same in all rows of an item goes without saying."""
    keys = keys_of(table)
    hidden = keys if table.select(keys).n_unique() == 1 else keys[:-1]
    if "claims" in table.columns and (table["claims"] <= 1).all():
        hidden.append("claims")
    return table.drop(hidden)


@dataclass(frozen=True)
class ItemsNamed:
    """Which items of a part have these names."""

    entity: str
    attribute: str | None

    def __call__(self, part: Partition) -> BoolArray:
        """One truth value per item."""
        keys = keys_of(part.items)
        is_meant = (part.items[keys[0]].cast(pl.String) == self.entity).to_numpy(writable=True)
        if self.attribute is not None and len(keys) > 1:
            is_meant &= (part.items[keys[1]].cast(pl.String) == self.attribute).to_numpy()
        return is_meant


# --- finding the item -----------------------------------------------------------------------------


def _find(facts: pl.DataFrame, keys: list[str], names: list[object]) -> IntArray:
    """The rows of the facts of these names; what there is instead, if there are none."""
    if len(keys) == 1 and names[1] is not None:
        what = "facts" if keys == ["fact"] else "entities"
        raise ParameterError(f"why: {what} of these claims have no attributes; leave it out")
    rows = np.arange(len(facts))
    for key, name in zip(keys, names, strict=False):
        if key == "attribute" and name is None:
            continue
        column = facts[key].gather(rows)
        found = rows[_is_named(column, name).to_numpy()]
        if len(found) == 0:
            raise ParameterError(_not_there(key, name_text(name), as_text(column.unique())))
        rows = found
    return rows


def _is_named(column: pl.Series, name: object) -> pl.Series:
    """Which of these have this name: as it is, as it is written in the tables, or as text."""
    text = as_text(column)
    told = pl.Series([name_text(name)], dtype=pl.String)
    spellings = pl.concat([told, text_like(told, column.dtype)]).unique()
    return text.is_in(spellings.implode()).fill_null(value=False)


def _name_in(values: pl.DataFrame, key: str) -> str:
    return in_short(as_text(values[key].head(1))[0])


def _not_there(key: str, name: str, column: pl.Series) -> str:
    there_are = column.drop_nulls().unique().sort().to_list()
    meant = did_you_mean(name, there_are, most=3, least=60)
    if meant:
        return f"why: no {key} '{in_short(name)}'; {meant}"
    some = ", ".join(f"'{in_short(other)}'" for other in there_are[:5])
    more = f" and {len(there_are) - 5:,} more" if len(there_are) > 5 else ""
    return f"why: no {key} '{in_short(name)}'; there are {some}{more}"


# --- one item -------------------------------------------------------------------------------------


def _explain_item(
    result: Result, item: Item, keys: list[str]
) -> tuple[str, pl.DataFrame, pl.DataFrame]:
    """The words, the values and the rows."""
    truth = _truths_of(result, item, keys)
    words = told_in_words(result, item, truth)
    if result.kind == "numeric":
        return words, *_numbers(result, item, truth)
    order = item.order
    tables = [
        _rows(result, item, int(fact), item.contribution_to(int(fact)))
        for fact in order[:MOST_VALUES]
    ]
    return words, _values(item, order), pl.concat(tables)


def _truths_of(result: Result, item: Item, keys: list[str]) -> pl.DataFrame:
    item_names = item.facts.select(keys).head(1)
    return result.tables.truths.join(item_names, on=keys, how="semi", nulls_equal=True)


def _values(item: Item, order: IntArray) -> pl.DataFrame:
    """The facts of the item, the most plausible first; and what nobody claims, if it counts."""
    values = item.facts
    if item.weights is None:
        nothing = pl.lit(None, pl.Float64)
        return values.with_columns(score=nothing, prior=nothing)[order]
    values = values.with_columns(score=item.score, prior=item.prior)[order]
    if not np.isfinite(item.unclaimed):
        return values
    rest = max(0.0, 1.0 - float(item.facts["plausibility"].sum()))
    keys = item.facts.select(pl.col("^(entity|attribute)$")).head(1)
    nobody = keys.with_columns(
        plausibility=pl.lit(rest), score=pl.lit(item.unclaimed), prior=pl.lit(item.unclaimed),
        supporters=pl.lit(0), opposers=pl.lit(len(item.block.source_of_voice)),
    )  # fmt: skip
    return pl.concat([values, nobody], how="diagonal_relaxed")


def _rows(result: Result, item: Item, fact: int, added: Contribution) -> pl.DataFrame:
    """The claims that bear on a fact, those that weigh most first; the others in one row."""
    order = heaviest_first(added.weight)
    shown, rest = order[:MOST_ROWS], order[MOST_ROWS:]
    claim = added.claim[shown]
    source = item.source_of_claim[claim]
    told = result.tables.sources.select(pl.col("^(source|tpr|fpr|accuracy|trust)$"))[source]
    rows = told.with_columns(
        _claimed(item, claim), weight=added.weight[shown], claims=pl.lit(1, pl.Int64)
    )
    if len(rest):
        summed = pl.DataFrame({"weight": [added.weight[rest].sum()], "claims": [len(rest)]})
        rows = pl.concat([rows, summed], how="diagonal")
    if item.vote is not None:
        vote = pl.DataFrame({"claimed": [THE_VOTE], "weight": [item.vote[fact]], "claims": [0]})
        rows = pl.concat([rows.clear(), vote, rows], how="diagonal")
    keys = item.facts.select(pl.col("^(entity|attribute|fact|value)$"))[[fact] * len(rows)]
    measures = [name for name in told.columns if name != "source"]
    rows = pl.concat([keys, rows], how="horizontal").with_columns(pl.col("weight").fill_nan(None))
    return rows.select(*keys.columns, "source", "claimed", *measures, "weight", "claims")


def heaviest_first(weight: FloatArray) -> IntArray:
    """The order by size; weights that differ in their last bits alone stay where they are."""
    size = np.abs(weight)
    share = size / (size.max(initial=0.0) or 1.0)
    return np.argsort(-np.round(share, SAME), kind="stable")


def _claimed(item: Item, claim: IntArray) -> pl.Series:
    """What the source of each of these claims says of the item: all its values, as text."""
    if "value" not in item.facts.columns:
        return pl.Series("claimed", item.is_positive[claim])
    said = said_by_source(item)
    of_row = pl.DataFrame({"source": item.source_of_claim[claim]})
    return of_row.join(said, on="source", how="left", maintain_order="left")["claimed"]


def said_by_source(item: Item) -> pl.DataFrame:
    """One row per `source`, by its number: all that it says of the item, as text, in `claimed`."""
    is_binary = "value" not in item.facts.columns
    values = pl.Series(item.is_positive) if is_binary else item.facts["value"]
    values = as_text(values if is_binary else values.gather(item.fact_of_claim))
    if item.block.has_shares:
        share = pl.Series(100.0 * item.share_of_claim).round(0).cast(pl.Int64)
        values = pl.select(pl.format("{} ({} %)", values, share)).to_series()
    text, n_more = (
        pl.col("claimed").head(MOST_SAID).str.join(" and "),
        pl.len().cast(pl.Int64) - MOST_SAID,
    )
    several = pl.when(n_more > 0).then(pl.format("{} and {} more", text, n_more)).otherwise(text)
    said = pl.DataFrame({"source": item.source_of_claim, "claimed": values})
    return said.group_by("source", maintain_order=True).agg(claimed=several)


def _of_all_items(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all items; without the biases of sources, if none is biased."""
    rows = pl.concat(parts)
    is_biased = "bias" in rows.columns and bool((rows["bias"] != 0.0).any())
    return rows if is_biased else rows.drop("bias", strict=False)


# --- numbers --------------------------------------------------------------------------------------


def _numbers(result: Result, item: Item, truth: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The estimate, and what each claim adds to it: its share of all weight times its number.

    Where sources are known to be too high or too low, their bias is taken off first.
    """
    if item.weights is None:
        return _unweighed_numbers(result, item, truth)
    number = item.block.number_of_fact[item.fact_of_claim]
    share, prior_share = _shares_of_claims(item, item.weights)
    keys = truth.select(pl.col("^(entity|attribute)$"))
    values = keys.with_columns(
        truth.select("value", "uncertainty"),
        score=truth["value"],
        prior=pl.lit(prior_share * _centre(number, item.weights)),
        supporters=pl.lit(len(number)),
    )
    shift = item.weights.shift_of_claim
    if shift is None:
        shift = np.zeros(len(number))
    weight = share * difference(number, shift)
    order = heaviest_first(share)
    shown, rest = order[:MOST_ROWS], order[MOST_ROWS:]
    told = result.tables.sources.select("source", "deviation")[item.source_of_claim[shown]]
    rows = told.with_columns(
        claimed=number[shown], share=share[shown], weight=weight[shown], bias=shift[shown],
        claims=pl.lit(1, pl.Int64),
    )  # fmt: skip
    columns = ["source", "claimed", "deviation", "bias", "share", "weight", "claims"]
    if len(rest):
        sums = {"share": [share[rest].sum()], "weight": [weight[rest].sum()]}
        rows = pl.concat([rows, pl.DataFrame({**sums, "claims": [len(rest)]})], how="diagonal")
    return values, pl.concat([keys[[0] * len(rows)], rows.select(columns)], how="horizontal")


def _unweighed_numbers(
    result: Result, item: Item, truth: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The estimate and the claims, the best sources first: what they weigh is not known."""
    nothing = pl.lit(None, pl.Float64)
    keys = truth.select(pl.col("^(entity|attribute)$"))
    number = item.block.number_of_fact[item.fact_of_claim]
    values = keys.with_columns(
        truth.select("value", "uncertainty"),
        score=nothing, prior=nothing, supporters=pl.lit(len(number)),
    )  # fmt: skip
    told = result.tables.sources.select("source", "deviation")[item.source_of_claim]
    best_first = np.argsort(told["deviation"].fill_null(np.inf).round(SAME), kind="stable")
    rows = told.select(
        "source", claimed=pl.Series(number), deviation="deviation", share=nothing, weight=nothing,
        claims=pl.lit(1, pl.Int64),
    )[best_first]  # fmt: skip
    if len(rows) > MOST_ROWS:
        rest = pl.DataFrame({"claims": [len(rows) - MOST_ROWS]})
        rows = pl.concat([rows.head(MOST_ROWS), rest], how="diagonal")
    return values, pl.concat([keys[[0] * len(rows)], rows], how="horizontal")


def _centre(number: FloatArray, weights: Weights) -> float:
    """What the prior speaks for: unless the weights say otherwise, the mean of the claims."""
    if weights.centre_of_item is not None:
        return float(weights.centre_of_item[0])
    return float((number / len(number)).sum())  # the sum of large numbers may be no number


def _shares_of_claims(item: Item, weights: Weights) -> tuple[FloatArray, float]:
    """The share of each claim in the estimate, and that of the prior."""
    weight = weights.of_claim
    if weight is None:
        weight = weights.support[item.source_of_claim]
    prior = float(np.ravel(weights.prior)[0])
    total = weight.sum() + prior
    if total <= 0.0:
        return np.full(len(weight), 1.0 / len(weight)), 0.0
    return np.asarray(weight / total), prior / total
