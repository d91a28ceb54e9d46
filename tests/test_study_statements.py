"""What the paper says that LTD-RBM needs, taken away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from claims import as_encoded
from veracity.cli import main
from veracity.errors import ParameterError
from veracity.study import StatementsStudy, carry_out
from veracity.study.statements import AS_IT_IS, VARIANTS, _denied
from veracity.synthetic import Synthetic


@pytest.fixture(scope="module")
def tables():
    study = StatementsStudy(synthetic=3, algorithms=("ltd-rbm",), claims=(200, 2000))
    return study.tables(carry_out(study, workers=1))


def test_a_row_a_variant_and_a_column_a_machine_and_dataset(tables):
    assert tables["accuracy"]["variant"].to_list() == list(VARIANTS)
    assert tables["accuracy"].columns == ["variant", "ltd-rbm synthetic"]
    assert tables["accuracy"].null_count().sum_horizontal()[0] == 0


def test_changes_are_told_against_the_machine_as_it_is(tables):
    usual = tables["statements"].filter(pl.col("variant") == AS_IT_IS)
    assert usual["change"].to_list() == [0.0]
    assert tables["statements"]["change"].abs().max() > 0.0


def test_the_error_of_a_change_is_that_of_differences_on_the_same_claims():
    study = StatementsStudy(synthetic=2, algorithms=("ltd-rbm",))
    told = {AS_IT_IS: (0.5, 0.9), "silence denies": (0.4, 0.6)}
    rows = [
        {"task": f"ltd-rbm|{variant}|0|synthetic {number}", "algorithm": "ltd-rbm",
         "variant": variant, "dataset": "synthetic", "accuracy": accuracy, "converged": True}
        for variant, accuracies in told.items() for number, accuracy in enumerate(accuracies)
    ]  # fmt: skip
    changed = study.tables(pl.DataFrame(rows))["statements"].row(1, named=True)
    assert changed["change"] == pytest.approx(-0.2)
    assert changed["standard_error"] == pytest.approx(0.1)  # of -0.1 and -0.3


def test_who_is_silent_denies():
    rows = pl.DataFrame({"source": ["a", "b", "b"], "entity": ["x", "x", "y"], "value": [1, 2, 1]})
    (block,) = _denied(as_encoded(rows.cast(pl.String))).blocks
    assert block.n_voices_of_item.tolist() == [2, 2]
    assert block.source_of_voice.tolist() == [0, 1, 0, 1]
    assert block.source_of_support.tolist() == [0, 1, 1]


def test_other_draws_start_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where it starts depends on the name of the folder
    folder = Path("drawn")
    folder.mkdir()
    drawn = Synthetic(sources=6, items=60).draw(seed=1)
    drawn.claims.write_parquet(folder / "claims.parquet")
    drawn.truth.write_parquet(folder / "truth.parquet")
    study = StatementsStudy(datasets=(str(folder),), synthetic=0, draws=8)
    found = [
        study.do(f"ltd-rbm|rates start at random|{draw}|{folder}")[0]["accuracy"]
        for draw in range(8)
    ]
    assert np.ptp(found) > 0.1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"algorithms": ("mle",)}, "mle is no LTD-RBM"), ({"draws": 0}, "draws is too small"),
     ({"synthetic": 0}, "there must be datasets, or synthetic ones")],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings, complaint):
    with pytest.raises(ParameterError, match=complaint):
        StatementsStudy(**settings)


def test_the_command_writes_a_page(tmp_path):
    settings = ["--set", "synthetic=1", "--set", "algorithms=ltd-rbm"]
    words = ["study", "statements", *settings, "--workers", "1"]
    done = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"accuracy.csv", "statements.csv", "statements.svg", "rows.parquet"} <= names
