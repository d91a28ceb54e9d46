"""The study of the default's ingredients and constants."""

from __future__ import annotations

import contextlib

import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.algorithms.default import confusion
from veracity.cli import main
from veracity.errors import ParameterError
from veracity.study import AblationStudy, carry_out
from veracity.study.ablation import INGREDIENTS, WHOLE
from veracity.study.constants import CONSTANTS, Constant, turned
from veracity.study.data import read_dataset
from veracity.study.measure import measure
from veracity.synthetic import Synthetic


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = []
    for seed, values in ((1, 3), (2, 60)):
        folder = tmp_path_factory.mktemp("ablation") / f"data{seed}"
        folder.mkdir()
        drawn = Synthetic(sources=8, items=150, values=values, accuracy=0.6).draw(seed=seed)
        drawn.claims.write_parquet(folder / "claims.parquet")
        drawn.truth.write_parquet(folder / "truth.parquet")
        made.append(str(folder))
    return tuple(made)


@pytest.fixture(scope="module")
def found(folders):
    constants = ("USUAL_CORRELATION", "CORRELATION")
    study = AblationStudy(datasets=folders, synthetic=1, constants=constants, claims=(200, 2000))
    return study, study.tables(carry_out(study, workers=1))


def test_a_row_an_ingredient_and_a_column_a_dataset(found):
    _, tables = found
    for name in ("accuracy", "calibration_error"):
        assert tables[name]["ingredient"].to_list() == list(INGREDIENTS)
        assert tables[name].columns == ["ingredient", "data1", "data2", "synthetic", "mean"]
        assert tables[name].null_count().sum_horizontal()[0] == 0


def test_the_first_row_is_the_default(found, folders):
    _, tables = found
    data = read_dataset(folders[0])
    right = measure(data.encoded, data.truth, veracity.Veracity())
    first = tables["accuracy"].row(0, named=True)
    assert (first["ingredient"], first["data1"]) == (WHOLE, pytest.approx(right.accuracy))


def test_tempering_changes_how_sure_and_not_what_is_right(found):
    _, tables = found
    plain, tempered = (
        tables["accuracy"].filter(pl.col("ingredient") == name).drop("ingredient").row(0)
        for name in ("without tempering", WHOLE)
    )
    assert plain == pytest.approx(tempered)


def test_a_constant_is_chosen_by_the_other_datasets(found):
    study, tables = found
    left = tables["left_out"].filter(pl.col("constant") == "USUAL_CORRELATION")
    assert left["dataset"].to_list() == ["data1", "data2", "synthetic"]
    others = {CONSTANTS["USUAL_CORRELATION"].value("USUAL_CORRELATION")}
    assert set(left["value"]) <= others | set(CONSTANTS["USUAL_CORRELATION"].others)
    assert tables["constants"]["constant"].to_list() == ["USUAL_CORRELATION", "CORRELATION"]
    assert len(study.findings(tables)) == len(INGREDIENTS) - 1 + 2
    assert "ablation" in study.figures(tables)


def test_what_is_chosen_is_best_on_the_others_and_told_of_the_one_left_out():
    rows = [
        {"dataset": d, "ingredient": None, "constant": "CORRELATION", "value": v, "accuracy": a,
         "calibration_error": 0.0}
        for d, v, a in (("x", 0.0, 0.9), ("x", 1.0, 0.1), ("y", 0.0, 0.2), ("y", 1.0, 0.8))
    ]  # fmt: skip
    rows += [
        {"dataset": d, "ingredient": WHOLE, "constant": None, "value": None, "accuracy": 0.5,
         "calibration_error": 0.0} for d in ("x", "y")
    ]  # fmt: skip
    study = AblationStudy(datasets=("x", "y"))
    left = study.tables(pl.DataFrame(rows, infer_schema_length=None))["left_out"]
    assert left.select("dataset", "value", "accuracy", "own_accuracy").rows() == [
        ("x", 1.0, 0.1, 0.5), ("y", 0.0, 0.2, 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize("name", CONSTANTS)
def test_every_constant_is_still_there_and_is_turned_to_others(name):
    own = CONSTANTS[name].value(name)
    assert own not in CONSTANTS[name].others


def test_turning_ends_with_the_block_even_in_an_error():
    before = confusion.CORRELATION
    with turned({"CORRELATION": 0.9}):
        assert confusion.CORRELATION == 0.9
    with contextlib.suppress(ZeroDivisionError), turned({"CORRELATION": 0.9}):
        raise ZeroDivisionError
    assert before == confusion.CORRELATION


def test_a_constant_that_is_gone_is_told():
    with pytest.raises(ParameterError, match="has no number 'GONE' to turn any more"):
        Constant("veracity.algorithms.default.confusion", ()).value("GONE")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"synthetic": -1}, "at least 0"), ({"constants": ("NONE",)}, "no constant 'NONE'")],
)
def test_settings_that_make_no_sense_are_refused(settings, complaint):
    with pytest.raises(ParameterError, match=complaint):
        AblationStudy(datasets=("x",), **settings)


def test_the_command_writes_a_page(folders, tmp_path):
    words = ["study", "ablation", folders[0], "--synthetic", "0", "--workers", "1"]
    done = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"accuracy.csv", "calibration_error.csv", "constants.csv", "ablation.svg"} <= names
