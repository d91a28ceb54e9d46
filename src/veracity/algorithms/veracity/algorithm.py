"""Veracity: the default. Reliabilities learned with caution, copies counted once, doubt told.

Six ingredients, none of them new by itself: an error model of the sources that fits the claims
(one-coin, confusion matrix or two-coin), empirical-Bayes shrinkage towards what holds for all
sources, accuracies that come to differ by attribute where the claims show it, values that a source
falls back on, dependent sources found by their agreement and counted once, and plausibilities
tempered because voices on one item err alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.algorithms.base import (
    SUREST,
    Algorithm,
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
from veracity.algorithms.item_features import ItemFeatures
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.regression import Fit, Shifts
from veracity.algorithms.rules import Weights, logit, plausibilities, share_of_item
from veracity.algorithms.source_features import SourceFeatures
from veracity.algorithms.veracity.belief import Belief, counted_labels
from veracity.algorithms.veracity.coincidence import log_likelihoods, n_false_values
from veracity.algorithms.veracity.confusion import Confusions
from veracity.algorithms.veracity.copying import (
    items_that_show_who_copies,
    steps_to_find_copies,
)
from veracity.algorithms.veracity.dispersion import (
    NO_PAIRS,
    Dispersion,
    Same,
    chance_of,
    err_alike,
    said_of_label,
    said_the_same,
    telling_items,
)
from veracity.algorithms.veracity.favourites import Favourites
from veracity.algorithms.veracity.hard_items import items_are_hard, said_of_items
from veracity.algorithms.veracity.mixing import moderated, off_by
from veracity.algorithms.veracity.one_coin import OneCoin
from veracity.algorithms.veracity.readings import gives_way_to, rivals_of, with_rival
from veracity.algorithms.veracity.shrinkage import (
    Derived,
    correlation_of,
    derived,
    log_known,
)
from veracity.algorithms.veracity.two_coin import TwoCoin
from veracity.claims.block import Block, FloatArray, Names
from veracity.claims.survey import Survey
from veracity.dependence.agreement import Dependence, Shared, looked_at, pair_work, slots_of
from veracity.dependence.direction import copying_pairs, shared_with_others
from veracity.errors import ParameterError, TooLarge
from veracity.kernels.loading import kernels

__all__ = ["Belief", "Veracity"]

MOST_LABELS = 20
"""Distinct values up to which they are labels, if there are enough items to share them."""

ITEMS_PER_LABEL = 5

MOST_DIVIDED = 0.1
"""How many of the values that sources name may be one of several, if these are labels."""

MOST_VALUES = 1.5
"""Values that a source names of an item, on average: one with more mostly names several, such as
samples of a model, and that it shares some of them with another is no sign of a copy."""

MOST_CELLS = 20_000_000
"""Cells of all confusion matrices, or of all sources and attributes, beyond which sources have an
accuracy only."""


@dataclass(frozen=True, kw_only=True)
class Veracity(Algorithm[Belief]):
    """What to use where nothing is known of the claims.

    Parameters
    ----------
    prior
        What is known of the sources. Fixed ones stay as they are. For the others what is expected
        before they say anything is moved as their rates differ from the usual ones.
    source_features
        What is known of the sources beside their claims: see `SourceFeatures`. Sources with few
        claims are then expected to be like others of such features, not like the mean of all.
    item_features
        What is known of the items beside their claims: see `ItemFeatures`. Sources may then be
        better on items of some kinds than of others; there are no confusions of labels then.
    strength
        Of how many pseudo-claims what holds for all sources is worth in what is learned of one.
    labels
        Where items share a few labels, learn how frequent each of them is.
    confusions
        And learn which of these labels a source mistakes for which.
    hard_items
        Of two labels, learn that only where hard items do not explain the claims better.
    attributes
        Where items do not share labels, learn on which attributes a source is better.
    favourites
        Where items do not share labels, look for values that a source falls back on, such as "0".
    dependence
        Look for sources that copy from each other, and count their word once.
    most_undecided
        Copies of values count once unless that leaves more than this share of the items that they
        decide with no value ahead.
    temper
        Temper the plausibilities: voices on one item err alike, so many are no proof.
    max_rounds, tolerance
        It stops when a round moves the accuracies by less than `tolerance` on average.
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
    confusions: bool = True
    hard_items: bool = True
    attributes: bool = True
    favourites: bool = True
    dependence: bool = True
    most_undecided: float = 0.5
    temper: bool = True
    max_rounds: int = 100
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_positive(self, strength=self.strength, tolerance=self.tolerance)
        require_at_least(self, 1, max_rounds=self.max_rounds)
        require_share(self, most_undecided=self.most_undecided)

    def start(self, survey: Survey, prior: PriorRates) -> Belief:
        """Choose the error model that fits the claims."""
        belief = self._at_start(survey, prior)
        return belief._replace(n_labels=counted_labels(survey))

    def _at_start(self, survey: Survey, prior: PriorRates) -> Belief:
        claims, rows = survey.counted.supports_of_source, self._rows(survey.names)
        if not survey.single_truth:
            self._refuse_kinds(survey)
            return Belief(TwoCoin.at_start(prior, self.strength, rows), None, claims)
        dependence = None
        if self.dependence:
            is_sure = claims <= MOST_VALUES * survey.counted.items_of_source
            dependence = Dependence.unseen(slots_of(np.where(is_sure, claims, 0.0)), (0.0, 1))
        if self._shares_labels(survey):
            confusions = Confusions.at_start(
                prior, survey.n_labels, self.strength, rows, are_learned=self.confusions
            )
            return Belief(confusions, dependence, claims)
        if self.item_features is not None:
            return Belief(self._of_kinds(survey, prior, rows), dependence, claims)
        n_cells = survey.n_sources * survey.n_attributes
        n_attributes = survey.n_attributes if self.attributes and n_cells <= MOST_CELLS else 1
        one_coin = OneCoin.at_start(prior, n_attributes, self.strength, rows)
        return Belief(one_coin, dependence, claims)

    def _of_kinds(self, survey: Survey, prior: PriorRates, rows: FloatArray | None) -> OneCoin:
        """Accuracies that will differ by the kinds of items."""
        assert self.item_features is not None
        n_kinds = self.item_features.n_kinds
        if survey.n_sources * n_kinds > MOST_CELLS:
            raise TooLarge(
                f"{survey.n_sources:,} sources and {n_kinds:,} kinds of items are too many for an "
                "accuracy each; describe the items by fewer features, or by fewer levels"
            )
        one_coin = OneCoin.at_start(prior, n_kinds, self.strength, rows)
        return one_coin._replace(kinds=Shifts.at_start(self.item_features.rows))

    def _refuse_kinds(self, survey: Survey) -> None:
        if self.item_features is not None:
            raise ParameterError(
                f"item features are for categorical claims, not for {survey.kind} ones: leave them "
                "out"
            )

    def _rows(self, names: Names) -> FloatArray | None:
        """The features of the sources, if any are known."""
        return None if self.source_features is None else self.source_features.rows(names.sources)

    def _shares_labels(self, survey: Survey) -> bool:
        """Whether values are labels that items share, and few enough for a matrix per source.

        And whether each source says one of them. Of a word that is divided a confusion matrix sees
        parts, none of which is sure, and what it learns from them fades away from round to round.
        """
        n_labels, counts = survey.n_labels, survey.counted
        is_shared = n_labels <= MOST_LABELS and counts.items >= ITEMS_PER_LABEL * n_labels
        is_plain = self.labels and self.item_features is None
        is_plain &= counts.divided <= MOST_DIVIDED * counts.items_of_source.sum()
        return is_plain and is_shared and survey.n_sources * n_labels**2 <= MOST_CELLS

    def phases(self, state: Belief) -> tuple[Phase[Belief], ...]:
        """Survey, dependence, a first vote, accuracies, then attributes; last, how much to temper.

        Facts that are true or false each have a vote and rates.
        """
        rounds = Phase("accuracies", (self._step(self.tally, self.learn),), self.change)
        vote = Phase("vote", (self._step(self.tally_vote, self.learn_vote),))
        if isinstance(state.model, TwoCoin):
            return vote, rounds
        phases = [Phase("survey", (Step(self.tally_survey, self.learn_survey),))]
        if state.dependence is not None and len(state.dependence.both) > 2:
            phases.append(Phase("dependence", steps_to_find_copies(self.most_undecided)))
        phases += [vote, rounds]
        if isinstance(state.model, OneCoin) and state.model.n_attributes > 1:
            attributes = self._step(self.tally_by_attribute, self.learn_by_attribute)
            phases.append(Phase("attributes", (attributes,), self.change_by_attribute))
        phases.append(Phase("dispersion", (Step(self.tally_dispersion, self.learn_dispersion),)))
        known = (
            Step(self.tally_expected, self.learn_expected),
            Step(self.tally_known, self.learn_known),
        )
        phases.append(Phase("known truths", known))
        return tuple(phases)

    def _step(self, tally: object, learn: object) -> Step[Belief]:
        return Step(tally, learn, self.derive)  # type: ignore[arg-type]

    def derive(self, block: Block, state: Belief) -> Derived:
        """What is worked out once for a block: what supports weigh, and what voices name."""
        if isinstance(state.model, TwoCoin):
            return np.zeros(0), np.zeros(0, dtype=np.int32)
        weight = np.zeros(0)
        if state.dependence is not None:
            sites = isinstance(state.model, OneCoin)
            weight = state.dependence.weight_of_support(block, sites=sites)
        return derived(block, weight, len(state.claims))

    # --- survey -----------------------------------------------------------------------------------

    def tally_survey(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """What the model counts, how many pairs there are, how claims fall, and what is said."""
        assert not isinstance(state.model, TwoCoin)
        work = 0.0
        if state.dependence is not None:
            n_slots = len(state.dependence.both)
            work = pair_work(block, n_slots, contested=isinstance(state.model, OneCoin))
        said = said_of_label(block, state.n_labels)
        return state.model.tally_survey(block), work, self._fallen(block, state), said

    def _fallen(self, block: Block, state: Belief) -> FloatArray | None:
        """How the claims of an item fall into values; or of how many items they fall so."""
        model = state.model
        if isinstance(model, OneCoin):
            return log_likelihoods(block, float(state.claims.sum()))
        is_of_two = isinstance(model, Confusions) and model.n_labels == 2
        return said_of_items(block) if is_of_two else None

    def learn_survey(self, state: Belief, total: Tally) -> Belief:
        """Where pairs are too many, only some items will be looked at."""
        assert not isinstance(state.model, TwoCoin)
        of_model, work, fallen, said = total
        dependence, model = state.dependence, state.model.learn_survey(of_model)
        if isinstance(model, OneCoin):
            model = model._replace(n_false=n_false_values(fallen))
            is_first = not state.model.spoken.any()  # type: ignore[union-attr]
            if self.favourites and is_first and np.count_nonzero(said) > MOST_LABELS:
                model = model._replace(favourites=Favourites.among(said, len(state.claims)))
        elif fallen is not None:
            are_hard = self.hard_items and items_are_hard(fallen)
            model = model._replace(are_learned=self.confusions and not are_hard)
        if dependence is not None:
            dependence = Dependence.unseen(dependence.slots, (work, int(state.claims.sum())))
        return state._replace(model=model, dependence=dependence, chance=chance_of(said))

    # --- vote -------------------------------------------------------------------------------------

    def tally_vote(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """How the sources' words met a vote in which copies count once."""
        if isinstance(state.model, TwoCoin):
            return state.model.tally_vote(block)
        weight, _ = turn.memory
        prior = state.model.prior
        tpr, fpr = prior.weigh_known(prior.tpr, prior.fpr)
        words = np.maximum(logit(tpr) - logit(fpr), 0.0)[block.source_of_support]
        words = words * weight if len(weight) else words
        vote = clamp_known(share_of_item(kernels.sum_claims(block, words), block), block)
        if isinstance(state.model, OneCoin):
            return state.model.tally_right(block, vote)
        return state.model.tally_vote(block, vote)

    def learn_vote(self, state: Belief, total: Tally) -> Belief:
        """What the vote says of the sources."""
        return state._replace(model=state.model.learn_vote(total))

    # --- rounds -----------------------------------------------------------------------------------

    def tally(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """Judge the facts, and count how the sources' words met them (E-step)."""
        if isinstance(state.model, TwoCoin):
            return state.model.tally(block)
        return state.model.tally(block, turn.memory)

    def learn(self, state: Belief, total: Tally) -> Belief:
        """Take in the counts (M-step)."""
        return state._replace(model=state.model.learn(total))

    def change(self, before: Belief, after: Belief) -> float:
        """By how much a round moved the accuracies, on average."""
        return before.model.change(after.model)  # type: ignore[arg-type]

    def tally_by_attribute(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """How often the sources are right on each attribute."""
        assert isinstance(state.model, OneCoin)
        return state.model.tally_by_attribute(block, turn.memory)

    def learn_by_attribute(self, state: Belief, total: Tally) -> Belief:
        """Accuracies by attribute, as far as the claims carry them."""
        assert isinstance(state.model, OneCoin)
        return state._replace(model=state.model.learn_by_attribute(total))

    def change_by_attribute(self, before: Belief, after: Belief) -> float:
        """By how much a round moved the accuracies by attribute, on average."""
        assert isinstance(before.model, OneCoin)
        return before.model.change_by_attribute(after.model)  # type: ignore[arg-type]

    # --- dispersion -------------------------------------------------------------------------------

    def tally_dispersion(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """How far items scatter beyond what independent errors would; how often voices agree.

        And what sources that depend on each other share.
        """
        return *self._scattered(block, state), self._shared(block, state)

    def _scattered(self, block: Block, state: Belief) -> tuple[Dispersion, Same]:
        model = state.model
        assert not isinstance(model, TwoCoin)
        telling = telling_items(block, float(state.claims.sum()))
        if isinstance(model, OneCoin):
            telling = telling.select(telling.n_facts_of_item > 1)
        if telling.n_items == 0:
            return Dispersion(), Same()
        pairs = NO_PAIRS if state.dependence is None else state.dependence.pairs_within(telling)
        found = self.derive(telling, state)
        scattered = model.scatter(telling, found, pairs).summed(telling.n_items)
        return scattered, said_the_same(telling)

    def _shared(self, block: Block, state: Belief) -> Shared | None:
        if state.dependence is None or not state.dependence.is_any:
            return None
        contested = isinstance(state.model, OneCoin)
        some = items_that_show_who_copies(block, float(state.claims.sum()))
        seen = looked_at(some, state.dependence, contested=contested)
        p = np.zeros(0)
        if seen.n_items:
            p = clamp_known(plausibilities(seen, self._weights(seen, state)), seen)
        return shared_with_others(seen, state.dependence, p, contested=contested)

    def learn_dispersion(self, state: Belief, total: Tally) -> Belief:
        """Whether voices err alike, as is usual, or each by itself."""
        assert not isinstance(state.model, TwoCoin)
        scattered, same, shared = Dispersion(*total[0]), Same(*total[1]), total[2]
        alike = err_alike(scattered, same.beyond(state.chance))
        state = state._replace(model=state.model._replace(alike=alike))
        if shared is None or state.dependence is None:
            return state
        return state._replace(dependence=state.dependence._replace(shared=Shared(*shared)))

    # --- known truths -----------------------------------------------------------------------------

    def tally_expected(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """How often the sources would be right on known items, were these not known."""
        model = state.model
        if isinstance(model, TwoCoin) or not block.is_known.any():
            return (None,)
        if isinstance(model, Confusions) and model.are_learned:  # known labels are counted there
            return (None,)
        known = block.select(block.is_known)
        correlation = model.alike * model.usual_correlation(state.claims)
        return (model.tally_expected(known, self.derive(known, state), correlation),)

    def learn_expected(self, state: Belief, total: Tally) -> Belief:
        """What known truths will be compared with."""
        if total[0] is None or isinstance(state.model, TwoCoin):
            return state
        expected = np.zeros_like(state.model.expected)
        n_sources, n_attributes = total[0].shape  # fewer, where known truths came before others
        expected[:n_sources, :n_attributes] = total[0]
        return state._replace(model=state.model._replace(expected=expected))

    def tally_known(self, block: Block, state: Belief, turn: Turn) -> Tally:
        """How likely the known truths are, for every intra-item correlation."""
        model = state.model
        assert not isinstance(model, TwoCoin)
        known = block.select(block.is_known)
        found = self.derive(known, state) if known.n_items else None

        def judge(correlation: float) -> FloatArray:
            assert found is not None
            if isinstance(model, OneCoin):
                return plausibilities(known, model.weights(known, found, correlation, told=True))
            return plausibilities(known, model.weights(known, found, correlation))

        return (log_known(known, judge, model.usual_correlation(state.claims)),)

    def learn_known(self, state: Belief, total: Tally) -> Belief:
        """How alike voices err."""
        assert not isinstance(state.model, TwoCoin)
        model = state.model
        correlation = correlation_of(total[0], model.usual_correlation(state.claims), model.alike)
        return state._replace(model=model._replace(correlation=correlation))

    def calibrate(self, state: Belief, prior: PriorRates) -> Belief:
        """Correct what was learned by the known truths."""
        return state._replace(model=state.model.calibrated())

    # --- judging ----------------------------------------------------------------------------------

    def weigh(self, block: Block, state: Belief, memory: Memory = None) -> Weights:
        """What the claims weigh: Bayes' rule, copies counted once, tempered.

        Where the claims have another reading, they weigh less on what it answers otherwise.
        """
        weights, _ = self._in_both_readings(block, state, memory)
        return weights

    def judge_with_doubt(
        self, block: Block, state: Belief, memory: Memory = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """The plausibilities; they may be off as far as the rival, if any, judges otherwise."""
        weights, other = self._in_both_readings(block, state, memory)
        plausibility = plausibilities(block, weights)
        return plausibility, None if other is None else off_by(plausibility, other)

    def _in_both_readings(
        self, block: Block, state: Belief, memory: Memory
    ) -> tuple[Weights, FloatArray | None]:
        """What the claims weigh, and the plausibilities in the other reading, if there is one."""
        weights = self._weights(block, state, memory)
        if state.rival is None:
            return weights, None
        other = plausibilities(block, self._weights(block, state.rival))
        return moderated(block, weights, other), other

    def _weights(self, block: Block, state: Belief, memory: Memory = None) -> Weights:
        model = state.model
        if isinstance(model, TwoCoin):
            return model.weights()
        found = self.derive(block, state) if memory is None else memory
        correlation = model.correlation if self.temper else 0.0
        if isinstance(model, OneCoin):
            return model.weights(block, found, correlation, told=True)
        return model.weights(block, found, correlation)

    # --- other readings ---------------------------------------------------------------------------

    def rivals(self, state: Belief) -> dict[str, Algorithm[Any]]:
        """The same without what decided most: which labels sources confuse, and who copies."""
        return rivals_of(self, state)

    def gives_way(self, state: Belief, rival: Algorithm[Any]) -> bool:
        """To the same labels without confusions: with them, labels may have changed places."""
        return isinstance(rival, Veracity) and gives_way_to(rival, state)

    def doubted(self, state: Belief, rival: Algorithm[Any], other: Belief) -> Belief:
        """The belief where a rival reads the claims otherwise: both readings are kept."""
        differs = isinstance(rival, Veracity) and not (
            rival.labels and rival.confusions and rival.hard_items == self.hard_items
        )
        return with_rival(state, other, confusions_differ=differs)

    def in_own_reading(self, state: Belief) -> Belief:
        """The belief without its rival."""
        return state._replace(rival=None)

    def check(self, state: Belief, survey: Survey, prior: PriorRates) -> None:
        """Refuse, with a `ValueError`, a belief that cannot be of these sources."""
        super().check(state, survey, prior)
        if state.rival is not None:
            of_sites = isinstance(state.rival.model, OneCoin)
            copies = state.rival.dependence is not None
            rival = replace(self, labels=not of_sites, dependence=copies)
            rival.check(state.rival, survey, prior)

    # --- what is told of what was learned ---------------------------------------------------------

    def trust(self, state: Belief) -> FloatArray:
        """The accuracy."""
        return state.model.accuracy

    def rates(self, state: Belief, counts: FloatArray) -> Rates:
        """As the sources' words met the facts; those that are fixed stay as they are."""
        counted, prior = super().rates(state, counts), state.model.prior
        is_fixed = prior.is_fixed == 1
        return counted._replace(
            tpr=np.where(is_fixed, prior.tpr, counted.tpr),
            fpr=np.where(is_fixed, prior.fpr, counted.fpr),
        )

    def confusion(self, state: Belief) -> FloatArray | None:
        """The confusion matrices, where items share labels."""
        model = state.model
        are_known = isinstance(model, Confusions) and model.are_learned
        return model.confusion if are_known else None  # type: ignore[union-attr]

    def worth(self, state: Belief) -> dict[str, Fit]:
        """What features are worth for the rates; for the accuracy, where values differ."""
        features = state.model.features
        if features is None:
            return {}
        rates = ("tpr", "fpr") if isinstance(state.model, TwoCoin) else ("accuracy",)
        return {name: features.worth(rate) for rate, name in enumerate(rates)}

    def worth_of_items(self, state: Belief) -> dict[str, Fit]:
        """What features of items are worth for the accuracy on all that several speak of."""
        model = state.model
        if not isinstance(model, OneCoin) or model.kinds is None:
            return {}
        mean = float(np.average(model.accuracy, weights=np.maximum(state.claims, SUREST)))
        return {"accuracy": model.kinds.worth(mean)}

    def copies(self, state: Belief) -> Copies | None:
        """The pairs of sources that depend on each other; `probability` is the share copied."""
        return None if state.dependence is None else copying_pairs(state.dependence)

    def resume(self, state: Belief, survey: Survey, prior: PriorRates) -> Belief:
        """With all claims so far; who copies is looked for among the sources it was before."""
        grown = self.grow(state, survey.names)
        model = grown.model._replace(prior=prior)
        claims, n_labels = survey.counted.supports_of_source, counted_labels(survey)
        return grown._replace(model=model, claims=claims, n_labels=n_labels)

    def grow(self, state: Belief, names: Names) -> Belief:
        """New sources are like the others; labels and attributes never met get room."""
        if isinstance(state.model, Confusions):
            state = state._replace(model=state.model.grown(len(names.labels)))
        if isinstance(state.model, OneCoin):
            state = state._replace(model=state.model.grown(names))
        if state.rival is not None:
            state = state._replace(rival=self.grow(state.rival, names))
        n_met, state, rows = len(state.claims), super().grow(state, names), self._rows(names)
        if rows is None or state.model.features is None:
            return state
        return state._replace(model=state.model.borrowing(rows, n_met))
