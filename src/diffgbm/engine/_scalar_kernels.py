"""Kernels that collapse the forest of each row to a table of a scalar state, and integrate over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm.engine._numba import kernel
from diffgbm.engine._random_kernels import row_key
from diffgbm.engine._sample_kernels import integrate_row
from diffgbm.engine._spread_kernels import spread_buffers, spread_row
from diffgbm.engine._walk_kernels import answer, block_mask, walk_hits


@kernel
def add_box(leaf: Any, width: Any, flat: Any) -> None:
    """Add a leaf to the four corners of its box in a difference array of the given width."""
    v = leaf.value
    a = np.uint64(leaf.at)
    w = np.uint64(leaf.wide)
    b = a + np.uint64(leaf.high) * width
    flat[a] += v
    flat[a + w] -= v
    flat[b] -= v
    flat[b + w] += v


@kernel
def scatter(leaves: Any, hits: Any, width: Any, flat: Any) -> None:
    """Add each leaf to the difference array ``flat``."""
    for i in range(len(hits)):
        add_box(leaves[hits[i]], width, flat)


@kernel
def accumulate(table: Any, n_cells: Any) -> None:
    """Turn differences into values, in place: running sums along the bins and over the cells."""
    width = table.shape[1]
    total = 0.0
    for b in range(width):
        total += table[0, b]
        table[0, b] = total
    for k in range(1, n_cells):
        total = 0.0
        for b in range(width):
            total += table[k, b]
            table[k, b] = table[k - 1, b] + total


@kernel
def integrate_block(
    forest: Any,
    plan: Any,
    steps: Any,
    key: Any,
    rows: Any,
    samples: Any,
    X: Any,
    start: Any,
    spread: Any,
    out: Any,
) -> None:
    """Sample every row of a block.

    ``forest`` is (conditions, questions, nodes, roots, leaves, reach), ``plan`` is (knot_cell, n_cells, width,
    lookup, rows at a time), ``rows`` are positions in the request, ``spread`` is evenly spread noise to use instead of
    random noise (or nothing), and ``out`` is (rows, n_samples).
    """
    conditions, n_questions, nodes, roots, leaves, reach = forest
    knot_cell, n_cells, width, lookup, at_once = plan
    masks = np.empty(n_questions, np.uint64)
    hits = np.empty((at_once, reach), np.int32)
    counts = np.empty(at_once, np.int64)
    table = np.empty((n_cells + 1, width))
    flat = table.reshape(-1)
    buffers = spread_buffers(len(spread.normals) // 2)
    for first in range(0, X.shape[0], at_once):
        last = min(first + at_once, X.shape[0])
        answer(conditions, X, first, last, masks)
        walk_hits(nodes, roots, masks, block_mask(last - first), hits, counts)
        for i in range(first, last):
            flat[:] = 0.0
            scatter(leaves, hits[i - first, : counts[i - first]], np.uint64(width), flat)
            accumulate(table, n_cells)
            if len(spread.normals) > 0:
                _, offset, stride = samples
                spread_row(
                    table, lookup, knot_cell, steps, spread, start[offset::stride], buffers, out[i, offset::stride]
                )
            else:
                integrate_row(table, lookup, knot_cell, steps, row_key(key, rows[i]), samples, start, out[i])
