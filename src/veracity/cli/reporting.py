"""The command that writes a report."""

from __future__ import annotations

from pathlib import Path

import click

from veracity.cli.options import example, force_file_option


@click.command(epilog=example("veracity report run/ --out report.html --truth truth.csv"))
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The HTML file to write.",
)
@click.option(
    "--truth", metavar="TRUTH", help="Known truths; the page then tells how many answers are right."
)
@force_file_option
def report(run: Path, out: Path, truth: str | None, force: bool) -> None:
    """Write the result as one page that works offline.

    RUN is the folder of a result. The page tells in words what was found and what speaks against
    it, which items to check next and why they have their values, how far each source can be
    trusted, which sources look like copies, what the claims are like, and how to make it again.
    """
    from veracity.result import load
    from veracity.show.report import check_page, write_report
    from veracity.show.terminal import at_work

    check_page(out, force=force)
    with at_work() as progress:
        write_report(load(run), out, truth=truth, force=force, progress=progress)
    click.echo(f"written to {out}")
