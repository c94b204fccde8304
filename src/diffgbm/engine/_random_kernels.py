"""Kernels of the random numbers: a keyed counter hash and a ziggurat. No state anywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diffgbm.engine._numba import kernel
from diffgbm.engine.ziggurat import EDGES, HEIGHTS, TAIL, WIDTHS

U32 = np.uint64(32)
ONE = np.uint64(1)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
LAYER_BITS = np.uint64(0xFF)
UNIT = 2.0**-53


@kernel
def mix(x: Any) -> Any:
    """Finaliser of SplitMix64: a bijection of 64 bits in which every input bit flips half the output bits."""
    x = (x ^ (x >> np.uint64(30))) * MIX1
    x = (x ^ (x >> np.uint64(27))) * MIX2
    return x ^ (x >> np.uint64(31))


@kernel
def row_key(key: Any, row: Any) -> Any:
    """Return the odd 64-bit key of a row."""
    return mix(mix(key + GOLDEN) + (np.uint64(row) + ONE) * GOLDEN) | ONE


@kernel
def squares(counter: Any, key: Any) -> Any:
    """Five rounds of Widynski's "squares" (arXiv:2004.06278): 64 bits for each pair of counter and key."""
    y = counter * key
    z = y + key
    x = y * y + y
    x = (x >> U32) | (x << U32)
    x = x * x + z
    x = (x >> U32) | (x << U32)
    x = x * x + y
    x = (x >> U32) | (x << U32)
    x = x * x + z
    t = x
    x = (x >> U32) | (x << U32)
    return t ^ ((x * x + y) >> U32)


@kernel
def counter_of(sample: Any, draw: Any) -> Any:
    """Counter of one normal; ``draw`` is ``step * d + coordinate``."""
    return (np.uint64(sample) << U32) | np.uint64(draw)


@kernel
def uniform(counter: Any, key: Any) -> Any:
    """Return a uniform number strictly between 0 and 1."""
    return (np.float64(squares(counter, key) >> np.uint64(11)) + 0.5) * UNIT


@kernel
def normal_tail(u: Any, counter: Any, key: Any) -> Any:
    """Return a normal beyond ``r``: exponential proposals of rate ``r``, accepted against the density."""
    while True:
        excess = -math.log(u) / TAIL
        key = mix(key + GOLDEN) | ONE
        if -2.0 * math.log(uniform(counter, key)) > excess * excess:
            return TAIL + excess
        key = mix(key + GOLDEN) | ONE
        u = uniform(counter, key)


@kernel
def normal_slow(bits: Any, counter: Any, key: Any) -> Any:
    """Finish a draw that fell outside the ziggurat's rectangles; further bits come from further keys."""
    while True:
        layer = np.int64(bits & LAYER_BITS)
        x = np.float64(np.int64(bits) >> 11) * WIDTHS[layer]
        if abs(x) < EDGES[layer + 1]:
            return x
        key = mix(key + GOLDEN) | ONE
        u = uniform(counter, key)
        if layer == 0:
            return normal_tail(u, counter, key) if x > 0.0 else -normal_tail(u, counter, key)
        if HEIGHTS[layer] + u * (HEIGHTS[layer + 1] - HEIGHTS[layer]) < math.exp(-0.5 * x * x):
            return x
        key = mix(key + GOLDEN) | ONE
        bits = squares(counter, key)


@kernel
def normal(counter: Any, key: Any) -> Any:
    """Return the standard normal of a counter under a key."""
    bits = squares(counter, key)
    layer = np.int64(bits & LAYER_BITS)
    x = np.float64(np.int64(bits) >> 11) * WIDTHS[layer]
    if abs(x) < EDGES[layer + 1]:
        return x
    return normal_slow(bits, counter, key)


@kernel
def fill_normals(key: Any, rows: Any, samples: Any, step: Any, out: Any) -> None:
    """Fill ``out`` (rows, samples, d) with the normals of one step."""
    d = out.shape[2]
    for i in range(len(rows)):
        own = row_key(key, rows[i])
        for s in range(len(samples)):
            for j in range(d):
                out[i, s, j] = normal(counter_of(samples[s], step * d + j), own)


@kernel
def fill_bits(key: Any, rows: Any, samples: Any, draws: Any, out: Any) -> None:
    """Fill ``out`` (rows, samples, draws) with the raw 64 bits behind the normals, for test batteries."""
    for i in range(len(rows)):
        own = row_key(key, rows[i])
        for s in range(len(samples)):
            for j in range(len(draws)):
                out[i, s, j] = squares(counter_of(samples[s], draws[j]), own)
