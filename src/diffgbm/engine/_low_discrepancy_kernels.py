"""Kernels of array-RQMC: carry stratified points of a scalar state through the steps, without random numbers.

At each step the points are sorted, and the point of rank ``i`` gets value ``i`` of a fixed permutation of stratified
normals. The pairs (rank, noise) have low discrepancy, so that the points remain a low-discrepancy sample of their
distribution. Without noise this is stratification. See ``low_discrepancy`` for the reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import part
from diffgbm.engine._sample_kernels import drift

RADIX = 256


@part
def sort_roughly(state: Any, keys: Any, counts: Any, scratch: Any, scratch_keys: Any) -> None:
    """Sort ``state`` by its position between smallest and largest, to 16 bits; equal positions keep their order.

    Two counting passes instead of a full sort: a finer order does not lower the discrepancy.
    """
    n = len(state)
    low, high = state[0], state[0]
    for i in range(n):
        low, high = min(low, state[i]), max(high, state[i])
    if not high - low > 0.0 or not high - low < np.inf:
        return
    inverse = (RADIX * RADIX - 1) / (high - low)
    counts[:] = 0
    for i in range(n):
        key = np.uint16((state[i] - low) * inverse)
        keys[i] = key
        counts[0, key & np.uint16(RADIX - 1)] += 1
        counts[1, key >> np.uint16(8)] += 1
    for p in range(2):
        total = 0
        for b in range(RADIX):
            total, counts[p, b] = total + counts[p, b], total
    for i in range(n):
        b = keys[i] & np.uint16(RADIX - 1)
        scratch[counts[0, b]] = state[i]
        scratch_keys[counts[0, b]] = keys[i]
        counts[0, b] += 1
    for i in range(n):
        b = scratch_keys[i] >> np.uint16(8)
        state[counts[1, b]] = scratch[i]
        counts[1, b] += 1


@part
def low_discrepancy_buffers(n: Any) -> Any:
    """Allocate the buffers of ``low_discrepancy_row`` for ``n`` samples."""
    keys, other_keys = np.empty(n, np.uint16), np.empty(n, np.uint16)
    bins, counts = np.empty(n, np.uint64), np.empty((2, RADIX), np.int64)
    return np.empty(n), np.empty(n), np.empty(n), bins, keys, other_keys, counts


@part
def low_discrepancy_row(
    table: Any, lookup: Any, knot_cell: Any, steps: Any, arranged: Any, start: Any, buffers: Any, out: Any
) -> None:
    """Carry the points ``start`` of one row from the first knot to the last, into ``out``; both (n,)."""
    state, ahead, slope, bins, keys, other_keys, counts = buffers
    n = len(state)
    for i in range(n):
        state[i] = steps.start * start[i]
    for k in range(len(steps.size)):
        h, e, w = steps.size[k], steps.noise[k], steps.corrector[k]
        if e != 0.0:
            sort_roughly(state, keys, counts, ahead, other_keys)
        drift(table[knot_cell[k]], lookup, steps.scale[k], steps.linear[k], steps.gain[k], state, bins, slope)
        noise = arranged.normals[k]
        if w == 0.0:
            for i in range(n):
                state[i] += h * slope[i] + e * noise[i]
            continue
        for i in range(n):
            ahead[i] = state[i] + h * slope[i] + e * noise[i]
            state[i] += h * (1.0 - w) * slope[i] + e * noise[i]
        j = k + 1
        drift(table[knot_cell[j]], lookup, steps.scale[j], steps.linear[j], steps.gain[j], ahead, bins, slope)
        for i in range(n):
            state[i] += h * w * slope[i]
    for i in range(n):
        out[i] = state[i]
