"""Try whether tests notice faults: ``python tests/mutate.py [MODULE ...]``.

A mutant is a small fault in one function: another operator, a number one higher, a turned
condition, a call left out. Without arguments a fixed sample of mutants is tried: those whose
names have the smallest hashes in each area, so a change elsewhere in the sources leaves them as
they are. Of the quick tests, those that run the changed line are run, the fastest first, until
one fails or `SECONDS` are spent. A mutant that none of them notices is shown.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import heapq
import importlib
import importlib.abc
import importlib.util
import itertools
import json
import os
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "veracity"
KEPT = ROOT / "build" / "mutate.json"

SAMPLE = {
    "algorithms/*.py": 36, "kernels/reference*.py": 16, "encoding/*.py": 14, "fit/*.py": 10,
    "reading/*.py": 20, "result/*.py": 12, "checks/*.py": 12,
}  # fmt: skip
"""Number of mutants in each area of the fixed sample."""

NOT_ASKED = (
    "attack", "browser", "cli", "databases", "docs", "extremes", "league", "names", "notebook",
    "office", "plot", "real_data", "report", "site", "sklearn", "spark", "study", "write",
)  # fmt: skip
"""Words in the names of test files that take long for what they say of an answer."""

MOST_TESTS = 150
"""Number of tests that are kept for a line: the fastest."""

SECONDS = 8.0
"""CPU time of the tests that are tried on one mutant, as measured without any fault."""

COMPILED = "kernels/compiled"
"""Kernels that are mutated as plain Python, and judged by `OF_COMPILED`, which takes minutes."""

OF_COMPILED = "tests/test_kernels.py"

OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--assert=plain")

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,  # codespell:ignore notin
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Add,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


Lines = dict[str, list[tuple[float, str]]]
"""For each line, as module:number, the seconds and names of tests that run it."""


class Mutant(NamedTuple):
    """A fault: which node of a module is changed, and in what way."""

    module: str
    line: int
    node: int
    name: str


def main() -> int:
    """Try mutants, show those that survive, and count."""
    parser = argparse.ArgumentParser(description="Try whether tests notice faults.")
    parser.add_argument("modules", nargs="*", help="such as algorithms/mle: all of its mutants")
    parser.add_argument("--most", type=int, default=10**9, help="mutants of each module")
    parser.add_argument("--again", action="store_true", help="measure only tests that are new")
    told = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= {"CI": "true", "MUTANT_UNDER_TEST": "some"}
    if told.modules:
        chosen = {name: sample([PACKAGE / f"{name}.py"], told.most) for name in told.modules}
    else:
        chosen = {
            area: sample(sorted((PACKAGE / area).parent.rglob(area.rpartition("/")[2])), most)
            for area, most in SAMPLE.items()
        }
    if told.again:
        kept, known = json.loads(KEPT.read_text("utf-8"))
        lines = reached_again(kept, known, quick_tests())
    else:
        lines, known = reached(quick_tests())
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps((lines, known)), "utf-8")
    load_libraries()
    fates: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in itertools.zip_longest(*chosen.values()):
        for area, mutant in zip(chosen, turn, strict=True):
            if mutant is not None:
                fate = fate_of(mutant, lines)
                fates[area][fate.partition(" by")[0]] += 1
                print(f"line {mutant.line} of {mutant.name}: {fate}", flush=True)
    fates["all"] = sum(fates.values(), Counter())
    kinds = ("killed", "never ends", "survived", "no test")
    print(f"\n{'':24}", *(f"{kind:>10}" for kind in kinds), f"{'noticed':>8}")
    for area, counts in fates.items():
        share = (counts["killed"] + counts["never ends"]) / counts.total()
        print(f"{area:24}", *(f"{counts[kind]:10}" for kind in kinds), f"{share:8.1%}")
    return 0


# --- mutants --------------------------------------------------------------------------------------


def sample(files: list[Path], most: int) -> list[Mutant]:
    """Return the mutants whose names have the smallest hashes."""
    mutants = [one for file in files for one in mutants_of(file)]
    return sorted(mutants, key=lambda one: hashlib.sha256(one.name.encode()).digest())[:most]


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield the mutants of a module; a name does not depend on what stands in other functions."""
    module = str(file.relative_to(PACKAGE))
    tree = ast.parse(file.read_text("utf-8"))
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    seen: Counter[str] = Counter()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or (
            "overload" in map(ast.unparse, function.decorator_list)
        ):
            continue
        for node, line in in_body(function):
            changed = mutated(copy.deepcopy(node))
            if changed is None:
                continue
            name = f"{module} {function.name}: {ast.unparse(node)} -> {ast.unparse(changed)}"
            seen[name] += 1
            yield Mutant(module, line, numbers[id(node)], f"{name} #{seen[name]}")


def in_body(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, int]]:
    """Yield the nodes of a function, each with the line on which its statement begins.

    Nested functions, annotations and messages are left out.
    """
    waiting: list[tuple[ast.AST, int]] = [(node, node.lineno) for node in function.body]
    while waiting:
        node, line = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Raise, ast.JoinedStr, ast.Assert)):
            continue
        yield node, line
        for child in ast.iter_child_nodes(node):
            if child is not getattr(node, "annotation", None):
                waiting.append((child, child.lineno if isinstance(child, ast.stmt) else line))


def mutated(node: ast.AST) -> ast.AST | None:
    """Return the node with a fault, or None if nothing is changed here."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            node.ops = [COMPARISONS[type(op)]()]
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS:
            node.op = OPERATORS[type(op)]()
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return (
                ast.copy_location(ast.UnaryOp(ast.UAdd(), node.operand), node)
                if isinstance(node.op, ast.USub)
                else node.operand
            )
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value) | float(value)):
            node.value = value + 1
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            node.test = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
        case ast.Expr(value=ast.Call()):
            return ast.copy_location(ast.Pass(), node)
        case ast.Call(keywords=[*_, last]) if last.arg:
            node.keywords = node.keywords[:-1]
        case ast.Return(value=ast.expr()):
            node.value = ast.copy_location(ast.Constant(None), node)
        case _:
            return None
    return node


def code_of(mutant: Mutant) -> Any:
    """Return the compiled module with the fault."""
    file = PACKAGE / mutant.module
    tree = ast.parse(file.read_text("utf-8"))
    wanted = list(ast.walk(tree))[mutant.node]

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return mutated(node) if node is wanted else self.generic_visit(node)

    return compile(ast.fix_missing_locations(Change().visit(tree)), str(file), "exec")


class Import(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import the module of a mutant with its fault."""

    def __init__(self, mutant: Mutant) -> None:
        self.file, self.code = PACKAGE / mutant.module, code_of(mutant)
        name = mutant.module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.name = f"veracity.{name}"

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Return how to load the module, if it is this one."""
        if name != self.name:
            return None
        folder = [str(self.file.parent)] if self.file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, self.file, loader=self, submodule_search_locations=folder
        )

    def exec_module(self, module: Any) -> None:
        """Run the changed code."""
        exec(self.code, module.__dict__)


# --- tests ----------------------------------------------------------------------------------------


def quick_tests() -> list[str]:
    """Return the files of tests that judge."""
    files = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py"))
    return [file for file in files if not any(word in file for word in NOT_ASKED)]


class Notes:
    """Note the time of each test, and with coverage the lines that it runs."""

    def __init__(self, lines: coverage.Coverage | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.lines = lines
        self.failed: list[str] = []
        self.collected: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which tests there are."""
        self.collected = [item.nodeid for item in session.items]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run one test."""
        if self.lines is not None:
            self.lines.switch_context(item.nodeid)
        began = time.process_time()
        done = yield
        self.seconds[item.nodeid] = time.process_time() - began
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a test that fails without any fault: it cannot judge."""
        if report.failed:
            self.failed.append(report.nodeid)


def reached(tests: list[str]) -> tuple[Lines, list[str]]:
    """Run tests in a child; return for each line the fastest that run it, and all that ran."""

    def measure() -> dict[str, Any]:
        covered = coverage.Coverage(data_file=None, source=[str(PACKAGE)], config_file=False)
        notes, lines = Notes(covered), {}
        covered.start()
        pytest.main([*OPTIONS, "-m", "not slow and not data", *tests], plugins=[notes])
        covered.stop()
        data = covered.get_data()
        for file in data.measured_files():
            module = Path(file).relative_to(PACKAGE).as_posix()
            for line, contexts in data.contexts_by_lineno(file).items():
                judges = (set(contexts) & notes.seconds.keys()) - set(notes.failed)
                found = ((notes.seconds[test], test) for test in judges)
                lines[f"{module}:{line}"] = heapq.nsmallest(MOST_TESTS, found)
        return {"lines": lines, "failed": notes.failed, "tests": list(notes.seconds)}

    found = in_child(measure)
    print(f"{len(found['tests'])} tests; these cannot judge: {found['failed']}", flush=True)
    return dict(found["lines"]), list(found["tests"])


def reached_again(kept: Lines, known: list[str], tests: list[str]) -> Lines:
    """Return the lines of the last time for tests of the same name, and those of new tests."""

    def collect() -> list[str]:
        notes = Notes()
        pytest.main([*OPTIONS, "--collect-only", *tests], plugins=[notes])
        return notes.collected

    there = {test.partition("::")[2]: test for test in in_child(collect)}
    names = {test.partition("::")[2] for test in known}
    new = [test for name, test in there.items() if name not in names]
    lines: Lines = defaultdict(list, reached(new)[0] if new else {})
    for line, judges in kept.items():
        moved = ((seconds, there.get(test.partition("::")[2])) for seconds, test in judges)
        lines[line] += [(seconds, test) for seconds, test in moved if test]
    return {line: sorted(map(tuple, judges))[:MOST_TESTS] for line, judges in lines.items()}


def in_child(work: Callable[[], Any]) -> Any:
    """Return what a function returns in a process of its own, or None if the process dies."""
    told, tell = os.pipe()
    if child := os.fork():
        os.close(tell)
        with os.fdopen(told) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return json.loads(text) if text else None
    os.close(told)
    quiet()
    with os.fdopen(tell, "w") as pipe:
        json.dump(work(), pipe)
    os._exit(0)


def fate_of(mutant: Mutant, lines: Lines) -> str:
    """Run the tests with the fault in a process of its own, and return what became of it."""
    chosen: list[str] = []
    spent = 0.0
    for seconds, test in lines.get(f"{mutant.module}:{mutant.line}", []):
        if spent + seconds > SECONDS and chosen:
            break
        chosen.append(test)
        spent += seconds
    is_compiled = mutant.module.startswith(COMPILED)
    if is_compiled:
        chosen, spent = [OF_COMPILED], 60.0
    if not chosen:
        return "no test"

    def judge() -> list[str]:
        limit = int(20 + 10 * spent)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        if is_compiled:
            importlib.import_module("numba").config.DISABLE_JIT = True
        notes = Notes()
        try:
            sys.meta_path.insert(0, Import(mutant))
            code = pytest.main([*OPTIONS, "-x", *chosen], plugins=[notes])
        except BaseException:
            return ["import"]
        return notes.failed if notes.failed or not code else ["import"]

    found = in_child(judge)
    if found is None:
        return "never ends"
    return f"killed by {found[0]}" if found else "survived"


def quiet() -> None:
    """Print nothing in a child, and read nothing."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def load_libraries() -> None:
    """Import what takes long and starts no thread; none of it is the package."""
    for name in ("hypothesis", "numba", "polars", "scipy.stats", "scipy.sparse", "scipy.optimize"):
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
