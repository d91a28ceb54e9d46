"""What the claims are like, and what was done to their values."""

from __future__ import annotations

from dataclasses import fields

import polars as pl

from veracity.inspect.profiling import Profile, Spread
from veracity.printing import counted
from veracity.show.report.gather import Findings
from veracity.show.report.markup import (
    Cell,
    Look,
    beside,
    bullets,
    measure,
    paragraph,
    share,
    table,
    text,
)

MOST_ROWS = 100
"""Rows of attributes and of changes."""


def characteristics(found: Findings) -> str:
    """The profile of the claims, as they were judged."""
    drawn = found.drawn.show("plausibility")
    parts = [_counts(found.profile), _spreads(found.profile)]
    by_attribute = found.profile.by_attribute
    if by_attribute is not None and len(by_attribute) > 1:
        look = Look(caption="Attributes", of=len(by_attribute), sortable=True)
        parts.append(table(by_attribute.head(MOST_ROWS), look))
    return parts[0] + beside("".join(parts[1:]), drawn)


def _counts(profile: Profile) -> str:
    """The characteristics that are one number."""
    rows = [
        ("kind of claims", profile.kind),
        ("items", measure(profile.items)),
        ("facts", measure(profile.facts)),
        ("claims", measure(profile.claims)),
        ("sources", measure(profile.sources)),
        ("contested items", share(profile.contested)),
        ("items with a single claim", share(profile.single)),
        ("mean entropy of the items", measure(profile.entropy)),
    ]
    if profile.self_contradicting:
        rows.append(("claims that name a further value", measure(profile.self_contradicting)))
    if profile.coverage is not None:
        rows.append(("items whose truth is known", f"{profile.known:,}"))
        if profile.accuracy is not None and profile.kind != "numeric":
            rows.append(("mean accuracy of the sources there", f"{profile.accuracy:.1%}"))
        if profile.ceiling is not None and profile.kind != "numeric":
            rows.append(("of these, somebody claims the truth", f"{profile.ceiling:.1%}"))
    told = "".join(f"<div><dt>{text(what)}</dt><dd>{number}</dd></div>" for what, number in rows)
    return f'<dl class="facts">{told}</dl>'


def _spreads(profile: Profile) -> str:
    names = ("values_per_item", "claims_per_item", "claims_per_source")
    rows = []
    for name in names:
        spread: Spread = getattr(profile, name)
        numbers = {part.name: float(getattr(spread, part.name)) for part in fields(spread)}
        rows.append({"count": name.replace("_", " "), **numbers})
    shown = pl.DataFrame(rows).cast({"min": pl.Int64, "max": pl.Int64})
    halves = [column for column, dtype in shown.schema.items() if dtype.is_float()]
    cells = {column: _rounded(column) for column in halves}
    return table(shown, Look(caption="How counts are spread", cells=cells))


def _rounded(column: str) -> Cell:
    """Numbers that are nearly counts, with one digit."""
    return lambda row: f"{row[column]:,.1f}"


def changes(found: Findings) -> str:
    """What normalising changed, and what was left out."""
    run, made = found.result.run, found.result.tables.changes
    rows, n_claims = run.input.rows, run.input.claims
    parts = []
    if rows:
        rest = "All of them count." if rows == n_claims else f"{counted(n_claims, 'claim')} count."
        parts.append(paragraph(f"{counted(rows, 'row was', 'rows were')} read. {rest}"))
    if found.result.notes:
        parts.append(
            bullets(f"{note[0].upper()}{note[1:]}." for note in found.result.notes if note)
        )
    if made is None:
        parts.append(paragraph("Values were taken as they are: normalising was not asked for."))
    elif made.is_empty():
        parts.append(paragraph("Normalising changed no value."))
    else:
        ranked = made.sort("claims", descending=True, maintain_order=True)
        look = Look(
            caption="Values that normalising changed, the most frequent first",
            of=len(made),
            sortable=True,
            searchable=True,
        )
        parts.append(table(ranked.head(MOST_ROWS), look))
    return "".join(parts)
