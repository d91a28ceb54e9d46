"""Databases: claims are read from them in batches, results are written to them whole or not at all.

`address.py` knows what an address says and hides its password; `sentences.py` turns what drivers
say into one sentence; `base.py` tells what all ways to talk to a database have in common, and
`arrow.py` and `dbapi.py` have these ways; `rows.py` reads, `tables.py` writes. Drivers are loaded
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
from veracity.io.databases.tables import check_tables, write_tables

__all__ = [
    "DatabaseReader",
    "Selection",
    "check_tables",
    "column_names",
    "database_file",
    "is_address",
    "is_database",
    "is_database_head",
    "selection_of",
    "tables_of",
    "write_tables",
]
