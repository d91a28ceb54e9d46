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
import importlib
import importlib.abc
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "veracity"

SAMPLE = {
    "algorithms": 70,
    "kernels": 30,
    "encoding": 25,
    "fit": 15,
    "reading": 40,
    "result": 20,
    "checks": 20,
}
"""Number of mutants in each area of the fixed sample."""

NOT_ASKED = (
    "attack", "browser", "cli", "databases", "docs", "extremes", "league", "names", "notebook",
    "office", "plot", "real_data", "report", "site", "sklearn", "spark", "study", "write",
)  # fmt: skip
"""Words in the names of test files that take long for what they say of an answer."""

SECONDS = 8.0
"""CPU time of the tests that are tried on one mutant, as measured without any fault."""

COMPILED = "kernels/compiled"
"""Kernels that are mutated as plain Python, and judged by `OF_COMPILED`."""

OF_COMPILED = ("tests/test_kernels.py",)

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Add,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


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
    told = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= {"CI": "true", "MUTANT_UNDER_TEST": "some"}
    if told.modules:
        chosen = {name: sample([PACKAGE / f"{name}.py"], told.most) for name in told.modules}
    else:
        chosen = {
            area: sample(sorted((PACKAGE / area).rglob("*.py")), most)
            for area, most in SAMPLE.items()
        }
    plain = [one for some in chosen.values() for one in some if one.module.startswith(COMPILED)]
    tests_of_line = reached(quick_tests(), compiled=False)
    of_compiled = reached(list(OF_COMPILED), compiled=True) if plain else {}
    load_libraries()
    fates: dict[str, Counter[str]] = defaultdict(Counter)
    for area, mutants in chosen.items():
        for mutant in mutants:
            lines = of_compiled if mutant in plain else tests_of_line
            fate = fate_of(mutant, lines.get(f"{mutant.module}:{mutant.line}", []))
            fates[area][fate] += 1
            print(f"{fate:10} line {mutant.line} of {mutant.name}", flush=True)
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

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.lines = coverage.Coverage(data_file=None, source=[str(PACKAGE)], config_file=False)
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run one test."""
        self.lines.switch_context(item.nodeid)
        began = time.process_time()
        done = yield
        self.seconds[item.nodeid] = time.process_time() - began
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a test that fails without any fault: it cannot judge."""
        if report.failed:
            self.failed.append(report.nodeid)


def reached(files: list[str], *, compiled: bool) -> dict[str, list[tuple[float, str]]]:
    """Return, for each line, the tests that run it, the fastest first, with their seconds."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(told)
        quiet()
        if compiled:
            turn_off_compiler()
        notes = Notes()
        notes.lines.start()
        pytest.main([*pytest_options(), "-m", "not slow and not data", *files], plugins=[notes])
        notes.lines.stop()
        data = notes.lines.get_data()
        tests_of_line = defaultdict(list)
        for file in data.measured_files():
            module = str(Path(file).relative_to(PACKAGE))
            for line, tests in data.contexts_by_lineno(file).items():
                tests_of_line[f"{module}:{line}"] = sorted(
                    (notes.seconds[test], test)
                    for test in tests
                    if test in notes.seconds and test not in notes.failed
                )
        with os.fdopen(tell, "w") as pipe:
            json.dump(
                {
                    "failed": notes.failed,
                    "n": len(notes.seconds),
                    "seconds": sum(notes.seconds.values()),
                    "lines": tests_of_line,
                },
                pipe,
            )
        os._exit(0)
    os.close(tell)
    with os.fdopen(told) as pipe:
        found = json.load(pipe)
    os.waitpid(child, 0)
    print(
        f"{found['n']} tests, {found['seconds']:.0f} s; cannot judge: {found['failed']}", flush=True
    )
    return found["lines"]


def fate_of(mutant: Mutant, tests: list[tuple[float, str]]) -> str:
    """Run the tests with the fault in a process of its own, and return what became of it."""
    chosen, spent = [], 0.0
    for seconds, test in tests:
        if spent + seconds > SECONDS and chosen:
            break
        chosen.append(test)
        spent += seconds
    if not chosen:
        return "no test"
    child = os.fork()
    if not child:
        quiet()
        limit = int(20 + 10 * spent)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        signal.alarm(20 * limit)
        if mutant.module.startswith(COMPILED):
            turn_off_compiler()
        try:
            sys.meta_path.insert(0, Import(mutant))
            failed = pytest.main([*pytest_options(), "-x", *chosen])
        except BaseException:  # a module that cannot be imported is noticed
            failed = 1
        os._exit(bool(failed))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return (
            "never ends"
            if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL)
            else "killed"
        )
    return "killed" if os.WEXITSTATUS(status) else "survived"


def pytest_options() -> list[str]:
    """Return the options of pytest."""
    return ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--assert=plain"]


def quiet() -> None:
    """Print nothing in a child, and read nothing."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def turn_off_compiler() -> None:
    """Run compiled kernels as plain Python."""
    importlib.import_module("numba").config.DISABLE_JIT = True


def load_libraries() -> None:
    """Import what takes long and starts no thread; none of it is the package."""
    for name in ("hypothesis", "numba", "polars", "scipy.stats", "scipy.sparse", "scipy.optimize"):
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
