"""The commands that ask for truths, and tell from them how right the answer is."""

from __future__ import annotations

from pathlib import Path

import click

from veracity.cli.options import SHARE, example, json_option, number_option, table_file_options

DRAWING = ("answer", "inclusion", "drawn", "asked_of")
"""Columns that only the file needs: the answer is the first of the values."""


@click.command(epilog=example("veracity ask run/ --budget 20"))
@click.argument("run", type=click.Path(path_type=Path))
@number_option("--budget", click.IntRange(min=1), 10, "How many items can be looked up.")
@table_file_options("the questions, with an empty column for the answers")
@json_option
def ask(run: Path, budget: int, out: Path | None, force: bool, as_json: bool) -> None:
    """Draw the items to look up next.

    RUN is the folder of a result. Items are drawn, more often where the answer is in doubt. Write
    the true values into the file of --out, and give it to discover as --known; then ask again.
    """
    import polars as pl

    from veracity.inspect.questions import questions_of
    from veracity.io.table_file import check_table_file, write_table
    from veracity.reading.schema import keys_of
    from veracity.result import load
    from veracity.result.records import in_own_names
    from veracity.show.terminal import print_json, show_table

    if out is not None:
        check_table_file(out, force=force)
    result = load(run)
    questions = questions_of(result, budget)
    if out is not None:
        keys = keys_of(questions)
        empty = pl.lit(None, pl.String).alias("value")
        sheet = questions.select(*keys, empty, pl.exclude(*keys))
        write_table(in_own_names(sheet, result.run.input.columns, result.kind), out, force=force)
    if as_json:
        print_json({"questions": questions.to_dicts()})
        return
    are_numbers = result.kind == "numeric"  # which have no plausibility
    shown = questions.drop(*DRAWING, *(["plausibility"] if are_numbers else [])).with_columns(
        pl.col("values").list.join(" | ")
    )
    show_table("items to look up next", shown, len(shown), result.run)
    if result.run.asked and not are_numbers:
        click.echo(f"\n{result.estimate()}")
    if out is not None:
        click.echo(
            f"\nwritten to {out}: the questions; fill in the answers, and give it as --known"
        )


@click.command(epilog=example("veracity estimate run/ --enough 0.95"))
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--enough", type=SHARE, metavar="P", help="Share of the other items that has to be right."
)
@json_option
def estimate(run: Path, enough: float | None, as_json: bool) -> None:
    """Estimate how right the items are that were not looked up.

    RUN is the folder of a result that got answers to drawn questions as --known. It takes twenty.
    Also says whether further answers are likely to help.
    """
    from veracity.result import load
    from veracity.show.terminal import print_json

    found = load(run).estimate(enough)
    if as_json:
        print_json(found.measures())
    else:
        click.echo(str(found))
