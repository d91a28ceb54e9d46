"""Model open values (not labels): one accuracy per source, or per attribute if needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Tally, clamp_known
from veracity.algorithms.default.shrinkage import (
    CYCLES,
    SUREST,
    Derived,
    ModelPhase,
    ModelStep,
    correlation_of,
    counted,
    derived,
    design_effect,
    first_vote,
    known_part,
    likeliest_strength,
    log_known,
    says_most,
    shrunk,
    shrunk_accuracy,
    surely,
    weigh_known,
)
from veracity.algorithms.distributions import log_gamma
from veracity.algorithms.online import OnlineCoins
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.regression import Counts, Regression, Shifts
from veracity.algorithms.rules import Weights, logit, plausibilities, sigmoid
from veracity.dependence.naming import Meetings
from veracity.encoding.block import UNKNOWN, Block, BoolArray, FloatArray, IntArray
from veracity.encoding.names import Names
from veracity.kernels.reference import in_groups
from veracity.trees import BySource, CountBySource

ATTRIBUTE_STRENGTHS: FloatArray = 2.0 ** np.arange(14.0)
"""Candidate weights, in pseudo-claims, of a source's accuracy in its accuracy by attribute."""

USUAL_CORRELATION = 0.2
"""Correlation of errors on one item, where any value may be claimed."""

LEAST_CORRELATION = 0.01
"""Smallest correlation, which remains even if features of items explain all of it."""

BEYOND_VALUES = 0.25
"""Share of the correlation of errors that remains if the claims of an item show which false value
is tempting. It remains because sources are right, or wrong, on the same items."""

DISPUTED, UNDISPUTED, SAID_ONCE = range(3)
"""Kinds of items: several values, one value of several sources, one claim."""

SIDES = 3

USUAL_HABIT = 0.2
"""Share of right claims that are told in part, before any claim."""

LEAST_HABIT = 0.01
"""Largest habit of a source from which on habits are reported."""

OF_DISPUTED, OF_ALL = range(2)
N_RATES = 2
"""Rates that features predict."""

DOMINANT = 0.25
"""Share of all claims from which a source dominates, and the smallest ratio of its claims to those
of an average source."""


LEAST_CLAIMS = 1e-6
"""Weight of a source without claims in a mean over sources."""

ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
CONCENTRATIONS = tuple(2.0**n for n in range(9))

SPREAD_ACCURACIES: FloatArray = np.array([0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
SPREAD_MEANS: FloatArray = np.array([0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
SPREAD_CONCENTRATIONS = (*CONCENTRATIONS[:5], CONCENTRATIONS[-1])
SHOWN_CORRELATIONS: FloatArray = np.array(
    [LEAST_CORRELATION, 0.02, 0.05, 0.1, 0.15, USUAL_CORRELATION]
)
"""Correlations of errors that the claims can show: the usual one is the largest."""

ENOUGH_CLAIMS = 20_000
ENOUGH_FOR_SPREAD = 6_000
"""Number of claims in the samples of items."""

CLEARLY = 3.0
"""Minimum loss in log-likelihood of the claims that rules out smaller concentrations."""

LIKELY = 1.35
"""Loss in log-likelihood at the end of a one-sided interval of 95 %: 1.645² / 2."""

SELDOM = 16.0
"""Concentration above which coincidences are rare; below it, the claimed values are counted."""

EVEN = 32.0
"""Pseudo-claims on each value of an item, which spread errors evenly over all values. Items with no
more voices than this are not changed, since they show hardly anything."""

CountByAttribute = Annotated[FloatArray, "source", "attribute", 0.0]
"""Counts of each source on each attribute."""


class OneCoin(NamedTuple):
    """Model with one accuracy per source; an error is equally likely to be any other value.

    Of an item with K claimed values, K are false (one more may be), so a claim adds
    ``log(K accuracy / (1 - accuracy))`` to its value. A source that claims m of them is right if
    the truth is among them: each gets ``log((K - m + 1) / m accuracy / (1 - accuracy))``. Sources
    err more often where there is a choice, so there are two accuracies: on items with several
    claimed values, and on all items that several sources claim. The second is used for items with a
    single claimed value.

    After all this is learned, the first accuracy may differ by attribute, if the claims show that
    it does. It is not earlier, because on one attribute alone most sources may err and be believed.
    `by_attribute` is empty until then.
    """

    disputed: BySource
    accuracy: BySource
    by_attribute: BySource
    """[source, attribute]"""
    spoken: CountBySource
    """[source, `DISPUTED` or else]: number of items."""
    spoken_by_attribute: CountByAttribute
    """[source, attribute]: number of disputed items."""
    known: CountByAttribute
    """Counts [source, attribute, right or wrong] on known items."""
    expected: CountByAttribute
    """[source, attribute]: learned accuracy of the source on the attribute."""
    prior: PriorRates
    strength: float
    habit: BySource
    """How often each source tells a value in part, of the right ones that can be."""
    n_claims: float = 0.0
    n_false: float = 0.0
    """Least number of false values of an item, by how seldom false claims coincide."""
    n_open: float = 0.0
    """Least number of false values of an item with values of a hierarchy of which one says less."""
    correlation: float = USUAL_CORRELATION
    """Correlation of errors on one item."""
    shown: float = USUAL_CORRELATION
    """Correlation of errors that the claims show, at most the usual one."""
    features: Regression | None = None
    """Prediction of `disputed` and `accuracy` from features of sources."""
    kinds: Shifts | None = None
    """Shifts of all sources by features of items; the attributes are then kinds of items."""

    @classmethod
    def at_start(
        cls,
        prior: PriorRates,
        n_attributes: int,
        strength: float,
        n_claims: float,
        rows: FloatArray | None = None,
    ) -> OneCoin:
        """Return the model before any claim; `rows` are features of the sources, if there are."""
        n_sources = len(prior.tpr)
        cells = np.zeros((n_sources, n_attributes))
        return cls(
            disputed=prior.tpr,
            accuracy=prior.tpr,
            by_attribute=np.zeros((n_sources, 0)),
            spoken=np.zeros((n_sources, SIDES)),
            spoken_by_attribute=cells,
            known=np.zeros((n_sources, n_attributes, 2)),
            expected=cells,
            prior=prior,
            strength=strength,
            habit=np.full(n_sources, USUAL_HABIT),
            n_claims=n_claims,
            features=None if rows is None else Regression.at_start(rows, N_RATES),
        )

    @property
    def n_attributes(self) -> int:
        """Return the number of attributes; one if accuracies may not differ by attribute."""
        return int(self.expected.shape[1])

    @property
    def differs(self) -> bool:
        """Return True if accuracies differ by attribute by now."""
        return bool(self.by_attribute.shape[1] == self.n_attributes)

    @property
    def _alike(self) -> FloatArray:
        """Return accuracies that do not differ by attribute, [source, attribute]."""
        return np.repeat(self.disputed[:, None], self.n_attributes, axis=1)

    def derive(self, block: Block, weight: FloatArray, n_sources: int) -> Derived:
        """Return the data computed once for a block."""
        return derived(block, weight, n_sources)

    def phases(self) -> tuple[ModelPhase, ...]:
        """Return the phases in order."""
        own = type(self)
        phases = [
            ModelPhase("survey", (ModelStep(own.tally_survey, own.learn_survey),)),
            ModelPhase("vote", (ModelStep(own.tally_vote, own.learn_vote),)),
            ModelPhase("accuracies", (ModelStep(own.tally, own.learn),), own.change),
        ]
        if self.n_attributes > 1:
            step = ModelStep(own.tally_by_attribute, own.learn_by_attribute)
            phases.append(ModelPhase("attributes", (step,), own.change_by_attribute))
        if self.prior.known.any() or self.known.any():
            compare = (
                ModelStep(own.tally_known, own.learn_known),
                ModelStep(own.tally_expected, own.learn_expected),
            )
            again = tuple(step for phase in phases[2:] for step in phase.steps)
            phases.append(ModelPhase("known truths", (*compare, *CYCLES * (*again, *compare))))
        return tuple(phases)

    # --- tallies ----------------------------------------------------------------------------------

    def tally_survey(self, block: Block, found: Derived) -> Tally:
        """Count the items of each source, and how often it is right on known items.

        A source that claims several values of an item counts once. Also return how likely the
        claims are for each number of false values.
        """
        side, n = _side_of_item(block), self.n_attributes
        cell = self._cell_of_item(block)
        column = np.where(side == DISPUTED, cell, n - 1 + side)  # others stand behind attributes
        voices = self._voices(block, column, n + SIDES - 1)
        by_attribute = voices[:, :n]
        spoken = np.column_stack([by_attribute.sum(axis=1), voices[:, n:]])
        known, fallen = self._tally_known(block, cell), log_likelihoods(block, self.n_claims)
        return spoken, by_attribute, known, fallen, log_spreads(block, self.n_claims)

    def _tally_known(self, block: Block, cell: IntArray) -> FloatArray:
        """Count how often each source is right and wrong on known items."""
        if not block.is_known.any():
            return np.zeros((len(self.disputed), self.n_attributes, 2))
        right = self._supports(block, (block.known_of_fact == 1).astype(np.float64), cell)
        known_items = np.where(block.is_known, cell, self.n_attributes)
        known = self._voices(block, known_items, self.n_attributes + 1)[:, :-1]
        return np.stack([right, np.maximum(known - right, 0.0)], axis=2)

    def learn_survey(self, total: Tally) -> OneCoin:
        """Store the counts in the model."""
        spoken, by_attribute, known, fallen, spreads = total
        shown = shown_correlation(spreads)
        return self._replace(
            spoken=spoken,
            spoken_by_attribute=by_attribute,
            known=known,
            n_false=n_false_values(fallen),
            shown=shown,
            correlation=shown,
        )

    def tally_vote(self, block: Block, found: Derived) -> Tally:
        """Count how often each source is right, if a vote is right."""
        if len(block.is_divisible_of_fact):  # regions win a vote among places
            return self.tally(block, found)
        return self._right(block, first_vote(block, found, self.prior))

    def tally(self, block: Block, found: Derived) -> Tally:
        """Judge the facts, and count how often each source is right (E-step)."""
        return self._right(block, plausibilities(block, self.weights(block, found)))

    def _right(self, block: Block, plausibility: FloatArray) -> Tally:
        """Count how often each source is right, and of what it could tell in part, how much is."""
        number, side = clamp_known(plausibility, block), _side_of_item(block)
        right, in_part = self._credited(block, number, side, SIDES)
        habit = None
        if len(block.is_divisible_of_fact):
            is_open = (side == DISPUTED)[block.item_of_fact] & block.is_divisible_of_fact
            whole = kernels.sum_by_source(block, number * is_open, side, len(self.disputed), SIDES)
            habit = np.column_stack([in_part[:, DISPUTED], whole[:, DISPUTED]])
        return right, habit

    def _credited(
        self, block: Block, number: FloatArray, column_of_item: IntArray, n_columns: int
    ) -> tuple[FloatArray, FloatArray]:
        """Sum numbers over the facts that each source supports, and those it tells in part.

        Return the sum of both, and of the second, [source, column of the item].
        """
        n_sources = len(self.disputed)
        right = kernels.sum_by_source(block, number, column_of_item, n_sources, n_columns)
        if not block.has_partials:
            return right, np.zeros_like(right)
        support, whole, odds = self._partly(block)
        credit = block.weighted(np.ones(len(block.source_of_support)))[support]
        credit *= number[whole] * odds / (1.0 + odds)
        column = column_of_item[block.item_of_fact[whole]]
        cell = block.source_of_support[support].astype(np.int64) * n_columns + column
        in_part = np.bincount(cell, credit, n_sources * n_columns).astype(np.float64)
        in_part = in_part.reshape(n_sources, n_columns)
        return np.asarray(right + in_part), in_part

    def _partly(
        self, block: Block, *, final: bool = False
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the claims that say less than another fact: support, fact, and their odds.

        Of a right claim, a source tells the habitual share h in part: each of n parts that are
        claimed of the fact with a h / n, while a false claim is one of K values with (1 - a) / K.
        """
        n_supports = block.n_supports_of_fact
        fact, whole = block.fact_of_partial, block.whole_of_partial
        support, _ = in_groups(block.first_support_of_fact, fact)
        n_parts = np.diff(block.first_partial_of_fact)[whole]
        entry = np.repeat(np.arange(len(fact)), n_supports[fact])
        whole, n_parts = whole[entry], n_parts[entry]
        log_odds, column = self._log_odds(block, final=final)
        item, source = block.item_of_fact[whole], block.source_of_support[support]
        odds = self._n_values(block)[item] * np.exp(log_odds[source, column[item]])
        return support, whole, odds * self.habit[source] / n_parts

    def _n_values(self, block: Block) -> FloatArray:
        """Return the number of false values of each item.

        Among places, false claims are mostly towns of their own and seldom coincide, but in regions
        they do: the number is that of open values, whatever the claims show.
        """
        n_values = np.maximum(block.n_facts_of_item, self.n_false)
        if self.n_open and block.has_partials:
            items = block.item_of_fact[block.whole_of_partial]
            n_values[items] = np.maximum(n_values[items], self.n_open)
        return n_values

    def tally_by_attribute(self, block: Block, found: Derived) -> Tally:
        """Count how often sources are right on each attribute, on disputed items.

        The agreement of sources also shows how easy a kind of item is: easy items rarely have
        several values. So for kinds, all items that several sources claim are counted, too.
        """
        plausibility = clamp_known(plausibilities(block, self.weights(block, found)), block)
        side, cell = _side_of_item(block), self._cell_of_item(block)

        def right(is_told: BoolArray) -> FloatArray:
            number = plausibility * is_told[block.item_of_fact]
            return self._credited(block, number, cell, self.n_attributes)[0]

        if self.kinds is None:
            return (right(side == DISPUTED),)
        is_told = side != SAID_ONCE
        column = np.where(is_told, cell, self.n_attributes)
        spoken = self._voices(block, column, self.n_attributes + 1)[:, :-1]
        return right(side == DISPUTED), right(is_told), spoken

    def _supports(self, block: Block, number: FloatArray, cell_of_item: IntArray) -> FloatArray:
        """Sum numbers over the facts that each source supports, by attribute."""
        n_sources = len(self.disputed)
        return np.asarray(
            kernels.sum_by_source(block, number, cell_of_item, n_sources, self.n_attributes)
        )

    def _voices(self, block: Block, column_of_item: IntArray, n_columns: int) -> FloatArray:
        """Count the items of each column that every source claims."""
        column = np.repeat(column_of_item, block.n_voices_of_item)
        cell = block.source_of_voice.astype(np.int64) * n_columns + column
        share = block.share_of_voice if block.has_shares else None
        counts = np.bincount(cell, share, len(self.disputed) * n_columns)
        return counts.reshape(len(self.disputed), n_columns).astype(np.float64)

    def _cell_of_item(self, block: Block) -> IntArray:
        if self.n_attributes == 1:
            return np.zeros(block.n_items, dtype=np.int32)
        return block.attribute_of_item if self.kinds is None else block.kind_of_item

    # --- learning ---------------------------------------------------------------------------------

    def learn_vote(self, total: Tally) -> OneCoin:
        """Learn from the vote, for which all items are alike."""
        counts = Counts(total[0].sum(axis=1), self.spoken.sum(axis=1))
        accuracy, features = self._shrunk(OF_DISPUTED, counts, self.features)
        return self._replace(disputed=accuracy, accuracy=accuracy, features=features)

    def learn(self, total: Tally) -> OneCoin:
        """Learn shares of right claims, shrunk (M-step)."""
        told = [DISPUTED, UNDISPUTED]  # a claim that stands alone tells nothing
        open_ones = told if self.is_dominated else [DISPUTED]
        of_open, of_all = (
            Counts(total[0][:, sides].sum(axis=1), self.spoken[:, sides].sum(axis=1))
            for sides in (open_ones, told)
        )
        disputed, features = self._shrunk(OF_DISPUTED, of_open, self.features)
        everywhere, features = self._shrunk(OF_ALL, of_all, features)
        habit = self.habit
        if total[1] is not None:
            in_part, whole = total[1].T
            mean = (in_part.sum() + self.strength * USUAL_HABIT) / (
                in_part.sum() + whole.sum() + self.strength
            )
            habit = shrunk(in_part, in_part + whole, mean, self.strength)
        return self._replace(disputed=disputed, accuracy=everywhere, features=features, habit=habit)

    def _shrunk(
        self, rate: int, counts: Counts, features: Regression | None
    ) -> tuple[FloatArray, Regression | None]:
        return shrunk_accuracy(counts, self.prior, self.strength, features, rate)

    @property
    def is_dominated(self) -> bool:
        """Return True if one source claims so much that it decides how reliable the others are.

        Its disputed items are then too few to learn from: all items are used.
        """
        claims = self.spoken.sum(axis=1)
        return bool(claims.max() > max(DOMINANT * claims.sum(), claims.mean() / DOMINANT))

    def learn_by_attribute(self, total: Tally) -> OneCoin:
        """Learn accuracies by attribute, shrunk towards the source's own."""
        spoken, kinds = self.spoken_by_attribute, self.kinds
        right = total[0]
        wrong = np.maximum(spoken - right, 0.0)
        is_free = np.repeat((self.prior.is_fixed == 0)[:, None], self.n_attributes, axis=1)
        expected = self._alike
        if kinds is not None:
            told = Counts(*(np.where(is_free, count, 0.0) for count in total[1:]))
            kinds = kinds.learned(told, self.accuracy)
            expected = np.clip(kinds.expected(self.disputed), SUREST, 1.0 - SUREST)
        tells = is_free & (spoken > 0.0) & says_most(np.where(is_free, spoken, 0.0), 2)
        plain = np.stack([expected, 1.0 - expected], axis=2)
        outcomes = np.stack([right, wrong], axis=2)
        strength = likeliest_strength(outcomes[tells], plain[tells], ATTRIBUTE_STRENGTHS)
        learned = shrunk(right, right + wrong, expected, strength)
        by_attribute = np.where(is_free, learned, expected)
        if kinds is None:
            return self._replace(by_attribute=by_attribute)
        kinds = kinds._replace(strength=strength)
        moved = self._replace(by_attribute=by_attribute, kinds=kinds)
        return moved._replace(correlation=moved.usual_correlation)

    def change(self, after: OneCoin) -> float:
        """Return by how much the accuracies moved, on average."""
        return float(np.abs(after.disputed - self.disputed).mean())

    def change_by_attribute(self, after: OneCoin) -> float:
        """Return by how much accuracies by attribute moved, on average over those with claims."""
        before = self.by_attribute if self.differs else self._alike
        move = np.abs(after.by_attribute - before)[self.spoken_by_attribute > 0.0]
        return float(move.mean()) if len(move) else 0.0

    # --- known truths, new names ------------------------------------------------------------------

    def tally_expected(self, block: Block, found: Derived) -> Tally:
        """Count how often sources would be right on known items, were these not known.

        [source, attribute]; known items may be harder than others, or easier.
        """
        if not block.is_known.any():
            return (None,)
        known, found = known_part(block, found)
        weights = self._weights(known, found, self.correlation, final=True)
        p = plausibilities(known, weights)
        return (self._supports(known, p, self._cell_of_item(known)),)

    def learn_expected(self, total: Tally) -> OneCoin:
        """Store the plausibilities that will be compared with the known truths."""
        if total[0] is None:
            return self
        expected = np.zeros_like(self.expected)
        n_sources, n_attributes = total[0].shape  # fewer, where known truths came before others
        expected[:n_sources, :n_attributes] = total[0]
        return self._replace(expected=expected)._corrected()

    def tally_known(self, block: Block, found: Derived) -> Tally:
        """Return how likely the known truths are for each correlation of errors."""
        if not block.is_known.any():
            return (None,)
        known, found = known_part(block, found)

        def judge(correlation: float) -> FloatArray:
            return plausibilities(known, self._weights(known, found, correlation, final=True))

        return (log_known(known, judge, self.usual_correlation),)

    def learn_known(self, total: Tally) -> OneCoin:
        """Set the correlation of errors by the known truths."""
        if total[0] is None:
            return self
        return self._replace(correlation=correlation_of(total[0], self.usual_correlation))

    @property
    def usual_correlation(self) -> float:
        """Return the usual correlation of errors, less the part that features of items explain.

        Where a kind of items is hard for all, sources err on the same items. What this adds to the
        correlation is the variance of the accuracy over kinds, as a share of that of a claim,
        p (1 - p). Accuracies by kind have it already.
        """
        if self.kinds is None:
            return self.shown
        spoken = np.maximum(self.spoken_by_attribute, LEAST_CLAIMS)
        usual = np.average(self.disputed, weights=spoken.sum(axis=1), keepdims=True)
        accuracy, share = self.kinds.expected(usual)[0], spoken.sum(axis=0) / spoken.sum()
        mean = float(accuracy @ share)
        explained = float((accuracy - mean) ** 2 @ share) / (mean * (1.0 - mean))
        return max(self.shown - explained, LEAST_CORRELATION)

    def _corrected(self) -> OneCoin:
        """Return the accuracies as the known truths correct them."""
        known, expected = self.known.sum(axis=1), self.expected.sum(axis=1)
        return self._replace(
            disputed=weigh_known(self.disputed, known, expected, self.prior),
            accuracy=weigh_known(self.accuracy, known, expected, self.prior),
            by_attribute=self._calibrated_by_attribute() if self.differs else self.by_attribute,
        )

    def _calibrated_by_attribute(self) -> FloatArray:
        """Correct all accuracies of a source by its known items, then each by its attribute's."""
        known, expected = self.known.sum(axis=1), self.expected.sum(axis=1)
        n_known = known.sum(axis=1)
        mean = np.where(n_known > 0.0, expected / np.maximum(n_known, 1.0), self.disputed)
        mean = np.clip(mean, SUREST, 1.0 - SUREST)
        move = (logit(weigh_known(mean, known, expected, self.prior)) - logit(mean))[:, None]
        of_cell = np.maximum(self.known.sum(axis=2), 1e-9)
        then = sigmoid(logit(np.clip(self.expected / of_cell, SUREST, 1.0 - SUREST)) + move)
        moved = sigmoid(logit(self.by_attribute) + move)
        return weigh_known(moved, self.known, then * self.known.sum(axis=2), self.prior)

    def grown(self, names: Names) -> OneCoin:
        """Return the model with room for new attributes, where a source is as good as elsewhere."""
        n_attributes = len(names.attributes)
        n_new = n_attributes - self.n_attributes
        if self.kinds is not None or n_new <= 0 or self.n_attributes == 1:
            return self
        by_attribute = self.by_attribute
        if self.differs:
            of_new = np.repeat(self.disputed[:, None], n_new, axis=1)
            by_attribute = np.append(by_attribute, of_new, axis=1)
        return self._replace(
            by_attribute=by_attribute,
            spoken_by_attribute=np.pad(self.spoken_by_attribute, [(0, 0), (0, n_new)]),
            known=np.pad(self.known, [(0, 0), (0, n_new), (0, 0)]),
            expected=np.pad(self.expected, [(0, 0), (0, n_new)]),
        )

    def borrowing(self, rows: FloatArray, n_met: int) -> OneCoin:
        """Return the model with accuracies of new sources, predicted from their features.

        `rows` has the features of all sources.
        """
        assert self.features is not None
        features = self.features._replace(rows=rows)
        disputed, accuracy = (
            np.append(own[:n_met], surely(features.expected(rate)[n_met:]))
            for rate, own in ((OF_DISPUTED, self.disputed), (OF_ALL, self.accuracy))
        )
        by_attribute = self.by_attribute
        if self.differs:
            move = (logit(disputed) - logit(self.disputed))[n_met:, None]
            new = sigmoid(logit(by_attribute[n_met:]) + move)
            by_attribute = np.concatenate([by_attribute[:n_met], new])
        return self._replace(
            disputed=disputed, accuracy=accuracy, by_attribute=by_attribute, features=features
        )

    def with_family(self, slots: FloatArray, met: Meetings, claims: FloatArray) -> OneCoin:
        """Return the model as it is: of open values, every copy counts less by itself."""
        return self

    def described(self, claims: FloatArray) -> dict[str, Any]:
        """Return the effects of features of sources and of items on the accuracy."""
        described: dict[str, Any] = {}
        if (self.habit != USUAL_HABIT).any() and self.habit.max() > LEAST_HABIT:
            described["habit"] = self.habit
        if self.features is not None:
            described["source_effects"] = {"accuracy": self.features.effects(OF_DISPUTED)}
        if self.kinds is not None:
            mean = float(np.average(self.accuracy, weights=np.maximum(claims, LEAST_CLAIMS)))
            described["item_effects"] = {"accuracy": self.kinds.effects(mean)}
        return described

    # --- judging ----------------------------------------------------------------------------------

    def weights(
        self, block: Block, found: Derived, *, final: bool = False, temper: bool = True
    ) -> Weights:
        """Return the weights of the claims, with copies and, if `final`, tempering.

        While it is learned, one of the claimed values is true; in the `final` answer none of them
        may be, which has a score of 0.
        """
        correlation = self.correlation if final and temper else 0.0
        return self._weights(block, found, correlation, final=final)

    def online(self, *, temper: bool) -> OnlineCoins:
        """Return a quick judge of claims that come one at a time, if no source copies another."""
        accuracy = self.by_attribute if self.differs else self.disputed[:, None]
        correlation = self.correlation if temper else 0.0
        return OnlineCoins(logit(accuracy), logit(self.accuracy), self.n_false, correlation)

    def _weights(self, block: Block, found: Derived, correlation: float, *, final: bool) -> Weights:
        log_odds, column = self._log_odds(block, final=final)
        shrink = np.zeros(0)
        if correlation > 0.0:
            shrink = design_effect(block, found, correlation * _still_alike(block))
        n_values = self._n_values(block)
        of_claim = kernels.weigh_claims(block, log_odds, column, n_values, *found, shrink)
        if block.n_voices_of_item.max(initial=0) > EVEN:
            unevenly = beyond_even_errors(block, counted(block, found), n_values)
            if len(shrink):
                unevenly /= np.repeat(shrink, block.n_supports_of_item)
            of_claim = of_claim + unevenly
        weights = Weights(
            "softmax", logit(self.disputed), of_claim=of_claim, unclaimed=0.0 if final else None
        )
        if not len(block.is_divisible_of_fact):
            return weights
        support, whole, odds = self._partly(block, final=final)
        each = np.ones(len(of_claim)) if not len(found[0]) else found[0].copy()
        if len(shrink):
            each /= np.repeat(shrink, block.n_supports_of_item)
        in_full = np.log1p(-self.habit[block.source_of_support])
        of_claim += each * in_full * block.is_divisible_of_fact[block.fact_of_support]
        return weights._replace(partly=(support, whole, each[support] * np.log1p(odds)))

    def _log_odds(self, block: Block, *, final: bool) -> tuple[FloatArray, IntArray]:
        """Return [source, column], and the column of each item: the last is for undisputed ones."""
        accuracy = self.by_attribute if self.differs else self.disputed[:, None]
        log_odds = np.append(logit(accuracy), logit(self.accuracy)[:, None], axis=1)
        column = self._cell_of_item(block) if self.differs else np.zeros(block.n_items, np.int32)
        if final:
            column = np.where(block.n_facts_of_item == 1, np.int32(accuracy.shape[1]), column)
        return log_odds, column


def _still_alike(block: Block) -> FloatArray:
    """Return, for each item, the share of the usual correlation of errors that is left to assume.

    The more voices an item has, the better its claims show to which values errors lead
    (`beyond_even_errors`). That part is not assumed again.
    """
    share_unseen = np.minimum(1.0, EVEN / np.maximum(block.n_voices_of_item, 1))
    return np.asarray(BEYOND_VALUES + (1.0 - BEYOND_VALUES) * share_unseen)


def _side_of_item(block: Block) -> IntArray:
    """Return the kind of each item; items with a known truth count as disputed."""
    is_undisputed = _is_undisputed(block)
    side = np.where(block.n_voices_of_item == 1, SAID_ONCE, UNDISPUTED)
    return np.where(is_undisputed, side, DISPUTED).astype(np.int32)


def _is_undisputed(block: Block) -> BoolArray:
    """Return the items of which a single value is claimed, and no truth known.

    Where a source shares its word among several values, it does not dispute with itself.
    """
    is_unknown = block.known_of_fact[block.first_fact_of_item[:-1]] == UNKNOWN
    is_one = block.n_facts_of_item == 1
    if block.has_shares:
        is_one |= block.n_voices_of_item == 1
    return np.asarray(is_unknown & is_one)


# --- how often false claims coincide ------------------------------------------------------------
#
# A source that errs may name anything. Where false claims hardly ever coincide, two sources that
# agree are almost surely right, however few they are. Real claims mostly coincide when they are
# false, for many reasons: old values, wrong units, copies. So only claims that clearly do not are
# taken to have more false values than are claimed.
#
# The claims of an item show which of its false values is the tempting one, if they are many.
# Hundreds who fall for it are then no more of a proof than one of them.


def beyond_even_errors(
    block: Block, weight_of_support: FloatArray, n_values_of_item: FloatArray
) -> FloatArray:
    """Return the correction of each support because errors fall on some values more than on others.

    If errors fall on all K values alike, each claim adds log K. But the probabilities of the values
    differ by item (Dirichlet, `EVEN` for each value): so n claims of N on one value are, were they
    false, as likely as n draws from a Pólya urn, and each of them adds the mean of

        log (K EVEN + N - 1 - j) - log (EVEN + j), j = 0 .. n - 1.

    With few claims that is log K.
    """
    is_many = block.n_voices_of_item > EVEN
    gain = np.zeros(block.n_facts)
    weight = weight_of_support if len(weight_of_support) else np.ones(len(block.source_of_support))
    n = np.add.reduceat(weight, block.first_support_of_fact[:-1])
    n_all = np.add.reduceat(n, block.first_fact_of_item[:-1])
    facts = np.flatnonzero(np.repeat(is_many, block.n_facts_of_item))
    item = block.item_of_fact[facts]
    n, n_all, n_values = np.maximum(n[facts], 1e-3), n_all[item], n_values_of_item[item]
    n_all, even = np.maximum(n_all, n), EVEN * n_values
    surprise = log_gamma(even + n_all) - log_gamma(even + n_all - n)
    surprise -= log_gamma(EVEN + n) - log_gamma(np.array(EVEN))
    gain[facts] = surprise / n - np.log(n_values)
    return np.asarray(weight * np.repeat(gain, block.n_supports_of_fact))


def log_likelihoods(block: Block, n_claims: float) -> FloatArray:
    """Return the log-likelihood of the way in which claims fall into the values of their items.

    Its axes are [accuracy, concentration]; items are added up. All sources are alike here: each
    names the true value with some probability, and otherwise a false one. False claims coincide as
    in Ewens' sampling formula, so that any two do with a probability of 1 / (1 + concentration).
    """
    block, _ = _some_items(block, n_claims, ENOUGH_CLAIMS).strongest_claims()
    of_item = log_likelihoods_of_items(block, ACCURACIES, CONCENTRATIONS)
    return np.asarray(of_item.sum(axis=0))


def log_likelihoods_of_items(
    block: Block, accuracies: Sequence[float] | FloatArray, concentrations: Sequence[float]
) -> FloatArray:
    """Return the log-likelihood of the claims of each item, [item, accuracy, concentration]."""
    total = np.zeros((block.n_items, len(accuracies), len(concentrations)))
    if block.n_items == 0:
        return total
    item, first, n_values = block.item_of_fact, block.first_fact_of_item[:-1], block.n_facts_of_item
    n = block.n_supports_of_fact.astype(np.float64)
    n_all = np.add.reduceat(n, first)
    ways = log_gamma(n)
    all_ways = np.add.reduceat(ways, first)
    for column, strength in enumerate(concentrations):
        rising = log_gamma(strength + np.arange(n_all.max() + 1)) - log_gamma(np.array(strength))
        others = (n_all[item] - n).astype(np.int64)
        apart = (n_values[item] - 1) * np.log(strength) + all_ways[item] - ways - rising[others]
        none = n_values * np.log(strength) + all_ways - rising[n_all.astype(np.int64)]
        for row, accuracy in enumerate(accuracies):
            if_true = n * np.log(accuracy) + (n_all[item] - n) * np.log(1.0 - accuracy) + apart
            if_none = n_all * np.log(1.0 - accuracy) + none
            most = np.maximum(np.maximum.reduceat(if_true, first), if_none)
            shares = np.add.reduceat(np.exp(if_true - most[item]), first) + np.exp(if_none - most)
            total[:, row, column] = most + np.log(shares)
    return total


# --- how much alike errors are ------------------------------------------------------------------
#
# Where items are harder than others, or mislead, sources err on the same ones: then an item has
# many agreeing claims, or few, more often than chance explains. The claims show that without any
# truth. But they do not show all of it: where most sources make the same mistake, they agree.


def log_spreads(block: Block, n_claims: float) -> FloatArray:
    """Return the log-likelihood of the claims if the accuracy differs by item.

    Its axes are [mean accuracy, correlation of errors, concentration]; items are added up. The
    accuracy on an item is drawn from a Beta distribution with this mean, and with the correlation r
    as its variance over that of a claim: its parameters add up to 1 / r - 1.
    """
    block, _ = _some_items(block, n_claims, ENOUGH_FOR_SPREAD).strongest_claims()
    of_item = log_likelihoods_of_items(block, SPREAD_ACCURACIES, SPREAD_CONCENTRATIONS)
    mean, accuracy = SPREAD_MEANS[:, None, None], SPREAD_ACCURACIES
    strength = 1.0 / SHOWN_CORRELATIONS[:, None] - 1.0
    log_share = (mean * strength - 1.0) * np.log(accuracy)
    log_share = log_share + ((1.0 - mean) * strength - 1.0) * np.log1p(-accuracy)
    share = np.exp(log_share - log_share.max(axis=2, keepdims=True))
    share /= share.sum(axis=2, keepdims=True)
    highest = of_item.max(axis=1, keepdims=True)
    likely = np.einsum("mra,iac->imrc", share, np.exp(of_item - highest))
    return np.asarray((np.log(likely) + highest[:, :, None]).sum(axis=0))


def shown_correlation(log_spread: FloatArray) -> float:
    """Return the largest correlation of errors that is likely, by a one-sided interval.

    >>> shown_correlation(np.zeros((7, 6, 6)))
    0.2
    """
    best = log_spread.max(axis=(0, 2))
    return float(SHOWN_CORRELATIONS[np.flatnonzero(best >= best.max() - LIKELY)[-1]])


def _some_items(block: Block, n_claims: float, enough: int) -> Block:
    """Return the items with claims of several sources, or a fixed sample of them."""
    is_some = (block.n_voices_of_item > 1) & ~block.is_known
    return block.select(is_some & block.sampled(enough / max(n_claims, 1.0), least=0))


def n_false_values(log_likelihood: FloatArray) -> float:
    """Return the least number of false values of an item; zero if only the claimed ones count.

    >>> n_false_values(np.zeros((6, 9)))
    0.0
    """
    best = log_likelihood.max(axis=0)
    least = CONCENTRATIONS[int(np.argmax(best >= best.max() - CLEARLY))]
    return 1.0 + least if least >= SELDOM else 0.0
