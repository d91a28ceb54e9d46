"""The command ``veracity``: arguments in, the same public calls, tables or JSON out."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity._version import __version__
from veracity.errors import NotConverged, VeracityError

if TYPE_CHECKING:
    import polars as pl

    from veracity.discovery import Progress
    from veracity.evaluation import Evaluation
    from veracity.result import Result

__all__ = ["main"]

ALGORITHM_NAMES = ("ltd-rbm", "ltd-rbm-c", "majority-vote", "ltm")
KIND_NAMES = ("categorical", "multiple", "binary")


class Commands(click.Group):
    """Commands whose errors are one sentence and an exit code: 1 bad input, 2 bad usage."""

    def main(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - click's own signature
        """Run a command, and explain what went wrong instead of showing a traceback."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt):
            code = _complain("stopped; nothing was written")
        except VeracityError as error:
            code = _complain(str(error))
        except MemoryError:
            code = _complain("out of memory; leave out columns or rows, or use a larger machine")
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except Exception as error:
            if "VERACITY_DEBUG" in os.environ:
                raise
            code = _complain(
                f"this is a bug in veracity: {type(error).__name__}: {error}; "
                "please report it with what VERACITY_DEBUG=1 shows"
            )
        sys.exit(code if isinstance(code, int) else 0)


def _complain(sentence: str) -> int:
    click.echo(f"error: {sentence}", err=True)
    return 1


class ColumnsType(click.ParamType[Any]):
    """Pairs such as ``source=website,value=price``."""

    name = "part=column,..."

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> dict[str, str]:
        """Split the pairs."""
        if isinstance(value, dict):
            return value
        pairs = [pair.split("=", 1) for pair in value.split(",")]
        if not all(len(pair) == 2 and all(pair) for pair in pairs):
            self.fail(f"'{value}' is not of the form source=website,value=price", param, ctx)
        return {part.strip(): name.strip() for part, name in pairs}


def _option(*names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    return click.option(*names, **settings)


columns_option = _option(
    "--columns", type=ColumnsType(), help="Which column plays which part, e.g. source=website."
)
encoding_option = _option("--encoding", default="utf-8", help="Encoding of text files.")
json_option = _option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
force_option = _option("--force", is_flag=True, help="Replace the output folder if it exists.")
seed_option = _option("--seed", type=click.IntRange(min=0), help="Where randomness starts.")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: veracity discover claims.csv --out run/",
)
@click.version_option(__version__, prog_name="veracity")
def main() -> None:
    """Find out which of the conflicting values is true, and which sources to trust."""


@main.command()
@click.argument("path")
@_option("--out", type=click.Path(path_type=Path), help="Folder to write the result to.")
@_option(
    "--algorithm",
    type=click.Choice(ALGORITHM_NAMES),
    default="ltd-rbm",
    show_default=True,
    help="How truths and reliabilities are found.",
)
@_option(
    "--kind",
    type=click.Choice(KIND_NAMES),
    default="categorical",
    show_default=True,
    help="One value of an item is true, several may be, or rows call facts true or false.",
)
@_option(
    "--min-plausibility",
    type=click.FloatRange(0.0, 1.0),
    help="Leave the value empty where it is less plausible than this.",
)
@_option("--prior", type=click.Path(path_type=Path), help="Table of source, kind, tpr, fpr, fixed.")
@_option("--threads", type=click.IntRange(min=1), help="How many threads; all cores by default.")
@columns_option
@encoding_option
@seed_option
@force_option
@json_option
def discover(path: str, as_json: bool, out: Path | None, force: bool, **options: Any) -> None:  # noqa: ANN401
    """Find the truths in the claims at PATH.

    PATH is a CSV, TSV or Parquet file, a folder of them, or a quoted glob, with columns source,
    entity, attribute (optional) and value; or source, fact and claim for --kind binary.

    Example: veracity discover claims.csv --out run/ --columns source=website
    """
    from veracity.result import RUN_FILE
    from veracity.write import check_target

    if out is not None:
        check_target(out, force=force, marker=RUN_FILE)
    result = _discover(path, **options)
    if out is not None:
        result.save(out, force=force)
    if as_json:
        _print_json({**result.run, "out": None if out is None else str(out)})
        return
    _show_result(result)
    if out is not None:
        click.echo(f"\nwritten to {out}: truths.parquet, facts.parquet, sources.parquet, run.json")


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("truth")
@_option(
    "--threshold",
    type=click.FloatRange(0.0, 1.0),
    help="For --kind multiple: above which plausibility a value counts as true.",
)
@columns_option
@encoding_option
@json_option
def evaluate(run: Path, truth: str, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Compare the result in the folder RUN with the known truths at TRUTH.

    TRUTH has columns entity, attribute and value, or fact and claim, in any form claims can have.

    Example: veracity evaluate run/ truth.csv
    """
    from veracity.evaluation import evaluate as evaluate_result
    from veracity.result import load

    evaluation = evaluate_result(load(run), truth, **options)
    if as_json:
        by_attribute = evaluation.by_attribute
        rows = [] if by_attribute is None else by_attribute.to_dicts()
        _print_json({**evaluation.measures(), "by_attribute": rows, "notes": evaluation.notes})
        return
    _show_evaluation(evaluation)


@main.command()
@_option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@_option("--sources", type=click.IntRange(min=1), default=20, show_default=True)
@_option("--items", type=click.IntRange(min=1), default=1000, show_default=True)
@_option("--values", type=click.IntRange(min=2), default=4, show_default=True)
@_option("--accuracy", type=click.FloatRange(0, 1, True, True), default=0.7, show_default=True)
@_option("--frequency", type=click.FloatRange(0, 1, True, True), default=0.5, show_default=True)
@seed_option
@force_option
def generate(out: Path, force: bool, seed: int | None, **parameters: Any) -> None:  # noqa: ANN401
    """Draw claims with known truth, to try things on.

    Writes claims.parquet, truth.parquet and sources.parquet. ACCURACY and FREQUENCY are means:
    how often a source is right, and of which share of the items it speaks.

    Example: veracity generate --sources 20 --items 1000 --out synthetic/
    """
    from veracity.synthetic import Synthetic
    from veracity.write import check_target, finished_folder

    check_target(out, force=force, marker="truth.parquet")
    drawn = Synthetic(**parameters).draw(seed or 0)
    with finished_folder(out) as folder:
        for name, table in drawn._asdict().items():
            table.write_parquet(folder / f"{name}.parquet")
    click.echo(f"{len(drawn.claims):,} claims about {len(drawn.truth):,} items written to {out}")


@main.command()
@_option("--out", type=click.Path(path_type=Path), help="Folder to write the result to.")
@force_option
def demo(out: Path | None, force: bool) -> None:
    """Show it all on built-in data: 200 flights as nine sites describe them.

    Example: veracity demo --out run/
    """
    from veracity.discovery import discover as discover_truths
    from veracity.evaluation import evaluate as evaluate_result
    from veracity.synthetic import flights

    drawn = flights()
    click.echo("Nine sites describe 200 flights, and contradict each other:\n")
    _show_table("claims", drawn.claims.head(6), len(drawn.claims))
    with _progress() as progress:
        result = discover_truths(drawn.claims, progress=progress)
    vote = discover_truths(drawn.claims, "majority-vote")
    click.echo("\nveracity.discover(claims):\n")
    _show_result(result)
    click.echo("\nAgainst the truth, which only the generator knows:\n")
    _show_evaluation(evaluate_result(result, drawn.truth))
    accuracy = evaluate_result(vote, drawn.truth).accuracy
    click.echo(f"\nA majority vote would have been right on {accuracy:.1%} of the items.")
    if out is not None:
        result.save(out, force=force)
        click.echo(f"\nwritten to {out}")


def _discover(
    path: str, prior: Path | None, threads: int | None, encoding: str, **options: Any  # noqa: ANN401
) -> Result:  # fmt: skip
    from dataclasses import replace

    from veracity.algorithms import Prior, algorithm_named
    from veracity.discovery import discover as discover_truths
    from veracity.engines import Local
    from veracity.read import read_claims

    algorithm = algorithm_named(options.pop("algorithm"))
    if prior is not None:
        algorithm = replace(algorithm, prior=Prior.from_table(prior))  # type: ignore[type-var]
    columns, kind = options.pop("columns"), options.pop("kind")
    with _progress() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # the result's notes say it
        if progress is not None:
            progress("reading", 0, 0)
        claims = read_claims(path, columns=columns, kind=kind, encoding=encoding)
        return discover_truths(
            claims, algorithm, engine=Local(threads=threads), progress=progress, **options
        )


@contextlib.contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda phase, done, total: bar.update(
            task, description=phase, completed=done, total=total or None
        )


# --- what a terminal shows -----------------------------------------------------------------------


def _show_result(result: Result) -> None:
    import polars as pl

    click.echo(repr(result))
    truths, sources = result.tables.truths, result.tables.sources
    if "margin" in truths.columns:
        closest = truths.filter("contested").sort("margin", maintain_order=True)
        _show_table("truths, the closest calls first", closest.head(8), len(truths))
    else:
        _show_table("truths", truths.head(8), len(truths))
    most = sources.sort(pl.col("claims"), descending=True, maintain_order=True)
    _show_table("sources, those with most claims first", most.head(12), len(sources))


def _show_evaluation(evaluation: Evaluation) -> None:
    import polars as pl

    rows = [{"attribute": "all", **evaluation.measures()}]
    if evaluation.by_attribute is not None:
        table = pl.DataFrame(evaluation.by_attribute)
        rows += table.to_dicts() if len(table) > 1 else []
    _show_table("right or wrong", pl.DataFrame(rows), len(rows))
    for note in evaluation.notes:
        click.echo(f"note: {note}")


def _show_table(title: str, table: pl.DataFrame, n_rows: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=title if n_rows == len(table) else f"{title} ({len(table)} of {n_rows:,})")
    for name, dtype in table.schema.items():
        shown.add_column(name.replace("_", " "), justify="right" if dtype.is_numeric() else "left")
    for row in table.iter_rows():
        shown.add_row(*(Text(_cell(value)) for value in row))
    width = None if sys.stdout.isatty() else 120
    Console(width=width, highlight=False).print(shown)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_json(content: dict[str, Any]) -> None:
    click.echo(json.dumps(content, indent=2, ensure_ascii=False, default=str))
