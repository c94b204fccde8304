r"""Where a response can be: its limits, and the values that have a probability of their own.

Points beyond a limit are moved inside by :math:`Q'(p) = l + (p / e)^2\,(Q(e) - l)` for :math:`p < e`, where
:math:`e = 2 F(l)` is twice the probability below the limit :math:`l`, and likewise above the upper limit. Quantiles
beyond level :math:`e` stay, the others keep their order, and none is piled up at the limit: a response that is never
exactly zero has no probability there. ``docs/distributions.md`` compares with clipping, reflection and truncation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from diffgbm._util.types import Array, Booleans


@dataclass(frozen=True, eq=False)
class Support:
    r"""Support of a predictive distribution: atoms of positive probability, limits of everything else.

    Attributes
    ----------
    low, high : float
        Limits.
    atoms : ndarray of shape (k,)
        Sorted values of positive probability: a point of a distribution that equals one of them is a part of its
        probability mass. Other points belong to the continuous part.
    integers : bool
        Whether all whole numbers are atoms.
    estimated : bool
        Whether the limits are those of the points that were seen: densities do not end there.
    """

    low: float = -np.inf
    high: float = np.inf
    atoms: Array = field(default_factory=lambda: np.empty(0))
    integers: bool = False
    estimated: bool = False

    @property
    def has_atoms(self) -> bool:
        """Whether any value has a probability of its own."""
        return self.integers or len(self.atoms) > 0

    @property
    def is_limited(self) -> bool:
        """Whether the response has a limit."""
        return bool(np.isfinite(self.low) or np.isfinite(self.high))

    def is_atom(self, values: Array) -> Booleans:
        """Whether values of any shape equal an atom."""
        atom = np.isin(values, self.atoms)
        return atom | (values == np.rint(values)) if self.integers else atom

    def confined(self, points: Array) -> Array:
        """Move sorted points (n, m) of distributions that lie beyond the limits inside, in order; see the module."""
        beyond = (points[:, :1] < self.low) | (points[:, -1:] > self.high)
        rows = np.flatnonzero(beyond[:, 0])
        if len(rows) == 0:
            return points
        out, some = points.copy(), points[rows]
        if np.isfinite(self.low):
            some = _from_below(some, self.low, self.high)
        if np.isfinite(self.high):
            # the same in the mirror, of what lay inside before
            some = -_from_below(-some[:, ::-1], -self.high, -self.low)[:, ::-1]
        out[rows] = np.sort(some, axis=1)
        return out

    def moved(self, points: Array) -> Array:
        """Move points (n, m) in any order to possible values; each keeps its rank in its row.

        Points beyond a limit that is an atom are moved to it, others inside. Several responses have joint points, which
        belong together.
        """
        if self.integers:
            return self.rounded(points)
        at_low, at_high = (end in self.atoms for end in (self.low, self.high))
        points = np.clip(points, self.low if at_low else None, self.high if at_high else None)
        order = np.argsort(points, axis=1, kind="stable")
        inside = self.confined(np.take_along_axis(points, order, axis=1))
        out = np.empty_like(points)
        np.put_along_axis(out, order, inside, axis=1)
        return out

    def carried(self, samples: Array, points: Array) -> Array:
        """Move samples (s, n) as ``moved`` moves the points (n, m) of their rows, each independently of the others."""
        if self.integers:
            return self.rounded(samples)
        before, after = (np.sort(part, axis=1) for part in (points, self.moved(points)))
        shifts = [np.interp(*row) for row in zip(samples.T, before, after - before, strict=True)]
        out = samples + np.column_stack(shifts)
        # beyond the outermost points, which are inside
        low = after[:, 0] if np.isfinite(self.low) else -np.inf
        high = after[:, -1] if np.isfinite(self.high) else np.inf
        return np.clip(out, low, high)

    def rounded(self, points: Array) -> Array:
        """Round points of any shape to whole numbers between the limits, if whole numbers are the atoms."""
        return np.clip(np.floor(points + 0.5), np.ceil(self.low), np.floor(self.high)) if self.integers else points

    def listed(self, values: Array) -> Support:
        """Return the support with the whole numbers among ``values`` as atoms of a list, if whole numbers are atoms."""
        if not self.integers:
            return self
        return Support(self.low, self.high, np.union1d(self.atoms, values[self.is_atom(values)]))

    @staticmethod
    def union(supports: Sequence[Support | None]) -> Support | None:
        """Return the support of a mixture: all atoms, the widest limits; ``None`` if no member has a support."""
        known = [support for support in supports if support is not None]
        if not known:
            return None
        if len(known) < len(supports):
            known.append(Support())
        atoms = np.unique(np.concatenate([support.atoms for support in known]))
        low, high = min(s.low for s in known), max(s.high for s in known)
        return Support(low, high, atoms, any(s.integers for s in known), any(s.estimated for s in known))

    def negative(self) -> Support:
        """Return the support of minus the response."""
        return replace(self, low=-self.high, high=-self.low, atoms=-self.atoms[::-1])

    def __str__(self) -> str:
        kind = ["whole numbers"] if self.integers else []
        limits = [f"at least {self.low:g}"] if np.isfinite(self.low) else []
        limits += [f"at most {self.high:g}"] if np.isfinite(self.high) else []
        return " ".join([*kind, *([" and ".join(limits)] if limits else [])]) or "any number"


def _from_below(points: Array, low: float, high: float) -> Array:
    """Move sorted points (n, m) below ``low`` above it, with as many of those that are inside, but at most half."""
    n, m = points.shape
    below = np.sum(points < low, axis=1)
    inside = m - below - np.sum(points > high, axis=1)
    moved = below + np.minimum(below, inside // 2)
    # without a point beyond those that move, their own range is all that is known of the width
    width = np.maximum(points[:, -1] - points[:, 0], np.spacing(abs(low)) + np.finfo(float).tiny)
    next_one = points[np.arange(n), np.minimum(moved, m - 1)]
    anchor = np.minimum(np.where(next_one > low, next_one, low + width), high)
    position = np.arange(m)
    part = np.minimum((position + 0.5) / (moved[:, None] + 0.5), 1.0) ** 2
    return np.where(position < moved[:, None], low + part * (anchor - low)[:, None], points)
