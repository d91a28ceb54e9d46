"""Save a run as a folder, and load it.

The folder has `run.json`, the tables for users, and a folder `internal` with the claims as arrays,
the names of labels and attributes, and what was learned. `run.json` lists the size and the checksum
of every file. Sizes are checked when a run is loaded, the checksum of a file when it is first used.
"""

from __future__ import annotations

import importlib
import json
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl

from veracity._version import __version__
from veracity.alike import Alikeness
from veracity.encoding.block import Block
from veracity.encoding.kept import KeptParts
from veracity.encoding.names import Names
from veracity.encoding.partitions import (
    Encoded,
    LazyPartitions,
    Partition,
)
from veracity.errors import UnreadableFile, first_line
from veracity.fit.fitted import Fitted
from veracity.io.array_file import ArrayFile, Entry, packed
from veracity.io.atomic import atomic_folder, recover
from veracity.io.frames import ROWS_PER_BATCH
from veracity.io.lazy import LazySequence, LazyTable
from veracity.io.memory import fits_in_memory, require_memory
from veracity.progress import Progress
from veracity.reading.roles import keys_of
from veracity.result.run import Run
from veracity.result.tables import Tables

if TYPE_CHECKING:
    from veracity.result import Result

FORMAT = 1
"""Number of the format of saved runs. Other formats are refused."""

RUN_FILE = "run.json"
"""The file that makes a folder the folder of a run."""

INTERNAL = "internal"
"""The folder of files that are not for users."""

CLAIMS_FILE, FITTED_FILE = f"{INTERNAL}/claims.bin", f"{INTERNAL}/fitted.npz"

KEPT = "kept"
"""Name of the files of claims that a fit has at hand, where the run lists a part of them."""

FOR_USERS = ("truths", "facts", "sources", "copies", "changes", "features")
"""The tables that are written for users; all others are internal."""

BYTES_AT_A_TIME = 1 << 22
"""Number of bytes read at a time to compute a checksum."""


# --- writing --------------------------------------------------------------------------------------


def save(result: Result, folder: Path, *, force: bool, progress: Progress) -> None:
    """Write a run whole or not at all: its tables, the claims as arrays, and what was learned."""
    with atomic_folder(folder, force=force, marker=RUN_FILE) as unfinished:
        (unfinished / INTERNAL).mkdir()
        n_rows = _write_files(result, unfinished, progress)
        names = sorted(
            path.relative_to(unfinished).as_posix()
            for path in unfinished.rglob("*")
            if path.is_file()
        )
        files = {
            name: {
                "bytes": (unfinished / name).stat().st_size,
                "crc32": checksum(unfinished / name),
                **({"rows": n_rows[name]} if name in n_rows else {}),
            }
            for name in names
        }
        now = datetime.now(UTC).isoformat(timespec="seconds")
        run = replace(result.run, veracity=__version__, saved=now)
        described = {
            "format": FORMAT, **run.to_json(), "files": files,
            "open_values": result.encoded.names.n_unnumbered,
            "claims_of_fit": _claims_of_fit(result),
        }  # fmt: skip
        text = json.dumps(described, indent=2, ensure_ascii=False)
        (unfinished / RUN_FILE).write_text(text, encoding="utf-8")


def _claims_of_fit(result: Result) -> str:
    """Return where the claims of the fit are: in the run, in files of their own, or nowhere."""
    if result.fitted is None or result.fitted.claims is None or result.run.judged:
        return "nowhere"
    return "run" if result.fitted.claims is result.encoded else KEPT


def _write_files(result: Result, folder: Path, progress: Progress) -> dict[str, int]:
    """Write all files but run.json; return the number of rows of each table.

    One file is compressed while the next is made. Tables on disk or on executors are written one
    after the other, to hold one chunk in memory only.
    """
    names = result.encoded.names
    labels, attributes = names.labels.to_frame("label"), names.attributes.to_frame("attribute")
    stored = {**vars(result.tables), "labels": labels, "attributes": attributes}
    tables = {file_of(name): table for name, table in stored.items() if table is not None}
    total, n_rows = sum(map(len, tables.values())), dict[str, int]()

    def write_table(name: str) -> None:
        table, how = tables[name], dict[str, Any](compression_level=1)
        if isinstance(table, LazyTable) and not table.is_kept:
            how["tell"] = partial(_report_chunk, progress, table)
        table.write_parquet(folder / name, **how)
        rows = pl.scan_parquet(folder / name, glob=False)
        n_rows[name] = rows.select(pl.len()).collect().item()

    def write_fitted() -> None:
        if result.fitted is not None:
            with (folder / FITTED_FILE).open("wb") as file:
                np.savez(file, **result.fitted.to_arrays())  # type: ignore[arg-type]

    def write_kept() -> None:
        if _claims_of_fit(result) == KEPT:
            assert result.fitted is not None
            assert result.fitted.claims is not None
            kept = result.fitted.claims
            _write_claims(kept, folder / INTERNAL / f"{KEPT}.bin", f"{KEPT} blocks")
            none = [None] * len(kept.parts)
            (facts,) = kept.parts.tables(_facts_of, none, {"facts": kept.n_facts})
            facts.write_parquet(folder / file_of(KEPT), compression_level=1)
            n_rows[file_of(KEPT)] = kept.n_facts

    is_here = all(not isinstance(own, LazyTable) or own.is_kept for own in tables.values())
    with ThreadPoolExecutor(2 if is_here else 1) as pool:
        try:
            progress("writing", 0, total)
            others = [pool.submit(write_fitted)]  # may be large where sources are many
            others.append(pool.submit(_write_claims, result.encoded, folder / CLAIMS_FILE))
            others.append(pool.submit(write_kept))
            written: list[Future[None]] = [pool.submit(write_table, name) for name in tables]
            for number, done in enumerate(written, 1):
                done.result()
                progress("writing", sum(map(len, list(tables.values())[:number])), total)
            for done in others:
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)  # a run that is stopped writes nothing more
    return n_rows


def _report_chunk(progress: Progress, table: LazyTable, number: int) -> None:
    progress(f"writing {table.name}", number, table.n_chunks)


def _write_claims(encoded: Encoded, path: Path, index: str = "blocks") -> None:
    """Write the arrays of each block one after the other, and an index of their positions."""
    file, parts = ArrayFile(path), encoded.parts
    entries = [file.append_packed(content) for content in _packed_blocks(encoded)]
    clocks = [piece.clock for piece in parts.pieces] if isinstance(parts, KeptParts) else []
    rows = pl.DataFrame(
        {
            "first": [own.first for own in entries],
            "bytes": [own.n_bytes for own in entries],
            "facts": encoded.n_facts_of_block,
            "clock": clocks or [0.0] * len(entries),
        },
        {"first": pl.Int64, "bytes": pl.Int64, "facts": pl.Int64, "clock": pl.Float64},
    )
    rows.write_parquet(path.with_name(f"{index}.parquet"))


def _facts_of(part: Partition, answer: object, name: str) -> pl.DataFrame:
    """Return the names of the facts of a part; for `Partitions.tables`."""
    del answer, name
    return part.facts


def _packed_blocks(encoded: Encoded) -> Iterator[Any]:
    """Yield the arrays of each block as bytes; on a cluster, the workers pack them."""
    if not encoded.is_remote:
        yield from (packed(_arrays_of(block)) for block in encoded.blocks)
        return
    n_blocks = len(encoded.parts)
    (table,) = encoded.parts.tables(_packed_part, [None] * n_blocks, {"blocks": n_blocks})
    yield from (rows["block"][0] for rows in table.chunks())


def _packed_part(part: Partition, answer: object, name: str) -> pl.DataFrame:
    """Return the arrays of a part as a table of one cell; for `Partitions.tables`."""
    del answer, name
    return pl.DataFrame({"block": [packed(_arrays_of(part.block))]})


def _arrays_of(block: Block) -> dict[str, Any]:
    """Return the arrays of a block but those for rules, which follow from its names."""
    for_rules = {"entity_of_item", "code_of_fact", "amount_of_fact", "field_of_fact"}
    arrays = block._asdict().items()
    return {name: array for name, array in arrays if name not in {"number", *for_rules}}


def file_of(table: str) -> str:
    """Return the file of a table in the folder of a run.

    >>> file_of("truths"), file_of("labels")
    ('truths.parquet', 'internal/labels.parquet')
    """
    return f"{table}.parquet" if table in FOR_USERS else f"{INTERNAL}/{table}.parquet"


def checksum(file: Path) -> int:
    """Return the CRC-32 of a file."""
    found = 0
    with file.open("rb") as content:
        while portion := content.read(BYTES_AT_A_TIME):
            found = zlib.crc32(portion, found)
    return found


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SavedRun:
    """Saved run. Its claims and what was learned are read when they are first used."""

    run: Run
    tables: Tables
    encoded: Callable[[], Encoded]
    fitted: Callable[[], Fitted | None]


def read_run(folder: Path) -> SavedRun:
    """Return the run in a folder; raise UnreadableFile if there is none or it is damaged."""
    if not (folder / RUN_FILE).is_file():
        recover(folder.absolute().parent)  # a run that was killed may have set it aside
    if not (folder / RUN_FILE).is_file():
        what = "not the folder of a run (no run.json)" if folder.exists() else "no such folder"
        raise UnreadableFile(
            f"{folder}: {what}; result.save(folder) and 'veracity discover --out' make one"
        )
    try:
        described = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        own_format = described.get("format") if "algorithm" in described else "unknown"
        if own_format == FORMAT:
            run, files = Run.from_json(described), SavedFiles(folder, described["files"])
            n_open, of_fit = int(described["open_values"]), described["claims_of_fit"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = f"{RUN_FILE} lacks {error}" if isinstance(error, KeyError) else first_line(error)
        raise UnreadableFile(
            f"{folder}: {RUN_FILE} is damaged: {reason[:300]}; discover the run again"
        ) from error
    if own_format != FORMAT:
        raise UnreadableFile(
            f"{folder}: the run has the format {own_format or 'of an earlier version'}, and this "
            f"version of veracity reads format {FORMAT}; discover the run again"
        )
    files.check_sizes()
    is_small = fits_in_memory(run.input.claims)
    tables = Tables(
        **{
            own.name: SavedTable(own.name, files, is_kept=is_small or own.name not in LARGE)
            for own in fields(Tables)
            if file_of(own.name) in files.described
        }
    )
    return _Reader(run, files, tables, n_open, of_fit).saved


LARGE = ("truths", "facts")
"""Tables that need not fit in memory."""


class _Reader:
    """Reader of the claims of a run and of what was learned, each once."""

    def __init__(
        self, run: Run, files: SavedFiles, tables: Tables, n_open: int, claims_of_fit: str
    ) -> None:
        self._run, self._files, self._tables, self._n_open = run, files, tables, n_open
        self._claims_of_fit = claims_of_fit
        self._facts = vars(tables)["facts"]
        self.saved = SavedRun(run, tables, lambda: self.encoded, lambda: self.fitted)

    def _table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self._files.path(file_of(name)), glob=False)

    @cached_property
    def names(self) -> Names:
        labels, attributes = self._table("labels")["label"], self._table("attributes")["attribute"]
        return Names(self._tables.sources["source"], labels, attributes, self._n_open)

    @cached_property
    def encoded(self) -> Encoded:
        blocks = SavedBlocks(self._files, self._table("blocks"))
        return Encoded(self._run.kind, self.names, SavedPartitions(blocks, self._facts))

    @cached_property
    def kept(self) -> Encoded | None:
        """Return the claims that the fit has at hand."""
        if self._claims_of_fit == "run":
            return self.encoded
        if self._claims_of_fit != KEPT:
            return None
        index = self._table(f"{KEPT} blocks")
        blocks = SavedBlocks(self._files, index, f"{INTERNAL}/{KEPT}.bin")
        facts = SavedTable(KEPT, self._files, is_kept=fits_in_memory(int(index["facts"].sum())))
        parts = KeptParts.of(SavedPartitions(blocks, facts), index["clock"].to_list())
        return Encoded(self._run.kind, self.names, parts)

    @cached_property
    def fitted(self) -> Fitted | None:
        """Return what was learned; None if it was not saved or its algorithm is not installed."""
        run, tables = self._run, self._tables
        if FITTED_FILE not in self._files.described:
            return None
        restored = importlib.import_module("veracity.algorithms.catalogue").restored
        algorithm = restored(run.algorithm, run.parameters)
        if algorithm is None:
            return None
        given = {
            name: getattr(algorithm, name).with_table(getattr(tables, name))
            for name in ("source_features", "item_features")
            if getattr(algorithm, name) is not None
        }
        algorithm = replace(algorithm, **given) if given else algorithm
        with np.load(self._files.path(FITTED_FILE), allow_pickle=False) as file:
            arrays = dict(file)
        try:
            fitted = Fitted.from_arrays(
                algorithm, self.names, run.kind, arrays, run.normalisation,
                [own["given"] for own in run.rules],
            )  # fmt: skip
        except (ValueError, KeyError) as error:
            raise UnreadableFile(
                f"{self._files.folder}: {FITTED_FILE} does not fit {run.algorithm}: "
                f"{first_line(error)[:300]}; discover the run again"
            ) from error
        kept, alike = run.input, run.alikeness
        return replace(
            fitted, columns=kept.columns, no_value=kept.no_value, plans=tuple(kept.plans),
            history=tables.history,
            alikeness=None if alike is None else Alikeness.from_json(alike),
            claims=self.kept,
        )  # fmt: skip


class SavedFiles:
    """Files of a saved run, which are checked against run.json."""

    def __init__(self, folder: Path, described: Mapping[str, Mapping[str, int]]) -> None:
        self.folder, self.described = folder, described
        self._checked: dict[str, tuple[int, ...]] = {}
        for name, own in described.items():
            if ".." in name or Path(name).is_absolute() or not {"bytes", "crc32"} <= set(own):
                raise ValueError(f"{name!r} is no file of a run")

    def check_sizes(self) -> None:
        """Raise UnreadableFile if a file is missing, or has another size."""
        for name, own in self.described.items():
            path = self.folder / name
            if not path.is_file():
                raise self._damage(f"{name} is missing")
            if path.stat().st_size != own["bytes"]:
                raise self._damage(f"{name} is damaged")

    def path(self, name: str) -> Path:
        """Return the path of a file; compare its checksum on first use and after any change."""
        path = self.folder / name
        try:
            state = path.stat()
            seen = state.st_ino, state.st_mtime_ns, state.st_size
            if self._checked.get(name) != seen:
                if checksum(path) != self.described[name]["crc32"]:
                    raise self._damage(f"{name} is damaged")
                self._checked[name] = seen
        except OSError as error:
            raise self._damage(f"{name} is missing") from error
        except KeyError as error:
            raise self._damage(f"{name} is not listed in {RUN_FILE}") from error
        return path

    def _damage(self, what: str) -> UnreadableFile:
        return UnreadableFile(
            f"{self.folder}: the run is incomplete, or was replaced while it was read: {what}; "
            "load it again, or discover it again"
        )


class SavedTable(LazyTable):
    """Table in a file of a saved run. Once read, it stays in memory if there is room."""

    def __init__(self, name: str, files: SavedFiles, *, is_kept: bool) -> None:
        n_rows = int(files.described[file_of(name)]["rows"])
        super().__init__(name, self._chunk, max(-(-n_rows // ROWS_PER_BATCH), 1), n_rows)
        self._files, self.is_kept = files, is_kept

    def _chunk(self, number: int) -> pl.DataFrame:
        return self.rows(number * ROWS_PER_BATCH, ROWS_PER_BATCH)

    def rows(self, first: int, n_rows: int) -> pl.DataFrame:
        """Return some rows."""
        if self.is_kept:
            return self._whole.slice(first, n_rows)
        return self.scan().slice(first, n_rows).collect()

    @cached_property
    def _whole(self) -> pl.DataFrame:
        return pl.read_parquet(self._path, glob=False)

    @property
    def _path(self) -> Path:
        return self._files.path(file_of(self.name))

    @property
    def schema(self) -> pl.Schema:
        """Return the columns and their types."""
        return pl.Schema(pl.read_parquet_schema(self._path))

    def collect(self) -> pl.DataFrame:
        """Return all rows, if there is memory for them."""
        if not self.is_kept:
            size = 4 * self._path.stat().st_size  # about what is compressed
            advice = f"take what is wanted from result.table({self.name!r}, lazy=True)"
            require_memory(size, f"the {self.name}, {len(self):,} rows,", advice)
        return self._whole if self.is_kept else pl.read_parquet(self._path, glob=False)

    def scan(self) -> pl.LazyFrame:
        """Return the rows as a lazy frame: Polars reads what a query needs."""
        return pl.scan_parquet(self._path, glob=False)


class _ArraysOnly(pickle.Unpickler):
    """Unpickler that loads array headers only; it refuses any other object."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function that makes arrays; raise UnreadableFile for any other."""
        makes_arrays = ("_frombuffer", "_reconstruct", "dtype", "ndarray")
        if module.partition(".")[0] == "numpy" and name in makes_arrays:
            return super().find_class(module, name)
        raise UnreadableFile(f"{CLAIMS_FILE} of a run holds {module}.{name}, which is no array")


def _read_head(file: IO[bytes], buffers: Iterable[Any]) -> Any:
    return _ArraysOnly(file, buffers=buffers).load()


class SavedBlocks(LazySequence[Block]):
    """Blocks in the file of a saved run; each is mapped into memory when it is used."""

    def __init__(self, files: SavedFiles, index: pl.DataFrame, name: str = CLAIMS_FILE) -> None:
        self._files, self._name = files, name
        self._entries = [Entry(*row) for row in index.select("first", "bytes").iter_rows()]
        self.n_facts = index["facts"].to_list()

    def __len__(self) -> int:
        return len(self._entries)

    def at(self, number: int) -> Block:
        """Map the block at this position into memory."""
        path = self._files.path(self._name)
        arrays = ArrayFile(path, _read_head).read(self._entries[number])
        return Block(**arrays, number=number)


class SavedPartitions(LazyPartitions):
    """Partitions of a saved run: mapped blocks, whose items and values are rows of the facts."""

    def __init__(self, blocks: SavedBlocks, facts: SavedTable) -> None:
        self.blocks, self._facts = blocks, facts
        self._first_fact = np.cumsum([0, *blocks.n_facts]).tolist()

    def __len__(self) -> int:
        return len(self.blocks)

    def at(self, number: int) -> Partition:
        """Map the partition at this position into memory."""
        block = self.blocks[number]
        facts = self._facts.rows(self._first_fact[number], block.n_facts)
        items = facts.select(keys_of(facts))[block.first_fact_of_item[:-1]]
        return Partition(block, items, facts["value"] if "value" in facts.columns else None)
