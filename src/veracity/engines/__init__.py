"""Where the work is done: engines hold blocks, look at them, and merge what was found."""

from veracity.engines.local import Engine, Held, Local, threads_of
from veracity.engines.merging import can_merge, merged

__all__ = ["Engine", "Held", "Local", "can_merge", "merged", "threads_of"]
