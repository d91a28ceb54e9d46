"""Count how often a small CSV is opened, and how many modules it passes until it is numbered.

``python tools/reading_cost.py [FILE]`` counts calls of ``open`` for the file (`sys.addaudithook`)
and the modules of the package that run between `discover` and the first numbered batch
(`sys.setprofile`).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import veracity

CLAIMS = "source,entity,value\na,x,1\nb,x,2\nc,x,1\na,y,3\nb,y,3\nc,y,3\nd,x,1\nd,y,3\ne,x,2\n"
"""Nine rows."""


class Numbered(Exception):
    """The first batch is being numbered: what follows is not counted."""


def main(path: Path) -> None:
    """Print both numbers for a file of claims."""
    n_opened = 0
    modules: dict[str, None] = {}
    functions: set[tuple[str, str]] = set()

    def count_opens(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal n_opened
        n_opened += event == "open" and str(arguments[0]) == str(path)

    def note_module(frame: FrameType, event: str, argument: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event != "call" or not name.startswith("veracity."):
            return
        if name == "veracity.encoding.names":
            sys.setprofile(None)
            raise Numbered
        if frame.f_code.co_name != "<module>":
            modules[name] = None
            functions.add((name, frame.f_code.co_qualname))

    veracity.discover(path, "majority-vote")  # modules are loaded, and what is kept is kept
    sys.addaudithook(count_opens)
    sys.setprofile(note_module)
    try:
        veracity.discover(path, "majority-vote")
    except Numbered:
        pass
    finally:
        sys.setprofile(None)
    print(f"opened {n_opened} times by Python; {len(modules)} modules, {len(functions)} functions:")
    print(", ".join(name.removeprefix("veracity.") for name in modules))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            small = Path(folder) / "claims.csv"
            small.write_text(CLAIMS, encoding="utf-8")
            main(small)
