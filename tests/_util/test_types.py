"""Types of arrays: the numpy arrays they stand for."""

from typing import get_args

import numpy as np
import pytest

from diffgbm._util import types


@pytest.mark.parametrize(
    ("alias", "scalar"),
    [
        (types.Array, np.float64),
        (types.Rows, np.intp),
        (types.Integers, np.int64),
        (types.SmallIntegers, np.int32),
        (types.Booleans, np.bool_),
    ],
)
def test_each_alias_names_one_dtype(alias, scalar):
    dtype = get_args(alias)[1]
    assert get_args(dtype) == (scalar,)
