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
    rates = rates(state, counts)                       what is told of sources

The tally is all that ever crosses between blocks, threads or machines, and the state is all that is
kept. `weigh` is the definition of judging: `judge` and every explanation are derived from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import polars as pl

from veracity.algorithms.item_features import ItemFeatures
from veracity.algorithms.parameters import check_parameters
from veracity.algorithms.prior import NO_PRIOR, BySource, CountBySource, Prior, PriorRates
from veracity.algorithms.regression import Fit
from veracity.algorithms.rules import Weights, plausibilities
from veracity.algorithms.source_features import SourceFeatures
from veracity.dependence import Copies
from veracity.encoding.block import UNKNOWN, Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.reading.schema import Kind

__all__ = [
    "SUREST",
    "Algorithm",
    "BySource",
    "Copies",
    "CountBySource",
    "Labels",
    "Memory",
    "Phase",
    "Rates",
    "Step",
    "Tally",
    "Turn",
    "Walk",
    "clamp_known",
]

SUREST = 1e-6
"""No rate that is learned comes closer to zero or one than this."""

Memory = Any
"""Arrays that are stored with a block from one look at it to the next."""

Tally = tuple[Any, ...]
"""Numbers and arrays that merge by adding: `Largest` is one that merges otherwise."""

Labels = Annotated[pl.Series, "labels"]
"""The names of all values, in a state that compares values: not kept with it, as names are."""

State = TypeVar("State")


class Rates(NamedTuple):
    """Rates of the sources, NaN where nothing was seen; and the prevalence."""

    tpr: FloatArray
    fpr: FloatArray
    prevalence: float


class Turn(NamedTuple):
    """Number of the round in its phase, from 1, and what is stored with the block.

    `ready` is what a `Walk` had made ready, if the engine found the time.
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
    """One look at every block, and what is learned from the sum of the tallies.

    Where a step `derives`, what it derives from a block, once, is kept beside the block; where it
    `remembers`, its tally comes with what is to be kept, as ``(tally, memory)``.
    """

    tally: Callable[[Block, State, Turn], Any]
    learn: Callable[[State, Any], State]
    derives: Callable[[Block, State], Memory] | None = None
    remembers: bool = False

    def look(self, block: Block, state: State, turn: Turn) -> tuple[Tally, Memory]:
        """Return the tally of a block, and what is to be stored with it."""
        if self.derives is not None and turn.memory is None:
            turn = turn._replace(memory=self.derives(block, state))
        found = self.tally(block, state, turn)
        return found if self.remembers else (found, turn.memory)


@dataclass(frozen=True)
class Walk(Generic[State]):
    """A step for what cannot be added up: something goes from block to block and changes.

    `lanes` are the independent parts of a state that do; ``go(block, lane, turn)`` is one on its
    way through a block, with what is kept beside the block for it; `join` brings them home.

    ``prepare(block, turn)`` is what can be made ready of a block before anything comes there: an
    engine may call it ahead, on another thread, and hand `go` the answer in its turn.
    """

    lanes: Callable[[State], tuple[Any, ...]]
    go: Callable[[Block, Any, Turn], tuple[Any, Memory]]
    join: Callable[[State, tuple[Any, ...]], State]
    prepare: Callable[[Block, Turn], Any] | None = None


@dataclass(frozen=True)
class Phase(Generic[State]):
    """Steps that are taken once, or again and again until `change` says that little changes.

    What is little is for the algorithm's `tolerance` to say; or for that of the phase, if it is
    larger: a phase that looks at some of the items cannot tell small changes from chance.
    """

    name: str
    steps: tuple[Step[State] | Walk[State], ...]
    change: Callable[[State, State], float] | None = None
    tolerance: float = 0.0
    min_rounds: int = 0


class Algorithm(ABC, Generic[State]):
    """An algorithm's parameters, frozen, with the questions the loop asks of it.

    What is not overridden is right for an algorithm that learns nothing.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]] = ("categorical", "multiple", "binary")
    state_type: ClassVar[Any] = None
    """The type of the state: a named tuple of numbers, arrays and such tuples, to be kept."""

    takes_shares: ClassVar[bool] = False
    """Whether claims may count by their shares: so they do for who learns and judges from blocks by
    kernels alone, and asks for `votes_of_fact` where others count supports."""

    looks_for_copies: ClassVar[bool] = False
    """Whether it may count what copies say once: see `copies`."""

    prior: Prior = NO_PRIOR
    source_features: SourceFeatures | None = None
    item_features: ItemFeatures | None = None
    """Features of sources and items; parameters of algorithms that learn what these are worth."""

    seed: int = 0
    max_rounds: int = 0
    tolerance: float = 0.0

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
        """Return how far a round moved what matters; unless overridden, any `trust`."""
        old, new = self.trust(before), self.trust(after)
        if old is None or new is None:
            raise NotImplementedError(f"{self.name} has neither change nor trust")
        return float(np.abs(new - old).max())

    def by_sweeps(self) -> Algorithm[State]:
        """Return the same algorithm, learned by sweeps alone if it can be: for Spark."""
        return self

    def calibrate(self, state: State, prior: PriorRates) -> State:
        """Correct what was learned by known truths."""
        return state

    def weigh(self, block: Block, state: State, memory: Memory = None) -> Weights | None:
        """Return the weight of each claim; None if facts are not judged by weights.

        `memory` is what a step derived from this block, or None: then it is derived again.
        """
        return None

    def judge(self, block: Block, state: State, memory: Memory = None) -> FloatArray:
        """Return the plausibility of each fact of the block, which follows from the weights."""
        weights = self.weigh(block, state, memory)
        if weights is None:
            raise NotImplementedError(f"{self.name} does not judge by weights")
        return plausibilities(block, weights)

    def judge_with_doubt(
        self, block: Block, state: State, memory: Memory = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the plausibilities, and the error that all may share if claims have two readings.

        Of each fact a standard error, with a sign: all facts are off in this way, or all in the
        other.
        """
        return self.judge(block, state, memory), None

    def estimate(self, block: Block, state: State) -> tuple[FloatArray, FloatArray]:
        """Return the estimate of each item's number, and its standard error."""
        raise NotImplementedError(f"{self.name} is not for numbers")

    def trust(self, state: State) -> FloatArray | None:
        """Return the algorithm's own score of each source, if it has one beyond tpr and fpr."""
        return None

    def bias(self, state: State) -> FloatArray | None:
        """Return by how much the numbers of each source are too high, if that is learned."""
        return None

    def copies(self, state: State) -> Copies | None:
        """Return pairs of sources of which one seems to copy the other, if these are sought."""
        return None

    def confusion(self, state: State) -> FloatArray | None:
        """Return P(label claimed | label true), [source, true, claimed], if that is learned."""
        return None

    def difficulty(self, block: Block, state: State) -> FloatArray | None:
        """Return how hard each item of the block is, if that is learned: more is harder."""
        return None

    def worth(self, state: State) -> dict[str, Fit]:
        """Return the effects of source features on each rate, if these are learned."""
        return {}

    def worth_of_items(self, state: State) -> dict[str, Fit]:
        """Return the effects of item features on each rate, if these are learned."""
        return {}

    def rivals(self, state: State) -> dict[str, Algorithm[Any]]:
        """Return algorithms that could read the claims otherwise, by name: see `readings`."""
        return {}

    def doubted(self, state: State, rival: Algorithm[Any], other: Any) -> State:
        """Return the state in which `other`, learned by a rival, is mixed into every answer."""
        return state

    def in_own_reading(self, state: State) -> State:
        """Return the state without the doubt that another reading of the claims adds."""
        return state

    def rates(self, state: State, counts: FloatArray) -> Rates:
        """Return the rates of the sources; `counts` is `count_votes` of the plausibilities."""
        supports_of_true, supports, true, facts = counts.T
        return Rates(
            _share(supports_of_true, true),
            _share(supports - supports_of_true, facts - true),
            float(true.sum() / max(facts.sum(), 1.0)),
        )

    def notes(self, state: State) -> list[str]:
        """Return sentences on how the state was learned."""
        return []

    def findings(self, state: State) -> dict[str, str]:
        """Return reasons to doubt the answer that show in what was learned, by name."""
        return {}

    def check(self, state: State, survey: Survey, prior: PriorRates) -> None:
        """Raise ValueError if this cannot have learned such a state from such claims."""
        from veracity.algorithms.state import check_state  # noqa: PLC0415 - it looks at this module

        check_state(state, self.start(survey, prior), survey.n_sources)

    def grow(self, state: State, names: Names) -> State:
        """Return the state with rows for new sources: they get the mean of the others."""
        from veracity.algorithms.state import grown  # noqa: PLC0415 - it looks at this module

        return grown(state, names.n_sources)

    def resume(self, state: State, survey: Survey, prior: PriorRates) -> State:
        """Return the state from which learning goes on; the survey is of all claims so far."""
        return self.grow(state, survey.names)


def clamp_known(plausibility: FloatArray, block: Block) -> FloatArray:
    """Return plausibilities, with known truths in the place of what was judged."""
    is_known = block.known_of_fact != UNKNOWN
    return np.where(is_known, block.known_of_fact, plausibility) if is_known.any() else plausibility


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return ``part / whole``, NaN where the whole is zero."""
    is_some = whole > 1e-9
    return np.where(is_some, np.clip(part / np.where(is_some, whole, 1.0), 0.0, 1.0), np.nan)
