"""What kind of number the response is: values it is confined to, limits at which it piles up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array

MOST_ATOMS = 50
"""A response of more different values is taken as continuous."""
ROWS_PER_ATOM = 20
"""And so is one of fewer rows than this for each value."""
PILE = 0.01
"""Share of rows at the largest or smallest value that makes it a limit."""
ROOM = 0.001
"""Width of a value with room, as a share of the smallest distance between two values."""


@dataclass(frozen=True)
class ResponseShape:
    r"""Values that a response is confined to.

    Of a right law on few values an interval holds a value or not, and covers more than it says. Values with room are
    what a randomised PIT is made of: the probability of a value :math:`v` is spread evenly over

    .. math:: [v - \rho\,u,\; v + \rho\,(1 - u)]

    where :math:`\rho` is a thousandth of the distance between values and :math:`u`, uniform on [0, 1], belongs to the
    row. In a right law the PIT of what is observed is then uniform, and intervals cover what they say.

    Attributes
    ----------
    atoms : ndarray of shape (k,) or None
        All values it takes, if they are few.
    low, high : float or None
        Limits at which it piles up.
    room : float
        :math:`\rho`; zero confines to the values themselves.
    """

    atoms: Array | None = None
    low: float | None = None
    high: float | None = None
    room: float = 0.0

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
            return self.atoms[_nearest(self.atoms, points)]
        if self.low is None and self.high is None:
            return points
        return np.clip(points, self.low, self.high)

    def with_room(self) -> ResponseShape:
        """Give values room; a shape without values is left as it is."""
        if self.atoms is None:
            return self
        return replace(self, room=ROOM * float(np.diff(self.atoms).min()))

    def spread(self, points: Array, u: Array) -> Array:
        """Spread sorted points (n, m) of laws evenly over the room of the values that they are nearest to.

        ``u`` (n,) says where around a value a row's room is.
        """
        assert self.atoms is not None
        cell, place = _nearest(self.atoms, points), np.arange(points.shape[1])
        starts = np.diff(cell, axis=1, prepend=-1) != 0
        ends = np.diff(cell, axis=1, append=-1) != 0
        first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
        last = np.minimum.accumulate(np.where(ends, place, len(place))[:, ::-1], axis=1)[:, ::-1]
        share = (place - first + 0.5) / (last - first + 1)
        return self.atoms[cell] + self.room * (share - u[:, None])

    def pull(self, points: Array, u: Array) -> Array:
        """Move points (n, m) into the room of the values that they are nearest to; those that are there stay."""
        value = self(points)
        low = value - self.room * u[:, None]
        return np.clip(points, low, low + self.room)

    def __str__(self) -> str:
        if self.atoms is not None:
            extra = f", give or take {self.room:g}" if self.room else ""
            return f"{len(self.atoms)} values from {self.atoms[0]:g} to {self.atoms[-1]:g}{extra}"
        limits = [f"at least {self.low:g}"] if self.low is not None else []
        limits += [f"at most {self.high:g}"] if self.high is not None else []
        return " and ".join(limits) or "continuous"


def _nearest(atoms: Array, points: Array) -> NDArray[np.intp]:
    """Position of the nearest of sorted values (k,) to each point."""
    return np.searchsorted(0.5 * (atoms[1:] + atoms[:-1]), points)
