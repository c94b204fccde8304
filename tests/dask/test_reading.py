"""Facts of partitions add up to those of the whole table; partitions are encoded as parts of it."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")

from diffgbm.dask.reading import encode, facts_of, whole_table
from diffgbm.data.features import FeatureTable
from diffgbm.data.response import ResponseTable


def frames():
    rng = np.random.default_rng(0)
    n = 90
    X = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n)),
            "town": pd.Categorical.from_codes(np.r_[np.zeros(30), rng.integers(0, 4, 60)].astype(int), list("dbca")),
        }
    )
    X.loc[5, "town"] = np.nan
    y = pd.DataFrame({"u": rng.standard_normal(n) + 100.0, "v": np.full(n, 0.1)})
    weights = np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0.5, 2.0, n))
    return X, y, weights


@pytest.mark.parametrize("cuts", [(0, 90), (0, 30, 90), (0, 0, 7, 31, 31, 90)])
def test_partitions_add_up_to_the_whole_table(cuts):
    X, y, w = frames()
    X = X.assign(town=X["town"].cat.remove_unused_categories())
    parts = []
    for i, (a, b) in enumerate(pairwise(cuts)):
        part = X.iloc[a:b].assign(town=X["town"].iloc[a:b].cat.remove_unused_categories())
        parts.append((part, y.iloc[a:b], w[a:b], i))
    features, response = whole_table([facts_of(*part, None, "it") for part in parts], "it")
    expected, matrix = FeatureTable.learn(X, None, "it")
    assert features == expected
    expected_response, standard = ResponseTable.learn(y, w, len(X))
    assert (response.names, response.is_1d) == (expected_response.names, expected_response.is_1d)
    np.testing.assert_allclose(response.location, expected_response.location, rtol=1e-13)
    np.testing.assert_allclose(response.scale, expected_response.scale, rtol=1e-12)
    assert response.scale[1] == 0.0
    encoded = [encode(*part, cuts[i], features, response, "it") for i, part in enumerate(parts) if len(part[0])]
    np.testing.assert_array_equal(np.concatenate([p.X for p in encoded]), matrix[w > 0.0])
    np.testing.assert_allclose(np.concatenate([p.y for p in encoded]), standard[w > 0.0], atol=1e-12)
    np.testing.assert_array_equal(np.concatenate([p.positions for p in encoded]), np.flatnonzero(w > 0.0))


def test_one_partition_has_the_moments_of_the_table_to_the_last_bit():
    X, y, w = frames()
    _, response = whole_table([facts_of(X, y, w, 0, None, "it")], "it")
    expected_response, _ = ResponseTable.learn(y, w, len(X))
    np.testing.assert_array_equal(response.location, expected_response.location)
    np.testing.assert_array_equal(response.scale, expected_response.scale)


@pytest.mark.parametrize(
    ("X", "y", "w", "message"),
    [
        (np.ones((3, 1)), np.ones(2), None, "Partition 7: X has 3 rows, y 2"),
        (np.ones((2, 1)), np.ones(2), np.ones(3), "sample_weight 3"),
        (np.ones((2, 1)), np.array([1.0, np.nan]), None, "Partition 7: y must be finite"),
        (np.ones((2, 1)), np.ones(2), np.array([1.0, -1.0]), "Partition 7: Negative values.*sample_weight"),
        (np.ones((2, 1)), np.ones(2), np.array([1.0, 1e-40]), "Partition 7: sample_weight must be 0 or lie between"),
    ],
)
def test_a_mistake_names_its_partition(X, y, w, message):
    with pytest.raises(ValueError, match=message):
        facts_of(X, y, w, 7, None, "it")


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e200), (-1e200, 0.0), (0.0, 1e-200)])
def test_units_are_judged_by_all_partitions(low, high):
    parts = [facts_of(np.ones((2, 1)), np.full(2, value), None, i, None, "it") for i, value in enumerate((low, high))]
    with pytest.raises(ValueError, match=r"y \(column 0\) .*variance cannot be computed"):
        whole_table(parts, "it")


def test_a_partition_of_no_weight_is_left_out():
    nothing = facts_of(np.ones((2, 1)), np.full(2, 9.0), np.zeros(2), 0, None, "it")
    some = facts_of(np.ones((2, 1)), np.array([1.0, 3.0]), np.ones(2), 1, None, "it")
    assert (nothing.counted, whole_table([nothing, some], "it")[1].location) == (0, 2.0)


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="at least 2 rows"):
        whole_table([facts_of(np.ones((0, 1)), np.ones(0), None, 0, None, "it")], "it")
