r"""Stacking: a non-negative combination of first-stage models, weighted by their out-of-fold predictions.

.. math:: \hat\mu = \sum_i w_i \hat\mu_i, \qquad
          w = \arg\min_{w \ge 0} \lVert y - \sum_i w_i \hat\mu_i^{\text{out of fold}} \rVert^2

References
----------
.. [1] D. H. Wolpert (1992). Stacked generalization. Neural Networks 5(2), 241-259.
.. [2] L. Breiman (1996). Stacked regressions. Machine Learning 24(1), 49-64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from diffgbm._util.types import Array
from diffgbm.first_stage.cross_fitting import CrossFitted, FirstStage, Predictor, Task, known_rows

LEAST = 0.02
"""Members of a smaller share of the weight are left out: they cost time and change little."""


@dataclass(frozen=True)
class Weighted:
    """A weighted sum of predictors, weights (members, d)."""

    members: tuple[Predictor, ...]
    weights: Array

    def __call__(self, X: Array) -> Array:
        """Predict rows (n, p): shape (n, d)."""
        total = np.zeros((len(X), self.weights.shape[1]))
        for member, weight in zip(self.members, self.weights, strict=True):
            total += weight * member(X)
        return total


@dataclass(frozen=True)
class Stack:
    """Several first-stage models, combined.

    Attributes
    ----------
    stages : tuple of FirstStage
        The members.
    """

    stages: tuple[FirstStage, ...]

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        return sum(stage.n_fits(task) for stage in self.stages)

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit all members and combine them."""
        return combined([stage.cross_fit(task) for stage in self.stages], task.y, task.weights)


def combined(fitted: Sequence[CrossFitted], y: Array, row_weights: Array | None = None) -> CrossFitted:
    """Combine members by non-negative least squares on their out-of-fold predictions of ``y`` (n, d)."""
    root = np.ones(len(y)) if row_weights is None else np.sqrt(row_weights)
    weights = np.zeros((len(fitted), y.shape[1]))
    for j in range(y.shape[1]):
        columns = np.column_stack([member.out_of_fold[:, j] for member in fitted])
        weights[:, j] = sparse_weights(columns * root[:, None], y[:, j] * root)
    kept = np.flatnonzero(weights.any(axis=1)).tolist()
    if len(kept) == 0:  # no member helps: predict the prior mean, which is zero
        kept = [0]
    chosen = [fitted[i] for i in kept]
    weights = weights[kept]
    out = sum((w * member.out_of_fold for w, member in zip(weights, chosen, strict=True)), np.zeros_like(y))
    gained = sum((w**2 * member.gained for w, member in zip(weights, chosen, strict=True)), np.zeros(y.shape[1]))
    seen: Array | None = None
    if any(member.as_columns is not None for member in chosen):
        seen = sum((w * member.columns for w, member in zip(weights, chosen, strict=True)), np.zeros_like(y))
    return CrossFitted(Weighted(tuple(member.predictor for member in chosen), weights), out, gained, seen)


def sparse_weights(columns: Array, y: Array) -> Array:
    """Non-negative least squares of ``y`` (n,) on columns (n, k), refitted without members of little weight.

    Rows that a member does not predict are left out.
    """
    if (known := known_rows(columns)) is not None:
        columns, y = columns[known], y[known]
    weights, _ = nnls(columns, y)
    kept = weights >= LEAST * max(weights.sum(), 1e-12)
    out = np.zeros_like(weights)
    if kept.any():
        out[kept], _ = nnls(columns[:, kept], y)
    return out
