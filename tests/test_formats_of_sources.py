"""Each source is read as it writes: decimal signs, orders of dates and units per source."""

from __future__ import annotations

import json
import random
from datetime import date, timedelta

import polars as pl
import pytest

import veracity
from veracity.errors import ParameterError
from veracity.reading.normalise import Normalisation, normalise

CLAIM = ["source", "entity", "attribute", "value"]


def claims_of(*rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=CLAIM, orient="row")


def said(attribute, **values_of_source) -> list[tuple[str, str, str, str]]:
    return [
        (source, f"e{n}", attribute, value)
        for source, values in values_of_source.items()
        for n, value in enumerate(values)
    ]


def read(rows, source, kinds=None) -> list[str]:
    after = normalise(claims_of(*rows), kinds)[1].rows
    return after.filter(pl.col("source") == source)["value"].to_list()


POINTS = ["0.4 kg", "2.3 kg", "1.85 kg"]
COMMAS = ["0,400 kg", "2,300 kg", "1,850 kg"]


def suppliers() -> list[tuple[str, str, str, str]]:
    return said("weight", anna=POINTS, bert=POINTS, comma=COMMAS)


def british() -> tuple[pl.DataFrame, list[str]]:
    """180 dates of a perfect British supplier and two American ones, who each err one in ten."""
    chance = random.Random(5)
    days = [date(2021, 1, 1) + timedelta(days=chance.randrange(365)) for _ in range(180)]
    rows = []
    for n, day in enumerate(days):
        rows.append(("uk", f"e{n}", "released", day.strftime("%d/%m/%Y")))
        for source, errs in (("us1", n % 10 == 1), ("us2", n % 10 == 6)):
            shown = day + timedelta(days=chance.randrange(1, 9) * errs)
            rows.append((source, f"e{n}", "released", shown.strftime("%m/%d/%Y")))
    return claims_of(*rows), [str(day) for day in days]


def test_a_supplier_with_decimal_commas_is_read_as_it_writes():
    assert read(suppliers(), "comma") == read(suppliers(), "anna") == ["0.4", "2.3", "1.85"]
    result = veracity.discover(claims_of(*suppliers()), normalise=True)
    assert result.truths.sort("entity")["value"].to_list() == ["0.4", "2.3", "1.85"]
    assert any('the comma is the decimal sign of "comma"' in note for note in result.notes)


def test_the_supplier_with_decimal_commas_is_rated_like_the_others():
    chance = random.Random(3)
    grams = [chance.randrange(100, 9000) for _ in range(120)]
    points = [f"{gram / 1000:.3f}".rstrip("0").rstrip(".") + " kg" for gram in grams]
    commas = [f"{gram / 1000:.3f} kg".replace(".", ",") for gram in grams]
    rows = said("weight", anna=points, bert=points, comma=commas)
    result = veracity.discover(claims_of(*rows), normalise=True)
    right = {f"e{n}": text.removesuffix(" kg") for n, text in enumerate(points)}
    assert dict(result.truths.select("entity", "value").iter_rows()) == right
    rated = dict(result.sources.select("source", "trust").iter_rows())
    assert rated["comma"] >= 0.95


def test_a_british_supplier_beside_two_american_ones_is_read_day_first():
    claims, days = british()
    result = veracity.discover(claims, normalise=True)
    found = dict(result.truths.select("entity", "value").iter_rows())
    assert [found[f"e{n}"] for n in range(len(days))] == days
    assert dict(result.sources.select("source", "trust").iter_rows())["uk"] >= 0.95


def test_what_a_source_does_not_show_here_follows_what_it_shows_elsewhere():
    rows = [
        *said("price", anna=["12.50", "3.20", "8.10"], bert=["12.50", "3.20"], comma=["12,50"]),
        *said("weight", anna=POINTS, bert=POINTS, comma=["2,652 kg"]),
    ]
    assert read(rows, "comma") == ["12.5", "2.652"]
    notes = " ".join(normalise(claims_of(*rows))[1].notes)
    assert "as its other attributes show" in notes


def test_what_a_source_shows_nowhere_follows_the_other_sources_and_a_note_tells_it():
    rows = said("weight", anna=POINTS, bert=POINTS, comma=COMMAS, dull=["2,652 kg"])
    assert read(rows, "dull") == ["2652"]
    notes = " ".join(normalise(claims_of(*rows))[1].notes)
    assert 'follows the other sources: "dull"' in notes


def test_a_user_can_say_how_a_source_writes():
    rows = said("weight", anna=POINTS, bert=POINTS, dull=["2,652 kg"])
    assert read(rows, "dull", {"weight": {"dull": "comma"}}) == ["2.652"]
    dates = said("day", anna=["12/25/2020"], uk=["01/02/2021"])
    assert read(dates, "uk", {"day": {"uk": "day first"}}) == ["2021-02-01"]


def test_what_a_user_says_of_sources_is_checked():
    rows = claims_of(*suppliers())
    with pytest.raises(ParameterError, match="no source 'acme'"):
        normalise(rows, {"weight": {"acme": "comma"}})
    with pytest.raises(ParameterError, match="comma, point, day first, month first"):
        normalise(rows, {"weight": {"anna": "dots"}})


def test_numbers_without_a_unit_are_in_the_only_unit_of_their_source():
    rows = said("weight", anna=["0.4 kg", "2.3 kg"], grams=["400 g", "2300"], bare=["0.4", "2.3"])
    assert read(rows, "grams") == ["0.4 kg", "2.3 kg"]
    assert read(rows, "bare") == ["0.4", "2.3"]


def test_a_unit_that_only_one_source_names_stays_with_the_value():
    rows = said("weight", anna=["0.4 kg", "2.3 kg"], bert=["0.4", "2.3"], carl=["0.4", "2.1"])
    assert read(rows, "bert") == ["0.4 kg", "2.3 kg"]
    shared = said("weight", anna=["0.4 kg"], bert=["0.4 kg"], carl=["0.4"])
    assert read(shared, "carl") == ["0.4"]
    assert read(said("stock", anna=["62 Stk.", "7"], bert=["62", "7"]), "bert") == ["62", "7"]


def test_formats_survive_json():
    found, after = normalise(claims_of(*suppliers()))
    again = Normalisation.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert again.apply(claims_of(*suppliers())).rows.equals(after.rows)


def test_truths_are_a_source_of_their_own():
    found, _ = normalise(claims_of(*suppliers()))
    truth = pl.DataFrame(
        {"entity": ["e0", "e1"], "attribute": "weight", "value": ["0,4", "2,652 kg"]}
    )
    assert found.apply(truth).rows["value"].to_list() == ["0.4", "2.652"]


def test_new_sources_follow_their_own_values_or_the_others():
    found, _ = normalise(claims_of(*suppliers()))
    new = said("weight", neu=["0,4 kg", "2,652 kg"], dull=["2,652 kg"], comma=["2,652 kg"])
    after = found.apply(claims_of(*new))
    values = after.rows.group_by("source", maintain_order=True).agg("value").rows()
    assert values == [("neu", ["0.4", "2.652"]), ("dull", ["2652"]), ("comma", ["2.652"])]
    assert any('"neu"' in note for note in after.notes)


def test_formats_are_the_same_for_claims_that_do_not_fit_in_memory(tmp_path):
    claims, _ = british()
    path = tmp_path / "claims.csv"
    pl.concat([claims, claims_of(*suppliers())]).write_csv(path)
    here = veracity.discover(path, "majority-vote", normalise=True)
    local = veracity.Local(memory="1KB", spill=tmp_path)
    there = veracity.discover(path, "majority-vote", normalise=True, engine=local)
    keys = ["entity", "attribute"]
    assert there.truths.sort(keys).equals(here.truths.sort(keys))
    assert there.run.normalisation == here.run.normalisation
    assert there.changes.equals(here.changes)


def test_a_kept_fit_reads_new_claims_of_a_source_in_its_format():
    claims, _ = british()
    fitted = veracity.discover(claims, normalise=True).fitted
    new = claims_of(
        ("uk", "n1", "released", "01/02/2021"),
        ("us1", "n1", "released", "02/01/2021"),
        ("us2", "n1", "released", "02/01/2021"),
    )
    assert fitted.judge(new).truths["value"].to_list() == ["2021-02-01"]
