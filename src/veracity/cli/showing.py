"""How commands end: the result is written, and shown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from veracity.progress import Progress
    from veracity.result import Result


class Targets(NamedTuple):
    """Where a result is to be written: to a folder or a file, as records, to a database."""

    out: Path | None
    to: str | None
    with_records: bool
    records: Path | None
    plausibility: bool
    csv: bool
    force: bool

    @classmethod
    def taken_from(cls, options: dict[str, Any], inputs: Iterable[object] = ()) -> Targets:
        """What `target_options` gave; refused where it could not be written, before any work."""
        targets = cls(**{name: options.pop(name) for name in cls._fields})
        targets._check(inputs)
        return targets

    @property
    def is_file(self) -> bool:
        """Whether the truths alone are to be written."""
        from veracity.io.table_file import is_table_file

        return self.out is not None and is_table_file(self.out)

    def _check(self, inputs: Iterable[object]) -> None:
        from veracity.io.atomic import check_can_write
        from veracity.io.database_tables import check_tables
        from veracity.io.table_file import check_table_file
        from veracity.result import DATABASE_TABLES, RECORDS_TABLE, RUN_FILE

        if self.csv and (self.out is None or self.is_file):
            raise click.UsageError("--csv is for a folder: --out RUN")
        if self.with_records and self.to is None:
            raise click.UsageError("--with-records is for --to; for a file, say --records FILE")
        if self.plausibility and self.records is None and not self.with_records:
            raise click.UsageError("--plausibility is for --records; the truths tell it anyway")
        files = [self.out] if self.is_file else []
        for file in (*files, self.records):
            if file is not None:
                check_table_file(file, force=self.force, inputs=inputs)
        if self.out is not None and self.records is not None and self.out == self.records:
            raise click.UsageError("--out and --records name the same file")
        if self.out is not None and not self.is_file:
            check_can_write(self.out, force=self.force, marker=RUN_FILE)
        if self.to is not None:
            names = [*DATABASE_TABLES, *([RECORDS_TABLE] if self.with_records else [])]
            check_tables(self.to, names, None, force=self.force)

    def write(self, result: Result, progress: Progress | None) -> tuple[list[str], str | None]:
        """Write the result; what was written, in sentences, and the database without password."""
        told, to = list[str](), None
        if self.out is not None and self.is_file:
            notes = result.write(self.out, force=self.force)
            told += [f"written to {self.out}: the truths", *(f"note: {note}" for note in notes)]
        elif self.out is not None:
            result.save(self.out, force=self.force, csv=self.csv, progress=progress)
            files = sorted(path.name for path in self.out.iterdir())
            told.append(f"written to {self.out}: {', '.join(files)}")
        if self.records is not None:
            told_how = {"plausibility": self.plausibility, "force": self.force}
            notes = result.write(self.records, "records", **told_how)
            told += [f"written to {self.records}: records", *(f"note: {note}" for note in notes)]
        if self.to is not None:
            to = result.write_database(
                self.to, records=self.with_records, plausibility=self.plausibility,
                force=self.force, progress=progress,
            )  # fmt: skip
            others = ", notes and records" if self.with_records else " and notes"
            told.append(f"written to {to}: tables truths, facts, sources{others}")
        return told, to


def tell_result(result: Result, targets: Targets, *, as_json: bool) -> None:
    """Write the result, if it is to be written, and show it."""
    from veracity.show.terminal import at_work, print_json, show_result

    with at_work() as progress:
        told, to = targets.write(result, progress)
    if as_json:
        paths = {"out": targets.out, "records": targets.records}
        written = {name: None if path is None else str(path) for name, path in paths.items()}
        print_json({**result.run.to_json(), **written, "to": to})
        return
    show_result(result)
    for sentence in told:
        click.echo(f"\n{sentence}")
