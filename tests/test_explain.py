"""Explanations: rows that add up, and words that say the same."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from claims import binary_rows, value_rows
from marks import WITH_EVERY_KIND, few_kinds, slow_unless
from veracity.algorithms import CATALOGUE
from veracity.algorithms.rules import plausibilities
from veracity.cli import main
from veracity.explain import MOST_ROWS, heaviest_first
from veracity.explain.contributions import items_at

KINDS = ("categorical", "multiple", "binary", "numeric")
WITHOUT_WEIGHTS = {"three-estimates", "sstf"}
AVERAGES = {"ltm"}
PAIRS = [(n, k) for n in sorted(CATALOGUE) for k in KINDS if k in CATALOGUE[n].make().kinds]
EXACT = [p for p in PAIRS if p[0] not in WITHOUT_WEIGHTS | AVERAGES and p[1] != "numeric"]
every_pair = pytest.mark.parametrize(("name", "kind"), few_kinds(PAIRS))
every_exact_pair = pytest.mark.parametrize(("name", "kind"), few_kinds(EXACT))


def discover(claims, algorithm="ltd-rbm", kind="categorical", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", veracity.errors.NotConverged)
        return veracity.discover(claims, algorithm, kind=kind, **options)


def rows_of(kind):
    if kind == "numeric":
        return value_rows().map(lambda rows: rows.with_columns(pl.col("value").cast(pl.Float64)))
    return binary_rows() if kind == "binary" else value_rows()


def claims_of(*rows, columns=("source", "entity", "value")):
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def key_of(kind):
    return "fact" if kind == "binary" else "entity"


def check_sums(why):
    """The prior and the weights of the rows of a value are its score."""
    values = why.values.filter(pl.col("supporters") + pl.col("opposers") > 0)
    keys = [k for k in ("entity", "attribute", "fact", "value") if k in values.columns]
    sums = why.rows.group_by(keys).agg(pl.col("weight").sum())
    joined = values.join(sums, on=keys, how="left", nulls_equal=True)
    claimed = joined.filter(pl.col("value").is_not_null()) if "value" in keys else joined
    total = claimed["prior"] + claimed["weight"].fill_null(0.0)
    assert_allclose(claimed["score"], total, rtol=1e-9, atol=1e-9)


def check_plausibilities(result):
    """Plausibilities follow from the scores of all items, and these from their rows."""
    key = key_of(result.kind)
    for entity in result.facts[key].unique():
        check_sums(result.why(entity))
        rows = np.flatnonzero(result.facts[key] == entity)
        (item,), _ = items_at(result, rows, most=1)
        assert item.weights.account == "exact"
        assert_allclose(
            item.score, result.why(entity).values["score"][: len(rows)][item_order(item)]
        )
        expected = plausibilities(item.block, item.weights)
        assert_allclose(item.facts["plausibility"], expected, atol=1e-9)


def item_order(item):
    """Where each fact stands among the values of an explanation."""
    return np.argsort(item.order)


def crowd(kind):
    """Ten sources on a dozen items with up to four values; some name two, if several are true."""
    drawn = veracity.synthetic.Synthetic(sources=10, items=12, accuracy=0.5, frequency=0.7)
    claims = drawn.draw(seed=4).claims.drop("attribute")
    if kind == "binary":
        is_first = pl.col("value") == "v0"
        return claims.select("source", fact="entity", claim=is_first)
    also = claims.filter(pl.col("source").is_in(["source1", "source2"]))
    return pl.concat([claims, also.with_columns(value=pl.lit("v3"))]).unique()


# --- the claims travel with the result ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["categorical", "multiple", "binary"])
@given(data=st.data())
@settings(max_examples=25)
def test_the_table_of_claims_has_every_claim_and_whether_it_agrees(kind, data):
    rows = data.draw(rows_of(kind)).unique()
    result = discover(rows, "majority-vote", kind)
    claims = result.claims.rename({"value": "claim"} if kind == "binary" else {})
    assert set(claims.select(rows.columns).rows()) == set(rows.rows())
    assert len(claims) == len(rows)
    truths = result.truths.select(*result.encoded.items.columns, chosen="value")
    both = claims.join(truths, on=result.encoded.items.columns)
    claimed = "claim" if kind == "binary" else "value"
    if kind == "multiple":
        keys = [*result.encoded.items.columns, "value"]
        chosen = result.truths.select(keys).with_columns(chosen=True)
        both = claims.join(chosen, on=keys, how="left").with_columns(
            pl.col("chosen").fill_null(False)
        )
        assert both["agrees"].equals(both["chosen"], null_equal=True)
    else:
        assert both["agrees"].equals(both[claimed] == both["chosen"])


def test_weights_that_differ_in_the_last_bits_alone_stay_in_the_order_of_the_sources():
    assert heaviest_first(np.array([0.3, -0.5, 0.1 + 0.2, 0.3])).tolist() == [1, 0, 2, 3]
    tiny = 1e-200 * np.array([1.0, 3.0, 2.0])
    assert heaviest_first(tiny).tolist() == [1, 2, 0]
    assert heaviest_first(np.full(3, np.nan)).tolist() == [0, 1, 2]
    assert heaviest_first(np.zeros(2)).tolist() == [0, 1]


# --- weights add up -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"), slow_unless(lambda pair: pair[0] in WITH_EVERY_KIND, EXACT)
)
@given(data=st.data())
@settings(max_examples=15)
def test_rows_and_prior_add_up_to_scores_and_these_give_the_plausibilities(name, kind, data):
    check_plausibilities(discover(data.draw(rows_of(kind)), name, kind))


@every_exact_pair
def test_they_do_so_where_many_sources_name_many_values(name, kind):
    check_plausibilities(discover(crowd(kind), name, kind))


@every_pair
def test_explanations_survive_saving(name, kind, tmp_path):
    result = discover(example(kind), name, kind)
    loaded = veracity.load(result.save(tmp_path / "run"))
    for entity in result.facts[key_of(kind)].unique():
        one, other = result.why(entity), loaded.why(entity)
        assert one.words == other.words
        assert one.rows.equals(other.rows)
        assert one.values.equals(other.values)
        assert (one.scale, one.rule, one.account) == (other.scale, other.rule, other.account)


@every_exact_pair
def test_known_truths_are_held_and_the_rows_still_add_up(name, kind):
    claims = example(kind)
    truth = claims.head(1).select(pl.exclude("source"))
    result = discover(claims, name, kind, known=truth)
    why = result.why(truth[key_of(kind)][0])
    check_sums(why)
    assert "known to be true" in why.words


@every_pair
@given(data=st.data())
@settings(max_examples=5)
def test_every_item_of_every_algorithm_has_words(name, kind, data):
    result = discover(data.draw(rows_of(kind)), name, kind)
    for entity in result.facts[key_of(kind)].unique():
        why = result.why(entity)
        assert why.words.startswith(tuple("0123456789TFNG1-"))
        assert why.words.splitlines()[0].endswith(".")
        assert "None" not in why.words.replace("None of the", "")


def example(kind):
    if kind == "binary":
        rows = [("a", "p", True), ("b", "p", True), ("c", "p", False), ("a", "q", False),
                ("b", "q", True), ("c", "q", False)]  # fmt: skip
        return claims_of(*rows, columns=("source", "fact", "claim"))
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2"), ("a", "y", "2"), ("b", "y", "3"),
            ("c", "y", "2"), ("d", "y", "2"), ("d", "x", "3")]  # fmt: skip
    claims = claims_of(*rows)
    return claims.with_columns(pl.col("value").cast(pl.Float64)) if kind == "numeric" else claims


def test_two_sources_on_paper():
    """With tpr 0.8 and 0.6, fpr 0.2 and 0.3: log(0.8 / 0.2) against log(0.6 / 0.3)."""
    rate = veracity.algorithms.Rate
    of_source = {
        "a": rate(tpr=0.8, fpr=0.2, fixed=True), "b": rate(tpr=0.6, fpr=0.3, fixed=True),
    }  # fmt: skip
    algorithm = veracity.algorithms.LTDRBM(
        prior=veracity.Prior(of_source=of_source, prevalence=0.5)
    )
    why = discover(claims_of(("a", "x", "1"), ("b", "x", "2")), algorithm).why("x")
    first = why.rows.filter(pl.col("value") == "1").sort("source")
    assert first["claimed"].to_list() == ["1", "2"]
    assert_allclose(first["weight"], [np.log(0.8 / 0.2), np.log(0.4 / 0.7)])
    assert_allclose(why.values["prior"], [0.0, 0.0], atol=1e-12)
    odds = (0.8 / 0.2 * 0.4 / 0.7) / (0.2 / 0.8 * 0.6 / 0.3)
    assert_allclose(why.values["plausibility"], [odds / (1 + odds), 1 / (1 + odds)])


@pytest.mark.parametrize("name", ["crh", "catd", "gtm", "ltd-rbm-n"])
def test_numbers_add_up_to_the_estimate(name):
    why = discover(example("numeric"), name, "numeric").why("y")
    assert_allclose(why.rows["weight"].sum() + why.values["prior"][0], why.values["value"][0])
    assert why.scale == "numbers"
    assert "the weighted mean of 4 claims from 2 to 3" in why.words


def test_a_value_that_is_ahead_by_values_near_it_is_told_so():
    said = {"a": "8", "b": "8", "c": "9", "d": "10", "e": "10"}
    claims = claims_of(*((source, "x", value) for source, value in said.items()))
    why = discover(claims, veracity.algorithms.CRH(both_losses=True, max_rounds=1)).why("x")
    check_sums(why)
    told = "9 because c says so; a and b say 8, but claims of similar values support it less"
    assert why.words.startswith(told)


def test_items_that_no_bias_shifts_are_explained_beside_others():
    said = {"p0": (39.3, None, 61.1), "p1": (39.3, 52.1, None), "p2": (52.1, 52.1, 52.1)}
    claims = pl.DataFrame([
        {"source": f"s{number}", "entity": "x", "attribute": attribute, "value": value}
        for attribute, values in said.items()
        for number, value in enumerate(values)
        if value is not None
    ])  # fmt: skip
    machine = veracity.algorithms.NumericLTDRBM(tails=1.0, max_rounds=2)
    with pytest.warns(veracity.errors.NotConverged):
        why = veracity.discover(claims, machine, kind="numeric").why("x")
    for sums, value in zip(why.values.iter_rows(named=True), why.values["value"], strict=True):
        rows = why.rows.filter(attribute=sums["attribute"])
        assert_allclose(rows["weight"].sum() + sums["prior"], value)
        assert rows["bias"].null_count() == 0


def test_samplers_tell_averages_and_say_so():
    why = discover(example("categorical"), "ltm").why("x")
    assert why.account == "average"
    check_sums(why)
    assert "the weights are averages" in why.words


def test_what_does_not_judge_by_weights_says_so():
    why = discover(example("categorical"), "three-estimates").why("x")
    assert (why.account, why.scale) == ("none", None)
    assert why.rows["weight"].null_count() == len(why.rows) == 4
    assert "does not judge by weights" in why.words


def test_claims_that_weigh_little_are_summed_in_one_row():
    n = 3 * MOST_ROWS
    claims = pl.DataFrame(
        {"source": [*range(n), n], "entity": ["x"] * (n + 1), "value": ["1"] * n + ["2"]}
    )
    why = discover(claims).why("x")
    check_sums(why)
    of_first = why.rows.filter(pl.col("value") == "1")
    assert len(of_first) == MOST_ROWS + 1
    assert of_first["source"].null_count() == 1
    assert of_first["claims"].sum() == n + 1


# --- words ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo():
    return discover(veracity.synthetic.flights().claims)


def test_words_name_the_sides_and_how_often_they_are_right(demo):
    assert demo.why("VC-100", "departure").words == (
        "22:35 because airline and 5 others say so; gatewise and flyaway say 15:45, but are right "
        "about departure only 5 times in 10."
    )


@pytest.fixture(scope="module")
def outvoted():
    """The demo, with four copies of its worst site."""
    flights = veracity.synthetic.flights()
    worst = flights.claims.filter(source="hoppit")
    copies = [worst.with_columns(source=pl.lit(f"copy {n}")) for n in range(4)]
    return discover(pl.concat([flights.claims, *copies]), "veracity")


def most_named(result):
    """Of items on which more sources name another value than the answer, that value."""
    keys = ["entity", "attribute"]
    facts = result.facts.filter(pl.col("supporters") == pl.col("supporters").max().over(keys))
    told = facts.join(result.truths.select(*keys, answer="value"), on=keys)
    is_alone = pl.len().over(keys) == 1
    return told.filter(is_alone, pl.col("value") != pl.col("answer")).select(*keys, "value").rows()


def test_words_say_why_not_what_most_say(outvoted):
    outnumbered = most_named(outvoted)
    assert len(outnumbered) > 20
    for entity, attribute, value in outnumbered:
        assert re.search(f"say {re.escape(value)}, but ", outvoted.why(entity, attribute).words)


def test_words_say_who_has_it_from_each_other(outvoted):
    told = [outvoted.why(*item[:2]).words for item in most_named(outvoted)]
    assert any(", and 5 of them may have copied it from each other" in words for words in told)
    alone = claims_of(*(("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")))
    assert "from each other" not in discover(alone, "veracity").why(1).words


def test_who_says_so_but_counts_against_it_is_no_reason():
    rates = {"a": (0.95, 0.05), "b": (0.2, 0.6), "c": (0.2, 0.6), "d": (0.1, 0.7)}
    fixed = {
        name: veracity.algorithms.Rate(tpr=tpr, fpr=fpr, fixed=True)
        for name, (tpr, fpr) in rates.items()
    }
    mle = veracity.algorithms.MLE(prior=veracity.Prior(of_source=fixed))
    why = discover(claims_of(*((s, "x", "7" if s == "d" else "5") for s in "abcd")), mle).why("x")
    weights = dict(why.rows.filter(value="5", claimed="5").select("source", "weight").rows())
    assert weights["a"] > 0 > weights["b"] == weights["c"]
    assert why.words.startswith("5 because a says so, and is nearly always right")
    assert (
        "b and c say so, too, but are wrong so often that this counts against it; d says 7"
        in why.words
    )


@pytest.mark.parametrize(("is_true", "verb", "both"), [(True, "say", "so"), (False, "deny", "it")])
def test_who_calls_a_fact_true_may_count_against_it(is_true, verb, both):
    rates = {"a": (0.95, 0.05), "b": (0.2, 0.6), "c": (0.2, 0.6), "d": (0.1, 0.7)}
    fixed = {
        name: veracity.algorithms.Rate(tpr=t, fpr=f, fixed=True) for name, (t, f) in rates.items()
    }
    said = {name: is_true if name in "abc" else not is_true for name in rates}
    rows = {"source": list(said), "fact": ["f"] * 4, "claim": list(said.values())}
    prior = veracity.Prior(of_source=fixed, prevalence=0.5)
    words = (
        discover(pl.DataFrame(rows), veracity.algorithms.MLE(prior=prior), kind="binary")
        .why("f")
        .words
    )
    assert words.startswith(f"{is_true} because a ")
    assert (
        f"b and c {verb} {both}, too, but are wrong so often that this counts against it; d "
        in words
    )


def test_words_tell_a_close_call(demo):
    words = demo.why("VC-176", "departure").words
    assert re.search(r"It is a close call: 0\.5\d against 0\.4\d\.$", words)


def test_a_close_call_names_the_value_that_is_close_if_another_was_named_before():
    told = "a 1|b 1|c 2|d 2|e 2|f 3"
    rows = pl.DataFrame(
        [one.split() for one in told.split("|")], schema=["source", "value"], orient="row"
    )
    rates = {"a": 0.9, "b": 0.9, "c": 0.55, "d": 0.55, "e": 0.5, "f": 0.99}
    fixed = {
        n: veracity.algorithms.Rate(tpr=t, fpr=(1.0 - t) / 2.0, fixed=True)
        for n, t in rates.items()
    }
    claims = rows.with_columns(entity=pl.lit("x"))
    result = discover(claims, veracity.algorithms.MLE(prior=veracity.Prior(of_source=fixed)))
    best, second = result.facts.sort("plausibility", descending=True)["value"].to_list()[:2]
    words = result.why("x").words
    assert (best, second) == ("1", "3"), result.facts
    assert "c and 2 others say 2" in words or "c, d and e say 2" in words, words
    assert re.search(r"It is a close call: \S+ against \S+ for 3\.", words), words


def test_without_attribute_every_attribute_is_told(demo):
    lines = demo.why("VC-100").words.splitlines()
    assert [line.split(":")[0] for line in lines] == ["departure", "gate"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "x", "1")], "1 because a says so; no other source makes a claim about it."),
        ([("a", "x", "1"), ("b", "x", "1")], "1 because a and b say so."),
        ([(s, "x", "1") for s in "abc"], "1 because all 3 sources say so."),
        (
            [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2")],
            "1 because a and b say so; c says 2, but is right only 3 times in 10.",
        ),
        (
            [("a", "x", "1"), ("b", "x", "2")],
            "1 and 2 are equally plausible; 1 is taken because it comes first in sorted order. "
            "a says 1, b says 2.",
        ),
        (
            [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2"), ("d", "x", "3"), ("e", "x", "4")],
            "1 because a and b say so; c says 2, but is right only 2 times in 10. "
            "2 more values are claimed.",
        ),
    ],
)
def test_words_of_a_vote(rows, words):
    assert discover(claims_of(*rows), "majority-vote").why("x").words == words


def test_words_of_abstaining():
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2")]
    words = discover(claims_of(*rows), "majority-vote", min_plausibility=0.9).why("x").words
    assert words.startswith(
        "No value is plausible enough: the best has 0.67, and 0.90 is asked for. 1 because a and b"
    )


def test_words_of_known_truths():
    rows = [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2"), ("a", "y", "1")]
    known = pl.DataFrame({"entity": ["x", "y"], "value": ["2", "5"]})
    result = discover(claims_of(*rows), known=known)
    assert result.why("x").words == "2 because it is known to be true; c says so."
    assert result.why("y").words == (
        "None of the claimed values is true: the truth is known to be another."
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [("a", True), ("b", True), ("c", False)],
            "True because a and b say so; c denies it, but is right only 3 times in 10.",
        ),
        ([("a", False), ("b", False)], "False because a and b deny it; no source says otherwise."),
        (
            [("a", True), ("b", False)],
            "True and false are equally plausible; a tie is called false.",
        ),
    ],
)
def test_words_of_a_binary_vote(rows, words):
    claims = claims_of(*((s, "p", c) for s, c in rows), columns=("source", "fact", "claim"))
    assert discover(claims, "majority-vote", "binary").why("p").words == words


def test_words_of_several_truths():
    rows = [("a", "x", "1"), ("b", "x", "1"), ("a", "x", "2")]
    words = discover(claims_of(*rows), "majority-vote", "multiple").why("x").words
    assert words == (
        "1: true (1.00); a and b say so. 2: true (0.50); a says so, 1 other source does not."
    )


# --- errors and frames ----------------------------------------------------------------------------


def test_an_unknown_name_is_answered_with_close_ones(demo):
    with pytest.raises(veracity.errors.ParameterError, match="no entity 'VC-1OO'; did you mean"):
        demo.why("VC-1OO")
    with pytest.raises(veracity.errors.ParameterError, match="no attribute 'gates'; did you mean"):
        demo.why("VC-100", "gates")
    with pytest.raises(
        veracity.errors.ParameterError, match="no attribute '%%'; there are 'departure', 'gate'"
    ):
        demo.why("VC-100", "%%")


def test_an_attribute_where_there_is_none_is_refused():
    result = discover(claims_of(("a", "x", "1")))
    with pytest.raises(veracity.errors.ParameterError, match="have no attributes; leave it out"):
        result.why("x", "colour")


def test_frames_come_in_the_users_kind():
    why = discover(claims_of(("a", "x", "1")).to_pandas()).why("x")
    assert type(why.rows).__module__.startswith("pandas")
    assert type(why.values).__module__.startswith("pandas")


def test_numbers_name_items_as_well_as_text():
    claims = pl.DataFrame({"source": [1, 2], "entity": [7, 7], "value": [1, 1]})
    result = discover(claims)
    assert result.why(7).words == result.why("7").words == "1 because 1 and 2 say so."


def test_repr_shows_words_and_tables(demo):
    text = repr(demo.why("VC-176", "departure"))
    assert text.startswith("12:20 because ticketbay and 4 others say so")
    assert "ticketbay" in text.split("\n", 1)[1]
    assert max(map(len, text.splitlines()[1:])) <= 120


# --- command line and notebook --------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(demo, tmp_path_factory):
    return str(demo.save(tmp_path_factory.mktemp("explained") / "run"))


def test_the_command_tells_words_and_tables(saved):
    result = CliRunner().invoke(main, ["explain", saved, "VC-176", "departure"])
    assert result.exit_code == 0
    assert result.output.startswith("12:20 because ticketbay and 4 others say so")
    assert "claims, and what they weigh (log-odds)" in result.output
    assert max(map(len, result.output.splitlines()[1:])) <= 120


def test_the_command_prints_json_that_adds_up(saved):
    result = CliRunner().invoke(main, ["explain", saved, "VC-176", "--json"])
    told = json.loads(result.output)
    assert {value["attribute"] for value in told["values"]} == {"departure", "gate"}
    for value in told["values"]:
        keys = ("attribute", "value")
        rows = [r for r in told["rows"] if all(r[key] == value[key] for key in keys)]
        assert_allclose(value["prior"] + sum(row["weight"] for row in rows), value["score"])


def test_what_nobody_claims_has_a_name_on_the_terminal(tmp_path):
    discover(claims_of(("a", "x", "1"), ("b", "x", "2")), "veracity").save(tmp_path / "run")
    result = CliRunner().invoke(main, ["explain", str(tmp_path / "run"), "x"])
    assert "│ (one that nobody claims) │" in result.output


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_result_shows_itself_in_a_notebook(kind):
    algorithm = "gtm" if kind == "numeric" else "ltd-rbm"
    html = discover(example(kind), algorithm, kind)._repr_html_()
    assert html.count("<table") == html.count("</table>") == 2
    assert f"{algorithm} on " in html


def test_an_attribute_without_a_name_is_not_spoken_of():
    claims = pl.DataFrame(
        {
            "source": list("abcab"),
            "entity": list("xxxyy"),
            "attribute": [""] * 5,
            "value": list("11233"),
        }
    )
    assert "right only 1 time in 10" in str(veracity.discover(claims).why("x"))


@pytest.fixture(scope="module")
def one_sided():
    """Five workers who cry "1" at everything but three who tell, and one who seldom says "1"."""
    rng = np.random.default_rng(11)
    rows = []
    for item in range(300):
        true = int(rng.random() < 0.4)
        for worker in range(5):
            rows.append(
                (f"crier{worker}", f"e{item}", str(int(rng.random() < (0.95 if true else 0.6))))
            )
        for worker in range(3):
            rows.append(
                (f"careful{worker}", f"e{item}", str(true if rng.random() < 0.9 else 1 - true))
            )
        said = int(rng.random() < (0.3 if true else 0.01))
        rows.append(("seldom", f"e{item}", str(said)))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return veracity.discover(claims)


def test_weights_under_confusions_speak_for_what_they_speak_for(one_sided):
    """What a claim adds to its own label is positive for all who are not misleading."""
    for entity in one_sided.truths["entity"].head(40):
        rows = one_sided.why(entity).rows
        own = rows.filter(pl.col("value") == pl.col("claimed"), pl.col("source") != "seldom")
        careful = own.filter(pl.col("source").str.starts_with("careful"))
        assert (careful["weight"] > 0.0).all()


def test_weights_under_confusions_add_up(one_sided):
    for entity in one_sided.truths["entity"].head(20):
        why = one_sided.why(entity)
        added = why.rows.group_by("value").agg(pl.col("weight").sum())
        values = why.values.filter(pl.col("value").is_not_null()).join(added, on="value")
        np.testing.assert_allclose(values["prior"] + values["weight"], values["score"])
        claimed = np.exp(values["score"].to_numpy())
        np.testing.assert_allclose(
            claimed / claimed.sum(), values["plausibility"] / values["plausibility"].sum()
        )


def test_words_under_confusions_tell_what_decided(one_sided):
    """ "seldom" is nearly sure where it says 1, though it misses most; criers are not."""
    words = [one_sided.why(entity).words for entity in one_sided.truths["entity"].head(100)]
    against = [told for told in words if told.startswith("1 because seldom")]
    assert against
    assert any("times in 10 when they say 1" in told for told in words)
    row = one_sided.facts.with_row_index().filter(pl.col("value") == "1")["index"][0]
    (item,), _ = items_at(one_sided, np.array([row]), most=1)
    precision = item.precision(item.facts["value"].to_list().index("1"))
    of = dict(zip(one_sided.sources["source"], precision, strict=True))
    assert of["seldom"] > of["crier0"]


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_runs_of_algorithms_that_are_not_there_are_explained_by_how_good_sources_are(
    kind, tmp_path
):
    rows = [(s, f"x{i}", float(i + j * i)) for i in range(9) for j, s in enumerate("abc")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    veracity.discover(claims, kind=kind).save(tmp_path / "run")
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps({**told, "algorithm": "elsewhere"}))
    assert "claim" in str(veracity.load(tmp_path / "run").why("x5"))
