r"""Make text safe to show: no control characters, and a limited length.

Names may come from strangers. An escape sequence in a name could move the cursor or recolour a
terminal, and a control character ends the library that draws figures. So characters that cannot be
printed are spelt out, as ``\x1b`` is. Every message, every table on a terminal and every figure
gets its text from here.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from typing import Any, TextIO
from unicodedata import category

LONGEST_MESSAGE = 1_900
"""Maximum characters of a message; with the text around it, it stays below 2,000."""

LONGEST_NAME = 60
"""Characters of a name within a sentence."""

JOINERS = "\u200c\u200d"
"""They join or part letters of some scripts, and emoji; no terminal obeys them."""


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return the text with all that cannot be printed spelt out; line breaks stay if `lines`.

    >>> printable("a\x1b[31m\u2028")
    'a\\x1b[31m\\u2028'
    """
    if text.isprintable():
        return text
    kept = f"{JOINERS}\n\t" if lines else JOINERS
    return "".join(
        one if one.isprintable() or one in kept or category(one) == "Zs" else repr(one)[1:-1]
        for one in text
    )


def cut(text: str, longest: int) -> str:
    """Return no more of a text than this.

    >>> cut("the very long name of some source", 12)
    'the very lo…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, in the plural by an s unless `many` is given.

    >>> counted(1, "item"), counted(2000, "item"), counted(1, "truth is", "truths are")
    ('1 item', '2,000 items', '1 truth is')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


class Shown:
    """Base of objects that can be shown: `print` gives text, a notebook HTML, `to_dict` JSON data.

    Their content is in `show.sections`, which is loaded on first use, as it imports these classes.
    """

    def __repr__(self) -> str:
        """Return the sections of this object as text."""
        sections = importlib.import_module("veracity.show.sections").sections_of(self)
        text: str = importlib.import_module("veracity.show.terminal").as_text(sections)
        return text

    def _repr_html_(self) -> str:
        sections = importlib.import_module("veracity.show.sections").sections_of(self)
        html: str = importlib.import_module("veracity.show.html").as_html(sections)
        return html

    def to_dict(self) -> dict[str, Any]:
        """Return all of this object by name, as JSON can hold it: tables are lists of rows."""
        return importlib.import_module("veracity.show.sections").as_dict(self)  # type: ignore[no-any-return]


def in_short(name: object, longest: int = LONGEST_NAME) -> str:
    """Return a name for a sentence: on one line, printable, and cut if it is long."""
    return cut(printable(str(name)[: longest + 1]), longest)


def did_you_mean(wanted: str, names: Collection[str], *, most: int = 1, least: int = 75) -> str:
    """Return the names that may have been meant, as a question; empty if none is similar.

    Of a hundred points, `least` is what a name must have; a part of it counts, capitals do not.

    >>> did_you_mean("Claim", ["claims", "sources"])
    "did you mean 'claims'?"
    """
    from rapidfuzz import process  # noqa: PLC0415 - loaded only where a name is wrong

    near = process.extract(wanted, names, processor=str.lower, limit=most, score_cutoff=least)
    *others, last = [f"'{in_short(match[0])}'" for match in near] or [""]
    either = f"{', '.join(others)} or {last}" if others else last
    return f"did you mean {either}?" if either else ""


def message(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """Return a message printable, and with its middle left out if it is very long.

    >>> message("x" * 3000 + "; mend it", 30)
    'xxxxxxxxxx … xxxxxxxx; mend it'
    """
    if len(text) > longest:
        end = longest * 4 // 7
        text = f"{text[: longest - end - 3]} … {text[-end:]}"
    shown = printable(text, lines=True)
    return shown if len(shown) <= longest else message(shown, longest)


class Filtered:
    """Stream that escapes unprintable characters in all output of a command.

    What draws on a terminal by itself, and filters what it draws, asks for it `unfiltered`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unfiltered = stream

    def write(self, text: str) -> int:
        """Write text with unprintable characters spelt out."""
        self.unfiltered.write(printable(text, lines=True))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the filtered stream, such as its encoding."""
        return getattr(self.unfiltered, name)


def unfiltered(stream: TextIO | None) -> TextIO | None:
    """Return the stream behind a filter, for functions that filter their text themselves."""
    return stream.unfiltered if isinstance(stream, Filtered) else stream


def share_of(part: int, whole: int, what: str, does: str = "", do: str = "") -> str:
    """Return a clause such as "3 of 5 items are", with the verb in singular or plural.

    >>> share_of(3, 4, "items"), share_of(1, 4, "items", "has", "have")
    ('3 of 4 items (75%)', '1 of 4 items (25%) has')
    """
    share = f"{part:,} of {whole:,} {what} ({part / max(whole, 1):.0%})"
    return f"{share} {does if part == 1 else do}".rstrip()


def some(names: Sequence[object], most: int = 3) -> str:
    """Return the first names, and how many more there are.

    >>> some(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    shown = ", ".join(in_short(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
