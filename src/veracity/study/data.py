"""Real datasets for studies: a folder with claims and truth, as they are or normalised."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from veracity.api import Prepared, prepare
from veracity.encoding.block import UNKNOWN, BoolArray
from veracity.encoding.known import with_known
from veracity.encoding.partitions import Encoded
from veracity.errors import ParameterError, UnreadableFile
from veracity.reading.claims import read_claims, read_truths_beside
from veracity.reading.roles import keys_of

NORMALISED = "+normalised"
"""Suffix of the path of a dataset whose values are to be normalised."""


class Judged(NamedTuple):
    """Claims in encoded form, without known truths (`prepared`) and with them (`truth`)."""

    name: str
    prepared: Prepared
    truth: Encoded

    @property
    def encoded(self) -> Encoded:
        """Claims without known truths."""
        return self.prepared.encoded

    @property
    def can_know(self) -> BoolArray:
        """Return True for each item with a known truth."""
        return np.concatenate([block.is_known for block in self.truth.blocks])

    def with_known_truths(self, is_known: BoolArray) -> Encoded:
        """Return the claims, with the truth of some items known."""
        first = np.cumsum([block.n_items for block in self.encoded.blocks])[:-1]
        known = [
            np.where(np.repeat(own, block.n_facts_of_item), block.known_of_fact, UNKNOWN)
            for block, own in zip(self.truth.blocks, np.split(is_known, first), strict=True)
        ]
        return self.encoded.with_known_facts(np.concatenate(known).astype(np.int8))


@lru_cache(maxsize=2)  # a worker goes through the tasks of one dataset, then of the next
def read_dataset(folder: str, *, known_only: bool = False) -> Judged:
    """Read a folder with ``claims`` and ``truth``, in any format claims can have.

    `known_only` leaves out the items whose truth is not known: there is less to learn from, but it
    takes less time.
    """
    path = folder.removesuffix(NORMALISED)
    claims, truth = file_of(path, "claims"), file_of(path, "truth")
    table = read_claims(claims, normalise=path != folder)
    truths, _ = read_truths_beside(table, truth)
    if known_only:
        keys = keys_of(table.rows)
        is_known = table.rows.join(truths.select(keys).unique(), on=keys, how="semi")
        table = table.with_rows(is_known)
    prepared = prepare(table)
    known, _ = with_known(prepared.encoded, truths)
    if not any(block.is_known.any() for block in known.blocks):
        raise UnreadableFile(f"{truth}: none of its truths is about an item in {claims}")
    return Judged(name_of(folder), prepared, known)


def name_of(folder: str) -> str:
    """Return the name of a dataset in tables: its folder's name, and a mark if it is normalised.

    >>> name_of("data/flight_raw+normalised")
    'flight_raw normalised'
    """
    path = Path(folder.removesuffix(NORMALISED))
    name = path.resolve().name if path.name in ("", "..") else path.name
    return f"{name} normalised" if folder.endswith(NORMALISED) else name


def require_names(datasets: Sequence[str]) -> None:
    """Raise an error unless there are datasets, with different names."""
    if not datasets:
        raise ParameterError("study: no dataset is named; name a folder with claims and truth")
    folder_of: dict[str, str] = {}
    for folder in datasets:
        name = name_of(folder)
        if name in folder_of:
            raise ParameterError(
                f"study: {folder_of[name]!r} and {folder!r} would both be called {name!r} in the "
                "tables; rename a folder, or leave one out"
            )
        folder_of[name] = folder


def check_datasets(datasets: Sequence[str]) -> None:
    """Raise where a folder lacks claims or truth."""
    for folder in datasets:
        for part in ("claims", "truth"):
            file_of(folder.removesuffix(NORMALISED), part)


def file_of(folder: str, part: str) -> Path:
    """Return the one file (or folder of files) with claims or truth."""
    if not Path(folder).is_dir():
        what = "is a file" if Path(folder).is_file() else "there is no such folder"
        raise UnreadableFile(f"{folder}: {what}; a dataset is a folder with claims and truth")
    found = sorted([*Path(folder).glob(part), *Path(folder).glob(f"{part}.*")])
    if not found:
        raise UnreadableFile(
            f"{folder}: no file '{part}.*' in it; a dataset is a folder with claims and truth"
        )
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise UnreadableFile(f"{folder}: which file holds the {part}? Leave one of {names} in it")
    return found[0]
