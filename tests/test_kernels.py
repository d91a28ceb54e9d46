from __future__ import annotations

import importlib
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from claims import as_block, binary_rows, value_rows
from veracity import kernels
from veracity.kernels import MAX_CLAIMS_NUMPY, Machine, Numbers, Pace, twin

MANY = MAX_CLAIMS_NUMPY + 1


class Compiled:
    """Compiled kernels, given what `kernels` would give them."""

    def __getattr__(self, name):
        given = (lambda argument: argument) if name == "number_names" else kernels._plain
        return lambda *arguments: twin(name, MANY)(*map(given, arguments))


class Reference:
    """Kernels in NumPy."""

    def __getattr__(self, name):
        return getattr(importlib.import_module(HOME_OF_REFERENCE.get(name, BASE)), name)


BASE = "veracity.kernels.reference"
HOME_OF_REFERENCE = dict.fromkeys(kernels.TRAINING, "veracity.kernels.reference_training")
compiled, reference = Compiled(), Reference()


SUMS_AND_PAIRS = (
    "best_two", "count_confusions", "count_false_pairs", "count_named", "count_once", "count_pairs",
    "count_shared", "count_votes", "find_links", "normalise_log", "sum_by_source", "sum_claims",
    "sum_confusions", "sum_met", "sum_votes", "weigh_claims",
)  # fmt: skip
KERNELS = (*SUMS_AND_PAIRS, *kernels.LAYOUT, *kernels.TRAINING)

some_blocks = st.one_of(value_rows(), binary_rows()).map(as_block)
seeds = st.integers(0, 2**32 - 1)


def arguments_of(name, block, seed):
    """Arguments for the kernel of this name, the same for the same seed."""
    rng = np.random.default_rng(seed)
    block, n = shared(block, rng), n_sources_of(block)
    known = np.repeat(np.maximum(rng.integers(-2, 2, block.n_items), -1), block.n_facts_of_item)
    label = rng.integers(0, 3, block.n_facts).astype(np.int32)
    block = block._replace(known_of_fact=known.astype(np.int8), label_of_fact=label)
    order = rng.permutation(block.n_items)
    is_fixed = rng.integers(0, 2, n).astype(np.float64)
    machine = Machine(rng.normal(-1, 1, n), rng.normal(2, 1, n), rng.normal(), is_fixed)
    pace = Pace(0.05, int(rng.integers(1, 12)), 13.8, bool(rng.integers(2)), int(rng.integers(4)))
    truth = np.repeat(rng.integers(-1, 2, block.n_items), block.n_facts_of_item)
    prior = rng.gamma(rng.choice([0.3, 2.0]), 2.0, (n, 2, 2)) + 0.01  # also less than one claim
    counts = counts_of(block, truth, n)
    some = int(rng.integers(1, 200))
    item = np.append(np.arange(7), rng.integers(0, 7, some)).astype(np.int32)
    spelling, source = (rng.integers(0, most, len(item)).astype(np.int32) for most in (9, 20))
    key = (spelling.astype(np.uint64) << np.uint64(32)) | source.astype(np.uint64)
    value_of_spelling = np.sort(rng.integers(0, 5, 9)).astype(np.int32)
    hashes = rng.integers(0, 2**64, (12, 2), dtype=np.uint64)
    hashes[:4, 0] = hashes[0, 0]  # names that only the second hash tells apart
    hashes = hashes[rng.integers(0, 12, some)].T.copy()
    score, supporters = rng.integers(0, 3, block.n_facts) / 2, rng.integers(0, 3, block.n_facts)
    n_slots = int(rng.integers(0, n + 1))
    slot = rng.permutation(np.append(np.arange(n_slots), np.full(n - n_slots, -1)))
    column = rng.integers(0, 3, block.n_items).astype(np.int32)
    weight_of_support = rng.random(len(block.source_of_support))
    unclaimed = rng.choice([-np.inf, -50.0, 0.0, 50.0], block.n_items)
    nothing, no_number = np.zeros(0), np.zeros(0, dtype=np.int32)
    is_plain = bool(rng.integers(2))
    some_items = np.flatnonzero(rng.random(block.n_items) < 0.7)
    return {
        "best_two": (block.first_fact_of_item, score, supporters),
        "find_voices": (
            block.first_fact_of_item,
            block.first_support_of_fact,
            block.source_of_support,
            n,
        ),
        "lay_out": (item, key, value_of_spelling, 7),
        "number_names": (np.zeros((4, 2), np.uint64), 0, *hashes),
        "part_claims": (
            *(
                Numbers(number, rng.permutation(number.max() + 1).astype(np.int32))
                for number in (item, spelling, source)
            ),
            int(rng.integers(1, 9)),
        ),
        "count_named": (block, n),
        "sum_votes": (block, rng.normal(size=n), rng.normal(size=n)),
        "sum_claims": (block, weight_of_support),
        "weigh_claims": (
            block,
            rng.normal(size=(n, 3)),
            column,
            np.maximum(block.n_facts_of_item, 0.0 if is_plain else 5.0),
            nothing if is_plain else weight_of_support,
            no_number if is_plain else rng.integers(1, 4, len(weight_of_support), np.int32),
            nothing if is_plain else 1.0 + rng.random(block.n_items),
        ),
        "sum_by_source": (block, rng.random(block.n_facts), column, n, 3),
        "normalise_log": (rng.normal(0, 50, block.n_facts), block.first_fact_of_item, unclaimed),
        "count_votes": (block, rng.random(block.n_facts), n),
        "sum_met": (block, rng.random((block.n_facts, 5)), int(rng.integers(1, 6)), n),
        "count_confusions": (block, rng.random((block.n_items, 3)), n),
        "sum_confusions": (block, rng.normal(size=(n, 3, 3)), weight_of_support),
        "count_pairs": (block, some_items, slot, rng.random(block.n_facts)),
        "count_false_pairs": (block, some_items, slot, 3.0 * rng.random(n_slots)),
        "count_shared": (block, slot, int(rng.integers(2, 5))),
        "find_links": (block, slot, *some_pairs(n_slots, rng)),
        "count_once": (block, slot, rng.random((n_slots, n_slots))),
        "ascend": (
            reference.reorder(block, order),
            *(machine, pace, rng if pace.gibbs_steps else None),
        ),
        "reorder": (block, order[: int(rng.integers(1, block.n_items + 1))]),
        "gibbs": (block, truth, counts, prior, float(rng.normal()), rng),
    }[name]


def shared(block, rng):
    """The block, or the same with claims that count by shares."""
    if rng.integers(2):
        return block
    supports, voices = len(block.source_of_support), len(block.source_of_voice)
    return block._replace(share_of_support=rng.random(supports), share_of_voice=rng.random(voices))


def some_pairs(n_slots, rng):
    """Numbers of some pairs of slots, and how many there are."""
    pairs = np.triu(rng.random((n_slots, n_slots)) < 0.7, k=1)
    number = np.full((n_slots, n_slots), -1, np.int32)
    number[pairs] = number.T[pairs] = np.arange(pairs.sum())
    return number, int(pairs.sum())


def n_sources_of(block):
    """How many sources there are; the last one speaks in other blocks only."""
    return int(block.source_of_voice.max()) + 2


def counts_of(block, truth, n_sources):
    """What the sources claimed of facts whose truth is drawn (0 or 1, not -1)."""
    counts = np.zeros((n_sources, 2, 2))
    for item in range(len(block.first_fact_of_item) - 1):
        voices = block.source_of_voice[slice(*block.first_voice_of_item[item : item + 2])]
        for fact in range(*block.first_fact_of_item[item : item + 2]):
            supporters = block.source_of_support[
                slice(*block.first_support_of_fact[fact : fact + 2])
            ]
            if truth[fact] >= 0:
                np.add.at(
                    counts, (voices, truth[fact], np.isin(voices, supporters).astype(int)), 1.0
                )
    return counts


@pytest.mark.parametrize("name", KERNELS)
@given(block=some_blocks, seed=seeds)
def test_compiled_kernel_equals_reference(name, block, seed):
    expected = getattr(reference, name)(*arguments_of(name, block, seed))
    found = getattr(compiled, name)(*arguments_of(name, block, seed))
    if name == "number_names":  # slots may be filled in any order
        found, expected = ((np.sort(slots, axis=0), *rest) for slots, *rest in (found, expected))
    for one, other in zip(as_tuple(found), as_tuple(expected), strict=True):
        kind = np.asarray(other).dtype.kind
        assert np.asarray(one).dtype.kind == kind
        if kind == "f":
            assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        else:  # keys and hashes are so large that a tolerance would pass over their last bits
            assert_array_equal(one, other)


# --- LTD-RBM's pass: what claims drawn at random hardly ever show ---------------------------------


def said_of_one_item(*values):
    """A block of one item, of which each source names one of these values."""
    rows = [(f"s{number:02}", "x", value) for number, value in enumerate(values)]
    return as_block(pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row"))


def passes(block, machine, pace):
    """Where a pass over one item ends, by the reference and by what is compiled."""
    items = reference.reorder(block, np.array([0]))
    return (kernel.ascend(items, machine, pace, None) for kernel in (reference, compiled))


def assert_same_end(ends):
    expected, found = ends
    for one, other in zip(found, expected, strict=True):
        assert np.isfinite(other).all()
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_very_many_who_are_sure_and_agree_overflow_nothing():
    # Forty weights of 26 are 1040, of which exp is no number any more.
    block = said_of_one_item(*["1"] * 40, "2")
    machine = Machine(np.full(41, -13.0), np.full(41, 26.0), 0.0, np.zeros(41))
    assert_same_end(passes(block, machine, Pace(0.05, 100, 13.8, True, 0)))


def test_rates_of_a_source_are_right_where_only_one_of_them_moves_far():
    # It errs, as is known, and its tpr is as high as can be: only its fpr has far to go.
    block = said_of_one_item("1", "2")
    block = block._replace(known_of_fact=np.zeros(2, dtype=np.int8))
    machine = Machine(np.array([-3.0, -3.0]), np.array([16.8, 3.0]), 0.0, np.array([0.0, 1.0]))
    expected, found = passes(block, machine, Pace(20.0, 1, 13.8, False, 0))
    assert expected[0][0] == pytest.approx(-1.5)  # farther than a short series serves
    assert expected[0][0] + expected[1][0] == pytest.approx(13.8)
    assert_same_end((expected, found))


@pytest.mark.parametrize("gibbs_steps", [0, 1])
@given(block=some_blocks, seed=seeds)
def test_log_odds_never_go_beyond_their_limit(gibbs_steps, block, seed):
    rng, n = np.random.default_rng(seed), n_sources_of(block)
    known = np.repeat(rng.integers(0, 2, block.n_items), block.n_facts_of_item)  # all, or none
    block = block._replace(known_of_fact=known.astype(np.int8))
    low, high = rng.uniform(-0.5, 0.5, (2, n))
    machine = Machine(low, high - low, float(rng.uniform(-0.5, 0.5)), np.zeros(n))
    pace = Pace(1.0, 3, 0.5, False, gibbs_steps)
    for kernel in (reference, compiled):
        stream = np.random.default_rng(seed) if gibbs_steps else None
        items = kernel.reorder(block, np.arange(block.n_items))
        a, w, b = kernel.ascend(items, machine, pace, stream)
        assert max(np.abs(a).max(), np.abs(a + w).max(), abs(b)) < 0.5 + 1e-9


SIGNATURES = """
import importlib, sys, warnings
import polars as pl, veracity
from veracity import kernels
from veracity.engines import Local
kernels.MAX_CLAIMS_NUMPY = 0
warnings.simplefilter('ignore')
drawn = veracity.synthetic.Synthetic(items=60).draw(seed=1)
weighed = drawn.claims.with_columns(weight=pl.Series([0.5, 1.0]).gather(
    pl.int_range(drawn.claims.height, eager=True) % 2))
numbers = drawn.claims.with_columns(value=pl.col('value').hash() % 7)
values = drawn.claims.with_columns(value=pl.col('entity') + pl.col('value'))
says = drawn.claims.with_columns(claim=pl.int_range(pl.len()) % 3 > 0)
runs = [(drawn.claims, name, {}) for name in
        (None, 'ltd-rbm', 'ltd-rbm-cd', 'ltm', 'accu-copy', 'dawid-skene', 'three-estimates')]
runs += [(values, None, {}), (weighed, None, {}), (numbers, 'gtm', {'kind': 'numeric'}),
         (says, None, {}),
         (drawn.claims, None, {'kind': 'multiple'}), (drawn.claims, None, {'known': drawn.truth})]
for claims, algorithm, options in runs:
    for engine in (Local(), Local(memory='1KB', claims_per_block=200)):
        veracity.discover(claims, algorithm, engine=engine, **options)
for module in ('compiled', 'compiled_layout', 'compiled_training'):
    for name, found in vars(importlib.import_module('veracity.kernels.' + module)).items():
        if not name.startswith('_') and getattr(found, 'signatures', ()):
            print(name, len(found.signatures), *found.signatures, sep='; ')
"""


@pytest.mark.slow
def test_each_kernel_is_compiled_for_one_kind_of_arguments():
    """More kinds would be compiled once more each, for seconds: in memory, on disk, all claims."""
    usual = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", SIGNATURES], env=usual, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    found = {line.split("; ")[0]: line for line in done.stdout.splitlines()}
    assert found.keys() > {"ascend_in", "count_votes", "lay_out", "number_names", "weigh_claims"}
    for name, line in found.items():
        assert line.split("; ")[1] == ("2" if name == "ascend_in" else "1"), (
            line
        )  # with samples, too


def test_kernels_are_compiled_where_nothing_can_be_cached(monkeypatch):
    numba = pytest.importorskip("numba")

    def njit(cache=False, **how):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: (function, how)

    monkeypatch.setattr(numba, "njit", njit)
    function, how = kernels.kernel(len)
    assert function is len
    assert how["nogil"]


def test_arrays_of_any_layout_are_read(tmp_path):
    wide = np.arange(12.0).reshape(3, 4)
    for score in (wide[:, 1], wide.T[1], np.asfortranarray(wide)[1], wide[::-1, 2]):
        first, nobody = np.array([0, len(score)]), np.array([-np.inf])
        assert_allclose(
            compiled.normalise_log(score, first, nobody),
            reference.normalise_log(score, first, nobody),
        )


def test_what_a_kernel_was_given_and_gives_back_is_the_same_array():
    slots, hashes = np.zeros((4, 2), np.uint64), np.array([7], dtype=np.uint64)
    assert compiled.number_names(slots, 0, hashes, hashes)[0] is slots


@pytest.mark.parametrize("twin", [reference, compiled], ids=["reference", "compiled"])
def test_pairs_are_counted_on_every_item(twin):
    says = [("a", "1"), ("b", "1"), ("c", "2")]
    rows = [(s, f"e{e}", value) for e in range(3) for s, value in says]
    block = as_block(pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row"))
    slot, items = np.arange(3), np.arange(3)
    both, same = twin.count_pairs(block, items, slot, np.ones(block.n_facts))
    assert both.tolist() == [[0, 3, 3], [3, 0, 3], [3, 3, 0]]
    assert same.tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    for weight in (
        1.0,
        5.0,
    ):  # the odds that c is right, and a and b are wrong, are its exponential
        false = twin.count_false_pairs(block, items, slot, np.array([1.0, 1.0, weight]))
        share = 3.0 / (1.0 + np.exp(-weight))
        assert_allclose(false, [[0, share, 0], [share, 0, 0], [0, 0, 0]])


def as_tuple(answer):
    return answer if isinstance(answer, tuple) else (answer,)


@given(block=some_blocks, seed=seeds)
def test_gibbs_keeps_the_counts_equal_to_what_the_truths_say(block, seed):
    block, truth, counts, prior, odds, rng = arguments_of("gibbs", block, seed)
    truth, _, counts = compiled.gibbs(block, truth, counts, prior, odds, rng)
    assert_allclose(counts, counts_of(block, truth, n_sources_of(block)))


def test_a_hundred_thousand_values_of_one_item_cost_no_more_than_their_claims():
    n = 100_000  # n * n pairs would not fit in memory
    rows = {"source": [str(i % 1000) for i in range(n)], "entity": ["x"] * n}
    block = as_block(pl.DataFrame({**rows, "value": [str(i) for i in range(n)]}))
    score = compiled.sum_votes(block, np.ones(1000), np.ones(1000))
    assert_allclose(score, 1001.0)


@given(seed=seeds)
def test_names_keep_their_numbers_from_batch_to_batch(seed):
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 2**64, (300, 2), dtype=np.uint64)[rng.integers(0, 300, 500)].T
    _, at_once, _ = compiled.number_names(np.zeros((4, 2), np.uint64), 0, *hashes.copy())
    slots, n_names, numbers = np.zeros((4, 2), np.uint64), 0, []
    for batch in np.array_split(hashes, 5, axis=1):
        slots, number, new = compiled.number_names(slots, n_names, *batch.copy())
        n_names += len(new)
        numbers.append(number)
    assert np.concatenate(numbers).tolist() == at_once.tolist()


@given(seed=seeds, n=st.integers(1, 3000))
def test_an_item_of_any_size_is_sorted(seed, n):
    source = np.random.default_rng(seed).integers(0, n, n)
    item = np.zeros(n, np.int32)
    _, _, sources, _ = compiled.lay_out(item, source.astype(np.uint64), np.zeros(1, np.int32), 1)
    assert sources.tolist() == np.unique(source).tolist()


def test_few_claims_are_no_reason_to_load_numba():
    code = (
        "import sys, veracity; veracity.discover(veracity.synthetic.flights().claims);"
        "print('numba' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


NOBODY = """
import os
import veracity
if os.getuid() == 0:
    os.setgroups([]); os.setgid(54321); os.setuid(54321)
try:
    os.listdir(os.path.dirname(os.__file__)), os.listdir(veracity.__path__[0])
except OSError:
    print("cannot be tried"); raise SystemExit
claims = veracity.synthetic.Synthetic(sources=9, items=3000, accuracy=0.8).draw(seed=1).claims
print(len(veracity.discover(claims, "ltm").truths))
"""


def test_somebody_in_no_list_of_users_can_run_on_many_claims():
    homeless = {name: value for name, value in os.environ.items() if name not in
                ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "USER", "LOGNAME")}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", NOBODY], env=homeless, capture_output=True, text=True, check=False
    )
    if done.stdout.startswith("cannot"):
        pytest.skip("another user cannot read this Python")
    assert (done.stdout, done.stderr) == ("3000\n", "")


@pytest.mark.parametrize("of", [reference, compiled])
def test_of_no_rows_no_name_is_numbered(of):
    nothing = np.zeros(0, np.uint64)
    slots, number, new = of.number_names(np.zeros((4, 2), np.uint64), 0, nothing, nothing)
    assert (len(number), len(new)) == (0, 0)
    assert not slots.any()


@pytest.mark.parametrize(
    ("n_facts", "runs"), [(MAX_CLAIMS_NUMPY, "reference"), (MAX_CLAIMS_NUMPY + 1, "compiled")]
)
def test_the_size_of_the_claims_decides_which_twin_runs(monkeypatch, n_facts, runs):
    module = importlib.import_module(f"veracity.kernels.{runs}")
    monkeypatch.setattr(module, "normalise_log", lambda score, first, unclaimed: "this one")
    arguments = np.zeros(n_facts), np.arange(n_facts + 1), np.zeros(n_facts)
    assert kernels.normalise_log(*arguments) == "this one"


def test_modules_of_kernels_are_no_kernels():
    with pytest.raises(AttributeError):
        kernels.compiled_of_nothing  # noqa: B018
