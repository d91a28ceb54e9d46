"""The command ``veracity``: arguments in, the same public calls, tables or JSON out."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity._version import __version__
from veracity.errors import ParameterError, VeracityError

if TYPE_CHECKING:
    from veracity.result import Result

__all__ = ["main"]

ALGORITHM_NAMES = (
    "ltd-rbm", "ltd-rbm-c", "majority-vote", "mle", "ltm", "two-estimates", "three-estimates",
    "truth-finder", "accu", "accu-sim", "accu-copy", "simple-lca", "sums", "average-log",
    "investment", "pooled-investment", "dawid-skene", "one-coin", "crh", "catd", "gtm",
)  # fmt: skip
KIND_NAMES = ("categorical", "multiple", "binary", "numeric")
"""Written out, so that ``--help`` need not load the library; a test compares."""

SHARE = click.FloatRange(0.0, 1.0, min_open=True, max_open=True)

SYNTHETIC_FILE = "synthetic.json"
"""The file that makes a folder one of ``generate``."""

Decorator = Callable[[Any], Any]


class Commands(click.Group):
    """Commands whose errors are one sentence and an exit code: 1 bad input, 2 bad usage."""

    def main(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - click's own signature
        """Run a command, and explain what went wrong instead of showing a traceback."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a name may be more than it can show
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
            sys.stdout.flush()
        except (SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # Polars may panic, which is no Exception
            code = _explain(error)
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order they are most often needed."""
        return list(self.commands)


def _explain(error: BaseException) -> int:
    """Say what went wrong in one sentence; give the exit code."""
    match error:
        case click.ClickException():
            error.show()
            return error.exit_code
        case click.Abort() | KeyboardInterrupt():
            sentence = "stopped before the end; no half-written result is left"
        case VeracityError():
            sentence = str(error)
        case MemoryError():
            sentence = "out of memory; leave out columns or rows, or use a larger machine"
        case OSError():
            _leave_stdout()
            sentence = f"cannot write the output: {error.strerror or error}"
        case _ if "VERACITY_DEBUG" in os.environ:
            raise error
        case _:
            sentence = (
                f"this is a bug in veracity: {type(error).__name__}: {error}; "
                "please report it with what VERACITY_DEBUG=1 shows"
            )
    click.echo(f"error: {' '.join(sentence.splitlines())}", err=True)
    return 2 if isinstance(error, ParameterError) else 1


def _leave_stdout() -> None:
    """Let what is still to be printed go nowhere, so that it cannot fail again at the exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _split_columns(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> dict[str, str] | None:
    """Pairs such as ``source=website,value=price``; quotes keep a comma in a name."""
    if value is None:
        return None
    columns: dict[str, str] = {}
    for pair in next(csv.reader([value]), []):
        part, _, name = (word.strip() for word in pair.partition("="))
        if not part or not name:
            raise click.BadParameter(f"{pair!r} is not of the form source=website", ctx, param)
        if part in columns:
            raise click.BadParameter(f"it names the {part} twice", ctx, param)
        columns[part] = name
    return columns


def _split_names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names of algorithms, such as ``ltd-rbm,mle``."""
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    for name in names:
        if name not in ALGORITHM_NAMES:
            there_are = ", ".join(ALGORITHM_NAMES)
            raise click.BadParameter(f"no algorithm {name!r}; there are {there_are}", ctx, param)
    return names


def _example(command: str) -> str:
    return f"\b\nExample:\n  {command}"  # \b keeps click from joining the lines


def _number(
    name: str, kind: click.IntRange | click.FloatRange, default: float, meaning: str
) -> Decorator:
    metavar = "N" if isinstance(kind, click.IntRange) else "P"
    return click.option(
        name, type=kind, default=default, show_default=True, metavar=metavar, help=meaning
    )


out_option = click.option(
    "--out", type=click.Path(path_type=Path), metavar="RUN", help="Folder to write the result to."
)
kind_option = click.option(
    "--kind",
    type=click.Choice(KIND_NAMES),
    default="categorical",
    show_default=True,
    metavar="KIND",
    help="categorical (one value of an item is true), multiple (several may be), binary (rows "
    "call facts true or false), or numeric (values are estimates of a number).",
)
known_option = click.option(
    "--known", metavar="TRUTHS", help="Truths that are known: they are held, and teach."
)
columns_option = click.option(
    "--columns",
    callback=_split_columns,
    metavar="PART=COLUMN,...",
    help="Which column plays which part, e.g. source=website,value=price.",
)
encoding_option = click.option(
    "--encoding", default="utf-8", show_default=True, metavar="E", help="Encoding of text files."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
force_option = click.option("--force", is_flag=True, help="Replace the folder, if veracity's own.")
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="Where randomness starts."
)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_example("veracity discover claims.csv --out run/"),
)
@click.version_option(__version__, prog_name="veracity")
def main() -> None:
    """Find out which of the conflicting values is true, and which sources to trust."""


@main.command(epilog=_example("veracity discover claims.csv --out run/ --columns source=website"))
@click.argument("path")
@out_option
@click.option(
    "--algorithm",
    type=click.Choice(ALGORITHM_NAMES),
    metavar="NAME",
    help="How truths are found; ltd-rbm, or gtm for numbers, by default. There are "
    f"{', '.join(ALGORITHM_NAMES)}.",
)
@kind_option
@columns_option
@encoding_option
@known_option
@click.option(
    "--prior",
    metavar="TABLE",
    help="What is known of sources, in columns source, kind, tpr, fpr and fixed.",
)
@click.option(
    "--min-plausibility",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Leave the value empty where it is less plausible than this.",
)
@seed_option
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many threads work; as many as there are cores by default.",
)
@force_option
@json_option
def discover(path: str, as_json: bool, out: Path | None, force: bool, **options: Any) -> None:  # noqa: ANN401
    """Find the truths in the claims at PATH.

    PATH is a CSV, TSV or Parquet file, a folder of them, or a quoted glob, with columns source,
    entity, attribute (optional) and value; or source, fact and claim for --kind binary.
    """
    if options["threads"] is not None:  # Polars looks when it is loaded, which is now
        os.environ.setdefault("POLARS_MAX_THREADS", str(options["threads"]))
    from veracity.result import RUN_FILE
    from veracity.terminal import print_json, show_result
    from veracity.write import check_target

    if out is not None:
        check_target(out, force=force, marker=RUN_FILE)
    result = _discover(path, **options)
    if out is not None:
        result.save(out, force=force)
    if as_json:
        print_json({**result.run, "out": None if out is None else str(out)})
        return
    show_result(result)
    if out is not None:
        click.echo(f"\nwritten to {out}: truths.parquet, facts.parquet, sources.parquet, run.json")


@main.command(epilog=_example("veracity evaluate run/ truth.csv"))
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("truth")
@click.option(
    "--threshold",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="For --kind multiple: above which plausibility a value counts as true.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0.0),
    metavar="X",
    help="For --kind numeric: how far from the truth still counts as within.",
)
@columns_option
@encoding_option
@json_option
def evaluate(run: Path, truth: str, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Compare a result with known truths.

    RUN is the folder of a result. TRUTH has columns entity, attribute and value, or fact and
    claim, in any form claims can have.
    """
    from veracity.evaluation import evaluate as evaluate_result
    from veracity.result import load
    from veracity.terminal import print_json, show_evaluation

    evaluation = evaluate_result(load(run), truth, **options)
    if as_json:
        by_attribute = evaluation.by_attribute
        rows = [] if by_attribute is None else by_attribute.to_dicts()
        print_json({**evaluation.measures(), "by_attribute": rows, "notes": evaluation.notes})
        return
    show_evaluation(evaluation)


@main.command(epilog=_example("veracity compare claims.csv --truth truth.csv"))
@click.argument("path")
@click.option("--truth", metavar="TRUTH", help="Known truths to measure against.")
@click.option(
    "--algorithms",
    callback=_split_names,
    metavar="NAME,...",
    help="Which ones; all that are for this kind of claims by default.",
)
@kind_option
@columns_option
@encoding_option
@known_option
@seed_option
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also draw it, as .svg, .png, .pdf or .html.",
)
@json_option
def compare(
    path: str, truth: str | None, figure: Path | None, encoding: str, as_json: bool, **options: Any  # noqa: ANN401
) -> None:  # fmt: skip
    """Let several algorithms answer, and compare them.

    PATH is what discover takes. Without known truths, only how far the algorithms agree is told.
    An algorithm that fails is shown as failed, with its reason.
    """
    from veracity.comparison import compare as compare_algorithms
    from veracity.plot import plot_comparison, save_figure
    from veracity.read import read_claims
    from veracity.terminal import at_work, print_json, show_comparison

    columns, kind = options.pop("columns"), options.pop("kind")
    with at_work() as progress:
        claims = read_claims(path, columns=columns, kind=kind, encoding=encoding)
        found = compare_algorithms(claims, truth, progress=progress, **options)
    if figure is not None:
        save_figure(plot_comparison(found), figure)
    if as_json:
        content = {"algorithms": found.rows.to_dicts(), "agreement": found.pairs.to_dicts()}
        print_json({**content, "notes": found.notes})
        return
    show_comparison(found)
    if figure is not None:
        click.echo(f"\ndrawn in {figure}")


@main.command(epilog=_example("veracity generate --sources 20 --items 1000 --out synthetic/"))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Folder to write to.",
)
@_number("--sources", click.IntRange(min=1), 20, "How many sources.")
@_number("--items", click.IntRange(min=1), 1000, "How many items.")
@_number("--values", click.IntRange(min=2), 4, "How many values an item may have.")
@_number("--accuracy", SHARE, 0.7, "How often a source is right, on average.")
@_number("--frequency", SHARE, 0.5, "Of which share of the items a source speaks, on average.")
@seed_option
@force_option
def generate(out: Path, force: bool, seed: int | None, **parameters: Any) -> None:  # noqa: ANN401
    """Draw claims with known truth, to try things on.

    Writes claims.parquet, truth.parquet and sources.parquet.
    """
    from veracity.synthetic import Synthetic
    from veracity.write import check_target, finished_folder

    check_target(out, force=force, marker=SYNTHETIC_FILE)
    drawn = Synthetic(**parameters).draw(seed or 0)
    with finished_folder(out) as folder:
        for name, table in drawn._asdict().items():
            table.write_parquet(folder / f"{name}.parquet")
        made = {"veracity": __version__, "seed": seed or 0, **parameters}
        (folder / SYNTHETIC_FILE).write_text(json.dumps(made, indent=2), encoding="utf-8")
    click.echo(f"{len(drawn.claims):,} claims about {len(drawn.truth):,} items written to {out}")


@main.command(epilog=_example("veracity demo --out run/"))
@out_option
@force_option
def demo(out: Path | None, force: bool) -> None:
    """Show it all on built-in data.

    Nine sites describe 200 flights; the demo finds out what is true, and compares it with a vote.
    """
    from veracity.discovery import discover as discover_truths
    from veracity.evaluation import evaluate as evaluate_result
    from veracity.result import RUN_FILE
    from veracity.synthetic import flights
    from veracity.terminal import at_work, show_evaluation, show_result, show_table
    from veracity.write import check_target

    if out is not None:
        check_target(out, force=force, marker=RUN_FILE)
    drawn = flights()
    click.echo("Nine sites describe 200 flights, and contradict each other:\n")
    show_table("claims", drawn.claims.head(6), len(drawn.claims))
    with at_work() as progress:
        result = discover_truths(drawn.claims, progress=progress)
        vote = discover_truths(drawn.claims, "majority-vote")
    click.echo("\nveracity.discover(claims):\n")
    show_result(result)
    click.echo("\nAgainst the truth, which only the generator knows:\n")
    show_evaluation(evaluate_result(result, drawn.truth))
    accuracy = evaluate_result(vote, drawn.truth).accuracy
    click.echo(f"\nA majority vote would have been right on {accuracy:.1%} of the items.")
    if out is not None:
        result.save(out, force=force)
        click.echo(f"\nwritten to {out}")


def _discover(
    path: str, prior: str | None, threads: int | None, encoding: str, **options: Any  # noqa: ANN401
) -> Result:  # fmt: skip
    from dataclasses import fields, replace

    from veracity.algorithms import Prior, algorithm_named
    from veracity.discovery import USUAL_ALGORITHM
    from veracity.discovery import discover as discover_truths
    from veracity.engines import Local
    from veracity.read import open_claims
    from veracity.terminal import at_work

    columns, kind = options.pop("columns"), options.pop("kind")
    algorithm = algorithm_named(options.pop("algorithm") or USUAL_ALGORITHM[kind])
    if prior is not None:
        if "prior" not in (parameter.name for parameter in fields(algorithm)):  # type: ignore[arg-type]
            raise ParameterError(f"{algorithm.name} has no use for a prior; leave out --prior")
        algorithm = replace(algorithm, prior=Prior.from_table(prior))  # type: ignore[type-var]
    with at_work() as progress:
        claims = open_claims(path, columns=columns, kind=kind, encoding=encoding)
        return discover_truths(
            claims, algorithm, engine=Local(threads=threads), progress=progress, **options
        )
