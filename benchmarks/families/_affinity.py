"""Affinity of rows in a forest, by an inverted index: only rows that share a leaf are ever touched."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.kernels import kernel
from diffgbm._util.parallel import block_rows, map_blocks
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array

Leaves = NDArray[np.int32]


def neighbour_variance(train: Leaves, y: Array, query: Leaves, k: int, threads: int) -> Array:
    """Return the variance (m,) of the responses of the ``k`` training rows that share most leaves with each query row.

    Parameters
    ----------
    train : ndarray of shape (n, T)
        Leaf of each training row in each tree.
    y : ndarray of shape (n,)
        Responses of the training rows.
    query : ndarray of shape (m, T)
        Leaf of each query row in each tree.
    k : int
        Number of neighbours, at most ``n``.
    threads : int
        Number of threads.

    Notes
    -----
    Rows tied at the k-th rank share the remaining weight in equal parts.
    """
    members, starts = _index(train)
    out = np.empty(len(query))

    def work(first: int, last: int) -> None:
        _block(members, starts, y, query[first:last], min(k, len(y)), out[first:last])

    size = block_rows(len(y), len(query), threads)
    with progress_bar(len(query), "affinity", 0, "row") as bar:
        map_blocks(work, len(query), size, threads, bar)
    return out


def _index(leaves: Leaves) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the rows of each tree sorted by leaf (T, n), and where each leaf's rows begin (T, leaves + 1)."""
    n, n_trees = leaves.shape
    n_leaves = int(leaves.max()) + 1
    members = np.empty((n_trees, n), dtype=np.int32)
    starts = np.zeros((n_trees, n_leaves + 1), dtype=np.int64)
    for t in range(n_trees):
        members[t] = np.argsort(leaves[:, t], kind="stable")
        starts[t, 1:] = np.cumsum(np.bincount(leaves[:, t], minlength=n_leaves))
    return members, starts


@kernel
def _block(members: NDArray[np.int32], starts: NDArray[np.int64], y: Array, query: Leaves, k: int, out: Array) -> None:
    """Fill ``out`` with the variances of a block of query rows."""
    n_trees, n = members.shape
    n_leaves = starts.shape[1] - 1
    affinity = np.empty(n, dtype=np.int32)
    counts = np.empty(n_trees + 1, dtype=np.int64)
    for row in range(len(query)):
        affinity[:] = 0
        for t in range(n_trees):
            leaf = query[row, t]
            if leaf < n_leaves:  # a leaf that no training row reached has no members
                for j in range(starts[t, leaf], starts[t, leaf + 1]):
                    affinity[members[t, j]] += 1
        counts[:] = 0
        for i in range(n):
            counts[affinity[i]] += 1
        threshold, above = n_trees, 0
        while above + counts[threshold] < k:
            above += int(counts[threshold])
            threshold -= 1
        shared = (k - above) / counts[threshold]
        mean = 0.0
        for i in range(n):
            if affinity[i] >= threshold:
                mean += y[i] if affinity[i] > threshold else shared * y[i]
        mean /= k
        total = 0.0
        for i in range(n):
            if affinity[i] >= threshold:
                deviation = (y[i] - mean) ** 2
                total += deviation if affinity[i] > threshold else shared * deviation
        out[row] = total / k
