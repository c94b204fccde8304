"""Forests of leaves: trees in preorder, so that their shape is what is a leaf and what is not, and nothing else.

Of a node only its column is stored, of a split its threshold, of a leaf its values. Children are found again by
counting, which no file can lead astray.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm.guides.leaf_forest import LeafForest
from diffgbm.model_files.store import Part, Reader, Writer
from diffgbm.model_files.values import Stored

Integers = NDArray[np.int32]


def write_forest(forest: LeafForest, writer: Writer) -> dict[str, Any]:
    """Store a forest."""
    is_leaf = forest.feature < 0
    roots, left, right = children(forest.feature)
    if not (
        np.array_equal(roots, forest.roots)
        and np.array_equal(left, forest.left)
        and np.array_equal(right[~is_leaf], forest.right[~is_leaf])
    ):
        raise TypeError("a forest whose nodes are not in preorder cannot be held by a model file.")
    small = np.int16 if len(forest.feature) and forest.feature.max() < 2**15 else np.int32
    return {
        "dense": writer.put(forest.dense),
        "feature": writer.array(forest.feature.astype(small)),
        "threshold": writer.array(forest.threshold[~is_leaf]),
        "values": writer.array(forest.values),
    }


def read_forest(stored: Stored, reader: Reader) -> Part:
    """Read a forest."""
    dense = reader.part(stored["dense"], ("dense",))
    feature = reader.array(stored, "feature", ("<i2", "<i4"), (None,)).astype(np.int32)
    if len(feature) == 0 or feature.min() < -1 or feature.max() >= (dense.gives or 0):
        raise ValueError("a forest asks for columns that are not there")
    is_leaf = feature < 0
    values = reader.array(stored, "values", "<f4", (int(is_leaf.sum()), None))
    threshold = np.zeros(len(feature), dtype=np.float32)
    threshold[~is_leaf] = reader.array(stored, "threshold", "<f4", (int((~is_leaf).sum()),))
    roots, left, right = children(feature)
    if values.shape[1] < 1:
        raise ValueError("a forest's leaves hold nothing")
    forest = LeafForest(dense.value, roots, feature, threshold, left, right, values)
    return Part(forest, dense.takes, values.shape[1])


def children(feature: Integers) -> tuple[Integers, Integers, Integers]:
    """Return roots (trees,), left and right (nodes,) of trees in preorder; ``ValueError`` if the last is cut off."""
    from diffgbm.model_files._preorder_kernels import link_children

    n = len(feature)
    left, right, roots, stack = (np.empty(n, dtype=np.int32) for _ in range(4))
    trees = link_children(np.require(feature, requirements=["C", "W"]), left, right, roots, stack)
    if trees < 1:
        raise ValueError("a forest's last tree is cut off")
    return roots[:trees].copy(), left, right
