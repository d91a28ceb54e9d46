"""Room for what LTD-RBM's pass of gradient ascent keeps of the sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STATE = np.dtype(
    [
        ("a", np.float64),
        ("high", np.float64),
        ("tpr", np.float64),
        ("fpr", np.float64),
        ("bias", np.float64),
        ("plausible", np.float64),
        ("true", np.float64),
        ("supports", np.int32),
        ("facts", np.int32),
    ]
)
"""What is asked of a source at every claim, as long as one line of the cache, and on one.

Its log-odds a and a + w of claiming what is false and what is true, these as rates, and its part
b_s of the hidden bias; then, over the batch: the plausibility of what it supports, how many of the
facts it speaks on the model expects true, how many it supports, and on how many it speaks.
"""

LINE = STATE.itemsize


def room_for(n_sources: int) -> NDArray[np.uint8]:
    """Room for the state of sources, each on a line of the cache.

    NumPy asks for large pages where it is much room; the compiler's own does not.
    """
    room = np.empty((n_sources + 1) * LINE, dtype=np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + n_sources * LINE]
