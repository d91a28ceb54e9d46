"""``veracity study``: the paper's evaluation, one command a figure or table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli.options import example, number_option, split_names

if TYPE_CHECKING:
    from veracity.study import Study

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Folder for rows, tables, figures and page; one that was stopped is resumed.",
)
algorithms_option = click.option(
    "--algorithms",
    callback=split_names,
    metavar="NAME,...",
    help="Which ones, in the place of those that the study has by default.",
)
seed_option = number_option("--seed", click.IntRange(min=0), 0, "Seed of what is drawn at random.")


def _study_options(command: Any) -> Any:
    """What a study of several algorithms takes."""
    for option in (out_option, algorithms_option, seed_option):
        command = option(command)
    return command


workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many processes work; as many as there are cores by default.",
)
datasets_argument = click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
normalise_option = click.option(
    "--normalise", is_flag=True, help="Take each dataset a second time, with values normalised."
)

known_only_option = click.option(
    "--known-only", is_flag=True, help="Leave out items whose truth is not known: faster."
)

coarse_option = click.option(
    "--coarse", is_flag=True, help="Try every second value of the grid only: faster."
)


@click.group(epilog=example("veracity study synthetic --datasets 100 --out study/"))
def study() -> None:
    """Repeat the paper's evaluation.

    Each study writes its rows (Parquet), tables (CSV), figures (SVG and PNG) and one page that
    needs no network. Stop it at any time; the same command goes on where it was stopped.
    """


@study.command(epilog=example("veracity study synthetic --datasets 1000 --out study/"))
@number_option("--datasets", click.IntRange(min=1), 1000, "How many; the paper has 10,000.")
@click.option(
    "--only-first",
    multiple=True,
    metavar="NAME=N",
    help="A slow algorithm judges only the first N datasets. May be repeated.",
)
@click.option(
    "--fix",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of all datasets, such as copying=0. May be repeated.",
)
@workers_option
@_study_options
def synthetic(only_first: tuple[str, ...], fix: tuple[str, ...], **options: Any) -> None:
    """Accuracy on random datasets, against what makes them hard (figure 4)."""
    from veracity.study import SyntheticStudy

    options["only_first"] = _numbers(only_first, int)
    options["fixed"] = _numbers(fix, float)
    _carry_out(SyntheticStudy, **options)


@study.command(epilog=example("veracity study runtime --out study/"))
@number_option("--most", click.IntRange(min=100), 1_000_000, "Claims of the largest dataset.")
@number_option("--repeats", click.IntRange(min=1), 5, "How often each is timed.")
@_study_options
def runtime(**options: Any) -> None:
    """Seconds against the number of claims (figure 3)."""
    from veracity.study import RuntimeStudy

    _carry_out(RuntimeStudy, workers=1, **options)


@study.command(
    epilog=example("veracity study robustness flight/ weather/ --normalise --out study/")
)
@datasets_argument
@normalise_option
@known_only_option
@coarse_option
@workers_option
@_study_options
def robustness(datasets: tuple[str, ...], normalise: bool, **options: Any) -> None:
    """Hyperparameters that are best for one dataset, applied to the others (table 3).

    A DATASET is a folder with claims and truth.
    """
    from veracity.study import RobustnessStudy

    _carry_out(RobustnessStudy, datasets=_named(datasets, normalise), **options)


@study.command(epilog=example("veracity study sensitivity flight/ --normalise --out study/"))
@datasets_argument
@click.option(
    "--parameters",
    metavar="NAME,...",
    help="Which ones; fpr, tpr, learning_rate, decay and batch_size by default.",
)
@click.option(
    "--optima",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The others stay at these optima (optima.csv of a robustness study), not at defaults.",
)
@normalise_option
@known_only_option
@coarse_option
@workers_option
@_study_options
def sensitivity(
    datasets: tuple[str, ...],
    normalise: bool,
    parameters: str | None,
    optima: Path | None,
    **options: Any,
) -> None:
    """Accuracy against where an algorithm starts (figure 5).

    A DATASET is a folder with claims and truth.
    """
    from veracity.study import SensitivityStudy
    from veracity.study.sensitivity import optima_in

    if optima is not None:
        options["optima"] = optima_in(optima)
    if parameters is not None:
        options["parameters"] = tuple(name.strip() for name in parameters.split(","))
    _carry_out(SensitivityStudy, datasets=_named(datasets, normalise), **options)


@study.command(epilog=example("veracity study league flight/ weather/ --out study/"))
@datasets_argument
@normalise_option
@number_option("--known", click.IntRange(min=0), 0, "Also tell each algorithm so many truths.")
@number_option("--draws", click.IntRange(min=1), 3, "How often these are drawn at random.")
@_study_options
def league(datasets: tuple[str, ...], normalise: bool, **options: Any) -> None:
    """All algorithms on all datasets.

    A DATASET is a folder with claims and truth. Unless --algorithms names some, all that are for
    categorical claims take part, with their default parameters; majority voting always does.
    """
    from veracity.study import LeagueStudy

    _carry_out(LeagueStudy, workers=1, datasets=_named(datasets, normalise), **options)


@study.command(epilog=example("veracity study intervals flight/ weather/ --out study/"))
@click.argument("datasets", nargs=-1, metavar="[DATASET...]")
@normalise_option
@number_option("--synthetic", click.IntRange(min=0), 30, "How many are drawn at random beside.")
@workers_option
@_study_options
def intervals(datasets: tuple[str, ...], normalise: bool, **options: Any) -> None:
    """How often the intervals of accuracies hold.

    A DATASET is a folder with claims and truth, on which the default is measured; --algorithms
    names those that are measured on synthetic claims.
    """
    from veracity.study import IntervalsStudy

    _carry_out(IntervalsStudy, datasets=_named(datasets, normalise), **options)


@study.command(epilog=example("veracity study numbers weather/ --out study/"))
@click.argument("datasets", nargs=-1, metavar="[DATASET...]")
@number_option("--draws", click.IntRange(min=0), 40, "How often synthetic numbers are drawn.")
@workers_option
@_study_options
def numbers(datasets: tuple[str, ...], **options: Any) -> None:
    """How far off estimates of numbers are, and how often their intervals hold.

    A DATASET is a folder with claims and truth; of each attribute, plain numbers are taken.
    """
    from veracity.study import NumbersStudy

    _carry_out(NumbersStudy, datasets=_named(datasets, normalise=False), **options)


@study.command(epilog=example("veracity study asking flight/ weather/ --out study/"))
@datasets_argument
@normalise_option
@number_option("--draws", click.IntRange(min=1), 5, "How often items are drawn at random.")
@workers_option
@out_option
@seed_option
def asking(datasets: tuple[str, ...], normalise: bool, **options: Any) -> None:
    """What answers are worth, by how their items were chosen.

    A DATASET is a folder with claims and truth; only items whose truth is known take part.
    """
    from veracity.study import AskingStudy

    _carry_out(AskingStudy, datasets=_named(datasets, normalise), **options)


@study.command(epilog=example("veracity study ablation flight/ weather/ --normalise --out study/"))
@datasets_argument
@normalise_option
@number_option("--synthetic", click.IntRange(min=0), 40, "How many are drawn at random beside.")
@workers_option
@out_option
@seed_option
def ablation(datasets: tuple[str, ...], normalise: bool, **options: Any) -> None:
    """What each part of the default is worth, and whether its constants suit other data.

    A DATASET is a folder with claims and truth.
    """
    from veracity.study import AblationStudy

    _carry_out(AblationStudy, datasets=_named(datasets, normalise), **options)


@study.command(epilog=example("veracity study statements flight/ weather/ --out study/"))
@click.argument("datasets", nargs=-1, metavar="[DATASET...]")
@normalise_option
@number_option("--synthetic", click.IntRange(min=0), 100, "How many are drawn at random beside.")
@number_option("--draws", click.IntRange(min=1), 10, "How often a random start is drawn.")
@workers_option
@_study_options
def statements(datasets: tuple[str, ...], normalise: bool, **options: Any) -> None:
    """LTD-RBM without its start, without its treatment of silence, and with other batches.

    A DATASET is a folder with claims and truth.
    """
    from veracity.study import StatementsStudy

    _carry_out(StatementsStudy, datasets=_named(datasets, normalise), **options)


def _numbers(given: tuple[str, ...], kind: type[int] | type[float]) -> dict[str, Any]:
    """Numbers by name, from texts such as ``ltm=100``."""
    numbers: dict[str, Any] = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            number = kind(value)
        except ValueError:
            raise click.UsageError(f"'{text}' is no NAME=NUMBER") from None
        numbers[name.strip()] = int(number) if float(number).is_integer() else number
    return numbers


def _named(datasets: tuple[str, ...], normalise: bool) -> tuple[str, ...]:
    """Each folder as it is and, if wanted, normalised."""
    from veracity.study.data import NORMALISED

    suffixes = ("", NORMALISED) if normalise else ("",)
    folders = [folder.rstrip("/") or "/" for folder in datasets]
    return tuple(f"{folder}{suffix}" for folder in folders for suffix in suffixes)


def _carry_out(
    kind: type[Study],
    out: Path,
    workers: int | None = None,
    algorithms: list[str] | None = None,
    **settings: Any,
) -> None:
    """Carry a study out and show what was found."""
    from veracity.errors import StudyError
    from veracity.show.plot import altair
    from veracity.show.terminal import at_work, show_table
    from veracity.study import carry_out, publish

    if algorithms is not None:
        settings["algorithms"] = tuple(algorithms)
    chosen = kind(**settings)
    altair()  # without it there are no figures: that is to be said before the work, not after it
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
    show_table(name.replace("_", " "), table.head(40), len(table))
    click.echo(f"\nwritten to {out}; open {page}")
