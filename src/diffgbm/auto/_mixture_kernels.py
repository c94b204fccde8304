"""Kernels that take points of distributions at other ranks: even ones of a member, and those of a correction."""

from __future__ import annotations

from typing import Any

from diffgbm._util.kernels import kernel


@kernel
def blend(points: Any, low: Any, high: Any, share: Any, first: Any, out: Any) -> None:
    """Write ``(1 - share) points[low] + share points[high]`` of sorted points (n, m, d) to ``out`` (n, d, points).

    The results (k,) stand from position ``first`` on.
    """
    for i in range(points.shape[0]):
        for j in range(points.shape[2]):
            for p in range(len(low)):
                out[i, j, first + p] = (1.0 - share[p]) * points[i, low[p], j] + share[p] * points[i, high[p], j]


@kernel
def moved_points(values: Any, ends: Any, ranks: Any, nodes: Any, out: Any) -> None:
    """Write the quantiles of sorted, equally likely ``values`` (n, m) at other levels into ``out`` (n, m).

    The levels of a row are interpolated between those of ``nodes`` (k + 1, m), at even ranks from 0 to 1. ``ends``
    (n, 2) are the quantiles at the levels 0 and 1.
    """
    n, m = values.shape
    last = nodes.shape[0] - 1
    for i in range(n):
        row = values[i]
        position = last * ranks[i]
        low = min(int(position), last - 1)
        share = position - low
        before, after = nodes[low], nodes[low + 1]
        for j in range(m):
            level = (1.0 - share) * before[j] + share * after[j]
            at = level * m - 0.5
            if at < 0.0:
                out[i, j] = ends[i, 0] + (2.0 * at + 1.0) * (row[0] - ends[i, 0])
            elif at >= m - 1.0:
                out[i, j] = row[m - 1] + 2.0 * (at - (m - 1.0)) * (ends[i, 1] - row[m - 1])
            else:
                k = int(at)
                out[i, j] = row[k] + (at - k) * (row[k + 1] - row[k])
