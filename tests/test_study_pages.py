"""The tables of the pages are what the code makes: no changed algorithm leaves one behind."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from veracity import study as studies
from veracity.algorithms import CATALOGUE
from veracity.errors import StudyError
from veracity.study import SyntheticStudy, carry_out, fingerprint
from veracity.study.fingerprint import answers_of, changed
from veracity.study.work import SAMPLE_FILE, STUDY_FILE
from veracity.synthetic import Ranges

DOCS = Path(__file__).parents[1] / "docs"
KINDS = {
    kind.name: kind for kind in map(vars(studies).get, studies.__all__) if hasattr(kind, "name")
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


@pytest.mark.parametrize("folder", FOLDERS)
def test_algorithms_answer_as_they_did_when_the_tables_were_made(folder):
    answers = made_in(folder)["answers"]
    assert set(answers) == set(study_in(folder).judges())
    assert not changed(answers), f"carry {folder.name} out again: its tables are of other answers"


@pytest.mark.slow
@pytest.mark.parametrize("folder", [f for f in FOLDERS if (f.values[0] / SAMPLE_FILE).exists()])
def test_a_few_tasks_of_every_study_give_what_they_gave(folder, request, monkeypatch):
    study = study_in(folder)
    if isinstance(getattr(study, "datasets", None), tuple) and study.datasets:
        monkeypatch.chdir(request.getfixturevalue("shared_data"))
    then = pl.read_csv(folder / SAMPLE_FILE, schema_overrides={"task": pl.String})
    assert len(then)
    for (task,), expected in then.partition_by("task", as_dict=True, maintain_order=True).items():
        now = pl.DataFrame(study.do(task), infer_schema_length=None)
        then_now = (expected[study.measure].to_list(), now[study.measure].to_list())
        assert then_now[1] == pytest.approx(then_now[0], abs=2e-3)


# --- how it is found out -------------------------------------------------------------------------


@pytest.fixture
def other_mle(monkeypatch):
    """An MLE that stops after a round."""
    entry = replace(CATALOGUE["mle"], preset={"max_rounds": 1})
    monkeypatch.setitem(CATALOGUE, "mle", entry)
    fingerprint._answers.cache_clear()
    yield
    fingerprint._answers.cache_clear()


def test_a_changed_algorithm_is_told_from_one_that_is_not(request):
    then = answers_of(["mle", "majority-vote"])
    assert not changed(then)
    request.getfixturevalue("other_mle")
    assert changed(then) == ["mle"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("algorithms.default.coincidence.EVEN", "veracity"),
        ("algorithms.default.confusion.CORRELATION", "veracity"),
        ("algorithms.default.confusion.SHARE_OF_VOTE", "veracity"),
        ("algorithms.default.one_coin.BEYOND_VALUES", "veracity"),
        ("dependence.agreement.SUSPECT", "veracity"),
        ("algorithms.ltd_rbm_n_items.USUAL_FREEDOM", "ltd-rbm-n"),
    ],
)
def test_a_changed_constant_is_a_change_wherever_it_matters(place, name, monkeypatch):
    module, constant = f"veracity.{place}".rsplit(".", 1)
    then, usual = answers_of([name]), getattr(import_module(module), constant)
    for other in [one for one in sys.modules.values() if vars(one).get(constant) is usual]:
        monkeypatch.setattr(other, constant, 2 * usual)  # also where it was imported
    fingerprint._answers.cache_clear()
    try:
        assert changed(then) == [name]
    finally:
        fingerprint._answers.cache_clear()


def test_what_differs_in_the_last_digits_only_has_not_changed():
    then = answers_of(["mle"])
    near = {
        s: " ".join(f"{float(x) + 1e-4:.5f}" for x in a.split()) for s, a in then["mle"].items()
    }
    assert not changed({"mle": near})


def test_a_setting_more_or_less_is_a_change():
    (mle,) = answers_of(["mle"]).values()
    assert changed({"mle": {"{}": mle["{}"]}}) == ["mle"]


def test_a_study_does_not_go_on_with_an_algorithm_that_has_changed(tmp_path, request):
    small = SyntheticStudy(
        datasets=2, algorithms=("mle",), ranges=Ranges(items=(20, 40)), claims=(10, 1000)
    )

    def stop(phase, done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(small, tmp_path / "out", workers=1, progress=stop)
    request.getfixturevalue("other_mle")
    with pytest.raises(StudyError, match="begun when mle answered otherwise"):
        carry_out(small, tmp_path / "out", workers=1)
