"""Where the work is done. An engine runs a function over blocks; it does not ask which."""

from veracity.engines.local import Engine, Local

__all__ = ["Engine", "Local"]
