"""The user's Dask collections as lists of partitions, checked as far as possible without computing them."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.optional import need

Delayed = Any


def is_frame(collection: Any) -> bool:
    """Whether it is a Dask frame or series."""
    frames = need("dask.dataframe")
    return isinstance(collection, (frames.DataFrame, frames.Series))


def is_array(collection: Any) -> bool:
    """Whether it is a Dask array."""
    return isinstance(collection, need("dask.array").Array)


def check_collection(value: Any, argument: str, owner: str) -> None:
    """Raise unless ``value`` is a Dask collection."""
    if not (is_frame(value) or is_array(value)):
        kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}".removeprefix("builtins.")
        raise TypeError(
            f"{owner} reads Dask arrays and frames; got {argument} of type {kind}. Use DiffGBM for tables in memory, "
            "or make it a collection: dask.array.from_array, dask.dataframe.from_pandas."
        )
    if is_array(value) and value.ndim not in (1, 2):
        raise ValueError(f"{argument} must have one or two dimensions; got shape {value.shape}.")


def pieces(collection: Any) -> list[Delayed]:
    """Return the partitions in order; the column chunks of an array are merged."""
    if is_frame(collection):
        return list(collection.to_delayed())
    if collection.ndim == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    return list(collection.to_delayed().ravel())


def lengths(collection: Any) -> list[float]:
    """Return the rows of each partition, NaN where they are unknown before it is computed."""
    return [math.nan] * collection.npartitions if is_frame(collection) else list(collection.chunks[0])


def named_column(X: Any, name: str, argument: str) -> Any:
    """Return the label of a column of ``X`` that an argument names."""
    if not is_frame(X):
        raise ValueError(f"{argument}={name!r} names a column, but X is no frame. Pass one value for each row.")
    labels = {str(label): label for label in X.columns}
    if name not in labels:
        listed = ", ".join(map(repr, list(labels)[:10]))
        raise ValueError(f"{argument}={name!r} is not a column of X; it has {listed}.")
    return labels[name]


def one_column(values: Any, argument: str) -> Any:
    """Return the values of a partition as a series of narwhals or an array (n,)."""
    column = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(column, nw.Series):
        return column
    column = np.asarray(values)
    if column.ndim != 1 and column.shape[1:] != (1,):
        raise ValueError(f"{argument} must be one-dimensional; got shape {column.shape}.")
    return column.reshape(-1)


def aligned(X: Any, other: Any, argument: str, owner: str) -> list[Delayed]:
    """Return the partitions of ``other``, one for each of ``X``; arrays of known sizes are cut as ``X`` is."""
    check_collection(other, argument, owner)
    if is_array(X) and is_array(other):
        known = not any(map(math.isnan, [*lengths(X), *lengths(other)]))
        if known and X.shape[0] != other.shape[0]:
            raise ValueError(
                f"X and {argument} must have the same number of rows; got X with {X.shape[0]}, {argument} with "
                f"{other.shape[0]}."
            )
        if known and X.chunks[0] != other.chunks[0]:
            other = other.rechunk({0: X.chunks[0]})
    found = pieces(other)
    n = len(pieces(X)) if is_array(X) else X.npartitions
    if len(found) != n:
        raise ValueError(
            f"X and {argument} must have the same partitions; got X with {n} of them, {argument} with {len(found)}. "
            f"Repartition {argument} as X is."
        )
    return found
