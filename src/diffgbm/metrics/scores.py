r"""Scores of predictive distributions, in the paper's definitions.

Every function takes a ``prediction`` and the observed ``y``. A prediction is an array of samples, of shape
(n_samples, n) or (n_samples, n, d) as ``DiffGBM.sample`` returns them, or anything with the methods of
``Law``, such as a predictive distribution. Scores by row have the shape of ``y``; summaries are floats. Lower is
better, except for skill.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kstest

from diffgbm._util.types import Array

__all__ = [
    "climatology_crps",
    "coverage",
    "coverage_error",
    "coverage_scorer",
    "crps",
    "crps_scorer",
    "crpss",
    "dss",
    "energy_score",
    "interval_score",
    "iqr_binned_coverage",
    "iqr_mace",
    "log_score",
    "pit",
    "pit_ks",
    "q_mace",
    "threshold_weighted_crps",
    "variogram_score",
    "weighted_crps",
    "width",
]

SMALLEST_VARIANCE = 1e-12


def _rules() -> Any:
    """Import scoringrules when a score needs it: it brings numba along, which is slow to import."""
    import scoringrules

    return scoringrules


class AnyDistribution(Protocol):
    """What the scores ask of a prediction for ``n`` rows."""

    def mean(self) -> Array:
        """Means, of the shape of y."""
        ...

    def var(self) -> Array:
        """Variances, of the shape of y."""
        ...

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles: of the shape of y for one ``q``, with ``len(q)`` behind for several."""
        ...

    def crps(self, y: ArrayLike) -> Array:
        """CRPS of each row."""
        ...

    def pit(self, y: ArrayLike) -> Array:
        r""":math:`P(Y \le y)` of each row."""
        ...

    def sf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y \ge y)` of each row (ties of an ensemble count)."""
        ...


@dataclass(frozen=True)
class Ensemble:
    """Samples (n_samples, n) or (n_samples, n, d) as a law."""

    samples: Array

    def mean(self) -> Array:
        """Sample means."""
        return self.samples.mean(axis=0)

    def var(self) -> Array:
        """Unbiased sample variances."""
        if len(self.samples) < 2:
            raise ValueError("A variance needs at least 2 samples for each row; got 1.")
        return self.samples.var(axis=0, ddof=1)

    def quantile(self, q: ArrayLike) -> Array:
        """Empirical quantiles."""
        result = np.quantile(self.samples, np.asarray(q), axis=0)
        return np.moveaxis(result, 0, -1) if np.ndim(q) else np.asarray(result)

    def crps(self, y: ArrayLike, fair: bool = False) -> Array:
        r""":math:`\frac1m \sum |x_i - y| - \frac{1}{2m^2} \sum |x_i - x_j|`; ``fair`` divides by m(m-1)."""
        members = np.moveaxis(self.samples, 0, -1)
        estimator = "pwm" if fair else "qd"
        return np.asarray(_rules().crps_ensemble(np.asarray(y), members, estimator=estimator, backend="numpy"))

    def pit(self, y: ArrayLike) -> Array:
        """Fraction of samples at or below ``y``."""
        return np.asarray((self.samples <= np.asarray(y)).mean(axis=0))

    def sf(self, y: ArrayLike) -> Array:
        """Fraction of samples at or above ``y``."""
        return np.asarray((self.samples >= np.asarray(y)).mean(axis=0))


def as_distribution(prediction: Any, y: ArrayLike | None = None) -> AnyDistribution:
    """Read a prediction: a law as it is, anything else as samples whose shape must fit ``y``."""
    if hasattr(prediction, "crps"):
        return cast(AnyDistribution, prediction)
    samples = np.asarray(prediction, dtype=np.float64)
    if samples.ndim < 2 or (y is not None and samples.shape[1:] != np.shape(y)):
        raise ValueError(
            f"prediction must hold samples of shape (n_samples, *y.shape) or be a predictive distribution; got shape "
            f"{samples.shape}" + ("." if y is None else f" for y of shape {np.shape(y)}.")
        )
    return Ensemble(samples)


def crps(prediction: Any, y: ArrayLike, *, fair: bool = False) -> Array:
    r"""Continuous ranked probability score :math:`E|X - y| - \tfrac12 E|X - X'|` of each row.

    Samples are scored as the ensemble they are; ``fair=True`` removes the bias of their finite number. A predictive
    distribution is scored exactly.

    Examples
    --------
    Two samples, 0 and 2, and the observation 1: the mean distance is 1, half the mean distance of pairs 1/2.

    >>> from diffgbm import metrics
    >>> metrics.crps([[0.0], [2.0]], [1.0])
    array([0.5])
    """
    distribution = as_distribution(prediction, y)
    return distribution.crps(y, fair=fair) if isinstance(distribution, Ensemble) else distribution.crps(y)


def climatology_crps(y_train: ArrayLike, y: ArrayLike) -> Array:
    """CRPS of the training responses as one ensemble for all rows, without a rows x training array.

    Shapes (m,) and (n,), or (m, d) and (n, d) for each response by itself.
    """
    train, observed = np.asarray(y_train, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if train.ndim == 2:
        return np.column_stack([climatology_crps(a, b) for a, b in zip(train.T, observed.T, strict=True)])
    x = np.sort(train)
    m = len(x)
    below = np.searchsorted(x, observed)
    total = np.concatenate([[0.0], np.cumsum(x)])
    distance = (observed * below - total[below]) + (total[m] - total[below] - observed * (m - below))
    # sum over pairs |x_i - x_j| = 2 sum_i (2i - m + 1) x_(i), counted from zero
    spread = 2.0 * np.dot(2.0 * np.arange(m) - m + 1.0, x)
    return np.asarray(distance / m - spread / (2.0 * m * m))


def crpss(prediction: Any, y: ArrayLike, y_train: ArrayLike) -> float:
    """Skill :math:`1 - CRPS / CRPS_{climatology}`: 1 is perfect, 0 no better than the training responses.

    Examples
    --------
    >>> from diffgbm import metrics
    >>> metrics.crpss([[1.0, 3.0]], [1.0, 3.0], y_train=[1.0, 3.0])  # one sample of each row, and it is right
    1.0
    """
    return 1.0 - float(np.mean(crps(prediction, y)) / np.mean(climatology_crps(y_train, y)))


def dss(prediction: Any, y: ArrayLike) -> Array:
    r"""Dawid-Sebastiani score :math:`\log s^2 + (y - m)^2 / s^2`, the variance floored at 1e-12."""
    distribution = as_distribution(prediction, y)
    variance = np.maximum(distribution.var(), SMALLEST_VARIANCE)
    return np.asarray(np.log(variance) + (np.asarray(y) - distribution.mean()) ** 2 / variance)


def log_score(prediction: Any, y: ArrayLike) -> Array:
    """Negative log density of each row, shape (n,): of the joint law for several responses.

    Samples are read as the points of a predictive distribution, which smooths them.
    """
    from diffgbm.distributions.joint import JointDistribution
    from diffgbm.distributions.scalar import PredictiveDistribution

    distribution: Any = as_distribution(prediction, y)
    if isinstance(distribution, Ensemble):
        points = distribution.samples.swapaxes(0, 1)
        names = tuple(f"y{j}" for j in range(points.shape[-1]))
        distribution = (
            PredictiveDistribution.from_points(points) if points.ndim == 2 else JointDistribution(points, names)
        )
    return np.asarray(-distribution.logpdf(y))


def pit(prediction: Any, y: ArrayLike) -> Array:
    r"""Probability integral transform :math:`P(Y \le y)` of each row: uniform if the law is right.

    Examples
    --------
    >>> from diffgbm import metrics
    >>> metrics.pit([[0.0], [1.0], [2.0], [3.0]], [1.5])
    array([0.5])
    """
    return as_distribution(prediction, y).pit(y)


@dataclass(frozen=True)
class KSTest:
    """Kolmogorov-Smirnov test of uniform PIT values."""

    statistic: float
    pvalue: float


def pit_ks(prediction: Any, y: ArrayLike) -> KSTest:
    """Test the PIT values against the uniform law; the paper counts ``pvalue > 0.05`` as passed."""
    result = kstest(pit(prediction, y).ravel(), "uniform")
    return KSTest(float(result.statistic), float(result.pvalue))


def central_interval(prediction: Any, level: float) -> tuple[Array, Array]:
    """Ends of the central interval of probability ``level``: two arrays of the shape of y."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    ends = as_distribution(prediction).quantile([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    return ends[..., 0], ends[..., 1]


def coverage(prediction: Any, y: ArrayLike, level: float = 0.9) -> float:
    """Fraction of rows inside their central interval.

    Examples
    --------
    Ten even samples of three rows; half of their law lies between 2.25 and 6.75.

    >>> import numpy as np
    >>> from diffgbm import metrics
    >>> samples = np.tile(np.arange(10.0)[:, None], 3)
    >>> round(metrics.coverage(samples, [0.0, 3.0, 6.0], level=0.5), 3)
    0.667
    """
    return float(np.mean(_inside(prediction, y, level)))


def coverage_error(prediction: Any, y: ArrayLike, level: float = 0.9) -> float:
    """Absolute difference between coverage and ``level``."""
    return abs(coverage(prediction, y, level) - level)


def width(prediction: Any, level: float = 0.9) -> float:
    """Mean width of the central intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import metrics
    >>> metrics.width(np.arange(11.0)[:, None], level=0.8)
    8.0
    """
    low, high = central_interval(prediction, level)
    return float(np.mean(high - low))


def interval_score(prediction: Any, y: ArrayLike, level: float = 0.9) -> Array:
    r"""Winkler's score of the central interval: its width plus :math:`2/(1 - level)` times what it misses."""
    low, high = central_interval(as_distribution(prediction, y), level)
    return np.asarray(_rules().interval_score(np.asarray(y), low, high, 1.0 - level, backend="numpy"))


def q_mace(prediction: Any, y: ArrayLike) -> float:
    """Mean distance of the sorted ``P(Y >= y)`` from an even grid on [0, 1]."""
    ranks = np.sort(as_distribution(prediction, y).sf(y).ravel())
    return float(np.mean(np.abs(ranks - np.linspace(0.0, 1.0, len(ranks)))))


def iqr_binned_coverage(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5) -> Array:
    """Coverage in each of ``bins`` equal groups of rows, sorted by their predicted interquartile range."""
    low, high = central_interval(as_distribution(prediction, y), 0.5)
    order = np.argsort((high - low).ravel(), kind="stable")
    inside = _inside(prediction, y, level).ravel()[order]
    return np.array([group.mean() for group in np.array_split(inside, min(bins, len(inside)))])


def iqr_mace(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5) -> float:
    """Mean absolute coverage error over the groups of ``iqr_binned_coverage``."""
    return float(np.mean(np.abs(iqr_binned_coverage(prediction, y, level, bins) - level)))


def threshold_weighted_crps(prediction: Any, y: ArrayLike, low: float = -np.inf, high: float = np.inf) -> Array:
    r"""CRPS that counts only what happens between ``low`` and ``high``: :math:`\int_{low}^{high} (F - 1)^2`."""
    distribution = as_distribution(prediction, y)
    if not isinstance(distribution, Ensemble):
        return np.asarray(cast(Any, distribution).crps(y, low, high))
    return Ensemble(np.clip(distribution.samples, low, high)).crps(np.clip(y, low, high))


def weighted_crps(prediction: Any, y: ArrayLike, weight: Callable[[Array], Array]) -> Array:
    """Outcome-weighted CRPS: the law conditioned by ``weight(value) >= 0``, times ``weight(y)``.

    A predictive distribution is read at 256 evenly spread levels.
    """
    distribution, observed = as_distribution(prediction, y), np.asarray(y, dtype=np.float64)
    levels = (np.arange(256) + 0.5) / 256
    members = (
        np.moveaxis(distribution.samples, 0, -1)
        if isinstance(distribution, Ensemble)
        else distribution.quantile(levels)
    )
    return _by_rows(_rules().owcrps_ensemble, observed, members, w_func=weight, backend="numpy")


def energy_score(prediction: Any, y: ArrayLike) -> Array:
    r"""Energy score :math:`E\|X - y\| - \tfrac12 E\|X - X'\|` of each row's joint law.

    ``prediction`` holds joint samples (n_samples, n, d) or is a joint distribution.

    Examples
    --------
    Two samples of one row, 5 apart, and an observation halfway.

    >>> from diffgbm import metrics
    >>> metrics.energy_score([[[0.0, 0.0]], [[3.0, 4.0]]], [[1.5, 2.0]])
    array([1.25])
    """
    members, observed = _joint(prediction, y)
    return _by_rows(_rules().es_ensemble, observed, members, estimator="nrg", backend="numpy")


def variogram_score(prediction: Any, y: ArrayLike, p: float = 0.5) -> Array:
    """Variogram score of order ``p`` of each row's joint law, which weighs the dependence of the responses.

    ``prediction`` holds joint samples (n_samples, n, d) or is a joint distribution.
    """
    members, observed = _joint(prediction, y)
    return _by_rows(_rules().vs_ensemble, observed, members, p=p, backend="numpy")


def crps_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Minus the mean CRPS, for ``scoring=`` in scikit-learn: greater is better.

    ``estimator`` may be a pipeline that ends in a distributional regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from diffgbm import DiffGBM, metrics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(120, 1))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(120)
    >>> model = DiffGBM.flow(n_estimators=10, n_repeats=5, seed=0, n_jobs=1)
    >>> bool((cross_val_score(model, X, y, cv=3, scoring=metrics.crps_scorer) < 0).all())
    True
    """
    model, rows = _last_step(estimator, X)
    return -float(np.mean(model.crps(rows, y)))


def coverage_scorer(estimator: Any, X: Any, y: Any, level: float = 0.9) -> float:
    """Minus the coverage error of the central intervals, for ``scoring=`` in scikit-learn: greater is better.

    ``estimator`` may be a pipeline that ends in a distributional regressor.
    """
    model, rows = _last_step(estimator, X)
    return -coverage_error(model.predict_distribution(rows), y, level)


def _last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the last step of a pipeline and the rows that reach it; any other estimator as it is."""
    from sklearn.pipeline import Pipeline

    if not isinstance(estimator, Pipeline):
        return estimator, X
    # a pipeline of one step has nothing to transform with
    return _last_step(estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X)


def _joint(prediction: Any, y: ArrayLike) -> tuple[Array, Array]:
    """Read joint points (n, m, d) and observations (n, d)."""
    members = prediction.points.swapaxes(0, 1) if hasattr(prediction, "points") else np.asarray(prediction, np.float64)
    observed = np.asarray(y, dtype=np.float64)
    if members.ndim != 3 or members.shape[1:] != observed.shape:
        raise ValueError(
            f"joint scores need samples of shape (n_samples, n, d) and y of shape (n, d); got shapes {members.shape} "
            f"and {observed.shape}."
        )
    return members.swapaxes(0, 1), observed


def _by_rows(score: Callable[..., Any], y: Array, members: Array, **options: Any) -> Array:
    """Score rows in blocks whose arrays of pairs of members stay small (32 MB)."""
    pairs = members[0].size * members.shape[1] if len(members) else 1
    rows = max(1, (1 << 22) // pairs)
    parts = [score(y[i : i + rows], members[i : i + rows], **options) for i in range(0, len(y), rows)]
    return np.concatenate([np.atleast_1d(part) for part in parts])


def _inside(prediction: Any, y: ArrayLike, level: float) -> NDArray[np.bool_]:
    low, high = central_interval(as_distribution(prediction, y), level)
    observed = np.asarray(y)
    return np.asarray((low <= observed) & (observed <= high))
