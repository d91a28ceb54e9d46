"""Inference in components of items that rules connect, compiled.

A component with as many edges as a tree is solved by messages in both directions, a small one by
enumerating all assignments: both are exact. Larger ones with cycles get damped messages (loopy
belief propagation), which are approximate.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from veracity.kernels import BROKEN, KEPT, OPEN, kernel

if TYPE_CHECKING:
    from veracity.encoding.block import FloatArray, IntArray
    from veracity.logic.factors import Graph

SHARE = 3
"""Column of the share of open cells that is broken, after the log factors of the kinds of cells."""

MOST_ASSIGNMENTS = 1 << 15
"""Assignments of a component with cycles up to which all are enumerated: fifteen facts that are
true or false have as many."""

MOST_ROUNDS = 300
DAMPING = 0.5
SETTLED = 1e-8
"""Change of messages, as shares of their largest entry, at which loopy propagation stops."""

EXACT = 1e-13
"""The same in a tree, where messages stop changing after a few rounds."""


class Work(NamedTuple):
    """A graph with its arguments, and the arrays to which messages and results are written."""

    graph: Graph
    cost_of_factor: FloatArray
    score_of_state: FloatArray
    message_of_state: FloatArray
    broken_of_factor: FloatArray
    sent: FloatArray


@kernel
def infer(
    graph: Graph, cost_of_factor: FloatArray, score_of_state: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return log messages to states, P(broken) of factors, and how many components were solved how.

    `cost_of_factor` has the log factors of cells, by their kind, and the share of the last kind
    that is broken.

    The last are counts: of all components, of those solved by loopy propagation, and of those where
    it did not settle.
    """
    message = np.zeros(len(score_of_state))
    broken = np.zeros(len(graph.rule_of_factor))
    counts = np.zeros(3, np.int64)
    sent = np.zeros(graph.first_sent_of_slot[-1])
    work = Work(graph, cost_of_factor, score_of_state, message, broken, sent)
    for c in range(len(graph.first_variable_of_component) - 1):
        v0, v1 = graph.first_variable_of_component[c], graph.first_variable_of_component[c + 1]
        f0, f1 = graph.first_factor_of_component[c], graph.first_factor_of_component[c + 1]
        n_edges = graph.first_slot_of_factor[f1] - graph.first_slot_of_factor[f0]
        n_assignments = 1
        for v in range(v0, v1):
            if n_assignments <= MOST_ASSIGNMENTS:
                first, last = graph.first_state_of_variable[v], graph.first_state_of_variable[v + 1]
                n_assignments *= last - first
        counts[0] += 1
        if n_edges == v1 - v0 + f1 - f0 - 1:
            _propagate(work, f0, f1, 0.0)
        elif n_assignments <= MOST_ASSIGNMENTS:
            _enumerate(work, v0, v1, f0, f1)
        else:
            counts[1] += 1
            counts[2] += not _propagate(work, f0, f1, DAMPING)
    return message, broken, counts


@kernel
def _enumerate(work: Work, v0: int, v1: int, f0: int, f1: int) -> None:
    """Sum the probabilities of all assignments of a component."""
    graph, cost_of_factor, score_of_state, message, broken, _ = work
    first_state = graph.first_state_of_variable
    state = first_state[v0:v1].copy()
    share = np.zeros(first_state[v1] - first_state[v0])
    kind = np.zeros(f1 - f0, np.int64)
    total, is_over = 0.0, False
    while not is_over:
        log_joint = 0.0
        for v in range(v0, v1):
            log_joint += score_of_state[state[v - v0]]
        if log_joint > -np.inf:
            for f in range(f0, f1):
                cell = 0
                for slot in range(graph.first_slot_of_factor[f], graph.first_slot_of_factor[f + 1]):
                    v = graph.variable_of_slot[slot]
                    n = first_state[v + 1] - first_state[v]
                    cell = cell * n + state[v - v0] - first_state[v]
                kind[f - f0] = graph.kind_of_cell[graph.first_cell_of_factor[f] + cell]
                log_joint += cost_of_factor[f, kind[f - f0]]
            joint = exp(log_joint)
            total += joint
            for v in range(v0, v1):
                share[state[v - v0] - first_state[v0]] += joint
            for f in range(f0, f1):
                if kind[f - f0] == BROKEN:
                    broken[f] += joint
                elif kind[f - f0] == OPEN:
                    broken[f] += joint * cost_of_factor[f, SHARE]
        is_over = True
        for v in range(v1 - 1, v0 - 1, -1):
            state[v - v0] += 1
            if state[v - v0] < first_state[v + 1]:
                is_over = False
                break
            state[v - v0] = first_state[v]
    for f in range(f0, f1):
        broken[f] /= total
    for s in range(first_state[v0], first_state[v1]):
        own = share[s - first_state[v0]]
        message[s] = log(own) - score_of_state[s] if own > 0.0 else 0.0


@kernel
def _propagate(work: Work, f0: int, f1: int, damping: float) -> bool:
    """Pass messages from factor to factor, forward and back, until they settle."""
    limit = EXACT if damping == 0.0 else SETTLED
    for n in range(MOST_ROUNDS):
        change = 0.0
        for i in range(f1 - f0):
            f = f0 + i if n % 2 == 0 else f1 - 1 - i
            change = max(change, _send(work, f, damping))
        if change < limit or f1 - f0 == 1:
            return True
    return False


@kernel
def _send(work: Work, f: int, damping: float) -> float:
    """Send the messages of one factor to its variables; return by how much they changed."""
    graph, cost_of_factor, score_of_state, message, broken, sent = work
    s0, s1 = graph.first_slot_of_factor[f], graph.first_slot_of_factor[f + 1]
    base = graph.first_sent_of_slot[s0]
    share = np.zeros(graph.first_sent_of_slot[s1] - base)
    found = np.zeros(len(share))
    for slot in range(s0, s1):  # what is known of a variable without this factor
        first = graph.first_state_of_variable[graph.variable_of_slot[slot]]
        begin, end = graph.first_sent_of_slot[slot], graph.first_sent_of_slot[slot + 1]
        highest, total = -np.inf, 0.0
        for k in range(begin, end):
            at = first + k - begin
            highest = max(highest, score_of_state[at] + message[at] - sent[k])
        for k in range(begin, end):
            at = first + k - begin
            share[k - base] = exp(score_of_state[at] + message[at] - sent[k] - highest)
            total += share[k - base]
        for k in range(begin, end):
            share[k - base] /= total
    place = np.zeros(s1 - s0, np.int64)
    joint, joint_broken = 0.0, 0.0
    of_broken, of_open = exp(cost_of_factor[f, BROKEN]), exp(cost_of_factor[f, OPEN])
    for cell in range(graph.first_cell_of_factor[f], graph.first_cell_of_factor[f + 1]):
        kind = graph.kind_of_cell[cell]
        own = of_broken if kind == BROKEN else (of_open if kind == OPEN else 1.0)
        for slot in range(s0, s1):
            others = own
            for other in range(s0, s1):
                if other != slot:
                    others *= share[graph.first_sent_of_slot[other] - base + place[other - s0]]
            at = graph.first_sent_of_slot[slot] - base + place[slot - s0]
            found[at] += others
            if slot == s0:
                joint += others * share[at]
                if kind == BROKEN:
                    joint_broken += others * share[at]
                elif kind == OPEN:
                    joint_broken += others * share[at] * cost_of_factor[f, SHARE]
        for slot in range(s1 - 1, s0 - 1, -1):
            place[slot - s0] += 1
            n = graph.first_sent_of_slot[slot + 1] - graph.first_sent_of_slot[slot]
            if place[slot - s0] < n:
                break
            place[slot - s0] = 0
    broken[f] = joint_broken / joint
    change = 0.0
    for slot in range(s0, s1):
        first = graph.first_state_of_variable[graph.variable_of_slot[slot]]
        begin, end = graph.first_sent_of_slot[slot], graph.first_sent_of_slot[slot + 1]
        highest = 0.0
        for k in range(begin, end):
            highest = max(highest, found[k - base])
        for k in range(begin, end):
            new = log(max(found[k - base] / highest, 1e-300))
            change = max(change, abs(exp(new) - exp(sent[k])))
            new = (1.0 - damping) * new + damping * sent[k]
            message[first + k - begin] += new - sent[k]
            sent[k] = new
    return change


@kernel
def expect(graph: Graph, chance_of_factor: FloatArray, share_of_state: FloatArray) -> FloatArray:
    """Return P(broken) of each factor, if the states of its variables are independent."""
    broken = np.zeros(len(graph.rule_of_factor))
    for f in range(len(broken)):
        s0, s1 = graph.first_slot_of_factor[f], graph.first_slot_of_factor[f + 1]
        for cell in range(graph.first_cell_of_factor[f], graph.first_cell_of_factor[f + 1]):
            if graph.kind_of_cell[cell] != KEPT:
                share, rest = 1.0, cell - graph.first_cell_of_factor[f]
                for slot in range(s1 - 1, s0 - 1, -1):
                    v = graph.variable_of_slot[slot]
                    first = graph.first_state_of_variable[v]
                    n = graph.first_state_of_variable[v + 1] - first
                    share *= share_of_state[first + rest % n]
                    rest //= n
                if graph.kind_of_cell[cell] == OPEN:
                    share *= chance_of_factor[f]
                broken[f] += share
    return broken
