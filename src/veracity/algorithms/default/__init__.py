"""Veracity, the default: reliabilities learned with caution, copies counted once, doubt reported.

The claims choose one of three error models: labels that items share have a confusion matrix per
source (`confusion`), open values one accuracy per source (`one_coin`), and facts that are true or
false each two rates (`two_coin`). All are learned by expectation maximisation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
    clamp_known,
)
from veracity.algorithms.checks import require_at_least, require_positive, require_share
from veracity.algorithms.default.alternatives import mixed, off_by, rivals_of
from veracity.algorithms.default.confusion import Confusions
from veracity.algorithms.default.one_coin import OneCoin
from veracity.algorithms.default.shrinkage import Derived
from veracity.algorithms.default.two_coin import TwoCoin
from veracity.algorithms.item_features import ItemFeatures
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.regression import Fit, Shifts
from veracity.algorithms.rules import Weights, logit, plausibilities, share_of_item
from veracity.algorithms.source_features import SourceFeatures
from veracity.claims.block import Block, FloatArray, Names
from veracity.claims.survey import Survey
from veracity.dependence.agreement import (
    Agreement,
    Dependence,
    Shared,
    agreements,
    confirmed,
    largest_family,
    looked_at,
    mistakes,
    pair_work,
    slots_of,
    with_excess,
)
from veracity.dependence.deciding import decided_by_copies, disputed_items
from veracity.dependence.direction import copying_pairs, shared_with_others
from veracity.errors import ParameterError, TooLarge
from veracity.kernels.loading import kernels

MOST_LABELS = 20
"""Distinct values up to which they are labels, if there are enough items to share them."""

ITEMS_PER_LABEL = 5

MOST_DIVIDED = 0.1
"""Share of the claims that may name one of several values of their source, if values are labels."""

MOST_VALUES = 1.5
"""Mean number of values that a source claims of an item. One with more mostly claims several, such
as samples of a model: that it shares some of them with another is no sign of a copy."""

MOST_CELLS = 20_000_000
"""Cells of all confusion matrices, or of all sources and attributes, beyond which sources have an
accuracy only."""

FAMILY = 0.25
"""Share of all claims from which a family of copies of labels counts once."""

ENOUGH_CLAIMS = 300_000
"""Claims, of items drawn at random, that show who copies from whom."""


class Belief(NamedTuple):
    """What is known of the sources, of who depends on whom, and how much each has claimed."""

    model: OneCoin | Confusions | TwoCoin
    dependence: Dependence | None
    claims: BySource
    rival: Belief | None = None
    """What another answer knows of them, where the claims allow two."""

    @property
    def is_open(self) -> bool:
        """Return True if values are open: an item has values of its own."""
        return isinstance(self.model, OneCoin)

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
    strength: float = 8.0
    labels: bool = True
    attributes: bool = True
    dependence: bool = True
    most_undecided: float = 0.5
    temper: bool = True
    max_rounds: int = 100
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_positive(self, strength=self.strength, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)
        require_share(self, most_undecided=self.most_undecided)

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
            return Belief(TwoCoin.at_start(prior, self.strength, rows), None, claims)
        dependence = None
        if self.dependence:
            is_sure = claims <= MOST_VALUES * survey.counted.items_of_source
            dependence = Dependence.unseen(slots_of(np.where(is_sure, claims, 0.0)), (0.0, 1))
        if self._shares_labels(survey):
            return Belief(Confusions.at_start(prior, survey.n_labels, rows), dependence, claims)
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
        model = OneCoin.at_start(prior, n_attributes, self.strength, rows)
        if self.item_features is not None:
            model = model._replace(kinds=Shifts.at_start(self.item_features.rows))
        return Belief(model, dependence, claims)

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
        model, has_pairs = state.model, state.dependence is not None
        has_pairs = state.dependence is not None and len(state.dependence.both) > 2
        phases: list[Phase[Belief]] = []
        if not isinstance(model, TwoCoin):
            phases.append(Phase("survey", (Step(self.tally_survey, self.learn_survey),)))
        if has_pairs:
            steps = [Step(self.tally_agreement, self.learn_agreement)]
            if state.is_open:
                steps.append(Step(self.tally_mistakes, self.learn_mistakes))
                steps.append(Step(self.tally_undecided, self.learn_undecided))
            phases.append(Phase("dependence", tuple(steps)))
        vote = Step(self.tally_vote, self.learn_vote, self.derive)
        rounds = Step(self.tally, self.learn, self.derive)
        phases += [Phase("vote", (vote,)), Phase("accuracies", (rounds,), self.change)]
        if isinstance(model, OneCoin) and model.n_attributes > 1:
            step = Step(self.tally_by_attribute, self.learn_by_attribute, self.derive)
            phases.append(Phase("attributes", (step,), self.change_by_attribute))
        if isinstance(model, Confusions):
            steps = [
                Step(self.tally_doubt, self.learn_doubt),
                Step(self.tally_simple, self.learn_simple),
                Step(self.tally_overturned, self.learn_overturned),
            ]
            phases.append(Phase("doubt", tuple(steps)))
        if has_pairs:
            phases.append(Phase("direction", (Step(self.tally_shared, self.learn_shared),)))
        if isinstance(model, OneCoin):
            expected = Step(self.tally_expected, self.learn_expected)
            known = Step(self.tally_known, self.learn_known)
            phases.append(Phase("known truths", (expected, known)))
        return tuple(phases)

    def derive(self, block: Block, state: Belief) -> Derived:
        """Return what is computed once for a block: weights of supports, and values per voice."""
        if isinstance(state.model, TwoCoin):
            return np.zeros(0), np.zeros(0, dtype=np.int32)
        weight = np.zeros(0)
        if state.is_open and state.dependence is not None:
            weight = state.dependence.weight_of_support(block, sites=True)
        return state.model.derive(block, weight, len(state.claims))

    # --- survey -----------------------------------------------------------------------------------

    def tally_survey(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count what the model asks for, the pairs of sources, and how false claims coincide."""
        model = state.model
        assert not isinstance(model, TwoCoin)
        work, fallen = 0.0, None
        if state.dependence is not None:
            work = pair_work(block, len(state.dependence.both), contested=state.is_open)
        if isinstance(model, OneCoin):
            fallen = model.tally_coincidence(block, float(state.claims.sum()))
        return model.tally_survey(block), work, fallen

    def learn_survey(self, state: Belief, total: Tally) -> Belief:
        """Take the counts; where pairs are too many, only some items will be looked at."""
        assert not isinstance(state.model, TwoCoin)
        of_model, work, fallen = total
        dependence, model = state.dependence, state.model.learn_survey(of_model)
        if isinstance(model, OneCoin):
            model = model.learn_coincidence(fallen)
        if dependence is not None:
            dependence = Dependence.unseen(dependence.slots, (work, int(state.claims.sum())))
        return state._replace(model=model, dependence=dependence)

    # --- dependence -------------------------------------------------------------------------------

    def tally_agreement(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count how often each two sources agree."""
        assert state.dependence is not None
        return agreements(block, state.dependence, None, contested=state.is_open)

    def learn_agreement(self, state: Belief, total: Tally) -> Belief:
        """Find the pairs that agree too well; of labels, only a large family of them counts."""
        found, dependence, model = Agreement(*total), state.dependence, state.model
        assert dependence is not None
        if found.items == 0:
            return state
        if state.is_open:
            n_values = 1.0 + found.facts / found.items
            return state._replace(dependence=with_excess(dependence, found, n_values))
        assert isinstance(model, Confusions)
        dependence = dependence._replace(
            both=found.both, same=found.same, n_values=float(len(model.share))
        )
        family = largest_family(dependence, state.claims, model.only < 0.0, FAMILY)
        return state._replace(dependence=dependence, model=model._replace(family=family))

    def tally_mistakes(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count what pairs that agree too well share and all others say is false."""
        assert state.dependence is not None
        if not state.dependence.is_any:
            return (np.zeros_like(state.dependence.both),)
        return (mistakes(block, state.dependence, contested=True),)

    def learn_mistakes(self, state: Belief, total: Tally) -> Belief:
        """Keep the pairs that copy."""
        assert state.dependence is not None
        return state._replace(dependence=confirmed(state.dependence, total[0], sites=True))

    def tally_undecided(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the items that copies decide, and those that nobody wins if they count once."""
        assert state.dependence is not None
        if not state.dependence.is_any:
            return 0.0, 0.0
        disputed = disputed_items(block, float(state.claims.sum()))
        if disputed.n_items == 0:
            return 0.0, 0.0
        weight = state.dependence.weight_of_support(disputed, sites=True)
        return decided_by_copies(disputed, weight)

    def learn_undecided(self, state: Belief, total: Tally) -> Belief:
        """Let copies count once unless that leaves too many items undecided."""
        assert state.dependence is not None
        by_copies, undecided = total
        once = undecided <= self.most_undecided * by_copies
        return state._replace(dependence=state.dependence._replace(once=once))

    # --- vote and rounds --------------------------------------------------------------------------

    def tally_vote(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count how claims meet a vote, weighted by the prior, in which copies count once."""
        if isinstance(state.model, TwoCoin):
            return state.model.tally_vote(block)
        prior, found = state.model.prior, turn.memory
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        words = np.maximum(logit(tpr) - logit(fpr), 0.0)[block.source_of_support]
        words = words * found[0] if len(found[0]) else words
        vote = clamp_known(share_of_item(kernels.sum_claims(block, words), block), block)
        return state.model.tally_vote(block, found, vote)

    def learn_vote(self, state: Belief, total: Tally) -> Belief:
        """Learn from the vote."""
        return state._replace(model=state.model.learn_vote(total))

    def tally(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Judge the facts, and count how claims meet them (E-step)."""
        if isinstance(state.model, TwoCoin):
            return state.model.tally(block)
        return state.model.tally(block, turn.memory)

    def learn(self, state: Belief, total: Tally) -> Belief:
        """Learn from the counts (M-step)."""
        return state._replace(model=state.model.learn(total))

    def change(self, before: Belief, after: Belief) -> float:
        """Return by how much a round moved what is known of a source, on average."""
        return before.model.change(after.model)  # type: ignore[arg-type]

    def tally_by_attribute(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count how often sources are right on each attribute."""
        assert isinstance(state.model, OneCoin)
        return state.model.tally_by_attribute(block, turn.memory)

    def learn_by_attribute(self, state: Belief, total: Tally) -> Belief:
        """Learn accuracies by attribute, as far as the claims carry them."""
        assert isinstance(state.model, OneCoin)
        return state._replace(model=state.model.learn_by_attribute(total))

    def change_by_attribute(self, before: Belief, after: Belief) -> float:
        """Return by how much a round moved the accuracies by attribute, on average."""
        assert isinstance(before.model, OneCoin)
        return before.model.change_by_attribute(after.model)  # type: ignore[arg-type]

    # --- doubt about labels -----------------------------------------------------------------------

    def tally_doubt(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Sum products of errors on one item, and count how often the vote is right by source."""
        assert isinstance(state.model, Confusions)
        return state.model.tally_correlation(block), state.model.tally_simple(block, by_vote=True)

    def learn_doubt(self, state: Belief, total: Tally) -> Belief:
        """Set the correlation of errors on one item, and one accuracy of each source."""
        assert isinstance(state.model, Confusions)
        return state._replace(model=state.model.learn_correlation(total[0]).learn_simple(total[1]))

    def tally_simple(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count how often sources are right, judged by one accuracy each."""
        assert isinstance(state.model, Confusions)
        return state.model.tally_simple(block, by_vote=False)

    def learn_simple(self, state: Belief, total: Tally) -> Belief:
        """Set one accuracy of each source again."""
        assert isinstance(state.model, Confusions)
        return state._replace(model=state.model.learn_simple(total))

    def tally_overturned(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count the items whose answer is that of neither simpler one."""
        assert isinstance(state.model, Confusions)
        return state.model.tally_overturned(block)

    def learn_overturned(self, state: Belief, total: Tally) -> Belief:
        """Take their share."""
        assert isinstance(state.model, Confusions)
        return state._replace(model=state.model.learn_overturned(total))

    # --- who copies whom, and known truths --------------------------------------------------------

    def tally_shared(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count what pairs share that is true, on some items."""
        if state.dependence is None or not state.dependence.is_any:
            return (None,)
        some = block.select(
            block.drawn(ENOUGH_CLAIMS / max(float(state.claims.sum()), 1.0), least=0)
        )
        seen = looked_at(some, state.dependence, contested=state.is_open)
        p = np.zeros(0)
        if seen.n_items:
            p = clamp_known(plausibilities(seen, self._weights(seen, state)), seen)
        return (shared_with_others(seen, state.dependence, p, contested=state.is_open),)

    def learn_shared(self, state: Belief, total: Tally) -> Belief:
        """Keep what pairs share."""
        if total[0] is None or state.dependence is None:
            return state
        return state._replace(dependence=state.dependence._replace(shared=Shared(*total[0])))

    def tally_expected(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Count how often sources would be right on known items, were these not known."""
        assert isinstance(state.model, OneCoin)
        if not block.is_known.any():
            return (None,)
        known = block.select(block.is_known)
        return (state.model.tally_expected(known, self.derive(known, state)),)

    def learn_expected(self, state: Belief, total: Tally) -> Belief:
        """Keep what known truths will be compared with."""
        assert isinstance(state.model, OneCoin)
        return state._replace(model=state.model.learn_expected(total[0]))

    def tally_known(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Return how likely the known truths are for each correlation of errors."""
        assert isinstance(state.model, OneCoin)
        known = block.select(block.is_known)
        if known.n_items == 0:
            return (None,)
        return (state.model.tally_known(known, self.derive(known, state)),)

    def learn_known(self, state: Belief, total: Tally) -> Belief:
        """Set the correlation of errors on one item."""
        assert isinstance(state.model, OneCoin)
        if total[0] is None:
            return state
        return state._replace(model=state.model.learn_known(total[0]))

    def calibrate(self, state: Belief, prior: PriorRates) -> Belief:
        """Correct what was learned by the known truths."""
        return state._replace(model=state.model.calibrated())

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
        model = state.model
        if isinstance(model, TwoCoin):
            return model.weights()
        found = self.derive(block, state) if memory is None else memory
        if isinstance(model, OneCoin):
            correlation = model.correlation if self.temper else 0.0
            return model.weights(block, found, correlation, final=True)
        return model.weights(block, found, final=self.temper or model.learns_nothing)

    # --- other answers ----------------------------------------------------------------------------

    def rivals(self, state: Belief) -> dict[str, Algorithm[Any]]:
        """Return the same algorithm without what decided most: who copies."""
        return rivals_of(self, state)

    def doubted(self, state: Belief, rival: Algorithm[Any], other: Belief) -> Belief:
        """Return the belief with another answer mixed into every plausibility of open values."""
        return state._replace(rival=other._replace(rival=None)) if state.is_open else state

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
        return None if state.dependence is None else copying_pairs(state.dependence)

    # --- updates ----------------------------------------------------------------------------------

    def resume(self, state: Belief, survey: Survey, prior: PriorRates) -> Belief:
        """Go on with all claims so far; pairs are of the sources that were looked at before."""
        grown = self.grow(state, survey.names)
        model = grown.model._replace(prior=prior)
        return grown._replace(model=model, claims=survey.counted.supports_of_source)

    def grow(self, state: Belief, names: Names) -> Belief:
        """Return the belief with new sources, labels and attributes."""
        if not isinstance(state.model, TwoCoin):
            state = state._replace(model=state.model.grown(names))
        if state.rival is not None:
            state = state._replace(rival=self.grow(state.rival, names))
        n_met, state, rows = len(state.claims), super().grow(state, names), self._rows(names)
        if rows is None or state.model.features is None:
            return state
        return state._replace(model=state.model.borrowing(rows, n_met))
