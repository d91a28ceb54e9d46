"""Which kernels run: the reference where claims are few, the compiled ones everywhere else."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from veracity.kernels import kept, reference
from veracity.kernels.cache import find_cache

FEW = 50_000
"""Claims up to which the work takes a moment in NumPy, whatever they are like: compiling on the
first run takes ten times as long."""

ALWAYS_COMPILED = ("climb", "gibbs")
"""Their reference goes from fact to fact, round after round: too slow even for few claims."""


def kernels_for(n_claims: int) -> Any:
    """The kernels for so many claims, where what one of them is given does not tell."""
    return reference if n_claims <= FEW else _compiled()


def load_ahead(n_claims: int) -> None:
    """Begin to load the kernels for so many claims, on another thread; who needs them waits."""
    if n_claims <= FEW:
        return
    loading = ThreadPoolExecutor(1)
    loading.submit(_compiled)
    loading.shutdown(wait=False)


class _Kernels:
    """Every kernel by its name, as ``kernels.sum_votes(...)``.

    The size of what it is given decides which twin runs, and nothing else: same claims, same bits.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in reference.__all__:
            raise AttributeError(name)

        def either(*arguments: Any) -> Any:
            # arrays that tell where groups begin have one entry more than there are claims
            is_small = name not in ALWAYS_COMPILED and max(map(_size, arguments)) <= FEW + 1
            return getattr(reference if is_small else _compiled(), name)(*arguments)

        self.__dict__[name] = either
        return either


kernels = _Kernels()


def _size(argument: object) -> int:
    """How much a kernel has to go through for an argument."""
    if isinstance(argument, tuple):
        return max(map(_size, argument))
    return len(argument) if hasattr(argument, "__len__") else 1


@cache
def _compiled() -> kept.Compiled:
    """The compiled kernels; what links them takes its time to load, so it does on first use."""
    find_cache()
    kept.load_linker()
    return kept.compiled
