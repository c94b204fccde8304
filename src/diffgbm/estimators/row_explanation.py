"""Shapley values of single rows, as a value of shap's shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from diffgbm._util.errors import known
from diffgbm._util.types import Array
from diffgbm.distributions import Distribution

Of = str | Callable[[Distribution], Any]


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """Shapley values of rows; the fields are those of ``shap.Explanation``, which takes its place if shap is installed.

    Attributes
    ----------
    values : ndarray of shape (n, p) or (n, p, k)
        Shapley values: the part of each column in the difference from the average prediction.
    base_values : ndarray of shape (n,) or (n, k)
        Average prediction of the background.
    data : ndarray of shape (n, p)
        The rows, one number for each column: codes of categories, days of dates.
    display_data : ndarray of shape (n, p)
        The rows as they were given.
    feature_names : list of str
        Names of the columns.
    output_names : list of str or None
        Names of the responses, if there are several.
    """

    values: Array
    base_values: Array
    data: Array
    display_data: Any
    feature_names: list[str]
    output_names: list[str] | None


def explanation(**fields: Any) -> Any:
    """Return a ``shap.Explanation``, or a ``RowExplanation`` without shap."""
    if find_spec("shap") is None:
        return RowExplanation(**fields)
    import shap  # type: ignore[import-not-found,import-untyped,unused-ignore]

    return shap.Explanation(**fields)


def _mean(distribution: Distribution, level: float) -> Array:
    return distribution.mean()


def _median(distribution: Distribution, level: float) -> Array:
    return distribution.median()


def _std(distribution: Distribution, level: float) -> Array:
    return distribution.std()


def _width(distribution: Distribution, level: float) -> Array:
    ends = distribution.interval(level)
    return np.asarray(ends[..., 1] - ends[..., 0])


def _quantile(distribution: Distribution, level: float) -> Array:
    return distribution.quantile(level)


QUESTIONS: dict[str, Callable[[Distribution, float], Array]] = {
    "mean": _mean,
    "median": _median,
    "std": _std,
    "width": _width,
    "quantile": _quantile,
}
"""What ``explain_rows`` explains, by name."""


def question(of: Of, level: float) -> Callable[[Distribution], Array]:
    """Return the function of a distribution that ``of`` names, with values (n,) or (n, k)."""
    if not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}.")
    if isinstance(of, str):
        named = QUESTIONS[known("of", of, QUESTIONS)]
        return lambda distribution: named(distribution, level)
    if not callable(of):
        listed = ", ".join(map(repr, QUESTIONS))
        raise TypeError(f"of must be one of {listed}, or a function of a predictive distribution; got {of!r}.")

    def own(distribution: Distribution) -> Array:
        values = np.asarray(of(distribution), dtype=np.float64)
        if values.ndim not in (1, 2) or len(values) != len(distribution):
            raise ValueError(
                f"of must return one number, or k numbers, for each of {len(distribution)} rows; got shape "
                f"{values.shape}."
            )
        return values

    return own
