"""The default's constants, as a study turns them: what users cannot set, but somebody chose."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from veracity.errors import ParameterError

DEFAULT = "veracity.algorithms.default"


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
    "CORRELATION": Constant(f"{DEFAULT}.confusion", (0.2, 0.3, 0.5, 0.6)),
    "NEGATIVE": Constant(f"{DEFAULT}.confusion", (0.015, 0.06)),
    "SHARE_OF_VOTE": Constant(f"{DEFAULT}.confusion", (0.0, 0.1, 0.5)),
    "SHARE_OF_JUDGED": Constant(f"{DEFAULT}.confusion", (0.0, 0.25, 1.0)),
    "FEWEST_SHARED": Constant(f"{DEFAULT}.confusion", (-0.2, -0.05)),
    "FAMILY": Constant(DEFAULT, (0.15, 0.35)),
    "COPIED": Constant("veracity.dependence.agreement", (0.6, 0.9)),
    "BELIEVED": Constant(f"{DEFAULT}.alternatives", (0.6, 0.7, 0.9, 1.0)),
    "MUCH": Constant("veracity.fit.readings", (0.1, 0.2)),
    "SELDOM": Constant(f"{DEFAULT}.coincidence", (4.0, 64.0)),
    "EVEN": Constant(f"{DEFAULT}.coincidence", (4.0, 256.0)),
    "DOMINANT": Constant(f"{DEFAULT}.one_coin", (0.15, 0.5)),
    "RUN_BY_COVERAGE": Constant("veracity.dependence.agreement", (1.0, 4.0)),
    "MOSTLY": Constant("veracity.dependence.coverage", (0.3, 0.7)),
    "BORNE_OUT": Constant("veracity.dependence.coverage", (0.6, 1.0)),
    "REFUTED": Constant("veracity.dependence.coverage", (1.0, 3.0)),
    "CLEAR": Constant("veracity.dependence.agreement", (2.0, 4.0)),
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
