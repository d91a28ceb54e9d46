"""Damage to the files of a run: any byte, any file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy], object]


@st.composite
def tampered(
    draw: Draw, run: Mapping[str, bytes], others: Mapping[str, Mapping[str, bytes]]
) -> dict[str, bytes]:
    """The files of a run with one of them damaged, gone, or that of another run."""
    files = dict(run)
    name = draw(st.sampled_from(sorted(name for name in files if not name.startswith(".."))))
    match draw(st.sampled_from(("bytes", "bytes", "away", "swap"))):
        case "bytes":
            files[name] = draw(_changed_bytes(files[name]))
        case "away":
            del files[name]
        case "swap":
            files[name] = others[draw(st.sampled_from(sorted(others)))].get(name, b"")
    return files


@st.composite
def _changed_bytes(draw: Draw, content: bytes) -> bytes:
    at = draw(st.integers(0, len(content)))
    put = draw(st.binary(max_size=4))
    skipped = draw(st.sampled_from((len(put), 0, 10, len(content))))
    return content[:at] + put + content[at + skipped :]
