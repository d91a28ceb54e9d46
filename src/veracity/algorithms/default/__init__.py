"""Veracity, the default: reliabilities learned with caution, copies counted once, doubt reported.

The claims choose one of three error models: labels that items share have a confusion matrix per
source (`confusion`), open values one accuracy per source (`one_coin`), and facts that are true or
false each two rates (`two_coin`). All are learned by expectation maximisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from veracity.algorithms.base import (
    Algorithm,
    Description,
    Memory,
    Phase,
    Rates,
    Step,
    Tally,
    Turn,
)
from veracity.algorithms.default.confusion import Confusions
from veracity.algorithms.default.one_coin import SELDOM, OneCoin
from veracity.algorithms.default.shrinkage import Derived, ModelPhase
from veracity.algorithms.default.two_coin import TwoCoin
from veracity.algorithms.item_features import ItemFeatures
from veracity.algorithms.mixing import mixed
from veracity.algorithms.online import Online
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.regression import Regression, Shifts
from veracity.algorithms.rules import Weights
from veracity.algorithms.source_features import SourceFeatures
from veracity.dependence.agreement import (
    Agreement,
    Dependence,
    agreements,
    confirmed,
    mistakes,
    pair_work,
    slots_of,
    with_excess,
)
from veracity.dependence.deciding import decided_by_copies, disputed_items
from veracity.dependence.naming import (
    Meetings,
    Mistakes,
    Naming,
    compared_claims,
    count_meetings,
    count_mistakes,
    with_pairs,
    with_suspects,
)
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.errors import ParameterError, TooLarge
from veracity.printing import counted
from veracity.trees import BySource

MOST_LABELS = 20
"""Distinct values up to which they are labels, if there are enough items to share them."""

ITEMS_PER_LABEL = 5

MOST_DIVIDED = 0.1
"""Largest share of claims by sources with several values of the item, for values to be labels."""

SEARCHED_AGAIN = 1.1
"""Growth of the number of claims after which an update searches again for sources that copy."""

MOST_CELLS = 20_000_000
"""Largest number of cells of all confusion matrices, or of all sources and attributes. Beyond it,
each source has a single accuracy."""


class ErrorModel(Protocol):
    """Interface of an error model for the phases of the default; tallies add up over blocks."""

    @property
    def prior(self) -> PriorRates:
        """Return the rates that are assumed of each source."""

    @property
    def features(self) -> Regression | None:
        """Return the features of sources, if there are any."""

    @property
    def accuracy(self) -> FloatArray:
        """Return how often each source is right."""

    def derive(self, block: Block, weight: FloatArray, n_sources: int) -> Derived:
        """Return the data computed once for a block, given the weights of copies."""

    def phases(self) -> tuple[ModelPhase, ...]:
        """Return the phases that this model has: a survey, a vote, rounds, and more."""

    def with_family(self, slots: FloatArray, met: Meetings, claims: FloatArray) -> Self:
        """Return the model in which a large family of copies of labels counts once."""

    def weights(
        self, block: Block, found: Derived, *, final: bool = False, temper: bool = True
    ) -> Weights:
        """Return the weights of the claims, with doubt if `final`."""

    def described(self, claims: FloatArray) -> dict[str, Any]:
        """Return the model's part of a `Description`, given the claims of each source."""

    def grown(self, names: Names) -> Self:
        """Return the model with room for new labels and attributes."""

    def borrowing(self, rows: FloatArray, n_met: int) -> Self:
        """Return the model extended by new sources, with the rates that their features predict."""


if TYPE_CHECKING:  # mypy checks that all three have this interface
    _MODELS: tuple[type[ErrorModel], ...] = (OneCoin, Confusions, TwoCoin)


class Belief(NamedTuple):
    """State of the default: the error model, the dependence of sources, their numbers of claims."""

    model: OneCoin | Confusions | TwoCoin
    dependence: Dependence | None
    """Pairs of sources whose claims count once. Only claims of open values have them."""
    naming: Naming | None
    """Pairs of sources that may have copied. They are reported, and change no answer."""
    claims: BySource
    other: Belief | None = None
    """The state for another answer, where the claims allow two."""


@dataclass(frozen=True, kw_only=True)
class Veracity(Algorithm[Belief]):
    """Default algorithm, for claims without prior knowledge.

    Parameters
    ----------
    prior
        Prior knowledge of the sources. Fixed ones stay as they are. The expected rates of the
        others move as their prior rates differ from the usual ones.
    source_features
        Features of the sources: see `SourceFeatures`. Sources with few
        claims are then expected to be like others of such features, not like the mean of all.
    item_features
        Features of the items: see `ItemFeatures`. Sources may then be
        better on items of some kinds than of others; there are no confusions of labels then.
    strength
        Weight of the mean of all sources in what is learned of one, in pseudo-claims. Where items
        share labels, the claims set it.
    labels
        Where items share a few labels, learn a confusion matrix of each source.
    attributes
        Where values are open, learn the accuracy of a source by attribute.
    dependence
        Look for sources that copy from each other, and count their claims once.
    most_undecided
        Copies of open values count once unless that leaves more than this share of the items that
        they decide with no value ahead.
    temper
        Temper the plausibilities: errors on one item are alike, so many claims are no proof.
    max_rounds, tolerance
        It stops when a round moves the accuracies, or the rows of the confusion matrices of a
        source, by less than `tolerance` on average.
    """

    name = "veracity"
    takes_rules = True
    takes_shares = True

    prior: Prior = NO_PRIOR
    source_features: SourceFeatures | None = None
    item_features: ItemFeatures | None = None
    strength: float = bounded(8.0, above=0)
    labels: bool = True
    attributes: bool = True
    dependence: bool = True
    most_undecided: float = bounded(0.5, at_least=0, at_most=1)
    temper: bool = True
    max_rounds: int = bounded(200, at_least=1)
    tolerance: float = bounded(1e-3, above=0)

    # --- the error model and the phases -----------------------------------------------------------

    def start(self, survey: Survey, prior: PriorRates) -> Belief:
        """Choose the error model that fits the claims."""
        claims, rows = survey.counted.supports_of_source, self._rows(survey.names)
        if not survey.single_truth:
            if self.item_features is not None:
                raise ParameterError(
                    f"item features are for categorical claims, not for {survey.kind} ones: leave "
                    "them out"
                )
            return Belief(TwoCoin.at_start(prior, self.strength, rows), None, None, claims)
        dependence, naming, shares_labels = None, None, self._shares_labels(survey)
        if self.dependence:
            compared = compared_claims(claims, survey.counted.items_of_source)
            naming = Naming.unseen(compared, survey.n_labels)
            if not shares_labels:
                dependence = Dependence.unseen(slots_of(compared), (0.0, 1))
        if shares_labels:
            model = Confusions.at_start(prior, survey.n_labels, rows)
            return Belief(model, None, naming, claims)
        n_cells = survey.n_sources * survey.n_attributes
        n_attributes = survey.n_attributes if self.attributes and n_cells <= MOST_CELLS else 1
        if self.item_features is not None:
            n_attributes = self.item_features.n_kinds
            if survey.n_sources * n_attributes > MOST_CELLS:
                raise TooLarge(
                    f"{survey.n_sources:,} sources and {n_attributes:,} kinds of items are too "
                    "many for an accuracy each; describe the items by fewer features, or by fewer "
                    "levels"
                )
        one_coin = OneCoin.at_start(prior, n_attributes, self.strength, float(claims.sum()), rows)
        if survey.has_hierarchy:
            one_coin = one_coin._replace(n_open=1.0 + SELDOM)
        if self.item_features is not None:
            one_coin = one_coin._replace(kinds=Shifts.at_start(self.item_features.rows))
        return Belief(one_coin, dependence, naming, claims)

    def _rows(self, names: Names) -> FloatArray | None:
        """Return the features of the sources, if any are known."""
        return None if self.source_features is None else self.source_features.rows(names.sources)

    def _shares_labels(self, survey: Survey) -> bool:
        """Return True if values are labels that items share, few enough for a matrix per source.

        Each source also has to claim one label of an item. A confusion matrix sees only parts of a
        claim that is divided among labels, and its estimates from them fade from round to round.
        """
        n_labels, counts = survey.n_labels, survey.counted
        is_shared = n_labels <= MOST_LABELS and counts.items >= ITEMS_PER_LABEL * n_labels
        is_plain = self.labels and self.item_features is None
        is_plain &= counts.divided <= MOST_DIVIDED * counts.items_of_source.sum()
        return is_plain and is_shared and survey.n_sources * n_labels**2 <= MOST_CELLS

    def phases(self, state: Belief) -> tuple[Phase[Belief], ...]:
        """Return the phases, in order; a phase that does not apply to the claims is left out."""
        of_model = {phase.name: self._of_model(phase) for phase in state.model.phases()}
        in_order = (
            of_model.get("survey"),  # counts, and the number of false values
            self._naming(state),  # pairs that may have copied; of labels, a family of copies
            self._dependence(state),  # copies of open values, which count once
            of_model["vote"],  # a vote is right, to start with
            of_model["accuracies"],  # E-step and M-step until they rest
            of_model.get("attributes"),  # accuracies by attribute, when the others rest
            of_model.get("known truths"),  # corrected by them, and learned again
            of_model.get("doubt"),  # correlation of errors, and simpler answers
        )
        return tuple(phase for phase in in_order if phase is not None)

    def _of_model(self, phase: ModelPhase) -> Phase[Belief]:
        """Turn a phase of the error model into a phase of the algorithm."""
        derive = None if phase.name == "survey" else self.derive  # that is before copies are known
        steps = (
            Step(partial(_tally, s.tally), partial(_learn, s.learn), derive) for s in phase.steps
        )
        change = None if phase.change is None else partial(_moved, phase.change)
        return Phase(phase.name, tuple(steps), change)

    def _naming(self, state: Belief) -> Phase[Belief] | None:
        if state.naming is None:
            return None
        meet = Step(self.tally_meetings, self.learn_meetings)
        return Phase("naming", (meet, Step(self.tally_shared, self.learn_shared)))

    def _dependence(self, state: Belief) -> Phase[Belief] | None:
        if state.dependence is None or len(state.dependence.both) <= 2:
            return None
        steps = (
            Step(self.tally_pairs, self.learn_pairs),
            Step(self.tally_agreement, self.learn_agreement),
            Step(self.tally_mistakes, self.learn_mistakes),
            Step(self.tally_undecided, self.learn_undecided),
        )
        return Phase("dependence", steps)

    def derive(self, block: Block, state: Belief) -> Derived:
        """Return the data computed once for a block: weights of supports, and values per voice."""
        weight = np.zeros(0)
        if state.dependence is not None:
            weight = state.dependence.weight_of_support(block)
        return state.model.derive(block, weight, len(state.claims))

    # --- who may have copied ----------------------------------------------------------------------

    def tally_meetings(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count how often each two sources claim the same items, and agree."""
        assert state.naming is not None
        return count_meetings(block, state.naming)

    def learn_meetings(self, state: Belief, total: Tally) -> Belief:
        """Find the pairs that agree too well; of labels, a large family of copies counts once."""
        assert state.naming is not None
        if not self._searches(state):
            return state
        met = Meetings(*total)
        model = state.model.with_family(state.naming.slot_of_source, met, state.claims)
        return state._replace(naming=with_suspects(state.naming, met), model=model)

    def tally_shared(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the mistakes that suspected pairs share."""
        assert state.naming is not None
        return (None if state.naming.suspects is None else count_mistakes(block, state.naming),)

    def learn_shared(self, state: Belief, total: Tally) -> Belief:
        """Name the pairs that share more mistakes than chance explains."""
        assert state.naming is not None
        if not self._searches(state):
            return state
        found = None if total[0] is None else Mistakes(*total[0])
        naming = with_pairs(state.naming, found)
        return state._replace(naming=naming._replace(searched=float(state.claims.sum())))

    def _searches(self, state: Belief) -> bool:
        """Return True unless an update has few new claims: the search takes longer than they do."""
        assert state.naming is not None
        return bool(state.claims.sum() > SEARCHED_AGAIN * state.naming.searched)

    # --- copies of open values, which count once --------------------------------------------------

    def tally_pairs(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the pairs of sources to compare."""
        assert state.dependence is not None
        return (pair_work(block, len(state.dependence.both)),)

    def learn_pairs(self, state: Belief, total: Tally) -> Belief:
        """Choose the share of items whose pairs are compared, if there are too many pairs."""
        assert state.dependence is not None
        work = total[0], int(state.claims.sum())
        return state._replace(dependence=Dependence.unseen(state.dependence.slots, work))

    def tally_agreement(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count how often each two sources agree on disputed items."""
        assert state.dependence is not None
        return agreements(block, state.dependence)

    def learn_agreement(self, state: Belief, total: Tally) -> Belief:
        """Find the pairs that agree too well."""
        found, dependence = Agreement(*total), state.dependence
        assert dependence is not None
        if found.items == 0:
            return state
        n_values = 1.0 + found.facts / found.items
        return state._replace(dependence=with_excess(dependence, found, n_values))

    def tally_mistakes(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the shared claims of suspicious pairs that all other sources contradict."""
        assert state.dependence is not None
        if not state.dependence.is_any:
            return (np.zeros_like(state.dependence.both),)
        return (mistakes(block, state.dependence),)

    def learn_mistakes(self, state: Belief, total: Tally) -> Belief:
        """Keep the pairs that copy."""
        assert state.dependence is not None
        return state._replace(dependence=confirmed(state.dependence, total[0]))

    def tally_undecided(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the items that copies decide, and those without a winner if they count once."""
        assert state.dependence is not None
        if not state.dependence.is_any:
            return 0.0, 0.0
        disputed = disputed_items(block, float(state.claims.sum()))
        if disputed.n_items == 0:
            return 0.0, 0.0
        once = state.dependence._replace(once=True)  # an earlier fit may have decided against it
        return decided_by_copies(disputed, once.weight_of_support(disputed))

    def learn_undecided(self, state: Belief, total: Tally) -> Belief:
        """Let copies count once unless that leaves too many items undecided."""
        assert state.dependence is not None
        by_copies, undecided = total
        once = undecided <= self.most_undecided * by_copies
        return state._replace(dependence=state.dependence._replace(once=once))

    # --- judging ----------------------------------------------------------------------------------

    def weigh(self, block: Block, state: Belief, memory: Memory = None) -> Weights:
        """Return the weights of the claims by Bayes' rule, with copies counted once, and tempered.

        Where the claims allow another answer, claims weigh less on the items on which it differs.
        """
        found = self.derive(block, state) if memory is None else memory
        weights = state.model.weights(block, found, final=True, temper=self.temper)
        other = self.other_answer(block, state)
        return weights if other is None else mixed(block, weights, other)

    def weigh_learning(self, block: Block, state: Belief, memory: Memory = None) -> Weights:
        """Return the weights of the claims without tempering and doubt."""
        found = self.derive(block, state) if memory is None else memory
        return state.model.weights(block, found)

    def online(self, state: Belief) -> Online | None:
        """Return a quick judge of claims, unless sources copy or another answer is mixed in."""
        model, dependence = state.model, state.dependence
        if state.other is not None or isinstance(model, TwoCoin) or self.item_features is not None:
            return None
        if isinstance(model, OneCoin) and dependence is not None and dependence.is_any:
            return None
        return model.online(temper=self.temper)

    # --- other answers ----------------------------------------------------------------------------

    def alternatives(self, state: Belief) -> dict[str, Algorithm[Any]]:
        """Return the algorithm without the detection of copies, its most influential part."""
        dependence = state.dependence
        if dependence is None or not dependence.is_any:
            return {}
        if dependence.once:
            return {"if no source copies another": replace(self, dependence=False)}
        return {"if copies count once": replace(self, most_undecided=1.0)}

    def doubting(self, state: Belief, other: Belief) -> Belief:
        """Return the belief with another one, whose answer is mixed into all plausibilities."""
        return state._replace(other=other._replace(other=None))

    def other_answer(self, block: Block, state: Belief) -> FloatArray | None:
        """Return the plausibilities by the other belief."""
        return None if state.other is None else self.judge(block, state.other)

    # --- what is reported -------------------------------------------------------------------------

    def trust(self, state: Belief) -> FloatArray:
        """Return the accuracy of each source."""
        return state.model.accuracy

    def describe(self, state: Belief, counts: FloatArray | None = None) -> Description:
        """Return the rates of sources, pairs that may have copied, and the notes of the models.

        Fixed sources keep their rates.
        """
        described, prior = super().describe(state, counts), state.model.prior
        if described.rates is not None:
            is_fixed, (tpr, fpr, prevalence) = prior.is_fixed == 1, described.rates
            tpr, fpr = np.where(is_fixed, prior.tpr, tpr), np.where(is_fixed, prior.fpr, fpr)
            described = replace(described, rates=Rates(tpr, fpr, prevalence))
        dependence, notes = state.dependence, tuple[str, ...]()
        if dependence is not None and dependence.is_any and dependence.once:
            n_pairs = int(np.count_nonzero(np.triu(dependence.copied > 0.0)))
            notes = (
                f"{counted(n_pairs, 'pair')} of sources agree far more than their accuracies "
                "explain: where both of a pair claim the same value, their claims count less",
            )
        copies = None if state.naming is None else state.naming.pairs
        described = replace(described, copies=copies, notes=notes)
        return replace(described, **state.model.described(state.claims))

    # --- updates ----------------------------------------------------------------------------------

    def resume(self, state: Belief, survey: Survey, prior: PriorRates) -> Belief:
        """Continue with all claims so far; compare pairs of the same sources as before."""
        grown = self.grow(state, survey.names)
        model = grown.model._replace(prior=prior)
        return grown._replace(model=model, claims=survey.counted.supports_of_source)

    def grow(self, state: Belief, names: Names) -> Belief:
        """Return the belief with new sources, labels and attributes."""
        naming = None if state.naming is None else state.naming.grown(len(names.labels))
        state = state._replace(model=state.model.grown(names), naming=naming)
        if state.other is not None:
            state = state._replace(other=self.grow(state.other, names))
        n_met, state, rows = len(state.claims), super().grow(state, names), self._rows(names)
        if rows is None or state.model.features is None:
            return state
        return state._replace(model=state.model.borrowing(rows, n_met))


def _tally(
    tally: Callable[[Any, Block, Derived], Tally], block: Block, state: Belief, turn: Turn
) -> Tally:
    """Let the error model look at a block."""
    return tally(state.model, block, turn.memory)


def _learn(learn: Callable[[Any, Tally], Any], state: Belief, total: Tally) -> Belief:
    """Let the error model learn from the sum."""
    return state._replace(model=learn(state.model, total))


def _moved(change: Callable[[Any, Any], float], before: Belief, after: Belief) -> float:
    """Return by how much a round moved the error model."""
    return change(before.model, after.model)
