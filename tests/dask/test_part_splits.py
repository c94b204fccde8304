"""Splits as one partition sees them: together they are those of the whole table."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("distributed")

from diffgbm.dask.part_splits import HashedFolds, HashedHoldout, given_splits
from diffgbm.dask.reading import Part
from diffgbm.data.splits import ordered_folds
from diffgbm.data.structure import Structure


def parts(sizes):
    ends = np.cumsum([0, *sizes])
    empty = np.empty((0, 0))
    return [Part(empty, empty, None, np.arange(a, b)) for a, b in pairwise(ends)]


def masks(splits, pieces):
    """The rows that each split learns from and holds out, of all partitions together."""
    each = zip(*(split.masks(part) for split, part in zip(splits, pieces, strict=True)), strict=True)
    return [[np.concatenate([found[side] for found in of_parts]) for side in (1, 2)] for of_parts in each]


def test_splits_that_are_cut_are_those_of_the_table():
    order = np.random.default_rng(0).integers(0, 40, 300)
    splits = ordered_folds(300, 4, 1, Structure(None, order))
    pieces = parts((1, 0, 130, 169))
    for cut, split in zip(masks(given_splits(splits, (1, 0, 130, 169)), pieces), splits, strict=True):
        for mask, rows in zip(cut, split, strict=True):
            np.testing.assert_array_equal(np.flatnonzero(mask), rows)


def test_hashed_splits_do_not_depend_on_the_partitions():
    for split, count in ((HashedFolds(3, (5, 6)), 6), (HashedHoldout(0.2, 7), 1)):
        one, other = (masks([split] * len(sizes), parts(sizes)) for sizes in ((200,), (3, 97, 100)))
        assert len(one) == count
        for first, second in zip(one, other, strict=True):
            np.testing.assert_array_equal(first, second)
            np.testing.assert_array_equal(first[0], ~first[1])
