"""Rows in blocks: read from memory or from a memory map, binned by LightGBM without a matrix of all of them."""

from __future__ import annotations

import mmap
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Rows

BLOCK = 1 << 18
"""Numbers of a block (2 MB)."""
MAPPED_BYTES = 1 << 28
"""Pages of a larger memory map are released once they are read."""
_MAPPED_ROWS = 256
"""Rows that are read from a large map at a time."""
_ZERO = 1e-35
"""Numbers up to this size are zero for LightGBM."""
_BINNING = ("min_data_in_leaf", "num_threads", "verbosity")
"""Parameters that LightGBM uses when it bins a matrix."""


def block_length(width: int) -> int:
    """Rows of a block of ``width`` columns."""
    return max(256, BLOCK // max(1, width))


def ranges(n_rows: int, length: int) -> Iterator[slice]:
    """Cut ``n_rows`` into consecutive slices of at most ``length``."""
    for first in range(0, n_rows, length):
        yield slice(first, min(first + length, n_rows))


def map_of(X: NDArray[Any]) -> np.memmap[Any, Any] | None:
    """Return the memory map on disk that ``X`` is a view of, if it is one that is never written back."""
    part: Any = X
    while isinstance(part, np.ndarray):
        if isinstance(part, np.memmap):
            # pages of a copy-on-write map may hold changes that are nowhere else
            return part if part.mode != "c" else None
        part = part.base
    return None


def is_large_map(X: NDArray[Any]) -> bool:
    """Whether ``X`` lies on disk and is not to be held in memory."""
    found = map_of(X)
    return found is not None and found.nbytes > MAPPED_BYTES


def take(X: NDArray[Any], rows: Any) -> NDArray[Any]:
    """Return a copy of some rows; those of a large map do not stay in memory."""
    if not is_large_map(X):
        return np.array(X[rows])
    rows = np.asarray(rows)
    found = np.empty((len(rows), *X.shape[1:]), dtype=X.dtype)
    # the system maps some 64 KB about each row that is asked for
    for part in ranges(len(rows), _MAPPED_ROWS):
        found[part] = X[rows[part]]
        release(X)
    return found


def release(X: NDArray[Any]) -> None:
    """Release the pages of a large map from memory; they are on disk."""
    if not is_large_map(X) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    source: Any = map_of(X)
    while isinstance(source, np.ndarray):
        source = source.base
    if isinstance(source, mmap.mmap):
        source.madvise(mmap.MADV_DONTNEED)


def map_rows(function: Callable[[Array], Array], X: NDArray[Any], rows: Rows) -> Array:
    """Apply ``function`` of rows (k, p) to ``X[rows]`` block by block; the results are joined."""
    parts = ranges(len(rows), block_length(X.shape[1]))
    return np.concatenate([function(take(X, rows[part])) for part in parts])


class BlockSequence(lgb.Sequence):
    """LightGBM's view of rows that are put together on demand."""

    def __init__(self, n_rows: int, width: int) -> None:
        self._n_rows, self.width = n_rows, width
        self.batch_size = block_length(width)

    @abstractmethod
    def rows(self, position: Rows) -> Array:
        """Put together the rows at ``position`` (k,): float64 of shape (k, width)."""

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, index: Any) -> Array:
        if isinstance(index, (int, np.integer)):
            # LightGBM keeps rows that own their data, and copies others
            return self.rows(np.array([index]))[0].copy()
        if isinstance(index, slice):
            return self.rows(np.arange(*index.indices(len(self))))
        return self.rows(np.asarray(index))

    def columns(self, position: Rows) -> Array:
        """Put together the rows at ``position`` (k,), column by column: shape (width, k)."""
        found = np.empty((self.width, len(position)))
        for part in ranges(len(position), self.batch_size):
            found[:, part] = self.rows(position[part]).T
        return found


class MatrixSequence(BlockSequence):
    """The rows of a matrix as they are."""

    def __init__(self, X: NDArray[Any]) -> None:
        super().__init__(*X.shape)
        self._X = X

    def rows(self, position: Rows) -> Array:
        """Return rows as float64."""
        return take(self._X, position).astype(np.float64, copy=False)


class BlockDataset(lgb.Dataset):
    """A data set of one ``BlockSequence``, with the bins of the matrix of all its rows.

    LightGBM finds bins in a sample of the rows and keeps two and a half copies of it; here there is one. With
    ``seeded`` the parameter ``seed`` decides the sample, as it does for a matrix and does not for LightGBM's sequences.
    LightGBM also ignores the number of threads, the verbosity and the least rows of a leaf when it bins sequences; here
    it uses them.
    """

    def __init__(self, data: BlockSequence, *, seeded: bool = False, **options: Any) -> None:
        super().__init__(data, **options)
        # rows that are binned as a reference is have its parameters
        also = (*_BINNING, "seed") if seeded else _BINNING
        self._also: tuple[str, ...] = also if options.get("reference") is None else ()

    def construct(self) -> BlockDataset:
        """Bin the rows, once.

        LightGBM drops weights that are all one. Rows that are binned as a reference with weights then keep the zeros
        that it reserved for them: their loss is not a number, and early stopping ends after one round.
        """
        new = self._handle is None
        super().construct()
        if new and self.weight is None and self.get_field("weight") is not None:
            self.set_field("weight", np.ones(self.num_data(), dtype=np.float32))
        return self

    def get_params(self) -> dict[str, Any]:
        """Parameters that concern the data."""
        params: dict[str, Any] = super().get_params()
        return params | {name: self.params[name] for name in self._also if self.params and name in self.params}

    def _Dataset__sample(self, seqs: list[BlockSequence], total_nrow: int) -> tuple[list[Array], list[Any]]:
        # Replaces the method that LightGBM's initialisation from sequences calls. A version of LightGBM that does not
        # call it makes the same bins with more memory.
        (rows,) = seqs
        chosen = self._create_sample_indices(total_nrow=total_nrow)
        every = np.arange(len(chosen), dtype=np.int32)
        values: list[Array] = []
        positions: list[Any] = []
        for column in rows.columns(chosen):
            # zeros are not listed
            listed = ~(np.abs(column) <= _ZERO)
            dense = bool(listed.all())
            values.append(column if dense else column[listed])
            positions.append(every if dense else every[listed])
        return values, positions

    def _init_from_sample(self, sample_data: list[Array], sample_indices: list[Any], *counts: int) -> lgb.Dataset:
        # the caller keeps the sample until all rows are binned, although it is not needed any more
        found = super()._init_from_sample(sample_data, sample_indices, *counts)
        sample_data.clear()
        sample_indices.clear()
        # subsets have the parameters that any data set has
        self._also = ()
        return found
