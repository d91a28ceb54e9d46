"""Doubts that the answer itself shows: an alternative answer, or no convergence."""

from __future__ import annotations

from functools import partial

from veracity.checks.evidence import Evidence
from veracity.checks.registry import Seen, register
from veracity.fit.loop import not_converged
from veracity.printing import in_short


@register(
    "two-answers",
    meaning="The claims allow two answers, each consistent with itself, and do not show which is "
    "right. The values are those of one answer, the plausibilities mix both.",
    remedy="Look up a few items on which the answers differ (result.questions(), veracity ask), "
    "and give them as known truths.",
)
def two_answers(evidence: Evidence) -> Seen | None:
    """Return the first alternative answer."""
    if not evidence.result.run.alternatives:
        return None
    first = evidence.result.run.alternatives[0]
    text = f"{first['assumption']}, {first['differs']:.0%} of the items get another value"
    if first["examples"]:
        text += f", such as {'; '.join(first['examples'][:2])}"
    return Seen(f"{text}; then {_moved(first['believes_more'], first['believes_less'])}", True)


def _moved(more: list[str], less: list[str]) -> str:
    """Say which sources would be right more often, and which less often.

    >>> _moved(["a", "b"], ["c"]), _moved([], ["c"])
    ('a, b would be right more often, c less', 'c would be right less often')
    """
    up, down = (", ".join(map(in_short, names)) for names in (more, less))
    if more and less:
        return f"{up} would be right more often, {down} less"
    if not (more or less):
        return "each source would be right as often"
    return f"{up or down} would be right {'more' if more else 'less'} often"


@register(
    "not-converged",
    meaning="The algorithm stopped at its limit of rounds. More rounds might change the answer.",
    remedy="Allow more rounds (max_rounds), or use another algorithm.",
)
def did_not_converge(evidence: Evidence) -> Seen | None:
    """Return how far the last round was from convergence."""
    run = evidence.result.run
    if run.converged or not run.trace:
        return None
    return Seen(not_converged(run.algorithm, run.trace, run.tolerance))


MUCH_BROKEN, FEWEST_BROKEN = 0.1, 3
"""Share of the cases, and number of them, from which the claims break a rule."""


@register(
    "broken-rule",
    meaning="The claims do not bear the rule out: the values that the sources support break it in "
    "many cases. The rule may be wrong, or values may be written in different forms.",
    remedy="Look at the examples with result.why. Leave the rule out, or let its strength be "
    "learned; if values are written differently, use normalise=True.",
)
def broken_rule(evidence: Evidence) -> Seen | None:
    """Return the rules that the claims alone would break, those with most cases first."""
    broken = [
        own
        for own in evidence.result.run.rules
        if own["broken_by_claims"] >= max(MUCH_BROKEN * own["cases"], FEWEST_BROKEN)
    ]
    broken.sort(key=lambda own: (-own["broken_by_claims"] / own["cases"], own["rule"]))
    parts = []
    for own in broken[:3]:
        such = f", such as {', '.join(own['examples'])}" if own["examples"] else ""
        share = own["broken_by_claims"] / own["cases"]
        of_learned = "" if own["low"] is None else f"; strength {own['strength']:.1f}"
        parts.append(
            f"'{in_short(own['rule'])}' in {share:.0%} of {own['cases']:,} cases{such}{of_learned}"
        )
    if len(broken) > len(parts):
        parts.append(f"and {len(broken) - len(parts)} more rules")
    is_serious = any(own["low"] is None or own["strength"] < 1.0 for own in broken)
    return Seen(f"the claims break {'; '.join(parts)}", is_serious) if parts else None


def _found_by_algorithm(name: str, evidence: Evidence) -> Seen | None:
    text = evidence.learned.findings.get(name)
    return None if text is None else Seen(text, True)


for _name, _meaning, _remedy in (
    (
        "nothing-to-learn",
        "Sources contradict each other more often than if they guessed, as rules do that claim one "
        "label each. Nothing can be learned of their accuracies, and plausibilities are those of a "
        "vote.",
        "Add sources that claim more than one label.",
    ),
    (
        "assumption",
        "The sources are much alike, so the answer rests on small differences between them. It may "
        "be far better than a vote, or worse.",
        "Look up a few items on which the answer differs from the vote (result.questions(), "
        "veracity ask).",
    ),
    (
        "one-family",
        "These sources may have copied from each other or from one original. If each of them "
        "looked at the items itself, the answer without this is better.",
        "Use dependence=False (--set dependence=false) to count every claim in full. Known truths "
        "of a few items choose between the two answers.",
    ),
):
    register(_name, meaning=_meaning, remedy=_remedy)(partial(_found_by_algorithm, _name))
