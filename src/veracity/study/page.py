"""Page of a study in one file: method, findings, figures and tables."""

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
    """Write the page of a study, given its figures as SVG; the page loads no other files."""
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
    """Return the command of a study; Python code if a setting cannot be typed."""
    words, options = shlex.split(study.command or f"veracity study {study.name}"), []
    for field in fields(study):
        value = getattr(study, field.name)
        usual = field.default_factory() if callable(field.default_factory) else field.default
        if field.name == "datasets" and isinstance(value, tuple):
            words += value
        elif value != usual:
            entries = value if isinstance(value, dict) else {"": value}
            if any(not isinstance(one, int | float | str | tuple) for one in entries.values()):
                return repr(study)
            for key, one in entries.items():
                name = f"{field.name}.{key}" if key else field.name
                options += ["--set", f"{name}={_typed(one)}"]
    return shlex.join([*words, *options, "--out", "study/"])


def _typed(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _apart(svg: str, number: int) -> str:
    """Return a figure with unique names, so that several can share a page."""
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
