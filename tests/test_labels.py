"""Labels: the model of the default, agreement, confusions, probabilities, difficulty."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from test_explain import check_plausibilities
from veracity.algorithms import Veracity
from veracity.algorithms.default.confusion import Confusions
from veracity.errors import ParameterError

# --- labels that items share: what the default learns of them, and when it says that it does  -----


def table(rows):
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def crowd(seed, accuracies, n_items=400, n_labels=3, per_item=5, share=None):
    """Independent workers, some of them on each item: claims and truth."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(n_labels, n_items, p=share)
    rows = []
    for item in range(n_items):
        for source in rng.choice(len(accuracies), per_item, replace=False):
            is_right = rng.random() < accuracies[source]
            said = truth[item] if is_right else (truth[item] + rng.integers(1, n_labels)) % n_labels
            rows.append((f"w{source}", f"q{item}", "abcdefghij"[said]))
    known = pl.DataFrame(
        {"entity": [f"q{i}" for i in range(n_items)], "value": ["abcdefghij"[t] for t in truth]}
    )
    return table(rows), known


def rules(seed, n_items=1500):
    """Rules that claim one label each, where they fire; two items of three are reached by two."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_items)
    rows = []
    for rule in range(10):
        label, accuracy = rule % 2, rng.uniform(0.65, 0.95)
        fires = rng.random(n_items) < np.where(truth == label, accuracy, 1.0 - accuracy) * 0.35
        rows += [(f"rule{rule}", f"q{item}", "ab"[label]) for item in np.flatnonzero(fires)]
    known = pl.DataFrame(
        {"entity": [f"q{i}" for i in range(n_items)], "value": ["ab"[t] for t in truth]}
    )
    return table(rows), known


def model(result) -> Confusions:
    return result.fitted.state.model


def test_confusions_are_counts_drawn_to_the_accuracy_as_with_pencil_and_paper():
    """At rest, a row is what was counted plus lambda times what the accuracy alone says."""
    claims, _ = crowd(1, [0.9, 0.8, 0.7, 0.6, 0.8, 0.7], n_items=200)
    algorithm = Veracity(tolerance=1e-9, max_rounds=2000)
    result = veracity.discover(claims, algorithm)
    learned, (block,) = model(result), result.encoded.blocks
    label = np.exp(np.log(learned.share) + said(block, np.log(learned.confusion)))
    label /= label.sum(axis=1, keepdims=True)
    counts = np.zeros_like(learned.confusion)
    item = block.item_of_fact[block.fact_of_support]
    claimed = block.label_of_fact[block.fact_of_support]
    np.add.at(counts, (block.source_of_support, slice(None), claimed), label[item])
    right, n = np.einsum("skk->s", counts), counts.sum(axis=(1, 2))
    mean = (right.sum() + 1.0) / (n.sum() + 2.0)
    accuracy = (right + learned.pooled * mean) / (n + learned.pooled)
    assert_allclose(learned.accuracy, accuracy, atol=1e-6)
    wrong = (1.0 - accuracy)[:, None, None] / 2.0
    plain = wrong * (1.0 - np.eye(3)) + accuracy[:, None, None] * np.eye(3)
    rows = counts + learned.strength * plain
    assert_allclose(learned.confusion, rows / rows.sum(axis=2, keepdims=True), atol=1e-6)
    q = np.bincount(claimed) / len(claimed)
    assert_allclose(learned.share, (q + label.mean(axis=0)) / 2.0, atol=1e-6)


def said(block, log_confusion):
    """Sum log P(claim | label) over the claims of each item."""
    item = block.item_of_fact[block.fact_of_support]
    claimed = block.label_of_fact[block.fact_of_support]
    total = np.zeros((block.n_items, log_confusion.shape[1]))
    np.add.at(total, item, log_confusion[block.source_of_support, :, claimed])
    return total


def test_a_plausibility_is_three_quarters_tempered_model_and_one_quarter_vote():
    claims, _ = crowd(2, [0.9, 0.8, 0.7, 0.6, 0.8, 0.7])
    result = veracity.discover(claims)
    learned, (block,) = model(result), result.encoded.blocks
    score = np.log(learned.share) + said(block, np.log(learned.confusion))
    tempered = score / (1.0 + 4.0 * learned.correlation)
    p = np.exp(tempered - tempered.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    vote = np.zeros_like(p)
    vote[block.item_of_fact, block.label_of_fact] = block.n_supports_of_fact / 5.0
    mixed = 0.75 * p + 0.25 * vote
    stays = p.argmax(axis=1) == mixed.argmax(axis=1)
    assert 0.5 < stays.mean() < 1.0
    of_fact = mixed[block.item_of_fact, block.label_of_fact]
    (found,) = result.plausibility_by_block
    is_same = stays[block.item_of_fact]
    assert_allclose(found[is_same], of_fact[is_same], atol=1e-9)


def test_the_answer_is_that_of_the_model_wherever_the_vote_would_change_it():
    claims, _ = crowd(2, [0.95, 0.9, 0.4, 0.4, 0.4, 0.4], per_item=6)
    result = veracity.discover(claims)
    answer = veracity.discover(claims, Veracity(temper=False)).truths.sort("entity")
    assert result.truths.sort("entity")["value"].equals(answer["value"])
    vote = veracity.discover(claims, "majority-vote").truths.sort("entity")
    assert not vote["value"].equals(answer["value"])


def test_reasons_add_up_and_the_vote_has_a_row_of_its_own():
    claims, _ = crowd(3, [0.9, 0.8, 0.7, 0.6, 0.8], n_items=60)
    result = veracity.discover(claims)
    check_plausibilities(result)
    why = result.why("q7")
    rows, values = why.rows, why.values.drop_nulls("value")
    assert rows.filter(claimed="(the vote)")["source"].to_list() == [None] * len(values)
    total = rows.group_by("value").agg(pl.col("weight").sum())
    for value, prior, score in values.select("value", "prior", "score").iter_rows():
        weight = total.filter(value=value)["weight"].item()
        assert prior + weight == pytest.approx(score, abs=1e-9)
    steps = result.plot.decision("q7").table
    assert "the vote" in steps["label"].to_list()
    bars = steps.filter(pl.col("part") != "score")["weight"].sum()
    assert bars == pytest.approx(steps.filter(part="score")["weight"].item())


def test_probabilities_have_every_label_and_add_up_to_one():
    claims, _ = crowd(4, [0.9, 0.85, 0.8, 0.9, 0.7], n_labels=4)
    table = veracity.discover(claims).probabilities.drop("entity").to_numpy()
    assert table.shape == (400, 4)
    assert_allclose(table.sum(axis=1), 1.0)
    assert table.min() > 0.0


def test_rules_that_claim_one_label_each_are_learned_from_by_their_column():
    ours, votes = [], []
    for seed in range(5):
        claims, truth = rules(seed)
        result = veracity.discover(claims)
        assert (model(result).only >= 0.0).all()
        vote = veracity.discover(claims, "majority-vote")
        ours.append(veracity.evaluate(result, truth).accuracy)
        votes.append(veracity.evaluate(vote, truth).accuracy)
    assert np.mean(ours) > np.mean(votes)
    better = result.sources.sort("accuracy")["source"][-1]
    assert result.copies.is_empty()
    assert better.startswith("rule")


def test_where_nothing_can_be_learned_the_vote_answers_and_says_so():
    """Two rules per item, which never agree: kappa is below zero."""
    rng = np.random.default_rng(5)
    rows = []
    for item in range(300):
        one, other = rng.choice(3, 2, replace=False)
        rows += [(f"rule{one}", f"q{item}", "abc"[one]), (f"rule{other}", f"q{item}", "abc"[other])]
        if rng.random() < 0.3:
            rows.append((f"again{one}", f"q{item}", "abc"[one]))
    claims = table(rows)
    result, vote = veracity.discover(claims), veracity.discover(claims, "majority-vote")
    assert "nothing-to-learn" in result.findings["name"]
    assert "nothing-to-learn" in [one.name for one in veracity.check(result).findings]
    facts = result.facts.sort("entity", "value").join(
        vote.facts.select("entity", "value", vote="plausibility"), on=["entity", "value"]
    )
    n = facts["supporters"] + facts["opposers"]
    expected = (facts["vote"] * n + 1 / 3) / (n + 1)
    assert facts["plausibility"].to_list() == pytest.approx(expected.to_list())


def test_label_shares_do_not_run_to_one_label():
    """Of two labels one is rare, and sources are no better than .65."""
    claims, truth = crowd(6, [0.65] * 12, n_labels=2, share=[0.8, 0.2], n_items=800)
    result = veracity.discover(claims)
    vote = veracity.discover(claims, "majority-vote")
    right = [veracity.evaluate(one, truth).accuracy for one in (result, vote)]
    assert right[0] > right[1]
    assert (result.truths["value"] == "b").mean() > 0.05


def family(seed, share, n_items=500, n_sources=20):
    """Workers of whom some have nearly all their claims from one bad original."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_items)
    original = np.where(rng.random(n_items) < 0.5, truth, (truth + rng.integers(1, 3, n_items)) % 3)
    accuracy, rows = rng.uniform(0.6, 0.9, n_sources), []
    for item in range(n_items):
        for source in rng.choice(n_sources, 6, replace=False):
            said = truth[item]
            if source < share * n_sources and rng.random() < 0.95:
                said = original[item]
            elif rng.random() > accuracy[source]:
                said = (truth[item] + rng.integers(1, 3)) % 3
            rows.append((f"w{source}", f"q{item}", "abc"[said]))
    known = pl.DataFrame(
        {"entity": [f"q{i}" for i in range(n_items)], "value": ["abc"[t] for t in truth]}
    )
    return table(rows), known


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_a_family_with_a_quarter_of_the_claims_counts_once_and_says_so(share):
    once, without_shares = [], []
    for seed in range(3):
        claims, truth = family(seed, share)
        result = veracity.discover(claims)
        members = {f"w{n}" for n in range(int(share * 20))}
        names = result.encoded.names.sources
        assert set(names.filter(model(result).family > 0.0).to_list()) == members
        assert "one-family" in result.findings["name"]
        once.append(veracity.evaluate(result, truth).accuracy)
        plain = veracity.discover(claims, Veracity(dependence=False))
        assert "one-family" not in plain.findings["name"]
        without_shares.append(veracity.evaluate(plain, truth).accuracy)
    assert np.mean(once) > np.mean(without_shares) + 0.03


def test_a_small_family_is_not_discounted():
    claims, _ = family(1, 0.1)
    one, other = (
        veracity.discover(claims, Veracity(dependence=looked)).facts["plausibility"]
        for looked in (True, False)
    )
    assert one.to_list() == other.to_list()


@pytest.mark.parametrize(("n_unnumbered", "is_shared"), [(10, True), (40, False)])
def test_labels_and_open_values_in_one_table_are_judged_by_how_many_values_there_are(
    n_unnumbered, is_shared
):
    """An attribute of three labels beside one of as many values; 20 in all are labels."""
    rng = np.random.default_rng(7)
    rows = []
    for item in range(200):
        truths = {"colour": int(rng.integers(3)), "code": 3 + int(rng.integers(n_unnumbered))}
        for source in range(6):
            for attribute, true in truths.items():
                n = 3 if attribute == "colour" else n_unnumbered
                is_right = rng.random() < 0.8
                value = true if is_right else int(rng.integers(n)) + 3 * (attribute == "code")
                rows.append((f"s{source}", f"e{item}", attribute, f"v{value}"))
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    result = veracity.discover(claims)
    assert isinstance(model(result), Confusions) == is_shared
    assert result.facts["plausibility"].is_between(0.0, 1.0).all()
    assert len(result.truths) == 400


def test_known_truths_count_in_every_round():
    """Two labels that most sources name in each other's place: a few truths turn them."""
    claims, truth = crowd(8, [0.3] * 6 + [0.9] * 3, n_labels=2, per_item=5)
    some = truth.head(40)
    rest = truth.join(some, on="entity", how="anti")
    before, after = (
        veracity.evaluate(veracity.discover(claims, known=known), rest).accuracy
        for known in (None, some)
    )
    assert after > before + 0.2


def test_an_update_that_brings_a_second_label_ends_that_a_source_claims_one_only():
    claims, _ = rules(9)
    result = veracity.discover(claims)
    more = table(
        [("rule0", f"n{i}", "b") for i in range(30)] + [("rule1", f"n{i}", "b") for i in range(30)]
    )
    updated = result.fitted.update(more)
    only = dict(zip(updated.encoded.names.sources, model(updated).only, strict=True))
    assert only["rule0"] == -1.0
    assert only["rule2"] >= 0.0


# --- what a crowd's labels are asked: agreement, confusions, probabilities, difficulty ------------


KRIPPENDORFF = {
    "A": "123321412...",
    "B": "123322412 5.3".replace(" ", ""),
    "C": ".333234225 1.".replace(" ", ""),
    "D": "123324412 51.".replace(" ", ""),
}
"""Krippendorff: Computing Krippendorff's Alpha-Reliability (2011), section C, with gaps."""

FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip
"""How many of 14 raters put each of ten subjects into each of five categories."""

LABELS = {"ann": "aaccbabb", "bob": "aaccbabb", "cem": "aacaaaba", "dee": "bacbb.bb"}
NAMES = ["worker", "task", "label"]


def labels(said=LABELS, names=NAMES):
    rows = [(w, f"t{i}", x) for w, line in said.items() for i, x in enumerate(line) if x != "."]
    return pl.DataFrame(rows, schema=names, orient="row")


# --- agreement ------------------------------------------------------------------------------------


def agreement(claims, **options):
    """Alpha and kappa of a profile."""
    found = veracity.profile(claims, **options)
    return found.alpha, found.kappa


def test_alpha_of_krippendorffs_own_example():
    assert round(veracity.profile(labels(KRIPPENDORFF)).alpha, 3) == 0.743


def test_kappa_of_fleiss():
    rows = [
        (f"s{i}", f"t{t}", str(label))
        for t, counts in enumerate(FLEISS)
        for i, label in enumerate(np.repeat(np.arange(5), counts))
    ]
    found = veracity.profile(pl.DataFrame(rows, schema=NAMES, orient="row"))
    assert round(found.kappa, 3) == 0.210


def test_agreement_is_the_same_of_a_result_of_yes_and_no_and_however_blocks_are_cut():
    said = {w: line.replace("c", "a") for w, line in LABELS.items()}
    facts = labels(said, ["source", "fact", "claim"]).with_columns(pl.col("claim") == "a")
    result = veracity.discover(labels(said), engine=veracity.Local(claims_per_block=5))
    for other in (agreement(facts, kind="binary"), agreement(result)):
        assert_allclose(other, agreement(labels(said)))


def test_attributes_are_compared_with_themselves_only():
    both = pl.concat([labels().with_columns(attribute=pl.lit(a)) for a in ("x", "y")])
    renamed = pl.concat(
        [labels().with_columns(attribute=pl.lit(a), label=a + pl.col("label")) for a in ("x", "y")]
    )
    assert_allclose(agreement(both), agreement(renamed))
    assert_allclose(agreement(both), agreement(labels()))


def test_where_nobody_can_differ_there_is_no_alpha():
    assert agreement(labels({"a": "xx", "b": "xx"})) == (None, None)
    assert agreement(labels({"a": "xy"})) == (None, None)
    assert agreement(labels({"a": "12"}), kind="numeric") == (None, None)


def test_a_check_has_the_alpha_of_the_profile():
    assert veracity.check(labels()).alpha == veracity.profile(labels()).alpha
    assert ", alpha 0." in repr(veracity.profile(labels()))


# --- confusions -----------------------------------------------------------------------------------


def test_confusions_of_a_vote_count_what_is_said_of_what_is_true():
    counts = veracity.discover(labels({"a": "xy", "b": "xy", "c": "xx"}), "majority-vote")
    of_c = counts.confusions.filter(source="c").rows(named=True)
    told = {(row["true"], row["said"]): row["claims"] for row in of_c}
    assert told == pytest.approx(
        {("x", "x"): 4 / 3, ("x", "y"): 0, ("y", "x"): 2 / 3, ("y", "y"): 0}
    )


def test_confusions_are_those_an_algorithm_has_learned():
    result = veracity.discover(labels(), "dawid-skene")
    table = result.confusions
    assert_allclose(table["probability"], result.fitted.state.confusion.ravel())
    assert_allclose(table["claims"].sum(), 31, rtol=1e-3)  # labels nobody says may be true, too


def test_confusions_of_facts_are_tpr_and_fpr():
    facts = labels(LABELS, ["source", "fact", "claim"]).with_columns(pl.col("claim") == "a")
    result = veracity.discover(facts, "majority-vote", kind="binary")
    said = result.confusions.filter(pl.col("said")).select("source", "true", "probability")
    rates = result.sources.join(said.filter(pl.col("true")), on="source")
    assert_allclose(rates["probability"], rates["tpr"])


def test_confusions_are_refused_where_values_are_no_labels(flights):
    with pytest.raises(ParameterError, match="for items that share a few labels, at most 100"):
        _ = veracity.discover(flights.claims).confusions


def test_confusions_are_drawn(tmp_path):
    result = veracity.discover(labels(), "dawid-skene")
    file = tmp_path / "figure.svg"
    result.plot.confusions(theme="dark").save(file)
    text = file.read_text(encoding="utf-8")
    for word in ("Who confuses what", "label said", "true label", "cem"):
        assert word in text


# --- items ----------------------------------------------------------------------------------------


def test_probabilities_have_one_row_per_item_and_one_column_per_label():
    result = veracity.discover(labels(), "majority-vote")
    table = result.probabilities
    assert table.columns == ["entity", "a", "b", "c"]
    assert table.row(0) == ("t0", 0.75, 0.25, 0.0)
    facts = labels(LABELS, ["source", "fact", "claim"]).with_columns(pl.col("claim") == "a")
    of_facts = veracity.discover(facts, "majority-vote", kind="binary").probabilities
    assert of_facts.row(0) == ("t0", 0.75, 0.25)
    numbers = labels().with_columns(label=pl.col("label").replace_strict({"a": 1, "b": 2, "c": 3}))
    of_numbers = veracity.discover(numbers, "majority-vote").probabilities
    assert of_numbers.columns == ["entity", "1", "2", "3"]
    assert result.truths.join(table, on="entity")["a"].to_list() == table["a"].to_list()


def test_labels_may_have_the_names_of_columns(tmp_path):
    said = {"a": ["task", "value", "entity"], "b": ["task", "value", "value"]}
    rows = [(w, f"t{i}", x) for w, line in said.items() for i, x in enumerate(line)]
    claims = pl.DataFrame(rows, schema=NAMES, orient="row")
    result = veracity.discover(claims, "majority-vote")
    assert result.probabilities.columns == ["entity", "entity_2", "task", "value"]
    assert result.probabilities.row(2) == ("t2", 0.5, 0.0, 0.5)
    result.write(tmp_path / "table.csv", "probabilities")
    written = pl.read_csv(tmp_path / "table.csv")
    assert written.columns == ["task", "entity", "task_2", "value"]
    assert written.row(2) == ("t2", 0.5, 0.0, 0.5)


def test_the_hardest_items_come_first():
    hardest = veracity.discover(labels(), "majority-vote").difficulty
    assert hardest["entity"].to_list()[:2] == ["t3", "t0"]
    assert hardest.row(0, named=True) == pytest.approx(
        {"entity": "t3", "entropy": 1.5, "agreement": 1 / 6, "claims": 4}
    )
    assert_allclose(hardest["entropy"].tail(1), 0.0)
    facts = labels(LABELS, ["source", "fact", "claim"]).with_columns(pl.col("claim") == "a")
    of_facts = veracity.discover(facts, "majority-vote", kind="binary").difficulty
    assert of_facts["agreement"].is_between(0.0, 1.0).all()
