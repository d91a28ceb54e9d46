"""Rules between facts: what follows from them, and what is learned and said of them."""

from __future__ import annotations

import itertools
import json
import warnings

import numpy as np
import polars as pl
import pytest
import rules as study
from click.testing import CliRunner

import spark
import veracity
from veracity import Local
from veracity.algorithms import CATALOGUE, Accu, algorithm_named
from veracity.cli import main
from veracity.errors import NotConverged, ParameterError, TooLarge, UnreadableFile

KEYS = ["entity", "attribute"]


def claims_of(rows):
    return pl.DataFrame(rows, schema=["source", *KEYS, "value"], orient="row")


def disputed(n_entities, names, n_sources=6, seed=0):
    """Claims in which each item has two values, "0" and "1", of sources that are right mostly."""
    rng = np.random.default_rng(seed)
    right = np.linspace(0.55, 0.9, n_sources)
    rows = []
    for entity in range(n_entities):
        for name in names:
            truth, said = int(rng.integers(2)), np.zeros(n_sources, int)
            while len(set(said)) < 2:
                said = np.where(rng.random(n_sources) < right, truth, 1 - truth)
            rows += [(f"s{s}", f"e{entity}", name, str(v)) for s, v in enumerate(said)]
    return claims_of(rows)


def enumerated(result, claims, names, broken, entity):
    """P("1") of each item of an entity: the sum over all assignments, by the votes of Accu."""
    trust = dict(result.sources.select("source", "trust").iter_rows())
    score = dict.fromkeys(names, 0.0)
    for source, _, name, value in claims.filter(entity=entity).iter_rows():
        vote = np.log(trust[source]) - np.log1p(-trust[source])
        score[name] += vote if value == "1" else -vote
    total, true = 0.0, dict.fromkeys(names, 0.0)
    for values in itertools.product((0, 1), repeat=len(names)):
        of = dict(zip(names, values, strict=True))
        joint = np.exp(sum(score[name] * of[name] for name in names) - broken(of))
        total += joint
        for name in names:
            true[name] += joint * of[name]
    return [true[name] / total for name in names]


def found_of(result, names, entity):
    facts = result.facts.filter((pl.col("entity") == entity) & (pl.col("value") == "1"))
    return [facts.filter(attribute=name)["plausibility"].item() for name in names]


CHAIN = [{"compare": f"a{n} = a{n + 1}", "strength": 0.4 + n / 3} for n in range(6)]
LOOP = [*CHAIN, {"compare": "a6 <= a0", "strength": 1.3}]


def broken_of(rules):
    def broken(of):
        total = 0.0
        for rule in rules:
            one, operator, other = rule["compare"].split()
            holds = of[one] == of[other] if operator == "=" else of[one] <= of[other]
            total += 0.0 if holds else rule["strength"]
        return total

    return broken


@pytest.mark.parametrize("rules", [CHAIN, LOOP], ids=["tree", "loop"])
def test_inference_in_components_of_fourteen_facts_is_enumeration(rules):
    names = [f"a{n}" for n in range(7)]
    claims = disputed(12, names)
    result = veracity.discover(claims, Accu(n_false_values=1.0), rules=rules)
    for entity in ("e0", "e5", "e11"):
        expected = enumerated(result, claims, names, broken_of(rules), entity)
        assert found_of(result, names, entity) == pytest.approx(expected, abs=1e-9)


def test_factors_of_three_attributes_are_enumerated_too():
    names = ["a", "b", "c", "d"]
    rules = [
        {"compare": "a + b = c", "strength": 1.5},
        {"at_most": 1, "of": {"a": "1", "c": "1", "d": ["1"]}, "strength": 0.7},
        {"when": {"b": "1"}, "then": {"d": "0"}, "strength": 2.0},
    ]

    def broken(of):
        total = 1.5 * (of["a"] + of["b"] != of["c"]) + 0.7 * (of["a"] + of["c"] + of["d"] > 1)
        return total + 2.0 * (of["b"] == 1 and of["d"] == 1)

    claims = disputed(10, names)
    result = veracity.discover(claims, Accu(n_false_values=1.0), rules=rules)
    expected = enumerated(result, claims, names, broken, "e3")
    assert found_of(result, names, "e3") == pytest.approx(expected, abs=1e-9)


def test_belief_propagation_in_a_large_component_is_near_enumeration():
    names = [f"a{n:02}" for n in range(16)]
    pairs = [(n, (n + 1) % 16) for n in range(16)] + [(0, 8), (4, 12)]
    rules = [{"compare": f"a{i:02} = a{j:02}", "strength": 0.8} for i, j in pairs]
    claims = disputed(2, names)
    result = veracity.discover(claims, Accu(n_false_values=1.0), rules=rules)
    expected = enumerated(result, claims, names, broken_of(rules), "e1")
    assert found_of(result, names, "e1") == pytest.approx(expected, abs=0.02)
    assert any("settled in 2 of them" in note for note in result.run.notes)


def invoices(n=150, seed=1):
    """Net, tax and gross of invoices, of five sources that are right half of the time or more."""
    rng, rows, truth = np.random.default_rng(seed), [], []
    for number in range(n):
        net, tax = int(rng.integers(10, 100)), int(rng.integers(1, 9))
        values = {"net": net, "tax": tax, "gross": net + tax}
        truth += [(f"e{number}", name, str(own)) for name, own in values.items()]
        for s in range(5):
            for name, own in values.items():
                off = 0 if rng.random() < 0.5 + 0.07 * s else int(rng.integers(1, 4))
                rows.append((f"s{s}", f"e{number}", name, str(own + off)))
    return claims_of(rows), pl.DataFrame(truth, schema=[*KEYS, "value"], orient="row")


TAKES_RULES = (
    "veracity", "ltd-rbm-c", "truth-finder", "accu", "pop-accu", "accu-sim", "accu-format",
    "accu-copy", "accu-sim-copy", "simple-lca", "guess-lca", "mistake-lca", "lie-lca", "dare",
    "one-coin",
)  # fmt: skip

SUM = [{"compare": "gross = net + tax"}]


def test_a_sum_that_holds_decides_between_values_and_its_strength_is_learned():
    claims, truth = invoices()
    without, ruled = veracity.discover(claims), veracity.discover(claims, rules=SUM)
    assert study.accuracy(ruled, truth) > study.accuracy(without, truth) + 0.05
    (row,) = ruled.rules.rows(named=True)
    assert row["rule"] == "gross = net + tax"
    assert row["cases"] == 150
    assert 2.0 < row["low"] < row["strength"] < row["high"]
    assert row["broken"] < 0.1 * row["broken_by_claims"]


@pytest.mark.parametrize("name", TAKES_RULES)
def test_algorithms_that_judge_by_log_odds_gain_from_a_rule(name):
    claims, truth = invoices()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        without, ruled = (veracity.discover(claims, name, rules=own) for own in (None, SUM))
    assert study.accuracy(ruled, truth) > study.accuracy(without, truth)


@pytest.mark.parametrize("name", sorted(CATALOGUE.keys() - {*TAKES_RULES, "dawid-skene"}))
def test_all_others_say_that_they_take_no_rules(name):
    claims, kinds = invoices(5)[0], algorithm_named(name).kinds
    with pytest.raises(ParameterError, match=r"takes no rules|rules are for categorical"):
        veracity.discover(claims, name, kind=kinds[0], rules=SUM)


@pytest.mark.parametrize("name", ["veracity", "accu", "dawid-skene"])
def test_weights_of_claims_and_rules_add_up_to_the_score(name):
    claims, _, _ = study.generate(0, entities=60)
    result = veracity.discover(claims, name, rules=study.RULES)
    why = result.why("e0003")
    named = why.values.filter(pl.col("value").is_not_null())
    sums = why.rows.group_by(*KEYS, "value").agg(pl.col("weight").sum())
    both = named.join(sums, on=[*KEYS, "value"], how="left").fill_null(0.0)
    assert both["weight"].to_list() == pytest.approx(
        (both["score"] - both["prior"]).to_list(), abs=1e-9
    )
    facts = result.facts.filter(entity="e0003").sort(*KEYS, "value")
    assert named.sort(*KEYS, "value")["plausibility"].to_list() == facts["plausibility"].to_list()
    assert why.rows["claimed"].str.starts_with("(rule: ").any()
    alone = result.why("e0003", "s2").rows
    assert alone["weight"].to_list() == pytest.approx(
        why.rows.filter(attribute="s2")["weight"].to_list()
    )


@pytest.mark.parametrize("name", ["veracity", "accu"])
def test_the_figure_of_a_decision_shows_rules_as_steps_that_add_up(name):
    claims, _, _ = study.generate(0, entities=60)
    result = veracity.discover(claims, name, rules=study.RULES)
    steps = result.plot.decision("e0003", "s2").table
    assert steps["label"].str.starts_with("rule: s2 is true").any()
    *earlier, last = steps["weight"].to_list()
    assert sum(earlier) == pytest.approx(last, abs=1e-9)


def test_a_rule_that_decides_is_named():
    rows = [(f"s{s}", "AA-1", "departure", "10:00") for s in range(3)]
    rows += [("s0", "AA-1", "arrival", "09:30"), ("s1", "AA-1", "arrival", "11:30")]
    claims = claims_of(rows)
    rules = [{"name": "in order", "compare": "departure < arrival", "strength": "hard"}]
    result = veracity.discover(claims, rules=rules)
    assert result.truths.filter(attribute="arrival")["value"].item() == "11:30"
    assert "the rule 'in order' speaks against it" in str(result.why("AA-1", "arrival").words)


@pytest.mark.parametrize("algorithm", ["veracity", "accu"])
def test_claims_on_disk_get_the_same_answers(algorithm, tmp_path):
    claims, _, _ = study.generate(1, entities=80)
    here = veracity.discover(claims, algorithm, rules=study.RULES)
    engine = Local(memory="1KB", spill=tmp_path, claims_per_block=300)
    there = veracity.discover(claims, algorithm, rules=study.RULES, engine=engine)
    assert len(there.encoded.blocks) > 3
    keys = [*KEYS, "value"]
    one, other = (own.facts.sort(keys)["plausibility"] for own in (here, there))
    assert one.to_list() == pytest.approx(other.to_list(), abs=1e-9)
    assert here.rules["strength"].to_list() == pytest.approx(there.rules["strength"].to_list())
    assert str(here.why("e0007").words) == str(there.why("e0007").words)


def test_the_order_of_the_rows_and_the_size_of_blocks_change_nothing():
    claims, _, _ = study.generate(2, entities=60)
    mixed = claims.sample(fraction=1.0, shuffle=True, seed=5)
    one = veracity.discover(claims, rules=study.RULES)
    other = veracity.discover(mixed, rules=study.RULES, engine=Local(claims_per_block=200))
    keys = [*KEYS, "value"]
    assert one.facts.sort(keys)["plausibility"].to_list() == pytest.approx(
        other.facts.sort(keys)["plausibility"].to_list(), abs=1e-9
    )


def test_a_saved_run_judges_and_explains_under_its_rules(tmp_path):
    claims, _, _ = study.generate(3, entities=100)
    is_old = pl.col("entity") < "e0070"
    old, new = claims.filter(is_old), claims.filter(~is_old)
    result = veracity.discover(old, rules=study.RULES)
    result.save(tmp_path / "run")
    loaded = veracity.load(tmp_path / "run")
    assert loaded.rules.equals(result.rules)
    assert loaded.why("e0005").rows.equals(result.why("e0005").rows)
    judged = loaded.fitted.judge(new)
    assert judged.facts.equals(result.fitted.judge(new).facts)
    assert judged.rules["strength"].to_list() == result.rules["strength"].to_list()
    assert judged.rules["cases"].to_list() != result.rules["cases"].to_list()
    with pytest.raises(ParameterError, match="all claims on an entity at once"):
        loaded.fitted.update(new)
    with pytest.raises(ParameterError, match="all claims on an entity at once"):
        veracity.Stream(loaded.fitted)


def test_known_truths_reach_other_items_by_rules():
    claims, truth = invoices(40)
    known = truth.filter(pl.col("attribute").is_in(["net", "tax"]))
    result = veracity.discover(claims, known=known, rules=[{**SUM[0], "strength": "hard"}])
    gross = result.truths.filter(attribute="gross").join(truth, on=KEYS, suffix="_true")
    claimed = claims.select(*KEYS, "value").unique()
    gross = gross.join(claimed, left_on=[*KEYS, "value_true"], right_on=[*KEYS, "value"])
    assert (gross["value"] == gross["value_true"]).all()


# --- what is learned of rules ---------------------------------------------------------------------


def test_rules_bring_facts_half_of_the_way_to_the_generating_model():
    ways = [study.way(seed, "accu") for seed in range(2)]
    own = [study.way(seed) for seed in range(2)]
    for found, least in ((ways, 0.5), (own, 0.45)):
        without, ruled, exact = (
            np.mean([way[name] for way in found]) for name in ("without", "with", "exact")
        )
        assert ruled - without > least * (exact - without)


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_rule_among_ten_costs_nothing_against_no_rules(seed):
    found = study.way(seed, rules=[*study.RULES, study.WRONG])
    assert found["with"] > found["without"] - 0.005
    wrong = found["rules"].filter(pl.col("rule") == "s7 is true -> s1 is true")
    assert wrong["low"].item() == 0.0
    assert wrong["strength"].item() < 0.5


def test_a_wrong_rule_alone_costs_nothing():
    claims, truth = invoices()
    without = study.accuracy(veracity.discover(claims), truth)
    for rule in ({"compare": "gross = net - tax"}, {"compare": "gross < net"}):
        ruled = study.accuracy(veracity.discover(claims, rules=[rule]), truth)
        assert ruled > without - 0.005


def test_intervals_of_learned_strengths_mostly_hold_the_strength_of_the_generator():
    claims, _, _ = study.generate(4, entities=600, share=0.4, strength=3.0)
    rules = veracity.discover(claims, "accu", rules=study.RULES).rules
    holds = (rules["low"] <= 3.0) & (rules["high"] >= 3.0)
    assert holds.sum() >= 7
    assert (rules["low"] <= rules["strength"]).all()
    assert (rules["strength"] <= rules["high"]).all()


def test_a_rule_that_the_claims_break_is_a_finding_with_examples():
    claims, _ = invoices()
    result = veracity.discover(claims, rules=[{"compare": "gross < net", "strength": 1.0}])
    finding = result.findings.filter(name="broken-rule")
    assert finding["severity"].item() == "serious"
    assert "'gross < net' in 99% of 150 cases, such as e" in finding["seen"].item()
    ruled = veracity.discover(claims, rules=[{"compare": "net <= gross"}])
    assert not ruled.findings["name"].str.contains("broken-rule").any()


# --- reading --------------------------------------------------------------------------------------


def test_a_file_and_tables_are_the_same(tmp_path):
    claims, _ = invoices(30)
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\ncompare = "gross = net + tax"\ntolerance = "1%"\nstrength = 2\n')
    given = [{"compare": "gross = net + tax", "tolerance": "1%", "strength": 2}]
    one, other = veracity.discover(claims, rules=path), veracity.discover(claims, rules=given)
    assert one.facts.equals(other.facts)


def test_a_table_of_implications_may_be_a_file(tmp_path):
    (tmp_path / "cities.csv").write_text("city,country\nMilan,Italy\nTurin,Italy\nLyon,France\n")
    (tmp_path / "rules.toml").write_text(
        '[[rule]]\nwhen = "city"\nthen = "country"\ntable = "cities.csv"\nstrength = "hard"\n'
    )
    rows = [(s, "Ann", "city", "Milan") for s in "abc"]
    rows += [("a", "Ann", "country", "France"), ("b", "Ann", "country", "Italy")]
    result = veracity.discover(claims_of(rows), rules=tmp_path / "rules.toml")
    assert result.truths.filter(attribute="country")["value"].item() == "Italy"
    same = [{"when": "city", "then": "country", "table": {"Milan": "Italy", "Lyon": ["France"]},
             "strength": "hard"}]  # fmt: skip
    assert veracity.discover(claims_of(rows), rules=same).facts.equals(result.facts)


@pytest.mark.parametrize(
    ("compare", "one", "other"),
    [
        ("arrival - departure < 120", "11:30", "12:30"),
        ("departure + 60 <= arrival", "11:30", "10:30"),
        ('"arrival" > departure', "11:30", "09:30"),
        ("3.28 * departure = arrival", "32.8", "33.8"),
        ("departure = arrival", "x", "y"),
    ],
)
def test_comparisons_read_numbers_times_and_text(compare, one, other):
    said = {"32.8": "10", "x": "x"}.get(one, "10:00")
    rows = [(s, "AA-1", "departure", said) for s in "abc"]
    rows += [("a", "AA-1", "arrival", other), ("b", "AA-1", "arrival", one)]
    result = veracity.discover(claims_of(rows), rules=[{"compare": compare, "strength": "hard"}])
    assert result.truths.filter(attribute="arrival")["value"].item() == one


BAD = {
    "needs one of compare, when or at_most": {"if": "x"},
    "has no key 'tolerances'; did you mean 'tolerance'": {"compare": "a < b", "tolerances": 1},
    "strength must be 'learned', 'hard', or a number": {"compare": "a < b", "strength": 99},
    "compare needs one of <= >= < > =": {"compare": "a b"},
    "cannot read 'a b'": {"compare": "a b < c"},
    "tolerance must be a number": {"compare": "a < b", "tolerance": "x%"},
    "two different attributes at least": {"compare": "a < a"},
    "when and then must be values by attribute": {"when": "a", "then": {"b": "1"}},
    "an attribute is in when and in then": {"when": {"a": 1}, "then": {"a": 2}},
    "at_most must be a whole number below the 2 values": {"at_most": 2, "of": {"a": 1, "b": 1}},
    "of must be values by attribute": {"at_most": 1, "of": ["a"]},
    "the table has no rows": {"when": "net", "then": "tax", "table": {}},
    "at least 0, or a percentage such as '1%'; got nan": {
        "compare": "net < gross",
        "tolerance": float("nan"),
    },
    'as in when = {city = "Milan"}': {"when": {}, "then": {"net": 1, "tax": 2}},
    'then = {country = "Italy"}; or two': {"when": {"net": 1, "tax": 2}, "then": {}},
    "values must be texts or numbers, got None": {"when": {"net": None}, "then": {"tax": 2}},
    "a rule with compare has no key '1'": {1: 2, "compare": "net < gross"},
    "the claims have no attribute 'gros'; did you mean 'gross'": {"compare": "gros > net"},
}


@pytest.mark.parametrize("message", BAD)
def test_a_bad_rule_is_refused_by_its_number_and_with_advice(message):
    claims, _ = invoices(5)
    with pytest.raises(ParameterError) as error:
        veracity.discover(claims, rules=[{"compare": "net < gross"}, BAD[message]])
    assert message in str(error.value)
    assert str(error.value).startswith("rules, rule 2: ")


def test_bad_files_and_claims_of_other_kinds_are_refused(tmp_path):
    claims, _ = invoices(5)
    for text, message in (
        ("[[rule", "cannot be read"),
        ("a = 1", r"tables \[\[rule\]\]"),
        ("[rule]\nat_most = 1", "two brackets"),
    ):
        (tmp_path / "r.toml").write_text(text)
        with pytest.raises(UnreadableFile, match=message):
            veracity.discover(claims, rules=tmp_path / "r.toml")
    with pytest.raises(ParameterError, match="must be the path of a TOML file"):
        veracity.discover(claims, rules=3)
    with pytest.raises(ParameterError, match="two rules are called 'gross = net"):
        veracity.discover(claims, rules=SUM * 2)
    for kind in ("multiple", "numeric"):
        with pytest.raises(ParameterError, match="rules are for categorical claims"):
            veracity.discover(claims, kind=kind, rules=SUM)


def test_a_component_that_is_too_large_is_refused_with_its_rule():
    rows = [(f"s{n}", "e", name, str(n)) for n in range(1100) for name in ("a", "b")]
    with pytest.raises(TooLarge, match="rule 'a = b': an entity has 1,212,201 combinations"):
        veracity.discover(claims_of(rows), rules=[{"compare": "a = b"}])


@pytest.mark.parametrize("n", [39, 40, 41])
def test_a_case_of_many_attributes_is_refused_however_many(n):
    claims = claims_of([(s, "e", f"a{k}", s) for k in range(n) for s in "xy"])
    rule = {"name": "few", "at_most": 1, "of": {f"a{k}": "x" for k in range(n)}}
    with pytest.raises(TooLarge, match="rule 'few': an entity has"):
        veracity.discover(claims, rules=[rule])


def test_the_command_takes_a_file_of_rules(tmp_path):
    claims, _ = invoices(30)
    claims.write_csv(tmp_path / "claims.csv")
    (tmp_path / "rules.toml").write_text('[[rule]]\ncompare = "gross = net + tax"\n')
    paths = [str(tmp_path / name) for name in ("claims.csv", "rules.toml")]
    found = CliRunner().invoke(main, ["discover", paths[0], "--rules", paths[1], "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["rules"][0]["cases"] == 30


@pytest.mark.slow
def test_claims_on_spark_get_the_same_answers():
    claims, _, _ = study.generate(1, entities=40)
    here = veracity.discover(claims, "accu", rules=study.RULES)
    there = veracity.discover(claims, "accu", rules=study.RULES, engine=spark.engine())
    keys = [*KEYS, "value"]
    one = here.facts.sort(keys)["plausibility"].to_list()
    other = there.facts.sort(keys)["plausibility"].to_list()
    assert one == pytest.approx(other, abs=1e-9)
    assert here.rules["strength"].to_list() == pytest.approx(there.rules["strength"].to_list())
    assert str(here.why("e0007").words) == str(there.why("e0007").words)
