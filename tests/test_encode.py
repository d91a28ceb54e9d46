from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import veracity
from claims import as_block, as_encoded, value_rows
from veracity.encoding.encode import _in_portions, encode
from veracity.encoding.names import (
    Hashes,
    Numbered,
    _paired_by_hash,
    _paired_by_place,
    marks_of,
)
from veracity.encoding.partitions import Partition
from veracity.io import memory
from veracity.reading.claims import Claims, open_claims, read_claims
from veracity.reading.options import ReadOptions


def encoded(columns, kind="categorical"):
    return encode(Claims.of_rows(pl.DataFrame(columns), kind, "a test"))


@given(rows=value_rows(), seed=st.integers(0, 99))
def test_row_order_and_repetition_change_nothing(rows, seed):
    shuffled = pl.concat([rows, rows.head(3)]).sample(fraction=1.0, shuffle=True, seed=seed)
    for one, other in zip(as_block(rows), as_block(shuffled), strict=True):
        assert_array_equal(one, other)


@given(rows=value_rows())
def test_every_claim_is_a_support_and_every_source_of_an_item_a_voice(rows):
    found, sources, claims = as_encoded(rows), as_encoded(rows).names.sources, set()
    (block,), values = found.blocks, found.facts["value"]
    for item in range(found.n_items):
        for fact in range(*block.first_fact_of_item[item : item + 2]):
            for i in range(*block.first_support_of_fact[fact : fact + 2]):
                source = sources[int(block.source_of_support[i])]
                claims.add((source, found.items["entity"][item], values[fact]))
        voices = block.source_of_voice[slice(*block.first_voice_of_item[item : item + 2])]
        speakers = rows.filter(pl.col("entity") == found.items["entity"][item])["source"]
        assert sorted(sources.gather(voices)) == sorted(set(speakers))
    assert claims == set(rows.iter_rows())


@given(rows=value_rows(), size=st.integers(1, 20))
def test_blocks_put_together_are_all_claims(rows, size):
    whole, cut = as_encoded(rows), as_encoded(rows, claims_per_block=size)
    assert sum(b.source_of_support.size for b in cut.blocks) == len(
        whole.blocks[0].source_of_support
    )
    assert sum(len(b.source_of_voice) for b in cut.blocks) == len(whole.blocks[0].source_of_voice)
    assert (cut.n_items, cut.n_facts, cut.n_claims) == (
        whole.n_items,
        whole.n_facts,
        whole.n_claims,
    )
    assert cut.items.equals(whole.items)
    assert cut.facts.equals(whole.facts)
    assert all(block.n_items > 0 for block in cut.blocks)


@given(rows=value_rows(), size=st.integers(1, 20))
def test_a_block_is_complete_by_itself(rows, size):
    whole = as_block(rows)
    first = 0
    for number, part in enumerate(as_encoded(rows, claims_per_block=size).parts):
        is_own = np.zeros(whole.n_items, dtype=np.bool_)
        is_own[first : first + part.block.n_items] = True
        first += part.block.n_items
        for one, other in zip(
            part.block, whole.select(is_own)._replace(number=number), strict=True
        ):
            assert_array_equal(one, other)


@given(rows=value_rows(), size=st.integers(1, 20))
def test_names_that_were_met_keep_their_numbers_and_new_ones_come_behind(rows, size):
    old = as_encoded(rows)
    more = rows.with_columns(pl.format("0 {}", "source").alias("source"), value=pl.lit("0"))
    both = as_encoded(pl.concat([more, rows]), claims_per_block=size)
    grown = both.numbered_as(old.names)
    assert grown.names.sources.head(old.names.n_sources).equals(old.names.sources)
    assert grown.names.labels.head(len(old.names.labels)).equals(old.names.labels)
    assert sorted(grown.names.sources) == sorted(both.names.sources)
    for one, other in zip(both.blocks, grown.blocks, strict=True):
        assert (
            both.names.sources.gather(one.source_of_voice).to_list()
            == grown.names.sources.gather(other.source_of_voice).to_list()
        )
        assert (
            both.names.labels.gather(one.label_of_fact).to_list()
            == grown.names.labels.gather(other.label_of_fact).to_list()
        )


def test_a_source_that_names_two_values_of_an_item_is_one_voice():
    found = encoded({"source": ["a", "a", "b"], "entity": ["x"] * 3, "value": ["1", "2", "2"]})
    (block,) = found.blocks
    assert block.source_of_voice.tolist() == [0, 1]
    assert block.source_of_support.tolist() == [0, 0, 1]


def test_plain_numbers_in_text_are_compared_as_numbers_and_written_as_most_sources_do():
    columns = {"source": ["a", "b", "c"], "entity": ["x"] * 3, "value": ["1.50", "1.5", "1.50"]}
    found = encoded(columns)
    assert found.facts["value"].to_list() == ["1.50"]
    assert found.notes == (
        "values are numbers and compared as such: 1 spelling is merged with another",
    )


def test_one_word_among_the_values_makes_them_text():
    columns = {"source": ["a", "b", "c"], "entity": ["x"] * 3, "value": ["1.0", "1", "one"]}
    assert encoded(columns).facts["value"].to_list() == ["1", "1.0", "one"]


def test_numbers_sort_as_numbers():
    columns = {"source": ["a", "b"], "entity": ["x"] * 2, "value": ["10", "9"]}
    assert encoded(columns).facts["value"].to_list() == ["9", "10"]


def test_typed_values_keep_their_type():
    columns = {"source": [7, 8], "entity": [1, 1], "value": [2.5, 2.5]}
    found = encoded(columns)
    assert (found.names.sources.dtype, found.facts["value"].dtype) == (pl.Int64, pl.Float64)
    assert found.n_facts == 1


def test_the_same_entity_with_two_attributes_is_two_items():
    columns = {
        "source": ["a"] * 2,
        "entity": ["x"] * 2,
        "attribute": ["p", "q"],
        "value": ["1"] * 2,
    }
    found = encoded(columns)
    assert found.items.rows() == [("x", "p"), ("x", "q")]
    assert found.blocks[0].attribute_of_item.tolist() == [0, 1]


def test_a_source_that_calls_a_fact_both_true_and_false_says_nothing():
    columns = {"source": ["a", "a", "b"], "fact": ["p"] * 3, "claim": [True, False, True]}
    found = encoded(columns, "binary")
    assert found.n_claims == 1
    assert found.notes == (
        "1 time a source calls one fact both true and false: both claims are left out",
    )
    (block,) = found.blocks
    assert_array_equal(block.mark_of_item, marks_of(found.items))


def test_no_claims_at_all_is_an_error():
    with pytest.raises(veracity.errors.NoClaims, match="no claim is left"):
        encoded({"source": [], "entity": [], "value": []})
    columns = {"source": ["a", "a"], "fact": ["p"] * 2, "claim": [True, False]}
    with pytest.raises(veracity.errors.NoClaims, match="every source contradicts itself"):
        encoded(columns, "binary")


def test_of_numbers_it_is_told_what_facts_say_and_that_nothing_is_known_of_items():
    columns = {"source": ["a", "b"], "entity": ["x"] * 2, "value": [2.5, 1.5]}
    (block,) = encoded(columns, "numeric").blocks
    assert block.number_of_fact.tolist() == [1.5, 2.5]
    assert_array_equal(block.known_number_of_item, [np.nan])


@pytest.mark.parametrize("kind", ["categorical", "binary"])
def test_numbers_of_names_take_four_bytes_and_what_is_known_takes_one(kind):
    of_item = {"entity": ["x"], "value": ["1"]} if kind == "categorical" else {"fact": ["x"]}
    (block,) = encoded({"source": ["a"], "claim": [True], **of_item}, kind).blocks
    arrays = block.known_of_fact, block.label_of_fact, block.attribute_of_item
    assert [own.dtype for own in (*arrays, block.source_of_support, block.source_of_voice)] == [
        np.int8, *[np.int32] * 4
    ]  # fmt: skip


def test_who_denies_with_a_weight_supports_nothing():
    columns = {"source": ["a", "b"], "fact": ["p"] * 2, "claim": [True, False], "weight": [1.0, 2]}
    (block,) = encoded(columns, "binary").blocks
    assert (block.source_of_support.tolist(), block.source_of_voice.tolist()) == ([0], [0, 1])


def test_it_is_told_how_many_rows_were_taken_before_each_batch(monkeypatch):
    monkeypatch.setattr("veracity.reading.claims.ROWS_PER_BATCH", 2)
    rows = pl.DataFrame({"source": list("abcde"), "entity": ["x"] * 5, "value": ["1"] * 5})
    told = []
    encode(Claims.of_rows(rows, "categorical", "a test"), lambda *own: told.append(own))
    assert told == [("encoding", n, 5) for n in (0, 2, 4)]


def test_blocks_are_of_one_size():
    rows = [(f"s{s}", f"e{e:02}", "1") for e in range(40) for s in range(3)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    cut = encode(read_claims(claims), claims_per_block=30)
    assert [block.n_items for block in cut.blocks] == [10] * 4


def test_batches_are_taken_until_they_are_enough_rows_for_a_portion(monkeypatch):
    monkeypatch.setattr("veracity.encoding.encode.CLAIMS_PARTED", 5)
    batches = [np.full(n, n, np.int32) for n in (2, 3, 1, 9, 4)]
    columns = [*batches], [*batches]
    portions = list(_in_portions(columns))
    assert [len(own) for own, _ in portions] == [5, 10, 4]
    assert columns == ([], [])
    assert_array_equal(np.concatenate([own for own, _ in portions]), np.concatenate(batches))


def test_a_source_left_without_a_claim_is_no_source():
    columns = {"source": ["a", "a", "b"], "fact": ["p"] * 3, "claim": [True, False, True]}
    found = encoded(columns, "binary")
    assert found.names.sources.to_list() == ["b"]
    assert found.names.n_sources == 1


def test_two_spellings_of_one_number_are_one_label_in_all_items():
    columns = {"source": ["a", "a"], "entity": ["x", "y"], "value": ["1", "1.0"]}
    assert encoded(columns).blocks[0].label_of_fact.tolist() == [0, 0]


@given(rows=value_rows(), size=st.integers(1, 20))
def test_batches_and_parts_of_any_size_give_the_same_arrays(rows, size):
    at_once = encode(Claims.of_rows(rows, "multiple", "a test"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veracity.encoding.encode.CLAIMS_LAID_OUT", size)
        patch.setattr("veracity.reading.claims.ROWS_PER_BATCH", size)
        in_parts = encode(Claims.of_rows(rows, "multiple", "a test"))
    for one, other in zip(at_once.blocks[0], in_parts.blocks[0], strict=True):
        assert_array_equal(one, other)
    assert at_once.facts.equals(in_parts.facts)
    assert at_once.names.sources.equals(in_parts.names.sources)


@given(rows=value_rows(), seed=st.integers(0, 99))
def test_spellings_are_chosen_whatever_the_order_of_rows(rows, seed):
    spelt = rows.with_columns(pl.col("value") + pl.Series(["", ".0", ".00"]).sample(
        len(rows), with_replacement=True, seed=seed))  # fmt: skip
    found = encode(Claims.of_rows(spelt, "categorical", "a test"))
    usual = pl.col("value").mode().sort().first()
    number = pl.col("value").cast(pl.Float64).alias("number")
    expected = spelt.group_by("entity", number).agg(usual).sort("entity", "number")
    assert found.facts.equals(expected.select("entity", "value"))
    shuffled = encode(Claims.of_rows(spelt.sample(fraction=1.0, shuffle=True), "categorical", "x"))
    assert shuffled.facts.equals(found.facts)


def test_names_whose_first_hashes_agree_are_still_two(monkeypatch):
    def weak(column):
        good = Hashes(column.hash(1).to_numpy(), column.hash(2).to_numpy())
        return Hashes(good.first % np.uint64(2), good.second)

    monkeypatch.setattr(Hashes, "of", weak)
    names = [f"name {i}" for i in range(500)]
    found = encoded({"source": names, "entity": names, "value": names})
    assert (found.names.sources.to_list(), found.n_items) == (sorted(names), 500)


def test_free_memory_is_told_or_unknown(monkeypatch, tmp_path):
    for name, text in (("MEMINFO", "MemAvailable: 7 kB"), ("GROUP_LIMIT", "5000"),
                       ("GROUP_USE", "1000")):  # fmt: skip
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(memory, name, tmp_path / name)
    assert memory.free_memory() == 4000
    (tmp_path / "GROUP_LIMIT").write_text("max")
    assert memory.free_memory() == 7168
    (tmp_path / "MEMINFO").unlink()
    assert memory.free_memory() is None


def test_many_small_batches_are_numbered_as_one_large_one(tmp_path, monkeypatch):
    rows = veracity.synthetic.Synthetic(items=60).draw(seed=2).claims
    whole = encode(read_claims(rows))
    for number, part in enumerate(rows.iter_slices(37)):
        part.write_parquet(tmp_path / f"{number:03}.parquet")
    for few in (10_000, 10):
        monkeypatch.setattr("veracity.encoding.encode.MAX_CLAIMS_NUMPY", few)
        monkeypatch.setattr("veracity.kernels.MAX_CLAIMS_NUMPY", few)
        parts = encode(open_claims(tmp_path, ReadOptions()))
        assert parts.names.sources.equals(whole.names.sources)
        assert parts.facts.equals(whole.facts)
        assert (parts.blocks[0].source_of_support == whole.blocks[0].source_of_support).all()


def test_items_are_drawn_by_name_wherever_they_lie():
    """Items of which the same is said by the same sources are not drawn, or left out, together."""
    rows = [(f"s{s}", f"e{e}", str(s % 2)) for e in range(3_000) for s in range(3)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    table = read_claims(claims)
    whole, cut = encode(table), encode(table, claims_per_block=700)
    assert len(cut.blocks) > 5
    drawn = np.concatenate([block.sampled(0.1, least=0) for block in whole.blocks])
    assert 200 < drawn.sum() < 400
    names = whole.items.filter(drawn)["entity"]
    also = np.concatenate([block.sampled(0.1, least=0) for block in cut.blocks])
    assert names.equals(cut.items.filter(also)["entity"])


@given(rows=value_rows(), size=st.integers(1, 20), most=st.integers(0, 8))
def test_the_same_items_are_drawn_however_claims_are_cut_and_one_at_least(rows, size, most):
    whole, cut = as_encoded(rows), as_encoded(rows, claims_per_block=size)
    drawn = whole.sampled(most)
    assert drawn.n_items >= 1
    assert cut.sampled(most).items.equals(drawn.items)
    some, answers = cut.sampled_with([np.arange(block.n_facts) for block in cut.blocks], most)
    assert some.items.equals(drawn.items)
    assert [len(own) for own in answers] == some.n_facts_of_block


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_items_are_the_same_whether_all_pairs_have_a_place_or_are_looked_up(pairs):
    of_entity, of_attribute = np.array([3, 1, 4, 0, 2], np.int32), np.array([2, 0, 3, 1], np.int32)
    expected = [4 * of_entity[entity] + of_attribute[attribute] for entity, attribute in pairs]
    with ThreadPoolExecutor(2) as pool:
        for find in (partial(_paired_by_place, pool=pool), _paired_by_hash):
            batches = np.array_split(np.array(pairs, np.int32), 3)
            entity, attribute = ([batch[:, i] for batch in batches] for i in range(2))
            rows, found = find(Numbered(entity, of_entity), Numbered(attribute, of_attribute))
            assert found[rows.place[np.concatenate(rows.number)]].tolist() == expected
            assert found.tolist() == sorted(set(expected))


@given(rows=value_rows(), size=st.integers(1, 20))
def test_blocks_that_are_joined_are_the_block_they_were_cut_from(rows, size):
    whole, cut = as_encoded(rows), as_encoded(rows, claims_per_block=size)
    (part,) = whole.parts
    joined = Partition.joined(cut.parts)
    assert joined.items.equals(part.items)
    assert joined.values.equals(part.values)
    for own, other in zip(joined.block, part.block, strict=True):
        assert np.array_equal(own, other)


@given(rows=value_rows(), size=st.integers(1, 20), most=st.integers(0, 8))
def test_a_few_items_are_drawn_into_one_part_with_their_answers(rows, size, most):
    cut = as_encoded(rows, claims_per_block=size)
    number = np.arange(cut.n_facts)
    some, answers = cut.sampled_with(cut.by_block(number), most)
    assert len(some.parts) == 1 or some is cut
    assert some.facts.equals(cut.facts[np.concatenate(answers)])
    assert cut.sampled_with(None, most)[0].facts.equals(some.facts)
