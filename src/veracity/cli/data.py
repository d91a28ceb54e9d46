"""Commands that make data, and that repeat the paper's evaluation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity._version import __version__
from veracity.cli.options import Command, example, option, pairs_of, seed_of, takes

if TYPE_CHECKING:
    from veracity.study import Study

SETTINGS = """\b
Settings, with their defaults:
  sources=20                how many sources
  items=1000                how many items
  values=4                  how many values an item may have
  accuracy=0.7              how often a source is right, on average
  accuracy_variability=10   higher: accuracies are more similar
  frequency=0.5             share of the items a source makes claims about, on average
  frequency_variability=10  higher: these shares are more similar
  copying=0                 how likely a source is to copy
  copy_frequency=0.5        share of its claims that a copier copies
  copy_variability=2        higher: these shares are more similar
  seed=0                    where randomness starts

"""
"""Help on the settings of studies. It is written out, so that ``--help`` need not load the library;
a test compares.
"""

SYNTHETIC_FILE = "synthetic.json"
"""Name of the file by which a folder of ``generate`` is recognised."""


@click.command(cls=Command, epilog=example("veracity demo --out run/"))
@option("out", metavar="RUN", help="Folder to write the result to.")
@takes("force")
def demo(out: Path | None, force: bool) -> None:
    """Show everything on built-in data.

    Nine sites describe 200 flights; the demo finds out what is true, and compares it with a vote.
    """
    from veracity.api import discover as discover_truths
    from veracity.inspect.evaluation import evaluate as evaluate_result
    from veracity.io.atomic import atomic_folder, check_can_write
    from veracity.result import RUN_FILE
    from veracity.show.sections import Section, Table
    from veracity.show.terminal import at_work, show, show_sections
    from veracity.synthetic import flights

    if out is not None:
        check_can_write(out, force=force, marker=RUN_FILE)
    drawn = flights()
    click.echo("Nine sites describe 200 flights, and contradict each other:\n")
    claims = Table(title="claims", rows=drawn.claims.head(6), n_rows=len(drawn.claims))
    show_sections([Section(tables=[claims])])
    with at_work() as progress:
        result = discover_truths(drawn.claims, progress=progress)
        vote = discover_truths(drawn.claims, "majority-vote")
    click.echo("\nveracity.discover(claims):\n")
    show(result)
    click.echo("\nAgainst the truth, which only the generator knows:\n")
    show(evaluate_result(result, drawn.truth))
    accuracy = evaluate_result(vote, drawn.truth).accuracy
    click.echo(f"\nA majority vote would have been right on {accuracy:.1%} of the items.")
    if out is not None:
        with atomic_folder(out, force=force, marker=RUN_FILE) as unfinished:
            result.save(unfinished, force=True)
            with at_work() as progress:
                page = unfinished / "report.html"
                result.write_report(page, truth=drawn.truth, progress=progress)
        click.echo(f"\nwritten to {out}; now open {out / page.name} in a browser")


@click.command(
    cls=Command,
    epilog=SETTINGS + example("veracity generate --set sources=20 --set items=1000 --out new/"),
)
@option("out", required=True, metavar="FOLDER", help="Folder to write to.")
@option("parameters", help="A setting, see below; may be given repeatedly.")
@takes("force")
def generate(out: Path, parameters: tuple[str, ...], force: bool) -> None:
    """Draw random claims with known truth, to try things out.

    Writes claims, truth, sources (how each behaves) and copied (claims that were copied, and from
    whom), all as Parquet.
    """
    from dataclasses import asdict

    from veracity.io.atomic import atomic_folder, check_can_write
    from veracity.printing import counted
    from veracity.synthetic import Synthetic

    check_can_write(out, force=force, marker=SYNTHETIC_FILE)
    settings = pairs_of(parameters, "--set")
    seed = seed_of(settings) or 0
    known, given = {one.name: one for one in fields(Synthetic)}, dict[str, Any]()
    for name, text in settings.items():
        _set(known, given, f"{name}={text}")
    drawn = Synthetic(**given).draw(seed)
    with atomic_folder(out, force=force, marker=SYNTHETIC_FILE) as folder:
        for name, table in drawn._asdict().items():
            table.write_parquet(folder / f"{name}.parquet")
        files = sorted(path.name for path in folder.iterdir())
        made = {"veracity": __version__, "seed": seed, **asdict(Synthetic(**given)), "files": files}
        (folder / SYNTHETIC_FILE).write_text(json.dumps(made, indent=2), encoding="utf-8")
    claims, items = counted(len(drawn.claims), "claim"), counted(len(drawn.truth), "item")
    click.echo(f"{claims} about {items} written to {out}")


STUDIES = {
    "synthetic": "accuracy on random data, against what makes them hard (figure 4)",
    "runtime": "seconds against the number of claims (figure 3)",
    "robustness": "hyperparameters that are best for one data set, on the others (table 3)",
    "sensitivity": "accuracy against where an algorithm starts (figure 5)",
    "statements": "LTD-RBM without its start, without its treatment of silence, other batches",
}


@click.command(
    cls=Command,
    epilog="\b\n"
    + "\n".join(f"{name:<12} {about}" for name, about in STUDIES.items())
    + "\n\n"
    + example("veracity study robustness flight weather+normalised --out study/"),
)
@click.argument("name", type=click.Choice([*STUDIES]), metavar="STUDY")
@click.argument("datasets", nargs=-1, metavar="[DATASET...]")
@option(
    "out",
    required=True,
    metavar="FOLDER",
    help="Folder for rows, tables, figures and page; one that was stopped is resumed.",
)
@option(
    "parameters",
    help="A setting of the study, e.g. algorithms=mle,ltm or datasets=100; may be repeated. ",
)
@takes("workers")
def study(
    name: str,
    datasets: tuple[str, ...],
    parameters: tuple[str, ...],
    out: Path,
    workers: int | None,
) -> None:
    """Repeat the paper's evaluation.

    STUDY is one of those below. A DATASET is a folder with claims and truth; add +normalised to its
    name to normalise its values. synthetic and runtime take no data set. Each study writes its rows
    (Parquet), tables (CSV), figures (SVG and PNG) and one page that needs no network. You can stop
    it at any time; the same command continues where it was stopped.
    """
    from veracity import study as studies

    kinds = [kind for kind in vars(studies).values() if getattr(kind, "name", None) == name]
    run_study(kinds[0], datasets, parameters, out, workers=workers)


def run_study(
    kind: type[Study],
    datasets: Sequence[str],
    settings: Sequence[str],
    out: Path,
    *,
    workers: int | None = None,
) -> None:
    """Run a study with settings such as ``seed=7``, and show its first table."""
    from veracity.errors import StudyError
    from veracity.show.figures.base import altair
    from veracity.show.sections import Section
    from veracity.show.sections import Table as Shown
    from veracity.show.terminal import at_work, show_sections
    from veracity.study import carry_out, publish
    from veracity.study.base import StudyOfDatasets

    known = {field.name: field for field in fields(kind)}
    values: dict[str, Any] = {}
    for text in settings:
        _set(known, values, text)
    if datasets and not issubclass(kind, StudyOfDatasets):
        raise click.UsageError(f"study {kind.name} takes no data sets: it draws its own")
    if datasets:
        values["datasets"] = tuple(folder.rstrip("/") or "/" for folder in datasets)
    chosen = kind(**values)
    altair()  # figures need it: if it is missing, say so before the work
    try:
        with at_work() as progress:
            rows = carry_out(chosen, out, workers=workers, progress=progress)
    except KeyboardInterrupt as stop:
        raise StudyError(
            f"stopped before the end; the rows so far are in {out}, and the same command goes on "
            "from there"
        ) from stop
    page = publish(chosen, rows, out)
    name, table = next(iter(chosen.tables(rows).items()))
    shown = Shown(title=name.replace("_", " "), rows=table.head(40), n_rows=len(table))
    show_sections([Section(tables=[shown])])
    click.echo(f"\nwritten to {out}; open {page}")


def _set(known: dict[str, Field[Any]], values: dict[str, Any], text: str) -> None:
    """Add a setting to the values, in the type of its default.

    ``fixed.items=40`` sets the entry ``items`` of the setting ``fixed``.
    """
    name, equals, value = text.partition("=")
    name, _, key = name.strip().partition(".")
    if not equals or name not in known:
        raise click.UsageError(
            f"'{text}' is no setting; there are NAME=VALUE for {', '.join(known)}"
        )
    make = known[name].default_factory
    usual = known[name].default if make is MISSING else make()
    try:
        values[name] = (
            {**values.get(name, {}), key: _number(value)}
            if isinstance(usual, dict) and key
            else _value(value.strip(), usual)
        )
    except ValueError:
        raise click.UsageError(f"'{text}': the value must be like {usual!r}") from None


def _value(text: str, usual: object) -> object:
    if isinstance(usual, bool):
        if text not in ("yes", "no"):
            raise ValueError(text)
        return text == "yes"
    if isinstance(usual, int):
        return int(text)
    if isinstance(usual, float):
        return float(text)
    if isinstance(usual, tuple):
        is_number = bool(usual) and isinstance(usual[0], int | float)
        return tuple(_number(one) if is_number else one.strip() for one in text.split(","))
    if isinstance(usual, dict):
        from veracity.study.sensitivity import optima_in

        return optima_in(Path(text))
    raise ValueError(text)


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number
