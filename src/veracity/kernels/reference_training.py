"""Training in NumPy: LTD-RBM's pass of mini-batches, and LTM's samples of what is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from veracity.kernels import InOrder, Machine, Pace
from veracity.kernels.reference import in_groups, normalise_log, sigmoid, sum_by

if TYPE_CHECKING:
    from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray


def reorder(block: Block, order: IntArray) -> InOrder:
    """Copy the items of a block in the order of `order`."""
    fact, first_fact = in_groups(block.first_fact_of_item, order)
    support, first_support = in_groups(block.first_support_of_fact, fact)
    voice, first_voice = in_groups(block.first_voice_of_item, order)
    return InOrder(
        first_fact,
        first_support,
        block.source_of_support[support],
        first_voice,
        block.source_of_voice[voice],
        block.known_of_fact[fact],
    )


# --- LTD-RBM --------------------------------------------------------------------------------------


def ascend(
    items: InOrder, machine: Machine, pace: Pace, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray, float]:
    """Take one step along the gradient per mini-batch: claims observed less claims expected.

    A batch closes when it has enough facts. What the model expects has a closed form; where there
    is randomness, it is sampled from the data in `gibbs_steps`: contrastive divergence.

    Returns the new visible biases, weights and global hidden bias.
    """
    a, w, b, is_fixed = machine.visible_bias.copy(), machine.weight.copy(), *machine[2:]
    for batch in _batches(items, pace.batch_size):
        source = batch.source
        own = Machine(a[source], w[source], b, is_fixed[source])
        a[source], w[source], b = _step(batch, own, pace, rng)
    return a, w, b


class _Batch(NamedTuple):
    """Some items: their sources, and the place among these of each supporter and each voice."""

    source: IntArray
    first_fact_of_item: IntArray
    first_support_of_fact: IntArray
    support: IntArray
    first_voice_of_item: IntArray
    voice: IntArray
    known_of_fact: IntArray

    @property
    def is_known(self) -> BoolArray:
        """True for each item whose truth is known."""
        return self.known_of_fact[self.first_fact_of_item[:-1]] >= 0


def _batches(items: InOrder, batch_size: int) -> Iterator[_Batch]:
    """Cut off batches of whole items, each as soon as it has enough facts."""
    item, n_items = 0, len(items.first_fact_of_item) - 1
    while item < n_items:
        enough = items.first_fact_of_item[item] + batch_size
        end = min(int(np.searchsorted(items.first_fact_of_item, enough)), n_items)
        first_fact = items.first_fact_of_item[item : end + 1]
        first_support = items.first_support_of_fact[first_fact[0] : first_fact[-1] + 1]
        first_voice = items.first_voice_of_item[item : end + 1]
        source, voice = np.unique(
            items.source_of_voice[first_voice[0] : first_voice[-1]], return_inverse=True
        )
        yield _Batch(
            source,
            first_fact - first_fact[0],
            first_support - first_support[0],
            np.searchsorted(source, items.source_of_support[first_support[0] : first_support[-1]]),
            first_voice - first_voice[0],
            voice,
            items.known_of_fact[first_fact[0] : first_fact[-1]],
        )
        item = end


def _step(
    batch: _Batch, machine: Machine, pace: Pace, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray, float]:
    """Return a, w and b_G after the step of one batch; `machine` has the sources of the batch only.

    The gradient is a sum over the batch's facts. Where these are very many, because the batch is
    large or one item has very many values, the step shrinks, lest it throw all sources off.

    A helper RBM's hidden bias is b_G + Σ b_s with b_s = log(1 - tpr) - log(1 - fpr), so after the
    step b_G is the new hidden bias less the new b_s. Under a single truth b_G plays no part.
    """
    a, w, b, is_fixed = machine
    n, rates = len(a), sigmoid(np.stack([a, a + w]))
    facts_of_item = np.diff(batch.first_fact_of_item)
    voices_of_item = np.diff(batch.first_voice_of_item)
    score = sum_by(w[batch.support], batch.first_support_of_fact)
    if pace.single_truth:
        nobody = np.full(len(facts_of_item), -np.inf)
        plausible = normalise_log(score, batch.first_fact_of_item, nobody)
    else:
        base_of_item = b + sum_by(_source_bias(a, w)[batch.voice], batch.first_voice_of_item)
        plausible = sigmoid(np.repeat(base_of_item, facts_of_item) + score)
    plausible = np.where(batch.known_of_fact >= 0, batch.known_of_fact, plausible)
    n_supports = np.bincount(batch.support, minlength=n).astype(np.float64)
    plausible_of_support = np.repeat(plausible, np.diff(batch.first_support_of_fact))
    n_plausible = np.bincount(batch.support, plausible_of_support, n)
    rate = pace.rate * min(1.0, pace.facts_per_step / len(plausible))
    free = (is_fixed == 0).astype(np.float64)
    if rng is not None and pace.gibbs_steps > 0:
        claims, true_claims, true_drawn = _sampled(batch, machine, plausible, pace, rng)
        of_a = n_supports - claims
        odds = rate * free * np.stack([of_a, of_a + n_plausible - true_claims])
        new_a, new_w = _moved(machine, odds, pace.limit)
        moved = rate * float(plausible.sum() - true_drawn)
    else:
        found_of_item = sum_by(plausible, batch.first_fact_of_item)
        prevalence = float(sigmoid(b))
        expected = 1.0 if pace.single_truth else facts_of_item * prevalence
        true_of_item = np.where(batch.is_known, found_of_item, expected)
        facts = free * np.bincount(batch.voice, np.repeat(facts_of_item, voices_of_item), n)
        true = free * np.bincount(batch.voice, np.repeat(true_of_item, voices_of_item), n)
        of_true = free * n_plausible - true * rates[1]
        of_false = free * (n_supports - n_plausible) - (facts - true) * rates[0]
        odds, bias = implicit_step(
            rates,
            Curvature(
                rate * true,
                rate * (facts - true),
                rate * prevalence * (1.0 - prevalence) * facts,
                0.0
                if pace.single_truth
                else rate * prevalence * (1.0 - prevalence) * len(plausible),
            ),
            rate * np.stack([of_true + of_false, 2.0 * of_true + of_false]),
            rate * float((found_of_item - true_of_item).sum()),
        )
        longest = pace.longest_move
        new_a, new_w = _moved(machine, np.clip(odds, -longest, longest), pace.limit)
        moved = float(np.clip(bias, -longest, longest))
        moved += bias_taken(rates, np.stack([new_a - a, new_a + new_w - a - w]))
    if pace.single_truth:
        return new_a, new_w, b
    moved -= float((_source_bias(new_a, new_w) - _source_bias(a, w)).sum())
    return new_a, new_w, float(np.clip(b + moved, -pace.limit, pace.limit))


class Curvature(NamedTuple):
    """Sums by source, times the step, that say how the gradient falls off along it."""

    true: FloatArray
    """Facts m on which the source speaks that are expected to be true."""
    false: FloatArray
    """The other facts on which it speaks, n - m."""
    spoken: FloatArray
    """Facts on which it speaks, times π (1 - π) of the prevalence π."""
    all: float
    """All facts, times π (1 - π); zero if the prevalence does not change."""


def implicit_step(
    rates: FloatArray, curvature: Curvature, odds: FloatArray, bias: float
) -> tuple[FloatArray, float]:
    """Return (1 - step J)⁻¹ (odds, bias): a step by the gradient at its end, not at its start.

    A sum over n facts climbs n times as steeply as one, and bends n times as much. A step along
    the gradient passes the top and comes down on the other side, further away than before, where
    the step times that bend exceeds two. This one solves (1 - step J) move = step * gradient, J
    being the slope of the gradient as rates and prevalence move, all that is claimed held: it
    ends before the top for any step, and for short steps it is the same.

    `rates` are fpr and tpr, `odds` two rows: of log-odds a and c = a + w; `bias` is of the whole
    hidden bias, and what is returned of b_G alone. With t = W - m tpr and
    f = V - W - (n - m) fpr the gradients of a and c are t + f and 2 t + f; with x = step m tpr',
    y = step (n - m) fpr' a source's part of 1 - step J is 1 + [[y, x], [y, 2 x]], solved by its
    adjugate; and all depend on b_G by a matrix of rank one (Sherman and Morrison).
    """
    fpr, tpr = rates
    x = curvature.true * tpr * (1.0 - tpr)
    y = curvature.false * fpr * (1.0 - fpr)

    def by_parts(right: FloatArray) -> FloatArray:
        of_a, of_c = right
        solved = np.stack([(1.0 + 2.0 * x) * of_a - x * of_c, (1.0 + y) * of_c - y * of_a])
        return np.asarray(solved / (1.0 + y + 2.0 * x + x * y))

    alone = by_parts(odds)
    if curvature.all == 0.0:
        return alone, 0.0
    pull = by_parts(-curvature.spoken * np.stack([tpr - fpr, 2.0 * tpr - fpr]))
    braked = max(1.0 + curvature.all + bias_taken(rates, pull), 1.0)
    move = (bias - bias_taken(rates, alone)) / braked
    return alone + move * pull, move


def bias_taken(rates: FloatArray, odds: FloatArray) -> float:
    """Return the change of Σ b_s with the log-odds of fpr and tpr: ∂b_s = fpr ∂a - tpr ∂c."""
    return float((rates[0] * odds[0] - rates[1] * odds[1]).sum())


def _sampled(
    batch: _Batch,
    machine: Machine,
    plausible: FloatArray,
    pace: Pace,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, float]:
    """Draw truths from plausibilities, then claims from truths, `gibbs_steps` times.

    Returns the claims of each source, those of facts that seem true, and how many seem true.
    """
    a, w, b, _ = machine
    claims, true_claims, true = np.zeros_like(a), np.zeros_like(w), 0.0
    fpr, tpr = sigmoid(np.stack([a, a + w]))
    for item in range(len(batch.first_fact_of_item) - 1):
        first, last = batch.first_fact_of_item[item : item + 2]
        voices = batch.voice[slice(*batch.first_voice_of_item[item : item + 2])]
        base, imagined = b + _source_bias(a[voices], w[voices]).sum(), plausible[first:last]
        for _ in range(pace.gibbs_steps):
            is_true = rng.random(last - first) < imagined
            draws = rng.random((last - first, len(voices)))
            claimed = draws < np.where(is_true[:, None], tpr[voices], fpr[voices])
            score = claimed @ w[voices]
            if pace.single_truth:
                imagined = np.exp(score - score.max())
                imagined /= imagined.sum()
            else:
                imagined = sigmoid(base + score)
            if batch.known_of_fact[first] >= 0:
                imagined = batch.known_of_fact[first:last].astype(np.float64)
        claims[voices] += claimed.sum(axis=0)
        true_claims[voices] += imagined @ claimed
        true += float(imagined.sum())
    return claims, true_claims, true


def _moved(machine: Machine, odds: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """Return biases and weights after moves of both log-odds; those of fixed sources stay."""
    a, w, _, is_fixed = machine
    new_a, new_c = np.clip(np.stack([a, a + w]) + odds, -limit, limit)
    free = is_fixed == 0
    return np.where(free, new_a, a), np.where(free, new_c - new_a, w)


def _source_bias(a: FloatArray, w: FloatArray) -> FloatArray:
    """Return b_s = log(1 - tpr) - log(1 - fpr)."""
    return np.asarray(np.logaddexp(0.0, a) - np.logaddexp(0.0, a + w))


# --- LTM ------------------------------------------------------------------------------------------


def gibbs(
    block: Block,
    truth_of_fact: IntArray,
    counts: FloatArray,
    prior: FloatArray,
    log_prior_odds: float,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Draw the truth of every fact once, given the truth of all the others (collapsed Gibbs).

    ``counts[s, i, j]`` says how often source s claimed j of facts that are i, `prior` the
    same in beta-prior counts m. P(t_f = i | rest) ∝ β_i Π_s (n_sij + m_sij) / (n_si· + m_si·), n
    being counted without fact f. A truth of -1 is not drawn yet: the facts of such an item are
    drawn from the counts before the item, so that a chain starts from the prior.

    Returns the new truths, P(t_f = 1 | rest) as it was at each draw, and the new counts.
    """
    truth, counts = truth_of_fact.copy(), counts.copy()
    probability = np.empty(len(truth))
    draws = rng.random(len(truth))
    for item in range(len(block.first_fact_of_item) - 1):
        voices = block.source_of_voice[slice(*block.first_voice_of_item[item : item + 2])]
        first, last = block.first_fact_of_item[item], block.first_fact_of_item[item + 1]
        is_new = truth[first] < 0
        before = counts.copy()
        for fact in range(first, last):
            supporters = block.source_of_support[
                slice(*block.first_support_of_fact[fact : fact + 2])
            ]
            claim = np.isin(voices, supporters).astype(np.int64)
            if not is_new:
                counts[voices, truth[fact], claim] -= 1.0
            total = (before if is_new else counts) + prior
            share = np.log(total / total.sum(axis=2, keepdims=True))
            log_odds = log_prior_odds + (share[voices, 1, claim] - share[voices, 0, claim]).sum()
            known = block.known_of_fact[fact]
            probability[fact] = sigmoid(log_odds) if known < 0 else known
            truth[fact] = int(draws[fact] < probability[fact])
            counts[voices, truth[fact], claim] += 1.0
    return truth, probability, counts
