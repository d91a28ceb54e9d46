"""Saved runs: what is loaded is what was saved; damage is one sentence that names the file."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import veracity
from veracity.errors import UnreadableFile
from veracity.io import atomic
from veracity.io.temp_files import MARKER
from veracity.result import TABLES

CLAIMS = veracity.synthetic.Synthetic(sources=4, items=12, accuracy=0.8).draw(seed=3).claims
NUMBERS = CLAIMS.select("source", "entity", value=pl.col("value").hash(1).cast(pl.Float64) % 97.0)
BINARY = pl.DataFrame(
    {"source": list("abcabcabc"), "fact": list("xxxyyyzzz"), "claim": [1, 0, 1, 1, 1, 0, 0, 1, 0]}
)
TOPICS = CLAIMS.with_columns(attribute=pl.col("entity").cast(pl.String).str.slice(-1))
GIVEN = {
    "categorical": (CLAIMS, {}),
    "attributes": (TOPICS, {}),
    "blocks": (CLAIMS, {"engine": veracity.Local(claims_per_block=5)}),
    "copies": (CLAIMS, {"algorithm": "accu-copy"}),
    "multiple": (CLAIMS, {"kind": "multiple"}),
    "shares": (CLAIMS.with_columns(weight=0.5), {"columns": {"weight": "weight"}}),
    "binary": (BINARY, {"kind": "binary"}),
    "numeric": (NUMBERS, {"kind": "numeric"}),
    "normalised": (CLAIMS.with_columns(value=pl.format("{} kg", "value")), {"normalise": True}),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A run of each kind, as it is saved."""
    place = tmp_path_factory.mktemp("sound")
    for name, (claims, options) in GIVEN.items():
        veracity.discover(claims, **options).save(place / name)
    return place


@pytest.fixture
def run(sound, tmp_path):
    """A run to be damaged."""
    return shutil.copytree(sound / "normalised", tmp_path / "run")


def described(run):
    return json.loads((run / "run.json").read_text(encoding="utf-8"))


def describe(run, content):
    (run / "run.json").write_text(json.dumps(content), encoding="utf-8")


def use(run):
    """Read all files of a run."""
    result = veracity.load(run)
    for name in TABLES:
        if name not in ("confusions", "probabilities", "difficulty"):
            getattr(result, name, None)
    list(result.encoded.parts)
    return result.fitted


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("name", GIVEN)
def test_all_of_a_run_comes_back(name, is_large, tmp_path, monkeypatch):
    claims, options = GIVEN[name]
    result = veracity.discover(claims, **options)
    monkeypatch.setattr("veracity.result.saving.fits_in_memory", lambda n_claims: not is_large)
    loaded = veracity.load(result.save(tmp_path / "run"))
    assert repr(loaded) == repr(result)
    assert_frame_equal(loaded.trace, result.trace)
    for table in TABLES:
        try:
            expected = result.table(table)
        except veracity.errors.ParameterError as error:
            with pytest.raises(veracity.errors.ParameterError, match=re.escape(str(error))):
                loaded.table(table)
        else:
            assert_frame_equal(loaded.table(table), expected)
            assert_frame_equal(loaded.table(table, lazy=True).collect(), expected)
    for one, other in zip(loaded.encoded.parts, result.encoded.parts, strict=True):
        assert one.items.equals(other.items)
        for own, expected in zip(one.block, other.block, strict=True):
            assert pl.Series([own]).equals(pl.Series([expected]))
    key = result.facts.columns[0]
    assert str(loaded.why(loaded.facts[key][0])) == str(result.why(result.facts[key][0]))
    assert loaded.fitted.judge(claims).truths.equals(result.fitted.judge(claims).truths)
    again = veracity.load(loaded.save(tmp_path / "again"))
    assert again.facts.equals(result.facts)


def test_users_see_tables_with_names_and_files_of_the_run_have_a_folder_of_their_own(run):
    files = {path.name for path in run.iterdir()}
    assert files == {
        "run.json", "internal", "truths.parquet", "facts.parquet", "sources.parquet",
        "copies.parquet", "changes.parquet",
    }  # fmt: skip
    for file in run.glob("*.parquet"):
        assert not {"fact", "label"} & set(pl.read_parquet_schema(file))


# --- damage ---------------------------------------------------------------------------------------


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "flipped": flipped,
    "longer": lambda content: content + b"x",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named(run, damage):
    for name in described(run)["files"]:
        whole = (run / name).read_bytes()
        (run / name).write_bytes(DAMAGES[damage](whole))
        with pytest.raises(UnreadableFile, match=f"{name} is damaged; load it again, or discover"):
            veracity.load(run) if damage != "flipped" else use(run)
        (run / name).unlink()
        with pytest.raises(UnreadableFile, match=f"{name} is missing"):
            veracity.load(run)
        (run / name).write_bytes(whole)
    use(run)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b"\xff", b"[" * 100_000, b"null"])
def test_run_json_may_be_no_run(run, content):
    (run / "run.json").write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"run\.json is damaged|the run has the format"):
        veracity.load(run)


def test_run_json_lacks_nothing(run):
    content = described(run)
    for name in ("kind", "parameters", "input", "files", "open_values"):
        describe(run, {key: value for key, value in content.items() if key != name})
        with pytest.raises(UnreadableFile, match=f"run.json is damaged: run.json lacks '{name}'"):
            veracity.load(run)


def test_no_file_outside_the_folder_belongs_to_a_run(run):
    content = described(run)
    for name in ("../run.json", "/etc/passwd"):
        describe(run, {**content, "files": {**content["files"], name: {"bytes": 1, "crc32": 1}}})
        with pytest.raises(UnreadableFile, match="is no file of a run"):
            veracity.load(run)


@pytest.mark.parametrize(("other", "called"), [(2, "2"), (None, "of an earlier version")])
def test_runs_of_other_formats_are_refused(run, other, called):
    describe(run, {**described(run), "format": other})
    with pytest.raises(UnreadableFile, match=rf"has the format {called}, and .* reads format 1"):
        veracity.load(run)


class Runs:
    """An object that runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_in_a_run_is_ever_run(run, tmp_path):
    from veracity.io.array_file import packed
    from veracity.result.saving import checksum

    (run / "internal" / "claims.bin").write_bytes(packed(Runs(tmp_path / "made")))
    size = (run / "internal" / "claims.bin").stat().st_size
    blocks = pl.DataFrame({"first": [0], "bytes": [size], "facts": [1]})
    blocks.write_parquet(run / "internal" / "blocks.parquet")
    content = described(run)
    for name in ("internal/claims.bin", "internal/blocks.parquet"):
        content["files"][name] = {
            "bytes": (run / name).stat().st_size, "crc32": checksum(run / name)
        }  # fmt: skip
    describe(run, content)
    with pytest.raises(UnreadableFile, match="mkdir, which is no array"):
        list(veracity.load(run).encoded.blocks)
    assert not (tmp_path / "made").exists()


# --- replaced runs --------------------------------------------------------------------------------


def test_a_run_that_is_replaced_while_it_is_used_is_not_mixed_with_the_other(run, sound):
    result = veracity.load(run)
    assert len(result.truths)
    veracity.load(sound / "multiple").save(run, force=True)
    with pytest.raises(UnreadableFile, match=r"was replaced while it was read: facts.parquet"):
        _ = result.facts


@pytest.mark.slow
def test_who_reads_while_others_write_gets_one_run_or_the_other(run, sound):
    results = [veracity.load(sound / kind) for kind in ("categorical", "multiple")]
    done = threading.Event()
    results[0].save(run, force=True)

    def write(result):
        while not done.is_set():
            result.save(run, force=True)

    writers = [threading.Thread(target=write, args=(result,)) for result in results]
    for writer in writers:
        writer.start()
    try:
        for _ in range(20):
            try:
                found = veracity.load(run)
                facts = found.facts
            except UnreadableFile:
                continue
            own = next(result for result in results if result.kind == found.kind)
            assert facts.equals(own.facts)
    finally:
        done.set()
        for writer in writers:
            writer.join()
    assert [path.name for path in run.parent.iterdir()] == ["run"]


def test_a_run_that_was_set_aside_by_who_was_killed_is_found(run):
    left = run.parent / f"{atomic.PREFIX}left"
    left.mkdir()
    (left / MARKER).touch()
    (left / atomic.NAME).write_text(run.name)
    run.rename(left / atomic.OLD)
    assert veracity.load(run)
    assert [path.name for path in run.parent.iterdir()] == ["run"]


@pytest.mark.parametrize("place", ["", "internal"])
def test_a_folder_with_files_of_others_is_never_replaced(run, place):
    result = veracity.load(run)
    (run / place / "mine.txt").write_text("x")
    with pytest.raises(veracity.errors.OutputError, match=r"did not write '.*mine\.txt' in it"):
        result.save(run, force=True)
    (run / place / "mine.txt").unlink()
    result.save(run, force=True)
