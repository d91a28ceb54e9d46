from __future__ import annotations

from datetime import date, datetime

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veracity.errors import MissingColumn, ParameterError
from veracity.io.reader import LazyReader
from veracity.reading.options import ReadOptions
from veracity.reading.roles import CLAIM_COLUMNS, KINDS, comparable, numbers_in
from veracity.reading.sniff import sniff

VALUES = CLAIM_COLUMNS["categorical"]


def columns_of(found, given=None, wanted=VALUES):
    rows = pl.LazyFrame(schema=dict.fromkeys(found, pl.String))
    options = ReadOptions(columns=given or {})
    return sniff(LazyReader(rows, "claims.csv"), wanted, options, [], {}).named


def test_every_kind_of_claims_has_its_columns():
    assert set(KINDS) == set(CLAIM_COLUMNS)


def test_the_very_name_wins_over_another_spelling_and_over_a_usual_name():
    found = ["SOURCE", "Source", "source", "website", "entity", "value"]
    assert columns_of(found)["source"] == "source"


def test_another_spelling_wins_over_a_usual_name():
    assert columns_of(["website", " Source", "entity", "value"])["source"] == " Source"


def test_of_usual_names_the_most_telling_wins():
    assert columns_of(["source", "id", "object", "value"])["entity"] == "object"


def test_a_column_the_user_named_plays_no_second_part():
    parts = columns_of(["entity", "id", "value"], {"source": "entity"})
    assert parts == {"source": "entity", "entity": "id", "value": "value"}


def test_the_attribute_may_be_missing():
    assert "attribute" not in columns_of(["source", "entity", "value"])


def test_a_missing_column_is_named_with_those_found_and_with_both_ways_to_name_it():
    with pytest.raises(MissingColumn) as error:
        columns_of(["source", "entity", "the price"])
    assert str(error.value) == (
        "claims.csv: no column 'value' among 'source', 'entity', 'the price'; name one, "
        "e.g. columns={'value': 'the price'} or --columns 'value=the price'"
    )


def test_a_column_that_plays_another_part_is_no_hint_to_take_any_other():
    found = ["source", "entity", "value", "confidence"]
    with pytest.raises(MissingColumn) as error:
        columns_of(found, {"weight": "value"}, (*VALUES, "weight"))
    assert str(error.value) == (
        "claims.csv: column 'value' is already used as the weight, and no other looks like the "
        "value; name one, e.g. columns={'value': 'NAME'} or --columns value=NAME"
    )


def test_a_name_with_a_line_break_does_not_break_the_sentence():
    with pytest.raises(MissingColumn, match=r"'two\\nlines'") as error:
        columns_of(["source", "two\nlines"])
    assert "\n" not in str(error.value)


def test_of_many_columns_only_some_are_listed():
    with pytest.raises(MissingColumn, match="'c11' and 88 more"):
        columns_of([f"c{i}" for i in range(100)])


def test_a_named_column_that_is_missing_is_an_error():
    with pytest.raises(MissingColumn, match=r"among 'Website', 'b', 'c'; did you mean 'Website'\?"):
        columns_of(["Website", "b", "c"], {"source": "web site"})
    with pytest.raises(MissingColumn, match="no column 'site', named as the source, among 'a'"):
        columns_of(["a"], {"source": "site"})


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            {"sauce": "a"},
            "'sauce' is not one of 'source', 'entity', 'attribute', 'value', 'time', 'weight'$",
        ),
        ({"a": "source"}, "'a' is not one of .*'weight'; the role comes first: {'source': 'a'}$"),
        ({"source": "a", "entity": "a"}, "'a' cannot be both the source and the entity"),
        ("source=a", "columns must be a mapping"),
    ],
)
def test_columns_that_make_no_sense_are_refused(given, complaint):
    with pytest.raises(ParameterError, match=complaint):
        columns_of(["a", "b", "c"], given)


def test_columns_that_pandas_numbers_can_be_named_by_number():
    assert columns_of(["0", "1", "2"], {"source": 0, "entity": 1, "value": 2})["value"] == "2"


@pytest.mark.parametrize(
    "texts",
    [["1", "x"], ["007"], ["1e5"], ["+1"], ["1,5"], [" 1"], ["1\n"], ["1٣"], [".5"], ["1."], [""]],
)
def test_what_is_no_plain_number_stays_text(texts):
    assert numbers_in(pl.Series(texts)) is None


@example([9999999999999998, 9999999999999999])
@given(st.lists(st.integers(-(10**18), 10**18), min_size=1, max_size=5))
def test_different_whole_numbers_stay_different(numbers):
    found = numbers_in(pl.Series([str(number) for number in numbers]))
    assert found is None or found.n_unique() == len(set(numbers))


@pytest.mark.parametrize(
    ("claimed", "true"),
    [
        (["1.0", "2"], [1, 2]),
        (["1.0", "2"], ["1", "2.00"]),
        ([1, 2], ["1.0", "2"]),
        ([1, 2], [1.0, 2.0]),
        (pl.Series([0.1, 0.2], dtype=pl.Float32), [0.1, 0.2]),
        ([2**53, 2**53 + 1], [2**53, 2**53 + 1]),
        ([True, False], ["True", "FALSE"]),
        (["007", "x"], ["007", "x"]),
        (["7", "x"], pl.Series([7, 8]).cast(pl.String).replace("8", "x")),
        ([date(2024, 5, 1)], ["2024-05-01"]),
        ([datetime(2024, 5, 1, 12, 30)], ["2024-05-01T12:30:00"]),
        ([datetime(2024, 5, 1, 12, 30)], ["2024-05-01 12:30:00.000"]),
    ],
)
def test_the_same_value_is_the_same_whatever_its_type(claimed, true):
    one, other = comparable(pl.Series(claimed), pl.Series(true))
    assert one.equals(other, check_dtypes=True)
    assert one.n_unique() == len(claimed)


@pytest.mark.parametrize(
    ("claimed", "true"), [(["a"], [1]), ([1], ["a"]), ([date(2024, 5, 1)], [3]), ([True], [2])]
)
def test_what_cannot_be_compared_is_different(claimed, true):
    one, other = comparable(pl.Series(claimed), pl.Series(true))
    assert not one.equals(other)
