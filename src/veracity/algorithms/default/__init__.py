"""Veracity, the default: reliabilities learned with caution, copies counted once, doubt reported.

The claims choose one of three error models: labels that items share have a confusion matrix per
source (`confusion`), open values one accuracy per source (`one_coin`), and facts that are true or
false each two rates (`two_coin`). All are learned by expectation maximisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from veracity.algorithms.base import (
    SUREST,
    Algorithm,
    BySource,
    Copies,
    Memory,
    Phase,
    Rates,
    Step,
    Tally,
    Turn,
)
from veracity.algorithms.default.alternatives import mixed, off_by, rivals_of
from veracity.algorithms.default.confusion import Confusions
from veracity.algorithms.default.one_coin import OneCoin
from veracity.algorithms.default.shrinkage import Derived, ModelPhase, ModelStep
from veracity.algorithms.default.two_coin import TwoCoin
from veracity.algorithms.item_features import ItemFeatures
from veracity.algorithms.parameters import bounded
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.regression import Fit, Regression, Shifts
from veracity.algorithms.rules import Weights, plausibilities
from veracity.algorithms.source_features import SourceFeatures
from veracity.dependence.agreement import (
    Agreement,
    Dependence,
    agreements,
    confirmed,
    largest_family,
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

MOST_LABELS = 20
"""Distinct values up to which they are labels, if there are enough items to share them."""

ITEMS_PER_LABEL = 5

MOST_DIVIDED = 0.1
"""Share of the claims that may name one of several values of their source, if values are labels."""

MOST_CELLS = 20_000_000
"""Cells of all confusion matrices, or of all sources and attributes, beyond which sources have an
accuracy only."""

FAMILY = 0.25
"""Share of all claims from which a family of copies of labels counts once."""


class ErrorModel(Protocol):
    """What the phases of the default ask of an error model; tallies add up over blocks."""

    prior: PriorRates
    features: Regression | None

    @property
    def accuracy(self) -> FloatArray:
        """Return how often each source is right."""

    def derive(self, block: Block, weight: FloatArray, n_sources: int) -> Derived:
        """Return what is computed once for a block, given what copies weigh."""

    def phases(self) -> tuple[ModelPhase, ...]:
        """Return the phases that follow the survey, in order."""

    def weights(
        self, block: Block, found: Derived, *, final: bool = False, temper: bool = True
    ) -> Weights:
        """Return what each claim is worth, with doubt if `final`."""

    def calibrated(self) -> Self:
        """Return the model as the known truths correct it."""

    def grown(self, names: Names) -> Self:
        """Return the model with room for new labels and attributes."""

    def borrowing(self, rows: FloatArray, n_met: int) -> Self:
        """Return the model with new sources as their features say."""


class Belief(NamedTuple):
    """What is known of the sources, of who depends on whom, and how much each has claimed."""

    model: OneCoin | Confusions | TwoCoin
    dependence: Dependence | None
    """Pairs of sources whose claims count once: of open values only."""
    naming: Naming | None
    """Pairs of sources that may have copied: reported, and no answer changes by it."""
    claims: BySource
    rival: Belief | None = None
    """What another answer knows of them, where the claims allow two."""

    @property
    def discounts(self) -> bool:
        """Return True if some claims count less because they may be copies."""
        if isinstance(self.model, Confusions):
            return bool(self.model.family.any())
        return self.dependence is not None and self.dependence.is_any


@dataclass(frozen=True, kw_only=True)
class Veracity(Algorithm[Belief]):
    """What to use where nothing is known of the claims.

    Parameters
    ----------
    prior
        What is known of the sources. Fixed ones stay as they are. For the others what is expected
        before any claim is moved as their rates differ from the usual ones.
    source_features
        What is known of the sources beside their claims: see `SourceFeatures`. Sources with few
        claims are then expected to be like others of such features, not like the mean of all.
    item_features
        What is known of the items beside their claims: see `ItemFeatures`. Sources may then be
        better on items of some kinds than of others; there are no confusions of labels then.
    strength
        Weight of the mean of all sources in what is learned of one, in pseudo-claims. Where items
        share labels, the claims set it.
    labels
        Where items share a few labels, learn a confusion matrix of each source.
    attributes
        Where values are open, learn on which attributes a source is better.
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
    state_type = Belief
    looks_for_copies = True
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
        if self.item_features is not None:
            one_coin = one_coin._replace(kinds=Shifts.at_start(self.item_features.rows))
        return Belief(one_coin, dependence, naming, claims)

    def _rows(self, names: Names) -> FloatArray | None:
        """Return the features of the sources, if any are known."""
        return None if self.source_features is None else self.source_features.rows(names.sources)

    def _shares_labels(self, survey: Survey) -> bool:
        """Return True if values are labels that items share, few enough for a matrix per source.

        Each source also has to claim one label of an item. Of a claim that is divided among labels
        a confusion matrix sees parts, and what it learns from them fades from round to round.
        """
        n_labels, counts = survey.n_labels, survey.counted
        is_shared = n_labels <= MOST_LABELS and counts.items >= ITEMS_PER_LABEL * n_labels
        is_plain = self.labels and self.item_features is None
        is_plain &= counts.divided <= MOST_DIVIDED * counts.items_of_source.sum()
        return is_plain and is_shared and survey.n_sources * n_labels**2 <= MOST_CELLS

    def phases(self, state: Belief) -> tuple[Phase[Belief], ...]:
        """Return the phases, in order; a phase that does not apply to the claims is left out."""
        model, phases = state.model, list[Phase[Belief]]()
        if not isinstance(model, TwoCoin):
            survey = Step(self.tally_survey, self.learn_survey)  # before copies are known
            phases.append(Phase("survey", (survey,)))
        if state.naming is not None:
            steps = (
                Step(self.tally_meetings, self.learn_meetings),
                Step(self.tally_shared, self.learn_shared),
            )
            phases.append(Phase("naming", steps))
        if state.dependence is not None and len(state.dependence.both) > 2:
            of_open = (
                Step(self.tally_pairs, self.learn_pairs),
                Step(self.tally_agreement, self.learn_agreement),
                Step(self.tally_mistakes, self.learn_mistakes),
                Step(self.tally_undecided, self.learn_undecided),
            )
            phases.append(Phase("dependence", of_open))
        for name, steps_of_model, change in model.phases():
            moved = None if change is None else partial(_moved, change)
            phases.append(Phase(name, tuple(map(self._step, steps_of_model)), moved))
        return tuple(phases)

    def _step(self, one: ModelStep) -> Step[Belief]:
        """Return a step of the error model as a step of the algorithm."""
        return Step(partial(_tally, one.tally), partial(_learn, one.learn), self.derive)

    def derive(self, block: Block, state: Belief) -> Derived:
        """Return what is computed once for a block: weights of supports, and values per voice."""
        weight = np.zeros(0)
        if state.dependence is not None:
            weight = state.dependence.weight_of_support(block)
        return state.model.derive(block, weight, len(state.claims))

    def tally_survey(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count what the error model needs beforehand."""
        assert not isinstance(state.model, TwoCoin)
        return state.model.tally_survey(block)

    def learn_survey(self, state: Belief, total: Tally) -> Belief:
        """Take the counts."""
        assert not isinstance(state.model, TwoCoin)
        return state._replace(model=state.model.learn_survey(total))

    # --- who may have copied ----------------------------------------------------------------------

    def tally_meetings(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count how often each two sources claim the same items, and agree."""
        assert state.naming is not None
        return count_meetings(block, state.naming)

    def learn_meetings(self, state: Belief, total: Tally) -> Belief:
        """Find the pairs that agree too well; of labels, a large family of copies counts once."""
        assert state.naming is not None
        met, model = Meetings(*total), state.model
        if isinstance(model, Confusions):
            slots, chance = state.naming.slot_of_source, 1.0 / len(model.share)
            model = model._replace(
                family=largest_family(
                    slots, met[:2], chance, state.claims, model.only < 0.0, FAMILY
                )
            )
        return state._replace(naming=with_suspects(state.naming, met), model=model)

    def tally_shared(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the mistakes that suspected pairs share."""
        assert state.naming is not None
        return (None if state.naming.suspects is None else count_mistakes(block, state.naming),)

    def learn_shared(self, state: Belief, total: Tally) -> Belief:
        """Name the pairs that share more mistakes than chance explains."""
        assert state.naming is not None
        found = None if total[0] is None else Mistakes(*total[0])
        return state._replace(naming=with_pairs(state.naming, found))

    # --- copies of open values, which count once --------------------------------------------------

    def tally_pairs(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the pairs of sources that there are to be compared."""
        assert state.dependence is not None
        return (pair_work(block, len(state.dependence.both)),)

    def learn_pairs(self, state: Belief, total: Tally) -> Belief:
        """Pass over some items where pairs are too many."""
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
        """Count what pairs that agree too well share and all others say is false."""
        assert state.dependence is not None
        if not state.dependence.is_any:
            return (np.zeros_like(state.dependence.both),)
        return (mistakes(block, state.dependence),)

    def learn_mistakes(self, state: Belief, total: Tally) -> Belief:
        """Keep the pairs that copy."""
        assert state.dependence is not None
        return state._replace(dependence=confirmed(state.dependence, total[0]))

    def tally_undecided(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the items that copies decide, and those that nobody wins if they count once."""
        assert state.dependence is not None
        if not state.dependence.is_any:
            return 0.0, 0.0
        disputed = disputed_items(block, float(state.claims.sum()))
        if disputed.n_items == 0:
            return 0.0, 0.0
        return decided_by_copies(disputed, state.dependence.weight_of_support(disputed))

    def learn_undecided(self, state: Belief, total: Tally) -> Belief:
        """Let copies count once unless that leaves too many items undecided."""
        assert state.dependence is not None
        by_copies, undecided = total
        once = undecided <= self.most_undecided * by_copies
        return state._replace(dependence=state.dependence._replace(once=once))

    # --- judging ----------------------------------------------------------------------------------

    def weigh(self, block: Block, state: Belief, memory: Memory = None) -> Weights:
        """Return what the claims weigh: Bayes' rule, copies counted once, tempered.

        Where the claims allow another answer, they weigh less on what it answers otherwise.
        """
        weights, _ = self._with_other_answer(block, state, memory)
        return weights

    def judge_with_doubt(
        self, block: Block, state: Belief, memory: Memory = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the plausibilities, and by how much another answer, if any, moves them."""
        weights, other = self._with_other_answer(block, state, memory)
        plausibility = plausibilities(block, weights)
        return plausibility, None if other is None else off_by(plausibility, other)

    def _with_other_answer(
        self, block: Block, state: Belief, memory: Memory
    ) -> tuple[Weights, FloatArray | None]:
        weights = self._weights(block, state, memory)
        if state.rival is None:
            return weights, None
        other = plausibilities(block, self._weights(block, state.rival))
        return mixed(block, weights, other), other

    def _weights(self, block: Block, state: Belief, memory: Memory = None) -> Weights:
        found = self.derive(block, state) if memory is None else memory
        return state.model.weights(block, found, final=True, temper=self.temper)

    def calibrate(self, state: Belief, prior: PriorRates) -> Belief:
        """Correct what was learned by the known truths."""
        return state._replace(model=state.model.calibrated())

    # --- other answers ----------------------------------------------------------------------------

    def rivals(self, state: Belief) -> dict[str, Algorithm[Any]]:
        """Return the same algorithm without what decided most: who copies."""
        return rivals_of(self, state)

    def doubted(self, state: Belief, rival: Algorithm[Any], other: Belief) -> Belief:
        """Return the belief with another answer mixed into every plausibility of open values."""
        is_open = isinstance(state.model, OneCoin)
        return state._replace(rival=other._replace(rival=None)) if is_open else state

    def in_own_reading(self, state: Belief) -> Belief:
        """Return the belief without the other answer."""
        return state._replace(rival=None)

    def findings(self, state: Belief) -> dict[str, str]:
        """Return reasons to doubt the answer that show in what was learned."""
        model = state.model
        if not isinstance(model, Confusions):
            return {}
        found = {}
        if model.learns_nothing:
            found["nothing-to-learn"] = (
                "claims on one item agree less often than by chance "
                f"(kappa {model.agreement:.2f}), so the vote answers"
            )
        if model.rests_on_assumption:
            found["assumption"] = (
                f"{model.overturned:.0%} of the items get a value that neither the vote nor one "
                "accuracy per source gives them"
            )
        if model.family.any():
            share = float(state.claims[model.family > 0.0].sum() / state.claims.sum())
            found["one-family"] = (
                f"{int(model.family.sum())} sources with {share:.0%} of the claims agree far more "
                "often than their accuracies explain; their claims count once"
            )
        return found

    def notes(self, state: Belief) -> list[str]:
        """Return what was done to the claims of sources that may copy."""
        dependence = state.dependence
        if dependence is None or not (dependence.is_any and dependence.once):
            return []
        n_pairs = int(np.count_nonzero(np.triu(dependence.copied > 0.0)))
        return [
            f"{counted(n_pairs, 'pair')} of sources agree far more than their accuracies explain: "
            "where both of a pair claim the same value, their claims count less"
        ]

    def check(self, state: Belief, survey: Survey, prior: PriorRates) -> None:
        """Raise ValueError for a belief that cannot be of these sources."""
        super().check(state, survey, prior)
        if state.rival is not None:
            copies = state.rival.dependence is not None
            replace(self, dependence=copies).check(state.rival, survey, prior)

    # --- what is reported -------------------------------------------------------------------------

    def trust(self, state: Belief) -> FloatArray:
        """Return the accuracy of each source."""
        return state.model.accuracy

    def rates(self, state: Belief, counts: FloatArray) -> Rates:
        """Return how claims meet the facts; fixed sources keep their rates."""
        counted, prior = super().rates(state, counts), state.model.prior
        is_fixed = prior.is_fixed == 1
        return counted._replace(
            tpr=np.where(is_fixed, prior.tpr, counted.tpr),
            fpr=np.where(is_fixed, prior.fpr, counted.fpr),
        )

    def confusion(self, state: Belief) -> FloatArray | None:
        """Return the confusion matrices, where items share labels and anything was learned."""
        model = state.model
        return (
            model.confusion if isinstance(model, Confusions) and not model.learns_nothing else None
        )

    def worth(self, state: Belief) -> dict[str, Fit]:
        """Return what features are worth for the rates; where values differ, for the accuracy."""
        features = state.model.features
        if features is None:
            return {}
        rates = ("tpr", "fpr") if isinstance(state.model, TwoCoin) else ("accuracy",)
        return {name: features.worth(rate) for rate, name in enumerate(rates)}

    def worth_of_items(self, state: Belief) -> dict[str, Fit]:
        """Return what features of items are worth for the accuracy on items of several sources."""
        model = state.model
        if not isinstance(model, OneCoin) or model.kinds is None:
            return {}
        mean = float(np.average(model.accuracy, weights=np.maximum(state.claims, SUREST)))
        return {"accuracy": model.kinds.worth(mean)}

    def copies(self, state: Belief) -> Copies | None:
        """Return the pairs of sources that may have copied."""
        return None if state.naming is None else state.naming.pairs

    # --- updates ----------------------------------------------------------------------------------

    def resume(self, state: Belief, survey: Survey, prior: PriorRates) -> Belief:
        """Go on with all claims so far; pairs are of the sources that were looked at before."""
        grown = self.grow(state, survey.names)
        model = grown.model._replace(prior=prior)
        return grown._replace(model=model, claims=survey.counted.supports_of_source)

    def grow(self, state: Belief, names: Names) -> Belief:
        """Return the belief with new sources, labels and attributes."""
        state = state._replace(model=state.model.grown(names))
        if state.rival is not None:
            state = state._replace(rival=self.grow(state.rival, names))
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
