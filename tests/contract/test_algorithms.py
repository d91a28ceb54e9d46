"""What every algorithm promises, whatever it is."""

from __future__ import annotations

import unittest
import warnings
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import veracity
from claims import binary_rows, value_rows
from marks import slow_unless
from veracity.algorithms import CATALOGUE, LTDRBM, LTM, MLE, Rate
from veracity.algorithms.base import Phase, Step
from veracity.algorithms.rules import Weights
from veracity.testing import CHECKS, DoesNotApply, check_algorithm, some_claims
from veracity.trees import BySource

KINDS = ("categorical", "multiple", "binary")
FOR_VALUES = sorted(
    name for name, entry in CATALOGUE.items() if "categorical" in entry.make().kinds
)
every_algorithm = pytest.mark.parametrize("name", FOR_VALUES)


def every_algorithm_but(reasons):
    """Every algorithm for values; those that promise otherwise are skipped, and say why."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=pytest.mark.skip(reason=reasons[name]))
            if name in reasons
            else name
            for name in FOR_VALUES
        ],
    )


CHECKED = {
    **{name: entry.make() for name, entry in CATALOGUE.items()},
    "ltd-rbm, flow": veracity.algorithms.LTDRBM(learning="flow"),
    "ltd-rbm-c, flow": veracity.algorithms.LTDRBM(learning="flow", single_truth=True),
    "crh, both losses": veracity.algorithms.CRH(both_losses=True),
    "catd, both losses": veracity.algorithms.CATD(both_losses=True),
    "mle, missing is negative": veracity.algorithms.MLE(missing="negative"),
    "guess-lca, crowd": veracity.algorithms.GuessLCA(follows_crowd=True),
    "mistake-lca, crowd": veracity.algorithms.MistakeLCA(follows_crowd=True),
    "lie-lca, crowd": veracity.algorithms.LieLCA(follows_crowd=True),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", slow_unless(CATALOGUE.__contains__, CHECKED))
def test_every_algorithm_keeps_every_promise(name, check):
    check(CHECKED[name])


# --- beyond the checks: whatever is claimed -------------------------------------------------------


def discover(claims, algorithm, kind="categorical", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", veracity.errors.NotConverged)
        return veracity.discover(claims, algorithm, kind=kind, **options)


def rows_of(kind, **options):
    return binary_rows(**options) if kind == "binary" else value_rows(**options)


def has_seed(name):
    return "seed" in (one.name for one in fields(CATALOGUE[name].make()))


def with_kinds(names):
    """Each of these algorithms with each kind of claims that it is for."""
    return pytest.mark.parametrize(
        ("name", "kind"),
        [(name, kind) for name in names for kind in KINDS if kind in CATALOGUE[name].make().kinds],
    )


@with_kinds(FOR_VALUES)
@settings(max_examples=8)
@given(data=st.data())
def test_plausibilities_and_rates_are_probabilities_for_any_claims(name, kind, data):
    result = discover(data.draw(rows_of(kind)), name, kind)
    rates = [result.sources[rate].drop_nulls() for rate in ("tpr", "fpr", "accuracy")]
    for numbers in (result.facts["plausibility"], *rates):
        assert numbers.is_between(0.0, 1.0).all()
        assert not numbers.is_nan().any()
    if kind == "categorical":
        total = result.facts.group_by("entity").agg(pl.col("plausibility").sum())["plausibility"]
        assert (total < 1.0 + 1e-9).all()


@pytest.mark.parametrize("name", [name for name in FOR_VALUES if has_seed(name)])
@settings(max_examples=6)
@given(rows=value_rows())
def test_new_names_in_the_old_order_change_nothing_to_samplers(name, rows):
    renamed = rows.with_columns(pl.col("source", "entity").str.replace("^", "new "))
    one, other = discover(rows, name), discover(renamed, name)
    assert_allclose(one.facts["plausibility"], other.facts["plausibility"], atol=1e-12)


NOT_APART = {
    "veracity": "how alike voices err, and the mean accuracy, are learned from all items",
    "ltd-rbm": "the prevalence is that of all facts",
    "mle": "the prevalence is that of all facts",
    "recursive-em": "the prevalence is that of all facts",
    "ltm": "a sampler draws anew",
    "ltd-rbm-cd": "a sampler draws anew",
    "ltd-rbm-c-cd": "a sampler draws anew",
    "two-estimates": "truths are stretched between the least and the most of all",
    "three-estimates": "truths are stretched between the least and the most of all",
    "truth-finder": "the rounds end by the cosine of all trusts",
    "dawid-skene": "the share of each label is that among all items",
    "one-coin": "the share of each label is that among all items",
    "crh": "a weight is a share of all loss",
}
"""Where the paper has an item matter to sources that do not speak of it, and why."""


@every_algorithm_but(NOT_APART)
@settings(max_examples=6)
@given(rows=value_rows())
def test_an_undisputed_item_of_others_changes_nothing(name, rows):
    # Of the same sources, it tells that they are right: to all but a vote it matters.
    labels = rows["value"].unique()
    apart = pl.DataFrame({"source": ["y", "z"], "entity": ["zz"] * 2, "value": [labels[0]] * 2})
    one, other = discover(rows, name), discover(pl.concat([rows, apart]), name)
    others = other.facts.filter(pl.col("entity") != "zz")
    assert_allclose(one.facts["plausibility"], others["plausibility"], atol=1e-9)


def test_three_estimates_of_claims_whose_difficulties_ran_away_hang_on_no_name():
    # Seen in an attack: a difficulty of 1e14 left others at 1e-16, which were divided by.
    rows, old = some_claims("binary", 10, 40), list("abcdefgh")
    for seed in range(2):
        swap = pl.col("source").replace_strict(old, np.random.default_rng(seed).permutation(old))
        one, other = (
            discover(claims, "three-estimates", "binary")
            for claims in (rows, rows.with_columns(swap))
        )
        assert one.run.rounds == other.run.rounds
        trusts = one.sources.with_columns(swap).join(other.sources, on="source")
        assert trusts["trust"].equals(trusts["trust_right"].alias("trust"))


@pytest.mark.slow
@every_algorithm
def test_a_hundred_thousand_values_of_one_item_are_no_trouble(name):
    n = 100_000
    claims = pl.DataFrame({"source": range(n), "entity": [1] * n, "value": range(n)})
    claims = pl.concat([claims, pl.DataFrame({"source": [n], "entity": [1], "value": [77]})])
    if name == "dawid-skene":  # a hundred thousand labels are none
        with pytest.raises(veracity.errors.ParameterError, match="use OneCoin"):
            discover(claims, name)
    elif name.endswith("-cd"):  # each would be drawn for each source
        with pytest.raises(veracity.errors.ParameterError, match="use negative_phase='exact'"):
            discover(claims, name)
    else:
        assert discover(claims, name).truths["value"].to_list() == [77]


REFUSED = {
    "max_rounds must be at least 2 (min_rounds), got 1": (LTDRBM, {"max_rounds": 1}),
    "negative_phase must be one of exact, sampled": (LTDRBM, {"negative_phase": "none"}),
    "learning must be one of batches, flow, got": (LTDRBM, {"learning": "lectures"}),
    "missing must be": (MLE, {"missing": "denied"}),
    "tpr_strength must be a number": (LTM, {"tpr_strength": float("nan")}),
    "tpr must be between 0 and 1, got 1.0": (veracity.Prior, {"tpr": 1.0}),
    "fpr must be between 0 and 1, got -0.1": (Rate, {"fpr": -0.1}),
    "kind_of_source names the kind 'k', but": (veracity.Prior, {"kind_of_source": {"a": "k"}}),
    "threads must be at least 1, got 0": (veracity.Local, {"threads": 0}),
    "claims_per_block must be at least 1, got 0": (veracity.Local, {"claims_per_block": 0}),
    "partitions must be at least 1, got 0": (veracity.Spark, {"partitions": 0}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_parameter_that_cannot_be_is_refused_with_whose_what_and_got(message):
    what, parameters = REFUSED[message]
    with pytest.raises(veracity.errors.ParameterError) as caught:
        what(**parameters)
    assert str(caught.value).startswith(f"{what.__name__}: {message}")


def at_least(least):
    return (least,), (least - 1,)


POSITIVE = (1e-100, 1.0), (0.0, 9e-101, -1.0)
PROBABILITY = (1e-9, 1.0 - 1e-9), (0.0, 1.0)
BOUNDS = {
    **dict.fromkeys(("learning_rate", "smoothing", "strength", "tolerance"), POSITIVE),
    **dict.fromkeys(("tpr_strength", "fpr_strength", "dampening"), POSITIVE),
    **dict.fromkeys(("initial_error", "initial_difficulty", "initial_trust"), PROBABILITY),
    **dict.fromkeys(("copied", "significance", "stretching"), PROBABILITY),
    **dict.fromkeys(("decay", "influence", "min_rounds", "seed"), at_least(0)),
    **dict.fromkeys(("burn_in", "thinning"), at_least(0)),
    **dict.fromkeys(("batch_size", "facts_per_step", "gibbs_steps", "max_rounds"), at_least(1)),
    **dict.fromkeys(("min_shared", "most_partners", "most_values"), at_least(1)),
    **dict.fromkeys(("n_false_values", "steps"), at_least(1)),
    "base_similarity": ((0.0, 1.0), (-1e-9, 1.0 + 1e-9)),
    "chains": ((1, 1_000), (0, 1_001)),
    "copying": ((1e-9, 0.499), (0.0, 0.5, 1.0)),
    "growth": ((1.0, 20.0), (0.999, 20.001)),
    "most_supporters": at_least(2),
    "rounds": ((11, 1_000_000), (10, 1_000_001)),
}
"""Of each parameter, what is just taken, and what is refused."""

MORE_ROUNDS = {
    "two-estimates": 11,
    **{name: 2 for name, entry in CATALOGUE.items() if entry.class_name == "LTDRBM"},
}
"""Who takes more rounds at least: those in which stretching fades out, or `min_rounds`."""


@pytest.mark.parametrize("name", CATALOGUE)
def test_parameters_are_taken_up_to_their_bounds_and_refused_beyond(name):
    algorithm = CATALOGUE[name].make()
    bounds = BOUNDS | {"max_rounds": at_least(MORE_ROUNDS.get(name, 1))}
    for parameter in (one.name for one in fields(algorithm) if one.name in bounds):
        taken, refused = bounds[parameter]
        for value in taken:
            assert getattr(replace(algorithm, **{parameter: value}), parameter) == value
        for value in refused:
            told = rf"^{type(algorithm).__name__}: {parameter} must be .*, got {value}"
            with pytest.raises(veracity.errors.ParameterError, match=told):
                replace(algorithm, **{parameter: value})


# --- the checks tell who breaks a promise ---------------------------------------------------------


class Agreement(NamedTuple):
    """How far each source agrees with the vote."""

    share: BySource


@dataclass(frozen=True, kw_only=True)
class AgreeingVote(veracity.algorithms.Algorithm[Agreement]):
    """A vote in which a source weighs as much as it agrees with the plain vote."""

    name = "agreeing-vote"
    kinds = ("categorical",)

    def start(self, survey, prior):
        return Agreement(np.ones(survey.n_sources))

    def phases(self, state):
        return (Phase("vote", (Step(self.tally, self.learn),)),)

    def tally(self, block, state, turn):
        vote, sources = self.judge(block, state), block.source_of_support
        agreed = np.bincount(sources, vote[block.fact_of_support], len(state.share))
        return agreed, np.bincount(sources, minlength=len(state.share)), 1

    def learn(self, state, total):
        agreed, claims, _ = total
        return Agreement((agreed + 1.0) / (claims + 2.0))

    def weigh(self, block, state, memory=None):
        return Weights("share", state.share)


def test_all_checks_are_asked_until_a_promise_is_broken():
    # That one of your own can pass them all is shown, and tried, in docs/your-own-algorithm.md.
    with pytest.raises(AssertionError, match="plausibilities are shares"):
        check_algorithm(IsSure())


def test_a_promise_that_does_not_apply_is_skipped_and_says_why():
    (own,) = (one for one in CHECKS if one.__name__ == "check_unanimous_values_are_true")
    with pytest.raises(DoesNotApply, match="it is for numbers alone"):
        own(CHECKED["gtm"])
    assert issubclass(DoesNotApply, unittest.SkipTest)  # as such it is skipped


LOOKS = []


@dataclass(frozen=True, kw_only=True)
class ReadsAGlobal(AgreeingVote):
    """The first source counts more at every look."""

    def weigh(self, block, state, memory=None):
        LOOKS.append(block.number)
        share = state.share.copy()
        share[0] *= 1.0 + len(LOOKS)
        return Weights("share", share)


@dataclass(frozen=True, kw_only=True)
class CountsBlocks(AgreeingVote):
    """Sources are drawn together, the more blocks there are."""

    def learn(self, state, total):
        agreed, claims, n_blocks = total
        return Agreement((agreed + n_blocks) / (claims + 2.0 * n_blocks))


class CanBeChanged(AgreeingVote):
    """Its parameters can be set at any time."""

    __setattr__ = object.__setattr__


@dataclass(frozen=True, kw_only=True)
class Learns(AgreeingVote):
    """What is learned is stored among the parameters."""

    seen: list[int] = field(default_factory=list)

    def learn(self, state, total):
        self.seen.append(int(total[2]))
        return super().learn(state, total)


@dataclass(frozen=True, kw_only=True)
class NamesMatter(AgreeingVote):
    """Sources that come first in the alphabet weigh more."""

    def weigh(self, block, state, memory=None):
        return Weights("share", state.share / np.arange(1, len(state.share) + 1))


@dataclass(frozen=True, kw_only=True)
class ForgetsWhatItLearned(AgreeingVote):
    """Half of what it judges by is kept beside the blocks, and lost with them."""

    def phases(self, state):
        return (Phase("vote", (Step(self.tally, self.learn, lambda block, state: 3.0),)),)

    def weigh(self, block, state, memory=None):
        return Weights("share", state.share, power=memory or 1.0)


@dataclass(frozen=True, kw_only=True)
class IsSure(AgreeingVote):
    """Plausibilities that are none."""

    def judge(self, block, state, memory=None):
        return 2.0 * super().judge(block, state, memory)


@pytest.mark.parametrize(
    ("broken", "check", "promise"),
    [
        (ReadsAGlobal, "check_same_seed_same_answer", "same seed, same answer"),
        (CountsBlocks, "check_blocks_change_nothing", "blocks give the same answer as one"),
        (CanBeChanged, "check_parameters_are_frozen", "parameters are frozen"),
        (Learns, "check_parameters_are_frozen", "learning leaves the parameters alone"),
        (NamesMatter, "check_names_of_sources_change_nothing", "names of sources change nothing"),
        (ForgetsWhatItLearned, "check_kept_fit_judges_alike", "a kept fit judges alike"),
        (IsSure, "check_answers_are_probabilities", "plausibilities are shares"),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_a_broken_promise_is_told_by_its_check(broken, check, promise):
    (own,) = (one for one in CHECKS if one.__name__ == check)
    with pytest.raises(AssertionError, match=promise):
        own(broken())
