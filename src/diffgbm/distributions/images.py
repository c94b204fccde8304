"""A distribution of g(Y): the values of a function at the points of Y, whether it is monotone, and where it is flat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.types import Array
from diffgbm.distributions.support import Support

Function = Callable[[Array], ArrayLike]
"""A function that is applied to each number of an array."""
ROUNDING = 64.0
"""Points closer than this many units in the last place count as one."""
GRID = 2049
"""Numbers at which the limits of a function are looked up."""


def image(function: Function, points: Array) -> Array:
    """Return ``function(points)`` of the same shape; raise a ``ValueError`` if that is not a finite number each.

    A function without a value at some point would otherwise give a distribution without some of its probability.
    """
    values = quiet_image(function, points)
    if values.shape != points.shape:
        raise ValueError(
            f"function must be applied to each number, and keep the shape {points.shape} of its argument; got "
            f"{values.shape}. Use np.vectorize for a function of one number."
        )
    return _finite(values, points)


def joint_image(function: Function, points: Array) -> Array:
    """Return ``function(points)`` of shape (n, m) for points (n, m, d), checked as by ``image``."""
    values = quiet_image(function, points)
    if values.shape != points.shape[:2]:
        raise ValueError(
            f"function must map points {points.shape} to one number each, shape {points.shape[:2]}; got "
            f"{values.shape}. The responses are the last axis: points.sum(axis=-1), points[..., 0]."
        )
    return _finite(values, points)


def _finite(values: Array, points: Array) -> Array:
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(
            f"function must return finite numbers; it returns {values[bad][0]} at {points[bad][0]}, and is not finite "
            f"at {bad.sum():,} of {bad.size:,} points of the distributions. If the response cannot be there, clip it "
            "first: lambda y: g(np.maximum(y, low))."
        )
    return values


def quiet_image(function: Function, points: Array) -> Array:
    """Return ``function(points)`` without numpy's warnings: what is not finite is for the caller to judge."""
    with np.errstate(all="ignore"):
        return np.asarray(function(points), dtype=np.float64)


def direction(values: Array) -> int:
    """Return 1 if the values (n, m) increase in each row, -1 if they decrease in each row, otherwise 0."""
    steps = np.diff(values, axis=1)
    return 1 if np.all(steps >= 0.0) else -1 if np.all(steps <= 0.0) else 0


def flat_values(function: Function, points: Array, values: Array) -> Array:
    """Return the sorted values that ``function`` takes on whole intervals between neighbouring points.

    Parameters
    ----------
    function : callable
        The function.
    points, values : ndarray of shape (n, m)
        Sorted points of each row, and the values of the function there.

    Returns
    -------
    ndarray of shape (k,)
        Point masses that the function makes of a continuous distribution.
    """
    left, right = points[:, :-1], points[:, 1:]
    apart = right - left > ROUNDING * np.spacing(np.maximum(np.abs(left), np.abs(right)))
    equal = apart & (values[:, 1:] == values[:, :-1])
    if not equal.any():
        return np.empty(0)
    # an even function has the same value on both sides of its axis, but not in the middle
    flat = equal & (quiet_image(function, left + 0.5 * (right - left)) == values[:, :-1])
    return np.unique(values[:, :-1][flat])


def monotone_support(function: Function, support: Support | None) -> Support:
    """Return the support of an increasing function: the images of its limits, if finite, and atoms."""
    support = support or Support()
    ends = quiet_image(function, np.array([support.low, support.high]))
    low, high = np.where(np.isfinite(ends), ends, [-np.inf, np.inf]).tolist()
    return Support(low, high, _atoms(function, support, np.empty(0)))


def image_support(function: Function, support: Support | None, knots: Array, flat: Array) -> Support:
    """Return the support of any function: its limits between all knots, its flat values and the images of atoms."""
    atoms = _atoms(function, support or Support(), flat)
    if knots.size == 0:
        return Support(atoms=atoms)
    reached = quiet_image(function, np.concatenate([np.linspace(knots.min(), knots.max(), GRID), knots.ravel()]))
    reached = reached[np.isfinite(reached)]
    return (
        Support(float(reached.min()), float(reached.max()), atoms, estimated=True)
        if reached.size
        else Support(atoms=atoms)
    )


def _atoms(function: Function, support: Support, flat: Array) -> Array:
    atoms = quiet_image(function, support.atoms)
    return np.unique(np.concatenate([atoms[np.isfinite(atoms)], flat]))
