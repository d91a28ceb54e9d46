"""Commands that use what was learned: judge new claims, or go on learning from them."""

from __future__ import annotations

from pathlib import Path
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
    item_features_option,
    json_option,
    min_plausibility_option,
    source_features_option,
    table_options,
    target_options,
)


def _again(name: str, run: Path, paths: tuple[str, ...], **options: Any) -> None:
    """Hand new claims to what a run has learned, and show the answer."""
    from veracity.cli.showing import Targets, tell_result
    from veracity.errors import UnreadableFile
    from veracity.opening import opened
    from veracity.result import load
    from veracity.show.terminal import at_work

    as_json = options.pop("as_json")
    described = (options["source_features"], options["item_features"])
    targets = Targets.taken_from(options, (*paths, *described))
    given = chosen_claims(paths, options)
    fitted = load(run).fitted
    if fitted is None:
        raise UnreadableFile(f"{run}: what was learned was not kept with it; discover it again")
    engine, how = chosen_engine(options), chosen_reading(options)
    with at_work() as progress:
        claims = opened(given, how, engine, like=fitted)
        result = getattr(fitted, name)(
            claims,
            min_plausibility=options["min_plausibility"],
            source_features=options["source_features"],
            item_features=options["item_features"],
            engine=engine,
            progress=progress,
        )
    tell_result(result, targets, as_json=as_json)


def _options(command: Any) -> Any:
    for option in (
        json_option, engine_options, min_plausibility_option,
        item_features_option, source_features_option, table_options, target_options,
        database_options,
    ):  # fmt: skip
        command = option(command)
    command = claims_argument(command)
    return click.argument("run", type=click.Path(path_type=Path))(command)


@click.command(epilog=example("veracity judge run/ new.csv --out judged/"))
@_options
def judge(run: Path, paths: tuple[str, ...], **options: Any) -> None:
    """Judge new claims with what a run has learned; nothing is learned.

    RUN is the folder of a result, PATH what discover takes. Sources that the run never met count as
    the mean of those it did.
    """
    _again("judge", run, paths, **options)


@click.command(epilog=example("veracity update run/ new.csv --out updated/"))
@_options
def update(run: Path, paths: tuple[str, ...], **options: Any) -> None:
    """Judge new claims, and learn from them.

    RUN is the folder of a result, PATH what discover takes. Of the old claims what they added up to
    is kept; the new result tells of the new claims, and what it learned is of all.
    """
    _again("update", run, paths, **options)
