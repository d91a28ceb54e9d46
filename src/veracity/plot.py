"""The figures of results: a name for `veracity.show.plot` that does not change."""

from veracity.show.plot import *  # noqa: F403 - the same names
from veracity.show.plot import __all__  # noqa: F401
