"""Watch the accuracy of each source from batch to batch, and notice when it has changed.

A claim counts as right by its plausibility without the source's own vote, on items that others
claim, too. So a source that breaks does not vouch for itself. The counts of a batch are tested
against those of all batches before the change. The test is an e-detector (Shin, Ramdas, Rinaldo
2024) in the form of Page's CUSUM. For each of a few `SHIFTS` d, with p for the accuracy before, q
for the accuracy whose log-odds differ from those of p by d, and a batch with n claims, r of them
right::

    evidence = max(evidence, n) · (q / p)^r · ((1 - q) / (1 - p))^(n - r)

If the source is right in p of its claims, the sum of these products over all possible beginnings
grows by one per claim on average. So the mean over the shifts exceeds `CLAIMS_PER_ALARM` after n
claims with a probability of n / `CLAIMS_PER_ALARM` at most, if p is known and claims are right
independently. What was learned of p is uncertain, so p is the end of its interval that is nearer
to q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.distributions import beta_quantile
from veracity.algorithms.rules import Weights, logit, sigmoid
from veracity.encoding.block import UNKNOWN, Block, BoolArray, FloatArray, IntArray
from veracity.reading.roles import Kind
from veracity.trees import CountBySource

CLAIMS_PER_ALARM = 100_000.0
"""Claims of a source per false alarm, at least: one per cent in a thousand claims."""

SHIFTS: FloatArray = np.array([-3.0, -1.0, -0.5, 1.0])
"""Changes of the log-odds of being right that are looked for: .9 to .3, .85 to .7, .85 to .77, and
.7 to .86."""

INTERVAL = 0.68
"""Probability of the interval of the accuracy before. With 200 claims before, it keeps false alarms
below one per cent in a thousand claims; with more, they are rarer."""

FEWEST = 20.0
"""Smallest number of claims from which a source's accuracy before a change is known."""

MOST = 50.0
"""Largest logarithm of a factor, so that evidence stays a number; an alarm needs much less."""

LEAST = 1e-3
"""Smallest distance of an accuracy before from zero and one."""


class Counts(NamedTuple):
    """Number of the right claims of each source, by the other sources, and of all that count."""

    right: CountBySource
    claims: CountBySource


class Watch(NamedTuple):
    """Counts of each source in all batches since its last change, and the evidence of a new one."""

    seen: Counts
    evidence: CountBySource
    """[source, shift]"""
    right_before: CountBySource
    """[source, shift]: right claims before the change that the evidence is for."""
    claims_before: CountBySource

    @classmethod
    def unseen(cls, n_sources: int) -> Watch:
        """Return the watch before any claim."""
        zeros, cells = np.zeros(n_sources), np.zeros((n_sources, len(SHIFTS)))
        return cls(Counts(zeros, zeros), cells, cells, cells)

    def after(self, batch: Counts) -> tuple[Watch, FloatArray]:
        """Add the counts of a batch; return also -1 for sources that fell, 1 for those that rose.

        For such a source, the watch begins again with what was seen since the change.
        """
        meant = np.flatnonzero(batch.claims > 0.0)  # of many sources, mostly a few
        new, seen = (Counts(own.right[meant], own.claims[meant]) for own in (batch, self.seen))
        n, r = new.claims[:, None], new.right[:, None]
        evidence = self.evidence[meant]
        begins = evidence < n
        right = np.where(begins, seen.right[:, None], self.right_before[meant])
        claims = np.where(begins, seen.claims[:, None], self.claims_before[meant])
        p = _nearer_end(right, claims)
        q = sigmoid(logit(p) + SHIFTS)
        move = r * np.log(q / p) + (n - r) * np.log((1.0 - q) / (1.0 - p))
        evidence = np.maximum(evidence, n) * np.exp(np.clip(move, -MOST, MOST))
        evidence[claims < FEWEST] = 0.0

        best, row = evidence.argmax(axis=1), np.arange(len(meant))
        is_changed = evidence.mean(axis=1) >= CLAIMS_PER_ALARM
        evidence[is_changed] = 0.0
        turn = np.zeros(len(batch.claims))
        turn[meant] = np.where(is_changed, np.sign(SHIFTS[best]), 0.0)
        since = (
            own + more - is_changed * before[row, best]
            for own, more, before in zip(seen, new, (right, claims), strict=True)
        )
        watch = Watch(
            Counts(*(_put(old, meant, own) for old, own in zip(self.seen, since, strict=True))),
            _put(self.evidence, meant, evidence),
            _put(self.right_before, meant, right),
            _put(self.claims_before, meant, claims),
        )
        return watch, turn


def _put(old: FloatArray, rows: IntArray, new: FloatArray) -> FloatArray:
    changed = old.copy()
    changed[rows] = new
    return changed


def _nearer_end(right: FloatArray, claims: FloatArray) -> FloatArray:
    """Return the end of the interval of the accuracy before that is nearer to the shifted one."""
    p, tail = np.empty_like(right), 0.5 * (1.0 - INTERVAL)
    for columns, below in ((SHIFTS < 0.0, tail), (SHIFTS > 0.0, 1.0 - tail)):
        won, missed = right[:, columns], claims[:, columns] - right[:, columns]
        p[:, columns] = beta_quantile(won + 0.5, np.maximum(missed, 0.0) + 0.5, below)
    return np.clip(p, LEAST, 1.0 - LEAST)


def counts_by_others(
    block: Block,
    plausibility: FloatArray,
    weights: Weights | None,
    kind: Kind,
    n_sources: int,
    is_new: BoolArray | None = None,
) -> Counts:
    """Count the claims of each source on items that others claim, too, and how many are right.

    Removing the vote of a source takes its weight from the log-odds of its fact. Where facts are
    judged without weights, or not by log-odds, its own vote is left in. `is_new` marks the voices
    whose claims count; all do unless it is given.
    """
    if kind == "binary":
        source, fact, is_for = block.source_of_voice, block.item_of_voice, block.affirms
    else:
        source, fact = block.source_of_support, block.fact_of_support
        is_for = np.ones(len(source), dtype=np.bool_)
    vote = _votes(block, weights, source, fact, is_for)
    vote[block.known_of_fact[fact] != UNKNOWN] = 0.0
    p = sigmoid(logit(plausibility[fact]) - vote)
    share = (block.n_voices_of_fact[fact] > 1).astype(np.float64)
    if is_new is not None:
        spoken = block.item_of_voice[is_new] * np.int64(n_sources) + block.source_of_voice[is_new]
        share *= np.isin(block.item_of_fact[fact] * np.int64(n_sources) + source, spoken)
    if block.has_shares:
        share *= block.share_of_voice if kind == "binary" else block.share_of_support
    right = np.where(is_for, p, 1.0 - p) * share
    sums = [np.bincount(source, own, n_sources) for own in (right, share)]
    return Counts(*(own.astype(np.float64) for own in sums))


def _votes(
    block: Block, weights: Weights | None, source: IntArray, fact: IntArray, is_for: BoolArray
) -> FloatArray:
    """Return what each claim adds to the log-odds of its fact, as far as that is known."""
    if weights is None or weights.rule not in ("softmax", "sigmoid"):
        return np.zeros(len(source))
    if weights.confusion is not None:  # against the other labels on average
        label = block.label_of_fact[fact]
        said = weights.confusion[source, :, label]
        own = said[np.arange(len(label)), label]
        vote = own - (said.sum(axis=1) - own) / max(said.shape[1] - 1, 1)
        vote = vote if weights.of_claim is None else vote * weights.of_claim
        shrink = weights.shrink_of_item
        return np.asarray(vote if shrink is None else vote / shrink[block.item_of_fact[fact]])
    if weights.of_claim is not None:
        return np.asarray(block.weighted(weights.of_claim))
    oppose = np.zeros_like(weights.support) if weights.oppose is None else weights.oppose
    if weights.rule == "softmax":
        return np.asarray((weights.support - oppose)[source])
    return np.where(is_for, weights.support[source], oppose[source])
