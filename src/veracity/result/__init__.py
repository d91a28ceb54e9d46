"""What was found, as tables: truths, facts, sources, trace; saved as a folder and loaded again."""

from __future__ import annotations

import importlib
import json
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from veracity._version import __version__
from veracity.algorithms.parameters import require_share
from veracity.encoding.block import BoolArray, FloatArray
from veracity.encoding.partitions import Encoded, Partition
from veracity.errors import NoClaims, ParameterError
from veracity.explain import Why, explain
from veracity.fit.fitted import Fitted
from veracity.io.atomic import atomic_folder
from veracity.io.database_tables import write_tables
from veracity.io.frames import FrameKind, hand_back
from veracity.io.lazy import LazyTable
from veracity.io.table_file import write_table
from veracity.printing import counted, printable
from veracity.progress import no_progress
from veracity.reading.schema import Kind
from veracity.result.crowds import confusions_of, difficulty_of, probabilities_of
from veracity.result.layout import blocks_table, saved_tables
from veracity.result.records import in_own_names, records_for_databases, records_of
from veracity.result.run import Run, notes_table
from veracity.result.saved import RUN_FILE, read_saved, sealed
from veracity.result.saving import write_files
from veracity.result.tables import (
    Rightness,
    Short,
    Tables,
    TablesOfPart,
    rightness,
    sources_by_attribute,
)

if TYPE_CHECKING:
    from veracity.inspect.estimating import Estimate

__all__ = [
    "DATABASE_TABLES", "FILE_TABLES", "FURTHER_TABLES", "RECORDS_TABLE", "RUN_FILE", "Result",
    "load",
]  # fmt: skip

DATABASE_TABLES = ["truths", "facts", "sources", "notes"]
"""The tables that `Result.write_database` writes."""

RECORDS_TABLE = "records"
"""The one that it writes if it is asked to."""

FILE_TABLES = ["truths", "facts", "sources", "records"]
"""The tables that `Result.write` writes, and that a folder has as CSV files on request."""

OF_CROWDS = {
    "confusions": confusions_of, "probabilities": probabilities_of, "difficulty": difficulty_of,
}  # fmt: skip

FURTHER_TABLES = [*OF_CROWDS, "copies", "changes"]
"""Those that are written only where they are asked for."""


class Result:
    """What was found: which values are true, how plausible every fact is, what to think of sources.

    Tables come in the kind of frame the claims came in.
    """

    def __init__(
        self,
        tables: Tables,
        run: Run,
        frame_kind: FrameKind = "polars",
        *,
        encoded: Encoded | Callable[[], Encoded],
        fitted: Fitted | None = None,
        plausibility: Sequence[FloatArray] | None = None,
    ) -> None:
        self.tables = tables
        self.run = run
        self.frame_kind = frame_kind
        self.fitted = fitted
        self._encoded = encoded
        self._plausibility = plausibility
        self._whole: Result | None = None  # of which this is a part, on this machine

    @cached_property
    def encoded(self) -> Encoded:
        """The claims as they were judged."""
        return self._encoded() if callable(self._encoded) else self._encoded

    @property
    def plausibility_by_block(self) -> Sequence[FloatArray]:
        """The plausibilities of the facts of each block."""
        if self.encoded.is_remote:
            return self.fetch().plausibility_by_block
        if self._plausibility is not None:
            return self._plausibility
        facts = vars(self.tables)["facts"]
        if isinstance(facts, LazyTable):  # no name of theirs need be here
            facts = facts.changed(lambda piece: piece.select("plausibility")).collect()
        return self.encoded.by_block(facts["plausibility"].to_numpy())

    @property
    def truths(self) -> Any:
        """One row per item: the value settled on, its plausibility, runner-up and margin."""
        return self._handed("truths")

    def records(self, *, plausibility: bool = False) -> Any:
        """One row per entity, one column per attribute: the value that was settled on.

        Columns have the names of the claims' own columns, so that it can be joined with the user's
        tables. Where several values of an item are true, they are a list. Claims that are on disk
        or on Spark need room on this machine for these columns.

        Parameters
        ----------
        plausibility
            Whether each column is followed by one with the plausibility of its value, e.g.
            ``gate_plausibility``; for numbers, with its uncertainty.
        """
        return hand_back(records_of(self, plausibility=plausibility), self.frame_kind)

    @property
    def facts(self) -> Any:
        """One row per fact: its plausibility, how many sources support and oppose it."""
        return self._handed("facts")

    def _handed(self, name: str) -> Any:
        """A table with one row per item or fact: a frame of the engine's own, if it has one."""
        table = vars(self.tables)[name]
        if self.frame_kind == "spark" and isinstance(table, LazyTable):
            return table.frame
        return hand_back(getattr(self.tables, name), self.frame_kind)

    @property
    def sources(self) -> Any:
        """One row per source: its tpr, fpr and accuracy, with 90 % intervals; claims and items."""
        return hand_back(self.tables.sources, self.frame_kind)

    @property
    def sources_by_attribute(self) -> Any:
        """One row per source and attribute: how often it is right there, and its claims there.

        A claim counts as right by its plausibility. None if there are no attributes.
        """
        if self.rightness is None:
            return None
        table = sources_by_attribute(self.encoded, self.rightness)
        return None if table is None else hand_back(table, self.frame_kind)

    @cached_property
    def rightness(self) -> Rightness | None:
        """How often each source is right on each attribute, as arrays; None for numbers."""
        if self.kind == "numeric":
            return None
        if self._whole is not None:
            return self._whole.rightness
        if self.encoded.is_remote:
            return rightness(self.encoded, vars(self.tables)["facts"].answers)
        return rightness(self.encoded, self.plausibility_by_block)

    @property
    def confusions(self) -> Any:
        """One row per source, true label and label said: how likely that is, and how many claims.

        Probabilities are those that the algorithm learned, if it learns confusions; otherwise, and
        for the claims, labels count as true by their plausibility. For items that share labels.
        """
        return hand_back(confusions_of(self), self.frame_kind)

    @property
    def probabilities(self) -> Any:
        """One row per item, one column per label: how plausible it is; zero if nobody says it.

        Items are named as in `truths`; a label of such a name gets a number, as in ``entity_2``.
        What is missing to one is how plausible it is that none of the labels claimed is true.
        """
        return hand_back(probabilities_of(self), self.frame_kind)

    @property
    def difficulty(self) -> Any:
        """One row per item, the hardest first: label these again.

        The `entropy` of what is plausible, in bits, and the share of pairs of claims on the item
        that say the same (`agreement`). Where the algorithm learns how hard items are, there is a
        column `difficulty`, too.
        """
        return hand_back(difficulty_of(self), self.frame_kind)

    @property
    def copies(self) -> Any:
        """One row per pair of sources that may have copied; None if the algorithm does not look.

        `source` is the likelier copier, with a probability of `direction` if one copies. The rest
        is the evidence: `shared` items that both claim, `agreeing` ones, the `mistakes` that both
        make, and how many of these are expected of independent sources.
        """
        copies = self.tables.copies
        return None if copies is None else hand_back(copies, self.frame_kind)

    @property
    def readings(self) -> Any:
        """One row per other way to read the claims, the most different first; usually none.

        What it assumes, on what share of the items it `differs`, which sources it trusts more
        and less, and examples. Known truths decide between readings: see `questions`.
        """
        table = importlib.import_module("veracity.result.readings").readings_table
        return hand_back(table(self.run.readings), self.frame_kind)

    @property
    def changes(self) -> Any:
        """One row per value that normalising changed: before and after; None without it."""
        changes = self.tables.changes
        return None if changes is None else hand_back(changes, self.frame_kind)

    @property
    def features(self) -> Any:
        """One row per feature, or level of one: what it is worth; None without features.

        The `weight` is in log-odds of the rate, per standard deviation of a number, with the ends
        of its 90 % interval; `words` say what that means.
        """
        features = self.tables.features
        return None if features is None else hand_back(features, self.frame_kind)

    @property
    def trace(self) -> Any:
        """One row per round: how much it changed the sources' rates, and the seconds it took."""
        schema = {"round": pl.Int64, "change": pl.Float64, "seconds": pl.Float64}
        return hand_back(pl.DataFrame(self.run.trace, schema=schema), self.frame_kind)

    @property
    def converged(self) -> bool:
        """Whether the last round changed less than the tolerance."""
        return self.run.converged

    @property
    def kind(self) -> Kind:
        """The kind of claims."""
        return self.run.kind

    @property
    def notes(self) -> list[str]:
        """What a user should know: columns recognised, claims left out, limits of the data."""
        return list(self.run.notes)

    def fetch(
        self,
        choose: Callable[[Partition], BoolArray] | None = None,
        nothing: str = "no item is meant",
    ) -> Result:
        """The same on this machine, about all items or some, if it is elsewhere; else itself.

        What does not fit is refused; where no item is chosen, `nothing` says so.
        """
        if not self.encoded.is_remote:
            return self
        answers = vars(self.tables)["facts"].answers
        encoded, found = self.encoded.fetch(choose, answers)
        if not len(encoded.parts):
            raise NoClaims(nothing)
        return self._about(encoded, found)

    def local_sample(self) -> tuple[Result, tuple[str, ...]]:
        """The same on this machine, and what is to be known of it.

        Where there is no room for all that is on disk or on executors, it is about items drawn at
        random, always the same ones; estimates of numbers that are on disk are all there is.
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
        """The same about items that were brought here, with the answers to them."""
        make = TablesOfPart(self.kind, self.run.min_plausibility)
        truths, facts = encoded.parts.tables(make, found, {"truths": 0, "facts": 0})
        tables = replace(self.tables, truths=truths, facts=facts)
        kept = None if self.kind == "numeric" else found
        here = Result(tables, self.run, fitted=self.fitted, encoded=encoded, plausibility=kept)
        here._whole = self
        return here

    def why(self, entity: object, attribute: object = None) -> Why:
        """Why an item has its value: who says what, how far they are believed, what that weighs.

        For binary claims, name the fact. Without an attribute, it is about all items of the entity.
        """
        return explain(self, entity, attribute)

    def questions(self, budget: int = 10) -> Any:
        """Draw the items to look up next, at most `budget` of them.

        One row per item: the `values` to choose from, the `answer` and its `plausibility`, the
        number of `claims`, and `why` it is asked for. `inclusion` is the probability with which it
        was drawn from `asked_of` items; a close call was not `drawn`, but chosen. Write the truth
        into a column `value`, and give the table to `discover` as `known`.
        """
        table = importlib.import_module("veracity.inspect.questions").questions_of(self, budget)
        return hand_back(table, self.frame_kind)

    def estimate(self, enough: float | None = None) -> Estimate:
        """Estimate how right the items are that were not looked up, from drawn questions only.

        Below twenty answers it says that it cannot say. It also tells whether to stop asking: if
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
        csv: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Path:
        """Write the result as a folder: all of it, or nothing.

        An existing folder is refused unless `force`, and then replaced only if it is a result.
        With `csv`, the tables that `write` knows stand beside it as CSV files, in the names of the
        claims' own columns; nothing reads these. `progress` is told how many rows are written, and
        of how many.
        """
        target = Path(folder)
        run_id = uuid.uuid4().hex
        with atomic_folder(target, force=force, marker=RUN_FILE) as unfinished:
            tell = progress or no_progress
            digests = write_files(unfinished, self.frames(), self.fitted, run_id, tell)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            shown = [f"{name}.csv" for name in FILE_TABLES if csv]
            for name in shown:
                self.write(unfinished / name, name.removesuffix(".csv"))
            saved = replace(
                self.run, veracity=__version__, saved=now, files=list(digests), csv=shown
            )
            told = sealed({**saved.to_json(), "id": run_id, "digests": digests})
            (unfinished / RUN_FILE).write_text(
                json.dumps(told, indent=2, ensure_ascii=False), encoding="utf-8"
            )
        return target

    def write(
        self,
        file: str | os.PathLike[str],
        table: str = "truths",
        *,
        plausibility: bool = False,
        force: bool = False,
    ) -> list[str]:
        """Write one table in the format that the file's ending says, whole or not at all.

        Columns have the names of the claims' own columns. Texts that a spreadsheet would run as a
        formula begin with an apostrophe in CSV and TSV files. Returns what is to be known of it.

        Parameters
        ----------
        file
            A path that ends in .csv, .tsv, .parquet, .json, .jsonl, .ndjson or .xlsx.
        table
            "truths", "facts", "sources" or "records"; or "confusions", "probabilities",
            "difficulty", "copies" or "changes", which are not written by `save` as CSV.
        plausibility
            For records: whether plausibilities are written, too.
        force
            Whether a file that exists is replaced.
        """
        target = Path(file)
        if table not in (*FILE_TABLES, *FURTHER_TABLES):
            known = ", ".join([*FILE_TABLES, *FURTHER_TABLES])
            raise ParameterError(f"write: no table {table!r}; there are {known}")
        if table == "records":
            rows: Any = records_of(self, plausibility=plausibility)
        elif table == "probabilities":
            rows = probabilities_of(self, self.run.input.columns)
        elif table in OF_CROWDS:
            rows = OF_CROWDS[table](self)
        else:
            rows = vars(self.tables)[table]
        if rows is None:
            why = "nothing was normalised" if table == "changes" else "nobody looked for them"
            raise ParameterError(f"write: this run has no {table}: {why}")
        if table in ("records", "probabilities"):  # which have the user's own names already
            n_guarded = write_table(rows, target, force=force)
        else:
            columns = self.run.input.columns
            own = partial(in_own_names, columns=columns, kind=self.kind)
            n_guarded = write_table(rows, target, force=force, change=own)
        if not n_guarded:
            return []
        texts = "1 text that begins" if n_guarded == 1 else f"{n_guarded:,} texts that begin"
        return [f"{target.name}: {texts} like a formula got an apostrophe in front"]

    def scan(self, name: str) -> pl.LazyFrame:
        """A table that `save` writes, such as ``"facts"``, as a lazy polars frame.

        Where the claims are on disk, nothing of it is in memory until the query asks for it.
        """
        table = self.frames().get(name)
        if table is None:
            known = ", ".join(name for name, table in self.frames().items() if table is not None)
            raise ParameterError(f"scan: no table {name!r}; there are {known}")
        return table.scan() if isinstance(table, LazyTable) else table.lazy()

    def write_database(
        self,
        address: str,
        schema: str | None = None,
        *,
        records: bool = False,
        plausibility: bool = False,
        force: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> str:
        """Write the tables truths, facts, sources and notes to a database: all of them, or nothing.

        Tables of these names are replaced if veracity wrote them; those of others stay unless
        `force`. Returns the address without its password.

        Parameters
        ----------
        address
            Where, e.g. ``postgresql://user@host/database`` or ``sqlite:///file.db``.
        schema
            The schema for the tables, made if it is not there; for SQLite, which has none, what
            their names begin with. It may also stand in the address, behind a ``#``.
        records
            Whether there is a table of `records`, too. Lists are written as one text.
        plausibility
            Whether each column of the records is followed by one with the plausibility.
        force
            Whether tables of others are replaced, too.
        progress
            Called with phase, done and total as rows are written.
        """
        run = uuid.uuid4().hex[:12]
        own = {**vars(self.tables), "notes": notes_table(self.run, run)}
        tables = {name: own[name] for name in DATABASE_TABLES}
        if records:
            tables[RECORDS_TABLE] = records_for_databases(self, plausibility=plausibility)
        return write_tables(address, tables, schema, run=run, force=force, tell=progress)

    def frames(self) -> dict[str, pl.DataFrame | LazyTable | None]:
        """All that a folder has: the tables, and the claims they were made from."""
        frames: dict[str, pl.DataFrame | LazyTable | None] = dict(vars(self.tables))
        frames["claims"], frames["layout"] = saved_tables(self.encoded)
        frames["labels"] = self.encoded.names.labels.to_frame("label")
        frames["attributes"] = self.encoded.names.attributes.to_frame("attribute")
        if len(self.encoded.blocks) > 1:
            frames["blocks"] = blocks_table(self.encoded)
        if self.encoded.names.n_unnumbered:
            frames["open_values"] = pl.DataFrame({"values": [self.encoded.names.n_unnumbered]})
        return frames

    def __repr__(self) -> str:
        """Sum up in a few lines."""
        return printable("\n".join(self.lines()), lines=True)

    def _repr_html_(self) -> str:
        """Sum up for a notebook."""
        html: str = importlib.import_module("veracity.show.notebook").summary_html(self)
        return html

    def lines(self) -> list[str]:
        """What it was made from, how it went, and the notes: one line each."""
        given, rounds = self.run.input, self.run.rounds
        contested = self.in_short.n_contested
        how = (
            f"{'converged' if self.converged else 'NOT converged'} after {counted(rounds, 'round')}"
        )
        if self.run.judged:
            how = "judged by what was learned before"
        return [
            f"{self.run.algorithm} on {counted(given.claims, 'claim')} of "
            f"{counted(given.sources, 'source')} about {counted(given.items, 'item')} "
            f"({counted(given.facts, 'fact')})",
            f"{how}; {counted(contested, 'item is', 'items are')} contested",
            *(f"note: {note}" for note in self.notes),
        ]

    @cached_property
    def in_short(self) -> Short:
        """How many truths there are and are contested, and the closest calls: in one look."""
        return Short.of(vars(self.tables)["truths"])

    @property
    def plot(self) -> Any:
        """The figures of this result, e.g. ``result.plot.sources()``: see `veracity.plot.Plots`."""
        return importlib.import_module("veracity.show.plot").Plots(self)


def load(folder: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote.

    A folder that is damaged, was edited, or is replaced each time it is read is refused.
    """
    saved = read_saved(Path(folder))
    return Result(saved.tables, saved.run, fitted=saved.fitted, encoded=saved.encoded)
