"""Databases: claims are read from them in batches.

`address.py` knows what an address says and hides its password; `sentences.py` turns what drivers
say into one sentence; `base.py` tells what all ways to talk to a database have in common, and
`arrow.py` and `dbapi.py` have these ways; `rows.py` reads. Drivers are loaded
when a database is opened.
"""

from veracity.io.databases.address import (
    database_file,
    is_address,
    is_database,
    is_database_head,
)
from veracity.io.databases.rows import (
    DatabaseReader,
    Selection,
    column_names,
    selection_of,
    tables_of,
)

__all__ = [
    "DatabaseReader",
    "Selection",
    "column_names",
    "database_file",
    "is_address",
    "is_database",
    "is_database_head",
    "selection_of",
    "tables_of",
]
