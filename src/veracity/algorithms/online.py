"""Judge items while their claims come in, one at a time, in plain Python.

An `Online` judge has running sums for each item, so a claim costs as much as its item has facts,
and no array is made. It gives the answers of `weigh`. Where it cannot, `add` returns None, and the
item is judged as a block: if values are tied, or an item has more than `MOST_VOICES`.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple, Protocol

from veracity.encoding.block import FloatArray

MOST_VOICES = 32
"""Number of voices up to which no score overflows, and errors count as even (`one_coin.EVEN`)."""

NEAR = 1e-8
"""Difference of two plausibilities below which values may be tied."""


class Verdict(NamedTuple):
    """Plausibility of a claim that has just come, and the answer of its item.

    `plausibility` is that of the claimed value, given this claim and the earlier ones on its item;
    `before`, given the earlier ones alone, and None if nobody had claimed the value. `answer` is
    the item's value now, and `answer_plausibility` its plausibility.
    """

    plausibility: float
    before: float | None
    answer: Any
    answer_plausibility: float


_new = tuple.__new__


class Item:
    """Claims on an item, and its running sums.

    Facts have places in the order in which they come. `share` has a number for each of them that is
    proportional to its plausibility: together with `total`, that of the last judgement.
    """

    __slots__ = (
        "attribute", "before", "column", "count", "epoch", "folded", "label", "older",
        "place", "said", "share", "single", "total", "values", "voices", "word",
    )  # fmt: skip

    def __init__(self) -> None:
        self.said: dict[Any, int] = {}
        """Place of the fact that each source claims."""
        self.folded = 0
        """Number of these claims that were learned from."""
        self.older: list[tuple[Any, Any]] = []
        """Claims that were learned from and are replaced since then."""
        self.epoch = -1
        self.attribute = 0
        self.before: float | None = None
        """Plausibility of the latest claim before it came."""
        self.clear()

    def clear(self) -> None:
        """Remove the sums and the facts, but not what was said."""
        self.place: dict[Any, int] = {}
        self.values: list[Any] = []
        self.share: list[float] = []
        self.total = 1.0
        self.word: list[float] = []
        self.count: list[float] = []
        self.voices = self.single = 0.0
        self.column = 0
        self.label: list[int] = []

    def verdict(self, place: int) -> Verdict | None:
        """Return the verdict if one value is clearly ahead."""
        share, total = self.share, self.total
        best = max(share)
        at = share.index(best)
        if len(share) > 1:
            share[at] = -1.0
            is_tied = best - max(share) < NEAR * total
            share[at] = best
            if is_tied:
                return None
        return _new(Verdict, (share[place] / total, self.before, self.values[at], best / total))


class Online(Protocol):
    """Judge of items by their running sums."""

    uses_labels: bool
    """True if facts need the numbers of their values."""

    def word_of(self, source: int) -> Any:
        """Return what the claims of a source add."""

    def begin(self, item: Item, attribute: int) -> None:
        """Make the sums of an item that has no claims."""

    def meet(self, item: Item, label: int) -> None:
        """Make the sums of a fact that has no claims."""

    def add(self, item: Item, word: Any, place: int) -> Verdict | None:
        """Count a claim, and judge its item."""


class OnlineVotes:
    """Scores that are sums of a number per source, for what it supports, under a single truth."""

    uses_labels = False

    def __init__(self, weight: FloatArray) -> None:
        self._weight = weight

    def word_of(self, source: int) -> float:
        """Return the weight of a source."""
        return float(self._weight[source])

    def begin(self, item: Item, attribute: int) -> None:
        """Begin without facts."""

    def meet(self, item: Item, label: int) -> None:
        """Begin a fact without supports."""
        item.word.append(0.0)

    def add(self, item: Item, word: float, place: int) -> Verdict | None:
        """Count a claim, and judge its item."""
        share, score = item.share, item.word
        item.before = share[place] / item.total if place < len(share) else None
        score[place] += word
        highest = max(score)
        item.share = share = [exp(own - highest) for own in score]
        item.total = sum(share)
        return item.verdict(place)


class OnlineCoins:
    """Scores of the one-coin model: see `OneCoin.weights`.

    ``score = Σ (log odds + log K) / (1 + (n - 1) correlation)``, with K for the number of values,
    and n for that of the claims on the item.
    """

    uses_labels = False

    def __init__(
        self,
        log_odds: FloatArray,
        undisputed: FloatArray,
        n_false: float,
        correlation: float,
    ) -> None:
        self._log_odds, self._undisputed = log_odds, undisputed
        self._log_values = [log(max(n, n_false, 1.0)) for n in range(MOST_VOICES + 1)]
        self._shrink = [
            1.0 / (1.0 + max(n - 1.0, 0.0) * correlation) for n in range(MOST_VOICES + 1)
        ]

    def word_of(self, source: int) -> tuple[list[float], float]:
        """Return the log-odds by attribute, and on undisputed items."""
        return self._log_odds[source].tolist(), float(self._undisputed[source])

    def begin(self, item: Item, attribute: int) -> None:
        """Take the attribute, by which accuracies may differ."""
        item.column = attribute if self._log_odds.shape[1] > 1 else 0

    def meet(self, item: Item, label: int) -> None:
        """Begin a fact without supports."""
        item.word.append(0.0)
        item.count.append(0.0)

    def add(self, item: Item, word: tuple[list[float], float], place: int) -> Verdict | None:
        """Count a claim, and judge its item."""
        share, words, count = item.share, item.word, item.count
        item.before = share[place] / item.total if place < len(share) else None
        if len(item.said) > MOST_VOICES:
            return None
        words[place] += word[0][item.column]
        count[place] += 1.0
        item.voices += 1.0
        item.single += word[1]
        shrink = self._shrink[int(item.voices)]
        n_values = len(words)
        more = self._log_values[n_values]
        if n_values == 1:
            item.share = share = [exp((item.single + count[0] * more) * shrink)]
            item.total = total = 1.0 + share[0]
            p = share[0] / total
            return _new(Verdict, (p, item.before, item.values[0], p))
        item.share = share = [exp((own + n * more) * shrink) for own, n in zip(words, count)]  # noqa: B905
        item.total = 1.0 + sum(share)
        return item.verdict(place)


class OnlineLabels:
    """Scores of labels by a confusion matrix per source, tempered, with a vote mixed in.

    See `Confusions.weights`, and `Vote` for the mixture, whose weight is cut where it would put
    another label first.
    """

    uses_labels = True

    def __init__(
        self,
        log_confusion: FloatArray,
        log_share: FloatArray,
        correlation: float,
        vote: tuple[float, float, float],
    ) -> None:
        self._log_confusion, self._log_share = log_confusion, log_share.tolist()
        self._shrink = [
            1.0 / (1.0 + max(n - 1.0, 0.0) * correlation) for n in range(MOST_VOICES + 1)
        ]
        self._vote, self._not_ahead, self._least = vote

    def word_of(self, source: int) -> list[list[float]]:
        """Return log P(claimed | true label) of a source: by the claimed label, then the true."""
        rows: list[list[float]] = self._log_confusion[source].T.tolist()
        return rows

    def begin(self, item: Item, attribute: int) -> None:
        """Begin with the shares of the labels, and no votes."""
        item.word = self._log_share
        item.count = [0.0] * len(self._log_share)

    def meet(self, item: Item, label: int) -> None:
        """Take the label of a fact."""
        item.label.append(label)

    def add(self, item: Item, word: list[list[float]], place: int) -> Verdict | None:
        """Count a claim, and judge its item."""
        share, votes, labels = item.share, item.count, item.label
        item.before = share[place] / item.total if place < len(share) else None
        item.voices = n = item.voices + 1.0
        if n > MOST_VOICES:
            return None
        label = labels[place]
        item.word = words = [one + two for one, two in zip(item.word, word[label])]  # noqa: B905
        votes[label] += 1.0
        shrink = self._shrink[int(n)]
        p = [exp(own * shrink) for own in words]
        total = sum(p)
        if not total:
            return None
        of_claimed = [p[own] for own in labels]
        best = max(of_claimed)
        ahead = votes[labels[of_claimed.index(best)]]
        weight = self._vote
        if ahead < max(votes):  # the vote is for another label
            rivals = [(own, v) for own, v in zip(p, votes, strict=True) if v > ahead]
            level = min(
                max(best - own, 0.0) / (max(best - own, 0.0) + (v - ahead) / n * total)
                for own, v in rivals
            )
            weight = self._not_ahead * level if level <= weight else weight
        scale, of_vote = (1.0 - weight) / total, weight / n
        mixed = [own * scale + v * of_vote for own, v in zip(p, votes)]  # noqa: B905
        if min(mixed) < self._least:
            mixed = [max(own, self._least) for own in mixed]
        item.share = [mixed[own] for own in labels]
        item.total = sum(mixed)
        if len(of_claimed) > 1 and sorted(of_claimed)[-2] > best - NEAR * total:
            return None  # the vote decides between them
        return item.verdict(place)
