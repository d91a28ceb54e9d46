"""A kept fit judges claims never seen, goes on learning, and comes back from files."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import veracity
from marks import few_kinds
from veracity import Local, Prior
from veracity.algorithms import CATALOGUE, PriorRates
from veracity.dependence.agreement import Dependence
from veracity.errors import NotConverged, ParameterError, UnreadableFile, VeracityError
from veracity.synthetic import Synthetic
from veracity.testing import some_claims
from veracity.trees import BySource, CountBySource, from_arrays, grown, to_arrays

# --- what was learned is kept: it judges claims never seen, and goes on learning from new one -----


KINDS = ("categorical", "multiple", "binary", "numeric")
WITHOUT_WEIGHTS = {"three-estimates", "ltm"}
PAIRS = [
    (name, kind)
    for name, entry in CATALOGUE.items()
    for kind in entry.make().kinds
    if name not in WITHOUT_WEIGHTS
]


def discover(claims, algorithm=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return veracity.discover(claims, algorithm, **options)


def update(fitted, claims, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return fitted.update(claims, **options)


def saved_and_loaded(result, folder):
    return veracity.load(result.save(folder))


def halves(claims, n_first=None):
    """The claims about the first items, and those about the others."""
    place = pl.col("entity").rank("dense")
    n_first = n_first or claims["entity"].n_unique() // 2
    return claims.filter(place <= n_first), claims.filter(place > n_first)


def right(result, truth):
    return veracity.evaluate(result, truth).accuracy


def trusts(fitted):
    """The number that says most of a source, by its name."""
    state = fitted.state
    trust = fitted.algorithm.trust(state)
    numbers = state.tpr if trust is None else trust
    return dict(zip(fitted.names.sources, numbers, strict=True))


# --- the same claims ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), few_kinds(PAIRS))
def test_the_claims_that_were_learned_from_are_judged_the_same(name, kind, tmp_path):
    claims = some_claims(kind, 1, 300)
    result = discover(claims, name, kind=kind, engine=Local(claims_per_block=60))
    loaded = saved_and_loaded(result, tmp_path / "run")
    for fitted in (result.fitted, loaded.fitted):
        judged = fitted.judge(claims, engine=Local(claims_per_block=60))
        assert judged.truths.equals(result.truths)
        assert judged.facts.equals(result.facts)
        assert judged.sources["source"].equals(result.sources["source"])


def test_a_judgement_is_no_run_of_rounds(flights):
    judged = discover(flights.claims, "mle").fitted.judge(flights.claims)
    assert (judged.run.rounds, judged.converged, len(judged.trace)) == (0, True, 0)


def test_a_few_rows_of_a_wide_table_are_judged_as_those_before_were_read(flights):
    wide = flights.claims.pivot("source", index=["entity", "attribute"], values="value")
    fitted, few = veracity.discover(wide).fitted, wide.head(3)
    with pytest.raises(VeracityError, match="wide="):  # three rows do not show what columns are
        veracity.discover(few)
    for again in (fitted.judge, fitted.update):
        found = again(few).truths
        assert found["entity"].to_list() == few["entity"].to_list()


def test_blocks_and_threads_change_no_judgement(flights):
    fitted = discover(flights.claims).fitted
    one = fitted.judge(flights.claims, engine=Local(threads=1))
    many = fitted.judge(flights.claims, engine=Local(threads=2, claims_per_block=100))
    assert len(many.encoded.blocks) > 10
    assert_allclose(one.facts["plausibility"], many.facts["plausibility"], atol=1e-12)


def test_a_judgement_can_be_explained_and_its_weights_add_up(flights):
    first, second = halves(flights.claims)
    judged = discover(first).fitted.judge(second)
    entity = judged.truths["entity"][0]
    values, rows = judged.why(entity).tables
    added = rows.group_by("attribute", "value").agg(pl.col("weight").sum())
    both = values.join(added, on=["attribute", "value"])
    assert_allclose(both["prior"] + both["weight"], both["score"], atol=1e-9)


# --- other claims of the same sources -------------------------------------------------------------


def test_one_half_is_judged_by_the_other_as_well_as_by_itself(flights):
    for first, second in (halves(flights.claims), halves(flights.claims)[::-1]):
        judged, fresh = discover(first).fitted.judge(second), discover(second)
        assert right(judged, flights.truth) >= right(fresh, flights.truth) - 0.02


def test_numbers_of_one_half_are_estimated_by_the_precisions_of_the_other():
    rng = np.random.default_rng(1)
    truth, noise = rng.normal(50, 20, 400), [0.5, 1.0, 4.0, 8.0, 12.0]
    rows = [(f"s{s}", i, truth[i] + rng.normal(0, noise[s])) for s in range(5) for i in range(400)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    known = pl.DataFrame({"entity": range(400), "value": truth})
    first, second = halves(claims)
    for name in ("gtm", "crh", "catd", "ltd-rbm-n"):
        judged = discover(first, name, kind="numeric").fitted.judge(second)
        fresh = discover(second, name, kind="numeric")
        errors = [veracity.evaluate(result, known).mae for result in (judged, fresh)]
        assert errors[0] <= 1.02 * errors[1]


@pytest.mark.parametrize("name", ["veracity", "ltd-rbm", "mle", "ltm"])
def test_facts_of_one_half_are_judged_by_the_rates_of_the_other(name):
    rng = np.random.default_rng(2)
    truth, accuracy = rng.random(800) < 0.4, [0.95, 0.9, 0.8, 0.7, 0.6, 0.55]
    rows = [
        (f"s{s}", i, bool(truth[i] ^ (rng.random() > accuracy[s])))
        for s in range(6)
        for i in range(800)
    ]
    claims = pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row")
    known = pl.DataFrame({"fact": range(800), "claim": truth})
    first, second = claims.filter(pl.col("fact") < 400), claims.filter(pl.col("fact") >= 400)
    judged = discover(first, name, kind="binary").fitted.judge(second)
    fresh = discover(second, name, kind="binary")
    assert right(judged, known) >= right(fresh, known) - 0.02


# --- strangers ------------------------------------------------------------------------------------


def test_a_source_never_met_counts_as_the_mean_of_those_that_were():
    claims = Synthetic(sources=8, items=200).draw(seed=3).claims
    fitted = discover(claims, "accu").fitted
    lone = claims.head(1).with_columns(source=pl.lit("a stranger"), entity=pl.lit("something new"))
    judged = fitted.judge(lone)
    # the word of a lone source is as plausible as it is accurate: see the golden tests of Accu
    mean = fitted.state.accuracy.mean()
    assert judged.facts["plausibility"].to_list() == pytest.approx([mean])
    assert judged.fitted.state.accuracy[-1] == pytest.approx(mean)


def test_strangers_are_told_in_the_notes(two_against_one):
    fitted = discover(two_against_one).fitted
    one, two = (
        fitted.judge(two_against_one.with_columns(source=pl.Series(names)))
        for names in (["a", "b", "z"], ["a", "y", "z"])
    )
    assert any("1 source is new and counts" in note for note in one.notes)
    assert any("2 sources are new and count" in note for note in two.notes)
    assert not any("new and count" in note for note in fitted.judge(two_against_one).notes)


@pytest.mark.parametrize("name", ["dawid-skene", "one-coin", "veracity"])
def test_a_label_never_met_is_believed_where_all_say_so(name):
    claims = Synthetic(sources=8, items=200, accuracy=0.8).draw(seed=3).claims
    result = discover(claims, name)
    if name == "veracity":
        assert type(result.fitted.state.model).__name__ == "Confusions"
    new = claims.filter(pl.col("entity") == claims["entity"].mode()[0])
    judged = result.fitted.judge(new.with_columns(value=pl.lit("a new label")))
    assert judged.truths["value"].to_list() == ["a new label"]
    assert judged.truths["plausibility"][0] > 0.5
    assert judged.fitted.names.labels.to_list()[-1] == "a new label"


def by_attribute(seed=0):
    """Sources that are good at some attributes, and name values of their own where they err."""
    rng = np.random.default_rng(seed)
    rows = []
    for entity in range(150):
        for attribute in range(4):
            for source in range(8):
                good = 0.95 if (source + attribute) % 4 < 2 else 0.55
                said = "true" if rng.random() < good else f"{rng.integers(50)}"
                rows.append((f"s{source}", entity, f"a{attribute}", f"{entity} {said}"))
    return pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")


def test_on_an_attribute_never_met_a_source_is_as_good_as_elsewhere():
    claims = by_attribute()
    fitted = discover(claims).fitted
    n_met = len(fitted.names.attributes)
    assert fitted.state.model.by_attribute.shape[1] == n_met
    judged = fitted.judge(claims.with_columns(attribute=pl.lit("a new one")).head(300))
    grown = judged.fitted.state.model
    assert judged.fitted.names.attributes.to_list()[-1] == "a new one"
    assert_allclose(grown.by_attribute[:, n_met], grown.disputed)
    assert_allclose(grown.by_attribute[:, :n_met], fitted.state.model.by_attribute)


@pytest.mark.parametrize("how", ["judge", "update"])
def test_a_loaded_fit_knows_which_attribute_is_which_whatever_it_judged_last(how, tmp_path):
    claims = by_attribute()
    some, others = (
        claims.filter(pl.col("attribute").is_in(names))
        for names in (["a1", "a2", "a3"], ["a0", "a2"])
    )
    last = getattr(discover(some).fitted, how)(others)
    loaded = saved_and_loaded(last, tmp_path / "run")
    assert loaded.fitted.names.attributes.to_list() == ["a1", "a2", "a3", "a0"]
    assert loaded.fitted.judge(claims).facts.equals(last.fitted.judge(claims).facts)


# --- learning goes on -----------------------------------------------------------------------------

CLOSE = ["veracity", "mle", "accu", "accu-sim", "accu-copy", "one-coin", "dawid-skene", "crh"]
CLOSE += ["simple-lca", "truth-finder", "sums", "average-log"]


@pytest.mark.parametrize("name", CLOSE)
def test_learning_in_two_parts_leads_close_to_learning_from_all(name):
    drawn = Synthetic(sources=12, items=800, accuracy=0.7).draw(seed=1)
    first, second = halves(drawn.claims, n_first=100)
    alone, together = discover(first, name), discover(drawn.claims, name)
    updated = update(alone.fitted, second)
    before, after, all_at_once = (trusts(result.fitted) for result in (alone, updated, together))
    gone = {source: abs(after[source] - all_at_once[source]) for source in all_at_once}
    assert max(gone.values()) < 0.05
    to_go = {source: abs(before[source] - all_at_once[source]) for source in before}
    assert np.mean(list(gone.values())) < np.mean(list(to_go.values())) / 3
    rest = drawn.truth.join(second.select("entity").unique(), on="entity", how="semi")
    assert right(updated, rest) > right(together, rest) - 0.01


@pytest.mark.parametrize("name", ["veracity", "mle", "accu", "one-coin"])
def test_with_more_claims_sources_are_known_better(name):
    better = []
    for seed in range(4):
        drawn = Synthetic(sources=12, items=600, accuracy=0.7).draw(seed=seed)
        first, second = halves(drawn.claims, n_first=60)
        alone = discover(first, name).fitted
        updated = update(alone, second).fitted
        true = dict(drawn.sources.select("source", "accuracy").iter_rows())
        errors = [
            np.mean([abs(trusts(fitted)[source] - true[source]) for source in trusts(alone)])
            for fitted in (alone, updated)
        ]
        better.append(errors[0] - errors[1])
    assert np.mean(better) > 0.01


@pytest.mark.parametrize("name", ["gtm", "crh", "ltd-rbm-n"])
def test_numbers_go_on_being_learned_from(name):
    rng = np.random.default_rng(5)
    rows = [(f"s{s}", i, rng.normal(0, 2 + s)) for s in range(6) for i in range(400)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    first, second = halves(claims, n_first=40)
    alone, together = (discover(c, name, kind="numeric").fitted for c in (first, claims))
    weights = [
        np.array(list(trusts(fitted).values()))
        for fitted in (alone, update(alone, second).fitted, together)
    ]
    before, after, all_at_once = (weight / weight.sum() for weight in weights)
    assert np.abs(after - all_at_once).mean() < np.abs(before - all_at_once).mean() / 2


@pytest.mark.parametrize("name", ["accu", "mle", "veracity"])
def test_old_sources_keep_their_numbers_and_new_ones_come_behind(name):
    claims = Synthetic(sources=8, items=1200, accuracy=0.7).draw(seed=2).claims
    first, second = halves(claims)
    # "0 new" would be the first in sorted order
    new = second.with_columns(pl.col("source").replace("source3", "0 new"))
    before = discover(first, name).fitted
    after = update(before, new).fitted
    assert after.names.sources.to_list() == [*before.names.sources.to_list(), "0 new"]
    assert abs(trusts(after)["source3"] - trusts(before)["source3"]) < 0.05  # it said no more
    together = trusts(discover(pl.concat([first, new]), name).fitted)
    assert abs(trusts(after)["0 new"] - together["0 new"]) < 0.05


def test_the_result_of_an_update_tells_of_the_new_claims_and_its_fit_of_all():
    first, second = halves(Synthetic(sources=6, items=100).draw(seed=2).claims)
    before = discover(first)
    updated = update(before.fitted, second)
    assert updated.run.input.claims == len(second)
    assert set(updated.truths["entity"]) == set(second["entity"])
    assert updated.fitted.counted[0] == first["entity"].n_unique() + second["entity"].n_unique()
    assert "about 100 items" in repr(updated.fitted)


@pytest.mark.parametrize("name", ["veracity", "mle", "accu-copy", "ltm"])
def test_an_update_of_a_loaded_fit_is_the_same(name, tmp_path):
    first, second = halves(Synthetic(sources=6, items=200).draw(seed=2).claims)
    result = discover(first, name)
    loaded = saved_and_loaded(result, tmp_path / "run")
    one, other = (update(fitted, second) for fitted in (result.fitted, loaded.fitted))
    assert_allclose(one.facts["plausibility"], other.facts["plausibility"], atol=1e-12)


def _changed_world(kind):
    """Claims, and later ones in which sources, values and attributes are new, and others gone."""
    rng = np.random.default_rng(3)
    times = []
    for sources, attributes, first in (("abc", "p", 0), ("bcdefg", "pq", 2)):
        of = [(s, f"e{i}", a) for s in sources for i in range(12) for a in attributes]
        values = rng.integers(first, first + 3, len(of))
        rows = [(*key, str(value)) for key, value in zip(of, values, strict=True)]
        claims = pl.DataFrame(
            rows, schema=["source", "entity", "attribute", "value"], orient="row"
        ).with_columns(pl.col("value").cast(pl.Float64 if kind == "numeric" else pl.String))
        if kind == "binary":
            fact, claim = pl.concat_str("entity", "attribute"), pl.col("value").is_in(["0", "3"])
            claims = claims.select("source", fact=fact, claim=claim)
        times.append(claims)
    return times


@pytest.mark.parametrize(("name", "kind"), few_kinds(PAIRS))
def test_what_was_updated_or_judged_with_what_is_new_can_be_loaded(name, kind, tmp_path):
    old, new = _changed_world(kind)
    before = discover(old, name, kind=kind).fitted
    for number, after in enumerate((update(before, new), before.judge(new))):
        loaded = saved_and_loaded(after, tmp_path / str(number))
        arrays, again = after.fitted.to_arrays(), loaded.fitted.to_arrays()
        assert arrays.keys() == again.keys()
        assert all((arrays[key] == again[key]).all() for key in arrays)
        assert len(update(loaded.fitted, old).facts) == len(update(after.fitted, old).facts)


def test_a_fit_is_never_changed_by_what_it_judges_or_learns():
    first, second = halves(Synthetic(sources=6, items=100).draw(seed=2).claims)
    fitted = discover(first).fitted
    before = {name: array.copy() for name, array in fitted.to_arrays().items()}
    fitted.judge(second.with_columns(source=pl.lit("new")))
    update(fitted, second.with_columns(source=pl.lit("new")))
    after = fitted.to_arrays()
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)


# --- known truths ---------------------------------------------------------------------------------


def misled():
    """Two good sources, five that err alike: of those only known truths tell."""
    rng = np.random.default_rng(12)
    truth = rng.integers(0, 3, 400)
    followed = np.where(rng.random(400) < 0.25, truth, (truth + 1) % 3)
    said = [np.where(rng.random(400) < 0.9, truth, (truth + 2) % 3) for _ in range(2)]
    said += [np.where(rng.random(400) < 0.9, followed, truth) for _ in range(5)]
    rows = [(f"s{s}", i, f"{said[s][i]}") for s in range(7) for i in range(400)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame({"entity": range(400), "value": truth.astype(str)})


@pytest.mark.parametrize("name", ["mle", "ltd-rbm", "accu", "one-coin"])
def test_what_known_truths_taught_is_kept(name, tmp_path):
    claims, truth = misled()
    first, second = halves(claims)
    taught = discover(first, name, known=truth.head(150))
    rest = truth.tail(200)
    assert right(discover(second, name), rest) < 0.6
    loaded = saved_and_loaded(taught, tmp_path / "run")
    for fitted in (taught.fitted, loaded.fitted):
        assert right(fitted.judge(second), rest) > 0.75
        assert right(update(fitted, second), rest) > 0.75


@pytest.mark.parametrize("attribute", [None, "weight"], ids=["one attribute", "a new attribute"])
@pytest.mark.parametrize("name", ["veracity", "mle", "mistake-lca", "dare", "ltd-rbm-n"])
def test_known_truths_of_earlier_claims_count_for_sources_that_come_later(name, attribute):
    kind = CATALOGUE[name].make().kinds[0]
    claims = some_claims(kind, 1)
    if attribute is None:
        claims = claims.drop("attribute")
    keys = [part for part in ("entity", "attribute") if part in claims.columns]
    known = claims.unique(keys, keep="first", maintain_order=True).drop("source").head(4)
    result = discover(claims, name, kind=kind, known=known)
    new = {"source": ["a", "x", "y"], "entity": ["n1", "n1", "n2"], "value": ["1", "2", "1"]}
    if attribute:
        new["attribute"] = [attribute] * 3
    told = trusts(update(result.fitted, new).fitted)
    assert {"x", "y"} < told.keys()
    assert np.isfinite(list(told.values())).all()


# --- normalised values ----------------------------------------------------------------------------


def times(*rows):
    columns = ["source", "entity", "attribute", "value"]
    return pl.DataFrame([(s, e, "departure", v) for s, e, v in rows], schema=columns, orient="row")


OLD = times(
    ("a", "f1", "7:05 PM"), ("b", "f1", "19:05"), ("c", "f1", "19:10"),
    ("a", "f2", "8:00 AM"), ("b", "f2", "08:00"), ("c", "f2", "9:00 AM"),
)  # fmt: skip


@pytest.mark.parametrize("how", ["judge", "update"])
def test_values_that_were_normalised_are_so_in_new_claims(how, tmp_path):
    result = discover(OLD, normalise=True)
    new = times(("a", "f3", "6:30 pm"), ("b", "f3", "18:30"), ("c", "f3", "6:45 p.m."))
    for fitted in (result.fitted, saved_and_loaded(result, tmp_path / "run").fitted):
        told = getattr(fitted, how)(new)
        assert told.facts["value"].to_list() == ["18:30", "18:45"]
        assert told.facts["supporters"].to_list() == [2, 1]
        assert told.truths["value"].to_list() == ["18:30"]


def test_values_that_were_not_normalised_stay_as_they_are():
    fitted = discover(OLD).fitted
    new = times(("a", "f3", "6:30 pm"), ("b", "f3", "18:30"))
    assert sorted(fitted.judge(new).facts["value"]) == ["18:30", "6:30 pm"]


# --- what is refused ------------------------------------------------------------------------------


def test_claims_of_another_kind_are_refused(two_against_one):
    fitted = discover(two_against_one).fitted
    others = veracity.read_claims(two_against_one, kind="multiple")
    message = "the fit is of categorical claims, these are multiple ones"
    with pytest.raises(ParameterError, match=message):
        fitted.judge(others)
    with pytest.raises(ParameterError, match=message):
        fitted.update(others)


def test_a_run_that_was_saved_without_its_fit_has_all_else(two_against_one, tmp_path):
    result = discover(two_against_one)
    result.fitted = None  # as of an algorithm that cannot be made again
    loaded = veracity.load(result.save(tmp_path / "run"))
    assert loaded.fitted is None
    assert loaded.truths.equals(result.truths)


def test_a_fit_that_its_algorithm_does_not_know_is_refused_when_it_is_used(
    two_against_one, tmp_path
):
    run = discover(two_against_one, "mle").save(tmp_path / "run")
    described = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**described, "algorithm": "accu", "parameters": {}}))
    loaded = veracity.load(run)
    assert len(loaded.truths) == 1
    with pytest.raises(UnreadableFile, match=r"fitted\.npz does not fit accu"):
        _ = loaded.fitted


def test_a_fit_whose_algorithm_cannot_be_made_again_is_not_loaded(two_against_one, tmp_path):
    own = veracity.algorithms.AccuSim(similarity=lambda one, other: float(one == other))
    result = discover(two_against_one, own)
    assert result.fitted.judge(two_against_one).facts.equals(result.facts)
    assert saved_and_loaded(result, tmp_path / "run").fitted is None


# --- a prior takes what a result gives ------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["veracity", "ltd-rbm", "mle", "ltm", "accu", "simple-lca"])
def test_a_prior_takes_whatever_a_result_tells_of_its_sources(algorithm):
    claims = pl.DataFrame({"source": list("abcab"), "entity": list("xxxyz"), "value": ["1"] * 5})
    told = veracity.discover(claims, "majority-vote").sources
    assert told["tpr"].to_list() == [1.0] * 3
    assert told["fpr"].null_count() == 3
    silent = told.head(1).with_columns(source=pl.lit("d"), tpr=None)
    prior = veracity.Prior.from_table(pl.concat([told, silent], how="vertical_relaxed"))
    assert "d" not in prior.of_source
    chosen = replace(CATALOGUE[algorithm].make(), prior=prior)
    found = veracity.discover(claims, chosen)
    assert found.facts["plausibility"].is_finite().all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's
def test_accuracies_that_cannot_have_been_learned_are_refused():
    claims = Synthetic(sources=5, items=30).draw(seed=1).claims
    fitted = veracity.discover(claims, "one-coin").fitted
    impossible = fitted.state._replace(accuracy=np.full_like(fitted.state.accuracy, 7.0))
    forged = replace(fitted, state=impossible)
    with pytest.raises(UnreadableFile, match="gives no probabilities: its run is damaged"):
        forged.judge(claims)


# --- what was learned, as arrays: it grows with the sources, and comes back from a file as it -----


ALGORITHMS = {
    **{name: entry.make() for name, entry in CATALOGUE.items()},
    "ltd-rbm, flow": veracity.algorithms.LTDRBM(learning="flow"),
}
STATES = [(name, kind) for name, algorithm in ALGORITHMS.items() for kind in algorithm.kinds]
every_pair = pytest.mark.parametrize(("name", "kind"), STATES)


class Inner(NamedTuple):
    rate: BySource
    limit: float


class State(NamedTuple):
    trust: BySource
    counts: CountBySource
    inner: Inner
    share: np.ndarray
    rounds: int
    maybe: Inner | None = None


def a_state():
    return State(
        trust=np.array([0.25, 0.75]),
        counts=np.array([[1.0, 2.0], [3.0, 4.0]]),
        inner=Inner(np.array([0.5, 0.7]), 3.0),
        share=np.array([0.4, 0.6]),
        rounds=7,
    )


def fitted(name, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", veracity.errors.NotConverged)
        return veracity.discover(some_claims(kind, 3, 200), ALGORITHMS[name], kind=kind).fitted


def assert_same(one, other):
    """The same types, the same numbers, all the way down."""
    if isinstance(one, tuple):
        assert type(one) is type(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, pl.Series):
        assert one.equals(other)
    elif one is None:
        assert other is None
    else:
        assert_array_equal(one, other)


# --- growing --------------------------------------------------------------------------------------


def test_a_source_never_met_gets_the_mean_and_of_counts_nothing():
    state = grown(a_state(), 4)
    assert state.trust.tolist() == [0.25, 0.75, 0.5, 0.5]
    assert state.counts.tolist() == [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]]
    assert state.inner.rate == pytest.approx([0.5, 0.7, 0.6, 0.6])


def test_what_is_not_of_sources_stays_as_it_is():
    state = grown(a_state(), 4)
    assert (state.inner.limit, state.rounds, state.maybe) == (3.0, 7, None)
    assert state.share.tolist() == [0.4, 0.6]


def test_a_source_never_met_has_no_slot_among_those_that_are_looked_at_for_copies():
    dependence = Dependence.unseen(np.array([0, -1, 1]), (0.0, 1))
    assert grown(dependence, 5).slots.tolist() == [0, -1, 1, -1, -1]
    assert grown(dependence, 5).both.shape == (2, 2)


def test_a_source_never_met_is_not_fixed():
    prior = Prior(of_source={"a": veracity.algorithms.Rate(tpr=0.9, fpr=0.1, fixed=True)}).rates(
        ["a"]
    )
    assert grown(prior, 2).is_fixed.tolist() == [1.0, 0.0]
    assert grown(prior, 2).known.tolist() == [[0.0] * 4] * 2


def test_with_no_more_sources_nothing_grows():
    assert_same(grown(a_state(), 2), a_state())
    assert_same(grown(a_state(), 1), a_state())


@every_pair
def test_the_sources_that_were_met_keep_their_rows(name, kind):
    fit = fitted(name, kind)
    sources = pl.concat([fit.names.sources, pl.Series(["x", "y", "z"])])
    state = fit.algorithm.grow(fit.state, fit.names._replace(sources=sources))
    before, after = to_arrays(fit.state), to_arrays(state)
    assert before.keys() == after.keys()
    for part, array in after.items():
        assert_array_equal(array[: len(before[part])] if array.ndim else array, before[part])
    n_more = fit.names.n_sources + 3
    assert any(len(array) == n_more for array in after.values() if array.ndim) or not after


# --- as arrays ------------------------------------------------------------------------------------


def test_a_state_is_what_its_arrays_say():
    assert_same(from_arrays(State, to_arrays(a_state())), a_state())
    with_more = a_state()._replace(maybe=Inner(np.ones(2), 1.0))
    assert_same(from_arrays(State, to_arrays(with_more)), with_more)


@every_pair
def test_the_state_of_every_algorithm_comes_back_as_it_was(name, kind):
    fit = fitted(name, kind)
    arrays = to_arrays(fit.state)
    assert all(array.dtype.kind in "fiubU" for array in arrays.values())  # no pickles
    back = from_arrays(fit.algorithm.state_type, arrays, labels=fit.names.labels)
    assert_same(back, fit.state)


def test_a_prior_keeps_that_nothing_was_said_of_the_prevalence():
    prior = Prior().rates(["a", "b"])
    assert from_arrays(PriorRates, to_arrays(prior)).prevalence is None
    prior = Prior(prevalence=0.25).rates(["a", "b"])
    assert from_arrays(PriorRates, to_arrays(prior)).prevalence == 0.25


# --- damaged --------------------------------------------------------------------------------------


def test_an_array_where_a_number_should_be_is_refused():
    arrays = {**to_arrays(a_state()), "rounds": np.ones(3)}
    with pytest.raises(ValueError, match="'rounds' of the model is no number"):
        from_arrays(State, arrays)
