"""A stream judges each claim at once as a block would be judged, and goes on where it was saved."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import veracity
from marks import few_kinds
from veracity.algorithms import CATALOGUE, LTDRBM, Veracity
from veracity.errors import NoClaims, NotConverged, ParameterError, UnreadableFile
from veracity.testing import some_claims

PAIRS = [
    (name, kind)
    for name, entry in CATALOGUE.items()
    for kind in entry.make().kinds
    if kind != "numeric"
]
PROGRAM = Path(__file__).parent.parent / "benchmarks" / "kills.py"


def learned(claims, algorithm=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return veracity.discover(claims, algorithm, **options).fitted


def draw(seed, accuracy, items, values=4, *, first=0, labels=False, attributes=1):
    """One claim of every source on each item, in random order; the item sets the true value."""
    rng, rows = np.random.default_rng(seed), []
    for item in range(first, first + items):
        for source in rng.permutation(len(accuracy)):
            is_right = rng.random() < accuracy[source]
            value = (item + (0 if is_right else rng.integers(1, values))) % values
            name = f"v{value}" if labels else f"{item}: {value}"
            rows.append((f"s{source}", f"i{item}", name, f"a{item % attributes}"))
    return pl.DataFrame(rows, schema=["source", "entity", "value", "attribute"], orient="row")


def assert_judged_alike(fitted, claims, every=7):
    """Every so often, judge all claims so far, the newest of each source, and compare an item."""
    stream, said = veracity.Stream(fitted, learn_every=10**9), {}
    columns = ("source", "fact", "claim") if fitted.kind == "binary" else COLUMNS
    rows = claims.select(name for name in columns if name in claims.columns)
    for number, row in enumerate(rows.iter_rows(), 1):
        verdict = stream.claim(*row)
        source, entity, value, *attribute = row
        own = said.setdefault((entity, *attribute), {})
        own[(source, value) if fitted.kind == "multiple" else source] = row
        if number % every:
            continue
        so_far = [row for item in said.values() for row in item.values()]  # knows the same names
        judged = fitted.judge(pl.DataFrame(so_far, schema=rows.columns, orient="row"))
        item = dict(zip(rows.columns[1:2] + rows.columns[3:], (entity, *attribute), strict=True))
        facts, truth = judged.facts.filter(**item), judged.truths.filter(**item).row(0, named=True)
        if fitted.kind == "binary":
            p = facts["plausibility"][0] if value else 1.0 - facts["plausibility"][0]
        else:
            p = facts.filter(value=value)["plausibility"][0]
        assert verdict.plausibility == pytest.approx(p, abs=1e-12)
        if fitted.kind == "categorical":
            assert verdict.answer == truth["value"]
            assert verdict.answer_plausibility == pytest.approx(truth["plausibility"], abs=1e-12)
        if fitted.kind == "binary":
            assert verdict.answer == truth["value"]
    return stream


COLUMNS = ("source", "entity", "value", "attribute")
SKILLS = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.55, 0.5)


@pytest.mark.parametrize(("name", "kind"), few_kinds(PAIRS))
def test_a_claim_gets_the_plausibility_of_a_block(name, kind):
    fitted = learned(some_claims(kind, 1, 300), name, kind=kind)
    assert_judged_alike(fitted, some_claims(kind, 2, 120))


def with_copies(claims):
    """s5 to s7 repeat what s4 says of four items in five."""
    copied = claims.filter(pl.col("source") == "s4", pl.col("entity").hash(1) % 5 > 0)
    kept = claims.filter(~pl.col("source").is_in(["s5", "s6", "s7"]))
    again = [copied.with_columns(source=pl.lit(name)) for name in ("s5", "s6", "s7")]
    return pl.concat([kept, *again])


CASES = {
    "open values": (Veracity(), draw(1, SKILLS, 200), draw(2, SKILLS, 20, first=500)),
    "no tempering": (Veracity(temper=False), draw(1, SKILLS, 200), draw(2, SKILLS, 20, first=500)),
    "attributes": (
        Veracity(), draw(1, SKILLS, 400, attributes=2),
        draw(2, SKILLS, 20, first=500, attributes=3),
    ),
    "labels": (
        Veracity(), draw(1, SKILLS, 200, labels=True), draw(2, SKILLS, 20, first=500, labels=True),
    ),
    "labels, no tempering": (
        Veracity(temper=False), draw(1, SKILLS, 200, labels=True),
        draw(2, SKILLS, 20, first=500, labels=True),
    ),
    "a new label": (
        Veracity(), draw(1, SKILLS, 200, 2, labels=True),
        draw(2, SKILLS, 20, 5, first=500, labels=True),
    ),
    "few labels, often overruled": (
        Veracity(), draw(1, SKILLS, 200, 2, labels=True),
        draw(3, SKILLS[::-1], 20, 2, first=500, labels=True),
    ),
    "copies": (
        Veracity(), with_copies(draw(1, SKILLS, 400)), with_copies(draw(2, SKILLS, 20, first=500)),
    ),
    "many voices": (Veracity(), draw(1, 6 * SKILLS, 60), draw(2, 6 * SKILLS, 3, first=500)),
    "many voices, labels": (
        Veracity(), draw(1, 6 * SKILLS, 60, labels=True),
        draw(2, 6 * SKILLS, 3, first=500, labels=True),
    ),
    "one-label sources": (
        Veracity(), draw(1, SKILLS, 200, 3, labels=True).filter(
            (pl.col("source") != "s0") | (pl.col("value") == "v0")
        ), draw(2, SKILLS, 20, 3, first=500, labels=True),
    ),
    "LTD-RBM": (LTDRBM(), draw(1, SKILLS, 200), draw(2, SKILLS, 20, first=500)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_quick_judge_agrees_with_the_block(case):
    algorithm, old, new = CASES[case]
    fitted = learned(old, algorithm)
    if case == "copies":
        assert fitted.state.dependence.is_any
    stream = assert_judged_alike(fitted, new, every=3)
    assert stream._online is not None or case == "copies"


def test_new_sources_and_several_words_of_one_source_are_judged_like_a_block():
    fitted = learned(draw(1, SKILLS, 200))
    new = draw(2, SKILLS, 20, first=500)
    stranger = new.filter(pl.col("source") == "s1").with_columns(source=pl.lit("a stranger"))
    again = draw(3, SKILLS, 20, first=500).sample(fraction=0.3, seed=1)
    assert_judged_alike(fitted, pl.concat([new, stranger, again]), every=1)


def test_the_plausibility_before_is_that_without_the_claim():
    fitted = learned(draw(1, SKILLS, 200))
    stream = veracity.Stream(fitted)
    first = stream.claim("s0", "x", "red")
    second = stream.claim("s1", "x", "red")
    assert (first.before, second.before) == (None, first.plausibility)
    assert second.plausibility > first.plausibility
    other = stream.claim("s7", "x", "blue")
    assert other.before is None
    assert other.answer == "red"


def test_numbers_that_are_written_otherwise_are_one_value():
    claims = draw(1, SKILLS, 100, labels=True).with_columns(pl.col("value").str.strip_chars("v"))
    stream = veracity.Stream(learned(claims))
    stream.claim("s0", "x", "7")
    assert stream.claim("s1", "x", "7.0").before is not None


def test_a_table_is_judged_row_by_row():
    fitted, new = learned(draw(1, SKILLS, 200)), draw(2, SKILLS, 10, first=500)
    one, other = veracity.Stream(fitted), veracity.Stream(fitted)
    table = one.take(new.rename({"source": "website"}), columns={"source": "website"})
    verdicts = [other.claim(*row) for row in new.select(COLUMNS).iter_rows()]
    assert table["plausibility"].to_list() == [own.plausibility for own in verdicts]
    assert table["answer"].to_list() == [own.answer for own in verdicts]


def test_values_are_normalised_as_those_of_the_fit():
    flights = veracity.synthetic.flights()
    fitted = learned(flights.claims, normalise=True)
    one, other = veracity.Stream(fitted), veracity.Stream(fitted)
    some = flights.claims.filter(attribute="departure").head(12)
    singly = [one.claim(*row) for row in some.select(COLUMNS).iter_rows()]
    assert other.take(some)["answer"].to_list() == [own.answer for own in singly]


# --- learning -------------------------------------------------------------------------------------


def test_a_stream_learns_like_updates_with_the_same_claims():
    fitted = learned(draw(1, SKILLS, 200))
    first, second = draw(2, SKILLS, 25, first=500), draw(3, SKILLS, 25, first=600)
    stream = veracity.Stream(fitted, learn_every=200)
    stream.take(pl.concat([first, second]))
    updated = fitted.update(first).fitted.update(second).fitted
    assert arrays_equal(stream.fitted, updated)
    assert stream.result.run.input.claims == 200


def arrays_equal(one, other):
    one, other = one.to_arrays(), other.to_arrays()
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def test_claims_on_an_item_that_come_later_or_correct_earlier_ones_count_once(tmp_path):
    fitted = learned(draw(1, SKILLS, 200))
    new = draw(2, SKILLS, 25, first=500)
    corrections = draw(3, SKILLS[:3], 25, first=500)
    stream = veracity.Stream(fitted, learn_every=90)  # cuts items
    stream.take(new)
    stream.take(corrections)
    stream.save(tmp_path / "snapshot")
    stream = veracity.Stream.load(tmp_path / "snapshot")
    stream.learn()
    counts = stream.fitted.counted
    assert counts.items == 225
    assert counts.supports_of_source.tolist() == [225.0] * 8
    newest = pl.concat([new, corrections]).unique(["source", "entity"], keep="last")
    updated = fitted.update(newest).fitted
    trust, alike = (one.algorithm.trust(one.state) for one in (stream.fitted, updated))
    assert trust == pytest.approx(alike, abs=0.01)


def test_the_claims_of_old_items_are_dropped():
    stream = veracity.Stream(learned(draw(1, SKILLS, 200)), learn_every=80, keep_items=5)
    stream.take(draw(2, SKILLS, 20, first=500))
    assert repr(stream).startswith("stream of 160 claims about 5 items")


# --- snapshots ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["veracity", "ltd-rbm", "mle"])
@pytest.mark.parametrize("labels", [False, True])
def test_a_restored_stream_goes_on_bit_for_bit(name, labels, tmp_path):
    rows = pl.concat([
        draw(2, SKILLS, 60, 3, first=500, labels=labels),
        draw(4, (*SKILLS, 0.7), 60, 4, first=540, labels=labels),  # old items, a source, a value
    ]).select(COLUMNS).rows()  # fmt: skip
    fitted = learned(draw(1, SKILLS, 200, 3, labels=labels), name)
    whole, cut = (veracity.Stream(fitted, learn_every=300) for _ in range(2))
    for number, row in enumerate(rows, 1):
        verdict = whole.claim(*row)
        assert cut.claim(*row) == verdict
        if number % 171 == 0:
            cut = veracity.Stream.load(cut.save(tmp_path / "snapshot"))
            assert cut.number == number
    assert arrays_equal(whole.fitted, cut.fitted)
    assert whole.fitted.history.equals(cut.fitted.history)


def test_streams_of_several_values_and_of_binary_facts_are_restored(tmp_path):
    for kind in ("multiple", "binary"):
        columns = ("source", "fact", "claim") if kind == "binary" else COLUMNS
        stream = veracity.Stream(learned(some_claims(kind, 1, 200), kind=kind))
        rows = some_claims(kind, 2, 60).select(columns).rows()
        for row in rows[:-1]:
            stream.claim(*row)
        again = veracity.Stream.load(stream.save(tmp_path / kind))
        assert again.claim(*rows[-1]) == stream.claim(*rows[-1])


def test_what_is_no_snapshot_is_refused(tmp_path):
    stream = veracity.Stream(learned(draw(1, SKILLS, 50)))
    folder = stream.save(tmp_path / "snapshot")
    described = json.loads((folder / "stream.json").read_text())
    (folder / "stream.json").write_text(json.dumps({**described, "format": 99}))
    with pytest.raises(UnreadableFile, match="format is 99"):
        veracity.Stream.load(folder)
    shutil.rmtree(folder)
    with pytest.raises(UnreadableFile, match="no snapshot"):
        veracity.Stream.load(folder)


def test_what_cannot_be_streamed_is_refused():
    numbers = learned(some_claims("numeric", 1), kind="numeric")
    with pytest.raises(ParameterError, match="numbers"):
        veracity.Stream(numbers)
    fitted = learned(draw(1, SKILLS, 50))
    with pytest.raises(ParameterError, match="at least 1"):
        veracity.Stream(fitted, learn_every=0)
    with pytest.raises(ParameterError, match="differ in type"):
        veracity.Stream(fitted).claim(7, "x", "red")
    weighted = replace(fitted, columns={**fitted.columns, "weight": "weight"})
    with pytest.raises(ParameterError, match="no weights"):
        veracity.Stream(weighted).take(draw(2, SKILLS, 2).with_columns(weight=0.5))


def test_a_fit_that_merges_values_is_refused():
    values = ("New  York City", "new york city", "Boston", "boston")
    rows = [(f"s{n}", f"e{i}", f"{own} {i}") for i in range(50) for n, own in enumerate(values)]
    claims = pl.DataFrame(rows, ["source", "entity", "value"], orient="row")
    fitted = learned(claims, alike=True)
    assert fitted.alikeness
    with pytest.raises(ParameterError, match="alike=False"):
        veracity.Stream(fitted)


def test_a_result_is_no_fit():
    with pytest.raises(ParameterError, match=r"such as result\.fitted"):
        veracity.Stream(veracity.discover(draw(1, SKILLS, 50)))


@pytest.mark.parametrize(
    "wrong",
    [
        ("s0", 5, "red"), ("s0", "x", 5), ("s0", "x", None), ("s0", None, "red"),
        ("s0", "x", float("nan")), (None, "x", "red"), ("s0", "x", object()),
        ("s0", "x", "red", 5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("labels", [False, True])
def test_a_claim_that_no_table_can_hold_spoils_nothing(wrong, labels, tmp_path):
    stream = veracity.Stream(learned(draw(1, SKILLS, 60, labels=labels)))
    stream.take(draw(2, SKILLS, 2, first=500, labels=labels))
    for own in (stream, veracity.Stream.load(stream.save(tmp_path / "snapshot"))):
        with pytest.raises(ParameterError, match=r"type|cannot be one"):
            own.claim(*wrong)
        assert own.number == 16
        own.claim("s1", "x", "red")
        own.learn()
        own.save(tmp_path / "snapshot")
        assert own.fitted.counted.supports_of_source.sum() == 8 * 62 + 1


def test_fractions_are_refused_where_values_are_whole_numbers():
    claims = draw(1, SKILLS, 60, labels=True).with_columns(
        value=pl.col("value").str.strip_chars("v").cast(pl.Int64)
    )
    stream = veracity.Stream(learned(claims))
    stream.claim("s0", "x", 2)
    with pytest.raises(ParameterError, match=r"differ in type: 2\.5, and before"):
        stream.claim("s1", "x", 2.5)
    assert stream.claim("s2", "x", 2).before is not None
    stream.learn()


def test_text_may_come_where_all_values_were_numbers():
    claims = draw(1, SKILLS, 60, labels=True).with_columns(pl.col("value").str.strip_chars("v"))
    stream = veracity.Stream(learned(claims))
    stream.claim("s0", "x", "closed")
    stream.claim("s1", "x", "open")
    assert stream.claim("s2", "x", "2").before is None
    assert stream.claim("s3", "x", "closed").answer == "closed"


def test_a_claim_without_a_value_is_refused():
    flights = veracity.synthetic.flights()
    stream = veracity.Stream(learned(flights.claims, normalise=True))
    with pytest.raises(ParameterError, match="'n/a' means that there is no value"):
        stream.claim("orbitz", "VC-1", "n/a", "departure")
    with pytest.raises(NoClaims):
        stream.take(flights.claims.clear())
    assert stream.number == 0


@pytest.mark.slow
def test_a_killed_stream_loses_and_repeats_nothing_before_its_snapshot(tmp_path):
    done = subprocess.run(
        [sys.executable, PROGRAM, "6", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 kills" in done.stdout
