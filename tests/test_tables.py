"""Tables as people have them: of any shape, from an office, a crowd, a notebook, a survey."""

from __future__ import annotations

import json
import shlex
from datetime import date, datetime

import pandas as pd  # noqa: TID251 - a user's frame
import polars as pl
import pytest
import xlsxwriter
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import veracity
from veracity.cli import main
from veracity.errors import BadValue, MissingColumn, ParameterError
from veracity.reading.roles import comparable, numbers_in
from veracity.show.reproduce import command as command_of

FLIGHTS = [f"AA-{number}" for number in range(8)]
SITES = ["orbitz", "tower", "travelocity"]


def long_claims():
    """Three sites on the gate and the departure of eight flights; one of them errs now and then."""
    rows = [
        (site, flight, attribute, f"{attribute[0]}{place}{'x' * (site == 'orbitz' and place == 3)}")
        for place, flight in enumerate(FLIGHTS)
        for attribute in ("gate", "departs")
        for site in SITES
    ]
    return pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")


def by_attributes():
    wide = long_claims().pivot(on="attribute", index=["source", "entity"], values="value")
    return wide.rename({"source": "site", "entity": "flight"})


def by_sources():
    return long_claims().pivot(on="source", index=["entity", "attribute"], values="value")


def vote(claims, **options):
    return veracity.discover(claims, "majority-vote", **options)


def same_answer(result):
    expected = vote(long_claims()).truths
    assert_frame_equal(result.truths, expected)
    return result


def command(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def told(result, words):
    return [note for note in result.notes if words in note]


def write(table, path):
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)
    return path


# --- wide by attributes ---------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_per_attribute_is_recognised_and_told(tmp_path, ending):
    result = same_answer(vote(write(by_attributes(), tmp_path / f"export.{ending}")))
    (note,) = told(result, "a wide table")
    assert "one row per 'site' and 'flight' and one column per attribute: 'gate', 'departs'" in note
    assert "--columns value=NAME" in note
    assert result.run.input.columns == {"source": "site", "entity": "flight"}


def test_an_index_of_pandas_with_a_name_is_a_column():
    frame = by_attributes().to_pandas()
    expected = vote(frame, columns={"entity": "flight"})
    numbered = frame.set_axis(range(100, 100 + len(frame)))  # an index without a name is none
    for other in (frame.set_index("flight"), frame.set_index(["site", "flight"]), numbered):
        pd.testing.assert_frame_equal(
            vote(other, columns={"entity": "flight"}).truths, expected.truths
        )
    by_site = vote(frame.pivot(index="flight", columns="site", values="gate"))
    assert by_site.run.input.columns == {"entity": "flight"}
    assert by_site.sources["source"].to_list() == SITES


def test_truths_may_be_wide_too(tmp_path):
    result = vote(by_attributes())
    right = result.truths.pivot(on="attribute", index="entity", values="value")
    truths = write(right.rename({"entity": "flight"}), tmp_path / "truth.csv")
    assert veracity.evaluate(result, truths).judged == 16
    assert vote(by_attributes(), known=truths).run.input.known == 16


# --- wide by sources ------------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", [None, "attribute"])
def test_a_column_per_source_is_recognised_and_told(tmp_path, attribute):
    table = by_sources()
    if attribute is None:
        table = table.filter(pl.col("attribute") == "gate").drop("attribute")
    result = vote(write(table.rename({"entity": "flight"}), tmp_path / "export.csv"))
    (note,) = told(result, "a wide table")
    assert "one column per source: 'orbitz', 'tower', 'travelocity'" in note
    assert "--wide attributes" in note
    assert result.sources["source"].to_list() == SITES
    expected = vote(long_claims()).truths
    expected = expected if attribute else expected.filter(pl.col("attribute") == "gate")
    assert result.truths["value"].to_list() == expected["value"].to_list()


# --- wide by samples ------------------------------------------------------------------------------


def asked_often():
    """Two models that were asked thrice, and one that was asked twice."""
    rows = [
        ("m1", "q1", "a", "a", "b"), ("m2", "q1", "b", "b", "b"), ("m3", "q1", "a", "a", None),
        ("m1", "q2", "c", "c", "c"), ("m2", "q2", "c", "d", "c"), ("m3", "q2", "c", None, "c"),
    ]  # fmt: skip
    names = ["model", "question", "answer_1", "answer_2", "answer_3"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_columns_of_samples_are_the_same_as_rows_of_samples():
    wide = asked_often()
    long = wide.unpivot(index=["model", "question"], variable_name="run", value_name="answer")
    expected = vote(long.drop_nulls().drop("run"), samples=True)
    found = vote(wide, wide="samples")
    assert found.facts.equals(expected.facts)
    assert found.run.input.shape == {"wide": "samples", "samples": "yes"}
    assert found.truths["value"].to_list() == ["a", "c"]
    assert found.facts["plausibility"].to_list() == pytest.approx([5 / 9, 4 / 9, 8 / 9, 1 / 9])


def test_columns_of_repeated_measurements_count_by_their_mean():
    table = pl.DataFrame(
        {"sensor": ["s1", "s2"], "site": ["x", "x"], "t 1": [1.0, 4.0], "t 2": [3.0, 4.0]}
    )
    columns = {"entity": "site"}
    found = veracity.discover(table, kind="numeric", wide="samples", columns=columns)
    long = pl.DataFrame({"sensor": ["s1", "s2"], "site": ["x", "x"], "value": [2.0, 4.0]})
    expected = veracity.discover(long, kind="numeric", columns=columns)
    assert found.truths["value"].to_list() == expected.truths["value"].to_list()


# --- wide by entities -----------------------------------------------------------------------------


# --- what columns are called ----------------------------------------------------------------------


def test_gold_labels_are_recognised_as_truths():
    rows = pl.DataFrame({"task": ["t"] * 3, "worker": ["a", "b", "c"], "label": ["x", "x", "y"]})
    gold = pl.DataFrame({"task": ["t"], "gold_label": ["x"]})
    assert veracity.evaluate(vote(rows), gold).accuracy == 1.0
    assert vote(rows, known=gold).run.input.known == 1


def test_new_claims_are_read_as_the_old_ones_with_their_times():
    table = by_attributes().with_columns(updated_at=pl.lit("2026-05-01"))
    named = {"entity": "flight", "time": "updated_at"}
    fitted = vote(table, columns=named).fitted
    newer = table.with_columns(gate=pl.lit("Z9"), updated_at=pl.lit("2026-06-01"))
    judged = fitted.judge(pl.concat([table, newer]))
    gates = judged.truths.filter(pl.col("attribute") == "gate")["value"]
    assert set(gates) == {"Z9"}
    assert fitted.judge(table.drop("updated_at")).run.input.claims == 48


# --- one file per source --------------------------------------------------------------------------


def per_file(folder):
    for (site,), rows in by_attributes().partition_by("site", as_dict=True).items():
        rows.drop("site").write_csv(folder / f"{site}.csv")


def test_the_command_line_says_the_same(tmp_path):
    per_file(tmp_path)
    run = command("discover", tmp_path, "--source-from", "filename", "--json")
    assert '"sources": 3' in run.stdout
    odd = write(by_attributes().rename({"site": "who"}), tmp_path / "odd.csv")
    run = command("profile", odd, "--wide", "attributes", "--columns", "source=who", "--json")
    assert '"items": 16' in run.stdout


def test_a_source_is_named_once(tmp_path):
    with pytest.raises(ParameterError, match="leave one out"):
        vote(tmp_path, source_from="filename", columns={"source": "site"})
    with pytest.raises(ParameterError, match="is for files"):
        vote(long_claims(), source_from="filename")


def test_large_wide_files_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("veracity.reading.plan.ROWS_PER_BATCH", 4)
    same_answer(vote(write(by_attributes(), tmp_path / "export.parquet")))


def test_a_run_knows_how_to_be_made_again(tmp_path):
    path = write(by_attributes().with_columns(time=1), tmp_path / "export.csv")
    result = vote(path, columns={"time": "time"}, samples=True)
    result.save(tmp_path / "run")
    kept = veracity.load(tmp_path / "run")
    assert kept.run.input.shape == {"wide": "attributes", "samples": "yes"}
    words = shlex.split(command_of(kept))
    assert words[words.index("--wide") + 1] == "attributes"
    assert "--samples" in words
    columns = words[words.index("--columns") + 1]
    assert set(columns.split(",")) == {"source=site", "entity=flight", "time=time"}


def test_the_plan_of_a_wide_table_is_kept_with_the_run_and_read_by_its_fit(tmp_path):
    flights = [f"f{number}" for number in range(8)]
    gates = [f"{number % 3}{number}" for number in range(8)]
    wide = pl.DataFrame(
        {"flight": flights, "orbitz": gates, "tower": gates, "radar": [*gates[:7], "x"]}
    )
    result = veracity.discover(wide, "majority-vote")
    plan = {
        "columns": {"entity": ["flight"]},
        "wide": "sources",
        "value_columns": ["orbitz", "tower", "radar"],
    }
    assert result.run.input.plans == [plan]
    result.save(tmp_path / "run")
    kept = veracity.load(tmp_path / "run")
    assert kept.run.input.plans == [plan]
    few = wide.head(2)  # of which nobody could tell that its columns are sources
    with pytest.raises(MissingColumn):
        veracity.discover(few, "majority-vote")
    for fitted in (result.fitted, kept.fitted):
        assert len(fitted.judge(few).truths) == 2


# --- an office ------------------------------------------------------------------------------------

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


# --- values that are compared ---------------------------------------------------------------------


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
