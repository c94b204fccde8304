"""Streaming: predictions for tables larger than memory, block by block, equal to those of the whole table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.errors import check_count, known
from diffgbm.data.blocks import release
from diffgbm.data.features import EncodedTable
from diffgbm.data.file_tables import table_blocks
from diffgbm.estimators.base import DistributionalRegressor

ROWS = 8192
"""Default number of rows of a block."""
METHODS = (
    "predict",
    "predict_cdf",
    "predict_dist",
    "predict_distribution",
    "predict_interval",
    "predict_median",
    "predict_quantiles",
    "predict_std",
    "sample",
)


def stream(
    model: DistributionalRegressor, source: Any, method: str = "predict", *, rows: int = ROWS, **arguments: Any
) -> Iterator[Any]:
    """Yield ``model.<method>`` of each block of a table; only one block is in memory at a time.

    The results of the blocks, one after another, equal those of the whole table. This includes samples, because each
    row keeps its random numbers.

    Parameters
    ----------
    model : DiffGBM, AutoDiffGBM, DiffGBMCV or ConformalDiffGBM
        A fitted model.
    source : path, array, frame, Dask collection, or iterable of arrays or frames
        A Parquet, CSV or Feather file, or a folder of Parquet files; a table, which may be a memory map; a Dask frame
        or array, of which one partition is computed at a time; or blocks, which are used as they are.
    method : str
        ``"predict"``, ``"predict_interval"``, ``"predict_quantiles"``, ``"sample"``, ...
    rows : int
        Rows of a block, if ``source`` is not divided into blocks already.
    **arguments
        Arguments of the method. Without a ``seed``, ``sample`` draws one for the whole table.

    Examples
    --------
    >>> for ends in stream(model, "rows.parquet", "predict_interval", coverage=0.9):  # doctest: +SKIP
    ...     writer.write(ends)
    """
    known("method", method, METHODS)
    tables = blocks(model, source, check_count("rows", rows, 1))
    if method == "sample":
        return sample_blocks(model, tables, **arguments)
    return (getattr(model, method)(X, **arguments) for X in tables)


def sample_blocks(
    model: DistributionalRegressor,
    tables: Iterable[Any],
    n_samples: int,
    seed: int | None = None,
    first_row: int = 0,
    **sampler: Any,
) -> Iterator[Any]:
    """Yield samples (n_samples, n) or (n_samples, n, d) of each block; rows are counted from ``first_row``."""
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    for X in tables:
        yield model.sample(X, n_samples, seed=seed, first_row=first_row, **sampler)
        first_row += len(X)


def blocks(model: DistributionalRegressor, source: Any, rows: int) -> Iterator[Any]:
    """Yield a table in blocks of at most ``rows`` rows; the blocks of an iterable are yielded as they are."""
    if isinstance(source, (str, os.PathLike)):
        features = model.fitted_models()[0].features
        yield from (X for X, _ in table_blocks(features, Path(source), rows, reading=model.file_reading_))
        return
    if isinstance(source, EncodedTable):
        for block in blocks(model, source.matrix, rows):
            yield EncodedTable(source.features, block)
        return
    if hasattr(source, "__dask_graph__") and hasattr(source, "to_delayed"):
        for partition in partitions(source):
            yield from blocks(model, partition, rows)
        return
    table = nw.from_native(source, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        raise TypeError("A lazy frame has no rows yet: collect it, or pass its batches as an iterable.")
    if not isinstance(table, (nw.DataFrame, np.ndarray)):
        yield from source
        return
    for first in range(0, len(table), rows):
        part = table[first : first + rows]
        yield part.to_native() if isinstance(part, nw.DataFrame) else part
        if isinstance(source, np.ndarray):
            release(source)


def partitions(collection: Any) -> Iterator[Any]:
    """Yield the partitions of a Dask frame or array, computed one after another; empty ones are left out."""
    whole_rows = collection.rechunk({1: -1}) if hasattr(collection, "rechunk") else collection
    for delayed in np.ravel(np.asarray(whole_rows.to_delayed(), dtype=object)):
        partition = delayed.compute()
        if len(partition):
            yield partition
