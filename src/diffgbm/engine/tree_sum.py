"""Ordinary boosters through the same traversal: no states, no times, just a prediction for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array
from diffgbm.engine.conditions import n_questions
from diffgbm.engine.forest import Forest, concatenate
from diffgbm.engine.prune import Pruned, prune
from diffgbm.engine.stored import AnyBooster, forest_of

WORTH_IT, MOST_LEAVES = 128, 256
"""Rows from which wide blocks are faster, and leaves of a tree that they allow: those of the kernels."""


class TreeSum:
    r"""A weighted sum of boosters, :math:`F(x) = \sum_i w_i f_i(x)`, exact, serial and without the GIL.

    Parameters
    ----------
    boosters : sequence of lightgbm.Booster
    weights : sequence of float, optional
        One for each booster; all 1 by default.
    """

    def __init__(self, boosters: Sequence[AnyBooster], weights: Sequence[float] | None = None) -> None:
        forests = [forest_of(booster) for booster in boosters]
        self.weights = [1.0] * len(forests) if weights is None else list(weights)
        self.ends = np.cumsum([0, *(len(forest.tree_nodes) - 1 for forest in forests)])
        self.pruned = plain(concatenate(forests, self.weights))

    def __call__(self, X: Array) -> Array:
        """Predict rows ``X`` of shape (n, features): shape (n,)."""
        return predict_sum(self.pruned, X)

    def alone(self, i: int, X: Array) -> Array:
        """Predict rows (n, features) by booster ``i`` alone, without its weight, from the tables of all: shape (n,)."""
        roots = self.pruned.roots[self.ends[i] : self.ends[i + 1]]
        return predict_sum(self.pruned, X, roots) / self.weights[i]


def plain(forest: Forest) -> Pruned:
    """Prepare a forest none of whose features are known beforehand."""
    outputs = np.zeros(len(forest.tree_nodes) - 1, dtype=np.int64)
    return prune(forest, outputs, 0, np.empty((1, 0)))


def is_wide(pruned: Pruned, n_rows: int) -> bool:
    """Whether rows go through a plain forest in wide blocks: there are many, and no tree has too many leaves."""
    return n_rows >= WORTH_IT and len(pruned.leaf_tree) > 0 and pruned.most_leaves <= MOST_LEAVES


def predict_sum(pruned: Pruned, X: Array, roots: NDArray[np.int32] | None = None) -> Array:
    """Predict rows ``X`` of shape (n, features) with a plain forest, or only some of its trees: shape (n,)."""
    from diffgbm.engine import _walk_kernels as kernels

    X = np.require(X, dtype=np.float64, requirements=["C", "W"])
    pruned.check_rows(X)
    out = np.empty(X.shape[0])
    size = n_questions(pruned.conditions)
    roots = pruned.roots if roots is None else np.ascontiguousarray(roots)
    kernels.sum_rows(pruned.conditions, size, pruned.nodes, roots, pruned.value, is_wide(pruned, len(X)), X, out)
    return out
