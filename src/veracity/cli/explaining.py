"""The command that tells why."""

from __future__ import annotations

from pathlib import Path

import click

from veracity.cli.options import example, json_option


@click.command(epilog=example("veracity explain run/ AA-1007 departure"))
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("entity")
@click.argument("attribute", required=False)
@json_option
def explain(run: Path, entity: str, attribute: str | None, as_json: bool) -> None:
    """Explain why an item has its value.

    Who says what, how far they are believed, and what each claim weighs. RUN is the folder of a
    result. ENTITY is the entity, or the fact for --kind binary; without ATTRIBUTE, all attributes
    of the entity are told.
    """
    from veracity.result import load
    from veracity.show.terminal import print_json, show_why

    why = load(run).why(entity, attribute)
    if as_json:
        values, rows = (table.to_dicts() for table in why.tables)
        told = {"scale": why.scale, "rule": why.rule, "account": why.account}
        print_json({"words": why.words, **told, "values": values, "rows": rows})
        return
    show_why(why)
