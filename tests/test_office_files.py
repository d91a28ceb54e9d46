"""Tables as people have them: an office, a crowd, a notebook, language models, a statistics office.

Nothing of them is misread in silence, and what is refused is told with what to do.
"""

from __future__ import annotations

import json
from datetime import date

import pandas as pd  # noqa: TID251 - a notebook has it
import polars as pl
import pytest
import xlsxwriter
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.errors import BadValue, ParameterError

ARTICLES = [(4001, "pen", 1.29), (4002, "ink", 4.5), (4003, "ruler", 2.0), (4004, "stapler", 9.95)]


def price_list(path, off=0.0):
    """One shop's list: a title over merged cells, a header, articles."""
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Prices")
    sheet.merge_range("A1:D1", f"Price list {path.stem}, valid from 01.10.2026")
    rows = [("Article no.", "Description", "Price (EUR)", "In stock")]
    rows += [
        (n, text, price + off * (n == 4002), "yes" if n % 2 else "no")
        for n, text, price in ARTICLES
    ]
    for number, row in enumerate(rows, start=1):
        for column, cell in enumerate(row):
            if cell is not None:
                sheet.write(number, column, cell)
    book.close()


@pytest.fixture
def shops(tmp_path):
    folder = tmp_path / "shops"
    folder.mkdir()
    price_list(folder / "Papierhaus.xlsx")
    price_list(folder / "BüroMax.xlsx", off=0.5)
    price_list(folder / "direct.xlsx")
    return folder


# --- an office ------------------------------------------------------------------------------------


def test_a_title_is_no_claim(shops):
    result = veracity.discover(shops, source_from="filename")
    assert result.run.input.claims == 3 * 4 * 3
    assert result.truths["entity"].dtype == pl.Int64
    assert any("lines above the header skipped" in note for note in result.notes)


def test_columns_of_records_have_the_types_they_came_with(shops, tmp_path):
    result = veracity.discover(shops, source_from="filename")
    result.save(tmp_path / "run")
    for own in (result, veracity.load(tmp_path / "run")):
        records = own.records()
        assert dict(records.schema) == {
            "Article no.": pl.Int64,
            "Description": pl.String,
            "In stock": pl.String,
            "Price (EUR)": pl.Float64,
        }
        assert records["Price (EUR)"].to_list() == [1.29, 4.5, 2.0, 9.95]
    assert "Price (EUR)_plausibility" in result.records(plausibility=True).columns


def test_a_column_that_cannot_have_its_type_stays_text():
    rows = {
        "source": ["a", "b"] * 2,
        "entity": [1, 1, 2, 2],
        "size": [1, 1, 2, 2],
        "who": list("xxyy"),
    }
    whole, some = pl.DataFrame(rows), pl.DataFrame({**rows, "size": ["1", "1", "none", "2"]})
    assert veracity.discover(whole).records().schema["size"] == pl.Int64
    assert veracity.discover(some).records().schema["size"] == pl.String


def test_decimal_commas_are_read_where_it_is_said_and_else_told_how(tmp_path):
    rows = ["Händler;Artikel;Preis;Datum"]
    rows += [
        f"{s};A{n};{n},{s[-1]}0;0{n}.03.2026"
        for s in ("Müller1", "Weiß1", "Söhne2")
        for n in (1, 2)
    ]
    (tmp_path / "preise.csv").write_bytes("\r\n".join(rows).encode("cp1252"))
    how = {
        "columns": {"source": "Händler", "entity": "Artikel", "value": "Preis"},
        "kind": "numeric",
    }
    with pytest.raises(BadValue, match="or --normalise, numbers with a unit or a decimal comma"):
        veracity.discover(tmp_path / "preise.csv", **how)
    result = veracity.discover(tmp_path / "preise.csv", "crh", normalise=True, **how)
    assert result.truths["value"].is_between(1.0, 2.2).all()
    wide = veracity.discover(
        tmp_path / "preise.csv", wide="attributes", normalise=True,
        columns={"source": "Händler", "entity": "Artikel"},
    )  # fmt: skip
    assert "2026-03-01" in wide.truths["value"].to_list()


def supplier(path, numbers, cover=()):
    """A workbook with a cover, if there is one, and a list of articles under these numbers."""
    book = xlsxwriter.Workbook(path)
    for row, cells in enumerate(cover):
        (book.get_worksheet_by_name("Cover") or book.add_worksheet("Cover")).write_row(
            row, 0, cells
        )
    sheet = book.add_worksheet("Articles")
    sheet.write_row(0, 0, ["Article no.", "Price", "Stock"])
    for row, number in enumerate(numbers, start=1):
        sheet.write_row(row, 0, [number, 1.5 * row, 10 * row])
    book.close()
    return path


def test_truths_of_an_office_name_attributes_in_another_spelling(tmp_path):
    rows = {
        "supplier": ["a", "b", "c"] * 4,
        "sku": [f"s{n // 3}" for n in range(12)],
        "unit_price": ["1", "2", "2"] * 4,
        "colour": ["red", "red", "blue"] * 4,
    }
    pl.DataFrame(rows).write_csv(tmp_path / "claims.csv")
    (tmp_path / "known.csv").write_text("SKU,Unit Price,Colour\ns0,1,blue\ns1,1,blue\n")
    result = veracity.discover(tmp_path / "claims.csv", known=tmp_path / "known.csv")
    assert result.run.input.known == 4
    assert "known: 'Unit Price' is taken as 'unit_price'" in result.notes
    judged = veracity.evaluate(veracity.discover(tmp_path / "claims.csv"), tmp_path / "known.csv")
    assert judged.judged == 4
    assert "'Colour' is taken as 'colour'" in judged.notes


def test_what_can_be_said_of_a_table_is_a_list(tmp_path):
    (tmp_path / "stations.csv").write_text("hour,north,south\n0:00,17.2,16.5\n1:00,16.9,16.1\n")
    run = CliRunner().invoke(main, ["discover", str(tmp_path / "stations.csv")])
    told, *choices = run.output.splitlines()
    assert told.endswith("(the first row: hour=0:00, north=17.2, south=16.5)")
    assert "  - if each is a source, --wide sources --columns entity=NAME" in choices
    assert all(choice.startswith("  - ") for choice in choices)


def test_records_stand_as_the_columns_did_with_numbers_and_dates(tmp_path):
    rows = {
        "miller": "A1;2.562;12,50 €;28. März 2021\nA2;62;1.007,00 €;1. Mai 2020",
        "acme": "A1;2562;EUR 12,50;28.03.21\nA2;62 Stk.;EUR 1.007,00;01.05.20",
    }
    for name, text in rows.items():
        (tmp_path / f"{name}.csv").write_text(f"No.;Stock;Price;valid from\n{text}")
    result = veracity.discover(tmp_path, source_from="filename", normalise=True)
    result.save(tmp_path / "run")
    for own in (result, veracity.load(tmp_path / "run")):
        records = own.records()
        assert records.columns == ["No.", "Stock", "Price", "valid from"]
        assert records.rows() == [
            ("A1", 2562, 12.5, date(2021, 3, 28)), ("A2", 62, 1007.0, date(2020, 5, 1)),
        ]  # fmt: skip
        assert records.schema["Stock"] == pl.Int64
        own.write(tmp_path / "golden.xlsx", "records", force=True)
        assert pl.read_excel(tmp_path / "golden.xlsx").rows() == records.rows()


def test_numbers_without_a_unit_among_others_are_told_of():
    rows = {"source": list("abc"), "entity": ["x"] * 3, "value": ["4 kg", "4000 g", "4"]}
    result = veracity.discover(pl.DataFrame(rows), normalise=True)
    assert any('not converted, as no unit is given: 1 claim, "4"' in note for note in result.notes)


def test_numbers_too_long_for_a_float_stay_text():
    rows = {"source": list("aab"), "entity": list("xyx"), "value": ["1" * 20 + ".5", "2.0", "2"]}
    found = veracity.discover(pl.DataFrame(rows), normalise={"": "number"}).records()
    assert found["value"].to_list() == ["1" * 20 + ".5", "2"]


def test_a_command_takes_several_files_and_sheets(tmp_path):
    cover = [("Miller & Sons",), ("as of", "2 November 2026")]
    files = [supplier(tmp_path / f"{name}.xlsx", range(4001, 4031), cover) for name in "abc"]
    named = [f"{files[0]}#Articles", *map(str, files[1:])]
    done = CliRunner().invoke(main, ["discover", *named, "--source-from", "filename"])
    assert done.exit_code == 0, done.output
    assert "180 claims of 3 sources about 60 items" in done.stdout


def test_articles_that_lost_their_zeros_are_told_of(tmp_path):
    supplier(tmp_path / "a.xlsx", [f"{n:06d}" for n in range(4001, 4031)])
    supplier(tmp_path / "b.xlsx", range(4001, 4031))
    result = veracity.discover(tmp_path, source_from="filename")
    (seen,) = result.findings.filter(name="entity-spellings")["seen"]
    assert "30 of 30 entities (100%) have two names or more, such as '004001' and '4001'" in seen


# --- a crowd --------------------------------------------------------------------------------------


LABELS = ("good", "bad", "unclear")


def labelled():
    """Three annotators on two questions to twenty texts: what each of them says."""
    for text in range(20):
        for place, worker in enumerate(("ann", "bob", "cem")):
            is_odd = place == 2 and text % 4 == 0
            yield text, worker, LABELS[(text + is_odd) % 3], "yes" if text % 5 else "no"


@pytest.fixture
def batch(tmp_path):
    """As Mechanical Turk writes it: what was asked, who answered, and much else."""
    rows = [
        {"HITId": f"3X{text:02}", "Title": "Moods", "Reward": "$0.05", "MaxAssignments": 3,
         "AssignmentId": f"A{number}", "WorkerId": worker, "AssignmentStatus": "Approved",
         "WorkTimeInSeconds": 20 + number, "Input.text": f"text {text:02}",
         "Answer.mood": mood, "Answer.rude": rude}
        for number, (text, worker, mood, rude) in enumerate(labelled())
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "batch.csv")
    return tmp_path / "batch.csv"


def test_several_columns_named_as_the_value_are_attributes(batch, tmp_path):
    columns = {"entity": "Input.text", "value": ["Answer.mood", "WorkTimeInSeconds"]}
    result = veracity.discover(batch, columns=columns)
    assert set(result.truths["attribute"]) == {"Answer.mood", "WorkTimeInSeconds"}
    assert not any("|" in value for value in result.facts["value"])
    again = veracity.load(result.save(tmp_path / "run")).fitted.judge(batch)
    assert set(again.truths["attribute"]) == {"Answer.mood", "WorkTimeInSeconds"}
    result.write(tmp_path / "truths.csv")
    assert pl.read_csv(tmp_path / "truths.csv").columns[:3] == ["Input.text", "attribute", "value"]
    with pytest.raises(ParameterError, match="so each is an attribute"):
        veracity.discover(batch, columns={**columns, "attribute": "Title"})


# --- a notebook -----------------------------------------------------------------------------------


@pytest.fixture
def gdp():
    rows = [
        (source, country, year, float(3 * i + j + (source == "IMF" and i + j == 3)))
        for source in ("WB", "UN", "IMF")
        for i, country in enumerate(["DE", "FR", "IT"])
        for j, year in enumerate([2020, 2021])
    ]
    return pd.DataFrame(rows, columns=["source", "country", "year", "value"])


@pytest.mark.parametrize(
    "handed",
    [
        lambda frame: frame.set_index(["country", "year"]),
        lambda frame: frame.set_index(["source", "country", "year"]),
        lambda frame: frame.set_index(["source", "country", "year"])["value"],
        lambda frame: frame.pivot(index=["country", "year"], columns="source", values="value"),
    ],
    ids=["two levels", "three levels", "a series", "a column per source"],
)
def test_an_index_of_several_levels_names_the_entity(gdp, handed):
    result = veracity.discover(handed(gdp))
    assert result.truths["entity"].tolist()[0] == "DE | 2020"
    assert "the index names the entity: 'country', 'year'" in result.notes
    records = result.records()
    assert records.columns[:2].tolist() == ["country", "year"]
    joined = gdp[gdp.source == "WB"].merge(records, on=["country", "year"], suffixes=("", "_found"))
    assert (joined["value"] == joined["value_found"]).all()


# --- an entity in two columns ---------------------------------------------------------------------

SURVEY = "agency,country,year,estimate\n" + "".join(
    f"{agency},{country},{year},{year % 100 + len(country)}\n"
    for agency in ("WB", "UN", "IMF")
    for country in ("DE", "FR", "IT|")
    for year in range(2018, 2023)
)


def test_several_columns_make_up_an_entity(tmp_path):
    (tmp_path / "survey.csv").write_text(SURVEY)
    (tmp_path / "known.csv").write_text("country,year,estimate\nDE,2018,20\n")
    named = {"source": "agency", "entity": ["country", "year"], "value": "estimate"}
    joined = {**named, "entity": "country+year"}
    for columns in (named, joined):
        result = veracity.discover(
            tmp_path / "survey.csv", columns=columns, known=tmp_path / "known.csv"
        )
        assert result.run.input.items == 15
        assert result.run.input.known == 1
        assert result.records().row(10) == ("IT|", "2018", "21")
        assert result.why("DE | 2018").words
    new = tmp_path / "new.csv"
    new.write_text("agency,country,year,estimate\nUN,DE,2023,25\n")
    assert result.fitted.judge(new).truths["entity"].to_list() == ["DE | 2023"]


def test_cells_with_the_sign_between_them_stay_apart():
    rows = [("a", "x | y", "z"), ("a", "x", "y | z"), ("b", "x", "y | z"), ("b", "x | y", "z")]
    claims = pl.DataFrame(rows, schema=["source", "one", "two"], orient="row")
    claims = claims.with_columns(value=pl.lit(1))
    result = veracity.discover(claims, columns={"entity": ["one", "two"]})
    assert result.run.input.items == 2
    assert sorted(result.records().select("one", "two").rows()) == [("x", "y | z"), ("x | y", "z")]


def test_a_day_is_the_same_beside_text_and_beside_other_days(tmp_path):
    book = xlsxwriter.Workbook(tmp_path / "days.xlsx")
    as_day = book.add_format({"num_format": "yyyy-mm-dd"})
    for name, first in (("one", date(2024, 1, 1)), ("two", "unknown"), ("three", "")):
        sheet = book.add_worksheet(name)
        sheet.write_row(0, 0, ("item", "when"))
        for row, (item, cell) in enumerate((("p", first), ("q", date(2024, 1, 2))), start=1):
            sheet.write(row, 0, item)
            sheet.write(row, 1, cell, *([as_day] if isinstance(cell, date) else []))
    book.close()
    result = veracity.discover(tmp_path / "days.xlsx", "majority-vote", source_from="sheet")
    found = result.truths.filter(pl.col("entity") == "q").row(0, named=True)
    assert (found["value"], found["plausibility"], found["claims"]) == ("2024-01-02", 1.0, 3)


def test_annotations_of_label_studio_that_are_known_truths_judge_the_others(tmp_path):
    tasks = [
        {"id": n, "data": {"text": f"t{n}"}, "annotations": [
            {"completed_by": who, "was_cancelled": who == 3, "ground_truth": who == 9, "result": [
                {"from_name": "mood", "value": {"choices": ["bad" if who > 1 + n else "good"]}}]}
            for who in (1, 2, 3, *([9] if n == 0 else []))
        ]}
        for n in range(3)
    ]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    columns = {
        "source": "annotations.completed_by", "entity": "data.text",
        "attribute": "annotations.result.from_name", "value": "annotations.result.value.choices",
    }  # fmt: skip
    result = veracity.discover(path, "majority-vote", columns=columns)
    assert veracity.evaluate(result, path).measures()["judged"] == 1
    assert veracity.evaluate(result, path).accuracy == 0.5
    result = veracity.discover(path, "majority-vote", columns=columns, known=path)
    assert dict(result.truths.select("entity", "value").iter_rows())["t0"] == "bad"
    assert result.run.input.known == 1
