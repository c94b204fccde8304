"""The protocol of predictive distributions, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.errors import known, warn
from diffgbm._util.types import Array

IntervalKind = Literal["central", "highest_density"]
"""Kinds of intervals: equal tails, or the shortest."""
Outcome = Literal["loss", "gain"]
"""What a response is to someone who bears a risk."""


class Prediction(Protocol):
    """Distributions of ``n`` rows, as far as scores and pictures need them.

    ``shape`` is (n,) for one response and (n, d) for several, and so is the shape of observations ``y``.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the observations: (n,) or (n, d)."""
        ...

    def mean(self) -> Array:
        """Means, of the shape of ``y``."""
        ...

    def var(self) -> Array:
        """Variances, of the shape of ``y``."""
        ...

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles: of the shape of ``y`` for one level, with a last axis of length k for ``k`` levels."""
        ...

    def crps(self, y: ArrayLike, low: float = ..., high: float = ...) -> Array:
        """CRPS, integrated from ``low`` to ``high``, of the shape of ``y``."""
        ...

    def logpdf(self, y: ArrayLike) -> Array:
        """Log density at one observation for each row, shape (n,)."""
        ...

    def pit(self, y: ArrayLike) -> Array:
        r""":math:`P(Y \le y)`, of the shape of ``y``."""
        ...

    def sf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y > y)`, of the shape of ``y``."""
        ...

    def prob_at_least(self, y: ArrayLike) -> Array:
        r""":math:`P(Y \ge y)`, of the shape of ``y``."""
        ...

    def prob_below(self, y: ArrayLike) -> Array:
        r""":math:`P(Y < y)`, of the shape of ``y``: less than ``pit`` where ``y`` is a point mass."""
        ...


class Distribution(Prediction, Protocol):
    """Predictive distributions of ``n`` rows, as values.

    ``PredictiveDistribution`` (one response) and ``JointDistribution`` (several) answer this protocol. Results of the
    first have shape (n,) where those of the second have shape (n, d).
    """

    @property
    def index(self) -> Any:
        """Row labels of the frame the rows came from, or ``None``."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> Any: ...

    def std(self) -> Array:
        """Standard deviations, of the shape of ``y``."""
        ...

    def median(self) -> Array:
        """Medians, of the shape of ``y``."""
        ...

    def mode(self) -> Array:
        """Points of highest density, of the shape of ``y``."""
        ...

    def interval(self, coverage: float | Sequence[float] = ..., kind: IntervalKind = ...) -> Array:
        """Intervals of probability ``coverage``: shape (n, 2) or (n, d, 2); (..., k, 2) for ``k`` coverages."""
        ...

    def cdf(self, y: ArrayLike) -> Array:
        r""":math:`P(Y \le y)`."""
        ...

    def expect(self, function: Callable[[Array], ArrayLike]) -> Array:
        """Expectation of a function of the response."""
        ...

    def sample(self, n_samples: int, seed: int | None = ..., first_row: int = ...) -> Array:
        """Draw samples (n_samples, n) or (n_samples, n, d)."""
        ...

    def to_frame(self, quantiles: Sequence[float] = ...) -> Any:
        """Summarise the distributions in a pandas frame."""
        ...

    def observations(self, y: ArrayLike) -> Array:
        """Return one observation for each row, of the shape of ``y``; raise a ``ValueError`` for another shape."""
        ...

    def equally_likely_points(self) -> Array:
        """Return points of the distributions with equal probabilities, shape (n, m, d); ``d`` is 1 for one response."""
        ...

    def marginals(self) -> tuple[Any, ...]:
        """Return the ``PredictiveDistribution`` of each response."""
        ...

    def append(self, others: Sequence[Any]) -> Any:
        """Return these rows followed by those of ``others``, which are of the same kind."""
        ...


AnyDistribution = TypeVar("AnyDistribution", bound=Distribution)


def concatenate(blocks: Sequence[AnyDistribution]) -> AnyDistribution:
    """Concatenate the distributions of consecutive blocks of rows, at least one."""
    joined: AnyDistribution = blocks[0] if len(blocks) == 1 else blocks[0].append(blocks[1:])
    return joined


def append_index(index: Any, others: Sequence[Any]) -> Any:
    """Append the row labels of other blocks; ``None`` if the first block has none."""
    return None if index is None else index.append(list(others))


def matching_observations(prediction: Prediction, y: ArrayLike) -> Array:
    """Return observations of the shape of a prediction; (n, 1) is taken as (n,) for one response."""
    observed, expected = np.asarray(y, dtype=np.float64), prediction.shape
    if observed.shape == (*expected, 1):
        observed = observed[..., 0]
    if observed.shape != expected:
        raise ValueError(f"y must have the shape {expected} of the predictions; got {observed.shape}.")
    return observed


def row_key(rows: Any, n: int) -> Any:
    """Return ``rows`` as a key that keeps the axis of rows: a slice, positions or a mask of ``n`` rows.

    A position becomes a slice, and must be one of ``n``. Everything else is a ``TypeError`` or an ``IndexError``.
    """
    if isinstance(rows, slice):
        return rows
    if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
        if not -n <= rows < n:
            raise IndexError(f"there is no row {rows}: there are {n} rows.")
        return slice(rows, rows + 1 or None)
    key = np.asarray(rows) if not isinstance(rows, tuple) else np.empty(())
    if key.ndim == 1 and key.dtype.kind in "iu":
        if len(key) and not (-n <= key.min() and key.max() < n):
            raise IndexError(f"there is no row {key[(key < -n) | (key >= n)][0]}: there are {n} rows.")
        return key
    if key.ndim == 1 and key.dtype.kind == "b":
        if len(key) != n:
            raise IndexError(f"a mask of rows must have one value for each of {n} rows; got {len(key)}.")
        return key
    if key.shape == (0,):
        return np.empty(0, np.intp)
    raise TypeError(f"rows are selected by a position, a slice, positions or a mask; got {str(rows)[:60]!r}.")


def coverages(coverage: float | Sequence[float]) -> Array:
    """Return one coverage as an array without axes, or several (k,); each must lie between 0 and 1."""
    share = np.asarray(coverage, dtype=np.float64)
    if share.ndim > 1 or share.size == 0 or not np.all((share > 0.0) & (share < 1.0)):
        raise ValueError(f"coverage must lie between 0 and 1, one number or a list; got {coverage!r}.")
    return share


def check_outcome(outcome: str) -> str:
    """Return ``outcome`` if it is one that risk measures know."""
    return known("outcome", outcome, get_args(Outcome))


def risk_levels(level: float | Sequence[float], known_levels: Array) -> Array:
    """Return levels of risk measures, one or several (k,), with a warning where the answer would mislead.

    Parameters
    ----------
    level : float or sequence of k floats
        Levels between 0 and 1.
    known_levels : ndarray of shape (m,)
        Levels of the points of the distributions of losses.
    """
    levels = np.asarray(level, dtype=np.float64)
    if levels.ndim > 1 or levels.size == 0 or not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(f"level must lie between 0 and 1, one number or a list; got {level!r}.")
    if levels.min() < 0.5:
        warn(
            f"level={levels.min():g} is the probability of a loss up to the value at risk. For the worst "
            f"{levels.min():.3g} of the outcomes pass level={1.0 - levels.min():.6g}.",
        )
    if levels.max() > known_levels[-1]:
        warn(
            f"level={levels.max():g} lies beyond the outermost of {len(known_levels)} points, at "
            f"{known_levels[-1]:.4g}: the tail there is a guess. Predict more points, predict_distribution(X, "
            "grid=2000), if the training table has enough rows to tell.",
        )
    return levels


def quantile_labels(levels: ArrayLike) -> list[str]:
    """Return names of quantiles, ``q0.05`` for the level 0.05: six digits, or more where levels would share a name.

    Examples
    --------
    >>> quantile_labels([0.05, 0.5, 1.0])
    ['q0.05', 'q0.5', 'q1']
    >>> quantile_labels([0.5, 0.5000001])
    ['q0.5', 'q0.5000001']
    """
    wanted = [float(level) for level in np.ravel(levels)]
    # no level but 0 and 1 themselves is named after them
    distinct = {0.0, 1.0, *wanted}
    digits = 6
    while len({f"{level:.{digits}g}" for level in distinct}) < len(distinct) and digits < 17:
        digits += 1
    return [f"q{level:.{digits}g}" for level in wanted]


def interval_labels(coverage: float | Sequence[float]) -> list[str]:
    """Return names of the ends of intervals: ``lower``, ``upper``, with the coverage if there are several.

    Examples
    --------
    >>> interval_labels(0.9)
    ['lower', 'upper']
    >>> interval_labels([0.5, 0.9])
    ['lower_0.5', 'upper_0.5', 'lower_0.9', 'upper_0.9']
    """
    if np.ndim(coverage) == 0:
        return ["lower", "upper"]
    return [f"{end}_{label[1:]}" for label in quantile_labels(coverage) for end in ("lower", "upper")]
