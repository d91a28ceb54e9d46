"""Values that were read, written one way."""

from __future__ import annotations

import polars as pl

from veracity.reading.normalise.quantities import DIGITS, OPEN, can_convert, convert
from veracity.reading.normalise.spelling import fold, plain, says_nothing, says_where_to_look, tidy

MOST_LABELS, CLAIMS_PER_LABEL = 12, 10
"""Limits of a small set of labels: most different values, and fewest claims for each of them."""


def write(values: pl.DataFrame, *, numeric: bool) -> pl.DataFrame:
    """Add the columns `after` and `change`; both are null for values that cannot be read."""
    is_number = values["kind"] == "number"
    is_date = values["kind"].is_in(["time", "date", "datetime"])
    parts = [
        _with_numbers(values.filter(is_number), numeric=numeric),
        _with_dates(values.filter(is_date)),
        values.filter(~is_number & ~is_date).with_columns(
            after=pl.when(pl.col("kind") == "unchanged").then("before").otherwise(_padded()),
            change=pl.lit(None, pl.String),
        ),
    ]
    return pl.concat(parts)


def _padded() -> pl.Expr:
    """Write identifiers with the leading zeros they lost; an EAN-8 lost none."""
    is_short = pl.col("plain").str.len_chars() < pl.col("width")
    is_lost = pl.col("plain").str.contains(DIGITS) & is_short & (pl.col("kind") == "identifier")
    is_ean8 = (pl.col("plain").str.len_chars() == 8) & pl.col("has_check")
    return pl.when(is_lost & ~is_ean8).then(pl.col("plain").str.zfill(pl.col("width")))


def _with_numbers(values: pl.DataFrame, *, numeric: bool) -> pl.DataFrame:
    amount = pl.when(pl.col("sign_here") == ",").then("comma").otherwise("point")
    only_unit = pl.when("shows_unit").then("unit")
    own_unit = pl.coalesce("own_unit", "bare_unit", only_unit)
    rows = values.with_columns(after=amount, own_unit=own_unit)
    rows = rows.with_columns(after=_in_one_unit(rows, numeric=numeric))
    # 1.234 is a thousand and more where the comma is the decimal sign; 1.2340 is not
    is_open = (pl.col("decimal_sign") == ",") & pl.col("after").str.contains(OPEN)
    after = pl.when(is_open).then(pl.col("after") + "0").otherwise("after")
    is_left_out = pl.col("after").is_null() & amount.is_not_null()
    change = pl.when(is_left_out).then(pl.lit("other unit"))
    return rows.with_columns(after=after, change=change).select(*values.columns, "after", "change")


def _in_one_unit(rows: pl.DataFrame, *, numeric: bool) -> pl.Series:
    """Return numbers in the unit of their attribute, which is shown where others are named, too."""
    shows_unit = rows["mixes_units"] | rows["shows_unit"]
    is_simple = rows["own_unit"].is_null() | ((rows["own_unit"] == rows["unit"]) & ~shows_unit)
    if is_simple.all():
        return rows["after"]
    written = []
    for number, own, unit, shows in rows.select(
        "after", "own_unit", "unit", shows=shows_unit
    ).iter_rows():
        if number is None or own is None:
            written.append(number)
        elif unit is not None and can_convert(own, unit):
            amount = convert(number, own, unit)
            written.append(f"{amount} {unit}" if shows and not numeric else amount)
        else:
            written.append(None if numeric else f"{number} {own}")
    return pl.Series(written, dtype=pl.String)


def _with_dates(values: pl.DataFrame) -> pl.DataFrame:
    rows = values.with_columns(on=_day_text())
    both = pl.col("on") + " " + pl.col("clock")
    rows = rows.with_columns(
        after=pl.when(pl.col("kind") == "time")
        .then("clock")
        .when(pl.col("kind") == "date")
        .then("on")
        .otherwise(pl.when("universal").then(_in_universal_time(both)).otherwise(both))
    )
    is_read = pl.col("after").is_not_null()
    unread = rows.filter(~is_read)
    rows = pl.concat(
        [
            rows.filter(is_read).with_columns(change=pl.lit(None, pl.String)),
            unread.with_columns(change=_why_no_date(fold(unread["words"].str.strip_chars(" -()")))),
        ]
    )
    return rows.select(*values.columns, "after", "change")


def _why_no_date(words: pl.Series) -> pl.Expr:
    """Return why a value is no date: it names none, or too little of one."""
    has_clock, has_day = pl.col("clock").is_not_null(), pl.col("month").is_not_null()
    is_unsaid = ~has_clock & (words != "") & (says_nothing(words) | says_where_to_look(words))
    is_short = (has_clock & ~pl.col("has_unclear_day")) | (has_day & (words == ""))
    short = pl.when(is_short).then(pl.lit("incomplete"))
    return pl.when(is_unsaid).then(pl.lit("no value")).otherwise(short)


def _day_text() -> pl.Expr:
    """Write the day as 2011-12-28, or as 12-28 where no year is ever given."""
    is_swapped = pl.col("day_first_here") & (pl.col("order") == "either")
    month = pl.when(is_swapped).then("day").otherwise("month")
    day = pl.when(is_swapped).then("month").otherwise("day")
    near = pl.col("near")
    later = (month - near.dt.month()) * 30.4 + day - near.dt.day()  # days, about
    nearest = near.dt.year() + pl.when(later > 183).then(-1).when(later < -183).then(1).otherwise(0)
    year = pl.coalesce("year", nearest).cast(pl.String).str.zfill(4)
    short = month.cast(pl.String).str.zfill(2) + "-" + day.cast(pl.String).str.zfill(2)
    return pl.when("has_year").then(year + "-" + short).otherwise(short)


def _in_universal_time(written: pl.Expr) -> pl.Expr:
    full = pl.when(written.str.len_chars() == 16).then(written + ":00").otherwise(written)
    local = full.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False)
    text = (local - pl.duration(minutes=pl.col("ahead").fill_null(0))).dt.to_string(
        "%Y-%m-%d %H:%M:%S%.f"
    )
    return (
        text.str.replace(r"(\.\d*?)0+$", "$1")
        .str.strip_suffix(".")
        .str.replace(r"(:\d\d):00$", "$1")
    )


def spell(values: pl.DataFrame, like: pl.DataFrame | None, *, numeric: bool) -> pl.DataFrame:
    """Set `after` to the most frequent spelling, for text and for values that cannot be read.

    The spellings of `like`, rows of attribute and value, come before those of the values. Where
    claims are numeric, what cannot be read is left out.
    """
    is_open = pl.col("after").is_null() & pl.col("change").is_null()
    done, texts = values.filter(~is_open), values.filter(is_open)
    texts = texts.with_columns(folded=fold(texts["plain"]))
    usual = _most_usual(texts)
    if like is not None:
        usual = pl.concat([_most_usual(_folded(like)), usual])
        usual = usual.unique(["attribute", "folded"], keep="first", maintain_order=True)
    labels = _labels(texts, None if like is None else _folded(like))
    why = pl.when(~labels).then(_why_no_text(texts, numeric=numeric))
    texts = texts.with_columns(change=why)
    texts = texts.join(usual, on=["attribute", "folded"], how="left").with_columns(
        after=pl.when(pl.col("change").is_null()).then("usual"), is_text=pl.lit(value=True)
    )
    done = done.with_columns(is_text=pl.lit(value=False))
    values = pl.concat([done, texts.select(done.columns)])
    is_rewritten = pl.col("after").ne_missing(pl.col("before")) & pl.col("change").is_null()
    rewritten = pl.when(is_rewritten).then(pl.lit("rewritten")).otherwise("change")
    return values.with_columns(change=rewritten)


def _labels(texts: pl.DataFrame, like: pl.DataFrame | None) -> pl.Series:
    """Return True for labels that look like placeholders, such as `none`.

    These are as frequent as the other values of a small set, or are among the facts.
    """
    total, own = (pl.col("claims").sum().over("attribute", *more) for more in ((), ("folded",)))
    n_labels = pl.col("folded").n_unique().over("attribute")
    is_small = (n_labels <= MOST_LABELS) & (total >= CLAIMS_PER_LABEL * n_labels)
    is_word = pl.col("folded").str.contains(r"^\p{L}{4,}$") & (pl.col("kind") == "text")
    is_label = is_small & is_word & (2 * own * n_labels >= total)
    if like is not None:
        known = like.select("attribute", "folded").unique().with_columns(is_known=True)
        texts = texts.join(known, on=["attribute", "folded"], how="left", maintain_order="left")
        is_label = is_label | (is_word & pl.col("is_known").fill_null(value=False))
    return texts.select(is_label).to_series()


def _why_no_text(texts: pl.DataFrame, *, numeric: bool) -> pl.Expr:
    """Return why a text is left out: it names no value, or no number where one is needed."""
    is_remote = says_where_to_look(texts["folded"]) & (texts["kind"] != "text")
    unsaid = pl.when(says_nothing(texts["folded"]) | is_remote).then(pl.lit("no value"))
    return unsaid.when(numeric).then(pl.lit("no number"))


def _folded(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the values of rows, tidy and folded, with their claims."""
    values = rows.group_by("attribute", "value").agg(claims=pl.len())
    tidied = tidy(values["value"])
    return values.with_columns(tidied=tidied, folded=fold(plain(tidied)))


def _most_usual(values: pl.DataFrame) -> pl.DataFrame:
    """Return the most usual spelling by attribute and folded form; of equal ones the first."""
    spellings = values.group_by("attribute", "folded", "tidied").agg(pl.col("claims").sum())
    best = spellings.sort("claims", "tidied", descending=[True, False])
    return best.group_by("attribute", "folded").agg(usual=pl.col("tidied").first())
