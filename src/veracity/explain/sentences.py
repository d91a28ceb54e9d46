"""Write the reasons for a value in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from veracity.encoding.block import SAME, BoolArray, FloatArray, IntArray
from veracity.explain.contributions import Item
from veracity.naming import as_text
from veracity.printing import counted, in_short

if TYPE_CHECKING:
    from veracity.result import Result

CLOSE = 0.2
"""A margin below this is a close call."""

NEGLIGIBLE = 0.1
"""Minimum weight, in log-odds, that is mentioned."""

LIKELY_ELSEWHERE = 0.1
"""Minimum probability of an unclaimed value that is mentioned."""


class Side(NamedTuple):
    """Sources with the same claim: their row numbers and names, those with most weight first."""

    sources: IntArray
    names: list[str]

    @property
    def who(self) -> str:
        """Return the names of the sources, in few words.

        >>> Side(np.arange(3), ["radar", "tower", "orbitz"]).who
        'radar and 2 others'
        """
        n_others = len(self.sources) - 1
        if n_others < 2:
            return " and ".join(self.names[: n_others + 1])
        return f"{self.names[0]} and {n_others:,} others"

    def verb(self, one: str, many: str) -> str:
        """Return the form of the verb."""
        return one if len(self.sources) == 1 else many


def told_in_words(result: Result, item: Item, truths: pl.DataFrame) -> str:
    """Return why the item has its value, in sentences."""
    tell = {"categorical": _single, "multiple": _multiple, "binary": _binary, "numeric": _number}
    words: str = tell[result.kind](result, item, truths)
    return words


def _single(result: Result, item: Item, truths: pl.DataFrame) -> str:
    truth, p = truths.row(0, named=True), item.facts["plausibility"].to_numpy()
    order = item.order
    best = int(order[0])
    value = _value(item, best)
    known = item.known
    side = _side(result, item, item.fact_of_claim == best)
    if known is not None and known.max() == 0:
        return "None of the claimed values is true: the truth is known to be another."
    if known is not None:
        return f"{value} because it is known to be true; {side.who} {_says(side)} so."
    sentences = []
    if truth["value"] is None:
        sentences.append(
            f"No value is plausible enough: the best has {p[best]:.2f}, and "
            f"{result.run.min_plausibility:.2f} is asked for."
        )
    if len(order) == 1:
        sentences.append(f"{value} because {_unanimous(side, item)}.")
    else:
        sentences += _against(result, item, order, side, bool(truth["tied"]))
    elsewhere = 1.0 - float(p.sum())
    if np.isfinite(item.unclaimed) and elsewhere >= LIKELY_ELSEWHERE:
        sentences.append(
            f"The truth may be a value that no source claims (probability {elsewhere:.2f})."
        )
    return " ".join(sentences)


def _against(result: Result, item: Item, order: IntArray, side: Side, tied: bool) -> list[str]:
    """Explain why the best value wins against the next, or against one with more sources."""
    best, second = int(order[0]), int(order[1])
    p = item.facts["plausibility"].to_numpy()
    rival = second if tied else _rival(item, order)
    other = _side(result, item, item.fact_of_claim == rival)
    value, runner_up = _value(item, best), _value(item, rival)
    if tied:
        n_more = len(side.sources) - len(other.sources)
        reason = "more sources say so" if n_more > 0 else "it comes first in sorted order"
        sentences = [
            f"{value} and {runner_up} are equally plausible; {value} is taken because {reason}.",
            f"{side.who} {_says(side)} {value}, {other.who} {_says(other)} {runner_up}.",
        ]
    else:
        doubtful = ""
        if item.weights is not None:
            counts = item.support if item.weights.confusion is None else item.standing
            is_own = item.fact_of_claim == best
            side, doubtful = _parted(result, item, is_own, counts, ("says so", "say so"))
        reason, praise = _why_not(result, item, side, other, np.array([best, rival]))
        sentences = [
            f"{value} because {side.who} {_says(side)} so{praise}; {doubtful}"
            f"{other.who} {_says(other)} {runner_up}, but {reason}."
        ]
        if p[best] - p[second] < CLOSE:
            of_other = "" if rival == second else f" for {_value(item, second)}"
            sentences.append(f"It is a close call: {_versus(p[best], p[second])}{of_other}.")
    if len(order) > 2:
        sentences.append(_more_values(len(order) - 2))
    return sentences


def _rival(item: Item, order: IntArray) -> int:
    """Return the value with more sources than the best, or else the second-best value."""
    supporters = item.facts["supporters"].to_numpy()[order]
    most = int(supporters.argmax())
    return int(order[most if supporters[most] > supporters[0] else 1])


def _parted(
    result: Result, item: Item, is_own: BoolArray, counts: FloatArray, verbs: tuple[str, str]
) -> tuple[Side, str]:
    """Return the sources whose claims support their value, and a clause on the other claimants.

    The claim of a source that is mostly wrong makes its value less plausible.
    """
    is_against = is_own & (counts < -NEGLIGIBLE)
    if not is_against.any() or is_against[is_own].all():
        return _side(result, item, is_own), ""
    against = _side(result, item, is_against)
    wrong = against.verb("is", "are")
    doubtful = f"{against.who} {against.verb(*verbs)}, too, but {wrong} wrong so often that this "
    doubtful += "counts against it; "
    return _side(result, item, is_own & ~is_against), doubtful


def _versus(one: float, other: float) -> str:
    """Return two plausibilities as text, with enough digits to show the difference.

    >>> _versus(0.5041, 0.4959), _versus(0.000042, 0.00004)
    ('0.504 against 0.496', '4.2e-05 against 4.0e-05')
    """
    for form in (".2f", ".3f", ".1e", ".3e"):
        if f"{one:{form}}" != f"{other:{form}}" and float(f"{other:{form}}") > 0.0:
            return f"{one:{form}} against {other:{form}}"
    return f"{one} against {other}"


def _why_not(
    result: Result, item: Item, side: Side, other: Side, order: IntArray
) -> tuple[str, str]:
    """Explain why the other side has less weight, and why the first wins without more sources."""
    if item.rules and (rule := _deciding_rule(item, int(order[0]), int(order[1]))):
        return f"the rule '{rule}' speaks against it", ""
    if _is_carried_by_similar(item, order):
        return "claims of similar values support it less", ""
    (tenths, about), (other_tenths, other_about) = _tenths(result, item, (side, other), order)
    praise = ""
    if len(side.sources) <= len(other.sources) and tenths > other_tenths:
        praise = f", and {side.verb('is', 'are')} {_how_often(tenths, about, only='')}"
    copiers = _copiers(result, other)
    from_others = f"{copiers} may have copied it from each other"
    if other_tenths < tenths:
        often = _how_often(other_tenths, other_about, only="only ")
        reason = f"{other.verb('is', 'are')} {often}"
        return f"{reason}, and {from_others.removeprefix('they ')}" if copiers else reason, praise
    if copiers:
        return from_others, praise
    if len(other.sources) < len(side.sources):
        return other.verb("is alone", "are fewer"), praise
    return other.verb("its claim weighs less", "their claims weigh less"), praise


def _deciding_rule(item: Item, best: int, rival: int) -> str | None:
    """Return the rule that adds most to the lead of the best value, if rules add most of it."""
    leads = [(of_fact[best] - of_fact[rival], name) for name, of_fact in item.rules]
    of_rules = sum(lead for lead, _ in leads)
    of_claims = item.score[best] - item.score[rival] - of_rules
    return max(leads)[1] if of_rules > max(of_claims, 0.0) else None


def _copiers(result: Result, side: Side) -> str:
    """Return a clause that names the copiers of a side; empty if there are none."""
    pairs, names = result.tables.copies, result.tables.sources["source"].gather(side.sources)
    if pairs is None:
        return ""
    are_here = pl.col("source", "original").is_in(names.implode())
    both = pairs.filter(pl.all_horizontal(are_here))
    n_copiers = pl.concat([both["source"], both["original"]]).n_unique()
    if n_copiers == 0:
        return ""
    return "they" if n_copiers == len(side.sources) else f"{n_copiers:,} of them"


def _is_carried_by_similar(item: Item, order: IntArray) -> bool:
    """Return True if the best value would not be ahead of the next by its own claims alone."""
    if item.weights is None or item.weights.pairs is None:
        return False
    own = np.round(np.bincount(item.fact_of_claim, item.support, item.block.n_facts), SAME)
    return bool(own[order[0]] <= own[order[1]])


def _tenths(
    result: Result, item: Item, sides: tuple[Side, Side], order: IntArray
) -> list[tuple[int, str]]:
    """Say how often in ten each side is right, and on which attribute.

    Under confusions, it is how often a source is right when it claims this label: a source that
    is often wrong may still be right whenever it does.
    """
    if item.weights is None or item.weights.confusion is None:
        number, about = None, ""
        if "attribute" in item.facts.columns:
            number = int(item.block.attribute_of_item[0])
            attribute = as_text(item.facts["attribute"].head(1))[0]
            about = f" about {in_short(attribute)}" if attribute else ""
        return [(round(10 * _rightness(result, one.sources, number)), about) for one in sides]
    found = []
    for side, fact in zip(sides, order.tolist(), strict=False):
        precision = float(item.precision(fact)[side.sources].mean())
        when = f" when {side.verb('it says', 'they say')} {_value(item, fact)}"
        found.append((round(10 * precision), when))
    return found


def _how_often(tenths: int, about: str, only: str) -> str:
    """Return how often sources are right, in words.

    >>> _how_often(3, " about gate", only="only ")
    'right about gate only 3 times in 10'
    >>> _how_often(9, " when they say yes", only="")
    'right 9 times in 10 when they say yes'
    """
    if tenths == 0:
        return f"hardly ever right{about}"
    if tenths == 10:
        return f"nearly always right{about}"
    times = f"{only}{tenths} {'time' if tenths == 1 else 'times'} in 10"
    return f"right {times}{about}" if about.startswith(" when") else f"right{about} {times}"


def _unanimous(side: Side, item: Item) -> str:
    n_voices = len(np.unique(item.source_of_claim))
    if n_voices == 1:
        return f"{side.who} says so; no other source makes a claim about it"
    return f"{side.who} say so" if n_voices == 2 else f"all {n_voices:,} sources say so"


def _binary(result: Result, item: Item, truths: pl.DataFrame) -> str:
    truth = truths.row(0, named=True)
    p = float(item.facts["plausibility"][0])
    is_true = p > 0.5
    answer = "True" if is_true else "False"
    yes, no = (_side(result, item, item.is_positive == said) for said in (True, False))
    side, other = (yes, no) if is_true else (no, yes)
    verbs = (("says so", "say so"), ("denies it", "deny it"))
    own, others = verbs if is_true else verbs[::-1]
    known = item.known
    if known is not None:
        return f"{answer} because it is known to be {answer.lower()}."
    doubt = ""
    if truth["value"] is None:
        sure = max(p, 1.0 - p)
        doubt = f"Not sure enough: {sure:.2f}, and {result.run.min_plausibility:.2f} is asked for. "
    if truth["tied"]:
        return f"{doubt}True and false are equally plausible; a tie is called false."
    if len(side.sources) == 0:
        reason = f"although {other.who} {other.verb(*others)}: {other.verb('it is', 'they are')} "
        return f"{doubt}{answer}, {reason}wrong more often than right."
    if len(other.sources) == 0:
        return f"{doubt}{answer} because {side.who} {side.verb(*own)}; no source says otherwise."
    doubtful = ""
    if item.weights is not None:
        for_truth = item.contribution_to(0)
        counts = np.zeros(len(item.source_of_claim))
        counts[for_truth.claim] = for_truth.weight if is_true else -for_truth.weight
        side, doubtful = _parted(result, item, item.is_positive == is_true, counts, own)
    reason, praise = _why_not(result, item, side, other, np.zeros(2, dtype=np.int64))
    sentence = f"{answer} because {side.who} {side.verb(*own)}{praise}; {doubtful}"
    close = f" It is a close call: {p:.2f} that it is true." if abs(2 * p - 1) < CLOSE else ""
    return f"{doubt}{sentence}{other.who} {other.verb(*others)}, but {reason}.{close}"


def _multiple(result: Result, item: Item, truths: pl.DataFrame) -> str:
    least = 0.5 if result.run.min_plausibility is None else result.run.min_plausibility
    p, sentences = item.facts["plausibility"].to_numpy(), []
    order = np.argsort(-np.round(p, SAME), kind="stable")
    known = item.known
    for fact in order[:5].tolist():
        value = _value(item, fact)
        side = _side(result, item, item.fact_of_claim == fact)
        n_opposers = int(item.facts["opposers"][fact])
        is_true = bool(p[fact] >= least)
        if known is not None:
            sentences.append(f"{value} is known to be {'true' if is_true else 'false'}.")
            continue
        sentence = f"{value}: {'true' if is_true else 'not true'} ({p[fact]:.2f}); "
        sentence += f"{side.who} {_says(side)} so"
        if n_opposers:
            others = counted(n_opposers, "other source does", "other sources do")
            sentence += f", {others} not"
        sentences.append(f"{sentence}.")
    if len(order) > 5:
        sentences.append(_more_values(len(order) - 5))
    return " ".join(sentences)


def _more_values(count: int) -> str:
    return f"{counted(count, 'more value is', 'more values are')} claimed."


def _number(result: Result, item: Item, truths: pl.DataFrame) -> str:
    truth = truths.row(0, named=True)
    n_claims = len(item.source_of_claim)
    side = _side(result, item, np.ones(n_claims, dtype=np.bool_))
    if n_claims == 1:
        return f"{truth['value']:.6g} because {_unanimous(side, item)}."
    numbers = item.facts["value"].to_numpy()
    low, high = numbers.min(), numbers.max()
    spread = "" if truth["uncertainty"] is None else f" ± {truth['uncertainty']:.2g}"
    heaviest = "" if item.weights is None else f"; the claim of {side.names[0]} has most weight"
    return (
        f"{truth['value']:.6g}{spread}, the weighted mean of {n_claims:,} claims from {low:.6g} to "
        f"{high:.6g}{heaviest}."
    )


# --- who, what and how often ----------------------------------------------------------------------


def _standing_of_sources(sources: pl.DataFrame) -> np.ndarray[Any, Any]:
    """Return the accuracy of sources, or minus their deviation, where weights are not known."""
    if "accuracy" in sources.columns:
        return sources["accuracy"].fill_null(0.0).to_numpy()
    return -sources["deviation"].fill_null(np.inf).to_numpy()


def _side(result: Result, item: Item, is_of_side: np.ndarray[Any, Any]) -> Side:
    """Return the sources of these claims, sorted by weight or else by accuracy."""
    source = item.source_of_claim[is_of_side]
    tables = result.tables
    if item.weights is None:
        standing = _standing_of_sources(tables.sources)[source]
    else:
        standing = item.standing[is_of_side]
    source = source[np.lexsort((source, -np.round(standing, SAME)))]
    names = as_text(tables.sources["source"].gather(source[:2])).to_list()
    return Side(source, [in_short(name) for name in names])


def _rightness(result: Result, sources: IntArray, attribute: int | None) -> float:
    """Return the mean accuracy of these sources on the attribute with this number."""
    assert result.rightness is not None
    return result.rightness.of(sources, attribute or 0)


def _value(item: Item, fact: int) -> str:
    return in_short(as_text(item.facts["value"][fact : fact + 1])[0])


def _says(side: Side) -> str:
    return side.verb("says", "say")
