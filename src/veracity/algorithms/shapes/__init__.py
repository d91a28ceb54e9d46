"""What is learned of sources by `Veracity`, in three shapes: by value, by label, by fact.

Each shape judges facts, counts how the sources' words met them, and learns from the counts. What
is learned of a source starts at what holds for all, which weighs as much as a few claims of its
own: sources that say little are neither believed nor damned too soon.
"""

from __future__ import annotations

from veracity.algorithms.shapes.facts import Facts
from veracity.algorithms.shapes.labels import Labels, plain_confusion
from veracity.algorithms.shapes.pooling import NOTHING_KNOWN
from veracity.algorithms.shapes.values import Cells, Values, count_named, count_voices

__all__ = [
    "NOTHING_KNOWN",
    "Cells",
    "Facts",
    "Labels",
    "Shape",
    "Values",
    "count_named",
    "count_voices",
    "plain_confusion",
]

Shape = Values | Labels | Facts
