r"""Quantile functions of one response, one for each row: piecewise linear through points, and what is exact about them.

The quantile function of a row goes in straight lines through sorted points :math:`Q(p_j) = v_j` at levels shared by all
rows. It is that of a mixture of uniform distributions: mean, variance, distribution function, CRPS and expected
shortfall are exact sums, quantiles never cross, and a point mass is a set of points that coincide. With a ``Support``,
points at its atoms are point masses of exactly their share of the probability, and nothing lies beyond its limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.errors import known
from diffgbm._util.rows import interpolated_rows, is_sorted
from diffgbm._util.types import Array, Integers
from diffgbm.distributions import piecewise
from diffgbm.distributions.base import (
    IntervalKind,
    Outcome,
    append_index,
    check_outcome,
    coverages,
    risk_levels,
    row_key,
)
from diffgbm.distributions.images import (
    Function,
    direction,
    flat_values,
    image,
    image_support,
    monotone_support,
    quiet_image,
)
from diffgbm.distributions.support import Support

Same = TypeVar("Same", bound="QuantileFunction")


@lru_cache(maxsize=128)
def _places(knots: bytes, asked: bytes) -> tuple[Integers, Array] | None:
    """Return for each asked level the knot before it and how far the next one is; ``None`` if one is not a level.

    Both are float64 numbers. The same levels are asked again and again, and a row alone takes longer to find them than
    to interpolate.
    """
    p, levels = np.frombuffer(knots), np.frombuffer(asked)
    if not np.all((levels >= 0.0) & (levels <= 1.0)):
        return None
    j = np.clip(np.searchsorted(p, levels, side="right") - 1, 0, len(p) - 2)
    return j, (levels - p[j]) / (p[j + 1] - p[j])


@dataclass(frozen=True, eq=False)
class QuantileFunction:
    """Quantile functions of ``n`` rows; ``PredictiveDistribution`` documents the attributes and adds densities."""

    values: Array
    levels: Array
    name: str = "y"
    index: Any = field(default=None, repr=False)
    support: Support | None = field(default=None, repr=False)
    source: Any = field(default=None, repr=False)
    function: Function | None = field(default=None, repr=False)
    no_density: str = field(default="", repr=False)

    @classmethod
    def from_points(
        cls: type[Same], points: ArrayLike, name: str = "y", index: Any = None, support: Support | None = None
    ) -> Same:
        """Make distributions of equally likely points (n, m), in any order, with levels ``(j + 1/2) / m``."""
        values = np.array(points, dtype=np.float64)
        if not is_sorted(values):
            values.sort(axis=1)
        m = values.shape[1]
        return cls(values, (np.arange(m) + 0.5) / m, name, index, support)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self: Same) -> Iterator[Same]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self: Same, rows: Any) -> Same:
        """Select rows by a position, a slice, positions or a mask. A single row is still a table of one row."""
        key = row_key(rows, len(self))
        index = None if self.index is None else self.index[key]
        source = None if self.source is None else self.source[rows]
        return replace(self, values=self.values[key], index=index, source=source)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the observations: (n,)."""
        return self.values.shape[:1]

    def equally_likely_points(self) -> Array:
        """Return as many equally likely points of each row as it has levels, shape (n, m, 1)."""
        m = len(self.levels)
        return self.quantile((np.arange(m) + 0.5) / m)[:, :, None]

    def append(self: Same, others: Sequence[Same]) -> Same:
        """Return these rows followed by those of ``others``, which have the same levels and support."""
        if self.function is not None or any(other.function is not None for other in others):
            raise ValueError("transformed distributions cannot be appended: append first, then transform.")
        values = np.concatenate([self.values, *(other.values for other in others)])
        index = append_index(self.index, [other.index for other in others])
        return replace(self, values=values, index=index)

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """Points (n, k) with the ends of the support, half a gap beyond the outermost points, and their levels.

        Levels are (k,), or (n, k) where the support has atoms: a point at an atom holds the cell of probability between
        the middles to its neighbours' levels, and is there twice, at both ends of the cell.
        """
        if self.source is not None:
            points, levels = self.source._knots
            return self._image(points), levels
        v, p = self.values, self.levels
        gaps = (v[:, 1] - v[:, 0], v[:, -1] - v[:, -2]) if v.shape[1] > 1 else (np.zeros(len(v)), np.zeros(len(v)))
        first, last = v[:, 0] - 0.5 * gaps[0], v[:, -1] + 0.5 * gaps[1]
        if self.support is None:
            return np.column_stack([first, v, last]), np.concatenate([[0.0], p, [1.0]])
        # the limits confine what lies beyond the points; points themselves are where they are
        first = np.minimum(np.maximum(first, self.support.low), v[:, 0])
        last = np.maximum(np.minimum(last, self.support.high), v[:, -1])
        if not self.support.has_atoms:
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
        if levels.ndim < 2 and self.source is None:
            v, p = self._knots
            if p.ndim == 1 and (places := _places(p.tobytes(), levels.tobytes())) is not None:
                j, part = (each.reshape(levels.shape) for each in places)
                return v[:, j] + part * (v[:, j + 1] - v[:, j])
        per_row = levels.ndim == 2 and len(levels) == len(self)
        if (levels.ndim > 1 and not per_row) or not np.all((levels >= 0.0) & (levels <= 1.0)):
            raise ValueError(
                "quantile levels must be one number or a list of numbers between 0 and 1, or such a list for each "
                f"of the {len(self)} rows; got {q!r}."
            )
        if self.source is not None:
            return self._image(self.source.quantile(levels))
        v, p = self._knots
        if p.ndim == 2:
            each = levels if per_row else levels.reshape(1, -1)
            # backwards: at a level where the quantile function jumps, interpolation takes the knot beyond
            found = interpolated_rows(-each, -p[:, ::-1], v[:, ::-1])
            return found if per_row else found.reshape(len(self), *levels.shape)
        return interpolated_rows(levels, p[None], v)

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
        if self.source is not None:
            return self.source.cdf(self._last(at, strict=False))
        return np.array([piecewise.interpolated(a, row, p) for a, row, p in self._rows(at)]).reshape(at.shape)

    def sf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y > y)`, with ``y`` as in ``cdf``."""
        return 1.0 - self.cdf(y)

    def prob_at_least(self, y: ArrayLike) -> Array:
        r""":math:`P(Y \ge y)`, with ``y`` as in ``cdf``: more than ``sf`` where ``y`` is a point mass."""
        return 1.0 - self.prob_below(y)

    def prob_below(self, y: ArrayLike) -> Array:
        r""":math:`P(Y < y)`, with ``y`` as in ``cdf``: less than ``cdf`` where ``y`` is a point mass."""
        at = self._arguments(y)
        if self.source is not None:
            return self.source.cdf(self._last(at, strict=True))
        return np.array([piecewise.below(a, row, p) for a, row, p in self._rows(at)]).reshape(at.shape)

    def pmf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y = y)`, with ``y`` as in ``cdf``: zero where ``y`` is no point mass."""
        return self.cdf(y) - self.prob_below(y)

    def pit(self, y: ArrayLike) -> Array:
        """Probability integral transform ``cdf(y)`` of the observations (n,): uniform under calibration."""
        return self.cdf(self.observations(y))

    def prob_between(self, low: ArrayLike, high: ArrayLike) -> Array:
        r""":math:`P(low < Y \le high)`."""
        return self.cdf(high) - self.cdf(low)

    def interval(self, coverage: float | Sequence[float] = 0.9, kind: IntervalKind = "central") -> Array:
        """Interval of probability ``coverage``: lower and upper ends, shape (n, 2); (n, k, 2) for ``k`` coverages.

        ``"central"`` leaves the same probability out on both sides, ``"highest_density"`` is the shortest interval.
        """
        share = coverages(coverage)
        if share.ndim == 1:
            return np.stack([self.interval(each, kind) for each in share.tolist()], axis=1)
        if known("kind", kind, ("central", "highest_density")) == "central":
            return self.quantile([0.5 * (1.0 - share), 0.5 * (1.0 + share)])
        starts = np.linspace(0.0, 1.0 - share, 201)
        low, high = self.quantile(starts), self.quantile(np.minimum(starts + share, 1.0))
        best = np.argmin(high - low, axis=1)[:, None]
        return np.hstack([np.take_along_axis(ends, best, axis=1) for ends in (low, high)])

    def value_at_risk(self, level: float | Sequence[float] = 0.95, outcome: Outcome = "loss") -> Array:
        r"""Value at risk :math:`\inf\{l : P(L \le l) \ge \alpha\}`: a loss that is exceeded in :math:`1 - \alpha`.

        Parameters
        ----------
        level : float or sequence of k floats
            Probability :math:`\alpha` of a loss up to the value at risk: 0.95 for the worst 5% of the outcomes.
        outcome : {"loss", "gain"}
            What the response is. The loss ``L`` is the response itself, or minus the response if it is a gain.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Losses, for both outcomes: a negative value at risk is a gain.

        References
        ----------
        Rockafellar & Uryasev (2000), Optimization of conditional value-at-risk, Journal of Risk 2.

        Examples
        --------
        >>> from diffgbm import PredictiveDistribution
        >>> dist = PredictiveDistribution.from_points([range(100)])
        >>> dist.value_at_risk(0.95), dist.value_at_risk(0.95, outcome="gain")
        (array([94.5]), array([-4.5]))
        """
        losses = self._losses(outcome)
        return losses.quantile(risk_levels(level, losses.levels))

    def expected_shortfall(self, level: float | Sequence[float] = 0.95, outcome: Outcome = "loss") -> Array:
        r"""Expected shortfall :math:`\frac{1}{1 - \alpha} \int_\alpha^1 \mathrm{VaR}_p\,dp`: the mean of the worst.

        Also known as conditional value at risk. The worst :math:`1 - \alpha` of the outcomes count, and no more: of a
        point mass at the value at risk, the part that belongs to them. It is exact, without samples.

        Parameters
        ----------
        level : float or sequence of k floats
            Probability :math:`\alpha`, as in ``value_at_risk``.
        outcome : {"loss", "gain"}
            What the response is, as in ``value_at_risk``.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Losses, for both outcomes: at least the value at risk.

        References
        ----------
        Acerbi & Tasche (2002), On the coherence of expected shortfall, Journal of Banking & Finance 26.
        Rockafellar & Uryasev (2000), Optimization of conditional value-at-risk, Journal of Risk 2.

        Examples
        --------
        >>> from diffgbm import PredictiveDistribution
        >>> dist = PredictiveDistribution.from_points([range(100)])
        >>> dist.expected_shortfall(0.95).round(3), dist.expected_shortfall(0.95, outcome="gain").round(3)
        (array([97.]), array([-2.]))
        """
        losses = self._losses(outcome)
        levels = risk_levels(level, losses.levels)
        means = [piecewise.upper_mean(*losses._knots, alpha) for alpha in np.atleast_1d(levels).tolist()]
        return np.stack(means, axis=1) if levels.ndim else means[0]

    def mean_excess(self, threshold: ArrayLike) -> Array:
        r"""Expected excess :math:`E(Y - c)_+` over one threshold, or one for each row (n,): shape (n,), exact."""
        return piecewise.mean_excess(*self._knots, self.observations(np.broadcast_to(threshold, self.shape)))

    def transform(self: Same, function: Function, name: str | None = None) -> Same:
        r"""Distribution of :math:`g(Y)`: quantiles :math:`g(Q(p))` if ``g`` increases, :math:`g(Q(1 - p))` if it falls.

        Quantiles, probabilities and samples of a monotone function are exact; means and scores are those of straight
        lines between the transformed points. Other functions are applied to equally likely points, as many as the
        distribution has: probabilities are then multiples of one over their number.

        Atoms go to atoms. Where a function is constant on an interval (a cap, a deductible, rounding), its value is an
        atom. A distribution with such an atom has no density: ``pdf``, ``logpdf``, ``mode`` and ``entropy``
        raise a ``ValueError``; use ``cdf`` and ``pmf``.

        Parameters
        ----------
        function : callable
            Function of an array of any shape that is applied to each number, like ``np.exp``. It must be finite at all
            points.
        name : str, optional
            Name of the transformed response; by default that of the response.

        Returns
        -------
        PredictiveDistribution
            Distributions of the same rows.

        Examples
        --------
        A model of the logarithm, asked about the price; and what an insurer pays beyond a deductible of 2:

        >>> import numpy as np
        >>> from diffgbm import PredictiveDistribution
        >>> log_price = PredictiveDistribution.from_points([[0.0, 1.0, 2.0, 3.0, 4.0]])
        >>> log_price.transform(np.exp).quantile(0.5).round(3)
        array([7.389])
        >>> paid = log_price.transform(lambda y: np.maximum(y - 2.0, 0.0))
        >>> paid.pmf(0.0), paid.quantile(0.9)
        (array([0.5]), array([2.]))
        """
        if self.source is not None and self.function is not None:
            # one function of the source: nothing is interpolated twice
            inner = self.function
            composed: Same = self.source.transform(lambda v: function(quiet_image(inner, v)), name or self.name)
            return composed
        values = image(function, self.values)
        known_support = None if self.support is None else self.support.listed(self.values)
        sign = direction(values)
        if sign < 0:
            return self._negative().transform(lambda v: function(-v), name)
        points = self.values if sign else self.equally_likely_points()[:, :, 0]
        values = values if sign else image(function, points)
        flat = flat_values(function, points, values)
        new = replace(
            self,
            values=values if sign else np.sort(values, axis=1),
            levels=self.levels if sign else (np.arange(len(self.levels)) + 0.5) / len(self.levels),
            name=self.name if name is None else name,
            support=image_support(function, known_support, self._knots[0], flat),
            no_density="" if not len(flat) else f"function is constant on an interval, where it is {flat[0]:g}",
        )
        ends = quiet_image(function, self._knots[0])
        if sign and np.all(np.isfinite(ends)) and direction(ends) > 0:
            return replace(new, support=monotone_support(function, known_support), source=self, function=function)
        # beyond the points, where the function may have no value, straight lines go on
        return new

    def _negative(self: Same) -> Same:
        """Distribution of minus the response."""
        support = None if self.support is None else self.support.negative()
        return replace(self, values=-self.values[:, ::-1], levels=1.0 - self.levels[::-1], support=support)

    def _losses(self: Same, outcome: Outcome) -> Same:
        return self if check_outcome(outcome) == "loss" else self.transform(np.negative)

    def _image(self, points: Array) -> Array:
        """Values of the function at points of the source."""
        assert self.function is not None
        return quiet_image(self.function, points)

    def _last(self, z: Array, strict: bool) -> Array:
        """Largest value of the source whose image is at most ``z``, or less than it."""
        assert self.source is not None
        return piecewise.last_at_most(self._image, self.source._knots[0], z, strict)

    def crps(self, y: ArrayLike, low: float = -np.inf, high: float = np.inf) -> Array:
        r"""Continuous ranked probability score of each row, exact.

        :math:`\int (F(u) - 1\{u \ge y\})^2 du`, integrated from ``low`` to ``high``.

        References
        ----------
        Matheson & Winkler (1976), Scoring rules for continuous probability distributions, Management Science 22.
        Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.
        """
        return piecewise.crps(*self._knots, self.observations(y), low, high)

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
