"""Trees specialised on what is known before any row is: the times, and the edges between which ``y`` matters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Integers
from diffgbm.engine.arrays import WritableArrays
from diffgbm.engine.conditions import Conditions, gather_conditions
from diffgbm.engine.forest import CATEGORICAL, DEFAULT_LEFT, MISSING_ZERO, CannotCollapse, Forest

ZERO = float(np.float32(1e-35))
"""LightGBM reads every number up to this size as zero."""

ON_X, ON_TIME_BEFORE, ON_TIME_AFTER, ON_STATE = 0, 1, 2, 3
"""Kinds of node: left if a question about ``x`` is answered yes, if cell < argument, if cell >= argument; and
from 3 on, for state coordinate ``kind - 3``, if bin <= argument."""


@dataclass(frozen=True)
class Pruned(WritableArrays):
    r"""A forest as a sum of leaves on boxes, each under questions about ``x``.

    .. math:: F_j(y, x, t_k) = \sum_{\text{leaves of output } j}
        \text{value} \cdot 1[\text{path of } x] \cdot 1[(\text{cell}_k, \text{bins of } y) \in \text{box}]

    Bin ``b`` of a coordinate holds the values above ``b`` of its edges. Knots that no split separates share a
    cell.

    Attributes
    ----------
    conditions : Conditions
    nodes : int32 ndarray of shape (nodes, 2)
        In preorder, so that a left child follows its parent: (question, right child) of a node on ``x``;
        (-1, right child) of a node whose children both count; (-2, leaf) of a leaf.
    roots : int32 ndarray of shape (trees,)
    outputs : int32 ndarray of shape (trees,)
        Which response coordinate each tree belongs to.
    leaf_tree : int32 ndarray of shape (leaves,)
    value : ndarray of shape (leaves,)
    boxes : int32 ndarray of shape (leaves, 2 + 2 d)
        First and past-the-last cell, then first and past-the-last bin of each coordinate.
    edges : list of d ndarrays
        Edges of the bins of each coordinate, ascending.
    knot_cell : ndarray of shape (knots,)
    reach : int
        Most leaves that one row can reach.
    n_columns : int
        Number of columns of ``x``.
    """

    conditions: Conditions
    nodes: NDArray[np.int32]
    roots: NDArray[np.int32]
    outputs: NDArray[np.int32]
    leaf_tree: NDArray[np.int32]
    value: Array
    boxes: NDArray[np.int32]
    edges: list[Array]
    knot_cell: Integers
    reach: int
    n_columns: int

    @property
    def n_cells(self) -> int:
        """Number of distinguishable knots."""
        return int(self.knot_cell[-1]) + 1

    @cached_property
    def most_leaves(self) -> int:
        """Leaves of the largest tree."""
        return int(np.bincount(self.leaf_tree, minlength=1).max())

    def check_rows(self, X: Array) -> None:
        """Refuse rows of another width: the kernels do not look whether a column exists."""
        if X.ndim != 2 or X.shape[1] != self.n_columns:
            raise ValueError(f"rows of shape {X.shape}, but the forest was fitted on {self.n_columns} columns of x")


def prune(forest: Forest, outputs: Integers, d: int, columns: Array) -> Pruned:
    """Specialise a forest on the knots.

    Parameters
    ----------
    forest : Forest
        Features are ``d`` states, then ``x``, then the known columns.
    outputs : ndarray of shape (trees,)
        Response coordinate of each tree.
    d : int
        Number of state columns.
    columns : ndarray of shape (knots, q)
        Known columns at the knots, each monotone.
    """
    from diffgbm.engine import _prune_kernels as kernels

    first_column = forest.n_features - columns.shape[1]
    conditions, argument = gather_conditions(forest, d, first_column)
    kind = np.full(len(argument), ON_X, dtype=np.int64)
    check_states(forest, d)
    zero_matters = [_sends_zero_elsewhere(forest, forest.feature == j) for j in range(d)]
    edges = [_ask_state(forest, j, zero_matters[j], kind, argument) for j in range(d)]
    knot_cell, cells = merge_knots(forest, columns)
    for j in range(columns.shape[1]):
        _ask_time(forest, first_column + j, cells[:, j], kind, argument)
    zero_bin = np.array(
        [np.searchsorted(edge, 0.0) if matters else -1 for edge, matters in zip(edges, zero_matters, strict=True)],
        dtype=np.int64,
    )
    regions = start_boxes([len(cells), *(len(edge) + 1 for edge in edges)], zero_bin)
    nodes, roots, leaf_tree, leaf, boxes, reach = kernels.prune_trees(
        forest.tree_nodes,
        forest.tree_leaves,
        (forest.left, forest.right, kind, argument, zeros_go_left(forest)),
        zero_bin,
        regions,
    )
    return Pruned(
        conditions=conditions,
        nodes=nodes,
        roots=roots,
        outputs=np.repeat(outputs, len(regions)).astype(np.int32),
        leaf_tree=leaf_tree,
        value=forest.value[leaf],
        boxes=boxes,
        edges=edges,
        knot_cell=knot_cell,
        reach=max(1, int(reach)),
        n_columns=first_column - d,
    )


def check_states(forest: Forest, d: int) -> None:
    """Refuse splits on the ``d`` states that are not on numbers."""
    if np.any((forest.decision[forest.feature < d] & CATEGORICAL) > 0):
        raise CannotCollapse("a state column is categorical")


def zeros_go_left(forest: Forest) -> NDArray[np.bool_]:
    """Return whether each node sends zeros left; with ``zero_as_missing`` they have a direction of their own."""
    default = (forest.decision & DEFAULT_LEFT) > 0
    return np.where(forest.missing == MISSING_ZERO, default, forest.threshold >= 0)


def _sends_zero_elsewhere(forest: Forest, nodes: NDArray[np.bool_]) -> bool:
    """Return whether any of the nodes sends zeros against its threshold."""
    return bool(np.any(zeros_go_left(forest)[nodes] != (forest.threshold[nodes] >= 0)))


def start_boxes(sizes: list[int], zero_bin: Integers) -> NDArray[np.int32]:
    """Return the boxes every tree starts with: everything, or cut so that the zeros of states are on their own."""
    sides: list[list[tuple[int, int]]] = [[(0, sizes[0])]]
    for size, zero in zip(sizes[1:], zero_bin, strict=True):
        sides.append([(0, size)] if zero < 0 else [(0, zero), (zero, zero + 1), (zero + 1, size)])
    return np.array([np.ravel(box) for box in product(*sides)], dtype=np.int32)


def flushed(threshold: Array) -> Array:
    """Return thresholds for raw values, equivalent to ``threshold`` for values of which tiny ones are read as zero."""
    below = np.nextafter(-ZERO, -np.inf)
    return np.where(threshold >= 0, np.maximum(threshold, ZERO), np.minimum(threshold, below))


def _ask_state(forest: Forest, j: int, zero_matters: bool, kind: Integers, argument: Integers) -> Array:
    """Mark the nodes on state ``j`` with the number of their edge; return the edges, around zero if it matters."""
    nodes = np.flatnonzero(forest.feature == j)
    threshold = flushed(forest.threshold[nodes])
    around_zero = flushed(np.array([-0.5 * ZERO, 0.0])) if zero_matters else np.empty(0)
    edges = np.unique(np.concatenate([threshold[np.isfinite(threshold)], around_zero]))
    argument[nodes] = np.where(threshold == -np.inf, -1, np.searchsorted(edges, threshold))
    kind[nodes] = ON_STATE + j
    return edges


def merge_knots(forest: Forest, columns: Array) -> tuple[Integers, Array]:
    """Merge consecutive knots that no split separates into one cell: (cell of each knot, columns of each cell)."""
    columns = np.where(np.abs(columns) <= ZERO, 0.0, columns)
    change = np.diff(columns, axis=0)
    if not np.all(np.all(change >= 0, axis=0) | np.all(change <= 0, axis=0)):
        raise ValueError("known columns must be monotone over the knots")
    fresh = np.zeros(len(columns), dtype=bool)
    fresh[0] = True
    for j in range(columns.shape[1]):
        feature = forest.n_features - columns.shape[1] + j
        interval = np.searchsorted(np.unique(forest.threshold[forest.feature == feature]), columns[:, j])
        fresh[1:] |= np.diff(interval) != 0
    return np.cumsum(fresh) - 1, columns[fresh]


def _ask_time(forest: Forest, feature: int, values: Array, kind: Integers, argument: Integers) -> None:
    """Mark the nodes on a known column with the cells that go left: those before, or those from, an argument."""
    asked = forest.feature == feature
    if np.any((forest.decision[asked] & CATEGORICAL) > 0):
        raise CannotCollapse("a time column is categorical")
    if np.any(values == 0) and _sends_zero_elsewhere(forest, asked):
        raise CannotCollapse("zero_as_missing: a split sends a time of exactly zero against its threshold")
    nodes = np.flatnonzero(asked)
    if values[-1] >= values[0]:
        kind[nodes] = ON_TIME_BEFORE
        argument[nodes] = np.searchsorted(values, forest.threshold[nodes], side="right")
    else:
        kind[nodes] = ON_TIME_AFTER
        argument[nodes] = len(values) - np.searchsorted(values[::-1], forest.threshold[nodes], side="right")
