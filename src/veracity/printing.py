r"""What may be shown: no text that a terminal would obey or a figure choke on, and not too much.

Names come from strangers. One that holds an escape sequence could move the cursor or recolour a
terminal, one with a control character ends the library that draws figures; so what cannot be
printed is spelt out, as ``\x1b`` is. Every message, every table on a terminal and every figure
gets its text from here.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Collection
from typing import TextIO
from unicodedata import category

LONGEST_MESSAGE = 1_900
"""Characters of a message; with what is said around it, it stays below 2,000."""

LONGEST_NAME = 60
"""Characters of a name within a sentence."""

JOINERS = "\u200c\u200d"
"""They join or part letters of some scripts, and emoji; no terminal obeys them."""


def printable(text: str, *, lines: bool = False) -> str:
    r"""The text with all that cannot be printed spelt out; line breaks are kept if `lines`.

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
    """No more of a text than this.

    >>> cut("the very long name of some source", 12)
    'the very lo…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def counted(number: int, one: str, many: str | None = None) -> str:
    """How many there are of something, in the singular or the plural; `many` where s is not enough.

    >>> counted(1, "item"), counted(2000, "item"), counted(1, "truth is", "truths are")
    ('1 item', '2,000 items', '1 truth is')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def html_by(view: str) -> Callable[[object], str]:
    """A ``_repr_html_``, by which notebooks show something: this view of `show.notebook` makes it.

    That is loaded only then: it comes long after what it shows.
    """

    def _repr_html_(self: object) -> str:
        html: str = getattr(importlib.import_module("veracity.show.notebook"), view)(self)
        return html

    return _repr_html_


def in_short(name: object, longest: int = LONGEST_NAME) -> str:
    """A name as it may stand in a sentence: on one line, printable, and cut if it is long."""
    return cut(printable(str(name)[: longest + 1]), longest)


def did_you_mean(wanted: str, names: Collection[str], *, most: int = 1, least: int = 75) -> str:
    """The names that may have been meant, as a question; nothing where none is near.

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
    """A message that can be read: printable, and with its middle left out if it is very long.

    >>> message("x" * 3000 + "; mend it", 30)
    'xxxxxxxxxx … xxxxxxxx; mend it'
    """
    if len(text) > longest:
        end = longest * 4 // 7
        text = f"{text[: longest - end - 3]} … {text[-end:]}"
    shown = printable(text, lines=True)
    return shown if len(shown) <= longest else message(shown, longest)


class Filtered(io.TextIOBase):
    """A stream to which only what can be printed passes: all that a command prints goes through it.

    What draws on a terminal by itself, and filters what it draws, asks for it `unfiltered`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unfiltered = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream behind."""
        return self.unfiltered.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What the stream behind does with what it cannot encode."""
        return self.unfiltered.errors

    def write(self, text: str) -> int:
        """Write what can be printed as it is, and spell out the rest."""
        self.unfiltered.write(printable(text, lines=True))
        return len(text)

    def flush(self) -> None:
        """Let the stream behind write what it has."""
        self.unfiltered.flush()

    def isatty(self) -> bool:
        """Whether somebody looks on."""
        return self.unfiltered.isatty()

    def fileno(self) -> int:
        """The number of the file behind."""
        return self.unfiltered.fileno()

    def writable(self) -> bool:
        """It is there to be written to."""
        return True


def unfiltered(stream: TextIO | None) -> TextIO | None:
    """The stream behind, for those who filter what they write themselves."""
    return stream.unfiltered if isinstance(stream, Filtered) else stream
