"""Can these data fix the reliabilities at all? `check`: what to know before believing an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from veracity.algorithms import Algorithm
from veracity.claims.encode import Encoded, Part
from veracity.claims.normalise import Normalise
from veracity.claims.normalise import normalise as normalise_values
from veracity.claims.schema import Kind
from veracity.discovery import USUAL_ALGORITHM, Prepared, answer, chosen_algorithm, prepare
from veracity.engines import Held, Local
from veracity.errors import ParameterError
from veracity.fit.loop import survey_of
from veracity.inspect.conflicts import by_vote, flip_risk, near_copies
from veracity.inspect.overlap import overlap_warnings
from veracity.inspect.profiling import profile
from veracity.io.frames import FrameKind, hand_back
from veracity.naming import name_text
from veracity.printing import in_short, printable
from veracity.progress import Progress, say_nothing
from veracity.result import Result
from veracity.result.warnings import (
    DataWarning,
    count,
    data_warning,
    dicts,
    few_conflicts,
    some,
    two_readings,
)

__all__ = ["AgainstVote", "DataWarning", "Health", "check"]

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
            first = in_short(name_text(where[0]["attribute"]))
            most = f", most of all in {first} ({where[0]['share']:.0%})"
        return f"the answer differs from the vote on {changed}{most}"


@dataclass(frozen=True, kw_only=True)
class Health:
    """What speaks against believing an answer. Tables come in the user's own kind of frame.

    Attributes
    ----------
    warnings
        What was found, serious ones first; none if the data are healthy.
    against_vote
        How far the answer differs from the vote; None for numbers, or if no two sources overlap.
    claims, sources, items
        How many there are.
    """

    warnings: tuple[DataWarning, ...]
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
        """One row per warning: its name and severity, what was seen, what it means, what helps."""
        names = ("name", "severity", "seen", "means", "help")
        rows = [{name: getattr(one, name) for name in names} for one in self.warnings]
        return hand_back(pl.DataFrame(rows, dict.fromkeys(names, pl.String)), self.frame_kind)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The warnings with their evidence, as JSON can hold them."""
        return [one.to_dict() for one in self.warnings]

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
        return printable("\n".join(lines), lines=True)


Told = TypeVar("Told", DataWarning, AgainstVote)


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
        As for `discover`; or what `discover` returned, whose claims need not be read again.
    result
        What `discover` found in these claims; without it, it is discovered now.
    algorithm
        What discovers, if no result is given.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "y"], "value": ["1", "2"]})
    >>> [warning.name for warning in check(claims).warnings]
    ['lone-sources']
    """
    if result is not None and algorithm is not None:
        raise ParameterError("check: give a result or an algorithm, not both")
    tell = progress or say_nothing
    prepared = None
    if isinstance(claims, Result):
        result = claims
    else:
        prepared = prepare(
            claims, columns=columns, kind=kind, known=known, normalise=normalise, tell=tell
        )
        if result is None:
            result = _answered(prepared, algorithm, tell)
        _require_same(prepared.encoded, result)
    if result.encoded is None:
        raise ParameterError("check: this run was saved without its claims; discover again")
    tell("checking", 0, 1)
    frame_kind = result.frame_kind if prepared is None else prepared.table.frame_kind
    return _checked(result, result.encoded if prepared is None else prepared.encoded, frame_kind)


def _checked(result: Result, encoded: Encoded, frame_kind: FrameKind) -> Health:
    """All that is to be said of an answer and its claims."""
    against = None
    with Local().hold(encoded.blocks) as held:
        survey = survey_of(held, encoded.kind, encoded.names)
        found = [*two_readings(result.run.readings), *overlap_warnings(held, survey)]
        if encoded.kind != "numeric" and survey.counted.shared_of_source.any():
            against = _against_vote(encoded, result)
            n_shared = sum(int((block.n_voices_of_item > 1).sum()) for block in encoded.blocks)
            found += _find_in_values(held, result, against, n_shared)
    found.sort(key=lambda warning: warning.severity != "serious")
    return Health(
        warnings=tuple(_handed(warning, frame_kind) for warning in found),
        against_vote=None if against is None else _handed(against, frame_kind),
        claims=encoded.n_claims,
        sources=encoded.names.n_sources,
        items=encoded.n_items,
        frame_kind=frame_kind,
    )


def _answered(prepared: Prepared, algorithm: Algorithm[Any] | str | None, tell: Progress) -> Result:
    chosen = chosen_algorithm(algorithm or USUAL_ALGORITHM[prepared.table.kind])
    return answer(prepared, chosen, tell=tell)


def _require_same(encoded: Encoded, result: Result) -> None:
    """Refuse a result that is not of these claims."""
    facts, told = encoded.facts, result.tables.facts
    if not set(facts.columns) <= set(told.columns) or not told.select(facts.columns).equals(facts):
        raise ParameterError(
            "check: the result is not of these claims; give the columns, kind and normalise it was "
            "discovered with, or leave it out"
        )


def _against_vote(encoded: Encoded, result: Result) -> AgainstVote:
    facts = result.tables.facts
    found = by_vote(encoded, facts["plausibility"].to_numpy())
    items = encoded.items.with_columns(changed=found.is_changed).filter(found.is_contested)
    table = None
    if "attribute" in items.columns:
        changed = pl.col("changed")
        table = items.group_by("attribute").agg(
            contested=pl.len(), changed=changed.sum(), share=changed.mean()
        )
        table = table.sort("share", "attribute", descending=[True, False])
    is_example = found.by_vote * found.by_answer < 0.0
    if encoded.kind == "categorical":  # what is taken says it all
        is_example &= found.by_answer > 0.0
    against = (pl.col("opposers") - pl.col("supporters")).abs()
    examples = facts.filter(is_example).sort(against, descending=True, maintain_order=True)
    return AgainstVote(
        contested=len(items),
        changed=int(found.is_changed.sum()),
        by_attribute=table,
        examples=examples.head(10),
    )


def _find_in_values(
    held: Held, result: Result, against: AgainstVote, n_shared: int
) -> list[DataWarning]:
    """What the claimed values tell, and the answer."""
    encoded = result.encoded
    assert encoded is not None
    found = few_conflicts(against.contested, n_shared)
    if found:
        return [*found, *_find_spellings(encoded, result)]
    found = flip_risk(held, encoded, result.tables.sources)
    plain = Result(result.tables, result.run, encoded=encoded)  # whose frames are polars
    pairs = profile(plain, most_paired=MOST_CLAIMS_PAIRED).pairs
    found += near_copies(held, encoded, pairs, against.contested)
    if against.share > 1 / 3:
        serious = against.share > 1 / 2
        found.append(data_warning("far-from-vote", str(against), against.examples, serious=serious))
    return found + _find_spellings(encoded, result)


def _find_spellings(encoded: Encoded, result: Result) -> list[DataWarning]:
    """Values that normalising would merge or leave out."""
    step = -(-encoded.n_facts // MOST_FACTS_SPELT)
    tables = [_spelt(part, step) for part in encoded.parts]
    facts = pl.concat([table for table in tables if table is not None] or [pl.DataFrame()])
    if result.run.normalisation or facts.is_empty() or facts["value"].dtype != pl.String:
        return []
    _, normalised = normalise_values(facts, claims_kind=encoded.kind)
    is_empty = pl.col("change") == "no value"
    empty = facts.join(normalised.changes.filter(is_empty), on="before", how="semi")
    keys = [*encoded.parts[0].items.columns, "value"]
    return _merged(normalised.rows, keys) + _placeholders(empty, int(facts["claims"].sum()))


def _spelt(part: Part, step: int) -> pl.DataFrame | None:
    """The facts of every so many items, with how they are written, and by how many."""
    if part.values is None:
        return None
    item = part.block.item_of_fact
    tried = np.flatnonzero(item % step == 0)
    return part.items[item[tried]].with_columns(
        value=part.values.gather(tried),
        before=part.values.gather(tried),
        claims=part.block.n_supports_of_fact[tried],
    )


def _merged(facts: pl.DataFrame, keys: list[str]) -> list[DataWarning]:
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
    return [data_warning("spellings", seen, evidence, serious=n_merged >= 0.2 * len(facts))]


def _placeholders(facts: pl.DataFrame, n_claims: int) -> list[DataWarning]:
    n_empty = int(facts["claims"].sum())
    if n_empty < 0.01 * n_claims:
        return []
    said = facts.group_by("value").agg(pl.col("claims").sum())
    said = said.sort("claims", "value", descending=[True, False])
    seen = f"{n_empty / n_claims:.0%} of the claims name no value: {some(said['value'].to_list())}"
    return [data_warning("placeholders", seen, said.head(10), serious=n_empty >= 0.1 * n_claims)]


def _handed(told: Told, kind: FrameKind) -> Told:
    """The same with its tables in the user's own kind of frame."""
    tables = {name: part for name, part in vars(told).items() if isinstance(part, pl.DataFrame)}
    counts = pl.col(pl.UInt32).cast(pl.Int64)
    return replace(told, **{k: hand_back(t.with_columns(counts), kind) for k, t in tables.items()})
