"""What a crowd's labels are asked: agreement, confusions, probabilities, difficulty."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from veracity.errors import ParameterError

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
