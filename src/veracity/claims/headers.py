"""Headers of several files that differ in nothing but their spelling."""

from __future__ import annotations

from collections import Counter

import polars as pl

from veracity.claims.how import HowToRead
from veracity.claims.schema import JOINED, simple_name
from veracity.io.files import Part
from veracity.printing import in_short


class Spelling:
    """How columns are called in the first of several files that has them; other files follow.

    Offices write ``SKU`` in one list and ``sku`` in the next: without this, no two sources would
    speak of the same.
    """

    def __init__(self, how: HowToRead) -> None:
        self._said = {piece for name in how.said.values() for piece in (name, *name.split(JOINED))}
        self._names: dict[str, str] = {}
        self._called: dict[str, str] = {}

    @property
    def notes(self) -> list[str]:
        """Which columns were called otherwise."""
        if not self._called:
            return []
        pairs = [f"'{in_short(name)}' as '{in_short(own)}'" for name, own in self._called.items()]
        more = f" and {len(pairs) - 6} more" if len(pairs) > 6 else ""
        return [f"columns that files spell differently are one: {', '.join(pairs[:6])}{more}"]

    def made_alike(self, part: Part) -> Part:
        """The part, with the columns that only their spelling tells from earlier ones renamed."""
        found = part.rows.collect_schema().names()
        simple = [simple_name(name).replace("_", "") for name in found]  # e-mail is email
        here, times, called = set(found), Counter(simple), {}
        for name, as_ in zip(found, simple, strict=True):
            own = self._names.setdefault(as_, name)
            is_other = own not in here and name not in self._said and times[as_] == 1
            called[name] = own if is_other else name
        renamed = {name: own for name, own in called.items() if name != own}
        if not renamed:
            return part
        self._called |= renamed
        return part._replace(rows=part.rows.select([pl.col(n).alias(called[n]) for n in found]))
