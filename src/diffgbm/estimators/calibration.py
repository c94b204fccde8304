r"""What ``ConformalDiffGBM`` computes: groups of rows, conformal intervals, recalibrated distributions.

The score of a calibration row is :math:`E_i = \max\{q_{lo}(x_i) - y_i,\ y_i - q_{hi}(x_i)\}`.

References
----------
Romano, Y., Patterson, E. and Candes, E. (2019). Conformalized quantile regression. Advances in Neural Information
Processing Systems, 32.

Barber, R. F., Candes, E. J., Ramdas, A. and Tibshirani, R. J. (2021). Predictive inference with the jackknife+. The
Annals of Statistics, 49(1), 486-507.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from diffgbm._util.types import Array
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.persistence.models import read_support, write_support
from diffgbm.persistence.store import Reader, Writer
from diffgbm.persistence.values import PLAIN, Stored, list_of, numbers, of_type, plain

INTERQUARTILE_RANGE = "interquartile_range"
"""Name that groups rows by the interquartile range of their predictive distributions."""


@dataclass(frozen=True)
class Groups:
    """How rows are divided into groups.

    Attributes
    ----------
    column : int, str or None
        Column of X, ``"interquartile_range"``, or ``None``: one group for all rows.
    edges : ndarray or None
        Edges between the groups of a number.
    values : tuple
        Values of a category, one group each.
    """

    column: int | str | None
    edges: Array | None
    values: tuple[Any, ...]

    def of(self, X: Any, distribution: PredictiveDistribution) -> NDArray[np.intp]:
        """Return the group of each row (n,): -1 for an unknown category, a separate group for missing numbers."""
        if self.column is None:
            return np.zeros(len(distribution), dtype=np.intp)
        values = group_values(self.column, X, distribution)
        if self.edges is not None:
            number = np.asarray(values, dtype=np.float64)
            return np.where(np.isnan(number), len(self.edges) + 1, np.searchsorted(self.edges, number))
        lookup = {value: i for i, value in enumerate(self.values)}
        return np.array([lookup.get(_label(value), -1) for value in values], dtype=np.intp)

    @classmethod
    def learn(
        cls,
        column: int | str | None,
        Xs: Sequence[Any],
        distributions: Sequence[PredictiveDistribution],
        n_groups: int,
    ) -> Groups:
        """Learn the groups from all calibration rows: quantiles of a number, or the values of a category."""
        if column is None:
            return cls(None, None, ())
        values = np.concatenate(
            [group_values(column, X, distribution) for X, distribution in zip(Xs, distributions, strict=True)]
        )
        if values.dtype.kind in "fiu":
            number = values[~np.isnan(values)].astype(np.float64)
            if column == INTERQUARTILE_RANGE or len(np.unique(number)) > n_groups:
                return cls(column, np.quantile(number, np.arange(1, n_groups) / n_groups), ())
        return cls(column, None, tuple(sorted({_label(value) for value in values}, key=str)))

    def to_stored(self) -> dict[str, Any]:
        """Return what a model file holds of the groups; the column is one of the estimator's arguments."""
        edges = None if self.edges is None else self.edges.tolist()
        return {"edges": edges, "values": plain(self.values, "groups_.values")}

    @classmethod
    def from_stored(cls, stored: Stored, column: Any) -> Groups:
        """Read the groups of a column from a model file."""
        of_type({"groups": column}, "groups", (int, str, type(None)))
        if isinstance(column, bool):  # scikit-learn would read it as a mask of rows
            raise TypeError("groups must be a column")
        edges = None if stored["edges"] is None else numbers(stored, "edges")
        if edges is not None and (np.diff(edges) < 0.0).any():
            raise ValueError("edges must be increasing")
        values = list_of(stored, "values", PLAIN)
        if len(set(values)) < len(values):
            raise ValueError("groups must be different")
        return cls(column, edges, tuple(values))


def group_values(column: int | str, X: Any, distribution: PredictiveDistribution) -> NDArray[Any]:
    """Return the values (n,) that group the rows: interquartile ranges, or a column of X."""
    if column == INTERQUARTILE_RANGE:
        return np.ptp(distribution.interval(0.5), axis=1)
    try:
        return np.asarray(_safe_indexing(X, column, axis=1))
    except (ValueError, KeyError, IndexError) as error:
        raise ValueError(f"groups={column!r} is not a column of X: {error}") from None


def _label(value: Any) -> Any:
    """Return a category as a plain value; the missing values of all libraries become ``None``."""
    return None if value is None or str(value) in ("nan", "NaT", "<NA>") else value


def conformal_offset(scores: Array, coverage: float, group: str = "") -> float:
    r"""Return the :math:`\lceil (n + 1)\,c \rceil`-th smallest score; raise if there are too few for the level."""
    n = len(scores)
    rank = int(np.ceil((n + 1) * coverage - 1e-12))
    if rank > n:
        enough = int(np.ceil(coverage / (1.0 - coverage) - 1e-9))
        raise ValueError(
            f"coverage={coverage:g} needs at least {enough} calibration rows{group}; there are {n}. "
            "Calibrate on more rows, use fewer groups, or ask for less coverage."
        )
    return float(np.partition(scores, rank - 1)[rank - 1])


def recalibrated(distribution: PredictiveDistribution, pit: Array, points: int = 50) -> PredictiveDistribution:
    r"""Correct a distribution by the distribution ``G`` of held-out PIT values: :math:`F \to G(F)`.

    ``G`` is estimated at no more than ``points`` levels, and at no more than one level for five PIT values, so that it
    follows their shape and not their noise. A small share of the identity keeps it strictly increasing.

    References
    ----------
    Kuleshov, V., Fenner, N. and Ermon, S. (2018). Accurate uncertainties for deep learning using calibrated regression.
    International Conference on Machine Learning.
    """
    n = len(pit)
    knots = np.linspace(0.0, 1.0, min(points, max(2, n // 5)) + 1)
    # the ends 0 and 1 are exact; in between, a PIT value equal to a knot counts half
    reached = (np.searchsorted(np.sort(pit), knots, "left") + np.searchsorted(np.sort(pit), knots, "right")) / (2.0 * n)
    reached[0], reached[-1] = 0.0, 1.0
    share = 1.0 / (n + 1.0)
    levels = np.interp(distribution.levels, knots, (1.0 - share) * reached + share * knots)
    return replace(distribution, levels=levels)


def conformal_intervals(scores: list[Array], ends: list[Array], coverage: float, label: str) -> Array:
    """Widen intervals by the scores of one model, or combine the intervals of the folds by CV+.

    Parameters
    ----------
    scores : list of ndarray
        Scores of the calibration rows of each model.
    ends : list of ndarray of shape (n, 2)
        Intervals of each model for the same ``n`` rows.
    coverage : float
        Probability inside.
    label : str
        What an error says after "calibration rows".

    Returns
    -------
    ndarray of shape (n, 2)
        Lower and upper ends.
    """
    all_scores = np.concatenate(scores)
    offset = conformal_offset(all_scores, coverage, label)
    if len(ends) == 1:
        return ends[0] + np.array([-offset, offset])
    rank = int(np.ceil((len(all_scores) + 1) * coverage - 1e-12)) - 1
    out = np.empty_like(ends[0])
    block = max(1, 4_000_000 // len(all_scores))
    for i in range(0, len(out), block):
        part = slice(i, i + block)
        low = np.hstack([e[part, :1] - s for e, s in zip(ends, scores, strict=True)])
        high = np.hstack([e[part, 1:] + s for e, s in zip(ends, scores, strict=True)])
        out[part, 0] = -np.partition(-low, rank, axis=1)[:, rank]
        out[part, 1] = np.partition(high, rank, axis=1)[:, rank]
    return out


def mixture(distributions: list[PredictiveDistribution]) -> PredictiveDistribution:
    """Return the equal mixture of distributions with the same levels: all their points together."""
    return PredictiveDistribution.from_points(
        np.hstack([distribution.values for distribution in distributions]),
        distributions[0].name,
        distributions[0].index,
        Support.union([distribution.support for distribution in distributions]),
    )


def write_distribution(distribution: PredictiveDistribution, writer: Writer) -> dict[str, Any]:
    """Return what a model file holds of the distributions of calibration rows."""
    return {
        "values": writer.array(distribution.values),
        "levels": writer.array(distribution.levels),
        "name": distribution.name,
        "support": write_support(distribution.support),
    }


def read_distribution(stored: Stored, reader: Reader) -> PredictiveDistribution:
    """Read the distributions of calibration rows from a model file; every value is checked."""
    values = reader.array(stored, "values", "<f8", (None, None))
    levels = reader.array(stored, "levels", "<f8", (values.shape[1],))
    if values.size == 0 or (np.diff(values, axis=1) < 0.0).any():
        raise ValueError("the points of a distribution must be sorted")
    if levels[0] < 0.0 or levels[-1] > 1.0 or (np.diff(levels) < 0.0).any():
        raise ValueError("the levels of a distribution must be increasing from 0 to 1")
    return PredictiveDistribution(values, levels, of_type(stored, "name", str), support=read_support(stored))
