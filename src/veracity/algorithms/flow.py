"""LTD-RBM as a flow: the gradient of the likelihood, followed through time by whole sweeps.

Mini-batch ascent with steps ``rate * exp(-decay * round)`` follows the flow ``x' = gradient(x)``
of the machine for the time ``rate / (1 - exp(-decay))``. Here that flow is integrated. A sweep over
all claims yields a few sums per source, which add up over blocks; given these, the machine moves on
by itself, at a cost that depends on the number of sources alone.

    tpr = s(c), fpr = s(a), with c = a + w, s the logistic function;  π = s(b_G);  q plausibility
    m   = certain + open π            true facts a source is expected to cover
    w'  = W - m tpr                   W: its supports, each as plausible as its fact
    a'  = V - m tpr - (n - m) fpr     V: its supports, n: facts it covers
    (b_G + Σ_s b_s)' = Q - F π        b_s = log(1 - tpr) - log(1 - fpr);  Q: Σ q;  F: facts

Three things make few sweeps enough:

* Given the sums, motion is stiff (a source with n facts settles in a time of about 1/n) but has
  only attractive rests, so implicit sub-steps may be long (`advance`).
* W and Q change as the machine moves. Each sweep tells by how much, in the direction it moved; so
  they are foretold from the last sweeps, as a function of the machine, not of time (`Forecast`).
  This is what a secant method does, and it spares the many sweeps of slow convergence.
* A sweep at the place that was predicted corrects the step that led there, and the size of the
  correction says how long the next step may be (`learn`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veracity import kernels
from veracity.algorithms.base import SUREST
from veracity.algorithms.rules import logit
from veracity.encoding.block import UNKNOWN, Block, BoolArray, FloatArray
from veracity.kernels import BEND, Machine
from veracity.kernels.reference_training import Curvature, bias_taken, implicit_step

LIMIT = float(logit(np.array(1.0 - SUREST)))
"""Limit of log-odds of rates."""

TOLERANCE = 0.03
"""Largest correction of any tpr, fpr or the prevalence by a sweep, at the beginning."""

LAST = 0.03
"""Share of `TOLERANCE` used at the end: later steps correct early errors, not the last one."""

PATIENCE, HURRY = 25, 3
"""Number of sweeps after which tolerances double with every further `HURRY` sweeps, to reach an
end. After 25 more sweeps they are 300 times as large, and hardly a step is repeated."""

FINER = 0.3
"""Tolerance of a sub-step between two sweeps, as a share of the tolerance of a sweep."""

CAUTION = 0.8
"""Share of the longest possible step that is tried."""

FIRST = 1.0
"""The first step, in the time that the source with the most facts takes to move."""

GROWTH = 5.0
"""Largest ratio of a step to the last one; forecasts have the same limit."""

MEMORY = 3
"""Number of sweeps in a forecast: two directions. More would mix old changes with new ones."""

DOUBT = 1e-4
"""Ridge that keeps two nearly equal directions apart; directions have length one."""

GAMMA = 1.0 - float(np.sqrt(0.5))
"""The g of a sub-step: it makes sub-steps second-order and L-stable."""


class Sums(NamedTuple):
    """Sufficient statistics of a sweep, which add up over blocks."""

    supports_of_true: FloatArray
    """W of each source: Σ q over the facts it supports."""
    supports: FloatArray
    """V of each source: number of facts it supports."""
    certain: FloatArray
    """Number of true facts that a source covers, if it is fixed by known truths or because one fact
    of each item is true."""
    open: FloatArray
    """Facts that a source covers, of which a share π is expected to be true."""
    facts: FloatArray
    """n of each source: all facts it covers."""
    true: float
    """Q: Σ q over the open facts."""
    judged: float
    """F: number of open facts; none if one fact of each item is true."""


class Place(NamedTuple):
    """State of the machine: log-odds of fpr and tpr in two rows, the global hidden bias b_G."""

    odds: FloatArray
    hidden_bias: float
    rates: FloatArray
    """Fpr and tpr: s of the log-odds."""
    prevalence: float
    """π = s(b_G)."""


class Seen(NamedTuple):
    """W and Q as a sweep found them, and the claims that the machine expected there."""

    expected: FloatArray
    told: FloatArray


class Forecast(NamedTuple):
    """W and Q as a linear function of the expected claims: ``told + reading(expected) @ changes``.

    In the directions of earlier moves, W and Q change as they did then; in all other directions
    they are constant.
    """

    newest: Seen
    readings: FloatArray
    changes: FloatArray
    highest: FloatArray


class Flow(NamedTuple):
    """State of the flow. `learn` is called once per sweep; `is_done` is True at the end."""

    machine: Machine
    """Machine of the next sweep: where it should be a step after `time`."""
    settled: Place
    """State of the machine at `time`, corrected."""
    time: float
    step: float
    end: float
    seen: tuple[Seen, ...] = ()
    sweeps: int = 0
    error: float = np.inf
    """The last correction: the largest move of any tpr, fpr or the prevalence."""

    @property
    def is_done(self) -> bool:
        """True if the flow was followed to its end."""
        return self.time >= self.end

    @property
    def left(self) -> float:
        """Share of the time that is still to go."""
        return max(0.0, 1.0 - self.time / self.end)

    @property
    def reached(self) -> Machine:
        """Machine at `time`."""
        return _machine(self.settled, self.machine.is_fixed)


def start(
    machine: Machine, learning_rate: float, decay: float, rounds: int, share_new: float
) -> Flow:
    """Start at the prior; the total time is the sum of the steps of all rounds.

    Σ_n rate exp(-decay n) = rate (1 - exp(-decay rounds)) / (1 - exp(-decay)).

    An update starts at the place that earlier claims led to. Its time is the share of the claims
    that are new: n claims for a time T move a source as far as n + m claims for T n / (n + m), and
    the rest of T is still to go.
    """
    share = np.expm1(-decay * rounds) / np.expm1(-decay) if decay > 0.0 else float(rounds)
    return Flow(machine, _place(machine), 0.0, 0.0, float(learning_rate * share * share_new))


# --- a sweep --------------------------------------------------------------------------------------


def sums(block: Block, plausible: FloatArray, n_sources: int, *, single_truth: bool) -> Sums:
    """Return the sums of one block, given the plausibility of each fact, or its known truth."""
    counts = kernels.count_votes(block, plausible, n_sources)
    supports_of_true, supports, true, facts = counts.T
    if single_truth:
        return Sums(supports_of_true, supports, true, np.zeros_like(facts), facts, 0.0, 0.0)
    is_open = block.known_of_fact == UNKNOWN
    open_facts, certain = _split_known(block, is_open, plausible, facts)
    n_true = float(plausible[is_open].sum())
    return Sums(
        supports_of_true, supports, certain, open_facts, facts, n_true, float(is_open.sum())
    )


def _split_known(
    block: Block, is_open: BoolArray, plausible: FloatArray, facts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Count, for each source, the open facts and the known true ones that it covers."""
    if is_open.all():
        return facts, np.zeros_like(facts)
    n = len(facts)
    open_facts = kernels.count_votes(block, is_open.astype(np.float64), n)[:, 2]
    certain = kernels.count_votes(block, np.where(is_open, 0.0, plausible), n)[:, 2]
    return open_facts, certain


# --- from sweep to sweep --------------------------------------------------------------------------


def learn(state: Flow, total: Sums) -> Flow:
    """Correct the step that led here by the sums of the sweep, and predict the next.

    The step is taken again, with W and Q as they are known now. If that ends too far from the place
    of the sweep, the step was too long: it is taken back. The sums are not lost then, as forecasts
    for a shorter step use them.
    """
    total = _of_free(total, state.machine.is_fixed)
    here = _place(state.machine)
    seen = (*state.seen, Seen(_expected(here, total), _told(total)))[-MEMORY:]
    state = state._replace(seen=seen, sweeps=state.sweeps + 1)
    forecast = _forecast(seen, total)
    if state.step == 0.0:  # the first sweep: there is nothing to correct
        first = min(FIRST / max(float(total.facts.max()), 1.0), state.end)
        return _predict(state._replace(step=first), total, forecast)
    allowed = _tolerance(state)
    corrected = advance(state.settled, total, forecast, state.step, FINER * allowed)
    error = _distance(corrected, here)
    longer = float(np.clip(CAUTION * np.sqrt(allowed / max(error, 1e-12)), 1.0 / GROWTH, GROWTH))
    if error > allowed:
        shorter = state._replace(step=state.step * min(longer, CAUTION), error=error)
        return _predict(shorter, total, forecast)
    arrived = state._replace(settled=corrected, time=state.time + state.step, error=error)
    return _predict(_next_step(arrived, longer), total, forecast)


def _next_step(state: Flow, longer: float) -> Flow:
    """Choose a step; a short rest at the end is shared evenly with the step before."""
    rest = state.end - state.time
    if rest <= 1e-9 * state.end:
        return state._replace(time=state.end, step=0.0)
    step = state.step * longer
    return state._replace(step=rest if step >= rest else min(step, rest / 2.0))


def _predict(state: Flow, total: Sums, forecast: Forecast) -> Flow:
    """Move the machine to the place of the next sweep."""
    place = state.settled
    if not state.is_done:
        place = advance(place, total, forecast, state.step, FINER * _tolerance(state))
    return state._replace(machine=_machine(place, state.machine.is_fixed))


def _tolerance(state: Flow) -> float:
    """Return the largest correction of the step under way: the smaller, the nearer the end."""
    left = 1.0 - (state.time + state.step) / state.end
    hurry = 2.0 ** (max(0, state.sweeps - PATIENCE) / HURRY)
    return float(TOLERANCE * max(LAST, left) * hurry)


def _distance(one: Place, other: Place) -> float:
    """Return the largest difference of any tpr, fpr or the prevalence."""
    of_sources = np.abs(one.rates - other.rates).max()
    return float(max(of_sources, abs(one.prevalence - other.prevalence)))


# --- what sweeps would tell -----------------------------------------------------------------------


def _expected(place: Place, total: Sums) -> FloatArray:
    """Return the machine in units of claims: n fpr and n tpr of each source, and F π."""
    of_sources = total.facts * place.rates
    return np.append(of_sources.ravel(), total.judged * place.prevalence)


def _told(total: Sums) -> FloatArray:
    return np.append(total.supports_of_true, total.true)


def _forecast(seen: tuple[Seen, ...], total: Sums) -> Forecast:
    """Fit W and Q to the moves between sweeps, by least squares.

    A mixture of moves D has the coefficients (D Dᵀ + ridge)⁻¹ D move; D's rows have length one.
    """
    *older, newest = seen
    moves = np.array([one.expected - newest.expected for one in older])
    changes = np.array([one.told - newest.told for one in older])
    highest = np.append(total.supports, total.judged)
    if not older:
        nothing = np.zeros((0, 1))
        return Forecast(newest, nothing, nothing, highest)
    length = np.sqrt((moves**2).sum(axis=1, keepdims=True))
    length = np.where(length > 0.0, length, 1.0)
    moves, changes = moves / length, changes / length
    alike = np.array([(moves * move).sum(axis=1) for move in moves])
    readings = np.einsum("ij,jk", np.linalg.inv(alike + DOUBT * np.eye(len(moves))), moves)
    reach = GROWTH * length
    return Forecast(newest, readings / reach, changes * reach, highest)


def _foretell(forecast: Forecast, place: Place, total: Sums) -> tuple[FloatArray, float]:
    """Return W and Q at a place; never more than there is, nor from beyond `GROWTH` moves."""
    newest, readings, changes, highest = forecast
    if not len(readings):
        return total.supports_of_true, total.true
    away = _expected(place, total) - newest.expected
    told = newest.told
    for reading, change in zip(readings, changes, strict=True):
        told = told + np.clip((reading * away).sum(), -1.0, 1.0) * change
    told = np.clip(told, 0.0, highest)
    return told[:-1], float(told[-1])


# --- between sweeps -------------------------------------------------------------------------------


class Slope(NamedTuple):
    """Speed of the machine, and the true facts m that each source is expected to meet."""

    odds: FloatArray
    bias: float
    """Return b_G' = Q - F π - Σ_s b_s'; b_G falls by as much as the b_s rise."""
    true: FloatArray


def advance(
    place: Place, total: Sums, forecast: Forecast, duration: float, tolerance: float
) -> Place:
    """Follow the flow for a while: sub-steps as long as error and bend of s allow.

    A sub-step is the two-stage Rosenbrock-W method ROS2 (Verwer et al. 1999); a first-order one
    comes with it, and their distance is the error.
    """
    done, step = 0.0, duration
    while done < duration:
        slope = _slope(place, total, forecast)
        step = min(step, duration - done)
        moved, error = _sub_step(place, slope, total, forecast, step)
        while error > tolerance and step > 1e-9 * duration:
            step *= _stretch(error, tolerance)
            moved, error = _sub_step(place, slope, total, forecast, step)
        is_last = step >= (duration - done) * (1.0 - 1e-9)
        place, done = moved, duration if is_last else done + step
        step *= _stretch(error, tolerance)
    return place


def _stretch(error: float, tolerance: float) -> float:
    """Return the factor by which the next sub-step is longer or shorter."""
    return float(np.clip(CAUTION * np.sqrt(tolerance / max(error, 1e-12)), 1.0 / GROWTH, GROWTH))


def _slope(place: Place, total: Sums, forecast: Forecast) -> Slope:
    """Return the right-hand side; for the log-odds c of tpr it is a' + w'."""
    supports_of_true, n_true = _foretell(forecast, place, total)
    fpr, tpr = place.rates
    true = total.certain + total.open * place.prevalence
    of_true = supports_of_true - true * tpr
    of_false = total.supports - supports_of_true - (total.facts - true) * fpr
    odds = np.stack([of_true + of_false, 2.0 * of_true + of_false])
    bias = (
        n_true - total.judged * place.prevalence - bias_taken(place.rates, odds)
        if total.judged
        else 0.0
    )
    return Slope(odds, bias, true)


def _sub_step(
    place: Place, slope: Slope, total: Sums, forecast: Forecast, step: float
) -> tuple[Place, float]:
    """Take one sub-step, and estimate its error; infinite if it would bend too far.

    k1 = B⁻¹ f(x),  k2 = B⁻¹ (f(x + h k1) - 2 k1),  x + h (3 k1 + k2) / 2,  B = I - g h J.
    """
    odds, bias = _solve(place, slope, total, GAMMA * step, slope.odds, slope.bias)
    first = _move(place, step * odds, step * bias)
    bend = float(np.abs(first.odds - place.odds).max())
    if bend > BEND:
        return first, np.inf
    then = _slope(first, total, forecast)
    right = then.odds - 2.0 * odds, then.bias - 2.0 * bias
    more_odds, more_bias = _solve(place, slope, total, GAMMA * step, *right)
    odds, bias = 1.5 * odds + 0.5 * more_odds, 1.5 * bias + 0.5 * more_bias
    second = _move(place, step * odds, step * bias)
    return second, _distance(first, second)


def _move(place: Place, odds: FloatArray, bias: float) -> Place:
    moved = np.clip(place.odds + odds, -LIMIT, LIMIT)
    return _at(moved, float(np.clip(place.hidden_bias + bias, -LIMIT, LIMIT)))


def _solve(
    place: Place, slope: Slope, total: Sums, time: float, odds: FloatArray, bias: float
) -> tuple[FloatArray, float]:
    """Return B⁻¹ (odds, bias) with B = I - time J, where J is the Jacobian for constant W and Q."""
    steep = time * place.prevalence * (1.0 - place.prevalence)
    curvature = Curvature(
        time * slope.true,
        time * (total.facts - slope.true),
        steep * total.open,
        steep * total.judged,
    )
    return implicit_step(place.rates, curvature, odds, bias + bias_taken(place.rates, odds))


def _at(odds: FloatArray, hidden_bias: float) -> Place:
    """Return a place; `LIMIT` keeps exp from overflow."""
    prevalence = float(1.0 / (1.0 + np.exp(-hidden_bias)))
    return Place(odds, hidden_bias, 1.0 / (1.0 + np.exp(-odds)), prevalence)


def _place(machine: Machine) -> Place:
    odds = np.stack([machine.visible_bias, machine.visible_bias + machine.weight])
    return _at(odds, machine.hidden_bias)


def _machine(place: Place, is_fixed: FloatArray) -> Machine:
    a, c = place.odds
    return Machine(a, c - a, place.hidden_bias, is_fixed)


def _of_free(total: Sums, is_fixed: FloatArray) -> Sums:
    """Remove the fixed sources from the sums, so that they do not move."""
    if not is_fixed.any():
        return total
    free = is_fixed == 0
    of_sources = [column * free for column in total[:5]]
    return Sums(*of_sources, total.true, total.judged)  # type: ignore[call-arg]
