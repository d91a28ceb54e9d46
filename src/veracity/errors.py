"""Errors that veracity raises.

::

    VeracityError
    ├── InputError              input that cannot be read as claims or truths
    │   ├── UnreadableFile      missing, empty, cut off, or not what its name says
    │   ├── UnreadableDatabase  out of reach, cut off, or without the table that is asked for
    │   ├── WrongEncoding       bytes that are no text in the stated encoding
    │   ├── RaggedRows          rows with more or fewer fields than the header
    │   ├── MissingColumn       a column that is needed and not there
    │   ├── BadValue            a cell that cannot be understood
    │   ├── NoClaims            claims without any that can be used
    │   └── TooLarge            more than fits in memory
    ├── ParameterError          a parameter out of its range (also a ValueError)
    ├── OutputError             a result that cannot be written
    ├── EngineError             an engine that cannot be started, or that gave up
    └── StudyError              a study that cannot go on

Each message says what is wrong, where, and what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence

from veracity.printing import cut, message

LONGEST_REASON = 300
"""Maximum number of characters of another library's message."""

__all__ = [
    "BadValue",
    "EngineError",
    "InputError",
    "MissingColumn",
    "NoClaims",
    "NotConverged",
    "OutputError",
    "ParameterError",
    "RaggedRows",
    "StudyError",
    "TooLarge",
    "UnreadableDatabase",
    "UnreadableFile",
    "VeracityError",
    "WrongEncoding",
    "damaged",
    "first_line",
]


class VeracityError(Exception):
    """Base of the errors of veracity; their messages never contain control characters."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(message(sentence))


class InputError(VeracityError):
    """Input that cannot be read as claims or truths."""


class UnreadableFile(InputError):
    """A file that is missing, empty, cut off, or not of the type in its name."""


class UnreadableDatabase(InputError):
    """A database that is out of reach, cut off, or without the table that is asked for."""


class WrongEncoding(InputError):
    """Bytes that are no text in the stated encoding."""


class RaggedRows(InputError):
    """Rows with more or fewer fields than the header."""


class MissingColumn(InputError):
    """A column that is needed and missing; `choices` are the possible options.

    >>> str(MissingColumn("no column 'value'", ["if it is 'x', say so", "else give it"]))
    "no column 'value'; if it is 'x', say so; else give it"
    """

    def __init__(self, told: str, choices: Sequence[str] = ()) -> None:
        super().__init__("; ".join([told, *choices]))
        self.told, self.choices = told, tuple(choices)


class BadValue(InputError):
    """A cell that cannot be understood."""


class NoClaims(InputError):
    """Claims without any that can be used."""


class TooLarge(InputError):
    """More than fits in memory."""


class ParameterError(VeracityError, ValueError):
    """A parameter out of its range."""


class OutputError(VeracityError):
    """A result that cannot be written."""


class EngineError(VeracityError):
    """An engine that cannot be started, or that gave up."""


class StudyError(VeracityError):
    """A study that cannot go on."""


class NotConverged(UserWarning):
    """The round limit came before the tolerance: the answer may still move."""


def first_line(error: BaseException) -> str:
    r"""Return the first line of another library's message.

    >>> first_line(OSError("no such page\n\nHint: turn the page"))
    'no such page'
    """
    lines = str(error).strip().splitlines()
    return cut(lines[0], LONGEST_REASON) if lines else type(error).__name__


def damaged(path: object, error: BaseException) -> UnreadableFile:
    """Return the error for a file that cannot be read to its end."""
    return UnreadableFile(
        f"{path}: damaged or cut off ({first_line(error)}); copy or write it again"
    )
