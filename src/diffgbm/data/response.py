"""The user's responses: read as numbers, standardised for training, and mapped back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_array

from diffgbm._util.types import Array
from diffgbm.data.moments import Moments
from diffgbm.data.numbers import as_frame, column_numbers, not_numbers, plain_array
from diffgbm.data.outliers import winsorised
from diffgbm.data.power_scale import PowerScale

_LARGEST, _SMALLEST = 1e150, 1e-150
"""Responses beyond these have no variance in floating point."""


@dataclass(frozen=True)
class ResponseSummary:
    """What standardising needs to know of responses (n, d). Summaries of partitions add up to that of the table.

    Attributes
    ----------
    moments : Moments
        Weighted mean and variance.
    first, lowest, highest : ndarray of shape (d,)
        The first, smallest and largest response.
    """

    moments: Moments
    first: Array
    lowest: Array
    highest: Array

    @classmethod
    def of(cls, values: Array, weights: Array | None) -> ResponseSummary:
        """Summarise responses (n, d) of positive weights (n,)."""
        # responses that overflow here are refused by ``ResponseTable.from_summary``
        with np.errstate(over="ignore", invalid="ignore"):
            moments = Moments.of(values, weights)
        return cls(moments, values[0], values.min(axis=0), values.max(axis=0))

    def __add__(self, other: ResponseSummary) -> ResponseSummary:
        with np.errstate(over="ignore", invalid="ignore"):
            moments = self.moments + other.moments
        lowest, highest = np.minimum(self.lowest, other.lowest), np.maximum(self.highest, other.highest)
        return ResponseSummary(moments, self.first, lowest, highest)


@dataclass(frozen=True)
class ResponseTable:
    r"""What training remembered of ``y``, standardised as :math:`(y - \text{location}) / \text{scale}`.

    Attributes
    ----------
    names : tuple of str or None
        Names of the responses, if ``y`` had any.
    is_1d : bool
        Whether ``y`` had one dimension.
    location, scale : ndarray of shape (d,)
        Weighted mean and standard deviation. A constant response has scale 0: its samples equal that constant.
    power : PowerScale or None
        The scale on which one response is standardised, if it is not the user's.
    """

    names: tuple[str, ...] | None
    is_1d: bool
    location: Array
    scale: Array
    power: PowerScale | None = None

    @property
    def units(self) -> Array:
        """Standard deviation (d,) of the responses in the user's units."""
        return self.scale if self.power is None else np.array([self.power.spread])

    @classmethod
    def learn(cls, y: Any, weights: Array | None, n_rows: int) -> tuple[ResponseTable, Array]:
        """Learn from the ``n_rows`` training responses; return them standardised, of shape (n, d).

        Outliers are moved first (``winsorised``): they decide neither location nor scale.
        """
        names, values = read_response(y)
        if len(values) != n_rows:
            raise ValueError(f"X and y must have the same number of rows; got X with {n_rows}, y with {len(values)}.")
        positive = None if weights is None else weights > 0.0
        matrix, _ = winsorised(values.reshape(len(values), -1), positive)
        counted, w = (matrix, None) if weights is None else (matrix[positive], weights[positive])
        if len(counted) == 0:
            raise ValueError("sample_weight must be positive for some rows; got only zeros.")
        table = cls.from_summary(names, values.ndim == 1, ResponseSummary.of(counted, w))
        return table, table.standardise(matrix)

    @classmethod
    def from_summary(cls, names: tuple[str, ...] | None, is_1d: bool, summary: ResponseSummary) -> ResponseTable:
        """Choose location and scale from a summary of all training responses."""
        check_units(summary.lowest, summary.highest)
        scale = summary.moments.std
        # differences below the rounding error of the values carry no information
        scale[scale <= 1e-13 * np.maximum(-summary.lowest, summary.highest)] = 0.0
        # the mean of equal numbers may differ from them by a rounding error
        return cls(names, is_1d, np.where(scale > 0.0, summary.moments.mean, summary.first), scale)

    def standardise(self, values: Array) -> Array:
        """Map responses (n, d) in the user's units to standardised ones."""
        values = values if self.power is None else self.power(values)
        return np.asarray((values - self.location) / np.where(self.scale > 0.0, self.scale, 1.0))

    def restore(self, states: Array) -> Array:
        """Map standardised values (..., d) back to the user's units."""
        values = self.location + self.scale * states
        return values if self.power is None else self.power.inverse(values)

    def on_scale(self, power: PowerScale, observed: Array, weights: Array | None) -> ResponseTable:
        """Return the table that standardises responses ``observed`` (n, 1) on a power scale."""
        moments = ResponseSummary.of(power(observed), weights).moments
        return replace(self, location=moments.mean, scale=moments.std, power=power)

    def squeeze(self, values: Array) -> Array:
        """Drop the last axis again if the user's ``y`` was one-dimensional."""
        return values[..., 0] if self.is_1d else values


def read_response(y: Any) -> tuple[tuple[str, ...] | None, Array]:
    """Read ``y`` as float64 of shape (n,) or (n, d), with its names if it has any."""
    if y is None:
        raise ValueError(
            "DiffGBM requires y to be passed, but the target y is None: it must be an array, Series or frame."
        )
    names: tuple[str, ...] | None = None
    frame = as_frame(y)
    if frame is not None:
        names = tuple(map(str, frame.columns))
        if not names:
            raise ValueError("y must have at least one column; got none.")
        y = np.column_stack([column_numbers(frame.get_column(name), repr(name), "y") for name in frame.columns])
    else:
        series = nw.from_native(y, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            names = (str(series.name),) if series.name not in (None, "") else None
            y = column_numbers(series, repr(series.name), "y")
    y = plain_array(y, "y")
    dtype = y.dtype
    if dtype.kind in "USMmV":
        raise TypeError(not_numbers("y", "", dtype))
    try:
        # numbers beyond float64 become infinite, which is refused below
        with np.errstate(over="ignore"):
            values = check_array(
                y,
                dtype=np.float64,
                ensure_2d=False,
                allow_nd=True,
                ensure_min_features=0,
                ensure_all_finite=False,
                input_name="y",
            )
    except (TypeError, ValueError, OverflowError) as error:
        if dtype.kind != "O":
            raise
        raise TypeError(f"{not_numbers('y', '', dtype)} ({error})") from None
    if values.ndim not in (1, 2):
        raise ValueError(f"y must have shape (n,) or (n, d); got shape {values.shape}.")
    if values.ndim == 2 and values.shape[1] == 0:
        raise ValueError("y must have at least one column; got none.")
    bad = ~np.isfinite(values)
    if bad.any():
        rows = np.flatnonzero(bad.reshape(len(values), -1).any(axis=1))
        raise ValueError(
            f"y must be finite; Input y contains NaN or infinity in {len(rows)} row(s), first at row {rows[0]}. "
            "Drop these rows: a response that is not known cannot be learned from."
        )
    return names, values


def check_units(lowest: Array, highest: Array) -> None:
    """Refuse responses between ``lowest`` and ``highest`` (d,) if their variance overflows or underflows."""
    for j, (low, high) in enumerate(zip(lowest, highest, strict=True)):
        largest, half_range = max(-low, high), high * 0.5 - low * 0.5
        if largest > _LARGEST or 0.0 < half_range < _SMALLEST:
            what = (
                f"is as large as {largest:.3g}"
                if largest > _LARGEST
                else f"varies by no more than {2.0 * half_range:.3g}"
            )
            raise ValueError(
                f"y (column {j}) {what}: its variance cannot be computed. Choose units in which it lies between "
                f"{-_LARGEST:g} and {_LARGEST:g} and varies by more than {2.0 * _SMALLEST:g}, or not at all."
            )
