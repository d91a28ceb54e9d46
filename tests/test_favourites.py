"""Values that a source falls back on, whatever it is asked."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from claims import as_encoded
from veracity import Veracity
from veracity.algorithms.veracity.favourites import Favourites

LAZY = ("s0", "s1", "s2", "s3")


def drawn(seed, frequent=0.0, lazy=LAZY, said="0", n_items=300):
    """Ten sources that are right on six items of ten; some say the same on half of all items.

    A share `frequent` of the items has "0" for its truth, the others each a value of their own.
    """
    rng = np.random.default_rng(seed)
    rows, truths = [], []
    for item in range(n_items):
        true, *false = [f"v{item}-{k}" for k in range(4)]
        true = "0" if rng.random() < frequent else true
        truths.append((f"e{item}", true))
        for source in (f"s{n}" for n in range(10)):
            if rng.random() < 0.3:
                continue
            word = true if rng.random() < 0.6 else str(rng.choice(false))
            if source in lazy and rng.random() < 0.5:
                word = said
            rows.append((source, f"e{item}", word))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame(truths, schema=["entity", "value"], orient="row")


def accuracy(claims, truth, algorithm=None):
    return veracity.evaluate(veracity.discover(claims, algorithm or Veracity()), truth).accuracy


def of_sources(result):
    """What each source falls back on, and with which share of its errors."""
    favourites = result.fitted.state.model.favourites
    names = result.sources["source"].sort().to_list()
    values = result.encoded.names.labels.gather(favourites.values).to_list()
    return {
        name: {value: share for value, share in zip(values, row, strict=True) if share > 0.0}
        for name, row in zip(names, favourites.share, strict=True)
    }


def test_a_value_that_some_fall_back_on_is_not_believed_because_they_agree():
    gains = []
    for seed in range(3):
        claims, truth = drawn(seed)
        told, plain, voted = (
            accuracy(claims, truth, a)
            for a in (Veracity(), Veracity(favourites=False), "majority-vote")
        )
        gains.append((told - plain, told - voted))
    assert np.mean(gains, axis=0).min() > 0.015


def test_it_is_found_who_falls_back_on_what():
    claims, _ = drawn(0)
    found = of_sources(veracity.discover(claims))
    assert all(found[name].keys() == {"0"} for name in LAZY)
    assert all(found[name]["0"] > 0.5 for name in LAZY)
    assert not any(own for name, own in found.items() if name not in LAZY)


@pytest.mark.parametrize("frequent", [0.5, 0.9, 1.0])
def test_what_is_true_of_many_items_is_nobodys_favourite(frequent):
    for seed in range(3):
        claims, _ = drawn(seed, frequent=frequent, lazy=())
        told = veracity.discover(claims)
        assert not any(of_sources(told).values())
        plain = veracity.discover(claims, Veracity(favourites=False))
        assert told.truths["value"].equals(plain.truths["value"])


def test_where_others_fall_back_on_what_is_often_true_nothing_is_lost():
    for seed in range(3):
        claims, truth = drawn(seed, frequent=0.6)
        told, plain = (accuracy(claims, truth, Veracity(favourites=f)) for f in (True, False))
        assert told >= plain - 0.01


def test_few_labels_are_left_to_confusions():
    claims, _ = drawn(0)
    few = claims.with_columns(value=pl.col("value").str.tail(1))
    assert few["value"].n_unique() <= 5
    told = veracity.discover(few, Veracity(labels=False))
    assert told.fitted.state.model.favourites is None


def test_another_reading_is_that_nobody_falls_back_on_a_value():
    claims, _ = drawn(0)
    fitted = veracity.discover(claims).fitted
    (rival,) = fitted.algorithm.rivals(fitted.state).items()
    assert rival == ("if no source falls back on one value", Veracity(favourites=False))


def test_it_does_not_depend_on_blocks_nor_on_the_names_of_values():
    claims, _ = drawn(0)
    one, several = (
        veracity.discover(claims, engine=veracity.Local(claims_per_block=n)) for n in (10**6, 200)
    )
    assert_allclose(one.truths["plausibility"], several.truths["plausibility"], atol=1e-9)
    renamed = claims.with_columns(value=pl.col("value").replace({"0": "zzz"}))
    other = veracity.discover(renamed)
    assert_allclose(one.truths["plausibility"], other.truths["plausibility"], atol=1e-9)


def test_a_fixed_source_falls_back_on_nothing():
    claims, _ = drawn(0)
    fixed = veracity.Prior(of_source={"s0": veracity.Rate(tpr=0.5, fpr=0.1, fixed=True)})
    found = of_sources(veracity.discover(claims, Veracity(prior=fixed)))
    assert not found["s0"]
    assert found["s1"]


def test_it_is_kept_with_a_run_and_judges_new_claims(tmp_path):
    claims, _ = drawn(0, n_items=400)
    is_new = pl.col("entity").str.slice(1).cast(pl.Int64) >= 300
    veracity.discover(claims.filter(~is_new)).save(tmp_path / "run")
    kept = veracity.load(tmp_path / "run")
    new = pl.concat([claims.filter(is_new), claims.filter(is_new).with_columns(source=pl.lit("n"))])
    judged = kept.fitted.judge(new)
    assert judged.truths["value"].is_in(["0"]).mean() < 0.1


def test_an_update_counts_on_with_the_values_it_has():
    claims, truth = drawn(0, n_items=400)
    is_new = pl.col("entity").str.slice(1).cast(pl.Int64) >= 200
    first = veracity.discover(claims.filter(~is_new))
    other = claims.filter(is_new).with_columns(  # names another value often, too
        value=pl.when(pl.col("source") == "s9").then(pl.lit("odd")).otherwise("value")
    )
    updated = first.fitted.update(other)
    before, after = (found.fitted.state.model.favourites for found in (first, updated))
    assert after.values.tolist() == before.values.tolist()
    assert (after.share[:4] > 0.5).all()
    assert veracity.evaluate(updated, truth.filter(is_new)).accuracy > 0.7
    plain = claims.filter(~is_new, pl.col("value") != "0")
    assert plain["value"].n_unique() > 20
    none_yet = veracity.discover(plain).fitted.update(claims.filter(is_new))
    assert none_yet.fitted.state.model.favourites is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": np.array([3, 1])}, "no values"),
        ({"values": np.array([-1, 1])}, "no values"),
        ({"share": np.full((3, 2), 0.7)}, "no shares"),
        ({"share": np.full((3, 2), -0.1)}, "no shares"),
        ({"share": np.zeros((3, 1))}, "no shares"),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    sound = Favourites(np.array([1, 3]), np.array([[0.0, 0.0], [0.5, 0.45], [0.0, 0.9]]))
    sound.check(3)
    with pytest.raises(ValueError, match=message):
        sound._replace(**changes).check(3)


def counted(rows):
    """The block of claims, and the favourites among its values "x" and "y"."""
    encoded = as_encoded(pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row"))
    (block,) = encoded.blocks
    labels = encoded.names.labels.to_list()
    values = np.array([labels.index(value) for value in ("x", "y")])
    return block, Favourites(values, np.zeros((len(encoded.names.sources), 2)))


def test_what_is_counted_by_hand():
    block, none = counted([
        ("a", "1", "x"), ("b", "1", "y"), ("a", "2", "x"), ("b", "2", "z"), ("b", "3", "x")
    ])  # fmt: skip
    facts = list(zip(block.item_of_fact.tolist(), block.label_of_fact.tolist(), strict=True))
    wrong = np.array([{(0, 0): 0.75, (0, 1): 0.25}.get(fact, 0.5) for fact in facts])
    total = none.tally(block, wrong)
    assert_allclose(total[:, :, 0], [[0.75 + 0.5, 0.0], [0.5, 0.25]])
    assert_allclose(total[:, :, 1], [[2.0, 0.0], [1.0, 1.0]])


def test_a_favourite_makes_up_a_third_of_the_errors_and_is_named_far_more_often():
    _, none = counted([(s, str(i), "xyz"[i % 3]) for s in "abc" for i in range(6)])
    errors, spoken = np.array([22.0, 22.0, 22.0]), np.array([100.0, 100.0, 100.0])
    wrong = np.array([[15.0, 0.0], [9.0, 0.0], [0.0, 0.0]])  # of 22 + 8 errors
    named = np.array([[40.0, 5.0], [40.0, 5.0], [1.0, 5.0]])
    many = none.learn(np.stack([wrong, named], axis=2), errors, spoken)
    assert not many.are_any  # the median source names it as often
    named[1, 0] = 9.0
    found = none.learn(np.stack([wrong, named], axis=2), errors, spoken)
    assert_allclose(found.share, [[0.5, 0.0], [0.0, 0.0], [0.0, 0.0]])


def test_no_source_errs_towards_its_favourites_alone():
    _, none = counted([(s, str(i), "xyz"[i % 3]) for s in "abc" for i in range(6)])
    wrong = np.array([[5e5, 5e5], [0.0, 0.0], [0.0, 0.0]])
    found = none.learn(np.stack([wrong, wrong], axis=2), wrong.sum(axis=1), np.full(3, 1e6))
    assert found.share.sum() == pytest.approx(0.95, abs=1e-6)


def test_what_an_uneven_error_is_worth_by_hand():
    block, none = counted([("a", "1", "x"), ("b", "1", "z"), ("b", "2", "x"), ("a", "2", "y")])
    lazy = none._replace(share=np.array([[0.6, 0.0], [0.0, 0.0]]))
    gain = lazy.gain_of_support(block, np.array([2.0, 2.0]))
    said = {
        (int(source), int(block.item_of_fact[fact])): one
        for source, fact, one in zip(
            block.source_of_support, block.fact_of_support, gain, strict=True
        )
    }
    # An error of a is x with 0.6 + 0.4 / 2, where even errors would have 1 / 2; else 0.4 / 2.
    assert said[0, 0] == pytest.approx(-np.log(0.8 / 0.5))
    assert said[0, 1] == pytest.approx(-np.log(0.2 / 0.5))
    assert said[1, 0] == said[1, 1] == pytest.approx(0.0)


def test_nothing_is_looked_for_where_no_value_is_frequent():
    assert Favourites.among(np.zeros(0), 3) is None
    assert Favourites.among(np.full(101, 5.0), 3) is None
    often = Favourites.among(np.array([30.0, 0.2, 60.0, 9.8]), 3)
    assert often.values.tolist() == [0, 2, 3]
    assert often.share.shape == (3, 3)


def test_of_very_many_sources_the_values_named_most_are_looked_at(monkeypatch):
    monkeypatch.setattr("veracity.algorithms.veracity.favourites.MOST_CELLS", 6)
    assert Favourites.among(np.array([30.0, 10.0, 60.0]), 3).values.tolist() == [0, 2]
    assert Favourites.among(np.array([30.0, 10.0, 60.0]), 7) is None
