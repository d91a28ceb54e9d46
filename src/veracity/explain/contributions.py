"""Contribution of each claim of an item to the scores of its facts: the weights of one item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from veracity.algorithms.rules import Weights, scores, unclaimed_scores
from veracity.encoding.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.encoding.partitions import Encoded, Partition
from veracity.fit.fitted import Fitted
from veracity.logic.factors import Marking, by_rule, ground

if TYPE_CHECKING:
    from veracity.result import Result


class Contribution(NamedTuple):
    """Claims of an item that contribute to the score of one fact, as indices, and their weights."""

    claim: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class Item:
    """An item: its facts as a table, its claims as a block, and their weights.

    Its claims are in the order of the supports; those of a binary fact, in the order of its voices.
    """

    facts: pl.DataFrame
    block: Block
    weights: Weights | None
    is_binary: bool
    rules: tuple[tuple[str, FloatArray], ...] = ()
    """What each rule adds to the score of each fact, by the name of the rule."""

    @cached_property
    def source_of_claim(self) -> IntArray:
        """Return the source of each claim."""
        sources = self.block.source_of_voice if self.is_binary else self.block.source_of_support
        return sources.astype(np.int64)

    @cached_property
    def fact_of_claim(self) -> IntArray:
        """Return the fact of each claim."""
        if self.is_binary:
            return np.zeros(len(self.source_of_claim), dtype=np.int64)
        return self.block.fact_of_support

    @cached_property
    def is_positive(self) -> BoolArray:
        """Return True for each claim that calls its fact true."""
        if not self.is_binary:
            return np.ones(len(self.source_of_claim), dtype=np.bool_)
        return np.isin(self.source_of_claim, self.block.source_of_support)

    @property
    def known(self) -> IntArray | None:
        """Return the known truth of each fact, if a truth of the item is known."""
        known = self.block.known_of_fact
        return known if known.max() >= 0 else None

    @property
    def order(self) -> IntArray:
        """Return the facts, the most plausible first; of equal ones, that with more supporters."""
        p, supporters = (self.facts[name].to_numpy() for name in ("plausibility", "supporters"))
        return np.lexsort((-supporters, -np.round(p, SAME)))

    # --- scores -----------------------------------------------------------------------------------

    @cached_property
    def score(self) -> FloatArray:
        """Return the score of each fact."""
        assert self.weights is not None
        return scores(self.block, self.weights) - self._left_out

    @cached_property
    def prior(self) -> FloatArray:
        """Return the score of each fact before any claim."""
        assert self.weights is not None
        prior = np.asarray(self.weights.prior, dtype=np.float64)
        if self.weights.confusion is not None:
            prior = prior[self.block.label_of_fact]
            if self.weights.shrink_of_item is not None:
                prior = prior / self.weights.shrink_of_item
        return np.broadcast_to(prior, self.block.n_facts)

    @cached_property
    def vote(self) -> FloatArray | None:
        """Return the contribution of a vote to the score of each fact; None if there is no vote."""
        if self.weights is None or self.weights.vote is None:
            return None
        return np.asarray(
            self.score - scores(self.block, self.weights._replace(vote=None)) + self._left_out
        )

    @cached_property
    def unclaimed(self) -> float:
        """Return the score of the unclaimed values; minus infinity if all values are claimed."""
        if self.weights is None or self.weights.rule != "softmax":
            return -np.inf
        return float(unclaimed_scores(self.block, self.weights)[0]) - self._left_out

    @cached_property
    def support(self) -> FloatArray:
        """Return the contribution of each claim to the score of its own fact."""
        assert self.weights is not None
        if self.weights.confusion is not None:
            own = [self._confused(fact) for fact in range(self.block.n_facts)]
            return np.stack(own)[self.fact_of_claim, np.arange(len(self.fact_of_claim))]
        if self.weights.of_claim is not None:
            return self.weights.of_claim * self.share_of_claim
        support, oppose = self.weights.support[self.source_of_claim], self._oppose
        share = np.where(self.is_positive, self.share_of_claim, 0.0)
        return np.asarray(share * support + (self.share_of_voice - share) * oppose)

    @cached_property
    def oppose(self) -> FloatArray:
        """Return the contribution of each claim's source to facts that it does not support."""
        return self._oppose * self.share_of_voice

    @property
    def _oppose(self) -> FloatArray:
        """Return the contribution to unsupported facts of a source that counts in full."""
        assert self.weights is not None
        if self.weights.oppose is None:
            return np.zeros(len(self.source_of_claim))
        return self.weights.oppose[self.source_of_claim]

    @cached_property
    def share_of_claim(self) -> FloatArray:
        """Return the share of each claim; of a binary fact, the share that calls the fact true."""
        block = self.block
        if not block.has_shares:
            return np.ones(len(self.source_of_claim))
        if not self.is_binary:
            return block.share_of_support
        share = np.zeros(len(self.source_of_claim))
        share[self.is_positive] = block.share_of_support
        return share

    @cached_property
    def share_of_voice(self) -> FloatArray:
        """Return the share with which the source of each claim counts on this item."""
        if not self.block.has_shares or self.is_binary:
            return self.block.share_of_voice if self.block.has_shares else self.share_of_claim
        _, voice = np.unique(self.source_of_claim, return_inverse=True)
        return np.asarray(np.bincount(voice, self.share_of_claim)[voice], dtype=np.float64)

    @cached_property
    def standing(self) -> FloatArray:
        """Return the weight of each claim for its own fact; under confusions, against the next.

        For the most plausible fact, this is the second; for all others, the first.
        """
        assert self.weights is not None
        if self.weights.confusion is None:
            return self.support if self.weights.of_claim is not None else np.abs(self.support)
        if self.block.n_facts == 1:
            return self.support
        best, second = (self._confused(int(fact)) for fact in self.order[:2])
        rival = np.where(self.fact_of_claim == self.order[0], second, best)
        return np.asarray(self.support - rival)

    def contribution_to(self, fact: int) -> Contribution:
        """Return every claim, or silent voice, that contributes to the score of this fact."""
        if self.weights is None:
            own = np.flatnonzero(self.fact_of_claim == fact)
            return Contribution(own, np.full(len(own), np.nan))
        if self.weights.confusion is not None:
            return Contribution(np.arange(len(self.fact_of_claim)), self._confused(fact))
        own = np.flatnonzero(self.fact_of_claim == fact)
        parts = [
            Contribution(own, self.support[own]),
            *self._from_similar(fact),
            *self._from_partial(fact),
        ]
        others = self._voices_without(fact)
        if self.oppose[others].any():
            parts.append(Contribution(others, self.oppose[others]))
        return Contribution(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _confused(self, fact: int) -> FloatArray:
        """Return log P(claimed label | this fact is true) of each claim, less the label mean."""
        return self._log_said[:, self.block.label_of_fact[fact]] - self._usual_log_said

    @cached_property
    def _log_said(self) -> FloatArray:
        """Return [claim, label]: log P(claimed label, given the label), with copies and doubt."""
        weights = self.weights
        assert weights is not None
        assert weights.confusion is not None
        said = self.block.label_of_fact[self.fact_of_claim]
        log_said = weights.confusion[self.source_of_claim, :, said]
        if weights.of_claim is not None:
            log_said = log_said * weights.of_claim[:, None]
        log_said = log_said * self.share_of_claim[:, None]
        return log_said if weights.shrink_of_item is None else log_said / weights.shrink_of_item[0]

    @cached_property
    def _usual_log_said(self) -> FloatArray:
        """Return the mean over the labels, which is a part of all scores and is left out.

        So evidence for a label is positive, and evidence against it negative.
        """
        return np.asarray(self._log_said.mean(axis=1))

    @property
    def _left_out(self) -> float:
        """Return the common part of all scores, which is left out."""
        if self.weights is None or self.weights.confusion is None:
            return 0.0
        return float(self._usual_log_said.sum())

    def precision(self, fact: int) -> FloatArray:
        """Return how often each source is right when it claims the label of this fact."""
        weights, label = self.weights, self.block.label_of_fact[fact]
        assert weights is not None
        assert weights.confusion is not None
        share = np.exp(weights.prior + weights.confusion[:, :, label])
        return np.asarray(share[:, label] / share.sum(axis=1))

    def _from_similar(self, fact: int) -> list[Contribution]:
        """Return the contributions of the claims of similar facts to this fact."""
        if self.weights is None or self.weights.pairs is None:
            return []
        one, other, share = self.weights.pairs
        ways = ((one, other), (other, one))
        found = []
        for paired, of in ways[:1] if self.weights.pairs_are_one_way else ways:
            for pair in np.flatnonzero(paired == fact):
                claims = np.flatnonzero(self.fact_of_claim == of[pair])
                found.append(Contribution(claims, self.support[claims] * share[pair]))
        return found

    def _from_partial(self, fact: int) -> list[Contribution]:
        """Return the contributions of claims that say less than this fact."""
        if self.weights is None or self.weights.partly is None:
            return []
        support, whole, weight = self.weights.partly
        own = whole == fact
        return [Contribution(support[own], (weight * self.share_of_claim[support])[own])]

    def _voices_without(self, fact: int) -> IntArray:
        """Return the first claim of every source that makes none about this fact."""
        sources, first_claim = np.unique(self.source_of_claim, return_index=True)
        supporters = self.source_of_claim[self.fact_of_claim == fact]
        return first_claim[~np.isin(sources, supporters)]


def items_at(result: Result, rows: IntArray, most: int) -> tuple[list[Item], int]:
    """Return the first items to which these rows of facts belong, and the number of all of them."""
    encoded, fitted = result.encoded, result.fitted
    items: list[Item] = []
    places = _places(encoded, rows)
    for part, item, first in places[:most]:
        block = encoded.parts[part].block
        own = block.part(item, item + 1)
        weights = None
        if fitted is not None:
            weights = fitted.algorithm.weigh(own, fitted.state)
        rules: tuple[tuple[str, FloatArray], ...] = ()
        if fitted is not None and fitted.rules is not None:
            rules = _rules_of(encoded.parts[part], item, fitted)
            field = np.zeros(own.n_facts)
            for _, of_fact in rules:
                field += of_fact
            own = own._replace(field_of_fact=field)
        facts = result.tables.facts.slice(first, own.n_facts)
        items.append(Item(facts, own, weights, encoded.kind == "binary", rules))
    return items, len(places)


def _rules_of(part: Partition, item: int, fitted: Fitted) -> tuple[tuple[str, FloatArray], ...]:
    """Return what each rule adds to the facts of an item, given all items of its entity."""
    assert fitted.rules is not None
    is_own = (part.items["entity"] == part.items["entity"][item]).to_numpy()
    block, _ = Marking()(part.select(is_own))
    place = int(np.count_nonzero(is_own[:item]))
    weights = fitted.algorithm.weigh_learning(block, fitted.state)
    assert weights is not None
    rules = fitted.rules
    added = by_rule(block, weights, ground(block, rules), rules)
    facts = slice(*block.first_fact_of_item[place : place + 2])
    names = (*(rule.name for rule in rules.rules), "all, on average")
    found = zip(names, added[:, facts], strict=True)
    return tuple((name, of_fact) for name, of_fact in found if np.abs(of_fact).max() > 0.0)


def _places(encoded: Encoded, rows: IntArray) -> list[tuple[int, int, int]]:
    """Return the part, number in the part and first row of each item with a fact in these rows."""
    first_of_part = np.cumsum([0, *(block.n_facts for block in encoded.blocks)])
    partition_of_row = np.searchsorted(first_of_part, rows, side="right") - 1
    places = []
    for part in np.unique(partition_of_row).tolist():
        first_fact = encoded.blocks[part].first_fact_of_item
        facts = rows[partition_of_row == part] - first_of_part[part]
        items = np.unique(np.searchsorted(first_fact, facts, side="right") - 1)
        firsts = first_of_part[part] + first_fact[items]
        places += [(part, *place) for place in zip(items.tolist(), firsts.tolist(), strict=True)]
    return places
