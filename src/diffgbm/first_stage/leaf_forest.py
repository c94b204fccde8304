"""Randomised trees as a first-stage model, kept as arrays: a fraction of scikit-learn's memory, and no pickle.

References
----------
.. [1] P. Geurts, D. Ernst, L. Wehenkel (2006). Extremely randomized trees. Machine Learning 63(1), 3-42.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.deadline import NEVER, Deadline
from diffgbm._util.types import Array, SmallIntegers
from diffgbm.first_stage.cross_fitting import CrossFitted, Task, combine
from diffgbm.first_stage.dense import DenseTable

Singles = NDArray[np.float32]

MIN_TREES = 5
"""Trees of each fold for which there must be time."""


@dataclass(frozen=True)
class LeafForest:
    """Trees whose leaves hold several numbers each; the prediction is their average over the trees.

    Attributes
    ----------
    dense : DenseTable
        How rows are prepared.
    roots : ndarray of shape (trees,)
        First node of each tree.
    feature, left, right : ndarray of shape (nodes,)
        Column asked at a node and where its two answers lead; at a leaf the column is -1 and ``left`` its position in
        ``values``.
    threshold : ndarray of shape (nodes,)
        Rows with ``x <= threshold`` go left.
    values : ndarray of shape (leaves, k)
        What the leaves predict.
    """

    dense: DenseTable
    roots: SmallIntegers
    feature: SmallIntegers
    threshold: Singles
    left: SmallIntegers
    right: SmallIntegers
    values: Singles

    def __call__(self, X: Array) -> Array:
        """Predict rows (n, p): shape (n, k)."""
        return self.prepared(self.dense(X))

    def part(self, trees: Sequence[int]) -> LeafForest:
        """Return the forest of some of the trees, whose numbers increase."""
        ends = np.append(self.roots[1:], len(self.feature))
        nodes = np.concatenate([np.arange(self.roots[t], ends[t]) for t in trees])
        sizes = [int(ends[t] - self.roots[t]) for t in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        # nodes and leaves of a tree stand together: both move by as much as what is left out before them
        moved = np.repeat(roots - self.roots[list(trees)], sizes)
        leaf = self.feature[nodes] < 0
        kept = self.left[nodes][leaf]
        left = self.left[nodes] + moved
        left[leaf] = np.arange(len(kept))
        return replace(
            self,
            roots=roots.astype(np.int32),
            feature=self.feature[nodes],
            threshold=self.threshold[nodes],
            left=left.astype(np.int32),
            right=(self.right[nodes] + moved).astype(np.int32),
            values=self.values[kept],
        )

    def prepared(self, rows: Array) -> Array:
        """Predict prepared rows (n, q): shape (n, k)."""
        from diffgbm.first_stage._leaf_kernels import average_leaves

        out = np.empty((len(rows), self.values.shape[1]))
        singles = np.ascontiguousarray(rows, dtype=np.float32)
        average_leaves(self.roots, self.feature, self.threshold, self.left, self.right, self.values, singles, out)
        return out


@dataclass(frozen=True)
class ExtraTreesMean:
    """Extremely randomised trees on the responses.

    Attributes
    ----------
    n_trees : int
        Trees of each fold.
    min_samples_leaf : int
        Least rows in a leaf.
    """

    n_trees: int = 60
    min_samples_leaf: int = 2

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        return task.n_models

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit one forest for each fold, for all responses together."""
        return cross_fit_trees(task, task.y, self.n_trees, self.min_samples_leaf)


def cross_fit_trees(task: Task, outputs: Array, n_trees: int, min_samples_leaf: int) -> CrossFitted:
    """Cross-fit forests on several outputs (n, k) at once."""
    dense, rows = task.dense
    clean = np.full((task.repeats, *outputs.shape), np.nan)
    parts: list[LeafForest] = []
    for r, folds in enumerate(task.folds):
        for train, held_out in folds:
            weights = None if task.weights is None else task.weights[train]
            seed = task.seed + len(parts)
            if len(parts) == 0 and task.deadline.is_set:  # a forest of fewer trees than these is no use
                before = task.deadline.now()
                grown_trees(rows[train], outputs[train], weights, 1, min_samples_leaf, seed, 1)
                seconds = task.deadline.now() - before
                task.deadline.check(seconds * min(MIN_TREES, n_trees) * task.n_models / task.n_jobs)
            deadline = task.deadline.part(task.n_models - len(parts))
            trees = grown_trees(
                rows[train], outputs[train], weights, n_trees, min_samples_leaf, seed, task.n_jobs, deadline
            )
            part = from_trees(dense, trees)
            clean[r, held_out] = part.prepared(rows[held_out])
            parts.append(part)
            task.tick()
    average, gained = combine(task, clean)
    return CrossFitted(joined(task.predicting(parts)), average, gained)


def grown_trees(
    rows: Array,
    outputs: Array,
    weights: Array | None,
    n_trees: int,
    min_samples_leaf: int,
    seed: int,
    threads: int,
    deadline: Deadline = NEVER,
) -> list[Any]:
    """Grow the trees of scikit-learn's ``ExtraTreesRegressor`` on rows (n, q) and outputs (n, k).

    Returns each tree's ``tree_``. The trees are grown one by one: scikit-learn's forests replace the process's warning
    filters while they fit, so that forests in overlapping threads leave other filters behind. After the deadline no
    further tree is grown.
    """
    from sklearn.tree import ExtraTreeRegressor

    singles, y = rows.astype(np.float32), outputs[:, 0] if outputs.shape[1] == 1 else outputs
    # the seeds of a forest's trees
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_trees).tolist()

    first = seeds[0]

    def grown(tree_seed: int) -> Any:
        if tree_seed != first and deadline.over:  # one tree is a forest
            return None
        tree = ExtraTreeRegressor(min_samples_leaf=min_samples_leaf, max_features=1.0, random_state=tree_seed)
        return tree.fit(singles, y, sample_weight=weights).tree_

    if threads == 1:
        trees = list(map(grown, seeds))
    else:
        with ThreadPoolExecutor(threads) as pool:
            trees = list(pool.map(grown, seeds))
    return [tree for tree in trees if tree is not None]


def warmup() -> None:
    """Compile the kernel by taking one row through one tree of one leaf."""
    from diffgbm.first_stage._leaf_kernels import average_leaves

    one, single = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.float32)
    leaves, rows = np.zeros((1, 1), dtype=np.float32), np.zeros((1, 1), dtype=np.float32)
    average_leaves(one, one - np.int32(1), single, one, one, leaves, rows, np.empty((1, 1)))


def from_trees(dense: DenseTable, trees: Sequence[Any]) -> LeafForest:
    """Copy scikit-learn's fitted trees (``tree_``)."""
    return joined([_single(dense, tree) for tree in trees])


def _single(dense: DenseTable, tree: Any) -> LeafForest:
    is_leaf = tree.children_left < 0
    position = np.cumsum(is_leaf) - 1
    left = np.where(is_leaf, position, tree.children_left).astype(np.int32)
    # rows are compared as float32: rounding a threshold down keeps every comparison
    threshold = tree.threshold.astype(np.float32)
    threshold = np.where(threshold > tree.threshold, np.nextafter(threshold, np.float32(-np.inf)), threshold)
    return LeafForest(
        dense,
        np.zeros(1, dtype=np.int32),
        np.where(is_leaf, -1, tree.feature).astype(np.int32),
        threshold.astype(np.float32),
        left,
        np.where(is_leaf, 0, tree.children_right).astype(np.int32),
        np.ascontiguousarray(tree.value[is_leaf, :, 0], dtype=np.float32),
    )


def joined(parts: Sequence[LeafForest]) -> LeafForest:
    """Lay forests end to end."""
    nodes = np.cumsum([0, *(len(part.feature) for part in parts)])
    leaves = np.cumsum([0, *(len(part.values) for part in parts)])
    if nodes[-1] >= 2**31:
        raise ValueError(f"a forest of {nodes[-1]:,} nodes is too large; use fewer trees or larger leaves.")
    left = [
        part.left + np.where(part.feature < 0, leaf, node)
        for part, node, leaf in zip(parts, nodes[:-1], leaves[:-1], strict=True)
    ]
    return LeafForest(
        parts[0].dense,
        np.concatenate([part.roots + node for part, node in zip(parts, nodes[:-1], strict=True)]).astype(np.int32),
        np.concatenate([part.feature for part in parts]),
        np.concatenate([part.threshold for part in parts]),
        np.concatenate(left).astype(np.int32),
        np.concatenate([part.right + node for part, node in zip(parts, nodes[:-1], strict=True)]).astype(np.int32),
        np.concatenate([part.values for part in parts]),
    )
