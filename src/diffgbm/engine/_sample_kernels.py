"""Kernels that integrate the samples of one row over a table of its collapsed forest.

Each works on a short run of samples, so that its buffers stay in the nearest cache and its loops are simple enough
for the compiler to use vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm.engine._numba import kernel
from diffgbm.engine._random_kernels import LAYER_BITS, ONE, U32, normal_slow, squares
from diffgbm.engine.ziggurat import EDGES, WIDTHS

RUN = 256
"""Samples integrated together."""
CROWDED = 8
"""Edges in one bucket from which halving beats scanning."""


@kernel
def draw(key: Any, first: Any, stride: Any, number: Any, bits: Any, out: Any) -> None:
    """Write the normals of samples ``first, first + stride, ...`` for one draw number; ``bits`` is scratch."""
    n = len(out)
    counter = (np.uint64(first) << U32) | np.uint64(number)
    jump = np.uint64(stride) << U32
    for i in range(n):
        bits[i] = squares(counter + np.uint64(i) * jump, key)
    for i in range(n):
        b = bits[i]
        layer = b & LAYER_BITS
        x = np.float64(np.int64(b) >> 11) * WIDTHS[layer]
        out[i] = x
        if abs(x) >= EDGES[layer + ONE]:
            out[i] = normal_slow(b, counter + np.uint64(i) * jump, key)


@kernel
def bin_of(v: Any, lookup: Any) -> Any:
    """Return how many edges are below ``v``. NaN is below all of them, so that it indexes something."""
    first, edges = lookup.first, lookup.edges
    position = (v - lookup.low) * lookup.inverse
    top = np.float64(len(first) - 2)
    bucket = np.uint64(np.int64(min(position, top))) if position > 0.0 else np.uint64(0)
    low = np.uint64(first[bucket])
    if edges[low] < v:  # most buckets hold one edge or none: compiled to an addition, not a branch
        low += ONE
    while edges[low] < v:
        high = np.uint64(first[bucket + ONE])
        while high - low > np.uint64(CROWDED):
            middle = (low + high) >> ONE
            if edges[middle] < v:
                low = middle + ONE
            else:
                high = middle
        if edges[low] < v:
            low += ONE
    return low


@kernel
def drift(table: Any, lookup: Any, scale: Any, linear: Any, gain: Any, state: Any, out: Any) -> None:
    """Write ``linear y + gain F(scale y)`` for each state."""
    for i in range(len(state)):
        y = state[i]
        out[i] = linear * y + gain * table[bin_of(scale * y, lookup)]


@kernel
def integrate_run(table: Any, lookup: Any, knot_cell: Any, steps: Any, key: Any, samples: Any, buffers: Any) -> None:
    """Take the states of a run of samples, already in ``buffers``, from the first knot to the last."""
    first, stride, n = samples
    state, ahead, slope, noise, bits = buffers
    state, ahead, slope, noise = state[:n], ahead[:n], slope[:n], noise[:n]
    for k in range(len(steps.size)):
        h, e, w = steps.size[k], steps.noise[k], steps.corrector[k]
        drift(table[knot_cell[k]], lookup, steps.scale[k], steps.linear[k], steps.gain[k], state, slope)
        if e != 0.0:
            draw(key, first, stride, k + 1, bits, noise)
        if w == 0.0:
            if e != 0.0:
                for i in range(n):
                    state[i] = state[i] + h * slope[i] + e * noise[i]
            else:
                for i in range(n):
                    state[i] = state[i] + h * slope[i]
            continue
        if e == 0.0:
            noise[:] = 0.0
        for i in range(n):
            noise[i] *= e
            ahead[i] = state[i] + h * slope[i] + noise[i]
            state[i] += h * (1.0 - w) * slope[i] + noise[i]
        j = k + 1
        drift(table[knot_cell[j]], lookup, steps.scale[j], steps.linear[j], steps.gain[j], ahead, slope)
        for i in range(n):
            state[i] += h * w * slope[i]


@kernel
def integrate_row(
    table: Any, lookup: Any, knot_cell: Any, steps: Any, key: Any, samples: Any, start: Any, out: Any
) -> None:
    """Write the final states of samples ``offset, offset + stride, ...`` of one row into ``out`` (n_samples,).

    ``samples`` is (position of the row's first sample, offset, stride); ``start`` holds given starting points for
    all samples, or nothing.
    """
    first_sample, offset, stride = samples
    state, ahead, slope, noise = np.empty(RUN), np.empty(RUN), np.empty(RUN), np.empty(RUN)
    bits = np.empty(RUN, np.uint64)
    total = (len(out) - offset + stride - 1) // stride
    for begin in range(0, total, RUN):
        n = min(RUN, total - begin)
        at = offset + begin * stride
        first = first_sample + at
        if len(start) > 0:
            for i in range(n):
                state[i] = start[at + i * stride]
        else:
            draw(key, first, stride, 0, bits, state[:n])
        for i in range(n):
            state[i] *= steps.start
        integrate_run(table, lookup, knot_cell, steps, key, (first, stride, n), (state, ahead, slope, noise, bits))
        for i in range(n):
            out[at + i * stride] = state[i]
