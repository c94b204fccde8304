"""The kernel that takes rows through a forest of leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import kernel, part

TOGETHER = 16
"""Pairs of a tree and a row that go down in step: none waits for the memory that another one asks for."""


@part
def descend(feature: Any, threshold: Any, left: Any, right: Any, rows: Any, row: Any, at: Any, n: Any) -> None:
    """Take row ``row[p]`` of each of ``n`` pairs from the root ``at[p]`` to its leaf; who has arrived stays there."""
    moving = True
    while moving:
        moving = False
        for p in range(n):
            node = at[p]
            column = feature[node]
            inner = column >= 0
            moving |= inner
            low, high = np.uint32(left[node]), np.uint32(right[node])
            # choices without branches: no processor guesses the way of a row
            after = low if rows[row[p], np.uint64(column if inner else 0)] <= threshold[node] else high
            at[p] = after if inner else node


@kernel
def average_leaves(
    roots: Any, feature: Any, threshold: Any, left: Any, right: Any, values: Any, rows: Any, out: Any
) -> None:
    """Write the average of the leaves that each row reaches into ``out`` (n, k)."""
    n_rows, k = rows.shape[0], values.shape[1]
    share = 1.0 / len(roots)
    out[:] = 0.0
    at, row = np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.uint64)
    # tree by tree, so that a tree's nodes stay in the cache while all rows pass
    tree, i = 0, 0
    for first in range(0, len(roots) * n_rows, TOGETHER):
        n = min(TOGETHER, len(roots) * n_rows - first)
        for p in range(n):
            at[p], row[p] = roots[tree], i
            i += 1
            if i == n_rows:
                tree, i = tree + 1, 0
        descend(feature, threshold, left, right, rows, row, at, n)
        for p in range(n):
            leaf = left[at[p]]
            for j in range(k):
                out[row[p], j] += values[leaf, j]
    for i in range(n_rows):
        for j in range(k):
            out[i, j] *= share
