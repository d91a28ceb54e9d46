"""The parts of the page, one after the other."""

from __future__ import annotations

from veracity.show.report.copying import copies
from veracity.show.report.data import changes, characteristics
from veracity.show.report.gather import Findings
from veracity.show.report.items import items_to_check
from veracity.show.report.labels import has_labels, labels
from veracity.show.report.lookup import lookup
from veracity.show.report.making import making
from veracity.show.report.page import Section
from veracity.show.report.rightness import rightness
from veracity.show.report.sources import sources
from veracity.show.report.summary import summary


def sections_of(found: Findings) -> list[Section]:
    """All that the page tells; how right it is and labels, where there is something to tell."""
    sections = [Section("summary", "Summary", summary(found))]
    if found.evaluation is not None or found.estimate is not None:
        sections.append(Section("evaluation", "How right it is", rightness(found)))
    sections += [
        Section("items", "What to check next", items_to_check(found)),
        Section("lookup", "Look up any item", lookup(found)),
        Section("sources", "The sources", sources(found)),
    ]
    if has_labels(found.result):
        sections.append(Section("labels", "The labels", labels(found)))
    return [
        *sections,
        Section("copies", "Suspected copies", copies(found)),
        Section("data", "The data", characteristics(found)),
        Section("changes", "Normalised and left out", changes(found)),
        Section("making", "How to make it again", making(found)),
    ]
