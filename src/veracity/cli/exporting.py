"""The command that writes a table of a saved result as one file."""

from __future__ import annotations

from pathlib import Path

import click

from veracity.cli.options import example, force_file_option

TABLE_NAMES = (
    "truths", "facts", "sources", "records", "confusions", "probabilities", "difficulty", "copies",
    "changes",
)  # fmt: skip
"""Written out, so that ``--help`` need not load the library; a test compares."""


@click.command(epilog=example("veracity export run/ records.xlsx --table records"))
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--table",
    type=click.Choice(TABLE_NAMES),
    default="truths",
    show_default=True,
    metavar="NAME",
    help="truths, facts, sources, records (one row per entity, one column per attribute), copies, "
    "changes (by --normalise); of labels, confusions, probabilities, difficulty.",
)
@click.option(
    "--plausibility",
    is_flag=True,
    help="For records: a column of plausibilities beside each attribute.",
)
@force_file_option
def export(run: Path, file: Path, table: str, plausibility: bool, force: bool) -> None:
    """Write a table of a result as one file.

    RUN is the folder of a result. FILE is written as its ending says: .csv, .tsv, .xlsx, .json,
    .jsonl or .parquet. Columns have the names they have in the claims.
    """
    from veracity.io.table_file import check_table_file
    from veracity.result import load

    if plausibility and table != "records":
        raise click.UsageError("--plausibility is for --table records; the others tell it anyway")
    check_table_file(file, force=force)
    for note in load(run).write(file, table, plausibility=plausibility, force=force):
        click.echo(f"note: {note}")
    click.echo(f"written to {file}: {table}")
