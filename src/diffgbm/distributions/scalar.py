r"""Predictive distributions of one response, one for each row.

A distribution is its quantile function, piecewise linear through sorted points :math:`Q(p_j) = v_j` at levels shared by
all rows. It is a mixture of uniform distributions: mean, variance, distribution function and CRPS are exact sums,
quantiles never cross, and a point mass is a set of points that coincide. With a ``Support``, points at its atoms are
point masses of exactly their share of the probability, and nothing lies beyond its limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, ndtr

from diffgbm._util.errors import check_count
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.distributions import piecewise
from diffgbm.distributions.base import quantile_labels
from diffgbm.distributions.density_plot import draw_densities
from diffgbm.distributions.quantile_function import QuantileFunction
from diffgbm.distributions.smoothing import smooth_rows
from diffgbm.engine import normals

WINDOW = 0.015
"""Largest half-width, in probability, of the quantile range that sets the bandwidth of the density."""
FAR = 2.0**20
"""Distance from zero, in ranges of the points, beyond which a row's numbers are computed around its middle."""


@dataclass(frozen=True, eq=False)
class PredictiveDistribution(QuantileFunction):
    """Use this to ask for quantiles, probabilities, densities or scores: distributions of one response for ``n`` rows.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        Sorted points of each row's distribution.
    levels : ndarray of shape (m,)
        Their probabilities, increasing, between 0 and 1.
    name : str
        Name of the response.
    index : object
        Row labels of the frame the rows came from, for ``to_frame``.
    support : Support or None
        Atoms and limits of the response, the same for all rows.
    source, function : PredictiveDistribution and callable, or None
        The distribution is that of ``function``, which increases, of the source; see ``transform``.
    no_density : str
        Why there is no density, if there is none.

    Examples
    --------
    Two rows, each with five equally likely points:

    >>> from diffgbm import PredictiveDistribution
    >>> dist = PredictiveDistribution.from_points([[0, 1, 2, 3, 4], [10, 20, 30, 40, 50]])
    >>> dist
    PredictiveDistribution('y', 2 rows, 5 points)
    >>> dist.mean(), dist.quantile(0.5)
    (array([ 2., 30.]), array([ 2., 30.]))
    >>> dist.interval(0.6).round(2)
    array([[ 0.5,  3.5],
           [15. , 45. ]])
    >>> dist.cdf([1.0, 40.0]).round(3), dist.prob_between(1.0, 3.0).round(3)
    (array([0.3, 0.7]), array([0.4, 0. ]))
    >>> dist[1].crps([30.0]).round(2)
    array([4.17])
    """

    def __repr__(self) -> str:
        return f"PredictiveDistribution({self.name!r}, {len(self)} rows, {len(self.levels)} points)"

    def marginals(self) -> tuple[PredictiveDistribution, ...]:
        """Return the distribution of each response: this one."""
        return (self,)

    def pdf(self, y: ArrayLike) -> Array:
        """Density, with ``y`` as in ``cdf``; see ``logpdf``."""
        return np.exp(self.logpdf(y))

    def logpdf(self, y: ArrayLike) -> Array:
        r"""Log density :math:`\log \sum_j m_j\, N(y;\, v_j,\, h_j^2)`, with ``y`` as in ``cdf``.

        Trees produce distributions with corners and small gaps, which the density smooths. The bandwidth
        ``h_j = (Q(p_j + w_j) - Q(p_j - w_j)) / 2`` spans 3% of the probability, less in the tails, and at least four
        points. It adapts to the local scale, and the density is positive on the whole line, or between the limits of
        the support, where the part of each kernel inside is scaled to its mass. With 256 points or more it is within
        15% of a normal density between the 1% and 99% quantiles.
        """
        self._check_density()
        at = self._arguments(y)
        return self._log_density(at[:, None] if at.ndim == 1 else at, self.values).reshape(at.shape)

    def _check_density(self) -> None:
        if self.no_density:
            raise ValueError(
                f"this distribution has no density: {self.no_density}. That value has a positive probability; ask for "
                "cdf, pmf, quantiles or crps."
            )

    def _log_density(self, grid: Array, points: Array) -> Array:
        """Log density at (n, k) of the kernels around ``points`` (n, m): the values, moved as the grid."""
        mass, width = self.kernels
        out = np.empty(grid.shape)
        rows = max(1, piecewise.ROWS * 64 // (grid.shape[1] * len(self.levels) // 64 + 1))
        for i in range(0, len(self), rows):
            part = slice(i, i + rows)
            inside = self._inside(part)
            weights = mass / width[part] / np.sqrt(2.0 * np.pi)
            weights = weights if inside is None else weights / inside
            # beside a point mass the distance in bandwidths may overflow: the density is zero
            with np.errstate(over="ignore"):
                z = (grid[part, :, None] - points[part, None, :]) / width[part, None, :]
                out[part] = logsumexp(-0.5 * z * z, b=weights[:, None, :], axis=-1)
        if (support := self.support) is not None and support.is_limited and not support.estimated:
            moved = self.values[:, :1] - points[:, :1]
            out[(grid + moved < support.low) | (grid + moved > support.high)] = -np.inf
        return out

    def _inside(self, rows: slice) -> Array | None:
        """Share (n, m) of each kernel of some rows that lies between known limits; ``None`` without limits.

        Kernels around points beyond the limits are whole.
        """
        support = self.support
        if support is None or support.estimated or not support.is_limited:
            return None
        values, width = self.values[rows], self.kernels[1][rows]
        share = ndtr((support.high - values) / width) - ndtr((support.low - values) / width)
        return np.where((values >= support.low) & (values <= support.high) & (share > 0.0), share, 1.0)

    @cached_property
    def kernels(self) -> tuple[Array, Array]:
        """Masses (m,) and bandwidths (n, m) of the kernels of ``logpdf``."""
        p, edges = self.levels, self._edges
        window = np.maximum(np.minimum(WINDOW, 0.5 * np.minimum(p, 1.0 - p)), 2.0 / len(p))
        near = self._near_zero
        width = 0.5 * (near.quantile(np.minimum(p + window, 1.0)) - near.quantile(np.maximum(p - window, 0.0)))
        # a point mass has no density: it becomes a peak as wide as a thousandth of the standard deviation
        # and if all points are one number but for rounding, as a billionth of it
        std, size = near.std(), np.abs(self.values).max(axis=1)
        floor = np.where(std > 16.0 * np.spacing(size), 1e-3 * std, 1e-9 * size) + np.finfo(float).tiny
        return np.diff(edges), np.maximum(width, floor[:, None])

    @cached_property
    def _near_zero(self) -> PredictiveDistribution:
        """The same distributions, with rows whose range is small beside their distance from zero moved to zero.

        Numbers between their points are rounded less there. The move itself rounds nothing.
        """
        v = self.values
        far = np.abs(v).max(axis=1) > FAR * (v[:, -1] - v[:, 0])
        return PredictiveDistribution(v - np.where(far, v[:, v.shape[1] // 2], 0.0)[:, None], self.levels)

    def mode(self) -> Array:
        """Point of highest density, shape (n,)."""
        candidates = self.quantile((np.arange(128) + 0.5) / 128)
        best = np.argmax(self.logpdf(candidates), axis=1)[:, None]
        return np.take_along_axis(candidates, best, axis=1)[:, 0]

    def entropy(self) -> Array:
        r"""Differential entropy :math:`-\int \log f(Q(p))\,dp`, in nats, shape (n,)."""
        self._check_density()
        near = self._near_zero
        grid = near.quantile((np.arange(128) + 0.5) / 128)
        if self.support is not None:
            moved = self.values[:, :1] - near.values[:, :1]
            grid = np.clip(grid, self.support.low - moved, self.support.high - moved)
        return -self._log_density(grid, near.values).mean(axis=1)

    def expect(self, function: Callable[[Array], ArrayLike]) -> Array:
        """Expectation of ``function(Y)``, which is called once with all points (n, m) and returns that shape."""
        mass, _ = self.kernels
        result = np.asarray(function(self.values), dtype=np.float64)
        if result.shape != self.values.shape:
            raise ValueError(f"function must keep the shape {self.values.shape} of its argument; got {result.shape}.")
        return np.sum(result * mass, axis=1)

    def sample(self, n_samples: int, seed: int | None = None, first_row: int = 0) -> Array:
        """Draw independent samples (n_samples, n); row ``i`` depends on ``(seed, first_row + i)`` alone."""
        check_count("n_samples", n_samples, 1)
        key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        uniform = ndtr(normals(key, first_row + np.arange(len(self)), np.arange(n_samples), 0, 1)[:, :, 0])
        return self.quantile(uniform).T

    def to_frame(self, quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)) -> Any:
        """Summarise the distributions in a pandas frame: mean, standard deviation and quantiles of each row."""
        columns = {"mean": self.mean(), "std": self.std()}
        columns |= dict(zip(quantile_labels(quantiles), self.quantile(list(quantiles)).T, strict=True))
        return need("pandas").DataFrame(columns, index=self.index)

    def smooth_pdf(self, y: ArrayLike) -> Array:
        """Density for pictures, with ``y`` as in ``cdf``: without the narrow peaks of trees and without point masses.

        It moves the distribution function by at most 0.05, see ``diffgbm.distributions.smoothing``. Use ``pdf`` to
        compute with.
        """
        at = self._arguments(y)
        found = [row.pdf(np.atleast_1d(u)) for row, u in zip(smooth_rows(self), at, strict=True)]
        return np.array(found).reshape(at.shape)

    def plot(self, rows: Sequence[int] | None = None, ax: Any = None, smooth: bool = True) -> Any:
        """Draw the densities of some rows, by default the first five, and return the axes.

        ``smooth`` draws ``smooth_pdf`` and point masses as stems, otherwise the exact ``pdf``.
        """
        return draw_densities(self, rows, ax=ax, label=self.name or "response", smooth=smooth)
