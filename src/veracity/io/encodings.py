"""The encoding of a text file, packed with gzip or not."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from veracity.errors import ParameterError, UnreadableFile, WrongEncoding, damaged

MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
"""Byte order marks, and the codec of each."""

OTHER_CODECS = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Codecs of text that lacks the mark which these codecs need."""

PACKED = {
    b"PK\x03\x04": "zip or Excel",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
"""First bytes of files that have to be unpacked first."""

GZIP = b"\x1f\x8b"
"""First bytes of a file that is packed with gzip."""

SHORT_TEXT = 1 << 24
"""Bytes of a file up to which it is opened once, and kept while it is read."""

MOST_SIDE_BY_SIDE = 0.3
"""In western text few letters beyond ASCII stand side by side; in other scripts most do."""


@dataclass(frozen=True)
class TextFile:
    """A text file, packed with gzip or not; a short one has its content at hand."""

    path: Path
    content: bytes | None = None

    @classmethod
    def of(cls, path: Path) -> TextFile:
        """Return the file, with its content if it is short."""
        is_short = path.stat().st_size <= SHORT_TEXT
        return cls(path, path.read_bytes() if is_short else None)

    @cached_property
    def is_packed(self) -> bool:
        """True for a file that is packed with gzip."""
        with self._raw() as file:
            return file.read(2) == GZIP

    def _raw(self) -> IO[bytes]:
        return self.path.open("rb") if self.content is None else io.BytesIO(self.content)

    def opened(self) -> IO[bytes]:
        """Open the file, unpacked."""
        return gzip.open(self._raw()) if self.is_packed else self._raw()  # type: ignore[return-value]

    def may_have(self, byte: bytes) -> bool:
        """Return True if a byte may be in the file; for a packed file it is not known."""
        if self.is_packed:
            return True
        with self._raw() as file:
            return any(byte in piece for piece in iter(lambda: file.read(1 << 20), b""))

    @contextlib.contextmanager
    def text(self, codec: str) -> Iterator[IO[str]]:
        """Open the text of the file."""
        with (
            self._explained(codec),
            self.opened() as file,
            io.TextIOWrapper(file, encoding=codec, newline="") as text,
        ):
            yield text

    def codec(self, encoding: str) -> str:
        """Return the codec to read the file with: the named one, but a byte order mark wins."""
        try:
            "a".encode(encoding)  # also refuses codecs that are not about text, such as base64
        except (LookupError, ValueError):
            raise ParameterError(
                f"encoding: there is no encoding {encoding!r}; utf-8, latin-1 and utf-16 are usual"
            ) from None
        with self._explained(encoding), self.opened() as file:
            head = file.read(8)
        packed = next((name for begin, name in PACKED.items() if head.startswith(begin)), None)
        if packed is not None:
            raise UnreadableFile(
                f"{self.path}: this is a {packed} file; unpack it to CSV or Parquet first"
            )
        named = codecs.lookup(encoding).name
        return next((codec for mark, codec in MARKS.items() if head.startswith(mark)), named)

    def western(self) -> str | None:
        """Return Windows-1252, which includes Latin-1, if text that is not UTF-8 looks like it.

        It does not if there are bytes without a letter in it, if most of the text beyond ASCII
        would be UTF-8, or if such letters stand side by side, as in Cyrillic or Japanese.
        """
        n_high = n_beside = n_utf8 = 0
        with self._explained("cp1252"), self.opened() as file:
            for line in file:
                if line.isascii():
                    continue
                try:
                    text = line.decode("cp1252")
                except UnicodeDecodeError:
                    return None
                high = [not letter.isascii() for letter in text]
                n_high += sum(high)
                n_beside += sum(one and other for one, other in itertools.pairwise(high))
                with contextlib.suppress(UnicodeDecodeError):
                    line.decode("utf-8")
                    n_utf8 += sum(high)
        is_western = n_beside <= MOST_SIDE_BY_SIDE * n_high and n_utf8 <= n_high / 2
        return "cp1252" if is_western else None

    @contextlib.contextmanager
    def _explained(self, codec: str) -> Iterator[None]:
        """Turn failures of reading text into errors that say what to do."""
        try:
            yield
        except UnicodeError as error:
            raise self._wrong_encoding(codec, error) from error
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(self.path, error) from error

    def _wrong_encoding(self, codec: str, error: UnicodeError) -> WrongEncoding:
        """Return an error that names the first byte that is no text, and its line."""
        path, other = self.path, OTHER_CODECS.get(codec, "utf-8")
        other = "cp1250" if codec.startswith("utf-8") else other
        advice = f"say which encoding it is, e.g. encoding='{other}' or --encoding {other}"
        if not isinstance(error, UnicodeDecodeError):
            return WrongEncoding(f"{path}: no {codec} text ({error}); {advice}")
        byte = error.object[error.start]
        decoder = codecs.getincrementaldecoder(codec)()
        line = 1
        failures = (UnicodeError, EOFError, OSError, zlib.error)  # it may be damaged, too
        with contextlib.suppress(*failures), self.opened() as file:
            for raw in file:
                line += decoder.decode(raw).count("\n")
        return WrongEncoding(f"{path}: line {line}: byte 0x{byte:02x} is no {codec} text; {advice}")
