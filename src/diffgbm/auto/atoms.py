"""What kind of number the response is: the values that it takes, and limits at which its values pile up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array

MAX_ATOMS = 50
"""A response of more different values is continuous."""
ROWS_PER_ATOM = 20
"""A response with fewer rows for each value is continuous."""
LIMIT_SHARE = 0.01
"""Share of the rows at the largest or smallest value that makes it a limit."""
ATOM_WIDTH = 0.001
"""Width of an atom as a share of the smallest distance between two atoms."""


@dataclass(frozen=True)
class ResponseShape:
    r"""Values that a response is confined to.

    Intervals of a correct distribution on few values contain an atom or not, and cover more than their level. Atoms of
    positive width build the randomised PIT into the distribution: the probability of a value :math:`v` is uniform on

    .. math:: [v - \rho\,u,\; v + \rho\,(1 - u)]

    where :math:`\rho` is the atom width and :math:`u`, uniform on [0, 1], is the row's jitter. The PIT values of a
    correct distribution are then uniform, and its intervals attain nominal coverage.

    Attributes
    ----------
    atoms : ndarray of shape (k,) or None
        All values that it takes, if they are few.
    low, high : float or None
        Limits at which values pile up.
    atom_width : float
        :math:`\rho`; zero confines to the values themselves.
    """

    atoms: Array | None = None
    low: float | None = None
    high: float | None = None
    atom_width: float = 0.0

    @classmethod
    def of(cls, y: Array) -> ResponseShape:
        """Find the shape of a response (n,)."""
        values, counts = np.unique(y, return_counts=True)
        if 1 < len(values) <= min(MAX_ATOMS, len(y) // ROWS_PER_ATOM):
            return cls(atoms=values)
        enough = max(2.0, LIMIT_SHARE * len(y))
        low = float(values[0]) if counts[0] >= enough else None
        high = float(values[-1]) if counts[-1] >= enough else None
        return cls(None, low, high)

    def __bool__(self) -> bool:
        return self.atoms is not None or self.low is not None or self.high is not None

    def __call__(self, points: Array) -> Array:
        """Move points of any shape to the nearest possible value."""
        if self.atoms is not None:
            return self.atoms[_nearest(self.atoms, points)]
        if self.low is None and self.high is None:
            return points
        return np.clip(points, self.low, self.high)

    def with_atom_width(self) -> ResponseShape:
        """Return the shape with atoms of positive width; a shape without atoms stays as it is."""
        if self.atoms is None:
            return self
        return replace(self, atom_width=ATOM_WIDTH * float(np.diff(self.atoms).min()))

    def distribute(self, points: Array, jitter: Array) -> Array:
        """Move sorted points (n, m) to their nearest atoms, evenly over the width of each; ``jitter`` is (n,)."""
        assert self.atoms is not None
        atom, position = _nearest(self.atoms, points), np.arange(points.shape[1])
        starts = np.diff(atom, axis=1, prepend=-1) != 0
        ends = np.diff(atom, axis=1, append=-1) != 0
        first = np.maximum.accumulate(np.where(starts, position, 0), axis=1)
        last = np.minimum.accumulate(np.where(ends, position, len(position))[:, ::-1], axis=1)[:, ::-1]
        share = (position - first + 0.5) / (last - first + 1)
        return self.atoms[atom] + self.atom_width * (share - jitter[:, None])

    def clip(self, values: Array, jitter: Array) -> Array:
        """Move values (n, m) into their nearest atoms; values inside an atom stay. ``jitter`` is (n,)."""
        low = self(values) - self.atom_width * jitter[:, None]
        return np.clip(values, low, low + self.atom_width)

    def __str__(self) -> str:
        if self.atoms is not None:
            extra = f", atom width {self.atom_width:g}" if self.atom_width else ""
            return f"{len(self.atoms)} values from {self.atoms[0]:g} to {self.atoms[-1]:g}{extra}"
        limits = [f"at least {self.low:g}"] if self.low is not None else []
        limits += [f"at most {self.high:g}"] if self.high is not None else []
        return " and ".join(limits) or "continuous"


def _nearest(atoms: Array, points: Array) -> NDArray[np.intp]:
    """Position of the nearest of sorted atoms (k,) to each point."""
    return np.searchsorted(0.5 * (atoms[1:] + atoms[:-1]), points)
