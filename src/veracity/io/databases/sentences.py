"""What drivers say, as one sentence that tells what to do and no password."""

from __future__ import annotations

import re

PREFIX = re.compile(
    r"^(?:[A-Z_]{2,}: +|\[libpq\] |Failed to [a-z ]+: |Execution error \[\w+\]: |\([\w.]+\) )+"
)
"""What drivers put before the words that matter."""

ADVICE = (
    (r"statement timeout|lock timeout", "ask for more time, or try again later"),
    (r"too many (clients|connections)", "try again later"),
    (r"disk is full|no space left", "make room"),
    (r"password|authenticat|pg_hba",
     "check user and password; PGPASSWORD and ~/.pgpass are looked at, too"),
    (r"translate host name|refused|time(d )?out|No route|unreachable|No such file or directory",
     "check host and port, and whether the server runs"),
    (r"terminating connection|closed the connection|connection .*(lost|closed|reset)"
     r"|no connection to the server|EOF detected", "the connection broke: try again"),
    (r"database \S+ does not exist", "check the name of the database"),
    (r"role \S+ does not exist", "check the name of the user"),
    (r"conversion from", "cast the column to another type in a query"),
    (r"different configuration", "hand the connection that is open to veracity.read_database"),
    (r"decode", "cast the column to another type in a query"),
    (r"no such column|referenced column|unknown column|column .*does not exist|column reference",
     "check the names of the columns in the query"),
    (r"relation|no such table|table with name|catalog error", "check the names in the query"),
    (r"permission denied|must be owner|attempt to write a readonly",
     "ask the owner for the right to do so"),
    (r"depend on it", "drop what depends on it first, or choose another schema"),
    (r"lock", "another program has it open: let it end, and try again"),
    (r"syntax|parser error|incomplete input", "check the query"),
    (r"not a database|not a valid DuckDB|malformed", "check the file"),
    (r"URI|percent-encoded|connection option|port number",
     "write it as postgresql://user@host:5432/database, and odd characters as %40"),
)  # fmt: skip
"""What to do, by what the driver says; the first that fits is taken."""


def reason_of(error: BaseException, secrets: set[str]) -> str:
    r"""What went wrong, in the driver's own words, but in one line and without secrets.

    >>> reason_of(OSError('IO: [libpq] Failed to connect: FATAL:  no "p%w"\n\thint'), {"p%w"})
    'no "***"'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = PREFIX.sub("", lines[0]) if lines else type(error).__name__
    if reason.endswith("failed:") and len(lines) > 1:
        reason = f"{reason} {PREFIX.sub('', lines[1])}"
    for secret in sorted(secrets, key=len, reverse=True):
        reason = reason.replace(secret, "***")
    return reason.rstrip(".;: ")


def advice_on(error: BaseException, otherwise: str) -> str:
    """What to do about it."""
    said = str(error)
    return next((do for words, do in ADVICE if re.search(words, said, re.IGNORECASE)), otherwise)
