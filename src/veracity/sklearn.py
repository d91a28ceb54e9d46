"""Truth discovery as scikit-learn has it: one row per item, one column per source.

It needs scikit-learn, which is an extra.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from veracity.algorithms import Algorithm
from veracity.algorithms.parameters import settable
from veracity.api import chosen_algorithm, discover
from veracity.encoding.block import FloatArray
from veracity.errors import ParameterError
from veracity.extras import how_to_get
from veracity.result import Result

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        f"veracity.sklearn needs scikit-learn 1.6 or newer: {how_to_get('sklearn')}"
    ) from error

__all__ = ["TruthDiscoverer"]

NESTED = "algorithm__"
"""Prefix of the algorithm's own parameters, as scikit-learn nests them."""


class TruthDiscoverer(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Estimator of the labels of items from the labels that several sources give them.

    X has one row per item and one column per source: the label the source gives the item, or
    nothing (NaN, None, or `missing`). It learns how far each source can be trusted, and from that
    which label of an item is true; new items are judged by what was learned.

    Parameters
    ----------
    algorithm
        An algorithm or the name of one. Its parameters are parameters of this, too, e.g.
        ``algorithm__strength``.
    missing
        A label that means that the source says nothing, such as -1, beside NaN and None.

    Attributes
    ----------
    classes_
        The labels, sorted.
    result_
        The `Result` of the items that were learned from: its sources are the columns of X, its
        entities the numbers of the rows.
    n_features_in_, feature_names_in_
        How many sources there are, and their names, if X has names.

    Examples
    --------
    >>> X = [["a", "a", "b"], ["b", "b", "b"], ["a", None, "b"], ["a", "a", "a"]]
    >>> TruthDiscoverer("majority-vote").fit(X).predict([["b", "b", "a"]]).tolist()
    ['b']
    """

    def __init__(self, algorithm: Algorithm[Any] | str = "veracity", missing: Any = None) -> None:
        self.algorithm = algorithm
        self.missing = missing

    # --- parameters -------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, with those of the algorithm."""
        own: dict[str, Any] = super().get_params(deep=False)
        if deep:
            with contextlib.suppress(ParameterError):  # what is no algorithm is told by `fit`
                chosen = chosen_algorithm(self.algorithm)
                own |= {f"{NESTED}{name}": getattr(chosen, name) for name in settable(chosen)}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the algorithm begin with ``algorithm__``."""
        nested = {k.removeprefix(NESTED): v for k, v in params.items() if k.startswith(NESTED)}
        super().set_params(**{k: v for k, v in params.items() if not k.startswith(NESTED)})
        if nested:
            chosen = chosen_algorithm(self.algorithm)
            unknown = sorted(set(nested) - set(settable(chosen)))
            if unknown:
                raise ValueError(
                    f"Invalid parameter '{NESTED}{unknown[0]}': {chosen.name} has "
                    f"{', '.join(settable(chosen))}"
                )
            self.algorithm = replace(chosen, **nested)  # type: ignore[type-var]
        return self

    def __sklearn_tags__(self) -> Any:
        """Return the tags for scikit-learn: labels of any type, with gaps; truths are optional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        tags.non_deterministic = False
        return tags

    # --- learning and judging ---------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: N803 - scikit-learn's
        """Learn how far each source can be trusted.

        Parameters
        ----------
        X
            One row per item, one column per source.
        y
            The true labels, as far as they are known: NaN, None or `missing` where they are not.
            Items keep the labels that are known, and sources are judged by them.
        """
        table = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan")
        is_said = ~self._is_missing(table)
        known = self._known(y, len(table))
        labels = [table[is_said], *([] if known is None else [known[~self._is_missing(known)]])]
        self.classes_ = _sorted_labels(np.concatenate([_of_one_kind(part) for part in labels]))
        claims = self._claims(table, is_said)
        if claims.is_empty():
            raise ValueError("no source gives any item a label")
        truths = None
        if known is not None:
            item = np.flatnonzero(~self._is_missing(known))
            value = self._names.gather(_numbers(known[item], self.classes_))
            truths = pl.DataFrame({"entity": item, "value": value})
        self.result_ = discover(claims, chosen_algorithm(self.algorithm), known=truths)
        n_of_class = self._learned(known, len(table)).sum(axis=0)
        n_of_class += 0.0 if n_of_class.any() else 1.0
        self._share = n_of_class / n_of_class.sum()
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Return the learned label of each item; the commonest label where there is no claim."""
        return self._likeliest(self.predict_proba(X))

    def predict_proba(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """Return the plausibility of each of `classes_` for each item; rows add up to one.

        Labels that are new since `fit` do not count.
        """
        check_is_fitted(self, "result_")
        table = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=False)
        claims = self._claims(table, ~self._is_missing(table))
        if claims.is_empty():
            return np.tile(self._share, (len(table), 1))
        assert self.result_.fitted is not None
        return self._proba(self.result_.fitted.judge(claims), len(table), self._share)

    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray[Any]:  # noqa: N803
        """Learn from items, and return their labels."""
        self.fit(X, y)
        n_items = np.shape(X)[0]
        learned = self._learned(self._known(y, n_items), n_items)
        learned[learned.sum(axis=1) == 0.0] = self._share
        return self._likeliest(learned)

    def _likeliest(self, proba: FloatArray) -> NDArray[Any]:
        chosen: NDArray[Any] = self.classes_[np.argmax(proba, axis=1)]
        return chosen

    def score(self, X: ArrayLike, y: ArrayLike) -> float:  # noqa: N803
        """Return the share of right labels; items without a known truth do not count."""
        known = self._known(y, np.shape(X)[0])
        assert known is not None
        is_known = ~self._is_missing(known)
        if not is_known.any():
            return float("nan")
        told = self.predict(X)[is_known]
        return float(np.mean([a == b for a, b in zip(told, known[is_known], strict=True)]))

    # --- tables -----------------------------------------------------------------------------------

    def _is_missing(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Return True for each missing label."""
        if labels.dtype == object:
            nothing = np.frompyfunc(_says_nothing, 1, 1)(labels).astype(np.bool_)
        else:
            is_float = np.issubdtype(labels.dtype, np.floating)
            nothing = np.isnan(labels) if is_float else np.zeros(labels.shape, dtype=np.bool_)
        if self.missing is not None:  # what is nothing may not be compared, as that of pandas
            said = labels[~nothing].tolist()
            nothing[~nothing] = [label == self.missing for label in said]
        return np.asarray(nothing, dtype=np.bool_)

    def _known(self, y: ArrayLike | None, n_items: int) -> NDArray[Any] | None:
        if y is None:
            return None
        known: NDArray[Any] = np.ravel(
            check_array(y, ensure_2d=False, dtype=None, ensure_all_finite="allow-nan")
        )
        if len(known) != n_items:
            raise ValueError(f"X has {n_items} rows, y has {len(known)}")
        return known

    def _claims(self, table: NDArray[Any], is_said: NDArray[np.bool_]) -> pl.DataFrame:
        """Return the labels seen in learning, as claims."""
        item, source = np.nonzero(is_said)
        columns = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = pl.Series([*map(str, columns)], dtype=pl.String)
        number = _numbers(table[is_said], self.classes_)
        claims = pl.DataFrame({"source": names.gather(source), "entity": item})
        said = claims.with_columns(value=self._names.gather(np.maximum(number, 0)))
        return said.filter(number >= 0)

    @property
    def _names(self) -> pl.Series:
        """The labels as values of claims: numbers, or text."""
        if np.issubdtype(self.classes_.dtype, np.number):
            return pl.Series("value", self.classes_)
        return pl.Series("value", [str(label) for label in self.classes_], dtype=pl.String)

    def _learned(self, known: NDArray[Any] | None, n_items: int) -> FloatArray:
        """Return [item, class] of the learned items: known truths, and else plausibilities."""
        found = self._proba(self.result_, n_items, np.zeros(len(self.classes_)))
        if known is not None:
            item = np.flatnonzero(~self._is_missing(known))
            found[item] = 0.0
            found[item, _numbers(known[item], self.classes_)] = 1.0
        return found

    def _proba(self, result: Result, n_items: int, otherwise: FloatArray) -> FloatArray:
        """Return [item, class]: plausibilities, which add up to one; `otherwise` without claims."""
        places: Mapping[Any, int] = {name: i for i, name in enumerate(self._names)}
        facts = result.tables.facts
        found = np.zeros((n_items, len(self.classes_)))
        number = np.array([places[value] for value in facts["value"]], dtype=np.int64)
        found[facts["entity"].to_numpy(), number] = facts["plausibility"].to_numpy()
        total = found.sum(axis=1, keepdims=True)
        is_told = total[:, 0] > 0.0
        found[is_told] /= total[is_told]
        found[~is_told] = otherwise
        return found


def _says_nothing(label: object) -> bool:
    """Return True for None, NaN, or a missing value of pandas."""
    return label is None or type(label).__name__ == "NAType" or bool(label != label)  # noqa: PLR0124


def _of_one_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as an array that keeps their types: numbers, true and false, or objects."""
    return labels if labels.dtype.kind in "biufc" else labels.astype(object)


def _sorted_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the different labels; those of several types are in the order of their text."""
    if labels.dtype != object:
        return np.unique(labels)
    return np.array(sorted(set(labels.tolist()), key=str), dtype=object)


def _numbers(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the index of each label in the classes; -1 if it is not a class."""
    place = {label: number for number, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.int64)
