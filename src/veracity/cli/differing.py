"""The command that tells what has changed between two runs."""

from __future__ import annotations

from pathlib import Path

import click

from veracity.cli.options import example, json_option, table_file_options


@click.command(epilog=example("veracity diff yesterday/ today/"))
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path))
@table_file_options("the items that changed")
@json_option
def diff(run: Path, other: Path, out: Path | None, force: bool, as_json: bool) -> None:
    """Show what has changed from one run to another, and why.

    RUN and OTHER are folders of results, the earlier one first. Items changed because there are new
    claims, because a truth is known, or because sources rose or fell; items may be new or gone.
    """
    from veracity.inspect.difference import diff as difference_of
    from veracity.io.table_file import check_table_file, write_table
    from veracity.result import load
    from veracity.result.records import in_own_names
    from veracity.show.terminal import print_json, show_difference

    if out is not None:
        check_table_file(out, force=force)
    later = load(other)
    found = difference_of(load(run), later)
    if out is not None:
        columns = {k: v for k, v in later.run.input.columns.items() if k in found.items.columns}
        write_table(in_own_names(found.items, columns, later.kind), out, force=force)
    if as_json:
        tables = {"items": found.items.to_dicts(), "sources": found.sources.to_dicts()}
        print_json({"same": found.same, **tables, "notes": found.notes})
        return
    show_difference(found, later.run)
    if out is not None:
        click.echo(f"\nwritten to {out}: the items that changed")
