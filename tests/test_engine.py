"""The engine: tallies are merged in the order of the blocks, on any number of threads."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import veracity
from claims import as_encoded, value_rows
from veracity import Local
from veracity.algorithms.base import Turn
from veracity.dependence.pairs import PairCounts
from veracity.encoding.survey import Largest
from veracity.trees import merged, merged_all

both_numbers_of_threads = pytest.mark.parametrize("threads", [1, 3])


def blocks_of(n_blocks):
    """So many blocks, each of one item."""
    rows = {"source": ["a"] * n_blocks, "entity": range(n_blocks), "value": ["1"] * n_blocks}
    (block,) = as_encoded(pl.DataFrame(rows)).blocks
    return [block.part(number, number + 1, number) for number in range(n_blocks)]


def held(n_blocks=7, threads=3):
    return Local(threads=threads).hold(blocks_of(n_blocks))


# --- merging --------------------------------------------------------------------------------------


class Found(NamedTuple):
    count: int
    of_source: np.ndarray
    parts: tuple[float, np.ndarray]


def tally(count, of_source, number, part):
    return Found(count, np.array(of_source), (number, np.array(part)))


ADD_UP = [
    (tally(1, [1.0, 2.0], 0.5, [1]), tally(2, [10.0, 20.0], 0.25, [2]),
     tally(3, [11.0, 22.0], 0.75, [3])),
    ((Largest(3.0),), (Largest(7.0),), (Largest(7.0),)),
    (Largest(3.0), 7.0, Largest(7.0)),  # a number that was kept in a file
    (np.array([1, 2]), np.array([1, 1, 1]), np.array([2, 3, 1])),  # new sources come behind
    (np.array([[1.0]]), np.array([[1.0, 5.0], [7.0, 9.0]]), np.array([[2.0, 5.0], [7.0, 9.0]])),
    (None, None, None),
    ((1, None), (None, np.ones(2)), (1, np.ones(2))),
    (PairCounts.of(np.array([5, 5, 9])), PairCounts.of(np.array([9, 12])),
     PairCounts(np.array([5, 9, 12]), np.array([2, 2, 1]))),
    (PairCounts.of(np.array([5, 5, 9])), tuple(PairCounts.of(np.array([9, 12]))),
     PairCounts(np.array([5, 9, 12]), np.array([2, 2, 1]))),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "total"), ADD_UP)
def test_tallies_of_any_form_add_up(one, other, total):
    found = merged(one, other)
    assert (type(found), repr(found)) == (type(total), repr(total))


@pytest.mark.parametrize("n_tallies", range(5))
def test_tallies_are_merged_one_after_the_other_and_stay_as_they_are(n_tallies):
    tallies = []
    for n in range(n_tallies):
        twice = np.full(3, 0.1 * n)  # as one array that is told under two names
        tallies.append((n, np.arange(2 + n % 3), None if n == 1 else twice, twice, Largest(n)))
    before = deepcopy(tallies)
    total = merged_all(tallies)
    assert repr(total) == repr(functools.reduce(merged, tallies, None))
    assert repr(tallies) == repr(before)


counts = st.lists(st.integers(0, 5), min_size=1, max_size=5).map(np.array)


@given(one=counts, other=counts, third=counts)
def test_how_tallies_are_grouped_does_not_matter(one, other, third):
    def tally(numbers):
        return numbers, Largest(numbers.max()), PairCounts.of(numbers)

    a, b, c = map(tally, (one, other, third))
    for left, right in zip(merged(merged(a, b), c), merged(a, merged(b, c)), strict=True):
        assert_array_equal(np.asarray(left, dtype=object), np.asarray(right, dtype=object))


# --- sweeps ---------------------------------------------------------------------------------------


def number_of(block, state, turn):
    return block.number, None


def as_text(block, state, turn):
    return f"{state}{block.number}", None


@both_numbers_of_threads
def test_what_is_found_comes_in_the_order_of_the_blocks(threads):
    shuffled = [blocks_of(20)[number] for number in np.random.default_rng(0).permutation(20)]
    with Local(threads=threads).hold(shuffled) as blocks:
        assert list(blocks.found(number_of, None, Turn())) == list(range(20))
        assert blocks.sweep(as_text, "-", Turn()) == "".join(f"-{n}" for n in range(20))


@given(rows=value_rows(), size=st.integers(1, 20))
def test_a_sweep_over_blocks_finds_what_a_look_at_all_would(rows, size):
    def count(block, n_sources, turn):
        return np.bincount(block.source_of_support, minlength=n_sources), turn.memory

    encoded = as_encoded(rows, claims_per_block=size)
    with Local(threads=2).hold(encoded.blocks) as blocks:
        found = blocks.sweep(count, encoded.names.n_sources, Turn())
    claims = dict(rows.unique().group_by("source").len().iter_rows())
    assert dict(zip(encoded.names.sources, found.tolist(), strict=True)) == claims


def test_blocks_are_looked_at_side_by_side():
    meeting = threading.Barrier(3, timeout=20)

    def meet(block, state, turn):
        meeting.wait()  # three at once, or nobody comes through
        return 1, None

    with held(n_blocks=6, threads=3) as blocks:
        assert blocks.sweep(meet, None, Turn()) == 6


def test_never_many_more_answers_wait_than_there_are_threads():
    done = []

    def note(block, state, turn):
        done.append(block.number)
        return block.number, None

    with held(n_blocks=50, threads=2) as blocks:
        answers = blocks.found(note, None, Turn())
        assert next(answers) == 0
        assert len(done) <= 4
        assert list(answers) == list(range(1, 50))


# --- memory ---------------------------------------------------------------------------------------


@both_numbers_of_threads
def test_what_is_kept_beside_a_block_comes_back_with_it(threads):
    def remember(block, state, turn):
        kept = (turn.memory or ()) + ((block.number, turn.round_number),)
        return 1, kept

    with held(threads=threads) as blocks:
        for number in (1, 2, 3):
            blocks.sweep(remember, None, Turn(number))
        kept = list(blocks.found(lambda block, state, turn: (turn.memory, None), None, Turn()))
    assert kept == [tuple((number, turn) for turn in (1, 2, 3)) for number in range(7)]


def test_blocks_that_are_held_anew_remember_nothing():
    def look(block, state, turn):
        return int(turn.memory is None), "something"

    for _ in range(2):
        with held() as blocks:
            assert blocks.sweep(look, None, Turn()) == 7
            assert blocks.sweep(look, None, Turn()) == 0


# --- walks ----------------------------------------------------------------------------------------


@both_numbers_of_threads
def test_every_lane_goes_through_all_blocks_in_order_with_a_memory_of_its_own(threads):
    def go(block, lane, turn):
        name, path = lane
        seen = (turn.memory or "") + name
        return (name, [*path, block.number]), seen

    def look(block, state, turn):
        return tuple(turn.memory), turn.memory

    with held(n_blocks=4, threads=threads) as blocks:
        lanes = tuple((name, []) for name in "abcde")
        for number in (1, 2):
            arrived = blocks.walk(go, lanes, Turn(number))
            assert arrived == tuple((name, [0, 1, 2, 3]) for name in "abcde")
        kept = list(blocks.found(look, None, Turn()))
    assert kept == [("aa", "bb", "cc", "dd", "ee")] * 4


@both_numbers_of_threads
def test_a_lane_that_goes_alone_finds_each_block_prepared_for_its_round(threads):
    def prepare(block, turn):
        return turn.round_number, block.number

    def go(block, lane, turn):
        ready = turn.ready or prepare(block, turn)
        return [*lane, ready], None

    with held(n_blocks=3, threads=threads) as blocks:
        for number in (1, 2, 4):  # the third, which is prepared as well, never comes
            (arrived,) = blocks.walk(go, ([],), Turn(number), prepare)
            assert arrived == [(number, 0), (number, 1), (number, 2)]
        (other,) = blocks.walk(go, ([],), Turn(5), lambda block, turn: "another's")
        assert other == (["another's"] * 3 if threads > 1 else [(5, 0), (5, 1), (5, 2)])


def test_a_block_is_prepared_once_for_each_round_and_beside_the_work_on_the_one_before():
    prepared, both_at_work = [], threading.Barrier(2, timeout=60)

    def prepare(block, turn):
        prepared.append((turn.round_number, block.number))
        if block.number == 1:
            both_at_work.wait()
        return True

    def go(block, lane, turn):
        if block.number == 0:
            both_at_work.wait()
        return lane, None

    with held(n_blocks=2, threads=2) as blocks:
        for number in (1, 2):
            blocks.walk(go, ("alone",), Turn(number), prepare)
    assert sorted(prepared)[:4] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert len(set(prepared)) == len(prepared)


# --- errors ---------------------------------------------------------------------------------------


def stumble(block, state, turn):
    if block.number == 3:
        raise ValueError("block 3 is odd")
    return 1, None


@both_numbers_of_threads
def test_an_error_in_a_thread_comes_out(threads):
    with held(threads=threads) as blocks, pytest.raises(ValueError, match="block 3 is odd"):
        blocks.sweep(stumble, None, Turn())
    with held(threads=threads) as blocks, pytest.raises(ValueError, match="block 3 is odd"):
        blocks.walk(stumble, ("one", "other"), Turn())


def test_the_threads_end_with_the_work_even_if_it_fails():
    before = threading.active_count()
    with held(threads=4) as blocks:
        blocks.sweep(number_of, None, Turn())
        assert threading.active_count() > before
    assert threading.active_count() == before
    with pytest.raises(ValueError, match="odd"), held(threads=4) as blocks:
        blocks.sweep(stumble, None, Turn())
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("call", "vote"),
    [
        (veracity.check, {"algorithm": "majority-vote"}),
        (veracity.compare, {"algorithms": ["majority-vote"]}),
        (veracity.discover, {"algorithm": "majority-vote"}),
        (veracity.profile, {}),
    ],
)
def test_one_thread_is_one_thread_in_all_that_is_done(call, vote, flights, monkeypatch):
    def start(*_):
        raise AssertionError("a thread is started")

    monkeypatch.setattr("veracity.engines.local.ThreadPoolExecutor", start)
    call(flights.claims, engine=Local(threads=1, claims_per_block=100), **vote)


# --- randomness -----------------------------------------------------------------------------------


def test_every_round_and_block_has_a_stream_of_its_own():
    first, second = blocks_of(2)
    draws = [
        Turn(number, seed).rng(block).random()
        for seed in (0, 1)
        for number in (1, 2)
        for block in (first, second)
    ]
    assert len(set(draws)) == len(draws)
    assert Turn(2, 1).rng(first).random() == Turn(2, 1, "a memory").rng(first).random()


FORKING = """
import multiprocessing, sys
import veracity

CLAIMS = [{"source": s, "entity": e, "value": s} for s in "abc" for e in "xyz"]

def work(_):
    try:
        return len(veracity.discover(CLAIMS).truths)
    except veracity.errors.EngineError as error:
        return str(error)

if __name__ == "__main__":
    if sys.argv[1] == "warm":
        work(0)
    with multiprocessing.get_context(sys.argv[2]).Pool(1) as pool:
        print(pool.map_async(work, [0]).get(120)[0])
"""


@pytest.mark.parametrize(
    ("before", "how", "expected"),
    [("warm", "fork", "start processes with multiprocessing.get_context('spawn')"),
     ("cold", "fork", "3"), ("warm", "spawn", "3")],
)  # fmt: skip
def test_a_process_that_was_forked_at_work_is_told_so_and_does_not_hang(
    before, how, expected, tmp_path
):
    (tmp_path / "forking.py").write_text(FORKING)
    ran = subprocess.run(
        [sys.executable, "forking.py", before, how],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert ran.stdout.strip().endswith(expected), ran.stderr
