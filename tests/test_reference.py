"""The reference says what the code says of itself."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import veracity

MADE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "reference.py"))["pages"]()


@pytest.mark.parametrize("name", veracity.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert f"`veracity.{name}`" in MADE["python.md"]


def test_every_command_is_in_the_reference():
    from veracity.cli import main

    for name in main.commands:
        assert f"## `veracity {name}`\n" in MADE["cli.md"]
