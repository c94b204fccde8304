"""Ordinary boosters through the same traversal: no states, no times, just a prediction for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Integers
from diffgbm.engine.arrays import WritableArrays
from diffgbm.engine.conditions import n_questions
from diffgbm.engine.forest import Forest, concatenate
from diffgbm.engine.prune import Pruned, prune
from diffgbm.engine.stored import AnyBooster, forest_of

NO_QUESTION = 0xFFFF
"""Marks a leaf of a packed forest."""
WORTH_IT, MOST_LEAVES = 128, 256
"""Rows from which wide blocks are faster, and leaves of a tree that they allow: those of the kernels."""


@dataclass(frozen=True)
class Packed(WritableArrays):
    """A plain forest in half the memory: a row alone takes as long as its nodes take to be read.

    Attributes
    ----------
    nodes : uint32 ndarray of shape (nodes,)
        Question, and how far away the right child is, 16 bits each; 65,535 and the number in its tree of a leaf.
    first_leaf : ndarray of shape (trees,)
        Leaves before each tree.
    """

    nodes: NDArray[np.uint32]
    first_leaf: Integers

    @classmethod
    def of(cls, pruned: Pruned) -> Packed | None:
        """Pack a plain forest; ``None`` if a number in it has more than 16 bits."""
        question, other = pruned.nodes.T.astype(np.int64)
        tree = np.repeat(np.arange(len(pruned.roots)), np.diff([*pruned.roots, len(question)]))
        # leaves are numbered in the order of their nodes
        first_leaf = np.searchsorted(pruned.leaf_tree, np.arange(len(pruned.roots)))
        is_leaf = question < 0
        rest = np.where(is_leaf, other - first_leaf[tree], other - np.arange(len(question)))
        if n_questions(pruned.conditions) >= NO_QUESTION or rest.max(initial=0) > NO_QUESTION:
            return None
        return cls((np.where(is_leaf, NO_QUESTION, question) << 16 | rest).astype(np.uint32), first_leaf)


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
        self.packed = Packed.of(self.pruned)

    def __call__(self, X: Array) -> Array:
        """Predict rows ``X`` of shape (n, features): shape (n,)."""
        if len(X) != 1 or self.packed is None:
            return predict_sum(self.pruned, X)
        from diffgbm.engine import _walk_kernels as kernels

        X = np.require(X, dtype=np.float64, requirements=["C", "W"])
        pruned, packed = self.pruned, self.packed
        pruned.check_rows(X)
        size = n_questions(pruned.conditions)
        found = kernels.sum_row(pruned.conditions, size, packed.nodes, pruned.roots, packed.first_leaf, pruned.value, X)
        return np.array([found])

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
