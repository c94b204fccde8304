"""Kernels of array-RQMC: carry stratified points of a scalar state through the steps, without random numbers.

At each step the points are sorted, and the point of rank ``i`` gets value ``i`` of a fixed permutation of stratified
normals. The pairs (rank, noise) have low discrepancy, so that the points remain a low-discrepancy sample of their
distribution. Without noise this is stratification. See ``low_discrepancy`` for the reference.

Where there is noise, the sort takes much of the time. A sorting network compares the same positions whatever the
states are, so that several rows are sorted at once, one in each lane of a vector: point ``i`` of row ``l`` of a group
is at ``i * LANES + l``. A row alone has its points in the lanes instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import LANES, SIXTY_FOUR, add_to_lanes, exchange_lanes, part, sort_sixty_four
from diffgbm.engine._line_kernels import bring_line, bring_single_line
from diffgbm.engine._sample_kernels import CROWDED, bucket_of, climb, drift, look_up

WIDTH, LAST = np.uint64(LANES), np.uint64(LANES - 1)


@part
def sort_lanes(states: Any, pairs: Any) -> None:
    """Sort the states of each lane by a network: ``pairs`` are the positions in lane 0 that are compared, in order."""
    for c in range(len(pairs)):
        exchange_lanes(states, np.int64(pairs[c, 0]), np.int64(pairs[c, 1]))


@part
def look_up_lanes(line: Any, used: Any, lookup: Any, scale: Any, states: Any, buckets: Any, out: Any) -> None:
    """Write ``F(scale y)``, a whole number, for each state of the ``used`` lanes, from a ``line`` of bins of all."""
    first, edges, most = lookup.first, lookup.edges, lookup.most
    for p in range(len(states)):
        buckets[p] = np.uint64(bucket_of(scale * states[p], lookup))
    if used == LANES and most <= 1:
        for p in range(np.uint64(len(states))):
            low = np.uint64(first[buckets[p]])
            low += np.uint64(edges[low] < scale * states[p])
            out[p] = line[low * WIDTH + (p & LAST)]
        return
    for i in range(0, len(states), LANES):
        for p in range(np.uint64(i), np.uint64(i + used)):
            v = scale * states[p]
            if most <= CROWDED:  # as many comparisons as there may be edges: no branch depends on the state
                low = np.uint64(first[buckets[p]])
                for _ in range(most):
                    low += np.uint64(edges[low] < v)
            else:
                low = climb(v, buckets[p], lookup)
            out[p] = line[low * WIDTH + (p & LAST)]


@part
def drift_lanes(line: Any, unit: Any, used: Any, lookup: Any, steps: Any, k: Any, states: Any, buffers: Any) -> None:
    """Write the drift at knot ``k`` for each state of the ``used`` lanes to the first of ``buffers``."""
    slope, buckets = buffers
    look_up_lanes(line, used, lookup, steps.scale[k], states, buckets, slope)
    linear, gain = steps.linear[k], steps.gain[k] * unit
    for p in range(len(states)):
        slope[p] = linear * states[p] + gain * slope[p]


@part
def aligned(n: Any) -> Any:
    """Allocate ``n`` zeros at the beginning of a cache line, so that no vector lies across two."""
    room = np.zeros(n + LANES)
    skip = (LANES - (room.ctypes.data // 8) % LANES) % LANES
    return room[skip : skip + n]


@part
def lane_buffers(n: Any, n_bins: Any) -> Any:
    """Allocate states, states ahead, slopes with buckets, for ``n`` points in each lane; differences, and a line."""
    size, length = max(n * LANES, SIXTY_FOUR), n_bins * LANES
    rest = aligned(size), np.zeros(size, np.uint64)
    return aligned(size), aligned(size), rest, np.zeros(length, np.int32), np.zeros(length, np.int32)


@part
def low_discrepancy_rows(
    changes: Any, group: Any, plan: Any, steps: Any, arranged: Any, start: Any, buffers: Any, rows: Any, out: Any
) -> None:
    """Carry the points ``start`` (n,) of up to ``LANES`` rows from the first knot to the last.

    ``changes`` are those of the lines of a block in order, and ``group`` is the position of the first row in it.
    ``plan`` is (unit of the changes, lookup, knot_cell), and ``rows`` are the places of the rows in ``out`` (rows, n).
    Lanes without a row are sorted with the others and never read.
    """
    used, n = len(rows), out.shape[1]
    if used == 1 and n <= SIXTY_FOUR:
        low_discrepancy_row(changes, group, plan, steps, arranged, start, buffers, out[rows[0]])
        return
    unit, lookup, knot_cell = plan
    state, ahead, rest, difference, line = buffers
    slope = rest[0]
    difference[:] = 0
    cell = np.int64(-1)
    for i in range(n):
        for p in range(i * LANES, (i + 1) * LANES):
            state[p] = steps.start * start[i]
    for k in range(len(steps.size)):
        h, e, w = steps.size[k], steps.noise[k], steps.corrector[k]
        noise = arranged.normals[k]
        if e != 0.0:
            sort_lanes(state, arranged.pairs)
        cell = bring_line(changes, group, difference, line, cell, knot_cell[k])
        drift_lanes(line, unit, used, lookup, steps, k, state, rest)
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
        cell = bring_line(changes, group, difference, line, cell, knot_cell[k + 1])
        drift_lanes(line, unit, used, lookup, steps, k + 1, ahead, rest)
        for p in range(len(state)):
            state[p] += h * w * slope[p]
    for lane in range(used):
        for i in range(n):
            out[rows[lane], i] = state[i * LANES + lane]


@part
def drift_single(line: Any, unit: Any, lookup: Any, steps: Any, k: Any, states: Any, buffers: Any) -> None:
    """Write the drift at knot ``k`` for each state of one row to the first of ``buffers``."""
    slope, buckets = buffers
    look_up(line, lookup, steps.scale[k], states, buckets, slope[: len(states)])
    linear, gain = steps.linear[k], steps.gain[k] * unit
    for p in range(len(states)):
        slope[p] = linear * states[p] + gain * slope[p]


@part
def low_discrepancy_row(
    changes: Any, position: Any, plan: Any, steps: Any, arranged: Any, start: Any, buffers: Any, out: Any
) -> None:
    """Carry up to 64 points ``start`` (n,) of one row into ``out`` (n,): as ``low_discrepancy_rows``, to the last bit.

    The points are sorted in the lanes of vectors. Places behind the last point hold infinity.
    """
    unit, lookup, knot_cell = plan
    state, ahead, rest, difference, line = buffers
    slope, n = rest[0], len(start)
    bins = len(difference) // LANES
    difference, line = difference[:bins], line[:bins]
    difference[:] = 0
    cell = np.int64(-1)
    for i in range(n):
        state[i] = steps.start * start[i]
    state[n:SIXTY_FOUR] = np.inf
    for k in range(len(steps.size)):
        h, e, w = steps.size[k], steps.noise[k], steps.corrector[k]
        noise = arranged.normals[k]
        if e != 0.0:
            sort_sixty_four(state)
        cell = bring_single_line(changes, position, difference, line, cell, knot_cell[k])
        drift_single(line, unit, lookup, steps, k, state[:n], rest)
        share = h * (1.0 - w)
        for i in range(n):
            ahead[i] = state[i] + h * slope[i] + e * noise[i]
            state[i] = state[i] + share * slope[i] + e * noise[i]
        if w == 0.0:
            continue
        cell = bring_single_line(changes, position, difference, line, cell, knot_cell[k + 1])
        drift_single(line, unit, lookup, steps, k + 1, ahead[:n], rest)
        for i in range(n):
            state[i] += h * w * slope[i]
    for i in range(n):
        out[i] = state[i]


@part
def stratified_buffers(n: Any) -> Any:
    """Allocate states, states ahead, slopes and buckets of ``n`` points."""
    return np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.uint64)


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
