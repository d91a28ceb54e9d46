"""AccuSim: Accu, in which a value gains from the votes for values that are similar to it.

Dong, Berti-Equille, Srivastava: Integrating Conflicting Data: The Role of Source Dependence
(VLDB 2009), after an idea of TruthFinder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from veracity.algorithms.accu import Accuracies
from veracity.algorithms.base import (
    Algorithm,
    Labels,
    Memory,
    Phase,
    Step,
    Tally,
    Turn,
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import Weights
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.kernels.loading import kernels
from veracity.similarity import BY_KIND, MOST_VALUES, Similarity, SimilarPairs, similar_pairs


class Likened(NamedTuple):
    """The accuracies, and the values that are compared."""

    accuracies: Accuracies
    labels: Labels


@dataclass(frozen=True, kw_only=True)
class AccuSim(Algorithm[Likened]):
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
    kinds = ("categorical",)
    state_type = Likened
    takes_shares = True

    prior: Prior = NO_PRIOR
    n_false_values: float = 100.0
    similarity: Similarity = BY_KIND
    influence: float = 0.5
    most_values: int = MOST_VALUES
    max_rounds: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, tolerance=self.tolerance)
        require_at_least(self, 0, influence=self.influence)
        require_at_least(self, 1, n_false_values=self.n_false_values, max_rounds=self.max_rounds)
        require_at_least(self, 1, most_values=self.most_values)

    def start(self, survey: Survey, prior: PriorRates) -> Likened:
        """Start from the prior."""
        survey.require_labels(self.name)
        accuracies = Accuracies.at_start(survey, prior, self.n_false_values)
        return Likened(accuracies, survey.names.labels)

    def phases(self, state: Likened) -> tuple[Phase[Likened], ...]:
        """Rounds; the values of each item are compared once."""
        return (Phase("rounds", (Step(self.tally, self.learn, self.pairs),), self.change),)

    def is_settled(self, state: Likened) -> bool:
        """Where all sources are fixed there is nothing to learn."""
        return bool(state.accuracies.prior.is_fixed.all())

    def tally(self, block: Block, state: Likened, turn: Turn) -> Tally:
        """Judge the facts and count how the sources' words met them."""
        plausibility = clamp_known(self.judge(block, state, turn.memory), block)
        return (kernels.count_votes(block, plausibility, len(state.accuracies.accuracy)),)

    def learn(self, state: Likened, total: Tally) -> Likened:
        """A_s = mean plausibility of the values it names."""
        return state._replace(accuracies=state.accuracies.learn(total[0]))

    def change(self, before: Likened, after: Likened) -> float:
        """The largest move of any accuracy."""
        return before.accuracies.change(after.accuracies)

    def trust(self, state: Likened) -> FloatArray:
        """The accuracy."""
        return state.accuracies.accuracy

    def calibrate(self, state: Likened, prior: PriorRates) -> Likened:
        """Correct the accuracies by the known truths."""
        return state._replace(accuracies=state.accuracies.calibrated())

    def pairs(self, block: Block, state: Likened) -> SimilarPairs:
        """How similar the values of each item are."""
        values = state.labels.gather(block.label_of_fact)
        return similar_pairs(values, block.first_fact_of_item, self.similarity, self.most_values)

    def weigh(self, block: Block, state: Likened, memory: Memory = None) -> Weights:
        """C*(c) = C(c) + influence · Σ similarity(c, c') C(c') over the item's other values."""
        one, other, similarity = memory or self.pairs(block, state)
        pairs = (one, other, self.influence * similarity)
        return state.accuracies.weights(block)._replace(pairs=pairs)

    def grow(self, state: Likened, names: Names) -> Likened:
        """New sources as usual; new values are compared like others."""
        return super().grow(state, names)._replace(labels=names.labels)
