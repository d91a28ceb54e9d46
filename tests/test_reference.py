"""The reference says what the code says of itself."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import veracity

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
WRITTEN = runpy.run_path(str(FOLDER / "make.py"))["pages"]()


@pytest.mark.parametrize("name", WRITTEN)
def test_page_is_what_its_script_writes(name):
    page = (FOLDER / name).read_text(encoding="utf-8")
    assert page == WRITTEN[name], "run: python docs/reference/make.py"


@pytest.mark.parametrize("name", veracity.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert f"`veracity.{name}`" in WRITTEN["python.md"]


def test_every_command_is_in_the_reference():
    from veracity.cli import main

    for name in main.commands:
        assert f"## `veracity {name}`\n" in WRITTEN["cli.md"]
