"""Rules that turn the weights of claims into scores, and scores into plausibilities."""

from __future__ import annotations

from functools import reduce
from typing import Literal, NamedTuple

import numpy as np

from veracity import kernels
from veracity.encoding.block import SAME, UNKNOWN, Block, BoolArray, FloatArray, IntArray

Rule = Literal["softmax", "sigmoid", "share", "mean", "balance", "estimate"]
"""Rules by which plausibilities follow from scores.

- softmax: exp(score) as a share of all, and of the score of unclaimed values; one fact is true
- sigmoid: 1 / (1 + exp(-score)); each fact is true or false by itself
- share: score^power as a share of all
- mean: score over the number of sources with a claim on the item, each multiplied by its share
- balance: for^power / (for^power + against^power); the score is for less against. Support with a
  negative weight counts against, and opposition with a negative weight counts for
- estimate: for numbers, which are averaged by weight
"""


class Vote(NamedTuple):
    """The shares of the votes for the labels of each item, and their weight in a plausibility.

    ``plausibility = (1 - weight) softmax(score) + weight vote``
    """

    label: FloatArray
    """[item, label]; each row adds up to one."""
    weight: float


class Weights(NamedTuple):
    """Weights that the claims of a block add to the scores of its facts, and the rule that follows.

    The score of a fact is its prior, plus `support` of every source that supports it, plus `oppose`
    of every other source that speaks on its item. A source that supports it with a share of its
    word alone adds that share of `support`, and the rest of `oppose`. Some algorithms weigh
    otherwise: by the claim, not the source (`of_claim`, one per support, for `support`); by what is
    claimed and what is true (`confusion`, times `of_claim` if there is one); or a claim also adds a
    share of its weight to the facts paired with its own (`pairs`: fact, other fact, share). Mostly
    that goes both ways; if `pairs_are_one_way`, the other fact adds to the fact alone. A claim that
    says less than other facts adds to these (`partly`: support, fact, weight).
    """

    rule: Rule
    support: FloatArray
    oppose: FloatArray | None = None
    prior: float | FloatArray = 0.0
    """The score before any claim: one for all facts, or one per fact; per label, if `confusion`."""
    power: float = 1.0
    """Power of the scores in shares and balances."""
    of_claim: FloatArray | None = None
    pairs: tuple[IntArray, IntArray, FloatArray] | None = None
    pairs_are_one_way: bool = False
    partly: tuple[IntArray, IntArray, FloatArray] | None = None
    confusion: FloatArray | None = None
    """Logarithms, [source, label that is true, label that is claimed]."""
    shrink_of_item: FloatArray | None = None
    """Divisor of the scores of an item's labels, with `confusion`."""
    vote: Vote | None = None
    """Vote that is mixed into the plausibilities, and so into the scores, with `confusion`."""
    shift_of_claim: FloatArray | None = None
    """Number subtracted from each claim before averaging, for an estimate."""
    centre_of_item: FloatArray | None = None
    """Prior estimate of each item; if None, the mean of its numbers."""
    unclaimed: float | FloatArray | None = None
    """Score of unclaimed values in a softmax: one for all items, or one per item."""
    account: Literal["exact", "average"] = "exact"
    """Relation of weights and plausibilities: "exact" if these follow from the weights,
    "average" if they are a mean over draws, and the weights are those of the average."""


def scores(block: Block, weights: Weights) -> FloatArray:
    """Return the score of each fact: the sum of its claims, the prior, and what rules add."""
    if weights.confusion is not None:
        return np.asarray(label_scores(block, weights)[block.item_of_fact, block.label_of_fact])
    if weights.of_claim is not None:
        own = kernels.sum_claims(block, weights.of_claim)
    elif weights.oppose is None:
        own = kernels.sum_votes(block, np.zeros_like(weights.support), weights.support)
    else:
        own = kernels.sum_votes(block, weights.oppose, weights.support - weights.oppose)
    if weights.pairs is not None:
        own = with_paired(own, weights.pairs, one_way=weights.pairs_are_one_way)
    if weights.partly is not None:
        support, fact, weight = weights.partly
        if block.has_shares:
            weight = weight * block.share_of_support[support]
        own = own + np.bincount(fact, weight, block.n_facts)
    if len(block.field_of_fact):
        own = own + block.field_of_fact
    return np.asarray(weights.prior + own, dtype=np.float64)


def with_paired(
    of_fact: FloatArray, pairs: tuple[IntArray, IntArray, FloatArray], *, one_way: bool = False
) -> FloatArray:
    """Add to the number of each fact a share of the numbers of its paired facts."""
    fact, other, share = pairs
    added = np.bincount(fact, of_fact[other] * share, len(of_fact))
    if not one_way:
        added = added + np.bincount(other, of_fact[fact] * share, len(of_fact))
    return np.asarray(of_fact + added)


def plausibilities(block: Block, weights: Weights) -> FloatArray:
    """Return the plausibility of each fact, by the rule."""
    if weights.confusion is not None:
        label = label_probabilities(label_scores(block, weights))
        return np.asarray(label[block.item_of_fact, block.label_of_fact])
    if weights.rule == "balance":
        trusted, distrusted = np.maximum(weights.support, 0.0), np.maximum(-weights.support, 0.0)
        in_favour = kernels.sum_votes(block, distrusted, trusted - distrusted)
        against = kernels.sum_votes(block, trusted, distrusted - trusted)
        return _balance(in_favour, against, weights.power)
    score = scores(block, weights)
    if weights.rule == "softmax":
        unclaimed = unclaimed_scores(block, weights)
        return np.asarray(kernels.normalise_log(score, block.first_fact_of_item, unclaimed))
    if weights.rule == "sigmoid":
        return sigmoid(score)
    if weights.rule == "mean":
        return np.asarray(score / np.repeat(block.votes_of_item, block.n_facts_of_item))
    return share_of_item(score, block, weights.power)


def softmax_of_claims(block: Block, of_claim: FloatArray) -> FloatArray:
    """Return the plausibility of each fact, if one of each item is true."""
    return plausibilities(block, Weights("softmax", of_claim, of_claim=of_claim))


def unclaimed_scores(block: Block, weights: Weights) -> FloatArray:
    """Return the score of the unclaimed values of each item; minus infinity if all are claimed."""
    if weights.confusion is not None:
        log_joint = label_scores(block, weights)
        log_joint[block.item_of_fact, block.label_of_fact] = -np.inf
        return np.asarray(np.logaddexp.reduce(log_joint, axis=1))
    unclaimed = -np.inf if weights.unclaimed is None else weights.unclaimed
    return np.ascontiguousarray(np.broadcast_to(unclaimed, block.n_items), dtype=np.float64)


# --- labels ---------------------------------------------------------------------------------------


def label_scores(block: Block, weights: Weights) -> FloatArray:
    """Return the score of each label of each item, whether it is claimed or not."""
    of_claim = weights.of_claim
    if of_claim is None:
        of_claim = np.ones(len(block.source_of_support))
    said = kernels.sum_confusions(block, weights.confusion, of_claim)
    score = weights.prior + said
    if weights.shrink_of_item is not None:
        score /= weights.shrink_of_item[:, None]
    score = score if weights.vote is None else _with_vote(score, weights.vote)
    if len(block.field_of_fact):
        score[block.item_of_fact, block.label_of_fact] += block.field_of_fact
    return np.asarray(score)


LEAST_PLAUSIBLE = 1e-12
"""Smallest plausibility of a label if a vote is mixed in."""

NOT_AHEAD = 0.9
"""Weight of a vote after it is cut, as a share of the weight at which another label would tie with
the answer."""


def _with_vote(score: FloatArray, vote: Vote) -> FloatArray:
    """Return scores whose softmax is that of `score`, mixed with the vote.

    The answer never changes: if the vote would put another label first, its weight is cut for that
    item. The vote decides between labels of equal score. A weight of one is never cut.
    """
    p = label_probabilities(score)
    highest = highest_of_rows(score)
    total = highest + np.log(sum_of_rows(np.exp(score - highest)))
    weight = np.full((len(score), 1), vote.weight)
    if vote.weight < 1.0:
        claimed = np.where(vote.label > 0.0, score, -np.inf).round(SAME)
        is_first = claimed == highest_of_rows(claimed)
        best = np.where(is_first, vote.label, -1.0).argmax(axis=1)[:, None]
        lead = np.maximum(np.take_along_axis(p, best, axis=1) - p, 0.0)
        behind = vote.label - np.take_along_axis(vote.label, best, axis=1)
        level = np.divide(lead, lead + behind, out=np.ones_like(lead), where=behind > 0.0)
        level = -highest_of_rows(-level)
        weight = np.where(level <= weight, NOT_AHEAD * level, weight)
    mixture = np.maximum((1.0 - weight) * p + weight * vote.label, LEAST_PLAUSIBLE)
    return np.asarray(np.log(mixture / sum_of_rows(mixture)) + total)


def label_probabilities(label_score: FloatArray) -> FloatArray:
    """Return the probabilities of each item's labels, which add up to one."""
    share = np.exp(label_score - highest_of_rows(label_score))
    share /= sum_of_rows(share)
    return np.asarray(share)


def highest_of_rows(table: FloatArray) -> FloatArray:
    """Return the highest number of each row, as a column. NumPy is slow on rows of a few labels."""
    return np.asarray(reduce(np.maximum, table.T)[:, None])


def sum_of_rows(table: FloatArray) -> FloatArray:
    """Return the sum of each row, as a column."""
    return np.asarray(np.einsum("ij->i", table)[:, None])


def clamp_labels(label: FloatArray, block: Block) -> FloatArray:
    """Set known labels to one; where the known value is unclaimed, rule out the claimed ones."""
    is_known = block.known_of_fact != UNKNOWN
    if not is_known.any():
        return label
    item, clamped = block.item_of_fact, label.copy()
    clamped[item[block.known_of_fact == 1]] = 0.0
    clamped[item[is_known], block.label_of_fact[is_known]] = block.known_of_fact[is_known]
    total = clamped.sum(axis=1, keepdims=True)
    return np.asarray(clamped / np.where(total > 0.0, total, 1.0))


# --- shares ---------------------------------------------------------------------------------------


def item_sums(number_of_fact: FloatArray, block: Block) -> FloatArray:
    """Return the sum over the facts of each item."""
    return np.asarray(np.add.reduceat(number_of_fact, block.first_fact_of_item[:-1]))


def is_best_of_item(score: FloatArray, block: Block) -> BoolArray:
    """Return True for facts with the highest score of their item; ties all have it."""
    score = np.round(score, SAME)
    best = np.maximum.reduceat(score, block.first_fact_of_item[:-1])
    return np.asarray(score == np.repeat(best, block.n_facts_of_item))


def share_of_item(score: FloatArray, block: Block, power: float = 1.0) -> FloatArray:
    """Return scores to a power as shares of their item's; equal ones if all are zero."""
    first, n_facts_of_item = block.first_fact_of_item[:-1], block.n_facts_of_item
    if power != 1.0:  # relative to the largest: no power of it underflows
        highest = np.repeat(np.maximum.reduceat(score, first), n_facts_of_item)
        score = (score / np.where(highest > 0.0, highest, 1.0)) ** power
    total = np.repeat(item_sums(score, block), n_facts_of_item)
    share = score / np.where(total > 0.0, total, 1.0)
    return np.where(total > 0.0, share, 1.0 / np.repeat(n_facts_of_item, n_facts_of_item))


def popularity(block: Block) -> FloatArray:
    """Return the share of each fact in the claims of its item."""
    claims = np.repeat(item_sums(block.votes_of_fact, block), block.n_facts_of_item)
    return np.asarray(block.votes_of_fact / claims)


def surprise(block: Block) -> FloatArray:
    """Return the gain of each fact by each of its claims if sources that err name popular values.

    If value v is true, each of the n - m claims for others falls on value c with probability
    m_c / (n - m), where m and m_c claims name v and c. Up to what all values of the item have in
    common, the logarithm of the probability that they fall as they do is then
    n ln n - m ln m - (n - m) ln(n - m), which is shared out here among the m claims: it is
    -ln p - (1 - p) / p ln(1 - p), p being m / n.
    """
    share = np.clip(popularity(block), np.finfo(np.float64).tiny, 1.0)
    is_disputed = share < 1.0
    log_others = np.log1p(-share, out=np.zeros_like(share), where=is_disputed)
    return np.asarray(-np.log(share) - (1.0 - share) / share * log_others)


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return ``part / whole``, zero where the whole is zero."""
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0.0)


def _balance(in_favour: FloatArray, against: FloatArray, power: float) -> FloatArray:
    # the voices less the supporters may round below 0
    in_favour, against = np.maximum(in_favour, 0.0), np.maximum(against, 0.0)
    highest = np.maximum(in_favour, against)
    is_some = highest > 0.0
    divisor = np.where(is_some, highest, 1.0)
    grown, other = (in_favour / divisor) ** power, (against / divisor) ** power
    return np.where(is_some, grown / np.where(is_some, grown + other, 1.0), 0.5)


def sigmoid(x: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def logit(p: FloatArray) -> FloatArray:
    """Return log(p / (1 - p)), finite also where rounding has made p zero or one."""
    smallest = np.finfo(np.float64).tiny
    return np.log(np.maximum(p, smallest)) - np.log(np.maximum(1.0 - p, smallest))
