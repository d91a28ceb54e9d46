"""The default: its phases and its error models."""

from veracity.algorithms.veracity.algorithm import Belief, Veracity

__all__ = ["Belief", "Veracity"]
