"""Options that commands share."""

from __future__ import annotations

import csv
import importlib
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from veracity.algorithms.catalogue import algorithms, entry_of, no_algorithm

KIND_NAMES = ("categorical", "multiple", "binary", "numeric")
"""Written out, so that ``--help`` need not load the library; a test compares."""

ENDINGS = ".csv, .tsv, .xlsx, .json, .jsonl or .parquet"
"""Of files that a table is written to, as ``io.table_file`` has them."""

SHARE = click.FloatRange(0.0, 1.0, min_open=True, max_open=True)
ABOVE_0 = click.FloatRange(0.0, min_open=True)

MOST_PER_CORE = 4
"""Polars starts all its threads at once; more than so many for a core keep each other from work."""

Decorator = Callable[[Any], Any]


def _split_columns(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> dict[str, str] | None:
    """Pairs such as ``source=website,value=price``; quotes keep a comma in a name."""
    if value is None:
        return None
    columns: dict[str, str] = {}
    try:
        rows = list(csv.reader(io.StringIO(value, newline="")))
    except csv.Error as error:
        raise click.BadParameter(f"it cannot be read ({error})", ctx, param) from error
    if len(rows) > 1:
        raise click.BadParameter(
            "it has a line break; put a name with line breaks in double quotes", ctx, param
        )
    for pair in rows[0] if rows else []:
        part, _, name = (word.strip() for word in pair.partition("="))
        if not part or not name:
            raise click.BadParameter(f"{pair!r} is not of the form source=website", ctx, param)
        if part in columns:
            raise click.BadParameter(f"it names the {part} twice", ctx, param)
        columns[part] = name
    return columns


def algorithm_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The name of an algorithm; of one that there is not, the nearest is told."""
    if value is not None and entry_of(value) is None:
        raise click.BadParameter(no_algorithm(value), ctx, param)
    return value


class AlgorithmOption(click.Option):
    """An option that takes the name of an algorithm; its help lists all of them."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """As that of any option, with the algorithms of other packages, too."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]} There are {', '.join(algorithms())}.")


def split_names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names of algorithms, such as ``ltd-rbm,mle``."""
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    for name in names:
        algorithm_name(ctx, param, name)
    return names


def pairs_of(given: Sequence[str], option: str) -> dict[str, str]:
    """Pairs such as ``strength=2``, of an option that may be given several times."""
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise click.UsageError(f"{option}: {text!r} is not of the form strength=2")
        if name.strip() in pairs:
            raise click.UsageError(f"{option} names {name.strip()} twice")
        pairs[name.strip()] = value
    return pairs


def example(command: str) -> str:
    """An example for the end of a help text."""
    return f"\b\nExample:\n  {command}"  # \b keeps click from joining the lines


def number_option(
    name: str, kind: click.IntRange | click.FloatRange, default: float, meaning: str
) -> Decorator:
    """An option that takes a number within limits."""
    metavar = "N" if isinstance(kind, click.IntRange) else "P"
    return click.option(
        name, type=kind, default=default, show_default=True, metavar=metavar, help=meaning
    )


folder_option = click.option(
    "--out", type=click.Path(path_type=Path), metavar="RUN", help="Folder to write the result to."
)
_out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="RUN|FILE",
    help=f"Folder to write the result to; or file for the truths alone: {ENDINGS}.",
)
_csv_option = click.option(
    "--csv", is_flag=True, help="Write the tables of the folder as CSV files, too."
)
_records_option = click.option(
    "--records",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for records: one row per entity, one column per attribute; endings as for --out.",
)
_with_records_option = click.option(
    "--with-records",
    is_flag=True,
    help="With --to: a table of records, too; its lists are one text.",
)
_plausibility_option = click.option(
    "--plausibility",
    is_flag=True,
    help="With --records or --with-records: a column of plausibilities beside each attribute.",
)
kind_option = click.option(
    "--kind",
    type=click.Choice(KIND_NAMES),
    default="categorical",
    show_default=True,
    metavar="KIND",
    help="categorical (one value of an item is true), multiple (several may be), binary (rows "
    "call facts true or false), or numeric (values are estimates of a number).",
)
known_option = click.option(
    "--known",
    metavar="TRUTHS",
    help="Known truths: their items keep them, and sources are judged by them.",
)
claims_argument = click.argument("paths", nargs=-1, required=True, metavar="PATH...")
columns_option = click.option(
    "--columns",
    callback=_split_columns,
    metavar="PART=COLUMN,...",
    help="Which column plays which part, e.g. source=website,value=price; time=COLUMN lets only "
    "the newest claim of a source count, weight=COLUMN says how much a claim counts.",
)
encoding_option = click.option(
    "--encoding", default="utf-8", show_default=True, metavar="E", help="Encoding of text files."
)
_wide_option = click.option(
    "--wide",
    type=click.Choice(["attributes", "sources", "entities", "samples"]),
    metavar="BY",
    help="What each further column of a wide table is: attributes or sources, which are recognised "
    "where they are plain; entities; or samples, as of a model that was asked several times.",
)
_source_from_option = click.option(
    "--source-from",
    type=click.Choice(["filename", "sheet", "table"]),
    metavar="PLACE",
    help="What names the source where no column does: filename, sheet, or table.",
)
_samples_option = click.option(
    "--samples",
    is_flag=True,
    help="Rows of one source about one item are samples: each value counts by its share.",
)
_table_option = click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="TABLE",
    help="The table or view of a database that has the claims; may be given repeatedly.",
)
_query_option = click.option(
    "--query", metavar="SQL", help="A query to a database that gives the claims."
)
_to_option = click.option(
    "--to",
    metavar="ADDRESS",
    help="Database to write truths, facts, sources and notes to; #SCHEMA behind it says where.",
)
_normalise_flag = click.option(
    "--normalise",
    is_flag=True,
    help="Bring values that mean the same, such as 7:05 PM and 19:05, to one spelling.",
)
_value_kinds_option = click.option(
    "--value-kinds",
    callback=_split_columns,
    metavar="ATTRIBUTE=KIND,...",
    help="Normalise, reading these as time, date, datetime, number, identifier, text or unchanged.",
)


def normalise_options(command: Any) -> Any:
    """Whether and how values are normalised."""
    return _normalise_flag(_value_kinds_option(command))


def _chosen_normalise(options: dict[str, Any]) -> Any:
    """What `normalise_options` gave, as ``read_claims`` takes it."""
    is_wanted, kinds = options.pop("normalise"), options.pop("value_kinds")
    return is_wanted if kinds is None else kinds


def table_options(command: Any) -> Any:
    """What the columns of a table are, and how its text is written."""
    for option in (
        encoding_option,
        _samples_option,
        _source_from_option,
        _wide_option,
        columns_option,
    ):
        command = option(command)
    return command


def database_options(command: Any) -> Any:
    """Which claims of a database are meant."""
    return _table_option(_query_option(command))


def chosen_claims(paths: Sequence[str], options: dict[str, Any]) -> Any:
    """The paths and what `database_options` gave, as whatever reads claims takes it."""
    path, *others = paths
    tables, query = options.pop("tables"), options.pop("query")
    if not tables and query is None:
        return [path, *others] if others else path
    if others:
        raise click.UsageError("--table and --query are for one database; name its address only")
    selection_of = importlib.import_module("veracity.io.databases").selection_of
    found = [selection_of(path, query, table=table) for table in tables or (None,)]
    return found if len(found) > 1 else found[0]


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
force_option = click.option("--force", is_flag=True, help="Replace the folder, if veracity's own.")
force_file_option = click.option("--force", is_flag=True, help="Replace a file of this name.")
_force_all_option = click.option(
    "--force",
    is_flag=True,
    help="Replace the folder, if veracity's own, files of these names, and tables of others in "
    "--to.",
)


def target_options(command: Any) -> Any:
    """Where the result is written."""
    for option in (
        _force_all_option,
        _csv_option,
        _plausibility_option,
        _records_option,
        _with_records_option,
        _to_option,
        _out_option,
    ):
        command = option(command)
    return command


def table_file_options(what: str) -> Decorator:
    """The file for one table, and whether it may replace another."""
    out = click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"File for {what}: {ENDINGS}.",
    )
    return lambda command: out(force_file_option(command))


set_option = click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the algorithm, e.g. strength=2; may be given several times.",
)
source_features_option = click.option(
    "--source-features",
    metavar="TABLE",
    help="What is known of sources beside their claims: a column with their names, others with "
    "numbers or text.",
)
item_features_option = click.option(
    "--item-features",
    metavar="TABLE",
    help="What is known of items beside their claims: columns entity and, where it is needed, "
    "attribute, others with numbers or text.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="Seed of what is drawn at random."
)
min_plausibility_option = click.option(
    "--min-plausibility",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Leave the value empty where it is less plausible than this.",
)


def use_threads(threads: int | None) -> None:
    """Let Polars know, which looks when it is loaded: so before it is.

    As many row groups of Parquet are read ahead as there are threads. It reads eight at least
    unless told, which are a quarter of all memory with which ten million claims are read.
    """
    if threads is not None:
        threads = min(threads, MOST_PER_CORE * (os.cpu_count() or 1))
        os.environ.setdefault("POLARS_MAX_THREADS", str(threads))
    ahead = threads or os.cpu_count() or 1
    os.environ.setdefault("POLARS_ROW_GROUP_PREFETCH_SIZE", str(ahead))


def _used_threads(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """The number of threads, which is told before a command loads anything."""
    use_threads(value)
    return value


_threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    callback=_used_threads,
    metavar="N",
    help="How many threads work; as many as there are cores by default.",
)
_memory_option = click.option(
    "--memory",
    metavar="AMOUNT",
    help="How much memory to use, e.g. 8GB; claims that need more are kept on disk. What is free "
    "by default.",
)
_spill_option = click.option(
    "--spill",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="The folder for that; the one for temporary files by default. It is emptied afterwards.",
)
_engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    metavar="NAME",
    help="Where the work is done: local, or spark.",
)
_master_option = click.option(
    "--master",
    metavar="URL",
    help="Spark's cluster; local[*], this machine with all its cores, by default.",
)


def local_options(command: Any) -> Any:
    """What this machine may use."""
    return _threads_option(_memory_option(_spill_option(command)))


def engine_options(command: Any) -> Any:
    """Where the work is done, and what this machine may use."""
    return local_options(_engine_option(_master_option(command)))


def chosen_engine(options: dict[str, Any]) -> Any:
    """The engine that the options stand for."""
    from veracity.engines import Local

    name, master = options.pop("engine", "local"), options.pop("master", None)
    local = {name: options.pop(name, None) for name in ("threads", "memory", "spill")}
    if name == "local":
        if master is not None:
            raise click.UsageError("--master is for --engine spark")
        return Local(**local)
    from veracity.engines.spark import Spark

    given = [f"--{name}" for name, value in local.items() if value is not None]
    if given:
        raise click.UsageError(f"{given[0]} is for --engine local; Spark has settings of its own")
    return Spark(master=master or "local[*]")


def chosen_reading(options: dict[str, Any]) -> Any:
    """How the options say that claims are to be read."""
    from veracity.reading.options import ReadOptions

    names = ("kind", "encoding", "wide", "source_from", "samples")
    given: dict[str, Any] = {name: options.pop(name) for name in names if name in options}
    if "normalise" in options:
        given["normalise"] = _chosen_normalise(options)
    return ReadOptions(columns=options.pop("columns") or {}, **given)


def being_read(claims: Any, options: Any) -> Any:
    """The claims, of which a Parquet file is read from now on, while what works on it is loaded."""
    is_file = isinstance(claims, str) and claims.endswith(".parquet") and os.path.isfile(claims)  # noqa: PTH113
    if not is_file or options.normalise is not False:
        return claims
    stream = importlib.import_module("veracity.reading.claims").open_claims(claims, options)
    stream.begin()
    return stream
