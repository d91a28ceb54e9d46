"""Identifiers are no numbers, and placeholders are no values, unless they are labels."""

from __future__ import annotations

import contextlib
import html
import json
import sqlite3
from datetime import date

import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.errors import ParameterError
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
        (["20111201", "20111224", "20120106"], "date"),
        (["20111201", "20111224", "20121306"], "number"),
        (["4006381333932", "5901234123456", "1234567"], "number"),
        (["12", "7", "100"], "number"),
        (["007", "008"], "text"),
    ],
)
def test_other_digits_are_no_identifiers(values, kind):
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


LACKING = [
    {"source": source, "entity": entity, "value": value}
    for source, values in {
        "a": ["12", "k.A.", "9999"],
        "b": ["12", " k.A. ", "7"],
        "c": ["13", "k.A.", "9999"],
    }.items()
    for entity, value in zip("xyz", values, strict=True)
]


def as_file(folder) -> str:
    pl.DataFrame(LACKING).write_csv(folder / "claims.csv")
    return str(folder / "claims.csv")


def as_database(folder) -> str:
    with contextlib.closing(sqlite3.connect(folder / "claims.db")) as database, database:
        database.execute("create table claims (source, entity, value)")
        database.executemany("insert into claims values (:source, :entity, :value)", LACKING)
    return f"sqlite:///{folder / 'claims.db'}#claims"


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("given", [as_file, as_database, lambda _: LACKING])
def test_texts_that_a_user_calls_no_value_are_left_out_and_counted(tmp_path, given, normalise):
    said = ["k.A.", "9999", "so what"]
    result = veracity.discover(given(tmp_path), "majority-vote", no_value=said, normalise=normalise)
    assert dict(result.truths.select("entity", "value").iter_rows()) == {"x": "12", "z": "7"}
    note = (
        "left out as no value: 3 claims 'k.A.', 2 claims '9999'; no claim has the value 'so what'"
    )
    assert note in result.notes


def test_a_number_may_mean_that_there_is_no_value():
    rows = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "x"], "value": [9999.0, 2.5]})
    result = veracity.discover(rows, kind="numeric", no_value=["9999"])
    assert result.truths["value"].to_list() == [2.5]
    facts = pl.DataFrame({"source": ["a", "b"], "fact": ["x", "x"], "claim": ["?", "yes"]})
    assert veracity.discover(facts, kind="binary", no_value="?").run.input.claims == 1


def test_what_means_no_value_is_kept_for_truths_and_new_claims(tmp_path):
    result = veracity.discover(LACKING, no_value=["k.A.", "9999"])
    result.save(tmp_path / "run")
    again = veracity.load(tmp_path / "run")
    truth = [{"entity": "x", "value": "12"}, {"entity": "z", "value": "9999"}]
    for one in (result, again):
        assert one.run.input.no_value == ["k.A.", "9999"]
        assert veracity.evaluate(one, truth).judged == 1
        for judged in (one.fitted.judge(LACKING), one.fitted.update(LACKING)):
            assert set(judged.truths["value"]) == {"12", "7"}
            assert judged.run.input.no_value == ["k.A.", "9999"]
    known = veracity.discover(LACKING, no_value=["k.A.", "9999"], known=truth)
    assert known.run.input.known == 1
    assert any("1 truth '9999'" in note for note in known.notes)


def test_texts_that_mean_no_value_are_checked():
    with pytest.raises(ParameterError, match="no_value must be a list of texts"):
        veracity.discover(LACKING, no_value=[9999])


def test_the_command_line_takes_texts_that_mean_no_value(tmp_path):
    path, run = as_file(tmp_path), str(tmp_path / "run")
    words = ["discover", path, "--no-value", "k.A.", "--no-value", "9999", "--out", run]
    done = CliRunner().invoke(main, words)
    assert "left out as no value: 3 claims 'k.A.', 2 claims '9999'" in done.output
    page = tmp_path / "page.html"
    veracity.load(run).write_report(page)
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert "--no-value k.A. --no-value 9999" in text
