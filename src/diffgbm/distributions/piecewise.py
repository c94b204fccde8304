"""Exact numbers of a piecewise linear quantile function, given its knots.

The quantile function of a row goes in straight lines through knots ``v`` (k,) at levels ``p`` (k,), both increasing.
Arrays of several rows are (n, k); levels may be shared by all rows, (k,).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diffgbm._util.types import Array, Booleans

ROWS = 1024
"""Rows of a block, where intermediate arrays are larger than the distributions."""
HALVINGS = 128
"""Most halvings of a bracket: enough to reach neighbouring numbers."""


def interpolated(u: Array, knots: Array, p: Array) -> Array:
    """Interpolate probabilities. Where knots are so close that the slope overflows, take that of the lower knot."""
    result = np.asarray(np.interp(u, knots, p, left=0.0, right=1.0))
    steep = ~(result <= 1.0) & ~np.isnan(u)
    if not steep.any():
        return result
    return np.where(steep, p[np.clip(np.searchsorted(knots, u, side="right") - 1, 0, len(p) - 1)], result)


def below(u: Array, knots: Array, p: Array) -> Array:
    """Interpolate the probabilities of less than ``u``: at a point mass, where knots coincide, the lowest of theirs."""
    first, last = (np.searchsorted(knots, u, side=side) for side in ("left", "right"))
    return np.where(last - first > 1, p[np.minimum(first, len(p) - 1)], interpolated(u, knots, p))


def crps(v: Array, p: Array, y: Array, low: float, high: float) -> Array:
    r"""CRPS :math:`\int_{low}^{high} (F(u) - 1\{u \ge y\})^2 du` of observations (n,), shape (n,)."""
    out = np.empty(len(v))
    for i in range(0, len(v), ROWS):
        knots, t = v[i : i + ROWS], y[i : i + ROWS, None]
        q = p if p.ndim == 1 else p[i : i + ROWS]
        left, right = np.clip(knots[:, :-1], low, high), np.clip(knots[:, 1:], low, high)
        # each segment lies below y up to here, and above it from here on
        here = np.clip(t, left, right)
        ends = knots[:, :-1], knots[:, 1:], q[..., :-1], q[..., 1:]
        first, at, last = (_between(u, *ends) for u in (left, here, right))
        under = (here - left) * _squares(first, at)
        over = (right - here) * _squares(1.0 - at, 1.0 - last)
        before = np.minimum(knots[:, 0], high) - np.maximum(t[:, 0], low)
        after = np.minimum(t[:, 0], high) - np.maximum(knots[:, -1], low)
        outside = np.maximum(before, 0.0) + np.maximum(after, 0.0)
        out[i : i + ROWS] = (under + over).sum(axis=1) + outside
    return out


def upper_mean(v: Array, p: Array, level: float) -> Array:
    r"""Mean :math:`\frac{1}{1 - \alpha} \int_\alpha^1 Q(p)\,dp` of the upper tail, shape (n,)."""
    left, right = np.clip(p[..., :-1], level, 1.0), np.clip(p[..., 1:], level, 1.0)
    first, last = (_between(u, p[..., :-1], p[..., 1:], v[:, :-1], v[:, 1:]) for u in (left, right))
    return np.sum(0.5 * (first + last) * (right - left), axis=1) / (1.0 - level)


def mean_excess(v: Array, p: Array, threshold: Array) -> Array:
    r"""Expected excess :math:`E(Y - c)_+` over a threshold ``c`` of each row (n,), shape (n,)."""
    first, last = (np.maximum(ends - threshold[:, None], 0.0) for ends in (v[:, :-1], v[:, 1:]))
    width = v[:, 1:] - v[:, :-1]
    # a segment that lies beyond the threshold in part: the mean of a line that starts at zero
    part = np.divide(last - first, width, out=np.ones_like(width), where=width > 0.0)
    return np.sum(0.5 * (first + last) * part * np.diff(p, axis=-1), axis=1)


def last_at_most(function: Callable[[Array], Array], v: Array, z: Array, strict: bool) -> Array:
    """Largest number ``u`` between the first and the last knot with ``function(u) <= z``, of the shape of ``z``.

    Parameters
    ----------
    function : callable
        Increasing function of an array of any shape.
    v : ndarray of shape (n, k)
        Knots.
    z : ndarray of shape (n,) or (n, q)
        Values of the function.
    strict : bool
        Ask for ``function(u) < z``.

    Returns
    -------
    ndarray of the shape of ``z``
        Minus infinity where there is no such number.
    """

    def reached(u: Array) -> Booleans:
        image = function(u)
        return np.asarray(image < z if strict else image <= z)

    first, last = (np.broadcast_to(ends if z.ndim == 1 else ends[:, None], z.shape) for ends in (v[:, 0], v[:, -1]))
    low, high = first, last
    for _ in range(HALVINGS):
        middle = low + 0.5 * (high - low)
        if np.all((middle == low) | (middle == high)):
            break
        inside = reached(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(reached(last), last, np.where(reached(first), low, -np.inf))


def _between(u: Array, a: Array, b: Array, p: Array, q: Array) -> Array:
    """Value at ``u`` of the line from ``(a, p)`` to ``(b, q)``, its ends beyond them."""
    width = b - a
    part = np.divide(np.clip(u, a, b) - a, width, out=np.zeros_like(width), where=width > 0)
    return p + (q - p) * part


def _squares(a: Array, b: Array) -> Array:
    """Mean of the square of a line that goes from ``a`` to ``b``."""
    return (a * a + a * b + b * b) / 3.0
