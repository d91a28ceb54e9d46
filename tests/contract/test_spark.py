"""Spark gives the answers of one machine: every algorithm, every kind, whatever is lost."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from uuid import uuid4

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from test_engines import CLOSE, assert_same_answers, claims_of

import spark
import veracity
from marks import slow_unless
from spark import as_polars, frame_of
from veracity.algorithms import CATALOGUE
from veracity.algorithms.base import Turn
from veracity.algorithms.catalogue import by_sweeps
from veracity.api import answer, prepare
from veracity.engines.spark import explained
from veracity.errors import EngineError, NoClaims, NotConverged, ParameterError, TooLarge
from veracity.trees import merged

KINDS = ("categorical", "multiple", "binary", "numeric")


@pytest.fixture(scope="module")
def engine():
    return spark.engine()


@pytest.fixture(scope="module")
def prepared(engine):
    """Claims of every kind, encoded on Spark and here, once for all algorithms."""
    return {
        kind: (prepare(frame_of(claims_of(kind)), kind=kind, engine=engine),
               prepare(claims_of(kind), kind=kind))
        for kind in KINDS
    }  # fmt: skip


@pytest.fixture(autouse=True)
def few_rounds():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        yield


def few_rounds_of(name):
    """An algorithm that is not waited for: what adds up does so in every round."""
    algorithm = by_sweeps(CATALOGUE[name].make())
    if "max_rounds" not in (field.name for field in dataclasses.fields(algorithm)):
        return algorithm
    fewest = {"two-estimates": 11}
    return dataclasses.replace(algorithm, max_rounds=fewest.get(name, 3))


def on_this_machine(result):
    """A result whose tables are polars frames, wherever they came from."""
    result.frame_kind = "polars"
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, entry in CATALOGUE.items()
        if name != "ltm" and not by_sweeps(entry.make()).depends_on_blocks
    ],
)
def test_every_algorithm_that_adds_up_answers_the_same(prepared, name):
    algorithm = few_rounds_of(name)
    there, here = prepared[algorithm.kinds[0]]
    found, expected = (answer(one, algorithm) for one in (there, here))
    assert found.notes == expected.notes
    assert_same_answers(on_this_machine(found), expected)


@pytest.mark.parametrize("kind", slow_unless("categorical".__eq__, KINDS))
def test_the_default_answers_the_same_for_every_kind(engine, kind):
    claims = claims_of(kind)
    result = veracity.discover(frame_of(claims), kind=kind, engine=engine)
    expected = veracity.discover(claims, kind=kind)
    assert type(result.truths).__module__.startswith("pyspark")
    assert as_polars(result.sources)["source"].equals(expected.sources["source"])
    assert as_polars(result.truths).schema == expected.truths.schema
    assert repr(result).splitlines()[:2] == repr(expected).splitlines()[:2]
    assert result.notes == expected.notes
    assert result.run.input.items == expected.run.input.items
    assert result.run.input.claims == expected.run.input.claims
    assert result.run.input.rows == expected.run.input.rows
    assert_same_answers(on_this_machine(result), expected)


@pytest.mark.slow
def test_walks_go_through_the_same_blocks_in_the_same_order(engine):
    claims = claims_of("categorical").head(500)
    blocks = prepare(claims, engine=veracity.Local(claims_per_block=100)).encoded.blocks
    assert len(blocks) > 2

    def go(block, lane, turn):
        name, path = lane
        return (name, [*path, block.number]), (turn.memory or "") + name

    def look(block, state, turn):
        return tuple(turn.memory), turn.memory

    with engine.hold(blocks) as held:
        for number in (1, 2):
            arrived = held.walk(go, (("a", []), ("b", [])), Turn(number))
            assert arrived == tuple((name, [*range(len(blocks))]) for name in "ab")
        assert list(held.found(look, None, Turn())) == [("aa", "bb")] * len(blocks)


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm",
    [
        veracity.algorithms.LTM(rounds=2, burn_in=1, chains=2),
        veracity.algorithms.LTDRBM(max_rounds=2),
    ],
)
def test_samplers_and_mini_batches_answer_the_same_from_the_same_blocks(engine, algorithm):
    claims = claims_of("categorical")
    found, expected = (
        veracity.discover(claims, algorithm, engine=kind(claims_per_block=400))
        for kind in (_on_spark(engine), veracity.Local)
    )
    assert_same_answers(found, expected)


def _on_spark(engine):
    class OnSpark(veracity.Local):
        """Cuts blocks as one machine does, and holds them on Spark."""

        def hold(self, blocks):
            return engine.hold(blocks)

    return OnSpark


@pytest.mark.slow
def test_ltd_rbm_by_name_follows_the_flow(engine):
    claims = claims_of("categorical").head(200)
    result = veracity.discover(frame_of(claims), "ltd-rbm", engine=engine)
    assert result.run.parameters["learning"] == "flow"


@pytest.mark.slow
def test_tallies_of_many_parts_are_merged_where_they_are(engine, prepared, monkeypatch):
    monkeypatch.setattr("veracity.engines.spark.MOST_COLLECTED", 2)
    there, here = prepared["categorical"]
    found, expected = (answer(one, few_rounds_of("veracity")) for one in (there, here))
    assert_same_answers(on_this_machine(found), expected)


# --- what is lost ---------------------------------------------------------------------------------


def stores():
    """The folders in which the workers of this session keep parts."""

    def where(batches):
        import os

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"home": [os.environ["SPARK_LOCAL_DIRS"]]})

    rows = spark.engine().session.range(1).mapInArrow(where, "home string").collect()
    return [folder for row in rows for folder in Path(row.home).glob("veracity-*")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["veracity", "three-estimates"])
def test_what_is_lost_in_the_middle_is_made_again(prepared, name):
    there, here = prepared["categorical"]
    n_lost = []

    def lose(phase, done, total):
        if (phase, done) == ("learning", 2):
            n_lost.append(len(stores()))
            for folder in stores():
                shutil.rmtree(folder)

    found = answer(there, few_rounds_of(name), lose)
    assert n_lost[0] > 0
    assert_same_answers(on_this_machine(found), answer(here, few_rounds_of(name)))


@pytest.mark.slow
def test_tables_are_made_again_from_what_is_left(engine):
    claims = claims_of("categorical")
    result = veracity.discover(frame_of(claims), engine=engine)
    for folder in stores():
        shutil.rmtree(folder)
    assert_same_answers(on_this_machine(result), veracity.discover(claims))


@pytest.mark.slow
def test_parts_are_made_again_as_they_were_in_whatever_task(engine):
    claims = claims_of("categorical")
    result = veracity.discover(frame_of(claims), engine=engine)
    for folder in stores():
        shutil.rmtree(folder)
    engine.session.catalog.clearCache()
    keys = ["entity", "attribute", "value"]
    facts = as_polars(result.facts.coalesce(1)).sort(keys)
    expected = veracity.discover(claims).facts.sort(keys)
    assert facts.select(keys).equals(expected.select(keys))
    assert_allclose(facts["plausibility"], expected["plausibility"], atol=CLOSE)


CLUSTER = """
import os, signal, sys
import polars as pl
import veracity
from veracity.io.frames import spark_table
from veracity.trees import merged

def executors():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command, mine = (open(f"/proc/{pid}/{what}").read() for what in ("cmdline", "environ"))
            if "CoarseGrainedExecutorBackend" in command and sys.argv[3] in mine:
                found.append(int(pid))
        except OSError:
            pass
    return found

def kill(phase, done, total):
    if (phase, done) == ("learning", 2) and not killed:
        killed.append(executors()[0])
        os.kill(killed[0], signal.SIGKILL)

os.environ["VERACITY_TEST_MARK"] = sys.argv[3]
killed = []
session = veracity.Spark(master="local-cluster[2,1,1024]").started()
claims = session.createDataFrame(spark_table(pl.read_parquet(sys.argv[1])))
result = veracity.discover(
    claims, veracity.algorithms.ThreeEstimates(max_rounds=3),
    engine=veracity.Spark(session, partitions=4), progress=kill)
result.facts.coalesce(1).write.parquet(sys.argv[2])
assert killed, "an executor was killed"
session.stop()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_worker_of_a_cluster_that_is_killed_changes_nothing(engine, tmp_path):
    # 3-Estimates, since what it keeps beside blocks has to be made again from the beginning.
    claims = claims_of("categorical")
    claims.write_parquet(tmp_path / "claims.parquet")
    arguments = [tmp_path / "claims.parquet", tmp_path / "facts", f"mark-{uuid4().hex}"]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CLUSTER, *arguments],
        env=os.environ | {"JDK_JAVA_OPTIONS": spark.QUICK_JAVA},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    facts = pl.read_parquet(tmp_path / "facts" / "*.parquet")
    expected = veracity.discover(claims, veracity.algorithms.ThreeEstimates(max_rounds=3)).facts
    keys = ["entity", "attribute", "value"]
    assert_allclose(
        facts.sort(keys)["plausibility"], expected.sort(keys)["plausibility"], atol=CLOSE
    )


# --- all that can be done with a result -----------------------------------------------------------


@pytest.fixture(scope="module")
def results(engine):
    claims = claims_of("categorical")
    return veracity.discover(frame_of(claims), engine=engine), veracity.discover(claims)


def test_a_fit_judges_and_goes_on(engine):
    claims = claims_of("categorical")
    old, new = claims.filter(pl.col("entity") < "e4"), claims.filter(pl.col("entity") >= "e4")
    fitted = veracity.discover(old).fitted
    judged = fitted.judge(frame_of(new), engine=engine)
    assert_same_answers(on_this_machine(judged), fitted.judge(new))
    updated = fitted.update(frame_of(new), engine=engine)
    assert_same_answers(on_this_machine(updated), fitted.update(new))


@pytest.mark.slow
def test_explanations_and_measures_need_no_more_than_the_items_meant(results, monkeypatch):
    found, expected = results
    monkeypatch.setattr("veracity.engines.spark_claims.free_memory", lambda: 1)
    assert found.why("e4", "size").words == expected.why("e4", "size").words
    by_attribute = as_polars(found.attributes)
    assert_allclose(by_attribute["accuracy"], expected.attributes["accuracy"])
    keys = ["entity", "attribute", "source", "value"]
    claims, here = as_polars(found.claims), expected.claims
    assert claims.select(*keys, "agrees").sort(keys).equals(here.select(*keys, "agrees").sort(keys))
    truth = claims_of("categorical").filter(pl.col("source") == "s8").drop("source")
    one, other = (veracity.evaluate(result, truth).measures() for result in results)
    assert one == pytest.approx(other)
    with pytest.raises(NoClaims, match="no source makes a claim about 'nowhere'"):
        found.why("nowhere")


@pytest.mark.slow
def test_what_needs_all_claims_on_one_machine_works_or_is_refused_with_the_number(
    results, monkeypatch
):
    found, expected = results
    assert str(veracity.check(found)) == str(veracity.check(expected))
    assert found.questions(3).count() == 3
    assert veracity.profile(found).claims == veracity.profile(expected).claims
    monkeypatch.setattr("veracity.engines.spark_claims.free_memory", lambda: 1000)
    n_claims = f"{found.run.input.claims:,}"
    with pytest.raises(TooLarge, match=f"all {n_claims} claims on one machine"):
        _ = found.difficulty
    monkeypatch.setattr("veracity.io.memory.free_memory", lambda: 100_000)
    assert "of 150 items, drawn at random" in veracity.check(found).notes[0]
    assert "of 150 items, drawn at random" in veracity.profile(found).notes[0]


def test_a_result_is_saved_and_loaded(results, tmp_path):
    found, expected = results
    loaded = veracity.load(found.save(tmp_path / "run"))
    assert_same_answers(loaded, expected)
    assert loaded.why("e4", "size").words == expected.why("e4", "size").words


@pytest.mark.slow
def test_algorithms_are_compared_where_the_claims_are(engine):
    claims = claims_of("categorical")
    chosen = ["majority-vote", few_rounds_of("sums")]
    found = veracity.compare(frame_of(claims), algorithms=chosen)
    expected = veracity.compare(claims, algorithms=chosen)
    assert found.pairs.equals(expected.pairs)


@pytest.mark.slow
def test_an_algorithm_is_compared_in_the_form_in_which_it_is_discovered_with(engine):
    claims = claims_of("categorical")
    frame = frame_of(claims)
    compared = veracity.compare(frame, algorithms=["ltd-rbm"]).results["ltd-rbm"]
    assert compared.run.parameters == veracity.discover(frame, "ltd-rbm").run.parameters
    truth = claims.drop("source").unique(["entity", "attribute"])
    tuned = veracity.tune(frame, truth, grid={"max_rounds": [2]}, algorithm="ltd-rbm", folds=2)
    assert tuned.algorithm.learning == compared.run.parameters["learning"]


# --- what is given --------------------------------------------------------------------------------


def _lacking():
    """Claims of which three rows have no value."""
    is_first = pl.int_range(pl.len()) < 3
    return claims_of("categorical").with_columns(
        value=pl.when(is_first).then(None).otherwise("value")
    )


def _wide():
    claims = claims_of("categorical").unique(
        ["source", "entity", "attribute"], keep="first", maintain_order=True
    )
    return claims.pivot(on="attribute", index=["source", "entity"], values="value")


def _said_again(kind):
    """Claims of which half are said again, with a time and a weight."""
    claims, numbers = claims_of(kind), pl.int_range(pl.len())
    again = claims.sample(fraction=0.5, seed=1).with_columns(pl.col("value").shuffle(seed=2))
    claims = pl.concat([claims, again])
    return claims.with_columns(seen=numbers % 7, sure=(numbers % 10) / 10)


def _in_formats():
    said = {"a": ["0.4", "2.6", "12/25/2020"], "b": ["0,400", "2,600", "25/12/2020"]}
    rows = [(source, f"e{n}", "xxd"[n], value)
            for source, values in said.items() for n, value in enumerate(values)]  # fmt: skip
    return pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")


def _spaced():
    is_one = pl.col("source") == "s1"
    return claims_of("categorical").with_columns(
        value=pl.when(is_one).then(pl.format(" {} ", "value")).otherwise("value")
    )


def _with_a_word():
    one = pl.DataFrame({"source": ["s1"], "entity": ["x"], "attribute": ["size"], "value": ["?"]})
    return pl.concat([claims_of("categorical"), one])


def _of_countries():
    return pl.DataFrame(
        {
            "agency": ["a", "b", "c", "a", "b", "c"],
            "country": ["D|E", "D|E", "D|E", "FR", "FR", "FR"],
            "year": [2020, 2020, 2020, 2021, 2021, None],
            "growth": ["-3.8", "-3.8", "-4.1", "3.2", "3.2", "3.0"],
        }
    )


def _known():
    claims = claims_of("categorical")
    known = claims.unique(["entity", "attribute"]).sort("entity", "attribute").head(40)
    nobody = pl.DataFrame({"entity": ["e9999"], "attribute": ["size"], "value": ["3"]})
    return pl.concat([known.drop("source"), nobody])


BOTH_LOSSES = veracity.algorithms.CRH(both_losses=True)
NO_VALUE = [claims_of("categorical")["value"][0], "so what"]
READ = {
    "rows that lack a value": (_lacking, {}),
    "a wide table": (_wide, {}),
    "entities of several columns": (_of_countries, {"columns": {
        "source": "agency", "entity": ["country", "year"], "value": "growth"}}),
    "samples": (lambda: _said_again("categorical"), {"algorithm": "veracity", "samples": True}),
    "times and weights": (lambda: _said_again("categorical"), {
        "columns": {"time": "seen", "weight": "sure"}}),
    "weights of numbers": (lambda: _said_again("numeric"), {
        "algorithm": "crh", "kind": "numeric", "columns": {"weight": "sure"}}),
    "weights of both losses": (lambda: _said_again("categorical"), {
        "algorithm": BOTH_LOSSES, "columns": {"weight": "sure"}}),
    "texts that mean no value": (lambda: claims_of("categorical"), {"no_value": NO_VALUE}),
    "the same, normalised": (lambda: claims_of("categorical"), {
        "no_value": NO_VALUE, "normalise": True}),
    "numbers in some parts only": (_with_a_word, {}),
    "normalised values": (_spaced, {"normalise": True}),
    "a format for each source": (_in_formats, {"normalise": True}),
    "known truths": (lambda: claims_of("categorical"), {"algorithm": "veracity", "known": _known}),
}  # fmt: skip
"""Claims and how they are read: Spark reads them as one machine does."""

QUICK = ("rows that lack a value",)


@pytest.mark.parametrize("name", slow_unless(QUICK.__contains__, READ))
def test_claims_are_read_and_answered_as_on_one_machine(engine, name):
    make, how = READ[name]
    claims, how = make(), {"algorithm": "majority-vote", **how}
    known = how.pop("known", lambda: None)()
    found = veracity.discover(
        frame_of(claims), engine=engine, known=None if known is None else frame_of(known), **how
    )
    expected = veracity.discover(claims, known=known, **how)
    assert sorted(found.notes) == sorted(expected.notes)
    assert found.run.normalisation == expected.run.normalisation
    assert (found.run.input.rows, found.run.input.known) == (
        expected.run.input.rows, expected.run.input.known
    )  # fmt: skip
    if how.get("normalise"):
        assert as_polars(found.changes).equals(expected.changes)
    if found.kind == "categorical":
        assert as_polars(found.records()).equals(expected.records())
    assert_same_answers(on_this_machine(found), expected)
    if how.keys() <= {"algorithm", "no_value", "normalise"}:
        again = expected.fitted.judge(frame_of(claims), engine=engine)
        assert_same_answers(on_this_machine(again), expected.fitted.judge(claims))


@pytest.mark.slow
def test_confusions_are_the_same(results):
    one, other = as_polars(results[0].confusions), results[1].confusions
    assert one.drop("probability", "claims").equals(other.drop("probability", "claims"))
    assert_allclose(one["claims"], other["claims"], atol=CLOSE)


def test_a_bad_value_on_an_executor_is_told_in_one_sentence(engine):
    claims = pl.DataFrame({"source": ["a", "b"], "fact": ["x", "y"], "claim": ["yes", "perhaps"]})
    with pytest.raises(veracity.errors.BadValue, match="a row claims 'perhaps', which is neither"):
        veracity.discover(frame_of(claims), kind="binary", engine=engine)


@pytest.mark.slow
def test_no_claims_are_told_as_such(engine):
    claims = pl.DataFrame({"source": ["a"], "entity": ["x"], "value": [""]})
    with pytest.raises(NoClaims, match="1 row without a value is left out"):
        veracity.discover(frame_of(claims), engine=engine)


@pytest.mark.slow
def test_columns_are_found_and_refused_as_elsewhere(engine):
    rows = pl.DataFrame({"website": ["a"], "id": ["x"], "value": ["1"]})
    result = veracity.discover(frame_of(rows), "majority-vote", engine=engine)
    assert "column 'website' is taken as the source" in result.notes
    with pytest.raises(veracity.errors.MissingColumn, match="no column 'value'"):
        veracity.discover(frame_of(rows.drop("value")), engine=engine)


@pytest.mark.slow
def test_the_work_on_a_spark_frame_is_done_where_it_lives(engine):
    with pytest.raises(ParameterError, match="is processed by its own Spark"):
        veracity.discover(frame_of(claims_of("categorical")), engine=veracity.Local())


def test_frames_of_spark_connect_are_refused_in_one_sentence():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    frame.sparkSession = None
    with pytest.raises(ParameterError, match="a frame of Spark Connect"):
        veracity.discover(frame)


def test_files_are_read_by_spark(engine, tmp_path):
    claims = claims_of("categorical")
    claims.write_parquet(tmp_path / "claims.parquet")
    claims.write_csv(tmp_path / "claims.csv")
    expected = veracity.discover(claims, "majority-vote")
    for name in ("claims.parquet", "claims.csv"):
        found = veracity.discover(tmp_path / name, "majority-vote", engine=engine)
        assert type(found.facts).__module__.startswith("pyspark")
        assert_same_answers(on_this_machine(found), expected)
    with pytest.raises(veracity.errors.UnreadableFile, match="Spark cannot read it"):
        veracity.discover(tmp_path / "nothing.parquet", engine=engine)


def test_what_is_handed_over_has_to_fit_here_first(monkeypatch):
    monkeypatch.setattr("veracity.engines.spark_claims.COPIES_HERE", 10**15)
    with pytest.raises(TooLarge, match=r"which executors cannot read themselves, need .* Parquet"):
        veracity.discover(claims_of("categorical"), engine=veracity.Spark(object()))


@pytest.mark.slow
def test_what_spark_cannot_read_is_read_here_and_handed_over(engine, tmp_path):
    claims = claims_of("categorical")
    claims.write_ndjson(tmp_path / "claims.jsonl")
    with contextlib.closing(sqlite3.connect(tmp_path / "claims.db")) as database:
        database.execute("create table claims (source, entity, attribute, value)")
        rows = claims.select("source", "entity", "attribute", "value").rows()
        database.executemany("insert into claims values (?, ?, ?, ?)", rows)
        database.commit()
    expected = veracity.discover(claims, "majority-vote")
    for given in (tmp_path / "claims.jsonl", f"sqlite:///{tmp_path}/claims.db#claims"):
        found = veracity.discover(given, "majority-vote", engine=engine)
        assert_same_answers(on_this_machine(found), expected)
    with pytest.raises(veracity.errors.VeracityError, match="claims") as told:
        veracity.discover(tmp_path / "claims.db", "majority-vote", engine=engine)
    assert "Spark" not in str(told.value)


@pytest.mark.slow
def test_a_polars_frame_comes_back_as_polars(engine):
    claims = claims_of("categorical")
    found = veracity.discover(claims, "majority-vote", engine=engine)
    assert isinstance(found.truths, pl.DataFrame)
    assert_same_answers(found, veracity.discover(claims, "majority-vote"))


@pytest.mark.slow
def test_a_task_that_fails_is_told_in_one_sentence(engine):
    blocks = prepare(claims_of("categorical")).encoded.blocks

    def stumble(block, state, turn):
        raise ValueError("this block is odd")

    with engine.hold(blocks) as held, pytest.raises(EngineError, match="this block is odd"):
        held.sweep(stumble, None, Turn())


OWN_SESSION = """
import sys
import polars as pl
from pyspark.sql import SparkSession
import veracity
from veracity.io.frames import spark_table

session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
claims = session.createDataFrame(spark_table(pl.read_parquet(sys.argv[1])))
print("items:", veracity.discover(claims, "majority-vote", kind="categorical").truths.count())
"""


@pytest.mark.slow
def test_a_session_of_ones_own_finds_the_package_where_no_environment_is_activated(
    engine, tmp_path
):
    claims_of("categorical").write_parquet(tmp_path / "claims.parquet")
    other = tmp_path / "bin" / "python3"  # the first of the path, without any package
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    path = f"{other.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "JDK_JAVA_OPTIONS": spark.QUICK_JAVA}
    environment.pop("PYSPARK_PYTHON", None)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OWN_SESSION, tmp_path / "claims.parquet"],
        env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert "items: 150" in done.stdout, done.stderr[-3000:]


def test_a_python_without_veracity_on_executors_is_told_with_what_to_do(engine):
    from pyspark.errors import PySparkException

    text = "PythonException: \nModuleNotFoundError: No module named 'veracity'\n"
    with pytest.raises(EngineError, match="install veracity on all of them, or ship"), explained():
        raise PySparkException(text)
    with pytest.raises(EngineError, match="its log tells more"), explained():
        raise PySparkException("RuntimeError: something else")


def test_spark_on_the_command_line(engine, tmp_path):
    from click.testing import CliRunner

    from veracity.cli import main

    claims_of("categorical").write_parquet(tmp_path / "claims.parquet")
    done = CliRunner().invoke(
        main, ["discover", str(tmp_path / "claims.parquet"), "--engine", "spark", "--master",
               "local[2]", "--algorithm", "majority-vote", "--out", str(tmp_path / "run")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "majority-vote on" in done.output
    expected = veracity.discover(claims_of("categorical"), "majority-vote")
    assert_same_answers(veracity.load(tmp_path / "run"), expected)


def test_packed_arrays_lie_where_kernels_take_them():
    from veracity.io.array_file import packed, read_arrays, unpacked, write_arrays

    content = (1, None, "text", np.arange(5), (np.zeros(0), np.ones((2, 3), dtype=np.float32)))
    for again in (unpacked(bytearray(packed(content))), unpacked(packed(content))):
        assert again[:3] == content[:3]
        assert merged(again[4], content[4])[1].tolist() == [[2.0] * 3] * 2
    path = Path(tempfile.mkdtemp()) / "packed"
    write_arrays(path, content)
    array = read_arrays(path)[3]
    assert array.flags.writeable
    assert array.flags.aligned
    array[0] = 7  # in memory alone
    assert read_arrays(path)[3][0] == 0
