"""One page a study: what was done, what was found, figures and tables, in one file."""

from __future__ import annotations

import json
import math
import re
import shlex
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from veracity.io.atomic import atomic_file
from veracity.study.base import Study

OPTIONS = (
    "algorithms", "coarse", "datasets", "draws", "fixed", "known_only", "most", "only_first",
    "parameters", "repeats", "seed", "synthetic",
)  # fmt: skip
"""The settings that the command has options for."""

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
       color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; }
figure { margin: 1.5rem 0; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.table { max-height: 30rem; overflow: auto; }
thead th { position: sticky; top: 0; background: #fff; }
footer { margin-top: 3rem; color: #555; font-size: .9rem; }
"""


def write_page(
    target: Path,
    study: Study,
    tables: dict[str, pl.DataFrame],
    drawn: dict[str, str],
    made: dict[str, Any],
) -> Path:
    """Write the page of a study, given its figures as SVG; it loads nothing from anywhere."""
    findings = "".join(f"<li>{escape(finding)}</li>" for finding in study.findings(tables))
    figures = "".join(
        f'<figure role="img" aria-label="{escape(_title(name))}">{_apart(svg, number)}</figure>'
        for number, (name, svg) in enumerate(drawn.items())
    )
    shown = "".join(
        f'<h3>{escape(_title(name))}</h3><div class="table" tabindex="0">{_table(table)}</div>'
        for name, table in tables.items()
    )
    settings = escape(json.dumps(made["settings"], indent=1))
    machine = ", ".join(f"{name} {value}" for name, value in made["machine"].items())
    page = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(study.title)}</title><style>{STYLE}</style></head><body>
<h1>{escape(study.title)}</h1><p>{escape(study.about)}</p>
<h2>Findings</h2><ul>{findings}</ul>
<h2>Figures</h2>{figures}
<h2>Tables</h2>{shown}
<footer><p>Made by veracity {escape(str(made["veracity"]))} with
<code>{escape(_command(study))}</code>, started {escape(made["started"])}, on
{escape(machine)}.</p><details><summary>Settings</summary><pre>{settings}</pre></details></footer>
</body></html>
"""
    with atomic_file(target) as file:
        file.write_text(page, encoding="utf-8")
    return target


def _command(study: Study) -> str:
    """What to type, or to write in Python where the command has no option for a setting."""
    words, options = ["veracity", "study", study.name], []
    for field in fields(study):
        value = getattr(study, field.name)
        if isinstance(value, tuple) and field.name == "datasets":
            words += value
        elif value == (
            field.default_factory() if callable(field.default_factory) else field.default
        ):
            continue
        elif field.name not in OPTIONS:
            return repr(study)
        else:
            options += _option(field.name, value)
    return shlex.join([*words, *options, "--out", "study/"])


def _option(name: str, value: object) -> list[str]:
    """A setting as words of the command."""
    option = "--fix" if name == "fixed" else f"--{name.replace('_', '-')}"
    if isinstance(value, dict):
        return [word for key, one in value.items() for word in (option, f"{key}={one}")]
    if value is True:
        return [option]
    return [option, ",".join(value) if isinstance(value, tuple) else str(value)]


def _apart(svg: str, number: int) -> str:
    """A figure whose names are its own, so that several can share a page."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>figure{number}-", svg)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _table(table: pl.DataFrame) -> str:
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>"
        for row in table.iter_rows()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: object) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else ""
    return f"{value:,}" if isinstance(value, int) else escape(str(value))
