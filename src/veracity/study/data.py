"""Real datasets for studies: a folder with claims and truth, as they are or normalised."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from veracity.discovery import prepare, say_nothing
from veracity.encode import Encoded, IntArray
from veracity.errors import UnreadableFile
from veracity.read import read_truths_beside
from veracity.truths import known_of_fact

__all__ = ["Judged", "read_dataset"]

NORMALISED = "+normalised"
"""What marks a dataset whose values are normalised, after the path of its folder."""


class Judged(NamedTuple):
    """Encoded claims, and the truth of each fact."""

    name: str
    encoded: Encoded
    known: IntArray


@lru_cache(maxsize=2)  # a worker goes through the tasks of one dataset, then of the next
def read_dataset(folder: str) -> Judged:
    """Read a folder with ``claims`` and ``truth``, in any format claims can have."""
    path = folder.removesuffix(NORMALISED)
    is_normalised = path != folder
    prepared = prepare(str(_file(path, "claims")), normalise=is_normalised, tell=say_nothing)
    truths, _ = read_truths_beside(prepared.table, str(_file(path, "truth")))
    known, _ = known_of_fact(prepared.encoded, truths)
    name = Path(path).name + (" normalised" if is_normalised else "")
    return Judged(name, prepared.encoded, known)


def _file(folder: str, part: str) -> Path:
    found = sorted(Path(folder).glob(f"{part}.*"))
    if not found:
        raise UnreadableFile(
            f"{folder}: no file '{part}.*' in it; a dataset is a folder with claims and truth"
        )
    return found[0]
