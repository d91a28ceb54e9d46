"""Commands that find truths, measure them and make data to try things on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity._version import __version__
from veracity.cli.options import (
    ABOVE_0,
    SHARE,
    AlgorithmOption,
    algorithm_name,
    being_read,
    chosen_claims,
    chosen_engine,
    chosen_reading,
    claims_argument,
    columns_option,
    database_options,
    encoding_option,
    engine_options,
    example,
    folder_option,
    force_option,
    item_features_option,
    json_option,
    kind_option,
    known_option,
    min_plausibility_option,
    normalise_options,
    number_option,
    pairs_of,
    seed_option,
    set_option,
    source_features_option,
    split_names,
    table_file_options,
    table_options,
    target_options,
)
from veracity.errors import ParameterError

if TYPE_CHECKING:
    from veracity.result import Result

SYNTHETIC_FILE = "synthetic.json"
"""The file that makes a folder one of ``generate``."""


@click.command(epilog=example("veracity discover claims.csv --out run/ --columns source=website"))
@claims_argument
@database_options
@target_options
@click.option(
    "--algorithm",
    cls=AlgorithmOption,
    callback=algorithm_name,
    metavar="NAME",
    help="How truths are found; veracity, or gtm for numbers, by default.",
)
@set_option
@kind_option
@table_options
@known_option
@normalise_options
@click.option(
    "--prior",
    metavar="TABLE",
    help="What is known of sources, in columns source, kind, tpr, fpr and fixed.",
)
@source_features_option
@item_features_option
@min_plausibility_option
@seed_option
@engine_options
@json_option
def discover(paths: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Find the truths in the claims at PATH, or at several.

    PATH is a CSV, TSV, Parquet, JSON, Arrow or Excel file, a folder of them, a quoted glob, - for
    standard input, or the address of a database, with columns source, entity, attribute (optional)
    and value; or source, fact and claim for --kind binary. Wide tables are taken, too.
    """
    from veracity.cli.showing import Targets, tell_result

    tables = ("known", "prior", "source_features", "item_features")
    inputs = (*paths, *(options[name] for name in tables))
    claims, how = chosen_claims(paths, options), chosen_reading(options)
    if options["engine"] == "local":
        claims = being_read(claims, how)
    targets = Targets.taken_from(options, inputs)
    tell_result(_discover(claims, how, **options), targets, as_json=as_json)


@click.command(epilog=example("veracity evaluate run/ truth.csv"))
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
    help="For --kind numeric: how far from the truth an estimate may be to count as near.",
)
@columns_option
@encoding_option
@json_option
def evaluate(run: Path, truth: str, as_json: bool, **options: Any) -> None:
    """Compare a result with known truths.

    RUN is the folder of a result. TRUTH has columns entity, attribute and value, or fact and
    claim, in any form claims can have.
    """
    from veracity.inspect.evaluation import evaluate as evaluate_result
    from veracity.result import load
    from veracity.show.terminal import print_json, show_evaluation

    evaluation = evaluate_result(load(run), truth, **options)
    if as_json:
        by_attribute = evaluation.by_attribute
        rows = [] if by_attribute is None else by_attribute.to_dicts()
        print_json({**evaluation.measures(), "by_attribute": rows, "notes": evaluation.notes})
        return
    show_evaluation(evaluation)


@click.command(epilog=example("veracity compare claims.csv --truth truth.csv"))
@claims_argument
@database_options
@click.option("--truth", metavar="TRUTH", help="Known truths to measure against.")
@click.option(
    "--algorithms",
    callback=split_names,
    metavar="NAME,...",
    help="Which ones; all that are for this kind of claims by default.",
)
@kind_option
@table_options
@known_option
@normalise_options
@seed_option
@engine_options
@table_file_options("the table of the algorithms")
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also draw it, as .svg, .png, .pdf or .html.",
)
@json_option
def compare(
    paths: tuple[str, ...],
    truth: str | None,
    out: Path | None,
    force: bool,
    figure: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run several algorithms on the same claims, and compare them.

    PATH is what discover takes. Without known truths it can only tell how far the algorithms agree.
    An algorithm that fails is shown as failed, with its reason.
    """
    from veracity.inspect.comparison import compare as compare_algorithms
    from veracity.io.table_file import check_table_file, write_table
    from veracity.opening import opened
    from veracity.show.plot import plot_comparison, save_figure
    from veracity.show.plot.figure import check_figure
    from veracity.show.terminal import at_work, print_json, show_comparison

    if figure is not None:
        check_figure(figure, force=force)
    if out is not None:
        check_table_file(out, force=force, inputs=(*paths, truth, options["known"]))
    engine, given = chosen_engine(options), chosen_claims(paths, options)
    how = chosen_reading(options)
    with at_work() as progress:
        claims = opened(given, how, engine)
        found = compare_algorithms(claims, truth, engine=engine, progress=progress, **options)
    if figure is not None:
        save_figure(plot_comparison(found), figure, force=force)
    if out is not None:
        write_table(found.rows, out, force=force)
    if as_json:
        content = {"algorithms": found.rows.to_dicts(), "agreement": found.pairs.to_dicts()}
        print_json({**content, "notes": found.notes})
        return
    show_comparison(found)
    if figure is not None:
        click.echo(f"\ndrawn in {figure}")
    if out is not None:
        click.echo(f"\nwritten to {out}: the algorithms")


@click.command(epilog=example("veracity generate --sources 20 --items 1000 --out synthetic/"))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Folder to write to.",
)
@number_option("--sources", click.IntRange(min=1), 20, "How many sources.")
@number_option("--items", click.IntRange(min=1), 1000, "How many items.")
@number_option("--values", click.IntRange(min=2), 4, "How many values an item may have.")
@number_option("--accuracy", SHARE, 0.7, "How often a source is right, on average.")
@number_option("--accuracy-variability", ABOVE_0, 10.0, "The larger, the more equal accuracies.")
@number_option(
    "--frequency", SHARE, 0.5, "Share of the items a source makes claims about, on average."
)
@number_option("--frequency-variability", ABOVE_0, 10.0, "The larger, the more equal shares.")
@number_option("--copying", click.FloatRange(0.0, 1.0), 0.0, "How likely a source is to copy.")
@number_option("--copy-frequency", SHARE, 0.5, "What share of its claims a copier copies.")
@number_option("--copy-variability", ABOVE_0, 2.0, "The larger, the more alike copiers are.")
@click.option(
    "--random", "is_random", is_flag=True, help="Draw what is not given, as study synthetic does."
)
@seed_option
@force_option
def generate(
    out: Path, force: bool, seed: int | None, is_random: bool, **given: Any
) -> None:  # fmt: skip
    """Draw random claims with known truth, to try things out.

    Writes claims, truth, sources (how each behaves) and copied (claims that were copied, and from
    whom), all as Parquet.
    """
    from dataclasses import asdict

    from veracity.io.atomic import atomic_folder, check_can_write
    from veracity.synthetic import Ranges, Synthetic

    check_can_write(out, force=force, marker=SYNTHETIC_FILE)
    if is_random:
        by_user = click.core.ParameterSource.COMMANDLINE
        fixed = {
            n: v
            for n, v in given.items()
            if click.get_current_context().get_parameter_source(n) == by_user
        }
        parameters = Ranges().draw(seed or 0, **fixed)
    else:
        parameters = Synthetic(**given)
    drawn = parameters.draw(seed or 0)
    with atomic_folder(out, force=force, marker=SYNTHETIC_FILE) as folder:
        for name, table in drawn._asdict().items():
            table.write_parquet(folder / f"{name}.parquet")
        files = sorted(path.name for path in folder.iterdir())
        made = {"veracity": __version__, "seed": seed or 0, **asdict(parameters), "files": files}
        (folder / SYNTHETIC_FILE).write_text(json.dumps(made, indent=2), encoding="utf-8")
    from veracity.printing import counted

    claims, items = counted(len(drawn.claims), "claim"), counted(len(drawn.truth), "item")
    click.echo(f"{claims} about {items} written to {out}")


@click.command(epilog=example("veracity demo --out run/"))
@folder_option
@force_option
def demo(out: Path | None, force: bool) -> None:
    """Show everything on built-in data.

    Nine sites describe 200 flights; the demo finds out what is true, and compares it with a vote.
    """
    from veracity.discovery import discover as discover_truths
    from veracity.inspect.evaluation import evaluate as evaluate_result
    from veracity.io.atomic import atomic_folder, check_can_write
    from veracity.result import RUN_FILE
    from veracity.show.report import write_report
    from veracity.show.terminal import at_work, show_evaluation, show_result, show_table
    from veracity.synthetic import flights

    if out is not None:
        check_can_write(out, force=force, marker=RUN_FILE)
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
        with atomic_folder(out, force=force, marker=RUN_FILE) as unfinished:
            result.save(unfinished, force=True)
            with at_work() as progress:
                page = unfinished / "report.html"
                write_report(result, page, truth=drawn.truth, progress=progress)
        click.echo(f"\nwritten to {out}; now open {out / page.name} in a browser")


def _discover(
    given: Any, how: Any, prior: str | None, **options: Any
) -> Result:  # fmt: skip
    from dataclasses import fields, replace

    from veracity.algorithms import Prior
    from veracity.algorithms.parameters import with_parameters
    from veracity.discovery import USUAL_ALGORITHM, chosen_algorithm
    from veracity.discovery import discover as discover_truths
    from veracity.opening import opened
    from veracity.show.terminal import at_work

    engine, name = chosen_engine(options), options.pop("algorithm")
    algorithm = chosen_algorithm(name or USUAL_ALGORITHM[how.kind], engine=engine)
    algorithm = with_parameters(algorithm, pairs_of(options.pop("parameters"), "--set"))
    if prior is not None:
        if "prior" not in (parameter.name for parameter in fields(algorithm)):  # type: ignore[arg-type]
            raise ParameterError(f"{algorithm.name} has no use for a prior; leave out --prior")
        algorithm = replace(algorithm, prior=Prior.from_table(prior))  # type: ignore[type-var]
    with at_work() as progress:
        claims = opened(given, how, engine)
        return discover_truths(claims, algorithm, engine=engine, progress=progress, **options)
