"""Engines hold blocks, apply functions to them, and merge the results."""

from veracity.engines.local import Blocks, Engine, Local, threads_of

__all__ = ["Blocks", "Engine", "Local", "threads_of"]
