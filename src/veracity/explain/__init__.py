"""Explain why an item has its value: in rows that add up, and in words."""

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
from veracity.printing import Shown, counted, did_you_mean, in_short
from veracity.reading.roles import keys_of

if TYPE_CHECKING:
    from veracity.result import Result

MOST_VALUES = 20
"""Claims are listed for the most plausible values of an item, these at most."""

MOST_ROWS = 100
"""Maximum number of claims listed for a value, those with most weight first; the others are
summed up."""

MOST_ITEMS = 50
"""Maximum number of attributes of an entity that are explained; the others are counted."""

MOST_SAID = 5
"""Maximum number of values listed for a source; the others are counted."""


@dataclass(frozen=True, repr=False)
class Why(Shown):
    """Why items have the values they have.

    The prior and the weights of a value's rows add up to its score; from the scores of an item's
    values their plausibilities follow, by a rule.
    """

    words: str
    """The reasons in plain words, one line per item."""
    tables: tuple[pl.DataFrame, pl.DataFrame]
    scale: str | None
    """Unit of weights and scores: "log-odds", "votes", or "numbers"; None if there are none."""
    rule: str | None
    """Rule by which plausibilities follow from scores: see `veracity.algorithms.rules.Rule`."""
    account: str
    """ "exact"; "average", for samplers; or "none", where judging is not by weights."""
    frame_kind: FrameKind = "polars"

    @property
    def values(self) -> Any:
        """Return one row per value: its plausibility, its score, the score before any claim."""
        return hand_back(self.tables[0], self.frame_kind)

    @property
    def rows(self) -> Any:
        """Return one row per claim and value it affects: its source, its value and its weight.

        A row without a source sums up the claims with least weight; `claims` is their number. Where
        a vote is added to the claims, it has the first row: `claimed` is "(the vote)". Rules have
        the last ones: `claimed` is "(rule: NAME)".
        """
        return hand_back(self.tables[1], self.frame_kind)

    def contents(self) -> dict[str, Any]:
        """Return the words, the rule, the values and the claims, by name."""
        how = {"scale": self.scale, "rule": self.rule, "account": self.account}
        values, rows = self.tables
        return {"words": self.words, **how, "values": values, "rows": rows}


A_RULE = "(rule: "
"""Begin of the text in the column `claimed` for what a rule adds."""

THE_VOTE = "(the vote)"
"""Text in the column `claimed` for a vote that is added to the claims."""

SAYS_LESS = " (says less)"
"""Mark of a claim, in the column `claimed`, that counts for a value that says more."""

SCALES = {"softmax": "log-odds", "sigmoid": "log-odds", "estimate": "numbers"}
"""Unit of scores, by rule; votes for all others."""


def explain(result: Result, entity: object, attribute: object = None) -> Why:
    """Explain the values of an entity's items, of one item, or of a binary fact."""
    of_entity = f"'{entity}'" if attribute is None else f"'{attribute}' of '{entity}'"
    is_alone = attribute is None or bool(result.run.rules)  # rules need the whole entity
    named = ItemsNamed(str(entity), None if is_alone else str(attribute))
    result = result.fetch(
        named, f"why: no source makes a claim about {of_entity}; see result.truths"
    )
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
    """Return the limits of the explanation, as sentences."""
    if item.weights is None:
        return [
            f"({algorithm} does not judge by weights; the rows tell who says what, and how far "
            "each source is trusted.)"
        ]
    if item.weights.account == "average":
        return [
            f"({algorithm} draws truths at random; the weights are averages, and the "
            "plausibilities follow from them approximately.)"
        ]
    return []


def without_keys(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table to show, without columns that have the same value in all rows of an item."""
    keys = keys_of(table)
    hidden = keys if table.select(keys).n_unique() == 1 else keys[:-1]
    if "claims" in table.columns and (table["claims"] <= 1).all():
        hidden.append("claims")
    return table.drop(hidden)


@dataclass(frozen=True)
class ItemsNamed:
    """Selection of the items of a part that have these names."""

    entity: str
    attribute: str | None

    def __call__(self, part: Partition) -> BoolArray:
        """Return True or False for each item."""
        keys = keys_of(part.items)
        is_meant = (part.items[keys[0]].cast(pl.String) == self.entity).to_numpy(writable=True)
        if self.attribute is not None and len(keys) > 1:
            is_meant &= (part.items[keys[1]].cast(pl.String) == self.attribute).to_numpy()
        return is_meant


# --- finding the item -----------------------------------------------------------------------------


def _find(facts: pl.DataFrame, keys: list[str], names: list[object]) -> IntArray:
    """Return the rows of the facts with these names; raise an error if there are none."""
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
    """Return True for each entry with this name, in one of its spellings or as text."""
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
    """Return the text, the values and the rows."""
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
    """Return the facts of the item, the most plausible first, and the score of unclaimed values."""
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
    """Return the claims that affect a fact, those with most weight first; the others in one row."""
    order = heaviest_first(added.weight)
    shown, rest = order[:MOST_ROWS], order[MOST_ROWS:]
    claim = added.claim[shown]
    source = item.source_of_claim[claim]
    told = result.tables.sources.select(pl.col("^(source|tpr|fpr|accuracy|trust)$"))[source]
    claimed = _claimed(item, claim)
    if item.weights is not None and item.weights.partly is not None:
        says_less = pl.Series(item.fact_of_claim[claim] != fact)
        claimed = (claimed + SAYS_LESS).zip_with(says_less, claimed)
    rows = told.with_columns(claimed, weight=added.weight[shown], claims=pl.lit(1, pl.Int64))
    if len(rest):
        summed = pl.DataFrame({"weight": [added.weight[rest].sum()], "claims": [len(rest)]})
        rows = pl.concat([rows, summed], how="diagonal")
    for name, of_fact in item.rules:
        rule = {"claimed": [f"{A_RULE}{name})"], "weight": [of_fact[fact]], "claims": [0]}
        rows = pl.concat([rows, pl.DataFrame(rule)], how="diagonal")
    if item.vote is not None:
        vote = pl.DataFrame({"claimed": [THE_VOTE], "weight": [item.vote[fact]], "claims": [0]})
        rows = pl.concat([rows.clear(), vote, rows], how="diagonal")
    keys = item.facts.select(pl.col("^(entity|attribute|fact|value)$"))[[fact] * len(rows)]
    measures = [name for name in told.columns if name != "source"]
    rows = pl.concat([keys, rows], how="horizontal").with_columns(pl.col("weight").fill_nan(None))
    return rows.select(*keys.columns, "source", "claimed", *measures, "weight", "claims")


def heaviest_first(weight: FloatArray) -> IntArray:
    """Return the order by size; weights that differ only by rounding stay in place."""
    size = np.abs(weight)
    share = size / (size.max(initial=0.0) or 1.0)
    return np.argsort(-np.round(share, SAME), kind="stable")


def _claimed(item: Item, claim: IntArray) -> pl.Series:
    """Return all values that the source of each of these claims names for the item, as text."""
    if "value" not in item.facts.columns:
        return pl.Series("claimed", item.is_positive[claim])
    said = said_by_source(item)
    of_row = pl.DataFrame({"source": item.source_of_claim[claim]})
    return of_row.join(said, on="source", how="left", maintain_order="left")["claimed"]


def said_by_source(item: Item) -> pl.DataFrame:
    """Return one row per `source`, by its number, with all its claims on the item, as text."""
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
    """Return the rows of all items; without the biases of sources, if none is biased."""
    rows = pl.concat(parts)
    is_biased = "bias" in rows.columns and bool((rows["bias"] != 0.0).any())
    return rows if is_biased else rows.drop("bias", strict=False)


# --- numbers --------------------------------------------------------------------------------------


def _numbers(result: Result, item: Item, truth: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the estimate, and the contribution of each claim: its share times its number.

    Known biases of sources are subtracted first. Without weights, the best sources come first.
    """
    number, weights = item.block.number_of_fact[item.fact_of_claim], item.weights
    told = result.tables.sources.select("source", "deviation")[item.source_of_claim]
    shift, prior = np.zeros(len(number)), None
    if weights is None:
        share = weight = np.full(len(number), np.nan)
        deviation = told["deviation"].fill_null(np.inf).to_numpy()
        order: IntArray = np.argsort(np.round(deviation, SAME), kind="stable")
    else:
        share, prior_share = _shares_of_claims(item, weights)
        prior = prior_share * _centre(number, weights)
        shift = shift if weights.shift_of_claim is None else weights.shift_of_claim
        weight, order = share * difference(number, shift), heaviest_first(share)
    keys = truth.select(pl.col("^(entity|attribute)$"))
    score = pl.lit(None, pl.Float64) if weights is None else truth["value"]
    values = keys.with_columns(
        truth.select("value", "uncertainty"),
        score=score, prior=pl.lit(prior, pl.Float64), supporters=pl.lit(len(number)),
    )  # fmt: skip
    shown, rest = order[:MOST_ROWS], order[MOST_ROWS:]
    rows = told[shown].with_columns(
        claimed=number[shown], share=share[shown], weight=weight[shown], bias=shift[shown],
        claims=pl.lit(1, pl.Int64),
    )  # fmt: skip
    columns = ["source", "claimed", "deviation", "bias", "share", "weight", "claims"]
    if len(rest):
        sums = {"share": [share[rest].sum()], "weight": [weight[rest].sum()]}
        rows = pl.concat([rows, pl.DataFrame({**sums, "claims": [len(rest)]})], how="diagonal")
    rows = rows.select(columns).with_columns(pl.col("share", "weight").fill_nan(None))
    return values, pl.concat([keys[[0] * len(rows)], rows], how="horizontal")


def _centre(number: FloatArray, weights: Weights) -> float:
    """Return the prior estimate: unless the weights have one, the mean of the claims."""
    if weights.centre_of_item is not None:
        return float(weights.centre_of_item[0])
    return float((number / len(number)).sum())  # the sum of large numbers may be no number


def _shares_of_claims(item: Item, weights: Weights) -> tuple[FloatArray, float]:
    """Return the share of each claim in the estimate, and that of the prior."""
    weight = weights.of_claim
    if weight is None:
        weight = weights.support[item.source_of_claim]
    prior = float(np.ravel(weights.prior)[0])
    total = weight.sum() + prior
    if total <= 0.0:
        return np.full(len(weight), 1.0 / len(weight)), 0.0
    return np.asarray(weight / total), prior / total
