"""Scores of points of a joint distribution: energy score and variogram score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffgbm._util.types import Array

PAIRS = 1 << 22
"""Numbers in the array of pairs of points of one block of rows (32 MB)."""


def scoring_rules() -> Any:
    """Import scoringrules when a score needs it: it imports numba, which is slow."""
    import scoringrules

    return scoringrules


def energy_score(points: Array, y: Array) -> Array:
    r"""Energy score :math:`\frac1m \sum_i \|x_i - y\| - \frac{1}{2m^2} \sum_{ij} \|x_i - x_j\|`, shape (n,).

    Parameters
    ----------
    points : ndarray of shape (n, m, d)
        Equally likely points of each row's joint distribution.
    y : ndarray of shape (n, d)
        Observations.

    References
    ----------
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.
    """
    return by_rows(scoring_rules().es_ensemble, y, points, estimator="nrg", backend="numpy")


def variogram_score(points: Array, y: Array, p: float = 0.5) -> Array:
    r"""Variogram score :math:`\sum_{jk} (|y_j - y_k|^p - \frac1m \sum_i |x_{ij} - x_{ik}|^p)^2`, shape (n,).

    Parameters
    ----------
    points : ndarray of shape (n, m, d)
        Equally likely points of each row's joint distribution.
    y : ndarray of shape (n, d)
        Observations.
    p : float
        Order of the variogram.

    References
    ----------
    Scheuerer & Hamill (2015), Variogram-based proper scoring rules for probabilistic forecasts of multivariate
    quantities, Monthly Weather Review 143.
    """
    return by_rows(scoring_rules().vs_ensemble, y, points, p=p, backend="numpy")


def by_rows(score: Callable[..., Any], y: Array, members: Array, **options: Any) -> Array:
    """Score rows in blocks, so that the arrays of pairs of members stay small."""
    if len(members) == 0:
        return np.empty(0)
    rows = max(1, PAIRS // (members[0].size * members.shape[1]))
    parts = [score(y[i : i + rows], members[i : i + rows], **options) for i in range(0, len(y), rows)]
    return np.concatenate([np.atleast_1d(part) for part in parts])
