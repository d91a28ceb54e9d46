"""The one-coin error model: one accuracy per source, and one per attribute if they differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity.algorithms.base import BySource, CountBySource, Tally, clamp_known
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.regression import Counts, Regression, Shifts
from veracity.algorithms.rules import Weights, logit, plausibilities, sigmoid
from veracity.algorithms.veracity.coincidence import EVEN, beyond_even_errors
from veracity.algorithms.veracity.dispersion import USUAL, Pairs, Scatter
from veracity.algorithms.veracity.favourites import Favourites
from veracity.algorithms.veracity.shrinkage import (
    SUREST,
    Derived,
    counted,
    design_effect,
    likeliest_strength,
    says_most,
    shrunk,
    shrunk_accuracy,
    surely,
    weigh_known,
)
from veracity.claims.block import UNKNOWN, Block, BoolArray, FloatArray, IntArray, Names
from veracity.kernels.loading import kernels

ATTRIBUTE_STRENGTHS: FloatArray = 2.0 ** np.arange(14.0)
"""How many pseudo-claims a source's accuracy may be worth against that on one attribute."""

USUAL_CORRELATION = 0.2
"""How alike the voices on an item err, where any value may be named."""

BEYOND_VALUES = USUAL / USUAL_CORRELATION
"""How much of that is left where it is known which false values of an item tempt: that they are
right, or wrong, on the same items."""

DISPUTED, UNDISPUTED, SAID_ONCE = range(3)
"""Items by what they tell: several values, one value of several sources, one claim."""

SIDES = 3

OF_DISPUTED, OF_ALL = range(2)
N_RATES = 2
"""The rates that features tell of."""

DOMINANT = 0.25
"""The share of all claims from which one source dominates, if it also has that many times as much
as a source has on average."""


class OneCoin(NamedTuple):
    """One accuracy per source; an error is any other value of the item, claimed or one more, alike.

    So of an item with K claimed values, K are false, and a source that names one outweighs one that
    does not by ``log(K accuracy / (1 - accuracy))``. One that names m of them is right if the truth
    is among them: each has ``log((K - m + 1) / m accuracy / (1 - accuracy))``. Where there is a
    choice sources err more often than elsewhere, so there are two accuracies: where values differ,
    and on all that several speak of. The second one is for items of which a single value is
    claimed.

    When all that is learned, the first may go on to differ by attribute, as far as the claims show
    that it does. Not before: on one attribute alone, most may err and be believed. `by_attribute`
    is empty until then.
    """

    disputed: BySource
    accuracy: BySource
    by_attribute: BySource
    """[source, attribute]"""
    spoken: CountBySource
    """[source, `DISPUTED` or else]: of how many items it speaks."""
    spoken_by_attribute: CountBySource
    """[source, attribute]: of how many disputed ones."""
    known: CountBySource
    """[source, attribute, right or wrong]: where the truth is known."""
    expected: CountBySource
    """[source, attribute]: how often it would be right there, by what was learned."""
    prior: PriorRates
    strength: float
    n_attributes: int
    """One where reliability is not to differ by attribute."""
    n_false: float = 0.0
    """How many false values an item has at least, going by how seldom false claims coincide."""
    correlation: float = USUAL_CORRELATION
    """How alike the voices on an item err."""
    alike: float = 1.0
    """How far the claims show that voices on an item err alike, as they do as a rule."""
    features: Regression | None = None
    """What features of sources say of `disputed` and of `accuracy`."""
    kinds: Shifts | None = None
    """What features of items say of all sources; the attributes are then kinds of items."""
    favourites: Favourites | None = None
    """Values that sources fall back on; None if they are not looked for, or none is frequent."""

    @classmethod
    def at_start(
        cls, prior: PriorRates, n_attributes: int, strength: float, rows: FloatArray | None = None
    ) -> OneCoin:
        """Before anything was counted; there are `rows` of features, or not."""
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
            n_attributes=n_attributes,
            features=None if rows is None else Regression.at_start(rows, N_RATES),
        )

    def check(self, n_sources: int) -> None:
        """Refuse, with a `ValueError`, counts that are not of the attributes."""
        cells = (n_sources, self.n_attributes)
        told = (self.spoken_by_attribute.shape, self.expected.shape, self.known.shape[:2])
        columns = self.by_attribute.shape[1]
        if any(shape != cells for shape in told) or columns not in (0, self.n_attributes):
            raise ValueError("what was learned of attributes is not of these")
        if self.known.shape[2:] != (2,) or self.spoken.shape != (n_sources, SIDES):
            raise ValueError("what was counted of the sources is not of them")

    @property
    def differs(self) -> bool:
        """Whether accuracies differ by attribute by now."""
        return bool(self.by_attribute.shape[1] > 0)

    @property
    def falls_back(self) -> bool:
        """Whether any source has a value that it falls back on."""
        return self.favourites is not None and self.favourites.are_any

    @property
    def _alike(self) -> FloatArray:
        """[source, attribute]: accuracies that do not differ by attribute."""
        return np.repeat(self.disputed[:, None], self.n_attributes, axis=1)

    # --- tallies ----------------------------------------------------------------------------------

    def tally_survey(self, block: Block) -> Tally:
        """Of how many items each source speaks, and how often it is right where that is known.

        A source that names several values of an item speaks of it once.
        """
        side, n = _side_of_item(block), self.n_attributes
        cell = self._cell_of_item(block)
        column = np.where(side == DISPUTED, cell, n - 1 + side)  # others stand behind attributes
        voices = self._voices(block, column, n + SIDES - 1)
        by_attribute = voices[:, :n]
        spoken = np.column_stack([by_attribute.sum(axis=1), voices[:, n:]])
        return spoken, by_attribute, self._tally_known(block, cell)

    def _tally_known(self, block: Block, cell: IntArray) -> FloatArray:
        """[source, attribute, 2]: how often each source is right and wrong where that is known."""
        if not block.is_known.any():
            return np.zeros((len(self.disputed), self.n_attributes, 2))
        right = self._supports(block, (block.known_of_fact == 1).astype(np.float64), cell)
        known_items = np.where(block.is_known, cell, self.n_attributes)
        known = self._voices(block, known_items, self.n_attributes + 1)[:, :-1]
        return np.stack([right, np.maximum(known - right, 0.0)], axis=2)

    def learn_survey(self, total: Tally) -> OneCoin:
        """What was counted."""
        spoken, by_attribute, known = total
        return self._replace(spoken=spoken, spoken_by_attribute=by_attribute, known=known)

    def tally_right(self, block: Block, plausibility: FloatArray) -> Tally:
        """How often each source is right, by what its items tell."""
        number = clamp_known(plausibility, block)
        side, n_sources = _side_of_item(block), len(self.disputed)
        right = kernels.sum_by_source(block, number, side, n_sources, SIDES)
        if self.favourites is None:
            return right, None
        wrong = np.where(side[block.item_of_fact] == DISPUTED, 1.0 - number, 0.0)
        return right, self.favourites.tally(block, wrong)

    def tally(self, block: Block, found: Derived) -> Tally:
        """How often the sources are right (E-step)."""
        return self.tally_right(block, plausibilities(block, self.weights(block, found)))

    def tally_by_attribute(self, block: Block, found: Derived) -> Tally:
        """How often the sources are right on each attribute, where there is a choice.

        Kinds are also known by how often sources agree there: where they are easy, there is seldom
        a choice. So of these all is counted that several speak of, right claims and all claims.
        """
        plausibility = clamp_known(plausibilities(block, self.weights(block, found)), block)
        side, cell = _side_of_item(block), self._cell_of_item(block)

        def right(is_told: BoolArray) -> FloatArray:
            return self._supports(block, plausibility * is_told[block.item_of_fact], cell)

        if self.kinds is None:
            return (right(side == DISPUTED),)
        is_told = side != SAID_ONCE
        column = np.where(is_told, cell, self.n_attributes)
        spoken = self._voices(block, column, self.n_attributes + 1)[:, :-1]
        return right(side == DISPUTED), right(is_told), spoken

    def _supports(self, block: Block, number: FloatArray, cell_of_item: IntArray) -> FloatArray:
        """Sums over the facts that each source supports, by attribute."""
        n_sources = len(self.disputed)
        return np.asarray(
            kernels.sum_by_source(block, number, cell_of_item, n_sources, self.n_attributes)
        )

    def _voices(self, block: Block, column_of_item: IntArray, n_columns: int) -> FloatArray:
        """How many items of each column every source speaks of."""
        column = np.repeat(column_of_item, block.n_voices_of_item)
        cell = block.source_of_voice.astype(np.int64) * n_columns + column
        share = block.share_of_voice if block.has_shares else None
        counts = np.bincount(cell, share, len(self.disputed) * n_columns)
        return counts.reshape(len(self.disputed), n_columns).astype(np.float64)

    def _cell_of_item(self, block: Block) -> IntArray:
        if self.n_attributes == 1:
            return np.zeros(block.n_items, dtype=np.int32)
        return block.attribute_of_item if self.kinds is None else block.kind_of_item

    # --- what follows -----------------------------------------------------------------------------

    def learn_vote(self, total: Tally) -> OneCoin:
        """Before anything is judged, all items tell alike of a source."""
        counts = Counts(total[0].sum(axis=1), self.spoken.sum(axis=1))
        accuracy, features = self._shrunk(OF_DISPUTED, counts, self.features)
        learned = self._replace(disputed=accuracy, accuracy=accuracy, features=features)
        return learned._with_favourites(total)

    def learn(self, total: Tally) -> OneCoin:
        """Shares of right claims, shrunk (M-step)."""
        told = [DISPUTED, UNDISPUTED]  # one that nobody else speaks of tells nothing
        open_ones = told if self.is_dominated else [DISPUTED]
        of_open, of_all = (
            Counts(total[0][:, sides].sum(axis=1), self.spoken[:, sides].sum(axis=1))
            for sides in (open_ones, told)
        )
        disputed, features = self._shrunk(OF_DISPUTED, of_open, self.features)
        everywhere, features = self._shrunk(OF_ALL, of_all, features)
        learned = self._replace(disputed=disputed, accuracy=everywhere, features=features)
        return learned._with_favourites(total)

    def _with_favourites(self, total: Tally) -> OneCoin:
        """What sources fall back on; those that are fixed stay as they are."""
        right, named = total
        if self.favourites is None:
            return self
        errors = np.maximum(self.spoken[:, DISPUTED] - right[:, DISPUTED], 0.0)
        named = np.where((self.prior.is_fixed == 0)[:, None, None], named, 0.0)
        spoken = self.spoken.sum(axis=1)
        return self._replace(favourites=self.favourites.learn(named, errors, spoken))

    def _shrunk(
        self, rate: int, counts: Counts, features: Regression | None
    ) -> tuple[FloatArray, Regression | None]:
        return shrunk_accuracy(counts, self.prior, self.strength, features, rate)

    @property
    def is_dominated(self) -> bool:
        """Whether one source says so much that others are known by it, and it by nobody else.

        Where it is disputed there is then too little to learn from: all items are looked at.
        """
        claims = self.spoken.sum(axis=1)
        return bool(claims.max() > max(DOMINANT * claims.sum(), claims.mean() / DOMINANT))

    def learn_by_attribute(self, total: Tally) -> OneCoin:
        """Accuracies by attribute, shrunk towards the source's own: how much, is learned."""
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
        if kinds is not None:
            kinds = kinds._replace(strength=strength)
        return self._replace(by_attribute=np.where(is_free, learned, expected), kinds=kinds)

    def usual_correlation(self, claims: FloatArray) -> float:
        """How alike the voices on an item err, as far as is known without truths."""
        return USUAL_CORRELATION

    def scatter(self, block: Block, found: Derived, pairs: Pairs) -> Scatter:
        """By how much more, or less, voices are right on an item than is expected of them.

        That none of the values claimed is true has a row for each item, too.
        """
        item_of_fact, fact = block.item_of_fact, block.fact_of_support
        p = plausibilities(block, self.weights(block, found, told=True))
        none = np.maximum(1.0 - np.add.reduceat(p, block.first_fact_of_item[:-1]), 0.0)
        item, voice = item_of_fact[fact], block.counted(np.ones(len(fact)))
        right = self.disputed[block.source_of_support]
        expected, deviation = right * voice, np.sqrt(right * (1.0 - right)) * voice

        def of_item(number: FloatArray, of: IntArray = item) -> FloatArray:
            return np.bincount(of, number, block.n_items).astype(np.float64)

        one, other = pairs
        expected_of_pairs = of_item(expected[one] * expected[other], item[one])
        deviation_of_pairs = of_item(deviation[one] * deviation[other], item[one])
        row = np.append(item_of_fact, np.arange(block.n_items))
        says = np.add.reduceat(voice, block.first_support_of_fact[:-1])
        of_all = of_item(expected)
        beyond = np.append(says - of_all[item_of_fact], -of_all)
        said = np.append(_said_of_pairs(fact, voice, expected, pairs, block.n_facts), none * 0.0)
        return Scatter(
            row, np.append(p, none), beyond, of_item(deviation**2)[row], of_item(deviation)[row],
            expected_of_pairs[row] + said, deviation_of_pairs[row],
        )  # fmt: skip

    def tally_expected(self, block: Block, found: Derived, correlation: float) -> FloatArray:
        """How often the sources would be right on known items, were these not known.

        [source, attribute]; known items may be harder than others, or easier.
        """
        p = plausibilities(block, self.weights(block, found, correlation, told=True))
        return self._supports(block, p, self._cell_of_item(block))

    def calibrated(self) -> OneCoin:
        """The accuracies as the known truths correct them, against what was expected there."""
        known, expected = self.known.sum(axis=1), self.expected.sum(axis=1)
        return self._replace(
            disputed=weigh_known(self.disputed, known, expected, self.prior),
            accuracy=weigh_known(self.accuracy, known, expected, self.prior),
            by_attribute=self._calibrated_by_attribute() if self.differs else self.by_attribute,
        )

    def _calibrated_by_attribute(self) -> FloatArray:
        """All of a source move as it does on what is known, then each by its own attribute."""
        known, expected = self.known.sum(axis=1), self.expected.sum(axis=1)
        n_known = known.sum(axis=1)
        mean = np.where(n_known > 0.0, expected / np.maximum(n_known, 1.0), self.disputed)
        mean = np.clip(mean, SUREST, 1.0 - SUREST)
        move = (logit(weigh_known(mean, known, expected, self.prior)) - logit(mean))[:, None]
        of_cell = np.maximum(self.known.sum(axis=2), 1e-9)
        then = sigmoid(logit(np.clip(self.expected / of_cell, SUREST, 1.0 - SUREST)) + move)
        moved = sigmoid(logit(self.by_attribute) + move)
        return weigh_known(moved, self.known, then * self.known.sum(axis=2), self.prior)

    def change(self, after: OneCoin) -> float:
        """By how much the accuracies moved, on average."""
        return float(np.abs(after.disputed - self.disputed).mean())

    def change_by_attribute(self, after: OneCoin) -> float:
        """By how much those of attributes moved, on average over those that anything is said of."""
        before = self.by_attribute if self.differs else self._alike
        move = np.abs(after.by_attribute - before)[self.spoken_by_attribute > 0.0]
        return float(move.mean()) if len(move) else 0.0

    def grown(self, names: Names) -> OneCoin:
        """With room for attributes never met: there a source is as good as elsewhere."""
        model = self
        if names.n_open:  # values have no numbers of their own by which they could be found
            model = model._replace(favourites=None)
        n_attributes = len(names.attributes)
        n_new = n_attributes - self.n_attributes
        if self.kinds is not None or n_new <= 0 or self.n_attributes == 1:
            return model
        of_new = np.repeat(self.disputed[:, None], n_new, axis=1)
        return model._replace(
            by_attribute=np.append(self.by_attribute, of_new, axis=1)
            if self.differs
            else self.by_attribute,
            spoken_by_attribute=np.pad(self.spoken_by_attribute, [(0, 0), (0, n_new)]),
            known=np.pad(self.known, [(0, 0), (0, n_new), (0, 0)]),
            expected=np.pad(self.expected, [(0, 0), (0, n_new)]),
            n_attributes=n_attributes,
        )

    def borrowing(self, rows: FloatArray, n_met: int) -> OneCoin:
        """Sources never met are as their features say; `rows` has those of all."""
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

    # --- judging ----------------------------------------------------------------------------------

    def weights(
        self, block: Block, found: Derived, correlation: float = 0.0, *, told: bool = False
    ) -> Weights:
        """What each claim is worth, copies and tempering counted in.

        While it is learned, one of the claimed values is true; when the answer is `told`, none of
        them may be, which has a score of 0.
        """
        log_odds, column = self._log_odds(block, told=told)
        shrink = np.zeros(0)
        if correlation > 0.0:
            shrink = design_effect(block, found, correlation * _still_alike(block))
        n_values = np.maximum(block.n_facts_of_item, self.n_false)
        of_claim = kernels.weigh_claims(block, log_odds, column, n_values, *found, shrink)
        unevenly = self._beyond_even_errors(block, found, n_values)
        if unevenly is not None:
            if len(shrink):
                unevenly /= np.repeat(shrink, block.n_supports_of_item)
            of_claim = of_claim + unevenly
        support = logit(self.disputed)
        return Weights("softmax", support, of_claim=of_claim, unclaimed=0.0 if told else None)

    def _beyond_even_errors(
        self, block: Block, found: Derived, n_values: FloatArray
    ) -> FloatArray | None:
        """What supports gain or lose as errors are not even: by the item, or by their source.

        Where many speak, the item's own claims show what tempts; else what sources fall back on.
        """
        are_many = block.n_voices_of_item.max(initial=0) > EVEN
        if not (are_many or self.falls_back):
            return None
        weight = counted(block, found)
        gain = beyond_even_errors(block, weight, n_values) if are_many else 0.0
        if self.favourites is not None and self.falls_back:
            own = self.favourites.gain_of_support(block, n_values)
            own = own * weight if len(weight) else own
            is_open = (block.n_voices_of_item <= EVEN) & (block.n_facts_of_item > 1)
            gain = gain + np.where(np.repeat(is_open, block.n_supports_of_item), own, 0.0)
        return np.asarray(gain)

    def _log_odds(self, block: Block, *, told: bool) -> tuple[FloatArray, IntArray]:
        """[source, column], and the column of each item: the last is for undisputed ones."""
        accuracy = self.by_attribute if self.differs else self.disputed[:, None]
        log_odds = np.append(logit(accuracy), logit(self.accuracy)[:, None], axis=1)
        column = self._cell_of_item(block) if self.differs else np.zeros(block.n_items, np.int32)
        if told:
            column = np.where(block.n_facts_of_item == 1, np.int32(accuracy.shape[1]), column)
        return log_odds, column


def _still_alike(block: Block) -> FloatArray:
    """How much of the usual correlation is left of each item: the less, the more voices it has.

    As they err towards some values more than towards others (`beyond_even_errors`), the claims of
    an item show the part of it that is no more than naming the same false value.
    """
    share_unseen = np.minimum(1.0, EVEN / np.maximum(block.n_voices_of_item, 1))
    return np.asarray(BEYOND_VALUES + (1.0 - BEYOND_VALUES) * share_unseen)


def _side_of_item(block: Block) -> IntArray:
    """Whether there is a choice: where the truth is known there always is."""
    is_undisputed = _is_undisputed(block)
    side = np.where(block.n_voices_of_item == 1, SAID_ONCE, UNDISPUTED)
    return np.where(is_undisputed, side, DISPUTED).astype(np.int32)


def _is_undisputed(block: Block) -> BoolArray:
    """Of which items a single value is claimed, and no truth known.

    Where a source shares its word among several values, it does not dispute with itself.
    """
    is_unknown = block.known_of_fact[block.first_fact_of_item[:-1]] == UNKNOWN
    is_one = block.n_facts_of_item == 1
    if block.has_shares:
        is_one |= block.n_voices_of_item == 1
    return np.asarray(is_unknown & is_one)


def _said_of_pairs(
    fact: IntArray, voice: FloatArray, expected: FloatArray, pairs: Pairs, n_facts: int
) -> FloatArray:
    """What supporters of a fact add to the products of errors over pairs, beside what is expected.

    Errors are x - e, with x the voice where it supports the fact and else 0: so of each pair
    (x - e)(y - f) less e f.
    """
    one, other = pairs
    same = fact[one] == fact[other]
    added = np.bincount(fact[one[same]], (voice[one] * voice[other])[same], n_facts)
    for this, that in ((one, other), (other, one)):
        added = added - np.bincount(fact[this], voice[this] * expected[that], n_facts)
    return np.asarray(added)
