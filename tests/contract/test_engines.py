"""What every engine promises: the answers of claims in memory, wherever the claims are."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from veracity import Local, read_claims
from veracity.algorithms import CATALOGUE
from veracity.progress import no_progress
from veracity.result.tables import claims_of_part

CLOSE = 1e-9

SPILLED = "1KB"
"""So little memory that all claims of these tests are kept on disk, in several parts."""


@pytest.fixture(params=["spilled"])
def engine(request, tmp_path):
    """An engine that holds claims elsewhere than in memory."""
    return Local(memory=SPILLED, spill=tmp_path, claims_per_block=300)


def discover(claims, algorithm=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", veracity.errors.NotConverged)
        return veracity.discover(claims, algorithm, **options)


def claims_of(kind):
    """Claims of a kind, in several parts where memory is short: 9 sources, several attributes."""
    rng = np.random.default_rng(7)
    n_items, n_sources = 150, 9
    item, source = (x.ravel() for x in np.meshgrid(np.arange(n_items), np.arange(n_sources)))
    is_said = rng.random(len(item)) < 0.8
    item, source = item[is_said], source[is_said]
    is_right = rng.random(len(item)) < np.linspace(0.5, 0.95, n_sources)[source]
    names = pl.Series("source", [f"s{number}" for number in source])
    if kind == "binary":
        facts = pl.Series("fact", [f"f{number}" for number in item])
        claims = pl.DataFrame([names, facts]).with_columns(claim=is_right == (item % 3 > 0))
        denied = claims.head(3).with_columns(claim=~pl.col("claim"))
        return pl.concat([claims, denied])  # some contradict themselves
    rows = pl.DataFrame(
        {
            "source": names,
            "entity": [f"e{number // 2}" for number in item],
            "attribute": np.where(item % 2 == 0, "size", "colour"),
        }
    )
    if kind == "numeric":
        return rows.with_columns(value=np.round(item + rng.normal(0.0, 1.0 + source), 2))
    value = np.where(is_right, item % 5, rng.integers(0, 5, len(item)))
    spelt = np.where(source == 0, [f"{number}.0" for number in value], value.astype(str))
    return rows.with_columns(value=spelt)


def assert_same_answers(found, expected):
    """The same tables, in whatever order of items."""
    for name in ("truths", "facts"):
        one, other = getattr(found, name), getattr(expected, name)
        keys = [key for key in ("entity", "attribute", "fact") if key in other.columns]
        keys += ["value"] if "value" in other.columns else []
        one, other = one.sort(keys), other.sort(keys)
        assert one.columns == other.columns
        for column in other.columns:
            if other[column].dtype.is_float():
                assert_allclose(one[column], other[column], atol=CLOSE, err_msg=f"{name}.{column}")
            else:
                assert one[column].equals(other[column]), f"{name}.{column}"
    assert found.sources["source"].equals(expected.sources["source"])
    for column in expected.sources.columns[1:]:
        assert_allclose(
            found.sources[column].cast(pl.Float64), expected.sources[column].cast(pl.Float64),
            atol=1e-8, err_msg=column,
        )  # fmt: skip


def pairs():
    for name, entry in CATALOGUE.items():
        for kind in entry.make().kinds:
            if name != "ltm" and not entry.make().depends_on_blocks:  # the order of items counts
                yield pytest.param(name, kind, id=f"{name}, {kind}")


@pytest.mark.parametrize(("name", "kind"), list(pairs()))
def test_every_algorithm_that_adds_up_answers_the_same(engine, name, kind):
    claims = claims_of(kind)
    found, expected = (discover(claims, name, kind=kind, engine=e) for e in (engine, None))
    assert [note for note in found.notes if "on disk" not in note] == expected.notes
    assert len(found.notes) == len(expected.notes) + 1
    assert len(found.encoded.blocks) > 1
    assert_same_answers(found, expected)


@pytest.mark.parametrize("learning", [None, "flow"])
def test_ltd_rbm_by_whole_sweeps_answers_the_same(engine, learning):
    algorithm = (
        veracity.algorithms.LTDRBM(learning="flow") if learning else veracity.algorithms.LTDRBM()
    )
    claims = claims_of("categorical")
    found, expected = (discover(claims, algorithm, engine=e) for e in (engine, None))
    if learning:
        assert_same_answers(found, expected)
    assert share_alike(found, expected) > 0.97


@pytest.mark.parametrize("name", ["ltm", "ltd-rbm-c"])
def test_what_goes_from_item_to_item_answers_nearly_the_same(engine, name):
    claims = claims_of("categorical")
    found, expected = (discover(claims, name, engine=e) for e in (engine, None))
    assert share_alike(found, expected) > 0.97


def share_alike(found, expected):
    keys = ["entity", "attribute"]
    both = found.truths.join(expected.truths, on=keys, suffix="_expected")
    return (both["value"] == both["value_expected"]).mean()


@pytest.mark.parametrize("kind", ["categorical", "multiple", "binary", "numeric"])
def test_known_truths_are_known_in_every_part(engine, kind):
    claims = claims_of(kind)
    if kind == "binary":
        known = claims.unique("fact").sort("fact").head(40).select("fact", claim=pl.lit(value=True))
    else:
        known = claims.unique(["entity", "attribute"]).sort("entity", "attribute").head(40)
        known = known.drop("source").with_columns(pl.col("value").cast(pl.String))
        nobody = pl.DataFrame({"entity": ["e9999"], "attribute": ["size"], "value": ["3"]})
        known = pl.concat([known, nobody])
    found, expected = (discover(claims, kind=kind, known=known, engine=e) for e in (engine, None))
    assert_same_answers(found, expected)
    assert found.run.input.known == expected.run.input.known > 0
    told = [note for note in found.notes if note.startswith("known:")]
    assert told == [note for note in expected.notes if note.startswith("known:")]


def test_a_fit_judges_and_goes_on_with_claims_that_are_elsewhere(engine):
    claims = claims_of("categorical")
    old, new = claims.filter(pl.col("entity") < "e4"), claims.filter(pl.col("entity") >= "e4")
    fitted = discover(old).fitted
    assert_same_answers(fitted.judge(new, engine=engine), fitted.judge(new))
    assert_same_answers(fitted.update(new, engine=engine), fitted.update(new))


@pytest.mark.parametrize("kind", ["categorical", "binary"])
def test_claims_of_given_items_are_found_again(engine, kind):
    claims = claims_of(kind)
    keys = ["fact"] if kind == "binary" else ["entity", "attribute"]
    found, expected = (discover(claims, "majority-vote", kind=kind, engine=e).encoded
                       for e in (engine, None))  # fmt: skip
    items = expected.items.sort(keys)[::10].with_columns(note=pl.lit("more columns do not matter"))
    none = items.with_columns(pl.lit("nowhere").alias(keys[0]))
    for encoded in (found, expected):
        some = encoded.claims_of(pl.concat([items, none, items]))
        assert some.is_in_memory
        assert some.items.sort(keys).equals(items.select(keys))
        assert named_claims(some).equals(named_claims(expected).join(items, on=keys, how="semi"))
        assert encoded.claims_of(none) is None
        assert encoded.claims_of(items.clear()) is None


def named_claims(encoded):
    """All claims, by item and source."""
    tables = [claims_of_part(part, encoded.names.sources, encoded.kind) for part in encoded.parts]
    return pl.concat(tables).sort(pl.all())


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_blocks_of_whole_entities_give_the_same_answers(where, tmp_path):
    claims = read_claims(claims_of("categorical"))
    memory = {"disk": {"memory": SPILLED, "spill": tmp_path}, "memory": {}}[where]
    engine = Local(claims_per_block=50, **memory)
    by_item, by_entity = (engine.encode(claims, no_progress, key) for key in ("item", "entity"))
    for encoded, is_whole in ((by_item, False), (by_entity, True)):
        entities = [part.items["entity"].unique() for part in encoded.parts]
        assert len(entities) > 5
        assert pl.concat(entities).is_unique().all() == is_whole
    assert named_claims(by_entity).equals(named_claims(by_item))
    assert by_entity.names.sources.equals(by_item.names.sources)


def test_what_was_saved_is_what_was_found(engine, tmp_path):
    claims = claims_of("categorical")
    found = discover(claims, engine=engine)
    loaded = veracity.load(found.save(tmp_path / "run"))
    assert_same_answers(loaded, found)
    assert loaded.why("e4", "size").words == discover(claims).why("e4", "size").words
    assert found.why("e4", "size").words == loaded.why("e4", "size").words


def test_questions_checks_and_evaluation_are_the_same(engine):
    claims = claims_of("categorical")
    truth = claims.filter(pl.col("source") == "s8").drop("source")
    found, expected = (discover(claims, engine=e) for e in (engine, None))
    one, other = (veracity.evaluate(result, truth).measures() for result in (found, expected))
    assert one == pytest.approx(other)
    asked, expected_questions = found.questions(5), expected.questions(5)
    keys, sums = ["entity", "attribute"], ["plausibility", "inclusion"]
    one, other = (table.sort(keys).drop(sums) for table in (asked, expected_questions))
    assert one.equals(other)
    one, other = (veracity.check(result) for result in (found, expected))
    assert [f.row() for f in one.findings] == [f.row() for f in other.findings]


def test_what_does_not_fit_is_looked_at_in_part(engine, monkeypatch):
    result = discover(claims_of("categorical"), engine=engine)
    monkeypatch.setattr("veracity.encoding.partitions.claims_that_fit", lambda: 300)
    truth = result.truths.select("entity", "attribute", "value")
    health, profile = veracity.check(result), veracity.profile(result, truth)
    for notes in (health.notes, profile.notes):
        assert any("of 150 items, drawn at random: there is room" in note for note in notes)
    assert (health.claims, health.items) == (result.run.input.claims, 150)
    assert 0 < profile.known <= profile.items < 150


@pytest.mark.parametrize("kind", ["categorical", "numeric"])
def test_values_are_normalised_as_if_all_were_in_memory(engine, kind):
    claims = claims_of(kind)
    odd = pl.int_range(pl.len()) % 3 == 0
    if kind == "numeric":
        shown = pl.col("value").cast(pl.String)
        claims = claims.with_columns(value=pl.when(odd).then(shown + " USD").otherwise(shown))
        known = None
    else:
        words = pl.format("Gate {}", pl.col("value").str.replace(".0", "", literal=True))
        shouted = words.str.to_uppercase()
        claims = claims.with_columns(value=pl.when(odd).then(shouted).otherwise(words))
        claims = pl.concat([claims, claims.head(2).with_columns(value=pl.lit("n/a"))])
        known = claims.unique(["entity", "attribute"]).sort("entity", "attribute").head(20)
        known = known.drop("source").with_columns(pl.col("value").str.to_lowercase())
    found, expected = (
        discover(claims, kind=kind, normalise=True, known=known, engine=e) for e in (engine, None)
    )
    assert_same_answers(found, expected)
    assert found.changes.equals(expected.changes)
    assert found.run.normalisation == expected.run.normalisation
    assert found.run.input.rows == expected.run.input.rows
    assert [note for note in found.notes if "on disk" not in note] == expected.notes
    judged, usual = (r.fitted.judge(claims, engine=engine) for r in (found, expected))
    assert_same_answers(judged, usual)


@pytest.mark.parametrize("kind", ["categorical", "multiple", "binary", "numeric"])
def test_a_saved_run_that_memory_does_not_hold_stays_on_disk(engine, kind, tmp_path, monkeypatch):
    claims = claims_of(kind)
    found = discover(claims, kind=kind, engine=engine)
    found.save(tmp_path / "run")
    monkeypatch.setattr("veracity.result.saving.fits_in_memory", lambda n_claims: False)
    loaded = veracity.load(tmp_path / "run")
    assert_same_answers(loaded, found)
    assert repr(loaded) == repr(found)
    assert len(loaded.encoded.blocks) == len(found.encoded.blocks)
    for one, other in zip(loaded.encoded.blocks, found.encoded.blocks, strict=True):
        assert one.number == other.number
        for name in ("source_of_support", "source_of_voice", "label_of_fact", "attribute_of_item"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert_same_answers(loaded.fitted.judge(claims), found.fitted.judge(claims))
    (tmp_path / "run" / "internal" / "blocks.parquet").unlink()
    with pytest.raises(veracity.errors.UnreadableFile, match=r"blocks.parquet is missing"):
        veracity.load(tmp_path / "run")
