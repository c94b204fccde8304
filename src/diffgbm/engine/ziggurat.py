r"""Tables of a ziggurat with 256 layers for the standard normal.

The area under :math:`f(x) = e^{-x^2/2}`, x > 0, is cut into 256 pieces of equal area ``v``. Piece 0 is the
strip :math:`[0, r] \times [0, f(r)]` with the tail beyond ``r``; piece ``i`` is the rectangle
:math:`[0, x_i] \times [f(x_i), f(x_{i+1})]` with :math:`x_1 = r`, where

.. math:: v = r f(r) + \int_r^\infty f, \qquad f(x_{i+1}) = f(x_i) + v / x_i

and ``r`` is such that the last height is exactly :math:`f(0) = 1`.

References
----------
Marsaglia and Tsang (2000), "The ziggurat method for generating random variables", Journal of Statistical Software 5(8).
"""

from __future__ import annotations

import math

import numpy as np

from diffgbm._util.types import Array

LAYERS = 256


def _density(x: float) -> float:
    return math.exp(-0.5 * x * x)


def _area(r: float) -> float:
    """Area of the strip of height ``f(r)`` together with the tail beyond ``r``."""
    return r * _density(r) + math.sqrt(0.5 * math.pi) * math.erfc(r / math.sqrt(2.0))


def _edges(r: float) -> list[float]:
    """Return the edges ``x_1 > x_2 > ...`` of the layers above a tail that starts at ``r``."""
    edges, area = [r], _area(r)
    while len(edges) < LAYERS:
        height = _density(edges[-1]) + area / edges[-1]
        if height >= 1.0:
            break
        edges.append(math.sqrt(-2.0 * math.log(height)))
    return edges


def _closing_tail() -> float:
    """Return the ``r`` for which exactly 256 layers reach the top, by bisection."""
    low, high = 3.0, 4.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if len(_edges(middle)) < LAYERS:  # too much area in each layer: they reach the top too early
            low = middle
        else:
            high = middle
    return high


def _tables() -> tuple[float, Array, Array, Array]:
    tail = _closing_tail()
    inner = _edges(tail)
    edges = np.array([_area(tail) / _density(tail), *inner, 0.0])
    edges[LAYERS] = 0.0
    heights = np.exp(-0.5 * edges * edges)
    return tail, edges[: LAYERS + 1], heights[: LAYERS + 1], edges[:LAYERS] / 2.0**52


TAIL, EDGES, HEIGHTS, WIDTHS = _tables()
"""``r``; ``x_0 .. x_256`` with ``x_0 = v / f(r)``; their densities; ``x_i / 2^52``."""
