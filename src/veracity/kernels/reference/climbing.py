"""LTD-RBM: one pass of mini-batches, and samples of what is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veracity.kernels import BEND, InOrder, Machine, Pace
from veracity.kernels.reference.layout import in_groups
from veracity.kernels.reference.sums import sigmoid

if TYPE_CHECKING:
    from veracity.encoding.block import Block, FloatArray, IntArray


def reorder(block: Block, order: IntArray) -> InOrder:
    """The items of a block that stand in `order`, one behind the other."""
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


def climb(
    items: InOrder, machine: Machine, pace: Pace, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray, float]:
    """One pass of gradient ascent over mini-batches: what is claimed, less what the model expects.

    A batch closes when it has enough facts. What the model expects has a closed form; where there
    is randomness, it is sampled from the data in `gibbs_steps`: contrastive divergence.

    Returns the new visible biases, weights and global hidden bias.
    """
    a, w, b, is_fixed = machine
    for batch in _batches(items, pace.batch_size):
        da, dw, db = np.zeros_like(a), np.zeros_like(w), 0.0
        facts, true_facts = np.zeros_like(a), np.zeros_like(a)
        for item in batch:
            voices = _voices(items, item)
            supporters = _supporters_of_facts(items, item)
            base = b + (_softplus(a[voices]) - _softplus(a[voices] + w[voices])).sum()
            plausible = _judge_item(supporters, w, base, pace.single_truth)
            plausible = _hold_known(plausible, items, item)
            for sources, p in zip(supporters, plausible, strict=True):
                dw[sources] += p
                da[sources] += 1.0
            now = Machine(a, w, b, is_fixed)
            if rng is None or pace.gibbs_steps == 0:
                claims, true_claims, true = _expected(items, item, now, pace, plausible)
            else:
                claims, true_claims, true = _sampled(items, item, now, pace, plausible, rng)
            da[voices] -= claims
            dw[voices] -= true_claims
            db += float(plausible.sum()) - true
            facts[voices] += len(plausible)
            true_facts[voices] += true
        n_facts = sum(len(_supporters_of_facts(items, item)) for item in batch)
        pace_of_batch = pace._replace(rate=pace.rate * min(1.0, pace.facts_per_step / n_facts))
        now, gradient = Machine(a, w, b, is_fixed), (da, dw, db)
        if rng is None or pace.gibbs_steps == 0:
            a, w, b = _foreseen(now, gradient, (facts, true_facts, n_facts), pace_of_batch)
        else:
            a, w, b = _step(now, gradient, pace_of_batch)
    return a, w, b


def _expected(
    items: InOrder, item: int, machine: Machine, pace: Pace, plausible: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """E[v] and E[v h] of each voice, summed over the item's k facts, and E[h], in closed form.

    With one hidden unit, expect ``true = k * prevalence`` facts to be true (one, under a single
    truth; as many as are true, where that is known); then E[v h] = true * tpr and
    E[v] = true * tpr + (k - true) * fpr.
    """
    voices = _voices(items, item)
    a, w = machine.visible_bias[voices], machine.weight[voices]
    k = len(plausible)
    true = 1.0 if pace.single_truth else float(k * sigmoid(machine.hidden_bias))
    if items.known_of_fact[items.first_fact_of_item[item]] >= 0:
        true = float(plausible.sum())
    true_claims = true * sigmoid(a + w)
    return true_claims + (k - true) * sigmoid(a), true_claims, true


def _sampled(
    items: InOrder,
    item: int,
    machine: Machine,
    pace: Pace,
    plausible: FloatArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, float]:
    """The same, sampled: truths are drawn from plausibilities, then claims from truths, k times."""
    voices = _voices(items, item)
    a, w = machine.visible_bias[voices], machine.weight[voices]
    base = machine.hidden_bias + (_softplus(a) - _softplus(a + w)).sum()
    imagined = plausible
    for _ in range(pace.gibbs_steps):
        is_true = rng.random(len(imagined)) < imagined
        draws = rng.random((len(imagined), len(voices)))
        claimed = draws < np.where(is_true[:, None], sigmoid(a + w), sigmoid(a))
        reconstructed = [voices[row] for row in claimed]
        imagined = _judge_item(reconstructed, machine.weight, base, pace.single_truth)
        imagined = _hold_known(imagined, items, item)
    return claimed.sum(axis=0), imagined @ claimed, float(imagined.sum())


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
        voices = _voices(block, item)
        first, last = block.first_fact_of_item[item], block.first_fact_of_item[item + 1]
        claims = [
            (fact, np.isin(voices, sources).astype(np.int64))
            for fact, sources in zip(
                range(first, last), _supporters_of_facts(block, item), strict=True
            )
        ]
        is_new = truth[first] < 0
        before = counts.copy()
        for fact, claim in claims:
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


def _step(
    machine: Machine, gradient: tuple[FloatArray, FloatArray, float], pace: Pace
) -> tuple[FloatArray, FloatArray, float]:
    """Climb one step; what the sources' biases take up, the global bias gives up.

    The gradient is a sum over the batch's facts. Where these are very many, because the batch is
    large or one item has very many values, the step has shrunk, lest it throw all sources off.

    A helper RBM's hidden bias is b_G + Σ b_s with b_s = log(1 - tpr) - log(1 - fpr), so after the
    step b_G is the new hidden bias less the new b_s. Under a single truth b_G plays no part.
    """
    a, w, b, is_fixed = machine
    da, dw, db = gradient
    rate, free = pace.rate, is_fixed == 0
    new_a, new_w = _moved(machine, free * rate * da, free * rate * (da + dw), pace.limit)
    if pace.single_truth:
        return new_a, new_w, b
    beta, new_beta = (_softplus(x) - _softplus(x + y) for x, y in ((a, w), (new_a, new_w)))
    moved = b + rate * db - (new_beta - beta).sum()
    return new_a, new_w, float(np.clip(moved, -pace.limit, pace.limit))


def _foreseen(
    machine: Machine,
    gradient: tuple[FloatArray, FloatArray, float],
    expected: tuple[FloatArray, FloatArray, float],
    pace: Pace,
) -> tuple[FloatArray, FloatArray, float]:
    """Climb one step by the gradient at its end, not at its start, as far as a line foretells it.

    A sum over n facts climbs n times as steeply as one, and bends n times as much. A step along
    the gradient passes the top and comes down on the other side, further away than before, where
    the rate times that bend exceeds two. This one solves (1 - rate J) move = rate * gradient, J
    being how the gradient falls off as rates and prevalence move, all that is claimed held: it
    ends before the top at any rate, and for small rates it is the same.

    With t = W - m tpr and f = V - W - (n - m) fpr the gradients of log-odds a and c = a + w are
    t + f and 2 t + f; with x = rate m tpr', y = rate (n - m) fpr' a source's part of 1 - rate J is
    1 + [[y, x], [y, 2 x]], and all depend on b_G by a matrix of rank one (Sherman and Morrison).
    """
    a, w, b, is_fixed = machine
    da, dw, db = gradient
    facts, true, n_facts = expected
    rate = np.where(is_fixed == 0, pace.rate, 0.0)
    tpr, fpr = sigmoid(a + w), sigmoid(a)
    x, y = rate * true * tpr * (1.0 - tpr), rate * (facts - true) * fpr * (1.0 - fpr)

    def solved(of_true: FloatArray, of_false: FloatArray) -> tuple[FloatArray, FloatArray]:
        scale = 1.0 + y + 2.0 * x + x * y
        return (of_true + (1.0 + x) * of_false) / scale, ((2.0 + y) * of_true + of_false) / scale

    def taken(move_a: FloatArray, move_c: FloatArray) -> float:
        """How much Σ b_s grows as the log-odds move."""
        return float((fpr * move_a - tpr * move_c).sum())

    move_a, move_c = solved(rate * dw, rate * (da - dw))
    if pace.single_truth:
        bias_move = 0.0
    else:
        prevalence = float(sigmoid(b))
        steep = pace.rate * prevalence * (1.0 - prevalence)
        push = np.where(is_fixed == 0, -steep * facts, 0.0)
        pull_a, pull_c = solved(push * tpr, -push * fpr)
        given = steep * n_facts + taken(pull_a, pull_c)
        bias_move = (pace.rate * db - taken(move_a, move_c)) / (1.0 + given)
        move_a, move_c = move_a + bias_move * pull_a, move_c + bias_move * pull_c
    move_a, move_c = np.clip(move_a, -BEND, BEND), np.clip(move_c, -BEND, BEND)
    new_a, new_w = _moved(machine, move_a, move_c, pace.limit)
    if pace.single_truth:
        return new_a, new_w, b
    beta, new_beta = (_softplus(p) - _softplus(p + q) for p, q in ((a, w), (new_a, new_w)))
    bend = taken(new_a - a, new_a + new_w - a - w) - float((new_beta - beta).sum())
    moved = b + float(np.clip(bias_move, -BEND, BEND)) + bend
    return new_a, new_w, float(np.clip(moved, -pace.limit, pace.limit))


def _moved(
    machine: Machine, move_a: FloatArray, move_c: FloatArray, limit: float
) -> tuple[FloatArray, FloatArray]:
    """Biases and weights after moves of both log-odds; those of fixed sources stay to the bit."""
    a, w, _, is_fixed = machine
    new_a = np.clip(a + move_a, -limit, limit)
    new_w = np.clip(a + w + move_c, -limit, limit) - new_a
    free = is_fixed == 0
    return np.where(free, new_a, a), np.where(free, new_w, w)


def _judge_item(
    supporters: list[IntArray], w: FloatArray, base: float, single_truth: bool
) -> FloatArray:
    """Plausibility of each fact of one item, from the helper RBM of its voices."""
    score = np.array([w[sources].sum() for sources in supporters])
    if single_truth:
        share = np.exp(score - score.max())
        return np.asarray(share / share.sum())
    return np.asarray(sigmoid(base + score))


def _hold_known(plausible: FloatArray, items: InOrder, item: int) -> FloatArray:
    """The plausibilities of an item's facts, or what is known of them."""
    known = items.known_of_fact[items.first_fact_of_item[item] : items.first_fact_of_item[item + 1]]
    return known.astype(np.float64) if known[0] >= 0 else plausible


def _batches(items: InOrder, batch_size: int) -> list[list[int]]:
    batches: list[list[int]] = [[]]
    n_facts = 0
    for item in range(len(items.first_fact_of_item) - 1):
        if n_facts >= batch_size:
            batches.append([])
            n_facts = 0
        batches[-1].append(item)
        n_facts += int(items.first_fact_of_item[item + 1] - items.first_fact_of_item[item])
    return batches


def _voices(block: Block | InOrder, item: int) -> IntArray:
    return block.source_of_voice[
        block.first_voice_of_item[item] : block.first_voice_of_item[item + 1]
    ]


def _supporters_of_facts(block: Block | InOrder, item: int) -> list[IntArray]:
    facts = range(block.first_fact_of_item[item], block.first_fact_of_item[item + 1])
    first = block.first_support_of_fact
    return [block.source_of_support[first[fact] : first[fact + 1]] for fact in facts]


def _softplus(x: FloatArray) -> FloatArray:
    return np.logaddexp(0.0, x)
