"""What every algorithm is: *judge* the facts from the reliabilities, *learn* them from the facts.

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
"""What is kept beside a block from one look at it to the next."""

Tally = tuple[Any, ...]
"""Numbers and arrays that merge by adding: `Largest` is one that merges otherwise."""

Labels = Annotated[pl.Series, "labels"]
"""The names of all values, in a state that compares values: not kept with it, as names are."""

State = TypeVar("State")


class Rates(NamedTuple):
    """What is told of the sources: NaN where nothing was seen that could tell."""

    tpr: FloatArray
    fpr: FloatArray
    prevalence: float


class Turn(NamedTuple):
    """Which round of its phase a look belongs to, from 1, and what is kept beside the block.

    `ready` is what a `Walk` had made ready, if the engine found the time.
    """

    round_number: int = 1
    seed: int = 0
    memory: Memory = None
    ready: Any = None

    def rng(self, block: Block) -> np.random.Generator:
        """The randomness of this round and block."""
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
        """The tally of a block, and what is to be kept beside it."""
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

    rounds_go_on: ClassVar[bool] = False
    """Whether rounds are counted on where learning goes on with new claims."""

    prior: Prior = NO_PRIOR
    source_features: SourceFeatures | None = None
    item_features: ItemFeatures | None = None
    """Features of sources and items; parameters of algorithms that learn what these are worth."""

    seed: int = 0
    max_rounds: int = 0
    min_rounds: int = 0
    tolerance: float = 0.0

    @abstractmethod
    def start(self, survey: Survey, prior: PriorRates) -> State:
        """The state before the first phase."""

    def phases(self, state: State) -> tuple[Phase[State], ...]:
        """What is done, in order. Unless overridden: rounds of `tally` and `learn`, if any."""
        if self.max_rounds == 0:
            return ()
        return (Phase("rounds", (Step(self.tally, self.learn),), self.change),)

    def tally(self, block: Block, state: State, turn: Turn) -> Any:
        """What one block tells of the sources (E-step)."""
        raise NotImplementedError(f"{self.name} has no rounds")

    def learn(self, state: State, total: Any) -> State:
        """What follows from the sum over all blocks (M-step)."""
        raise NotImplementedError(f"{self.name} has no rounds")

    def change(self, before: State, after: State) -> float:
        """How far a round moved what matters."""
        raise NotImplementedError(f"{self.name} has no rounds")

    def by_sweeps(self) -> Algorithm[State]:
        """The same, learned by sweeps alone where there is such a way: for engines slow to walk."""
        return self

    def is_settled(self, state: State) -> bool:
        """Whether there is nothing to learn."""
        return False

    def calibrate(self, state: State, prior: PriorRates) -> State:
        """Let known truths weigh on what was learned."""
        return state

    def weigh(self, block: Block, state: State, memory: Memory = None) -> Weights | None:
        """What each claim weighs; None if facts are not judged by weights.

        `memory` is what a step derived from this block, or None: then it is derived again.
        """
        return None

    def judge(self, block: Block, state: State, memory: Memory = None) -> FloatArray:
        """The plausibility of each fact of the block: what follows from the weights."""
        weights = self.weigh(block, state, memory)
        if weights is None:
            raise NotImplementedError(f"{self.name} does not judge by weights")
        return plausibilities(block, weights)

    def judge_with_doubt(
        self, block: Block, state: State, memory: Memory = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """The plausibilities, and by how much all may be off together: if claims have two readings.

        Of each fact a standard error, with a sign: all facts are off in this way, or all in the
        other.
        """
        return self.judge(block, state, memory), None

    def estimate(self, block: Block, state: State) -> tuple[FloatArray, FloatArray]:
        """For numeric claims: the number each item is estimated at, and its standard error."""
        raise NotImplementedError(f"{self.name} is not for numbers")

    def trust(self, state: State) -> FloatArray | None:
        """The algorithm's own score of each source, where it is neither a tpr nor an fpr."""
        return None

    def bias(self, state: State) -> FloatArray | None:
        """By how much the numbers of each source are too high, where the algorithm learns it."""
        return None

    def copies(self, state: State) -> Copies | None:
        """Pairs of sources of which one seems to copy the other, where the algorithm looks."""
        return None

    def confusion(self, state: State) -> FloatArray | None:
        """[source, true label, label said]: how likely that is, where the algorithm learns it."""
        return None

    def difficulty(self, block: Block, state: State) -> FloatArray | None:
        """How hard each item of the block is, where the algorithm learns it: more is harder."""
        return None

    def worth(self, state: State) -> dict[str, Fit]:
        """What features of sources are worth for each rate, where the algorithm learns it."""
        return {}

    def worth_of_items(self, state: State) -> dict[str, Fit]:
        """What features of items are worth for each rate, where the algorithm learns it."""
        return {}

    def rivals(self, state: State) -> dict[str, Algorithm[Any]]:
        """Others that could read the claims otherwise, by how they are come by: see `readings`."""
        return {}

    def doubted(self, state: State, rival: Algorithm[Any], other: Any) -> State:
        """The state where a rival, with a state of its own, reads the claims otherwise."""
        return state

    def in_own_reading(self, state: State) -> State:
        """The state without the doubt that another reading of the claims adds."""
        return state

    def rates(self, state: State, counts: FloatArray) -> Rates:
        """What is told of the sources; `counts` is `count_votes` of the final plausibilities."""
        supports_of_true, supports, true, facts = counts.T
        return Rates(
            _share(supports_of_true, true),
            _share(supports - supports_of_true, facts - true),
            float(true.sum() / max(facts.sum(), 1.0)),
        )

    def notes(self, state: State) -> list[str]:
        """What should be told of how the state was learned, in sentences."""
        return []

    def findings(self, state: State) -> dict[str, str]:
        """Return reasons to doubt the answer that show in what was learned, by name."""
        return {}

    def check(self, state: State, survey: Survey, prior: PriorRates) -> None:
        """Refuse, with a `ValueError`, a state that this cannot have learned from such claims."""
        from veracity.algorithms.state import check_state  # noqa: PLC0415 - it looks at this module

        check_state(state, self.start(survey, prior), survey.n_sources)

    def grow(self, state: State, names: Names) -> State:
        """The state with rows for sources never met: they count as the mean of those that were."""
        from veracity.algorithms.state import grown  # noqa: PLC0415 - it looks at this module

        return grown(state, names.n_sources)

    def resume(self, state: State, survey: Survey, prior: PriorRates) -> State:
        """The state from which learning goes on with new claims; the survey is of all so far."""
        return self.grow(state, survey.names)


def clamp_known(plausibility: FloatArray, block: Block) -> FloatArray:
    """Plausibilities, with what is known of facts in the place of what is thought of them."""
    is_known = block.known_of_fact != UNKNOWN
    return np.where(is_known, block.known_of_fact, plausibility) if is_known.any() else plausibility


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """``part / whole``, NaN where the whole is nothing."""
    is_some = whole > 1e-9
    return np.where(is_some, np.clip(part / np.where(is_some, whole, 1.0), 0.0, 1.0), np.nan)
