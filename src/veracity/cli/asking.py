"""The command that tells what to check next."""

from __future__ import annotations

from pathlib import Path

import click

from veracity.cli.options import example, json_option, number_option

__all__ = ["ask"]


@click.command(epilog=example("veracity ask run/ --budget 20"))
@click.argument("run", type=click.Path(path_type=Path))
@number_option("--budget", click.IntRange(min=1), 10, "How many items can be looked up.")
@json_option
def ask(run: Path, budget: int, as_json: bool) -> None:
    """List the items to look up next.

    RUN is the folder of a result. Those items come first whose true value would help most. Write
    the answers into a file of truths, and give it to discover as --known; then ask again.
    """
    import polars as pl

    from veracity.questions import questions_of
    from veracity.result import load
    from veracity.show.terminal import print_json, show_table

    result = load(run)
    questions = questions_of(result, budget)
    if as_json:
        print_json({"questions": questions.to_dicts()})
        return
    shown = questions.drop("gain").with_columns(pl.col("values").list.join(" | "))
    title = "questions, those first whose answer helps most"
    show_table(title, shown, len(shown), result.run)
