"""The LCA family against arithmetic on paper and its models, spelt out."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from claims import as_block, as_encoded, states, value_rows
from veracity import Prior
from veracity.algorithms import GuessLCA, LieLCA, MistakeLCA, Rate, SimpleLCA
from veracity.algorithms.base import Turn
from veracity.algorithms.lca import LOOKS, Honesty

# --- guesslca, mistakelca and lielca against arithmetic on paper and their models, spelt out ------


TWO_AGAINST_ONE = pl.DataFrame(
    {"source": list("abc"), "entity": ["x"] * 3, "value": ["1", "1", "2"]}
)


def honesties(n, of=0.8):
    return Honesty(np.full(n, of), Prior().rates(list("abcdefgh")[:n]))


def test_a_guess_at_what_is_popular_counts_less():
    # H + (1 - H) g against (1 - H) g: 1 + 4 / (2/3) = 7 a vote for the one, 1 + 4 / (1/3) = 13
    block = as_block(TWO_AGAINST_ONE)
    plausibility = GuessLCA(follows_crowd=True).judge(block, honesties(3))
    assert_allclose(plausibility, [49 / 62, 13 / 62])
    # all alike: 1 + 4 / (1/2) = 9 a vote
    assert_allclose(GuessLCA().judge(block, honesties(3)), [0.9, 0.1])


# --- the models, spelt out ------------------------------------------------------------------------


class Cause(NamedTuple):
    """One way in which a claim comes about: how likely, whether honestly, whether knowingly."""

    likely: float
    honest: bool
    knew: bool


def guess(said, true, h, d, claimed, crowd):
    likely = chosen(said, claimed if crowd else set(claimed))
    return [Cause(h * (said == true), True, True), Cause((1 - h) * likely, False, True)]


def mistake(said, true, h, d, claimed, crowd):
    false = [value for value in (claimed if crowd else set(claimed)) if value != true]
    wrong = 0.0 if said == true else chosen(said, false)
    return [
        Cause(h * d * (said == true), True, True),
        Cause(h * (1 - d) * wrong, True, False),
        Cause((1 - h) * d * wrong, False, True),
        Cause((1 - h) * (1 - d) * wrong, False, False),
    ]


def lie(said, true, h, d, claimed, crowd):
    others = max(len(set(claimed)) - 1, 1)
    return [
        Cause(h * d * (said == true), True, True),
        Cause((1 - h) * d * (said != true) / others, False, True),
        Cause((1 - d) * chosen(said, claimed if crowd else set(claimed)), False, False),
    ]


def chosen(said, among):
    """How likely it is drawn from these."""
    return list(among).count(said) / len(among)


def of_item(model, claims, honesty, d, crowd):
    """How likely each value is true, and each claim honest, and each knowing."""
    claimed = [value for _, value in claims]
    causes = {
        true: [model(said, true, honesty[source], d, claimed, crowd) for source, said in claims]
        for true in sorted(set(claimed))
    }
    joint = {true: prod(sum(c.likely for c in of) for of in own) for true, own in causes.items()}
    posterior = {true: p / sum(joint.values()) for true, p in joint.items()}
    honest, knew = np.zeros(len(claims)), np.zeros(len(claims))
    for true, own in causes.items():
        for i, of in enumerate(own):
            total = sum(c.likely for c in of)
            honest[i] += posterior[true] * sum(c.likely for c in of if c.honest) / total
            knew[i] += posterior[true] * sum(c.likely for c in of if c.knew) / total
    return posterior, honest, knew


def knowledge_of(model, claims, honesty, algorithm):
    d = algorithm.knowledge
    for _ in range(LOOKS):
        _, _, knew = of_item(model, claims, honesty, d, algorithm.follows_crowd)
        d = (knew.sum() + algorithm.strength * algorithm.knowledge) / (
            len(claims) + algorithm.strength
        )
    return d


@pytest.mark.parametrize("crowd", [False, True])
@pytest.mark.parametrize(
    ("kind", "model"), [(GuessLCA, guess), (MistakeLCA, mistake), (LieLCA, lie)]
)
@settings(max_examples=8)
@given(rows=value_rows(max_size=20))
def test_plausibilities_and_honesties_are_those_of_the_model(kind, model, crowd, rows):
    encoded, algorithm = as_encoded(rows), kind(follows_crowd=crowd)
    (block,), sources = encoded.blocks, encoded.names.sources.to_list()
    state = honesties(len(sources))._replace(honesty=np.linspace(0.4, 0.9, len(sources)))
    of_source = dict(zip(sources, state.honesty, strict=True))
    rows = rows.unique().sort("entity", "value", "source")
    plausible, honest, out_of = [], dict.fromkeys(sources, 0.0), dict.fromkeys(sources, 0.0)
    knows, learned = [], []
    for _, own in rows.group_by("entity", maintain_order=True):
        claims = list(own.select("source", "value").iter_rows())
        d = 1.0 if model is guess else knowledge_of(model, claims, of_source, algorithm)
        posterior, honestly, knew = of_item(model, claims, of_source, d, algorithm.follows_crowd)
        plausible += [posterior[value] for value in sorted(posterior)]
        knows.append(d)
        learned.append((knew.sum() + 5.0 * 0.9) / (len(claims) + 5.0))
        for (source, _), is_honest, is_knowing in zip(claims, honestly, knew, strict=True):
            honest[source] += is_honest
            out_of[source] += is_knowing if model is lie else 1.0
    assert_allclose(algorithm.judge(block, state), plausible, atol=1e-12)
    found = algorithm.tally(block, state, Turn(memory=np.array(knows)))
    if model is not guess:
        found, anew = found
        assert_allclose(anew, learned, atol=1e-12)
    (told,) = found
    assert_allclose(told, np.array([list(honest.values()), list(out_of.values())]).T, atol=1e-12)


@settings(max_examples=20)
@given(rows=value_rows())
def test_the_posterior_of_who_guesses_never_falls(rows):
    encoded, algorithm = as_encoded(rows), GuessLCA()
    claims = [
        list(own.select("source", "value").iter_rows())
        for _, own in rows.unique().group_by("entity")
    ]
    reached = []
    for state in states(algorithm, encoded, 5):
        h, tpr = state.honesty, state.prior.tpr
        of_source = dict(zip(encoded.names.sources, h, strict=True))
        likelihood = sum(np.log(evidence(own, of_source)) for own in claims)
        prior = algorithm.strength * (tpr * np.log(h) + (1 - tpr) * np.log1p(-h))
        reached.append(likelihood + prior.sum())
    assert np.diff(reached).min() > -1e-9


def evidence(claims, honesty):
    """How likely the claims on an item are, whatever is true, where those not honest guess."""
    claimed = [value for _, value in claims]
    return sum(
        prod(
            sum(c.likely for c in guess(said, true, honesty[s], 1.0, claimed, crowd=False))
            for s, said in claims
        )
        for true in set(claimed)
    )


def test_an_item_that_all_but_the_best_get_wrong_is_a_hard_one():
    rows = [(s, f"easy {i}", "1") for i in range(20) for s in "abcd"]
    rows += [(s, f"hard {i}", f"{s if s > 'b' else 'b'}") for i in range(4) for s in "abcd"]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    for algorithm in (MistakeLCA(), LieLCA()):
        encoded = as_encoded(claims)
        *_, state = states(algorithm, encoded, 20)
        (block,) = encoded.blocks
        difficulty = algorithm.difficulty(block, state)
        assert difficulty[:20].max() < difficulty[20:].min()


# --- simplelca against arithmetic on paper and the promise of expectation maximisation ------------


def test_plausibilities_of_two_against_one_against_one_are_as_on_paper():
    rows = {"source": list("abcd"), "entity": ["x"] * 4, "value": ["1", "1", "2", "3"]}
    block = as_block(pl.DataFrame(rows))
    honesty = Honesty(np.full(4, 0.8), Prior().rates(list("abcd")))
    # H / ((1 - H) / (3 - 1)) = 0.8 / 0.1 = 8 a vote: 64, 8 and 8
    assert_allclose(SimpleLCA().judge(block, honesty), [0.8, 0.1, 0.1])


def test_honesty_is_the_share_of_true_claims_drawn_to_the_prior():
    prior = Prior(of_source={"c": Rate(tpr=0.6, fixed=True)}).rates(["a", "b", "c"])
    counts = np.array([[9.0, 10.0, 0, 0], [0.0, 0.0, 0, 0], [9.0, 10.0, 0, 0]])
    learned = SimpleLCA(strength=5.0).learn(Honesty(prior.tpr, prior), (counts,)).honesty
    # (9 + 5 * 0.8) / (10 + 5); nothing but the prior; fixed
    assert_allclose(learned, [13 / 15, 0.8, 0.6])


def log_posterior(block, honesty, algorithm):
    """Of the honesties: the claims' likelihood, summed over truths, times the beta priors."""
    h, tpr = honesty.honesty, honesty.prior.tpr
    prior = algorithm.strength * (tpr * np.log(h) + (1 - tpr) * np.log1p(-h))
    total = prior.sum()
    for item in range(block.n_items):
        facts = range(*block.first_fact_of_item[item : item + 2])
        named = [
            (fact, source)
            for fact in facts
            for source in block.source_of_support[
                slice(*block.first_support_of_fact[fact : fact + 2])
            ]
        ]
        others = max(len(facts) - 1, 1)
        log_joint = [
            sum(np.log(h[s] if fact == truth else (1 - h[s]) / others) for fact, s in named)
            for truth in facts
        ]
        total += np.logaddexp.reduce(log_joint) - np.log(len(facts))
    return total


@given(rows=value_rows())
def test_the_posterior_of_the_honesties_never_falls(rows):
    encoded, algorithm = as_encoded(rows), SimpleLCA()
    (block,) = encoded.blocks
    reached = [
        log_posterior(block, honesty, algorithm) for honesty in states(algorithm, encoded, 5)
    ]
    assert np.diff(reached).min() > -1e-9
