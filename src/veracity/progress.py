"""Progress of work that takes long."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

Progress = Callable[[str, int, int], None]
"""Function that is called at each step with the phase, the amount done, and the total."""

LOG = logging.getLogger("veracity")
"""The one logger. Without a handler of the user's, it is silent."""
LOG.addHandler(logging.NullHandler())

Given = ParamSpec("Given")
Made = TypeVar("Made")

is_at_work = ContextVar("is_at_work", default=False)
"""True while a bar is shown: work within work has none of its own."""


def no_progress(phase: str, done: int, total: int) -> None:
    """Ignore all progress."""


def in_notebook() -> bool:
    """Return True in the kernel of a notebook, which can show HTML."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


def shows_progress(work: Callable[Given, Made]) -> Callable[Given, Made]:
    """Let a function that takes `progress` show a bar in a notebook, unless one is given."""

    @wraps(work)
    def watched(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        if kwargs.get("progress") is not None or is_at_work.get() or not in_notebook():
            return work(*args, **kwargs)
        mark = is_at_work.set(True)
        try:
            with importlib.import_module("veracity.show.html").bar() as shown:
                kwargs["progress"] = shown
                return work(*args, **kwargs)
        finally:
            is_at_work.reset(mark)

    return watched
