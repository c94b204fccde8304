"""Forests of leaves: trees in preorder, whose shape follows from which nodes are leaves.

The file holds the column of each node, the threshold of each split and the values of each leaf. The positions of the
children follow by counting, so that no file can make them point outside the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import SmallIntegers
from diffgbm.engine.arrays import writable
from diffgbm.first_stage.leaf_forest import LeafForest
from diffgbm.persistence.limits import forest_memory
from diffgbm.persistence.store import Part, Reader, Writer
from diffgbm.persistence.values import Stored, count, positions

Singles = NDArray[np.float32]

FEW, MOST_CODES = 256, 2**16
"""Most distinct numbers of a column, and most distinct rows of several such columns, that are stored as codes."""


def write_forest(forest: LeafForest, writer: Writer) -> dict[str, Any]:
    """Store a forest."""
    is_leaf = forest.feature < 0
    cuts = forest.threshold[~is_leaf]
    roots, _, left, right = unfolded(forest.feature, cuts)
    if not (
        np.array_equal(roots, forest.roots)
        and np.array_equal(left, forest.left)
        and np.array_equal(right[~is_leaf], forest.right[~is_leaf])
    ):
        raise TypeError("a model file cannot hold a forest whose nodes are not in preorder.")
    largest = forest.feature.max()
    writer.memory += forest_memory(len(forest.feature), *forest.values.shape)
    size = np.int8 if largest < 2**7 else np.int16 if largest < 2**15 else np.int32
    return {
        "dense": writer.put(forest.dense),
        "feature": writer.array(forest.feature.astype(size)),
        "threshold": writer.array(cuts),
        **_write_values(forest.values, writer),
    }


def read_forest(stored: Stored, reader: Reader) -> Part:
    """Read a forest."""
    dense = reader.part(stored["dense"], ("dense",))
    feature = reader.array(stored, "feature", ("|i1", "<i2", "<i4"), (None,)).astype(np.int32)
    if len(feature) == 0 or feature.min() < -1 or feature.max() >= (dense.gives or 0):
        raise ValueError("a forest splits on columns that do not exist")
    n_leaves = int(np.count_nonzero(feature < 0))
    if n_leaves == 0:
        raise ValueError("a forest has no leaves")
    reader.budget.take(forest_memory(len(feature), n_leaves, count(stored, "outputs")))
    values = _read_values(stored, reader, n_leaves)
    cuts = reader.array(stored, "threshold", "<f4", (len(feature) - n_leaves,))
    roots, threshold, left, right = unfolded(feature, cuts)
    forest = LeafForest(dense.value, roots, feature, threshold, left, right, values)
    return Part(forest, dense.takes, values.shape[1])


def _write_values(values: Singles, writer: Writer) -> dict[str, Any]:
    """Store the values of leaves (n_leaves, k). Columns of few distinct numbers share one code: the row of a table."""
    coded, codes = _coded(np.ascontiguousarray(values.T).view(np.uint32))
    _, first = np.unique(codes, return_index=True)
    size = np.uint8 if len(first) <= 2**8 else np.uint16
    return {
        "outputs": values.shape[1],
        "coded": coded,
        "table": writer.array(values[first][:, coded]),
        "codes": writer.array(codes.astype(size)[: len(codes) if coded else 0]),
        "numbers": writer.array(np.delete(values, coded, axis=1)),
    }


def _coded(columns: NDArray[np.uint32]) -> tuple[list[int], NDArray[np.intp]]:
    """Return which columns of (k, n) together take few distinct values, and the code of each row (n,)."""
    chosen: list[int] = []
    codes = np.zeros(columns.shape[1], dtype=np.intp)
    for j, column in enumerate(columns):
        numbers, code = np.unique(column, return_inverse=True)
        if len(numbers) <= FEW:
            rows, joint_codes = np.unique(codes * FEW + code, return_inverse=True)
            if len(rows) <= MOST_CODES:
                chosen.append(j)
                codes = joint_codes
    return chosen, codes


def _read_values(stored: Stored, reader: Reader, n_leaves: int) -> Singles:
    """Read the values of leaves: shape (n_leaves, k)."""
    from diffgbm.persistence._forest_kernels import merge_columns

    k = count(stored, "outputs")
    coded = positions(stored, "coded", k)
    table = reader.array(stored, "table", "<f4", (None, len(coded)))
    codes = reader.array(stored, "codes", ("|u1", "<u2"), (n_leaves if len(coded) else 0,)).astype(np.uint16)
    numbers = reader.array(stored, "numbers", "<f4", (n_leaves, k - len(coded)))
    if codes.max(initial=0) >= len(table):
        raise ValueError("the leaves of a forest refer to numbers that do not exist")
    values = np.empty((n_leaves, k), dtype=np.float32)
    merge_columns(numbers, np.delete(np.arange(k), coded), table, coded, codes, values)
    return values


def unfolded(feature: SmallIntegers, cuts: Singles) -> tuple[SmallIntegers, Singles, SmallIntegers, SmallIntegers]:
    """Return roots (trees,), thresholds, left and right (nodes,) of trees in preorder from the thresholds of splits."""
    from diffgbm.persistence._forest_kernels import link_children

    n = len(feature)
    threshold = np.empty(n, dtype=np.float32)
    left, right, roots, stack = (np.empty(n, dtype=np.int32) for _ in range(4))
    trees = link_children(writable(feature), writable(cuts), threshold, left, right, roots, stack)
    if trees < 1:
        raise ValueError("the last tree of a forest is incomplete")
    return roots[:trees].copy(), threshold, left, right
