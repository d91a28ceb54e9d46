"""LTD-RBM written once more, straight from the paper, against ours from claims to tables.

The reference is as slow and as plain as the paper's equations: rates become the weights of a helper
machine for the sources that speak, the machine is trained, and its weights become rates again. What
it expects is drawn, as in the paper, or summed over all its states. Where the paper is silent,
choices are those of docs/algorithms/ltd-rbm.md: gradients are summed over a batch, a batch is some
items with all their facts, the step shrinks from round to round and, where the negative phase is
exact, goes by the gradient at its end; known truths are held and weigh ten to one.
"""

from __future__ import annotations

from itertools import product
from math import exp, log
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import veracity
from veracity import Prior
from veracity.algorithms import LTDRBM, Rate

RATE, DECAY, SEED = 0.05, 0.4, 7

VALUES = {
    "u": "a1 b1 c2 d1",
    "v": "a1 b2 c1 c2",
    "w": "a3 b3 c3 d1 e3",
    "x": "b2 d2 e1",
    "y": "a1 c1 d1 e2",
    "z": "a4 e4",
}
"""Of each item, who names which value; c names two of v."""

FACTS = {
    "p": "a+ b+ c- d+",
    "q": "a- b+ e+",
    "r": "a+ c+ d+ e-",
    "s": "b- c+ e-",
    "t": "a+ d-",
    "u": "c- d-",
    "v": "a+ b+ c+ d+ e+",
}
"""Of each fact, who affirms and who denies it."""


class Item(NamedTuple):
    """Who speaks of it, who supports each of its facts, and what is known of these, if anything."""

    voices: list[str]
    supporters: list[set[str]]
    known: list[float] | None


class Model(NamedTuple):
    """The paper's M: the rates of the sources, and the prevalence."""

    tpr: dict[str, float]
    fpr: dict[str, float]
    prevalence: float


class Pace(NamedTuple):
    """How it is trained; no steps of Gibbs sampling stand for the exact negative phase."""

    batch_size: int
    steps: int
    one_true: bool
    fixed: set[str]


# --- the reference --------------------------------------------------------------------------------


def odds(p):
    return log(p / (1 - p))


def sigma(x):
    return 1 / (1 + exp(-x))


def silence(tpr, fpr):
    """A source's part of the hidden bias."""
    return log(1 - tpr) - log(1 - fpr)


def machine_of(model, sources):
    """The helper machine: visible biases a, weights w, hidden bias b."""
    a = {s: odds(model.fpr[s]) for s in sources}
    w = {s: odds(model.tpr[s]) - odds(model.fpr[s]) for s in sources}
    b = odds(model.prevalence) + sum(silence(model.tpr[s], model.fpr[s]) for s in sources)
    return a, w, b


def model_of(a, w, b):
    """What a machine thinks of its sources, and of how many facts are true."""
    tpr, fpr = {s: sigma(a[s] + w[s]) for s in a}, {s: sigma(a[s]) for s in a}
    return Model(tpr, fpr, sigma(b - sum(silence(tpr[s], fpr[s]) for s in a)))


def judged(item, said, model, one_true):
    """How plausible each fact of an item is, given who says what."""
    _, w, b = machine_of(model, item.voices)
    plausible = [sigma(b + sum(w[s] for s in speakers)) for speakers in said]
    if not one_true:
        return plausible
    shares = [p / (1 - p) for p in plausible]  # normalised odds
    return [share / sum(shares) for share in shares]


def held(plausible, item):
    return plausible if item.known is None else item.known


def expected(item, model, one_true):
    """Σ E[v], Σ E[v h] and Σ E[h] over an item's facts, by going through every state there is."""
    a, w, b = machine_of(model, item.voices)
    k = len(item.supporters)
    mass, speaking = [0.0, 0.0], [dict.fromkeys(item.voices, 0.0) for _ in range(2)]
    for h, *v in product([0, 1], repeat=1 + len(item.voices)):
        on = [s for s, is_on in zip(item.voices, v, strict=True) if is_on]
        weight = exp(b * h + sum(a[s] + w[s] * h for s in on))
        mass[h] += weight
        for s in on:
            speaking[h][s] += weight
    true = k * mass[1] / sum(mass)
    if item.known is not None:
        true = sum(item.known)
    elif one_true:
        true = 1
    of_true = {s: true * speaking[1][s] / mass[1] for s in item.voices}
    of_false = {s: (k - true) * speaking[0][s] / mass[0] for s in item.voices}
    return {s: of_true[s] + of_false[s] for s in item.voices}, of_true, true


def drawn(item, plausible, model, pace, rng):
    """The same by contrastive divergence: from the data, truths are drawn, and claims of these."""
    for _ in range(pace.steps):
        truths = [rng.random() < p for p in plausible]
        rates = [model.tpr if is_true else model.fpr for is_true in truths]
        said = [{s for s in item.voices if rng.random() < rate[s]} for rate in rates]
        plausible = held(judged(item, said, model, pace.one_true), item)
    claims = {s: sum(s in speakers for speakers in said) for s in item.voices}
    return claims, true_claims(item, said, plausible), sum(plausible)


def true_claims(item, said, plausible):
    return {
        s: sum(p for p, speakers in zip(plausible, said, strict=True) if s in speakers)
        for s in item.voices
    }


def after_batch(model, batch, step, pace, rng):
    """One step: select the batch's sources, update their machine, merge it back."""
    sources = sorted({s for item in batch for s in item.voices})
    da, dw, db = dict.fromkeys(sources, 0.0), dict.fromkeys(sources, 0.0), 0.0
    facts, true_facts = dict.fromkeys(sources, 0.0), dict.fromkeys(sources, 0.0)
    for item in batch:
        plausible = held(judged(item, item.supporters, model, pace.one_true), item)
        if pace.steps:
            claims, of_true, true = drawn(item, plausible, model, pace, rng)
        else:
            claims, of_true, true = expected(item, model, pace.one_true)
        seen = true_claims(item, item.supporters, plausible)
        for s in item.voices:
            da[s] += sum(s in speakers for speakers in item.supporters) - claims[s]
            dw[s] += seen[s] - of_true[s]
            facts[s] += len(plausible)
            true_facts[s] += true
        db += sum(plausible) - true
    if not pace.steps:
        n_facts = sum(len(item.supporters) for item in batch)
        da, dw, db = at_the_end(model, (da, dw, db), (facts, true_facts, n_facts), step, pace)
    a, w, b = machine_of(model, sources)
    for s in set(sources) - pace.fixed:
        a[s], w[s] = a[s] + step * da[s], w[s] + step * dw[s]
    new = model_of(a, w, b + step * db)
    prevalence = model.prevalence if pace.one_true else new.prevalence
    return Model(model.tpr | new.tpr, model.fpr | new.fpr, prevalence)


def at_the_end(model, gradient, counts, step, pace):
    """The gradient where an exact step ends, as far as a line foretells it: ours, not the paper's.

    The moves of a, of c = a + w and of the global bias are those that (1 - step J) moves = step
    gradient has for solution, J being how what is expected grows with them. It is written down for
    all sources, and solved.
    """
    (da, dw, db), (facts, true_facts, n_facts) = gradient, counts
    free = sorted(set(da) - pace.fixed)
    n = len(free)
    left, right = np.eye(2 * n + 1), np.zeros(2 * n + 1)
    p = model.prevalence
    of_bias = 0.0 if pace.one_true else p * (1 - p)
    for i, s in enumerate(free):
        tpr, fpr = model.tpr[s], model.fpr[s]
        of_c = true_facts[s] * tpr * (1 - tpr)
        of_a = (facts[s] - true_facts[s]) * fpr * (1 - fpr)
        for row, times in ((i, 1), (n + i, 2)):  # c moves by what is true twice: by a and by w
            left[row, i] += step * of_a
            left[row, n + i] += step * times * of_c
            left[row, -1] += step * facts[s] * of_bias * (times * tpr - fpr)
            right[row] = step * (da[s] + (times - 1) * dw[s])
        left[-1, i], left[-1, n + i] = fpr, -tpr  # what the sources' biases take up
    left[-1, -1] += step * n_facts * of_bias
    right[-1] = step * db
    moves = np.linalg.solve(left, right)
    new_a = {s: moves[i] / step for i, s in enumerate(free)}
    new_w = {s: (moves[n + i] - moves[i]) / step for i, s in enumerate(free)}
    return new_a, new_w, db - n_facts * of_bias * moves[-1]


def trained(items, model, pace):
    """The model after training, and how many rounds that took."""
    for n in range(50):
        before, step = model, RATE * exp(-DECAY * n)
        rng = np.random.default_rng([SEED, n + 1, 0])
        batch = []
        for number in rng.permutation(len(items)):
            batch.append(items[number])
            if sum(len(item.supporters) for item in batch) >= pace.batch_size:
                model, batch = after_batch(model, batch, step, pace, rng), []
        if batch:
            model = after_batch(model, batch, step, pace, rng)
        moves = [abs(model.tpr[s] - before.tpr[s]) for s in model.tpr]
        moves += [abs(model.fpr[s] - before.fpr[s]) for s in model.fpr]
        if n >= 1 and max(*moves, abs(model.prevalence - before.prevalence)) < 1e-3:
            break
    return model, n + 1


def corrected(items, model, fixed):
    """The rates, worth ten facts of each kind, with how the sources met what is known."""
    tpr, fpr = dict(model.tpr), dict(model.fpr)
    for s in set(tpr) - fixed:
        met = [
            (truth, s in speakers)
            for item in items
            if item.known is not None and s in item.voices
            for truth, speakers in zip(item.known, item.supporters, strict=True)
        ]
        for rate, is_true in ((tpr, 1), (fpr, 0)):
            said = [is_said for truth, is_said in met if truth == is_true]
            rate[s] = (sum(said) + 10 * rate[s]) / (len(said) + 10)
    return model._replace(tpr=tpr, fpr=fpr)


# --- ours against it ------------------------------------------------------------------------------

PRIOR = Prior(
    tpr=0.75,
    fpr=0.25,
    prevalence=0.35,
    of_kind={"good": Rate(tpr=0.9, fpr=0.1)},
    kind_of_source={"a": "good", "b": "good"},
    of_source={"b": Rate(tpr=0.6, fpr=0.3), "c": Rate(tpr=0.7, fpr=0.15, fixed=True)},
)
STARTS = Model(
    {"a": 0.9, "b": 0.6, "c": 0.7, "d": 0.75, "e": 0.75},
    {"a": 0.1, "b": 0.3, "c": 0.15, "d": 0.25, "e": 0.25},
    0.35,
)
"""What follows from this prior: a source's own rate comes first, then its kind's, then all's."""

KNOWN = {
    "categorical": {"w": "3", "x": "1"},
    "multiple": {"v": "12", "x": "2"},
    "binary": {"p": "+", "q": "-"},
}


def items_of(kind, known):
    said = FACTS if kind == "binary" else VALUES
    items = []
    for name, words in said.items():
        voices = sorted({word[0] for word in words.split()})
        values = "+" if kind == "binary" else sorted({word[1] for word in words.split()})
        supporters = [{s for s in voices if s + value in words.split()} for value in values]
        if kind != "binary":  # in the order in which blocks have them, for random numbers
            voices = list(dict.fromkeys(s for speakers in supporters for s in sorted(speakers)))
        truths = known.get(name)
        told = None if truths is None else [float(value in truths) for value in values]
        items.append(Item(voices, supporters, told))
    return items


def claims_of(kind):
    said = FACTS if kind == "binary" else VALUES
    rows = [(*word, name) for name, words in said.items() for word in words.split()]
    claims = pl.DataFrame(rows, schema=["source", "value", "entity"], orient="row")
    if kind != "binary":
        return claims
    return claims.select("source", fact="entity", claim=pl.col("value") == "+")


def known_table(kind, known):
    if not known:
        return None
    rows = [(name, value) for name, values in known.items() for value in values]
    table = pl.DataFrame(rows, schema=["entity", "value"], orient="row")
    if kind != "binary":
        return table
    return table.select(fact="entity", claim=pl.col("value") == "+")


def usual_start(kind, items):
    n_facts = sum(len(item.supporters) for item in items)
    prevalence = len(items) / n_facts if kind == "categorical" else 0.5
    return Model(dict.fromkeys("abcde", 0.8), dict.fromkeys("abcde", 0.2), prevalence)


def answer_of(items, model, kind):
    """What is told at the end: plausibilities, corrected by what is known, one behind the other."""
    is_single = kind == "categorical"
    judgements = (held(judged(item, item.supporters, model, is_single), item) for item in items)
    return [p for plausible in judgements for p in plausible]


def prevalence_of(items, model):
    """The share of true facts among those that are spoken on, where one of each item is true."""
    true = facts = 0.0
    for item in items:
        plausible = held(judged(item, item.supporters, model, one_true=True), item)
        true += len(item.voices) * sum(plausible)
        facts += len(item.voices) * len(plausible)
    return true / facts


@pytest.mark.parametrize("is_told", [False, True], ids=["nothing known", "much known"])
@pytest.mark.parametrize("phase", ["exact", "sampled"])
@pytest.mark.parametrize("kind", ["binary", "multiple", "categorical", "categorical, constrained"])
def test_training_is_that_of_the_paper(kind, phase, is_told):
    kind, _, constrained = kind.partition(", ")
    known, prior = (KNOWN[kind], PRIOR) if is_told else ({}, Prior())
    items, fixed = items_of(kind, known), {"c"} if is_told else set()
    start = corrected(items, STARTS if is_told else usual_start(kind, items), fixed)
    for batch_size, steps in ((1, 1), (5, 1), (100, 3)):
        pace = Pace(batch_size, steps if phase == "sampled" else 0, bool(constrained), fixed)
        model, rounds = trained(items, start, pace)
        model = corrected(items, model, fixed)
        ours = LTDRBM(
            prior=prior, learning_rate=RATE, decay=DECAY, batch_size=batch_size, seed=SEED,
            negative_phase=phase, gibbs_steps=steps, single_truth=bool(constrained),
        )  # fmt: skip
        result = veracity.discover(claims_of(kind), ours, kind=kind, known=known_table(kind, known))
        assert result.run.rounds == rounds
        assert_allclose(result.facts["plausibility"], answer_of(items, model, kind), rtol=1e-9)
        for rate, expected_rate in (("tpr", model.tpr), ("fpr", model.fpr)):
            found = dict(result.sources.select("source", rate).iter_rows())
            assert found == pytest.approx(expected_rate, rel=1e-9)
        told = prevalence_of(items, model) if constrained else model.prevalence
        assert result.run.prevalence == pytest.approx(told)
