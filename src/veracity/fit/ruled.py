"""Let an algorithm learn and judge under rules, without knowing of them.

Before an algorithm looks at a block, inference finds what the rules add to the score of each fact,
from the weights of the claims so far. The algorithm sees it as a part of the scores. So what
follows from other items reaches the plausibilities and the reliabilities learned from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veracity.algorithms.base import Algorithm, Step, Turn
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.partitions import Encoded
from veracity.errors import ParameterError
from veracity.logic.factors import (
    Graph,
    RuleSums,
    ground,
    infer,
)
from veracity.logic.rules import Rules
from veracity.naming import as_text
from veracity.printing import in_short
from veracity.reading.roles import Kind

STEADY = 0.01
"""Largest change of a strength, as a share of it and one, in a round that may be the last."""


class Ready(NamedTuple):
    """Data stored with a block: its factors, and the memory of the algorithm."""

    graph: Graph
    memory: Any


def require_fit(algorithm: Algorithm[Any], kind: Kind) -> None:
    """Raise ParameterError if rules cannot be used with an algorithm or with claims."""
    if kind != "categorical":
        raise ParameterError(
            f"rules are for categorical claims, where one value of an item is true, not for {kind} "
            "ones; leave out rules"
        )
    if not algorithm.takes_rules:
        raise ParameterError(
            f"{algorithm.name} takes no rules: they need an algorithm that judges by log-odds and "
            "makes one value of an item true, such as veracity or accu"
        )


@dataclass(frozen=True)
class RuledStep:
    """Look of a step at a block, under rules.

    Until rules are used, the algorithm looks alone.
    """

    algorithm: Algorithm[Any]
    step: Step[Any]
    rules: Rules
    are_used: bool

    def __call__(self, block: Block, state: Any, turn: Turn) -> tuple[Any, Any]:
        """Return the tally of the step with the sums of the rules, and the memory of both."""
        graph, memory = turn.memory or (None, None)
        graph = ground(block, self.rules) if graph is None else Graph(*graph)
        if memory is None and self.step.derives is not None:
            memory = self.step.derives(block, state)
        sums = None
        if self.are_used:
            derived = memory if self.step.derives is not None else None
            weights = self.algorithm.weigh_learning(block, state, derived)
            assert weights is not None  # algorithms that take rules judge by weights
            found = infer(block, weights, graph, self.rules, learns=True)
            block, sums = block._replace(field_of_fact=found.field_of_fact), found.sums
        tally, memory_after = self.step.look(block, state, turn._replace(memory=memory))
        if turn.memory is not None and memory_after is turn.memory[1]:
            return (tally, sums), turn.memory
        return (tally, sums), Ready(graph, memory_after)


def moved(before: FloatArray, after: FloatArray) -> bool:
    """Return True if a strength changes too much for the last round."""
    return bool((np.abs(after - before) > STEADY * (1.0 + before)).any())


def examples_of(encoded: Encoded, rules: Rules, sums: RuleSums) -> list[list[str]]:
    """Return entities whose claims break each rule, the surest first."""
    found: list[list[str]] = [[] for _ in rules.rules]
    if encoded.is_remote:
        return found
    worst: Any = sums.worst
    for rule, _, block, item in zip(*worst, strict=True):
        entity = as_text(encoded.parts[int(block)].items["entity"][[int(item)]])[0]
        found[rule].append(in_short(entity))
    return found
