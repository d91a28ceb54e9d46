"""Claims on disk: what is written there, what comes back, and that nothing is left behind."""

from __future__ import annotations

import fcntl
import gc
import gzip
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import veracity
from claims import as_encoded
from veracity import Local, errors
from veracity.algorithms.base import Turn
from veracity.api import prepare
from veracity.encoding.encode import encode_partition
from veracity.encoding.names import Names, NameUnion, SharedNames, places_among
from veracity.encoding.on_disk import Budget, partition_of_row
from veracity.engines.store import BYTES_OF_FILE, BlockStore
from veracity.io.database_tables import write_tables
from veracity.io.lazy import LazyTable
from veracity.io.memory import as_bytes
from veracity.io.temp_files import MARKER, PREFIX, TempFolder
from veracity.progress import no_progress
from veracity.reading.claims import Claims
from veracity.result.tables import claims_of_block, claims_of_part

ON_DISK = "veracity.encoding.on_disk"
CLAIMS = veracity.synthetic.Synthetic(sources=9, items=300, accuracy=0.75).draw(seed=2).claims


def on_disk(place, **options):
    return Local(memory="1KB", spill=place, **options)


def left_in(place):
    return sorted(path.name for path in place.iterdir())


# --- amounts of memory ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "n_bytes"),
    [("8GB", 8e9), ("1.5 gb", 1.5e9), ("512MiB", 2**29), (10**9, 1e9), ("4G", 4e9)],
)
def test_memory_is_told_in_words_or_bytes(told, n_bytes):
    assert as_bytes(told) == n_bytes


@pytest.mark.parametrize("told", ["much", "8 apples", "-1GB", "", "8", 8])
def test_memory_that_is_no_amount_is_refused_at_birth(told):
    with pytest.raises(errors.ParameterError, match="memory must be"):
        Local(memory=told)


def test_what_fits_stays_in_memory(tmp_path):
    veracity.discover(CLAIMS, "majority-vote", engine=Local(memory="1GB", spill=tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_what_does_not_fit_in_what_is_free_is_kept_on_disk_unasked(monkeypatch):
    monkeypatch.setattr("veracity.engines.local.free_memory", lambda: 1000)
    result = veracity.discover(CLAIMS, "majority-vote")
    (note,) = result.notes
    assert note.startswith("the claims are processed on disk: ")


def of_long_values(n_claims, n_bytes):
    """Claims of which no two name the same value, each of them so long."""
    return pl.DataFrame(
        {
            "source": [f"s{number % 7}" for number in range(n_claims)],
            "entity": [f"e{number // 7}" for number in range(n_claims)],
            "value": [f"{number:x}".rjust(n_bytes, "v") for number in range(n_claims)],
        }
    )


@pytest.mark.parametrize("kind", ["frame", "parquet", "csv", "sqlite"])
def test_long_values_count_as_the_memory_that_they_take(tmp_path, kind):
    claims, place = of_long_values(12_000, 500), tmp_path / f"claims.{kind}"
    if kind == "parquet":
        claims.write_parquet(place)
    elif kind == "csv":
        claims.write_csv(place)
    elif kind == "sqlite":
        write_tables(f"sqlite:///{place}", {"claims": claims}, None, run="a test", force=True)
    addresses = {"frame": claims, "sqlite": f"sqlite:///{place}#claims"}
    engine = Local(memory="6MB", spill=tmp_path / "spill")  # as much as the values take alone
    found = veracity.discover(addresses.get(kind, place), "majority-vote", engine=engine)
    assert any("the claims are processed on disk" in note for note in found.notes)
    assert found.run.input.claims == len(claims)


def test_values_that_are_long_but_few_are_no_reason_to_use_the_disk(tmp_path):
    claims = of_long_values(12_000, 500).with_columns(pl.col("value").str.tail(1).repeat_by(500))
    claims = claims.with_columns(pl.col("value").list.join(""))
    veracity.discover(claims, "majority-vote", engine=Local(memory="3MB", spill=tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_the_longer_rows_are_the_more_parts_there_are(tmp_path):
    room = Budget(TempFolder(tmp_path), 10**8, 1)
    usual, long = room.n_parts(10**6, 50.0), room.n_parts(10**6, 5000.0)
    assert usual == room.n_parts(10**6)
    assert long > 10 * usual


# --- the folder -----------------------------------------------------------------------------------


def test_temporary_files_go_with_the_last_that_uses_them(tmp_path):
    result = veracity.discover(CLAIMS, engine=on_disk(tmp_path))
    encoded, table = result.encoded, result.table("facts", lazy=True)
    assert len(left_in(tmp_path)) == 1
    del result
    gc.collect()
    assert len(encoded.blocks[0].source_of_support)
    assert len(table.collect())
    del encoded, table
    gc.collect()
    assert left_in(tmp_path) == []


def test_an_error_leaves_nothing(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(f"{ON_DISK}.encode_partition", fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        veracity.discover(CLAIMS, engine=on_disk(tmp_path))
    gc.collect()
    assert left_in(tmp_path) == []


def test_leftovers_of_runs_that_were_killed_are_removed_and_nothing_else(tmp_path):
    for name in ("killed", "alive", "new"):
        (tmp_path / f"{PREFIX}{name}").mkdir()
    for name in ("killed", "alive"):
        (tmp_path / f"{PREFIX}{name}" / MARKER).touch()
    (tmp_path / f"{PREFIX}new" / "something").touch()
    (tmp_path / "mine").mkdir()
    lock = os.open(tmp_path / f"{PREFIX}alive", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    TempFolder(tmp_path).remove()
    os.close(lock)
    assert left_in(tmp_path) == ["mine", f"{PREFIX}alive", f"{PREFIX}new"]


def test_a_disk_that_is_too_small_is_told_beforehand_with_the_numbers(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr("shutil.disk_usage", lambda place: usage)
    with pytest.raises(errors.TooLarge, match=r"claims need about .* GB on disk, and 0.0 GB are"):
        veracity.discover(CLAIMS, engine=on_disk(tmp_path))
    assert left_in(tmp_path) == []


def test_a_place_that_cannot_be_written_to_gets_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(errors.OutputError, match="cannot write temporary files to"):
        veracity.discover(CLAIMS, engine=on_disk(tmp_path / "file"))


def test_a_full_disk_is_told_as_such_also_where_polars_writes(tmp_path):
    is_told = pytest.raises(errors.OutputError, match="the disk is full; make room")
    with is_told, TempFolder(tmp_path).errors():
        raise OSError("No space left on device (os error 28)")


WORK = """
import resource, signal, sys, time
from veracity.encoding import encode, on_disk
from veracity.engines import local
from veracity.cli import main

def wait(*arguments, **options):
    print("here", flush=True)
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)
{change}
main(["discover", "claims.parquet", "--memory", "1KB", "--spill", "spill", "--out", "run"])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CLAIMS.write_parquet("claims.parquet")
    return tmp_path


def program(change):
    return subprocess.Popen(
        [sys.executable, "-c", WORK.format(change=change)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "where", ["on_disk._PartedRows.fill", "on_disk._Writer.renumber", "local.LocalBlocks.answers"]
)
def test_who_is_stopped_leaves_nothing_behind(folder, number, where):
    work = program(f"{where} = wait")
    assert work.stdout.readline() == "here\n"
    assert len(left_in(folder / "spill")) == 1
    work.send_signal(number)
    _, stderr = work.communicate()
    assert stderr.strip() == "error: stopped before the end; no half-written result is left"
    assert (work.returncode, left_in(folder / "spill")) == (1, [])
    assert not (folder / "run").exists()


@pytest.mark.slow
def test_what_a_killed_run_left_is_removed_by_the_next(folder):
    work = program("local.LocalBlocks.answers = wait")
    assert work.stdout.readline() == "here\n"
    work.kill()
    work.communicate()
    assert len(left_in(folder / "spill")) == 1
    work = program("pass")
    stdout, stderr = work.communicate()
    assert (work.returncode, stderr, left_in(folder / "spill")) == (0, "", [])
    assert "the claims are processed on disk" in stdout
    assert len(pl.read_parquet("run/truths.parquet")) == 300


def test_a_disk_that_is_full_in_the_middle_gets_one_sentence(folder):
    work = program("resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))")
    stdout, stderr = work.communicate()
    assert stderr.startswith("error: cannot write temporary files to spill: ")
    assert (len(stderr.splitlines()), stdout, left_in(folder / "spill")) == (1, "", [])


# --- what is on disk ------------------------------------------------------------------------------


def test_arrays_come_back_as_they_were_and_may_be_written_to(tmp_path):
    store = BlockStore(TempFolder(tmp_path))
    given = [(np.arange(5), np.zeros((2, 3), np.int8), np.empty(0)), (np.ones(10**4),), ()]
    for number, arrays in enumerate(given):
        store.put("block", number, arrays)
    for number, arrays in enumerate(given):
        for one, other in zip(store.get("block", number), arrays, strict=True):
            assert_array_equal(one, other, strict=True)
            assert one.flags.aligned
    for number in (0, 1):
        found = store.get("block", number)[0]
        before = found.tolist()
        found[:] = 7
        assert store.get("block", number)[0].tolist() == before
        store.put("block", number, (np.arange(5) * 2,))
        assert store.get("block", number)[0].tolist() == [0, 2, 4, 6, 8]
        assert found.tolist() == [7] * len(before)


def test_what_is_stored_with_blocks_is_bounded_in_memory_and_comes_back(tmp_path):
    one = (np.full(1000, 7), "name")
    store = BlockStore(TempFolder(tmp_path), most_bytes=int(1.5 * 8000))
    for block in range(3):
        store.put("memory", block, (np.full(1000, block), "name"))
    assert len(store._in_memory) == 1
    for block in range(3):
        array, name = store.get("memory", block)
        assert (array.tolist(), name) == ([block] * 1000, "name")
    store.put("memory", 2, "another")
    assert store.get("memory", 2) == "another"
    assert store.get("memory", 3) is None
    store.drop("memory")
    assert store.get("memory", 0) is None
    store.put("memory", 0, one)
    assert len(store._in_memory) == 1


def test_many_blocks_share_a_file_which_goes_with_the_last_of_them(tmp_path):
    folder = TempFolder(tmp_path)
    store, part = BlockStore(folder), np.zeros(BYTES_OF_FILE // 16)

    def n_files():
        return len(left_in(folder.path)) - 1  # and the mark of its owner

    for block in range(10):
        store.put("block", block, part)
        store.put("items", block, block)
    assert n_files() <= 1 + 6
    before = n_files()
    for block in range(10):
        store.put("block", block, part + block)
        assert n_files() <= before + 1
    assert [int(store.get("block", block)[-1]) for block in range(10)] == list(range(10))
    store.drop("block")
    assert n_files() == 1
    store.drop("items")
    assert n_files() == 0


def test_lanes_of_a_walk_are_kept_apart_on_disk(tmp_path):
    table = Claims.of_rows(CLAIMS, "categorical", "a test")
    encoded = on_disk(tmp_path, claims_per_block=300).encode(table, no_progress)
    with on_disk(tmp_path).hold(encoded.blocks) as held:
        for _ in range(2):
            lanes = held.walk(_go, (0, 100), Turn())
        kept = list(held.found(lambda block, state, turn: (turn.memory, turn.memory), 0, Turn()))
    n_blocks = len(encoded.blocks)
    assert lanes == (n_blocks, 100 + n_blocks)
    assert kept == [[number + 1, 101 + number] for number in range(n_blocks)]


def _go(block, lane, turn):
    assert turn.memory in (None, lane + 1)
    return lane + 1, lane + 1


def test_a_table_in_pieces_is_scanned_collected_and_written(tmp_path):
    table = LazyTable("rows", lambda n: pl.DataFrame({"a": [2 * n, 2 * n + 1]}), 3, 6)
    assert table.collect()["a"].to_list() == [0, 1, 2, 3, 4, 5]
    large = table.scan().filter(pl.col("a") > 2).select(pl.col("a") * 2).collect()
    assert large["a"].to_list() == [6, 8, 10]
    assert table.scan().head(3).collect()["a"].to_list() == [0, 1, 2]
    assert table.reduce(lambda rows: rows.select(pl.col("a").max())).item() == 5
    table.write_parquet(tmp_path / "rows.parquet")
    assert pl.read_parquet(tmp_path / "rows.parquet").equals(table.collect())


def test_a_table_that_is_too_large_to_collect_says_how_else_to_read_it(tmp_path, monkeypatch):
    result = veracity.discover(CLAIMS, engine=on_disk(tmp_path))
    monkeypatch.setattr("veracity.io.memory.free_memory", lambda: 10)
    with pytest.raises(
        errors.TooLarge, match=r"the facts, about .* result.table\('facts', lazy=True\)"
    ):
        _ = result.facts
    assert "NOT" not in repr(result)
    assert (
        result.table("facts", lazy=True).select(pl.len()).collect().item() == result.run.input.facts
    )
    with pytest.raises(errors.ParameterError, match="no table 'nothing'; there are truths, facts"):
        result.table("nothing")


# --- parts and names ------------------------------------------------------------------------------


def test_all_rows_of_an_item_are_in_one_part_and_parts_are_about_alike():
    part = partition_of_row(CLAIMS, 5)
    by_item = CLAIMS.with_columns(part=part).group_by("entity").agg(pl.col("part").n_unique())
    assert (by_item["part"] == 1).all()
    assert np.bincount(part, minlength=5).min() > len(CLAIMS) / 10


@pytest.mark.parametrize("values", [["1", "1.0", "2"], ["x", "1.0", "1"]])
def test_names_of_parts_are_numbered_as_if_all_had_been_one(values):
    rows = pl.DataFrame(
        {
            "source": [f"s{number % 7}" for number in range(60)],
            "entity": [f"e{number % 11}" for number in range(60)],
            "attribute": ["big", "small"] * 30,
            "value": values * 20,
        }
    )
    whole = as_encoded(rows)
    parted = rows.with_columns(part=partition_of_row(rows, 4))
    parts = parted.partition_by("part", include_key=False)
    are_numbers = "x" not in values
    union = NameUnion(are_numbers=are_numbers)
    found = [encode_partition([own], "categorical", 15, are_numbers=are_numbers) for own in parts]
    for own in found:
        union.add(own.names)
    names = union.sorted()
    for one, other in zip(Names.of(names)[:3], whole.names[:3], strict=True):
        assert one.to_list() == other.to_list()
    for own in found:
        places = places_among(own.names, names)
        (part,) = own.parts
        labels = part.block.renumbered(*places).label_of_fact
        meant = pl.DataFrame({"label": labels, "value": part.values})
        expected = pl.DataFrame(
            {"label": whole.blocks[0].label_of_fact, "value": whole.facts["value"]}
        )
        assert meant.join(expected.unique(), on=["label", "value"], how="anti").is_empty()


def test_values_that_are_very_many_and_long_stay_in_their_part(monkeypatch):
    monkeypatch.setattr("veracity.encoding.names.FEWEST_OPEN", 100)
    found = encode_partition([of_long_values(700, 50)], "categorical", 700)
    few_bytes, many_bytes = (
        NameUnion(are_numbers=False, most_text=most) for most in (10_000, 10**6)
    )
    for union in (few_bytes, many_bytes):
        union.add(found.names)
    assert "value" not in few_bytes.sorted()
    assert 100 < few_bytes.n_unnumbered < 700
    assert (len(many_bytes.sorted()["value"].spellings), many_bytes.n_unnumbered) == (700, 0)


def test_values_that_are_too_many_stay_in_their_part(tmp_path, monkeypatch):
    for_all = SharedNames
    monkeypatch.setattr(f"{ON_DISK}.SharedNames", lambda n_rows, **_: for_all(n_rows, 1000))
    rng = np.random.default_rng(1)
    claims = pl.DataFrame(
        {
            "source": [f"s{number % 9}" for number in range(9000)],
            "entity": [f"e{number // 9}" for number in range(9000)],
            "value": [f"v{number // 9}-{wrong}" for number, wrong in
                      enumerate(rng.integers(3, size=9000) * (rng.random(9000) < 0.4))],
        }
    )  # fmt: skip
    for number in range(9):  # of which the first do not yet have too many
        claims[1000 * number :][:1000].write_parquet(tmp_path / f"{number}.parquet")
    place = on_disk(tmp_path / "spill")
    found = veracity.discover(tmp_path / "*.parquet", engine=place)
    names = found.encoded.names
    assert (len(names.labels), names.n_unnumbered) == (0, 1000)
    expected = veracity.discover(claims).facts.sort("entity", "value")
    assert_allclose(
        found.facts.sort("entity", "value")["plausibility"], expected["plausibility"], atol=1e-9
    )
    for name in ("one-coin", "truth-finder", "accu-sim", "dawid-skene"):
        with pytest.raises(errors.VeracityError, match=r"different|distinct"):
            veracity.discover(claims, name, engine=place)
    again = found.fitted.judge(claims, engine=place).facts.sort("entity", "value")
    assert_allclose(again["plausibility"], expected["plausibility"], atol=1e-9)
    with pytest.raises(errors.TooLarge, match="judge them in portions"):
        veracity.discover(CLAIMS).fitted.judge(claims, engine=place)


@pytest.mark.parametrize("columns", [{}, {"time": "said"}])
@pytest.mark.parametrize("n_values", [600, 601, 1200])
def test_values_are_open_as_soon_as_they_are_too_many(tmp_path, monkeypatch, columns, n_values):
    most, shared, union = 600, SharedNames, NameUnion
    monkeypatch.setattr(f"{ON_DISK}.SharedNames", lambda n_rows, **_: shared(n_rows, most))
    monkeypatch.setattr(f"{ON_DISK}.NameUnion", lambda **how: union(**how, most_labels=most))
    claims = of_long_values(n_values, 10).with_columns(said=1)
    found = prepare(claims, columns=columns, engine=on_disk(tmp_path)).encoded
    is_open = n_values > most
    assert (len(found.names.labels), found.names.n_unnumbered) == (
        (0, most) if is_open else (most, 0)
    )
    expected = prepare(claims, columns=columns).encoded
    keys = ["entity", "value"]
    assert found.facts.sort(keys).equals(expected.facts.sort(keys))


SAID_AGAIN = {
    "the same": {},
    "newer": {"time": [1, 2]},
    "weighed": {"weight": [1.0, 3.0]},
    "newer and weighed": {"time": [1, 2], "weight": [1.0, 3.0]},
}


@pytest.mark.parametrize("more", SAID_AGAIN)
@pytest.mark.parametrize("kind", ["categorical", "numeric", "binary"])
def test_parts_on_disk_are_numbered_as_if_all_had_been_one(tmp_path, kind, more):
    number = np.arange(4000)
    value = (number // 40 + number % 3) % 50  # in each of four files others are new
    rows = {
        "source": number % 7 * 3,  # names need be no text
        "entity": [f"e{item}" for item in number // 40],
        "attribute": np.where(number % 2, "big", "small"),
        "value": [f"{v}.0" if v % 3 else f"{v}" for v in value],
    }
    if kind == "binary":
        rows = {"source": rows["source"], "fact": rows["entity"], "claim": number % 11 > 1}
    rows |= {name: np.resize(own, 4000) for name, own in SAID_AGAIN[more].items()}
    for file, own in enumerate(pl.DataFrame(rows).iter_slices(1000)):
        own.write_parquet(tmp_path / f"{file}.parquet")
    options = {"kind": kind, "columns": {name: name for name in rows}}
    found, expected = (
        prepare(tmp_path / "*.parquet", engine=engine, **options).encoded
        for engine in (on_disk(tmp_path / "spill"), None)
    )
    assert len(found.blocks) > 1
    assert left_in(tmp_path / "spill") != []
    for one, other in zip(found.names[:3], expected.names[:3], strict=True):
        assert one.to_list() == other.to_list()
    assert claims_with_names(found).equals(claims_with_names(expected))


def claims_with_names(encoded):
    """All claims with the names that their numbers mean, in order."""
    tables = []
    for part in encoded.parts:
        named = claims_of_part(part, encoded.names.sources, encoded.kind)
        fact = claims_of_block(part.block, 0, encoded.kind)["fact"]
        label = part.block.label_of_fact[fact]
        if len(encoded.names.labels):
            named = named.with_columns(label=encoded.names.labels.gather(label))
        attributes = part.block.attribute_of_item[part.block.item_of_fact[fact]]
        if len(encoded.names.attributes):
            named = named.with_columns(column=encoded.names.attributes.gather(attributes))
        tables.append(named)
    together = pl.concat(tables)
    return together.sort(together.columns)


def test_work_is_told_of_as_it_goes_on(tmp_path):
    told = []
    engine = on_disk(tmp_path)
    veracity.discover(CLAIMS, engine=engine, progress=lambda *step: told.append(step))
    phases = list(dict.fromkeys(phase for phase, _, _ in told))
    assert phases[:3] == ["reading", "parting", "encoding"]
    assert all(0 <= done <= total for _, done, total in told)


def test_no_open_file_is_left_by_a_run(tmp_path):
    def n_open():
        gc.collect()
        own = Path("/proc/self/fd")
        return len(list(own.iterdir())) if own.exists() else 0

    veracity.discover(CLAIMS, "majority-vote", engine=on_disk(tmp_path))
    before = n_open()
    veracity.discover(CLAIMS, "majority-vote", engine=on_disk(tmp_path))
    assert n_open() == before


@pytest.mark.parametrize("name", ["plain.csv", "tabs.tsv", "packed.csv.gz", "old.csv"])
def test_text_that_is_too_large_is_read_in_portions_where_it_can_be(tmp_path, monkeypatch, name):
    expected = veracity.discover(CLAIMS, "majority-vote").facts
    path = tmp_path / name
    text = CLAIMS.write_csv(separator="\t" if name.endswith("tsv") else ",")
    if name == "packed.csv.gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text.replace("\n", "\r") if name == "old.csv" else text, newline="")
    monkeypatch.setattr("veracity.io.text_files.LARGE_TEXT", 10)
    found = veracity.discover(path, "majority-vote", engine=on_disk(tmp_path)).facts
    assert found.sort("entity", "value").equals(expected.sort("entity", "value"))


def test_rows_of_which_none_is_a_claim_are_told_on_disk_too(tmp_path):
    path = tmp_path / "claims.parquet"
    rows = {"source": ["a"] * 50, "entity": [None] * 50, "value": [1.0] * 50}
    pl.DataFrame(rows).write_parquet(path)
    with pytest.raises(errors.NoClaims, match="50 rows without an entity"):
        veracity.discover(path, engine=Local(memory="1KB"))
