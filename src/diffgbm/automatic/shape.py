"""What kind of number the response is: values it is confined to, limits at which it piles up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_ATOMS = 50
"""A response of more different values is taken as continuous."""
ROWS_PER_ATOM = 20
"""And so is one of fewer rows than this for each value."""
PILE = 0.01
"""Share of rows at the largest or smallest value that makes it a limit."""


@dataclass(frozen=True)
class ResponseShape:
    """Values that a response is confined to.

    Attributes
    ----------
    atoms : ndarray of shape (k,) or None
        All values it takes, if they are few.
    low, high : float or None
        Limits at which it piles up.
    """

    atoms: Array | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, y: Array) -> ResponseShape:
        """Look at a response (n,)."""
        values, counts = np.unique(y, return_counts=True)
        if 1 < len(values) <= min(MOST_ATOMS, len(y) // ROWS_PER_ATOM):
            return cls(atoms=values)
        pile = max(2.0, PILE * len(y))
        low = float(values[0]) if counts[0] >= pile else None
        high = float(values[-1]) if counts[-1] >= pile else None
        return cls(None, low, high)

    def __bool__(self) -> bool:
        return self.atoms is not None or self.low is not None or self.high is not None

    def __call__(self, points: Array) -> Array:
        """Move points of any shape to the nearest value that is possible."""
        if self.atoms is not None:
            middle = 0.5 * (self.atoms[1:] + self.atoms[:-1])
            return self.atoms[np.searchsorted(middle, points)]
        if self.low is None and self.high is None:
            return points
        return np.clip(points, self.low, self.high)

    def __str__(self) -> str:
        if self.atoms is not None:
            return f"{len(self.atoms)} values from {self.atoms[0]:g} to {self.atoms[-1]:g}"
        limits = [f"at least {self.low:g}"] if self.low is not None else []
        limits += [f"at most {self.high:g}"] if self.high is not None else []
        return " and ".join(limits) or "continuous"
