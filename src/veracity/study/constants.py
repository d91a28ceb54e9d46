"""The default's constants, as a study turns them: what users cannot set, but somebody chose."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from veracity.errors import ParameterError

DEFAULT = "veracity.algorithms.veracity"


class Constant(NamedTuple):
    """Where a constant stands, and the values that it is turned to; its own is not among them."""

    module: str
    others: tuple[float, ...]

    def value(self, name: str) -> float:
        """What it is."""
        found = getattr(import_module(self.module), name, None)
        if not isinstance(found, int | float):
            raise ParameterError(f"study: {self.module} has no number {name!r} to turn any more")
        return float(found)


CONSTANTS: dict[str, Constant] = {
    "USUAL_CORRELATION": Constant(f"{DEFAULT}.one_coin", (0.1, 0.15, 0.3, 0.4)),
    "MOST_ALIKE": Constant(f"{DEFAULT}.confusion", (0.3, 0.45, 0.8)),
    "LESS_ALIKE": Constant(f"{DEFAULT}.confusion", (4.0, 16.0)),
    "SHARED": Constant(f"{DEFAULT}.confusion", (0.0, 0.25, 0.75, 1.0)),
    "LABEL_STRENGTH": Constant(f"{DEFAULT}.confusion", (2.0, 32.0)),
    "ERROR_STRENGTH": Constant(f"{DEFAULT}.confusion", (0.5, 8.0)),
    "MUCH_LIKELIER": Constant(f"{DEFAULT}.hard_items", (0.0, 10.0)),
    "RARELY": Constant(f"{DEFAULT}.dispersion", (0.0, 0.05, 0.5)),
    "USUAL": Constant(f"{DEFAULT}.dispersion", (0.025, 0.1)),
    "BELIEVED": Constant(f"{DEFAULT}.mixing", (0.6, 0.7, 0.9, 1.0)),
    "MUCH": Constant("veracity.fit.readings", (0.1, 0.2)),
    "MUCH_TRUER": Constant("veracity.fit.readings", (1.05, 1.25)),
    "SELDOM": Constant(f"{DEFAULT}.coincidence", (4.0, 64.0)),
    "EVEN": Constant(f"{DEFAULT}.coincidence", (4.0, 256.0)),
    "DOMINANT": Constant(f"{DEFAULT}.one_coin", (0.15, 0.5)),
    "FAVOURITE": Constant(f"{DEFAULT}.favourites", (0.25, 0.5)),
    "FAR_MORE": Constant(f"{DEFAULT}.favourites", (2.0, 8.0)),
    "RUN_BY_COVERAGE": Constant("veracity.dependence.agreement", (1.0, 4.0)),
    "RUN_OF_LABELS": Constant("veracity.dependence.agreement", (2.0, 4.0, 16.0)),
    "MOSTLY": Constant("veracity.dependence.coverage", (0.3, 0.7)),
    "BORNE_OUT": Constant("veracity.dependence.coverage", (0.6, 1.0)),
    "REFUTED": Constant("veracity.dependence.coverage", (1.0, 3.0)),
    "CLEAR": Constant("veracity.dependence.agreement", (2.0, 4.0)),
    "NEARLY": Constant("veracity.dependence.agreement", (0.7, 0.95)),
    "SLACK": Constant("veracity.dependence.agreement", (0.0, 0.015, 0.06)),
    "ENOUGH": Constant("veracity.dependence.agreement", (0.6, 0.9)),
}
"""Tempering, priors of confusions, readings, and copies."""


@contextmanager
def turned(values: Mapping[str, float]) -> Iterator[None]:
    """Constants with other values, wherever the package has them, until the end of the block.

    For studies only, one task at a time: what else runs in this process would see them, too.
    """
    before: list[tuple[Any, str, Any]] = []
    try:
        for name, value in values.items():
            CONSTANTS[name].value(name)  # or it is gone
            own = getattr(import_module(CONSTANTS[name].module), name)
            for module in _modules():
                if getattr(module, name, None) is own:  # imported from there, it is the same object
                    before.append((module, name, own))
                    setattr(module, name, value)
        yield
    finally:
        for module, name, own in before:
            setattr(module, name, own)


def _modules() -> list[Any]:
    return [module for name, module in list(sys.modules.items()) if name.startswith("veracity.")]
