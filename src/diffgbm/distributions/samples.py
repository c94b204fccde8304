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


MOST_CANDIDATES = 1000
"""Samples among which a mode is searched: densities at all of many samples take long."""


class Samples:
    """Use this for code written for treeffuser: samples (n_samples, batch[, y_dim]) with its ``Samples`` methods.

    Every statistic is computed over the samples of each row: results have shape (batch,) or (batch, y_dim).

    Attributes
    ----------
    n_samples, batch, y_dim : int
        Number of samples for each row, of rows, and of responses.
    shape : tuple of int
        Shape of the array of samples.
    ndim : int
        Number of its axes.

    Parameters
    ----------
    input_array : array-like of shape (n_samples, batch) or (n_samples, batch, y_dim)
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
    >>> samples[:, [1]]
    Samples(shape=(5, 1))
    """

    def __init__(self, input_array: Any) -> None:
        array = np.asarray(input_array, dtype=np.float64)
        if array.ndim not in (2, 3):
            raise ValueError(
                "Samples needs an array of shape (n_samples, batch) or (n_samples, batch, y_dim); "
                f"got shape {array.shape}."
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
    def batch(self) -> int:
        """Number of rows."""
        return self.shape[1]

    @property
    def y_dim(self) -> int:
        """Number of responses."""
        return 1 if self.ndim == 2 else self.shape[2]

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
        """Select samples, rows and responses: ``samples[..., 0]`` are those of the first response.

        An integer would remove the axis of samples or of rows, which is a ``ValueError``: use ``samples[:, [3]]``.
        """
        keys = list(key) if isinstance(key, tuple) else [key]
        for at in [i for i, k in enumerate(keys) if k is Ellipsis]:
            keys[at : at + 1] = [slice(None)] * max(0, self.ndim - len(keys) + 1)
        for k, name in zip(keys, ("first", "second"), strict=False):
            if isinstance(k, (int, np.integer)):
                raise ValueError(
                    f"The index {k} would remove the {name} dimension of the samples. Keep it by a list, [{k}], or "
                    "index the array: samples.to_numpy()."
                )
        chosen = self._samples[tuple(keys)]
        if chosen.ndim != self.ndim - sum(isinstance(k, (int, np.integer)) for k in keys):
            raise ValueError(
                "Samples are selected by a slice, a list or a mask for each dimension of the samples; this key gives "
                f"shape {chosen.shape}. Index the array instead: samples.to_numpy()."
            )
        return Samples(chosen)

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
        """Quantiles of each row's samples, along a first axis: shape (n_q, batch) or (n_q, batch, y_dim).

        A single ``q`` of samples with two axes gives shape (batch,).
        """
        levels = np.asarray(q) if self.ndim == 2 else np.atleast_1d(q)
        return np.asarray(np.quantile(self._samples, levels, axis=0))

    def sample_confidence_interval(self, confidence: float = 0.95) -> Array:
        """Central interval of each row's samples, of one response: lower ends, then upper ends."""
        self._check_one_response()
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1; got {confidence!r}.")
        tail = 0.5 * (1.0 - confidence)
        return self.sample_quantile([tail, 1.0 - tail])

    def sample_range(self) -> Array:
        """Smallest and largest sample of each row, of one response, in the last axis."""
        self._check_one_response()
        return np.stack([self.sample_min(), self.sample_max()], axis=-1)

    def sample_apply(self, fun: Callable[[Array], Any]) -> Array:
        """Apply ``fun`` to the samples (n_samples,) of each row and response: shape (batch,) or (batch, y_dim).

        The axes of what ``fun`` returns come first.
        """
        return np.asarray(np.apply_along_axis(fun, 0, self._samples))

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
        """Sample at which each row's kernel density is highest, of one response: shape (batch,).

        Of more than 1,000 samples, every k-th by size is a candidate.
        """
        self._check_one_response()
        modes = np.empty(self.batch)
        for i, kernel in enumerate(self.sample_kde(bandwidth, verbose)):
            points = np.sort(self._points(i), axis=0)[:: -(-self.n_samples // MOST_CANDIDATES)]
            modes[i] = points[np.argmax(kernel.score_samples(points)), 0]
        return modes

    def _check_one_response(self) -> None:
        if self.y_dim > 1:
            raise ValueError(
                f"This method only applies to unidimensional responses; these samples have {self.y_dim}. Select one: "
                "samples[..., 0]."
            )

    def _points(self, row: int) -> Array:
        """Samples of one row as (n_samples, d)."""
        return self._samples[:, row].reshape(self.n_samples, -1)
