"""Options of the commands, each defined once, and their conversion to Python arguments."""

from __future__ import annotations

import csv
import importlib
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from veracity.algorithms.catalogue import algorithms, entry_of, no_algorithm
from veracity.printing import did_you_mean

KIND_NAMES = ("categorical", "multiple", "binary", "numeric")
"""Kinds of claims, copied here so that ``--help`` need not load the library. A test compares."""

ENDINGS = ".csv, .tsv, .xlsx, .json, .jsonl or .parquet"
"""File endings for tables, as in ``io.table_file``."""

SHARE = click.FloatRange(0.0, 1.0, min_open=True, max_open=True)
PROBABILITY = click.FloatRange(0.0, 1.0)

MOST_PER_CORE = 4
"""Largest number of Polars threads per core; all of them start at once, and more are slower."""

Decorator = Callable[[Any], Any]


class Command(click.Command):
    """A command whose help lists its options in groups."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; those in `BARE` may have a value or none: ``--normalise=VALUE``."""
        end = args.index("--") if "--" in args else len(args)
        bare = [f"{one}={ALL}" if one in BARE else one for one in args[:end]]
        return super().parse_args(ctx, bare + args[end:])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        records: dict[str, list[tuple[str, str]]] = {group: [] for group in OPTIONS}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx) if isinstance(one, click.Option) else None
            if record is not None:
                group = next((g for g, names in OPTIONS.items() if one.name in names), OTHERS)
                records.setdefault(group, []).append(record)
        for group, rows in records.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


def option(name: str, **changed: Any) -> Decorator:
    """Return the option with this name; a command may change some of its settings."""
    settings = next(names[name] for names in OPTIONS.values() if name in names)
    flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
    return click.option(flag, name, **{**settings, **changed})


def takes(*names: str) -> Decorator:
    """Add options to a command, in this order."""

    def add(command: Any) -> Any:
        for name in reversed(names):
            command = option(name)(command)
        return command

    return add


def example(command: str) -> str:
    """Return an example for the end of a help text."""
    return f"\b\nExample:\n  {command}"  # \b keeps click from joining the lines


# --- types and callbacks --------------------------------------------------------------------------


class AlgorithmOption(click.Option):
    """Option that takes the name of an algorithm; its help lists all names."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help of the option, including the algorithms of other packages."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]} There are {', '.join(algorithms())}.")


def _pairs(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, str] | None:
    """Split pairs such as ``source=website,value=price``; quotes keep a comma in a name."""
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


def _kinds_of_values(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> bool | dict[str, str]:
    """Return True for ``--normalise`` alone, and pairs for ``--normalise=ATTRIBUTE=KIND,...``."""
    return value is not None and (value == ALL or _pairs(ctx, param, value) or {})


def _kinds_of_alike(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> bool | str | dict[str, str] | None:
    """Return what ``--alike`` says: yes, no, a kind, or pairs of attribute and kind."""
    if value is None or value in (ALL, "no"):
        return value and value == ALL
    return _pairs(ctx, param, value) if "=" in value else value


def _algorithm_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the name of an algorithm; for an unknown one, suggest the nearest."""
    if value is not None and entry_of(value) is None:
        raise click.BadParameter(no_algorithm(value), ctx, param)
    return value


def _algorithm_names(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> list[str] | None:
    """Split names of algorithms, such as ``ltd-rbm,mle``."""
    names = None if value is None else [name.strip() for name in value.split(",")]
    for name in names or ():
        _algorithm_name(ctx, param, name)
    return names


def use_threads(threads: int | None) -> None:
    """Set the number of threads of Polars before it is loaded; later it has no effect.

    Also make Polars read ahead as many row groups of Parquet as there are threads. Its default of
    at least eight takes a quarter of the memory needed to read ten million claims.
    """
    if threads is not None:
        threads = min(threads, MOST_PER_CORE * (os.cpu_count() or 1))
        os.environ.setdefault("POLARS_MAX_THREADS", str(threads))
    ahead = threads or os.cpu_count() or 1
    os.environ.setdefault("POLARS_ROW_GROUP_PREFETCH_SIZE", str(ahead))


def _used_threads(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """Return the number of threads, which is set before a command loads anything."""
    use_threads(value)
    return value


def _names_of_findings(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Any:
    """Refuse a name that no check has."""
    if set(value) - {SERIOUS}:
        known = importlib.import_module("veracity.checks").CHECKS
        for name in value:
            if name != SERIOUS and name not in known:
                meant = did_you_mean(name, [SERIOUS, *known])
                raise click.BadParameter(
                    f"no finding {name!r}; {meant or 'there are ' + ', '.join(known)}"
                )
    return value


# --- the options ----------------------------------------------------------------------------------

BARE, ALL = ("--normalise", "--alike"), "yes"
"""Options that may be given without a value, and the value that they then have."""

OTHERS = "Options"
"""Group of the options that all commands have, such as ``--help``."""

SERIOUS = "serious"
"""Any serious finding, for ``--fail-on``."""

FAILED = 3
"""Exit code if there is a finding that ``--fail-on`` names."""

FLAGS = {"as_json": "--json", "parameters": "--set"}
"""Names of options that differ from the names of their parameters in Python."""

OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "Reading": {
        "columns": {
            "callback": _pairs, "metavar": "PART=COLUMN,...",
            "help": "Which column plays which part, e.g. source=website,value=price; time=COLUMN "
            "lets only the newest claim of a source count, weight=COLUMN says how much a claim "
            "counts.",
        },
        "kind": {
            "type": click.Choice(KIND_NAMES), "default": "categorical", "show_default": True,
            "metavar": "KIND",
            "help": "categorical (one value of an item is true), multiple (several may be), "
            "binary (rows call facts true or false), or numeric (values are estimates of a "
            "number).",
        },
        "wide": {
            "type": click.Choice(["attributes", "sources", "entities", "samples"]),
            "metavar": "BY",
            "help": "What each further column of a wide table is: attributes or sources, which "
            "are recognised where they are plain; entities; or samples, as of a model that was "
            "asked several times.",
        },
        "source_from": {
            "type": click.Choice(["filename", "sheet", "table"]), "metavar": "PLACE",
            "help": "What names the source where no column does: filename, sheet, or table.",
        },
        "samples": {
            "is_flag": True,
            "help": "Rows of one source about one item are samples: each value counts by its "
            "share.",
        },
        "encoding": {
            "default": "utf-8", "show_default": True, "metavar": "E",
            "help": "Encoding of text files.",
        },
        "normalise": {
            "callback": _kinds_of_values, "metavar": "[=ATTRIBUTE[:SOURCE]=KIND,...]",
            "help": "Bring values that mean the same, such as 7:05 PM and 19:05, to one spelling. "
            "After =, kinds of attributes: time, date, datetime, number, identifier, text or "
            "unchanged. With a source, as in =weight:acme=comma+kg, how it writes: comma, point, "
            "day first, month first or a unit.",
        },
        "alike": {
            "callback": _kinds_of_alike, "metavar": "[=KIND|=ATTRIBUTE=KIND,...|=no]",
            "help": "Merge values that say the same, and count those that say less as brief forms "
            "of fuller ones; done by default where values are normalised. After =, how to compare "
            "them: words, spellings, people or numbers.",
        },
        "hierarchy": {
            "metavar": "TABLE",
            "help": "A table of values and their parents, such as towns and regions: a claim of a "
            "region counts for each place in it.",
        },
        "no_value": {
            "multiple": True, "metavar": "TEXT",
            "help": "A text that means that there is no value, e.g. k.A.; may be given repeatedly.",
        },
        "known": {
            "metavar": "TRUTHS",
            "help": "Known truths: their items keep them, and sources are judged by them.",
        },
        "truth": {"metavar": "TRUTH", "help": "Known truths to measure against."},
        "truth_columns": {
            "callback": _pairs, "metavar": "PART=COLUMN,...",
            "help": "Which column of the known truths plays which part, e.g. "
            "entity=id,value=gold.",
        },
    },
    "Answer": {
        "algorithm": {
            "cls": AlgorithmOption, "callback": _algorithm_name, "metavar": "NAME",
            "help": "The algorithm; veracity, or gtm for numbers, by default.",
        },
        "algorithms": {
            "callback": _algorithm_names, "metavar": "NAME,...",
            "help": "Which algorithms; all that are for this kind of claims by default.",
        },
        "parameters": {
            "multiple": True, "metavar": "NAME=VALUE",
            "help": "A setting, e.g. strength=2 or seed=7; may be given repeatedly.",
        },
        "grid": {
            "multiple": True, "required": True, "metavar": "NAME=VALUE,...",
            "help": "Values to try for a parameter; of several, all combinations are tried.",
        },
        "folds": {
            "type": click.IntRange(min=2), "default": 5, "show_default": True, "metavar": "N",
            "help": "Number of parts into which the truths are cut.",
        },
        "prior": {
            "metavar": "TABLE",
            "help": "What is known of sources, in columns source, kind, tpr, fpr and fixed.",
        },
        "source_features": {
            "metavar": "TABLE",
            "help": "Features of sources: a column with their names, others with numbers or text.",
        },
        "item_features": {
            "metavar": "TABLE",
            "help": "Features of items: columns entity and, where it is needed, attribute, others "
            "with numbers or text.",
        },
        "rules": {
            "metavar": "FILE",
            "help": "Rules between the values of an entity, as a TOML file: see the page Rules.",
        },
        "min_plausibility": {
            "type": PROBABILITY, "metavar": "P",
            "help": "Leave the value empty where it is less plausible than this.",
        },
        "withdrawn": {
            "metavar": "CLAIMS",
            "help": "Claims to take back: all that the source of a row claims of its item.",
        },
        "half_life": {
            "metavar": "N|TIME",
            "help": "What was learned before counts half after N new claims, or after a time such "
            "as 1d or 12h, if claims have times.",
        },
        "settle": {
            "is_flag": True,
            "help": "Then learn again from all claims at hand; the result lists all of them.",
        },
        "seed": {
            "type": click.IntRange(min=0), "metavar": "N",
            "help": "Seed of what is drawn at random.",
        },
        "budget": {
            "type": click.IntRange(min=1), "default": 10, "show_default": True, "metavar": "N",
            "help": "Number of items that can be looked up.",
        },
        "enough": {
            "type": SHARE, "metavar": "P",
            "help": "Share of the other items that has to be right.",
        },
        "threshold": {
            "type": PROBABILITY, "metavar": "P",
            "help": "For --kind multiple: plausibility from which a value counts as true.",
        },
        "tolerance": {
            "type": click.FloatRange(min=0.0), "metavar": "X",
            "help": "For --kind numeric: distance from the truth up to which an estimate is near.",
        },
    },
    "Engine": {
        "engine": {
            "type": click.Choice(["local", "spark"]), "default": "local", "show_default": True,
            "metavar": "NAME", "help": "Where the work is done: local, or spark.",
        },
        "master": {
            "metavar": "URL",
            "help": "Spark's cluster; local[*], this machine with all its cores, by default.",
        },
        "threads": {
            "type": click.IntRange(min=1), "callback": _used_threads, "is_eager": True,
            "metavar": "N",
            "help": "Number of threads; as many as there are cores by default.",
        },
        "memory": {
            "metavar": "AMOUNT",
            "help": "Memory to use, e.g. 8GB; claims that need more are processed on disk. What is "
            "free by default.",
        },
        "spill": {
            "type": click.Path(path_type=Path, file_okay=False), "metavar": "FOLDER",
            "help": "The folder for that; the one for temporary files by default. It is emptied "
            "afterwards.",
        },
        "workers": {
            "type": click.IntRange(min=1), "metavar": "N",
            "help": "Number of processes; as many as there are cores by default.",
        },
    },
    "Output": {
        "out": {
            "type": click.Path(path_type=Path), "metavar": "FILE",
            "help": f"File for the table: {ENDINGS}.",
        },
        "figure": {
            "type": click.Path(path_type=Path), "metavar": "FILE",
            "help": "Also draw it, as .svg, .png, .pdf or .html.",
        },
        "force": {
            "is_flag": True,
            "help": "Replace what exists: a file, a folder that veracity wrote, or tables of "
            "others in a database.",
        },
        "fail_on": {
            "multiple": True, "metavar": "FINDING", "callback": _names_of_findings,
            "help": "End with exit code 3 if there is this finding, such as changed-source; or any "
            "that is serious. May be given repeatedly. The result is written all the same.",
        },
        "as_json": {"is_flag": True, "help": "Print JSON, for programs."},
        "plausibility": {
            "is_flag": True,
            "help": "For records: a column of plausibilities beside each attribute.",
        },
        "table": {
            "default": "truths", "show_default": True, "metavar": "NAME",
            "help": "truths, facts, sources, claims (who claims what), records (one row per "
            "entity, one column per attribute), attributes (sources by attribute), findings, "
            "copies, alternatives, features, changes (by --normalise), history (by batch of "
            "claims), rules; of labels, confusions, probabilities, difficulty.",
        },
        "entity": {
            "metavar": "E", "help": "For decision: of which entity; or which binary fact.",
        },
        "attribute": {"metavar": "A", "help": "For decision: which attribute of it."},
    },
}  # fmt: skip
"""Settings of each option, by group and by its name in Python."""

TABLE = ("columns", "wide", "source_from", "samples", "encoding")
"""Options of a table whose values are written as in an earlier run."""

CLAIMS = ("kind", *TABLE, "normalise", "no_value")
"""Options of new claims."""

ALIKE = ("alike", "hierarchy")
"""Options of values that are alike."""

LOCAL = ("threads", "memory", "spill")
ENGINE = ("engine", "master", *LOCAL)

run_argument = click.argument("run")
claims_argument = click.argument("paths", nargs=-1, required=True, metavar="PATH...")
result_option = option(
    "out",
    type=str,
    metavar="RUN|FILE|ADDRESS",
    help=f"Folder to write the result to; or a file for the truths alone: {ENDINGS}; or the "
    "address of a database for its tables, with #SCHEMA behind it if wanted.",
)


# --- what they stand for --------------------------------------------------------------------------


def pairs_of(given: Sequence[str], flag: str) -> dict[str, str]:
    """Split pairs such as ``strength=2`` of an option that may be given several times."""
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise click.UsageError(f"{flag}: {text!r} is not of the form strength=2")
        if name.strip() in pairs:
            raise click.UsageError(f"{flag} names {name.strip()} twice")
        pairs[name.strip()] = value
    return pairs


def seed_of(settings: dict[str, str]) -> int | None:
    """Remove the seed from the settings and return it."""
    text = settings.pop("seed", None)
    if text is not None and not text.strip().isdecimal():
        raise click.UsageError(f"--set seed must be a whole number, at least 0, got {text!r}")
    return None if text is None else int(text)


def chosen_claims(paths: Sequence[str]) -> Any:
    """Return a single path, or a list of several paths."""
    return paths[0] if len(paths) == 1 else list(paths)


def chosen_engine(options: dict[str, Any]) -> Any:
    """Remove the options of the engine, and return the engine."""
    from veracity.engines import Local

    name, master = options.pop("engine", "local"), options.pop("master", None)
    local = {name: options.pop(name, None) for name in LOCAL}
    if name == "local":
        if master is not None:
            raise click.UsageError("--master is for --engine spark")
        return Local(**local)
    from veracity.engines.spark import Spark

    given = [f"--{name}" for name, value in local.items() if value is not None]
    if given:
        raise click.UsageError(f"{given[0]} is for --engine local; Spark has settings of its own")
    return Spark(master=master or "local[*]")


def chosen_reading(options: dict[str, Any]) -> dict[str, Any]:
    """Remove and return the options that say how claims are read: see `ReadArguments`."""
    given: dict[str, Any] = {
        name: options.pop(name) for name in (*CLAIMS, *ALIKE) if name in options
    }
    if isinstance(given.get("normalise"), dict):
        given["normalise"] = _kinds_by_attribute(given["normalise"])
    return {**given, "columns": given["columns"] or {}}


def _kinds_by_attribute(given: dict[str, str]) -> dict[str, Any]:
    """Return the kind of each attribute, or the formats of its sources."""
    from veracity.reading.normalise import VALUE_KINDS

    kinds: dict[str, Any] = {}
    form: str | dict[str, str]
    for name, kind in given.items():
        attribute, colon, source = name.partition(":")
        if not colon or kind in VALUE_KINDS:
            attribute, form = name, kind
        else:
            form = {source: kind.replace("+", ", ")}
        known = kinds.setdefault(attribute, form)
        if isinstance(known, dict) and isinstance(form, dict):
            known.update(form)
        elif known is not form:
            raise click.UsageError(
                f"--normalise gives {attribute} a kind and formats of its sources; give one"
            )
    return kinds


def being_read(claims: Any, how: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Read a Parquet file on another thread while modules are loaded.

    Return the claims, and the options that opening them still needs.
    """
    is_file = isinstance(claims, str) and claims.endswith(".parquet") and os.path.isfile(claims)  # noqa: PTH113
    if not is_file or how["normalise"] is not False or how.get("alike"):
        return claims, how
    options = importlib.import_module("veracity.reading.options").ReadOptions(**how)
    stream = importlib.import_module("veracity.reading.claims").open_claims(claims, options)
    stream.begin()
    return stream, {"kind": how["kind"]}


def exit_code(findings: Iterable[Mapping[str, Any]], fail_on: Sequence[str]) -> int:
    """Return the exit code of a command that gave these findings; say why if it is not 0."""
    failed = [one["name"] for one in findings if {one["name"], one["severity"]} & set(fail_on)]
    if failed:
        click.echo(f"--fail-on: found {', '.join(failed)}", err=True)
    return FAILED if failed else 0
