"""Claims that are mostly sound, with few odd things, through chains of commands.

What a command refuses at once tells little, so most of a case is sound: one name, one column, one
option is not. A case is made from numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from attack import forms
from attack.case import Case, Command
from attack.forms import AMOUNTS, NUMBERS, ODD, plain
from attack.options import ENDINGS, FIGURES, TABLES
from veracity.algorithms.catalogue import CATALOGUE, algorithm_named
from veracity.algorithms.parameters import settable
from veracity.cli.options import KIND_NAMES

FOR_NUMBERS = ("gtm", "crh", "catd", "ltd-rbm-n")
QUICK = tuple(name for name in CATALOGUE if name not in ("veracity", "ltm", *FOR_NUMBERS))
EXTRA = ("", "", "", "when", "weight", "note", "updated_at", "values", "site")


@dataclass
class Claims:
    """Claims, and the names in them."""

    kind: str
    rows: list[dict[str, Any]]
    names: dict[str, list[Any]]


def some_claims(rng: random.Random, spice: float) -> Claims:
    """Return claims on which sources differ; a share of the names is odd."""
    kind, extra = rng.choice(KIND_NAMES), rng.choice(EXTRA)

    def names(letter: str, most: int) -> list[Any]:
        plain = [f"{letter}{number}" for number in range(rng.randint(1, most))]
        odd = (*ODD, "".join(rng.choices(ODD, k=2)))
        return [rng.choice(odd) if rng.random() < spice else name for name in plain]

    pools = {
        "source": names("s", rng.choice((2, 6, 15))),
        "entity": names("e", rng.choice((1, 5, 25))),
        "attribute": names("p", 3),
        "value": names("v", rng.choice((2, 4, 30))),
    }
    if kind == "numeric":
        numbers = (rng.choice(NUMBERS), str(rng.gauss(50, 9)), str(rng.randrange(100)))
        pools["value"] = [rng.choice(numbers) for _ in range(9)]
    if kind == "binary":
        pools["value"] = list(rng.choice(("true false", "1 0", "yes no", "TRUE False")).split())
    attributes = pools["attribute"] if rng.random() < 0.4 else [None]
    rows = []
    for source in pools["source"]:
        for entity in pools["entity"]:
            for attribute in attributes:
                row = {"source": source, "entity": entity, "attribute": attribute}
                if attribute is None:
                    del row["attribute"]
                row["value"] = rng.choice(pools["value"][: rng.choice((1, 2, 30))])
                if extra:
                    row[extra] = rng.choice(("1", "2", "0.5", "2024-01-01", rng.choice(AMOUNTS)))
                if rng.random() < 0.8:
                    rows.append(row)
    rng.shuffle(rows)
    return Claims(kind, rows, pools)


# --- tables beside the claims ---------------------------------------------------------------------

Table = list[dict[str, Any]]


def truths(rng: random.Random, claims: Claims) -> Table:
    """Return known truths, some of nobody's items or values."""
    keys = [name for name in ("entity", "attribute") if claims.rows and name in claims.rows[0]]
    items = list({tuple(row[key] for key in keys): None for row in claims.rows})
    values = [*claims.names["value"], rng.choice(ODD)]
    return [
        dict(zip(keys, item, strict=True)) | {"value": rng.choice(values)}
        for item in rng.sample(items, min(len(items), rng.choice((1, 3, 50))))
    ]


def priors(rng: random.Random, claims: Claims) -> Table:
    """Return what is known of some sources."""
    rates = ("0.5", "0.9", "0.7", "0.2", "0", "1", "", rng.choice(("1e-300", "nan", "2", "x")))
    return [
        {"source": source, "kind": rng.choice(("", "k", "\x1b[31m")), "tpr": rng.choice(rates),
         "fpr": rng.choice(rates), "fixed": rng.choice(("true", "false", ""))}
        for source in claims.names["source"][:2]
    ]  # fmt: skip


def features(rng: random.Random, claims: Claims, of: str) -> Table:
    """Return features of sources or entities."""
    odd = rng.choice(("age", "", "=1+1", "source_", "\x1b[31m"))
    names = dict.fromkeys(map(str, claims.names[of]))
    return [{of: name, odd: rng.choice(AMOUNTS), "sort": rng.choice(ODD)} for name in names]


def beside(rng: random.Random, claims: Claims, files: dict[str, bytes]) -> list[str]:
    """Add tables beside the claims to the files, and return the options that name them."""
    makers = {
        "--known": lambda: truths(rng, claims),
        "--prior": lambda: priors(rng, claims),
        "--source-features": lambda: features(rng, claims, "source"),
        "--item-features": lambda: features(rng, claims, "entity"),
    }
    fit = ["--known"] if claims.kind == "numeric" else sorted(makers)
    given: list[str] = []
    for option in rng.sample(fit, min(len(fit), rng.choice((0, 0, 0, 1, 1, 2)))):
        name = f"{option[2:]}.{rng.choice(('csv', 'csv', 'jsonl', 'parquet'))}"
        files[name] = plain(makers[option](), name)
        given += [option, name]
    return given


# --- the commands ---------------------------------------------------------------------------------


def reading(rng: random.Random, claims: Claims) -> list[str]:
    """Return options of reading that mostly suit the claims."""
    given: list[str] = []
    columns = claims.rows[0] if claims.rows else {}
    if "when" in columns and rng.random() < 0.7:
        given += ["--columns", f"{rng.choice(('time', 'weight', 'value'))}=when"]
    if "weight" in columns and rng.random() < 0.7:
        given += ["--columns", "weight=weight"]
    attribute = rng.choice(claims.names["attribute"])
    chances: tuple[tuple[float, Command], ...] = (
        (0.04, ("--samples",)),
        (0.2, ("--normalise",)),
        (0.04, (f"--normalise={attribute}={rng.choice(('time', 'date', 'number', 'text'))}",)),
        (0.04, ("--wide", rng.choice(("attributes", "sources", "samples")))),
    )
    return given + [word for chance, said in chances if rng.random() < chance for word in said]


def answering(rng: random.Random, kind: str) -> list[str]:
    """Return options of answering that mostly suit the claims."""
    names = FOR_NUMBERS if kind == "numeric" else tuple(CATALOGUE)
    chances: tuple[tuple[float, Command], ...] = (
        (0.1, ("--min-plausibility", rng.choice(("0", "1", "0.5")))),
        (0.1, ("--set", rng.choice(("seed=0", "seed=7", "seed=18446744073709551616")))),
        (0.1, ("--threads", rng.choice(("1", "2", "64")))),
        (0.1, ("--memory", rng.choice(("1KB", "20KB", "1GB", "1e3MB")))),
        (0.6, ("--algorithm", rng.choice(names))),
    )
    return [word for chance, said in chances if rng.random() < chance for word in said]


def onwards(rng: random.Random, claims: Claims, name: str) -> list[Command]:
    """Return commands on a run, by the names that are in it."""
    entity, attribute = (str(rng.choice(claims.names[key])) for key in ("entity", "attribute"))
    suffix = rng.choice(("svg", "svg", "svg", "png", "html", "pdf"))
    ending, figure = rng.choice(ENDINGS), rng.choice(FIGURES)
    of_it: Command = ("--entity", entity) if figure == "decision" else ()
    against: Command = ("--truth", "truth.csv") if figure in ("calibration", "accuracy") else ()
    is_json: Command = rng.choice(((), ("--json",)))
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
        truth: Command = rng.choice(((), ("--truth", "truth.csv")))
        chosen.append(("report", "run", "--out", "page.html", *truth))
    return chosen


ODD_PATHS = (
    "claims [1]", "claims[", "*", "?", "~", "a\nb", "\x1b[31m", "\u202e", "\u00e9", "e\u0301", "#a",
    "a#b", "%41", "a%00", "x" * 200, "claims.csv", ".hidden", " ", "a:b", "sqlite", "COM1", "a'b",
    'a"b', "<b>", "$(x)", "a\\b",
)  # fmt: skip
"""Names of files as somebody may have given them."""


def chains(rng: random.Random) -> Case:
    """Return claims in any form, and what is done with them."""
    claims = some_claims(rng, rng.choice((0.0, 0.05, 0.3)))
    name, files, address = forms.written(rng, claims.rows, claims.kind)
    if name in files and rng.random() < 0.15:
        odd = f"{rng.choice(ODD_PATHS)}{name.removeprefix('claims')}"
        files[odd] = files.pop(name)
        name = odd
    return _through(rng, claims, name, files, address)


def hostile(rng: random.Random) -> Case:
    """Return claims of which most names are odd, or whose file is damaged."""
    claims = some_claims(rng, rng.choice((0.3, 1.0)))
    name, files, address = forms.written(rng, claims.rows, claims.kind)
    if rng.random() < 0.7:
        hit = rng.choice(sorted(files))
        files[hit] = forms.damaged(rng, files[hit])
    return _through(rng, claims, name, files, address)


def _through(
    rng: random.Random, claims: Claims, name: str, files: dict[str, bytes], address: list[str]
) -> Case:
    """Return a case of these files, through commands that read claims, and what follows."""
    files["truth.csv"] = plain(truths(rng, claims), "truth.csv")
    how = (*address, "--kind", claims.kind, *reading(rng, claims))
    more = answering(rng, claims.kind)
    first = rng.random()
    if first < 0.7:
        discover = ("discover", name, "--out", "run", *how, *more, *beside(rng, claims, files))
        return Case(files, (discover, *onwards(rng, claims, name)))
    several = ",".join(rng.sample(FOR_NUMBERS if claims.kind == "numeric" else QUICK, 3))
    to = ("sqlite:///made.db", "duckdb:///made.duckdb", f"t.{rng.choice(ENDINGS)}")
    commands: tuple[Command, ...] = (
        ("compare", name, *address, "--kind", claims.kind, "--algorithms", several, "--truth",
         "truth.csv"),
        ("check", name, *how),
        ("check", name, *how, "--json"),
        ("profile", name, *how, "--json"),
        ("profile", name, *how, "--truth", rng.choice(("truth.csv", name))),
        ("discover", name, *how, *more, "--json"),
        ("discover", name, *how, "--known", name, "--json"),
        ("discover", name, *how, "--out", rng.choice(to)),
        ("discover", name, *how, "--prior", name),
    )  # fmt: skip
    return Case(files, (rng.choice(commands),))


# --- parameters and shapes ------------------------------------------------------------------------

OF_TYPE: dict[type, Command] = {
    bool: ("true", "false"),
    int: ("0", "1", "2", "7", "30", "-1"),
    float: ("0", "1", "0.5", "1e-9", "1e-320", "1e308", "-1", "0.999999", "100", "1e9"),
    str: AMOUNTS,
}


def _amount(rng: random.Random, kind: Any) -> str:
    """Return a value of a parameter, mostly one of its type."""
    if rng.random() < 0.2:
        return rng.choice(AMOUNTS)
    if get_origin(kind) is Literal:
        return str(rng.choice(get_args(kind)))
    fit = next((one for one in OF_TYPE if one in (kind, *get_args(kind))), str)
    return rng.choice(OF_TYPE[fit])


def settings(rng: random.Random) -> Case:
    """Return parameters of an algorithm at their extremes, on claims that are sound."""
    claims = some_claims(rng, 0.05)
    algorithm = rng.choice(FOR_NUMBERS if claims.kind == "numeric" else tuple(CATALOGUE))
    known = settable(algorithm_named(algorithm))
    some = rng.sample(sorted(known), min(len(known), rng.choice((1, 1, 2, 3))))
    files = {"claims.csv": plain(claims.rows, "claims.csv")}
    files["truth.csv"] = plain(truths(rng, claims), "truth.csv")
    how = ("claims.csv", "--kind", claims.kind, "--algorithm", algorithm)
    if rng.random() < 0.15 and some:
        grid = f"{some[0]}={_amount(rng, known[some[0]])},{_amount(rng, known[some[0]])}"
        return Case(files, (("tune", *how, "--truth", "truth.csv", "--grid", grid),))
    given = [word for name in some for word in ("--set", f"{name}={_amount(rng, known[name])}")]
    discover = ("discover", *how, *given, "--out", "run")
    return Case(files, (discover, *onwards(rng, claims, "claims.csv")))


def shapes(rng: random.Random) -> Case:
    """Return claims that are very wide, very long in one place, or all alike."""
    n = rng.choice((1, 2, 300, 3_000))
    large = rng.choice(("x", "\x1b[31m", '"', "9", "<b>", "\n")) * 100_000
    header, row = "source,entity,value\n", "a,b,c\n"
    content = rng.choice((
        header + row * n,
        header + "".join(f"s{i},b,c\n" for i in range(n)),
        header + "".join(f"a,e{i},c\n" for i in range(n)),
        header + "".join(f"a,b,v{i}\n" for i in range(n)),
        header + "".join(f"s{i % 3},b,{10.0 ** (i % 300)}\n" for i in range(n)),
        ",".join(["source", "entity", "value", *(f"c{i}" for i in range(n))]) + "\n",
        f"source,{large},value\n{row}",
        f"{large}\n{row}",
        f"{header}a,b,{large}\nb,b,c\n",
        f"{header}{large},b,c\nb,b,c\n",
        f"{header}a,{large},c\nb,{large},d\n",
        large, "", "\n" * n, header,
    ))  # fmt: skip
    kind = rng.choice(("categorical", "multiple", "numeric"))
    claims = Claims(kind, [], {"entity": ["b", "e1"], "attribute": ["p"]})
    discover = ("discover", "claims.csv", "--kind", kind, "--out", "run")
    chain = (discover, *onwards(rng, claims, "claims.csv"))
    alone = ((("check", "claims.csv"),), (("profile", "claims.csv"),), chain, chain)
    files = {"claims.csv": content.encode(), "truth.csv": b"entity,value\nb,c\n"}
    return Case(files, rng.choice(alone))
