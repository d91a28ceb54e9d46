"""LTD-RBM for numbers: visible units that are Gaussian, and the truth of an item as hidden unit.

Broelemann, Gottron, Kasneci (Restricted Boltzmann Machines for Robust and Fast Latent Truth
Discovery) announce a machine for continuous values. This is one::

    E(x, t) = ½ τ (t - μ)² + Σ_s ½ λ_s w u_s (x_s - t - b_s)²

Each source is a visible unit with a bias b and a precision λ; the truth t of an item is the hidden
unit. A source that is silent has no term. Claims and items have weights u and w of their own, so
errors have heavy tails: a Student t is a normal distribution of uncertain precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from veracity.algorithms.base import Algorithm, Memory, Phase, Step, Turn
from veracity.algorithms.checks import (
    require_at_least,
    require_at_most,
    require_one_of,
    require_positive,
)
from veracity.algorithms.ltd_rbm_n.items import (
    USUAL_FREEDOM,
    Machine,
    Reached,
    Widths,
    errors_of,
    infer,
    measured,
    scales_from,
    told_as_numbers,
    widths_of,
)
from veracity.algorithms.ltd_rbm_n.units import (
    Cells,
    Common,
    Told,
    drawn_from,
    learned,
    rescaled,
    told,
    with_expected,
    with_freedoms,
    with_truths,
)
from veracity.algorithms.numbers import LARGEST
from veracity.algorithms.prior import NO_PRIOR, UNLEARNED, Prior, PriorRates, PriorSpreads
from veracity.algorithms.rules import Weights
from veracity.encoding.block import Block, FloatArray
from veracity.encoding.names import Names
from veracity.encoding.survey import Survey
from veracity.errors import ParameterError
from veracity.naming import as_text
from veracity.reading.schema import Kind

NegativePhase = Literal["exact", "sampled"]

MOST_CELLS = 20_000_000
"""Pairs of source and attribute beyond which sources have no biases."""


class Training(NamedTuple):
    """The machine, and what its units have in common."""

    machine: Machine
    common: Common
    known: Cells
    least_scale: FloatArray
    expected: PriorSpreads
    rate: float
    """The step along the gradient, where the negative phase is sampled."""


@dataclass(frozen=True, kw_only=True)
class NumericLTDRBM(Algorithm[Training]):
    """Latent truth discovery for numbers, with a restricted Boltzmann machine of Gaussian units.

    Parameters
    ----------
    prior
        What is known of the errors of sources, as `ErrorSpread`: it is expected until claims tell
        otherwise. Only where there is one attribute, as errors have its unit.
    negative_phase
        "exact": the model's expectations in closed form, by expectation maximisation. "sampled":
        contrastive divergence, with `gibbs_steps` steps from the data.
    gibbs_steps, learning_rate, decay
        For the sampled negative phase: the k of CD-k; a step in round n, from 0, is
        ``learning_rate * exp(-decay * n)`` times the gradient, divided by how curved it is: with a
        rate of one, the most there is, it goes where the draws of the round would have it.
    hidden_bias
        Whether truths are drawn to the mean of their attribute's, as the hidden unit's own bias and
        precision: only for truths that spread evenly around it.
    biases
        Whether a source may be too high or too low throughout an attribute.
    tails
        Degrees of freedom of the errors of claims; learned, if None. Few mean that claims far from
        the others hardly count.
    seed
        Where the randomness of samples starts.
    max_rounds, tolerance
        It stops when a round moves no variance by this share, and no bias by this share of the
        usual error.
    """

    name = "ltd-rbm-n"
    kinds: ClassVar[tuple[Kind, ...]] = ("numeric",)
    state_type = Training

    prior: Prior = NO_PRIOR
    negative_phase: NegativePhase = "exact"
    gibbs_steps: int = 1
    learning_rate: float = 0.5
    decay: float = 0.05
    hidden_bias: bool = False
    biases: bool = True
    tails: float | None = None
    seed: int = 0
    max_rounds: int = 500
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        require_positive(self, learning_rate=self.learning_rate, tolerance=self.tolerance)
        require_at_most(self, 1, learning_rate=self.learning_rate)
        require_at_least(self, 0, decay=self.decay, seed=self.seed)
        require_at_least(self, 1, max_rounds=self.max_rounds, gibbs_steps=self.gibbs_steps)
        require_one_of(self, get_args(NegativePhase), negative_phase=self.negative_phase)
        if self.tails is not None:
            require_at_least(self, 1, tails=self.tails)

    @property
    def depends_on_blocks(self) -> bool:
        """What is drawn is drawn block by block."""
        return self.negative_phase == "sampled"

    def start(self, survey: Survey, prior: PriorRates) -> Training:
        """All sources are alike, and nothing is known of scales and truths."""
        n_sources, n_attributes = survey.n_sources, survey.n_attributes
        has_biases = self.biases and n_sources * n_attributes <= MOST_CELLS
        cells, nothing = np.zeros((n_sources, n_attributes)), np.zeros(n_attributes)
        cells = cells if has_biases else cells[:, :1]
        return Training(
            machine=Machine(
                variance=np.ones(n_sources),
                bias=cells,
                doubt=cells,
                level_doubt=nothing,
                scale=nothing,
                centre=nothing,
                truth_precision=nothing,
                tails=USUAL_FREEDOM if self.tails is None else float(self.tails),
                evenness=USUAL_FREEDOM,
                bluntness=1.0,
            ),
            common=Common() if has_biases else Common(bias_variance=0.0),
            known=Cells(cells, cells, cells, cells, cells),
            least_scale=nothing,
            expected=self._expected(survey),
            rate=self.learning_rate,
        )

    def _expected(self, survey: Survey) -> PriorSpreads:
        expected = self.prior.spreads(as_text(survey.names.sources).to_list())
        if expected.error.any() and survey.n_attributes > 1:
            raise ParameterError(
                "NumericLTDRBM: errors in the prior are in the unit of the numbers, but there are "
                f"{survey.n_attributes:,} attributes; discover them apart"
            )
        return expected

    def phases(self, state: Training) -> tuple[Phase[Training], ...]:
        """One look at how far claims are apart, then rounds."""
        return (
            Phase("scales", (Step(self.tally_widths, self.learn_scales),)),
            Phase("rounds", (Step(self.tally, self.learn, remembers=True),), self.change),
        )

    def tally_widths(self, block: Block, state: Training, turn: Turn) -> Widths:
        """How far claims are from the median of their item."""
        return widths_of(block, len(state.machine.scale))

    def learn_scales(self, state: Training, total: Widths) -> Training:
        """Scales to begin with; those that were learned from earlier claims stay."""
        scale, centre, least = scales_from(Widths(*total))
        machine = state.machine
        is_new = machine.scale == 0.0
        machine = machine._replace(
            scale=np.where(is_new, scale, machine.scale),
            centre=np.where(is_new, centre, machine.centre),
        )
        if is_new.any():
            machine = with_expected(machine, state.expected, fixed_only=False)
        return state._replace(machine=machine, least_scale=least)

    def tally(self, block: Block, state: Training, turn: Turn) -> tuple[Told, Reached]:
        """What the claims tell of the units, given the truths that the units make (E-step)."""
        claims = measured(block, state.machine)
        found = infer(claims, state.machine, turn.memory)
        drawn = None
        if self.negative_phase == "sampled":
            drawn = drawn_from(claims, found, self.gibbs_steps, turn.rng(block))
        reached = Reached(found.truth * claims.unit, found.item_weight)
        return told(claims, found, state.machine, drawn), reached

    def learn(self, state: Training, total: Told) -> Training:
        """The units that fit what was told best (M-step), and what they have in common."""
        claims, known, drawn, *rest = total
        drawn = None if drawn is None else Cells(*drawn)
        total = Told(Cells(*claims), Cells(*known), drawn, *rest)
        machine, common = learned(state.machine, state.common, total, state.expected, state.rate)
        machine = with_freedoms(machine, total, self.tails)
        if self.hidden_bias:
            machine = with_truths(machine, total.truths)
        machine = rescaled(machine, total.claims, state.least_scale, state.expected.error == 0.0)
        return state._replace(
            machine=with_expected(machine, state.expected, fixed_only=True),
            common=common,
            known=total.known,
            rate=state.rate * float(np.exp(-float(self.decay))),
        )

    def change(self, before: Training, after: Training) -> float:
        """The largest move of any variance, in logs, or of any bias."""
        old, new = before.machine, after.machine
        variance = np.abs(np.log(new.variance / old.variance)).max()
        return float(max(variance, np.abs(new.bias - old.bias).max()))

    def calibrate(self, state: Training, prior: PriorRates) -> Training:
        """Correct variances and biases by the known truths: what was learned counts as ten."""
        known, machine = state.known, state.machine
        variance = (known.square_of_source + UNLEARNED * machine.variance) / (
            known.n_of_source + UNLEARNED
        )
        bias = machine.bias
        if state.common.bias_variance > 0.0:
            learned_before = UNLEARNED / machine.variance[:, None]
            bias = (known.pull + learned_before * bias) / (known.weight + learned_before)
        machine = machine._replace(variance=variance, bias=bias)
        return state._replace(machine=with_expected(machine, state.expected, fixed_only=True))

    # --- judging ----------------------------------------------------------------------------------

    def estimate(self, block: Block, state: Training) -> tuple[FloatArray, FloatArray]:
        """The truth of each item, and its error: 1.64 of it on either side hold 90 %."""
        claims = measured(block, state.machine)
        found = infer(claims, state.machine)
        return told_as_numbers(claims, found, errors_of(claims, found, state.machine))

    def weigh(self, block: Block, state: Training, memory: Memory = None) -> Weights:
        """The precision of each claim, and of the mean of all truths; biases are taken off."""
        machine = state.machine
        claims = measured(block, machine)
        found = infer(claims, machine)
        bias = (found.pull - found.away) * claims.of_claim(machine.scale[claims.attribute])
        return Weights(
            "estimate",
            1.0 / machine.variance,
            prior=found.total - claims.sums(found.weight),
            of_claim=found.weight,
            shift_of_claim=bias if bias.any() else None,
            centre_of_item=machine.centre[claims.attribute],
        )

    def trust(self, state: Training) -> FloatArray:
        """The precision, one over the variance; the mean of all sources is one."""
        return 1.0 / state.machine.variance

    def bias(self, state: Training) -> FloatArray | None:
        """In the unit of the numbers; None where there are several attributes, or no biases."""
        machine = state.machine
        if state.common.bias_variance == 0.0 or len(machine.scale) > 1:
            return None
        with np.errstate(over="ignore"):
            bias = machine.bias[:, 0] * machine.scale[0]
        return np.asarray(np.clip(bias, -LARGEST, LARGEST))

    def grow(self, state: Training, names: Names) -> Training:
        """New sources are like the others, of unknown bias; attributes never met have no scale."""
        n_sources = len(state.machine.variance)
        n_more = max(len(names.attributes), 1) - len(state.machine.scale)
        if n_more > 0:
            state = _with_attributes(state, n_more)
        state = super().grow(state, names)
        bias, doubt = state.machine.bias.copy(), state.machine.doubt.copy()
        bias[n_sources:], doubt[n_sources:] = 0.0, state.common.bias_variance
        return state._replace(machine=state.machine._replace(bias=bias, doubt=doubt))


def _with_attributes(state: Training, n_more: int) -> Training:
    """With room for attributes that were never met."""
    machine = state.machine
    if machine.bias.shape[1] == len(machine.scale):  # else there are too many to have biases
        columns = ((0, 0), (0, n_more))
        doubt = np.pad(machine.doubt, columns, constant_values=state.common.bias_variance)
        machine = machine._replace(bias=np.pad(machine.bias, columns), doubt=doubt)
        state = state._replace(known=Cells(*(np.pad(cells, columns) for cells in state.known)))
    level, scale, centre, precision = (
        np.pad(of_attribute, (0, n_more))
        for of_attribute in (
            machine.level_doubt, machine.scale, machine.centre, machine.truth_precision
        )
    )  # fmt: skip
    machine = machine._replace(
        level_doubt=level, scale=scale, centre=centre, truth_precision=precision
    )
    return state._replace(machine=machine, least_scale=np.pad(state.least_scale, (0, n_more)))
