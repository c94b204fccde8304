r"""Atoms of several responses: classifiers say how often each is exactly an atom, joint points say together with what.

A diffusion model of two responses spreads a pile of zeros around zero. For each response :math:`j`, a cross-fitted
classifier gives the probability :math:`\pi_j(x)` of an atom :math:`v`. Of ``m`` joint points, :math:`m\,\pi_j(x)` are
moved to it: the lowest ones if ``v`` is the lower limit, the highest ones at the upper limit, else those whose ranks
are nearest to that of ``v``. The others are moved off ``v``, in order. Every point keeps its rank among those of its
response, so that the dependence between responses (the copula of the points) is that of the joint model.

References
----------
Schefzik, Thorarinsdottir & Gneiting (2013), Uncertainty quantification in complex simulation models using ensemble
copula coupling, Statistical Science 28 (marginals from elsewhere, ranks from joint points).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffgbm._util.types import Array, Booleans, Integers
from diffgbm.distributions.support import Support
from diffgbm.fitting.atoms import Atoms

JointAtoms = tuple[Atoms | None, ...]
"""Atoms of each of several responses; empty if none has any."""


def joint_support(limits: Support | None, atoms: Atoms) -> Support:
    """Return the support of a response with limits and atoms."""
    limits = limits or Support()
    return Support(max(limits.low, atoms.low), min(limits.high, atoms.high), atoms.values, limits.integers)


def with_joint_atoms(points: Array, supports: Sequence[Support | None], probabilities: Sequence[Array | None]) -> Array:
    """Move points (n, m, d) to possible values; ``probabilities`` (n, k) are those of the atoms of each response."""
    columns = []
    for j, (support, found) in enumerate(zip(supports, probabilities, strict=True)):
        column = points[:, :, j]
        if support is not None:
            column = support.moved(column) if found is None else snapped(column, support, found)
        columns.append(column)
    return np.stack(columns, axis=2)


def snapped(points: Array, support: Support, probabilities: Array) -> Array:
    """Move points (n, m) in any order to the atoms of a support, as often as ``probabilities`` (n, k) say.

    Other points are at no atom and between the limits. Each keeps its rank in its row.
    """
    order = np.argsort(points, axis=1, kind="stable")
    ends = Support(
        -np.inf if support.low in support.atoms else support.low,
        np.inf if support.high in support.atoms else support.high,
    )
    inside = ends.confined(np.take_along_axis(points, order, axis=1))
    out = np.empty_like(points)
    np.put_along_axis(out, order, _snapped(inside, support, probabilities), axis=1)
    return out


def _snapped(points: Array, support: Support, probabilities: Array) -> Array:
    """Do the same with sorted points (n, m)."""
    m, values = points.shape[1], support.atoms
    ends = np.rint(m * np.cumsum(np.nan_to_num(probabilities), axis=1)).astype(np.int64)
    counts = np.diff(ends, axis=1, prepend=0)
    starts = _starts(points, support, counts)
    position, out, atom = np.arange(m), points, np.full(points.shape, -1)
    for k, value in enumerate(values.tolist()):
        first, last = starts[:, k], starts[:, k] + counts[:, k]
        # whole numbers beside an atom round to other ones
        margin = 0.5 if support.integers else 0.0
        out = _above(out, last, value + margin)
        out = -_above(-out[:, ::-1], m - first, margin - value)[:, ::-1]
        atom[(position >= first[:, None]) & (position < last[:, None])] = k
    known = np.append(values, np.nan)[atom]
    if support.integers:
        out = support.rounded(out)
        out = out + (out == support.low) * (support.low in values) - (out == support.high) * (support.high in values)
    return np.where(atom >= 0, known, out)


def _starts(points: Array, support: Support, counts: Integers) -> Integers:
    """Return the rank in sorted points (n, m) at which the points of each atom begin: shape (n, k)."""
    m, values = points.shape[1], support.atoms
    starts = np.empty_like(counts)
    for k, value in enumerate(values.tolist()):
        if value in (support.low, support.high):
            starts[:, k] = 0 if value == support.low else m - counts[:, k]
        else:
            middle = 0.5 * (np.sum(points < value, axis=1) + np.sum(points <= value, axis=1))
            starts[:, k] = np.rint(middle - 0.5 * counts[:, k])
    starts = np.maximum(starts, 0)
    for k in range(1, len(values)):
        starts[:, k] = np.maximum(starts[:, k], starts[:, k - 1] + counts[:, k - 1])
    end = np.full(len(points), m)
    for k in reversed(range(len(values))):
        starts[:, k] = np.minimum(starts[:, k], end - counts[:, k])
        end = starts[:, k]
    return starts


def _above(points: Array, first: Integers, value: float) -> Array:
    """Move sorted points (n, m) of rank ``first`` (n,) and more that are at most ``value`` above it, in order.

    They lie between ``value`` and the next point, denser towards ``value``, as those that ``Support.confined`` moves.
    """
    n, m = points.shape
    end = np.maximum(first, np.sum(points <= value, axis=1))
    if np.all(end == first):
        return points
    width = np.maximum(points[:, -1] - points[:, 0], 4.0 * np.spacing(abs(value)) + np.finfo(float).tiny)
    after = np.where(end < m, points[np.arange(n), np.minimum(end, m - 1)], value + width)
    position = np.arange(m)
    part = np.clip((position - first[:, None] + 0.5) / (end - first + 0.5)[:, None], 0.0, 1.0) ** 2
    lifted = np.maximum(value + part * (after - value)[:, None], np.nextafter(value, np.inf))
    return np.where((position >= first[:, None]) & (position < end[:, None]), lifted, points)


def carried(samples: Array, before: Array, after: Array, support: Support) -> Array:
    """Move samples (s, n) as points ``before`` (n, m) of their rows were moved to ``after`` (n, m).

    A sample whose nearest point is at an atom is at it. Others are moved as far as their nearest point, and stay on
    their side of the atoms.
    """
    before, after = (np.sort(part, axis=1) for part in (before, after))
    atom = support.is_atom(after) if not support.integers else np.isin(after, support.atoms)
    rows = zip(samples.T, before, after, atom, strict=True)
    return np.column_stack([_carried_row(*row, support) for row in rows])


def _carried_row(samples: Array, before: Array, after: Array, atom: Booleans, support: Support) -> Array:
    m = len(before)
    rank = np.interp(samples, before, np.arange(m))
    near = np.rint(rank).astype(np.int64)
    moved = after[near] + (samples - before[near])
    below, above = np.floor(rank).astype(np.int64), np.ceil(rank).astype(np.int64)
    inner = (samples > before[0]) & (samples < before[-1])
    moved = np.where(inner, np.clip(moved, after[below], after[above]), moved)
    low = after[0] if np.isfinite(support.low) else -np.inf
    high = after[-1] if np.isfinite(support.high) else np.inf
    moved = np.clip(moved, low, high)
    if support.integers:
        moved = support.rounded(moved)
    return np.where(atom[near] | np.isin(moved, support.atoms), after[near], moved)


def probabilities_of(atoms: JointAtoms, X: Array, of: Callable[[Atoms], Any] = lambda atoms: atoms) -> list[Any]:
    """Return the probabilities (n, k) of the atoms of each response for encoded rows (n, p); ``None`` without any."""
    return [None if each is None else of(each).probabilities(X) for each in atoms]
