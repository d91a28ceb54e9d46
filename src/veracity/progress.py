"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress", "say_nothing"]

Progress = Callable[[str, int, int], None]
"""Told of each step: the phase, how much of it is done, and of how much."""


def say_nothing(phase: str, done: int, total: int) -> None:
    """Progress nobody asked for."""
