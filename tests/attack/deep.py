"""Cases that get past the door: sound claims with few odd things, through long chains of commands.

Each is drawn from a number, quickly and without favour for what is small. What a command refuses at
once tells little, so most of a case is sound: one name, one column, one option is not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin

from attack import odd_files
from attack.case import Case
from attack.names import ODD
from veracity.algorithms.catalogue import CATALOGUE, algorithm_named
from veracity.algorithms.parameters import settable
from veracity.cli.options import KIND_NAMES

Command = tuple[str, ...]
Row = dict[str, Any]

FOR_NUMBERS = ("gtm", "crh", "catd", "ltd-rbm-n")
FIGURES = ("sources", "agreement", "confusions", "plausibility", "decision")
AGAINST = ("calibration", "accuracy")
TABLES = ("truths", "facts", "sources", "records", "copies", "changes", "confusions",
          "probabilities", "difficulty")  # fmt: skip
ENDINGS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet")
NUMBERS = (
    "0",
    "-0.0",
    "1",
    "2.5",
    "3",
    "1e6",
    "-7",
    "1e154",
    "1e-300",
    "12,5",
    "1 000",
    "99999999",
)
AMOUNTS = ("0", "1", "-1", "0.5", "2", "1.5", "nan", "inf", "-inf", "1e308", "1e-320", "1e-9",
           "9223372036854775808", "1e400", "", "none", "x", "true", "1_0", "٣")  # fmt: skip


@dataclass
class Claims:
    """Claims, and the names in them."""

    kind: str
    rows: list[Row]
    names: dict[str, list[Any]] = field(default_factory=dict)


def _some_claims(rng: random.Random) -> Claims:
    """Claims on which sources differ; now and then a name is odd."""
    kind = rng.choice(KIND_NAMES)
    spice = rng.choice((0.0, 0.05, 0.3))

    def names(letter: str, most: int) -> list[Any]:
        plain = [f"{letter}{number}" for number in range(rng.randint(1, most))]
        return [rng.choice(ODD) if rng.random() < spice else name for name in plain]

    pools = {
        "source": names("s", rng.choice((2, 6, 15))),
        "entity": names("e", rng.choice((1, 5, 25))),
    }
    pools["attribute"] = names("p", 3)
    pools["value"] = names("v", rng.choice((2, 4, 30)))
    if kind == "numeric":
        pools["value"] = [
            rng.choice(NUMBERS) if rng.random() < 0.3 else str(rng.gauss(50, 9)) for _ in range(9)
        ]
    if kind == "binary":
        pools["value"] = rng.choice(
            (["true", "false"], ["1", "0"], ["yes", "no"], ["TRUE", "False"])
        )
    has_attributes = rng.random() < 0.4
    rows = [
        {"source": source, "entity": entity, **({"attribute": attribute} if has_attributes else {}),
         "value": rng.choice(pools["value"][: rng.choice((1, 2, 30))])}
        for source in pools["source"]
        for entity in pools["entity"]
        for attribute in (pools["attribute"] if has_attributes else [None])
        if rng.random() < 0.8
    ]  # fmt: skip
    rng.shuffle(rows)
    _with_parts(rng, rows)
    return Claims(kind, rows, pools)


def _with_parts(rng: random.Random, rows: list[Row]) -> None:
    """Columns beside: times, weights, and what has no part."""
    extra = rng.choice(("", "", "", "when", "weight", "note", "updated_at", "values", "site"))
    for row in rows:
        if extra:
            row[extra] = rng.choice(("1", "2", "0.5", "2024-01-01", rng.choice(AMOUNTS)))


# --- the commands ---------------------------------------------------------------------------------


def _algorithm(rng: random.Random, kind: str) -> Command:
    names = FOR_NUMBERS if kind == "numeric" else tuple(CATALOGUE)
    return () if rng.random() < 0.4 else ("--algorithm", rng.choice(names))


def _how(rng: random.Random, claims: Claims) -> list[str]:
    """Options of reading and answering that are mostly fit."""
    given: list[str] = []
    columns = claims.rows[0] if claims.rows else {}
    if "when" in columns and rng.random() < 0.7:
        given += ["--columns", f"{rng.choice(('time', 'weight', 'value'))}=when"]
    if "weight" in columns and rng.random() < 0.7:
        given += ["--columns", "weight=weight"]
    attribute = rng.choice(claims.names["attribute"])
    chances: tuple[tuple[float, tuple[str, ...]], ...] = (
        (0.04, ("--samples",)),
        (0.2, ("--normalise",)),
        (0.04, (f"--normalise={attribute}={rng.choice(('time', 'date', 'number', 'text'))}",)),
        (0.1, ("--min-plausibility", rng.choice(("0", "1", "0.5")))),
        (0.1, ("--set", rng.choice(("seed=0", "seed=7", "seed=18446744073709551616")))),
        (0.1, ("--threads", rng.choice(("1", "2", "64")))),
        (0.1, ("--memory", rng.choice(("1KB", "20KB", "1GB", "1e3MB")))),
    )
    for chance, options in chances:
        if rng.random() < chance:
            given += options
    return given


def _beside(rng: random.Random, claims: Claims, files: dict[str, bytes]) -> list[str]:
    """Tables beside the claims, of the claims' own names: truths, priors, features."""
    given: list[str] = []
    fit = ["--known"] if claims.kind == "numeric" else sorted(TABLES_BESIDE)
    for option in rng.sample(fit, min(len(fit), rng.choice((0, 0, 0, 1, 1, 2)))):
        header, cells = TABLES_BESIDE[option](rng, claims)
        name = f"{option[2:]}.{rng.choice(('csv', 'csv', 'jsonl', 'parquet'))}"
        rows = [dict(zip(header, row, strict=True)) for row in cells]
        files[name] = odd_files.plain(rows, name)
        given += [option, name]
    return given


def truths(rng: random.Random, claims: Claims) -> tuple[list[str], list[list[str]]]:
    """Known truths, some of nobody's items or values."""
    keys = sorted({(str(r["entity"]), str(r.get("attribute"))) for r in claims.rows})
    has_attributes = bool(claims.rows) and "attribute" in claims.rows[0]
    chosen = rng.sample(keys, min(len(keys), rng.choice((1, 3, 50))))
    values = [*claims.names["value"], rng.choice(ODD)]
    rows = [[*key[: 1 + has_attributes], str(rng.choice(values))] for key in chosen]
    if rng.random() < 0.2:
        rows += rows[:1]
    header = ["entity", *(["attribute"] * has_attributes), "value"]
    return header, rows


def _priors(rng: random.Random, claims: Claims) -> tuple[list[str], list[list[str]]]:
    rates = ("0.5", "0.9", "0.7", "0.2", "0", "1", "", rng.choice(("1e-300", "nan", "2", "x")))
    kinds, fixed = ("", "k", "\x1b[31m"), ("true", "false", "")
    rows = [
        [str(source), *(rng.choice(cells) for cells in (kinds, rates, rates, fixed))]
        for source in rng.sample(claims.names["source"], min(2, len(claims.names["source"])))
    ]
    return ["source", "kind", "tpr", "fpr", "fixed"], rows


def _of_sources(rng: random.Random, claims: Claims) -> tuple[list[str], list[list[str]]]:
    header = ["source", rng.choice(("age", "", "=1+1", "source_", "\x1b[31m")), "land"]
    names = [*dict.fromkeys(map(str, claims.names["source"]))]
    return header, [[name, rng.choice(AMOUNTS), rng.choice(ODD)] for name in names]


def _of_items(rng: random.Random, claims: Claims) -> tuple[list[str], list[list[str]]]:
    names = [*dict.fromkeys(map(str, claims.names["entity"]))]
    return ["entity", "size", "sort"], [[n, rng.choice(AMOUNTS), rng.choice(ODD)] for n in names]


TABLES_BESIDE = {
    "--known": truths,
    "--prior": _priors,
    "--source-features": _of_sources,
    "--item-features": _of_items,
}


def _onwards(rng: random.Random, claims: Claims, name: str) -> list[Command]:
    """What is done with a run, by the names that are in it."""
    entity, attribute = (
        str(rng.choice(claims.names["entity"])),
        str(rng.choice(claims.names["attribute"])),
    )
    suffix = rng.choice(("svg", "svg", "svg", "png", "html", "pdf"))
    ending, figure = rng.choice(ENDINGS), rng.choice((*FIGURES, *AGAINST))
    of_it: Command = ("--entity", entity) if figure == "decision" else ()
    against: Command = ("--truth", "truth.csv") if figure in AGAINST else ()
    is_json = rng.choice(((), ("--json",)))
    choices: list[Command] = [
        ("ask", "run", *is_json, "--budget", rng.choice(("1", "3", "1000000"))),
        ("explain", "run", *is_json, "--", entity),
        ("explain", "run", *is_json, "--", entity, attribute),
        ("evaluate", "run", "truth.csv", *is_json),
        ("evaluate", "run", name, *is_json),
        ("plot", "run", figure, "--out", f"figure.{suffix}", *of_it, *against),
        ("judge", "run", name, "--out", rng.choice(("judged", f"judged.{ending}"))),
        ("update", "run", name, "--out", rng.choice(("updated", f"updated.{ending}")), *is_json),
        ("export", "run", f"table.{ending}", "--table", rng.choice(TABLES)),
        ("export", "run", f"records.{ending}", "--table", "records", "--plausibility"),
        ("diff", "run", "run", *is_json),
        ("discover", f"run/{rng.choice(TABLES[:3])}.parquet", "--out", "again"),
    ]
    chosen = rng.sample(choices, rng.choice((1, 2, 4)))
    if chosen[-1][:2] == ("update", "run") and "updated" in chosen[-1]:
        chosen.append(("diff", "run", "updated", "--out", f"changes.{ending}"))
    if rng.random() < 0.06:
        chosen.append(
            ("report", "run", "--out", "page.html", *rng.choice(((), ("--truth", "truth.csv"))))
        )
    return chosen


def chains(rng: random.Random) -> Case:
    """Claims in any form, and what is done with them."""
    claims = _some_claims(rng)
    name, files, address = odd_files.written(rng, claims.rows, claims.kind)
    if name in files and rng.random() < 0.15:
        odd = f"{rng.choice(ODD_PATHS)}{name.removeprefix('claims')}"
        files[odd] = files.pop(name)
        name = odd
    files["truth.csv"] = _known(rng, claims)
    how = [*address, "--kind", claims.kind, *_how(rng, claims)]
    reading = [part for part in how if part not in ("--min-plausibility", "--set", "--threads")]
    first = rng.random()
    if first < 0.7:
        beside = _beside(rng, claims, files)
        to: Command = ("--out", "run")
        discover = ("discover", name, *to, *how, *beside, *_algorithm(rng, claims.kind))
        return Case(files, (discover, *_onwards(rng, claims, name)))
    if first < 0.75:
        several = rng.sample(QUICK if claims.kind != "numeric" else FOR_NUMBERS, 3)
        return Case(
            files,
            (
                (
                    "compare",
                    name,
                    *address,
                    "--kind",
                    claims.kind,
                    "--algorithms",
                    ",".join(several),
                    "--truth",
                    "truth.csv",
                ),
            ),
        )
    command = rng.choice(("check", "profile", "discover", "discover"))
    ends: dict[str, Command] = {
        "check": rng.choice(((), ("--json",))),
        "profile": rng.choice(((), ("--json",), ("--truth", "truth.csv"))),
        "discover": rng.choice(
            (("--json",), ("--out", "sqlite:///made.db"), ("--out", "duckdb:///made.duckdb"),
             ("--out", f"t.{rng.choice(ENDINGS)}"))
        ),
    }  # fmt: skip
    only = how if command == "discover" else _for_reading(reading)
    return Case(files, ((command, name, *only, *ends[command]),))


ODD_PATHS = (
    "claims [1]", "claims[", "*", "?", "~", "a\nb", "\x1b[31m", "\u202e", "\u00e9", "e\u0301", "#a",
    "a#b", "%41", "a%00", "x" * 200, "claims.csv", ".hidden", " ", "a:b", "sqlite", "COM1", "a'b",
    'a"b', "<b>", "$(x)", "a\\b",
)  # fmt: skip
"""Names of files as somebody may have given them."""

QUICK = tuple(name for name in CATALOGUE if name not in ("veracity", "ltm", *FOR_NUMBERS))
ANSWERING = ("--min-plausibility", "--set", "--threads", "--memory")


def _for_reading(how: list[str]) -> list[str]:
    """Options without those that are of answers alone."""
    kept: list[str] = []
    skips = False
    for part in how:
        if skips:
            skips = False
        elif part in ANSWERING:
            skips = True
        else:
            kept.append(part)
    return kept


# --- parameters -----------------------------------------------------------------------------------


def _amount(rng: random.Random, kind: Any) -> str:
    """A value of a parameter: mostly one of its type."""
    if rng.random() < 0.2:
        return rng.choice(AMOUNTS)
    if get_origin(kind) is Literal:
        return rng.choice(get_args(kind))
    return rng.choice(
        OF_TYPE[next((one for one in OF_TYPE if one in (kind, *get_args(kind))), str)]
    )


OF_TYPE: dict[type, tuple[str, ...]] = {
    bool: ("true", "false"),
    int: ("0", "1", "2", "7", "30", "-1"),
    float: ("0", "1", "0.5", "1e-9", "1e-320", "1e308", "-1", "0.999999", "100", "1e9"),
    str: AMOUNTS,
}


def settings(rng: random.Random) -> Case:
    """Every parameter of every algorithm at its extremes, on claims that are sound."""
    claims = _some_claims(rng)
    kind = claims.kind
    algorithm = rng.choice(FOR_NUMBERS if kind == "numeric" else tuple(CATALOGUE))
    known = settable(algorithm_named(algorithm))
    names = sorted(known)
    given: list[str] = []
    for name in rng.sample(names, min(len(names), rng.choice((1, 1, 2, 3)))):
        given += ["--set", f"{name}={_amount(rng, known[name])}"]
    files = {"claims.csv": odd_files.plain(claims.rows, "claims.csv")}
    files["truth.csv"] = _known(rng, claims)
    how = ("claims.csv", "--kind", kind, "--algorithm", algorithm)
    if rng.random() < 0.15 and names:
        name = rng.choice(names)
        grid = f"{name}={_amount(rng, known[name])},{_amount(rng, known[name])}"
        return Case(files, (("tune", *how, "--truth", "truth.csv", "--grid", grid),))
    discover = ("discover", *how, *given, "--out", "run")
    return Case(files, (discover, *_onwards(rng, claims, "claims.csv")))


def _known(rng: random.Random, claims: Claims) -> bytes:
    header, rows = truths(rng, claims)
    return odd_files.plain([dict(zip(header, r, strict=True)) for r in rows], "truth.csv")
