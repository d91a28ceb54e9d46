"""Try whether tests notice faults: ``python tests/mutate.py [MODULE ...]``.

mutmut makes small faults in a copy of the sources, one at a time: another operator, a number one
higher, an argument left out. Then it runs the tests that come by that function. A fault that none
of them notices survives, and is shown. Pages, snapshots and slow contracts do not judge.

Compiled kernels are mutated as plain Python, without their decorator, and run by the interpreter.
What mutmut leaves alone is left alone here: properties, and what is outside functions.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "mutate"
PACKAGE = Path("src", "veracity")
BIN = Path(sys.executable).parent

FIELDS = ("algorithms", "kernels", "encoding/encode.py")
"""What can be mutated: folders and modules whose tests are named below."""

DEFAULT = "algorithms/mle.py"
"""What is mutated unless said otherwise: it takes minutes."""

OF_ALGORITHMS = (
    "tests/golden",
    "tests/contract/test_algorithms.py",
    "tests/test_known.py",
    "tests/test_ltd_rbm.py",
    "tests/test_ltm.py",
    "tests/test_flow.py",
    "tests/test_veracity.py",
)
OF_ALL_ALGORITHMS = (
    "tests/golden",
    "tests/test_distributions.py",
    "tests/test_fitted.py",
    "tests/test_known.py",
    "tests/test_ltd_rbm.py",
    "tests/test_state.py",
    "tests/test_tuning.py",
)
OF_KERNELS = ("tests/test_kernels.py", "tests/golden/test_ltd_rbm_paper.py")
OF_ENCODING = ("tests/test_encode.py", "tests/test_spill.py", "tests/test_odd_data.py")

SHARED = ("base", "catalogue", "distributions", "parameters", "prior", "rules", "state")
"""Modules that many algorithms use, each in a way of its own."""

NAMES = {
    "ltd_rbm": "test_ltd_rbm_paper or (test_ltd_rbm.py and not (vote or learn_the_same "
    "or few_rounds or shortened or very_many or throws or rest or decides or threads or flipping "
    "or supporter)) or (test_flow.py and not astray) or bounds",
    "flow": "test_flow or flow",
    "accu": "test_accu.py or test_pop_accu or test_accu_format or accu- or accu]",
    "labels": "test_dawid_skene or one-coin or dawid-skene",
    "numbers": "test_numbers or gtm or catd or crh",
    "sums": "test_pasternack or sums or average-log or investment",
    "estimates": "test_estimates or test_cosine or estimates or cosine",
    "lca": "test_lca or test_simple_lca or lca",
}
"""By which words the tests of an algorithm are known, where these are not its name."""

SLOW = (
    "test_algorithms.py and "
    "(nothing or hundred_thousand or any_claims or probabilities or same_seed or strangers)"
)
"""Contracts that take seconds, and say nothing of what an answer should be: these do not judge."""

FATE = {
    **dict.fromkeys((1, 2, 3), "killed"),  # by a test, or before any could be collected
    **dict.fromkeys((-24, 24, 36, 152), "never ends"),
    **dict.fromkeys((5, 33), "no test"),
    0: "survived",
    None: "not tried",
}
"""What exit codes of mutmut's workers mean; with others, the worker itself failed."""

SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = ["{module}"]
pytest_add_cli_args = ["-p", "no:cacheprovider", "--assert=plain"{words}]
pytest_add_cli_args_test_selection = [{tests}]
process_isolation = "forkserver"  # no thread of polars outlives a fork
forkserver_warmup = "import"
preload_modules_file = "preload.txt"
timeout_constant = 2.0
"""

PRELOAD = ("hypothesis", "polars", "pytest", "scipy.stats", "veracity.testing",
           "veracity.kernels.compiled")  # fmt: skip
"""What the fork server loads once for all; none of it starts a thread."""

FOR_MUTMUT = """

import json
import subprocess


def no_program(*_, **__):
    pytest.skip("a program of its own knows nothing of mutants")


subprocess.Popen.__init__ = no_program
pytest.Item._nodeid = pytest.Item.nodeid  # mutmut 3.8 asks for what pytest 9.2 no longer has


def pytest_collection_modifyitems(items):
    stats = Path("mutmut-stats.json")
    took = json.loads(stats.read_text())["duration_by_test"] if stats.is_file() else {}
    items.sort(key=lambda item: took.get(item.nodeid, 0.0))  # the first that fails is the last
"""
"""What the copy's conftest has beyond ours."""


class Judges(NamedTuple):
    """Which tests judge a module: those in files, as far as their names have one of these words."""

    files: tuple[str, ...]
    words: str = ""


def judges_of(module: str) -> Judges:
    """The tests of a module."""
    folder, _, name = module.removesuffix(".py").partition("/")
    if folder == "kernels":
        return Judges(OF_KERNELS)
    if folder == "encoding":
        return Judges(OF_ENCODING)
    if name in SHARED:
        return Judges(OF_ALL_ALGORITHMS)
    if name.startswith("veracity/"):
        words = "test_veracity or veracity"
    else:
        words = NAMES.get(name, f"{name} or {name.replace('_', '-')}")
    return Judges(OF_ALGORITHMS, f"({words}) and not ({SLOW})")


def modules_named(given: list[str]) -> list[str]:
    """Modules and folders by their place in the package; `all` is all that can be mutated."""
    found = []
    for name in FIELDS if given == ["all"] else given or [DEFAULT]:
        place = ROOT / PACKAGE / name
        if not place.is_dir():
            place = place.with_suffix(".py")
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        names = [str(file.relative_to(ROOT / PACKAGE)) for file in files]
        if not files[0].is_file() or not names[0].startswith(FIELDS):
            raise SystemExit(f"{name} cannot be mutated; this can: {', '.join(FIELDS)}, all")
        found += [one for one in names if not one.endswith("__init__.py")]
    return found


def prepared(module: str) -> Path:
    """A copy of the project in which this module is to be mutated."""
    folder = WORK / module.removesuffix(".py").replace("/", "-")
    for name in ("src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    if module.startswith("kernels/"):
        file = folder / PACKAGE / module
        file.write_text(re.sub(r"^@kernel\n", "", file.read_text("utf-8"), flags=re.MULTILINE))
    with (folder / "tests" / "conftest.py").open("a") as conftest:
        conftest.write(FOR_MUTMUT)
    judges = judges_of(module)
    settings = SETTINGS.format(
        module=PACKAGE / module,
        words=f', "-k", "{judges.words}"' if judges.words else "",
        tests=", ".join(f'"{file}"' for file in judges.files),
    )
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text("utf-8") + settings)
    (folder / "preload.txt").write_text("\n".join(PRELOAD))
    return folder


def found_in(folder: Path, module: str) -> dict[str, str]:
    """What became of each mutant."""
    file = folder / "mutants" / PACKAGE / f"{module}.meta"
    codes = json.loads(file.read_text("utf-8"))["exit_code_by_key"] if file.is_file() else {}
    return {name: FATE.get(code, "failed") for name, code in codes.items()}


def mutate(module: str, told: argparse.Namespace) -> dict[str, str]:
    """Mutate a module; `again`: only what survived before, with the tests as they are now."""
    folder = prepared(module)
    before = found_in(folder, module) if told.again else {}
    if not told.again:
        shutil.rmtree(folder / "mutants", ignore_errors=True)
    names = [name for name, fate in before.items() if fate in ("survived", "no test")]
    if before and not names:
        return before
    if not before:
        names = [f"*__mutmut_*{digit}" for digit in told.ending]
    environment = os.environ | {"CI": "true"}  # hypothesis tries the same examples every time
    if module.startswith("kernels/"):
        environment["NUMBA_DISABLE_JIT"] = "1"
    command = [BIN / "mutmut", "run", "--max-children", str(told.workers), *names]
    done = subprocess.run(command, cwd=folder, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{module}: the tests fail without any fault, or there are none")
    found = found_in(folder, module)  # of those that were not tried again nothing is told
    return before | {name: fate for name, fate in found.items() if name in names or not before}


def show(module: str, fates: dict[str, str]) -> None:
    """The faults that survive, as differences."""
    folder = WORK / module.removesuffix(".py").replace("/", "-")
    for name, fate in fates.items():
        if fate in ("survived", "no test"):
            shown = subprocess.run(
                [BIN / "mutmut", "show", name],
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            changed = [line for line in shown.splitlines() if re.match(r"[-+](?![-+])", line)]
            print(f"{name} ({fate})", *changed, sep="\n    ")


def tell(fates_of_module: dict[str, dict[str, str]]) -> None:
    """A row for each module; noticed is a share of what was tried."""
    kinds = ("killed", "never ends", "survived", "no test", "not tried", "failed")
    print(f"\n{'module':32}", *(f"{kind:>10}" for kind in ("mutants", *kinds)), f"{'noticed':>8}")
    for module, fates in fates_of_module.items():
        counts = Counter(fates.values())
        tried = len(fates) - counts["not tried"]
        share = (counts["killed"] + counts["never ends"]) / max(tried, 1)
        numbers = (len(fates), *(counts[kind] for kind in kinds))
        print(f"{module:32}", *(f"{number:10}" for number in numbers), f"{share:8.1%}")


def main() -> int:
    """Mutate, show what survives, and count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", help=f"such as {DEFAULT}, or all")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--again", action="store_true", help="only what survived the last time")
    parser.add_argument(
        "--ending",
        default="",
        metavar="DIGITS",
        help="only mutants whose number, within their function, ends in one of these digits: "
        "each is a tenth of all",
    )
    told = parser.parse_args()
    fates = {}
    for module in modules_named(told.modules):
        fates[module] = mutate(module, told)
        show(module, fates[module])
    tell(fates)
    return int(any("failed" in of_module.values() for of_module in fates.values()))


if __name__ == "__main__":
    sys.exit(main())
