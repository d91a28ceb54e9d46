"""What the default thinks of the sources."""

from __future__ import annotations

from typing import NamedTuple

from veracity.algorithms.prior import BySource
from veracity.algorithms.veracity.confusion import Confusions
from veracity.algorithms.veracity.one_coin import OneCoin
from veracity.algorithms.veracity.shrinkage import MOST_CORRELATED
from veracity.algorithms.veracity.two_coin import TwoCoin
from veracity.claims.survey import Survey
from veracity.dependence.agreement import Dependence

MOST_COUNTED = 100_000
"""Distinct values up to which it is counted how often each is claimed: more hardly coincide by
chance."""


class Belief(NamedTuple):
    """What is thought of the sources, and of who depends on whom; and what each has claimed."""

    model: OneCoin | Confusions | TwoCoin
    dependence: Dependence | None
    claims: BySource
    rival: Belief | None = None
    """What is thought of them in another reading of the claims, where there are two."""
    n_labels: int = 0
    """How many values are claimed; none, if they are too many to coincide by chance."""
    chance: float = 0.0
    """How often claims on different items say the same."""


def counted_labels(survey: Survey) -> int:
    """How many labels there are to be counted: none, if there are too many, or they are open."""
    n_labels = 0 if survey.names.n_open else len(survey.names.labels)
    return n_labels if n_labels <= MOST_COUNTED else 0


def as_usual(state: Belief) -> Belief:
    """The belief, if voices on an item err alike as they do as a rule, whatever the claims show."""
    model = state.model
    if isinstance(model, TwoCoin):
        return state
    correlation = min(model.correlation / model.alike, MOST_CORRELATED)
    return state._replace(model=model._replace(correlation=correlation, alike=1.0))
