"""Give an answer as tables (truths, facts, sources, trace), and save it as a folder."""

from __future__ import annotations

import importlib
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from veracity.algorithms.parameters import require_share
from veracity.encoding.block import BoolArray, FloatArray
from veracity.encoding.partitions import Encoded, Partition
from veracity.errors import NoClaims, ParameterError, UnreadableFile
from veracity.explain import Why, explain
from veracity.fit.fitted import Fitted
from veracity.io.addresses import address_of, is_address, is_database
from veracity.io.database_tables import write_tables
from veracity.io.frames import FrameKind, hand_back
from veracity.io.lazy import LazyTable
from veracity.io.table_file import without_lists, write_table
from veracity.printing import Shown, did_you_mean
from veracity.progress import Progress, no_progress
from veracity.reading.roles import Kind
from veracity.result.records import in_own_names, records_for_databases, records_of
from veracity.result.run import Run, notes_table
from veracity.result.saving import RUN_FILE, read_run, save
from veracity.result.tables import (
    DATABASE_TABLES,
    NOTES,
    RECORDS,
    TABLES,
    Rightness,
    Short,
    Tables,
    TablesOfPart,
    TableSpec,
    rightness,
)

if TYPE_CHECKING:
    from veracity.inspect.estimating import Estimate

__all__ = ["RUN_FILE", "TABLES", "Result", "load"]


def _table_property(name: str) -> property:
    """Return a property of `Result` for one of its tables: None if it has no such table."""

    def get(result: Result) -> Any:
        table = TABLES[name].make(result)
        return None if table is None else result._handed(table)

    about = TABLES[name].about
    return property(get, doc=f"{about[0].upper()}{about[1:]}.")


class Result(Shown):
    """Result of `discover`: the true values, plausibilities of facts, and ratings of sources.

    Tables come in the kind of frame the claims came in.
    """

    def __init__(
        self,
        tables: Tables,
        run: Run,
        frame_kind: FrameKind = "polars",
        *,
        encoded: Encoded | Callable[[], Encoded],
        fitted: Fitted | Callable[[], Fitted | None] | None = None,
        plausibility: Sequence[FloatArray] | None = None,
    ) -> None:
        self.tables = tables
        self.run: Run = run
        self.frame_kind = frame_kind
        self._fitted = fitted
        self._encoded = encoded
        self._plausibility = plausibility
        self._whole: Result | None = None  # of which this is a part, on this machine

    @cached_property
    def encoded(self) -> Encoded:
        """Return the claims in encoded form."""
        return self._encoded() if callable(self._encoded) else self._encoded

    @cached_property
    def fitted(self) -> Fitted | None:
        """Return what the algorithm learned, to judge new claims; None if it was not saved."""
        return self._fitted() if callable(self._fitted) else self._fitted

    truths = _table_property("truths")
    facts = _table_property("facts")
    sources = _table_property("sources")
    claims = _table_property("claims")
    attributes = _table_property("attributes")
    copies = _table_property("copies")
    confusions = _table_property("confusions")
    probabilities = _table_property("probabilities")
    difficulty = _table_property("difficulty")
    alternatives = _table_property("alternatives")
    findings = _table_property("findings")
    changes = _table_property("changes")
    features = _table_property("features")
    history = _table_property("history")

    def table(self, name: str, *, lazy: bool = False) -> Any:
        """Return a table by its name; `result.tables` lists them.

        Parameters
        ----------
        name
            The name of the table, such as "facts".
        lazy
            Return a lazy polars frame. If the claims are not in memory, a query then reads only
            what it needs.
        """
        table = self._made(name)
        if not lazy:
            return self._handed(table)
        return table.scan() if isinstance(table, LazyTable) else table.lazy()

    def _made(self, name: str) -> pl.DataFrame | LazyTable:
        """Return a table as a polars frame; raise ParameterError if there is none of that name."""
        spec = _spec_of(name)
        table: pl.DataFrame | LazyTable | None = spec.make(self)
        if table is None:
            raise ParameterError(f"this run has no {name}: {spec.missing}")
        return table

    def _handed(self, table: pl.DataFrame | LazyTable) -> Any:
        """Return a table in the user's kind of frame, or as a frame of the engine."""
        if not isinstance(table, LazyTable):
            return hand_back(table, self.frame_kind)
        if self.frame_kind == "spark" and table.frame is not None:
            return table.frame
        stored = vars(self.tables).get(table.name) is table  # which stays, once collected
        return hand_back(
            getattr(self.tables, table.name) if stored else table.collect(), self.frame_kind
        )

    @property
    def plausibility_by_block(self) -> Sequence[FloatArray]:
        """Return the plausibilities of the facts, block by block."""
        if self.encoded.is_remote:
            return self.fetch().plausibility_by_block
        if self._plausibility is not None:
            return self._plausibility
        facts = vars(self.tables)["facts"]
        if isinstance(facts, LazyTable):  # no name of theirs need be here
            facts = facts.scan().select("plausibility").collect()
        return self.encoded.by_block(facts["plausibility"].to_numpy())

    def records(self, *, plausibility: bool = False) -> Any:
        """Return one row per entity and one column per attribute, with the values found to be true.

        Columns have the names they have in the claims, so that the records can be joined with other
        tables. Several true values of an item are a list. The records must fit in the memory of
        this machine, even if the claims are on disk or on Spark.

        Parameters
        ----------
        plausibility
            Add a column with the plausibility behind each column, e.g. ``gate_plausibility``; for
            numbers, with the uncertainty.
        """
        return hand_back(records_of(self, plausibility=plausibility), self.frame_kind)

    @cached_property
    def rightness(self) -> Rightness | None:
        """Return how often each source is right on each attribute, as arrays; None for numbers."""
        if self.kind == "numeric":
            return None
        if self._whole is not None:
            return self._whole.rightness
        if self.encoded.is_remote:
            return rightness(self.encoded, vars(self.tables)["facts"].answers)
        return rightness(self.encoded, self.plausibility_by_block)

    @property
    def trace(self) -> Any:
        """Return one row per round: the change of the sources' rates, and the seconds it took."""
        schema = {"round": pl.Int64, "change": pl.Float64, "seconds": pl.Float64}
        return hand_back(pl.DataFrame(self.run.trace, schema=schema), self.frame_kind)

    @property
    def converged(self) -> bool:
        """Return True if the last round changed less than the tolerance."""
        return self.run.converged

    @property
    def kind(self) -> Kind:
        """Return the kind of the claims."""
        return self.run.kind

    @property
    def notes(self) -> list[str]:
        """Return notes on what was done to the claims: columns recognised, rows left out."""
        return list(self.run.notes)

    def fetch(
        self,
        choose: Callable[[Partition], BoolArray] | None = None,
        nothing: str = "no item is meant",
    ) -> Result:
        """Return the result with all or some items brought to this machine; itself if it is here.

        Raise an error if the items do not fit in memory. `nothing` is the message of the error if
        no item is chosen.
        """
        if not self.encoded.is_remote:
            return self
        answers = vars(self.tables)["facts"].answers
        encoded, found = self.encoded.fetch(choose, answers)
        if not len(encoded.parts):
            raise NoClaims(nothing)
        return self._about(encoded, found)

    def local_sample(self) -> tuple[Result, tuple[str, ...]]:
        """Return the result on this machine, and notes on it.

        If the items on disk or on executors do not fit in memory, a fixed random sample of them is
        returned. Numbers on disk are always returned whole.
        """
        if self.encoded.is_in_memory:
            return self, ()
        is_remote = self.encoded.is_remote
        if self.kind == "numeric" and not is_remote:
            return self, ()
        answers = vars(self.tables)["facts"].answers if is_remote else self.plausibility_by_block
        encoded, found, notes = self.encoded.local_sample(answers)
        if not notes and not is_remote:
            return self, ()
        return self._about(encoded, found), notes

    def _about(self, encoded: Encoded, found: Sequence[Any]) -> Result:
        """Return the result for items brought to this machine, with the answers to them."""
        make = TablesOfPart(self.kind, self.run.min_plausibility)
        truths, facts = encoded.parts.tables(make, found, {"truths": 0, "facts": 0})
        tables = replace(self.tables, truths=truths, facts=facts)
        kept = None if self.kind == "numeric" else found
        here = Result(tables, self.run, fitted=self.fitted, encoded=encoded, plausibility=kept)
        here._whole = self
        return here

    def why(self, entity: object, attribute: object = None) -> Why:
        """Explain the value of an item: who claims what, how accurate they are, what each weighs.

        For binary claims, name the fact. Without an attribute, all items of the entity are
        explained.
        """
        return explain(self, entity, attribute)

    def questions(self, budget: int = 10) -> Any:
        """Draw the items to look up next, at most `budget` of them.

        One row per item: the `values` to choose from, the `answer` and its `plausibility`, the
        number of `claims`, and `why` it is asked for. `inclusion` is the probability with which it
        was drawn from `asked_of` items. `drawn` is false for close calls, which are chosen, not
        drawn. Write the truth into a column `value`, and give the table to `discover` as `known`.
        """
        table = importlib.import_module("veracity.inspect.questions").questions_of(self, budget)
        return hand_back(table, self.frame_kind)

    def estimate(self, enough: float | None = None) -> Estimate:
        """Estimate the accuracy on the items that were not looked up, from drawn questions only.

        There is no estimate below twenty answers. The estimate also shows when to stop asking: if
        further answers are likely to change little, or if the lower end of the interval is at least
        `enough`.
        """
        if enough is not None:
            require_share("estimate", enough=enough)
        return replace(self._estimate, enough=enough)

    @cached_property
    def _estimate(self) -> Estimate:
        module = importlib.import_module("veracity.inspect.estimating")
        estimate: Estimate = module.estimate_of(self)
        return estimate

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        force: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Path:
        """Write the result as a folder, whole or not at all; `veracity.load` reads it.

        An existing folder is replaced only with `force`, and only if it holds a result. `progress`
        is called with phase, done and total.
        """
        save(self, Path(folder), force=force, progress=progress or no_progress)
        return Path(folder)

    def write(
        self,
        target: str | os.PathLike[str],
        table: str = "truths",
        *,
        plausibility: bool = False,
        force: bool = False,
    ) -> list[str]:
        """Write one table to a file, in the format of its ending, whole or not at all.

        Columns have the names they have in the claims. Texts that a spreadsheet would run as a
        formula begin with an apostrophe in CSV and TSV files. Return notes on what was written.

        Parameters
        ----------
        target
            A path that ends in .csv, .tsv, .parquet, .json, .jsonl, .ndjson or .xlsx.
        table
            The name of the table; `result.tables` lists them.
        plausibility
            Add a column of plausibilities behind each column of the records.
        force
            Replace a file that exists.
        """
        file, spec = Path(target), _spec_of(table)
        if spec.make_for_user is not None:
            is_sure = plausibility and table == "records"
            rows = records_of(self, plausibility=True) if is_sure else spec.make_for_user(self)
            n_guarded = write_table(rows, file, force=force)
        else:
            own = partial(in_own_names, columns=self.run.input.columns, kind=self.kind)
            n_guarded = write_table(self._made(table), file, force=force, change=own)
        if not n_guarded:
            return []
        texts = "1 text that begins" if n_guarded == 1 else f"{n_guarded:,} texts that begin"
        return [f"{file.name}: {texts} like a formula got an apostrophe in front"]

    def write_report(
        self,
        path: str | os.PathLike[str],
        *,
        truth: object | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write the result as one HTML file that works offline; return its path.

        Parameters
        ----------
        path
            The file to write; one that exists is refused unless `force`.
        truth
            Known truths, in any form that claims can have; the report then shows how many answers
            are right.
        progress
            Called with phase, done and total as the work goes on.
        """
        module = importlib.import_module("veracity.show.report")
        written: Path = module.write_report(self, path, truth=truth, force=force, progress=progress)
        return written

    def write_database(
        self,
        address: str,
        schema: str | None = None,
        *,
        records: bool = False,
        force: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> str:
        """Write tables to a database: all of them, or nothing.

        These are truths, facts, sources, provenance (`claims`) and notes, and, where there are any,
        attributes, copies, alternatives, changes and features. Tables that an earlier run wrote
        there are replaced or removed; other tables are replaced only with `force`. Return the
        address without its password.

        Parameters
        ----------
        address
            The address, e.g. ``postgresql://user@host/database`` or ``sqlite:///file.db``.
        schema
            The schema for the tables, created if it does not exist. SQLite has no schemas: there it
            is a prefix of the tables' names. It may also stand in the address, after a ``#``.
        records
            Write a table of `records`, too. Lists are written as one text.
        force
            Replace tables that no run of veracity wrote, too.
        progress
            Called with phase, done and total as rows are written.
        """
        run = uuid.uuid4().hex[:12]
        tables: dict[str, pl.DataFrame | LazyTable] = {}
        for name, own in DATABASE_TABLES.items():
            table = notes_table(self.run, run) if own == NOTES else TABLES[own].make(self)
            if table is not None:
                is_here = isinstance(table, pl.DataFrame)
                tables[name] = without_lists(table) if is_here else table
        if records:
            tables[RECORDS] = records_for_databases(self)
        return write_tables(
            address,
            tables,
            schema,
            run=run,
            force=force,
            outdated=[*DATABASE_TABLES, RECORDS],
            tell=progress,
        )

    def contents(self) -> dict[str, Any]:
        """Return the facts about the run, by name."""
        return self.run.to_json()

    @cached_property
    def in_short(self) -> Short:
        """Count the truths and the contested ones, and list the closest calls, in one pass."""
        return Short.of(vars(self.tables)["truths"])

    @property
    def plot(self) -> Any:
        """Return the figures of this result, such as ``result.plot.sources()``."""
        return importlib.import_module("veracity.show.figures").Plots(self)


def _spec_of(name: str) -> TableSpec:
    if name not in TABLES:
        meant = did_you_mean(name, list(TABLES)) or f"there are {', '.join(TABLES)}"
        raise ParameterError(f"no table {name!r}; {meant}")
    return TABLES[name]


def load(folder: str | os.PathLike[str]) -> Result:
    """Load a run that `Result.save` wrote.

    Its files are read when they are first used, so leave the folder where it is. Raise
    `UnreadableFile` if the run is incomplete or damaged.
    """
    text = os.fspath(folder)
    if is_address(text):
        shown = address_of(text).shown if is_database(text) else f"{text.partition('://')[0]}://..."
        raise UnreadableFile(
            f"{shown}: this is an address, and a run is read from a folder; give the one that "
            "result.save(folder) or --out wrote"
        )
    saved = read_run(Path(folder))
    return Result(saved.tables, saved.run, fitted=saved.fitted, encoded=saved.encoded)
