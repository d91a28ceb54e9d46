"""The command line of the studies in this folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from veracity.cli.data import run_study
from veracity.study import Study


def typed(kind: type[Study]) -> None:
    """Carry out a study with the data sets and settings that were typed."""
    parser = argparse.ArgumentParser(description=kind.about)
    parser.add_argument(
        "datasets", nargs="*", help="folders with claims and truth; +normalised behind one"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting"
    )
    parser.add_argument("--workers", type=int, help="number of processes")
    parser.add_argument("--out", type=Path, required=True, help="folder for rows, tables and page")
    given = parser.parse_args()
    run_study(kind, given.datasets, given.set, given.out, workers=given.workers)
