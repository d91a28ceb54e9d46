"""AccuCopy: Accu, in which the votes of sources that copy from one another count little.

Dong, Berti-Equille, Srivastava: Integrating Conflicting Data: The Role of Source Dependence
(VLDB 2009). Independent sources that name the same value are mostly right; the same *false* value
they hardly ever name. So it is shared mistakes that give a copy away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity.algorithms.accu import Accuracies, share_with_unclaimed
from veracity.algorithms.base import (
    Algorithm,
    Copies,
    Memory,
    Tally,
    Turn,
    Weights,
    hold_known,
    kernels,
    sigmoid,
)
from veracity.algorithms.checks import require_at_least, require_positive, require_probability
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.encode import Block, Claims, FloatArray, IntArray
from veracity.errors import ParameterError
from veracity.kernels.copying import PairRule, Shared, find_shared, nameless_rank

__all__ = ["AccuCopy", "Copying", "log_dependence"]

MOST_COPIES = 10_000
"""How many pairs are told of, at most."""

EXCELLENT = 0.95
"""The accuracy of all sources at the first look, before there are truths to measure it by."""

FEWEST_PAIRS = 10
"""Fewer pairs do not tell how often errors coincide by chance."""

SAME = 9
"""Numbers that agree to this many decimals do not decide which source is counted first."""


class Copying(NamedTuple):
    """The accuracies, what pairs of sources share, and how much of it is true."""

    accuracies: Accuracies
    shared: Shared
    shared_true: FloatArray
    rank: IntArray


@dataclass(frozen=True, kw_only=True)
class AccuCopy(Algorithm[Copying]):
    """Accu with every vote weighed by the probability that it was not copied.

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        How many false values an item has, all equally likely to be named by a source that errs.
        Fewer where fewer values are claimed in all.
    copying
        The alpha of the paper: how likely a source is to copy, before anything is seen; from each
        of the others it is paired with alike. Below one half.
    copied
        The c of the paper: the share of its values that a copier copies.
    min_shared, most_supporters, most_partners
        Which pairs are looked at, all others being taken for independent: those that name at least
        `min_shared` same values, leaving out the values that more than `most_supporters` sources
        name; and of each source the `most_partners` with which it shares most.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu-copy"
    kinds = ("categorical",)
    learns_from = "all"

    prior: Prior = NO_PRIOR
    n_false_values: float = 100.0
    copying: float = 0.2
    copied: float = 0.8
    min_shared: int = 10
    most_supporters: int = 100
    most_partners: int = 50
    max_rounds: int = 50
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_probability(self, copying=self.copying, copied=self.copied)
        if self.copying >= 0.5:
            raise ParameterError(f"AccuCopy: copying must be below 0.5, got {self.copying}")
        require_at_least(self, 1, n_false_values=self.n_false_values, max_rounds=self.max_rounds)
        require_at_least(self, 1, min_shared=self.min_shared, most_partners=self.most_partners)
        require_at_least(self, 2, most_supporters=self.most_supporters)

    def start(self, claims: Claims, prior: PriorRates) -> tuple[Memory, Copying]:
        """Start from a vote of sources as accurate as the prior says, mirrors left out.

        Who copies is not asked of an ordinary vote: a crowd of mirrors may win it, and then all
        that the others share would seem to be mistakes. So at first all sources are taken to be
        excellent, and all they share to be true: then only those are suspect that hardly differ.
        """
        rule = PairRule(self.min_shared, self.most_supporters, self.most_partners)
        shared = find_shared(claims.all, claims.n_sources, rule)
        accuracies = Accuracies.at_start(claims, prior, self.n_false_values)
        rank = nameless_rank(claims.all, claims.n_sources)
        all_shared = np.diff(shared.first_link_of_pair).astype(np.float64)
        first = Copying(accuracies, shared, all_shared, rank)
        excellent = accuracies._replace(accuracy=np.full(claims.n_sources, EXCELLENT))
        independence = self._independence(claims.all, first._replace(accuracies=excellent))
        return (), self.learn(first, _tally(claims.all, first, independence))

    def study(
        self, block: Block, memory: Memory, reliability: Copying, turn: Turn
    ) -> tuple[Memory, Tally]:
        """Judge the facts; count how sources met them, and the true ones that pairs share."""
        return memory, _tally(block, reliability, self._independence(block, reliability))

    def learn(self, reliability: Copying, tally: Tally) -> Copying:
        """A_s = mean plausibility of the values it names."""
        counts, shared_true = tally
        accuracies = reliability.accuracies.learn(counts)
        return reliability._replace(accuracies=accuracies, shared_true=shared_true)

    def change(self, before: Copying, after: Copying) -> float:
        """The largest move of any accuracy."""
        return before.accuracies.change(after.accuracies)

    def trust(self, reliability: Copying) -> FloatArray:
        """The accuracy."""
        return reliability.accuracies.accuracy

    def settle(self, reliability: Copying, prior: PriorRates) -> Copying:
        """Correct the accuracies by the known truths."""
        return reliability._replace(accuracies=reliability.accuracies.settled())

    def judge(
        self, block: Block, memory: Memory, reliability: Copying, single_truth: bool
    ) -> FloatArray:
        """C(c) = Σ_s ln(n A_s / (1 - A_s)) I_s(c), with I the probability that it is no copy."""
        return _plausibility(block, reliability, self._independence(block, reliability))

    def weights(self, claims: Claims, memory: Memory, reliability: Copying) -> Weights:
        """A source's vote times, claim by claim, the probability that it is no copy."""
        votes = _votes(claims.all, reliability, self._independence(claims.all, reliability))
        return reliability.accuracies.weights(claims)._replace(of_claim=votes)

    def copies(self, reliability: Copying) -> Copies:
        """The pairs that are likelier dependent than not, the clearest first.

        Many are so with a probability that differs from one by nothing. Of these the ones that
        hardly ever differ come first (to the percent), then those with the most evidence.
        """
        shared = reliability.shared
        log_forth, log_back = self._log_dependence(reliability)
        log_odds = np.logaddexp(log_forth, log_back)
        n_shared = np.diff(shared.first_link_of_pair)
        differing = np.round(shared.different / np.maximum(n_shared + shared.different, 1.0), 2)
        probability = sigmoid(log_odds)
        top = np.lexsort((-log_odds, differing, -np.round(probability, 2)))
        top = top[log_odds[top] > 0.0][:MOST_COPIES]
        is_forth = log_forth[top] >= log_back[top]
        return Copies(
            np.where(is_forth, shared.source[top], shared.other[top]),
            np.where(is_forth, shared.other[top], shared.source[top]),
            probability[top],
            reliability.shared_true[top],
            n_shared[top] - reliability.shared_true[top],
            shared.different[top],
        )

    def _log_dependence(self, reliability: Copying) -> tuple[FloatArray, FloatArray]:
        """`log_dependence` of every pair."""
        shared, accuracy = reliability.shared, reliability.accuracies.accuracy
        n_shared = np.diff(shared.first_link_of_pair)
        n_partners = np.bincount(np.append(shared.source, shared.other), minlength=len(accuracy))
        return log_dependence(
            (accuracy[shared.source], accuracy[shared.other]),
            (reliability.shared_true, n_shared - reliability.shared_true, shared.different),
            (self.copying / n_partners[shared.source], self.copying / n_partners[shared.other]),
            _coincidence(reliability),
            self.copied,
        )

    def _independence(self, block: Block, reliability: Copying) -> FloatArray:
        """I = Π (1 - c P(the two are dependent)) over the supporters of a fact counted before.

        Given that one of the two copies the other, its second naming tells nothing new, whichever
        of them is the copier: so P is that of both directions.
        """
        shared = reliability.shared
        log_forth, log_back = self._log_dependence(reliability)
        forth, back = _probabilities(log_forth, log_back)
        order = _order(forth - back, reliability)
        is_other_later = order[shared.other] > order[shared.source]
        n_links = np.diff(shared.first_link_of_pair)
        log_factor = np.repeat(np.log1p(-self.copied * (forth + back)), n_links)
        later = np.where(
            np.repeat(is_other_later, n_links), shared.support_of_other, shared.support_of_source
        )
        return np.exp(np.bincount(later, log_factor, len(block.source_of_support)))


def log_dependence(
    accuracies: tuple[FloatArray, FloatArray],
    counts: tuple[FloatArray, FloatArray, FloatArray],
    priors: tuple[FloatArray, FloatArray],
    coincidence: float,
    c: float,
) -> tuple[FloatArray, FloatArray]:
    """Log-odds of "the source copies the other", and of the reverse, against independence.

    With kt, kf, kd the shared true, shared false and different values, Pt = A₁A₂,
    Pf = (1 - A₁)(1 - A₂)·coincidence and Pd = 1 - Pt - Pf, independent sources claim as they do
    with probability Pt^kt Pf^kf Pd^kd. A copier takes a share c from the other, right or wrong as
    that one is: (A₂c + Pt(1 - c))^kt ((1 - A₂)c + Pf(1 - c))^kf (Pd(1 - c))^kd.
    """
    true, false, different = counts
    accuracy, other_accuracy = accuracies
    both_true = accuracy * other_accuracy
    both_false = (1.0 - accuracy) * (1.0 - other_accuracy) * coincidence
    log_independent = np.log1p(-priors[0] - priors[1])

    def against_independence(original: FloatArray, prior: FloatArray) -> FloatArray:
        # Ratios, in logs: the powers of hundreds of shared values would underflow; Pd cancels.
        from_true = np.log(original * c / both_true + 1.0 - c)
        from_false = np.log((1.0 - original) * c / both_false + 1.0 - c)
        evidence: FloatArray = true * from_true + false * from_false + different * np.log1p(-c)
        return np.asarray(np.log(prior) - log_independent + evidence)

    forth = against_independence(other_accuracy, priors[0])
    return forth, against_independence(accuracy, priors[1])


def _coincidence(reliability: Copying) -> float:
    """How likely two independent sources that err name the same false value; at least 1 / n.

    1 / n in the paper. But some errors suggest themselves, as a temperature one degree off. So it
    is the lower quartile, over the pairs, of their shared false values in proportion to the items
    on which both should err: most pairs are independent, or else nothing can be learned at all.
    """
    shared, accuracies = reliability.shared, reliability.accuracies
    n_shared = np.diff(shared.first_link_of_pair)
    error = 1.0 - accuracies.accuracy
    both_err = error[shared.source] * error[shared.other] * (n_shared + shared.different)
    tells = both_err >= 1.0
    least = 1.0 / accuracies.n_false_values
    if tells.sum() < FEWEST_PAIRS:
        return least
    share = (n_shared - reliability.shared_true)[tells] / both_err[tells]
    return float(np.clip(np.quantile(share, 0.25), least, 1.0))


def _probabilities(log_forth: FloatArray, log_back: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities of copying forth and back, from their log-odds against independence."""
    log_total = np.logaddexp(np.logaddexp(log_forth, log_back), 0.0)
    return np.exp(log_forth - log_total), np.exp(log_back - log_total)


def _order(net: FloatArray, reliability: Copying) -> IntArray:
    """At which place each source is counted: who copies least, on balance, comes first.

    `net` is, for each pair, the probability that the source copies less that of the reverse. Of
    sources that copy as much as they are copied, the more accurate comes first.
    """
    shared, n_sources = reliability.shared, len(reliability.rank)
    copies = np.bincount(shared.source, net, n_sources) - np.bincount(shared.other, net, n_sources)
    accuracy = reliability.accuracies.accuracy
    order = np.lexsort((reliability.rank, -np.round(accuracy, SAME), np.round(copies, SAME)))
    place = np.empty(n_sources, dtype=np.int64)
    place[order] = np.arange(n_sources)
    return place


def _votes(block: Block, copying: Copying, independence: FloatArray) -> FloatArray:
    """What each claim weighs."""
    return np.asarray(copying.accuracies.votes()[block.source_of_support] * independence)


def _plausibility(block: Block, copying: Copying, independence: FloatArray) -> FloatArray:
    vote = _votes(block, copying, independence)
    score = np.add.reduceat(vote, block.first_support_of_fact[:-1])
    return share_with_unclaimed(score, block, copying.accuracies.n_false_values)


def _tally(block: Block, copying: Copying, independence: FloatArray) -> Tally:
    """How the sources' words met the facts; how many of the values that a pair shares are true."""
    plausibility = hold_known(_plausibility(block, copying, independence), block)
    counts = kernels.count_votes(block, plausibility, len(copying.rank))
    plausibility_of_support = np.repeat(plausibility, np.diff(block.first_support_of_fact))
    n_links = np.diff(copying.shared.first_link_of_pair)
    pair_of_link = np.repeat(np.arange(len(n_links)), n_links)
    plausibility_of_link = plausibility_of_support[copying.shared.support_of_source]
    return counts, np.bincount(pair_of_link, plausibility_of_link, len(n_links))
