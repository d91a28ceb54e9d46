"""The kernels, written to be read: this folder is the definition, `compiled` its fast twin.

A `block` holds items with their facts, the supports of each fact (positive claims) and the voices
of each item (every source that says anything about it). Negative claims are implied: a voice of
the item that does not support the fact opposes it. Each counts in full, or by its share where the
block has shares: what a source says is then an expectation over what it may say.
"""

from __future__ import annotations

from veracity.kernels.reference.climbing import climb, gibbs, reorder
from veracity.kernels.reference.layout import find_voices, lay_out, number_names, part_claims
from veracity.kernels.reference.linking import (
    count_false_pairs,
    count_once,
    count_pairs,
    count_shared,
    find_joined,
    find_links,
)
from veracity.kernels.reference.sums import (
    best_two,
    count_confusions,
    count_named,
    count_votes,
    normalise_log,
    sum_by_source,
    sum_claims,
    sum_confusions,
    sum_met,
    sum_votes,
    weigh_claims,
)

__all__ = [
    "best_two",
    "climb",
    "count_confusions",
    "count_false_pairs",
    "count_named",
    "count_once",
    "count_pairs",
    "count_shared",
    "count_votes",
    "find_joined",
    "find_links",
    "find_voices",
    "gibbs",
    "lay_out",
    "normalise_log",
    "number_names",
    "part_claims",
    "reorder",
    "sum_by_source",
    "sum_claims",
    "sum_confusions",
    "sum_met",
    "sum_votes",
    "weigh_claims",
]
