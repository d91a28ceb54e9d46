"""Runs that were damaged, edited, or replaced while they were read: one sentence, never a bug."""

from __future__ import annotations

import json
import math
import shutil
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veracity
from veracity.errors import UnreadableFile, VeracityError
from veracity.io import atomic
from veracity.io.temp_files import MARKER
from veracity.result import saved

CLAIMS = veracity.synthetic.Synthetic(sources=4, items=12, accuracy=0.8).draw(seed=3).claims
NUMBERS = CLAIMS.select("source", "entity", value=pl.col("value").hash(1).cast(pl.Float64) % 97.0)
BINARY = pl.DataFrame(
    {"source": list("abcabcabc"), "fact": list("xxxyyyzzz"), "claim": [1, 0, 1, 1, 1, 0, 0, 1, 0]}
)
GIVEN = {
    "categorical": (CLAIMS, {}),
    "copies": (CLAIMS, {"algorithm": "accu-copy"}),
    "multiple": (CLAIMS, {"kind": "multiple"}),
    "binary": (BINARY, {"kind": "binary"}),
    "numeric": (NUMBERS, {"kind": "numeric"}),
    "normalised": (CLAIMS, {"normalise": True}),
}
KINDS = list(GIVEN)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A run of each kind, as it is saved."""
    place = tmp_path_factory.mktemp("sound")
    for name, (claims, options) in GIVEN.items():
        veracity.discover(claims, **options).save(place / name)
    return place


@pytest.fixture
def run(sound, tmp_path, request):
    """A run to be damaged."""
    return shutil.copytree(sound / request.param, tmp_path / "run")


of_each_kind = pytest.mark.parametrize("run", KINDS, indirect=True)
of_one_kind = pytest.mark.parametrize("run", ["categorical"], indirect=True)
of_the_richest_kind = pytest.mark.parametrize("run", ["normalised"], indirect=True)


def told(run):
    return json.loads((run / "run.json").read_text(encoding="utf-8"))


def tell(run, content):
    (run / "run.json").write_text(json.dumps(content), encoding="utf-8")


def rewrite(run, name, table):
    """Edit a table as a forger would who knows how files are marked."""
    table.write_parquet(run / name, metadata={saved.RUN_MARK: told(run)["id"]})
    seal(run, name)


def seal(run, name):
    """Make up a digest for a file, and a seal for that."""
    content = told(run)
    content["digests"][name] = saved.digest_of(run / name)
    tell(run, saved.sealed(content))


def use(run, kind, *, thoroughly=True):
    """Use a run for all that runs are for; why that cannot be, in one sentence, or nothing."""
    try:
        result = veracity.load(run)
        repr(result), result._repr_html_(), result.trace, result.readings, result.copies
        key = "fact" if kind == "binary" else "entity"
        result.why(result.tables.facts[key][0])
        if thoroughly:
            result.fitted.judge(GIVEN[kind][0])
            result.fitted.update(GIVEN[kind][0])
    except VeracityError as error:
        return str(error)
    return ""


@of_each_kind
def test_a_sound_run_is_sound(run, request):
    assert use(run, request.node.callspec.params["run"]) == ""


# --- run.json -------------------------------------------------------------------------------------

WRONG = [None, -1, float("nan"), "x", [{}], {"x": []}]
REMOVED = object()


def places(content, path=()):
    """Every field of what JSON holds, and every field of these."""
    inner = content.items() if isinstance(content, dict) else enumerate(content[:1])
    for name, value in inner:
        yield (*path, name)
        if isinstance(value, dict | list):
            yield from places(value, (*path, name))


def changed(content, path, value):
    content = json.loads(json.dumps(content))
    inner = content
    for name in path[:-1]:
        inner = inner[name]
    if value is REMOVED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return content


@of_the_richest_kind
def test_a_field_of_run_json_that_is_changed_is_damage(run):
    content = told(run)
    for path in places(content):
        for value in (REMOVED, *WRONG):
            edited = changed(content, path, value)
            if json.dumps(edited) == json.dumps(content):
                continue
            tell(run, edited)
            with pytest.raises(UnreadableFile, match="the run is damaged: "):
                veracity.load(run)


@of_the_richest_kind
def test_no_type_in_a_forged_run_json_is_trusted(run):
    content = told(run)
    names = ["algorithm", "kind", "input", "rounds", "converged", "trace", "seconds", "notes",
             "judged", "readings", "files", "parameters"]  # fmt: skip
    for name in names:
        for value in (None, 1.5, "x", [1], [[]], {"x": []}):
            edited = saved.sealed({**content, name: value})
            tell(run, edited)
            if name == "algorithm" and value == "x":
                continue  # an algorithm of another package, which is not at hand
            with pytest.raises(UnreadableFile, match="the run is damaged: "):
                veracity.load(run)


@of_one_kind
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b"\xff", b"[" * 100_000, b"null"])
def test_run_json_may_be_no_run(run, content):
    (run / "run.json").write_bytes(content)
    with pytest.raises(UnreadableFile, match="the run is damaged: "):
        veracity.load(run)


# --- files ----------------------------------------------------------------------------------------


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "garbage": lambda content: b"PAR1" + bytes(range(256)) + b"PAR1",
    "flipped": flipped,
    "longer": lambda content: content + b"x",
}


@of_one_kind
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_file_may_be_other_than_it_was_saved(run, damage):
    for name in told(run)["files"]:
        whole = (run / name).read_bytes()
        (run / name).write_bytes(DAMAGES[damage](whole))
        with pytest.raises(UnreadableFile, match=f"damaged: {name} is not as it was saved"):
            veracity.load(run)
        (run / name).unlink()
        with pytest.raises(UnreadableFile, match=f"damaged: {name} is not there"):
            veracity.load(run)
        (run / name).write_bytes(whole)


@of_one_kind
def test_a_file_of_another_run_is_known_by_its_mark(run, tmp_path):
    veracity.load(run).save(tmp_path / "other")
    content = told(run)
    for name in content["files"]:
        whole = (run / name).read_bytes()
        shutil.copy(tmp_path / "other" / name, run / name)
        digests = {**content["digests"], name: saved.digest_of(run / name)}
        tell(run, saved.sealed({**content, "digests": digests}))
        with pytest.raises(UnreadableFile, match=f"damaged: {name} is of another run"):
            veracity.load(run)
        (run / name).write_bytes(whole)
    tell(run, content)
    assert veracity.load(run)


@of_one_kind
@pytest.mark.parametrize("name", ["id", "digests", "seal", "files", "parameters"])
def test_what_every_run_tells_cannot_be_left_out(run, name):
    tell(run, saved.sealed({key: value for key, value in told(run).items() if key != name}))
    if name == "seal":
        tell(run, {key: value for key, value in told(run).items() if key != name})
    with pytest.raises(UnreadableFile, match="the run is damaged"):
        veracity.load(run)


@of_one_kind
@pytest.mark.parametrize("name", saved.ALWAYS_THERE)
def test_a_run_without_a_table_that_every_run_has_is_damaged(run, name):
    content, file = told(run), f"{name}.parquet"
    (run / file).unlink()
    files = [other for other in content["files"] if other != file]
    tell(run, saved.sealed({**content, "files": files}))
    with pytest.raises(UnreadableFile, match="the run is damaged"):
        veracity.load(run)


# --- runs that are forged: edited, and sealed again -----------------------------------------------

Draw = Callable[[st.SearchStrategy[Any]], Any]
ODD_CELLS = ("x", -7, 10**9, 0.5, math.nan, math.inf, True, [1], None)


@st.composite
def edited_tables(draw: Draw, table: pl.DataFrame) -> pl.DataFrame:
    """A table with rows or a column changed."""
    rows = draw(st.lists(st.integers(0, max(len(table) - 1, 0)), max_size=len(table) + 2))
    if not table.columns or draw(st.integers(0, 3)) == 0:
        return table[rows] if len(table) else table
    name = draw(st.sampled_from(table.columns))
    kind, odd = table.schema[name], pl.lit(draw(st.sampled_from(ODD_CELLS)))
    here = pl.int_range(pl.len()) == draw(st.integers(0, max(len(table) - 1, 0)))
    changes = (
        odd,
        odd.cast(kind, strict=False),
        pl.when(here).then(odd.cast(kind, strict=False)).otherwise(name),
        pl.when(here).then(pl.col(name).first()).otherwise(name),
        pl.col(name).reverse(),
        pl.col(name).cast(draw(st.sampled_from((pl.String, pl.Float32, pl.Int8))), strict=False),
    )
    how = draw(st.integers(0, len(changes)))
    try:
        return table.drop(name) if how == 0 else table.with_columns(changes[how - 1].alias(name))
    except pl.exceptions.PolarsError:  # not every type can be cast
        return table.drop(name)


@st.composite
def edited_arrays(draw: Draw, arrays: dict[str, Any]) -> dict[str, Any]:
    """What was learned, with an array changed."""
    name = draw(st.sampled_from(sorted(set(arrays) - {saved.RUN_MARK})))
    array = arrays[name]
    odd = draw(st.sampled_from((0, -1, 7, 10**6, math.nan)))
    changes = (
        np.array(odd),
        np.full(array.shape, odd),
        array[None],
        array.ravel()[:-1],
        np.concatenate([array, array]) if array.ndim else array[None, None],
        array.astype(np.str_),
        np.zeros(0),
    )
    return {**arrays, name: changes[draw(st.integers(0, len(changes) - 1))]}


@pytest.mark.slow
@settings(max_examples=120)
@given(data=st.data())
def test_a_run_may_be_forged_to_anything(sound, tmp_path_factory, data):
    kind = data.draw(st.sampled_from(KINDS))
    run = tmp_path_factory.mktemp("forged") / "run"
    shutil.copytree(sound / kind, run)
    name = data.draw(st.sampled_from(sorted(told(run)["files"])))
    if name == saved.FITTED_FILE:
        with np.load(run / name) as file:
            arrays = dict(file)
        np.savez(run / name, **data.draw(edited_arrays(arrays)))
        seal(run, name)
    else:
        rewrite(run, name, data.draw(edited_tables(pl.read_parquet(run / name))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers that cannot be may overflow
        assert len(use(run, kind, thoroughly=name == saved.FITTED_FILE)) < 2000


# --- readers and writers at once ------------------------------------------------------------------


@pytest.mark.slow
@of_one_kind
def test_who_reads_while_others_write_gets_one_run_or_the_other(run, sound):
    results = [veracity.load(sound / kind) for kind in ("categorical", "multiple")]
    done = threading.Event()

    def write(result):
        while not done.is_set():
            result.save(run, force=True)

    writers = [threading.Thread(target=write, args=(result,)) for result in results]
    for writer in writers:
        writer.start()
    try:
        for _ in range(3):
            try:
                found = veracity.load(run)
            except UnreadableFile as error:
                assert "replaced by another each of the" in str(error)  # noqa: PT017
                continue
            own = next(result for result in results if result.kind == found.kind)
            assert found.tables.facts.equals(own.tables.facts)
    finally:
        done.set()
        for writer in writers:
            writer.join()
    assert [path.name for path in run.parent.iterdir()] == ["run"]


@of_one_kind
def test_a_run_that_is_replaced_each_time_is_told(run, monkeypatch):
    monkeypatch.setattr(saved, "PAUSE", 0.0)
    numbers = iter(range(1000))
    monkeypatch.setattr(saved, "_id_of", lambda path: next(numbers))
    with pytest.raises(UnreadableFile, match="was replaced by another each of the 6 times"):
        veracity.load(run)


@of_one_kind
def test_a_run_that_was_set_aside_by_who_was_killed_is_found(run):
    left = run.parent / f"{atomic.PREFIX}left"
    left.mkdir()
    (left / MARKER).touch()
    (left / atomic.NAME).write_text(run.name)
    run.rename(left / atomic.OLD)
    assert veracity.load(run)
    assert [path.name for path in run.parent.iterdir()] == ["run"]
