"""The loops over claims: `reference` defines them in NumPy, `compiled` runs them with Numba.

Both modules offer the same names with the same arguments; a test runs both on the same data. What
they are given are arrays, plain numbers, and tuples of these: `Block`, `InOrder`, `Numbers`,
`Machine` and `Pace`. `loading` chooses between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from veracity.encoding.block import FloatArray, IntArray

STEADY = 200
"""Facts whose gradients may be summed into one step; with more, the step shrinks in proportion."""

BEND = 1.5
"""Log-odds a step may move a source: further on, the slope of the logistic function is another."""


class Numbers(NamedTuple):
    """The number of the name in every row, and the place of every number in the order of names."""

    number: IntArray
    place: IntArray


class InOrder(NamedTuple):
    """What a pass of gradient ascent asks of a block, with items in the order they are met."""

    first_fact_of_item: IntArray
    first_support_of_fact: IntArray
    source_of_support: IntArray
    first_voice_of_item: IntArray
    source_of_voice: IntArray
    known_of_fact: IntArray


class Machine(NamedTuple):
    """A restricted Boltzmann machine with one hidden unit, and a visible one for each source.

    Visible biases a, weights w, the global part b_G of the hidden bias, and which sources are
    fixed, which is to say not trained.
    """

    visible_bias: FloatArray
    weight: FloatArray
    hidden_bias: float
    is_fixed: FloatArray


class Pace(NamedTuple):
    """How to train: step size, facts in a batch, largest log-odds, and whether one fact is true.

    `gibbs_steps` is the k of contrastive divergence; zero stands for the exact negative phase. A
    step over more than `facts_per_step` facts shrinks in proportion.
    """

    rate: float
    batch_size: int
    limit: float
    single_truth: bool
    gibbs_steps: int
    facts_per_step: float = float(STEADY)
