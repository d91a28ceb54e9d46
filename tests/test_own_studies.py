"""Our own studies: what they count, by hand and on small claims, and the tables on the pages."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from asking import ASKED, MARGIN, RANDOM, AskingStudy
from intervals import IntervalsStudy
from league import BEST_ELSEWHERE, LeagueStudy
from numeric import SHAPES, NumbersStudy, draw_numbers
from numpy.testing import assert_allclose

import veracity
from veracity import study as studies
from veracity.encoding.known import with_known
from veracity.errors import ParameterError
from veracity.study import carry_out, publish
from veracity.study.measure import calibration_error
from veracity.study.work import STUDY_FILE
from veracity.synthetic import Ranges, Synthetic

# --- answers to questions -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    """Claims that are hard to judge, with all but a few of their truths."""
    folder = tmp_path_factory.mktemp("asking") / "hard"
    folder.mkdir()
    drawn = Synthetic(sources=12, items=90, values=4, accuracy=0.5).draw(seed=5)
    drawn.claims.write_parquet(folder / "claims.parquet")
    drawn.truth.head(80).write_parquet(folder / "truth.parquet")
    return str(folder)


@pytest.fixture(scope="module")
def found(hard):
    study = AskingStudy(datasets=(hard,), budgets=(0, 10, 20, 100), draws=2)
    return study, study.tables(carry_out(study, workers=1))


def test_all_ways_to_choose_are_measured_after_the_same_numbers_of_answers(found):
    _, tables = found
    curves = tables["curves"]
    for how in (ASKED, MARGIN, RANDOM):
        own = curves.filter(pl.col("how") == how)
        assert own["budget"].to_list() == [0, 10, 20]  # of 80 items, 100 cannot be asked for
        assert own["answers"].to_list() == [0, 10, 20]
    assert curves.filter(pl.col("how") == RANDOM)["draws"].to_list() == [2, 2, 2]
    assert tables["asking"].columns == ["dataset", "how", "0", "10", "20"]


def test_what_is_answered_is_right_and_the_others_are_measured_beside(found):
    _, tables = found
    for row in tables["curves"].iter_rows(named=True):
        n_known, n = row["answers"], 80
        whole = (n_known + row["others"] * (n - n_known)) / n
        assert row["accuracy"] == pytest.approx(whole)
    start = tables["curves"].filter(pl.col("budget") == 0)
    assert start["accuracy"].n_unique() == 1
    assert start["others"].to_list() == start["others_before"].to_list()


def test_what_is_asked_for_and_what_is_random_both_help(found):
    study, tables = found
    for row in tables["asking"].iter_rows(named=True):
        assert row["20"] > row["0"]
    assert study.findings(tables)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"draws": 0}, "draws must be at least 1, got 0"),
        ({"budgets": (0, 15)}, r"multiples of 10, got \[0, 15\]"),
        ({"budgets": ()}, "multiples of 10"),
    ],
)
def test_settings_of_asking_that_make_no_sense_are_refused(settings, complaint):
    with pytest.raises(ParameterError, match=complaint):
        AskingStudy(datasets=("x",), **settings)


# --- intervals and numbers ------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a data set of each kind."""
    monkeypatch.chdir(tmp_path)
    for name, (claims, truth) in {
        "values": Synthetic(sources=6, items=80).draw(seed=2)[:2],
        "numbers": draw_numbers(1, n_sources=5, n_items=40),
    }.items():
        (tmp_path / name).mkdir()
        claims.write_csv(tmp_path / name / "claims.csv")
        truth.write_csv(tmp_path / name / "truth.csv")
    return tmp_path


def test_intervals_are_counted_on_real_and_on_synthetic_claims(folder):
    study = IntervalsStudy(datasets=("values",), algorithms=("majority-vote",), synthetic=2)
    rows = carry_out(study, folder / "out", workers=1)
    tables = study.tables(rows)
    assert tables["synthetic"].columns == ["algorithm", "none copy", "a fifth copy"]
    assert tables["real"]["dataset"].to_list() == ["values", "mean"]
    assert tables["real"]["sources"][0] <= 6  # those with enough claims
    assert rows["held"].is_between(0.0, 1.0).all()
    assert publish(study, rows, folder / "out").exists()


def test_sources_count_alike_whatever_the_size_of_their_set():
    rows = pl.DataFrame(
        {"dataset": "none copy", "algorithm": "mle", "sources": [1, 3], "held": [1.0, 1 / 3]}
    )
    table = IntervalsStudy(synthetic=2).tables(rows)["synthetic"]
    assert_allclose(table["none copy"].to_list(), [0.5])  # 1 and 1 of 4


def test_errors_of_numbers_are_measured_beside_means_and_medians(folder):
    study = NumbersStudy(datasets=("numbers",), draws=1)
    rows = carry_out(study, folder / "out", workers=1)
    tables = study.tables(rows)
    assert tables["synthetic"]["dataset"].to_list() == list(SHAPES)
    (real,) = tables["real"].to_dicts()
    assert real["dataset"] == "numbers"
    assert real["ltd-rbm-n"] < real["mean"]  # sources differ by a factor of two
    assert 0.5 < real["ltd-rbm-n holds"] <= 1.0
    assert publish(study, rows, folder / "out").exists()


def test_each_attribute_is_taken_for_itself_without_what_is_no_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two").mkdir()
    claims = [
        (s, e, a, f"{e}" if (s, e) != ("a", 1) else "calm")
        for s in "abc"
        for e in range(1, 6)
        for a in ("wind", "rain")
    ]
    pl.DataFrame(claims, schema=["source", "entity", "attribute", "value"], orient="row").write_csv(
        tmp_path / "two" / "claims.csv"
    )
    truth = [(e, a, e + (a == "rain")) for e in range(1, 6) for a in ("wind", "rain")]
    pl.DataFrame(truth, schema=["entity", "attribute", "value"], orient="row").write_csv(
        tmp_path / "two" / "truth.csv"
    )
    study = NumbersStudy(datasets=("two",), draws=0, algorithms=("gtm",))
    table = study.tables(carry_out(study, workers=1))["real"]
    assert table["dataset"].to_list() == ["two: rain", "two: wind"]
    assert table["mean"].to_list() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (IntervalsStudy, {"synthetic": 0}, "there must be datasets"),
        (NumbersStudy, {"draws": 0}, "there must be datasets"),
        (NumbersStudy, {"algorithms": ("mle",)}, "study numbers is on numeric ones"),
        (IntervalsStudy, {"algorithms": ("gtm",)}, "study intervals is on categorical ones"),
    ],
)
def test_studies_of_nothing_are_refused(kind, settings, message):
    with pytest.raises(ParameterError, match=message):
        kind(**settings)


# --- the league -----------------------------------------------------------------------------------


NAMES = ("majority-vote", "veracity", "dawid-skene", "mle")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two datasets with labels, and one with too many for Dawid-Skene."""
    made = []
    for seed, values in ((1, 3), (2, 4), (3, 150)):
        folder = tmp_path_factory.mktemp("league") / f"data{seed}"
        folder.mkdir()
        drawn = Synthetic(sources=8, items=150, values=values).draw(seed=seed)
        drawn.claims.write_parquet(folder / "claims.parquet")
        drawn.truth.write_parquet(folder / "truth.parquet")
        made.append(str(folder))
    return tuple(made)


@pytest.fixture(scope="module")
def tables(folders):
    study = LeagueStudy(datasets=folders, algorithms=NAMES)
    rows = [row for task in study.tasks(pl.DataFrame()) for row in study.do(task)]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return study, study.tables(frame)


def row_of(table, name):
    return table.row(by_predicate=pl.col("algorithm") == name, named=True)


def test_every_algorithm_meets_every_dataset(tables):
    _, found = tables
    assert set(found["league"]["algorithm"]) == {*NAMES, BEST_ELSEWHERE}
    assert row_of(found["league"], "mle")["datasets"] == 3
    assert found["accuracy_by_dataset"].columns == ["algorithm", "data1", "data2", "data3"]


def test_who_cannot_take_a_dataset_is_last_on_it_and_it_is_left_out_of_the_mean(tables):
    _, found = tables
    refused = row_of(found["league"], "dawid-skene")
    assert refused["datasets"] == 2
    by_dataset = row_of(found["accuracy_by_dataset"], "dawid-skene")
    assert by_dataset["data3"] is None
    assert refused["accuracy"] == pytest.approx((by_dataset["data1"] + by_dataset["data2"]) / 2)


def test_voting_loses_nothing_to_itself(tables):
    _, found = tables
    assert row_of(found["league"], "majority-vote")["worst_loss"] == 0.0


def test_best_elsewhere_does_not_look_at_the_dataset_itself(tables):
    _, found = tables
    table = found["accuracy_by_dataset"].filter(
        pl.col("algorithm").is_in(["majority-vote", "veracity", "mle"])
    )
    others = table.with_columns(mean=(pl.col("data2") + pl.col("data3")) / 2)
    chosen = others.sort("mean", descending=True, maintain_order=True)["data1"][0]
    assert row_of(found["accuracy_by_dataset"], BEST_ELSEWHERE)["data1"] == chosen


def test_there_is_a_sentence_for_each_and_a_figure(tables):
    study, found = tables
    assert len(study.findings(found)) == len(found["league"])


def test_truths_that_are_told_do_not_count_and_a_vote_learns_nothing_from_them(folders):
    names = ("majority-vote", "veracity", "dawid-skene")
    study = LeagueStudy(datasets=folders[1:], algorithms=names, known=1000, draws=2)
    rows = [row for task in study.tasks(pl.DataFrame()) for row in study.do(task)]
    known = study.tables(pl.DataFrame(rows, infer_schema_length=None))["known"]
    named = ["data2", "data2 with known", "data3", "data3 with known"]
    assert known.columns == ["algorithm", *named]
    vote = row_of(known, "majority-vote")
    assert vote["data2"] == vote["data2 with known"] < 1.0
    assert row_of(known, "dawid-skene")["data3 with known"] is None


def test_calibration_is_what_evaluate_says():
    drawn = Synthetic(sources=6, items=200, accuracy=0.55).draw(seed=4)
    result = veracity.discover(drawn.claims)
    truth, _ = with_known(result.encoded, drawn.truth)
    found = calibration_error(truth, result.facts["plausibility"].to_numpy())
    assert found == pytest.approx(veracity.evaluate(result, drawn.truth).calibration_error)


# --- the tables of the pages are what the code makes ----------------------------------------------


DOCS = Path(__file__).parents[1] / "docs"
KINDS = {
    kind.name: kind
    for kind in (*vars(studies).values(), IntervalsStudy, LeagueStudy, NumbersStudy)
    if isinstance(kind, type) and hasattr(kind, "name")
}
FOLDERS = [
    pytest.param(file.parent, id="-".join(file.parts[-3:-1]))
    for file in sorted(DOCS.glob(f"*/*/{STUDY_FILE}"))
]


def made_in(folder):
    return json.loads((folder / STUDY_FILE).read_text(encoding="utf-8"))


def study_in(folder):
    """The study that the tables of a folder come from."""
    made = made_in(folder)
    settings = {n: tuple(v) if isinstance(v, list) else v for n, v in made["settings"].items()}
    if "ranges" in settings:
        settings["ranges"] = Ranges(**{n: tuple(v) for n, v in settings["ranges"].items()})
    return KINDS[made["study"]](**settings)


@pytest.mark.slow
@pytest.mark.parametrize("folder", [f for f in FOLDERS if (f.values[0] / "sample.csv").exists()])
def test_a_few_tasks_of_every_study_give_what_they_gave(folder, request, monkeypatch):
    study = study_in(folder)
    if isinstance(getattr(study, "datasets", None), tuple) and study.datasets:
        monkeypatch.chdir(request.getfixturevalue("shared_data"))
    then = pl.read_csv(folder / "sample.csv", schema_overrides={"task": pl.String})
    assert len(then)
    for (task,), expected in then.partition_by("task", as_dict=True, maintain_order=True).items():
        now = pl.DataFrame(study.do(task), infer_schema_length=None)
        measure = then.columns[-1]
        then_now = (expected[measure].to_list(), now[measure].to_list())
        assert then_now[1] == pytest.approx(then_now[0], abs=2e-3)
