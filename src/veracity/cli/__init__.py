"""The command ``veracity``: arguments in, the same public calls, tables or JSON out."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import click

from veracity._version import __version__
from veracity.cli.asking import ask, estimate
from veracity.cli.commands import compare, demo, discover, evaluate, generate
from veracity.cli.differing import diff
from veracity.cli.explaining import explain
from veracity.cli.exporting import export
from veracity.cli.inspecting import check, profile
from veracity.cli.judging import judge, update
from veracity.cli.options import example
from veracity.cli.plotting import plot
from veracity.cli.reporting import report
from veracity.cli.study import study
from veracity.cli.tuning import tune
from veracity.errors import MissingColumn, ParameterError, VeracityError
from veracity.printing import Filtered, in_short, message


class Commands(click.Group):
    """Commands whose errors are one sentence and an exit code: 1 bad input, 2 bad usage."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command, and explain what went wrong instead of showing a traceback."""
        kwargs["standalone_mode"] = False
        _end_as_by_ctrl_c()
        with _filtered():
            try:
                _refuse_bytes(args[0] if args else kwargs.get("args"))
                code = super().main(*args, **kwargs)
                if sys.stdout is not None:
                    sys.stdout.flush()
            except (SystemExit, GeneratorExit):
                raise
            except BaseException as error:  # Polars may panic, which is no Exception
                code = _explain(error)
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order they are most often needed."""
        return list(self.commands)


_requests: list[int] = []
"""The signals that asked this command to end: libraries may make errors of their own of that."""


def _end_as_by_ctrl_c() -> None:
    """Let requests to end, and a terminal that is closed, remove temporary files as Ctrl-C does."""
    _requests.clear()

    def stop(number: int, frame: object) -> None:
        _requests.append(number)
        raise KeyboardInterrupt

    with contextlib.suppress(ValueError, AttributeError):  # another thread, another system
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, stop)


@contextlib.contextmanager
def _filtered() -> Iterator[None]:
    """Let all that is printed pass one place, which spells out what a terminal would obey.

    Warnings of other libraries are for those who write programs, and are not shown.
    """
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name may be more than it can show
    sys.stdout, sys.stderr = (None if one is None else Filtered(one) for one in streams)
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:
                warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout, sys.stderr = streams


def _refuse_bytes(arguments: Sequence[str] | None) -> None:
    """Refuse what was typed but is no text, such as a name in another encoding."""
    for argument in sys.argv[1:] if arguments is None else arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise click.UsageError(
                f"'{in_short(argument)}' is no text in UTF-8; rename the file, or type it otherwise"
            ) from None


STOPPED = "stopped before the end; no half-written result is left"
ENDED_TOO_SOON = "what was read ended too soon; copy or write it again"


def _explain(error: BaseException) -> int:
    """Say what went wrong in one sentence, and list what can be said; give the exit code."""
    choices: tuple[str, ...] = ()
    match error:
        case click.ClickException():
            told = io.StringIO()
            error.show(told)
            _tell(message(told.getvalue()))
            return error.exit_code
        case BaseException() if _requests and not isinstance(error, VeracityError):
            sentence = STOPPED
        case BrokenPipeError():  # who reads has seen enough, such as head
            _leave_stdout()
            return 1
        case click.Abort() | KeyboardInterrupt():
            is_cut = isinstance(error.__cause__, EOFError)  # click takes that for an abort, too
            sentence = ENDED_TOO_SOON if is_cut else STOPPED
        case MemoryError():
            sentence = "out of memory; leave out columns or rows, or use a larger machine"
        case VeracityError():
            sentence, choices = _in_parts(error)
        case OSError(filename=str() as name):  # the terminal and pipes have no name
            sentence = f"{name}: {error.strerror or error}; check the path and its permissions"
        case OSError():
            _leave_stdout()
            sentence = f"cannot write the output: {error.strerror or error}"
        case _ if "VERACITY_DEBUG" in os.environ:
            raise error
        case _:
            sentence = (
                f"this is a bug in veracity: {type(error).__name__}: {error}; "
                "please report it with what VERACITY_DEBUG=1 shows"
            )
    lines = (" ".join(part.splitlines()) for part in (f"error: {sentence}", *choices))
    _tell(message("\n  - ".join(lines)) + "\n")
    return 2 if isinstance(error, ParameterError) else 1


def _in_parts(error: VeracityError) -> tuple[str, tuple[str, ...]]:
    """What is wrong; and what can be said, if there is a choice."""
    return (error.told, error.choices) if isinstance(error, MissingColumn) else (str(error), ())


def _tell(text: str) -> None:
    """Print on standard error, if anybody is there to be told."""
    try:
        click.echo(text, err=True, nl=False)
    except OSError:
        _leave(sys.stderr)


def _leave_stdout() -> None:
    _leave(sys.stdout)


def _leave(stream: TextIO) -> None:
    """Let what is still to be printed go nowhere, so that it cannot fail again at the exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=example("veracity discover claims.csv --out run/"),
)
@click.version_option(__version__, prog_name="veracity")
def main() -> None:
    """Find out which of the conflicting values is true, and which sources to trust."""


for command in (
    discover,
    judge,
    update,
    ask,
    estimate,
    explain,
    evaluate,
    compare,
    tune,
    diff,
    profile,
    check,
    plot,
    report,
    export,
    generate,
    study,
    demo,
):
    main.add_command(command)
