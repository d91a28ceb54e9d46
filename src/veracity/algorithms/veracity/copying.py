"""How the default finds out who copies: three looks at the claims, before anything is learned.

And a fourth at some of them once all is learned: who has it from whom.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from veracity.algorithms.base import Step, Tally, Turn
from veracity.algorithms.veracity.belief import Belief
from veracity.algorithms.veracity.one_coin import OneCoin
from veracity.claims.block import Block
from veracity.dependence.agreement import (
    Agreement,
    agreements,
    confirmed,
    mistakes,
    with_excess,
)
from veracity.dependence.deciding import decided_by_copies, disputed_items

ENOUGH_CLAIMS = 300_000
"""Items with about so many claims are looked at for who of two copies."""


def steps_to_find_copies(most_undecided: float) -> tuple[Step[Belief], ...]:
    """Who agrees too well, who copies, and whether copies count once.

    They do unless that leaves more than `most_undecided` of what they decide with nobody ahead.
    """
    return (
        Step(_tally_agreement, _learn_agreement),
        Step(_tally_mistakes, _learn_mistakes),
        Step(_tally_undecided, partial(_learn_undecided, most_undecided)),
    )


def _tally_agreement(block: Block, state: Belief, turn: Turn) -> Tally:
    """Who agrees with whom."""
    assert state.dependence is not None
    contested = isinstance(state.model, OneCoin)
    return agreements(block, state.dependence, None, contested=contested)


def _learn_agreement(state: Belief, total: Tally) -> Belief:
    """Who agrees too well; chance is one over the labels, or an item's values and one more."""
    assert state.dependence is not None
    total = Agreement(*total)
    if total.items == 0:
        return state
    is_open = isinstance(state.model, OneCoin)
    n_values = 1.0 + total.facts / total.items if is_open else len(state.model.share)  # type: ignore[union-attr]
    return state._replace(dependence=with_excess(state.dependence, total, n_values))


def _tally_mistakes(block: Block, state: Belief, turn: Turn) -> Tally:
    """What pairs that agree too well share, and seems false to all others."""
    assert state.dependence is not None
    is_open, dependence = isinstance(state.model, OneCoin), state.dependence
    if not dependence.is_any and (is_open or not dependence.shows_mistakes):
        return (np.zeros_like(dependence.both),)
    return (mistakes(block, dependence, contested=is_open),)


def _learn_mistakes(state: Belief, total: Tally) -> Belief:
    """Who copies."""
    assert state.dependence is not None
    sites = isinstance(state.model, OneCoin)
    return state._replace(dependence=confirmed(state.dependence, total[0], sites=sites))


def _tally_undecided(block: Block, state: Belief, turn: Turn) -> Tally:
    """On how many items copies decide, and on how many nobody wins once they count once."""
    assert state.dependence is not None
    if not isinstance(state.model, OneCoin) or not state.dependence.is_any:
        return 0.0, 0.0
    disputed = disputed_items(block, float(state.claims.sum()))
    if disputed.n_items == 0:
        return 0.0, 0.0
    weight = state.dependence.weight_of_support(disputed, sites=True)
    return decided_by_copies(disputed, weight)


def _learn_undecided(most_undecided: float, state: Belief, total: Tally) -> Belief:
    """Whether copies count once."""
    assert state.dependence is not None
    by_copies, undecided = total
    once = undecided <= most_undecided * by_copies
    return state._replace(dependence=state.dependence._replace(once=once))


def items_that_show_who_copies(block: Block, n_claims: float) -> Block:
    """Those of a block's items that are looked at once all is learned."""
    return block.select(block.drawn(ENOUGH_CLAIMS / max(n_claims, 1.0), least=0))
