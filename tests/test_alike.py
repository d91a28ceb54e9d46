"""Values that mean the same are one value, and values that say less count for fuller ones."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import spark
import veracity
from veracity.algorithms import AccuFormat, AccuSim, TruthFinder
from veracity.cli import main
from veracity.errors import ParameterError

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import alike as generated

BOOKS = {
    "b1": ["Knuth, Donald E.", "Donald Knuth", "KNUTH", "Donald Ervin Knuth", "Ann Moor"],
    "b2": ["Han, Jiawei; Kamber, Micheline", "Jiawei Han & M. Kamber", "Han/Kamber", "Han, Jiawei"],
    "b3": ["Jennifer Widom, Stefano Ceri", "Widom, Jennifer and Ceri, Stefano", "Widom", "Bo Ek"],
    "b4": ["White, Gregory B.", "Greg White", "Gregory White", "Shon Harris", "Harris, Shon"],
}

FALSE_FRIENDS = {
    "gates": ("Gate 1", "Gate 11", "Gate 1A", "gate 2"),
    "models": ("X-100", "X-101", "X-100S", "Y-100"),
    "signs": ("C", "C++", "C#", "A+", "A-", "5", "-5", "5%", "$5"),
    "names": ("Jane Hansen", "Jan Hansen", "Jane Jansen", "Hansen Jane-Marie"),
    "routes": ("Paris to Rome", "Rome to Paris", "Paris via Rome"),
    "turned numbers": ("2 of 3", "3 of 2"),
    "countries": ("Niger", "Nigeria", "Mali", "Malawi", "Congo", "Congo Republic"),
    "not": ("guilty as charged", "not guilty as charged"),
    "numerals": ("World War I", "World War II", "World War IX"),
    "comparisons": ("x = y", "x != y", "x \u2260 y", "x \u2264 y", "x \u2265 y", "x < y"),
    "minus signs": ("5 \u00b0C", "\u22125 \u00b0C"),
    "powers": ("10\u00b3", "103", "1\u00bd", "11/2"),
    "voiced": ("\u304b\u304d", "\u304b\u304e"),
    "vowel signs": ("\u0939\u093f\u0902\u0926\u0940", "\u0939\u093f\u0902\u0926\u0942"),
}

FALSE_TYPOS = [
    ("hypertension", "hypotension"),
    ("important", "unimportant"),
    ("typical", "atypical"),
    ("Zambia", "Gambia"),
    ("John XXIII", "John XVIII"),
]


def told(values: dict[str, list[str]]) -> pl.DataFrame:
    rows = [(f"s{k}", item, value) for item, own in values.items() for k, value in enumerate(own)]
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def merged(result: veracity.Result) -> set[tuple[str, str]]:
    changes = result.tables.changes.filter(pl.col("change") == "merged")
    return {tuple(sorted(pair)) for pair in changes.select("before", "after").rows()}


# --- the same -------------------------------------------------------------------------------------


def test_people_are_compared_as_people():
    result = veracity.discover(told(BOOKS), "majority-vote", alike="people")
    facts = dict(result.facts.group_by("entity").agg("value").iter_rows())
    assert {item: len(values) for item, values in facts.items()} == {
        "b1": 2, "b2": 2, "b3": 3, "b4": 2,
    }  # fmt: skip
    assert result.truths["entity"].to_list() == list(BOOKS)
    assert result.truths["tied"].to_list()[:3] == [False, False, False]


@pytest.mark.parametrize("name", FALSE_FRIENDS)
def test_values_that_look_alike_and_differ_are_not_merged(name):
    claims = told({"x": list(FALSE_FRIENDS[name])})
    assert not merged(veracity.discover(claims, "majority-vote", alike="words"))


@pytest.mark.parametrize(
    "texts",
    [
        ("The Tempest", "the tempest.", "**Tempest**", "TEMPEST!"),
        ("Jane Austen", "Austen, Jane", "J. Austen"),
        ("Málaga", "malaga", "Malaga "),
    ],
)
def test_spellings_of_one_text_are_one_value(texts):
    result = veracity.discover(told({"x": list(texts)}), "majority-vote", alike="words")
    assert len(result.facts) == 1
    assert result.truths["claims"].item() == len(texts)


def test_an_initial_that_fits_two_names_is_neither():
    claims = told({"x": ["Jane Lee", "Jane Lee", "John Lee", "J. Lee"]})
    result = veracity.discover(claims, alike="words")
    assert sorted(result.facts["value"]) == ["J. Lee", "Jane Lee", "John Lee"]
    rows = result.why("x").rows
    assert "J. Lee (says less)" in rows.filter(pl.col("value") == "John Lee")["claimed"].to_list()


def test_one_claim_with_a_typing_error_joins_the_others():
    claims = told(
        {"x": ["Zigmund Bauer"] * 3 + ["Zigmund Bauor", "Zigmund Mauer", "Zigmund Mauer"]}
    )
    result = veracity.discover(claims, "majority-vote", alike="words")
    assert merged(result) == {("Zigmund Bauer", "Zigmund Bauor")}


@pytest.mark.parametrize("pair", FALSE_TYPOS)
def test_words_of_another_meaning_are_no_typing_errors(pair):
    claims = told({"x": [pair[0]] * 4 + [pair[1]]})
    assert not merged(veracity.discover(claims, "majority-vote", alike="words"))


@pytest.mark.parametrize(
    ("texts", "n_values"),
    [
        (("Bach, J. S.", "Bach, J. C."), 2),
        (("Lee, A. B.", "Lee, C. B."), 2),
        (("Smith, John; Smith, Jane", "Jane Smith and John Smith", "Smith, Jane"), 2),
        (("Deitel, Harvey M./ Deitel, Paul J.", "DEITEL"), 2),
        (("Hughes, Cameron; Hughes, Tracey", "Hughes, Cameron"), 2),
        (("Art Conklin; Wm. Arthur Conklin", "Conklin, Art"), 1),
        (("FISCHER, CHARLES N. - RICHARD J. LeBLANC", "Fischer, Charles N."), 2),
    ],
)
def test_people_of_one_surname_are_told_apart_by_their_given_names(texts, n_values):
    result = veracity.discover(told({"x": list(texts)}), "majority-vote", alike="people")
    assert len(result.facts) == n_values


def test_a_text_says_nothing_less_than_its_negation():
    claims = told({"x": ["valid", "valid", "isn't valid", "cannot be valid"]})
    rows = veracity.discover(claims, alike="words").why("x").rows
    assert not rows["claimed"].str.contains("says less").any()


def test_few_labels_of_many_items_are_left_alone():
    labels = ["North Hall", "the north hall", "South Hall", "south hall"]
    claims = told({f"i{k}": [labels[k % 4], labels[(k + 1) % 4]] for k in range(80)})
    result = veracity.discover(claims, normalise=True)
    assert result.run.alikeness is None


def test_the_told_spelling_is_the_most_claimed_and_changes_say_so():
    claims = told({"x": ["the Nile", "Nile", "Nile", "nile!"]})
    result = veracity.discover(claims, "majority-vote", alike="words")
    assert result.truths["value"].item() == "Nile"
    changes = result.changes.filter(pl.col("change") == "merged")
    assert set(changes["before"]) == {"the Nile", "nile!"}
    assert set(changes["after"]) == {"Nile"}
    originals = dict(result.claims.select("source", "original").iter_rows())
    assert originals == {"s0": "the Nile", "s1": "Nile", "s2": "Nile", "s3": "nile!"}


def test_a_source_that_says_one_thing_in_two_ways_says_it_once():
    claims = pl.DataFrame({
        "source": ["a", "a", "b"], "entity": ["x"] * 3, "value": ["Nile", "the Nile", "Congo"],
    })  # fmt: skip
    result = veracity.discover(claims, "majority-vote", alike="words")
    assert result.facts.sort("value")["supporters"].to_list() == [1, 1]


def test_known_truths_and_evaluation_count_alike():
    claims = told({"x": ["the Nile", "Nile", "Congo"], "y": ["Po", "Po", "Rhone"]})
    truth = pl.DataFrame({"entity": ["x", "y"], "value": ["NILE", "river Po"]})
    given = veracity.discover(claims, "majority-vote", alike="words", known=truth[:1])
    assert given.run.input.known == 1
    assert veracity.evaluate(given, truth).accuracy == 0.5
    assert veracity.evaluate(given, truth, alike=False).accuracy == 0.0


# --- says less ------------------------------------------------------------------------------------

TREE = ["Europe/Italy/Milan", "Europe/Italy/Rome", "Europe/France/Paris", "Asia/Japan/Tokyo"]


def places() -> pl.DataFrame:
    """Two sources tell countries, three tell towns, and one of these is mostly wrong."""
    towns = {"Milan": "Italy", "Rome": "Italy", "Paris": "France", "Tokyo": "Japan"}
    names = list(towns)
    rows = []
    for k in range(60):
        town = names[k % 4]
        rows += [("coarse", f"i{k}", towns[town]), ("coarser", f"i{k}", towns[town])]
        rows += [("good", f"i{k}", town), ("bad", f"i{k}", names[(k + 1 + k // 4 % 3) % 4])]
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def test_regions_support_the_places_in_them():
    claims = places()
    truth = claims.filter(pl.col("source") == "good").select("entity", "value")
    plain = veracity.evaluate(veracity.discover(claims, labels_off()), truth).accuracy
    result = veracity.discover(claims, labels_off(), hierarchy=TREE)
    assert veracity.evaluate(result, truth).accuracy > plain + 0.3
    sources = dict(result.sources.select("source", "accuracy").iter_rows())
    assert min(sources["coarse"], sources["good"]) > 0.8 > sources["bad"]
    habits = dict(result.sources.select("source", "in_part").iter_rows())
    assert habits["coarse"] > 0.7
    assert habits["good"] < 0.3


def labels_off() -> veracity.Algorithm:
    return veracity.algorithms.Veracity(labels=False)


def test_an_explanation_adds_up_and_names_what_says_less():
    result = veracity.discover(places(), labels_off(), hierarchy=TREE)
    why = result.why("i0")
    values = why.values.drop_nulls("value")
    sums = why.rows.group_by("value").agg(pl.col("weight").sum())
    together = values.join(sums, on="value")
    assert np.allclose(together["score"], together["prior"] + together["weight"])
    milan = why.rows.filter(pl.col("value") == "Milan")["claimed"].to_list()
    assert milan.count("Italy (says less)") == 2


def test_a_coarser_answer_that_is_plausible_enough_is_told():
    claims = told({"x": ["Milan", "Rome", "Italy", "Italy", "Milan", "Rome", "Italy"]})
    sure = veracity.discover(claims, hierarchy=TREE, min_plausibility=0.85).truths
    assert sure["value"].item() == "Italy"
    assert sure["in_part"].item()
    assert sure["plausibility"].item() >= 0.85


def test_a_hierarchy_is_a_table_paths_or_a_mapping():
    pairs = [path.split("/") for path in TREE]
    table = pl.DataFrame({
        "value": [own[k] for own in pairs for k in (1, 2)],
        "parent": [own[k] for own in pairs for k in (0, 1)],
    }).unique()  # fmt: skip
    mapping = dict(table.iter_rows())
    answers = [
        veracity.discover(places(), labels_off(), hierarchy=given).truths["plausibility"]
        for given in (TREE, table, mapping)
    ]
    assert answers[0].equals(answers[1])
    assert answers[0].equals(answers[2])
    with pytest.raises(ParameterError, match="below itself"):
        veracity.discover(places(), hierarchy={"Milan": "Italy", "Italy": "Milan"})


def test_a_function_of_the_user_says_what_is_alike():
    def same_letter(one, other):
        return [[float(a[0] == b[0]) for b in other] for a in one]

    claims = told({"x": ["Milan", "Mailand", "Rome"]})
    assert len(veracity.discover(claims, "majority-vote", alike=same_letter).facts) == 2
    with pytest.raises(ParameterError, match="matrix of shares"):
        veracity.discover(claims, alike=lambda one, other: [[2.0]])


@pytest.mark.parametrize(
    "returned", [None, "x", [["a"]], [[1.0], [1.0, 0.0]], [[float("nan")] * 3] * 3]
)
def test_a_function_that_returns_no_matrix_of_shares_is_refused(returned):
    claims = told({"x": ["Milan", "Mailand", "Rome"]})
    with pytest.raises(ParameterError, match="the function must return a matrix of shares"):
        veracity.discover(claims, alike=lambda one, other: returned)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alike": "peple"}, "'people' or 'numbers'"),
        ({"alike": {"author": ["people"]}}, "'people' or 'numbers'"),
        ({"alike": {"authr": "people"}}, "no attribute 'authr'; did you mean 'author'"),
        ({"alike": {"": "people"}}, "no attribute ''"),
        ({"alike": "people", "kind": "multiple"}, "alike and hierarchy are for categorical"),
        ({"hierarchy": TREE, "kind": "multiple"}, "alike and hierarchy are for categorical"),
        ({"hierarchy": ["Italy/Milan", "France/Milan"]}, "a value has one parent"),
        ({"hierarchy": {"a": "b", "b": "c", "c": "b"}}, "below itself"),
    ],
)
def test_a_choice_that_cannot_be_used_is_refused(options, message):
    claims = told(BOOKS).with_columns(attribute=pl.lit("author"))
    with pytest.raises(ParameterError, match=message):
        veracity.discover(claims, **options)


def test_a_hierarchy_that_writes_values_in_another_way_is_noted():
    claims = told({"x": ["Milan", "Milan", "Italy"]})
    notes = veracity.discover(claims, hierarchy=["italy/milan"]).notes
    assert any("no item has a value together with one above it" in note for note in notes)
    notes = veracity.discover(claims, hierarchy=["Italy/Milan"]).notes
    assert not any("hierarchy" in note for note in notes)


def test_a_kind_is_for_all_attributes_or_for_those_that_are_named():
    both = [told({"x": ["the Nile", "Nile", "Po"]}).with_columns(attribute=pl.lit(name))
            for name in ("river", "stream")]  # fmt: skip
    claims = pl.concat(both)
    for alike, n_facts in (("words", 4), ({"river": "words"}, 5), (False, 6)):
        assert len(veracity.discover(claims, "majority-vote", alike=alike).facts) == n_facts


def test_numbers_in_a_column_of_numbers_are_compared_if_that_is_asked():
    claims = told({"x": ["a", "b", "c"]}).with_columns(value=pl.Series([12.5, 12.51, 13.0]))
    rows = veracity.discover(claims, alike="numbers").why("x").rows
    assert rows["claimed"].to_list().count("12.5 (says less)") == 1


@pytest.mark.parametrize(
    ("option", "n_facts"),
    [("--alike=words", 2), ("--alike=river=words", 2), ("--alike=no", 3), ("--alike", 3)],
)
def test_the_command_says_how_values_are_compared(option, n_facts, tmp_path):
    claims = told({"x": ["the Nile", "Nile", "Po"]}).with_columns(attribute=pl.lit("river"))
    claims.write_csv(tmp_path / "claims.csv")
    command = ["discover", str(tmp_path / "claims.csv"), "--json", option]
    found = CliRunner().invoke(main, [*command, "--out", str(tmp_path / "run")])
    assert found.exit_code == 0, found.output
    assert len(veracity.load(tmp_path / "run").facts) == n_facts


def test_a_region_lends_its_votes_in_algorithms_that_compare_values():
    claims = told({"x": ["Milan", "Milan", "Paris", "Paris", "Italy"]})
    for algorithm in (AccuSim(), AccuFormat(), TruthFinder()):
        result = veracity.discover(claims, algorithm, hierarchy=TREE)
        facts = dict(result.facts.select("value", "plausibility").iter_rows())
        assert facts["Milan"] > facts["Paris"], algorithm.name


# --- everywhere the same --------------------------------------------------------------------------


def test_answers_are_the_same_in_memory_and_on_disk(tmp_path):
    table = generated.Text(7, 0.5, 0.3, items=150)
    table.claims.write_csv(tmp_path / "claims.csv")
    words = {"": "words"}
    usual = veracity.discover(table.claims, normalise=True, alike=words)
    assert usual.run.alikeness["kinds"] == words
    engine = veracity.Local(memory="1MB", spill=tmp_path)
    spilt = veracity.discover(tmp_path / "claims.csv", normalise=True, alike=words, engine=engine)
    both = usual.truths.join(spilt.truths.sort("entity"), on=["entity", "value"])
    assert len(both) == 150
    assert np.allclose(both["plausibility"], both["plausibility_right"], atol=1e-9)
    assert merged(usual) == merged(spilt)


def test_a_saved_fit_merges_new_claims_alike(tmp_path):
    result = veracity.discover(places(), labels_off(), hierarchy=TREE)
    result.save(tmp_path / "run")
    fitted = veracity.load(tmp_path / "run").fitted
    new = told({"new": ["Milan", "Italy", "Paris"]}).with_columns(
        source=pl.Series(["good", "coarse", "bad"])
    )
    judged = fitted.judge(new)
    assert judged.truths["value"].item() == "Milan"
    assert judged.truths.equals(result.fitted.judge(new).truths)
    again = veracity.load(tmp_path / "run").why("i0").rows
    assert again.equals(result.why("i0").rows)


def test_answers_are_the_same_on_spark():
    table = generated.Text(7, 0.5, 0.3, items=60)
    here = veracity.discover(table.claims, normalise=True)
    there = veracity.discover(spark.frame_of(table.claims), normalise=True, engine=spark.engine())
    found = spark.as_polars(there.truths).sort("entity")
    usual = here.truths.sort("entity")
    assert found["value"].to_list() == usual["value"].to_list()
    assert np.allclose(found["plausibility"], usual["plausibility"], atol=1e-9)
    assert merged(here) == merged(there)


# --- accuracy -------------------------------------------------------------------------------------


def test_free_text_is_judged_better_when_spellings_are_merged():
    table = generated.Text(11, 0.3, 0.0)
    raw = generated.measured(veracity.discover(table.claims).truths, table.right)
    alike = generated.measured(veracity.discover(table.claims, normalise=True).truths, table.right)
    assert alike[0] > raw[0] + 0.15
    assert alike[1] < 0.08


def test_independent_errors_are_not_taken_to_be_alike():
    rng = np.random.default_rng(3)
    rows = [
        (f"s{s}", f"i{k}", f"{k} true" if rng.random() < 0.6 else f"{k} {rng.integers(5)}")
        for k in range(400) for s in range(8)
    ]  # fmt: skip
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    truths = veracity.discover(claims).truths
    is_right = truths["value"].str.ends_with("true").mean()
    assert abs(truths["plausibility"].mean() - is_right) < 0.04


@pytest.mark.data
def test_books_are_judged_as_people_judge_them(shared_data):
    folder = shared_data / "book_raw"
    truth = dict(pl.read_parquet(folder / "truth.parquet").select("entity", "value").iter_rows())
    result = veracity.discover(folder / "claims.parquet", normalise=True)
    truths = result.truths.filter(pl.col("entity").is_in(list(truth)))
    found = generated.measured(truths, lambda own, value: generated.same_people(value, truth[own]))
    assert found[0] >= 0.9
    assert found[1] <= 0.08


@pytest.mark.data
def test_text_that_was_not_named_is_only_merged(shared_data):
    """Of gates, few sources name the terminal, too: B36 is no lesser form of Terminal B - B36."""
    is_gate = pl.col("attribute") == "Departure gate"
    claims = pl.read_parquet(shared_data / "flight_raw" / "claims.parquet").filter(is_gate)
    truth = pl.read_parquet(shared_data / "flight_raw" / "truth.parquet").filter(is_gate)
    result = veracity.discover(claims, normalise=True)
    assert veracity.evaluate(result, truth).accuracy > 0.96
