"""The command that draws figures of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veracity.cli.options import example, force_file_option
from veracity.errors import ParameterError

FIGURE_NAMES = (
    "sources", "agreement", "confusions", "plausibility", "trace", "calibration", "accuracy",
    "decision",
)  # fmt: skip
"""Written out, so that ``--help`` need not load the library; a test compares."""

NEEDS_TRUTH = ("calibration", "accuracy")


@click.command(epilog=example("veracity plot run/ sources --out sources.svg"))
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("what", type=click.Choice(FIGURE_NAMES), metavar="WHAT")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File to draw it in: .svg, .png, .pdf, or .html, a page that needs no network.",
)
@click.option("--truth", metavar="TRUTH", help="Known truths, for calibration and accuracy.")
@click.option("--entity", metavar="E", help="For decision: of which entity; or which binary fact.")
@click.option("--attribute", metavar="A", help="For decision: which attribute of it.")
@click.option(
    "--theme",
    type=click.Choice(("light", "dark")),
    default="light",
    show_default=True,
    metavar="THEME",
    help="light or dark.",
)
@force_file_option
def plot(
    run: Path,
    what: str,
    out: Path,
    truth: str | None,
    theme: str,
    force: bool,
    **item: str | None,
) -> None:
    """Draw a figure of a result.

    RUN is the folder of a result, and WHAT one of sources (by tpr and fpr), agreement (who says the
    same as whom), confusions (who mistakes which label for which), plausibility (how sure the
    answer is), trace (how it settled), calibration and
    accuracy (against known truths), and decision (why an item has its value).
    """
    from veracity.result import load
    from veracity.show.plot import save_figure
    from veracity.show.plot.figure import check_figure

    check_figure(out, force=force)
    arguments = _arguments(what, truth, item)
    figure = load(run).plot.draw(what, theme=theme, **arguments)
    click.echo(f"drawn in {save_figure(figure, out, force=force)}")


def _arguments(what: str, truth: str | None, item: dict[str, str | None]) -> dict[str, Any]:
    """What this figure needs; refused if it lacks, or if it would not be looked at."""
    needs_truth, needs_item = what in NEEDS_TRUTH, what == "decision"
    if needs_truth and truth is None:
        raise ParameterError(f"plot {what} needs known truths: --truth TRUTH")
    if needs_item and item["entity"] is None:
        raise ParameterError("plot decision needs an item: --entity E, and --attribute A if any")
    if truth is not None and not needs_truth:
        raise ParameterError(f"plot {what} has no use for --truth; leave it out")
    if not needs_item and any(name is not None for name in item.values()):
        raise ParameterError(f"plot {what} has no use for --entity and --attribute; leave them out")
    return {"truth": truth} if needs_truth else item if needs_item else {}
