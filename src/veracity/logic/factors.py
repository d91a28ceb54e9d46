"""Turn rules into factors over the values of the items of a block, and infer with them.

Each item that a rule mentions is a variable. Its states are its claimed values, and one that stands
for all values that nobody claims. A rule makes one factor for each entity that has all of its
attributes: states that break it are exp(-strength) times less likely.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.algorithms.rules import Weights, label_scores, scores, unclaimed_scores
from veracity.dependence.pairs import joined
from veracity.encoding.block import SAME, Block, BoolArray, FloatArray, IntArray
from veracity.encoding.partitions import Encoded, Partition
from veracity.errors import TooLarge
from veracity.kernels import BROKEN, OPEN
from veracity.kernels.reference import begins_of, in_groups
from veracity.logic.rules import HARD, Rules, Values, codes_of
from veracity.naming import as_text
from veracity.printing import in_short
from veracity.values import amounts

MOST_LABELS = 20
"""Distinct values of all claims up to which an item may have one that nobody claims of it."""

MOST_CELLS = 1 << 20
"""Combinations of values of one case of a rule, at most."""

CELLS_AT_ONCE = 1 << 22

FARTHEST = 60.0
"""Log-odds by which a value may be behind the best of its item; beyond, it makes no difference."""

BINS = 40
"""Bins for the probability that a case breaks its rule by chance."""

SHOWN = 3
"""Number of examples of broken cases, for each rule."""


class Marked(NamedTuple):
    """Report of a marked part: its items with known truths, and the labels of each attribute."""

    items: int
    is_used: BoolArray
    """[attribute, label]; empty if labels are too many."""


@dataclass(frozen=True)
class Marking:
    """Function that adds to a block what rules need of the names in its part, wherever it is."""

    n_attributes: int = 0
    n_labels: int = 0

    def __call__(self, part: Partition) -> tuple[Block, Marked]:
        """Mark the entity of each item, and the hash and the amount of each value."""
        assert part.values is not None
        block, code = part.block, codes_of(part.values)
        texts, place = np.unique(code, return_index=True)
        amount = amounts(as_text(part.values.gather(place)))[np.searchsorted(texts, code)]
        is_used = np.zeros((self.n_attributes, self.n_labels), dtype=np.bool_)
        if is_used.size:
            is_used[block.attribute_of_item[block.item_of_fact], block.label_of_fact] = True
        block = block._replace(
            entity_of_item=codes_of(part.items["entity"]), code_of_fact=code, amount_of_fact=amount
        )
        return block, Marked(int(np.count_nonzero(block.is_known)), is_used)


def with_marks(encoded: Encoded, rules: Rules, *, learns_shares: bool) -> tuple[Encoded, Rules]:
    """Add to the blocks what rules need, and to the rules the numbers of the names they mean.

    Labels get offsets only if the algorithm learns their shares among the truths.
    """
    names = encoded.names
    rules = rules.bound(names.attributes)
    n_labels = len(names.labels)
    if names.n_unnumbered or n_labels > MOST_LABELS:
        n_labels = 0
    marked, found = encoded.with_known_truths(Marking(len(names.attributes), n_labels))
    is_used = np.logical_or.reduce([own.is_used for own in found])
    labels = as_text(names.labels[:n_labels])
    rules = rules.with_labels(is_used, labels)
    return marked, rules if learns_shares else replace(rules, offset=np.zeros(0))


class Graph(NamedTuple):
    """Variables and factors of a block, by component. A slot is a variable of a factor."""

    first_state_of_variable: IntArray
    first_variable_of_component: IntArray
    first_factor_of_component: IntArray
    first_slot_of_factor: IntArray
    variable_of_slot: IntArray
    first_sent_of_slot: IntArray
    first_cell_of_factor: IntArray
    kind_of_cell: NDArray[np.uint8]
    """0 if the rule holds, 1 if it is broken, 2 if nobody claims one of the values."""
    rule_of_factor: IntArray
    item_of_variable: IntArray
    fact_of_state: IntArray
    """The fact; -1 for values that nobody claims of the item."""
    label_of_state: IntArray
    """The label, of labels that nobody claims of the item; -1 for all other states."""
    cases_of_rule: IntArray


class Worst(NamedTuple):
    """The cases of each rule that the claims break most surely; those of blocks can be added."""

    rule: IntArray
    broken: FloatArray
    block: IntArray
    item: IntArray

    def __add__(self, other: Worst) -> Worst:  # type: ignore[override]
        pairs: Any = zip(self, other, strict=True)
        return Worst(*map(np.concatenate, pairs)).shortened()

    def shortened(self) -> Worst:
        """Return the first cases of each rule."""
        order = np.lexsort((self.item, self.block, -np.round(self.broken, SAME), self.rule))
        rule = self.rule[order]
        return self.chosen(order[np.arange(len(rule)) - np.searchsorted(rule, rule) < SHOWN])

    def chosen(self, which: IntArray | BoolArray) -> Worst:
        """Return some of the cases."""
        return Worst(self.rule[which], self.broken[which], self.block[which], self.item[which])


class RuleSums(NamedTuple):
    """Sums over the cases of each rule, from which strengths are learned and reported."""

    cases: IntArray
    """Entities that have all attributes of the rule."""
    by_claims: FloatArray
    """Expected number of cases that are broken, by the claims alone."""
    broken: FloatArray
    """The same, given all rules."""
    unsure: FloatArray
    """Sum of P(broken) (1 - P(broken))."""
    by_chance: FloatArray
    """[rule, bin, 2]: number of cases by their probability to be broken by chance, and its sum."""
    components: IntArray
    """Number of all components, of those solved by loopy propagation, and of those unsettled."""
    of_label: FloatArray
    """[label, 2]: expected number of variables with it before any claim, under the rules and
    without; empty if shares of labels are not learned."""
    worst: Worst


class States(NamedTuple):
    """States of the items of a block: claimed values, other labels of the attribute, any other."""

    n_of_item: IntArray
    first_label_of_item: IntArray
    label: IntArray
    """Labels that nobody claims of the item, but that others claim of the attribute."""

    @classmethod
    def of(cls, block: Block, rules: Rules) -> States:
        """Find the states of all items."""
        label, n_labels = np.zeros(0, np.int64), np.zeros(block.n_items, np.int64)
        if rules.is_used.size:
            is_other = rules.is_used[block.attribute_of_item].copy()
            is_other[block.item_of_fact, block.label_of_fact] = False
            n_labels, label = is_other.sum(axis=1), np.nonzero(is_other)[1]
        return cls(block.n_facts_of_item + n_labels + 1, begins_of(n_labels), label)

    def values(self, block: Block, rules: Rules, item: IntArray, state: IntArray) -> Values:
        """Return the values of states of items."""
        n_facts = block.n_facts_of_item[item]
        is_fact, is_known = state < n_facts, state < self.n_of_item[item] - 1
        fact = block.first_fact_of_item[item] + np.where(is_fact, state, 0)
        code, amount = block.code_of_fact[fact], block.amount_of_fact[fact]
        if len(self.label):
            place = self.first_label_of_item[item] + state - n_facts
            label = self.label[np.where(is_fact | ~is_known, 0, place)]
            code = np.where(is_fact, code, rules.code_of_label[label])
            amount = np.where(is_fact, amount, rules.amount_of_label[label])
        return Values(code, amount, is_known)


def ground(block: Block, rules: Rules) -> Graph:
    """Make the factors of all rules in a block; those that no values can break are left out."""
    entity = np.cumsum(np.diff(block.entity_of_item, prepend=block.entity_of_item[:1]) != 0)
    n_entities = int(entity[-1]) + 1 if len(entity) else 0
    states = States.of(block, rules)
    found: list[tuple[IntArray, ...]] = []
    cells: list[NDArray[np.uint8]] = []
    cases = np.zeros(len(rules.rules), np.int64)
    for r, (rule, numbers) in enumerate(zip(rules.rules, rules.numbers, strict=True)):
        item = np.full((n_entities, len(numbers)), -1)
        for column, number in enumerate(numbers):
            own = np.flatnonzero(block.attribute_of_item == number)
            item[entity[own], column] = own
        item = item[(item >= 0).all(axis=1)]
        cases[r] = len(item)
        n_cells = states.n_of_item[item].prod(axis=1)
        most = states.n_of_item[item].prod(axis=1, dtype=np.float64).max(initial=0.0)
        if most > MOST_CELLS:  # integers would overflow
            raise TooLarge(
                f"rule '{in_short(rule.name)}': an entity has {most:,.0f} combinations of values "
                f"of {in_short(', '.join(rule.attributes))}, and {MOST_CELLS:,} at most can be "
                "held; leave the rule out, or bring values to one spelling with normalise=True"
            )
        bounds = np.flatnonzero(np.diff(np.cumsum(n_cells) // CELLS_AT_ONCE, prepend=0))
        for own, size in zip(np.split(item, bounds), np.split(n_cells, bounds), strict=True):
            if not len(own):
                continue
            first = begins_of(size)
            factor = np.repeat(np.arange(len(own)), size)
            rest, values = np.arange(first[-1]) - first[factor], list[Values]()
            for column in reversed(range(len(numbers))):
                of_cell = own[factor, column]
                state, rest = rest % states.n_of_item[of_cell], rest // states.n_of_item[of_cell]
                values.insert(0, states.values(block, rules, of_cell, state))
            is_open = ~np.logical_and.reduce([own.is_known for own in values])
            kind = np.where(is_open, OPEN, rule.is_broken(values)).astype(np.uint8)
            is_live = np.logical_or.reduceat(kind == BROKEN, first[:-1])
            found.append((np.full(is_live.sum(), r), size[is_live], own[is_live]))
            cells.append(kind[is_live[factor]])
    return _assembled(block, states, found, cells, cases)


def _assembled(
    block: Block,
    states: States,
    found: list[tuple[IntArray, ...]],
    cells: list[NDArray[np.uint8]],
    cases: IntArray,
) -> Graph:
    """Return the graph, in which the variables and factors of a component are neighbours."""
    nothing = np.zeros(0, np.int64)
    rule = np.concatenate([nothing, *(own for own, _, _ in found)])
    n_cells = np.concatenate([nothing, *(size for _, size, _ in found)])
    n_slots = np.concatenate(
        [nothing, *(np.full(len(items), items.shape[1]) for _, _, items in found)]
    )
    item_of_slot = np.concatenate([nothing, *(items.ravel() for _, _, items in found)])
    item, variable = np.unique(item_of_slot, return_inverse=True)
    first_slot = begins_of(n_slots)
    component = joined(np.repeat(variable[first_slot[:-1]], n_slots), variable, len(item))
    order = np.argsort(component, kind="stable")
    place = np.empty(len(item), np.int64)
    place[order] = np.arange(len(item))
    n_components = int(component.max(initial=-1)) + 1
    of_factor = component[variable[first_slot[:-1]]]
    by_component = np.argsort(of_factor, kind="stable")
    slots, first_slot = in_groups(first_slot, by_component)
    cell, first_cell = in_groups(begins_of(n_cells), by_component)
    item = item[order]
    n_states = states.n_of_item[item]
    first_state = begins_of(n_states)
    own = np.repeat(item, n_states)
    state = np.arange(first_state[-1]) - np.repeat(first_state[:-1], n_states)
    is_fact = state < block.n_facts_of_item[own]
    fact = np.where(is_fact, block.first_fact_of_item[own] + state, -1)
    label = np.full(len(fact), -1)
    is_label = ~is_fact & (state < states.n_of_item[own] - 1)
    which = states.first_label_of_item[own] + state - block.n_facts_of_item[own]
    label[is_label] = states.label[which[is_label]]
    variable = place[variable[slots]]
    return Graph(
        first_state_of_variable=first_state,
        first_variable_of_component=begins_of(np.bincount(component, minlength=n_components)),
        first_factor_of_component=begins_of(np.bincount(of_factor, minlength=n_components)),
        first_slot_of_factor=first_slot,
        variable_of_slot=variable,
        first_sent_of_slot=begins_of(n_states[variable]),
        first_cell_of_factor=first_cell,
        kind_of_cell=np.concatenate([np.zeros(0, np.uint8), *cells])[cell],
        rule_of_factor=rule[by_component],
        item_of_variable=item,
        fact_of_state=fact,
        label_of_state=label,
        cases_of_rule=cases,
    )


class Inferred(NamedTuple):
    """Result of inference: what the rules add to the score of each fact, and sums over cases."""

    field_of_fact: FloatArray
    sums: RuleSums


def infer(
    block: Block, weights: Weights, graph: Graph, rules: Rules, *, learns: bool = False
) -> Inferred:
    """Return what the rules add to the score of each fact: its log message from all other items.

    The message to unclaimed values is subtracted, so their score stays as it is. While strengths
    are learned, what happens by chance is found; in the end, what the claims alone would break.
    """
    kernel: Any = importlib.import_module("veracity.kernels.compiled_inference")
    first, fact = graph.first_state_of_variable, graph.fact_of_state
    if not len(fact):
        nothing = np.zeros(0)
        of_label = np.zeros((len(rules.offset), 2))
        sums = _sums(block, graph, nothing, nothing, nothing, np.zeros(3, np.int64), of_label)
        return Inferred(np.zeros(block.n_facts), sums)
    begin, is_fact = first[:-1], fact >= 0
    variable = np.repeat(np.arange(len(begin)), np.diff(first))
    score, log_prior = _scores_of_states(block, weights, graph)
    label = np.where(is_fact, block.label_of_fact[fact], graph.label_of_state)
    offset = np.zeros(len(fact))
    if len(rules.offset):
        offset = np.where(label >= 0, rules.offset[label], 0.0)
    unclaimed = np.where(is_fact, -np.inf, score)
    score, log_prior = score - offset, log_prior - offset
    is_known = block.is_known[graph.item_of_variable][variable]
    is_true = np.where(is_fact, block.known_of_fact[fact] == 1, False)
    is_true |= ~is_fact & ~np.logical_or.reduceat(is_true, begin)[variable]
    score = np.where(is_known, np.where(is_true, 0.0, -np.inf), score)
    score -= np.maximum.reduceat(score, begin)[variable]
    score = np.where(np.isfinite(score), np.maximum(score, -FARTHEST), score)
    log_prior -= np.maximum.reduceat(log_prior, begin)[variable]

    # an open case is broken as often as by chance, and then as unlikely as any broken case
    odds = np.exp(-rules.strength)
    free = 1.0 - rules.chance + rules.chance * odds
    columns = (np.zeros_like(odds), -rules.strength, np.log(free), rules.chance * odds / free)
    cost = np.column_stack(columns)[graph.rule_of_factor]
    message, broken, counts = kernel.infer(graph, cost, score)
    n_factors = len(graph.rule_of_factor)
    prior_message, by_claims, by_chance = np.zeros(len(fact)), *np.zeros((2, n_factors))
    if learns:
        prior_message, by_chance, _ = kernel.infer(graph, cost, log_prior)
    else:
        alone = np.exp(score)
        alone /= np.add.reduceat(alone, begin)[variable]
        by_claims = kernel.expect(graph, rules.chance[graph.rule_of_factor], alone)
    by_chance = by_chance / (by_chance + (1.0 - by_chance) * odds[graph.rule_of_factor])

    added = message - offset
    reference = _log_sums(unclaimed + added, begin) - _log_sums(unclaimed, begin)
    best = np.maximum.reduceat(np.where(is_fact, added, -np.inf), begin)
    reference = np.where(np.isfinite(reference), reference, best)
    field = np.zeros(block.n_facts)
    field[fact[is_fact]] = (added - reference[variable])[is_fact]
    of_label = np.zeros((len(rules.offset), 2))
    if len(of_label):
        is_own = label >= 0
        for column, log_share in enumerate((log_prior + prior_message, log_prior + offset)):
            share = np.exp(log_share - _log_sums(log_share, begin)[variable])
            of_label[:, column] = np.bincount(label[is_own], share[is_own], len(of_label))
    return Inferred(field, _sums(block, graph, broken, by_claims, by_chance, counts, of_label))


def _log_sums(log_share: FloatArray, begin: IntArray) -> FloatArray:
    """Return the logarithm of the sum of each group; NaN if all are zero."""
    with np.errstate(invalid="ignore"):
        found = np.logaddexp.reduceat(log_share, begin)
    return np.where(np.isfinite(found), found, np.nan)


def _scores_of_states(
    block: Block, weights: Weights, graph: Graph
) -> tuple[FloatArray, FloatArray]:
    """Return the score of each state by the claims, and before any claim.

    Where no label has a score of its own, those that nobody claims of an item share one.
    """
    first, fact, label = graph.first_state_of_variable, graph.fact_of_state, graph.label_of_state
    item = np.repeat(graph.item_of_variable, np.diff(first))
    is_fact, is_label, last = fact >= 0, label >= 0, first[1:] - 1
    score, log_prior = np.full((2, len(fact)), -np.inf)
    if weights.confusion is not None:
        table, prior = label_scores(block, weights), np.asarray(weights.prior)
        label = np.where(is_fact, block.label_of_fact[fact], label)
        is_own = label >= 0
        score[is_own] = table[item[is_own], label[is_own]]
        log_prior[is_own] = prior[label[is_own]]
        variable = np.repeat(np.arange(len(last)), np.diff(first))
        others = table[graph.item_of_variable]
        others[variable[is_own], label[is_own]] = -np.inf
        score[last] = np.logaddexp.reduce(others, axis=1)
        return score, log_prior
    score[is_fact] = scores(block, weights)[fact[is_fact]]
    unclaimed = unclaimed_scores(block, weights)
    n_labels = np.add.reduceat(is_label, first[:-1], dtype=np.int64)
    n_spare = np.ones(block.n_items)
    n_spare[graph.item_of_variable] = np.maximum(n_labels, 1)
    share = unclaimed - np.log(n_spare)
    score[is_label] = share[item[is_label]]
    score[last] = np.where(n_labels > 0, -np.inf, unclaimed[graph.item_of_variable])
    prior = np.asarray(weights.prior, dtype=np.float64)
    log_prior[is_fact] = np.broadcast_to(prior, block.n_facts)[fact[is_fact]]
    if np.isfinite(score[is_label]).any():
        log_prior[is_label] = share[item[is_label]] if prior.ndim else prior
    return score, log_prior


def _sums(
    block: Block,
    graph: Graph,
    broken: FloatArray,
    by_claims: FloatArray,
    by_chance: FloatArray,
    components: IntArray,
    of_label: FloatArray,
) -> RuleSums:
    rule, n = graph.rule_of_factor, len(graph.cases_of_rule)
    place = rule * BINS + np.minimum((by_chance * BINS).astype(np.int64), BINS - 1)
    bins = [np.bincount(place, own, n * BINS) for own in (np.ones(len(rule)), by_chance)]
    item = graph.item_of_variable[graph.variable_of_slot[graph.first_slot_of_factor[:-1]]]
    is_sure = by_claims > 0.5
    every = Worst(rule, by_claims, np.full(len(rule), block.number), item).chosen(is_sure)
    return RuleSums(
        cases=graph.cases_of_rule,
        by_claims=np.asarray(np.bincount(rule, by_claims, n), np.float64),
        broken=np.asarray(np.bincount(rule, broken, n), np.float64),
        unsure=np.asarray(np.bincount(rule, broken * (1.0 - broken), n), np.float64),
        by_chance=np.stack(bins, axis=1).reshape(n, BINS, 2).astype(np.float64),
        components=components,
        of_label=of_label,
        worst=every.shortened(),
    )


def by_rule(block: Block, weights: Weights, graph: Graph, rules: Rules) -> FloatArray:
    """Divide the field of each fact among the rules: [rule, fact].

    The last row is the offset of all rules together. Rules are added one after the other, in their
    order and in the opposite one, and a rule gets the mean of what it adds. So the parts add up,
    also where rules work together.
    """
    n = len(rules.rules)
    added = np.zeros((n + 1, block.n_facts))
    added[n] = infer(block, weights, graph, replace(rules, strength=np.zeros(n))).field_of_fact
    concerned = np.unique(graph.rule_of_factor)
    for order in (concerned, concerned[::-1]):
        so_far, before = np.zeros(n), added[n]
        for rule in order:
            so_far[rule] = rules.strength[rule]
            after = infer(block, weights, graph, replace(rules, strength=so_far)).field_of_fact
            added[rule] += 0.5 * (after - before)
            before = after
    return added


# --- strengths ------------------------------------------------------------------------------------

PSEUDO_CASES, PSEUDO_BROKEN = 1.0, 0.25
"""A case that is broken by chance half of the time, and by how much of it is: it keeps the strength
of a rule with few cases small."""

HALVINGS = 50

LIKELY = 1.92
"""Half of the 95 % quantile of chi-squared: log-likelihood that the ends of an interval lose."""


def with_strengths(rules: Rules, sums: RuleSums) -> Rules:
    """Return the rules with the strengths, and the shares of chance, that follow from sums."""
    n, total = sums.by_chance.sum(axis=1).T
    chance = (total + 0.5) / (n + 1.0)
    offset = rules.offset
    if len(sums.of_label):
        under_rules, without = np.maximum(sums.of_label, 1e-9).T
        offset = offset + np.log(under_rules / without)
    return replace(rules, strength=learned_strengths(rules, sums), chance=chance, offset=offset)


def learned_strengths(rules: Rules, sums: RuleSums) -> FloatArray:
    """Return the strengths: learned ones such that as many cases are broken as are expected.

    A case that chance breaks with probability r is broken with e^-w r / (1 - r + e^-w r).
    """
    found = _solved(lambda w: _expected(sums, w) - sums.broken - PSEUDO_BROKEN, len(sums.cases))
    return np.where(rules.is_learned, found, rules.strength)


def intervals(rules: Rules, sums: RuleSums) -> tuple[FloatArray, FloatArray]:
    """Return the ends of 95 % intervals of learned strengths, from their likelihood ratio.

    The likelihood counts as much as can be observed of the number of broken cases: the rest is
    unsure, since nobody knows the truths.
    """
    n, best = sums.by_chance[..., 0], learned_strengths(rules, sums)
    share = _share(sums, best)
    whole = (n * share * (1.0 - share)).sum(axis=1) + 0.25 * PSEUDO_CASES
    observed = np.clip(1.0 - sums.unsure / whole, 0.0, 1.0)

    def log_likelihood(w: FloatArray) -> FloatArray:
        r = _by_chance(sums)
        free = (n * np.log(1.0 - r + r * np.exp(-w)[:, None])).sum(axis=1)
        free += PSEUDO_CASES * np.log(0.5 + 0.5 * np.exp(-w))
        return np.asarray(observed * (-w * (sums.broken + PSEUDO_BROKEN) - free))

    top = log_likelihood(best)
    low = _solved(lambda w: np.where(w < best, top - log_likelihood(w) - LIKELY, -1.0), len(best))
    high = _solved(lambda w: np.where(w > best, LIKELY - top + log_likelihood(w), 1.0), len(best))
    low = np.where(top - log_likelihood(np.zeros_like(best)) < LIKELY, 0.0, low)
    return low, high


def _by_chance(sums: RuleSums) -> FloatArray:
    n = sums.by_chance[..., 0]
    return np.divide(sums.by_chance[..., 1], n, out=np.zeros_like(n), where=n > 0.0)


def _share(sums: RuleSums, w: FloatArray) -> FloatArray:
    """Return the probability that a case of each bin is broken."""
    r, factor = _by_chance(sums), np.exp(-w)[:, None]
    return np.asarray(factor * r / (1.0 - r + factor * r))


def _expected(sums: RuleSums, w: FloatArray) -> FloatArray:
    pseudo = PSEUDO_CASES * np.exp(-w) / (1.0 + np.exp(-w))
    return np.asarray((sums.by_chance[..., 0] * _share(sums, w)).sum(axis=1) + pseudo)


def _solved(excess: Any, n: int) -> FloatArray:
    """Return where a falling function of each strength is zero, from 0 to `HARD`."""
    low, high = np.zeros(n), np.full(n, HARD)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        is_above = excess(middle) > 0.0
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.asarray(0.5 * (low + high))


def rows_of(
    rules: Rules, sums: RuleSums, examples: Sequence[Sequence[str]], learned: RuleSums | None
) -> list[dict[str, Any]]:
    """Return one row per rule, for tables and saved runs; `learned` are the sums of learning."""
    is_learned = rules.is_learned & (learned is not None)
    low, high = intervals(rules, sums if learned is None else learned)
    return [
        {
            "rule": rule.name, "strength": float(rules.strength[r]),
            "low": float(low[r]) if is_learned[r] else None,
            "high": float(high[r]) if is_learned[r] else None,
            "cases": int(sums.cases[r]), "broken_by_claims": float(sums.by_claims[r]),
            "broken": float(sums.broken[r]), "examples": list(examples[r]),
            "given": json.loads(json.dumps(rule.given, default=str)),
        }
        for r, rule in enumerate(rules.rules)
    ]  # fmt: skip


RULES_SCHEMA = {
    "rule": pl.String, "strength": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "cases": pl.Int64, "broken_by_claims": pl.Float64, "broken": pl.Float64,
}  # fmt: skip
"""Columns of the table of rules."""
