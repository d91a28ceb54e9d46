from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veracity
from claims import binary_rows, value_rows
from veracity import check
from veracity.checks import CHECKS
from veracity.synthetic import Synthetic

PAGE = Path(__file__).parents[1] / "docs" / "checking.md"
CLEAN = Synthetic(sources=12, items=500)


def clean(seed=1):
    return CLEAN.draw(seed).claims


def names(health):
    return {finding.name for finding in health.findings}


def found(health, name):
    (finding,) = (finding for finding in health.findings if finding.name == name)
    return finding


def findings_of(result):
    """Return what was seen, by the name of the finding."""
    return {one["name"]: one["seen"] for one in result.findings.to_dicts()}


def elsewhere(claims, word):
    """The same claims by other sources about other entities."""
    return claims.with_columns(
        pl.format(word + "{}", name).alias(name) for name in ("source", "entity")
    )


# --- a case for each warning ----------------------------------------------------------------------


def with_a_hermit():
    return pl.concat([clean(), elsewhere(clean().filter(source="source03"), "hermit-")])


def in_two_parts():
    return pl.concat([clean(1), elsewhere(clean(2), "other-")])


def of_two_sources():
    return Synthetic(sources=2, items=300, frequency=0.9).draw(1).claims


def shuffled(claims):
    return claims[np.random.default_rng(0).permutation(len(claims))]


def with_two_sources_an_item():
    return shuffled(clean()).group_by("entity", maintain_order=True).head(2)


def mostly_said_once():
    alone = pl.col("source") == "source" + (pl.col("entity").str.slice(-1)).str.zfill(2)
    return clean().filter(alone | (pl.col("entity") < "entity150"))


def of_passers_by():
    """500 sources of three claims each."""
    rng = np.random.default_rng(0)
    source = np.repeat(np.arange(500), 3)
    entity = rng.integers(0, 100, 1500)
    value = np.where(rng.random(1500) < 0.7, 0, rng.integers(1, 4, 1500))
    rows = {"source": source, "entity": entity, "value": value + entity % 4}
    return pl.DataFrame(rows).cast(pl.String)


def of_one_voice():
    """One source speaks of everything, three others of some items, one other of some more."""
    others = shuffled(clean()).filter(pl.col("source") != "source05").group_by("entity")
    some, more = others.head(3), others.head(1)
    whole = CLEAN.draw(1).truth.with_columns(source=pl.lit("source05")).select(some.columns)
    is_more = pl.col("entity").is_between(pl.lit("entity100"), pl.lit("entity259"))
    return pl.concat([some.filter(pl.col("entity") < "entity100"), more.filter(is_more), whole])


def without_conflict():
    return clean().drop("value").join(CLEAN.draw(1).truth, on=["entity", "attribute"])


def of_guesses():
    return Synthetic(sources=12, items=500, accuracy=0.25, accuracy_variability=1e6).draw(1).claims


def with_mirrors():
    """Four good sources, and a bad one with five mirrors."""
    good = Synthetic(sources=4, items=300, accuracy=0.85, frequency=0.9).draw(1).claims
    bad = Synthetic(sources=1, items=300, accuracy=0.5, frequency=0.9).draw([1, 2]).claims
    copies = [bad.with_columns(source=pl.lit(f"mirror{n}")) for n in range(6)]
    return pl.concat([good, *copies])


def with_two_spellings():
    shouts = pl.col("source") < "source05"
    value = pl.when(shouts).then(pl.col("value").str.to_uppercase() + " .").otherwise("value")
    return clean().with_columns(value=value)


def with_two_names():
    """Three sources write some entities in capitals."""
    shouts = (pl.col("source") < "source03") & (pl.col("entity") < "entity030")
    named = pl.when(shouts).then(pl.col("entity").str.to_uppercase()).otherwise("entity")
    return clean().with_columns(entity=named)


def with_two_names_of_an_attribute():
    """Three sources write colour as the British do; of most entities, the gate is told."""
    is_british = pl.col("source") < "source03"
    name = pl.when(is_british).then(pl.lit("Colour")).otherwise(pl.lit("color"))
    is_gate = pl.col("entity") > "entity030"
    return clean().with_columns(attribute=pl.when(is_gate).then(pl.lit("gate")).otherwise(name))


def of_two_trades():
    """Eight sources and three topics; half of the sources know tax, the others law and health."""
    rng = np.random.default_rng(1)
    rows = [
        (f"s{source}", f"case{n}", topic, f"{n}-{0 if rng.random() < p else rng.integers(1, 5)}")
        for topic in ("tax", "law", "health")
        for n in range(150)
        for source in range(8)
        for p in [0.9 if (source < 4) == (topic == "tax") else 0.6]
    ]
    return pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")


def with_gaps():
    is_gap = pl.int_range(pl.len()) % 20 == 0
    return clean().with_columns(value=pl.when(is_gap).then(pl.lit("N/A")).otherwise("value"))


def of_thermometers():
    """Twelve that are off by about a degree, on days that differ by about ten."""
    rng = np.random.default_rng(1)
    true = rng.normal(0, 10, 300)
    rows = [
        (f"t{n:02}", f"day{day}", f"{true[day] + rng.normal(0, 1 + n / 10):.0f}")
        for n in range(12)
        for day in range(300)
        if rng.random() < 0.8
    ]
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def with_numbers_in_two_spellings():
    """Prices beside words: one source writes two decimals, as a till does."""
    number = pl.col("value").str.extract(r"(\d+)$").cast(pl.Int64)
    till = pl.col("source") == "source00"
    prices = pl.when(till).then(pl.format("{}.00", number)).otherwise(number.cast(pl.String))
    is_price = pl.col("entity").hash(0) % 2 == 0
    return clean().with_columns(
        attribute=pl.when(is_price).then(pl.lit("price")).otherwise("attribute"),
        value=pl.when(is_price).then(prices).otherwise("value"),
    )


MISLED = Synthetic(sources=12, items=300, values=2, accuracy=0.35).draw(1)

CASES = {
    "lone-sources": with_a_hermit,
    "separate-parts": in_two_parts,
    "fewer-than-three": of_two_sources,
    "single-source-items": mostly_said_once,
    "few-claims": of_passers_by,
    "dominant-source": of_one_voice,
    "little-conflict": without_conflict,
    "flip-risk": of_guesses,
    "near-copies": with_mirrors,
    "far-from-vote": lambda: MISLED.claims,
    "turned-over": of_two_trades,
    "spellings": with_two_spellings,
    "number-spellings": with_numbers_in_two_spellings,
    "close-numbers": of_thermometers,
    "entity-spellings": with_two_names,
    "attribute-spellings": with_two_names_of_an_attribute,
    "placeholders": with_gaps,
}
"""For each warning, claims that give rise to it and to no other; but see `test_alternatives`."""

KNOWN = {"far-from-vote": MISLED.truth}


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_found_and_nothing_else(name):
    health = check(CASES[name](), known=KNOWN.get(name), algorithm="ltd-rbm")
    assert health.findings
    assert names(health) == {name}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("algorithm", ["veracity", "majority-vote"])
def test_discover_and_check_find_the_same(name, algorithm):
    result = veracity.discover(CASES[name](), algorithm)
    health = check(result)
    assert result.findings.select("name", "severity", "meaning", "remedy").equals(
        health.table.select("name", "severity", "meaning", "remedy")
    )
    spelt = {"spellings", "number-spellings", "close-numbers", "placeholders"}  # of fewer facts
    for one in health.findings:
        assert one.name in spelt or findings_of(result)[one.name] == one.seen
    assert not set(CHECKS) & {note.split(":")[0] for note in result.notes}


@pytest.mark.parametrize("threads", [1, 2])
def test_how_values_are_written_is_noted_also_where_it_is_looked_at_on_another_thread(threads):
    """So it is where there are more than 50,000 claims, and not where only one thread may work."""
    n_items = 17_000
    rows = pl.DataFrame({"entity": np.repeat(np.arange(n_items), 3)}).with_columns(
        source=pl.Series(["a", "b", "c"] * n_items),
        value=pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("N/A")).otherwise(pl.lit("x")),
    )
    engine = veracity.Local(threads=threads)
    for algorithm in ("veracity", "majority-vote"):
        found = findings_of(veracity.discover(rows, algorithm, engine=engine))
        assert found["placeholders"].startswith("20% of the claims name no value")


def test_near_copies_are_noted_whether_or_not_they_are_looked_for_on_another_thread():
    rng = np.random.default_rng(3)
    n_items, sources = 6_000, ["a", "b", "c", "d", "e", "f", "x", "y", "z"]
    said = np.where(rng.random((n_items, 9)) < 0.5, 0, rng.integers(1, 30, (n_items, 9)))
    said[:, 7:] = said[:, 6:7]  # three that say the same
    rows = pl.DataFrame(
        {
            "source": sources * n_items,
            "entity": np.repeat(np.arange(n_items), 9),
            "value": [f"v{one}" for one in said.ravel()],
        }
    )
    one, two = (
        findings_of(veracity.discover(rows, "majority-vote", engine=veracity.Local(threads=n)))
        for n in (1, 2)
    )
    assert one == two
    assert one["near-copies"].startswith("x, y, z may have copied")


def test_what_is_healthy_has_no_finding():
    result = veracity.discover(clean())
    assert result.notes == []
    assert result.findings.is_empty()


def test_findings_are_saved_and_written_with_a_run(tmp_path):
    result = veracity.discover(with_gaps())
    assert len(result.findings)
    result.save(tmp_path / "run")
    assert veracity.load(tmp_path / "run").findings.equals(result.findings)
    found = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["findings"]
    assert found == result.findings.to_dicts()


def test_what_check_asks_for_is_what_the_result_asks_for(flights):
    result = veracity.discover(flights.claims)
    assert pl.DataFrame(check(result).questions).equals(result.questions(10))


@pytest.mark.parametrize("name", CHECKS)
def test_every_warning_is_explained_in_the_docs(name):
    assert re.search(rf"^### `{name}`$", PAGE.read_text("utf-8"), re.MULTILINE)


# --- clean data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_independent_sources_raise_no_alarm(seed):
    rng = np.random.default_rng(seed)
    parameters = Synthetic(
        sources=int(rng.integers(8, 30)),
        items=int(rng.integers(200, 800)),
        values=int(rng.integers(3, 8)),
        accuracy=rng.uniform(0.6, 0.9),
        frequency=rng.uniform(0.3, 0.9),
    )
    health = check(parameters.draw(seed).claims)
    assert not health.findings, health


@pytest.mark.parametrize("accuracy", [0.6, 0.9])
@pytest.mark.parametrize("frequency", [0.3, 0.9])
@pytest.mark.parametrize("values", [3, 8])
def test_the_corners_raise_no_alarm(accuracy, frequency, values):
    drawn = Synthetic(
        sources=12, items=400, accuracy=accuracy, frequency=frequency, values=values
    ).draw(3)
    assert names(check(drawn.claims)) <= {"assumption"}  # sources that are alike, and few claims


def test_the_demo_raises_no_alarm(flights):
    assert not check(flights.claims).findings


def test_good_sources_that_agree_against_many_bad_ones_are_not_called_copies():
    drawn = veracity.synthetic.flights(n_flights=600, seed=3)
    assert "near-copies" not in names(check(drawn.claims))


# --- what is told ---------------------------------------------------------------------------------


def test_lone_sources_are_named_and_counted():
    warning = found(check(with_a_hermit()), "lone-sources")
    assert warning.severity == "caution"
    assert warning.seen == "1 of 13 sources (8%) shares no item with another: hermit-source03"


def test_claims_without_any_overlap_say_just_that():
    rows = {"source": ["a", "b", "c"], "entity": ["x", "y", "z"], "value": ["1", "2", "3"]}
    health = check(pl.DataFrame(rows))
    assert [(c.name, c.severity) for c in health.findings] == [("lone-sources", "serious")]
    assert health.against_vote is None


def test_parts_are_shown_with_their_size():
    parts = found(check(in_two_parts()), "separate-parts").examples
    assert parts["sources"].to_list() == [12, 12]
    assert parts["claims"].sum() == len(in_two_parts())
    assert {text.split("source")[0] for text in parts["such_as"]} == {"", "other-"}


def test_a_chain_of_shared_items_joins_all_sources():
    rows = [(s, e, v) for i, e in enumerate("vwxyz") for s, v in ((i, "1"), (i + 1, "2"))]
    health = check(pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row"))
    assert "separate-parts" not in names(health)


def test_parts_that_known_truths_hold_are_no_worry():
    known = CLEAN.draw(1).truth.head(30)
    both = pl.concat([known, known.with_columns(entity="other-" + pl.col("entity"))])
    assert names(check(in_two_parts(), known=known)) == {"separate-parts"}
    assert "separate-parts" not in names(check(in_two_parts(), known=both))


def test_two_sources_are_serious_and_two_an_item_call_for_caution():
    assert found(check(of_two_sources()), "fewer-than-three").severity == "serious"
    warning = found(check(with_two_sources_an_item()), "fewer-than-three")
    assert warning.severity == "caution"
    assert "(100%)" in warning.seen


def test_the_dominant_source_is_named():
    assert found(check(of_one_voice()), "dominant-source").seen.startswith("source05 alone makes")


def test_guessing_is_recognised_by_the_agreement_it_makes():
    seen = found(check(of_guesses()), "flip-risk").seen
    assert "agree on 25% of them; guessing would make them agree on 25%" in seen


def test_known_truths_take_the_risk_of_a_flip_away():
    truth = Synthetic(sources=12, items=500, accuracy=0.25, accuracy_variability=1e6).draw(1).truth
    assert "flip-risk" not in names(check(of_guesses(), known=truth.head(50)))


def test_values_that_are_too_many_to_count_are_not_taken_for_guesses(monkeypatch):
    monkeypatch.setattr("veracity.checks.disputes.MOST_CELLS", 3)
    claims = of_guesses().with_columns(attribute=pl.lit("one"))
    assert "flip-risk" not in names(check(claims))


def test_mirrors_are_grouped_and_what_they_decide_is_counted():
    warning = found(check(with_mirrors()), "near-copies")
    assert warning.severity == "serious"
    (group,) = warning.examples.to_dicts()
    assert group["names"] == ", ".join(f"mirror{n}" for n in range(6))
    assert group["sources"] == 6
    assert warning.seen.startswith("mirror0, mirror1, mirror2 and 3 more may have copied; ")
    assert f"they decide the vote on {group['decides']} of" in warning.seen


def test_without_the_mirrors_nothing_is_wrong():
    merged = with_mirrors().filter(~pl.col("source").str.contains("mirror[1-5]"))
    assert "near-copies" not in names(check(merged))


@pytest.mark.parametrize("name", ["spellings", "placeholders"])
def test_normalising_is_what_helps_against(name):
    assert not check(CASES[name](), normalise=True).findings


def test_numbers_are_compared_however_they_are_written():
    rows = [
        (source, f"e{n}", attribute, value)
        for n in range(40)
        for source, price, weight in (
            ("a", f"{n}", 10 * n), ("b", f"{n}.00", 10 * n + 0.1), ("c", f"{n}.0", 10 * n - 0.2),
        )
        for attribute, value in (("price", price), ("weight", f"{weight:.1f}"), ("hue", "red"))
    ]  # fmt: skip
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    found = findings_of(veracity.discover(claims))
    assert found["close-numbers"].startswith("of 'weight', sources")
    assert found["number-spellings"].startswith("29% of the values")
    normalised = findings_of(veracity.discover(claims, normalise=True))
    assert normalised["close-numbers"].startswith("of 'weight', sources")
    assert "number-spellings" not in normalised
    numbers = claims.filter(attribute="weight").with_columns(pl.col("value").cast(pl.Float64))
    assert "close-numbers" in findings_of(veracity.discover(numbers))
    result = veracity.discover(numbers, kind="numeric")
    assert not findings_of(result)
    assert not result.notes


def test_numbers_that_are_far_apart_are_names():
    draw = np.random.default_rng(0)
    rows = [(s, n, str(draw.integers(1000, 9999))) for n in range(50) for s in "abcd"]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    assert "close-numbers" not in names(check(claims))


def test_placeholders_are_named():
    seen = "5% of the claims name no value: N/A; they win no item"
    assert found(check(with_gaps()), "placeholders").seen == seen


@pytest.mark.parametrize(
    ("one", "other", "is_told"),
    [
        ("Colour", "color", True),
        ("weight", "Weight (kg)", True),
        ("weight_kg", "Weight", True),
        ("unit price", "UnitPrice", True),
        ("label", "labels", True),
        ("planned departure", "actual departure", False),
        ("answer_1", "answer_12", False),
        ("lat", "late", False),
        ("in_2019", "in_2020", False),
    ],
)
def test_attributes_with_names_that_are_alike_are_told_unless_a_source_uses_both(
    one, other, is_told
):
    rows = [
        (source, f"e{n}", one if source in "ab" else other, f"{n}")
        for n in range(30)
        for source in "abcd"
    ]
    schema = ["source", "entity", "attribute", "value"]
    for more in ([], [("a", "e1", other, "1")]):
        claims = pl.DataFrame([*rows, *more], schema=schema, orient="row")
        found = findings_of(veracity.discover(claims, "majority-vote"))
        assert ("attribute-spellings" in found) == (is_told and not more), found
        seen = found.get("attribute-spellings", "")
        assert all((f"'{name}'" in seen) == (is_told and not more) for name in (one, other))


LABELS = ["none"] * 12 + ["some"] * 12


@pytest.mark.parametrize(
    ("values", "n_won"),
    [
        ([f"v{n}" for n in range(21)] + ["k.A.", "#REF!", "-"], 3),
        ([f"v{n}" for n in range(24)], 0),
        (LABELS, 0),
        (["none", *(f"v{n}" for n in range(23))], 1),
        (["NA", "n/a", "NAP", *(f"{n}/12/2020" for n in range(1, 22))], 2),
    ],
)
def test_the_items_that_placeholders_win_are_counted(values, n_won):
    """They may be far less than one claim in a hundred, and the answer to some items."""
    n_attributes = 12
    rows = [
        (source, f"e{n}", f"a{attribute}", value if attribute == 0 else f"v{n}")
        for attribute in range(n_attributes)
        for n, value in enumerate(values)
        for source in "abcd"
        if n % 4 or source != "d"
    ]
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    result = veracity.discover(claims, "majority-vote")
    found = findings_of(result).get("placeholders", "")
    n_items = len(values) * n_attributes
    items = f"win {n_won} of {n_items} items ({n_won / n_items:.0%})"
    assert (items in found) == (n_won > 0)
    normalised = veracity.discover(claims, "majority-vote", normalise=True)
    assert "placeholders" not in findings_of(normalised)


# --- sources rank differently ---------------------------------------------------------------------


def of_models(seed, *, n_biased, n_sources=8, n_topics=6, n_items=80, frequency=0.9):
    """Claims on several topics by sources of one accuracy each.

    The first `n_biased` sources share a wrong belief on four items in five of the topic "tax".
    """
    rng = np.random.default_rng(seed)
    shape = (n_topics, n_items, n_sources)
    wrong = rng.integers(1, 4, shape)
    value = np.where(rng.random(shape) < rng.uniform(0.6, 0.9, n_sources), 0, wrong)
    believed = rng.random((n_items, n_biased)) < 0.8
    value[0, :, :n_biased][believed] = 1
    topic, item, source = np.nonzero(rng.random(shape) < frequency)
    rows = {
        "source": source,
        "entity": item,
        "attribute": topic,
        "value": value[topic, item, source],
    }
    return pl.DataFrame(rows).with_columns(
        attribute=pl.when(pl.col("attribute") == 0).then(pl.lit("tax")).otherwise("attribute"),
        value=pl.format("{}-{}-{}", "attribute", "entity", "value"),
    )


def turned_over(claims):
    """Return the attributes that a note names, and the table behind it."""
    result = veracity.discover(claims)
    tables = [one.examples for one in check(result).findings if one.name == "turned-over"]
    assert len(tables) == ("turned-over" in findings_of(result))
    return tables[0] if tables else pl.DataFrame(schema=["attribute"])


def test_a_belief_that_most_sources_share_on_one_topic_turns_their_order_over():
    tables = [turned_over(of_models(seed, n_biased=5)) for seed in range(20)]
    assert sum(set(table["attribute"]) == {"tax"} for table in tables) >= 18
    table = tables[0]
    assert set(table.filter(change="rises")["source"]) == {"0", "1", "2", "3", "4"}
    assert set(table.filter(change="falls")["source"]) == {"5", "6", "7"}
    assert (table.filter(change="falls")["here"] < 0.3).all()
    assert (table.filter(change="falls")["elsewhere"] > 0.4).all()


@pytest.mark.parametrize(
    "design",
    [
        {},
        {"n_sources": 5, "n_topics": 30, "n_items": 40},
        {"n_sources": 40, "n_topics": 3, "n_items": 200, "frequency": 0.4},
        {"n_sources": 20, "n_topics": 20, "n_items": 60},
    ],
    ids=str,
)
def test_sources_that_are_as_good_everywhere_rank_everywhere_alike(design):
    for seed in range(5):
        assert not len(turned_over(of_models(seed, n_biased=0, **design)))


def test_a_topic_that_is_harder_for_all_turns_nothing_over():
    rng = np.random.default_rng(2)
    skill = np.linspace(-0.5, 2.5, 10)
    rows = [
        (f"s{source}", f"case{n}", topic, f"{n}-{0 if rng.random() < p else rng.integers(1, 6)}")
        for topic, steepness in (("easy", 1.0), ("usual", 0.8), ("hard", 0.3))
        for n in range(200)
        for source, p in enumerate(1.0 / (1.0 + np.exp(-steepness * skill)))
    ]
    columns = ["source", "entity", "attribute", "value"]
    assert not len(turned_over(pl.DataFrame(rows, schema=columns, orient="row")))


def test_the_report_shows_where_sources_rank_differently(tmp_path):
    veracity.discover(of_two_trades()).write_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "turned-over" in page
    assert "claims elsewhere" in page.replace("_", " ")


# --- against the vote -----------------------------------------------------------------------------


def test_an_answer_far_from_the_vote_is_told():
    health = check(MISLED.claims, known=MISLED.truth)
    assert names(health) == {"far-from-vote"}
    assert health.against_vote.share > 0.5
    assert found(health, "far-from-vote").severity == "serious"


def test_the_vote_itself_never_differs_from_the_vote(flights):
    for claims in (flights.claims, with_two_sources_an_item()):  # the latter has many ties
        against = check(claims, algorithm="majority-vote").against_vote
        assert against.changed == 0
        assert against.examples.is_empty()


def test_changes_are_counted_as_the_tables_of_two_results_count_them(flights):
    result = veracity.discover(flights.claims)
    vote = veracity.discover(flights.claims, "majority-vote")
    against = check(result).against_vote
    of_value = vote.facts.rename({"plausibility": "share"})
    keys = ["entity", "attribute"]
    best = of_value.group_by(keys).agg(most=pl.col("share").max())
    both = result.truths.select(*keys, "value").join(of_value, on=[*keys, "value"])
    changed = both.join(best, on=keys).filter(pl.col("share") < pl.col("most"))
    assert against.changed == len(changed) > 0
    assert against.contested == result.truths["contested"].sum()
    assert against.by_attribute["changed"].sum() == against.changed


def test_examples_are_taken_against_most_votes_first(flights):
    examples = check(flights.claims).against_vote.examples
    overruled = (examples["opposers"] - examples["supporters"]).to_list()
    assert overruled == sorted(overruled, reverse=True)
    assert (examples["plausibility"] > 0.5).all()


# --- kinds and faces ------------------------------------------------------------------------------


def as_binary(claims):
    """Whether the value is v0."""
    return claims.select("source", fact="entity", claim=pl.col("value") == "v0")


def test_binary_claims_are_checked_like_others():
    assert not check(as_binary(clean()), kind="binary").findings
    assert "near-copies" in names(check(as_binary(with_mirrors()), kind="binary"))
    coin = np.random.default_rng(0).random(len(clean())) < 0.5
    guesses = as_binary(clean()).with_columns(claim=pl.Series(coin))
    assert "flip-risk" in names(check(guesses, kind="binary"))


def test_lists_of_values_are_checked_like_others():
    second = clean(2).with_columns(value="w" + pl.col("value"))
    lists = pl.concat([clean(1), second])
    assert "flip-risk" not in names(check(lists, kind="multiple"))
    assert "near-copies" in names(check(with_mirrors(), kind="multiple"))


def test_of_numbers_only_the_overlap_is_checked():
    def numbers(claims):
        return claims.with_columns(value=pl.col("value").str.tail(1).cast(pl.Float64))

    assert not check(numbers(clean()), kind="numeric").findings
    assert names(check(numbers(in_two_parts()), kind="numeric")) == {"separate-parts"}
    assert not check(numbers(of_guesses()), kind="numeric").findings


@settings(max_examples=25)
@given(value_rows(), st.sampled_from(["categorical", "multiple"]))
def test_any_claims_can_be_checked(rows, kind):
    health = check(rows, kind=kind, algorithm="majority-vote")
    assert names(health) <= set(CHECKS)
    json.dumps(health.to_dict())


@settings(max_examples=25)
@given(binary_rows())
def test_any_binary_claims_can_be_checked(rows):
    assert names(check(rows, kind="binary", algorithm="majority-vote")) <= set(CHECKS)


@settings(max_examples=25)
@given(value_rows(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    first, second = (check(claims, algorithm="majority-vote") for claims in (rows, rows[order]))
    assert first.to_dict() == second.to_dict()


def test_tables_come_in_the_users_own_kind():
    pd = pytest.importorskip("pandas")
    health = check(with_mirrors().to_pandas())
    assert isinstance(health.table, pd.DataFrame)
    (copies,) = (one for one in health.findings if one.name == "near-copies")
    assert isinstance(copies.examples, pd.DataFrame)
    assert isinstance(health.against_vote.examples, pd.DataFrame)
    assert health.to_dict() == check(with_mirrors()).to_dict()


def test_a_healthy_table_has_its_columns_and_no_rows():
    table = check(clean(), algorithm="majority-vote").table
    assert table.columns == ["name", "severity", "seen", "meaning", "remedy"]
    assert table.is_empty()


def test_all_of_it_fits_into_json():
    health = check(pl.concat([with_mirrors(), elsewhere(clean(), "x")]))
    told = json.loads(json.dumps(health.to_dict()))
    assert [row["name"] for row in told["findings"]] == [c.name for c in health.findings]
    against = told["against_vote"]
    assert against["share"] == pytest.approx(against["changed"] / against["contested"])
    assert told["questions"]


def test_serious_warnings_come_first_and_the_report_tells_all_of_them():
    health = check(pl.concat([with_gaps(), elsewhere(with_mirrors(), "x")]))
    severities = [warning.severity for warning in health.findings]
    assert severities == sorted(severities, reverse=True)
    assert set(severities) == {"serious", "caution"}
    for warning in health.findings:
        assert f"{warning.severity}: {warning.name}: {warning.seen}\n" in repr(health)
        assert f"means: {warning.meaning}\n  What helps: {warning.remedy}\n" in repr(health)


def test_no_warning_is_not_told_as_if_all_were_well(flights):
    first, second, third, fourth, fifth = repr(check(flights.claims)).splitlines()
    assert first == "3,213 claims of 9 sources about 400 items: no warning"
    assert second.startswith("This does not show that the answer is right")
    assert third.startswith("the answer differs from the vote on ")
    assert fourth.startswith("sources agree beyond chance: alpha 0.")
    asked = veracity.discover(flights.claims).questions(10).row(0, named=True)
    assert fifth.startswith(f"to look up next: {asked['entity']} {asked['attribute']}, ")


# --- real data ------------------------------------------------------------------------------------

REAL = {
    "book_multi": {"few-claims", "near-copies", "placeholders"},
    "book_raw": {"few-claims", "near-copies", "spellings"},
    "crowd_bluebird": {"assumption"},
    "crowd_millionaire": {"few-claims"},
    "crowd_n_emotion": set(),
    "crowd_rte": set(),
    "crowd_s_rel": set(),
    "crowd_web": {"assumption"},
    "flight_raha": {"near-copies", "placeholders", "spellings", "turned-over", "two-answers"},
    "weather_raw": {
        "close-numbers",
        "near-copies",
        "number-spellings",
        "placeholders",
        "turned-over",
    },
}
KINDS = {"book_multi": "multiple", "crowd_n_emotion": "numeric"}


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
@pytest.mark.parametrize("data", REAL)
def test_what_is_wrong_with_real_claims(data, shared_data):
    health = check(shared_data / data / "claims.parquet", kind=KINDS.get(data))
    assert names(health) == REAL[data]


@pytest.mark.slow
@pytest.mark.data
def test_mirrors_among_real_flights_are_grouped(shared_data):
    path = shared_data / "flight_raw" / "claims.parquet"
    health = check(path, algorithm="majority-vote")
    assert names(health) == {"near-copies", "placeholders", "spellings"}
    groups = found(health, "near-copies").examples["names"].to_list()
    assert any({"flightview", "foxbusiness", "panynj"} <= set(g.split(", ")) for g in groups)
