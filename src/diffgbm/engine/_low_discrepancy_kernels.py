"""Kernels of array-RQMC: carry stratified points of a scalar state through the steps, without random numbers.

At each step the points are sorted, and the point of rank ``i`` gets value ``i`` of a fixed permutation of stratified
normals. The pairs (rank, noise) have low discrepancy, so that the points remain a low-discrepancy sample of their
distribution. Without noise this is stratification. See ``low_discrepancy`` for the reference.

Where there is noise, the sort takes most of the time. A sorting network compares the same positions whatever the
states are, so that several rows are sorted at once, one in each lane of a vector: point ``i`` of row ``l`` of a group
is at ``i * LANES + l``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import LANES, add_to_lanes, exchange_lanes, part
from diffgbm.engine._sample_kernels import CROWDED, bucket_of, climb, drift


@part
def sort_lanes(states: Any, pairs: Any) -> None:
    """Sort the states of each lane by a network: ``pairs`` are the positions in lane 0 that are compared, in order."""
    for c in range(len(pairs)):
        exchange_lanes(states, np.int64(pairs[c, 0]), np.int64(pairs[c, 1]))


@part
def look_up_lanes(
    tables: Any, cell: Any, used: Any, lookup: Any, scale: Any, states: Any, buckets: Any, out: Any
) -> None:
    """Write ``F(scale y)`` for each state of the ``used`` lanes, whose ``tables`` are (lanes, cells, bins)."""
    first, edges = lookup.first, lookup.edges
    for p in range(len(states)):
        buckets[p] = np.uint64(bucket_of(scale * states[p], lookup))
    flat = tables.reshape(-1)
    line, size = np.uint64(cell * tables.shape[2]), np.uint64(tables.shape[1] * tables.shape[2])
    most = lookup.most
    for i in range(0, len(states), LANES):
        at = line
        for p in range(np.uint64(i), np.uint64(i + used)):
            v = scale * states[p]
            if most <= 1:
                low = np.uint64(first[buckets[p]])
                low += np.uint64(edges[low] < v)
            elif most <= CROWDED:  # as many comparisons as there may be edges: no branch depends on the state
                low = np.uint64(first[buckets[p]])
                for _ in range(most):
                    low += np.uint64(edges[low] < v)
            else:
                low = climb(v, buckets[p], lookup)
            out[p] = flat[at + low]
            at += size


@part
def drift_lanes(
    tables: Any, knot_cell: Any, used: Any, lookup: Any, steps: Any, k: Any, states: Any, buckets: Any, out: Any
) -> None:
    """Write the drift at knot ``k`` for each state of the ``used`` lanes."""
    look_up_lanes(tables, knot_cell[k], used, lookup, steps.scale[k], states, buckets, out)
    linear, gain = steps.linear[k], steps.gain[k]
    for p in range(len(states)):
        out[p] = linear * states[p] + gain * out[p]


@part
def low_discrepancy_buffers(n: Any) -> Any:
    """Allocate the buffers of the functions below for ``n`` numbers."""
    return np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.uint64)


@part
def low_discrepancy_rows(
    tables: Any, lookup: Any, knot_cell: Any, steps: Any, arranged: Any, start: Any, buffers: Any, out: Any
) -> None:
    """Carry the points ``start`` (n,) of up to ``LANES`` rows from the first knot to the last, into ``out`` (rows, n).

    Lanes without a row are sorted with the others and never read.
    """
    state, ahead, slope, buckets = buffers
    used, n = out.shape
    for i in range(n):
        for p in range(i * LANES, (i + 1) * LANES):
            state[p] = steps.start * start[i]
    for k in range(len(steps.size)):
        h, e, w = steps.size[k], steps.noise[k], steps.corrector[k]
        noise = arranged.normals[k]
        if e != 0.0:
            sort_lanes(state, arranged.pairs)
        drift_lanes(tables, knot_cell, used, lookup, steps, k, state, buckets, slope)
        if w != 0.0:
            for p in range(len(state)):
                ahead[p] = state[p] + h * slope[p]
        share = h * (1.0 - w)
        for p in range(len(state)):
            state[p] += share * slope[p]
        if e != 0.0:
            for i in range(n):
                add_to_lanes(state, i * LANES, e * noise[i])
        if w == 0.0:
            continue
        if e != 0.0:
            for i in range(n):
                add_to_lanes(ahead, i * LANES, e * noise[i])
        drift_lanes(tables, knot_cell, used, lookup, steps, k + 1, ahead, buckets, slope)
        for p in range(len(state)):
            state[p] += h * w * slope[p]
    for lane in range(used):
        for i in range(n):
            out[lane, i] = state[i * LANES + lane]


@part
def stratified_row(table: Any, lookup: Any, knot_cell: Any, steps: Any, start: Any, buffers: Any, out: Any) -> None:
    """Carry the points ``start`` of one row from the first knot to the last without noise, into ``out``; both (n,)."""
    state, ahead, slope, buckets = buffers
    n = len(state)
    for i in range(n):
        state[i] = steps.start * start[i]
    for k in range(len(steps.size)):
        h, w = steps.size[k], steps.corrector[k]
        drift(table[knot_cell[k]], lookup, steps.scale[k], steps.linear[k], steps.gain[k], state, buckets, slope)
        if w == 0.0:
            for i in range(n):
                state[i] += h * slope[i]
            continue
        for i in range(n):
            ahead[i] = state[i] + h * slope[i]
            state[i] += h * (1.0 - w) * slope[i]
        j = k + 1
        drift(table[knot_cell[j]], lookup, steps.scale[j], steps.linear[j], steps.gain[j], ahead, buckets, slope)
        for i in range(n):
            state[i] += h * w * slope[i]
    for i in range(n):
        out[i] = state[i]
