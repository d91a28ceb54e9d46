"""Show sections as text or JSON, on a terminal or in `print`, and show a progress bar."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from veracity.errors import NotConverged
from veracity.naming import name_text
from veracity.printing import in_short, printable, unfiltered
from veracity.progress import Progress
from veracity.show.cells import columns_of
from veracity.show.sections import Section, Table, as_dict, plain, sections_of

WIDTH = 120
"""Width of a line in characters if the terminal does not report its own."""


@contextlib.contextmanager
def at_work() -> Iterator[Progress | None]:
    """Show a progress bar on a terminal, and nothing in a pipe."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        if sys.stderr is None or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console  # noqa: PLC0415 - takes its time to load
        from rich.markup import escape  # noqa: PLC0415
        from rich.progress import Progress as Bar  # noqa: PLC0415

        with Bar(console=Console(file=unfiltered(sys.stderr)), transient=True) as bar:
            task = bar.add_task("reading", total=None)
            yield lambda phase, done, total: bar.update(
                task, description=escape(in_short(phase)), completed=done, total=total or None
            )


def show(thing: object, *, as_json: bool = False) -> None:
    """Print a result, a check or another object: its sections, or JSON for programs."""
    if as_json:
        print_json(as_dict(thing))
    else:
        show_sections(sections_of(thing))


def show_sections(sections: Sequence[Section]) -> None:
    """Print sections on standard output, as wide as the terminal."""
    if sys.stdout is not None:
        _draw(sections, sys.stdout, None if sys.stdout.isatty() else WIDTH)


def as_text(sections: Sequence[Section]) -> str:
    """Return sections as text."""
    file = io.StringIO()
    _draw(sections, file, WIDTH)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _draw(sections: Sequence[Section], file: TextIO, width: int | None, indent: str = "") -> None:
    """Write sections to a file, with control characters escaped."""
    from rich.console import Console  # noqa: PLC0415 - takes its time to load

    console = Console(file=unfiltered(file), width=width, highlight=False)
    for section in sections:
        if indent:  # a part of another section
            console.print()
        lines = [section.title, *(f"{indent}{one}" for one in section.sentences)]
        lines += [f"{name}: {number}" for name, number in section.numbers]
        for line in filter(None, lines):
            console.print(printable(line, lines=True), markup=False, soft_wrap=True)
        for table in section.tables:
            console.print(_drawn(table))
        _draw(section.more, file, width, "  ")
        if section.more:
            console.print()


def _drawn(table: Table) -> Any:
    """Return a table for rich to draw."""
    from rich.table import Table as Drawn  # noqa: PLC0415 - takes its time to load
    from rich.text import Text  # noqa: PLC0415

    drawn = Drawn(title=Text(printable(titled(table)), style="table.title"))
    columns = columns_of(table)
    for column in columns:
        drawn.add_column(Text(column.heading), justify="right" if column.is_number else "left")
    for row in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(
            *(Text(f"{text} ({interval})" if interval else text) for text, interval in row)
        )
    return drawn


def titled(table: Table) -> str:
    """Return the title of a table, with the number of rows where some are left out."""
    shown, all_rows = len(table.rows), len(table.rows) if table.n_rows is None else table.n_rows
    return table.title if shown == all_rows else f"{table.title} ({shown:,} of {all_rows:,})"


def print_json(content: dict[str, Any]) -> None:
    """Print an object as standard JSON."""
    import click  # noqa: PLC0415 - only commands print

    click.echo(json.dumps(plain(content), indent=2, default=name_text))
