"""Dask collections as lists of partitions, checked before anything is computed."""

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask.array as da

from diffgbm.dask.partitions import aligned, check_collection, pieces


def test_arrays_are_cut_as_the_features_are_and_columns_put_together():
    X = da.ones((10, 4), chunks=((3, 7), (2, 2)))
    assert [p.compute().shape for p in pieces(X)] == [(3, 4), (7, 4)]
    assert [len(p.compute()) for p in aligned(X, da.ones(10, chunks=5), "y", "it")] == [3, 7]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (np.ones(10), TypeError, "it reads Dask arrays and frames; got y of type numpy.ndarray.*Use DiffGBM"),
        (da.ones(9, chunks=3), ValueError, "X with 10, y with 9"),
        (da.ones(10, chunks=10)[da.ones(10, chunks=10) > 0], ValueError, "X with 2 of them, y with 1"),
        (da.ones((2, 2, 2)), ValueError, "one or two dimensions"),
    ],
)
def test_collections_that_do_not_match_are_refused_before_anything_is_computed(y, error, message):
    X = da.ones((10, 4), chunks=(5, 4))
    with pytest.raises(error, match=message):
        aligned(X, y, "y", "it")
    check_collection(X, "X", "it")
