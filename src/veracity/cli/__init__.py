"""The command ``veracity``: arguments in, the same public calls, tables or JSON out."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from typing import Any

import click

from veracity._version import __version__
from veracity.cli.asking import ask
from veracity.cli.commands import compare, demo, discover, evaluate, generate
from veracity.cli.explaining import explain
from veracity.cli.inspecting import check, profile
from veracity.cli.judging import judge, update
from veracity.cli.options import example
from veracity.cli.plotting import plot
from veracity.cli.reporting import report
from veracity.cli.study import study
from veracity.errors import ParameterError, VeracityError

__all__ = ["main"]


class Commands(click.Group):
    """Commands whose errors are one sentence and an exit code: 1 bad input, 2 bad usage."""

    def main(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - click's own signature
        """Run a command, and explain what went wrong instead of showing a traceback."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a name may be more than it can show
        kwargs["standalone_mode"] = False
        _heed_the_end()
        try:
            code = super().main(*args, **kwargs)
            sys.stdout.flush()
        except (SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # Polars may panic, which is no Exception
            code = _explain(error)
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order they are most often needed."""
        return list(self.commands)


def _heed_the_end() -> None:
    """Take a polite request to end as Ctrl-C: temporary files are to be removed."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):  # of which Windows has but one
        with contextlib.suppress(ValueError, AttributeError):  # only the main thread may ask
            if signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
                signal.signal(getattr(signal, name), stop)


def _explain(error: BaseException) -> int:
    """Say what went wrong in one sentence; give the exit code."""
    match error:
        case click.ClickException():
            error.show()
            return error.exit_code
        case click.Abort(__cause__=EOFError()):  # click takes both for the end of a conversation
            sentence = "what was read ended too soon; copy or write it again"
        case click.Abort() | KeyboardInterrupt():
            sentence = "stopped before the end; no half-written result is left"
        case VeracityError():
            sentence = str(error)
        case MemoryError():
            sentence = "out of memory; leave out columns or rows, or use a larger machine"
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
    click.echo(f"error: {' '.join(sentence.splitlines())}", err=True)
    return 2 if isinstance(error, ParameterError) else 1


def _leave_stdout() -> None:
    """Let what is still to be printed go nowhere, so that it cannot fail again at the exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    explain,
    evaluate,
    compare,
    profile,
    check,
    plot,
    report,
    generate,
    study,
    demo,
):
    main.add_command(command)
