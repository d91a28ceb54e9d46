"""The command that tries settings of an algorithm."""

from __future__ import annotations

from typing import Any

import click

from veracity.cli.options import (
    algorithm_name,
    chosen_claims,
    chosen_engine,
    chosen_reading,
    claims_argument,
    database_options,
    example,
    json_option,
    kind_option,
    local_options,
    normalise_options,
    number_option,
    pairs_of,
    seed_option,
    table_options,
)


@click.command(epilog=example("veracity tune claims.csv --truth truth.csv --grid strength=2,8,32"))
@claims_argument
@database_options
@click.option("--truth", required=True, metavar="TRUTH", help="Known truths to measure on.")
@click.option(
    "--grid",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,...",
    help="Values to try for a parameter; of several, all combinations are tried.",
)
@click.option(
    "--algorithm",
    callback=algorithm_name,
    metavar="NAME",
    help="What is tuned; veracity, or gtm for numbers, by default.",
)
@number_option("--folds", click.IntRange(min=2), 5, "In how many parts the truths are cut.")
@kind_option
@table_options
@normalise_options
@seed_option
@local_options
@json_option
def tune(paths: tuple[str, ...], grid: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Try settings of an algorithm, and find the best.

    PATH is what discover takes. Some of the known truths are kept back in turn to measure on.
    """
    from veracity.algorithms.parameters import parsed
    from veracity.discovery import USUAL_ALGORITHM, chosen_algorithm
    from veracity.inspect.tuning import tune as tune_settings
    from veracity.opening import opened
    from veracity.show.terminal import at_work, print_json, show_table

    engine, given = chosen_engine(options), chosen_claims(paths, options)
    algorithm = chosen_algorithm(options.pop("algorithm") or USUAL_ALGORITHM[options["kind"]])
    texts = pairs_of(grid, "--grid")
    tried = {k: [parsed(algorithm, k, one) for one in v.split(",")] for k, v in texts.items()}
    truth, how = options.pop("truth"), chosen_reading(options)
    with at_work() as progress:
        claims = opened(given, how, engine)
        found = tune_settings(
            claims, truth, grid=tried, algorithm=algorithm, engine=engine, progress=progress,
            **options,
        )  # fmt: skip
    best = " ".join(f"--set {name}={_spelt(value)}" for name, value in found.best.items())
    if as_json:
        table = found.rows.to_dicts()
        print_json({"best": found.best, "measure": found.measure, "settings": table,
                    "notes": found.notes})  # fmt: skip
        return
    show_table(f"settings, by {found.measure.replace('_', ' ')}", found.rows, len(found.rows))
    for note in found.notes:
        click.echo(f"note: {note}")
    click.echo(f"best: {best}")


def _spelt(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
