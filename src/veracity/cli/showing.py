"""How commands end: the result is written, and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from veracity.result import Result

__all__ = ["tell_result"]


def tell_result(result: Result, out: Path | None, *, force: bool, as_json: bool) -> None:
    """Write the result, if it is to be written, and show it."""
    from veracity.show.terminal import at_work, print_json, show_result

    if out is not None:
        with at_work() as progress:
            result.save(out, force=force, progress=progress)
    if as_json:
        print_json({**result.run.to_json(), "out": None if out is None else str(out)})
        return
    show_result(result)
    if out is not None:
        click.echo(f"\nwritten to {out}: truths, facts, sources, the run, and what was learned")
