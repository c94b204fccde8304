"""Kernels that integrate the samples of one row over a table of its collapsed forest.

Each works on a short run of samples, so that its buffers stay in the nearest cache and its loops are simple enough
for the compiler to use vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import part
from diffgbm.engine._random_kernels import ONE, draw

RUN = 512
"""Samples integrated together."""
CROWDED = 8
"""Edges in one bucket from which halving beats scanning."""


@part
def bucket_of(v: Any, lookup: Any) -> Any:
    """Return the bucket of ``v``. NaN is in the first, so that it indexes something."""
    position = (v - lookup.low) * lookup.inverse
    top = np.float64(len(lookup.first) - 2)
    position = position if position > 0.0 else 0.0
    return np.int64(position if position < top else top)


@part
def climb(v: Any, bucket: Any, lookup: Any) -> Any:
    """Return how many edges are below ``v``, given its bucket."""
    first, edges = lookup.first, lookup.edges
    low = np.uint64(first[bucket])
    low += np.uint64(edges[low] < v)  # most buckets hold one edge or none
    while edges[low] < v:
        high = np.uint64(first[bucket + ONE])
        while high - low > np.uint64(CROWDED):
            middle = (low + high) >> ONE
            if edges[middle] < v:
                low = middle + ONE
            else:
                high = middle
        low += np.uint64(edges[low] < v)
    return low


@part
def look_up(table: Any, lookup: Any, scale: Any, state: Any, buckets: Any, out: Any) -> None:
    """Write ``F(scale y)`` for each state; ``buckets`` is scratch (uint64).

    Buckets come first, in a loop of vector instructions; following them into the tables is a loop of loads.
    """
    first, edges = lookup.first, lookup.edges
    n = len(state)
    for i in range(n):
        buckets[i] = np.uint64(bucket_of(scale * state[i], lookup))
    if lookup.most <= 1:
        for i in range(n):
            low = np.uint64(first[buckets[i]])
            low += np.uint64(edges[low] < scale * state[i])
            out[i] = table[low]
    else:
        for i in range(n):
            out[i] = table[climb(scale * state[i], buckets[i], lookup)]


@part
def drift(table: Any, lookup: Any, scale: Any, linear: Any, gain: Any, state: Any, buckets: Any, out: Any) -> None:
    """Write ``linear y + gain F(scale y)`` for each state; ``buckets`` is scratch (uint64)."""
    look_up(table, lookup, scale, state, buckets, out)
    for i in range(len(state)):
        out[i] = linear * state[i] + gain * out[i]


@part
def integrate_run(table: Any, lookup: Any, knot_cell: Any, steps: Any, key: Any, samples: Any, buffers: Any) -> None:
    """Take the states of a run of samples, already in ``buffers``, from the first knot to the last."""
    first, stride, n = samples
    values, scratch = buffers
    state, ahead, slope, noise = values[0][:n], values[1][:n], values[2][:n], values[3][:n]
    buckets = scratch[0][:n]
    for k in range(len(steps.size)):
        h, e, w = steps.size[k], steps.noise[k], steps.corrector[k]
        linear, gain = steps.linear[k], steps.gain[k]
        look_up(table[knot_cell[k]], lookup, steps.scale[k], state, buckets, slope)
        if e != 0.0:
            draw(key, first, stride, k + 1, scratch, noise)
        if w == 0.0:
            if e != 0.0:
                for i in range(n):
                    state[i] += h * (linear * state[i] + gain * slope[i]) + e * noise[i]
            else:
                for i in range(n):
                    state[i] += h * (linear * state[i] + gain * slope[i])
            continue
        if e == 0.0:
            noise[:] = 0.0
        for i in range(n):
            d = h * (linear * state[i] + gain * slope[i])
            ahead[i] = state[i] + d + e * noise[i]
            state[i] += (1.0 - w) * d + e * noise[i]
        j = k + 1
        drift(table[knot_cell[j]], lookup, steps.scale[j], steps.linear[j], steps.gain[j], ahead, buckets, slope)
        for i in range(n):
            state[i] += h * w * slope[i]


@part
def integrate_row(
    table: Any, lookup: Any, knot_cell: Any, steps: Any, key: Any, samples: Any, start: Any, out: Any
) -> None:
    """Write the final states of samples ``offset, offset + stride, ...`` of one row into ``out`` (n_samples,).

    ``samples`` is (position of the row's first sample, offset, stride); ``start`` holds starting points for
    all samples, or nothing.
    """
    first_sample, offset, stride = samples
    values = np.empty(RUN), np.empty(RUN), np.empty(RUN), np.empty(RUN)
    scratch = np.empty(RUN, np.uint64), np.empty(RUN, np.uint64)
    state = values[0]
    total = (len(out) - offset + stride - 1) // stride
    for begin in range(0, total, RUN):
        n = min(RUN, total - begin)
        at = offset + begin * stride
        first = first_sample + at
        if len(start) > 0:
            for i in range(n):
                state[i] = start[at + i * stride]
        else:
            draw(key, first, stride, np.int64(0), scratch, state[:n])
        for i in range(n):
            state[i] *= steps.start
        integrate_run(table, lookup, knot_cell, steps, key, (first, stride, n), (values, scratch))
        for i in range(n):
            out[at + i * stride] = state[i]
