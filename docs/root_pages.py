"""Add to the site the pages at the root of the repository, and the reference."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
PAGES_OF_ROOT = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root, with links as they are from inside docs/, and the reference."""
    for name in PAGES_OF_ROOT:
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name.lower(), content=text))
    reference = runpy.run_path(str(ROOT / "docs" / "reference.py"))["pages"]()
    for name, text in reference.items():
        files.append(File.generated(config, f"reference/{name}", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links that leave docs/ lead to the pages of the root."""
    for name in PAGES_OF_ROOT:
        markdown = markdown.replace(f"](../{name})", f"]({name.lower()})")
    return markdown
