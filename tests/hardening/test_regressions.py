"""Errors that the tests of generated tables revealed, each as a minimal example."""

import subprocess
import sys

import lightgbm as lgb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from diffgbm import DiffGBMWarning, load
from diffgbm.data.blocks import BlockDataset, MatrixSequence

from .attempts import small

X = np.random.default_rng(0).uniform(size=(20, 2))
Y = X[:, 0] + np.random.default_rng(1).standard_normal(20)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (1e300 * Y, r"y \(column 0\) is as large as 1\.45e\+300: .* Choose units"),
        (np.where(Y > 1.0, 1.7e308, -1.7e308), r"y \(column 0\) is as large as 1\.7e\+308"),
        (np.column_stack([Y, 1e-300 * Y]), r"y \(column 1\) varies by no more than \d(\.\d+)?e-300"),
        (Y.astype("longdouble") * np.longdouble("1e3000"), "y must be finite"),
        (np.zeros(20, "V4"), "y has dtype .*V4; responses must be numbers"),
        (pd.Series([[1.0], [2.0]] * 10), "y column None has dtype .*responses must be numbers"),
        (pd.Series([10**400, 1] * 10, dtype=object), r"y column None has dtype Object; .*too large"),
        (np.array([10**400, 1] * 10, dtype=object), r"y has dtype object; .*too large"),
        (pa.table({}), "y must have at least one column; got none"),
        ([[1.0], [1.0, 2.0]] * 10, "y must be an array or a frame, its rows of one length"),
        (Y + 1j, "Complex data not supported: y has dtype complex128"),
        (np.ma.masked_array(Y, mask=np.arange(20) == 7), "y must be finite.*first at row 7"),
    ],
)
def test_responses_that_are_refused(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        small().fit(X, y)


@pytest.mark.parametrize("y", [np.full(20, 1e-300), np.full(20, 5e-324), 1e149 * Y, 1e-149 * Y])
def test_responses_at_the_edge_are_learned(y):
    distribution = small().fit(X, y).predict_distribution(X)
    for result in (distribution.mean(), distribution.std(), distribution.quantile([0.1, 0.9]), distribution.crps(y)):
        assert np.isfinite(result).all()
    assert (distribution.std() > 0.0).all() == (np.ptp(y) > 0.0)


def test_lists_as_the_only_column_are_left_out_with_a_warning():
    x = pd.DataFrame({"a": [[1], [2]] * 10})
    with pytest.warns(DiffGBMWarning, match="columns that are not used: 'a' holds list values"):
        model = small().fit(x, Y)
    assert np.ptp(model.predict(x)) == 0.0  # nothing tells the rows apart


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (pd.DataFrame({"a": [10**400, 1] * 10}, dtype=object), "X column 'a' has dtype .*too large"),
        (np.zeros((20, 1), "V4"), "X column 0 has dtype .*V4"),
        ([[1.0], [1.0, 2.0]] * 10, "X must be an array or a frame, its rows of one length"),
        (X + 1j, "Complex data not supported: X has dtype complex128"),
    ],
)
def test_features_that_are_refused(x, message):
    with pytest.raises((TypeError, ValueError), match=message):
        small().fit(x, Y)


def test_categories_must_be_hashable():
    with pytest.raises(TypeError, match=r"X column 0 cannot be categorical.*unhashable type: 'dict'"):
        small().fit(np.array([[{"b": 1}]] * 20, dtype=object), Y, cat_idx=[0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1e300] * 20, r"sample_weight must be 0 or lie between 1e-30 and 1e\+30; got 1e\+300 in row 0"),
        ([1.0, 0.0, 1e-200] + [1.0] * 17, "sample_weight .*got 1e-200 in row 2"),
        ("w", "sample_weight must hold one number for each row"),
    ],
)
def test_weights_that_lightgbm_cannot_keep(weights, message):
    with pytest.raises((TypeError, ValueError), match=message):
        small().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("column", "plain"),
    [
        (pa.array([2**64 - 1, 0] * 10, pa.uint64()), [2.0**64, 0.0] * 10),
        (pa.array([2**53 + 1, None] * 10, pa.int64()), [2.0**53, np.nan] * 10),
        (pd.Series([0.5, 1.5] * 10, dtype="longdouble"), [0.5, 1.5] * 10),
        (pd.Series([np.longdouble("1e3000"), 1.0] * 10), [np.inf, 1.0] * 10),
        (pd.Series([0.0, 1.5] * 10, dtype="Sparse[float]"), [0.0, 1.5] * 10),
    ],
    ids=["uint64 of Arrow", "int64 of Arrow", "long doubles", "beyond float64", "sparse"],
)
def test_numbers_that_are_learned_as_they_are(column, plain):
    table = pa.table({"a": column}) if isinstance(column, pa.Array) else pd.DataFrame({"a": column})
    result = small().fit(table, Y).sample(table, 3, seed=0)
    np.testing.assert_array_equal(
        result, small().fit(np.array(plain)[:, None], Y).sample(np.array(plain)[:, None], 3, seed=0)
    )


def test_masked_values_are_missing():
    mask = np.arange(40).reshape(20, 2) % 3 == 0
    masked, plain = np.ma.masked_array(X, mask=mask), np.where(mask, np.nan, X)
    result = small().fit(masked, Y).predict(masked)
    np.testing.assert_array_equal(result, small().fit(plain, Y).predict(plain))


PRINTS = """
import numpy as np, threading
from diffgbm import DiffGBM

def fit():
    few = {"n_repeats": 2, "n_estimators": 1, "early_stopping_rounds": None, "residualize": "off"}
    DiffGBM.flow(**few, n_jobs=1, seed=0).fit(np.full((10, 1), np.nan), np.arange(10.0) % 3)

fit()
thread = threading.Thread(target=fit)  # LightGBM has a verbosity for each thread
thread.start()
thread.join()
"""


def test_the_first_fit_of_a_thread_prints_nothing():
    done = subprocess.run([sys.executable, "-c", PRINTS], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("leaf", [2, 5, 20])
def test_blocks_are_binned_as_the_matrix_is(leaf):
    """Few rows of a value are a feature if they may be a leaf."""
    rows = np.column_stack([np.arange(60.0), np.arange(60) < 3, np.arange(60) < 10]).astype(float)
    params = {"min_data_in_leaf": leaf, "verbosity": -1, "num_threads": 1}
    plain = lgb.Dataset(rows, params=params).construct()
    blocks = BlockDataset(MatrixSequence(rows), params=params).construct()
    bins = [[data.feature_num_bin(j) for j in range(3)] for data in (plain, blocks)]
    assert bins[0] == bins[1]
    assert (bins[0][1] > 1) == (leaf <= 3)


def test_models_of_interval_categories_are_saved(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": pd.cut(rng.normal(size=100), [-9.0, -1.0, 0.0, 1.0, 9.0])})
    model = small().fit(frame, frame["c"].cat.codes + rng.normal(size=100))
    model.save(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(load(tmp_path / "m.dgbm").predict(frame), model.predict(frame))
