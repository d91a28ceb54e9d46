"""Dates and times as people write them: 5:25A 01-02-12, Wed, Dec 14 6:30 PM, 2011-12-08T19:02Z.

Many texts have few different days. So clock times are first read from all texts at once. The rest
of each text, the day with the words around it, is then passed to dateutil once per spelling.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

import polars as pl

CLOCK = (
    r"(?P<before>^|[^0-9:])(?P<hour>[01]?[0-9]|2[0-3])[:h](?P<minute>[0-5][0-9])"
    r"(?P<second>:[0-5][0-9](?:[.,][0-9]+)?)?"
    r"(?:\s?(?:(?P<letter>[aApP])(?P<next>[A-Z][a-z]|[^A-Za-z0-9.]|$)"  # 10:13aJan, not 10:13 Apr
    r"|(?P<half>[aApP])\.?\s?[mM]\.?))?"
    r"(?:\s?(?P<bracket>\(?)(?:(?:GMT|UTC)?(?P<sign>[+-])(?P<hours>0?[0-9]|1[0-4]):?(?P<minutes>[0-9]{2})"
    r"|(?P<universal>Z|GMT|UTC))\)?)?"
)
"""A clock time, in 24 hours or 12, and its offset from universal time, if there is one."""

ANY_CLOCK = r"\d[:h]\d"

OTHER_FORMS = {
    r"^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})": "$1-$2-$3 $4:$5:$6",
    r"^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})": "$1-$2-$3 $4:$5",
    r"(^|[^\d:/.-])(1[0-2]|0?[1-9])\s?([aApP])\.?[mM]\b\.?": "$1$2:00 ${3}m",
    r"(?i)(:\d{2})\s?noon\b": "$1 pm",
    r"(?i)(:\d{2})\s?midnight\b": "$1 am",
    r"^(\d{4})(\d{2})(\d{2})$": "$1-$2-$3",
}
"""Times and dates of other forms, and how to write them so that they are read."""

MONTH = (
    r"(?:^|[^a-z])(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?:[^a-z]|$)"
)
DAY = (
    rf"(?i){MONTH}.*\d|\d.*{MONTH}"
    r"|(?:^|\D)\d{4}[/.-]\d{1,2}[/.-]\d{1,2}(?:\D|$)"
    r"|(?:^|\D)\d{1,2}[/.-]\d{1,2}[/.-]\d{4}(?:\D|$)"
    r"|(?:^|\D)\d{1,2}[/-]\d{1,2}[/-]\d{2}(?:\D|$)"
    r"|(?:^|[^\d.])(?:0[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.\d{2}(?:[^\d.]|$)"
)
"""Pattern of a possible day. It excludes 1.2.03, which may be a version."""

MONTHS_ELSEWHERE = {
    "january": "januar jänner janvier enero gennaio januari janeiro",
    "february": "februar feber février fevrier febrero febbraio februari fevereiro",
    "march": "märz maerz mär mrz mars marzo maart março",
    "april": "avril abril aprile",
    "may": "mai mayo maggio mei maio",
    "june": "juni juin junio giugno junho",
    "july": "juli juillet julio luglio julho",
    "august": "août aout agosto augustus",
    "september": "septembre septiembre setiembre settembre setembro",
    "october": "oktober okt octobre octubre ottobre outubro",
    "november": "novembre noviembre novembro",
    "december": "dezember dez décembre decembre diciembre dicembre dezembro",
}
"""Months in other languages of Europe: German, French, Spanish, Italian, Dutch, Portuguese."""

ELSEWHERE = {
    rf"(?i)\b(?:{'|'.join(names.split())})\b\.?": month for month, names in MONTHS_ELSEWHERE.items()
}
ANY_ELSEWHERE = rf"(?i)\b(?:{'|'.join(' '.join(MONTHS_ELSEWHERE.values()).split())})\b"

SHORT_DAY = r"(?:^|\s)\d{1,2}/\d{1,2}(?:\s|$)"
"""Pattern of a day next to a clock time, which may be a fraction elsewhere."""

IN_NUMBERS = r"(?:^|[^0-9/.-])([0-9]{1,2})[/-]([0-9]{1,2})(?:[/-][0-9]|\s|$)"

DOTTED = r"(?:^|[^\d.])\d{1,2}\.\d{1,2}\."

LONGEST = 80
"""A longer text is no name of a day."""

MOST_WORDS = 3
"""Maximum number of words next to a date or a time that are ignored; with more, it is a
sentence."""

SOME_DAY, OTHER_DAY = datetime(2000, 1, 1), datetime(2004, 5, 15)
"""Days from which dateutil fills gaps. They differ in every part, even the day after a weekday."""


class Day(NamedTuple):
    """Date in a text, perhaps with missing parts, and the other words of the text."""

    year: int | None
    month: int | None
    day: int | None
    words: str


DAY_PARTS = ("year", "month", "day")
DAY_SCHEMA = {"year": pl.Int64, "month": pl.Int64, "day": pl.Int64, "words": pl.String}


def read_dates(texts: pl.Series) -> pl.DataFrame:
    """Read plain texts as dates and times: clock time, minutes ahead of universal time, and day.

    Missing parts are null; up to three words around the date are ignored. Numbers are read as month
    before day; `order` is "month" or "day" where the text shows which comes first, else "either". A
    text that `has_unclear_day` has a day that cannot be determined.

    >>> read_dates(pl.Series(["5:25A 01-02-12", "Wed, Dec 14 6:30 PM On Time"])).rows()[0]
    ('05:25', None, 2012, 1, 2, 'either', '', False)
    """
    usual = pl.col("text")
    for other, form in OTHER_FORMS.items():
        usual = usual.str.replace(other, form)
    rows = _in_english(texts).to_frame("text").select(text=usual)
    rows = rows.select(
        pl.col("text").str.extract_groups(CLOCK).struct.unnest(),
        rest=pl.col("text").str.replace(CLOCK, "$before $next").str.strip_chars(),
    )
    rows = rows.with_columns(clock=_clock(), ahead=_ahead())
    rows = rows.join(_read_days(rows["rest"]), on="rest", how="left", maintain_order="left")
    is_fraction = pl.col("is_short") & pl.col("clock").is_null()
    parts = ("year", "month", "day", "order")
    rows = rows.with_columns(pl.when(~is_fraction).then(pl.col(name)).alias(name) for name in parts)
    # 10:00-12:00 is no time at all; 10:00 (-05:00) is one
    is_range = (pl.col("bracket") == "") & pl.col("sign").is_not_null() & pl.col("day").is_null()
    is_one = ~is_range.fill_null(value=False) & ~pl.col("is_crowded")
    return rows.select(
        pl.when(is_one).then(pl.col("clock", "ahead")), *parts, "words", "has_unclear_day"
    )


def _in_english(texts: pl.Series) -> pl.Series:
    """Write the names of months as dateutil knows them.

    >>> _in_english(pl.Series(["3. März 2020", "15 de junio de 2020", "5 km"])).to_list()
    ['3. march 2020', '15 june 2020', '5 km']
    """
    is_other = texts.str.contains(ANY_ELSEWHERE) & texts.str.contains(r"\d")
    if not is_other.any():
        return texts
    english = pl.col("text").str.replace_all(r"(?i)\bde\s+", "")
    for name, month in ELSEWHERE.items():
        english = english.str.replace(name, month)
    rows = texts.to_frame("text").with_columns(is_other=is_other)
    return rows.select(pl.when("is_other").then(english).otherwise("text")).to_series()


def _clock() -> pl.Expr:
    """Return hours, minutes, and seconds if there are any: 19:42, 07:00:30.5."""
    half = pl.coalesce("letter", "half").str.to_lowercase()
    hour = pl.col("hour").cast(pl.Int64)
    shift = (
        pl.when((half == "p") & (hour < 12)).then(12).when((half == "a") & (hour == 12)).then(-12)
    )
    second = pl.col("second").fill_null("").str.replace(",", ".", literal=True)
    second = second.str.replace(r"(\.\d*?)0+$", "$1").str.strip_suffix(".")
    second = second.str.strip_suffix(":00")
    whole = (hour + shift.otherwise(0)).cast(pl.String).str.zfill(2)
    return whole + ":" + pl.col("minute") + second


def _ahead() -> pl.Expr:
    """Return the minutes ahead of universal time."""
    size = pl.col("hours").cast(pl.Int64) * 60 + pl.col("minutes").cast(pl.Int64)
    signed = pl.when(pl.col("sign") == "-").then(-size).otherwise(size)
    return pl.when(pl.col("universal").is_not_null()).then(0).otherwise(signed)


def _read_days(rests: pl.Series) -> pl.DataFrame:
    """Read the days in texts without their clock times.

    `is_short` is a day only next to a clock time; where it `is_crowded`, no clock time is valid.
    """
    rests = rests.drop_nulls().unique()
    has_day, is_short = rests.str.contains(DAY), rests.str.contains(SHORT_DAY)
    may_be_day = (has_day | is_short) & (rests.str.len_chars() <= LONGEST)
    days = [
        _read_day(rest) if may_be else Day(None, None, None, rest)
        for rest, may_be in zip(rests, may_be_day, strict=True)
    ]
    read = pl.DataFrame(days, schema=DAY_SCHEMA, orient="row")
    has_many_words = pl.col("words").str.count_matches(r"\p{L}+") > MOST_WORDS
    has_unclear_day = pl.col("month").is_null() & pl.col("rest").str.contains(DAY)
    read = read.with_columns(rest=rests, is_short=is_short & ~has_day).with_columns(
        has_unclear_day=has_unclear_day,
        is_crowded=pl.when(has_unclear_day)
        .then(pl.col("rest").str.contains(ANY_CLOCK))
        .otherwise(has_many_words | pl.col("words").str.contains(r"\d")),
    )
    told = [pl.when(~has_many_words).then(pl.col(part)).alias(part) for part in DAY_PARTS]
    return read.with_columns(told).with_columns(
        order=pl.when(pl.col("day").is_not_null()).then(order_in(pl.col("rest")))
    )


def order_in(text: pl.Expr) -> pl.Expr:
    """Return "day" or "month", whichever comes first in dates; "either" if numbers do not show it.

    With dots the day comes first, so these do not count.
    """
    groups = text.str.extract_groups(IN_NUMBERS)
    first, second = (groups.struct.field(name).cast(pl.Int64) for name in ("1", "2"))
    return (
        pl.when(first.is_between(13, 31) & (second <= 12))
        .then(pl.lit("day"))
        .when(second.is_between(13, 31) & (first <= 12))
        .then(pl.lit("month"))
        .when((first <= 12) & (second <= 12))
        .then(pl.lit("either"))
    )


def _read_day(text: str) -> Day:
    """Return the date that dateutil reads, if it uses every number in the text."""
    from dateutil import parser  # noqa: PLC0415 - needed only where there are dates

    unread = Day(None, None, None, text)
    day_first = re.search(DOTTED, text) is not None
    try:
        some, skipped = parser.parse(
            text, default=SOME_DAY, fuzzy_with_tokens=True, ignoretz=True, dayfirst=day_first
        )
        other = parser.parse(text, default=OTHER_DAY, fuzzy=True, ignoretz=True, dayfirst=day_first)
    except (ValueError, ArithmeticError):  # the latter from numbers of many digits
        return unread
    year, month, day = (
        getattr(some, part) if getattr(some, part) == getattr(other, part) else None
        for part in DAY_PARTS
    )
    numbers = re.findall(r"\d+", text)
    n_told = sum(part is not None for part in (year, month, day))
    if len(numbers) not in (n_told, n_told - 1) or not _is_year(year, numbers):
        return unread
    return Day(year, month, day, " ".join(" ".join(skipped).split()))


def _is_year(year: int | None, numbers: list[str]) -> bool:
    """Return True if the year has two or four digits: Dec 5 or 6 is not in 2006."""
    return year is None or any(
        len(number) in (2, 4) and int(number) % 100 == year % 100 for number in numbers
    )
