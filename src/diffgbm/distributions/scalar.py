r"""Predictive distributions of one response, one for each row.

A distribution is its quantile function, piecewise linear through sorted points :math:`Q(p_j) = v_j` at levels shared by
all rows. It is a mixture of uniform distributions: mean, variance, distribution function and CRPS are exact sums,
quantiles never cross, and a point mass is a set of points that coincide. With a ``Support``, points at its atoms are
point masses of exactly their share of the probability, and nothing lies beyond its limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, ndtr

from diffgbm._util.errors import check_count, known
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.distributions.base import IntervalKind, append_index, quantile_labels, row_key
from diffgbm.distributions.density_plot import draw_densities
from diffgbm.distributions.smoothing import smooth_rows
from diffgbm.distributions.support import Support
from diffgbm.engine import normals

WINDOW = 0.015
"""Largest half-width, in probability, of the quantile range that sets the bandwidth of the density."""
FAR = 2.0**20
"""Distance from zero, in ranges of the points, beyond which a row's numbers are computed around its middle."""
ROWS = 1024
"""Rows of a block, where intermediate arrays are larger than the distributions."""


@dataclass(frozen=True, eq=False)
class PredictiveDistribution:
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

    values: Array
    levels: Array
    name: str = "y"
    index: Any = field(default=None, repr=False)
    support: Support | None = field(default=None, repr=False)

    @classmethod
    def from_points(
        cls, points: ArrayLike, name: str = "y", index: Any = None, support: Support | None = None
    ) -> PredictiveDistribution:
        """Make distributions of equally likely points (n, m), in any order, with levels ``(j + 1/2) / m``."""
        values = np.sort(np.asarray(points, dtype=np.float64), axis=1)
        m = values.shape[1]
        return cls(values, (np.arange(m) + 0.5) / m, name, index, support)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[PredictiveDistribution]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, rows: Any) -> PredictiveDistribution:
        """Select rows by a position, a slice, positions or a mask. A single row is still a table of one row."""
        key = row_key(rows, len(self))
        index = None if self.index is None else self.index[key]
        return PredictiveDistribution(self.values[key], self.levels, self.name, index, self.support)

    def __repr__(self) -> str:
        return f"PredictiveDistribution({self.name!r}, {len(self)} rows, {len(self.levels)} points)"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the observations: (n,)."""
        return self.values.shape[:1]

    def equally_likely_points(self) -> Array:
        """Return as many equally likely points of each row as it has levels, shape (n, m, 1)."""
        m = len(self.levels)
        return self.quantile((np.arange(m) + 0.5) / m)[:, :, None]

    def marginals(self) -> tuple[PredictiveDistribution, ...]:
        """Return the distribution of each response: this one."""
        return (self,)

    def append(self, others: Sequence[PredictiveDistribution]) -> PredictiveDistribution:
        """Return these rows followed by those of ``others``, which have the same levels and support."""
        values = np.concatenate([self.values, *(other.values for other in others)])
        index = append_index(self.index, [other.index for other in others])
        return PredictiveDistribution(values, self.levels, self.name, index, self.support)

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """Points (n, k) with the ends of the support, half a gap beyond the outermost points, and their levels.

        Levels are (k,), or (n, k) where the support has atoms: a point at an atom holds the cell of probability between
        the middles to its neighbours' levels, and is there twice, at both ends of the cell.
        """
        v, p = self.values, self.levels
        gaps = (v[:, 1] - v[:, 0], v[:, -1] - v[:, -2]) if v.shape[1] > 1 else (np.zeros(len(v)), np.zeros(len(v)))
        first, last = v[:, 0] - 0.5 * gaps[0], v[:, -1] + 0.5 * gaps[1]
        if self.support is None:
            return np.column_stack([first, v, last]), np.concatenate([[0.0], p, [1.0]])
        # the limits confine what lies beyond the points; points themselves are where they are
        first = np.minimum(np.maximum(first, self.support.low), v[:, 0])
        last = np.maximum(np.minimum(last, self.support.high), v[:, -1])
        if not len(self.support.atoms):
            return np.column_stack([first, v, last]), np.concatenate([[0.0], p, [1.0]])
        atom, edges = self.support.is_atom(v), self._edges
        twice = np.stack([np.where(atom, edges[:-1], p), np.where(atom, edges[1:], p)], axis=2)
        levels = np.pad(
            twice.reshape(len(v), 2 * v.shape[1]), ((0, 0), (1, 1)), constant_values=((0.0, 0.0), (0.0, 1.0))
        )
        first, last = np.where(atom[:, 0], v[:, 0], first), np.where(atom[:, -1], v[:, -1], last)
        return np.column_stack([first, np.repeat(v, 2, axis=1), last]), levels

    @cached_property
    def _edges(self) -> Array:
        """Ends (m + 1,) of the points' cells of probability, halfway between their levels."""
        p = self.levels
        return np.concatenate([[0.0], 0.5 * (p[1:] + p[:-1]), [1.0]])

    def _rows(self, at: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Go through the rows: arguments, knots and levels of each."""
        v, p = self._knots
        return zip(at, v, np.broadcast_to(p, v.shape), strict=True)

    def mean(self) -> Array:
        r""":math:`\int_0^1 Q(p)\,dp`, shape (n,)."""
        v, p = self._knots
        # row by row: the order in which a matrix product adds depends on how many rows there are
        return np.sum(0.5 * (v[:, 1:] + v[:, :-1]) * np.diff(p, axis=-1), axis=1)

    def var(self) -> Array:
        r""":math:`\int_0^1 (Q(p) - \text{mean})^2\,dp`, shape (n,)."""
        v, p = self._knots
        a = v - self.mean()[:, None]
        return np.sum((a[:, 1:] ** 2 + a[:, 1:] * a[:, :-1] + a[:, :-1] ** 2) * np.diff(p, axis=-1), axis=1) / 3.0

    def std(self) -> Array:
        """Standard deviation, shape (n,)."""
        return np.sqrt(self.var())

    def median(self) -> Array:
        """Median, shape (n,)."""
        return self.quantile(0.5)

    def quantile(self, q: ArrayLike) -> Array:
        r"""Quantiles ``Q(q)``: shape (n,) for one level, (n, k) for ``k`` levels or for levels (n, k) of each row.

        Between two atoms it is the lower one, :math:`\inf\{y : F(y) \ge q\}`.
        """
        levels = np.asarray(q, dtype=np.float64)
        per_row = levels.ndim == 2 and len(levels) == len(self)
        if (levels.ndim > 1 and not per_row) or not np.all((levels >= 0.0) & (levels <= 1.0)):
            raise ValueError(
                "quantile levels must be one number or a list of numbers between 0 and 1, or such a list for each "
                f"of the {len(self)} rows; got {q!r}."
            )
        v, p = self._knots
        if p.ndim == 2:
            each = np.broadcast_to(levels, (len(self), *(levels.shape[1:] if per_row else levels.shape)))
            # backwards: at a level where the quantile function jumps, interpolation takes the knot beyond
            found = [np.interp(-u, -q[::-1], row[::-1]) for u, row, q in self._rows(each)]
            return np.array(found).reshape(each.shape)
        if per_row:
            return np.array([np.interp(u, p, row) for u, row in zip(levels, v, strict=True)]).reshape(levels.shape)
        j = np.clip(np.searchsorted(p, levels, side="right") - 1, 0, len(p) - 2)
        part = (levels - p[j]) / (p[j + 1] - p[j])
        return v[:, j] + part * (v[:, j + 1] - v[:, j])

    def cdf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y \le y)`.

        Parameters
        ----------
        y : array-like
            One value for all rows, one for each row (n,), or a grid for each row (n, k); (1, k) is the same grid for
            all rows.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Probabilities.
        """
        at = self._arguments(y)
        return np.array([_interpolated(a, row, p) for a, row, p in self._rows(at)]).reshape(at.shape)

    def sf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y > y)`, with ``y`` as in ``cdf``."""
        return 1.0 - self.cdf(y)

    def prob_at_least(self, y: ArrayLike) -> Array:
        r""":math:`P(Y \ge y)`, with ``y`` as in ``cdf``: more than ``sf`` where ``y`` is a point mass."""
        return 1.0 - self.prob_below(y)

    def prob_below(self, y: ArrayLike) -> Array:
        r""":math:`P(Y < y)`, with ``y`` as in ``cdf``: less than ``cdf`` where ``y`` is a point mass."""
        at = self._arguments(y)
        return np.array([_below(a, row, p) for a, row, p in self._rows(at)]).reshape(at.shape)

    def pmf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y = y)`, with ``y`` as in ``cdf``: zero where ``y`` is no point mass."""
        return self.cdf(y) - self.prob_below(y)

    def pit(self, y: ArrayLike) -> Array:
        """Probability integral transform ``cdf(y)`` of the observations (n,): uniform under calibration."""
        return self.cdf(self.observations(y))

    def prob_between(self, low: ArrayLike, high: ArrayLike) -> Array:
        r""":math:`P(low < Y \le high)`."""
        return self.cdf(high) - self.cdf(low)

    def interval(self, coverage: float = 0.9, kind: IntervalKind = "central") -> Array:
        """Interval of probability ``coverage``: lower and upper ends, shape (n, 2).

        ``"central"`` leaves the same probability out on both sides, ``"highest_density"`` is the shortest interval.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must lie between 0 and 1; got {coverage!r}.")
        if known("kind", kind, ("central", "highest_density")) == "central":
            return self.quantile([0.5 * (1.0 - coverage), 0.5 * (1.0 + coverage)])
        starts = np.linspace(0.0, 1.0 - coverage, 201)
        low, high = self.quantile(starts), self.quantile(np.minimum(starts + coverage, 1.0))
        best = np.argmin(high - low, axis=1)[:, None]
        return np.hstack([np.take_along_axis(ends, best, axis=1) for ends in (low, high)])

    def crps(self, y: ArrayLike, low: float = -np.inf, high: float = np.inf) -> Array:
        r"""Continuous ranked probability score of each row, exact.

        :math:`\int (F(u) - 1\{u \ge y\})^2 du`, integrated from ``low`` to ``high``.

        References
        ----------
        Matheson & Winkler (1976), Scoring rules for continuous probability distributions, Management Science 22.
        Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.
        """
        observed = self.observations(y)
        knots, p = self._knots
        out = np.empty(len(self))
        for i in range(0, len(self), ROWS):
            v, t = knots[i : i + ROWS], observed[i : i + ROWS, None]
            q = p if p.ndim == 1 else p[i : i + ROWS]
            left, right = np.clip(v[:, :-1], low, high), np.clip(v[:, 1:], low, high)
            # each segment lies below y up to here, and above it from here on
            here = np.clip(t, left, right)
            first, at, last = (_between(u, v[:, :-1], v[:, 1:], q[..., :-1], q[..., 1:]) for u in (left, here, right))
            below = (here - left) * _squares(first, at)
            above = (right - here) * _squares(1.0 - at, 1.0 - last)
            before = np.minimum(v[:, 0], high) - np.maximum(t[:, 0], low)
            after = np.minimum(t[:, 0], high) - np.maximum(v[:, -1], low)
            outside = np.maximum(before, 0.0) + np.maximum(after, 0.0)
            out[i : i + ROWS] = (below + above).sum(axis=1) + outside
        return out

    def pdf(self, y: ArrayLike) -> Array:
        """Density, with ``y`` as in ``cdf``; see ``logpdf``."""
        return np.exp(self.logpdf(y))

    def logpdf(self, y: ArrayLike) -> Array:
        r"""Log density :math:`\log \sum_j m_j\, N(y;\, v_j,\, h_j^2)`, with ``y`` as in ``cdf``.

        Trees produce distributions with corners and small gaps, which the density smooths. The bandwidth
        ``h_j = (Q(p_j + w_j) - Q(p_j - w_j)) / 2`` spans 3% of the probability, less in the tails, and at least four
        points. It adapts to the local scale, and the density is positive on the whole line. With 256 points or more it
        is within 15% of a normal density between the 1% and 99% quantiles.
        """
        at = self._arguments(y)
        return self._log_density(at[:, None] if at.ndim == 1 else at, self.values).reshape(at.shape)

    def _log_density(self, grid: Array, points: Array) -> Array:
        """Log density at (n, k) of the kernels around ``points`` (n, m): the values, moved as the grid."""
        mass, width = self.kernels
        out = np.empty(grid.shape)
        rows = max(1, ROWS * 64 // (grid.shape[1] * len(self.levels) // 64 + 1))
        for i in range(0, len(self), rows):
            part = slice(i, i + rows)
            weights = mass / width[part] / np.sqrt(2.0 * np.pi)
            # beside a point mass the distance in bandwidths may overflow: the density is zero
            with np.errstate(over="ignore"):
                z = (grid[part, :, None] - points[part, None, :]) / width[part, None, :]
                out[part] = logsumexp(-0.5 * z * z, b=weights[:, None, :], axis=-1)
        return out

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
        near = self._near_zero
        return -self._log_density(near.quantile((np.arange(128) + 0.5) / 128), near.values).mean(axis=1)

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

    def _arguments(self, y: ArrayLike) -> Array:
        """Return ``y`` as one value, one for each row or a grid for each row: shape (n,) or (n, k)."""
        at = np.asarray(y, dtype=np.float64)
        n = len(self)
        if at.ndim == 0 or (at.ndim == 1 and len(at) == n):
            return np.broadcast_to(at, (n,))
        if at.ndim == 2 and len(at) in (1, n):
            return np.broadcast_to(at, (n, at.shape[1]))
        raise ValueError(
            f"y must be one value, one for each of the {n} rows, or a grid of shape ({n}, k) or (1, k); "
            f"got shape {at.shape}."
        )

    def observations(self, y: ArrayLike) -> Array:
        """Return one observation for each row; (n, 1) is taken as (n,)."""
        observed = np.asarray(y, dtype=np.float64)
        if observed.shape == (len(self), 1):
            observed = observed[:, 0]
        if observed.shape != (len(self),):
            raise ValueError(
                f"y must hold one observation for each of the {len(self)} rows; got shape {observed.shape}."
            )
        return observed


def _interpolated(u: Array, knots: Array, p: Array) -> Array:
    """Interpolate probabilities. Where knots are so close that the slope overflows, take that of the lower knot."""
    result = np.asarray(np.interp(u, knots, p, left=0.0, right=1.0))
    steep = ~(result <= 1.0) & ~np.isnan(u)
    if not steep.any():
        return result
    return np.where(steep, p[np.clip(np.searchsorted(knots, u, side="right") - 1, 0, len(p) - 1)], result)


def _below(u: Array, knots: Array, p: Array) -> Array:
    """Interpolate the probabilities of less than ``u``: at a point mass, where knots coincide, the lowest of theirs."""
    first, last = (np.searchsorted(knots, u, side=side) for side in ("left", "right"))
    return np.where(last - first > 1, p[np.minimum(first, len(p) - 1)], _interpolated(u, knots, p))


def _between(u: Array, a: Array, b: Array, p: Array, q: Array) -> Array:
    """Value at ``u`` of the line from ``(a, p)`` to ``(b, q)``, its ends beyond them."""
    width = b - a
    part = np.divide(np.clip(u, a, b) - a, width, out=np.zeros_like(width), where=width > 0)
    return p + (q - p) * part


def _squares(a: Array, b: Array) -> Array:
    """Mean of the square of a line that goes from ``a`` to ``b``."""
    return (a * a + a * b + b * b) / 3.0
