"""Samples of y for many rows, and their common statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KernelDensity

from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array

Bandwidth = float | Literal["scott", "silverman"]


class Samples:
    """Samples of shape (n_samples, n) or (n_samples, n, d).

    Every statistic is computed over the samples of each row: results have shape (n,) or (n, d). Several quantiles add a
    first axis.

    Parameters
    ----------
    input_array : array-like of shape (n_samples, n) or (n_samples, n, d)
        The array that ``DiffGBM.sample`` returns.

    Examples
    --------
    Five samples of two rows:

    >>> from diffgbm import Samples
    >>> samples = Samples([[0, 10], [1, 20], [2, 30], [3, 40], [4, 50]])
    >>> samples.sample_mean(), samples.sample_quantile(0.25)
    (array([ 2., 30.]), array([ 1., 20.]))
    >>> samples.sample_range()
    array([[ 0.,  4.],
           [10., 50.]])
    >>> samples[:, 1]
    Samples(shape=(5, 1))
    """

    def __init__(self, input_array: Any) -> None:
        array = np.asarray(input_array, dtype=np.float64)
        if array.ndim not in (2, 3):
            raise ValueError(
                f"Samples needs an array of shape (n_samples, n) or (n_samples, n, d); got shape {array.shape}."
            )
        self._samples = array

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of samples."""
        return self._samples.shape

    @property
    def n_samples(self) -> int:
        """Number of samples for each row."""
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes: 2 for one response, 3 for several."""
        return self._samples.ndim

    def to_numpy(self) -> Array:
        """Return the samples as an array."""
        return self._samples

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._samples, dtype=dtype) if copy else np.asarray(self._samples, dtype=dtype)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, key: Any) -> Samples:
        """Index without losing an axis: ``samples[:, 3]`` still has samples, rows (and responses)."""
        keys = key if isinstance(key, tuple) else (key,)
        return Samples(
            self._samples[tuple(slice(k, k + 1 or None) if isinstance(k, (int, np.integer)) else k for k in keys)]
        )

    def __repr__(self) -> str:
        return f"Samples(shape={self.shape})"

    def sample_mean(self) -> Array:
        """Mean of each row's samples."""
        return self._samples.mean(axis=0)

    def sample_std(self, ddof: int = 0) -> Array:
        """Standard deviation of each row's samples."""
        return self._samples.std(axis=0, ddof=ddof)

    def sample_median(self) -> Array:
        """Median of each row's samples."""
        return np.asarray(np.median(self._samples, axis=0))

    def sample_min(self) -> Array:
        """Smallest of each row's samples."""
        return self._samples.min(axis=0)

    def sample_max(self) -> Array:
        """Largest of each row's samples."""
        return self._samples.max(axis=0)

    def sample_quantile(self, q: float | Sequence[float]) -> Array:
        """Quantiles of each row's samples; several ``q`` add a first axis."""
        return np.asarray(np.quantile(self._samples, q, axis=0))

    def sample_confidence_interval(self, confidence: float = 0.95) -> Array:
        """Central interval of each row's samples: lower ends, then upper ends."""
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1; got {confidence!r}.")
        tail = 0.5 * (1.0 - confidence)
        return self.sample_quantile([tail, 1.0 - tail])

    def sample_range(self) -> Array:
        """Smallest and largest sample of each row, in the last axis."""
        return np.stack([self.sample_min(), self.sample_max()], axis=-1)

    def sample_apply(self, fun: Callable[[Array], Any]) -> Array:
        """Apply ``fun`` to each row's samples: arrays of shape (n_samples,) or (n_samples, d)."""
        return np.stack([np.asarray(fun(self._samples[:, i])) for i in range(self.shape[1])])

    def sample_correlation(self) -> Array:
        """Correlation matrix (n, d, d) of each row's samples, for several responses."""
        if self.ndim == 2:
            raise ValueError("sample_correlation needs several responses; these samples have one.")
        centred = self._samples - self._samples.mean(axis=0)
        covariance = np.einsum("snj,snk->njk", centred, centred)
        scale = np.sqrt(np.einsum("njj->nj", covariance))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(covariance / (scale[:, :, None] * scale[:, None, :]))

    def sample_kde(self, bandwidth: Bandwidth = 1.0, verbose: bool = False) -> list[KernelDensity]:
        """Return a Gaussian kernel density estimate for each row."""
        kernels = []
        with progress_bar(self.shape[1], "kernel densities", verbose, "row") as bar:
            for i in range(self.shape[1]):
                kernels.append(KernelDensity(bandwidth=bandwidth).fit(self._points(i)))
                bar.update()
        return kernels

    def sample_mode(self, bandwidth: Bandwidth = 1.0, verbose: bool = False) -> Array:
        """Sample at which each row's kernel density is highest."""
        modes = []
        for i, kernel in enumerate(self.sample_kde(bandwidth, verbose)):
            points = self._points(i)
            modes.append(points[np.argmax(kernel.score_samples(points))])
        stacked = np.stack(modes)
        return stacked[:, 0] if self.ndim == 2 else stacked

    def _points(self, row: int) -> Array:
        """Samples of one row as (n_samples, d)."""
        return self._samples[:, row].reshape(self.n_samples, -1)
