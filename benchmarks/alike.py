"""Measure values that are alike: generated tables of free text and of places, and a judge of books.

    python benchmarks/alike.py [books FOLDER]

A generator knows the identity of every spelling, so its judge needs no notion of alikeness. The
judge of books knows people by their words, and shares nothing with the package.
"""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import veracity

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeio"]
MARKS = "", ".", "!", " ", "..."


class Text:
    """Free-text answers of eight models: one table, with the identity of every spelling."""

    def __init__(self, seed: int, habits: float, near: float, items: int = 400) -> None:
        rng = np.random.default_rng(seed)
        self.identity: dict[tuple[str, str], int] = {}
        accuracy = rng.uniform(0.35, 0.85, 8)
        style = [
            {name: rng.random() * habits for name in ("the", "lower", "mark", "bold", "sentence", "initial", "upper")}  # noqa: E501
            for _ in range(8)
        ]  # fmt: skip
        for own in style[:3]:
            own["sentence"] *= 2.0
        rows = []
        for item in range(items):
            names = [self._name(rng)]
            for _ in range(5):
                names.append(self._near(names[0], rng) if rng.random() < near else self._name(rng))
            popular = rng.dirichlet(np.ones(5))
            kind = item % 3
            for source in range(8):
                is_right = rng.random() < accuracy[source]
                value = 0 if is_right else 1 + int(rng.choice(5, p=popular))
                text = self._written(names[value], kind, style[source], rng)
                key = f"q{item}", text
                if self.identity.setdefault(key, value) != value:
                    text = " ".join(names[value])
                    self.identity[f"q{item}", text] = value
                rows.append((f"model{source}", f"q{item}", text))
        self.claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")

    def _word(self, rng: Any) -> str:
        return "".join(rng.choice(SYLLABLES, rng.integers(2, 4))).capitalize()

    def _name(self, rng: Any) -> list[str]:
        return [self._word(rng) for _ in range(2)]

    def _near(self, name: list[str], rng: Any) -> list[str]:
        """Change a word, or a letter or two of it: another name that looks alike."""
        other = list(name)
        place = int(rng.integers(len(name)))
        other[place] = self._word(rng)
        if rng.random() < 0.5:
            word = list(name[place])
            word[int(rng.integers(1, len(word)))] = str(rng.choice(list("aeioubdgklmnprst")))
            other[place] = "".join(word)
        return self._name(rng) if other == name else other

    def _written(self, name: list[str], kind: int, style: dict[str, float], rng: Any) -> str:
        has = {habit: rng.random() < p for habit, p in style.items()}
        words = list(name)
        if has["initial"] and kind == 0:
            words[0] = f"{words[0][0]}."
        text = " ".join(words)
        if has["the"] and kind == 1:
            text = f"the {text}"
        if has["lower"]:
            text = text.lower()
        elif has["upper"]:
            text = text.upper()
        if has["bold"]:
            text = f"**{text}**"
        if has["sentence"]:
            start = ("The author is", "The book is called", "The capital is")[kind]
            text = f"{start} {text}"
        return text + (str(rng.choice(MARKS)) if has["mark"] else "")

    def right(self, entity: str, value: str | None) -> bool:
        """Return True if a spelling names the true value."""
        return self.identity.get((entity, value or "")) == 0


TEXTS = {"clean": (0.0, 0.0), "some": (0.3, 0.0), "much": (0.7, 0.0), "near": (0.3, 0.6),
         "much, near": (0.7, 0.6)}  # fmt: skip


class Places:
    """Claims of places in a tree by sources that tell regions, or more than they know."""

    def __init__(
        self, seed: int, habit: tuple[float, float], over: float = 0.0, items: int = 400
    ) -> None:
        rng = np.random.default_rng(seed)
        self.parent: dict[str, str] = {}
        leaves = []
        for country in range(12):
            for region in range(4):
                for town in range(5):
                    names = f"C{country}", f"C{country} R{region}", f"C{country} R{region} T{town}"
                    self.parent[names[1]], self.parent[names[2]] = names[0], names[1]
                    leaves.append(names)
        n = 12
        accuracy, tells = rng.uniform(0.3, 0.85, n), rng.uniform(*habit, n)
        rows, self.truth = [], {}
        for item in range(items):
            truth = leaves[int(rng.integers(len(leaves)))]
            self.truth[f"i{item}"] = truth[2]
            wrong = [leaves[int(k)] for k in rng.integers(len(leaves), size=4)]
            for source in rng.choice(n, 7, replace=False):
                own = truth if rng.random() < accuracy[source] else wrong[int(rng.integers(4))]
                if own is truth and rng.random() < over:  # knows the region, and guesses the town
                    own = *truth[:2], f"{truth[1]} T{int(rng.integers(5))}"
                level = 2 - (rng.random() < tells[source]) - (rng.random() < 0.3 * tells[source])
                rows.append((f"s{source}", f"i{item}", own[level]))
        self.claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
        self.hierarchy = pl.DataFrame(
            {"value": list(self.parent), "parent": list(self.parent.values())}
        )

    def right(self, entity: str, value: str | None) -> bool:
        """Return True for the true town."""
        return self.truth[entity] == value


PLACES = {"unequal habits": ((0.0, 0.9), 0.0), "equal habits": ((0.4, 0.5), 0.0),
          "over-telling": ((0.0, 0.7), 0.3), "no parts": ((0.0, 0.0), 0.0)}  # fmt: skip


# --- books ----------------------------------------------------------------------------------------


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text.lower().replace("'", "").replace("-", ""))
    return re.findall("[a-z]+", "".join(c for c in plain if not unicodedata.combining(c)))


NO_NAMES = frozenset(
    "and et al author joint editor by the jr sr dr phd iii ii with ed eds etc of others".split()  # noqa: SIM905
)


def same_people(told: str | None, truth: str) -> bool:
    """Return True if all surnames of the truth are told, and nobody else by a full name.

    The truth has surnames first, each person ended by a semicolon. A word that is told has to be
    an initial, a word of the truth, or the beginning of one, as in Greg for Gregory, or the other
    way round; a given name beside a true surname may differ.
    """
    if told is None:
        return False
    people = [person.partition(",") for person in truth.split(";") if person.strip()]
    surnames = ["".join(_words(first)) for first, _, _ in people]
    known = set(_words(truth)) | set(surnames)
    words = [word for word in _words(told) if word not in NO_NAMES]
    joined = "".join(words)
    if not all(name in joined for name in surnames):
        return False
    odd = [
        w
        for w in words
        if len(w) > 1 and not any(k.startswith(w) or w.startswith(k) for k in known if len(k) > 1)
    ]
    return len(odd) <= len(people) // 2


# --- measuring ------------------------------------------------------------------------------------


def measured(truths: pl.DataFrame, right: Callable[[str, str | None], bool]) -> tuple[float, float]:
    """Return the accuracy, and the calibration error over ten bins."""
    is_right = np.array([right(*row) for row in truths.select("entity", "value").iter_rows()])
    sure = truths["plausibility"].to_numpy()
    place = np.minimum((10 * sure).astype(int), 9)
    gaps = [
        abs(is_right[place == k].mean() - sure[place == k].mean()) * (place == k).sum()
        for k in np.unique(place)
    ]
    return float(is_right.mean()), float(sum(gaps) / len(sure))


def main() -> None:
    """Print accuracy and calibration error of all tables."""
    seeds, all_texts = (11, 12), []
    for name, how in TEXTS.items():
        for normalise in (False, True):
            own = []
            for seed in seeds:
                table = Text(seed, *how)
                result = veracity.discover(table.claims, normalise=normalise)
                own.append(measured(result.truths, table.right))
            print(f"text {name:12} normalise={normalise!s:5} {np.round(np.mean(own, axis=0), 3)}")
            if normalise:
                all_texts.append(np.mean(own, axis=0))
    print("text, mean, normalised:", np.round(np.mean(all_texts, axis=0), 3))
    for name, of in PLACES.items():
        own = {"plain": [], "given": []}
        for seed in seeds:
            places = Places(seed, *of)
            for how, more in (("plain", {}), ("given", {"hierarchy": places.hierarchy})):
                try:
                    result = veracity.discover(places.claims, **more)
                except TypeError:
                    continue
                own[how].append(measured(result.truths, places.right))
        print(
            f"places {name:15}", {k: np.round(np.mean(v, axis=0), 3) for k, v in own.items() if v}
        )
    if sys.argv[1:2] == ["books"]:
        books(sys.argv[2])


def books(folder: str) -> None:
    """Print the accuracy of the book set under equality of people."""
    claims = pl.read_parquet(f"{folder}/claims.parquet")
    truth = dict(pl.read_parquet(f"{folder}/truth.parquet").select("entity", "value").iter_rows())
    for normalise in (False, True):
        began = time.process_time()
        result = veracity.discover(claims, normalise=normalise)
        seconds = time.process_time() - began
        truths = result.truths.filter(pl.col("entity").is_in(list(truth)))
        found = measured(truths, lambda entity, told: same_people(told, truth[entity]))
        print(f"books normalise={normalise}: {np.round(found, 3)}, {seconds:.1f} s")


if __name__ == "__main__":
    main()
