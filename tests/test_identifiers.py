"""Identifiers are no numbers, and placeholders are no values, unless they are labels."""

from __future__ import annotations

import json
from datetime import date

import polars as pl
import pytest

from veracity.reading.normalise import Normalisation, detect, normalise


def rows_of(values) -> pl.DataFrame:
    return pl.DataFrame({"entity": [f"e{n}" for n in range(len(values))], "value": values})


def normalised(values, kind=None) -> list[str]:
    return normalise(rows_of(values), {"": kind} if kind else None)[1].rows["value"].to_list()


@pytest.mark.parametrize(
    "codes",
    [
        ["4006381333931", "5901234123457", "96385074"],
        ["0306406152", "080442957X", "9780306406157"],
        ["004711", "123456", "000815"],
    ],
)
def test_identifiers_are_no_numbers(codes):
    assert detect(rows_of(codes)).kinds == {"": "identifier"}
    assert normalised(codes) == codes


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["20111201", "20111224", "20120106"], "number"),  # dates, if the user says so
        (["4006381333932", "5901234123456", "1234567"], "number"),
        (["12", "7", "100"], "number"),
        (["007", "008"], "text"),
    ],
)
def test_other_digits_are_none(values, kind):
    assert detect(rows_of(values)).kinds == {"": kind}


def test_dates_in_digits_can_be_named_and_numbers_too():
    assert normalised(["20111201"], "date") == [str(date(2011, 12, 1))]
    codes = ["4006381333931", "5901234123457"]
    assert detect(rows_of(codes), {"": "number"}).kinds == {"": "number"}
    assert detect(rows_of(codes), claims_kind="numeric").kinds == {"": "number"}


def test_leading_zeros_that_a_spreadsheet_took_off_come_back_and_the_note_shows_them():
    codes = ["0012345678905", "4006381333931", "12345678905", "012345678905", "96385074"]
    found, after = normalise(rows_of(codes))
    full = ["0012345678905", "4006381333931", "0012345678905", "0012345678905", "96385074"]
    assert after.rows["value"].to_list() == full
    assert 'padded with zeros: 2 claims, such as "' in after.notes[0]
    again = Normalisation.from_json(json.loads(json.dumps(found.to_json())))
    assert again.apply(rows_of(["12345678905"])).rows["value"].to_list() == ["0012345678905"]
    articles = ["004711", "4711", "000815", "123456"]
    assert normalised(articles) == ["004711", "004711", "000815", "123456"]


@pytest.mark.parametrize(
    "placeholder",
    ["k.A.", "k. A.", "n/a", "N.A.", "#REF!", "#DIV/0!", r"\N", "<NA>", "(blank)", "unbekannt",
     "keine Angabe", "none", "-", "inconnu", "non disponible", "desconocido", "sconosciuto",
     "onbekend", "n.v.t.", "desconhecido", "não disponível", "nicht verfügbar"],
)  # fmt: skip
def test_placeholders_of_many_languages_are_left_out(placeholder):
    after = normalise(rows_of(["A1", "B7", placeholder]))[1]
    assert after.rows["value"].to_list() == ["A1", "B7"]


def test_a_placeholder_that_is_a_label_stays_and_so_do_truths_that_name_it():
    labels = ["none", "mild", "severe"] * 20 + ["n/a"]
    found, after = normalise(rows_of(labels))
    assert set(after.rows["value"]) == {"none", "mild", "severe"}
    truths = found.apply(rows_of(["None", "mild"]), like=after.rows)
    assert truths.rows["value"].to_list() == ["none", "mild"]
    colours = ["red", "blue", "green", "white"] * 20 + ["unknown", "none"]
    assert set(normalised(colours)) == {"red", "blue", "green", "white"}
