"""How commands end: the result is written, and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from veracity.result import Result

__all__ = ["check_targets", "tell_result"]


def check_targets(out: Path | None, to: str | None, *, force: bool) -> None:
    """Refuse to begin where the result could not be written."""
    from veracity.io.databases import check_tables
    from veracity.io.folders import check_target
    from veracity.result import DATABASE_TABLES, RUN_FILE

    if out is not None:
        check_target(out, force=force, marker=RUN_FILE)
    if to is not None:
        check_tables(to, DATABASE_TABLES, None, force=force)


def tell_result(
    result: Result, out: Path | None, to: str | None = None, *, force: bool, as_json: bool
) -> None:
    """Write the result, if it is to be written, and show it."""
    from veracity.show.terminal import at_work, print_json, show_result

    with at_work() as progress:
        if out is not None:
            result.save(out, force=force, progress=progress)
        if to is not None:
            to = result.write_database(to, force=force, progress=progress)
    if as_json:
        print_json({**result.run.to_json(), "out": None if out is None else str(out), "to": to})
        return
    show_result(result)
    if out is not None:
        click.echo(f"\nwritten to {out}: truths, facts, sources, the run, and what was learned")
    if to is not None:
        click.echo(f"\nwritten to {to}: tables truths, facts, sources and notes")
