"""Kernels that collapse the forest of each row to a table of a scalar state, and integrate over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import LANES, kernel, part
from diffgbm.engine._line_kernels import both_answers, change_buffers, in_order, walk_leaves
from diffgbm.engine._low_discrepancy_kernels import (
    lane_buffers,
    low_discrepancy_rows,
    stratified_buffers,
    stratified_row,
)
from diffgbm.engine._random_kernels import row_key
from diffgbm.engine._sample_kernels import integrate_row
from diffgbm.engine._walk_kernels import answer, block_mask, walk_hits


@part
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


@part
def scatter(leaves: Any, hits: Any, width: Any, flat: Any) -> None:
    """Add each leaf to the difference array ``flat``."""
    for i in range(len(hits)):
        add_box(leaves[hits[i]], width, flat)


@part
def accumulate_line(before: Any, line: Any) -> None:
    """Turn one line of differences into values, given the values of the line before."""
    total = 0.0
    for b in range(len(line)):
        total += line[b]
        line[b] = before[b] + total


@part
def accumulate(table: Any, n_cells: Any) -> None:
    """Turn differences into values, in place: running sums along the bins and over the cells.

    Four lines at a time, because each running sum must wait for its last addition and four can wait together. The
    line behind the last cell holds differences that end there; it is never read, and is used as a line of zeros.
    """
    table[n_cells] = 0.0
    before = table[n_cells]
    k = 0
    while k + 4 <= n_cells:
        line0, line1, line2, line3 = table[k], table[k + 1], table[k + 2], table[k + 3]
        total0, total1, total2, total3 = 0.0, 0.0, 0.0, 0.0
        for b in range(table.shape[1]):
            total0 += line0[b]
            total1 += line1[b]
            total2 += line2[b]
            total3 += line3[b]
            value = before[b] + total0
            line0[b] = value
            value += total1
            line1[b] = value
            value += total2
            line2[b] = value
            line3[b] = value + total3
        before = line3
        k += 4
    while k < n_cells:
        accumulate_line(before, table[k])
        before = table[k]
        k += 1


@part
def tabulate(leaves: Any, hits: Any, n_cells: Any, table: Any) -> None:
    """Collapse the leaves that a row reaches to its table (cells + 1, bins)."""
    flat = table.reshape(-1)
    flat[:] = 0.0
    scatter(leaves, hits, np.uint64(table.shape[1]), flat)
    accumulate(table, n_cells)


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
    arranged: Any,
    out: Any,
) -> None:
    """Sample every row of a block.

    ``forest`` is (conditions, questions, nodes, roots, leaves, reach), ``plan`` is (knot_cell, n_cells, width,
    lookup, rows at a time), ``rows`` are positions in the request, ``arranged`` is low-discrepancy noise (or empty,
    for random noise), and ``out`` is (rows, n_samples).
    """
    conditions, n_questions, nodes, roots, leaves, reach = forest
    knot_cell, n_cells, width, lookup, at_once = plan
    masks = np.empty(n_questions, np.uint64)
    hits = np.empty((at_once, reach), np.int32)
    counts = np.empty(at_once, np.int64)
    n = arranged.normals.shape[1]
    table = np.empty((n_cells + 1, width))
    buffers = stratified_buffers(n)
    _, offset, stride = samples
    for first in range(0, X.shape[0], at_once):
        last = min(first + at_once, X.shape[0])
        answer(conditions, X, first, last, masks)
        walk_hits(nodes, roots, masks, block_mask(last - first), hits, counts)
        for i in range(first, last):
            tabulate(leaves, hits[i - first, : counts[i - first]], n_cells, table)
            if n > 0:
                stratified_row(table, lookup, knot_cell, steps, start[offset::stride], buffers, out[i, offset::stride])
            else:
                integrate_row(table, lookup, knot_cell, steps, row_key(key, rows[i]), samples, start, out[i])


@kernel
def integrate_lanes(
    forest: Any,
    whole: Any,
    plan: Any,
    steps: Any,
    rows: Any,
    samples: Any,
    X: Any,
    start: Any,
    arranged: Any,
    out: Any,
) -> None:
    """Carry low-discrepancy points of every row of a block, ``LANES`` rows at a time, into ``out``.

    The rows of ``X`` may be in any order: ``rows`` are their places in ``out``.

    ``forest`` is (conditions, questions, nodes, roots, boxes), ``whole`` is (whole values, their unit), ``plan`` is
    (knot_cell, n_cells, width, lookup, leaves that a block reaches at most).
    """
    conditions, n_questions, nodes, roots, boxes = forest
    values, unit = whole
    knot_cell, n_cells, width, lookup, room = plan
    offset, stride = samples
    masks = np.empty(n_questions, np.uint64)
    answers = np.empty(2 * n_questions + 2, np.uint64)
    leaf = np.empty(room, np.int32)
    reached = np.empty(room, np.uint64)
    changes = change_buffers(room, n_cells)
    buffers = lane_buffers(arranged.normals.shape[1], width)
    for begin in range(0, X.shape[0], 64):
        n_rows = min(64, X.shape[0] - begin)
        answer(conditions, X, begin, begin + n_rows, masks)
        both_answers(masks, answers)
        count = walk_leaves(nodes, roots, answers, block_mask(n_rows), leaf, reached)
        in_order(boxes, values, leaf[:count], reached, n_cells, changes)
        for group in range(0, n_rows, LANES):
            low_discrepancy_rows(
                changes,
                np.uint64(group),
                (unit, lookup, knot_cell),
                steps,
                arranged,
                start[offset::stride],
                buffers,
                rows[begin + group : begin + min(group + LANES, n_rows)],
                out[:, offset::stride],
            )
