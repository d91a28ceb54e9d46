"""Copies show in shared coverage and shared mistakes, never in agreement alone."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import veracity
from veracity.api import prepare
from veracity.dependence.agreement import (
    Agreement,
    Dependence,
    confirmed,
    slots_of,
    with_excess,
)
from veracity.dependence.coverage import (
    Overlap,
    direct_copies,
    families,
    is_borne_out,
    taken_over,
)
from veracity.dependence.deciding import decided_by_copies, disputed_items
from veracity.show.report import write_report

ITEMS = 300
VALUES = 6


def sites(seed, *, copiers, share=1.0, labels=0, dense=False, honest=14, accuracy=0.6, bad=0.35):
    """Independent sites, and one whose values others take, each with a probability of `share`."""
    rng = np.random.default_rng(seed)
    rows = []

    def speaks(often=0.5):
        return dense or rng.random() < often

    def says(item, right):
        number = 0 if rng.random() < right else int(rng.integers(1, labels or VALUES))
        return value(item, number)

    def value(item, number):
        return f"v{(7 * item + number) % labels}" if labels else f"{item} v{number}"

    for source in range(honest):
        rows += [(f"site {source}", i, says(i, accuracy)) for i in range(ITEMS) if speaks()]
    original = {i: says(i, bad) for i in range(ITEMS) if speaks()}
    rows += [("original", i, value) for i, value in original.items()]
    for copier in range(copiers):
        for i in range(ITEMS):
            if i in original and rng.random() < share:
                rows.append((f"copier {copier}", i, original[i]))
            elif speaks(0.5 * (1.0 - share)):
                rows.append((f"copier {copier}", i, says(i, bad)))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    truth = {"entity": range(ITEMS), "value": [value(i, 0) for i in range(ITEMS)]}
    return claims, pl.DataFrame(truth)


def accuracy_of(claims, truth, **parameters):
    return veracity.evaluate(
        veracity.discover(claims, veracity.algorithms.Veracity(**parameters)), truth
    ).accuracy


@pytest.mark.parametrize("share", [1.0, 0.9])
@pytest.mark.parametrize("dense", [False, True], ids=["some items", "all items"])
@pytest.mark.parametrize("labels", [0, 4], ids=["open values", "labels"])
def test_many_copies_of_a_bad_site_do_not_outvote_the_others(share, dense, labels):
    claims, truth = sites(1, copiers=9, share=share, dense=dense, labels=labels)
    vote = veracity.evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
    found = accuracy_of(claims, truth)
    assert found > vote + 0.1
    assert found > 0.85


@pytest.mark.parametrize("share", [0.7, 0.5])
def test_half_hearted_copies_of_a_bad_site_do_not_outvote_the_others_either(share):
    claims, truth = sites(1, copiers=9, share=share)
    vote = veracity.evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
    found = accuracy_of(claims, truth)
    assert found > vote + 0.1
    assert found > accuracy_of(claims, truth, dependence=False) + 0.1


def test_copies_may_be_more_than_all_others():
    claims, truth = sites(1, copiers=20, share=0.9)
    assert accuracy_of(claims, truth) > 0.85


def handed_out(seed, *, labels=3, accuracy=(0.6, 0.95), ease=0.0, workers=60, batches=30):
    """Workers who are given batches of ten items, ten workers each, and err each by itself.

    A batch is easier than others, or harder, by up to `ease`.
    """
    rng = np.random.default_rng(seed)
    right = rng.uniform(*accuracy, workers)
    rows, truth = [], []
    for batch in range(batches):
        given, easier = rng.choice(workers, 10, replace=False), rng.uniform(-ease, ease)
        for item in range(10 * batch, 10 * batch + 10):
            true = int(rng.integers(labels))
            truth.append((item, f"v{true}"))
            for worker in given:
                is_right = rng.random() < min(right[worker] + easier, 1.0)
                number = true if is_right else (true + int(rng.integers(1, labels))) % labels
                rows.append((f"worker {worker}", item, f"v{number}"))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame(truth, schema=["entity", "value"], orient="row")


@pytest.mark.parametrize("ease", [0.0, 0.2])
@pytest.mark.parametrize("accuracy", [(0.5, 0.95), (0.9, 0.98)], ids=["mixed", "good"])
@pytest.mark.parametrize("labels", [2, 3, 8])
def test_workers_who_were_handed_the_same_items_are_no_copies(labels, accuracy, ease):
    claims, truth = handed_out(1, labels=labels, accuracy=accuracy, ease=ease)
    result = veracity.discover(claims)
    assert result.copies.is_empty()
    without = accuracy_of(claims, truth, dependence=False)
    assert veracity.evaluate(result, truth).accuracy >= without - 0.005


@pytest.mark.parametrize("dense", [False, True], ids=["some items", "all items"])
@pytest.mark.parametrize("labels", [0, 4], ids=["open values", "labels"])
@pytest.mark.parametrize("seed", [1, 2])
def test_accurate_sources_that_agree_on_easy_items_are_no_copies(dense, labels, seed):
    claims, truth = sites(seed, copiers=0, honest=10, accuracy=0.95, dense=dense, labels=labels)
    result = veracity.discover(claims)
    assert result.copies.is_empty()
    vote = veracity.evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
    assert veracity.evaluate(result, truth).accuracy >= vote - 0.005


@pytest.mark.parametrize("labels", [0, 4], ids=["open values", "labels"])
def test_copies_of_a_good_site_do_no_harm(labels):
    claims, truth = sites(3, copiers=9, bad=0.9, labels=labels)
    assert accuracy_of(claims, truth) >= accuracy_of(claims, truth, dependence=False) - 0.005


def test_a_chain_of_copies_counts_once():
    claims, truth = sites(4, copiers=1)
    links = [claims.filter(pl.col("source") == "copier 0")]
    for number in range(8):
        again = links[-1].sample(fraction=0.95, seed=number)
        links.append(again.with_columns(source=pl.lit(f"link {number}")))
    claims = pl.concat([claims, *links[1:]])
    vote = veracity.evaluate(veracity.discover(claims, "majority-vote"), truth).accuracy
    assert accuracy_of(claims, truth) > vote + 0.1


def regional(seed, *, labels, accuracy, ease, outside):
    """Sites of three regions, each of which speaks mostly of its own, and errs by itself."""
    rng = np.random.default_rng(seed)
    right, easier = rng.uniform(*accuracy, 24), rng.uniform(-ease, ease, 3)
    n_values = labels or VALUES
    rows, truth = [], []
    for item in range(ITEMS):
        region, true = item % 3, int(rng.integers(n_values))
        truth.append((item, f"v{true}" if labels else f"{item} v{true}"))
        for site in range(24):
            if rng.random() < (0.7 if site % 3 == region else outside):
                is_right = rng.random() < np.clip(right[site] + easier[region], 0.05, 0.99)
                other = (true + int(rng.integers(1, n_values))) % n_values
                number = true if is_right else other
                rows.append((f"site {site}", item, f"v{number}" if labels else f"{item} v{number}"))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    return claims, pl.DataFrame(truth, schema=["entity", "value"], orient="row")


@pytest.mark.parametrize("outside", [0.0, 0.05])
@pytest.mark.parametrize("accuracy", [(0.5, 0.95), (0.85, 0.98)], ids=["mixed", "good"])
@pytest.mark.parametrize("labels", [0, 4], ids=["open values", "labels"])
def test_sites_of_one_region_that_speak_of_the_same_items_are_no_copies(labels, accuracy, outside):
    claims, truth = regional(2, labels=labels, accuracy=accuracy, ease=0.2, outside=outside)
    result = veracity.discover(claims)
    assert result.copies.is_empty()
    without = accuracy_of(claims, truth, dependence=False)
    assert veracity.evaluate(result, truth).accuracy >= without - 0.005


# --- on paper -------------------------------------------------------------------------------------


def two_pairs(both, spoken):
    """Three sources of 100 items with twenty voices each, the first two of which always agree."""
    both = np.array(both, dtype=float)
    same = both.copy()
    same[:2, 2] = same[2, :2] = both[:2, 2] / 2
    total = Agreement(both, same, np.array(spoken, dtype=float), 100, 300, 200.0, 440.0)
    unseen = Dependence.unseen(slots_of(np.full(3, 100.0)), (0.0, 300))
    return with_excess(unseen, total, 4.0)


def test_overlap_beyond_chance_is_evidence_by_its_kullback_leibler_divergence():
    # each speaks of 50 of 100 items: by chance of 50 * 440 / 200^2 = 0.55 of the other's
    found = two_pairs([[0, 50, 25], [50, 0, 25], [25, 25, 0]], [50, 50, 50])
    assert found.overlap.likelier[0, 1] == pytest.approx(50 * np.log(1 / 0.55), rel=1e-6)
    assert found.overlap.likelier[0, 2] == 0.0  # fewer than by chance


def test_who_speaks_of_nearly_everything_cannot_be_told_by_coverage():
    found = two_pairs([[0, 100, 99], [100, 0, 99], [99, 99, 0]], [100, 100, 99])
    assert not found.overlap.tells


def test_what_is_shared_and_true_is_hardly_evidence_what_is_false_is():
    found = two_pairs([[0, 100, 99], [100, 0, 99], [99, 99, 0]], [100, 100, 99])
    found = found._replace(copied=np.where(np.eye(3) == 0, 0.8, 0.0), accuracy=np.full(3, 0.9))
    true, false = np.zeros((3, 3)), np.full((3, 3), 50.0)
    assert not confirmed(found, true).copied[0, 2]
    assert confirmed(found, false).copied[0, 1] >= 0.8


def overlapping(excess, agreement):
    """Pairs of which both speak of 100 items, with much evidence that one has them from another."""
    excess, agreement = (np.array(x, dtype=float) for x in (excess, agreement))
    overlap = Overlap(np.where(excess > 0.0, 50.0, 0.0), excess, tells=True)
    both = np.full(excess.shape, 100.0)
    return overlap, both, agreement * both


def test_a_pair_that_agrees_too_little_has_its_items_for_another_reason():
    excess = [[0.0, 0.9, 0.0], [0.9, 0.0, 0.0], [0.0, 0.0, 0.0]]
    agrees = [[0.0, 0.9, 0.5], [0.9, 0.0, 0.5], [0.5, 0.5, 0.0]]
    differs = [[0.0, 0.6, 0.5], [0.6, 0.0, 0.5], [0.5, 0.5, 0.0]]
    assert direct_copies(*overlapping(excess, agrees)).sum() == 2  # the pair, both ways round
    assert not direct_copies(*overlapping(excess, differs)).any()


def test_coverage_is_borne_out_by_agreement_beyond_what_accuracies_explain():
    excess = np.where(np.eye(5) == 1, 0.0, 0.9)
    overlap, both, _ = overlapping(excess, excess)
    assert is_borne_out(overlap, both, np.full((5, 5), 0.8))
    assert not is_borne_out(overlap, both, np.full((5, 5), 0.5))  # of 0.9 that would be copied
    assert not is_borne_out(overlap, both * 0.0, np.full((5, 5), 0.8))  # nobody overlaps


def test_along_a_chain_of_copies_shares_multiply_but_never_beyond_agreement():
    direct = np.array([[0.0, 0.9, 0.0], [0.9, 0.0, 0.8], [0.0, 0.8, 0.0]])
    both, same = np.full((3, 3), 100.0), np.full((3, 3), 100.0)
    assert taken_over(direct, both, same)[0, 2] == pytest.approx(0.72)
    same[0, 2] = same[2, 0] = 60.0
    assert taken_over(direct, both, same)[0, 2] == pytest.approx(0.6)
    both[0, 2] = both[2, 0] = 5.0  # too few to tell
    assert taken_over(direct, both, same)[0, 2] == 0.0


def test_a_family_is_whoever_is_linked_over_others():
    is_linked = np.zeros((6, 6), dtype=bool)
    for one, other in ((0, 4), (4, 2), (1, 5)):
        is_linked[one, other] = is_linked[other, one] = True
    assert families(is_linked).tolist() == [0, 1, 0, 3, 0, 1]


# --- whether anything is left to decide by --------------------------------------------------------


def register(seed):
    """Four lists from one register; two others know zones better, and measure heights otherwise."""
    rng = np.random.default_rng(seed)
    rows, truth = [], []
    for i in range(300):
        for attribute, n_values, by_register, alone in (
            ("zone", 6, 0.85, 0.98),
            ("height", 10_000, 0.9, 0.05),
        ):
            true, *wrong = rng.integers(n_values, size=4).astype(str)
            truth.append((f"e{i}", attribute, true))
            listed = true if rng.random() < by_register else wrong[0]
            copies = [n for n in range(1, 4) if rng.random() < 0.9]
            if rng.random() < 0.9:
                rows += [(f"list{n}", f"e{i}", attribute, listed) for n in (0, *copies)]
            for n in range(2):
                said = true if rng.random() < alone else wrong[n + 1]
                rows.append((f"alone{n}", f"e{i}", attribute, said))
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    return claims, pl.DataFrame(truth, schema=["entity", "attribute", "value"], orient="row")


def test_copies_count_where_counting_them_once_leaves_nothing_to_decide_by():
    claims, truth = register(0)
    vote, told, once = (
        veracity.evaluate(veracity.discover(claims, algorithm), truth).accuracy
        for algorithm in (
            "majority-vote",
            "veracity",
            veracity.algorithms.Veracity(most_undecided=1.0),
        )
    )
    assert told > vote - 0.01
    assert once < vote - 0.1
    result = veracity.discover(claims)
    assert result.findings["seen"][0].startswith("if copies count once")


def test_known_truths_decide_whether_copies_count_once():
    claims, _ = register(1)
    told, once = (
        veracity.discover(claims, algorithm).truths.select("entity", "attribute", "value")
        for algorithm in ("veracity", veracity.algorithms.Veracity(most_undecided=1.0))
    )
    known = once.join(told, on=["entity", "attribute", "value"], how="anti")
    result = veracity.discover(claims, known=known.sort("entity", "attribute").head(20))
    assert result.fitted.algorithm.most_undecided == 1.0


def test_items_that_copies_decide_are_counted_by_hand():
    """Copies are c, d and e: they win a and b. On a nobody is left ahead; on x nobody copies."""
    rows = [(source, "a", "1") for source in "cde"] + [("f", "a", "2"), ("g", "a", "3")]
    rows += [(source, "b", "1") for source in "cde"] + [("f", "b", "2"), ("g", "b", "2")]
    rows += [("f", "x", "1"), ("g", "x", "2")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    encoded = prepare(claims).encoded
    block = disputed_items(encoded.blocks[0], 12.0)
    copies = np.isin(np.array(list(encoded.names.sources)), list("cde"))
    weight = np.where(copies[block.source_of_support], 1 / 3, 1.0)
    assert decided_by_copies(block, weight) == (2.0, 1.0)


# --- who copies whom ------------------------------------------------------------------------------


def one_copies(seed):
    """Ten sites; `original` is right on four items of five, `copier` takes most of what it says."""
    rng = np.random.default_rng(seed)
    rows = []

    def says(item, right):
        return f"{item} v{0 if rng.random() < right else rng.integers(1, VALUES)}"

    for source in range(8):
        rows += [(f"site {source}", i, says(i, 0.7)) for i in range(ITEMS) if rng.random() < 0.5]
    original = {i: says(i, 0.8) for i in range(ITEMS) if rng.random() < 0.6}
    copied = {i: value for i, value in original.items() if rng.random() < 0.9}
    added = {i: says(i, 0.3) for i in range(ITEMS) if i not in original and rng.random() < 0.3}
    for name, said in (("original", original), ("copier", copied | added)):
        rows += [(name, i, value) for i, value in said.items()]
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


@pytest.mark.parametrize("seed", range(3))
def test_what_a_copier_adds_tells_who_copies(seed):
    [pair] = veracity.discover(one_copies(seed)).copies.to_dicts()
    assert (pair["source"], pair["original"]) == ("copier", "original")
    assert pair["direction"] > 0.99


def test_of_exact_copies_it_does_not_show_who_copies():
    claims, _ = sites(1, copiers=2)
    found = veracity.discover(claims).copies
    assert found["direction"].to_list() == [0.5] * 3


def test_a_finding_tells_that_sources_copy():
    claims, _ = sites(1, copiers=2)
    result = veracity.discover(claims)
    [seen] = result.findings.filter(name="near-copies")["seen"]
    assert seen.startswith("copier 0, copier 1, original may have copied; ")
    assert " mistakes, where independent sources would share " in seen
    assert seen.endswith("would lose it if counted once, as this answer does")
    vote = veracity.discover(claims, "majority-vote")
    [seen] = vote.findings.filter(name="near-copies")["seen"]
    assert seen.endswith("would lose it if counted once")
    others = claims.with_columns(pl.col("source").str.replace("copier", "mirror"))
    elsewhere = others.with_columns(
        pl.col("source") + "!", pl.col("entity") + ITEMS, pl.col("value") + "!"
    )
    result = veracity.discover(pl.concat([others, elsewhere]))
    [seen] = result.findings.filter(name="near-copies")["seen"]
    assert " may have copied, and 1 more group, too; " in seen


def workers(seed):
    """Twenty-five independent workers, each right on some 90 %; four of them label each item."""
    rng = np.random.default_rng(seed)
    right, rows = rng.uniform(0.85, 0.95, 25), []
    for item in range(500):
        true = rng.integers(3)
        for worker in rng.choice(25, 4, replace=False):
            is_right = rng.random() < right[worker]
            said = true if is_right else (true + rng.integers(1, 3)) % 3
            rows.append((f"w{worker}", item, f"v{said}"))
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def test_no_honest_worker_is_named():
    for seed in range(20):
        claims = workers(seed)
        result = veracity.discover(claims)
        assert result.copies.is_empty()
        assert len(veracity.profile(claims).pairs) == 0
        assert "near-copies" not in result.findings["name"]


def test_default_profile_and_health_check_name_the_same_pairs(tmp_path):
    claims, _ = sites(1, copiers=4, share=0.9, labels=4)
    result = veracity.discover(claims)
    pairs = result.copies
    assert len(pairs) >= 6
    assert veracity.profile(claims).pairs.equals(pairs)
    assert veracity.profile(result).pairs.equals(pairs)
    [near] = [one for one in veracity.check(claims).findings if one.name == "near-copies"]
    named = set(pairs["source"]) | set(pairs["original"])
    assert {name for group in near.examples["names"] for name in group.split(", ")} == named
    write_report(result, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Pairs of sources that may have copied" in page


def test_the_evidence_is_counted_right():
    """Ten sources on 200 items; two are the same, and both wrong on the same thirty items."""
    rng = np.random.default_rng(3)
    rows = []
    for item in range(200):
        for source in range(8):
            said = 0 if rng.random() < 0.8 else rng.integers(1, 4)
            rows.append((f"s{source}", item, f"{item} v{said}"))
        said = 4 if item < 30 else 0
        rows += [(name, item, f"{item} v{said}") for name in ("mirror", "original")]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    [pair] = veracity.discover(claims).copies.to_dicts()
    assert {pair["source"], pair["original"]} == {"mirror", "original"}
    assert (pair["shared"], pair["agreeing"], pair["mistakes"]) == (200, 200, 30)
    assert pair["expected_mistakes"] < 10
    assert pair["direction"] == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_models_that_were_asked_several_times_are_no_copies_of_each_other(seed):
    rng, rows = np.random.default_rng(seed), []
    for model, accuracy in enumerate((0.9, 0.7, 0.4, 0.5)):
        for question, _ in itertools.product(range(50), range(5)):
            is_right = rng.random() < accuracy
            answer = f"v{question}" if is_right else f"w{rng.integers(3)}"
            rows.append((f"m{model}", f"q{question}", answer))
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    truth = {f"q{question}": f"v{question}" for question in range(50)}
    result = veracity.discover(claims)
    assert result.copies.is_empty()
    assert veracity.evaluate(result, truth).accuracy >= 0.9
