"""What every algorithm promises, as checks: for ours, and for yours.

>>> import veracity
>>> check_unanimous_values_are_true(veracity.MajorityVote())

A check is a function that takes an algorithm and raises an `AssertionError` that says which promise
was broken, or `DoesNotApply`, which pytest and unittest count as skipped; `check_algorithm` asks
them all. With pytest::

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
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from veracity.algorithms.base import Algorithm
from veracity.algorithms.catalogue import algorithms
from veracity.algorithms.rules import plausibilities
from veracity.discovery import discover
from veracity.engines import Local
from veracity.errors import NotConverged
from veracity.fit.fitted import Fitted
from veracity.reading.schema import Kind
from veracity.result import Result, load
from veracity.synthetic import Synthetic

__all__ = ["CHECKS", "Check", "DoesNotApply", "check_algorithm", "some_claims"]

Check = Callable[[Algorithm[Any]], None]

CLOSE = 1e-9
"""Plausibilities that differ by no more are the same."""

SEEDS = range(4)
"""Claims are drawn at random so many times."""

HALF = 400
"""Items of each half where an algorithm learns from one and judges the other."""


class DoesNotApply(unittest.SkipTest):
    """A promise that an algorithm cannot break or keep, and why."""


def check_algorithm(algorithm: Algorithm[Any]) -> None:
    """Hold an algorithm to all that ours promise; what does not apply to it is passed over."""
    for check in CHECKS:
        with contextlib.suppress(DoesNotApply):
            check(algorithm)


def some_claims(kind: Kind, seed: int, n_claims: int = 60) -> pl.DataFrame:
    """Claims drawn at random: few sources, items and values, some of them said twice."""
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
    """Plausibilities and rates are between 0 and 1, estimates are numbers, whatever is claimed."""
    for kind in algorithm.kinds:
        for seed in SEEDS:
            result = _discover(some_claims(kind, seed), algorithm, kind)
            if kind == "numeric":
                assert result.tables.truths["value"].is_finite().all(), "estimates are numbers"
                continue
            assert _is_probability(result.tables.facts["plausibility"]), "plausibilities are shares"
            for rate in ("tpr", "fpr", "accuracy"):
                told = result.tables.sources[rate].drop_nulls()
                assert _is_probability(told), f"{rate} of every source is a share"


def check_meagre_claims_are_answered(algorithm: Algorithm[Any]) -> None:
    """One claim, one source, no overlap: every item has an answer."""
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
    """Where all sources agree, their value is the truth."""
    _require("categorical" in algorithm.kinds, "it is for numbers alone")
    rows = {"source": list("abcd") * 5, "entity": list("uvwxy") * 4, "value": list("12345") * 4}
    truths = _discover(pl.DataFrame(rows), algorithm).tables.truths
    assert truths["value"].to_list() == list("12345"), "what all say is true"
    assert (truths["plausibility"] > 0.5).all(), "what all say is plausible"


def check_row_order_changes_nothing(algorithm: Algorithm[Any]) -> None:
    """The same claims in another order give the same answer, bit for bit."""
    for kind in algorithm.kinds:
        for seed in SEEDS:
            rows = some_claims(kind, seed)
            shuffled = rows.sample(fraction=1.0, shuffle=True, seed=seed)
            one, other = (_discover(claims, algorithm, kind) for claims in (rows, shuffled))
            assert _answer(one).equals(_answer(other)), "the order of the rows changes nothing"


def check_names_of_sources_change_nothing(algorithm: Algorithm[Any]) -> None:
    """Sources under other names, in another order, give the same answer: samplers draw anew."""
    _require(not _is_random(algorithm), "it draws anew where names are others")
    for kind in algorithm.kinds:
        for seed in SEEDS:
            rows = some_claims(kind, seed)
            new = np.random.default_rng(seed).permutation(list("abcdefgh"))
            renamed = rows.with_columns(pl.col("source").replace_strict(list("abcdefgh"), new))
            one, other = (_discover(claims, algorithm, kind) for claims in (rows, renamed))
            _assert_close(one, other, "names of sources change nothing")


def check_names_of_items_and_values_change_nothing(algorithm: Algorithm[Any]) -> None:
    """Entities, attributes, facts and values under each other's names give the same answer.

    Samplers draw anew, and who compares values by what they say sees others.
    """
    _require(not _is_random(algorithm), "it draws anew where names are others")
    for kind in algorithm.kinds:
        for seed in SEEDS:
            rows = some_claims(kind, seed)
            one = _discover(rows, algorithm, kind)
            for column in _NAMED[kind]:
                if column == "value" and _compares_values(algorithm):
                    continue
                old = rows[column].unique().sort()
                new = old.gather(np.random.default_rng(seed).permutation(len(old)))
                swap = pl.col(column).replace_strict(old, new)
                other = _discover(rows.with_columns(swap), algorithm, kind)
                _assert_alike(one, other, swap, f"names in the column {column} change nothing")


def _compares_values(algorithm: Algorithm[Any]) -> bool:
    """Whether it asks how near two values are, and not only whether they are the same."""
    by_similarity = getattr(algorithm, "similarity", None) is not None
    return by_similarity or getattr(algorithm, "both_losses", False)


def check_doubled_rows_change_nothing(algorithm: Algorithm[Any]) -> None:
    """What a source says twice counts once: the same answer, bit for bit."""
    for kind in algorithm.kinds:
        rows = some_claims(kind, 1)
        doubled = pl.concat([rows, rows.sample(fraction=0.5, seed=1)])
        one, other = (_discover(claims, algorithm, kind) for claims in (rows, doubled))
        assert _answer(one).equals(_answer(other)), "doubled rows change nothing"


def check_same_seed_same_answer(algorithm: Algorithm[Any]) -> None:
    """The same seed gives the same answer, bit for bit, on one thread and on two."""
    for kind in algorithm.kinds:
        rows = some_claims(kind, 1, 400)
        engines = [Local(threads=n, claims_per_block=50) for n in (1, 1, 2)]
        first, *others = (_answer(_discover(rows, algorithm, kind, e)) for e in engines)
        assert all(first.equals(other) for other in others), "same seed, same answer"


def check_blocks_change_nothing(algorithm: Algorithm[Any]) -> None:
    """Claims cut into one block, three or seventeen give the same answer.

    An algorithm that reads beyond its block cannot pass. Mini-batches depend on the blocks, which
    is said by `depends_on_blocks`.
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
    """Blocks that come in another order give the same answer."""
    for kind in algorithm.kinds:
        rows = _many_items(kind)
        usual, turned = (
            _discover(rows, algorithm, kind, engine)
            for engine in (Local(claims_per_block=60), _Turned(claims_per_block=60))
        )
        _assert_close(usual, turned, "the order in which blocks come changes nothing")


def check_kept_fit_judges_alike(algorithm: Algorithm[Any]) -> None:
    """Judging the claims that were learned from gives the same plausibilities, bit for bit.

    That holds for all that judge by weights which are exact; also after saving and loading.
    """
    n_held = 0
    for kind in algorithm.kinds:
        rows = some_claims(kind, 2, 200)
        result = _discover(rows, algorithm, kind)
        if kind != "numeric" and not _has_exact_weights(result):
            continue
        n_held += 1
        assert _answer(_judge(result.fitted, rows)).equals(_answer(result)), "a kept fit judges so"
        again = _judge(_saved_and_loaded(result), rows)
        assert _answer(again).equals(_answer(result)), "a loaded fit judges so, too"
    _require(n_held > 0, "it does not judge by weights that are exact")


def check_strangers_are_judged(algorithm: Algorithm[Any]) -> None:
    """Sources, values and attributes that were never met are no trouble."""
    for kind in algorithm.kinds:
        fitted = _discover(some_claims(kind, 3), algorithm, kind).fitted
        strange = some_claims(kind, 4).with_columns(_new("source"))
        if kind in ("categorical", "multiple"):
            strange = strange.with_columns(_new("value"), attribute=pl.lit("never met before"))
        for claims in (strange, pl.concat([strange, some_claims(kind, 5)])):
            facts = _judge(fitted, claims).tables.facts
            column = "distance" if kind == "numeric" else "plausibility"
            assert facts[column].is_finite().all(), "claims of strangers get an answer"


def check_learning_goes_on(algorithm: Algorithm[Any]) -> None:
    """What was learned goes on from new claims, and from those of new sources."""
    for kind in algorithm.kinds:
        result = _discover(some_claims(kind, 6), algorithm, kind)
        more = pl.concat(
            [
                some_claims(kind, 7),
                some_claims(kind, 8).with_columns(_new("source")),
            ]
        )
        assert result.fitted is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)
            updated = result.fitted.update(more)
        assert updated.fitted is not None
        assert updated.fitted.names.n_sources >= result.fitted.names.n_sources
        column = "distance" if kind == "numeric" else "plausibility"
        assert updated.tables.facts[column].is_finite().all(), "new claims get an answer"


def check_new_items_are_judged_as_well(algorithm: Algorithm[Any]) -> None:
    """Of other items of the same sources, a kept fit is as right as one that learns from them.

    Within two points in a hundred, on synthetic claims.
    """
    _require("categorical" in algorithm.kinds, "it is for numbers alone")
    drawn = Synthetic(sources=12, items=2 * HALF, accuracy=0.75).draw(seed=5)
    is_first = pl.col("entity").rank("dense") <= HALF
    first, second = drawn.claims.filter(is_first), drawn.claims.filter(~is_first)
    fitted = _discover(first, algorithm).fitted
    judged, fresh = _judge(fitted, second), _discover(second, algorithm)
    right = [_share_right(result, drawn.truth) for result in (judged, fresh)]
    assert right[0] >= right[1] - 0.02, f"new items are judged as well: {right[0]}, not {right[1]}"


def check_weights_add_up(algorithm: Algorithm[Any]) -> None:
    """The weights of an explanation add up to the scores, from which the plausibilities follow."""
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
            assert result.fitted is not None
            (block,) = result.encoded.blocks
            weights = algorithm.weigh(block, result.fitted.state)
            assert weights is not None
            follows = plausibilities(block, weights)
            apart = np.abs(follows - _answer(result).to_numpy())
            assert apart.max() < CLOSE, "plausibilities follow from weights"
    _require(n_added > 0, "it has no weights that are exact")


def check_parameters_are_frozen(algorithm: Algorithm[Any]) -> None:
    """Parameters are set once; nothing that is learned is stored on them."""
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
"""All of them, in the order in which they are best mended."""


# --- what they need -------------------------------------------------------------------------------


def _require(applies: bool, why: str) -> None:
    """Nothing, where a check applies."""
    if not applies:
        raise DoesNotApply(why)


class _Turned(Local):
    """An engine to which blocks come in reverse order."""

    def hold(self, blocks: Any) -> Any:
        return Local(threads=2).hold(list(blocks)[::-1])


_NAMED: dict[Kind, tuple[str, ...]] = {
    "categorical": ("entity", "attribute", "value"),
    "multiple": ("entity", "attribute", "value"),
    "binary": ("fact",),
    "numeric": ("entity", "attribute"),
}
"""What has a name, by the kind of claims."""


def _new(column: str) -> pl.Expr:
    """Names that were never met."""
    return pl.format("new {}", column).alias(column)


def _many_items(kind: Kind) -> pl.DataFrame:
    """Claims about items enough for many blocks."""
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


def _judge(fitted: Fitted | None, claims: pl.DataFrame) -> Result:
    assert fitted is not None, "what was learned is kept"
    return fitted.judge(claims)


def _saved_and_loaded(result: Result) -> Fitted:
    """The fit as it comes back from a folder; from its arrays alone, if its name is not known."""
    fitted = result.fitted
    assert fitted is not None, "what was learned is kept"
    if fitted.algorithm.name not in algorithms():
        arrays = fitted.to_arrays()
        return Fitted.from_arrays(fitted.algorithm, fitted.names, fitted.kind, arrays, None)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(result.save(Path(folder) / "run")).fitted
    assert loaded is not None, "what was learned is saved"
    return loaded


def _answer(result: Result) -> pl.Series:
    column = "distance" if result.kind == "numeric" else "plausibility"
    return result.tables.facts[column]


def _assert_close(one: Result, other: Result, promise: str) -> None:
    apart = float((_answer(one) - _answer(other)).abs().to_numpy().max())
    assert apart <= CLOSE, f"{promise}: {apart} apart"


def _assert_alike(one: Result, other: Result, swap: pl.Expr, promise: str) -> None:
    """The same plausibilities, truths and ties, once the names of the one are swapped."""
    answer = _answer(one).name
    keys = [name for name in ("entity", "attribute", "fact", "value") if name in _columns(one)]
    both = one.tables.facts.with_columns(swap).join(other.tables.facts, on=keys)
    assert len(both) == len(other.tables.facts), f"{promise}: facts are missing"
    apart = float((both[answer] - both[f"{answer}_right"]).abs().to_numpy().max())
    assert apart <= CLOSE, f"{promise}: {apart} apart"
    if "tied" in one.tables.truths.columns:
        items = [name for name in keys if name != "value"]
        truths = one.tables.truths.with_columns(swap).join(other.tables.truths, on=items)
        assert (truths["tied"] == truths["tied_right"]).all(), f"{promise}: ties are others"
        clear = truths.filter(~pl.col("tied"))
        assert (clear["value"] == clear["value_right"]).all(), f"{promise}: truths are others"


def _columns(result: Result) -> list[str]:
    return result.tables.facts.columns


def _is_probability(numbers: pl.Series) -> bool:
    return bool(numbers.is_between(0.0, 1.0).all()) and not bool(numbers.is_nan().any())


def _is_random(algorithm: Algorithm[Any]) -> bool:
    """Whether it draws: it has a seed, and does not say that blocks make no difference to it."""
    has_seed = "seed" in (own.name for own in dataclasses.fields(algorithm))  # type: ignore[arg-type]
    return has_seed and getattr(algorithm, "depends_on_blocks", True)


def _has_exact_weights(result: Result) -> bool:
    assert result.fitted is not None
    block = result.encoded.blocks[0]
    weights = result.fitted.algorithm.weigh(block, result.fitted.state)
    return weights is not None and weights.account == "exact"


def _share_right(result: Result, truth: pl.DataFrame) -> float:
    keys = [name for name in ("entity", "attribute") if name in result.tables.truths.columns]
    found = result.tables.truths.select(*keys, "value")
    both = found.join(truth, on=keys, suffix="_true")
    return float((both["value"] == both["value_true"]).to_numpy().mean())
