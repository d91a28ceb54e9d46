"""Tables as people have them: an office, a crowd, a notebook, language models, a statistics office.

Nothing of them is misread in silence, and what is refused is told with what to do.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from datetime import date

import pandas as pd  # noqa: TID251 - a notebook has it
import polars as pl
import pytest
import xlsxwriter
from click.testing import CliRunner

import veracity
from veracity.cli import main
from veracity.errors import BadValue, InputError, MissingColumn, ParameterError

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


def test_a_cover_is_no_table_of_claims(tmp_path):
    cover = [("Miller & Sons",), ("as of", "2 November 2026"), ("clerk", "Smith")]
    supplier(tmp_path / "miller.xlsx", range(4001, 4031), cover)
    supplier(tmp_path / "acme.xlsx", range(4001, 4031))
    result = veracity.discover(tmp_path, source_from="filename")
    assert (result.run.input.sources, result.run.input.items) == (2, 60)
    assert any("sheet 'Articles' is read, and 1 more is not" in note for note in result.notes)


def stocktaking(path, covers=("Info",)):
    """A workbook with a sheet for each of three stores, and others that tell of the workbook."""
    book = xlsxwriter.Workbook(path)
    for name in covers:
        book.add_worksheet(name).write_column(0, 0, ["Stocktaking 2026", "Clerk: Smith"])
    for store, off in (("North", 0), ("South", 0), ("East", 1)):
        sheet = book.add_worksheet(store)
        sheet.write_row(0, 0, ["Article no.", "Pieces", "Shelf"])
        for row in range(1, 9):
            sheet.write_row(row, 0, [4000 + row, 10 * row + off * (row < 3), f"{row} A"])
    book.close()
    return path


def test_a_sheet_that_has_no_column_of_the_others_is_no_source(tmp_path):
    book = stocktaking(tmp_path / "stock.xlsx", ["Info", "Legend"])
    result = veracity.discover(book, source_from="sheet")
    assert result.sources["source"].to_list() == ["East", "North", "South"]
    told = "stock.xlsx: sheets that share no column with others are left out: 'Info', 'Legend'"
    assert any(told in note for note in result.notes)
    named = f"{book}#Info"  # what is named is meant
    with pytest.raises(MissingColumn, match="sheet Info"):
        veracity.discover(named, source_from="sheet")


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


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_files_that_spell_their_headers_differently_speak_of_the_same(tmp_path, ending):
    for name, header in (
        ("acme", ["SKU", "Unit Price", "Active"]),
        ("buck", ["sku", "unit_price", "active"]),
        ("cobb", ["Sku", "UnitPrice", "active"]),
        ("dunn", ["S-K-U", "unitprice", "active"]),
    ):
        rows = [(f"K{n}", 5 + n + (name == "cobb" and n == 2), "yes") for n in range(6)]
        table = pl.DataFrame(rows, schema=header, orient="row")
        path = tmp_path / f"{name}.{ending}"
        table.write_csv(path) if ending == "csv" else table.write_excel(path)
    result = veracity.discover(tmp_path, source_from="filename")
    assert (result.run.input.sources, result.run.input.items) == (4, 12)
    assert result.records().columns == ["SKU", "Unit Price", "Active"]
    (told,) = [note for note in result.notes if "spell differently" in note]
    assert "'unit_price' as 'Unit Price'" in told
    named = {"entity": "SKU", "value": "Unit Price"}
    assert veracity.discover(tmp_path, source_from="filename", columns=named).run.input.items == 6


def test_that_each_sheet_may_be_a_source_is_told(tmp_path):
    with pytest.raises(MissingColumn, match="if each sheet is a source, --source-from sheet"):
        veracity.discover(stocktaking(tmp_path / "stock.xlsx"))


def weighed(path, rows, start=(0, 0)):
    """A list of articles with weights that have their units in the format of the cells."""
    book = xlsxwriter.Workbook(path)
    sheet, (top, left) = book.add_worksheet("List"), start
    sheet.write_row(top, left, ["Article", "Weight", "Price"])
    price = book.add_format({"num_format": "#,##0.00 [$€-407]"})
    for row, (article, weight, shown) in enumerate(rows, start=top + 1):
        sheet.write(row, left, article)
        sheet.write(row, left + 1, weight, book.add_format({"num_format": shown}))
        sheet.write(row, left + 2, 1.5 * row, price)
    book.close()


def test_units_in_the_formats_of_cells_are_not_read_and_noted(tmp_path):
    kilograms = [("A", 0.5, '0.0" kg"'), ("B", 1.25, '0.00" kg"'), ("C", 2, '0" kg"')]
    weighed(tmp_path / "acme.xlsx", kilograms)
    grams = [("A", 500, '0" g"'), ("B", 1250, '#,##0\\ "g"'), ("C", 2500, '0" g"')]
    weighed(tmp_path / "cobb.xlsx", grams, start=(3, 2))
    result = veracity.discover(tmp_path, source_from="filename", columns={"entity": "Article"})
    found = [note for note in result.notes if "the format of cells" in note]
    assert [note.split(":")[0] for note in found] == ["acme.xlsx", "cobb.xlsx"]
    assert "shows numbers of column B with a unit (kg), which is not read" in found[0]
    assert "shows numbers of column D with a unit (g), which is not read" in found[1]
    assert result.records()["Price"].dtype == pl.Float64


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


def test_cells_that_say_there_is_no_label_are_told_of(tmp_path):
    rows = ["tweet_id,A1,A2,A3,A4"]
    rows += [f"{n},{v},{v},{'n/a' if n % 3 == 0 else v},{'' if n % 5 == 0 else v}"
             for n, v in enumerate(["good", "bad"] * 12)]  # fmt: skip
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    result = veracity.discover(tmp_path / "labels.csv")
    (found,) = result.findings.filter(name="placeholders").to_dicts()
    assert found["seen"].endswith("n/a; they win no item")
    assert "normalise=True" in found["remedy"]
    left = veracity.discover(tmp_path / "labels.csv", normalise=True)
    assert set(left.facts["value"]) == {"good", "bad"}


LABELS = ("good", "bad", "unclear")


def labelled():
    """Three annotators on two questions to twenty texts: what each of them says."""
    for text in range(20):
        for place, worker in enumerate(("ann", "bob", "cem")):
            is_odd = place == 2 and text % 4 == 0
            yield text, worker, LABELS[(text + is_odd) % 3], "yes" if text % 5 else "no"


def answers(result):
    """The texts' labels under the first question, or the only one."""
    truths = result.truths
    if "attribute" in truths.columns:
        truths = truths.filter(pl.col("attribute").str.contains("mood"))
    return truths["value"].to_list()


RIGHT = [LABELS[text % 3] for text in range(20)]


def test_labels_within_objects_are_named_by_their_places(tmp_path):
    """As Label Studio writes them."""
    tasks = {}
    for text, worker, mood, rude in labelled():
        said = [{"from_name": "mood", "type": "choices", "value": {"choices": [mood]}},
                {"from_name": "rude", "type": "choices", "value": {"choices": [rude]}}]  # fmt: skip
        task = tasks.setdefault(text, {"id": text, "data": {"text": f"text {text:02}"},
                                       "annotations": [], "predictions": []})  # fmt: skip
        task["annotations"].append({"completed_by": {"email": worker}, "result": said})
    tasks[0]["annotations"].append({"completed_by": {"email": "dan"}, "result": []})  # gave up
    (tmp_path / "export.json").write_text(json.dumps(list(tasks.values())))
    with pytest.raises(MissingColumn, match=r"can be named: .*'annotations\.completed_by\.email'"):
        veracity.discover(tmp_path / "export.json")
    columns = {
        "source": "annotations.completed_by.email", "entity": "data.text",
        "attribute": "annotations.result.from_name", "value": "annotations.result.value.choices",
    }  # fmt: skip
    result = veracity.discover(tmp_path / "export.json", "majority-vote", columns=columns)
    assert (result.run.input.claims, result.run.input.sources) == (120, 3)
    assert answers(result) == RIGHT
    assert result.records().columns == ["data.text", "mood", "rude"]


def test_lists_beside_each_other_are_not_multiplied_though_one_name_begins_as_the_other():
    rows = [{"id": 1, "who": [{"name": "a"}], "whole": [{"label": "x"}, {"label": "y"}]}]
    columns = {"entity": "id", "source": "who.name", "value": "whole.label"}
    with pytest.raises(ParameterError, match="'who' and 'whole' are separate lists"):
        veracity.discover(rows, columns=columns)


def test_lists_beside_each_other_are_not_multiplied():
    rows = [{"id": 1, "who": [{"name": "a"}], "what": [{"label": "x"}]}]
    with pytest.raises(ParameterError, match="'who' and 'what' are separate lists"):
        veracity.discover(rows, columns={"source": "who.name", "value": "what.label"})


def test_a_file_of_lists_for_each_annotator_is_read(tmp_path):
    """As Doccano writes them."""
    lines = {worker: [] for worker in ("ann", "bob", "cem")}
    for text, worker, mood, _ in labelled():
        lines[worker].append(json.dumps({"id": text, "label": [mood], "Comments": []}))
    for worker, own in lines.items():
        (tmp_path / f"{worker}.jsonl").write_text("\n".join(own))
    with pytest.raises(MissingColumn, match="if each file is a source, --source-from filename"):
        veracity.discover(tmp_path)
    assert answers(veracity.discover(tmp_path, "majority-vote", source_from="filename")) == RIGHT


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


def test_what_workers_answered_are_the_attributes(batch):
    result = veracity.discover(batch, "majority-vote")
    assert set(result.truths["attribute"]) == {"Answer.mood", "Answer.rude"}
    assert answers(result) == RIGHT
    assert any(note.startswith("not read: 'Title', 'Reward'") for note in result.notes)


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


def test_several_columns_named_as_the_value_may_be_sources_or_questions():
    rows = [{"id": n, "text": f"{n}?", **{m: {"answer": "AB"[n % 2], "sure": 0.9} for m in "pq"}}
            for n in range(4)]  # fmt: skip
    columns = {"entity": "id", "value": ["p.answer", "q.answer"]}
    result = veracity.discover(rows, "majority-vote", wide="sources", columns=columns)
    assert result.sources["source"].to_list() == ["p.answer", "q.answer"]
    assert result.truths["value"].to_list() == ["A", "B", "A", "B"]
    form = {
        "Email": ["a", "b", "c"],
        "1?": ["x", "x", "y"],
        "2?": ["z"] * 3,
        "Comments?": ["-"] * 3,
    }
    columns = {"source": "Email", "value": "1?+2?"}
    found = veracity.discover(form, "majority-vote", wide="entities", columns=columns)
    assert found.truths.select("entity", "value").rows() == [("1?", "x"), ("2?", "z")]


def test_a_column_that_holds_values_plays_no_other_part():
    rows = {"worker": list("aab"), "n": [1, 2, 1], "task": list("xyx"), "label": list("pqp")}
    columns = {"entity": "n", "value": "task+label+task"}
    result = veracity.discover(rows, "majority-vote", columns=columns)
    assert set(result.truths["attribute"]) == {"task", "label"}
    with pytest.raises(ParameterError, match="'n' cannot be both the entity and the value"):
        veracity.discover(rows, columns={"entity": "n", "value": "n+label"})
    only, columns = pl.DataFrame(rows).drop("n"), {"source": "worker", "value": "task+label"}
    found = veracity.discover(only, columns=columns, wide="entities")
    assert set(found.truths["entity"]) == {"task", "label"}


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


def test_columns_of_several_levels_are_to_be_made_long(gdp):
    wide = gdp.assign(attribute="gdp").pivot(
        index=["country", "year"], columns=["source", "attribute"], values="value"
    )
    with pytest.raises(InputError, match="2 levels of columns; make it long first"):
        veracity.discover(wide)


# --- language models ------------------------------------------------------------------------------


def asked(path, row):
    lines = [row(q, m, s) for q in range(6) for m in ("gpt", "llama", "mistral") for s in range(5)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_samples_that_are_numbered_are_told_of(tmp_path):
    file = asked(
        tmp_path / "answers.jsonl",
        lambda q, m, s: {"question_id": q, "model": m, "sample": s, "answer": f"{(q + s) % 2}"},
    )
    told = "column 'sample' is not read, but distinguishes several claims of a source on one item; "
    told += "if it numbers samples, use samples=True or --samples"
    assert told in veracity.read_claims(file).notes
    assert told not in veracity.read_claims(file, samples=True).notes


def test_runs_and_confidences_of_answers_are_no_attributes(tmp_path):
    rows = asked(
        tmp_path / "answers.jsonl",
        lambda q, m, s: {
            "model": m, "prompt_id": q, "run": s, "completion": f"{(q + s) % 2}",
            "confidence": f"{90 - s}%", "latency_ms": 100 * s + q,
        },
    )  # fmt: skip
    with pytest.raises(MissingColumn, match="completion=0"):
        veracity.discover(rows)
    result = veracity.discover(rows, columns={"value": "completion", "weight": "confidence"})
    assert result.run.input.items == 6
    assert any("its values count by their shares" in note for note in result.notes)


def test_answers_in_lists_are_claims_each(tmp_path):
    file = asked(
        tmp_path / "lists.jsonl",
        lambda q, m, s: {"question_id": f"{q}-{s}", "model": m, "answers": ["a", "b"]},
    )
    result = veracity.discover(file, columns={"value": "answers"})
    assert set(result.facts["value"]) == {"a", "b"}
    with pytest.raises(MissingColumn) as refused:
        veracity.discover(asked(tmp_path / "two.jsonl", lambda q, m, s: {
            "question_id": f"{q}-{s}", "model": m, "picks": ["a", "b"], "confidence": [1, 2],
        }))  # fmt: skip
    assert "picks=a | b" in str(refused.value)
    assert "Series" not in str(refused.value)


# --- a database with one table per source ---------------------------------------------------------


@pytest.mark.parametrize("address", ["{}", "sqlite:///{}"])
def test_all_tables_of_a_database_are_sources(tmp_path, address):
    file = tmp_path / "feeds.db"
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        for number, source in enumerate(["imdb", "letterboxd", "tmdb"]):
            connection.execute(f"create table {source} (movie text, year integer, director text)")
            rows = [(f"Movie {n}", 1990 + n + (number == 2), f"D{n}") for n in range(6)]
            connection.executemany(f"insert into {source} values (?, ?, ?)", rows)
        connection.execute("create table alembic_version (version_num text)")
    result = veracity.discover(address.format(file), source_from="table")
    told = "tables that share no column with others are left out: 'alembic_version'"
    assert told in result.notes
    assert result.sources["source"].sort().to_list() == ["imdb", "letterboxd", "tmdb"]
    assert result.records()["year"].to_list() == [1990, 1991, 1992, 1993, 1994, 1995]


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


def test_a_column_that_is_left_out_of_the_entity_is_told_of(tmp_path):
    (tmp_path / "survey.csv").write_text(SURVEY)
    columns = {"source": "agency", "entity": "country", "value": "estimate"}
    notes = veracity.read_claims(tmp_path / "survey.csv", columns=columns).notes
    assert any("column 'year' is not read" in n and "entity=country+year" in n for n in notes)


def test_a_name_that_no_columns_make_up_is_told(tmp_path):
    (tmp_path / "survey.csv").write_text(SURVEY)
    with pytest.raises(MissingColumn, match=r"no column 'country\+month', named as the entity"):
        veracity.discover(tmp_path / "survey.csv", columns={"entity": ["country", "month"]})
    with pytest.raises(MissingColumn, match="if two columns name an entity, entity=ONE"):
        veracity.discover(tmp_path / "survey.csv")


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


def batch_results() -> pl.DataFrame:
    """Three workers of Mechanical Turk label four texts; the third is rejected."""
    remarks = ["", "this one was easy I think", "the picture is a bit blurred", "ok"]
    return pl.DataFrame([
        {"HITId": f"h{hit}", "WorkerId": worker, "Answer.mood": "bad" if worker == "w3" else "good",
         "Answer.comment": "why not", "Answer.why": f"{remarks[hit]} said {worker} of text {hit}",
         "AssignmentStatus": "Rejected" if worker == "w3" else "Approved"}
        for hit in range(4) for worker in ("w1", "w2", "w3")
    ])  # fmt: skip


def test_rejected_answers_and_remarks_of_mechanical_turk_are_left_out_with_a_note(tmp_path):
    batch_results().write_csv(tmp_path / "batch.csv")
    result = veracity.discover(tmp_path / "batch.csv", "majority-vote")
    assert result.sources["source"].to_list() == ["w1", "w2"]
    assert set(result.truths["attribute"]) == {"Answer.mood"}
    notes = "\n".join(result.notes)
    assert "rows whose AssignmentStatus is Rejected are left out" in notes
    option = "--columns value=Answer.mood+Answer.comment+Answer.why"
    assert "as they are free text: 'Answer.comment', 'Answer.why'; to judge them" in notes
    assert option in notes
    columns = {"value": ["Answer.mood", "Answer.comment"]}
    result = veracity.discover(batch_results(), "majority-vote", columns=columns)
    assert set(result.truths["attribute"]) == {"Answer.mood", "Answer.comment"}
    assert result.run.input.claims == 16


def annotation(who: int, mood: str, **marks: bool) -> dict[str, object]:
    result = [{"from_name": "mood", "value": {"choices": [mood]}}]
    usual = {"was_cancelled": False, "ground_truth": False}
    return {"completed_by": who, "result": result, **usual, **marks}


def test_annotations_of_label_studio_that_are_cancelled_or_known_are_no_claims(tmp_path):
    tasks = [
        {"id": n, "data": {"text": f"t{n}"}, "annotations": [
            annotation(1, "good"), annotation(2, "bad" if n == 0 else "good"),
            annotation(3, "bad", was_cancelled=True),
            *([annotation(9, "bad", ground_truth=True)] if n == 0 else []),
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
    assert result.sources["source"].to_list() == [1, 2]
    assert "annotations with was_cancelled are left out" in result.notes
    assert any("with ground_truth are no claims" in n and "--known" in n for n in result.notes)
    assert veracity.evaluate(result, path).measures()["judged"] == 1
    assert veracity.evaluate(result, path).accuracy == 0.5
    result = veracity.discover(path, "majority-vote", columns=columns, known=path)
    assert dict(result.truths.select("entity", "value").iter_rows())["t0"] == "bad"
    assert result.run.input.known == 1


def test_a_prompt_that_tells_rows_apart_belongs_to_the_model():
    rows = [
        {"model": model, "prompt": prompt, "question": f"q{n}", "answer": "yes"}
        for model in ("m1", "m2")
        for prompt in ("short", "long")
        for n in range(4)
    ]
    notes = veracity.discover(rows, "majority-vote").notes
    (note,) = [note for note in notes if "'prompt'" in note]
    assert note.endswith("if it is a part of the source, use --columns source=model+prompt")


@pytest.mark.parametrize("wide", [False, True])
def test_the_time_of_a_task_is_not_taken_for_that_of_a_claim(wide):
    """It is the same for all workers of a task."""
    more = {"mood": "good", "topic": "food"} if wide else {"label": "good"}
    for of_task in (True, False):
        rows = [
            {"worker": worker, "task": n, **more, "created_at": f"2020-01-0{n + 1} 10:0{minute}"}
            for n in range(4)
            for worker, minute in zip("abc", (0, 0, 0) if of_task else (0, 1, 2), strict=True)
        ]
        notes = veracity.discover(rows, "majority-vote").notes
        assert any("time=created_at" in note for note in notes) != of_task
