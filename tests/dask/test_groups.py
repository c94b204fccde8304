"""Groups of a table in partitions: keys that do not depend on the partition, and what is refused."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from diffgbm.dask.groups import MOST_COUNTED, check_count_of_groups, counted, group_keys, split_off

PARAMS = {"residualize_k_folds": 5, "eval_percent": 0.1, "early_stopping_rounds": 50}


def test_equal_groups_have_equal_keys():
    whole, floats = group_keys(np.array([1, 2, 1])), group_keys(pd.Series([2.0, 1.0, 1.5]))
    assert whole[0] == whole[2] == floats[1]
    assert whole[1] == floats[0]
    assert len(set(floats)) == 3
    text = group_keys(pd.Series(["1", "b"], dtype="category"))
    assert text[0] == group_keys(["1"])[0] != whole[0]
    days = pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"]))
    assert len(set(group_keys(days))) == 2


def test_missing_groups_and_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"2 are missing, the first in row 1. Fill them in or drop"):
        group_keys(pd.Series(["a", None, np.nan]))
    with pytest.raises(ValueError, match="groups must be one-dimensional"):
        group_keys(np.ones((3, 2)))


def test_few_groups_are_refused():
    assert check_count_of_groups([np.arange(60), np.arange(50, 120)], PARAMS, "it") == 120
    with pytest.raises(ValueError, match=r"at least 100 groups with eval_percent=0.1; got 60. it divides"):
        check_count_of_groups([np.arange(60)], PARAMS, "it")
    assert check_count_of_groups([np.arange(60)], {**PARAMS, "early_stopping_rounds": None}, "it") == 60
    assert len(counted(np.arange(5000))) == MOST_COUNTED


def test_a_named_column_is_split_off():
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "who": ["x", "y"]}), npartitions=1)
    X, parts, name = split_off(frame, "who", "it")
    assert (list(X.columns), len(parts), name) == (["a"], 1, "who")
    with pytest.raises(ValueError, match="groups='nobody' is not a column of X; it has 'a', 'who'"):
        split_off(frame, "nobody", "it")
    with pytest.raises(ValueError, match="no features left"):
        split_off(frame[["who"]], "who", "it")
    with pytest.raises(ValueError, match="X is no frame"):
        split_off(da.ones((3, 2)), "who", "it")
