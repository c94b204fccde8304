"""What kind of number the response is: the values that it takes, and limits at which its values pile up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.rows import sorted_rows
from diffgbm._util.types import Array
from diffgbm.distributions.support import Support

MAX_ATOMS = 50
"""A response of more different values is continuous."""
ROWS_PER_ATOM = 20
"""A response with fewer rows for each value is continuous."""
LIMIT_SHARE = 0.01
"""Share of the rows at the largest or smallest value that makes it a limit."""


@dataclass(frozen=True)
class ResponseShape:
    """Values that a response is confined to.

    Attributes
    ----------
    atoms : ndarray of shape (k,) or None
        All values that it takes, if they are few, with the gaps between counts.
    low, high : float or None
        Limits at which the response piles up: points beyond are moved to them.
    limits : Support or None
        Limits at which it has no probability, such as zero of a response that is positive: points beyond are moved
        inside. It also says whether the response is a whole number.
    """

    atoms: Array | None = None
    low: float | None = None
    high: float | None = None
    limits: Support | None = None

    @classmethod
    def of(cls, y: Array) -> ResponseShape:
        """Find the shape of a response (n,)."""
        values, counts = np.unique(y, return_counts=True)
        if 1 < len(values) <= min(MAX_ATOMS, len(y) // ROWS_PER_ATOM):
            return cls(atoms=_without_gaps(values))
        enough = max(2.0, LIMIT_SHARE * len(y))
        low = float(values[0]) if counts[0] >= enough else None
        high = float(values[-1]) if counts[-1] >= enough else None
        return cls(None, low, high)

    @classmethod
    def sign_of(cls, y: Array) -> ResponseShape:
        r"""Return the limit zero for a response (n,) that is never negative, else no limit.

        Points below zero are moved inside (``Support.confined``). Where a share ``LIMIT_SHARE`` of the responses is
        exactly zero they are moved to zero. ``benchmarks/results/structure.md`` compares with reflection, truncation
        and a transform.
        """
        return cls().within(Support(0.0), y) if len(y) and y.min() >= 0.0 else cls()

    def within(self, limits: Support, y: Array) -> ResponseShape:
        """Add limits to the shape of responses (n,); those that responses pile up at are ends of distributions."""
        enough = max(2.0, LIMIT_SHARE * len(y))
        low = limits.low if np.sum(y == limits.low) >= enough else self.low
        high = limits.high if np.sum(y == limits.high) >= enough else self.high
        return replace(self, low=low, high=high, limits=limits)

    def as_counts(self, limits: Support) -> ResponseShape:
        """Return all whole numbers between limits that the caller gave, if the few values are whole numbers in a row.

        The training rows need not hold the largest count that can occur.
        """
        if self.atoms is None or not _are_consecutive(self.atoms):
            return self
        return ResponseShape(limits=replace(limits, integers=True))

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.atoms, self.low, self.high, self.limits))

    def __call__(self, points: Array) -> Array:
        """Move points of any shape to the nearest possible value."""
        if self.atoms is not None:
            return self.atoms[_nearest(self.atoms, points)]
        support = self.support
        return points if support is None else support.rounded(np.clip(points, support.low, support.high))

    def confined(self, points: Array) -> Array:
        """Move points (n, m) of distributions to possible values; where there are ``limits`` they are sorted."""
        if self.limits is None or self.limits.integers or self.atoms is not None:
            return self(points)
        if self.low is not None or self.high is not None:
            points = np.clip(points, self.low, self.high)
        return self.limits.confined(sorted_rows(points))

    def moved(self, points: Array) -> Array:
        """Move points (n, m) of several responses, which belong together: each keeps its rank in its row."""
        if self.limits is None or self.limits.integers or self.atoms is not None:
            return self(points)
        order = np.argsort(points, axis=1, kind="stable")
        out = np.empty_like(points)
        np.put_along_axis(out, order, self.confined(np.take_along_axis(points, order, axis=1)), axis=1)
        return out

    @property
    def support(self) -> Support | None:
        """The support of predictive distributions; ``None`` for a response that can be anywhere."""
        if not self:
            return None
        if self.atoms is not None:
            return Support(atoms=self.atoms)
        limits = self.limits or Support()
        low, high = -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high
        return replace(limits, low=max(low, limits.low), high=min(high, limits.high))

    def __str__(self) -> str:
        if self.atoms is not None:
            return f"{len(self.atoms)} values from {self.atoms[0]:g} to {self.atoms[-1]:g}"
        return "continuous" if self.support is None else str(self.support)


def _are_consecutive(values: Array) -> bool:
    """Whether sorted values (k,), at least three of them, are whole numbers in a row."""
    return len(values) > 2 and bool((values == np.rint(values)).all() and (np.diff(values) == 1.0).all())


def _without_gaps(values: Array) -> Array:
    """Fill short gaps between sorted values (k,) that are whole numbers, most of them in a row.

    No row had the count 10, some had 9 and 11: that is chance. A code such as 999 is no count.
    """
    steps = np.diff(values)
    if len(values) < 3 or np.median(steps) != 1.0 or not (values == np.rint(values)).all():
        return values
    return np.concatenate(
        [np.arange(v, v + (step if step <= len(values) else 1.0)) for v, step in zip(values, steps, strict=False)]
        + [values[-1:]]
    )


def _nearest(atoms: Array, points: Array) -> NDArray[np.intp]:
    """Position of the nearest of sorted atoms (k,) to each point."""
    return np.searchsorted(0.5 * (atoms[1:] + atoms[:-1]), points)
