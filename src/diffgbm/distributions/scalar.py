r"""Predictive distributions as values: one law for each row, and everything that can be asked of it.

A law is its quantile function, piecewise linear through sorted points :math:`Q(p_j) = v_j` at levels shared by all
rows. That makes it a mixture of uniform laws, so that mean, variance, distribution function and CRPS are exact sums,
quantiles never cross, and point masses are simply points that coincide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, ndtr

from diffgbm._util.errors import check_count, known
from diffgbm._util.types import Array

WINDOW = 0.015
"""Half-width, in probability, of the neighbourhood whose spread is the bandwidth of the density there, at most."""
ROWS = 1024
"""Rows treated together where intermediate arrays are larger than the law."""

IntervalKind = Literal["central", "highest_density"]


@dataclass(frozen=True, eq=False)
class PredictiveDistribution:
    """Laws of a scalar response for ``n`` rows.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        Sorted points of each row's law.
    levels : ndarray of shape (m,)
        Their probabilities, increasing, between 0 and 1.
    name : str
        Name of the response.
    index : object
        Row labels of the frame the rows came from, for ``to_frame``.

    Examples
    --------
    Two rows, each the even law of five points:

    >>> from diffgbm import PredictiveDistribution
    >>> law = PredictiveDistribution.from_points([[0, 1, 2, 3, 4], [10, 20, 30, 40, 50]])
    >>> law
    PredictiveDistribution('y', 2 rows, 5 points)
    >>> law.mean(), law.quantile(0.5)
    (array([ 2., 30.]), array([ 2., 30.]))
    >>> law.interval(0.6).round(2)
    array([[ 0.5,  3.5],
           [15. , 45. ]])
    >>> law.cdf([1.0, 40.0]).round(3), law.prob_between(1.0, 3.0).round(3)
    (array([0.3, 0.7]), array([0.4, 0. ]))
    >>> law[1].crps([30.0]).round(2)
    array([4.17])
    """

    values: Array
    levels: Array
    name: str = "y"
    index: Any = field(default=None, repr=False)

    @classmethod
    def from_points(cls, points: ArrayLike, name: str = "y", index: Any = None) -> PredictiveDistribution:
        """Make laws of equally likely points (n, m), in any order: their levels are ``(j + 1/2) / m``."""
        values = np.sort(np.asarray(points, dtype=np.float64), axis=1)
        m = values.shape[1]
        return cls(values, (np.arange(m) + 0.5) / m, name, index)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[PredictiveDistribution]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, rows: Any) -> PredictiveDistribution:
        """Laws of some rows: a position, a slice, positions or a mask. A single row is still a table of one row."""
        key = row_key(rows, len(self))
        index = None if self.index is None else self.index[key]
        return PredictiveDistribution(self.values[key], self.levels, self.name, index)

    def __repr__(self) -> str:
        return f"PredictiveDistribution({self.name!r}, {len(self)} rows, {len(self.levels)} points)"

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """Points and levels with the ends of the support, half a gap beyond the outermost points."""
        v, p = self.values, self.levels
        gaps = (v[:, 1] - v[:, 0], v[:, -1] - v[:, -2]) if v.shape[1] > 1 else (np.zeros(len(v)), np.zeros(len(v)))
        knots = np.column_stack([v[:, 0] - 0.5 * gaps[0], v, v[:, -1] + 0.5 * gaps[1]])
        return knots, np.concatenate([[0.0], p, [1.0]])

    def mean(self) -> Array:
        r""":math:`\int_0^1 Q(p)\,dp`, shape (n,)."""
        v, p = self._knots
        # row by row: the order in which a matrix product adds depends on how many rows there are
        return np.sum(0.5 * (v[:, 1:] + v[:, :-1]) * np.diff(p), axis=1)

    def var(self) -> Array:
        r""":math:`\int_0^1 (Q(p) - \text{mean})^2\,dp`, shape (n,)."""
        v, p = self._knots
        a = v - self.mean()[:, None]
        return np.sum((a[:, 1:] ** 2 + a[:, 1:] * a[:, :-1] + a[:, :-1] ** 2) * np.diff(p), axis=1) / 3.0

    def std(self) -> Array:
        """Standard deviation, shape (n,)."""
        return np.sqrt(self.var())

    def median(self) -> Array:
        """Median, shape (n,)."""
        return self.quantile(0.5)

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles ``Q(q)``: shape (n,) for one level, (n, k) for ``k`` levels or for levels (n, k) of each row."""
        levels = np.asarray(q, dtype=np.float64)
        own = levels.ndim == 2 and len(levels) == len(self)
        if (levels.ndim > 1 and not own) or not np.all((levels >= 0.0) & (levels <= 1.0)):
            raise ValueError(
                "quantile levels must be one number or a list of numbers between 0 and 1, or such a list for each "
                f"of the {len(self)} rows; got {q!r}."
            )
        v, p = self._knots
        if own:
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
        v, p = self._knots
        return np.array([_interpolated(a, row, p) for a, row in zip(at, v, strict=True)]).reshape(at.shape)

    def sf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y > y)`, with ``y`` as in ``cdf``."""
        return 1.0 - self.cdf(y)

    def pit(self, y: ArrayLike) -> Array:
        """Probability integral transform ``cdf(y)`` of one observation for each row: uniform if the laws are right."""
        return self.cdf(self.observations(y))

    def prob_between(self, low: ArrayLike, high: ArrayLike) -> Array:
        r""":math:`P(low < Y \le high)`."""
        return self.cdf(high) - self.cdf(low)

    def interval(self, coverage: float = 0.9, kind: IntervalKind = "central") -> Array:
        """Interval of probability ``coverage``: lower and upper ends, shape (n, 2).

        ``"central"`` leaves the same probability out on both sides; ``"highest_density"`` is the shortest interval.
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

        :math:`\int (F(u) - 1\{u \ge y\})^2 du`, from ``low`` to ``high`` if only a part of the line matters.
        """
        observed = self.observations(y)
        knots, p = self._knots
        out = np.empty(len(self))
        for i in range(0, len(self), ROWS):
            v, t = knots[i : i + ROWS], observed[i : i + ROWS, None]
            left, right = np.clip(v[:, :-1], low, high), np.clip(v[:, 1:], low, high)
            # each piece of the law lies below y up to here, and above it from here on
            here = np.clip(t, left, right)
            first, at, last = (_between(u, v[:, :-1], v[:, 1:], p[:-1], p[1:]) for u in (left, here, right))
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

        A law carried by trees has corners and small gaps; its density is therefore smoothed over neighbourhoods,
        ``h_j = (Q(p_j + w_j) - Q(p_j - w_j)) / 2``, that hold 3% of the probability, less in the tails, and four points
        at least. It follows the law's own scale everywhere, is positive on the whole line, and with 256 points or more
        it is within 15% of a normal density between its 1% and 99% quantiles.
        """
        at = self._arguments(y)
        grid = at.reshape(len(self), -1)
        mass, width = self._kernels
        out = np.empty(grid.shape)
        rows = max(1, ROWS * 64 // (grid.shape[1] * len(self.levels) // 64 + 1))
        for i in range(0, len(self), rows):
            part = slice(i, i + rows)
            weights = mass / width[part] / np.sqrt(2.0 * np.pi)
            # beside a point mass the distance may be more bandwidths than there are numbers: no density
            with np.errstate(over="ignore"):
                z = (grid[part, :, None] - self.values[part, None, :]) / width[part, None, :]
                out[part] = logsumexp(-0.5 * z * z, b=weights[:, None, :], axis=-1)
        return out.reshape(at.shape)

    @cached_property
    def _kernels(self) -> tuple[Array, Array]:
        """Masses (m,) and bandwidths (n, m) of the density's kernels."""
        p = self.levels
        edges = np.concatenate([[0.0], 0.5 * (p[1:] + p[:-1]), [1.0]])
        window = np.maximum(np.minimum(WINDOW, 0.5 * np.minimum(p, 1.0 - p)), 2.0 / len(p))
        width = 0.5 * (self.quantile(np.minimum(p + window, 1.0)) - self.quantile(np.maximum(p - window, 0.0)))
        # a point mass has no density: it is shown as a peak of a thousandth of the law's spread
        floor = 1e-3 * self.std() + 1e-9 * np.abs(self.values).max(axis=1) + np.finfo(float).tiny
        return np.diff(edges), np.maximum(width, floor[:, None])

    def mode(self) -> Array:
        """Point of highest density, shape (n,)."""
        candidates = self.quantile((np.arange(128) + 0.5) / 128)
        best = np.argmax(self.logpdf(candidates), axis=1)[:, None]
        return np.take_along_axis(candidates, best, axis=1)[:, 0]

    def entropy(self) -> Array:
        r"""Differential entropy :math:`-\int \log f(Q(p))\,dp`, in nats, shape (n,)."""
        return -self.logpdf(self.quantile((np.arange(128) + 0.5) / 128)).mean(axis=1)

    def expect(self, function: Callable[[Array], ArrayLike]) -> Array:
        """Expectation of ``function(Y)``, which is called once with all points (n, m) and returns that shape."""
        mass, _ = self._kernels
        result = np.asarray(function(self.values), dtype=np.float64)
        if result.shape != self.values.shape:
            raise ValueError(f"function must keep the shape {self.values.shape} of its argument; got {result.shape}.")
        return np.sum(result * mass, axis=1)

    def sample(self, n_samples: int, seed: int | None = None, first_row: int = 0) -> Array:
        """Draw independent samples (n_samples, n); row ``i`` depends on ``(seed, first_row + i)`` alone."""
        from diffgbm.engine import normals

        check_count("n_samples", n_samples, 1)
        key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        uniform = ndtr(normals(key, first_row + np.arange(len(self)), np.arange(n_samples), 0, 1)[:, :, 0])
        return self.quantile(uniform).T

    def to_frame(self, quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)) -> Any:
        """Summarise the laws in a pandas frame: mean, standard deviation and quantiles of each row."""
        from diffgbm._util.optional import need

        columns = {"mean": self.mean(), "std": self.std()}
        columns |= {f"q{q:g}": v for q, v in zip(quantiles, self.quantile(list(quantiles)).T, strict=True)}
        return need("pandas").DataFrame(columns, index=self.index)

    def plot(self, rows: Sequence[int] | None = None, ax: Any = None) -> Any:
        """Draw the densities of some rows (the first five if not given); returns the axes."""
        from diffgbm.plotting import densities

        return densities(self, rows=rows, ax=ax)

    def _arguments(self, y: ArrayLike) -> Array:
        """Read ``y`` as one value, one for each row or a grid for each row: shape (n,) or (n, k)."""
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
        """Read one observation for each row; (n, 1) is taken as (n,)."""
        observed = np.asarray(y, dtype=np.float64)
        if observed.shape == (len(self), 1):
            observed = observed[:, 0]
        if observed.shape != (len(self),):
            raise ValueError(
                f"y must hold one observation for each of the {len(self)} rows; got shape {observed.shape}."
            )
        return observed


def _interpolated(u: Array, knots: Array, p: Array) -> Array:
    """Interpolate probabilities. Between knots so close that the slope overflows, those of the lower knot hold."""
    found = np.asarray(np.interp(u, knots, p, left=0.0, right=1.0))
    steep = ~(found <= 1.0) & ~np.isnan(u)
    if not steep.any():
        return found
    return np.where(steep, p[np.clip(np.searchsorted(knots, u, side="right") - 1, 0, len(p) - 1)], found)


def _between(u: Array, a: Array, b: Array, p: Array, q: Array) -> Array:
    """Value at ``u`` of the line from ``(a, p)`` to ``(b, q)``, its ends beyond them."""
    width = b - a
    part = np.divide(np.clip(u, a, b) - a, width, out=np.zeros_like(width), where=width > 0)
    return p + (q - p) * part


def _squares(a: Array, b: Array) -> Array:
    """Mean of the square of a line that goes from ``a`` to ``b``."""
    return (a * a + a * b + b * b) / 3.0


def row_key(rows: Any, n: int) -> Any:
    """Return ``rows`` as a key that keeps the axis of rows: a position becomes a slice, and must be one of ``n``."""
    if not isinstance(rows, (int, np.integer)):
        return rows
    if not -n <= rows < n:
        raise IndexError(f"there is no row {rows}: there are {n} rows.")
    return slice(rows, rows + 1 or None)
