"""Loops over claims: `reference` defines them in NumPy, `compiled` runs them with Numba.

``kernels.sum_votes(...)`` runs the one or the other. Both twins of a kernel have the same name and
arguments; a test runs both on the same data. Arguments are arrays, plain numbers, and tuples of
these: `Block`, `InOrder`, `Numbers`, `Machine` and `Pace`.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from veracity.encoding.block import FloatArray, IntArray

Function = TypeVar("Function", bound=Callable[..., Any])

MAX_CLAIMS_NUMPY = 100_000
"""Number of claims up to which NumPy finishes before Numba and the compiled kernels are loaded.

The default algorithm breaks even at about 250,000 claims, LTD-RBM with its batches at 60,000.
"""

ALWAYS_COMPILED = ("gibbs",)
"""Kernels whose reference is slow even for few claims, because it is a Python loop over facts."""

SUMS_AND_PAIRS = (
    "sum_votes", "sum_claims", "weigh_claims", "sum_by_source", "normalise_log", "count_votes",
    "sum_met", "best_two", "sum_confusions", "count_named", "count_confusions", "count_pairs",
    "count_false_pairs", "count_shared", "find_links", "count_once",
)  # fmt: skip
LAYOUT = ("number_names", "part_claims", "lay_out", "find_voices")
TRAINING = ("ascend", "gibbs", "reorder")
KERNELS = frozenset((*SUMS_AND_PAIRS, *LAYOUT, *TRAINING))
"""All kernels. Layout has a module of its own when compiled, and training has one in both forms."""

KEPT, BROKEN, OPEN = range(3)
"""Kinds of combinations of values: a rule holds, is broken, or is open, since nobody claims one."""

STEADY = 200
"""Facts whose gradients may be summed into one step; with more, the step shrinks in proportion."""

BEND = 1.5
"""Largest change of a source's log-odds in one step. Beyond it, the slope of the logistic function
differs too much."""


class Numbers(NamedTuple):
    """The number of the name in every row, and the place of every number in the order of names."""

    number: IntArray
    place: IntArray


class InOrder(NamedTuple):
    """Arrays of a block that gradient ascent needs, with items in the order of the pass."""

    first_fact_of_item: IntArray
    first_support_of_fact: IntArray
    source_of_support: IntArray
    first_voice_of_item: IntArray
    source_of_voice: IntArray
    known_of_fact: IntArray


class Machine(NamedTuple):
    """A restricted Boltzmann machine with one hidden unit, and a visible one for each source.

    Visible biases a, weights w, the global part b_G of the hidden bias, and 1 for each source that
    is fixed, which is to say not trained.
    """

    visible_bias: FloatArray
    weight: FloatArray
    hidden_bias: float
    is_fixed: FloatArray


class Pace(NamedTuple):
    """Parameters of training: step size, facts in a batch, largest log-odds, and the constraint.

    `gibbs_steps` is the k of contrastive divergence; zero stands for the exact negative phase. A
    step over more than `facts_per_step` facts shrinks in proportion.
    """

    rate: float
    batch_size: int
    limit: float
    single_truth: bool
    gibbs_steps: int
    facts_per_step: float = float(STEADY)
    longest_move: float = BEND


def kernel(function: Function) -> Function:
    """Compile a function on its first call, with Numba's cache if there is a folder for it."""
    numba: Any = importlib.import_module("numba")
    compiled: Function
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the home can be written to
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled


def load_ahead(n_claims: int) -> None:
    """Begin to load Numba on another thread, if there are enough claims to use it."""
    if n_claims > MAX_CLAIMS_NUMPY:
        threading.Thread(target=twin, args=("number_names", n_claims), daemon=True).start()


def twin(name: str, n_claims: int) -> Callable[..., Any]:
    """Return the twin of a kernel that suits this number of claims.

    Arguments are passed to it as they are: the caller sees to it that they always have one form.
    """
    is_compiled = _is_compiled(name, n_claims)
    module = "compiled" if is_compiled else "reference"
    if name in TRAINING:
        module += "_training"
    elif is_compiled and name in LAYOUT:
        module += "_layout"
    found: Callable[..., Any] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return found


def suited(name: str, n_claims: int) -> Callable[..., Any]:
    """Return the twin of a kernel that suits so many claims, for arguments in any form."""
    size = max(n_claims, _warmed_for)
    function = twin(name, size)
    if not _is_compiled(name, size):
        return function
    return lambda *arguments: function(*map(_plain, arguments))


_warmed_for = 0


@contextmanager
def kernels_for_claims(n_claims: int) -> Iterator[None]:
    """Run the twins that suit `n_claims`, whatever the size of the block: to compile beforehand."""
    global _warmed_for  # noqa: PLW0603 - set and set back by one thread
    _warmed_for = n_claims
    try:
        yield
    finally:
        _warmed_for = 0


def _is_compiled(name: str, n_claims: int) -> bool:
    return n_claims > MAX_CLAIMS_NUMPY or name in ALWAYS_COMPILED


def __getattr__(name: str) -> Callable[..., Any]:
    """Return a kernel by its name; the size of its arguments alone decides which twin runs."""
    if name not in KERNELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def either(*arguments: Any) -> Any:
        # arrays of the beginnings of groups have one entry more than there are claims
        return suited(name, max(map(_size, arguments)) - 1)(*arguments)

    globals()[name] = either
    return either


def _size(argument: object) -> int:
    """Return the length of the longest array of an argument."""
    if isinstance(argument, tuple):
        return max(map(_size, argument))
    return len(argument) if isinstance(argument, np.ndarray) else 1


def _plain(argument: Any) -> Any:
    """Return an argument in the one form for which a kernel is compiled.

    Numba compiles once more for arrays that are read-only, or not contiguous, or not aligned: here
    all become contiguous, aligned and read-only.
    """
    if isinstance(argument, tuple):
        parts = map(_plain, argument)
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    if isinstance(argument, np.ndarray):
        plain = np.require(argument, requirements=("C", "A")).view(np.ndarray)
        plain.flags.writeable = False
        return plain
    return argument.item() if isinstance(argument, np.generic) else argument
