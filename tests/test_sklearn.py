"""Truth discovery with scikit-learn's habits."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd  # noqa: TID251 - a user of it
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import veracity
from veracity.sklearn import TruthDiscoverer


@pytest.fixture(scope="module")
def crowd():
    """Labels of five workers for 120 items, with gaps; the last worker guesses."""
    rng = np.random.default_rng(4)
    truth = rng.choice(["cat", "dog", "owl"], 120)
    labels = np.empty((120, 5), dtype=object)
    for worker, accuracy in enumerate((0.9, 0.8, 0.7, 0.6, 0.33)):
        wrong = rng.choice(["cat", "dog", "owl"], 120)
        labels[:, worker] = np.where(rng.random(120) < accuracy, truth, wrong)
        labels[rng.random(120) < 0.2, worker] = None
    return labels, truth


@parametrize_with_checks([TruthDiscoverer("majority-vote")])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_it_finds_what_discover_finds(crowd):
    labels, truth = crowd
    model = TruthDiscoverer().fit(labels)
    assert model.classes_.tolist() == ["cat", "dog", "owl"]
    told = model.fit_predict(labels)
    spoken = model.result_.truths
    assert told[spoken["entity"].to_numpy()].tolist() == spoken["value"].to_list()
    assert model.score(labels, truth) > 0.85
    proba = model.predict_proba(labels)
    assert proba.shape == (120, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_new_items_are_judged_by_what_was_learned(crowd):
    labels, truth = crowd
    model = TruthDiscoverer().fit(labels[:80])
    assert model.score(labels[80:], truth[80:]) > 0.8
    unknown = np.array([[None] * 5, ["emu", None, None, None, None]], dtype=object)
    commonest = model.predict(np.array([[None] * 5], dtype=object))[0]
    assert model.predict(unknown).tolist() == [commonest] * 2


def test_known_truths_are_held_and_gaps_in_them_allowed(crowd):
    labels, truth = crowd
    known = truth.astype(object)
    known[10:] = None
    model = TruthDiscoverer().fit(labels, known)
    said = [i for i in range(10) if truth[i] in labels[i]]
    assert (model.fit_predict(labels, known)[said] == truth[said]).all()
    assert model.result_.run.input.known > 0


def test_parameters_of_the_algorithm_are_parameters():
    model = TruthDiscoverer()
    assert model.get_params()["algorithm__strength"] == 8.0
    model.set_params(algorithm__strength=2.0, missing=-1)
    assert (model.algorithm.strength, model.missing) == (2.0, -1)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(algorithm="mle").get_params()["algorithm__max_rounds"]
    with pytest.raises(ValueError, match="veracity has strength"):
        TruthDiscoverer().set_params(algorithm__size=1)
    with pytest.raises(ValueError, match="Invalid parameter"):
        TruthDiscoverer().set_params(size=1)


def test_grid_search_with_known_truths(crowd):
    labels, truth = crowd
    grid = {"algorithm__strength": [2.0, 8.0]}
    search = GridSearchCV(TruthDiscoverer(), grid, cv=2).fit(labels, truth)
    assert search.best_params_["algorithm__strength"] in (2.0, 8.0)
    assert search.best_score_ > 0.7
    pipeline = make_pipeline(FunctionTransformer(), TruthDiscoverer("one-coin"))
    assert cross_val_score(pipeline, labels, truth, cv=2).mean() > 0.7


def test_frames_name_the_sources_and_numbers_stay_numbers(crowd):
    labels, _ = crowd
    frame = pl.DataFrame(labels.tolist(), schema=list("abcde"), orient="row")
    as_numbers = pl.all().replace_strict({"cat": 0.0, "dog": 1.0, "owl": 2.0})
    numbers = frame.select(as_numbers).to_pandas()
    model = TruthDiscoverer().fit(numbers)
    assert model.result_.sources["source"].to_list() == list("abcde")
    assert model.classes_.tolist() == [0.0, 1.0, 2.0]
    same = TruthDiscoverer(missing=-1).fit(numbers.fillna(-1).astype(int))
    assert (same.predict(numbers.fillna(-1).astype(int)) == model.predict(numbers)).all()
    assert (pickle.loads(pickle.dumps(model)).predict(numbers) == model.predict(numbers)).all()


def test_without_any_label_there_is_nothing_to_learn():
    with pytest.raises(ValueError, match="no source gives any item a label"):
        TruthDiscoverer().fit(np.full((2, 3), np.nan))
    with pytest.raises(veracity.errors.ParameterError, match="no algorithm 'magic'"):
        TruthDiscoverer("magic").fit([[1.0, 2.0]])


def test_known_labels_that_nobody_gives_are_told_and_plausibilities_add_up_to_one():
    labels = [["a", "b"], ["b", "b"], ["a", "b"]]
    for algorithm in ("veracity", "majority-vote", "dawid-skene"):
        model = TruthDiscoverer(algorithm)
        assert model.fit_predict(labels, ["c", "c", "c"]).tolist() == ["c", "c", "c"]
        proba = model.predict_proba([["a", "b"], [None, None], ["d", "d"]])
        assert proba.sum(axis=1) == pytest.approx(np.ones(3))
        assert model.predict([[None, None]]).tolist() == ["c"]


def test_what_pandas_has_for_nothing_stands_beside_a_label_for_nothing():
    labels = pd.DataFrame({"s": [1, 0, pd.NA, -1], "t": [1, 1, 0, pd.NA]}, dtype=object)
    model = TruthDiscoverer("majority-vote", missing=-1).fit(labels)
    assert model.classes_.tolist() == [0, 1]


def test_true_and_false_stay_what_metrics_take_them_for(crowd):
    labels, truth = crowd
    said, true = labels == "owl", truth == "owl"
    model = TruthDiscoverer().fit(said)
    assert model.classes_.dtype == model.predict(said).dtype == np.bool_
    assert accuracy_score(true, model.predict(said)) > 0.6
    assert cross_val_score(TruthDiscoverer(), said, true, cv=2, scoring="accuracy").mean() > 0.6
