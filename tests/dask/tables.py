"""Tables in partitions, and arguments of small models, that the tests of this room share."""

import dask.array as da

from tests.conftest import TINY

SMALL = {**TINY, "extra_residualizer_params": {"n_estimators": 10}}


def cut(X, y, sizes):
    """Cut a table into partitions of these sizes."""
    return da.from_array(X, chunks=(tuple(sizes), X.shape[1])), da.from_array(y, chunks=(tuple(sizes), *y.shape[1:]))
