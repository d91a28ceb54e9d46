"""Run the command ``veracity``: parse options, call public functions, print tables or JSON."""

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
from veracity.cli.claims import check, compare, discover, judge, profile, tune, update
from veracity.cli.data import demo, generate, study
from veracity.cli.options import example
from veracity.cli.runs import ask, diff, estimate, evaluate, explain, export, plot, report
from veracity.errors import MissingColumn, ParameterError, VeracityError
from veracity.printing import Filtered, in_short, message


class Commands(click.Group):
    """Commands whose errors become a sentence and an exit code: 1 is bad input, 2 is bad usage."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; on an error, explain it instead of showing a traceback."""
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
        """List the commands, those needed most often first."""
        return list(self.commands)


_requests: list[int] = []
"""Signals that asked this command to end; libraries may turn them into errors of their own."""


def _end_as_by_ctrl_c() -> None:
    """Remove temporary files on a request to end or a closed terminal, as on Ctrl-C."""
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
    """Escape control characters in all output, and hide warnings of other libraries.

    Such warnings are for programmers, not for users of the command line.
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
    """Refuse arguments that are not valid text, such as a name in another encoding."""
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
    """Say in one sentence what went wrong, list the allowed choices, and return the exit code."""
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
    """Return what is wrong, and the allowed choices if there are any."""
    return (error.told, error.choices) if isinstance(error, MissingColumn) else (str(error), ())


def _tell(text: str) -> None:
    """Print on standard error, if it is still open."""
    try:
        click.echo(text, err=True, nl=False)
    except OSError:
        _leave(sys.stderr)


def _leave_stdout() -> None:
    _leave(sys.stdout)


def _leave(stream: TextIO) -> None:
    """Discard output that is still buffered, so that it cannot fail again at exit."""
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
