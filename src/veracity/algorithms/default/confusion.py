"""Model labels by a confusion matrix per source, shrunk towards the source's accuracy."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Tally
from veracity.algorithms.default.shrinkage import (
    CYCLES,
    SUREST,
    Derived,
    ModelPhase,
    ModelStep,
    counted,
    expected_of,
    first_vote,
    known_part,
    likeliest_strength,
    logs_beyond_expected,
    says_most,
    surely,
    voices_of_item,
    weigh_known,
)
from veracity.algorithms.labels import grown_confusion, grown_share, spread_labels
from veracity.algorithms.online import OnlineLabels
from veracity.algorithms.prior import PriorRates
from veracity.algorithms.regression import Beforehand, Counts, Regression
from veracity.algorithms.rules import (
    LEAST_PLAUSIBLE,
    NOT_AHEAD,
    Vote,
    Weights,
    clamp_labels,
    highest_of_rows,
    label_probabilities,
    label_scores,
    logit,
    plausibilities,
    sigmoid,
    sum_of_rows,
)
from veracity.dependence.agreement import largest_family
from veracity.dependence.naming import Meetings
from veracity.encoding.block import SAME, Block, FloatArray
from veracity.encoding.names import Names
from veracity.trees import BySource, CountBySource

STRENGTHS: FloatArray = 2.0 ** np.arange(-2.0, 11.0)
"""Candidate weights of a mean, in pseudo-claims; the most likely one is used."""

LEAST_SHARE = 1e-6
"""Smallest assumed share of the items with a true label."""

FEWEST_SHARED = -0.1
"""Agreement beyond chance (kappa) below which nothing is learned. Independent sources, however bad,
agree as often as chance; these contradict each other on purpose, as rules for one label each do."""

CORRELATION = 0.4
"""Correlation of errors on one item. Claims cannot show an error that all sources share; in 51 real
sets of labels .4 to .6 gave the best calibration (.2: .108 for .082)."""

NEGATIVE = 0.03
"""Measured correlation below zero that shows that sources err independently."""

FEWEST_CLAIMS = 4.0
"""Claims per item from which the measured correlation means anything."""

SHARE_OF_VOTE = 0.25
"""Weight of the vote in a plausibility (calibration error .082; with none .089, a half .088)."""

SHARE_OF_JUDGED = 0.5
"""Weight of the judged shares of labels against the claimed ones. Judged shares alone can feed on
themselves until one label is left; from none to all of it, accuracies differ by .001."""

SETTLED = 50
"""Number of rounds after which the strengths are fixed. They could alternate for ever, while
expectation maximisation with fixed strengths converges."""

ENOUGH_CLAIMS = 500_000
"""Claims, of items drawn at random, from which the strength of confusions is learned."""

ALIKE, OVERTURNED = 4.0, 1 / 30
"""Limits from which the answer depends on an assumption: confusions have at least the strength
`ALIKE` (sources are very similar), and two simpler answers differ from it on at least this share
of the items: `OVERTURNED`."""

CLEARLY = 3.0
"""Minimum gain in log-likelihood of the known truths that shows that sources are not as they
seem."""

LOOKED_AT = 100_000
"""Claims, of items drawn at random, on which simpler answers are compared."""


FAMILY = 0.25
"""Smallest share of all claims of a family of copies that counts once."""


class Confusions(NamedTuple):
    """Confusion matrices of sources: ``confusion[s, k, l]`` is P(s claims l | k is true)."""

    accuracy: BySource
    confusion: BySource
    only: Annotated[FloatArray, "source", -1.0]
    """Label of a source that claims one label only; -1 for all others."""
    evidence: CountBySource
    """[source, label]: weight of a claim of such a source, log P(label | claim) / P(label)."""
    family: CountBySource
    """One for members of a family of copies whose claims count once; else zero."""
    simple: BySource
    """Accuracies after two rounds without confusions, to compare answers with."""
    prior: PriorRates
    share: FloatArray
    """Share of the items of which each label is true, as used for judging (pi on the page)."""
    claimed: FloatArray
    """Share of the claims that name each label (q)."""
    unlike: float = 1.0
    """Share of the claims that is by sources which claim two labels or more (beta)."""
    agreement: float = 0.0
    """Agreement of two claims on one item, beyond chance (kappa)."""
    n_claims: float = 0.0
    per_item: float = 1.0
    """Mean number of claims of an item."""
    pooled: float = 8.0
    """Strength of the mean accuracy of all sources, in pseudo-claims (alpha)."""
    strength: float = 8.0
    """Strength of a source's accuracy in its confusions, in pseudo-claims (lambda)."""
    correlation: float = CORRELATION
    """Correlation of errors on one item (rho)."""
    rounds: int = 0
    """Number of rounds so far."""
    overturned: float = 0.0
    """Share of the items whose answer is neither that of the vote nor that of `simple`."""
    features: Regression | None = None

    @classmethod
    def at_start(
        cls, prior: PriorRates, n_labels: int, rows: FloatArray | None = None
    ) -> Confusions:
        """Return the model before any claim; `rows` are features of the sources, if there are."""
        n_sources, share = len(prior.tpr), np.full(n_labels, 1.0 / n_labels)
        features = None if rows is None else Regression.at_start(rows, 1)
        return cls(
            accuracy=prior.tpr,
            confusion=plain_confusion(prior.tpr, n_labels),
            only=np.full(n_sources, -1.0),
            evidence=np.zeros((n_sources, n_labels)),
            family=np.zeros(n_sources),
            simple=prior.tpr,
            prior=prior,
            share=share,
            claimed=share,
            features=features,
        )

    @property
    def learns_nothing(self) -> bool:
        """Return True if claims on one item agree less than by chance: then the vote answers."""
        return self.agreement < FEWEST_SHARED

    @property
    def rests_on_assumption(self) -> bool:
        """Return True if the answer is far from simpler ones though sources are much alike."""
        is_alike = self.strength >= ALIKE and not self.learns_nothing
        return is_alike and self.overturned >= OVERTURNED

    def derive(self, block: Block, weight: FloatArray, n_sources: int) -> Derived:
        """Return the weight of each support: 1/m of m values, and a family as one voice."""
        n_named = np.zeros(0, dtype=np.int32)
        if not block.has_shares and len(block.source_of_support) != len(block.source_of_voice):
            n_named = np.asarray(kernels.count_named(block, n_sources))
            weight = 1.0 / n_named
        is_member = self.family[block.source_of_support] > 0.0
        if is_member.any():
            weight = weight if len(weight) else np.ones(len(is_member))
            item = block.item_of_fact[block.fact_of_support]
            voices = np.bincount(item, block.weighted(weight) * is_member, block.n_items)
            weight = np.where(is_member, weight / np.maximum(voices[item], weight), weight)
        return weight, n_named[:0]

    def phases(self) -> tuple[ModelPhase, ...]:
        """Return the phases in order."""
        own = type(self)
        doubt = (
            ModelStep(own.tally_doubt, own.learn_doubt),
            ModelStep(own.tally_simple, own.learn_simple),
            ModelStep(own.tally_overturned, own.learn_overturned),
        )
        again = ModelStep(own.tally, own.learn)
        phases = [
            ModelPhase("survey", (ModelStep(own.tally_survey, own.learn_survey),)),
            ModelPhase("vote", (ModelStep(own.tally_vote, own.learn_vote),)),
            ModelPhase("accuracies", (again,), own.change),
        ]
        if self.prior.known.any():
            compare = ModelStep(own.tally_expected, own.learn_expected)
            steps = (doubt[0], compare, *CYCLES * (again, compare))
            phases.append(ModelPhase("known truths", steps))
        return (*phases, ModelPhase("doubt", doubt))

    # --- survey: 0 of the recipe ------------------------------------------------------------------

    def tally_survey(self, block: Block, found: Derived) -> Tally:
        """Count the claims of each source, and the pairs of claims on an item that agree."""
        found = self.derive(block, np.zeros(0), len(self.accuracy))
        weight = counted(block, found)
        weight = weight if len(weight) else np.ones(len(block.source_of_support))
        label = block.label_of_fact[block.fact_of_support].astype(np.int64)
        n_sources, n_labels = self.evidence.shape
        cell = block.source_of_support * np.int64(n_labels) + label
        said = np.bincount(cell, weight, n_sources * n_labels).reshape(n_sources, n_labels)
        votes = np.add.reduceat(weight, block.first_support_of_fact[:-1])
        voices, own = voices_of_item(block, found), (weight**2).sum()
        same, pairs = (votes**2).sum() - own, (voices**2).sum() - own
        return said, float(same), float(pairs), block.n_items

    def learn_survey(self, total: Tally) -> Confusions:
        """Read the claimed labels, the one-label sources and kappa from the counts."""
        said, same, pairs, n_items = total
        n_claims = max(float(said.sum()), 1e-300)
        claimed = said.sum(axis=0) / n_claims
        by_chance = float((claimed**2).sum())
        room = (1.0 - by_chance) * pairs
        is_one = (np.count_nonzero(said, axis=1) == 1) & (self.prior.is_fixed == 0)
        return self._replace(
            only=np.where(is_one, said.argmax(axis=1), -1).astype(np.float64),
            claimed=claimed,
            share=np.maximum(claimed, LEAST_SHARE),
            unlike=float(said[~is_one].sum()) / n_claims,
            agreement=(same - by_chance * pairs) / room if room > 0.0 else 0.0,
            n_claims=n_claims,
            per_item=n_claims / max(n_items, 1),
        )

    # --- M-step: 1 of the recipe ------------------------------------------------------------------

    def tally_vote(self, block: Block, found: Derived) -> Tally:
        """Count the claims of each source by label and true label, if a vote is right."""
        vote = first_vote(block, found, self.prior)
        return self._met(block, found, spread_labels(vote, block, len(self.share)))

    def tally(self, block: Block, found: Derived) -> Tally:
        """Judge the labels of every item, and count each source's claims by true label (E-step)."""
        if self.learns_nothing:
            return None, None, None, 0
        return self._met(block, found, self._judged(block, found))

    def _judged(self, block: Block, found: Derived) -> FloatArray:
        return label_probabilities(label_scores(block, self.weights(block, found)))

    def _met(self, block: Block, found: Derived, label: FloatArray) -> Tally:
        """Count [source, true label, claimed label] softly, and by the likeliest label of an item.

        A single claim on an item is no evidence of its source, unless the truth of the item is
        known.
        """
        label, n_sources = clamp_labels(label, block), len(self.accuracy)
        tells = ((block.n_voices_of_item > 1) | block.is_known)[:, None]
        once = block
        if len(found[0]):
            ones = np.ones(len(block.source_of_voice))
            once = block._replace(share_of_support=counted(block, found), share_of_voice=ones)
        counts = kernels.count_confusions(once, label * tells, n_sources)
        is_drawn = block.sampled(ENOUGH_CLAIMS / max(self.n_claims, 1.0), least=0)
        hard = np.zeros_like(counts)
        if is_drawn.any():
            some, own = (
                (once, label) if is_drawn.all() else (once.select(is_drawn), label[is_drawn])
            )
            own = np.round(own, SAME)
            best = (own == highest_of_rows(own)) * tells[is_drawn]
            best = best / np.maximum(sum_of_rows(best), 1.0)
            hard = kernels.count_confusions(some, best, n_sources)
        return counts, hard, label.sum(axis=0), block.n_items

    def learn_vote(self, total: Tally) -> Confusions:
        """Learn from the counts by the vote, with every strength tried."""
        return self._replace(rounds=0)._learned(total)

    def learn(self, total: Tally) -> Confusions:
        """Learn accuracies, confusions and shares of labels from the counts (M-step)."""
        return self if total[0] is None else self._learned(total)

    def _learned(self, total: Tally) -> Confusions:
        counts, hard, labels, n_items = total
        right, n = np.einsum("skk->s", counts), counts.sum(axis=(1, 2))
        is_free = self.prior.is_fixed == 0
        mean = float((right.sum() + 1.0) / (n.sum() + 2.0))
        expected = expected_of(mean, self.prior.tpr)
        outcomes = np.stack([right, np.maximum(n - right, 0.0)], axis=1)
        usual = np.stack([expected, 1.0 - expected], axis=1)
        tells = is_free & (n > 0.0) & says_most(np.where(is_free, n, 0.0), 2)
        pooled = likeliest_strength(outcomes[tells], usual[tells], self._tried(self.pooled))
        if self.features is None:
            accuracy, features = (right + pooled * expected) / (n + pooled), None
        else:
            known = Beforehand.of(mean, self.prior.tpr, self.prior, pooled)
            accuracy, features = self.features.shrunk(0, Counts(right, n), known)
        accuracy = np.where(is_free, surely(accuracy), self.prior.tpr)
        plain = plain_confusion(accuracy, len(self.share))
        judged = np.maximum(labels / max(n_items, 1), LEAST_SHARE)
        share = np.maximum(
            self.claimed + SHARE_OF_JUDGED * self.unlike * (judged - self.claimed), LEAST_SHARE
        )
        learned = self._replace(
            accuracy=accuracy, pooled=pooled, share=share / share.sum(), features=features,
            rounds=self.rounds + 1,
        )  # fmt: skip
        learned = learned._with_confusions(counts, hard, plain, self._tried(self.strength))
        return learned._with_evidence(counts, n, plain, judged)

    def _tried(self, strength: float) -> FloatArray:
        """Return the strengths that are tried in this round."""
        if self.rounds == 0:
            return STRENGTHS
        if self.rounds > SETTLED:
            return np.array([strength])
        tried = strength * np.array([1.0, 0.5, 2.0])
        return np.asarray(tried[(tried >= STRENGTHS[0]) & (tried <= STRENGTHS[-1])])

    def _with_confusions(
        self, counts: FloatArray, hard: FloatArray, plain: FloatArray, tried: FloatArray
    ) -> Confusions:
        """Learn confusions, with those that follow from the accuracy as pseudo-claims."""
        n_labels, is_free = len(self.share), self.prior.is_fixed == 0
        n_hard = np.where(is_free & (self.only < 0.0), hard.sum(axis=(1, 2)), 0.0)
        tells = (n_hard > 0.0) & says_most(n_hard, n_labels**2)
        said, usual = (rows[tells].reshape(-1, n_labels) for rows in (hard, plain))
        strength = likeliest_strength(said, usual, tried)
        confusion = counts + strength * plain
        confusion /= confusion.sum(axis=2, keepdims=True)
        confusion[~is_free] = plain[~is_free]
        return self._replace(confusion=confusion, strength=strength)

    def _with_evidence(
        self, counts: FloatArray, n: FloatArray, plain: FloatArray, judged: FloatArray
    ) -> Confusions:
        """Learn the weight of a claim of a source that claims one label only.

        The rows of its confusion matrix cannot be learned one by one, as the source is silent where
        it does not claim its label. So the column is used: how often each label is true where it
        claims.
        """
        one = np.flatnonzero(self.only >= 0.0)
        label = self.only[one].astype(np.int64)
        usual = judged * plain[one, :, label]
        usual /= usual.sum(axis=1, keepdims=True)
        column = (counts[one, :, label] + self.pooled * usual) / (n[one] + self.pooled)[:, None]
        evidence = np.zeros_like(self.evidence)
        evidence[one] = np.log(column / judged)
        return self._replace(evidence=evidence)

    def change(self, after: Confusions) -> float:
        """Return the total variation by which the rows of a source moved, on average."""
        return float(0.5 * np.abs(after.confusion - self.confusion).sum(axis=(1, 2)).mean())

    # --- doubt: 4 of the recipe -------------------------------------------------------------------

    def tally_doubt(self, block: Block, found: Derived) -> Tally:
        """Sum products of errors on one item, and count how often the vote is right by source."""
        return self._tally_correlation(block), self._tally_right(block, by_vote=True)

    def learn_doubt(self, total: Tally) -> Confusions:
        """Set the correlation of errors on one item, and one accuracy of each source."""
        return self._with_correlation(*total[0]).learn_simple(total[1])

    def _tally_correlation(self, block: Block) -> tuple[float, float]:
        """Sum products of the errors of two claims on one item, and the largest value of that sum.

        If label k of an item is true, n_k claims are right; the accuracies lead to expect A. The
        sum over pairs of claims is (n_k - A)² less the variances; if all errors were the item's, it
        would be the square of the sum of deviations less the variances.
        """
        if self.learns_nothing:
            return 0.0, 0.0
        is_drawn = block.sampled(ENOUGH_CLAIMS / max(self.n_claims, 1.0), least=0) & ~block.is_known
        if not is_drawn.any():
            return 0.0, 0.0
        block = block.select(is_drawn)
        found = self.derive(block, np.zeros(0), len(self.accuracy))
        weight = counted(block, found)
        weight = weight if len(weight) else np.ones(len(block.source_of_support))
        accuracy = self.accuracy[block.source_of_support]
        variance = accuracy * (1.0 - accuracy)
        first = block.first_support_of_fact[block.first_fact_of_item[:-1]]
        expected, own, deviation = (
            np.add.reduceat(of_claim, first)
            for of_claim in (weight * accuracy, weight**2 * variance, weight * np.sqrt(variance))
        )
        votes = np.add.reduceat(weight, block.first_support_of_fact[:-1])
        right = spread_labels(votes, block, len(self.share))
        beyond = self._judged(block, found) * (right - expected[:, None]) ** 2
        return float(beyond.sum() - own.sum()), float((deviation**2 - own).sum())

    def _with_correlation(self, together: float, at_most: float) -> Confusions:
        """Set the correlation that answers are tempered by.

        It is as high as in real data, whatever the claims show, unless errors repel each other.
        """
        measured = together / at_most if at_most > 0.0 else 0.0
        if self.per_item < FEWEST_CLAIMS:
            measured = 0.0
        return self._replace(
            correlation=CORRELATION * min(max(1.0 + measured / NEGATIVE, 0.0), 1.0)
        )

    def tally_simple(self, block: Block, found: Derived) -> Tally:
        """Count how often sources are right, judged by one accuracy each."""
        return self._tally_right(block, by_vote=False)

    def _tally_right(self, block: Block, *, by_vote: bool) -> Tally:
        """Count how often sources are right by a simpler answer, on items drawn at random."""
        some, found = self._compared(block)
        n_sources = len(self.simple)
        if some.n_items == 0:
            return np.zeros(n_sources), np.zeros(n_sources)
        label = self._voted(some, found) if by_vote else self._simply(some, found)
        own = label[some.item_of_fact, some.label_of_fact]
        number = np.column_stack([own, np.ones(some.n_facts)])
        weight = counted(some, found)
        weight = weight if len(weight) else np.ones(len(some.source_of_support))
        return tuple(
            np.bincount(some.source_of_support, weight * of_fact[some.fact_of_support], n_sources)
            for of_fact in number.T
        )

    def learn_simple(self, total: Tally) -> Confusions:
        """Learn one accuracy of each source."""
        right, n = total
        mean = float((right.sum() + 1.0) / (n.sum() + 2.0))
        return self._replace(simple=surely((right + self.pooled * mean) / (n + self.pooled)))

    def tally_overturned(self, block: Block, found: Derived) -> Tally:
        """Count the items on which the answer differs from the vote and from a simpler model."""
        some, found = self._compared(block)
        if some.n_items == 0:
            return 0, 0
        answer, simple, vote = (
            np.round(np.where(self._voted(some, found) > 0.0, label, -1.0), SAME)
            for label in (
                self._judged(some, found), self._simply(some, found), self._voted(some, found)
            )
        )  # fmt: skip
        is_answer = answer == answer.max(axis=1, keepdims=True)
        differs = [
            ~(is_answer & (own == own.max(axis=1, keepdims=True))).any(axis=1)
            for own in (simple, vote)
        ]
        return int(np.logical_and(*differs).sum()), some.n_items

    def learn_overturned(self, total: Tally) -> Confusions:
        """Take the share of the items that is overturned."""
        return self._replace(overturned=total[0] / max(total[1], 1))

    def _compared(self, block: Block) -> tuple[Block, Derived]:
        """Return the items on which simpler answers are compared, where confusions are weak."""
        share = LOOKED_AT / max(self.n_claims, 1.0)
        is_drawn = block.sampled(share, least=0) & ~block.is_known
        if self.strength < ALIKE or self.learns_nothing:
            is_drawn[:] = False
        some = block.select(is_drawn)
        return some, self.derive(some, np.zeros(0), len(self.accuracy))

    def _simply(self, block: Block, found: Derived) -> FloatArray:
        plain = self._replace(
            confusion=plain_confusion(self.simple, len(self.share)), only=self.only * 0.0 - 1.0
        )
        judged: FloatArray = plain._judged(block, found)
        return judged

    # --- judging: 2 and 3 of the recipe -----------------------------------------------------------

    def weights(
        self, block: Block, found: Derived, *, final: bool = False, temper: bool = True
    ) -> Weights:
        """Return the weighted log P(claimed | true label) of sources; if `final`, with doubt."""
        weights = Weights(
            "softmax",
            np.zeros(len(self.accuracy)),  # it is all in the confusions
            prior=np.log(self.share),
            of_claim=found[0] if len(found[0]) else None,
            confusion=self._log_confusion(),
        )
        if not final or not (temper or self.learns_nothing):
            return weights
        shrink = 1.0 + np.maximum(voices_of_item(block, found) - 1.0, 0.0) * self.correlation
        vote = Vote(self._voted(block, found), SHARE_OF_VOTE)
        if self.learns_nothing:
            vote = Vote(self._voted(block, found, pseudo_votes=1.0), 1.0)
        return weights._replace(shrink_of_item=shrink, vote=vote)

    def online(self, *, temper: bool) -> OnlineLabels | None:
        """Return a quick judge of claims that come one at a time, unless a family counts once."""
        if self.learns_nothing or self.family.any():
            return None
        vote = (SHARE_OF_VOTE, NOT_AHEAD, LEAST_PLAUSIBLE) if temper else (0.0, 1.0, 0.0)
        correlation = self.correlation if temper else 0.0
        return OnlineLabels(self._log_confusion(), np.log(self.share), correlation, vote)

    def _log_confusion(self) -> FloatArray:
        """Return log P(claimed | true label), with the evidence of one-label sources."""
        log_confusion = np.log(self.confusion)
        one = np.flatnonzero(self.only >= 0.0)
        log_confusion[one, :, self.only[one].astype(np.int64)] = self.evidence[one]
        return log_confusion

    def _voted(self, block: Block, found: Derived, *, pseudo_votes: float = 0.0) -> FloatArray:
        """Return the share of the votes for each label of each item."""
        weight = found[0] if len(found[0]) else np.ones(len(block.source_of_support))
        votes = spread_labels(kernels.sum_claims(block, weight), block, len(self.share))
        total = sum_of_rows(votes) + pseudo_votes
        return np.asarray((votes + pseudo_votes / votes.shape[1]) / total)

    def with_family(self, slots: FloatArray, met: Meetings, claims: FloatArray) -> Confusions:
        """Return the model in which a large family of copies counts once."""
        chance, is_plain = 1.0 / len(self.share), self.only < 0.0
        family = largest_family(slots, met[:2], chance, claims, is_plain, FAMILY)
        return self._replace(family=family)

    def described(self, claims: FloatArray) -> dict[str, Any]:
        """Return the confusions, if any were learned, effects of features, and reasons to doubt."""
        described: dict[str, Any] = {"confusion": None if self.learns_nothing else self.confusion}
        if self.features is not None:
            described["source_effects"] = {"accuracy": self.features.effects(0)}
        found = {}
        if self.learns_nothing:
            found["nothing-to-learn"] = (
                "claims on one item agree less often than by chance "
                f"(kappa {self.agreement:.2f}), so the vote answers"
            )
        if self.rests_on_assumption:
            found["assumption"] = (
                f"{self.overturned:.0%} of the items get a value that neither the vote nor one "
                "accuracy per source gives them"
            )
        if self.family.any():
            share = float(claims[self.family > 0.0].sum() / claims.sum())
            found["one-family"] = (
                f"{int(self.family.sum())} sources with {share:.0%} of the claims agree far more "
                "often than their accuracies explain; their claims count once"
            )
        return {**described, "findings": found}

    # --- known truths, new names ------------------------------------------------------------------

    def tally_expected(self, block: Block, found: Derived) -> Tally:
        """Count how often sources are right on known items, and would be were these not known."""
        if not block.is_known.any() or self.learns_nothing:
            return (None,)
        known, found = known_part(block, found)
        p = plausibilities(known, self.weights(known, found, final=True))
        right = (known.known_of_fact == 1).astype(np.float64)
        column, n_sources = np.zeros(known.n_items, np.int32), len(self.accuracy)
        counts = [
            kernels.sum_by_source(known, number, column, n_sources, 1)
            for number in (right, 1.0 - right, p)
        ]
        return (np.concatenate(counts, axis=1),)

    def learn_expected(self, total: Tally) -> Confusions:
        """Return the model corrected by known truths, if they clearly contradict it.

        Known truths also count in every round, so little is left to correct if sources are as
        accurate as they seem; a correction would then be chance alone. The correction makes a
        source's right claims more frequent by the same factor on all labels.
        """
        if total[0] is None:
            return self
        counts = np.zeros((len(self.accuracy), 3))
        counts[: len(total[0])] = total[0]
        known, expected = counts[:, :2], counts[:, 2]
        n_known = known.sum(axis=1)
        mean = surely(np.where(n_known > 0.0, expected / np.maximum(n_known, SUREST), 0.5))
        if logs_beyond_expected(known, mean) < CLEARLY:
            return self
        move = logit(weigh_known(mean, known, n_known * mean, self.prior)) - logit(mean)
        confusion = np.maximum(_moved(self.confusion, move), LEAST_SHARE)
        return self._replace(
            accuracy=surely(sigmoid(logit(self.accuracy) + move)),
            confusion=confusion / confusion.sum(axis=2, keepdims=True),
        )

    def grown(self, names: Names) -> Confusions:
        """Return the model with room for new labels."""
        n_labels = len(names.labels)
        n_new = n_labels - len(self.share)
        if n_new <= 0:
            return self
        return self._replace(
            confusion=grown_confusion(self.confusion, n_labels),
            evidence=np.pad(self.evidence, [(0, 0), (0, n_new)]),
            share=grown_share(self.share, n_labels),
            claimed=np.pad(self.claimed, [(0, n_new)]),
        )

    def borrowing(self, rows: FloatArray, n_met: int) -> Confusions:
        """Return the model with new sources as their features predict; `rows` has those of all."""
        assert self.features is not None
        features = self.features._replace(rows=rows)
        accuracy = np.append(self.accuracy[:n_met], surely(features.expected(0)[n_met:]))
        move = (logit(accuracy) - logit(self.accuracy))[n_met:]
        new = _moved(self.confusion[n_met:], move)
        confusion = np.concatenate([self.confusion[:n_met], new])
        return self._replace(accuracy=accuracy, confusion=confusion, features=features)


def _moved(confusion: FloatArray, move: FloatArray) -> FloatArray:
    """Return confusions with the log-odds of being right moved by `move` on every label."""
    right = np.diagonal(confusion, axis1=1, axis2=2)
    then = sigmoid(logit(right) + move[:, None])
    wrong = confusion * ((1.0 - then) / np.maximum(1.0 - right, 1e-6))[:, :, None]
    return np.where(np.eye(confusion.shape[1]) == 1.0, then[:, :, None], wrong)


def plain_confusion(accuracy: FloatArray, n_labels: int) -> FloatArray:
    """Return the confusions of sources that err towards all other labels alike."""
    right = accuracy[:, None, None] * np.eye(n_labels)
    wrong = (1.0 - accuracy)[:, None, None] * (1.0 - np.eye(n_labels)) / (n_labels - 1)
    return np.asarray(right + wrong)
