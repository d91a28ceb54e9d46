"""Checks that sources make claims about the same items, so that they can be compared."""

from __future__ import annotations

import numpy as np

from veracity.checks.evidence import Evidence
from veracity.checks.registry import Seen, register
from veracity.naming import as_text
from veracity.printing import counted, in_short, share_of, some

FEW_SHARED = 5
"""Smallest number of shared items with which a source can be judged."""

MANY_ALONE = 0.01
"""Smallest share of sources without shared items that gives a warning."""


@register(
    "lone-sources",
    meaning="No other source makes claims about their items, so their accuracy is only the "
    "starting assumption.",
    remedy="Add claims of other sources about these items, or known truths of some of them.",
)
def lone_sources(evidence: Evidence) -> Seen | None:
    """Find sources that share no item with another."""
    survey = evidence.survey
    speaks = survey.counted.items_of_source > 0.0
    is_lone = (survey.counted.shared_of_source == 0.0)[speaks]
    if is_lone.mean() < MANY_ALONE:
        return None
    names = as_text(survey.names.sources.filter(speaks).filter(is_lone)).to_list()
    share = share_of(len(names), len(is_lone), "sources", "shares", "share")
    return Seen(f"{share} no item with another: {some(names)}", is_lone.mean() >= 0.5)


@register(
    "separate-parts",
    meaning="Each part is judged by itself. Reliabilities cannot be compared across parts, and one "
    "part may be right where another has true and false swapped.",
    remedy="Add sources that make claims in several parts, or known truths in every part. Also "
    "check if names of entities are spelt differently in the parts.",
)
def separate_parts(evidence: Evidence) -> Seen | None:
    """Find parts that share nothing, unless there are known truths in each of them."""
    if not evidence.is_shared:
        return None
    parts = evidence.overlap.parts
    if len(parts) < 2 or (parts["known"] > 0).all():
        return None
    rest = 1.0 - parts["claims"][0] / parts["claims"].sum()
    text = f"sources and items fall into {len(parts):,} parts that share nothing; the largest has "
    text += f"{counted(parts['sources'][0], 'source')}, such as {parts['such_as'][0]}, the rest "
    text += f"makes {rest:.0%} of the claims"
    return Seen(text, rest >= 1 / 3, parts.head(10))


@register(
    "fewer-than-three",
    meaning="Where two sources differ, nothing shows which one is right. It takes a third to "
    "measure how reliable they are.",
    remedy="Add a third source, known truths, or a prior that says which source is better.",
)
def fewer_than_three(evidence: Evidence) -> Seen | None:
    """Check if few items have claims of more than two sources."""
    if not evidence.is_shared:
        return None
    overlap = evidence.overlap
    if not (overlap.parts["sources"] > 2).any():
        such_as = overlap.parts["such_as"][0]
        return Seen(f"nowhere do more than two sources meet, such as {such_as}", True)
    if overlap.two <= overlap.several * 2 / 3:
        return None
    return Seen(f"{share_of(overlap.two, overlap.several, 'shared items', 'has', 'have')} only two "
                "sources")  # fmt: skip


@register(
    "single-source-items",
    meaning="The only value of these items is taken as it is. Its plausibility follows from the "
    "other claims of the source.",
    remedy="Add sources for these items. Do not read their plausibility as agreement.",
)
def single_source_items(evidence: Evidence) -> Seen | None:
    """Check if at least half of the items have one source."""
    n_items = evidence.survey.counted.items
    if not evidence.is_shared or evidence.overlap.one < n_items / 2:
        return None
    share = share_of(evidence.overlap.one, n_items, "items", "has", "have")
    return Seen(f"{share} a single source", evidence.overlap.one >= n_items * 0.8)


@register(
    "few-claims",
    meaning="A source with so few shared items cannot be told from a better or a worse one. Its "
    "reliability stays near the prior.",
    remedy="Add claims of each source, merge names of the same source, or use an algorithm that "
    "learns little of each source (majority-vote, one-coin).",
)
def few_claims(evidence: Evidence) -> Seen | None:
    """Check if most sources share few items with others."""
    n_shared = evidence.survey.counted.shared_of_source
    n_shared = n_shared[n_shared > 0.0].astype(np.int64)
    if not evidence.is_shared or np.median(n_shared) >= FEW_SHARED:
        return None
    is_rare = n_shared < FEW_SHARED
    share = n_shared[is_rare].sum() / n_shared.sum()
    few = share_of(int(is_rare.sum()), len(n_shared), "sources", "shares", "share")
    text = f"{few} fewer than {FEW_SHARED} items with others; they make {share:.0%} of the claims "
    return Seen(f"{text}that can be compared", share >= 0.5)


@register(
    "dominant-source",
    meaning="This source can be checked only where others make claims too, and it sets the "
    "standard for them.",
    remedy="Add claims of other sources or known truths for its items, or leave it out and "
    "compare the answers.",
)
def dominant_source(evidence: Evidence) -> Seen | None:
    """Find a source that makes most of the claims."""
    n_items = evidence.survey.counted.items_of_source
    share = n_items.max() / n_items.sum()
    if not evidence.is_shared or share <= 0.5 or len(n_items) < 3:
        return None
    most = as_text(evidence.survey.names.sources.gather([int(n_items.argmax())]))[0]
    return Seen(f"{in_short(most)} alone makes {share:.0%} of all claims", share >= 0.8)
