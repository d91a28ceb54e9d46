"""Can these data fix the reliabilities at all? `check`: what to know before believing an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm
from veracity.characteristics import profile
from veracity.concerns import (
    Concern,
    any_of_item,
    count,
    dicts,
    differs,
    find_flip_risk,
    find_near_copies,
    find_overlap_concerns,
    some,
    taken,
    voices_of_item,
    vote,
    worry,
)
from veracity.discovery import (
    USUAL_ALGORITHM,
    Prepared,
    Progress,
    answer,
    chosen_algorithm,
    prepare,
    say_nothing,
)
from veracity.encode import Encoded
from veracity.engines import Local
from veracity.errors import ParameterError
from veracity.normalise import Normalise
from veracity.normalise import normalise as normalise_values
from veracity.read import read_claims
from veracity.result import Result, hand_back
from veracity.schema import ClaimsTable, FrameKind, Kind

__all__ = ["AgainstVote", "Concern", "Health", "check"]

MOST_CLAIMS_PAIRED = 500_000
"""In about so many claims near-copies are looked for."""

MOST_FACTS_SPELT = 50_000
"""Of so many facts it is tried what normalising would change; items are left out evenly."""


@dataclass(frozen=True, kw_only=True)
class AgainstVote:
    """How far an answer differs from a vote, and where.

    An item is `changed` where the answer takes a value that has fewer votes than another. Tables
    are `by_attribute`, None if there are no attributes, and `examples`: what the answer takes
    against most votes comes first.
    """

    contested: int
    changed: int
    by_attribute: Any
    examples: Any

    @property
    def share(self) -> float:
        """The share of contested items that are changed."""
        return self.changed / max(self.contested, 1)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        tables = {name: dicts(getattr(self, name)) for name in ("by_attribute", "examples")}
        return {**vars(self), "share": self.share, **tables}

    def __str__(self) -> str:
        """One sentence."""
        changed = count(self.changed, self.contested, "contested items")
        where = dicts(self.by_attribute)
        most = ""
        if self.changed and len(where) > 1:
            most = f", most of all in {where[0]['attribute']} ({where[0]['share']:.0%})"
        return f"the answer differs from the vote on {changed}{most}"


@dataclass(frozen=True, kw_only=True)
class Health:
    """What speaks against believing an answer. Tables come in the user's own kind of frame.

    Attributes
    ----------
    warnings
        What was found, serious concerns first; none if the data are healthy.
    against_vote
        How far the answer differs from the vote; None for numbers, or if no two sources overlap.
    claims, sources, items
        How many there are.
    """

    warnings: tuple[Concern, ...]
    against_vote: AgainstVote | None
    claims: int
    sources: int
    items: int
    frame_kind: FrameKind = "polars"

    @property
    def is_healthy(self) -> bool:
        """Whether there is no warning."""
        return not self.warnings

    @property
    def table(self) -> Any:  # noqa: ANN401 - the user's own kind of frame
        """One row a warning: its name and severity, what was seen, what it means, what helps."""
        names = ("name", "severity", "seen", "means", "help")
        rows = [{name: getattr(concern, name) for name in names} for concern in self.warnings]
        return hand_back(pl.DataFrame(rows, dict.fromkeys(names, pl.String)), self.frame_kind)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The warnings with their evidence, as JSON can hold them."""
        return [concern.to_dict() for concern in self.warnings]

    def __repr__(self) -> str:
        """A short report."""
        n = len(self.warnings)
        found = f"{n} warning{'s' * (n > 1)}" if n else "no warning"
        given = f"{self.claims:,} claims of {self.sources:,} sources about {self.items:,} items"
        lines = [f"{given}: {found}"]
        for one in self.warnings:
            lines += ["", f"{one.severity}: {one.name}: {one.seen}"]
            lines += [f"  this means: {one.means}", f"  would help: {one.help}"]
        if self.against_vote is not None:
            lines += [""] * bool(n) + [str(self.against_vote)]
        return "\n".join(lines)


Told = TypeVar("Told", Concern, AgainstVote)


def check(
    claims: object,
    result: Result | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    kind: Kind | None = None,
    normalise: Normalise = False,
    known: object | None = None,
    algorithm: Algorithm[Any] | str | None = None,
    progress: Progress | None = None,
) -> Health:
    """Tell whether claims can fix the reliabilities of their sources, and what stands against it.

    Parameters
    ----------
    claims, columns, kind, normalise, known
        As for `discover`.
    result
        What `discover` found in these claims; without it, it is discovered now.
    algorithm
        What discovers, if no result is given.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "y"], "value": ["1", "2"]})
    >>> [concern.name for concern in check(claims).warnings]
    ['lone-sources']
    """
    if result is not None and algorithm is not None:
        raise ParameterError("check: give a result or an algorithm, not both")
    tell = progress or say_nothing
    if not isinstance(claims, ClaimsTable):  # they are needed once more, for pairs of sources
        claims = read_claims(
            claims, columns=columns, kind=kind or "categorical", normalise=normalise
        )
        columns, normalise = None, False
    prepared = prepare(
        claims, columns=columns, kind=kind, known=known, normalise=normalise, tell=tell
    )
    encoded, frame_kind = prepared.encoded, prepared.table.frame_kind
    found, against = find_overlap_concerns(encoded), None
    if encoded.claims.kind != "numeric" and (voices_of_item(encoded.claims) > 1).any():
        result = _answered(prepared, result, algorithm, tell)
        tell("checking", 0, 1)
        against = _against_vote(encoded, result)
        found += _find_in_values(prepared, result, against)
    found.sort(key=lambda concern: concern.severity != "serious")
    return Health(
        warnings=tuple(_handed(concern, frame_kind) for concern in found),
        against_vote=None if against is None else _handed(against, frame_kind),
        claims=encoded.claims.n_claims,
        sources=encoded.claims.n_sources,
        items=encoded.claims.n_items,
        frame_kind=frame_kind,
    )


def _answered(
    prepared: Prepared,
    result: Result | None,
    algorithm: Algorithm[Any] | str | None,
    tell: Progress,
) -> Result:
    """The result given, if it is of these claims, or a new one."""
    if result is None:
        chosen = chosen_algorithm(algorithm or USUAL_ALGORITHM[prepared.table.kind])
        return answer(prepared, chosen, Local(), tell)
    facts, told = prepared.encoded.facts, result.tables.facts
    if not set(facts.columns) <= set(told.columns) or not told.select(facts.columns).equals(facts):
        raise ParameterError(
            "check: the result is not of these claims; give the columns, kind and normalise it was "
            "discovered with, or leave it out"
        )
    return result


def _against_vote(encoded: Encoded, result: Result) -> AgainstVote:
    claims, facts, share = encoded.claims, result.tables.facts, vote(encoded.claims)
    by_vote, by_answer = taken(claims, share), taken(claims, facts["plausibility"].to_numpy())
    is_contested = any_of_item(claims, (share > 0.0) & (share < 1.0))
    is_changed = differs(claims, by_vote, by_answer) & is_contested
    items = encoded.items.with_columns(changed=is_changed).filter(is_contested)
    table = None
    if "attribute" in items.columns:
        changed = pl.col("changed")
        table = items.group_by("attribute").agg(
            contested=pl.len(), changed=changed.sum(), share=changed.mean()
        )
        table = table.sort("share", "attribute", descending=[True, False])
    is_example = by_vote * by_answer < 0.0
    if claims.kind == "categorical":  # what is taken says it all
        is_example &= by_answer > 0.0
    against = (pl.col("opposers") - pl.col("supporters")).abs()
    examples = facts.filter(is_example).sort(against, descending=True, maintain_order=True)
    return AgainstVote(
        contested=len(items),
        changed=int(is_changed.sum()),
        by_attribute=table,
        examples=examples.head(10),
    )


def _find_in_values(prepared: Prepared, result: Result, against: AgainstVote) -> list[Concern]:
    """What the claimed values tell, and the answer."""
    encoded = prepared.encoded
    n_shared = int((voices_of_item(encoded.claims) > 1).sum())
    if against.contested < 0.01 * n_shared:
        seen = f"sources differ on {count(against.contested, n_shared, 'shared items')}"
        return [worry("little-conflict", seen), *_find_spellings(prepared)]
    found = find_flip_risk(encoded, result.tables.sources)
    found += find_near_copies(encoded, _pairs(prepared), against.contested)
    if against.share > 1 / 3:
        serious = against.share > 1 / 2
        found.append(worry("far-from-vote", str(against), against.examples, serious=serious))
    return found + _find_spellings(prepared)


def _pairs(prepared: Prepared) -> pl.DataFrame:
    """The pairs of `profile`, of some items where there are very many: who decides votes is there.

    Items are left out evenly, all attributes of an entity together.
    """
    table, items = prepared.table, prepared.encoded.items
    if not isinstance(table, ClaimsTable):
        raise TypeError("the claims must have been read")
    step = -(-len(table.rows) // MOST_CLAIMS_PAIRED)
    if step > 1:
        some_items = items.select(items.columns[0]).unique().sort(items.columns[0])[::step]
        table = replace(table, rows=table.rows.join(some_items, on=items.columns[0], how="semi"))
    pairs: pl.DataFrame = profile(replace(table, frame_kind="polars")).pairs
    return pairs


def _find_spellings(prepared: Prepared) -> list[Concern]:
    """Values that normalising would merge or leave out."""
    encoded, claims = prepared.encoded, prepared.encoded.claims
    values = claims.value_of_fact
    if prepared.table.normalisation or values is None or values.dtype != pl.String:
        return []
    item, step = claims.all.item_of_fact, -(-claims.n_facts // MOST_FACTS_SPELT)
    tried = np.flatnonzero(item % step == 0)
    facts = encoded.items[item[tried]].with_columns(
        value=values.gather(tried),
        before=values.gather(tried),
        claims=np.diff(claims.all.first_support_of_fact)[tried],
    )
    _, normalised = normalise_values(facts, claims_kind=claims.kind)
    is_empty = pl.col("change") == "no value"
    empty = facts.join(normalised.changes.filter(is_empty), on="before", how="semi")
    keys = [*encoded.items.columns, "value"]
    return _merged(normalised.rows, keys) + _placeholders(empty, int(facts["claims"].sum()))


def _merged(facts: pl.DataFrame, keys: list[str]) -> list[Concern]:
    """Facts that became the same; `before` is how they were written."""
    merged = facts.group_by(keys).agg("before", spellings=pl.len(), claims=pl.col("claims").sum())
    n_merged = len(facts) - len(merged)
    if n_merged < 0.05 * max(len(facts), 1):
        return []
    merged = merged.sort(
        "spellings", "claims", *keys, descending=[True, True, *(False for _ in keys)]
    )
    spelt = some(merged["before"][0].sort().to_list())
    seen = f"normalising would merge {n_merged / len(facts):.0%} of the values of items with "
    seen += f"others; of one item they are {spelt}"
    evidence = merged.head(10).with_columns(pl.col("before").list.sort().list.join(" | "))
    return [worry("spellings", seen, evidence, serious=n_merged >= 0.2 * len(facts))]


def _placeholders(facts: pl.DataFrame, n_claims: int) -> list[Concern]:
    n_empty = int(facts["claims"].sum())
    if n_empty < 0.01 * n_claims:
        return []
    said = facts.group_by("value").agg(pl.col("claims").sum())
    said = said.sort("claims", "value", descending=[True, False])
    seen = f"{n_empty / n_claims:.0%} of the claims name no value: {some(said['value'].to_list())}"
    return [worry("placeholders", seen, said.head(10), serious=n_empty >= 0.1 * n_claims)]


def _handed(told: Told, kind: FrameKind) -> Told:
    """The same with its tables in the user's own kind of frame."""
    tables = {name: part for name, part in vars(told).items() if isinstance(part, pl.DataFrame)}
    counts = pl.col(pl.UInt32).cast(pl.Int64)
    return replace(told, **{k: hand_back(t.with_columns(counts), kind) for k, t in tables.items()})
