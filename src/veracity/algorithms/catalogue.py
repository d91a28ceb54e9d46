"""Names of all algorithms, one line each; every list of algorithms derives from it.

Names lead to import paths, as text, so that listing them loads nothing. Other packages add theirs
through the entry-point group ``veracity.algorithms``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from veracity.errors import ParameterError
from veracity.printing import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veracity.algorithms.base import Algorithm

GROUP = "veracity.algorithms"
"""The entry points of packages that bring algorithms."""


@dataclass(frozen=True)
class Entry:
    """Import path of an algorithm, and the parameters of its preset."""

    place: str
    """The module and the class, with a colon between them."""
    preset: Mapping[str, object] = field(default_factory=dict)
    by_sweeps: Mapping[str, object] = field(default_factory=dict)
    """Parameters with which it learns by sweeps alone, as Spark and shares of claims need."""

    @property
    def class_name(self) -> str:
        """The name of the class."""
        return self.place.partition(":")[2]

    @property
    def module(self) -> str:
        """The module it is in."""
        return self.place.partition(":")[0]

    def load(self) -> type[Algorithm[Any]]:
        """Return the class."""
        loaded: type[Algorithm[Any]] = getattr(
            importlib.import_module(self.module), self.class_name
        )
        return loaded

    def make(self, **parameters: object) -> Algorithm[Any]:
        """Return the algorithm, with these parameters and the preset's."""
        return self.load()(**{**self.preset, **parameters})


_HERE = "veracity.algorithms"

_CD = {"negative_phase": "sampled", "shorten": False}
"""LTD-RBM as the paper trains it: contrastive divergence, and one schedule for all sizes."""

_FLOW = {"learning": "flow"}

CATALOGUE: dict[str, Entry] = {
    "veracity": Entry(f"{_HERE}.default:Veracity"),
    "ltd-rbm": Entry(f"{_HERE}.ltd_rbm:LTDRBM", by_sweeps=_FLOW),
    "ltd-rbm-c": Entry(f"{_HERE}.ltd_rbm:LTDRBM", {"single_truth": True}, _FLOW),
    "ltd-rbm-cd": Entry(f"{_HERE}.ltd_rbm:LTDRBM", {**_CD}),
    "ltd-rbm-c-cd": Entry(f"{_HERE}.ltd_rbm:LTDRBM", {**_CD, "single_truth": True}),
    "majority-vote": Entry(f"{_HERE}.majority_vote:MajorityVote"),
    "mle": Entry(f"{_HERE}.mle:MLE"),
    "recursive-em": Entry(f"{_HERE}.mle:RecursiveEM"),
    "ltm": Entry(f"{_HERE}.ltm:LTM"),
    "two-estimates": Entry(f"{_HERE}.estimates:TwoEstimates"),
    "three-estimates": Entry(f"{_HERE}.estimates:ThreeEstimates"),
    "cosine": Entry(f"{_HERE}.estimates:Cosine"),
    "sstf": Entry(f"{_HERE}.sstf:SSTF"),
    "truth-finder": Entry(f"{_HERE}.truth_finder:TruthFinder"),
    "accu": Entry(f"{_HERE}.accu:Accu"),
    "pop-accu": Entry(f"{_HERE}.accu:PopAccu"),
    "accu-sim": Entry(f"{_HERE}.accu:AccuSim"),
    "accu-format": Entry(f"{_HERE}.accu:AccuFormat"),
    "accu-copy": Entry(f"{_HERE}.accu_copy:AccuCopy"),
    "accu-sim-copy": Entry(f"{_HERE}.accu_copy:AccuSimCopy"),
    "simple-lca": Entry(f"{_HERE}.lca:SimpleLCA"),
    "guess-lca": Entry(f"{_HERE}.lca:GuessLCA"),
    "mistake-lca": Entry(f"{_HERE}.lca:MistakeLCA"),
    "lie-lca": Entry(f"{_HERE}.lca:LieLCA"),
    "dare": Entry(f"{_HERE}.dare:DARE"),
    "sums": Entry(f"{_HERE}.sums:Sums"),
    "average-log": Entry(f"{_HERE}.sums:AverageLog"),
    "investment": Entry(f"{_HERE}.sums:Investment"),
    "pooled-investment": Entry(f"{_HERE}.sums:PooledInvestment"),
    "dawid-skene": Entry(f"{_HERE}.labels:DawidSkene"),
    "one-coin": Entry(f"{_HERE}.labels:OneCoin"),
    "crh": Entry(f"{_HERE}.numbers:CRH"),
    "catd": Entry(f"{_HERE}.numbers:CATD"),
    "gtm": Entry(f"{_HERE}.numbers:GTM"),
    "ltd-rbm-n": Entry(f"{_HERE}.ltd_rbm_n:NumericLTDRBM"),
}
"""Our own algorithms by the name they have on the command line."""


@cache
def algorithms() -> dict[str, Entry]:
    """Return all algorithms: ours, and those of other packages, whose names must be new."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes its time to load

    others = {entry.name: Entry(entry.value) for entry in entry_points(group=GROUP)}
    return {**others, **CATALOGUE}


def algorithm_named(name: str) -> Algorithm[Any]:
    """Return the algorithm of this name, with its default parameters.

    >>> algorithm_named("majority-vote")
    MajorityVote()
    """
    entry = entry_of(name)
    if entry is None:
        raise ParameterError(no_algorithm(name))
    return entry.make()


def by_sweeps(algorithm: Algorithm[Any]) -> Algorithm[Any]:
    """Return the algorithm in the form that learns by sweeps alone, if it has one of its own."""
    entry = CATALOGUE.get(algorithm.name)
    if entry is None or type(algorithm).__name__ != entry.class_name:
        return algorithm
    return replace(algorithm, **entry.by_sweeps)  # type: ignore[type-var]


def restored(name: str, parameters: Mapping[str, Any]) -> Algorithm[Any] | None:
    """Return the algorithm of a saved run; None if it is missing or has a function parameter."""
    entry = entry_of(name)
    if entry is None or not _can_be_restored(parameters):
        return None
    try:
        return entry.make(**{**parameters, **_restored(parameters)})
    except (TypeError, ValueError) as error:
        raise ValueError(f"the parameters of {name} do not fit it: {error}") from error


def _can_be_restored(parameters: Mapping[str, Any]) -> bool:
    """Return True unless a parameter was a function of the user's own."""
    return parameters.get("similarity") is None or isinstance(parameters["similarity"], dict)


def entry_of(name: str) -> Entry | None:
    """Return the algorithm of this name, ours or that of another package, or None."""
    return CATALOGUE.get(name) or algorithms().get(name)


def no_algorithm(name: str) -> str:
    """Return the message for an unknown name: the one that may be meant, or all names.

    >>> no_algorithm("DawidSkene")
    "no algorithm 'DawidSkene'; did you mean 'dawid-skene'?"
    """
    known = tuple(algorithms())
    return f"no algorithm '{name}'; {did_you_mean(name, known) or 'there are ' + ', '.join(known)}"


def _restored(parameters: Mapping[str, Any]) -> dict[str, object]:
    """Make parameters again that are more than numbers and words."""
    made: dict[str, object] = {}
    if isinstance(parameters.get("prior"), dict):
        from veracity.algorithms.prior import Prior  # noqa: PLC0415 - only where there is one

        made["prior"] = Prior.from_description(parameters["prior"])
    if parameters.get("source_features") is not None:
        from veracity.algorithms.source_features import SourceFeatures  # noqa: PLC0415

        made["source_features"] = SourceFeatures.from_description(parameters["source_features"])
    if parameters.get("item_features") is not None:
        from veracity.algorithms.item_features import ItemFeatures  # noqa: PLC0415

        made["item_features"] = ItemFeatures.from_description(parameters["item_features"])
    if parameters.get("similarity") is not None:
        from veracity.values import Likeness  # noqa: PLC0415

        made["similarity"] = Likeness(**parameters["similarity"])
    return made


def public_names() -> dict[str, str]:
    """Return the classes of our algorithms, and the module of each."""
    return {entry.class_name: entry.module for entry in CATALOGUE.values()}
