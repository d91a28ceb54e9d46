"""Judge every block with the learned state, and sum the accuracy of each source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import Algorithm, Turn, clamp_known
from veracity.algorithms.mixing import error_of_mixture
from veracity.algorithms.numbers import Distances, distances, numbers_of
from veracity.algorithms.rules import logit, plausibilities
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.engines import Blocks
from veracity.fit.loop import Learned
from veracity.logic.factors import Graph, RuleSums, ground, infer
from veracity.logic.rules import Rules


class SourceSums(NamedTuple):
    """Sums over the claims of each source, from which its accuracy is estimated.

    `counts` is `count_votes` of the plausibilities. The other sums cover facts that are known or
    on which several sources make claims. They add up plausibilities p, uncertainties p(1 - p) and
    ones, over the facts that a source supports and over all facts of its items. `swing` is the
    change of the supports of true facts if all answers were surer or less sure: Σ p(1 - p) logit p.
    `doubt` is their possible error because the claims allow another answer.
    """

    counts: FloatArray
    claims: FloatArray
    """Number of claims, whatever each counts; with denials if facts are binary."""
    true_supports: FloatArray
    true: FloatArray
    unsure_supports: FloatArray
    unsure: FloatArray
    supports: FloatArray
    facts: FloatArray
    swing: FloatArray
    doubt: FloatArray
    of_kind: FloatArray
    """[kind of items, 2]: the variance of the number of right claims on its items, and the number
    of claims; empty without kinds."""


@dataclass(frozen=True)
class Judged:
    """The answer, one array per block, and the sums by source.

    Plausibilities of facts; or, where claims are numbers, estimates of items with their standard
    errors.
    """

    plausibility: Sequence[FloatArray] = ()
    met: SourceSums | None = None
    estimate: Sequence[tuple[FloatArray, FloatArray]] = ()
    distances: Distances | None = None
    rules: RuleSums | None = None
    """Sums over the cases of rules, if there are rules."""

    @property
    def is_sound(self) -> bool:
        """True if all sums are finite: the state may come from a damaged file."""
        sums = self.met.counts if self.met is not None else np.zeros(0)
        if self.distances is not None:
            sums = self.distances.square
        return bool(np.isfinite(sums).all())


def judge_all(held: Blocks, learned: Learned) -> Judged:
    """Judge every block with the learned state."""
    algorithm, survey = learned.algorithm, learned.survey
    if survey.kind == "numeric":
        answers, total = held.answers(
            _Estimating(algorithm, survey.n_sources), learned.state, Turn()
        )
        return Judged(estimate=answers, distances=total)
    judging = _Judging(algorithm, survey.n_sources, survey.kind, learned.rules)
    answers, (total, rules) = held.answers(judging, learned.state, Turn())
    sums = None if rules is None else RuleSums(*rules)
    return Judged(plausibility=answers, met=_met(_Sums(*total), survey.kind), rules=sums)


@dataclass(frozen=True)
class _Judging:
    algorithm: Algorithm[Any]
    n_sources: int
    kind: str
    rules: Rules | None = None

    def __call__(self, block: Block, state: Any, turn: Turn) -> tuple[Any, Any]:
        rule_sums = None
        if self.rules is None:
            judged = self.algorithm.judge(block, state, turn.memory)
        else:
            graph, memory = turn.memory or (None, None)
            graph = ground(block, self.rules) if graph is None else Graph(*graph)
            weights = self.algorithm.weigh(block, state, memory)
            of_others = self.algorithm.weigh_learning(block, state, memory)
            assert weights is not None
            assert of_others is not None
            found = infer(block, of_others, graph, self.rules)
            rule_sums = found.sums
            judged = plausibilities(block._replace(field_of_fact=found.field_of_fact), weights)
        other = self.algorithm.other_answer(block, state)
        doubt = None if other is None else error_of_mixture(judged, other)
        plausibility = clamp_known(judged, block)
        features = self.algorithm.item_features
        n_kinds = 0 if features is None else features.n_kinds
        sums = _sums(block, (plausibility, doubt), self.n_sources, self.kind, n_kinds)
        return (plausibility, (sums, rule_sums)), turn.memory


@dataclass(frozen=True)
class _Estimating:
    algorithm: Algorithm[Any]
    n_sources: int

    def __call__(self, block: Block, state: Any, turn: Turn) -> tuple[Any, Any]:
        estimate = self.algorithm.estimate(block, state)
        numbers = numbers_of(block)
        found = distances(numbers, numbers.units.away(estimate[0]), self.n_sources)
        return (estimate, found), turn.memory


class _Sums(NamedTuple):
    """Parts of `SourceSums` in one table, to which all blocks add. It saves memory."""

    of_source: FloatArray
    """[source, count]: see `_sums`, and `_met`, which separates the counts."""
    made: FloatArray
    """Number of claims of each source; empty if all claims count in full."""
    of_kind: FloatArray


N_SPOKEN = 5
"""Columns that are summed over all facts that a source covers, not only those it supports."""


def _sums(
    block: Block,
    judged: tuple[FloatArray, FloatArray | None],
    n_sources: int,
    kind: str,
    n_kinds: int,
) -> _Sums:
    plausibility, doubt = block.as_far_as_told(judged[0]), judged[1]
    tells = ((block.n_voices_of_fact > 1) | (block.known_of_fact != UNKNOWN)).astype(np.float64)
    unsure = plausibility * (1.0 - plausibility) * tells
    numbers = [plausibility, np.ones(block.n_facts), plausibility * tells, unsure, tells]
    numbers.append(unsure * logit(plausibility))
    if doubt is not None:
        numbers.append(doubt * tells * (block.known_of_fact == UNKNOWN))
    of_source = kernels.sum_met(block, np.column_stack(numbers), N_SPOKEN, n_sources)
    made = np.zeros(0)
    if block.has_shares:
        sources = block.source_of_voice if kind == "binary" else block.source_of_support
        made = np.bincount(sources, minlength=n_sources).astype(np.float64)
    of_kind = _right_of_kind(block, plausibility, n_kinds) if n_kinds else np.zeros((0, 2))
    return _Sums(of_source, made, of_kind)


def _met(total: _Sums, kind: str) -> SourceSums:
    """Return the sums by source, given the table of sums over all blocks."""
    found = np.ascontiguousarray(total.of_source.T)
    supported, spoken_on = found[:-N_SPOKEN], found[-N_SPOKEN:]
    counts = np.stack([*supported[:2], *spoken_on[:2]], axis=1)
    claims = counts[:, 3 if kind == "binary" else 1]
    sums = [of_source for k in (2, 3, 4) for of_source in (supported[k], spoken_on[k])]
    swing, off = supported[5], supported[6] if len(supported) > 6 else np.zeros(len(counts))
    made = total.made if len(total.made) else claims
    return SourceSums(counts, made, *sums, swing, off, total.of_kind)  # type: ignore[call-arg]


def _right_of_kind(block: Block, plausibility: FloatArray, n_kinds: int) -> FloatArray:
    """Return [kind, 2]: the variance of the number of right claims, and the number of claims.

    Of an item all that name its true value are right, and all others wrong: together.
    """
    votes = np.asarray(block.votes_of_fact, dtype=np.float64)
    first = block.first_fact_of_item[:-1]
    right, square, claims = (
        np.add.reduceat(number, first)
        for number in (plausibility * votes, plausibility * votes**2, votes)
    )
    variance = np.where(block.n_voices_of_item > 1, square - right**2, 0.0)
    sums = (np.bincount(block.kind_of_item, own, n_kinds) for own in (variance, claims))
    return np.column_stack(list(sums))
