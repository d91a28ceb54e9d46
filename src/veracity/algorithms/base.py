"""The contract of an algorithm: *judge* the facts from the reliabilities, *learn* these from them.

An algorithm is a short sequence of phases. The loop in `fit` drives any algorithm through these
questions, all of them pure::

    state = start(survey, prior)                       from one look at all claims
    for phase in phases(state):                        in order; a phase is one round, or many
        for step in phase.steps:                       mostly one
            total = Σ step.tally(block, state, turn)   for every block; tallies add up
            state = step.learn(state, total)
        phase.change(before, after) < tolerance?       then the phase is over
    state = calibrate(state, prior)                    known truths weigh in
    plausibility = judge(block, state)                 for every block, by weigh(block, state)
    description = describe(state, counts)              of sources, once, after judging

The tally is all that ever crosses between blocks, threads or machines, and the state is all that is
stored. `weigh` is the definition of judging: `judge` and every explanation are derived from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, get_args, get_origin

import numpy as np
import polars as pl

from veracity.algorithms.item_features import ItemFeatures
from veracity.algorithms.online import Online
from veracity.algorithms.parameters import check_parameters
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.regression import Fit
from veracity.algorithms.rules import Weights, plausibilities
from veracity.algorithms.source_features import SourceFeatures
from veracity.dependence import Copies
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.reading.roles import Kind
from veracity.trees import grown

SUREST = 1e-6
"""Smallest distance of a learned rate from zero and one."""

Memory = Any
"""Arrays that are stored with a block between two passes."""

Tally = tuple[Any, ...]
"""Numbers and arrays that are merged by addition, or otherwise if marked, as `Largest` is."""

Labels = Annotated[pl.Series, "labels"]
"""Names of all values, in a state that compares values. They are not stored with it."""

State = TypeVar("State")


class Rates(NamedTuple):
    """Rates of the sources, NaN for sources without evidence; and the prevalence."""

    tpr: FloatArray
    fpr: FloatArray
    prevalence: float


@dataclass(frozen=True)
class Description:
    """Result of learning: rates, biases and copies of sources, and notes, if available."""

    rates: Rates | None = None
    bias: FloatArray | None = None
    """Bias of each source: the mean error of its numbers."""
    copies: Copies | None = None
    """Pairs of sources in which one seems to copy the other."""
    confusion: FloatArray | None = None
    """P(label claimed | label true), [source, true, claimed]."""
    source_effects: Mapping[str, Fit] = field(default_factory=dict)
    item_effects: Mapping[str, Fit] = field(default_factory=dict)
    """Effects of features of sources and of items, by rate."""
    notes: tuple[str, ...] = ()
    """Sentences on how the state was learned."""
    habit: FloatArray | None = None
    """How often each source tells a value in part, of the right ones that can be."""
    findings: Mapping[str, str] = field(default_factory=dict)
    """Reasons to doubt the answer that show in the state, by the name of their check."""


class Turn(NamedTuple):
    """Number of the round in its phase, from 1, and the memory stored with the block.

    `ready` is the preparation of a `Walk`, if the engine had time for it.
    """

    round_number: int = 1
    seed: int = 0
    memory: Memory = None
    ready: Any = None

    def rng(self, block: Block) -> np.random.Generator:
        """Return the randomness of this round and block."""
        return np.random.default_rng([self.seed, self.round_number, block.number])


@dataclass(frozen=True)
class Step(Generic[State]):
    """Pass over every block, and the function that learns from the sum of the tallies.

    The result of `derives` is computed once per block and stored with the block. A step that
    `remembers` returns ``(tally, memory)``, and the memory is stored instead.
    """

    tally: Callable[[Block, State, Turn], Any]
    learn: Callable[[State, Any], State]
    derives: Callable[[Block, State], Memory] | None = None
    remembers: bool = False

    def look(self, block: Block, state: State, turn: Turn) -> tuple[Tally, Memory]:
        """Return the tally of a block, and the memory to store with it."""
        if self.derives is not None and turn.memory is None:
            turn = turn._replace(memory=self.derives(block, state))
        found = self.tally(block, state, turn)
        return found if self.remembers else (found, turn.memory)


@dataclass(frozen=True)
class Walk(Generic[State]):
    """Step whose results cannot be added: parts of the state (lanes) pass from block to block.

    `lanes` returns the independent parts of a state; ``go(block, lane, turn)`` moves one through a
    block, with the memory stored for it with the block; `join` puts them together.

    ``prepare(block, turn)`` computes in advance what does not depend on the lane: an engine may
    call it on another thread, and pass the answer to `go` as ``turn.ready``.
    """

    lanes: Callable[[State], tuple[Any, ...]]
    go: Callable[[Block, Any, Turn], tuple[Any, Memory]]
    join: Callable[[State, tuple[Any, ...]], State]
    prepare: Callable[[Block, Turn], Any] | None = None


@dataclass(frozen=True)
class Phase(Generic[State]):
    """Steps that run once, or repeatedly until `change` is small.

    The limit is the algorithm's `tolerance`, or that of the phase, if it is larger: in a phase that
    uses a sample of the items, small changes may be chance.
    """

    name: str
    steps: tuple[Step[State] | Walk[State], ...]
    change: Callable[[State, State], float] | None = None
    tolerance: float = 0.0
    min_rounds: int = 0
    keeps_rounds: bool = False
    """True if an update repeats all rounds from the start, each with its own earlier total: where
    the number of rounds is part of the algorithm, more of them would give another answer."""


class Algorithm(ABC, Generic[State]):
    """An algorithm's parameters, frozen, with the questions the loop asks of it.

    The default methods suit an algorithm that learns nothing.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]] = ("categorical", "multiple", "binary")
    state_type: ClassVar[Any] = None
    """The type argument: a named tuple of numbers, arrays and such tuples, which can be stored."""

    takes_shares: ClassVar[bool] = False
    """True if claims may count by their shares. The algorithm must then learn and judge blocks
    by kernels alone, and use `votes_of_fact` instead of numbers of supports."""

    depends_on_blocks: ClassVar[bool] = False
    """True for mini-batches and samplers: other blocks give other answers."""

    prior: Prior = NO_PRIOR
    source_features: SourceFeatures | None = None
    item_features: ItemFeatures | None = None
    """Features of sources and items; parameters of algorithms that learn their effects."""

    seed: int = 0
    max_rounds: int = 0
    tolerance: float = 0.0

    def __init_subclass__(cls, **options: Any) -> None:
        """Take the type of the state from the type argument, as in ``Algorithm[Accuracies]``."""
        super().__init_subclass__(**options)
        for base in vars(cls).get("__orig_bases__", ()):
            if get_origin(base) is Algorithm:
                (cls.state_type,) = get_args(base)

    def __post_init__(self) -> None:
        """Check the parameters: see `bounded`."""
        check_parameters(self)

    @abstractmethod
    def start(self, survey: Survey, prior: PriorRates) -> State:
        """Return the state before the first phase."""

    def phases(self, state: State) -> tuple[Phase[State], ...]:
        """Return the phases in order. Unless overridden: rounds of `tally` and `learn`, if any."""
        if self.max_rounds == 0:
            return ()
        return (Phase("rounds", (Step(self.tally, self.learn),), self.change),)

    def tally(self, block: Block, state: State, turn: Turn) -> Any:
        """Return the sufficient statistics of one block (E-step)."""
        raise NotImplementedError(f"{self.name} has no rounds")

    def learn(self, state: State, total: Any) -> State:
        """Return the state that follows from the sum over all blocks (M-step)."""
        raise NotImplementedError(f"{self.name} has no rounds")

    def change(self, before: State, after: State) -> float:
        """Return the change of a round that decides on convergence: by default, that of `trust`."""
        old, new = self.trust(before), self.trust(after)
        if old is None or new is None:
            raise NotImplementedError(f"{self.name} has neither change nor trust")
        return float(np.abs(new - old).max())

    def calibrate(self, state: State, prior: PriorRates) -> State:
        """Correct the state by known truths."""
        return state

    def weigh(self, block: Block, state: State, memory: Memory = None) -> Weights | None:
        """Return the weight of each claim; None if facts are not judged by weights.

        `memory` is the result of a step's `derives` for this block, or None: then it is computed
        again.
        """
        return None

    def judge(self, block: Block, state: State, memory: Memory = None) -> FloatArray:
        """Return the plausibility of each fact of the block, which follows from the weights."""
        weights = self.weigh(block, state, memory)
        if weights is None:
            raise NotImplementedError(f"{self.name} does not judge by weights")
        return plausibilities(block, weights)

    def online(self, state: State) -> Online | None:
        """Return a quick judge of categorical claims that come one at a time, if there is one."""
        return None

    def estimate(self, block: Block, state: State) -> tuple[FloatArray, FloatArray]:
        """Return the estimate of each item's number, and its standard error."""
        raise NotImplementedError(f"{self.name} is not for numbers")

    def trust(self, state: State) -> FloatArray | None:
        """Return the algorithm's own score of each source, if it has one beyond tpr and fpr."""
        return None

    def describe(self, state: State, counts: FloatArray | None = None) -> Description:
        """Return the description of the sources, for tables and notes.

        `counts` is `count_votes` of the plausibilities, if claims were judged.
        """
        return Description(None if counts is None else counted_rates(counts))

    def difficulty(self, block: Block, state: State) -> FloatArray | None:
        """Return how hard each item of the block is, if that is learned: more is harder."""
        return None

    def alternatives(self, state: State) -> dict[str, Algorithm[Any]]:
        """Return algorithms that may find another answer, by the assumption behind each."""
        return {}

    def doubting(self, state: State, other: Any) -> State:
        """Return the state in which `other`, of an alternative, is mixed into all answers."""
        return state

    def other_answer(self, block: Block, state: State) -> FloatArray | None:
        """Return the plausibilities of the alternative answer that is mixed in, if there is one."""
        return None

    def grow(self, state: State, names: Names) -> State:
        """Return the state with rows for new sources: they get the mean of the others."""
        return grown(state, names.n_sources)

    def forget(self, state: State, share: float) -> State | None:
        """Return the state with earlier claims counting by a share; None if it has no such count.

        It is asked of algorithms that keep no sums.
        """
        return None

    def resume(self, state: State, survey: Survey, prior: PriorRates) -> State:
        """Return the state from which learning continues; the survey covers all claims so far."""
        return self.grow(state, survey.names)


def clamp_known(plausibility: FloatArray, block: Block) -> FloatArray:
    """Return plausibilities with those of known facts replaced by 0 or 1."""
    is_known = block.known_of_fact != UNKNOWN
    return np.where(is_known, block.known_of_fact, plausibility) if is_known.any() else plausibility


def counted_rates(counts: FloatArray) -> Rates:
    """Return the rates of the sources by how their claims meet the plausibilities."""
    supports_of_true, supports, true, facts = counts.T
    return Rates(
        _share(supports_of_true, true),
        _share(supports - supports_of_true, facts - true),
        float(true.sum() / max(facts.sum(), 1.0)),
    )


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return ``part / whole``, NaN where the whole is zero."""
    is_some = whole > 1e-9
    return np.where(is_some, np.clip(part / np.where(is_some, whole, 1.0), 0.0, 1.0), np.nan)
