"""Commands that show a saved result, or write parts of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veracity.cli.options import ENDINGS, Command, example, option, run_argument, takes
from veracity.errors import ParameterError

FIGURE_NAMES = (
    "sources", "agreement", "confusions", "plausibility", "calibration", "accuracy", "decision",
    "history",
)  # fmt: skip
"""Names of figures: the methods of `result.plot`."""

NEEDS_TRUTH = ("calibration", "accuracy")


@click.command(cls=Command, epilog=example("veracity ask run/ --budget 20"))
@run_argument
@takes("budget")
@option("out", help=f"File for the questions, with an empty column for answers: {ENDINGS}.")
@takes("force", "as_json")
def ask(run: str, budget: int, out: Path | None, force: bool, as_json: bool) -> None:
    """Draw the items to look up next.

    RUN is the folder of a result. Items whose answer is in doubt are drawn more often. Write the
    true values into the file of --out, and give it to discover as --known; then ask again.
    """
    import polars as pl

    from veracity.inspect.questions import questions_of
    from veracity.io.table_file import check_table_file, write_table
    from veracity.reading.roles import keys_of
    from veracity.result import load
    from veracity.result.records import in_own_names
    from veracity.show.of_result import table_of_questions
    from veracity.show.sections import Section
    from veracity.show.terminal import print_json, show_sections

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
    show_sections([Section(tables=[table_of_questions(questions, result)])])
    if result.run.asked and result.kind != "numeric":
        click.echo(f"\n{result.estimate()}")
    if out is not None:
        click.echo(
            f"\nwritten to {out}: the questions; fill in the answers, and give it as --known"
        )


@click.command(cls=Command, epilog=example("veracity estimate run/ --enough 0.95"))
@run_argument
@takes("enough", "as_json")
def estimate(run: str, enough: float | None, as_json: bool) -> None:
    """Estimate the accuracy on the items that were not looked up.

    RUN is the folder of a result that got at least twenty answers to drawn questions as --known.
    Also says if further answers are likely to help.
    """
    from veracity.result import load
    from veracity.show.terminal import show

    show(load(run).estimate(enough), as_json=as_json)


@click.command(cls=Command, epilog=example("veracity explain run/ AA-1007 departure"))
@run_argument
@click.argument("entity")
@click.argument("attribute", required=False)
@takes("as_json")
def explain(run: str, entity: str, attribute: str | None, as_json: bool) -> None:
    """Explain why an item has its value.

    Shows who claims what, how accurate they are, and how much each claim weighs. RUN is the folder
    of a result. ENTITY is the entity, or the fact for --kind binary. Without ATTRIBUTE, all
    attributes of the entity are explained.
    """
    from veracity.result import load
    from veracity.show.terminal import show

    show(load(run).why(entity, attribute), as_json=as_json)


@click.command(cls=Command, epilog=example("veracity evaluate run/ truth.csv"))
@run_argument
@click.argument("truth")
@takes("columns", "encoding", "threshold", "tolerance", "as_json")
def evaluate(run: str, truth: str, as_json: bool, **options: Any) -> None:
    """Compare a result with known truths.

    RUN is the folder of a result. TRUTH has columns entity, attribute and value, or fact and claim.
    It can have any form that claims can have.
    """
    from veracity.inspect.evaluation import evaluate as evaluate_result
    from veracity.result import load
    from veracity.show.terminal import show

    show(evaluate_result(load(run), truth, **options), as_json=as_json)


@click.command(cls=Command, epilog=example("veracity diff yesterday/ today/"))
@run_argument
@click.argument("other")
@option("out", help=f"File for the items that changed: {ENDINGS}.")
@takes("force", "as_json")
def diff(run: str, other: str, out: Path | None, force: bool, as_json: bool) -> None:
    """Show what has changed from one run to another, and why.

    RUN and OTHER are folders of results, the earlier one first. Items changed because there are new
    claims, because a truth is known, or because sources rose or fell; items may be new or gone.
    """
    from veracity.inspect.difference import diff as difference_of
    from veracity.io.table_file import check_table_file, write_table
    from veracity.result import load
    from veracity.result.records import in_own_names
    from veracity.show.terminal import show

    if out is not None:
        check_table_file(out, force=force)
    later = load(other)
    found = difference_of(load(run), later)
    if out is not None:
        columns = {k: v for k, v in later.run.input.columns.items() if k in found.items.columns}
        write_table(in_own_names(found.items, columns, later.kind), out, force=force)
    show(found, as_json=as_json)
    if out is not None and not as_json:
        click.echo(f"\nwritten to {out}: the items that changed")


@click.command(cls=Command, epilog=example("veracity plot run/ sources --out sources.svg"))
@run_argument
@click.argument("what", type=click.Choice(FIGURE_NAMES), metavar="WHAT")
@option(
    "out",
    required=True,
    help="File to draw it in: .svg, .png, .pdf, or .html, a page that needs no network.",
)
@takes("truth", "entity", "attribute", "force")
def plot(
    run: str,
    what: str,
    out: Path,
    truth: str | None,
    force: bool,
    **item: str | None,
) -> None:
    """Draw a figure of a result.

    RUN is the folder of a result. WHAT is one of sources (their accuracy), agreement (which sources
    agree), confusions (which labels a source mixes up), plausibility (how sure the answer is),
    calibration and accuracy (against known truths), decision (why an item has its value), and
    history (the accuracy of sources in each batch of claims).
    """
    from veracity.result import load
    from veracity.show.figures.base import check_figure

    check_figure(out, force=force)
    arguments = _arguments(what, truth, item)
    figure = getattr(load(run).plot, what)(**arguments)
    click.echo(f"drawn in {figure.save(out, force=force)}")


def _arguments(what: str, truth: str | None, item: dict[str, str | None]) -> dict[str, Any]:
    """Return the arguments of this figure; raise an error if one is missing."""
    if what in NEEDS_TRUTH:
        if truth is None:
            raise ParameterError(f"plot {what} needs known truths: --truth TRUTH")
        return {"truth": truth}
    if what != "decision":
        return {}
    if item["entity"] is None:
        raise ParameterError("plot decision needs an item: --entity E, and --attribute A if any")
    return item


@click.command(
    cls=Command, epilog=example("veracity report run/ --out report.html --truth truth.csv")
)
@run_argument
@option("out", required=True, help="The HTML file to write.")
@takes("truth", "force")
def report(run: str, out: Path, truth: str | None, force: bool) -> None:
    """Write the result as one page that works offline.

    RUN is the folder of a result. The page says what was found and what speaks against it, which
    items to check next and why they have their values, how accurate each source is, which sources
    look like copies, what the claims are like, and how to repeat the run.
    """
    from veracity.result import load
    from veracity.show.report import check_page, write_report
    from veracity.show.terminal import at_work

    check_page(out, force=force)
    with at_work() as progress:
        write_report(load(run), out, truth=truth, force=force, progress=progress)
    click.echo(f"written to {out}")


@click.command(cls=Command, epilog=example("veracity export run/ records.xlsx --table records"))
@run_argument
@click.argument("file", type=click.Path(path_type=Path))
@takes("table", "plausibility", "force")
def export(run: str, file: Path, table: str, plausibility: bool, force: bool) -> None:
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
