r"""Predictive distributions to look at: smooth densities, and point masses beside them.

Trees make distributions with narrow peaks of little probability. ``pdf`` shows them all; pictures smooth them. The
drawn density of a row is :math:`\frac1K \sum_j N(y;\, v_j,\, h_j^2)` with :math:`v_j = Q(p_j)` at even levels
:math:`p_j`. The bandwidth is the distance to the nearer of the quantiles :math:`Q(p_j \pm w_j)`: a peak that holds less
probability than the window :math:`w_j` disappears, modes that hold more stay, and long tails get long kernels. All
bandwidths of a row shrink together until its distribution function moves by at most ``MOST_MOVED``.

References
----------
Breiman, Meisel & Purcell (1977), Variable kernel estimates of multivariate densities, Technometrics 19.
Silverman (1986), Density estimation for statistics and data analysis, Chapman & Hall (window; reflection at limits).
Davies & Kovac (2004), Densities, spectral densities and modality, Annals of Statistics 32 (the bound on what moves).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from diffgbm._util.types import Array, Booleans
from diffgbm.distributions.base import Distribution
from diffgbm.distributions.support import Support

WINDOW = 0.15
"""Smallest probability between a point and the quantile that sets its bandwidth."""
IN_TAIL, GROWTH = 0.7, 0.3
"""In the tails the window is this share of the tail's probability, and the bandwidth grows as a power of how much
smaller the window is: about constant bandwidths for a normal distribution."""
LEAST = 0.03
"""Smallest window, in the outermost tails: a peak there that holds less probability disappears, too."""
MOST_MOVED = 0.05
"""Largest distance between the distribution functions before and after smoothing."""
SHRINKING, SMALLEST = 0.7, 0.02
"""Factor by which all bandwidths shrink at a time, and the smallest product of such factors."""
KERNELS = 128
"""Kernels of a row."""
_CHECKED = (np.arange(32) + 0.5) / 32
"""Levels at which distribution functions are compared."""
ATOM = 0.02
"""Smallest probability of points that coincide for them to be drawn as a point mass."""
FEW = 8
"""If fewer distinct points than this remain beside the point masses, they are point masses, too."""


class QuantileFunctions(Distribution, Protocol):
    """Predictive distributions of one response through points, like ``PredictiveDistribution``."""

    @property
    def values(self) -> Array:
        """Sorted points (n, m)."""
        ...

    @property
    def levels(self) -> Array:
        """Their probabilities (m,)."""
        ...

    @property
    def support(self) -> Support | None:
        """Atoms and limits of the response."""
        ...


@dataclass(frozen=True, eq=False)
class SmoothRow:
    """The distribution of one row to look at: point masses, and a smooth density of the rest.

    Attributes
    ----------
    atoms, masses : ndarray of shape (a,)
        Values of point masses, and their probabilities.
    share : float
        Probability beside the point masses.
    centres, widths : ndarray of shape (k,)
        Kernels of the density, equally likely; empty if there is none.
    low, high : float
        Limits of the response.
    """

    atoms: Array
    masses: Array
    share: float = 0.0
    centres: Array = field(default_factory=lambda: np.empty(0))
    widths: Array = field(default_factory=lambda: np.empty(0))
    low: float = -math.inf
    high: float = math.inf

    @property
    def discrete(self) -> bool:
        """Whether the distribution has no density."""
        return len(self.centres) == 0

    def pdf(self, y: Array) -> Array:
        """Density at values (k,): it integrates to ``share``, and is zero beyond the limits."""
        if self.discrete:
            return np.zeros(len(y))
        # kernels whose distance overflows contribute nothing
        with np.errstate(over="ignore", under="ignore"):
            height, peaks = np.zeros(len(y)), self.share / (math.sqrt(2.0 * math.pi) * len(self.centres) * self.widths)
            for images in self._images():
                z = (y[:, None] - images) / self.widths
                height += np.exp(-0.5 * z * z) @ peaks
        return np.where((y >= self.low) & (y <= self.high), height, 0.0)

    def grid(self, even: int, fine: int) -> Array:
        """Sorted values (at most even + fine) to draw the density at: equidistant ones, and quantiles of the row."""
        ends = self.centres[[0, -1]] + 3.0 * self.widths[[0, -1]] * np.array([-1.0, 1.0])
        # tails of almost no probability would take most of the picture
        inner = self.centres[[1, -2]]
        reach = 0.4 * (inner[1] - inner[0])
        low, high = max(ends[0], inner[0] - reach, self.low), min(ends[1], inner[1] + reach, self.high)
        chosen = self.centres[np.linspace(0, len(self.centres) - 1, fine).astype(np.intp)]
        within = chosen[(chosen > low) & (chosen < high)]
        return np.unique(np.concatenate([np.linspace(low, high, even), within]))

    def moved(self, levels: Array, y: Array) -> float:
        """Largest distance of the smooth distribution function from ``levels`` (k,) at their quantiles ``y`` (k,)."""
        smooth = np.zeros(len(y))
        for images in self._images():
            start = ndtr((self.low - images) / self.widths) if math.isfinite(self.low) else 0.0
            smooth += (ndtr((y[:, None] - images) / self.widths) - start).mean(axis=1)
        return float(np.abs(smooth - levels).max())

    def _images(self) -> list[Array]:
        """Centres of the kernels, and their reflections at the limits, which keep the probability inside."""
        return [self.centres, *(2.0 * limit - self.centres for limit in (self.low, self.high) if math.isfinite(limit))]


def smooth_rows(distribution: QuantileFunctions) -> list[SmoothRow]:
    """Smooth the distribution of each row for drawing; ``pdf`` and ``logpdf`` stay exact."""
    values, support = distribution.values, distribution.support or Support()
    edges = np.concatenate([[0.0], 0.5 * (distribution.levels[1:] + distribution.levels[:-1]), [1.0]])
    mass = np.diff(edges)
    kernels = _kernels(distribution.quantile, values.shape[1])
    rows = []
    for i, row in enumerate(values):
        atoms, masses, rest = _point_masses(row, mass, support)
        if not len(atoms):
            centres, widths, y = (part[i] for part in kernels)
            rows.append(_bounded(SmoothRow(atoms, masses, 1.0, centres, widths, support.low, support.high), y))
        elif not rest.any():
            rows.append(SmoothRow(atoms, masses))
        else:
            share = float(mass[rest].sum())
            centres, widths, y = (part[0] for part in _kernels(_interpolation(row[rest], mass[rest]), int(rest.sum())))
            rows.append(_bounded(SmoothRow(atoms, masses, share, centres, widths, support.low, support.high), y))
    return rows


def _point_masses(values: Array, mass: Array, support: Support) -> tuple[Array, Array, Booleans]:
    """Values and probabilities of the point masses of one row, and which of its points (m,) are beside them."""
    # a point mass in the units of the response may differ by rounding errors
    close = 1e-9 * max(float(np.ptp(values)), float(np.abs(values).max()))
    known, apart = support.is_atom(values), np.diff(values) > close
    starts = np.flatnonzero(np.concatenate([[True], apart | (known[1:] != known[:-1])]))
    together = np.add.reduceat(mass, starts)
    counts = np.diff(np.append(starts, len(values)))
    repeated = counts > 1
    # points of the continuous part that a limit stopped just beside an atom belong to the density, not to the atom
    touches = ~apart[starts[1:] - 1]
    beside = ~known[starts] & (np.append(False, touches) | np.append(touches, False))
    is_atom = known[starts] | ((together >= ATOM) & (repeated | (len(values) == 1)) & ~beside)
    others = ~is_atom
    # the rare values of a discrete response are point masses as its common ones are
    mostly = together[others & repeated].sum() >= 0.5 * together[others].sum()
    if is_atom.any() and (mostly or others.sum() < FEW):
        is_atom[:] = True
    return values[starts[is_atom]], np.asarray(together[is_atom]), np.repeat(~is_atom, counts)


def _interpolation(values: Array, mass: Array) -> Callable[[Array], Array]:
    """Quantile function of one row through points (m,) with probabilities (m,) that need not add up to one."""
    levels = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    return lambda q: np.interp(q, levels, values)[None]


def _kernels(quantile: Callable[[Array], Array], m: int) -> tuple[Array, Array, Array]:
    """Centres and bandwidths (n, KERNELS) of rows with ``m`` points, and quantiles (n, 32) to compare at.

    ``quantile`` maps levels (k,) to quantiles (n, k). Few points may be random samples: the window is then wider, as
    Silverman's rule of thumb is for a normal distribution.
    """
    window = max(WINDOW, float(ndtr(0.9 * m**-0.2)) - 0.5)
    p = (np.arange(KERNELS) + 0.5) / KERNELS
    tail = IN_TAIL * np.minimum(p, 1.0 - p)
    near = np.clip(tail, LEAST, window)
    centres, below, above = (quantile(np.clip(q, 0.0, 1.0)) for q in (p, p - near, p + near))
    # beyond the first and the last quantile there is nothing to measure a distance to
    left, right = np.where(p > near, centres - below, np.inf), np.where(p < 1.0 - near, above - centres, np.inf)
    widths = np.minimum(left, right) * (window / near) ** GROWTH
    # points that coincide have no distance: smooth them as others of the row
    usual = np.median(widths, axis=1, keepdims=True)
    usual = np.where(usual > 0.0, usual, 1e-3 * (centres[:, -1:] - centres[:, :1]))
    widths = np.where(widths > 1e-6 * usual, widths, usual)
    return centres, np.maximum(widths, 16.0 * np.finfo(float).tiny), quantile(_CHECKED)


def _bounded(row: SmoothRow, y: Array) -> SmoothRow:
    """Shrink the bandwidths until the distribution function moves by at most ``MOST_MOVED`` at the quantiles ``y``."""
    factor, widths = 1.0, row.widths
    while factor > SMALLEST and row.moved(_CHECKED, y) > MOST_MOVED:
        factor *= SHRINKING
        row = replace(row, widths=factor * widths)
    return row
