"""The splits of a table in partitions, as one partition sees them: ``data.splits`` decides them.

Rows without an order are divided by a hash of their keys, which each worker computes by itself. An order in time needs
all times at once: the client divides the rows as those of a table in memory, and sends each partition its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Booleans
from diffgbm.dask.reading import Part
from diffgbm.data.splits import Split, hashed_folds, hashed_holdout

MaskedSplit = tuple[int, Booleans, Booleans]
"""Number of the repetition, and for each row of a partition whether it is learned from, and whether it is held out."""


class PartSplits(Protocol):
    """Splits of the rows of one partition."""

    def masks(self, part: Part) -> Iterator[MaskedSplit]:
        """Yield the splits."""
        ...


@dataclass(frozen=True)
class HashedFolds:
    """Folds of cross-fitting: rows are divided ``len(keys)`` times into ``k`` folds, by a hash of their keys."""

    k: int
    keys: tuple[int, ...]

    def masks(self, part: Part) -> Iterator[MaskedSplit]:
        """Yield the folds of each repetition."""
        for r, key in enumerate(self.keys):
            fold = hashed_folds(part.split_keys, self.k, key)
            for k in range(self.k):
                yield r, fold != k, fold == k


@dataclass(frozen=True)
class HashedHoldout:
    """A ``share`` of the rows is held out, by a hash of their keys."""

    share: float
    key: int

    def masks(self, part: Part) -> Iterator[MaskedSplit]:
        """Yield the split."""
        held_out = hashed_holdout(part.split_keys, self.share, self.key)
        yield 0, ~held_out, held_out


@dataclass(frozen=True)
class GivenSplits:
    """Splits of the whole table, decided before: the rows of one partition, one bit each.

    Attributes
    ----------
    train, held_out : ndarray of shape (k, ceil(n / 8))
        Bits of the rows that each split learns from, and of those it holds out.
    """

    train: NDArray[np.uint8]
    held_out: NDArray[np.uint8]

    def masks(self, part: Part) -> Iterator[MaskedSplit]:
        """Yield the splits, all of one repetition."""
        for both in zip(self.train, self.held_out, strict=True):
            train, held_out = (np.unpackbits(bits, count=len(part.positions)).astype(bool) for bits in both)
            yield 0, train, held_out


def given_splits(splits: Sequence[Split], part_rows: Sequence[int]) -> list[GivenSplits]:
    """Cut splits of the whole table into those of partitions of ``part_rows`` rows each."""
    ends = np.cumsum([0, *part_rows])
    sides = []
    for side in (0, 1):
        bits: list[list[NDArray[np.uint8]]] = [[] for _ in part_rows]
        for split in splits:
            mask = np.zeros(ends[-1], dtype=bool)
            mask[split[side]] = True
            for i, found in enumerate(bits):
                found.append(np.packbits(mask[ends[i] : ends[i + 1]]))
        sides.append(bits)
    return [GivenSplits(np.array(train), np.array(held_out)) for train, held_out in zip(*sides, strict=True)]
