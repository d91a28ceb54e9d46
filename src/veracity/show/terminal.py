"""What a terminal shows: tables, a progress bar, and JSON where a program reads along."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import polars as pl

from veracity.encoding.block import SAME
from veracity.errors import NotConverged
from veracity.explain import Why, without_keys
from veracity.naming import as_text, name_text
from veracity.printing import in_short, unfiltered
from veracity.progress import Progress
from veracity.result import Result
from veracity.result.intervals import LEVEL
from veracity.result.records import own_names
from veracity.result.run import Run

if TYPE_CHECKING:  # a command loads what it shows itself, and nothing that others show
    from veracity.inspect.checking import Health
    from veracity.inspect.comparison import Comparison
    from veracity.inspect.difference import Difference
    from veracity.inspect.evaluation import Evaluation
    from veracity.inspect.profiling import Profile

NAMES = frozenset(
    {"source", "claimed", "entity", "attribute", "value", "runner_up", "fact", "algorithm", "other"}
)
"""Columns of names and values, which are shown as they are; the others hold counts and measures."""

KEYS = ("source", "entity", "attribute", "fact")
"""Columns whose numbers are names, and shown with all their digits."""

LONGEST_CELL = 200
"""Characters of a name or value in a table."""


@contextlib.contextmanager
def at_work() -> Iterator[Progress | None]:
    """A bar on a terminal, nothing in a pipe; what the result's notes say is not said twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        if sys.stderr is None or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console  # noqa: PLC0415 - takes its time to load
        from rich.markup import escape  # noqa: PLC0415
        from rich.progress import Progress as Bar  # noqa: PLC0415

        with Bar(console=Console(file=unfiltered(sys.stderr)), transient=True) as bar:
            task = bar.add_task("reading", total=None)
            yield lambda phase, done, total: bar.update(
                task, description=escape(in_short(phase)), completed=done, total=total or None
            )


def show_result(result: Result) -> None:
    """Print a result in short: the closest calls and the most active sources."""
    click.echo(repr(result))
    short, sources = result.in_short, result.tables.sources
    title = "truths, the closest calls first" if "margin" in short.closest.columns else "truths"
    show_table(title, short.closest, short.n_truths, result.run)
    most = sources.sort("claims", descending=True, maintain_order=True)
    title = "sources, those with most claims first"
    show_table(title, _with_interval(most.head(12)), len(sources), result.run)
    if result.tables.features is not None:
        _show_features(result.tables.features)
    if result.tables.changes is not None:
        _show_changes(result.tables.changes)


def _with_interval(sources: pl.DataFrame) -> pl.DataFrame:
    """Sources with the interval of their accuracy beside it, and the other ends left out."""
    if "accuracy_low" not in sources.columns:
        return sources
    ends = sources.select("accuracy_low", "accuracy_high").iter_rows()
    interval = pl.Series(f"{LEVEL:.0%} interval", [f"{low:.3f}-{high:.3f}" for low, high in ends])
    shown = sources.select(pl.exclude("^(tpr|fpr|accuracy)_(low|high)$"))
    return shown.insert_column(shown.columns.index("accuracy") + 1, interval)


def _show_features(features: pl.DataFrame) -> None:
    """Print what features are worth, those that weigh most first."""
    most = features.sort(pl.col("weight").abs().round(SAME), descending=True, maintain_order=True)
    show_table("what features are worth, in log-odds", most.head(12), len(features))


def _show_changes(changes: pl.DataFrame) -> None:
    """Print the most frequent changes of every sort in every attribute."""
    most = changes.sort("claims", descending=True, maintain_order=True)
    some = most.group_by("attribute", "change", maintain_order=True).head(2)
    some = some.sort("attribute", "change", maintain_order=True)
    show_table("values that normalising changed, for example", some.head(24), len(changes))


def show_why(why: Why) -> None:
    """Print why items have their values: in words, and with the claims that weigh most."""
    click.echo(why.words)
    values, rows = (without_keys(table) for table in why.tables)
    if "value" in values.columns and why.scale != "numbers":  # what nobody claims has no name
        named = as_text(values["value"]).fill_null("(one that nobody claims)")
        values = values.with_columns(value=named)
    show_table("values", values.head(20), len(values))
    show_table(
        f"claims, and what they weigh ({why.scale or 'no weights'})", rows.head(40), len(rows)
    )


def show_profile(profile: Profile) -> None:
    """Print the characteristics of a data set, its attributes, sources and suspicious pairs."""
    click.echo(repr(profile))
    if profile.by_attribute is not None:
        attributes = pl.DataFrame(profile.by_attribute)
        show_table("attributes", attributes.head(20), len(attributes))
    sources, pairs = pl.DataFrame(profile.by_source), pl.DataFrame(profile.pairs)
    show_table("sources, those with most claims first", sources.head(12), len(sources))
    if len(pairs):
        show_table("pairs of sources that may have copied", pairs.head(12), len(pairs))


def show_health(health: Health) -> None:
    """Print the warnings of a check, each with its evidence, and how far sources agree."""
    click.echo(repr(health))
    if health.alpha is not None:
        click.echo(
            f"sources agree beyond chance: alpha {health.alpha:.3f} (1 is always, 0 as by chance)"
        )
    for warning in health.warnings:
        if warning.evidence is not None:
            examples = pl.DataFrame(warning.evidence).head(8)  # there may be more than it has, too
            show_table(warning.name, examples, len(examples))


def show_evaluation(evaluation: Evaluation) -> None:
    """Print the measures of an evaluation, on the whole and for each attribute."""
    rows = [{"attribute": "all", **evaluation.measures()}]
    if evaluation.by_attribute is not None:
        parts = pl.DataFrame(evaluation.by_attribute).to_dicts()
        named = ({**part, "attribute": name_text(part["attribute"])} for part in parts)
        rows += named if len(parts) > 1 else []
    show_table("right or wrong", pl.DataFrame(rows), len(rows))
    for note in evaluation.notes:
        click.echo(f"note: {note}")


def show_comparison(comparison: Comparison) -> None:
    """Print how algorithms fare, or how far they agree where no truth is known."""
    rows = comparison.ranked
    if "failed" in rows.columns:
        for name, reason in rows.select("algorithm", "failed").drop_nulls().iter_rows():
            click.echo(f"{name} failed: {reason}")
    rows = rows.drop("failed", strict=False)
    show_table("algorithms", rows, len(rows))
    if comparison.measure is None:
        pairs = comparison.pairs.sort("agreement", maintain_order=True)
        if len(pairs) and pairs["agreement"][0] == 1.0:
            click.echo("all of them settle on the same values")
        else:
            show_table("where they agree least", pairs.head(12), len(pairs))
    for note in comparison.notes:
        click.echo(f"note: {note}")


def show_difference(difference: Difference, run: Run) -> None:
    """Print the items that changed, and the sources that moved most."""
    click.echo(repr(difference))
    items, sources = pl.DataFrame(difference.items), pl.DataFrame(difference.sources)
    changed = items.filter(pl.col("change") == "changed")
    if len(changed):
        show_table("items that changed", changed.drop("change").head(20), len(changed), run)
    others = items.filter(pl.col("change") != "changed")
    if len(others):
        show_table("new and gone items", others.drop("reason").head(8), len(others), run)
    show_table("sources, those that moved most first", sources.head(12), len(sources), run)


def show_table(title: str, table: pl.DataFrame, n_rows: int, run: Run | None = None) -> None:
    """Print some rows of a table, and of how many they are; columns are called as in the claims."""
    from rich.console import Console  # noqa: PLC0415 - takes its time to load
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    shown = Table(title=title if n_rows == len(table) else f"{title} ({len(table)} of {n_rows:,})")
    called = {} if run is None else own_names(table.columns, run.input.columns, run.kind)
    for name, dtype in table.schema.items():
        own = called.get(name, name)
        header = name.replace("_", " ") if own == name else Text(in_short(own))
        shown.add_column(header, justify="right" if dtype.is_numeric() else "left")
    for row in _with_text(table).iter_rows(named=True):
        cells = (_named(cell) if name in NAMES else _measured(cell) for name, cell in row.items())
        shown.add_row(*map(Text, cells))
    width = None if sys.stdout is not None and sys.stdout.isatty() else 120
    Console(file=unfiltered(sys.stdout), width=width, highlight=False).print(shown)


def _with_text(table: pl.DataFrame) -> pl.DataFrame:
    """The table with its names as text; numbers and Booleans that are no names stay as they are."""

    def is_shown_as_text(name: str, dtype: pl.DataType) -> bool:
        return name in KEYS or not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean))

    names = [name for name, dtype in table.schema.items() if is_shown_as_text(name, dtype)]
    return table.with_columns(as_text(table[name]) for name in names)


def _named(value: object) -> str:
    """A name or a value as it is, but on one line and without what a terminal would obey."""
    if value is None:
        return ""
    return in_short(f"{value:.9g}" if isinstance(value, float) else name_text(value), LONGEST_CELL)


def _measured(value: object) -> str:
    """A count, a measure, or whether something holds."""
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, str):
        return _named(value)
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def print_json(content: dict[str, Any]) -> None:
    """Print what any reader of JSON understands."""
    click.echo(json.dumps(_finite(content), indent=2, default=name_text))


def _finite(content: Any) -> Any:
    """The same without NaN and infinity, which are no JSON: null in their place."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
