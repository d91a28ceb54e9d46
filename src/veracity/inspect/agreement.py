"""How far sources agree beyond chance: Krippendorff's alpha and Fleiss' kappa."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from veracity.encoding.block import Block, FloatArray
from veracity.encoding.partitions import Encoded
from veracity.errors import ParameterError
from veracity.io.frames import hand_back
from veracity.preparing import prepare
from veracity.printing import counted, html_by
from veracity.reading.normalise import Normalise
from veracity.reading.schema import Kind
from veracity.result import Result

MOST_CELLS = 100_000_000
"""Different values, times attributes, beyond which they are not counted."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far sources agree, as compared with chance. Values are equal or not: they are nominal.

    Attributes
    ----------
    alpha
        Krippendorff's alpha: 1 where all agree, 0 where they agree as by chance, below where they
        agree less. None where nobody could disagree.
    kappa
        Fleiss' kappa; items may have different numbers of claims, and count alike.
    observed, expected
        The share of pairs of claims on an item that say the same; and that to expect by chance.
    items, claims
        How many items have two claims or more, and how many claims these are.
    by_attribute
        The same for each attribute; None if claims have no attribute. On the whole, values are
        compared with those of their own attribute only.
    """

    alpha: float | None
    kappa: float | None
    observed: float | None
    expected: float | None
    items: int
    claims: int
    by_attribute: Any

    def measures(self) -> dict[str, float | int | None]:
        """All but the table, by name."""
        return {name: value for name, value in vars(self).items() if name != "by_attribute"}

    _repr_html_ = html_by("agreement_html")

    def __repr__(self) -> str:
        """Sum up in a line."""
        if self.alpha is None:
            return "agreement cannot be measured: no two claims on one item could differ"
        return (
            f"alpha {self.alpha:.3f} (Krippendorff), kappa {self.kappa:.3f} (Fleiss): two claims "
            f"on an item say the same {self.observed:.1%} of the time, {self.expected:.1%} by "
            f"chance ({counted(self.claims, 'claim')} on {counted(self.items, 'item')})"
        )


def agreement(
    claims: object,
    *,
    columns: Mapping[str, str | list[str]] | None = None,
    kind: Kind | None = None,
    normalise: Normalise = False,
) -> Agreement:
    """Tell how far sources agree beyond chance: Krippendorff's alpha and Fleiss' kappa.

    Items need not be labelled by all sources. Those with a single claim tell nothing.

    Parameters
    ----------
    claims, columns, kind, normalise
        As for `discover`; or what `discover` returned, whose claims need not be read again.

    Examples
    --------
    >>> claims = pl.DataFrame({
    ...     "source": list("abab"), "entity": list("xxyy"), "value": list("1122")})
    >>> agreement(claims).alpha
    1.0
    """
    if isinstance(claims, Result):
        return _agreement_of(claims.encoded.fetch()[0], claims.frame_kind)
    prepared = prepare(claims, columns=columns, kind=kind, normalise=normalise)
    return _agreement_of(prepared.encoded.fetch()[0], prepared.table.frame_kind)


def _agreement_of(encoded: Encoded, frame_kind: Any = "polars") -> Agreement:
    """The same of claims that are encoded."""
    if encoded.kind not in ("categorical", "binary"):
        raise ParameterError(f"agreement is of labels, not for {encoded.kind} claims")
    n_attributes = max(len(encoded.names.attributes), 1)
    n_labels = 2 if encoded.kind == "binary" else len(encoded.names.labels)
    if _are_too_many(encoded):
        raise ParameterError("agreement: there are too many different values to be compared")
    looks = (_Counts.of(block, encoded.kind, (n_attributes, n_labels)) for block in encoded.blocks)
    counts = functools.reduce(operator.add, looks)
    rows = counts.rows()
    whole = _measured(rows)
    table = None
    if len(encoded.names.attributes):
        names = encoded.names.attributes.to_frame("attribute")
        table = names.hstack(pl.DataFrame([_measured([row]) for row in rows]))
        table = hand_back(table.filter(pl.col("items") > 0).sort("attribute"), frame_kind)
    return Agreement(**whole, by_attribute=table)


def alpha_of(encoded: Encoded) -> float | None:
    """Krippendorff's alpha, where values can be compared."""
    if encoded.kind not in ("categorical", "binary") or _are_too_many(encoded):
        return None
    return _agreement_of(encoded).alpha


def _are_too_many(encoded: Encoded) -> bool:
    names = encoded.names
    return (
        bool(names.n_unnumbered) or len(names.labels) * max(len(names.attributes), 1) > MOST_CELLS
    )


class _Counts(NamedTuple):
    """Sums over items with two claims or more, by attribute; of labels, [attribute, label].

    `alike` is Σ n_v (n_v - 1) / (n - 1) over items with n claims, n_v of them of the value v;
    `alike_share` the same over n (n - 1): what alpha and kappa observe.
    """

    items: FloatArray
    claims: FloatArray
    alike: FloatArray
    alike_share: FloatArray
    of_label: FloatArray

    @classmethod
    def of(cls, block: Block, kind: Kind, shape: tuple[int, int]) -> _Counts:
        """The sums of a block."""
        n_of_fact, item, label = _said(block, kind)
        n = np.bincount(item, n_of_fact, block.n_items)
        is_met = n > 1
        pairs = np.bincount(item, n_of_fact * (n_of_fact - 1.0), block.n_items)[is_met]
        attribute, n = block.attribute_of_item, n[is_met]
        own = attribute[is_met]

        def by_attribute(number: Any) -> FloatArray:
            return np.bincount(own, number, shape[0]).astype(np.float64)

        counted = is_met[item]
        cell = attribute[item[counted]].astype(np.int64) * shape[1] + label[counted]
        of_label = np.bincount(cell, n_of_fact[counted], shape[0] * shape[1]).reshape(shape)
        return cls(
            by_attribute(np.ones(len(n))),
            by_attribute(n),
            by_attribute(pairs / (n - 1.0)),
            by_attribute(pairs / (n * (n - 1.0))),
            of_label.astype(np.float64),
        )

    def __add__(self, other: _Counts) -> _Counts:  # type: ignore[override]
        """The sums of both."""
        return _Counts(*(a + b for a, b in zip(self, other, strict=True)))

    def rows(self) -> list[_Sums]:
        """What is needed of each attribute."""
        n = self.claims
        alike_by_chance = (self.of_label * (self.of_label - 1.0)).sum(axis=1)
        squares = (self.of_label**2).sum(axis=1)
        columns = (self.items, n, self.alike, self.alike_share, alike_by_chance, squares)
        return [_Sums(*map(float, row)) for row in zip(*columns, strict=True)]


class _Sums(NamedTuple):
    items: float
    claims: float
    alike: float
    alike_share: float
    alike_by_chance: float
    """Σ n_v (n_v - 1) over all claims."""
    squares: float
    """Σ n_v² over all claims."""


def _said(block: Block, kind: Kind) -> tuple[FloatArray, Any, Any]:
    """How often each value of each item is claimed: the number, the item, and the label."""
    if kind == "categorical":
        block, _ = block.strongest_claims()
        return block.n_supports_of_fact.astype(np.float64), block.item_of_fact, block.label_of_fact
    supports = block.n_affirming_of_item.astype(np.float64)
    denied = block.n_voices_of_item - supports
    item = np.arange(block.n_items)
    label = np.repeat([1, 0], block.n_items)
    return np.append(supports, denied), np.append(item, item), label


def _measured(rows: list[_Sums]) -> dict[str, Any]:
    """Alpha and kappa; of several attributes, chance is that within each."""
    n, n_items = sum(row.claims for row in rows), sum(row.items for row in rows)
    told: dict[str, float | None] = dict.fromkeys(("alpha", "kappa", "observed", "expected"))
    if n > 1:
        met = [row for row in rows if row.claims > 1]
        observed = sum(row.alike for row in met) / n
        expected = sum(row.alike_by_chance / (row.claims - 1.0) for row in met) / n
        share = sum(row.alike_share for row in met) / n_items
        by_chance = sum(row.items * row.squares / row.claims**2 for row in met) / n_items
        told = {
            "alpha": _beyond(observed, expected),
            "kappa": _beyond(share, by_chance),
            "observed": share,
            "expected": by_chance,
        }
    return {**told, "items": int(n_items), "claims": int(n)}


def _beyond(observed: float, expected: float) -> float | None:
    """Agreement beyond chance; none where chance alone explains all."""
    return None if expected >= 1.0 else (observed - expected) / (1.0 - expected)
