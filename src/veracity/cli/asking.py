"""The command that tells what to check next."""

from __future__ import annotations

from pathlib import Path

import click

from veracity.cli.options import example, json_option, number_option, table_file_options


@click.command(epilog=example("veracity ask run/ --budget 20"))
@click.argument("run", type=click.Path(path_type=Path))
@number_option("--budget", click.IntRange(min=1), 10, "How many items can be looked up.")
@table_file_options("the questions, with an empty column for the answers")
@json_option
def ask(run: Path, budget: int, out: Path | None, force: bool, as_json: bool) -> None:
    """List the items to look up next.

    RUN is the folder of a result. Those items come first whose true value would help most. Write
    the answers into a file of truths, and give it to discover as --known; then ask again.
    """
    import polars as pl

    from veracity.claims.schema import keys_of
    from veracity.inspect.questions import questions_of
    from veracity.io.table_file import check_table_file, write_table
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
    shown = questions.drop(*(["plausibility"] if are_numbers else [])).with_columns(
        pl.col("values").list.join(" | ")
    )
    title = "questions, those first whose answer helps most"
    show_table(title, shown, len(shown), result.run)
    if out is not None:
        click.echo(
            f"\nwritten to {out}: the questions; fill in the answers, and give it as --known"
        )
