"""Tables of any shape, as offices write them."""

from __future__ import annotations

import shlex

import pandas as pd  # noqa: TID251 - a user's frame
import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import veracity
from veracity.cli import main
from veracity.errors import MissingColumn, ParameterError
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


def test_it_can_be_said_and_columns_can_be_named():
    odd = by_attributes().rename({"site": "who", "flight": "what"})
    named = {"source": "who", "entity": "what"}
    assert not told(same_answer(vote(odd, wide="attributes", columns=named)), "a wide table")
    found = veracity.read_claims(odd, columns=named, wide="attributes").collect()
    keys = ["entity", "attribute", "source"]
    assert_frame_equal(found.sort(keys), long_claims().sort(keys))


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


def test_empty_cells_are_no_claims(tmp_path):
    table = by_attributes().with_columns(
        gate=pl.when(pl.col("site") == "tower").then(None).otherwise("gate")
    )
    result = vote(write(table, tmp_path / "export.csv"))
    assert result.run.input.claims == 40
    assert not told(result, "left out")


def test_columns_of_different_types_become_text():
    table = pl.DataFrame(
        {"source": ["a", "b", "a", "b"], "entity": ["x", "x", "y", "y"],
         "size": [1.0, 1.0, 2.5, 2.5], "colour": ["red", "red", "blue", "red"]}
    )  # fmt: skip
    found = vote(table).truths.filter(pl.col("attribute") == "size")
    assert found["value"].to_list() == ["1", "2.5"]


def test_two_columns_one_of_which_may_be_a_weight_are_not_guessed(tmp_path):
    table = pl.DataFrame(
        {"worker": ["a", "b"], "task": ["x", "x"], "guess": [1, 2], "score": [3, 4]}
    )
    with pytest.raises(
        MissingColumn, match="--wide attributes --columns source=worker,entity=task"
    ):
        vote(table)


def test_naming_one_value_tells_what_is_not_read():
    result = vote(by_attributes(), columns={"entity": "flight", "value": "gate"})
    assert told(result, "not read: 'departs'; if each is an attribute")


def test_truths_may_be_wide_too(tmp_path):
    result = vote(by_attributes())
    right = result.truths.pivot(on="attribute", index="entity", values="value")
    truths = write(right.rename({"entity": "flight"}), tmp_path / "truth.csv")
    assert veracity.evaluate(result, truths).judged == 16
    assert vote(by_attributes(), known=truths).run.input.known == 16


def test_what_several_files_were_taken_for_is_told_once(tmp_path):
    wide = by_attributes()
    write(wide.head(9).drop("gate").with_columns(seat=pl.lit("1a")), tmp_path / "one.csv")
    write(wide.tail(9), tmp_path / "two.csv")
    (note,) = told(vote(tmp_path), "a wide table")
    assert "one column per attribute: 'departs', 'seat', 'gate'; if only some" in note


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


def test_the_truth_is_no_source():
    table = by_sources().with_columns(truth=pl.col("tower"))
    result = vote(table)
    assert result.sources["source"].to_list() == SITES
    assert told(
        result,
        "not read, as they do not look like sources: 'truth'; if they are sources, name them",
    )


def test_numbers_that_never_agree_are_not_guessed_but_can_be_said():
    table = pl.DataFrame(
        {"station": list("abcdef"), "one": [1.0, 2, 3, 4, 5, 6], "two": [1.5, 2.5, 3.5, 4, 5, 6.5],
         "three": [1.1, 2.1, 3.1, 4.1, 5.1, 6.1]}
    )  # fmt: skip
    with pytest.raises(MissingColumn) as error:
        veracity.discover(table, kind="numeric")
    words = str(error.value)
    assert "--wide sources --columns entity=NAME" in words
    assert "the first row: station=a, one=1.0" in words
    assert "source=one" not in words
    result = veracity.discover(table, kind="numeric", wide="sources")
    assert result.run.input.claims == 18
    assert result.sources["source"].to_list() == ["one", "three", "two"]


def test_attributes_that_agree_in_pairs_are_not_taken_for_sources():
    planned = [f"{hour}:00" for hour in range(10)]
    table = pl.DataFrame(
        {"flight": [f"AA-{n}" for n in range(10)], "planned_departure": planned,
         "departure": planned, "planned_arrival": planned[::-1], "arrival": planned[::-1]}
    )  # fmt: skip
    with pytest.raises(MissingColumn, match="if each is a source, --wide sources"):
        vote(table)


def test_yes_and_no_by_source():
    table = pl.DataFrame(
        {"fact": ["x", "y"], "a": ["yes", "no"], "b": ["yes", ""], "c": ["no", "no"]}
    )
    result = veracity.discover(table, "majority-vote", kind="binary", wide="sources")
    assert result.run.input.claims == 5
    with pytest.raises(ParameterError, match="not for binary"):
        veracity.discover(table, kind="binary", wide="attributes")


@pytest.mark.parametrize("is_text", [True, False])
def test_a_category_and_a_remark_are_no_sources(is_text):
    prices = [float(17 * n % 90) + 0.5 for n in range(20)]
    shops = {
        "Amazon": prices,
        "eBay": [price + (n % 4 == 0) for n, price in enumerate(prices)],
        "Walmart": [price - (n % 5 == 0) for n, price in enumerate(prices)],
    }
    columns = {name: [f"${x:.2f}" for x in own] if is_text else own for name, own in shops.items()}
    rows = {
        "Product": [f"p{n}" for n in range(20)],
        "Category": ["TV", "Phone"] * 10,
        **columns,
        "Notes": ["ask again" if n == 3 else None for n in range(20)],
    }
    result = veracity.discover(pl.DataFrame(rows))
    assert result.sources["source"].to_list() == ["Amazon", "Walmart", "eBay"]
    assert told(result, "not read, as they do not look like sources: 'Category', 'Notes'")


def test_a_source_may_write_in_capitals_and_a_remark_may_be_always_the_same():
    said = ["Canberra", "Sucre", "Ottawa", "Ankara", "Astana"]
    rows = {
        "Country": ["Australia", "Bolivia", "Canada", "Turkey", "Kazakhstan"],
        "Wikipedia": said,
        "CIA": [*said[:4], "Almaty"],
        "Grandma": ["SYDNEY", *(name.upper() for name in said[1:])],
        "Notes": ["see p. 3"] * 5,
    }
    result = vote(pl.DataFrame(rows), wide="sources", normalise=True)
    assert result.sources["source"].to_list() == ["CIA", "Grandma", "Wikipedia"]
    assert told(result, "not look like sources: 'Notes'")


def test_answers_to_a_form_are_read_without_their_times():
    rows = {
        "Timestamp": [f"11/0{n + 1}/2026 10:00:00" for n in range(6)],
        "Email Address": [f"p{n}@example.org" for n in range(6)],
        **{
            f"Q{q}. What is in picture {q}?": [
                "dog" if (n, q) in ((0, 2), (3, 4)) else ("cat", "owl", "bat")[q % 3]
                for n in range(6)
            ]
            for q in range(8)
        },
    }
    result = veracity.discover(pl.DataFrame(rows), wide="entities")
    assert result.truths["entity"][0] == "Q0. What is in picture 0?"
    assert (result.run.input.sources, result.run.input.items) == (6, 8)


def test_the_wording_of_a_question_is_no_source():
    asked = pl.DataFrame({
        "question_id": [f"q{n}" for n in range(6)],
        "prompt": [f"What is {n}?" for n in range(6)],
        "large": ["A", "B", "C", "D", "A", "B"],
        "small": ["A", "B", "C", "D", "A", "C"],
        "tiny": ["A", "B", "C", "A", "A", "B"],
    })  # fmt: skip
    result = vote(asked)
    assert result.sources["source"].to_list() == ["large", "small", "tiny"]
    assert told(result, "not look like sources: 'prompt'")


def test_lists_of_answers_are_what_is_said():
    asked = pl.DataFrame(
        {
            "model": ["m1", "m2", "m1", "m2"],
            "question_id": ["q1", "q1", "q2", "q2"],
            "prompt": ["What?"] * 4,
            "answers": [["a", "a", "b"], ["a", "b", "b"], ["c"] * 3, ["c", "c", "d"]],
        }
    )
    result = vote(asked, samples=True)
    assert result.facts["plausibility"].to_list() == pytest.approx([1 / 2, 1 / 2, 5 / 6, 1 / 6])
    counted = asked.with_columns(pl.col("answers").list.len(), views=pl.lit(7))
    assert vote(counted).run.input.shape == {"wide": "attributes"}


def test_lists_of_objects_are_no_value_but_have_it_within():
    said = [[{"model": "m1", "answer": "a"}, {"model": "m2", "answer": "b"}]] * 2
    table = pl.DataFrame({"question_id": ["q1", "q2"], "responses": said})
    with pytest.raises(MissingColumn, match="can be named") as error:
        vote(table)
    assert "no column 'source', 'value' among 'question_id' (the first row: question_id=q1)" in str(
        error.value
    )
    option = "--columns source=responses.model,value=responses.answer"
    assert str(error.value).endswith(f"'responses.model', 'responses.answer', as in {option}")
    named = {"source": "responses.model", "value": "responses.answer"}
    assert vote(table, columns=named).run.input.claims == 4


@pytest.mark.parametrize(
    ("source", "entity"), [("sensor_id", "id"), ("Shop Name", "SKU"), ("vendorId", "key")]
)
def test_usual_names_of_sources_and_entities_are_recognised(source, entity):
    long = long_claims().select("source", "entity", "value")
    own = long.rename({"source": source, "entity": entity})
    assert_frame_equal(vote(own).facts, vote(long).facts)


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


def test_columns_of_samples_may_call_facts_true_or_false():
    table = pl.DataFrame(
        {"source": ["a", "b"], "fact": ["f", "f"], "try1": [True, False], "try2": [True, True]}
    )
    result = vote(table, kind="binary", wide="samples")
    assert result.facts["plausibility"].to_list() == [0.75]


def test_numbered_attributes_are_told_with_what_to_say_if_they_are_samples():
    (note,) = told(vote(asked_often()), "read as attributes")
    assert note.startswith("'answer_1', 'answer_2', 'answer_3' are read as attributes")
    assert note.endswith("use wide='samples' or --wide samples")
    more = asked_often().with_columns(place=pl.lit("z"))
    (note,) = told(vote(more), "read as attributes")
    assert note.endswith("--wide samples, with --columns value=answer_1+answer_2+answer_3")
    assert not told(vote(asked_often(), wide="attributes"), "read as attributes")
    assert not told(vote(by_attributes()), "read as attributes")


def test_of_columns_of_samples_only_those_that_are_numbered_are_read():
    more = asked_often().with_columns(place=pl.lit("z"))
    result = vote(more, wide="samples")
    assert result.facts.equals(vote(asked_often(), wide="samples").facts)
    assert told(result, "not read: 'place'")
    sure = more.with_columns(sure_1=0.5, sure_2=0.5, sure_3=0.5)
    with pytest.raises(MissingColumn, match=r"value=answer_1\+answer_2\+answer_3"):
        vote(sure, wide="samples")
    named = {"value": ["answer_1", "answer_2", "answer_3"]}
    assert vote(sure, wide="samples", columns=named).facts.equals(result.facts)


def test_where_several_values_may_be_true_each_numbered_column_is_one_of_them():
    books = pl.DataFrame(
        {
            "shop": ["a", "b", "c"],
            "product_id": ["1", "1", "1"],
            "author_1": ["Ann", "Ann", "Bob"],
            "author_2": ["Bob", "Bob", None],
        }
    )
    (note,) = told(vote(books, kind="multiple"), "read as attributes")
    assert "if all are values of one item, use wide='samples'" in note
    found = vote(books, kind="multiple", wide="samples")
    rows = [("a", "Ann"), ("a", "Bob"), ("b", "Ann"), ("b", "Bob"), ("c", "Bob")]
    long = pl.DataFrame(rows, schema=["source", "value"], orient="row")
    expected = vote(long.with_columns(entity=pl.lit("1")), kind="multiple")
    assert_frame_equal(found.facts, expected.facts)
    assert found.run.input.shape == {"wide": "samples"}
    with pytest.raises(ParameterError, match="samples and weights are not for multiple claims"):
        vote(books, kind="multiple", wide="samples", samples=True)


# --- wide by entities -----------------------------------------------------------------------------


def survey():
    """One row per worker, one column per picture, as forms export it."""
    labels = {"ann": "cdcdccdc", "bob": "cdcdccdd", "cem": "cdcdcddc", "dan": "ddcdccdc"}
    return pl.DataFrame(
        [
            {"worker": name} | {f"p{n}": x for n, x in enumerate(said)}
            for name, said in labels.items()
        ]
    )


def test_a_column_per_entity_is_to_be_said(tmp_path):
    path = write(survey(), tmp_path / "survey.csv")
    with pytest.raises(MissingColumn, match="if each is an entity, --wide entities"):
        vote(path)
    result = vote(path, wide="entities")
    assert result.truths["entity"].to_list() == [f"p{n}" for n in range(8)]
    assert "".join(result.truths["value"]) == "cdcdccdc"
    assert result.run.input.shape == {"wide": "entities"}


def test_answers_to_the_first_question_are_never_taken_for_entities():
    opinions = pl.DataFrame(
        {"worker": list("abcde"), "q1": list("xyxyx"), "q2": list("vwwvv"), "q3": list("mnomn")}
    )
    with pytest.raises(MissingColumn) as error:
        vote(opinions)
    assert "if each is an entity, --wide entities --columns source=worker" in str(error.value)
    assert "--wide sources" not in str(error.value)  # the worker would be taken for one
    result = vote(opinions, wide="entities")
    assert result.truths["entity"].to_list() == ["q1", "q2", "q3"]
    found = veracity.read_claims(opinions, wide="entities").collect()
    assert found.row(0, named=True) == {"source": "a", "entity": "q1", "value": "x"}


def test_yes_and_no_by_entity():
    table = pl.DataFrame({"who": ["a", "b"], "x": ["yes", "no"], "y": ["no", ""]})
    how = {"kind": "binary", "wide": "entities", "columns": {"source": "who"}}
    assert veracity.discover(table, "majority-vote", **how).run.input.claims == 3


# --- what columns are called ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "entity", "value"),
    [("WorkerId", "HITId", "label"), ("rater", "doc_id", "Judgment"),
     ("model", "prompt_id", "answer"), ("Annotator ID", "imageId", "annotation"),
     ("system", "item-id", "prediction")],
)  # fmt: skip
def test_columns_are_recognised_however_they_are_spelt(source, entity, value):
    rows = pl.DataFrame({entity: ["t"] * 3, source: ["a", "b", "c"], value: ["x", "x", "y"]})
    assert vote(rows).run.input.columns == {"source": source, "entity": entity, "value": value}


def test_gold_labels_are_recognised_as_truths():
    rows = pl.DataFrame({"task": ["t"] * 3, "worker": ["a", "b", "c"], "label": ["x", "x", "y"]})
    gold = pl.DataFrame({"task": ["t"], "gold_label": ["x"]})
    assert veracity.evaluate(vote(rows), gold).accuracy == 1.0
    assert vote(rows, known=gold).run.input.known == 1


def test_when_a_row_was_written_is_no_attribute():
    table = by_attributes().with_columns(updated_at=pl.lit("2026-05-01"))
    for how in ({}, {"wide": "attributes"}):
        result = same_answer(vote(table, columns={"entity": "flight"}, **how))
        assert told(result, "column 'updated_at' is not read; with --columns time=updated_at")


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


def test_each_file_is_a_source(tmp_path):
    per_file(tmp_path)
    result = same_answer(vote(tmp_path, source_from="filename"))
    assert told(result, "each file is a source: 'orbitz', 'tower', 'travelocity'")
    found = veracity.read_claims(sorted(tmp_path.glob("*.csv")), source_from="filename").collect()
    keys = ["entity", "attribute", "source"]
    assert_frame_equal(found.sort(keys), long_claims().sort(keys))


def test_what_is_noticed_of_many_files_is_told_once(tmp_path):
    for (site,), rows in by_attributes().partition_by("site", as_dict=True).items():
        text = f"Export of {site}\n\n" + rows.drop("site").write_csv().replace("gate", "Tür")
        (tmp_path / f"{site}.csv").write_bytes(text.encode("latin-1"))
    notes = vote(tmp_path, source_from="filename").notes
    (skipped,) = (note for note in notes if "skipped" in note)
    assert skipped == "orbitz.csv and 2 more: 2 lines above the header skipped: 'Export of orbitz'"
    assert len([note for note in notes if "Windows-1252" in note]) == 1


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for site, rows in long_claims().partition_by("source", as_dict=True).items():
        (tmp_path / site[0]).mkdir()
        rows.drop("source").write_csv(tmp_path / site[0] / "flights.csv")
    assert vote(tmp_path, source_from="filename").sources["source"][0] == "orbitz/flights"


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


def test_a_column_of_sources_is_not_passed_over_in_silence_where_files_name_them(tmp_path):
    long_claims().write_csv(tmp_path / "all.csv")
    result = vote(tmp_path, source_from="filename")
    assert told(result, "column 'source' is not read: source_from names the source")


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
