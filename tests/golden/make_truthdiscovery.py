"""What the package `truthdiscovery` says of a few small data sets; writes `truthdiscovery.json`.

It pins thirty packages and draws with a system library, so it lives in an environment of its own::

    python -m venv other && other/bin/pip install numpy scipy bidict imageio
    other/bin/pip install --no-deps truthdiscovery==1.0.4
    other/bin/python tests/golden/make_truthdiscovery.py
"""

from __future__ import annotations

import json
import sys
import types
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np


def drawn(seed, *, sources, items, values):
    """Claims of sources of different accuracy, each silent on some items."""
    rng = np.random.default_rng(seed)
    accuracy = rng.uniform(0.3, 0.95, sources)
    claims = []
    for item in range(items):
        truth = rng.integers(len(values))
        for source in range(sources):
            is_right = rng.random() < accuracy[source]
            value = truth if is_right else rng.integers(len(values))
            if rng.random() < 0.7:
                claims.append((f"s{source:02}", f"i{item:02}", values[value]))
    return claims


DATA = {
    "words": drawn(1, sources=8, items=30, values=["ape", "bee", "cat", "dog"]),
    "few": drawn(2, sources=5, items=12, values=["x", "y", "z"]),
    "true or false": drawn(3, sources=7, items=25, values=["false", "true"]),
    "numbers": drawn(4, sources=8, items=25, values=["10", "11", "12", "20", "-5"]),
    "one claim each": [("a", "i", "x"), ("b", "i", "x"), ("c", "i", "y")],
    "a hundred agree": [
        *((f"s{n:02}", "i", "x") for n in range(100)),
        *[("t", "j", "x"), ("t", "k", "x"), ("u", "j", "y"), ("v", "k", "x"), ("v", "j", "x")],
    ],
}


def implication(_item, one, other):
    """Similarity of numbers, less one half: 1 - |a - b| / max(|a|, |b|), at least 0."""
    a, b = float(one), float(other)
    return max(0.0, 1.0 - abs(a - b) / max(abs(a), abs(b))) - 0.5


def runs(data):
    """Every algorithm's answer."""
    from truthdiscovery import algorithm
    from truthdiscovery.algorithm import TruthFinder
    from truthdiscovery.utils.iterator import ConvergenceIterator, DistanceMeasures, FixedIterator

    names = ("MajorityVoting", "Sums", "AverageLog", "Investment", "PooledInvestment", "CRH")
    found = {name: getattr(algorithm, name)().run(data) for name in names}
    as_published = ConvergenceIterator(DistanceMeasures.COSINE, 1e-5)
    found["TruthFinder"] = TruthFinder(iterator=as_published).run(data)
    more = FixedIterator(found["TruthFinder"].iterations + 1)
    found["TruthFinder, one round more"] = TruthFinder(iterator=more).run(data)
    found["TruthFinder, as it comes"] = TruthFinder().run(data)
    return found


def told(result):
    """Twelve digits of everything; NaN as none."""

    def short(number):
        return None if np.isnan(number) else float(f"{number:.12g}")

    return {
        "trust": {source: short(t) for source, t in result.trust.items()},
        "belief": {
            item: {value: short(b) for value, b in of_item.items()}
            for item, of_item in result.belief.items()
        },
        "iterations": result.iterations,
    }


def main():
    sys.modules["cairo"] = types.ModuleType("cairo")  # asked for on import, used only to draw
    from truthdiscovery.input import Dataset

    warnings.simplefilter("ignore", RuntimeWarning)  # it divides by zero
    sets = {}
    for name, claims in DATA.items():
        data = Dataset(claims)
        sets[name] = {"claims": claims, "found": {n: told(r) for n, r in runs(data).items()}}
    similar = Dataset(DATA["numbers"], implication_function=implication)
    found = {f"{n}, similar": told(r) for n, r in runs(similar).items() if "TruthFinder" in n}
    sets["numbers"]["found"] |= found
    made_with = {name: version(name) for name in ("truthdiscovery", "numpy", "scipy")}
    target = Path(__file__).with_name("truthdiscovery.json")
    target.write_text(json.dumps({"made_with": made_with, "sets": sets}) + "\n")


if __name__ == "__main__":
    main()
