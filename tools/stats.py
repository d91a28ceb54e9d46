"""Count the code of the package by folder, and docstrings: ``python tools/stats.py [FOLDER]``."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1] / "src" / "veracity"

LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE,
    tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
"""Types of tokens that do not make a line a line of code."""

RIDDLES = frozenset(
    {"What", "How", "Whether", "Who", "Which", "Of", "None", "So", "As", "That", "Where"}
)
"""First words of docstrings that neither say what is done nor name the thing."""


class Size(NamedTuple):
    """Size of one module, or of several."""

    lines: int
    statements: int
    files: int


def total(sizes: Iterable[Size]) -> Size:
    """Return the size of all of them together."""
    return Size(*map(sum, zip(*sizes, strict=True)))


def size_of(text: str) -> Size:
    """Return the size of a module without its docstrings, comments and blank lines."""
    statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    prose = [node for node in statements if is_docstring(node)]
    in_prose = {n for node in prose for n in range(node.lineno, (node.end_lineno or 0) + 1)}
    return Size(len(set(filled_lines(text)) - in_prose), len(statements) - len(prose), 1)


def is_docstring(node: ast.stmt) -> bool:
    """Return True for a string that stands alone, also below a constant or a field."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def filled_lines(text: str) -> Iterator[int]:
    """Yield the numbers of the lines that hold more than layout and comments."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            yield from range(token.start[0], token.end[0] + 1)


def docstrings_of(package: Path) -> Iterator[str]:
    """Yield all docstrings, also those below a constant or a field."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield text


def is_riddle(docstring: str) -> bool:
    """Return True if the first word of a docstring is one of `RIDDLES`."""
    words = docstring.split(maxsplit=1)
    return bool(words) and words[0].strip("*`,.:;") in RIDDLES


def sizes_of(package: Path) -> dict[str, Size]:
    """Return the size of each folder of the package, ordered by name."""
    modules = defaultdict(list)
    for path in package.rglob("*.py"):
        folder, *inner = path.relative_to(package).parts
        modules[folder if inner else "(top)"].append(size_of(path.read_text(encoding="utf-8")))
    return {folder: total(modules[folder]) for folder in sorted(modules)}


def main() -> None:
    """Print one row per folder, the total, and the number of docstrings that are riddles."""
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    sizes = sizes_of(package)
    print(f"{'folder':<12} {'lines':>7} {'statements':>11} {'files':>6}")
    for folder, size in [*sizes.items(), ("total", total(sizes.values()))]:
        print(f"{folder:<12} {size.lines:>7,} {size.statements:>11,} {size.files:>6,}")
    docstrings = list(docstrings_of(package))
    n = sum(map(is_riddle, docstrings))
    print(f"{n:,} of {len(docstrings):,} docstrings begin with {', '.join(sorted(RIDDLES))}")


if __name__ == "__main__":
    main()
