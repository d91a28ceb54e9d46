"""LTD-RBM: a restricted Boltzmann machine with one hidden unit, the truth of a fact.

Broelemann, Gottron, Kasneci: Restricted Boltzmann Machines for Robust and Fast Latent Truth
Discovery. The hidden unit h is the truth of a fact. Each source s is a visible unit v_s, with bias
a_s and weight w_s: it is one if s supports the fact. Only sources that claim something of the item
are in the machine that judges the fact::

    tpr_s = P(v_s = 1 | h = 1) = sigmoid(a_s + w_s)
    fpr_s = P(v_s = 1 | h = 0) = sigmoid(a_s)
    P(h = 1) = sigmoid(b_G)                              the prevalence
    b = b_G + Σ_s b_s,  b_s = log(1 - tpr_s) - log(1 - fpr_s)
    P(h = 1 | v) = sigmoid(b + Σ_s w_s v_s)              the plausibility

Training ascends the likelihood of the claims. Its gradient is what is observed (positive phase)
less what the machine expects (negative phase), summed over the facts on which s speaks::

    ∂w_s = Σ v_s P(h = 1 | v) - Σ E[v_s h],   E[v_s h] = tpr_s P(h = 1)
    ∂a_s = Σ v_s              - Σ E[v_s],     E[v_s] = tpr_s P(h = 1) + fpr_s P(h = 0)
    ∂b   = Σ P(h = 1 | v)     - Σ E[h],       E[h] = P(h = 1)

The paper samples the negative phase (contrastive divergence); here it is exact unless asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from veracity import kernels
from veracity.algorithms.base import (
    Algorithm,
    Description,
    Memory,
    Phase,
    Rates,
    Step,
    Tally,
    Turn,
    Walk,
    clamp_known,
)
from veracity.algorithms.flow import LIMIT, Flow, Sums, sums
from veracity.algorithms.flow import learn as learn_flow
from veracity.algorithms.flow import start as start_flow
from veracity.algorithms.online import OnlineVotes
from veracity.algorithms.parameters import bounded, require_at_least
from veracity.algorithms.prior import NO_PRIOR, Prior, PriorRates
from veracity.algorithms.rules import Rule, Weights, logit, scores, sigmoid
from veracity.encoding.block import Block, FloatArray, IntArray
from veracity.encoding.survey import Survey
from veracity.errors import ParameterError
from veracity.kernels import STEADY, InOrder, Machine, Pace
from veracity.reading.roles import Kind
from veracity.trees import BySource, CountBySource

PLENTY, PLENTY_OF_SOURCE = 500_000, 500
"""Claims, in all and of the median source, from which a round learns enough."""

NOISE_FLOOR = 0.5 / math.sqrt(PLENTY_OF_SOURCE)
"""Standard error of a rate near one half that is computed from `PLENTY_OF_SOURCE` claims. If rounds
use no more claims of the median source, smaller changes may be chance."""

MOST_DRAWS = 200_000_000
"""Source-value pairs of one item beyond which the sampled negative phase is refused."""

NegativePhase = Literal["exact", "sampled"]

Learning = Literal["batches", "flow"]

Drawn = tuple[InOrder, np.random.Generator]
"""The items of a block that a round looks at, in order, and the randomness that is left."""


# --- the machine ----------------------------------------------------------------------------------


def weights_of(tpr: FloatArray, fpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the visible bias a = logit(fpr) and the weight w = logit(tpr) - logit(fpr)."""
    return logit(fpr), logit(tpr) - logit(fpr)


def rates_of(visible_bias: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return tpr = sigmoid(a + w) and fpr = sigmoid(a)."""
    return sigmoid(visible_bias + weight), sigmoid(visible_bias)


def source_bias(visible_bias: FloatArray, weight: FloatArray) -> FloatArray:
    """Return b_s = log(1 - tpr) - log(1 - fpr), the part of a source in the hidden bias."""
    return np.logaddexp(0.0, visible_bias) - np.logaddexp(0.0, visible_bias + weight)


class RBM(NamedTuple):
    """The machine: a, w and b_G; the sources that are fixed; and the state of its training."""

    visible_bias: BySource
    weight: BySource
    is_fixed: CountBySource
    hidden_bias: float
    share_of_items: float
    """Share of the items that each round looks at."""
    single_truth: bool
    noise_floor: float = 0.0
    """Largest move of a rate that may be chance; rounds stop if no rate moves by more."""
    flow: Flow | None = None
    """State of the flow; None if training uses batches."""
    share_new: float = 1.0
    """Share of the claims that were not learned from before: of the time that a flow takes."""

    def at(self, machine: Machine) -> RBM:
        """Return the state with the biases and weights that a kernel has reached."""
        a, w, b, _ = machine
        return self._replace(visible_bias=a, weight=w, hidden_bias=float(b))

    @property
    def machine(self) -> Machine:
        """Biases and weights, as kernels take them."""
        return Machine(self.visible_bias, self.weight, self.hidden_bias, self.is_fixed)

    @property
    def rates(self) -> Rates:
        """The tpr and fpr of the sources, and the prevalence."""
        tpr, fpr = rates_of(self.visible_bias, self.weight)
        return Rates(tpr, fpr, float(sigmoid(np.array(self.hidden_bias))))


@dataclass(frozen=True, kw_only=True)
class LTDRBM(Algorithm[RBM]):
    """Latent truth discovery with a restricted Boltzmann machine.

    Parameters
    ----------
    prior
        Prior rates of the sources, from which training starts. Fixed sources stay as they are; if
        all are fixed, there is no training. Where no prevalence is given, it starts at one over the
        mean number of values an item has, or at one half if items may have several truths.
    learning_rate, decay
        A step in round n, from 0, is ``learning_rate * exp(-decay * n)`` times the gradient, which
        is summed, not averaged, over the batch.
    shorten
        Where there are many claims, each round looks at some of the items, drawn anew: enough for
        500,000 claims, and for 500 of the median source; for more where steps are cut short (see
        `facts_per_step`). Rates and prevalence are counted over all judged facts at the end then,
        and a note reports it. False uses all items in every round, as in the paper.
    learning
        "batches": mini-batches one after the other, as in the paper. "flow": the flow they follow,
        the gradient of the likelihood for a time of all steps' lengths, is integrated by whole
        sweeps: free of order, batches and seed, on any number of cores, and stable at any rate.
        `change` is the share of the time still to go then. For the exact negative phase only.
    batch_size
        Facts in a mini-batch, at least: all facts of an item stay together.
    facts_per_step
        Facts whose gradients are summed at most: with more, the step shrinks in proportion. None
        lifts the limit.
    negative_phase
        "exact": the model's expectations in closed form, and steps that take into account how the
        gradient falls off on their way, so that they do not overshoot. "sampled": contrastive
        divergence, as in the paper, with `gibbs_steps` steps from the data; its cost grows with
        sources times values of an item. Its name is ``ltd-rbm-cd``.
    gibbs_steps
        The k of CD-k, for the sampled negative phase.
    single_truth
        The paper's LTD-RBM-C: train under the constraint that one value of each item is true.
    seed
        Where the randomness of batches and samples starts.
    max_rounds, min_rounds, tolerance
        Training stops when a round moves no tpr, fpr nor the prevalence by `tolerance`; by 0.022
        from 500,000 claims on (see `shorten`), where a smaller move may be chance.
    """

    prior: Prior = NO_PRIOR
    learning_rate: float = bounded(0.01, above=0)
    decay: float = bounded(0.5, at_least=0)
    shorten: bool = True
    learning: Learning = bounded("batches", one_of=get_args(Learning))
    batch_size: int = bounded(100, at_least=1)
    facts_per_step: int | None = bounded(STEADY, at_least=1)
    negative_phase: NegativePhase = bounded("exact", one_of=get_args(NegativePhase))
    gibbs_steps: int = bounded(1, at_least=1)
    single_truth: bool = False
    seed: int = bounded(0, at_least=0)
    max_rounds: int = bounded(50, at_least=1)
    min_rounds: int = bounded(2, at_least=0)
    tolerance: float = bounded(1e-3, above=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, self.min_rounds, "min_rounds", max_rounds=self.max_rounds)
        if self.learning == "flow" and self.negative_phase != "exact":
            raise ParameterError("LTDRBM: learning='flow' needs negative_phase='exact'")

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name, which depends on the constraint and on the way of training."""
        constraint = "-c" if self.single_truth else ""
        return f"ltd-rbm{constraint}{'-cd' if self.negative_phase == 'sampled' else ''}"

    @property
    def kinds(self) -> tuple[Kind, ...]:  # type: ignore[override]
        """Kinds of claims: a single truth is for values."""
        return ("categorical",) if self.single_truth else ("categorical", "multiple", "binary")

    @property
    def takes_shares(self) -> bool:  # type: ignore[override]
        """True for sweeps, which count claims by their shares; mini-batches count each in full."""
        return self.learning == "flow"

    @property
    def depends_on_blocks(self) -> bool:  # type: ignore[override]
        """True for mini-batches: they are cut from blocks, one after the other."""
        return self.learning == "batches"

    # --- judging ----------------------------------------------------------------------------------

    def weigh(self, block: Block, state: RBM, memory: Memory = None) -> Weights:
        """b_G before any claim; b_s + w_s for each source that supports a fact, b_s for others.

        By the rates, that is log(tpr / fpr) for it, and log((1 - tpr) / (1 - fpr)) against it.
        """
        b_s = source_bias(state.visible_bias, state.weight)
        rule: Rule = "softmax" if state.single_truth else "sigmoid"
        return Weights(rule, b_s + state.weight, b_s, state.hidden_bias)

    def online(self, state: RBM) -> OnlineVotes | None:
        """Return a quick judge of claims: of an item, what is against all its facts cancels out."""
        return OnlineVotes(state.weight) if state.single_truth else None

    def describe(self, state: RBM, counts: FloatArray | None = None) -> Description:
        """Return the machine's own rates; under a single truth, one fact of each item is true."""
        rates = state.rates
        if self.single_truth and counts is not None:
            rates = rates._replace(prevalence=float(counts[:, 2].sum() / counts[:, 3].sum()))
        if not self._is_shortened(state):
            return Description(rates)
        note = (
            f"each round used a new sample of {state.share_of_items:.2g} of the items, as there "
            "are many claims; the final rates use all items. To use all items in every round, "
            "set shorten=False"
        )
        return Description(rates, notes=(note,))

    # --- training ---------------------------------------------------------------------------------

    def start(self, survey: Survey, prior: PriorRates) -> RBM:
        """Set the machine to the prior rates, corrected by known truths."""
        self._require_few_draws(survey)
        a, w = weights_of(*prior.weigh_known(prior.tpr, prior.fpr))
        prevalence = prior.prevalence or survey.usual_prevalence
        b_global = float(np.clip(logit(np.array(prevalence)), -LIMIT, LIMIT))
        share, noise_floor = 1.0, 0.0
        if self.shorten and survey.counted.items_of_source.sum() >= PLENTY:
            share, noise_floor = min(_enough(survey) * self._facts_in_one, 1.0), NOISE_FLOOR
        return RBM(a, w, prior.is_fixed, b_global, share, survey.single_truth, noise_floor)

    def resume(self, state: RBM, survey: Survey, prior: PriorRates) -> RBM:
        """Return the machine reached so far, to be trained in proportion to what is new."""
        return self.grow(state, survey.names)._replace(share_new=survey.share_new)

    def phases(self, state: RBM) -> tuple[Phase[RBM], ...]:
        """Return rounds of mini-batches, and a count if rounds look at some items; or sweeps."""
        if state.is_fixed.all():
            return ()
        if self.learning == "flow":
            return (Phase("flow", (Step(self.tally, self.learn),), self.time_left),)
        draw = partial(self.draw_items, share=state.share_of_items)
        batches = Walk(lambda state: (state,), self.ascend, lambda state, lanes: lanes[0], draw)
        rounds = Phase("rounds", (batches,), self.change, state.noise_floor, self.min_rounds)
        if not self._is_shortened(state):
            return (rounds,)
        return rounds, Phase("closing count", (Step(self.count, self.take_counts),))

    def draw_items(self, block: Block, turn: Turn, share: float) -> Drawn:
        """Draw the items of a round, in random order, independently of the state."""
        rng = turn.rng(block)
        return kernels.reorder(block, _drawn(block.n_items, share, rng)), rng

    def ascend(self, block: Block, lane: RBM, turn: Turn) -> tuple[RBM, None]:
        """Take one step along the gradient per mini-batch of the items that are drawn."""
        rate = self.learning_rate * float(np.exp(-float(self.decay) * (turn.round_number - 1)))
        items, rng = turn.ready or self.draw_items(block, turn, lane.share_of_items)
        samples = self.negative_phase == "sampled"
        gibbs_steps = self.gibbs_steps if samples else 0
        most = float("inf") if self.facts_per_step is None else float(self.facts_per_step)
        pace = Pace(rate, self.batch_size, LIMIT, self.single_truth, gibbs_steps, most)
        # by the block: the items that are drawn may be few
        ascend = kernels.suited("ascend", len(block.source_of_support))
        a, w, b = ascend(items, lane.machine, pace, rng if samples else None)
        return lane.at(Machine(a, w, b, lane.is_fixed)), None

    def change(self, before: RBM, after: RBM) -> float:
        """Return the largest move of any tpr, fpr or the prevalence."""
        old, new = before.rates, after.rates
        moves = (new.tpr - old.tpr, new.fpr - old.fpr, new.prevalence - old.prevalence)
        return float(max(np.abs(move).max() for move in moves))

    def count(self, block: Block, state: RBM, turn: Turn) -> Tally:
        """Judge the facts; count the claims of each source by truth, and the true facts."""
        plausible = clamp_known(self.judge(block, state), block)
        counts: FloatArray = kernels.count_votes(block, plausible, len(state.weight))
        return counts, np.array([plausible.sum(), len(plausible)])

    def take_counts(self, state: RBM, total: Tally) -> RBM:
        """Set the rates to those counted, in which the machine's own count as one fact more.

        Rounds on some of the items sort the sources, and with them the facts, but do not bring the
        machine to where its rates are those of the facts it believes in.
        """
        of_source, (n_true, n_facts) = total
        supports_of_true, supports, true, facts = np.asarray(of_source).T
        tpr, fpr, _ = state.rates
        tpr = (supports_of_true + tpr) / (true + 1.0)
        fpr = (supports - supports_of_true + fpr) / (facts - true + 1.0)
        log_odds_fpr, log_odds_tpr = (np.clip(logit(own), -LIMIT, LIMIT) for own in (fpr, tpr))
        is_free = state.is_fixed == 0
        counted = state._replace(
            visible_bias=np.where(is_free, log_odds_fpr, state.visible_bias),
            weight=np.where(is_free, log_odds_tpr - log_odds_fpr, state.weight),
        )
        if self.single_truth:
            return counted
        prevalence = np.array((n_true + state.rates.prevalence) / (n_facts + 1.0))
        return counted._replace(hidden_bias=float(np.clip(logit(prevalence), -LIMIT, LIMIT)))

    def calibrate(self, state: RBM, prior: PriorRates) -> RBM:
        """Correct the rates by the known truths; the rest of a flow is not followed."""
        if state.flow is not None:
            state = state.at(state.flow.reached)._replace(flow=None)
        tpr, fpr, _ = state.rates
        visible_bias, weight = weights_of(*prior.weigh_known(tpr, fpr))
        return state._replace(visible_bias=visible_bias, weight=weight)

    # --- the same by whole sweeps -----------------------------------------------------------------

    def tally(self, block: Block, state: RBM, turn: Turn) -> Sums:
        """Sum up the positive phase: each fact by itself, unless trained for a single truth."""
        score = scores(block, self.weigh(block, state))
        if self.single_truth:
            nobody = np.full(block.n_items, -np.inf)
            plausible = kernels.normalise_log(score, block.first_fact_of_item, nobody)
        else:
            plausible = sigmoid(score)
        plausible = clamp_known(plausible, block)
        return sums(block, plausible, len(state.weight), single_truth=self.single_truth)

    def learn(self, state: RBM, total: Sums) -> RBM:
        """Follow the flow up to where the next sweep looks."""
        flow = state.flow
        if flow is None:
            rounds = self.max_rounds
            flow = start_flow(
                state.machine, self.learning_rate, self.decay, rounds, state.share_new
            )
        moved = learn_flow(flow, Sums(*total))
        return state.at(moved.machine)._replace(flow=moved)

    def time_left(self, before: RBM, after: RBM) -> float:
        """Return the share of the flow's time that is still to go."""
        return 1.0 if after.flow is None else after.flow.left

    # --- sizes ------------------------------------------------------------------------------------

    def _is_shortened(self, state: RBM) -> bool:
        """Return True if rounds look at some of the items only."""
        return self.learning == "batches" and state.share_of_items < 1.0

    @property
    def _facts_in_one(self) -> float:
        """Number of facts of a batch that teach as much as one: steps of large ones are cut."""
        return max(self.batch_size / (self.facts_per_step or self.batch_size), 1.0)

    def _require_few_draws(self, survey: Survey) -> None:
        n_draws = survey.counted.largest_item
        if self.negative_phase == "sampled" and n_draws > MOST_DRAWS:
            raise ParameterError(
                f"LTDRBM: an item has {n_draws:,.0f} pairs of source and value, too many to "
                "sample; use negative_phase='exact'"
            )


def _enough(survey: Survey) -> float:
    """Return the share of the items from which a round learns enough; above one if none is."""
    of_source = survey.counted.items_of_source
    usual = max(float(np.median(of_source)), 1.0)  # sources that are only judged have no claims
    return max(PLENTY / max(float(of_source.sum()), 1.0), PLENTY_OF_SOURCE / usual)


def _drawn(n_items: int, share: float, rng: np.random.Generator) -> IntArray:
    """Draw a share of the items, in random order."""
    if share == 1.0:
        return rng.permutation(n_items)
    return rng.choice(n_items, math.ceil(share * n_items), replace=False)
