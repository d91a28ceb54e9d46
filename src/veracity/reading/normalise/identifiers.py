"""Identifiers made of digits: EAN, ISBN, and numbers of articles with leading zeros."""

from __future__ import annotations

import numpy as np
import polars as pl

EAN = r"^(?:[0-9]{8}|[0-9]{11,14})$"
"""EAN-8, UPC, EAN-13 and GTIN; a spreadsheet takes leading zeros off, and the check still holds."""

ISBN = r"^[0-9]{8,9}[0-9X]$"

DIGITS = r"^[0-9]{1,20}X?$"

WITH_ZEROS = r"^0[0-9]{5,19}$"


def has_check_digit(texts: pl.Series) -> pl.Series:
    """Return True for texts that end with a valid check digit of an EAN or an ISBN.

    >>> codes = ["4006381333931", "4006381333932", "080442957X", "012345678905", "12345678905"]
    >>> has_check_digit(pl.Series(codes)).to_list()
    [True, False, True, True, True]
    """
    valid = np.zeros(len(texts), dtype=np.bool_)
    for pattern, width, weights, modulus in (
        (EAN, 14, np.tile([3, 1], 7), 10),
        (ISBN, 10, np.arange(10, 0, -1), 11),
    ):
        where = texts.str.contains(pattern).fill_null(value=False).arg_true()
        if not len(where):
            continue
        letters = "".join(texts.gather(where).str.zfill(width)).encode()
        signs = np.frombuffer(letters, dtype=np.uint8).reshape(-1, width).astype(np.int64)
        digits = np.where(signs == ord("X"), 10, signs - ord("0"))
        valid[where.to_numpy()] |= digits @ weights % modulus == 0
    return pl.Series(valid)
