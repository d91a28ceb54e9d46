"""Reliability from features: sources with few claims borrow from those like them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import veracity
from veracity import Local, load
from veracity.algorithms import ItemFeatures, SourceFeatures, Veracity
from veracity.algorithms.feature_table import MISSING, OTHER
from veracity.algorithms.regression import MOST_MISSING, SPREADS, Counts, Fit, fitted
from veracity.cli import main
from veracity.errors import BadValue, MissingColumn, ParameterError
from veracity.io.lazy import LazyTable
from veracity.show.reproduce import command as command_of
from veracity.testing import check_weights_add_up

N_SOURCES, N_ITEMS, CLAIMS = 200, 250, 5


def drawn(seed, accuracy, n_values=4, labels=False, n_items=N_ITEMS):
    """Sources of given accuracies that make five claims each, and what is true."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_values, n_items)
    rows = []
    for source, own in enumerate(accuracy):
        for item in rng.choice(n_items, CLAIMS, replace=False):
            wrong = (truth[item] + rng.integers(1, n_values)) % n_values
            value = truth[item] if rng.random() < own else wrong
            rows.append((f"s{source}", int(item), f"{value}" if labels else f"{item}: {value}"))
    spelt = [f"{v}" if labels else f"{i}: {v}" for i, v in enumerate(truth)]
    schema = ["source", "entity", "value"]
    return (
        pl.DataFrame(rows, schema=schema, orient="row"),
        pl.DataFrame({"entity": range(n_items), "value": spelt}),
    )


def described(seed, accuracy, told=True):
    """Features of the sources: their kind and years tell of their accuracy, or of nothing."""
    rng = np.random.default_rng([seed, 1])
    own = accuracy if told else rng.permutation(accuracy)
    years = 10 * own + rng.normal(0.0, 1.5, len(own))
    kind = np.where(own > np.median(own), "expert", "novice")
    noise = rng.normal(size=len(own))
    names = [f"s{n}" for n in range(len(own))]
    return pl.DataFrame({"source": names, "kind": kind, "years": years, "noise": noise})


def accuracies(seed):
    """A third is good, the others are not."""
    return np.where(np.random.default_rng([seed, 2]).random(N_SOURCES) < 0.35, 0.9, 0.35)


def right(claims, truth, algorithm, features=None):
    result = veracity.discover(claims, algorithm, source_features=features)
    return veracity.evaluate(result, truth).accuracy


@pytest.mark.parametrize(
    ("name", "labels", "least"),
    [
        ("veracity", False, 0.03),
        ("veracity", True, 0.03),
    ],
)
def test_features_help_sources_of_five_claims_or_cost_nothing(name, labels, least):
    gains = []
    for seed in range(3):
        accuracy = accuracies(seed)
        claims, truth = drawn(seed, accuracy, labels=labels)
        without = right(claims, truth, name)
        gains.append(
            [
                right(claims, truth, name, described(seed, accuracy, told)) - without
                for told in (True, False)
            ]
        )
    told, nothing = np.mean(gains, axis=0)
    assert told > least
    assert nothing >= -0.002


def test_weights_of_one_spread_are_those_of_a_ridge():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(40), rng.normal(size=(40, 3))])
    total = rng.integers(1, 9, 40).astype(float)
    right = rng.binomial(total.astype(int), 0.7).astype(float)
    found = fitted(rows, Counts(right, total), np.zeros(40), np.zeros(4), np.ones(1))
    ridge = linear_model.LogisticRegression(fit_intercept=False, C=1.0, tol=1e-10, max_iter=1000)
    ridge.fit(
        np.concatenate([rows, rows]),
        np.repeat([1, 0], 40),
        sample_weight=np.concatenate([right, total - right]),
    )
    assert_allclose(found.weight, ridge.coef_[0], atol=1e-5)


def test_intervals_of_weights_hold_what_they_promise():
    hits = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = np.column_stack([np.ones(150), rng.normal(size=(150, 2))])
        weight = np.array([0.8, 0.6, 0.0])
        total = np.full(150, 5.0)
        right = rng.binomial(5, 1.0 / (1.0 + np.exp(-rows @ weight))).astype(float)
        fit = fitted(rows, Counts(right, total), np.zeros(150), np.zeros(3), SPREADS)
        error = np.sqrt(np.diagonal(fit.covariance))
        hits.append((np.abs(fit.weight - weight) < 1.645 * error)[1:])
    assert 0.83 < np.mean(hits) < 0.99  # 90 %, of 120


def test_what_is_judged_and_not_seen_tells_less():
    rows, seen = np.array([[2.0], [1.0]]), Fit(np.ones(1), np.array([[1 / 20]]))
    # claims of a source of ten count (4 + 1) / (4 + 10) each, one alone in full
    missing = (2.0 * 5 / 14) ** 2 * 3.0 + 1.0**2 * 0.25
    fit = seen._replace(rows=rows, strength=4.0)
    told = fit.less_sure(np.array([3.0, 0.25]), np.array([10.0, 1.0]))
    assert_allclose(told.covariance, [[1.0 / (20.0 - missing)]])
    assert told.weight is seen.weight
    nothing = fit.less_sure(np.array([900.0, 900.0]), np.array([10.0, 1.0]))
    assert_allclose(nothing.covariance, [[1 / 20 / (1.0 - MOST_MISSING)]])
    two = Fit(np.zeros(2), np.diag([0.1, 0.2]), np.eye(2), 1.0)
    assert_allclose(
        two.less_sure(np.array([5.0, 1.0]), np.ones(2)).covariance, np.diag([0.2, 0.25])
    )


def half_hidden(seed, labels):
    """Hardly three sources speak of an item; one feature of them tells, another does not."""
    rng = np.random.default_rng([seed, 7])
    told = rng.normal(size=(N_SOURCES, 2))
    told = (told - told.mean(axis=0)) / told.std(axis=0)
    accuracy = 1.0 / (1.0 + np.exp(-(0.5 + 0.5 * told[:, 0])))
    claims, _ = drawn(seed, accuracy, labels=labels, n_items=400)
    names = [f"s{n}" for n in range(N_SOURCES)]
    return claims, pl.DataFrame({"source": names, "tells": told[:, 0], "noise": told[:, 1]})


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True], ids=["values", "labels"])
def test_intervals_of_weights_hold_what_they_promise_where_facts_are_judged(labels):
    hits = []
    for seed in range(25):
        claims, features = half_hidden(seed, labels)
        worth = veracity.discover(claims, source_features=features).features
        ends = worth["weight_low", "weight_high"].to_numpy()
        hits.append((ends[:, 0] < [0.5, 0.0]) & (ends[:, 1] > [0.5, 0.0]))
    assert (
        0.84 <= np.mean(hits) <= (1.0 if labels else 0.99)
    )  # 90 %, of 50; as if facts were seen, 68 to 78 %


def test_claims_that_are_judged_make_weights_no_surer():
    claims, features = half_hidden(0, labels=False)
    result = veracity.discover(claims, source_features=features)
    few = result.fitted.judge(claims.filter(pl.col("entity") < 100))
    wide, narrow = (
        (found.features["weight_high"] - found.features["weight_low"]).to_numpy()
        for found in (result, few)
    )
    assert (narrow > 0.75 * wide).all()  # two thirds of it, were all facts seen


@pytest.fixture(scope="module")
def known():
    """Claims of a few experts and many novices, what is true, and features."""
    accuracy = accuracies(0)
    return *drawn(0, accuracy), described(0, accuracy)


def test_a_table_tells_what_features_are_worth(known):
    claims, _, features = known
    worth = veracity.discover(claims, source_features=features).features
    assert worth["feature"].to_list() == ["kind", "kind", "years", "noise"]
    assert worth["level"].to_list() == ["expert", "novice", None, None]
    assert (worth["weight_low"] < worth["weight"]).all()
    expert, _, years, noise = worth["weight"]
    assert expert > 0.0
    assert years > abs(noise)
    assert "right" in worth["words"][0]  # years tell little beyond that
    assert worth["words"][3] == "no difference shown"
    assert veracity.discover(claims).features is None


def test_of_facts_that_are_true_or_false_features_tell_both_rates():
    rng = np.random.default_rng(3)
    truth = rng.random(60) < 0.5
    rows = []
    for source in range(60):
        for fact in rng.choice(60, 6, replace=False):
            is_right = rng.random() < (0.9 if source < 30 else 0.6)
            rows.append((source, f"f{fact}", bool(truth[fact]) == is_right))
    claims = pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row")
    features = pl.DataFrame({"source": range(60), "old": [n < 30 for n in range(60)]})
    worth = veracity.discover(claims, kind="binary", source_features=features).features
    of_old = {rate: weight for level, rate, weight in worth["level", "rate", "weight"].iter_rows()
              if level == "true"}  # fmt: skip
    assert of_old["tpr"] > 0.0 > of_old["fpr"]


@pytest.mark.parametrize("labels", [False, True], ids=["values", "labels"])
def test_who_was_never_met_is_as_their_features_say(labels, tmp_path):
    accuracy = accuracies(1)
    claims, _ = drawn(1, accuracy, labels=labels)
    features = described(1, accuracy).drop("noise")
    result = veracity.discover(claims, source_features=features)
    loaded = veracity.load(result.save(tmp_path / "run"))
    assert loaded.features.equals(result.features)
    new = pl.DataFrame({"source": ["old hand", "beginner"], "entity": [9999] * 2, "value": "12"})
    new = new.with_columns(value=pl.Series(["1", "2"]))
    of_new = {"source": ["old hand", "beginner"], "kind": ["expert", "novice"], "years": [9, 3]}
    judged = loaded.fitted.judge(new, source_features=of_new)
    assert judged.truths["value"].to_list() == ["1"]
    hand, beginner = (
        judged.sources.filter(pl.col("source") == own)["trust"].item() for own in of_new["source"]
    )
    assert hand > beginner + 0.1
    assert any("as their features predict" in note for note in judged.notes)
    again = loaded.fitted.update(new, source_features=of_new)
    assert len(again.features) == len(result.features)


def test_blocks_make_no_difference(known):
    claims, _, features = known
    whole, cut = (
        veracity.discover(claims, source_features=features, engine=Local(claims_per_block=size))
        for size in (10**6, 50)
    )
    assert_allclose(whole.facts["plausibility"], cut.facts["plausibility"], atol=1e-6)
    assert_allclose(whole.features["weight"], cut.features["weight"], atol=1e-6)


def test_weights_add_up_with_features():
    table = {"source": list("abcdefgh"), "kind": list("xxxyyyyx"), "n": [1, 2, 3, 4, 5, 6, 7, 9]}
    check_weights_add_up(Veracity(source_features=SourceFeatures.read(table)))


def test_columns_become_numbers():
    table = {
        "Website": ["a", "b", "c", "d", "e"],
        "years": ["1", "3", "", "2", "2"],
        "code": ["007", "007", "1", "", "2"],
        "verified": [None, "1", "1", None, None],
        "same": ["x"] * 5,
    }
    features = SourceFeatures.read(table)
    named = [(part.feature, part.level) for part in features.parts]
    assert named == [
        ("years", None), ("years", MISSING),
        ("code", "007"), ("code", OTHER), ("code", MISSING),
        ("verified", "1"), ("verified", MISSING),
    ]  # fmt: skip
    rows = features.rows(pl.Series(["a", "c", "d", "nobody"]))
    root = 2.0**0.5
    assert_allclose(
        rows,
        [
            [1, -root, 0, 1, 0, 0, 0, 1],
            [1, 0, 1, 0, 1, 0, 1, 0],
            [1, 0, 0, 0, 0, 1, 0, 1],
            [1, 0, 0, 0, 0, 0, 0, 0],
        ],
    )
    assert "'Website' names the source" in features.notes[0]
    assert "'same'" in features.notes[1]


def test_rows_that_come_later_are_read_as_those_before():
    features = SourceFeatures.read(
        {"source": list("abcd"), "years": [1, 2, 3, 4], "zone": ["x", "x", "2", "2"]}
    )
    later = {"source": ["p", "q"], "years": [None, "5"], "zone": [2, 2]}
    assert features.with_more(later).table.tail(2).rows() == [("p", None, "2"), ("q", 5.0, "2")]
    assert features.with_more({"source": ["r"], "years": [None], "zone": ["x"]}).table.height == 5
    with pytest.raises(BadValue, match="row 2 has 'many' in column 'years', which held numbers"):
        features.with_more({"source": ["r", "s"], "years": ["1", "many"], "zone": ["x", "x"]})
    with pytest.raises(MissingColumn, match="sources have to be described as those were"):
        features.with_more({"source": ["r"], "years": [1]})
    items = ItemFeatures.read({"entity": list("abcd"), "size": [1, 2, 3, 4]})
    assert (
        items.with_more({"entity": ["e", "f"], "size": [2, None]}).table["size"].null_count() == 1
    )


def test_what_is_no_number_is_missing_also_where_all_others_are_the_same():
    features = SourceFeatures.read({"source": list("abc"), "checked": [1.0, float("nan"), 1.0]})
    assert [part.level for part in features.parts] == ["1", MISSING]


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({"who": ["a"], "x": [1]}, MissingColumn, "no column names the source among 'who', 'x'"),
        ({"source": ["a"]}, MissingColumn, "add features"),
        ({"source": ["a", None], "x": [1, 2]}, BadValue, "row 2 has no source"),
        ({"source": ["a", "b", "a"], "x": [1, 2, 3]}, BadValue, "rows 1 and 3 both describe 'a'"),
        ({"source": ["a", "b"], "x": [1.0, np.inf]}, BadValue, "row 2 has a number beyond 1e100"),
        ({"source": ["a", "b"], "x": [[1], [2]]}, BadValue, "holds List"),
        ({"source": ["a", "b"], "x": ["u", "v"], "y": [1, 1]}, BadValue, "'x', 'y' tell no"),
        ({"source": range(800), "x": [n // 2 for n in range(800)], "y": [f"t{n // 2}" for n in
          range(800)]}, BadValue, "'y'; group its values"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_features_are_refused(table, error, message):
    with pytest.raises(error, match=message):
        SourceFeatures.read(table)


@pytest.mark.parametrize(
    ("name", "kind", "told", "instead"),
    [
        ("dare", "categorical", "source_features", "leave them out, or use"),
        ("ltm", "multiple", "source_features", "leave them out, or use veracity$"),
        ("gtm", "numeric", "source_features", "give ltd-rbm-n a prior of the sources' errors$"),
        ("ltd-rbm-n", "numeric", "source_features", "a prior of the sources' errors"),
        ("crh", "numeric", "source_features", "a prior of the sources' errors"),
        ("crh", None, "source_features", "or use veracity$"),
        (None, "numeric", "source_features", "gtm does not use source_features"),
        ("gtm", "numeric", "item_features", "no algorithm for numbers learns from them$"),
        ("dare", None, "item_features", "or use veracity$"),
    ],
)
def test_a_refusal_says_what_takes_features_of_such_claims(name, kind, told, instead):
    claims = {"source": list("abc"), "entity": [1] * 3, "value": ["1", "1", "2"]}
    features = {"source": list("abc"), "entity": [1, 2, 3], "x": [1, 2, 3]}
    with pytest.raises(ParameterError, match=instead):
        veracity.discover(claims, name, kind=kind, **{told: features})


def test_others_refuse_features(known):
    claims, _, features = known
    with pytest.raises(ParameterError, match="majority-vote does not use source_features"):
        veracity.discover(claims, "majority-vote", source_features=features)
    fitted_without = veracity.discover(claims).fitted
    with pytest.raises(ParameterError, match="was learned without"):
        fitted_without.judge(claims, source_features=features)
    fitted_with = veracity.discover(claims, source_features=features).fitted
    with pytest.raises(MissingColumn, match="no column 'noise'"):
        fitted_with.judge(claims, source_features=features.drop("noise"))


def test_the_command_line_takes_features(known, tmp_path, monkeypatch):
    claims, _, features = known
    monkeypatch.chdir(tmp_path)
    claims.write_csv("claims.csv")
    features.head(150).write_csv("features.csv")
    features.tail(50).write_csv("more.csv")
    told = CliRunner().invoke(
        main, ["discover", "claims.csv", "--source-features", "features.csv", "--out", "run"]
    )
    assert told.exit_code == 0, told.output
    assert "what features are worth" in told.output
    assert "50 sources that make claims have no row" in told.output
    again = CliRunner().invoke(
        main, ["judge", "run", "claims.csv", "--source-features", "more.csv", "--json"]
    )
    assert again.exit_code == 0, again.output
    refused = CliRunner().invoke(
        main, ["discover", "claims.csv", "--algorithm", "sums", "--source-features", "more.csv"]
    )
    assert refused.exit_code != 0


# --- of items -------------------------------------------------------------------------------------

TOPICS = np.array(["birds", "cars", "stars"])


def asked(seed, labels=False, n_sources=30, n_items=240, claims=60):
    """Sources that know one of three topics each, what is true, and the topics."""
    rng = np.random.default_rng(seed)
    topic, truth = rng.integers(0, 3, n_items), rng.integers(0, 4, n_items)
    knows, rows = rng.integers(0, 3, n_sources), []
    for source in range(n_sources):
        for item in rng.choice(n_items, claims, replace=False):
            is_right = rng.random() < (0.9 if topic[item] == knows[source] else 0.45)
            value = truth[item] if is_right else (truth[item] + rng.integers(1, 4)) % 4
            rows.append((f"s{source}", int(item), f"{value}" if labels else f"{item}: {value}"))
    spelt = [f"{v}" if labels else f"{i}: {v}" for i, v in enumerate(truth)]
    entities = np.arange(n_items)
    return (
        pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row"),
        pl.DataFrame({"entity": entities, "value": spelt}),
        pl.DataFrame({"entity": entities, "topic": TOPICS[topic]}),
    )


@pytest.mark.parametrize("labels", [False, True], ids=["values", "labels"])
def test_who_knows_what_is_learned_from_features_of_items(labels):
    gains = []
    for seed in range(2):
        claims, truth, about = asked(seed, labels)
        shuffled = about.with_columns(about["topic"].shuffle(seed))
        without, told, nothing = (
            veracity.evaluate(veracity.discover(claims, item_features=f), truth).accuracy
            for f in (None, about, shuffled)
        )
        gains.append([told - without, nothing - without])
    told, nothing = np.mean(gains, axis=0)
    assert told > 0.03
    assert nothing > -0.01


WORTH = np.array([0.8, 0.0, -0.8])
"""What each topic adds to the log-odds that any source is right on it."""


def easy_and_hard(seed, n_sources=30, n_items=240, claims=30):
    """Hardly four sources speak of an item; some topics are easy for all; and the topics."""
    rng = np.random.default_rng([seed, 18])
    topic, truth = rng.integers(0, 3, n_items), rng.integers(0, 4, n_items)
    ability, rows = rng.normal(0.5, 0.5, n_sources), []
    for source in range(n_sources):
        for item in rng.choice(n_items, claims, replace=False):
            is_right = rng.random() < 1.0 / (1.0 + np.exp(-ability[source] - WORTH[topic[item]]))
            value = truth[item] if is_right else (truth[item] + rng.integers(1, 4)) % 4
            rows.append((f"s{source}", int(item), f"{item}: {value}"))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame({"entity": np.arange(n_items), "topic": TOPICS[topic]})


def log_loss(claims, about):
    """Return the mean of -log P(truth) where true values end in 0."""
    facts = veracity.discover(claims, item_features=about).facts
    is_true = facts["value"].str.ends_with("0")
    return -np.log(np.maximum(facts.filter(is_true)["plausibility"].to_numpy(), 1e-9)).mean()


def test_difficulty_that_features_explain_is_not_tempered_again():
    less = []
    for seed in range(4):
        rng = np.random.default_rng([seed, 36])
        topic, ability = rng.integers(0, 3, 300), rng.normal(0.5, 0.5, 30)
        rows = []
        for source in range(30):
            for item in rng.choice(300, 60, replace=False):
                odds = ability[source] + WORTH[topic[item]]
                is_right = rng.random() < 1.0 / (1.0 + np.exp(-odds))
                value = 0 if is_right else rng.integers(1, 4)
                rows.append((f"s{source}", int(item), f"{item}: {value}"))
        claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
        about = pl.DataFrame({"entity": np.arange(300), "topic": TOPICS[topic]})
        less.append(log_loss(claims, None) - log_loss(claims, about))
    assert np.mean(less) > 0.02  # it was 0.02 more with features, before


def test_weights_of_kinds_are_learned_also_from_items_on_which_all_agree():
    found, true, hits = [], [], []
    for seed in range(10):
        claims, about = easy_and_hard(seed)
        worth = veracity.discover(claims, item_features=about).features
        own = WORTH - WORTH @ [(about["topic"] == topic).mean() for topic in TOPICS]
        found, true = [*found, *worth["weight"]], [*true, *own]
        low, high = worth["weight_low", "weight_high"].to_numpy().T
        hits.append((low < own) & (own < high))
    share = np.dot(found, true) / np.dot(true, true)
    assert 0.65 < share < 1.1  # of disputed items alone, less than half of it would be found
    assert np.mean(hits) >= 0.84


@pytest.fixture(scope="module")
def topical():
    claims, truth, about = asked(0)
    return claims, truth, about, veracity.discover(claims, item_features=about)


def test_kinds_of_items_are_told_saved_and_judged_by(topical, tmp_path):
    claims, truth, about, result = topical
    worth = result.features
    assert worth.select("of", "feature", "level").rows() == [
        ("item", "topic", topic) for topic in TOPICS
    ]
    loaded = veracity.load(result.save(tmp_path / "run"))
    assert loaded.why(0).words == result.why(0).words
    assert loaded.features.equals(worth)
    # the same claims about other items, which are described when they come
    renamed = claims.with_columns(pl.col("entity") + 1000)
    new = about.with_columns(pl.col("entity") + 1000)
    with_kinds = loaded.fitted.judge(renamed, item_features=new)
    assert_allclose(with_kinds.facts["plausibility"], result.facts["plausibility"], atol=1e-9)
    without = loaded.fitted.judge(renamed)
    assert any("239 items have no row" in note for note in without.notes)
    known = truth.with_columns(pl.col("entity") + 1000)
    right_with, right_without = (
        veracity.evaluate(judged, known).accuracy for judged in (with_kinds, without)
    )
    assert right_with > right_without


def test_kinds_are_the_same_in_blocks_and_on_disk(topical, tmp_path):
    claims, _, about, result = topical
    for engine in (Local(claims_per_block=200), Local(memory="1KB", spill=tmp_path)):
        other = veracity.discover(claims, item_features=about, engine=engine)
        one, two = (
            found.facts.sort("entity", "value")["plausibility"] for found in (result, other)
        )
        assert_allclose(one, two, atol=1e-6)
        assert_allclose(other.features["weight"], result.features["weight"], atol=1e-6)
    assert isinstance(vars(other.tables)["facts"], LazyTable)  # nothing was collected


def test_items_fall_into_kinds():
    features = ItemFeatures.read(
        {
            "Question": ["a", "b", "c", "d", "e", "f"],
            "length": [1, 2, 3, 4, 5, None],
            "topic": ["x", "x", "y", "y", None, "x"],
        }
    )
    length, topic = features.columns
    assert length.levels == ("below 3", "3 to below 4", "4 and more", MISSING)
    assert topic.levels == ("x", "y", MISSING)
    assert features.n_kinds == 13
    assert features.kind_of_row.tolist() == [1, 1, 5, 8, 9, 10]
    assert features.rows[8].tolist() == [1, 0, 0, 1, 0, 0, 1, 0]
    assert features.rows[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


def test_an_attribute_that_is_named_is_a_feature():
    items = [(e, a) for e in "abcd" for a in ("gate", "time")]
    table = pl.DataFrame(items, schema=["entity", "attribute"], orient="row")
    table = table.with_columns(hard=pl.Series([n > 3 for n in range(8)]))
    features = ItemFeatures.read(table)
    assert [column.name for column in features.columns] == ["attribute", "hard"]
    claims = table.select("entity", "attribute", value=pl.lit("v"))
    claims = pl.concat([claims.with_columns(source=pl.lit(s)) for s in "pqr"])
    result = veracity.discover(claims, item_features=table)
    assert not any("no row" in note for note in result.notes)


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        ({"entity": ["a"] * 2, "x": [1, 2]}, {}, BadValue, "rows 1 and 2 both describe 'a'"),
        ({"entity": range(4000), "x": [n // 2 for n in range(4000)], "y": [f"t{n // 2}" for n in
          range(4000)]}, {}, BadValue, "6,000 kinds of items.*'y' has 2,000 levels"),
        ({"what": ["a"], "x": [1]}, {}, MissingColumn, "no column names the entity"),
        ({"entity": ["x"], "x": [1]}, {"algorithm": "one-coin"}, ParameterError, "use veracity"),
        ({"entity": ["x", "y"], "x": [1, 2]}, {"kind": "multiple"}, ParameterError, "categorical"),
    ],
)  # fmt: skip
def test_tables_that_cannot_make_kinds_are_refused(table, options, error, message, two_against_one):
    with pytest.raises(error, match=message):
        veracity.discover(two_against_one, item_features=table, **options)


def test_the_command_line_takes_features_of_items(topical, tmp_path, monkeypatch):
    claims, _, about, _ = topical
    monkeypatch.chdir(tmp_path)
    claims.write_csv("claims.csv")
    about.write_csv("items.csv")
    for command in (
        ["discover", "claims.csv", "--item-features", "items.csv", "--out", "run"],
        ["judge", "run", "claims.csv", "--item-features", "items.csv"],
    ):
        told = CliRunner().invoke(main, command)
        assert told.exit_code == 0, told.output
    again = load(tmp_path / "run")
    assert "--item-features TABLE" in command_of(again)


def test_features_of_items_are_refused_for_facts_that_are_true_or_false():
    rows = [(s, f"x{i}", (i * 7 + j) % 3 > 0) for i in range(30) for j, s in enumerate("abcde")]
    claims = pl.DataFrame(rows, schema=["source", "fact", "claim"], orient="row")
    about = pl.DataFrame(
        {"entity": [f"x{i}" for i in range(29)], "size": [*("big", "small") * 14, "big"]}
    )
    with pytest.raises(ParameterError, match="are for categorical claims, not for binary"):
        veracity.discover(claims, kind="binary", item_features=about)


@pytest.mark.parametrize(
    ("what", "name"), [("source_features", "source"), ("item_features", "entity")]
)
def test_more_features_than_can_be_looked_at_are_refused(two_against_one, what, name):
    wide = pl.DataFrame({name: ["a"], **{f"c{number}": [1] for number in range(10_001)}})
    with pytest.raises(BadValue, match=r"10,001 columns beside .* are more than the 10,000"):
        veracity.discover(two_against_one, **{what: wide})
