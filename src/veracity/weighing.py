"""What each claim of an item adds to the scores of its facts, and what follows from the scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.algorithms.base import sigmoid
from veracity.encode import FloatArray, IntArray
from veracity.tables import Tables

__all__ = ["Bearing", "Item", "Scale", "Weighing", "cut_items", "plausibilities"]


class Item(NamedTuple):
    """An item, cut out of the tables: its facts, and its claims with facts numbered from zero."""

    first: int
    facts: pl.DataFrame
    fact_of_claim: IntArray
    source_of_claim: IntArray
    is_positive: NDArray[np.bool_]
    weight_of_claim: FloatArray | None


class Bearing(NamedTuple):
    """What claims of an item add to the score of one fact; an index into the item's claims each."""

    claim: IntArray
    weight: FloatArray


class Scale(NamedTuple):
    """All that plausibilities follow from, beside the rule."""

    score: FloatArray
    prior: FloatArray
    total: FloatArray
    """What all weights would add up to if none spoke against."""
    n_voices: int
    unclaimed: float
    """The score of what nobody claims; minus infinity if there is no such thing."""


def cut_items(tables: Tables, rows: IntArray, keys: list[str]) -> list[Item]:
    """The items to which these rows of the facts belong; rows of an item are neighbours."""
    facts = tables.facts[rows]
    number = facts.select(pl.struct(keys).rle_id()).to_series().to_numpy()
    starts = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    lengths = np.diff(np.append(starts, len(rows)))
    return [
        _cut(tables, int(rows[a]), facts.slice(int(a), int(n)))
        for a, n in zip(starts, lengths, strict=True)
    ]


def _cut(tables: Tables, first: int, facts: pl.DataFrame) -> Item:
    assert tables.claims is not None  # `explain` has looked
    of_fact = tables.claims["fact"]
    start, end = (int(of_fact.search_sorted(row)) for row in (first, first + len(facts)))
    claims = tables.claims.slice(start, end - start)
    weight = claims["weight"].to_numpy() if "weight" in claims.columns else None
    n_claims = len(claims)
    claim = claims["claim"].to_numpy() if "claim" in claims.columns else np.ones(n_claims, np.bool_)
    fact = claims["fact"].to_numpy().astype(np.int64) - first
    return Item(first, facts, fact, claims["source"].to_numpy().astype(np.int64), claim, weight)


@dataclass(frozen=True)
class Weighing:
    """The weights of a run, put to one item."""

    tables: Tables
    run: dict[str, Any]
    item: Item

    @cached_property
    def support(self) -> FloatArray:
        """What each claim adds to the score of its own fact."""
        item = self.item
        if item.weight_of_claim is not None:
            return item.weight_of_claim
        weights = self._of_source("weight_for")[item.source_of_claim]
        return np.where(item.is_positive, weights, self.oppose)

    @cached_property
    def oppose(self) -> FloatArray:
        """What each claim's source adds to the score of a fact it speaks on without supporting."""
        return self._of_source("weight_against")[self.item.source_of_claim]

    def bearing_on(self, fact: int) -> Bearing:
        """Every claim, or silent voice, that adds something to the score of this fact."""
        item = self.item
        if self.tables.confusions is not None:
            return Bearing(np.arange(len(item.fact_of_claim)), self._confused(fact))
        own = np.flatnonzero(item.fact_of_claim == fact)
        parts = [Bearing(own, self.support[own]), *self._from_similar(fact)]
        others = self._voices_without(fact)
        if self.oppose[others].any():
            parts.append(Bearing(others, self.oppose[others]))
        return Bearing(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def scale(self) -> Scale:
        """The scores of all facts of the item."""
        item, n_facts = self.item, len(self.item.facts)
        prior = self._ground("prior", float(self.run["weights"]["prior"] or 0.0))
        n_voices = len(self._voices[0])
        unclaimed = float(self._ground("unclaimed", -np.inf)[0])
        if self.tables.confusions is not None:
            added = np.array([self._confused(fact).sum() for fact in range(n_facts)])
            return Scale(prior + added, prior, np.abs(added), n_voices, unclaimed)
        added, total = (
            self._sums(self.support, self.oppose),
            self._sums(np.abs(self.support), np.abs(self.oppose)),
        )
        for fact, other, share in self._pairs():
            own = np.bincount(item.fact_of_claim, self.support, n_facts)
            added = added + np.bincount(fact, own[other] * share, n_facts)
            added = added + np.bincount(other, own[fact] * share, n_facts)
        return Scale(prior + added, prior, total, n_voices, unclaimed)

    def _sums(self, support: FloatArray, oppose: FloatArray) -> FloatArray:
        """Σ support over the claims of each fact, and Σ oppose over the item's other voices."""
        item, n_facts = self.item, len(self.item.facts)
        own = np.bincount(item.fact_of_claim, support, n_facts)
        _, first_claim = self._voices
        supporters = np.bincount(item.fact_of_claim, oppose, n_facts)
        return np.asarray(own + (oppose[first_claim].sum() - supporters))

    def _voices_without(self, fact: int) -> IntArray:
        """The first claim of every source that makes none about this fact."""
        item = self.item
        sources, first_claim = self._voices
        supporters = item.source_of_claim[item.fact_of_claim == fact]
        return first_claim[~np.isin(sources, supporters)]

    @cached_property
    def _voices(self) -> tuple[IntArray, IntArray]:
        """The sources that speak on the item, and the first claim of each."""
        sources, first_claim = np.unique(self.item.source_of_claim, return_index=True)
        return sources, first_claim

    def _from_similar(self, fact: int) -> list[Bearing]:
        found = []
        for one, other, share in self._pairs():
            for near, far in ((one, other), (other, one)):
                for pair in np.flatnonzero(near == fact):
                    claims = np.flatnonzero(self.item.fact_of_claim == far[pair])
                    found.append(Bearing(claims, self.support[claims] * share[pair]))
        return found

    def _pairs(self) -> list[tuple[IntArray, IntArray, FloatArray]]:
        if self.tables.bearings is None:
            return []
        first, last = self.item.first, self.item.first + len(self.item.facts)
        own = self.tables.bearings.filter(pl.col("fact").is_between(first, last, closed="left"))
        fact, other = (own[name].to_numpy() - first for name in ("fact", "other"))
        return [(fact, other, own["share"].to_numpy())]

    def _confused(self, fact: int) -> FloatArray:
        """Log P(what each claim says, given that this fact is true)."""
        assert self.tables.confusions is not None
        label = self._ground("label", 0.0).astype(np.int64)
        n_labels = self.tables.confusions.width
        rows = self.item.source_of_claim * n_labels + label[fact]
        table = self.tables.confusions[rows].to_numpy()
        said = table[np.arange(len(rows)), label[self.item.fact_of_claim]]
        share = self.item.weight_of_claim
        return np.asarray(said if share is None else said * share)

    def _ground(self, name: str, otherwise: float) -> FloatArray:
        grounds, n_facts = self.tables.grounds, len(self.item.facts)
        if grounds is None or name not in grounds.columns:
            return np.full(n_facts, otherwise)
        return grounds[name].slice(self.item.first, n_facts).to_numpy().astype(np.float64)

    def _of_source(self, name: str) -> FloatArray:
        assert self.tables.weights is not None  # runs that tell of weights have them
        weights: FloatArray = self.tables.weights[name].to_numpy()
        return weights


def plausibilities(rule: str, scale: Scale, power: float = 1.0) -> FloatArray:
    """The plausibilities of an item's facts, from their scores.

    - softmax: exp(score) as a share of all, and of what nobody claims; one fact is true
    - sigmoid: 1 / (1 + exp(-score)); each fact is true or false by itself
    - share: score^power as a share of all
    - mean: score over the number of sources that speak
    - balance: for^power / (for^power + against^power); the score is for less against
    """
    score = scale.score
    if rule == "sigmoid":
        return sigmoid(score)
    if rule == "mean":
        return np.asarray(score / scale.n_voices)
    if rule == "softmax":
        highest = max(float(score.max()), scale.unclaimed)
        share = np.exp(score - highest)
        return np.asarray(share / (share.sum() + np.exp(scale.unclaimed - highest)))
    if rule == "share":
        return np.asarray(_shares(score[:, None], power)[:, 0])
    both = np.stack([scale.total + score, scale.total - score])  # twice for, twice against
    return np.asarray(_shares(np.maximum(both, 0.0), power)[0])


def _shares(score: FloatArray, power: float) -> FloatArray:
    """Powers of scores as shares of their column's; equal ones where all are nothing."""
    highest = score.max(axis=0)
    is_some = highest > 0.0
    grown = np.where(is_some, score / np.where(is_some, highest, 1.0), 1.0) ** power
    return np.asarray(grown / grown.sum(axis=0))
