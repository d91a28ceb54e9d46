"""AccuCopy: Accu with small weights for votes of sources that copy from each other.

Dong, Berti-Equille, Srivastava: Integrating Conflicting Data: The Role of Source Dependence
(VLDB 2009). Independent sources that claim the same value are mostly right, and hardly ever claim
the same *false* value. So shared mistakes are the evidence for a copy. The paper also joins it with
AccuSim: see `AccuSimCopy`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.accu import Accu, Accuracies, Copying
from veracity.algorithms.base import (
    Description,
    Memory,
    Phase,
    Step,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.rules import Weights, plausibilities, sigmoid
from veracity.dependence import Copies
from veracity.dependence.pairs import (
    Links,
    PairRule,
    Pairs,
    able_sources,
    choose_pairs,
    count_shared,
    links_of,
    nameless_rank,
    signature_of_source,
)
from veracity.encoding.block import SAME, Block, FloatArray, IntArray
from veracity.encoding.survey import Survey
from veracity.values import BY_KIND, MOST_VALUES, Similarity, SimilarPairs, similar_pairs

MOST_COPIES = 10_000
"""Most pairs that are reported."""

EXCELLENT = 0.95
"""The accuracy of all sources at the first look, before there are truths to measure it by."""

FEWEST_PAIRS = 10
"""Minimum number of pairs from which the rate of errors that coincide by chance is estimated."""


class Beside(NamedTuple):
    """Links of pairs in a block, and similar values: computed once for each block."""

    links: Links
    similar: SimilarPairs | None


@dataclass(frozen=True, kw_only=True)
class AccuCopy(Accu):
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
    similarity
        How similar two values of an item are, from 0 to 1; None if they are not compared.
    influence, most_values
        How much of the votes for a similar value counts. Values of an item with more than
        `most_values` are not compared.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu-copy"
    takes_shares = False

    copying: float = bounded(0.2, above=0, below=0.5)
    copied: float = bounded(0.8, above=0, below=1)
    min_shared: int = bounded(10, at_least=1)
    most_supporters: int = bounded(100, at_least=2)
    most_partners: int = bounded(50, at_least=1)
    similarity: Similarity | None = None
    influence: float = bounded(0.5, at_least=0)
    most_values: int = bounded(MOST_VALUES, at_least=1)
    max_rounds: int = bounded(50, at_least=1)
    tolerance: float = bounded(1e-3, above=0)

    @property
    def rule(self) -> PairRule:
        """The rule by which pairs are chosen."""
        return PairRule(self.min_shared, self.most_supporters, self.most_partners)

    def start(self, survey: Survey, prior: PriorRates) -> Accuracies:
        """Return accuracies as in Accu, before any pair is compared."""
        if self.similarity is not None:
            survey.require_labels(self.name)
        claims = survey.counted.supports_of_source
        nobody, nothing = Pairs(*np.zeros((2, 0), np.int64)), np.zeros(0)
        copying = Copying(claims, np.zeros_like(claims), nobody, nothing, nothing, nothing)
        return super().start(survey, prior)._replace(copying=copying)

    def phases(self, state: Accuracies) -> tuple[Phase[Accuracies], ...]:
        """Find the pairs, count the claims they share, learn from a first vote; then run rounds."""
        pairs = (
            Step(self.tally_pairs, self.learn_pairs),
            Step(self.tally_links, self.learn_links, self.beside),
            Step(self.tally_vote, self.learn, self.beside),
        )
        rounds = (Step(self.tally, self.learn, self.beside),)
        return Phase("pairs", pairs), Phase("rounds", rounds, self.change)

    def tally_pairs(self, block: Block, state: Accuracies, turn: Turn) -> Tally:
        """Count the values that pairs share and few other sources claim."""
        shared = count_shared(block, able_sources(_copying(state).claims, self.rule), self.rule)
        return shared, signature_of_source(block, len(state.accuracy))

    def learn_pairs(self, state: Accuracies, total: Tally) -> Accuracies:
        """Choose the pairs; those of an earlier fit stay first, as their sums are in this order."""
        shared, signature = total
        rank, known = nameless_rank(_copying(state).claims, signature), _copying(state).pairs
        chosen = choose_pairs(shared, rank, self.rule)
        old, new = (pair.source * len(rank) + pair.other for pair in (known, chosen))
        is_new = ~np.isin(new, old)
        ends = (
            np.append(*both) for both in zip(known, (own[is_new] for own in chosen), strict=True)
        )
        return _with(state, rank=rank, pairs=Pairs(*ends))

    def beside(self, block: Block, state: Accuracies) -> Beside:
        """Find what the pairs share, and how similar the values of each item are."""
        links = links_of(block, _copying(state).pairs, len(state.accuracy))
        if self.similarity is None:
            return Beside(links, None)
        values, first = state.labels.gather(block.label_of_fact), block.first_fact_of_item
        return Beside(links, similar_pairs(values, first, self.similarity, self.most_values))

    def tally_links(self, block: Block, state: Accuracies, turn: Turn) -> Tally:
        """Count how much each pair shares, and how often it differs."""
        links: Links = turn.memory.links
        return links.n_links.astype(np.float64), links.different

    def learn_links(self, state: Accuracies, total: Tally) -> Accuracies:
        """Take all that is shared to be true, at first."""
        n_shared, different = total
        return _with(state, n_shared=n_shared, different=different, shared_true=n_shared)

    def tally_vote(self, block: Block, state: Accuracies, turn: Turn) -> Tally:
        """Judge the facts by a vote that ignores copies among sources that hardly differ.

        An ordinary vote cannot show which sources copy. Many copies may win it, and then all values
        that the other sources share would seem to be mistakes. So at first all sources are assumed
        to be excellent, and all shared values to be true. Then only sources that hardly differ are
        suspect.
        """
        suspects = state._replace(accuracy=np.full(len(state.accuracy), EXCELLENT))
        independence = self._independence(block, suspects, turn.memory.links)
        return self._tally(block, state, turn.memory, independence)

    def tally(self, block: Block, state: Accuracies, turn: Turn) -> Tally:
        """Judge the facts; count each source's claims, and the true facts that pairs share."""
        independence = self._independence(block, state, turn.memory.links)
        return self._tally(block, state, turn.memory, independence)

    def _tally(
        self, block: Block, state: Accuracies, beside: Beside, independence: FloatArray
    ) -> Tally:
        links = beside.links
        weights = self._weights(block, state, beside, independence)
        plausibility = clamp_known(plausibilities(block, weights), block)
        counts = kernels.count_votes(block, plausibility, len(state.accuracy))
        of_support = np.repeat(plausibility, block.n_supports_of_fact)
        of_link = of_support[links.support_of_source]
        return counts, np.bincount(links.pair_of_link, of_link, len(_copying(state).pairs.source))

    def learn(self, state: Accuracies, total: Tally) -> Accuracies:
        """A_s = mean plausibility of the values it names."""
        counts, shared_true = total
        return _with(state.learn(counts), shared_true=shared_true)

    def weigh(self, block: Block, state: Accuracies, memory: Memory = None) -> Weights:
        """Weigh ln(n A_s / (1 - A_s)) times I, the probability that the vote is no copy."""
        beside = memory or self.beside(block, state)
        independence = self._independence(block, state, beside.links)
        return self._weights(block, state, beside, independence)

    def resume(self, state: Accuracies, survey: Survey, prior: PriorRates) -> Accuracies:
        """Go on from the accuracies reached so far, with the claims of all."""
        grown = self.grow(state, survey.names)
        return _with(grown, claims=survey.counted.supports_of_source)

    def describe(self, state: Accuracies, counts: FloatArray | None = None) -> Description:
        """Return the rates as counted, and the pairs that seem to copy."""
        return replace(super().describe(state, counts), copies=self._copies(state))

    def _copies(self, state: Accuracies) -> Copies:
        """Return the pairs that are likelier dependent than not, the clearest first.

        The probability of many pairs rounds to one. Among these, the pairs with the lowest share of
        different values (to the percent) come first, then those with the most evidence.
        """
        log_forth, log_back = self._log_dependence(state)
        copying, accuracy = _copying(state), state.accuracy
        log_odds = np.logaddexp(log_forth, log_back)
        spoken = np.maximum(copying.n_shared + copying.different, 1.0)
        probability = sigmoid(log_odds)
        differing = np.round(copying.different / spoken, 2)
        top = np.lexsort((-np.round(log_odds, SAME), differing, -np.round(probability, 2)))
        top = top[log_odds[top] > 0.0][:MOST_COPIES]
        forth = np.round(log_forth[top] - log_back[top], SAME)
        is_forth = forth >= 0.0
        source, other = copying.pairs.source[top], copying.pairs.other[top]
        both_true = accuracy[source] * accuracy[other]
        both_false = (1.0 - accuracy[source]) * (1.0 - accuracy[other]) * _coincidence(state)
        shared = (copying.n_shared + copying.different)[top]
        return Copies(
            np.where(is_forth, source, other),
            np.where(is_forth, other, source),
            sigmoid(np.abs(forth)),
            shared,
            copying.n_shared[top],
            shared * (both_true + both_false),
            np.maximum(copying.n_shared - copying.shared_true, 0.0)[top],
            shared * both_false,
            probability[top],
        )

    def _log_dependence(self, state: Accuracies) -> tuple[FloatArray, FloatArray]:
        """Return `log_dependence` of every pair."""
        copying, accuracy = _copying(state), state.accuracy
        pairs = copying.pairs
        n_partners = np.bincount(np.append(*pairs), minlength=len(accuracy))
        return log_dependence(
            (accuracy[pairs.source], accuracy[pairs.other]),
            (copying.shared_true, copying.n_shared - copying.shared_true, copying.different),
            (self.copying / n_partners[pairs.source], self.copying / n_partners[pairs.other]),
            _coincidence(state),
            self.copied,
        )

    def _independence(self, block: Block, state: Accuracies, links: Links) -> FloatArray:
        """I = Π (1 - c P(the two are dependent)) over the supporters of a fact counted before.

        If one of the two copies the other, its claim adds no information, in either direction. So
        P is the sum of both directions.
        """
        log_forth, log_back = self._log_dependence(state)
        forth, back = _probabilities(log_forth, log_back)
        order = _order(forth - back, state)
        pairs = _copying(state).pairs
        is_other_later = order[pairs.other] > order[pairs.source]
        log_factor = np.repeat(np.log1p(-self.copied * (forth + back)), links.n_links)
        later = np.where(
            np.repeat(is_other_later, links.n_links),
            links.support_of_other,
            links.support_of_source,
        )
        return np.exp(np.bincount(later, log_factor, len(block.source_of_support)))

    def _weights(
        self, block: Block, state: Accuracies, beside: Beside, independence: FloatArray
    ) -> Weights:
        """Weigh each claim by its source's vote times the probability that it is independent."""
        weights = state.weights(block)
        own = weights._replace(of_claim=weights.support[block.source_of_support] * independence)
        if beside.similar is None:
            return own
        one, other, similarity = beside.similar
        return own._replace(pairs=(one, other, self.influence * similarity))


@dataclass(frozen=True, kw_only=True)
class AccuSimCopy(AccuCopy):
    """AccuCopy, in which a value also gains from the votes for values that are similar to it.

    Parameters
    ----------
    similarity
        How similar two values of an item are, from 0 to 1.
    influence, most_values
        How much of the votes for a similar value counts. Values of an item with more than
        `most_values` are not compared.
    prior, n_false_values, copying, copied, min_shared, most_supporters, most_partners
        As for `AccuCopy`.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu-sim-copy"

    similarity: Similarity | None = BY_KIND


def _copying(state: Accuracies) -> Copying:
    """Return the statistics of pairs, which AccuCopy always has."""
    assert state.copying is not None
    return state.copying


def _with(state: Accuracies, **parts: Any) -> Accuracies:
    """Return the state with some statistics of pairs replaced."""
    return state._replace(copying=_copying(state)._replace(**parts))


def log_dependence(
    accuracies: tuple[FloatArray, FloatArray],
    counts: tuple[FloatArray, FloatArray, FloatArray],
    priors: tuple[FloatArray, FloatArray],
    coincidence: float,
    c: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the log-odds of "the source copies the other", and of the reverse, to independence.

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


def _coincidence(state: Accuracies) -> float:
    """Return the probability that two wrong claims have the same value; at least 1 / n.

    1 / n in the paper. But some errors suggest themselves, as a temperature one degree off. So it
    is the lower quartile, over the pairs, of their shared false values in proportion to the items
    on which both should err: most pairs are independent, or else nothing can be learned at all.
    """
    error, copying = 1.0 - state.accuracy, _copying(state)
    spoken = copying.n_shared + copying.different
    both_err = error[copying.pairs.source] * error[copying.pairs.other] * spoken
    tells = both_err >= 1.0
    least = 1.0 / state.n_false_values
    if tells.sum() < FEWEST_PAIRS:
        return least
    share = (copying.n_shared - copying.shared_true)[tells] / both_err[tells]
    return float(np.clip(np.quantile(share, 0.25), least, 1.0))


def _probabilities(log_forth: FloatArray, log_back: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of copying forth and back, from log-odds to independence."""
    log_total = np.logaddexp(np.logaddexp(log_forth, log_back), 0.0)
    return np.exp(log_forth - log_total), np.exp(log_back - log_total)


def _order(net: FloatArray, state: Accuracies) -> IntArray:
    """Return the rank of each source in counting: sources that copy least are first.

    `net` is, for each pair, the probability that the source copies less that of the reverse. Of
    sources that copy as much as they are copied, the more accurate comes first.
    """
    copying, accuracy = _copying(state), state.accuracy
    n_sources = len(accuracy)
    copies = np.bincount(copying.pairs.source, net, n_sources)
    copies = copies - np.bincount(copying.pairs.other, net, n_sources)
    order = np.lexsort((copying.rank, -np.round(accuracy, SAME), np.round(copies, SAME)))
    place = np.empty(n_sources, dtype=np.int64)
    place[order] = np.arange(n_sources)
    return place
