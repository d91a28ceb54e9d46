"""Accu and its relatives: weigh the vote of each source by its accuracy.

Dong, Berti-Equille, Srivastava: Integrating Conflicting Data: The Role of Source Dependence
(VLDB 2009), has Accu and AccuSim, in which a value gains from the votes for similar ones; sources
that copy from each other are in `accu_copy`. PopAccu is from Dong, Saha, Srivastava: Less is More:
Selecting Sources Wisely for Integration (VLDB 2013); AccuFormat from Li, Dong, Lyons, Meng,
Srivastava: Truth Finding on the Deep Web: Is the Problem Solved? (VLDB 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import (
    SUREST,
    Algorithm,
    Labels,
    Memory,
    Phase,
    Step,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import Weights, logit, ratio, surprise
from veracity.dependence import ByPair
from veracity.dependence.pairs import Pairs
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.trees import BySource
from veracity.values import (
    BY_KIND,
    MOST_VALUES,
    Similarity,
    SimilarPairs,
    covers,
    grains,
    similar_pairs,
    with_partials,
)


class Copying(NamedTuple):
    """Pairs of sources that AccuCopy compares, and how many of their shared values are true.

    `claims` and `rank` of the sources need not use their names.
    """

    claims: BySource
    rank: BySource
    pairs: Pairs
    n_shared: ByPair
    different: ByPair
    shared_true: ByPair


class Accuracies(NamedTuple):
    """Accuracy A of each source, number n of false values of an item, and the prior.

    Some algorithms compare the values, `labels`, or pairs of sources.
    """

    accuracy: BySource
    n_false_values: float
    prior: PriorRates
    labels: Labels
    copying: Copying | None = None

    @classmethod
    def at_start(cls, survey: Survey, prior: PriorRates, n_false_values: float) -> Accuracies:
        """Return the prior's: where one value is true, the tpr of a source is its accuracy.

        There are never more false values than the values that are claimed of any item, less one:
        a source that errs on a yes-or-no question has one way to do so.
        """
        n = max(1.0, min(n_false_values, survey.n_labels - 1.0))
        start = cls(prior.tpr, n, prior, survey.names.labels)
        return start._replace(accuracy=start._clear(prior.weigh_known_accuracy(prior.tpr)))

    def learn(self, counts: FloatArray) -> Accuracies:
        """Return the mean plausibility of the values a source names, from `count_votes`."""
        supports_of_true, supports = counts.T[:2]
        mean = np.where(supports > 0, ratio(supports_of_true, supports), self.accuracy)
        return self._replace(
            accuracy=np.where(self.prior.is_fixed, self.accuracy, self._clear(mean))
        )

    def calibrated(self) -> Accuracies:
        """Return the accuracies as the known truths correct them."""
        return self._replace(accuracy=self._clear(self.prior.weigh_known_accuracy(self.accuracy)))

    def weights(self, block: Block) -> Weights:
        """Return the votes, ln(n A / (1 - A)): zero for a source that guesses.

        Of the n + 1 values of an item, n + 1 - |Ω| are unclaimed; each has a score of zero.
        """
        vote = logit(self.accuracy) + float(np.log(self.n_false_values))
        n_unclaimed = np.maximum(self.n_false_values + 1.0 - block.n_facts_of_item, 0.0)
        with np.errstate(divide="ignore"):
            return Weights("softmax", vote, unclaimed=np.log(n_unclaimed))

    def _clear(self, accuracy: FloatArray) -> FloatArray:
        """Return accuracies clear of one, not below a guess, 1 / (n + 1); fixed ones as they are.

        A source worse than a guess is ignored. If its votes counted against its own values, then on
        items where nobody agrees with anybody the value with most supporters would come last.
        """
        clear = np.clip(accuracy, 1.0 / (self.n_false_values + 1.0), 1.0 - SUREST)
        return np.where(self.prior.is_fixed, accuracy, clear)


@dataclass(frozen=True, kw_only=True)
class Accu(Algorithm[Accuracies]):
    """P(value) from the votes of its sources, weighed by their accuracies; and these from P.

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        How many false values an item has, all equally likely to be named by a source that errs.
        Fewer where fewer values are claimed in all.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu"
    kinds = ("categorical",)
    takes_rules = True
    takes_shares = True

    prior: Prior = NO_PRIOR
    n_false_values: float = bounded(100.0, at_least=1)
    max_rounds: int = bounded(100, at_least=1)
    tolerance: float = bounded(1e-4, above=0)

    def start(self, survey: Survey, prior: PriorRates) -> Accuracies:
        """Start from the prior."""
        return Accuracies.at_start(survey, prior, self.n_false_values)

    def tally(self, block: Block, state: Accuracies, turn: Turn) -> Tally:
        """Judge the facts, and count the claims of each source by truth."""
        plausibility = clamp_known(self.judge(block, state, turn.memory), block)
        return (kernels.count_votes(block, plausibility, len(state.accuracy)),)

    def learn(self, state: Accuracies, total: Tally) -> Accuracies:
        """Learn A_s, the mean plausibility of the values that a source names."""
        return state.learn(total[0])

    def trust(self, state: Accuracies) -> FloatArray:
        """Return the accuracy."""
        return state.accuracy

    def calibrate(self, state: Accuracies, prior: PriorRates) -> Accuracies:
        """Correct the accuracies by the known truths."""
        return state.calibrated()

    def weigh(self, block: Block, state: Accuracies, memory: Memory = None) -> Weights:
        """C(c) = Σ_s ln(n A_s / (1 - A_s)) over the sources of a value; P(c) from all C."""
        return state.weights(block)

    def grow(self, state: Accuracies, names: Names) -> Accuracies:
        """Add new sources as usual; new values are compared like others."""
        return super().grow(state, names)._replace(labels=names.labels)


@dataclass(frozen=True, kw_only=True)
class PopAccu(Accu):
    """PopAccu: Accu, but errors fall on false values as often as other sources claim these.

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        No accuracy falls below 1 / (n + 1). It has no other effect here.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "pop-accu"

    def weigh(self, block: Block, state: Accuracies, memory: Memory = None) -> Weights:
        """C(c) = Σ_s max(0, ln(A_s / (1 - A_s)) + (n ln n - m ln m - (n - m) ln(n - m)) / m).

        Here m of the n claims on the item name c. Unclaimed values have a score of zero: if one of
        them is true, all sources err. A claim that would count against its own value is ignored, as
        in Accu.
        """
        vote = logit(state.accuracy)
        of_claim = vote[block.source_of_support] + surprise(block)[block.fact_of_support]
        return Weights("softmax", vote, of_claim=np.maximum(of_claim, 0.0), unclaimed=0.0)


@dataclass(frozen=True, kw_only=True)
class AccuSim(Accu):
    """Accu with C*(c) = C(c) + influence · Σ similarity(c, c') C(c') in the place of C(c).

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        How many false values an item has, all equally likely to be named by a source that errs.
        Fewer where fewer values are claimed in all.
    similarity
        How similar two values of an item are, from 0 to 1.
    influence
        How much of the votes for a similar value counts, rho in the paper.
    most_values
        Values of an item with more than these are not compared: pairs grow with their square.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu-sim"

    similarity: Similarity = BY_KIND
    influence: float = bounded(0.5, at_least=0)
    most_values: int = bounded(MOST_VALUES, at_least=1)

    def start(self, survey: Survey, prior: PriorRates) -> Accuracies:
        """Start from the prior."""
        survey.require_labels(self.name)
        return super().start(survey, prior)

    def phases(self, state: Accuracies) -> tuple[Phase[Accuracies], ...]:
        """Return rounds; the values of each item are compared once."""
        return (Phase("rounds", (Step(self.tally, self.learn, self.pairs),), self.change),)

    def pairs(self, block: Block, state: Accuracies) -> SimilarPairs:
        """Compare the values of each item."""
        values = state.labels.gather(block.label_of_fact)
        found = similar_pairs(values, block.first_fact_of_item, self.similarity, self.most_values)
        return with_partials(found, block)

    def weigh(self, block: Block, state: Accuracies, memory: Memory = None) -> Weights:
        """C*(c) = C(c) + influence · Σ similarity(c, c') C(c') over the item's other values."""
        fact, other, share = memory or self.pairs(block, state)
        return super().weigh(block, state)._replace(pairs=(fact, other, self.influence * share))


@dataclass(frozen=True, kw_only=True)
class AccuFormat(AccuSim):
    """AccuSim in which a rounding of a value counts as the value itself.

    Parameters
    ----------
    prior
        Where the accuracies start: its tpr. Fixed sources stay as they are.
    n_false_values
        Number of false values of an item, all equally likely in an error.
        Fewer where fewer values are claimed in all.
    similarity
        Similarity of two values of an item, from 0 to 1. Values of which one is a rounding of the
        other count as the same for the finer one.
    influence
        Share of the votes for a similar value that counts.
    most_values
        Values of an item with more than these are not compared: pairs grow with their square.
    max_rounds, tolerance
        It stops when a round moves no accuracy by `tolerance`.
    """

    name = "accu-format"

    def pairs(self, block: Block, state: Accuracies) -> SimilarPairs:
        """Compare the values of each item, both ways, and find those that are roundings."""
        one, other, similarity = super().pairs(block, state)
        fact, lender = np.append(one, other), np.append(other, one)
        written = grains(state.labels.gather(block.label_of_fact))
        is_rounding = covers(written, lender, fact)
        share = np.where(is_rounding, 1.0, np.append(similarity, similarity))
        return SimilarPairs(fact, lender, share)

    def weigh(self, block: Block, state: Accuracies, memory: Memory = None) -> Weights:
        """C*(c) = C(c) + influence · Σ s(c' → c) C(c') over the item's other values.

        s(c' → c) is 1 if c' is a rounding of c, and else the similarity of the two.
        """
        return super().weigh(block, state, memory)._replace(pairs_are_one_way=True)
