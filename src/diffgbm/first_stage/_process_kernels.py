"""The kernel of a Gaussian process's posterior mean: distances, correlations and their sum, a short run at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import LANES, kernel, part, times_power_of_two

RUN = 512
"""Training rows at a time: their distances stay in the nearest cache."""
LOG2E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
SHIFT = 6755399441055744.0
"""1.5 * 2**52: a number to which it is added is rounded to a whole one, in the lowest bits of the sum."""
LEAST = -708.0
"""The exponential of anything less is taken as that of this."""


@part
def exp_of(x: Any) -> Any:
    r"""Exponential of ``x`` from -708 to 0 to 2e-16: :math:`2^k e^r` with a polynomial for the remainder ``r``.

    Without a call or a branch, so that the loop around it works on vectors.
    """
    x = x if x > LEAST else LEAST
    shifted = x * LOG2E + SHIFT
    k = shifted - SHIFT
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return times_power_of_two(p, shifted)


@part
def squared_distances(row: Any, points: Any, first: Any, out: Any) -> None:
    """Write the squared distances of a row (q,) to the points ``first, first + 1, ...`` of ``points`` (q, m)."""
    n = len(out)
    for j in range(n):
        out[j] = 0.0
    for c in range(len(row)):
        v, line = row[c], points[c, first : first + n]
        for j in range(n):
            d = v - line[j]
            out[j] += d * d


@kernel
def process_means(rows: Any, points: Any, alpha: Any, matern: Any, out: Any) -> None:
    """Write ``k(x, X) alpha`` for each of the scaled rows (n, q) into ``out`` (n, k).

    ``points`` (q, m) are scaled, ``alpha`` (k, m) are the coefficients of each output. The correlation is
    ``exp(-d^2 / 2)``, or that of Matern 5/2. Each row is added in the same order, whichever rows are predicted with it.
    """
    m, k = points.shape[1], len(alpha)
    buffer = np.empty(RUN)
    sums = np.empty((k, LANES))
    for i in range(rows.shape[0]):
        sums[:] = 0.0
        for first in range(0, m, RUN):
            n = min(RUN, m - first)
            part_of = buffer[:n]
            squared_distances(rows[i], points, first, part_of)
            if matern:
                for j in range(n):
                    r = np.sqrt(5.0 * part_of[j])
                    part_of[j] = (1.0 + r + r * r / 3.0) * exp_of(-r)
            else:
                for j in range(n):
                    part_of[j] = exp_of(-0.5 * part_of[j])
            whole = n - n % LANES
            for o in range(k):
                weights, line = alpha[o, first : first + n], sums[o]
                for j in range(0, whole, LANES):
                    for lane in range(LANES):
                        line[lane] += weights[j + lane] * part_of[j + lane]
                for j in range(whole, n):
                    line[0] += weights[j] * part_of[j]
        for o in range(k):
            out[i, o] = np.sum(sums[o])
