"""The tables of the pages are what the code makes: no changed algorithm leaves one behind."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from intervals import IntervalsStudy
from league import LeagueStudy
from numeric import NumbersStudy

from veracity import study as studies
from veracity.study.work import STUDY_FILE
from veracity.synthetic import Ranges

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
