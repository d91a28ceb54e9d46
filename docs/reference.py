"""Make the reference from what the code says of itself: help texts, signatures, docstrings.

`root_pages.py` adds its pages to the site; they are not kept in files.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import veracity
from veracity.algorithms import Algorithm
from veracity.cli import main as commands

WIDTH = 96
PAGES = Path(__file__).parent / "algorithms"
SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
CONTENTS = ("Parameters", "Attributes")
"""The sections of a docstring that are shown; examples are run elsewhere."""


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {"cli.md": cli_page(), "python.md": python_page()}


def cli_page() -> str:
    """What `--help` says, of every command."""
    parts = [
        "# Command line",
        "The output of `veracity COMMAND --help`. [Which command answers my "
        "question](../faq.md#which-command-answers-my-question) is shorter.",
    ]
    for command, path in _commands(commands, "veracity"):
        parts += [f"## `{path}`", f"```text\n{_help(command, path)}\n```"]
    return "\n\n".join(parts) + "\n"


def _commands(command: click.Command, path: str) -> Iterator[tuple[click.Command, str]]:
    """A command and all below it, each with the words that call it."""
    yield command, path
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _commands(below, f"{path} {name}")


def _help(command: click.Command, path: str) -> str:
    context = click.Context(
        command,
        info_name=path,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def python_page() -> str:
    """Every public name, with its signature and what its docstring says."""
    public = {name: getattr(veracity, name) for name in veracity.__all__}
    functions = {name: each for name, each in public.items() if inspect.isfunction(each)}
    classes = {name: each for name, each in public.items() if inspect.isclass(each)}
    below = {name: getattr(veracity.algorithms, name) for name in veracity.algorithms.__all__}
    algorithms = {name: each for name, each in below.items() if _is_algorithm(each)}
    modules = {name: each for name, each in public.items() if inspect.ismodule(each)}
    parts = [
        "# Python",
        "All public names, from their docstrings. `veracity.__version__` is the version, as text. "
        "[The data model](../data-model.md) explains the terms.",
        "## Functions",
        *(_described(f"veracity.{name}", each) for name, each in functions.items()),
        "## Classes",
        *(_described(f"veracity.{name}", each) for name, each in classes.items()),
        "## Algorithms",
        "Parameters are keyword-only.",
        *(_algorithm(name, each) for name, each in algorithms.items()),
        "## Modules",
        *(_module(name, each) for name, each in modules.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _is_algorithm(each: object) -> bool:
    """Return True for an algorithm, not for what all of them have in common."""
    return inspect.isclass(each) and issubclass(each, Algorithm) and not inspect.isabstract(each)


def _described(name: str, each: Any) -> str:
    """Signature, docstring and, of a class, what it can do."""
    parts = [f"### `{name}`", f"```text\n{_signature(name, each)}\n```", _prose(each)]
    if inspect.isclass(each):
        members = [_member(key, member) for key, member in _members(each)]
        parts += ["It also has:", "\n".join(members)] if members else []
    return "\n\n".join(part for part in parts if part)


def _algorithm(name: str, each: type[Algorithm[Any]]) -> str:
    path = f"veracity.algorithms.{name}"
    heading = f"### `{path}`\n\n```text\n{_signature(path, each)}\n```"
    return f"{heading}\n\n{_prose(each)}\n\n[Page of its family](../algorithms/{_family(each)})"


def _family(each: type[Algorithm[Any]]) -> str:
    """Return the page with a row for the algorithm in the table at its top."""
    row = re.compile(rf"^\| `{each().name}`.* \| `{each.__name__}\b.*` \| ", re.MULTILINE)
    found = [page.name for page in PAGES.glob("*.md") if row.search(page.read_text("utf-8"))]
    (page,) = found
    return page


def _module(name: str, module: ModuleType) -> str:
    told = {key: getattr(module, key) for key in module.__all__}
    told = {key: each for key, each in told.items() if not _is_algorithm(each)}
    rows = [f"- `{key}`: {_first_line(each)}" for key, each in told.items()]
    return f"### `veracity.{name}`\n\n{_first_line(module)}\n\n" + "\n".join(rows)


def _members(each: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, in the order they are written."""
    for key, member in vars(each).items():
        function = getattr(member, "__func__", member)
        is_one = inspect.isfunction(function) or isinstance(member, property | cached_property)
        if is_one and not key.startswith("_") and inspect.getdoc(member):
            yield key, member


def _member(key: str, member: Any) -> str:
    if isinstance(member, property | cached_property):
        return f"- `{key}`: {_first_line(member)}"
    function = getattr(member, "__func__", member)
    parameters = [*inspect.signature(function).parameters.values()][1:]
    return f"- `{key}({', '.join(_in_order(parameters))})`: {_first_line(member)}"


def _signature(name: str, each: Any) -> str:
    """How it is called: on one line, or with a line for each parameter."""
    if each is veracity.Result:
        return f"{name}    made by discover and load"
    signature = inspect.signature(each)
    listed = list(_in_order([*signature.parameters.values()]))
    gives = "" if inspect.isclass(each) else f" -> {_annotation(signature.return_annotation)}"
    line = f"{name}({', '.join(listed)}){gives}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {one}," for one in listed), f"){gives}"])


def _in_order(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Parameters as they are written, with the star before those that have to be named."""
    is_starred = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not is_starred:
            yield "*"
            is_starred = True
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        kind = "" if one.annotation is one.empty else f": {_annotation(one.annotation)}"
        default = "" if one.default is one.empty else f" = {_default(one.default)}"
        yield f"{star}{one.name}{kind}{default}"


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")


def _default(value: Any) -> str:
    """The default as it is written, not as it is stored."""
    if isinstance(value, veracity.Prior):
        return "Prior()"
    return "..." if " object at 0x" in repr(value) or "<factory>" in repr(value) else repr(value)


def _prose(each: Any) -> str:
    """The docstring as Markdown: its text, and its parameters or attributes as a list."""
    text, *sections = SECTION.split(inspect.getdoc(each) or "")
    parts = [part for part in text.strip().split("\n\n") if not part.startswith(">>>")]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title in CONTENTS:
            parts.append("\n".join(_entries(body)))
    return "\n\n".join(parts)


def _entries(body: str) -> Iterator[str]:
    """One line for each name of a section, its indented text behind it."""
    for entry in re.split(r"\n(?=\S)", body.strip()):
        names, *lines = entry.splitlines()
        quoted = ", ".join(f"`{name.strip()}`" for name in names.split(":")[0].split(","))
        yield f"- {quoted}: {' '.join(line.strip() for line in lines)}"


def _first_line(each: Any) -> str:
    return (inspect.getdoc(each) or "").split("\n\n")[0].replace("\n", " ")
