"""The page itself: head, contents, parts, style and script in one file."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import PurePath
from typing import NamedTuple

from veracity._version import __version__
from veracity.show.report.gather import Findings
from veracity.show.report.markup import paragraph, text


class Section(NamedTuple):
    """A part of the page; its content is HTML."""

    anchor: str
    title: str
    content: str


def put_together(found: Findings, sections: list[Section]) -> str:
    """The page, which asks the network for nothing and runs no script but its own."""
    style, script = (_asset(name) for name in ("style.css", "script.js"))
    title = f"What is true in {_short(str(found.result.run.input.origin))}"
    links = "".join(f'<li><a href="#{s.anchor}">{text(s.title)}</a></li>' for s in sections)
    parts = "".join(
        f'<section id="{s.anchor}" aria-labelledby="{s.anchor}-title">'
        f'<h2 id="{s.anchor}-title">{text(s.title)}</h2>{s.content}</section>'
        for s in sections
    )
    missing = paragraph(found.drawn.missing, "missing") if found.drawn.missing else ""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">
<meta name="generator" content="veracity {text(__version__)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,"><title>{text(title)}</title>
<style>{style}</style></head><body>
<a class="skip" href="#summary">Skip to the summary</a>
<header><h1>{text(title)}</h1>{missing}
<nav aria-label="Parts of this report"><ul>{links}</ul></nav></header>
<main>{parts}</main>
<footer><p>Written by veracity {text(__version__)}. This page needs no network.</p></footer>
<script>{script}</script></body></html>
"""


def _policy(script: str) -> str:
    """What the browser may do with the page: show it, and run this very script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _short(origin: str) -> str:
    """The file's name; "the claims" if there was no file."""
    return "the claims" if origin.startswith("the ") else PurePath(origin).name or origin


def _asset(name: str) -> str:
    return files("veracity.show.report").joinpath(name).read_text(encoding="utf-8").strip()
