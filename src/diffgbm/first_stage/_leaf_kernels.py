"""The kernel that takes rows through a forest of leaves."""

from __future__ import annotations

from typing import Any

from diffgbm._util.kernels import kernel


@kernel
def average_leaves(
    roots: Any, feature: Any, threshold: Any, left: Any, right: Any, values: Any, rows: Any, out: Any
) -> None:
    """Write the average of the leaves that each row reaches into ``out`` (n, k)."""
    k = values.shape[1]
    share = 1.0 / len(roots)
    out[:] = 0.0
    # tree by tree, so that a tree's nodes stay in the cache while all rows pass
    for root in roots:
        for i in range(rows.shape[0]):
            node = root
            while feature[node] >= 0:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            leaf = left[node]
            for j in range(k):
                out[i, j] += values[leaf, j]
    for i in range(rows.shape[0]):
        for j in range(k):
            out[i, j] *= share
