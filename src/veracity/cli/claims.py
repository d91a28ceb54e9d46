"""Commands that read claims; each calls the Python function of the same name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli.options import (
    ALIKE,
    CLAIMS,
    ENGINE,
    LOCAL,
    TABLE,
    Command,
    being_read,
    chosen_claims,
    chosen_engine,
    chosen_reading,
    claims_argument,
    example,
    exit_code,
    option,
    pairs_of,
    result_option,
    run_argument,
    seed_of,
    takes,
)
from veracity.errors import ParameterError, UnreadableFile

if TYPE_CHECKING:
    from veracity.algorithms import Algorithm
    from veracity.progress import Progress
    from veracity.result import Result


@click.command(
    cls=Command, epilog=example("veracity discover claims.csv --out run/ --columns source=website")
)
@claims_argument
@takes(*CLAIMS, *ALIKE, "known", "truth_columns", "algorithm", "parameters", "prior")
@takes("source_features", "item_features", "min_plausibility", *ENGINE)
@result_option
@takes("force", "fail_on", "as_json")
def discover(
    paths: tuple[str, ...], as_json: bool, fail_on: tuple[str, ...], **options: Any
) -> int:
    """Find the truths in the claims at PATH, or at several.

    PATH is a CSV, TSV, Parquet, JSON, Arrow or Excel file, a folder of them, a quoted glob, - for
    standard input, or a table or query of a database, such as sqlite:///shop.db#TABLE or
    "sqlite:///shop.db#select ...". Its columns are source, entity, attribute (optional) and value;
    or source, fact and claim for --kind binary. Wide tables are accepted, too.
    """
    from veracity.algorithms.parameters import with_parameters
    from veracity.api import chosen_algorithm, open_claims
    from veracity.api import discover as discover_truths
    from veracity.show.terminal import at_work

    tables = ("known", "prior", "source_features", "item_features")
    target = _checked_target(options, (*paths, *(options[name] for name in tables)))
    claims, how = chosen_claims(paths), chosen_reading(options)
    if options["engine"] == "local":
        claims, how = being_read(claims, how)
    engine, settings = chosen_engine(options), pairs_of(options.pop("parameters"), "--set")
    seed = seed_of(settings)
    algorithm = chosen_algorithm(options.pop("algorithm"), how["kind"], engine=engine)
    algorithm = _with_prior(with_parameters(algorithm, settings), options.pop("prior"))
    with at_work() as progress:
        claims = open_claims(claims, engine, **how)
        result = discover_truths(
            claims, algorithm, seed=seed, engine=engine, progress=progress, **options
        )
    _write_and_show(result, *target, as_json=as_json)
    return exit_code(result.run.findings, fail_on)


def _with_prior(algorithm: Algorithm[Any], table: str | None) -> Algorithm[Any]:
    """Return the algorithm with the prior from a table."""
    from dataclasses import fields, replace

    from veracity.algorithms import Prior

    if table is None:
        return algorithm
    if "prior" not in (parameter.name for parameter in fields(algorithm)):  # type: ignore[arg-type]
        raise ParameterError(f"{algorithm.name} does not use a prior; leave out --prior")
    return replace(algorithm, prior=Prior.from_table(table))  # type: ignore[type-var]


def _of_a_fit(command: Any) -> Any:
    """Add the options of `judge` and `update`."""
    named = ("source_features", "item_features", "min_plausibility")
    command = result_option(takes("force", "as_json")(command))
    return run_argument(claims_argument(takes(*TABLE, *named, *ENGINE)(command)))


@click.command(cls=Command, epilog=example("veracity judge run/ new.csv --out judged/"))
@_of_a_fit
def judge(run: str, paths: tuple[str, ...], **options: Any) -> None:
    """Judge new claims with what a run has learned; learn nothing.

    RUN is the folder of a result. PATH is what discover takes. A source that is not in the run
    counts as an average source of the run.
    """
    _again("judge", run, paths, **options)


@click.command(cls=Command, epilog=example("veracity update run/ new.csv --out updated/"))
@takes("withdrawn", "half_life", "settle")
@_of_a_fit
@takes("fail_on")
def update(run: str, paths: tuple[str, ...], fail_on: tuple[str, ...], **options: Any) -> int:
    """Judge new claims, and learn from them.

    RUN is the folder of a result. PATH is what discover takes. The result lists the items of the
    new claims, with the old claims on them; the ratings of the sources are learned from all claims.
    """
    return exit_code(_again("update", run, paths, **options).run.findings, fail_on)


def _again(name: str, run: str, paths: tuple[str, ...], *, as_json: bool, **options: Any) -> Result:
    """Pass new claims to what a run has learned, and show the answer."""
    from veracity.api import open_claims
    from veracity.result import load
    from veracity.show.terminal import at_work

    described = (options["source_features"], options["item_features"], options.get("withdrawn"))
    target = _checked_target(options, (*paths, *described))
    fitted = load(run).fitted
    if fitted is None:
        raise UnreadableFile(f"{run}: this run was saved without its model; run discover again")
    engine, how = chosen_engine(options), chosen_reading(options)
    with at_work() as progress:
        claims = open_claims(chosen_claims(paths), engine, like=fitted, **how)
        result: Result = getattr(fitted, name)(claims, engine=engine, progress=progress, **options)
    _write_and_show(result, *target, as_json=as_json)
    return result


@click.command(cls=Command, epilog=example("veracity compare claims.csv --truth truth.csv"))
@claims_argument
@takes(*CLAIMS, "truth", "known", "truth_columns", "algorithms", "seed", *ENGINE)
@takes("out", "figure", "force", "as_json")
def compare(
    paths: tuple[str, ...],
    out: Path | None,
    force: bool,
    figure: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run several algorithms on the same claims, and compare them.

    PATH is what discover takes. Without known truths it only shows how far the algorithms agree.
    An algorithm that fails is listed as failed, with the reason.
    """
    from veracity.inspect.comparison import compare as compare_algorithms
    from veracity.io.table_file import check_table_file, write_table
    from veracity.show.figures.base import check_figure
    from veracity.show.terminal import show

    if figure is not None:
        check_figure(figure, force=force)
    if out is not None:
        check_table_file(out, force=force, inputs=(*paths, options["truth"], options["known"]))
    found = _on_claims(compare_algorithms, paths, options)
    if figure is not None:
        found.plot().save(figure, force=force)
    if out is not None:
        write_table(found.rows, out, force=force)
    show(found, as_json=as_json)
    if figure is not None and not as_json:
        click.echo(f"\ndrawn in {figure}")
    if out is not None and not as_json:
        click.echo(f"\nwritten to {out}: the algorithms")


@click.command(
    cls=Command,
    epilog=example("veracity tune claims.csv --truth truth.csv --grid strength=2,8,32"),
)
@claims_argument
@option("truth", required=True)
@takes(*CLAIMS, "truth_columns", "grid", "algorithm", "folds", "seed", *LOCAL, "as_json")
def tune(paths: tuple[str, ...], grid: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Try settings of an algorithm, and find the best.

    PATH is what discover takes. Settings are compared by cross-validation on the known truths.
    """
    from veracity.algorithms.parameters import parsed
    from veracity.api import chosen_algorithm
    from veracity.inspect.tuning import tune as tune_settings
    from veracity.show.terminal import show

    algorithm = chosen_algorithm(options.pop("algorithm"), options["kind"])
    texts = pairs_of(grid, "--grid")
    tried = {k: [parsed(algorithm, k, one) for one in v.split(",")] for k, v in texts.items()}
    found = _on_claims(tune_settings, paths, {**options, "grid": tried, "algorithm": algorithm})
    show(found, as_json=as_json)
    if not as_json:
        best = (
            f"--set {name}={str(value).lower() if isinstance(value, bool | None) else value}"
            for name, value in found.best.items()
        )
        click.echo(f"best: {' '.join(best)}")


@click.command(cls=Command, epilog=example("veracity profile claims.csv --truth truth.csv"))
@claims_argument
@takes(*CLAIMS, "truth", "truth_columns", *ENGINE, "as_json")
def profile(paths: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Describe the claims, without looking for the truth.

    PATH is what discover takes. Shows how many claims, sources and items there are, how much they
    conflict, how accurate sources are where truth is known, and which sources look like copies.
    """
    from veracity.inspect.profiling import profile as profile_claims
    from veracity.show.terminal import show

    show(_on_claims(profile_claims, paths, options), as_json=as_json)


@click.command(cls=Command, epilog=example("veracity check claims.csv"))
@claims_argument
@takes(*CLAIMS, "known", "truth_columns", *ENGINE, "fail_on", "as_json")
def check(paths: tuple[str, ...], as_json: bool, fail_on: tuple[str, ...], **options: Any) -> int:
    """Check whether the claims can show who is right.

    PATH is what discover takes. Each warning says what was seen, what it means and what would help.
    Also shows how far the answer differs from a vote.
    """
    from veracity.inspect.checking import check as check_claims
    from veracity.show.terminal import show

    found = _on_claims(check_claims, paths, options)
    show(found, as_json=as_json)
    return exit_code([one.row() for one in found.findings], fail_on)


def _on_claims(function: Any, paths: tuple[str, ...], options: dict[str, Any]) -> Any:
    """Call a Python function with the claims and the options of a command."""
    from veracity.api import open_claims
    from veracity.show.terminal import at_work

    engine, how = chosen_engine(options), chosen_reading(options)
    with at_work() as progress:
        claims = open_claims(chosen_claims(paths), engine, **how)
        return function(claims, engine=engine, progress=progress, **options)


# --- results --------------------------------------------------------------------------------------


def _checked_target(
    options: dict[str, Any], inputs: Iterable[object]
) -> tuple[Path | str | None, bool]:
    """Take the target of the result from the options, and check it before any work is done."""
    from veracity.io.atomic import check_can_write
    from veracity.io.database_tables import check_tables
    from veracity.io.table_file import check_table_file, is_table_file
    from veracity.result import RUN_FILE
    from veracity.result.tables import DATABASE_TABLES

    out, force = options.pop("out"), options.pop("force")
    out = out if out is None or "://" in out else Path(out)
    if isinstance(out, str):
        check_tables(out, list(DATABASE_TABLES), None, force=force)
    elif out is not None and is_table_file(out):
        check_table_file(out, force=force, inputs=inputs)
    elif out is not None:
        check_can_write(out, force=force, marker=RUN_FILE)
    return out, force


def _written(
    result: Result, out: Path | str, *, force: bool, progress: Progress | None
) -> list[str]:
    """Write a result to a database, a file or a folder; return the place, the content and notes."""
    from veracity.io.table_file import is_table_file

    if isinstance(out, str):
        shown = result.write_database(out, force=force, progress=progress)
        return [shown, "the tables of the result"]
    if is_table_file(out):
        notes = result.write(out, force=force)
        return [str(out), "the truths", *(f"note: {note}" for note in notes)]
    result.save(out, force=force, progress=progress)
    return [str(out), ", ".join(sorted(path.name for path in out.iterdir()))]


def _write_and_show(result: Result, out: Path | str | None, force: bool, *, as_json: bool) -> None:
    """Write the result, if it is to be written, and show it."""
    from veracity.show.terminal import at_work, print_json, show

    place: str | None = None
    what, notes = "", list[str]()
    if out is not None:
        with at_work() as progress:
            place, what, *notes = _written(result, out, force=force, progress=progress)
    if as_json:
        print_json({**result.run.to_json(), "out": place})
        return
    show(result)
    if place is not None:
        click.echo(f"\nwritten to {place}: {what}")
    for note in notes:
        click.echo(f"\n{note}")
