"""Kernels for a state of several coordinates.

Leaves bounded in at most one coordinate are collapsed to tables, as for a scalar state. The others are added sample
by sample at every knot: where a box is bounded in two coordinates, with a difference array over the ranks of the
samples in both; where it is bounded in more, by trying the samples inside its narrowest side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import kernel, part
from diffgbm.engine._random_kernels import draw, row_key
from diffgbm.engine._sample_kernels import bucket_of, climb
from diffgbm.engine._scalar_kernels import accumulate, add_box
from diffgbm.engine._walk_kernels import answer, block_mask, walk_hits
from diffgbm.engine.lookup import Lookup

RUN = 256
"""Samples integrated together: the difference array over ranks has the square of this many entries."""


@part
def rank_samples(bins: Any, below: Any, order: Any, rank: Any) -> None:
    """Sort samples by bin: ``below[b]`` samples have a smaller bin than ``b``; ``order`` and ``rank`` are inverse."""
    below[:] = 0
    for i in range(len(bins)):
        below[bins[i] + 1] += 1
    for b in range(1, len(below)):
        below[b] += below[b - 1]
    for i in range(len(bins)):
        rank[i] = below[bins[i]]
        below[bins[i]] += 1
        order[rank[i]] = i
    for b in range(len(below) - 1, 0, -1):  # each count has moved on to the next bin's
        below[b] = below[b - 1]
    below[0] = 0


@part
def add_pair(v: Any, box: Any, a: Any, b: Any, below: Any, grid: Any) -> Any:
    """Add a box bounded in coordinates ``a`` and ``b`` to the difference array over ranks, unless it is empty."""
    r0, r1 = below[a, box[2 + 2 * a]], below[a, box[3 + 2 * a]]
    s0, s1 = below[b, box[2 + 2 * b]], below[b, box[3 + 2 * b]]
    if r0 == r1 or s0 == s1:
        return False
    grid[r0, s0] += v
    grid[r0, s1] -= v
    grid[r1, s0] -= v
    grid[r1, s1] += v
    return True


@part
def add_many(v: Any, box: Any, below: Any, order: Any, bins: Any, out: Any) -> None:
    """Add a box to the samples inside it, trying those inside its narrowest side."""
    d = len(below)
    narrow, size = 0, len(out) + 1
    for j in range(d):
        inside = below[j, box[3 + 2 * j]] - below[j, box[2 + 2 * j]]
        if inside < size:
            narrow, size = j, inside
    first = below[narrow, box[2 + 2 * narrow]]
    for r in range(first, first + size):
        i = order[narrow, r]
        hit = True
        for j in range(d):
            hit &= (bins[j, i] >= box[2 + 2 * j]) & (bins[j, i] < box[3 + 2 * j])
        if hit:
            out[i] += v


@part
def prefix(values: Any, last: Any) -> Any:
    """Sum ``values[: last + 1]``."""
    total = np.int64(0)
    for s in range(last + 1):
        total += values[s]
    return total


@part
def sweep(grid: Any, order: Any, rank: Any, running: Any, out: Any) -> None:
    """Add the double running sum of ``grid`` at each sample's ranks to ``out``; leave ``grid`` empty."""
    n = len(out)
    running[:] = 0
    for r in range(n):
        line = grid[r]
        for s in range(n):
            running[s] += line[s]
            line[s] = 0
        line[n] = 0
        i = order[r]
        out[i] += prefix(running, rank[i])
    grid[n, : n + 1] = 0


@part
def add_residual(residual: Any, cell: Any, pairs: Any, scratch: Any, out: Any) -> None:
    """Add the leaves that are bounded in several coordinates, at one cell, to ``out`` (d, n)."""
    value, boxes, kind, count, unit = residual
    bins, below, order, rank, grid, running, used, sums = scratch
    n_pairs = len(pairs)
    n = out.shape[1]
    sums[:, :n] = 0
    for r in range(count):
        box = boxes[r]
        if box[0] <= cell < box[1]:
            output = kind[r] // (n_pairs + 1)
            pair = kind[r] % (n_pairs + 1)
            if pair == n_pairs:
                add_many(value[r], box, below, order, bins, sums[output, :n])
            elif add_pair(value[r], box, pairs[pair, 0], pairs[pair, 1], below, grid[output, pair]):
                used[output, pair] = True
    for output in range(len(out)):
        for pair in range(n_pairs):
            if used[output, pair]:
                used[output, pair] = False
                a, b = pairs[pair]
                sweep(grid[output, pair], order[a, :n], rank[b, :n], running[:n], sums[output, :n])
        for i in range(n):
            out[output, i] += unit * np.float64(sums[output, i])


@part
def drift_joint(row: Any, lookups: Any, steps: Any, k: Any, cell: Any, state: Any, scratch: Any, out: Any) -> None:
    """Write ``linear y + gain F(scale y)`` at knot ``k`` for states (d, n)."""
    table, residual, pairs, height = row
    bins, below, order, rank = scratch[:4]
    edges, edges_at, first, first_at, low, inverse, most = lookups
    d, n = state.shape
    for j in range(d):
        own_edges, own_first = edges[edges_at[j] : edges_at[j + 1]], first[first_at[j] : first_at[j + 1]]
        lookup = Lookup(own_edges, own_first, low[j], inverse[j], most[j])
        for i in range(n):
            v = steps.scale[k] * state[j, i]
            bins[j, i] = climb(v, np.uint64(bucket_of(v, lookup)), lookup)
    for o in range(d):
        out[o, :] = 0.0
        for j in range(d):
            line = table[(o * d + j) * height + cell]
            for i in range(n):
                out[o, i] += line[bins[j, i]]
    if residual[3] > 0:
        for j in range(d):
            width = edges_at[j + 1] - edges_at[j] + 2
            rank_samples(bins[j, :n], below[j, :width], order[j], rank[j])
        add_residual(residual, cell, pairs, scratch, out)
    for o in range(d):
        for i in range(n):
            out[o, i] = steps.linear[k] * state[o, i] + steps.gain[k] * out[o, i]


@part
def step_joint(
    row: Any, lookups: Any, knot_cell: Any, steps: Any, k: Any, noise: Any, state: Any, scratch: Any
) -> None:
    """Take states (d, n) over step ``k``; ``noise`` is already scaled."""
    h, w = steps.size[k], steps.corrector[k]
    slope = np.empty_like(state)
    drift_joint(row, lookups, steps, k, knot_cell[k], state, scratch, slope)
    if w == 0.0:
        for j in range(state.shape[0]):
            for i in range(state.shape[1]):
                state[j, i] += h * slope[j, i] + noise[j, i]
        return
    ahead = np.empty_like(state)
    for j in range(state.shape[0]):
        for i in range(state.shape[1]):
            ahead[j, i] = state[j, i] + h * slope[j, i] + noise[j, i]
            state[j, i] += h * (1.0 - w) * slope[j, i] + noise[j, i]
    drift_joint(row, lookups, steps, k + 1, knot_cell[k + 1], ahead, scratch, slope)
    for j in range(state.shape[0]):
        for i in range(state.shape[1]):
            state[j, i] += h * w * slope[j, i]


@part
def integrate_row_joint(
    row: Any, lookups: Any, knot_cell: Any, steps: Any, key: Any, samples: Any, start: Any, scratch: Any, out: Any
) -> None:
    """Write the final states of samples ``offset, offset + stride, ...`` of one row into ``out`` (n_samples, d)."""
    first_sample, offset, stride = samples
    d = out.shape[1]
    bits = np.empty(RUN, np.uint64), np.empty(RUN, np.uint64)
    total = (len(out) - offset + stride - 1) // stride
    for begin in range(0, total, RUN):
        n = min(RUN, total - begin)
        at = offset + begin * stride
        state = np.empty((d, n))
        noise = np.zeros((d, n))
        for j in range(d):
            if len(start) == 0:
                draw(key, first_sample + at, stride, j, bits, state[j])
            for i in range(n):
                state[j, i] = steps.start * (state[j, i] if len(start) == 0 else start[at + i * stride, j])
        for k in range(len(steps.size)):
            if steps.noise[k] != 0.0:
                for j in range(d):
                    draw(key, first_sample + at, stride, (k + 1) * d + j, bits, noise[j])
                    for i in range(n):
                        noise[j, i] *= steps.noise[k]
            else:
                noise[:] = 0.0
            step_joint(row, lookups, knot_cell, steps, k, noise, state, scratch)
        for j in range(d):
            for i in range(n):
                out[at + i * stride, j] = state[j, i]


@part
def sort_hits(leaves: Any, hits: Any, width: Any, flat: Any, details: Any, residual: Any) -> Any:
    """Add the leaves of one row to the difference arrays, or list them as residual; return how many are."""
    fixed, boxes, kinds = details
    value, own_boxes, own_kinds = residual
    count = 0
    for i in range(len(hits)):
        leaf = leaves[hits[i]]
        if leaf.at >= 0:
            add_box(leaf, width, flat)
        else:
            value[count] = fixed[hits[i]]
            for j in range(boxes.shape[1]):  # an assignment of slices compiles long
                own_boxes[count, j] = boxes[hits[i], j]
            own_kinds[count] = kinds[hits[i]]
            count += 1
    return count


@kernel
def integrate_block_joint(
    forest: Any, plan: Any, steps: Any, key: Any, rows: Any, samples: Any, X: Any, start: Any, out: Any
) -> None:
    """Sample every row of a block; as ``integrate_block``, with boxes, kinds and pairs of the residual leaves."""
    conditions, n_questions, nodes, roots, leaves, reach, boxes, kinds, fixed, unit = forest
    knot_cell, n_cells, width, lookups, pairs, at_once = plan
    d = out.shape[2]
    masks = np.empty(n_questions, np.uint64)
    hits = np.empty((at_once, reach), np.int32)
    counts = np.empty(at_once, np.int64)
    table = np.empty((d * d * (n_cells + 1), width))
    flat = table.reshape(-1)
    residual = (np.empty(reach, np.int64), np.empty((reach, boxes.shape[1]), np.int32), np.empty(reach, np.int32))
    integers = np.empty((2, d, RUN), np.int64)
    scratch = (
        np.empty((d, RUN), np.int64),
        np.empty((d, width + 2), np.int64),
        integers[0],
        integers[1],
        np.zeros((d, len(pairs), RUN + 1, RUN + 1), np.int64),
        np.empty(RUN, np.int64),
        np.zeros((d, len(pairs)), np.bool_),
        np.empty((d, RUN), np.int64),
    )
    for first in range(0, X.shape[0], at_once):
        last = min(first + at_once, X.shape[0])
        answer(conditions, X, first, last, masks)
        walk_hits(nodes, roots, masks, block_mask(last - first), hits, counts)
        for i in range(first, last):
            flat[:] = 0.0
            own = hits[i - first, : counts[i - first]]
            count = sort_hits(leaves, own, np.uint64(width), flat, (fixed, boxes, kinds), residual)
            for k in range(d * d):
                accumulate(table[k * (n_cells + 1) : (k + 1) * (n_cells + 1)], n_cells)
            row = (table, (residual[0], residual[1], residual[2], count, unit), pairs, n_cells + 1)
            integrate_row_joint(row, lookups, knot_cell, steps, row_key(key, rows[i]), samples, start, scratch, out[i])
