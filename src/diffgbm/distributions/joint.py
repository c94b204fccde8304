"""Joint predictive distributions of several responses, as points, with their marginals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from diffgbm._util.errors import check_count, known
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.distributions.base import IntervalKind, Outcome, append_index, row_key
from diffgbm.distributions.images import joint_image
from diffgbm.distributions.joint_scores import energy_score, variogram_score
from diffgbm.distributions.samples import Samples
from diffgbm.distributions.scalar import PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.engine import normals


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """Use this if ``d`` responses matter together: their joint distributions for ``n`` rows, equally likely points.

    Methods that return shape (n,) for one response return shape (n, d) here, one column for each marginal.
    ``dist["name"]`` or ``dist.marginal(j)`` is the distribution of one response.

    Attributes
    ----------
    points : ndarray of shape (n, m, d)
        Points of each row's joint distribution.
    names : tuple of str
        Names of the responses.
    index : object
        Row labels of the frame the rows came from.
    supports : tuple of Support or None
        Atoms and limits of each response.

    Examples
    --------
    One row, three joint points of two responses that move together:

    >>> import numpy as np
    >>> from diffgbm import JointDistribution
    >>> dist = JointDistribution(np.array([[[0.0, 5.0], [1.0, 6.0], [2.0, 7.0]]]), ("price", "rent"))
    >>> dist["rent"].mean()
    array([6.])
    >>> dist.correlation()[0].round(2)
    array([[1., 1.],
           [1., 1.]])
    >>> dist.expect(lambda points: points.sum(axis=-1) > 7.5)
    array([0.33333333])
    """

    points: Array
    names: tuple[str, ...]
    index: Any = field(default=None, repr=False)
    supports: tuple[Support | None, ...] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"JointDistribution({', '.join(self.names)}; {len(self)} rows, {self.points.shape[1]} points)"

    def __getitem__(self, key: Any) -> Any:
        """Select the distribution of one response by its name, or some of the rows."""
        if isinstance(key, str):
            return self.marginal(self.names.index(known("response", key, self.names)))
        rows = row_key(key, len(self))
        index = None if self.index is None else self.index[rows]
        return JointDistribution(self.points[rows], self.names, index, self.supports)

    def marginal(self, j: int) -> PredictiveDistribution:
        """Distribution of response ``j``."""
        support = None if self.supports is None else self.supports[j]
        return PredictiveDistribution.from_points(self.points[:, :, j], self.names[j], self.index, support)

    def equally_likely_points(self) -> Array:
        """Return the points, shape (n, m, d)."""
        return self.points

    def marginals(self) -> tuple[PredictiveDistribution, ...]:
        """Return the distribution of each response."""
        return tuple(self.marginal(j) for j in range(len(self.names)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the observations: (n, d)."""
        return len(self), len(self.names)

    def append(self, others: Sequence[JointDistribution]) -> JointDistribution:
        """Return these rows followed by those of ``others``, which have as many points."""
        points = np.concatenate([self.points, *(other.points for other in others)])
        index = append_index(self.index, [other.index for other in others])
        return JointDistribution(points, self.names, index, self.supports)

    def _each(self, function: Callable[[PredictiveDistribution, int], Array]) -> Array:
        """Stack a result of each marginal along a second axis."""
        return np.stack([function(marginal, j) for j, marginal in enumerate(self.marginals())], axis=1)

    def mean(self) -> Array:
        """Means, shape (n, d)."""
        return self._each(lambda distribution, _: distribution.mean())

    def var(self) -> Array:
        """Variances, shape (n, d)."""
        return self._each(lambda distribution, _: distribution.var())

    def std(self) -> Array:
        """Standard deviations, shape (n, d)."""
        return self._each(lambda distribution, _: distribution.std())

    def median(self) -> Array:
        """Medians, shape (n, d)."""
        return self.quantile(0.5)

    def mode(self) -> Array:
        """Mode of each marginal, shape (n, d)."""
        return self._each(lambda distribution, j: distribution.mode())

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles of the marginals: shape (n, d) for one level, (n, d, k) for ``k`` levels."""
        return self._each(lambda distribution, j: distribution.quantile(q))

    def interval(self, coverage: float | Sequence[float] = 0.9, kind: IntervalKind = "central") -> Array:
        """Intervals of the marginals, shape (n, d, 2); (n, d, k, 2) for ``k`` coverages."""
        return self._each(lambda distribution, j: distribution.interval(coverage, kind))

    def value_at_risk(self, level: float | Sequence[float] = 0.95, outcome: Outcome = "loss") -> Array:
        """Value at risk of the marginals, shape (n, d) or (n, d, k); that of a sum is not the sum: ``transform`` first.

        See ``PredictiveDistribution.value_at_risk``.
        """
        return self._each(lambda distribution, j: distribution.value_at_risk(level, outcome))

    def expected_shortfall(self, level: float | Sequence[float] = 0.95, outcome: Outcome = "loss") -> Array:
        """Expected shortfall of the marginals, shape (n, d) or (n, d, k); see ``value_at_risk``."""
        return self._each(lambda distribution, j: distribution.expected_shortfall(level, outcome))

    def mean_excess(self, threshold: ArrayLike) -> Array:
        r"""Expected excess :math:`E(Y_j - c_j)_+` of the marginals, with ``threshold`` as in ``cdf``: shape (n, d)."""
        at = np.broadcast_to(np.asarray(threshold, dtype=np.float64), self.shape)
        return self._each(lambda distribution, j: distribution.mean_excess(at[:, j]))

    def transform(self, function: Callable[[Array], ArrayLike], name: str = "y") -> PredictiveDistribution:
        """Distribution of one number that all responses give together, like their sum or a profit.

        Parameters
        ----------
        function : callable
            Function of the points (n, m, d) that returns one number for each: shape (n, m).
        name : str
            Name of the number.

        Returns
        -------
        PredictiveDistribution
            Distributions of the same rows, with as many points. Values that several points of a row share are atoms.

        Examples
        --------
        >>> import numpy as np
        >>> from diffgbm import JointDistribution
        >>> dist = JointDistribution(np.array([[[0.0, 5.0], [1.0, 6.0], [2.0, 7.0]]]), ("price", "rent"))
        >>> dist.transform(lambda points: points.sum(axis=-1), "total").values
        array([[5., 7., 9.]])
        """
        values = np.sort(joint_image(function, self.points), axis=1)
        atoms = np.unique(values[:, 1:][values[:, 1:] == values[:, :-1]])
        reason = f"several points are {atoms[0]:g}" if len(atoms) else ""
        made = PredictiveDistribution.from_points(values, name, self.index, Support(atoms=atoms))
        return replace(made, no_density=reason)

    def cdf(self, y: ArrayLike) -> Array:
        """Distribution functions of the marginals at one point (d,) or one for each row (n, d): shape (n, d)."""
        at = np.broadcast_to(np.asarray(y, dtype=np.float64), (len(self), len(self.names)))
        return self._each(lambda distribution, j: distribution.cdf(at[:, j]))

    def sf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y_j > y_j)` of the marginals, with ``y`` as in ``cdf``: shape (n, d)."""
        return 1.0 - self.cdf(y)

    def prob_at_least(self, y: ArrayLike) -> Array:
        r""":math:`P(Y_j \ge y_j)` of the marginals, with ``y`` as in ``cdf``: shape (n, d)."""
        at = np.broadcast_to(np.asarray(y, dtype=np.float64), (len(self), len(self.names)))
        return self._each(lambda distribution, j: distribution.prob_at_least(at[:, j]))

    def prob_below(self, y: ArrayLike) -> Array:
        r""":math:`P(Y_j < y_j)` of the marginals, with ``y`` as in ``cdf``: shape (n, d)."""
        at = np.broadcast_to(np.asarray(y, dtype=np.float64), (len(self), len(self.names)))
        return self._each(lambda distribution, j: distribution.prob_below(at[:, j]))

    def pmf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y_j = y_j)` of the marginals, with ``y`` as in ``cdf``: shape (n, d)."""
        return self.cdf(y) - self.prob_below(y)

    def pit(self, y: ArrayLike) -> Array:
        """Probability integral transforms of the marginals, shape (n, d)."""
        return self.cdf(y)

    def crps(self, y: ArrayLike, low: float = -np.inf, high: float = np.inf) -> Array:
        """CRPS of the marginals (between ``low`` and ``high``), shape (n, d)."""
        observed = self.observations(y)
        return self._each(lambda distribution, j: distribution.crps(observed[:, j], low, high))

    def logpdf(self, y: ArrayLike) -> Array:
        r"""Log density of the joint distribution at one observation for each row, shape (n,).

        A normal kernel on each point, with the row's covariance times :math:`m^{-2/(d+4)}` (Scott's rule).

        References
        ----------
        Scott (1992), Multivariate density estimation, Wiley.
        """
        observed = self.observations(y)
        _, m, d = self.points.shape
        centred = self.points - self.points.mean(axis=1)[:, None]
        covariance = np.einsum("nmj,nmk->njk", centred, centred) / m * m ** (-2.0 / (d + 4))
        scale = np.einsum("njj->nj", covariance)
        # points on a line or in one place have no density: some noise, and if they are one number but for rounding,
        # a billionth of it
        size = np.abs(self.points).max(axis=1)
        floor = np.where(scale > (16.0 * np.spacing(size)) ** 2, 1e-9 * scale, (1e-9 * size) ** 2)
        covariance += np.eye(d) * (floor + 1e-300)[:, :, None]
        root = np.linalg.cholesky(covariance)
        z = np.linalg.solve(root, (observed[:, None] - self.points).swapaxes(1, 2))
        log_kernel = -0.5 * (z**2).sum(axis=1)
        log_det = np.log(np.einsum("njj->nj", root)).sum(axis=1)
        peak = log_kernel.max(axis=1)
        total = np.log(np.exp(log_kernel - peak[:, None]).mean(axis=1)) + peak
        return np.asarray(total - log_det - 0.5 * d * np.log(2.0 * np.pi))

    def correlation(self) -> Array:
        """Correlation matrices, shape (n, d, d)."""
        return Samples(self.points.swapaxes(0, 1)).sample_correlation()

    def energy_score(self, y: ArrayLike) -> Array:
        """Energy score of each row, shape (n,); see ``metrics.energy_score``."""
        return energy_score(self.points, self.observations(y))

    def variogram_score(self, y: ArrayLike, p: float = 0.5) -> Array:
        """Variogram score of order ``p`` of each row, shape (n,); see ``metrics.variogram_score``."""
        return variogram_score(self.points, self.observations(y), p)

    def expect(self, function: Callable[[Array], ArrayLike]) -> Array:
        """Expectation of a function of the joint draw: it maps points (n, m, d) to (n, m) or (n, m, ...)."""
        result = np.asarray(function(self.points), dtype=np.float64)
        if result.shape[:2] != self.points.shape[:2]:
            raise ValueError(
                f"function must keep the first two axes of its argument {self.points.shape}; got {result.shape}."
            )
        return result.mean(axis=1)

    def sample(self, n_samples: int, seed: int | None = None, first_row: int = 0) -> Array:
        """Draw joint samples (n_samples, n, d) from the points; row ``i`` depends on ``(seed, first_row + i)`` alone.

        Rows are independent of each other, so that sums over rows are no wider than they are.
        """
        check_count("n_samples", n_samples, 1)
        key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        rows, n_points = np.arange(len(self)), self.points.shape[1]
        uniform = ndtr(normals(key, first_row + rows, np.arange(n_samples), 0, 1)[:, :, 0])
        chosen = np.minimum((uniform * n_points).astype(np.intp), n_points - 1)
        return self.points[rows[:, None], chosen].swapaxes(0, 1)

    def to_frame(self, quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)) -> Any:
        """Summarise the marginals in a pandas frame whose first column level is the response."""
        frames = {marginal.name: marginal.to_frame(quantiles) for marginal in self.marginals()}
        return need("pandas").concat(frames, axis=1)

    def observations(self, y: ArrayLike) -> Array:
        """Return one observation of all responses for each row."""
        observed = np.asarray(y, dtype=np.float64)
        if observed.shape != (len(self), len(self.names)):
            raise ValueError(f"y must have shape ({len(self)}, {len(self.names)}); got {observed.shape}.")
        return observed
