"""Checks of the contract of algorithms, ours and yours.

>>> import veracity
>>> check_unanimous_values_are_true(veracity.algorithms.MajorityVote())

A check is a function that takes an algorithm and raises an `AssertionError` that names the broken
promise, or `DoesNotApply`, which pytest and unittest count as skipped; `check_algorithm` runs them
all. With pytest::

    @pytest.mark.parametrize("check", veracity.testing.CHECKS, ids=lambda check: check.__name__)
    def test_contract(check):
        check(MyAlgorithm())
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import unittest
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.base import Algorithm
from veracity.algorithms.catalogue import algorithms
from veracity.algorithms.rules import plausibilities
from veracity.api import discover
from veracity.engines import Local
from veracity.errors import NotConverged
from veracity.fit.fitted import Fitted
from veracity.reading.roles import Kind
from veracity.result import Result, load
from veracity.synthetic import Synthetic

__all__ = ["CHECKS", "Check", "DoesNotApply", "check_algorithm", "some_claims"]

Check = Callable[[Algorithm[Any]], None]

CLOSE = 1e-9
"""Largest difference at which plausibilities count as equal."""

SEEDS = range(4)
"""Seeds of the claims that are drawn."""

HALF = 400
"""Number of items in each half: an algorithm learns from one half and judges the other."""


class DoesNotApply(unittest.SkipTest):
    """A promise that an algorithm cannot break or keep, and why."""


def check_algorithm(algorithm: Algorithm[Any]) -> None:
    """Run all checks that apply to an algorithm."""
    for check in CHECKS:
        with contextlib.suppress(DoesNotApply):
            check(algorithm)


def some_claims(kind: Kind, seed: int, n_claims: int = 60) -> pl.DataFrame:
    """Draw claims of few sources about few items, some of them twice."""
    rng = np.random.default_rng(seed)
    source = pl.Series("source", rng.choice(list("abcdefgh"), n_claims))
    if kind == "binary":
        facts = rng.choice(list("pqrstuv"), n_claims)
        rows = pl.DataFrame([source, pl.Series("fact", facts)])
        return rows.unique(maintain_order=True).with_columns(
            claim=pl.Series(rng.random(n_claims) < 0.6).head(rows.n_unique())
        )
    rows = pl.DataFrame([source, pl.Series("entity", rng.choice(list("uvwxyz"), n_claims))])
    rows = rows.with_columns(attribute=pl.Series(rng.choice(["size", "colour"], n_claims)))
    if kind == "numeric":
        return rows.with_columns(value=pl.Series(np.round(rng.normal(20.0, 5.0, n_claims), 1)))
    return rows.with_columns(value=pl.Series(rng.choice(list("1234"), n_claims)))


def check_answers_are_probabilities(algorithm: Algorithm[Any]) -> None:
    """Check that plausibilities and rates are between 0 and 1, and estimates are numbers."""
    for kind, seed in product(algorithm.kinds, SEEDS):
        result = _usual(algorithm, kind, seed)
        if kind == "numeric":
            assert result.tables.truths["value"].is_finite().all(), "estimates are numbers"
            continue
        assert _is_probability(result.tables.facts["plausibility"]), "plausibilities are shares"
        for rate in ("tpr", "fpr", "accuracy"):
            known = result.tables.sources[rate].drop_nulls()
            assert _is_probability(known), f"{rate} of every source is a share"


def check_meagre_claims_are_answered(algorithm: Algorithm[Any]) -> None:
    """Check that every item has an answer, even with one claim, one source, or no overlap."""
    _require("categorical" in algorithm.kinds, "it is for numbers alone")
    for rows in (
        [("a", "x", "1")],
        [("a", "x", "1"), ("a", "y", "2"), ("a", "z", "1")],
        [("a", "x", "1"), ("b", "x", "2"), ("c", "x", "3")],
        [("a", "x", "1"), ("b", "x", "1"), ("c", "y", "3")],
        [("a", "x", "1"), ("a", "x", "2"), ("a", "x", "3")],
    ):
        claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
        truths = _discover(claims, algorithm).tables.truths
        assert truths["value"].null_count() == 0, f"every item of {rows} has a value"


def check_unanimous_values_are_true(algorithm: Algorithm[Any]) -> None:
    """Check that the value is true on which all sources agree."""
    _require("categorical" in algorithm.kinds, "it is for numbers alone")
    rows = {"source": list("abcd") * 5, "entity": list("uvwxy") * 4, "value": list("12345") * 4}
    truths = _discover(pl.DataFrame(rows), algorithm).tables.truths
    assert truths["value"].to_list() == list("12345"), "a value that all claim is true"
    assert (truths["plausibility"] > 0.5).all(), "a value that all claim is plausible"


def check_row_order_changes_nothing(algorithm: Algorithm[Any]) -> None:
    """Check that the same claims in another order give the same answer, bit for bit."""
    for kind, seed in product(algorithm.kinds, SEEDS):
        rows = some_claims(kind, seed)
        shuffled = rows.sample(fraction=1.0, shuffle=True, seed=seed)
        one, other = _usual(algorithm, kind, seed), _discover(shuffled, algorithm, kind)
        assert _answer(one).equals(_answer(other)), "the order of the rows changes nothing"


def check_names_of_sources_change_nothing(algorithm: Algorithm[Any]) -> None:
    """Check that sources under other names, in another order, give the same answer."""
    _require(not _is_random(algorithm), "it draws anew where names are others")
    for kind, seed in product(algorithm.kinds, SEEDS):
        rows = some_claims(kind, seed)
        new = np.random.default_rng(seed).permutation(list("abcdefgh"))
        renamed = rows.with_columns(pl.col("source").replace_strict(list("abcdefgh"), new))
        one, other = _usual(algorithm, kind, seed), _discover(renamed, algorithm, kind)
        _assert_close(one, other, "names of sources change nothing")


def check_names_of_items_and_values_change_nothing(algorithm: Algorithm[Any]) -> None:
    """Check that swapping the names of entities, attributes, facts or values changes nothing.

    An algorithm that compares values as text may give another answer if values are swapped.
    """
    _require(not _is_random(algorithm), "it draws anew where names are others")
    compares_values = getattr(algorithm, "similarity", None) is not None
    compares_values |= getattr(algorithm, "both_losses", False)
    for kind, seed in product(algorithm.kinds, SEEDS):
        rows = some_claims(kind, seed)
        one = _usual(algorithm, kind, seed)
        for column in rows.columns:
            is_compared = column == "value" and (compares_values or kind == "numeric")
            if column in ("source", "claim") or is_compared:
                continue
            old = rows[column].unique().sort()
            new = old.gather(np.random.default_rng(seed).permutation(len(old)))
            swap = pl.col(column).replace_strict(old, new)
            other = _discover(rows.with_columns(swap), algorithm, kind)
            _assert_alike(one, other, swap, f"names in the column {column} change nothing")


def check_doubled_rows_change_nothing(algorithm: Algorithm[Any]) -> None:
    """Check that a claim counts once, however often the source repeats it."""
    for kind in algorithm.kinds:
        rows = some_claims(kind, 1)
        doubled = pl.concat([rows, rows.sample(fraction=0.5, seed=1)])
        one, other = _usual(algorithm, kind, 1), _discover(doubled, algorithm, kind)
        assert _answer(one).equals(_answer(other)), "doubled rows change nothing"


def check_same_seed_same_answer(algorithm: Algorithm[Any]) -> None:
    """Check that a seed gives the same answer, bit for bit, on one thread and on two."""
    for kind in algorithm.kinds:
        rows = some_claims(kind, 1, 400)
        engines = [Local(threads=n, claims_per_block=50) for n in (1, 1, 2)]
        first, *others = (_answer(_discover(rows, algorithm, kind, e)) for e in engines)
        assert all(first.equals(other) for other in others), "same seed, same answer"


def check_blocks_change_nothing(algorithm: Algorithm[Any]) -> None:
    """Check that claims cut into one block, three or seventeen give the same answer.

    An algorithm that reads beyond its block cannot pass. One with mini-batches, which depend on the
    blocks, sets `depends_on_blocks`.
    """
    depends = getattr(algorithm, "depends_on_blocks", False)
    _require(not depends, "its mini-batches are cut from blocks")
    for kind in algorithm.kinds:
        rows = _many_items(kind)
        whole = _discover(rows, algorithm, kind, Local(claims_per_block=10**9))
        for n_blocks in (3, 17):
            engine = Local(threads=2, claims_per_block=max(len(rows) // n_blocks, 1))
            cut = _discover(rows, algorithm, kind, engine)
            _assert_close(whole, cut, f"{n_blocks} blocks give the same answer as one")


def check_order_of_blocks_changes_nothing(algorithm: Algorithm[Any]) -> None:
    """Check that blocks that come in another order give the same answer."""
    for kind in algorithm.kinds:
        rows = _many_items(kind)
        usual, turned = (
            _discover(rows, algorithm, kind, engine)
            for engine in (Local(claims_per_block=60), _Turned(claims_per_block=60))
        )
        _assert_close(usual, turned, "the order in which blocks come changes nothing")


def check_kept_fit_judges_alike(algorithm: Algorithm[Any]) -> None:
    """Check that the fit judges the claims that it learned from in the same way, bit for bit.

    That holds for algorithms with exact weights, also after saving and loading.
    """
    n_held = 0
    for kind in algorithm.kinds:
        rows = some_claims(kind, 2, 200)
        result = _discover(rows, algorithm, kind)
        if kind != "numeric" and not _has_exact_weights(result):
            continue
        n_held += 1
        fitted = _fitted(result)
        assert _answer(fitted.judge(rows)).equals(_answer(result)), "a kept fit judges alike"
        if algorithm.name in algorithms():
            with tempfile.TemporaryDirectory() as folder:
                fitted = _fitted(load(result.save(Path(folder) / "run")))
        else:  # a run keeps the name of its algorithm alone
            fitted = Fitted.from_arrays(algorithm, fitted.names, kind, fitted.to_arrays(), None)
        assert _answer(fitted.judge(rows)).equals(_answer(result)), "a loaded fit judges alike"
    _require(n_held > 0, "it does not judge by weights that are exact")


def check_strangers_are_judged(algorithm: Algorithm[Any]) -> None:
    """Check that claims of new sources, about new values and attributes, get an answer."""
    for kind in algorithm.kinds:
        fitted = _fitted(_discover(some_claims(kind, 3), algorithm, kind))
        strange = some_claims(kind, 4).with_columns(_new("source"))
        if kind in ("categorical", "multiple"):
            strange = strange.with_columns(_new("value"), attribute=pl.lit("never met before"))
        for claims in (strange, pl.concat([strange, some_claims(kind, 5)])):
            answer = _answer(fitted.judge(claims))
            assert answer.is_finite().all(), "claims of new sources get an answer"


def check_learning_goes_on(algorithm: Algorithm[Any]) -> None:
    """Check that a fit learns from new claims, also from those of new sources."""
    for kind in algorithm.kinds:
        fitted = _fitted(_discover(some_claims(kind, 6), algorithm, kind))
        new = some_claims(kind, 8).with_columns(_new("source"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)
            updated = fitted.update(pl.concat([some_claims(kind, 7), new]))
        assert _fitted(updated).names.n_sources >= fitted.names.n_sources
        assert _answer(updated).is_finite().all(), "new claims get an answer"


def check_new_items_are_judged_as_well(algorithm: Algorithm[Any]) -> None:
    """Check that a fit judges other items of its sources as well as one that learns from them.

    On synthetic claims, its accuracy may be lower by two per cent.
    """
    _require("categorical" in algorithm.kinds, "it is for numbers alone")
    drawn = Synthetic(sources=12, items=2 * HALF, accuracy=0.75).draw(seed=5)
    is_first = pl.col("entity").rank("dense") <= HALF
    first, second = drawn.claims.filter(is_first), drawn.claims.filter(~is_first)
    judged = _fitted(_discover(first, algorithm)).judge(second)
    right = []
    for result in (judged, _discover(second, algorithm)):
        both = result.tables.truths.join(drawn.truth, on=["entity", "attribute"], suffix="_true")
        right.append(float((both["value"] == both["value_true"]).to_numpy().mean()))
    assert right[0] >= right[1] - 0.02, f"new items are judged as well: {right[0]}, not {right[1]}"


def check_weights_add_up(algorithm: Algorithm[Any]) -> None:
    """Check that the weights of an explanation add up to scores, and give the plausibilities."""
    n_added = 0
    for kind in algorithm.kinds:
        result = _discover(some_claims(kind, 9), algorithm, kind)
        key = "fact" if kind == "binary" else "entity"
        for name in result.tables.truths[key].unique(maintain_order=True):
            why = result.why(name)
            if why.account != "exact":
                continue
            n_added += 1
            values, rows = why.tables
            keys = [c for c in ("entity", "attribute", "fact") if c in values.columns]
            on = keys if kind in ("binary", "numeric") else [*keys, "value"]
            added = rows.group_by(on).agg(pl.col("weight").sum())
            both = values.join(added, on=on)
            apart = (both["prior"] + both["weight"] - both["score"]).to_numpy()
            assert np.abs(apart).max() < CLOSE * 1e3, "weights add up to scores"
        if kind != "numeric" and _has_exact_weights(result):
            (block,) = result.encoded.blocks
            weights = algorithm.weigh(block, _fitted(result).state)
            assert weights is not None
            apart = np.abs(plausibilities(block, weights) - _answer(result).to_numpy())
            assert apart.max() < CLOSE, "plausibilities follow from weights"
    _require(n_added > 0, "it has no weights that are exact")


def check_parameters_are_frozen(algorithm: Algorithm[Any]) -> None:
    """Check that parameters are frozen: nothing that is learned is stored with them."""
    before = repr(algorithm)
    try:
        algorithm.tolerance = 0.5
    except dataclasses.FrozenInstanceError:
        pass
    else:
        raise AssertionError("parameters are frozen")
    _discover(some_claims(algorithm.kinds[0], 0), algorithm, algorithm.kinds[0])
    assert repr(algorithm) == before, "learning leaves the parameters alone"


CHECKS: tuple[Check, ...] = (
    check_parameters_are_frozen,
    check_answers_are_probabilities,
    check_meagre_claims_are_answered,
    check_unanimous_values_are_true,
    check_row_order_changes_nothing,
    check_names_of_sources_change_nothing,
    check_names_of_items_and_values_change_nothing,
    check_doubled_rows_change_nothing,
    check_same_seed_same_answer,
    check_blocks_change_nothing,
    check_order_of_blocks_changes_nothing,
    check_kept_fit_judges_alike,
    check_strangers_are_judged,
    check_learning_goes_on,
    check_new_items_are_judged_as_well,
    check_weights_add_up,
)
"""All checks, in the order in which broken promises are best fixed."""


# --- what they need -------------------------------------------------------------------------------


def _require(applies: bool, why: str) -> None:
    """Raise DoesNotApply unless a check applies."""
    if not applies:
        raise DoesNotApply(why)


class _Turned(Local):
    """Engine that receives blocks in reverse order."""

    def hold(self, blocks: Any) -> Any:
        return Local(threads=2).hold(list(blocks)[::-1])


def _new(column: str) -> pl.Expr:
    """Return new names."""
    return pl.format("new {}", column).alias(column)


def _many_items(kind: Kind) -> pl.DataFrame:
    """Return claims about enough items for many blocks."""
    parts = []
    for seed in range(12):
        rows = some_claims(kind, seed)
        key = "fact" if kind == "binary" else "entity"
        parts.append(rows.with_columns(pl.format("{}{}", pl.lit(seed), pl.col(key)).alias(key)))
    return pl.concat(parts)


def _discover(
    claims: pl.DataFrame,
    algorithm: Algorithm[Any],
    kind: Kind = "categorical",
    engine: Any = None,
) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return discover(claims, algorithm, kind=kind, engine=engine)


_LAST: dict[tuple[Kind, int], Result] = {}
"""Results of the algorithm that was checked last: several checks need them."""

_checked: Algorithm[Any] | None = None


def _usual(algorithm: Algorithm[Any], kind: Kind, seed: int) -> Result:
    """Return the result for `some_claims(kind, seed)`, fitted once for all checks in a row."""
    global _checked  # noqa: PLW0603 - one fit is kept for the checks that follow
    if algorithm is not _checked:
        _LAST.clear()
        _checked = algorithm
    if (kind, seed) not in _LAST:
        _LAST[kind, seed] = _discover(some_claims(kind, seed), algorithm, kind)
    return _LAST[kind, seed]


def _fitted(result: Result) -> Fitted:
    assert result.fitted is not None, "the result has what was learned"
    return result.fitted


def _answer(result: Result) -> pl.Series:
    column = "distance" if result.kind == "numeric" else "plausibility"
    return result.tables.facts[column]


def _assert_close(one: Result, other: Result, promise: str) -> None:
    apart = float((_answer(one) - _answer(other)).abs().to_numpy().max())
    assert apart <= CLOSE, f"{promise}: {apart} apart"


def _assert_alike(one: Result, other: Result, swap: pl.Expr, promise: str) -> None:
    """Compare plausibilities, truths and ties of two results, after swapping names in one."""
    answer, columns = _answer(one).name, one.tables.facts.columns
    keys = [name for name in ("entity", "attribute", "fact", "value") if name in columns]
    both = one.tables.facts.with_columns(swap).join(other.tables.facts, on=keys)
    assert len(both) == len(other.tables.facts), f"{promise}: facts are missing"
    apart = float((both[answer] - both[f"{answer}_right"]).abs().to_numpy().max())
    assert apart <= CLOSE, f"{promise}: {apart} apart"
    if "tied" in one.tables.truths.columns:
        items = [name for name in keys if name != "value"]
        truths = one.tables.truths.with_columns(swap).join(other.tables.truths, on=items)
        assert (truths["tied"] == truths["tied_right"]).all(), f"{promise}: ties differ"
        clear = truths.filter(~pl.col("tied"))
        assert (clear["value"] == clear["value_right"]).all(), f"{promise}: truths differ"


def _is_probability(numbers: pl.Series) -> bool:
    return bool(numbers.is_between(0.0, 1.0).all()) and not bool(numbers.is_nan().any())


def _is_random(algorithm: Algorithm[Any]) -> bool:
    """Return True if the algorithm has a seed and may depend on the division into blocks."""
    has_seed = "seed" in (own.name for own in dataclasses.fields(algorithm))  # type: ignore[arg-type]
    own = [kind for kind in type(algorithm).__mro__ if kind is not Algorithm]
    is_said = any("depends_on_blocks" in vars(kind) for kind in own)
    return has_seed and (algorithm.depends_on_blocks or not is_said)


def _has_exact_weights(result: Result) -> bool:
    fitted = _fitted(result)
    weights = fitted.algorithm.weigh(result.encoded.blocks[0], fitted.state)
    return weights is not None and weights.account == "exact"
