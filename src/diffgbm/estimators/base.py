"""What every distributional regressor can be asked: one mixin over its predictive laws."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.types import Array
from diffgbm.data.frames import frame_like, series_like
from diffgbm.data.response import read_response
from diffgbm.distributions import Distribution, IntervalKind, concatenate
from diffgbm.distributions.base import quantile_labels


class DistributionMethods:
    """Methods that follow from predictive laws, deterministic and independent of what else is in the batch.

    A subclass yields the laws of blocks of rows, so that nothing here holds more than a block.
    """

    @abstractmethod
    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        """Yield the laws of consecutive blocks of rows."""

    def _map_distributions(self, X: Any, function: Callable[[Distribution], Array]) -> Array:
        """Apply ``function`` to each block's laws and join the results along the rows."""
        return np.concatenate([function(distribution) for distribution in self._distribution_blocks(X)])

    def predict_median(self, X: Any) -> Any:
        """Medians of p(y | x): shape (n,) or (n, d); a Series or a frame if ``X`` is a frame."""
        return self._labelled(X, "median", self._map_distributions(X, lambda distribution: distribution.median()))

    def predict_std(self, X: Any) -> Any:
        """Standard deviations of p(y | x): shape (n,) or (n, d); a Series or a frame if ``X`` is a frame."""
        return self._labelled(X, "std", self._map_distributions(X, lambda distribution: distribution.std()))

    def predict_quantiles(self, X: Any, alpha: float | Sequence[float] = (0.05, 0.5, 0.95)) -> Any:
        """Quantiles of p(y | x); they never cross.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        alpha : float or sequence of k floats
            Levels.

        Returns
        -------
        ndarray of shape (n, k) or (n, d, k), or a frame with columns ``q0.05``, ... (``name_q0.05`` for several
        responses) and the rows' labels if ``X`` is a frame
        """
        levels = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
        values = self._map_distributions(X, lambda distribution: distribution.quantile(levels))
        return self._table(X, values, quantile_labels(levels))

    def predict_interval(self, X: Any, coverage: float = 0.9, kind: IntervalKind = "central") -> Any:
        """Interval that holds ``coverage`` of p(y | x).

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        coverage : float
            Probability inside.
        kind : {"central", "highest_density"}
            Same probability left out on both sides, or the shortest interval.

        Returns
        -------
        ndarray of shape (n, 2) or (n, d, 2), or a frame with columns ``lower`` and ``upper``
        """
        return self._table(
            X,
            self._map_distributions(X, lambda distribution: distribution.interval(coverage, kind)),
            ["lower", "upper"],
        )

    def predict_cdf(self, X: Any, y: ArrayLike) -> Any:
        r""":math:`P(Y \le y \mid x)` at one value, one for each row, or a grid for each row (n, k)."""
        at = np.asarray(y, dtype=np.float64)
        if at.ndim == 0 or len(at) == 1 or (at.ndim == 1 and len(self._response_names()) > 1):
            return self._labelled(X, "cdf", self._map_distributions(X, lambda distribution: distribution.cdf(at)))
        return self._labelled(X, "cdf", self._map_pairs(X, at, lambda distribution, own: distribution.cdf(own)))

    def predict_dist(self, X: Any, **options: Any) -> Distribution:
        """Return the laws themselves: another name for ``predict_distribution``."""
        return self.predict_distribution(X, **options)

    def predict_distribution(
        self,
        X: Any,
        n_samples: int | None = None,
        bandwidth: Any = None,
        verbose: bool | int = False,
        grid: int | str = "auto",
    ) -> Distribution:
        """Return the predictive laws, deterministic and free of sampling error.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        n_samples : int, optional
            The released package's name for ``grid``.
        bandwidth : optional
            Accepted for the released package's sake; the density chooses its own.
        verbose : bool
            Show a progress bar.
        grid : int or "auto"
            Points of each law. ``"auto"`` is 256 for deterministic samplers, 233 for stochastic ones and 512 for joint
            laws. It keeps the distribution function of a scalar law within about 0.015 of the limit of many points.

        Returns
        -------
        PredictiveDistribution
            Laws of all rows; a ``JointDistribution`` if ``y`` had two dimensions.
        """
        blocks = list(self._distribution_blocks(X, grid if n_samples is None else n_samples, int(verbose)))
        return concatenate(blocks)

    def crps(self, X: Any, y: Any) -> Any:
        """CRPS of each row, exact: shape (n,) or (n, d)."""
        return self._labelled(
            X, "crps", self._map_pairs(X, read_response(y)[1], lambda distribution, own: distribution.crps(own))
        )

    def compute_nll(
        self, X: Any, y: Any, n_samples: int | None = None, bandwidth: Any = None, verbose: bool | int = False
    ) -> float:
        """Negative log-likelihood of ``y``, summed over the rows.

        ``n_samples``, ``bandwidth`` and ``verbose`` are accepted for the released package's sake.
        """
        observed = read_response(y)[1]
        return -float(
            self._map_pairs(
                X, observed, lambda distribution, own: distribution.logpdf(distribution.observations(own))
            ).sum()
        )

    def _map_pairs(self, X: Any, values: Array, function: Callable[[Any, Array], Array]) -> Array:
        """Apply ``function`` to each block's laws and its own rows of ``values``, and join the results."""
        parts, position = [], 0
        for distribution in self._distribution_blocks(X):
            rows = slice(position, position + len(distribution))
            position += len(distribution)
            if position <= len(values):
                parts.append(function(distribution, values[rows]))
        if position != len(values):
            raise ValueError(f"y must have one entry for each of the {position} rows of X; it has {len(values)}.")
        return np.concatenate(parts)

    def _labelled(self, X: Any, name: str, values: Array) -> Any:
        """Return one number for each row as a Series, several responses as a frame, if ``X`` is a frame."""
        if values.ndim == 1:
            return series_like(X, name, values)
        responses = self._response_names()
        if len(responses) == 1:  # a grid for each row
            return values
        frame = frame_like(X, {f"{r}_{name}": values[:, j] for j, r in enumerate(responses)})
        return values if frame is None else frame

    def _table(self, X: Any, values: Array, labels: Sequence[str]) -> Any:
        """Return a frame with one column for each label (and response) if ``X`` is a frame."""
        if values.ndim == 2:
            columns = dict(zip(labels, values.T, strict=True))
        else:
            names = self._response_names()
            columns = {f"{n}_{label}": values[:, j, k] for j, n in enumerate(names) for k, label in enumerate(labels)}
        frame = frame_like(X, columns)
        return values if frame is None else frame

    @abstractmethod
    def _response_names(self) -> tuple[str, ...]:
        """Names of the responses."""
