"""Judge claims one at a time as they arrive, and learn from them now and then."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from reprlib import repr as short
from typing import Any, Self, Unpack

import numpy as np
import polars as pl

from veracity._version import __version__
from veracity.algorithms.catalogue import restored
from veracity.algorithms.online import Item, Verdict
from veracity.api import has_shares, open_claims, prepare
from veracity.encoding.block import SAME, UNKNOWN, Block, voices_of
from veracity.encoding.kept import KeptParts
from veracity.encoding.names import Names
from veracity.encoding.partitions import Encoded
from veracity.engines import Local
from veracity.errors import NoClaims, ParameterError, UnreadableFile, first_line
from veracity.fit.fitted import Fitted
from veracity.io.atomic import atomic_folder, recover
from veracity.io.frames import hand_back
from veracity.printing import counted
from veracity.progress import LOG
from veracity.reading.claims import Claims
from veracity.reading.options import ReadArguments
from veracity.reading.roles import numbers_in
from veracity.reading.spark import SparkClaims
from veracity.result import Result
from veracity.result.run import describe_parameters

FORMAT = 1
"""Number of the format of snapshots."""

MARKER = "stream.json"
"""The file that makes a folder a snapshot."""

ROLES = ("sources", "labels", "attributes")
"""Kinds of names, as in `Names`."""

OF_FIT = ("kind", "normalisation", "columns", "no_value", "plans", "rounds")
"""Plain fields of a fit."""

TABLES_OF_FIT = ("source_features", "history")


class Stream:
    """Judge of claims that come one at a time.

    Each claim is judged by what has been learned so far, with the other claims on its item that
    came through the stream. After every `learn_every` claims, the stream learns from those that are
    new, as `Fitted.update` does. A newer claim of a source on an item replaces its older one,
    unless items may have several true values.

    Parameters
    ----------
    fitted
        What was learned from earlier claims: `Result.fitted`.
    learn_every
        Number of claims after which the stream learns.
    keep_items
        Number of items whose claims are kept when the stream learns: those that came last.

    Attributes
    ----------
    fitted
        What has been learned so far.
    number
        Number of claims so far. A restored stream goes on with the claim after this one.
    result
        Result of the last update with its findings; None before the first, and after `load`.

    Examples
    --------
    >>> import veracity
    >>> flights = veracity.synthetic.flights()
    >>> stream = Stream(veracity.discover(flights.claims).fitted)
    >>> stream.claim("orbitz", "VC-999", "B7", "gate").answer
    'B7'
    """

    result: Result | None
    _is_normalised: bool
    _spellings: dict[Any, Any]

    def __init__(
        self, fitted: Fitted, *, learn_every: int = 10_000, keep_items: int = 1_000_000
    ) -> None:
        if not isinstance(fitted, Fitted):
            raise ParameterError(f"Stream needs a fit, such as result.fitted, got {short(fitted)}")
        refused = {
            "a fit under rules needs all claims on an entity at once; use fitted.judge": (
                fitted.rules is not None
            ),
            "the fit merges or compares the values of an item; use fitted.judge, or discover with "
            "alike=False and without a hierarchy": bool(fitted.alikeness),
            "claims that are numbers cannot be streamed; use fitted.update": (
                fitted.kind == "numeric"
            ),
            "item features cannot be streamed; use fitted.update": (
                fitted.algorithm.item_features is not None
            ),
            "learn_every and keep_items must be at least 1": min(learn_every, keep_items) < 1,
        }
        for reason, holds in refused.items():
            if holds:
                raise ParameterError(f"Stream: {reason}")
        self.number, self.result = 0, None
        self.learn_every, self.keep_items = learn_every, keep_items
        self._is_binary, self._is_multiple = fitted.kind == "binary", fitted.kind == "multiple"
        self._items: dict[Any, Item] = {}
        self._touched: dict[Any, None] = {}  # items with claims that were not learned from
        self._numbers: dict[str, dict[Any, int]] = {role: {} for role in ROLES}
        self._added: dict[str, list[Any]] = {role: [] for role in ROLES}
        self._examples: dict[str, dict[type, Any]] = {"entities": {}}  # by type
        for role in ROLES:
            self._examples[role] = {type(own): own for own in getattr(fitted.names, role)[:1]}
        self._epoch = 0
        self._use(replace(fitted, claims=None))

    def claim(self, source: Any, entity: Any, value: Any, attribute: Any = None) -> Verdict:
        """Judge a claim and its item. Of binary claims, the entity is the fact, the value a bool.

        The result has the `plausibility` of the claimed value, that `before` this claim, the
        `answer` of the item and the `answer_plausibility`.
        """
        if self._is_normalised:
            value = self._spelt(source, entity, value, attribute)
        key = entity if attribute is None else (entity, attribute)
        item = self._items.get(key)
        if item is None or item.epoch != self._epoch:
            item = self._refreshed(key)
        word, place = self._words.get(source), item.place.get(value)
        if word is None or place is None or source in item.said:
            verdict = self._claim_slowly(item, source, value)
        else:
            item.said[source] = place
            verdict = self._add(item, word, place) or self._judge_block(item, place)
        self.number = number = self.number + 1
        if not number % self.learn_every:
            self.learn()
        return verdict

    def take(self, claims: object, **options: Unpack[ReadArguments]) -> Any:
        """Judge claims in the order of their rows; return these with the verdicts as columns.

        Claims and options are as for `Fitted.update`.
        """
        table = open_claims(claims, Local(), like=self.fitted, **options)
        if isinstance(table, SparkClaims) or has_shares(table):
            raise ParameterError("Stream takes no weights and no Spark frames; use fitted.update")
        names = ("source", "fact", "claim") if self._is_binary else _COLUMNS
        batches, is_normalised = [], self._is_normalised
        self._is_normalised = False  # the rows are
        try:
            for batch in table.batches():
                rows = batch.select(name for name in names if name in batch.columns)
                verdicts = [self.claim(*row) for row in rows.iter_rows()]
                columns = zip(*verdicts, strict=True) if verdicts else ([],) * len(Verdict._fields)
                table_of_verdicts = pl.DataFrame(dict(zip(Verdict._fields, columns, strict=True)))
                batches.append(rows.hstack(table_of_verdicts))
        finally:
            self._is_normalised = is_normalised
        return hand_back(pl.concat(batches, how="vertical_relaxed"), table.frame_kind)

    def learn(self) -> None:
        """Learn from the claims since the last time, with the earlier ones on their items."""
        new, earlier = [], []
        for key in self._touched:
            item = self._items[key]
            said = [(key, who, item.values[place]) for who, place in item.said.items()]
            new += said[item.folded :]
            earlier += [*said[: item.folded], *((key, *own) for own in item.older)]
        if not new:
            return
        table, fitted = self._frame(new), self.fitted
        columns = {name: name for name in table.columns}
        fitted = replace(fitted, plans=(), columns=columns, claims=self._kept(earlier))
        self.result = fitted.update(table)
        for key in self._touched:
            item = self._items[key]
            item.folded, item.older = len(item.said), []
        self._touched = {}
        surplus = len(self._items) - self.keep_items
        if surplus > 0:
            self._items = dict(islice(self._items.items(), surplus, None))
        LOG.info("stream: learned from %d claims, up to claim %d", len(new), self.number)
        learned, own = self.result.fitted, self.fitted
        assert learned is not None
        self._use(replace(learned, plans=own.plans, columns=own.columns, claims=None))

    def _kept(self, rows: list[tuple[Any, Any, Any]]) -> Encoded | None:
        """Return claims as a fit keeps those that it learned from."""
        if not rows:
            return None
        table = Claims.of_rows(self._frame(rows), self.fitted.kind, "earlier claims of the stream")
        encoded = prepare(table).encoded.numbered_as(self.fitted.names)
        clocks = [self.fitted.clock] * len(encoded.parts)
        return replace(encoded, parts=KeptParts.of(encoded.parts, clocks))

    def __repr__(self) -> str:
        """Return one line."""
        items = counted(len(self._items), "item")
        return f"stream of {counted(self.number, 'claim')} about {items}; {self.fitted!r}"

    # --- snapshots --------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write a snapshot, whole or not at all; it replaces an earlier one in this folder."""
        target, fitted = Path(folder), self.fitted
        rows = [
            (key, *claim)
            for key, item in self._items.items()
            for claim in (*self._said(item), *item.older)
        ]
        sizes = [(len(own.said), own.folded, len(own.older)) for own in self._items.values()]
        features = fitted.algorithm.source_features
        tables = {
            "claims": self._frame(rows),
            "items": pl.DataFrame(sizes, ["claims", "folded", "older"], orient="row"),
            "history": fitted.history,
            "source_features": None if features is None else features.table,
            **{role: getattr(fitted.names, role).to_frame("name") for role in ROLES},
        }
        tables = {name: table for name, table in tables.items() if table is not None}
        described = {
            "veracity": __version__,
            "format": FORMAT,
            "files": ["fitted.npz", *(f"{name}.parquet" for name in tables)],
            "number": self.number,
            "learn_every": self.learn_every,
            "keep_items": self.keep_items,
            "added": self._added,
            "algorithm": fitted.algorithm.name,
            "parameters": describe_parameters(fitted.algorithm),
            "open_values": fitted.names.n_unnumbered,
            "fit": {name: getattr(fitted, name) for name in OF_FIT},
        }
        with atomic_folder(target, force=True, marker=MARKER) as unfinished:
            for name, table in tables.items():
                table.write_parquet(unfinished / f"{name}.parquet", compression_level=1)
            with (unfinished / "fitted.npz").open("wb") as file:
                np.savez(file, **fitted.to_arrays())  # type: ignore[arg-type]
            (unfinished / MARKER).write_text(json.dumps(described), encoding="utf-8")
        LOG.info("stream: saved at claim %d", self.number)
        return target

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Restore a snapshot. The stream goes on with the claim after `number`."""
        place = Path(folder)
        if not (place / MARKER).is_file():
            recover(place.absolute().parent)  # a stream that was killed may have set it aside
        try:
            described = json.loads((place / MARKER).read_text(encoding="utf-8"))
            if described["format"] != FORMAT:
                raise ValueError(f"its format is {described['format']}, not {FORMAT}")
            tables = {
                name.removesuffix(".parquet"): pl.read_parquet(place / name, glob=False)
                for name in described["files"]
                if name.endswith(".parquet")
            }
            with np.load(place / "fitted.npz", allow_pickle=False) as file:
                fitted = _fit_from(described, tables, dict(file))
            stream = cls(
                fitted, learn_every=described["learn_every"], keep_items=described["keep_items"]
            )
            stream._restore(described, tables)
        except (OSError, ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as error:
            raise UnreadableFile(
                f"{place}: no snapshot of a stream, or a damaged one: {first_line(error)[:300]}"
            ) from error
        LOG.info("stream: restored; go on with claim %d", stream.number + 1)
        return stream

    def _restore(self, described: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
        """Take the claims of a snapshot; their items are judged again when they are met."""
        self.number, self._added = described["number"], described["added"]
        for role, names in self._added.items():
            for name in names:
                self._numbers[role][name] = len(self._numbers[role])
        self._grow()
        claims = tables["claims"].iter_rows()
        keyed = "attribute" in tables["claims"].columns
        for n_claims, folded, n_older in tables["items"].iter_rows():
            item = Item()
            for number in range(n_claims + n_older):
                source, entity, *attribute, value = next(claims)
                key = (entity, attribute[0]) if keyed and attribute[0] is not None else entity
                self._check("entities", entity)
                self._check("labels", value)
                who = (source, value) if self._is_multiple else source
                if number >= n_claims:
                    item.older.append((who, value))
                    continue
                at = item.said[who] = item.place.setdefault(value, len(item.values))
                if at == len(item.values):
                    item.values.append(value)
            item.folded, self._items[key] = folded, item
            if folded < n_claims:
                self._touched[key] = None

    # --- rare cases -------------------------------------------------------------------------------

    def _claim_slowly(self, item: Item, source: Any, value: Any) -> Verdict:
        """Judge a claim of a new source or value, a newer word of a source, or one for a block."""
        self._meet("sources", source)
        label = self._label(value)
        if item.epoch != self._epoch:
            self._say(item, self._said(item))
        if item.said and not item.share:
            self._judge_block(item, 0)
        who = (source, value) if self._is_multiple else source
        n_facts, is_empty = len(item.share), not item.said
        place = self._place(item, value, label)
        before = None if is_empty or place >= n_facts else item.share[place] / item.total
        is_new = who not in item.said
        if is_new:
            item.said[who] = place
        elif item.said[who] != place:  # the newer word replaces the older one
            if list(item.said).index(who) < item.folded:
                item.folded -= 1
                item.older.append((who, item.values[item.said[who]]))
            others = [(one, own) for one, own in self._said(item) if one != who]
            self._say(item, [*others, (who, value)])
            place = item.place[value]
        item.before, verdict = before, None
        if self._online is not None:
            verdict = self._add(item, self._word(source), place) if is_new else item.verdict(place)
        return verdict or self._judge_block(item, place)

    def _said(self, item: Item) -> list[tuple[Any, Any]]:
        return [(who, item.values[place]) for who, place in item.said.items()]

    def _refreshed(self, key: Any) -> Item:
        """Return an item, new or counted anew by what was learned last."""
        entity, attribute = _parts_of(key)
        self._check("entities", entity)
        item = self._items.setdefault(key, Item())
        item.attribute = 0 if attribute is None else self._meet("attributes", attribute)
        self._say(item, self._said(item))
        self._touched[key] = None
        return item

    def _say(self, item: Item, claims: list[tuple[Any, Any]]) -> None:
        """Count the claims on an item anew, in this order."""
        labels = []
        for who, value in claims:
            self._meet("sources", who[0] if self._is_multiple else who)
            labels.append(self._label(value))
        item.clear()
        item.said, item.epoch = {}, self._epoch
        if self._is_binary:
            item.values, item.place = [False, True], {False: 0, True: 1}
        if self._online is not None:
            self._online.begin(item, item.attribute)
        verdict = None
        for (who, value), label in zip(claims, labels, strict=True):
            item.said[who] = place = self._place(item, value, label)
            if self._online is not None:
                verdict = self._add(item, self._word(who), place)
        if claims and verdict is None:
            self._judge_block(item, 0)

    def _place(self, item: Item, value: Any, label: int) -> int:
        """Return the place of a fact, which may be new."""
        place = item.place.get(value)
        if place is None and self._are_numbers:  # 7 and 7.0 are one value
            number = _number(value)
            same = (own for other, own in item.place.items() if _number(other) == number)
            place = None if number is None else next(same, None)
        if place is None:
            place = len(item.values)
            item.values.append(value)
            if self._online is not None:
                self._online.meet(item, label)
        item.place[value] = place
        return place

    def _word(self, source: Any) -> Any:
        word = self._words.get(source)
        if word is None:
            assert self._online is not None
            word = self._words[source] = self._online.word_of(self._numbers["sources"][source])
        return word

    def _spelt(self, source: Any, entity: Any, value: Any, attribute: Any) -> Any:
        """Return a value as normalising writes it."""
        key = (source, attribute, value)
        if key not in self._spellings:
            who = (source, value) if self._is_multiple else source
            row = self._frame([(entity if attribute is None else (entity, attribute), who, value)])
            try:
                table: Any = open_claims(row, Local(), like=self.fitted)
                self._spellings[key] = next(table.batches())["value"][0]
            except NoClaims:
                reason = f"{short(value)} means that there is no value"
                raise ParameterError(f"Stream: {reason}; leave the claim out") from None
        return self._spellings[key]

    # --- what was learned -------------------------------------------------------------------------

    def _use(self, fitted: Fitted) -> None:
        """Judge by this fit from now on."""
        self.fitted, self._now = fitted, fitted
        for role, numbers in self._numbers.items():
            for name in self._added[role]:
                del numbers[name]
            new = getattr(fitted.names, role)[len(numbers) :].to_list()
            numbers.update(zip(new, range(len(numbers), len(numbers) + len(new)), strict=True))
            self._added[role] = []
        self._is_normalised = fitted.normalisation is not None
        self._spellings = {}
        self._are_numbers = numbers_in(fitted.names.labels) is not None
        self._grow()

    def _grow(self) -> None:
        """Make room for the names that are new since the last update."""
        base = self.fitted.names
        if any(self._added.values()):
            more: Any = {role: _more(getattr(base, role), self._added[role]) for role in ROLES}
            self._now = self.fitted.grown(base._replace(**more))
        is_single = self.fitted.kind == "categorical"
        self._online = self._now.algorithm.online(self._now.state) if is_single else None
        self._words: dict[Any, Any] = {}
        if self._online is not None:
            self._add = self._online.add
        self._epoch += 1

    def _meet(self, role: str, name: Any) -> int:
        """Return the number of a name, which may be new."""
        numbers = self._numbers[role]
        if name not in numbers:
            self._check(role, name)
            numbers[name] = len(numbers)
            self._added[role].append(name)
            self._grow()
        return numbers[name]

    def _check(self, role: str, given: Any) -> None:
        """Refuse a name or value that cannot stand in a column with the earlier ones.

        No snapshot could hold it, and nothing could be learned from it.
        """
        examples = self._examples[role]
        is_nan = given != given  # noqa: PLR0124
        if type(given) in examples and not is_nan:
            return
        word, other = role.replace("labels", "values"), next(iter(examples.values()), given)
        dtype = pl.Series([given]).dtype
        if is_nan or dtype.is_nested() or dtype in (pl.Null, pl.Object):
            raise ParameterError(
                f"Stream: {short(given)} cannot be one of the {word}; give a text or a number"
            )
        if _kind_of(given) != _kind_of(other):
            raise ParameterError(
                f"Stream: {word} differ in type: {short(given)}, and before {short(other)}"
            )
        examples[type(given)] = given

    def _label(self, value: Any) -> int:
        """Return the number of a value, or zero where values have none."""
        if self._is_binary:
            if value not in (False, True):
                raise ParameterError(f"Stream: a binary claim is True or False, got {value!r}")
            return 0
        self._check("labels", value)
        if self.fitted.names.n_unnumbered or not getattr(self._online, "uses_labels", True):
            return 0
        return self._meet("labels", value)

    # --- arrays and tables ------------------------------------------------------------------------

    def _judge_block(self, item: Item, place: int) -> Verdict:
        """Judge an item as a block, as `Fitted.judge` does."""
        values, algorithm = item.values, self._now.algorithm
        order = [0] if self._is_binary else sorted(range(len(values)), key=self._order_of(values))
        found = algorithm.judge(self._block(item, order), self._now.state)
        item.total = 1.0
        if self._is_binary:
            p = float(found[0])
            item.share = [1.0 - p, p]
            return Verdict(item.share[place], item.before, p > 0.5, max(item.share))
        item.share = [0.0] * len(values)
        for at, p in zip(order, found.tolist(), strict=True):
            item.share[at] = p
        if self._is_multiple:
            answer: Any = tuple(values[at] for at in order if item.share[at] >= 0.5)
            return Verdict(item.share[place], item.before, answer, max(item.share))
        rounded, said = np.round(found, SAME).tolist(), list(item.said.values())
        ranks = [
            (-p, -said.count(at), n) for n, (p, at) in enumerate(zip(rounded, order, strict=True))
        ]
        best = order[min(ranks)[2]]
        return Verdict(item.share[place], item.before, values[best], item.share[best])

    def _order_of(self, values: list[Any]) -> Any:
        """Return the key by which places of values are sorted."""
        numbers = [_number(value) for value in values] if self._are_numbers else [None]
        return values.__getitem__ if None in numbers else numbers.__getitem__

    def _block(self, item: Item, order: list[int]) -> Block:
        """Return the item as arrays, its facts in this order."""
        numbers, n_sources = self._numbers["sources"], self._now.names.n_sources
        if self._is_binary:
            voices = np.array(sorted(numbers[who] for who in item.said))
            rows = sorted((0, numbers[who]) for who, place in item.said.items() if place)
            n_of_fact, labels = [len(rows)], [0]
        else:
            rank = {at: n for n, at in enumerate(order)}
            rows = sorted(
                (rank[at], numbers[who[0] if self._is_multiple else who])
                for who, at in item.said.items()
            )
            said = list(item.said.values())
            n_of_fact = [said.count(at) for at in order]
            labels = [self._label(item.values[at]) for at in order]
            if not any(labels):  # values have no numbers
                labels = list(range(len(order)))
        sources = np.array([source for _, source in rows], dtype=np.int32)
        first_fact = np.array([0, len(order)])
        first_support = np.concatenate([[0], np.cumsum(n_of_fact)])
        first_voice, voice = voices_of(first_fact, first_support, sources, n_sources)
        if self._is_binary:
            first_voice, voice = np.array([0, len(voices)]), voices.astype(np.int32)
        return Block(
            first_fact_of_item=first_fact,
            first_support_of_fact=first_support,
            source_of_support=sources,
            first_voice_of_item=first_voice,
            source_of_voice=voice,
            known_of_fact=np.full(len(order), UNKNOWN, dtype=np.int8),
            label_of_fact=np.array(labels, dtype=np.int32),
            attribute_of_item=np.array([item.attribute], dtype=np.int32),
            mark_of_item=np.zeros(1, dtype=np.uint32),
        )

    def _frame(self, rows: Iterable[tuple[Any, Any, Any]]) -> pl.DataFrame:
        """Return claims as a table."""
        columns: dict[str, list[Any]] = {"source": [], "entity": [], "attribute": [], "value": []}
        for key, who, value in rows:
            entity, attribute = _parts_of(key)
            row = (who[0] if self._is_multiple else who, entity, attribute, value)
            for column, part in zip(columns.values(), row, strict=True):
                column.append(part)
        if not any(attribute is not None for attribute in columns["attribute"]):
            del columns["attribute"]
        table = pl.DataFrame(columns)
        return table.rename({"entity": "fact", "value": "claim"}) if self._is_binary else table


_COLUMNS = ("source", "entity", "value", "attribute")
"""Columns of claims, in the order of the parameters of `Stream.claim`."""


def _parts_of(key: Any) -> Any:
    """Return the entity and the attribute of an item."""
    return key if isinstance(key, tuple) else (key, None)


def _kind_of(given: Any) -> type:
    return next((kind for kind in (str, Integral, Real) if isinstance(given, kind)), type(given))


@lru_cache(10_000)
def _number(value: str) -> float | None:
    """Return a text as a number, or None if it is no plain number."""
    found = numbers_in(pl.Series([value]))
    return None if found is None else float(found[0])


def _more(names: pl.Series, added: list[Any]) -> pl.Series:
    if not added:
        return names
    more = pl.Series(added, dtype=names.dtype if len(names) else None)
    return pl.concat([names, more]) if len(names) else more


def _fit_from(
    described: dict[str, Any], tables: dict[str, pl.DataFrame], arrays: dict[str, Any]
) -> Fitted:
    """Make the fit of a snapshot again."""
    algorithm = restored(described["algorithm"], described["parameters"])
    if algorithm is None:
        raise ValueError(f"{described['algorithm']} cannot be restored")
    if algorithm.source_features is not None:
        features = algorithm.source_features.with_table(tables["source_features"])
        algorithm = replace(algorithm, source_features=features)  # type: ignore[type-var]
    series = {role: tables[role]["name"] for role in ROLES}
    names = Names(**series, n_unnumbered=described["open_values"])
    own = described["fit"]
    fitted = Fitted.from_arrays(algorithm, names, own["kind"], arrays, own["normalisation"])
    return replace(fitted, **own, history=tables.get("history"))
