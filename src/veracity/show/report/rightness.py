"""How right the answer is, where truth is known."""

from __future__ import annotations

import polars as pl

from veracity.encoding.block import SAME
from veracity.printing import counted
from veracity.show.report.gather import Findings
from veracity.show.report.markup import Look, beside, bullets, paragraph, table

MOST_WRONG = 100
MOST_ATTRIBUTES = 100
"""Rows that are shown."""

MEANINGS = {
    "judged": "how many have a known truth",
    "accuracy": "the share that is right; a tie counts in part",
    "log_loss": "the price of misplaced certainty; smaller is better",
    "brier": "squared distance of plausibilities from truth; smaller is better",
    "calibration_error": "how far plausibilities are from the share that is right; 0 is best",
    "precision": "the share of what is taken for true that is true",
    "recall": "the share of what is true that is taken for true",
    "f1": "precision and recall in one number",
    "mae": "mean distance of the estimates from the truths",
    "rmse": "root of the mean squared distance",
    "within": "the share of estimates near enough, a tenth of a standard deviation unless said",
}


def rightness(found: Findings) -> str:
    """An estimate from answered questions; measures, figures and what is wrong."""
    parts = []
    if found.estimate is not None:
        estimate = str(found.estimate)
        parts.append(paragraph(f"{estimate[0].upper()}{estimate[1:]}."))
    evaluation = found.evaluation
    if evaluation is None:
        return "".join(parts)
    parts += [_against_vote(found), _measures(found)]
    notes = [note for note in evaluation.notes if not note.startswith("estimated")]
    if notes:
        parts.append(bullets(f"{note[0].upper()}{note[1:]}." for note in notes))
    by_attribute = evaluation.by_attribute
    if by_attribute is not None and len(by_attribute) > 1:
        look = Look(caption="Attributes", of=len(by_attribute), sortable=True)
        parts.append(table(by_attribute.head(MOST_ATTRIBUTES), look))
    parts.append(_wrong(found))
    figures = [found.drawn.show("calibration")]
    if by_attribute is not None and len(by_attribute) > 1:
        figures.append(found.drawn.show("accuracy"))
    return beside("".join(parts), "".join(figures))


def vote_is_better(found: Findings) -> bool:
    """Whether a majority vote is right more often than this answer, where truth is known."""
    ours, vote = found.evaluation, found.vote
    if ours is None or vote is None or ours.accuracy is None or vote.accuracy is None:
        return False
    return vote.accuracy > ours.accuracy


def warn_of_vote(found: Findings) -> str:
    """A plain warning where a vote is better."""
    assert found.evaluation is not None  # `vote_is_better` has looked
    assert found.vote is not None
    return paragraph(
        f"A plain majority vote is right more often here: {found.vote.accuracy:.1%} of what is "
        f"known, this answer only {found.evaluation.accuracy:.1%}. Do not use the answer as it "
        "is: look at what is wrong below, give some of the truths as known, or compare other "
        "algorithms.",
        "warning serious",
    )


def _against_vote(found: Findings) -> str:
    return warn_of_vote(found) if vote_is_better(found) else ""


def _measures(found: Findings) -> str:
    assert found.evaluation is not None
    measures = {k: v for k, v in found.evaluation.measures().items() if k != "judged"}
    vote = {} if found.vote is None else found.vote.measures()
    rows = [
        {
            "measure": name.replace("_", " "),
            "number": float(number),
            **({"vote": float(vote[name])} if name in vote else {}),
            "meaning": MEANINGS.get(name, ""),
        }
        for name, number in measures.items()
    ]
    caption = f"Against {counted(found.evaluation.judged, 'known truth')}"
    headings = {"number": "this answer", "vote": "a majority vote"}
    return table(pl.DataFrame(rows), Look(caption=caption, headings=headings))


def wrong_items(found: Findings) -> pl.DataFrame:
    """What was judged wrongly, the most certain first; of numbers, the farthest off first."""
    assert found.scored is not None
    scored, kind = found.scored, found.result.kind
    keys = [key for key in ("entity", "attribute", "fact") if key in scored.columns]
    if kind == "numeric":
        shown = scored.select(*keys, "estimate", pl.col("value").alias("truth"), "distance")
        return shown.sort("distance", *keys, descending=[True, *(False for _ in keys)])
    wrong = scored.filter(pl.col("right") < 1.0)
    wrong = wrong.sort(pl.col("sure").round(SAME), *keys, descending=[True, *(False for _ in keys)])
    if kind == "categorical":
        settled = found.result.tables.truths.select(*keys, "claims", settled_on="value")
        wrong = wrong.join(settled, on=keys, how="left", maintain_order="left", nulls_equal=True)
        return wrong.select(
            *keys, "settled_on", pl.col("value").alias("truth"),
            pl.col("sure").alias("plausibility"), "claims",
        )  # fmt: skip
    value = ["value"] if "value" in wrong.columns and kind == "multiple" else []
    return wrong.select(
        *keys, *value, pl.col("taken").alias("settled_on"), pl.col("is_true").alias("truth"),
        pl.col("p").alias("plausibility"),
    )  # fmt: skip


def _wrong(found: Findings) -> str:
    wrong = wrong_items(found)
    if wrong.is_empty():
        return paragraph("Nothing whose truth is known was judged wrongly.")
    is_number = found.result.kind == "numeric"
    look = Look(
        caption="The estimates farthest off" if is_number else "What is wrong, the surest first",
        of=len(wrong),
        sortable=True,
        searchable=True,
        headings=found.called,
    )
    return table(wrong.head(MOST_WRONG), look)
