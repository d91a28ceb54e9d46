"""Studies on datasets of one's own, on run time, and the hyperparameters they turn."""

from __future__ import annotations

import json
import time
from dataclasses import fields
from types import SimpleNamespace

import polars as pl
import pytest

from veracity.algorithms import CATALOGUE, algorithm_named
from veracity.errors import ParameterError, UnreadableFile
from veracity.study import (
    RobustnessStudy,
    RuntimeStudy,
    SensitivityStudy,
    StatementsStudy,
    carry_out,
    publish,
)
from veracity.study import robustness as robustness_module
from veracity.study.data import Judged, name_of, read_dataset
from veracity.study.measure import Measured, measure
from veracity.study.robustness import optimise
from veracity.study.settings import GRID, parameters_of, with_settings
from veracity.synthetic import Synthetic

ON_DATASETS = (RobustnessStudy, SensitivityStudy)
"""Those that need a dataset at least."""


def write_dataset(folder, seed=0):
    """A small dataset in a folder, whose name is given back."""
    folder.mkdir(parents=True)
    drawn = Synthetic(sources=6, items=30, accuracy=0.6, accuracy_variability=3.0).draw(seed)
    drawn.claims.write_parquet(folder / "claims.parquet")
    drawn.truth.write_parquet(folder / "truth.parquet")
    return str(folder)


# --- hyperparameters -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_hyperparameter_takes_every_value_of_the_grid_and_others_are_refused(name):
    assert with_settings(name, {}) == CATALOGUE[name].make()
    for parameter in parameters_of(name):
        for value in GRID[parameter]:
            algorithm = with_settings(name, {parameter: value})
            holder = algorithm.prior if parameter in ("fpr", "tpr", "prevalence") else algorithm
            assert getattr(holder, parameter) == value
            assert type(getattr(holder, parameter)) is type(value)
    with pytest.raises(ParameterError, match=f"{name} has no parameter"):
        with_settings(name, {min(GRID.keys() - set(parameters_of(name))): 0.5})
    if "seed" in {field.name for field in fields(CATALOGUE[name].make())}:
        assert with_settings(name, {}, seed=7).seed == 7


def test_several_hyperparameters_are_set_together_and_the_others_stay():
    algorithm = with_settings("ltd-rbm-c", {"fpr": 0.1, "tpr": 0.9, "batch_size": 10.0})
    assert (algorithm.prior.fpr, algorithm.prior.tpr, algorithm.batch_size) == (0.1, 0.9, 10)
    assert algorithm.single_truth
    assert algorithm.decay == CATALOGUE["ltd-rbm-c"].make().decay


# --- datasets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("data/flight_raw", "flight_raw"),
        ("data/flight_raw/", "flight_raw"),
        ("data/flight_raw+normalised", "flight_raw normalised"),
        ("my data/two words", "two words"),
    ],
)
def test_a_dataset_is_called_after_its_folder(folder, name):
    assert name_of(folder) == name


def test_the_folder_one_is_in_has_a_name_too(tmp_path, monkeypatch):
    write_dataset(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    assert read_dataset(".").name == "here"


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        (["truth.csv"], r"no file 'claims\.\*' in it; a dataset is a folder with claims and truth"),
        (["claims.csv"], r"no file 'truth\.\*' in it"),
        (
            ["claims.csv", "claims.parquet", "truth.csv"],
            r"which file holds the claims\?",
        ),
        (None, "there is no such folder"),
        ("file", "is a file; a dataset is a folder"),
    ],
)
def test_a_folder_that_is_no_dataset_is_refused_before_any_work(tmp_path, files, complaint):
    good, bad = write_dataset(tmp_path / "good"), tmp_path / "bad"
    if files == "file":
        bad.touch()
    elif files is not None:
        bad.mkdir()
        for name in files:
            (bad / name).touch()
    with pytest.raises(UnreadableFile, match=f"bad: {complaint}"):
        carry_out(RobustnessStudy(datasets=(good, str(bad))), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_truths_about_other_items_are_refused(tmp_path):
    folder = write_dataset(tmp_path / "odd")
    pl.DataFrame({"entity": ["?"], "attribute": ["value"], "value": ["v0"]}).write_parquet(
        tmp_path / "odd" / "truth.parquet"
    )
    with pytest.raises(UnreadableFile, match="none of its truths is about an item"):
        read_dataset(folder)


def test_datasets_that_tables_could_not_tell_apart_are_refused():
    with pytest.raises(ParameterError, match="would both be called 'flight' in the tables"):
        StatementsStudy(datasets=("a/flight", "b/flight"))


@pytest.mark.parametrize("study", ON_DATASETS)
def test_a_study_of_datasets_needs_one(study):
    with pytest.raises(ParameterError, match="no dataset is named"):
        study(datasets=())


# --- robustness ----------------------------------------------------------------------------------

PAPER_MLE = (0.1097, 0.0926, 0.7421, 0.7607)
"""Table 3, MLE: optimised for Flight (0) and (1), on Flight (0); and the same on Flight (1)."""

NOTHING = Judged("nothing", SimpleNamespace(encoded=None), None)
"""A dataset of which only a made-up accuracy is asked."""


def landscape(monkeypatch, height):
    """Accuracies as a function of the settings, in place of real ones."""

    def measured(encoded, known, algorithm):
        prior = algorithm.prior
        right = height(prior.fpr, prior.tpr, prior.prevalence)
        return Measured(right, 0.0, 0.0, 1, converged=True)

    monkeypatch.setattr(robustness_module, "measure", measured)


def test_the_one_peak_of_a_landscape_is_found(monkeypatch):
    landscape(
        monkeypatch,
        lambda fpr, tpr, share: (
            1 - (fpr - 0.6) ** 2 - (tpr - 0.95) ** 2 - ((share or 0) - 0.7) ** 2
        ),
    )
    best, tried = optimise(NOTHING, "mle")
    assert json.loads(best) == {"fpr": 0.6, "tpr": 0.95, "prevalence": 0.7}
    assert tried[best] == 1.0


def test_a_ridge_is_climbed_by_taking_turns(monkeypatch):
    """From (0.2, 0.8) the best fpr depends on the tpr, so that one round is not enough."""
    landscape(
        monkeypatch,
        lambda fpr, tpr, share: 0.5 * fpr + 0.1 * tpr - 4 * (fpr + 0.25 - tpr) ** 2,
    )
    best, _ = optimise(NOTHING, "mle")
    setting = json.loads(best)
    assert (setting["fpr"], setting["tpr"]) == (0.7, 0.95)


def test_a_coarse_search_tries_every_second_value(monkeypatch):
    landscape(monkeypatch, lambda fpr, tpr, share: -abs(fpr - 0.3))
    best, tried = optimise(NOTHING, "mle", coarse=True)
    assert best == "{}"
    values = [value for setting in tried for value in json.loads(setting).items()]
    assert values == [(p, v) for p in ("fpr", "tpr", "prevalence") for v in GRID[p][::2]]


def test_what_need_not_change_stays_and_the_end_is_never_below_the_start(monkeypatch):
    landscape(monkeypatch, lambda fpr, tpr, share: 0.5)
    assert optimise(NOTHING, "mle")[0] == "{}"
    landscape(monkeypatch, lambda fpr, tpr, share: 1.0 if (fpr, tpr) == (0.2, 0.8) else 0.0)
    best, tried = optimise(NOTHING, "mle")
    assert tried[best] == tried["{}"] == 1.0


@pytest.fixture(scope="module")
def robust(tmp_path_factory):
    """A study on two small datasets, its rows and its tables."""
    root = tmp_path_factory.mktemp("two words")
    folders = (write_dataset(root / "a b", 1), write_dataset(root / "c", 2))
    study = RobustnessStudy(
        datasets=(*folders, f"{folders[0]}+normalised"), algorithms=("mle", "majority-vote")
    )
    rows = carry_out(study, root / "out", workers=1)
    publish(study, rows, root / "out")
    return study, rows, study.tables(rows)


def test_every_optimum_is_applied_to_every_dataset(robust):
    _, _, tables = robust
    table = tables["optimization_dependency"]
    names = ["a b", "c", "a b normalised"]
    expected = {(a, o, d) for a in ("mle", "majority-vote") for o in names for d in names}
    assert len(table) == len(expected)
    assert set(table.select("algorithm", "optimized_for", "dataset").iter_rows()) == expected


def test_an_optimum_is_as_good_where_it_was_found_as_the_search_says(robust):
    _, _, tables = robust
    applied = tables["optimization_dependency"].filter(pl.col("optimized_for") == pl.col("dataset"))
    both = applied.join(tables["optima"], on=["algorithm", "dataset"], suffix="_found")
    assert len(both) == 6
    assert both["accuracy"].equals(both["accuracy_found"].rename("accuracy"))


def test_no_setting_tried_is_above_the_optimum_and_every_optimum_can_be_set(robust):
    _, rows, tables = robust
    best = rows.drop_nulls("is_optimum").group_by("algorithm", "dataset").agg(pl.max("accuracy"))
    found = tables["optima"].join(best, on=["algorithm", "dataset", "accuracy"])
    assert len(found) == len(tables["optima"]) == 6
    for row in found.iter_rows(named=True):
        with_settings(row["algorithm"], json.loads(row["setting"]))


def test_mean_deviation_and_maximum_are_those_of_pencil_and_paper():
    study = RobustnessStudy(datasets=("flight_raw", "flight_raw+normalised"), algorithms=("mle",))
    names = ("flight_raw", "flight_raw normalised")
    rows = pl.DataFrame(
        {
            "task": ["s1", "s2", "a1", "a2", "a3", "a4"],
            "algorithm": "mle",
            "dataset": [*names, names[0], names[0], names[1], names[1]],
            "optimized_for": [None, None, *names, *names],
            "accuracy": [0.5, 0.5, 0.2, 0.4, 0.5, 0.5],
            "is_optimum": [True, True, None, None, None, None],
            "setting": "{}",
        }
    )
    tables = study.tables(rows)
    raw, normalised = tables["robustness"].iter_rows(named=True)
    assert (raw["mean"], raw["std"], raw["max"]) == pytest.approx((0.3, 0.1, 0.4))
    assert (normalised["mean"], normalised["std"], normalised["max"]) == (0.5, 0.0, 0.5)
    paper = tables["optimization_dependency"]["paper_accuracy"].to_list()
    assert paper == pytest.approx(PAPER_MLE)
    assert raw["paper_mean"] == pytest.approx(sum(PAPER_MLE[:2]) / 2)
    assert raw["paper_max"] == pytest.approx(max(PAPER_MLE[:2]))


def test_a_study_of_other_data_shows_nothing_of_the_paper(robust):
    study, _, tables = robust
    assert tables["optimization_dependency"]["paper_accuracy"].is_null().all()
    assert not any("paper" in finding for finding in study.findings(tables))


# --- run time ------------------------------------------------------------------------------------


def timed(seconds_of):
    """Rows as if every size took the seconds a function gives."""
    sizes = [100, 1000, 10_000, 100_000]
    return pl.DataFrame(
        {
            "task": [f"{name} {size}" for name in seconds_of for size in sizes],
            "algorithm": [name for name in seconds_of for _ in sizes],
            "claims": sizes * len(seconds_of),
            "seconds": [of(size) for of in seconds_of.values() for size in sizes],
        }
    )


def test_exponents_are_those_of_the_power_law_the_seconds_follow():
    rows = timed({"majority-vote": lambda n: 1e-8 * n, "mle": lambda n: 1e-7 * n**1.5})
    growth = RuntimeStudy().tables(rows)["growth"]
    assert growth["algorithm"].to_list() == ["majority-vote", "mle"]
    assert growth["exponent"].to_list() == pytest.approx([1.0, 1.5])
    assert growth["times_vote"].to_list() == pytest.approx([1.0, 10 * 100_000**0.5])
    assert growth["microseconds_per_claim"][0] == pytest.approx(0.01)


def test_seconds_are_of_the_processor(tmp_path, monkeypatch):
    data = read_dataset(write_dataset(tmp_path / "one"))
    monkeypatch.setattr(time, "process_time", iter([1.0, 3.5]).__next__)
    assert measure(data.encoded, data.truth, algorithm_named("majority-vote")).seconds == 2.5


def test_each_algorithm_is_timed_at_each_size():
    study = RuntimeStudy(algorithms=("majority-vote", "mle"), most=1000, steps=2, repeats=1)
    rows = carry_out(study)
    assert rows["algorithm"].to_list() == ["majority-vote", "mle"] * 2
    sizes = rows["claims"].to_list()
    assert sizes[0] == sizes[1] < sizes[2] == sizes[3]
    assert (rows["seconds"] > 0).all()


@pytest.mark.parametrize("most", [100, 300, 2000])
def test_sizes_too_few_for_an_exponent_and_no_vote_are_no_trouble(most, tmp_path):
    study = RuntimeStudy(algorithms=("mle",), most=most, steps=3, repeats=1)
    rows = carry_out(study, tmp_path / "out")
    publish(study, rows, tmp_path / "out")
    (finding,) = study.findings(study.tables(rows))
    assert "vote" not in finding
    assert "power" not in finding


@pytest.mark.parametrize("wrong", [{"least": 0}, {"most": 50}, {"steps": 0}, {"repeats": 0}])
def test_sizes_that_cannot_be_are_refused(wrong):
    with pytest.raises(ParameterError, match=r"study: \w+ must be at least"):
        RuntimeStudy(**wrong)


# --- sensitivity ---------------------------------------------------------------------------------


def test_one_hyperparameter_at_a_time_takes_its_values(tmp_path):
    study = SensitivityStudy(
        datasets=(write_dataset(tmp_path / "flight_raw") + "+normalised",),
        algorithms=("mle", "ltd-rbm-cd"),
        parameters=("fpr", "decay"),
    )
    rows = carry_out(study, tmp_path / "out", workers=1)
    assert len(rows) == 2 * 15 + len(GRID["decay"])  # MLE has no decay
    tables = study.tables(rows)
    shown = tables["sensitivity"].drop_nulls("paper_accuracy")
    assert set(shown.select("algorithm", "parameter").iter_rows()) == {
        ("mle", "fpr"), ("ltd-rbm-cd", "fpr"),
    }  # fmt: skip
    assert len(shown) == 30
    page = publish(study, rows, tmp_path / "out")
    drawn = sorted(path.name for path in page.parent.glob("*.svg"))
    assert drawn == ["flight_raw_normalised_decay.svg", "flight_raw_normalised_fpr.svg"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"parameters": ("mood",)}, "no parameter 'mood'; there are"),
        ({"algorithms": ("majority-vote",)}, r"none of \['majority-vote'\] has a parameter"),
        ({"algorithms": ("mle",), "parameters": ("decay",)}, "none of"),
    ],
)
def test_hyperparameters_that_nobody_has_are_refused(settings, complaint):
    with pytest.raises(ParameterError, match=complaint):
        SensitivityStudy(datasets=("flight",), **settings)
