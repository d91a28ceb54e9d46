"""Commands that look at claims before anything is believed of them."""

from __future__ import annotations

from typing import Any

import click

from veracity.cli.options import (
    chosen_claims,
    chosen_engine,
    chosen_reading,
    claims_argument,
    database_options,
    engine_options,
    example,
    json_option,
    kind_option,
    known_option,
    normalise_options,
    table_options,
)


@click.command(epilog=example("veracity profile claims.csv --truth truth.csv"))
@claims_argument
@database_options
@click.option("--truth", metavar="TRUTH", help="Known truths; then accuracies are shown, too.")
@kind_option
@table_options
@normalise_options
@engine_options
@json_option
def profile(paths: tuple[str, ...], truth: str | None, as_json: bool, **options: Any) -> None:
    """Show what the claims are like, before anything is discovered.

    PATH is what discover takes. How many claims, sources and items there are, how far they are in
    conflict, how accurate sources are where truth is known, and which sources look like copies.
    """
    from veracity.inspect.profiling import profile as profile_claims
    from veracity.opening import opened
    from veracity.show.terminal import at_work, print_json, show_profile

    engine, given = chosen_engine(options), chosen_claims(paths, options)
    how = chosen_reading(options)
    with at_work() as progress:
        claims = opened(given, how, engine)
        found = profile_claims(claims, truth, engine=engine, progress=progress)
    if as_json:
        tables = {"by_attribute": found.by_attribute, "by_source": found.by_source}
        rows = {k: [] if t is None else t.to_dicts() for k, t in tables.items()}
        pairs = found.pairs.to_dicts()
        print_json({**found.measures(), **rows, "pairs": pairs, "notes": found.notes})
        return
    show_profile(found)


@click.command(epilog=example("veracity check claims.csv"))
@claims_argument
@database_options
@kind_option
@table_options
@known_option
@normalise_options
@engine_options
@json_option
def check(paths: tuple[str, ...], known: str | None, as_json: bool, **options: Any) -> None:
    """Check whether the claims can show who is right.

    PATH is what discover takes. Each warning says what was seen, what it means and what would help;
    it also says how far the answer differs from a vote.
    """
    from veracity.inspect.checking import check as check_claims
    from veracity.opening import opened
    from veracity.show.terminal import at_work, print_json, show_health

    engine, given = chosen_engine(options), chosen_claims(paths, options)
    how = chosen_reading(options)
    with at_work() as progress:
        claims = opened(given, how, engine)
        health = check_claims(claims, known=known, engine=engine, progress=progress)
    if as_json:
        differs = health.against_vote
        told = None if differs is None else differs.to_dict()
        warnings = health.to_dicts()
        measured = {"alpha": health.alpha, "notes": health.notes}
        print_json({"warnings": warnings, "against_vote": told, **measured})
        return
    show_health(health)
