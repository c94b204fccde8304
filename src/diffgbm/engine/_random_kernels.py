"""Kernels of the random numbers: a keyed counter hash and a ziggurat. No state anywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diffgbm._util.kernels import kernel, part
from diffgbm.engine.ziggurat import EDGES, HEIGHTS, TAIL, WIDTHS

ONE = np.uint64(1)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
LAYER_BITS = np.uint64(0xFF)
UNIT = 2.0**-53


@part
def mix(x: Any) -> Any:
    """Finaliser of SplitMix64: a bijection of 64 bits in which every input bit flips half the output bits."""
    x = (x ^ (x >> np.uint64(30))) * MIX1
    x = (x ^ (x >> np.uint64(27))) * MIX2
    return x ^ (x >> np.uint64(31))


@part
def row_key(key: Any, row: Any) -> Any:
    """Return the 64-bit key of a row."""
    return mix(mix(key + GOLDEN) + (np.uint64(row) + ONE) * GOLDEN)


@part
def stream(own: Any, draw: Any) -> Any:
    """Return start and twist of the stream of a row's draw: one number for each sample.

    ``draw`` is ``step * d + coordinate``. Both are SplitMix64's: draw 0 takes the first two numbers of the sequence
    that starts at the row's key, draw 1 the next two.
    """
    at = own + (np.uint64(2) * np.uint64(draw) + ONE) * GOLDEN
    return mix(at), mix(at + GOLDEN)


@part
def scramble(x: Any, twist: Any) -> Any:
    """Finaliser of SplitMix64 with a ``twist`` between its two multiplications.

    All sequences of SplitMix64 are parts of one long cycle; the twist makes those that overlap different.
    """
    x = (x ^ (x >> np.uint64(30))) * MIX1 ^ twist
    x = (x ^ (x >> np.uint64(27))) * MIX2
    return x ^ (x >> np.uint64(31))


@part
def bits_of(start: Any, twist: Any, sample: Any) -> Any:
    """Return the 64 bits of a sample of a stream."""
    return scramble(start + np.uint64(sample) * GOLDEN, twist)


@part
def uniform(bits: Any) -> Any:
    """Return a uniform number strictly between 0 and 1."""
    return (np.float64(bits >> np.uint64(11)) + 0.5) * UNIT


@part
def normal_tail(state: Any) -> Any:
    """Return a normal beyond ``r``: exponential proposals of rate ``r``, accepted against the density."""
    while True:
        excess = -math.log(uniform(mix(state + GOLDEN))) / TAIL
        state += GOLDEN + GOLDEN
        if -2.0 * math.log(uniform(mix(state))) > excess * excess:
            return TAIL + excess


@part
def normal_slow(bits: Any) -> Any:
    """Finish a draw that fell outside the ziggurat's rectangles; further bits are SplitMix64 started at its own."""
    state = bits
    while True:
        layer = np.int64(bits & LAYER_BITS)
        x = np.float64(np.int64(bits) >> 11) * WIDTHS[layer]
        if abs(x) < EDGES[layer + 1]:
            return x
        if layer == 0:
            return normal_tail(state) if x > 0.0 else -normal_tail(state)
        state += GOLDEN
        if HEIGHTS[layer] + uniform(mix(state)) * (HEIGHTS[layer + 1] - HEIGHTS[layer]) < math.exp(-0.5 * x * x):
            return x
        state += GOLDEN
        bits = mix(state)


@part
def normal(bits: Any) -> Any:
    """Return the standard normal of 64 bits."""
    layer = np.int64(bits & LAYER_BITS)
    x = np.float64(np.int64(bits) >> 11) * WIDTHS[layer]
    return x if abs(x) < EDGES[layer + 1] else normal_slow(bits)


@part
def draw(own: Any, first: Any, stride: Any, number: Any, scratch: Any, out: Any) -> None:
    """Write a row's normals of samples ``first, first + stride, ...`` for one draw number.

    ``scratch`` is two arrays of uint64, for the bits and for the positions of the draws that the first pass does not
    finish: one in eighty, at random, so that a branch on it would often be guessed wrong.
    """
    n = len(out)
    bits, late = scratch
    x, twist = stream(own, number)
    x += np.uint64(first) * GOLDEN
    jump = np.uint64(stride) * GOLDEN
    for i in range(n):
        bits[i] = scramble(x, twist)
        x += jump
    n_late = np.uint64(0)
    for i in range(n):
        b = bits[i]
        layer = b & LAYER_BITS
        z = np.float64(np.int64(b) >> 11) * WIDTHS[layer]
        out[i] = z
        late[n_late] = np.uint64(i)
        n_late += np.uint64(abs(z) >= EDGES[layer + ONE])
    for j in range(n_late):
        out[late[j]] = normal_slow(bits[late[j]])


@kernel
def fill_normals(key: Any, rows: Any, samples: Any, step: Any, out: Any) -> None:
    """Fill ``out`` (rows, samples, d) with the normals of one step."""
    d = out.shape[2]
    for i in range(len(rows)):
        own = row_key(key, rows[i])
        for j in range(d):
            start, twist = stream(own, step * d + j)
            for s in range(len(samples)):
                out[i, s, j] = normal(bits_of(start, twist, samples[s]))


@kernel
def fill_bits(key: Any, rows: Any, samples: Any, draws: Any, out: Any) -> None:
    """Fill ``out`` (rows, samples, draws) with the raw 64 bits behind the normals, for test batteries."""
    for i in range(len(rows)):
        own = row_key(key, rows[i])
        for j in range(len(draws)):
            start, twist = stream(own, draws[j])
            for s in range(len(samples)):
                out[i, s, j] = bits_of(start, twist, samples[s])


@kernel
def fill_row_uniforms(bits: Any, out: Any) -> None:
    """Fill ``out`` (n,) with a uniform number for each row of ``bits`` (n, p), by all of its 64-bit words in order."""
    for i in range(len(bits)):
        own = GOLDEN
        for j in range(bits.shape[1]):
            own = mix((own ^ bits[i, j]) + GOLDEN)
        out[i] = uniform(own)
