"""A result as one page: a file that needs nothing else, for people who would rather read than run.

`gather` works out what the page tells, each module of sections tells a part of it, and `page` puts
the parts together. No name or value that a source gave is ever obeyed by the browser: all of it is
escaped in `markup`, and the page forbids any script but its own.
"""

from __future__ import annotations

import os
from pathlib import Path

from veracity.errors import OutputError
from veracity.io.atomic import atomic_file, check_file
from veracity.progress import Progress, shows_progress
from veracity.result import Result
from veracity.show.report.contents import sections_of
from veracity.show.report.gather import gather
from veracity.show.report.page import put_together

ENDINGS = ("", ".html", ".htm")


@shows_progress
def write_report(
    result: Result,
    path: str | os.PathLike[str],
    *,
    truth: object | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write what was found as one HTML file that works offline.

    Parameters
    ----------
    result
        What `discover` or `load` returned; nothing else is needed.
    path
        The file to write; one that exists is refused unless `force`.
    truth
        Known truths, in any form claims can have; with them, the report tells how right the answer
        is.
    progress
        Called with phase, done and total as the work goes on.

    Examples
    --------
    >>> import veracity
    >>> result = veracity.discover(veracity.synthetic.flights().claims)
    >>> veracity.write_report(result, "report.html")  # doctest: +SKIP
    PosixPath('report.html')
    """
    target = check_page(path, force=force)
    findings = gather(result, truth, progress)
    page = put_together(findings, sections_of(findings))
    with atomic_file(target) as unfinished:
        unfinished.write_bytes(page.encode("utf-8", "backslashreplace"))
    return target


def check_page(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """The file that a report is to be written to; refused if that will fail, before any work."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:  # no other program would open it
        raise OutputError(f"{target}: a report is a page of HTML; let its name end in .html")
    check_file(target, force=force)
    return target
