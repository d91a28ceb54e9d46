"""Other ways in which the default can read the claims: without what decided most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veracity.algorithms.base import Algorithm
from veracity.algorithms.veracity.belief import Belief, as_usual
from veracity.algorithms.veracity.confusion import Confusions
from veracity.algorithms.veracity.one_coin import OneCoin

if TYPE_CHECKING:
    from veracity.algorithms.veracity.algorithm import Veracity


def rivals_of(own: Veracity, state: Belief) -> dict[str, Algorithm[Any]]:
    """The same without what decided most, by what each assumes: confusions, favourites, copies."""
    return {**_other_models(own, state), **_other_copies(own, state)}


def _other_models(own: Veracity, state: Belief) -> dict[str, Algorithm[Any]]:
    model = state.model
    if isinstance(model, OneCoin) and model.falls_back:
        return {"if no source falls back on one value": replace(own, favourites=False)}
    if not isinstance(model, Confusions):
        return {}
    unlike = {
        "if no label is more frequent or more confused than others": replace(own, labels=False)
    }
    if model.are_learned:
        alike = "if no source confuses some labels more than others"
        return {**unlike, alike: replace(own, confusions=False)}
    if own.confusions:
        confused = "if sources confuse labels, and no item is hard"
        return {**unlike, confused: replace(own, hard_items=False)}
    return {**unlike}


def _other_copies(own: Veracity, state: Belief) -> dict[str, Algorithm[Any]]:
    if state.dependence is None or not state.dependence.is_any:
        return {}
    if state.dependence.once:
        return {"if no source copies another": replace(own, dependence=False)}
    return {"if copies count once": replace(own, most_undecided=1.0)}


def gives_way_to(rival: Veracity, state: Belief) -> bool:
    """To the same labels without confusions: with them, labels may have changed places.

    Of two labels it is watched while they are learned.
    """
    is_plain = rival.labels and not rival.confusions
    return is_plain and isinstance(state.model, Confusions) and state.model.n_labels > 2


def with_rival(state: Belief, other: Belief, *, confusions_differ: bool) -> Belief:
    """The belief where a rival reads the claims otherwise: both readings are kept.

    What are confusions of sources in one reading are errors that the voices on an item share in
    the other; so that errors seem independent shows nothing, if the rival knows no confusions.
    """
    if confusions_differ:
        state, other = as_usual(state), as_usual(other)
    return state._replace(rival=other._replace(rival=None))
