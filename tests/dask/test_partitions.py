"""What is done to single partitions: facts that merge to those of the whole table, hashes, places."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed")
import dask.array as da
from diffgbm.dask.rows import nth

from diffgbm.dask.partitions import aligned, check_collection, pieces
from diffgbm.dask.reading import encode, facts_of, whole_table
from diffgbm.dask.worker_group import LEAST_ROWS, place
from diffgbm.data.features import FeatureTable
from diffgbm.data.response import ResponseTable


def test_a_partitions_seed_is_the_one_that_spawning_all_would_give_it():
    seed = np.random.SeedSequence(7).spawn(3)[1]
    expected = np.random.SeedSequence(7).spawn(3)[1].spawn(4)[2]
    np.testing.assert_array_equal(nth(seed, 2).generate_state(4), expected.generate_state(4))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.integers(1, 8))
def test_workers_get_consecutive_partitions_and_enough_rows(rows, n_workers):
    places = np.array(place(rows, n_workers))
    assert len(places) == len(rows)
    assert places[0] == 0
    assert (np.isin(np.diff(places), (0, 1))).all()
    assert places[-1] < n_workers
    held = np.bincount(places, weights=rows)
    assert len(held) == 1 or held.min() >= LEAST_ROWS


def test_equal_partitions_are_shared_equally():
    assert place([500] * 6, 3) == [0, 0, 1, 1, 2, 2]
    assert place([500] * 5, 8) == [0, 1, 2, 3, 4]


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
def test_partitions_together_know_what_the_whole_table_does(cuts):
    X, y, w = frames()
    X = X.assign(town=X["town"].cat.remove_unused_categories())
    parts = []
    for i, (a, b) in enumerate(pairwise(cuts)):
        own = X.iloc[a:b].assign(town=X["town"].iloc[a:b].cat.remove_unused_categories())
        parts.append((own, y.iloc[a:b], w[a:b], i))
    features, response = whole_table([facts_of(*part, None, "it") for part in parts], "it")
    expected, matrix = FeatureTable.learn(X, None, "it")
    assert features == expected
    told, standard = ResponseTable.learn(y, w, len(X))
    assert (response.names, response.is_1d) == (told.names, told.is_1d)
    np.testing.assert_allclose(response.location, told.location, rtol=1e-13)
    np.testing.assert_allclose(response.scale, told.scale, rtol=1e-12)
    assert response.scale[1] == 0.0
    encoded = [encode(*part, cuts[i], features, response, "it") for i, part in enumerate(parts) if len(part[0])]
    np.testing.assert_array_equal(np.concatenate([p.X for p in encoded]), matrix[w > 0.0])
    np.testing.assert_allclose(np.concatenate([p.y for p in encoded]), standard[w > 0.0], atol=1e-12)
    np.testing.assert_array_equal(np.concatenate([p.positions for p in encoded]), np.flatnonzero(w > 0.0))


def test_one_partition_has_the_very_moments_of_the_table():
    X, y, w = frames()
    _, response = whole_table([facts_of(X, y, w, 0, None, "it")], "it")
    told, _ = ResponseTable.learn(y, w, len(X))
    np.testing.assert_array_equal(response.location, told.location)
    np.testing.assert_array_equal(response.scale, told.scale)


@pytest.mark.parametrize(
    ("X", "y", "w", "said"),
    [
        (np.ones((3, 1)), np.ones(2), None, "Partition 7: X has 3 rows, y 2"),
        (np.ones((2, 1)), np.ones(2), np.ones(3), "sample_weight 3"),
        (np.ones((2, 1)), np.array([1.0, np.nan]), None, "Partition 7: y must be finite"),
        (np.ones((2, 1)), np.ones(2), np.array([1.0, -1.0]), "Partition 7: Negative values.*sample_weight"),
        (np.ones((2, 1)), np.ones(2), np.array([1.0, 1e-40]), "Partition 7: sample_weight must be 0 or lie between"),
    ],
)
def test_a_mistake_names_its_partition(X, y, w, said):
    with pytest.raises(ValueError, match=said):
        facts_of(X, y, w, 7, None, "it")


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e200), (-1e200, 0.0), (0.0, 1e-200)])
def test_units_are_judged_by_all_partitions(low, high):
    parts = [facts_of(np.ones((2, 1)), np.full(2, value), None, i, None, "it") for i, value in enumerate((low, high))]
    with pytest.raises(ValueError, match=r"y \(column 0\) .*variance cannot be computed"):
        whole_table(parts, "it")


def test_a_partition_of_no_weight_counts_for_nothing():
    nothing = facts_of(np.ones((2, 1)), np.full(2, 9.0), np.zeros(2), 0, None, "it")
    some = facts_of(np.ones((2, 1)), np.array([1.0, 3.0]), np.ones(2), 1, None, "it")
    assert (nothing.counted, whole_table([nothing, some], "it")[1].location) == (0, 2.0)


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="at least 2 rows"):
        whole_table([facts_of(np.ones((0, 1)), np.ones(0), None, 0, None, "it")], "it")


def test_arrays_are_cut_as_the_features_are_and_columns_put_together():
    X = da.ones((10, 4), chunks=((3, 7), (2, 2)))
    assert [p.compute().shape for p in pieces(X)] == [(3, 4), (7, 4)]
    assert [len(p.compute()) for p in aligned(X, da.ones(10, chunks=5), "y", "it")] == [3, 7]


@pytest.mark.parametrize(
    ("y", "error", "said"),
    [
        (np.ones(10), TypeError, "it reads Dask arrays and frames; got y of type numpy.ndarray.*Use DiffGBM"),
        (da.ones(9, chunks=3), ValueError, "X with 10, y with 9"),
        (da.ones(10, chunks=10)[da.ones(10, chunks=10) > 0], ValueError, "X with 2 of them, y with 1"),
        (da.ones((2, 2, 2)), ValueError, "one or two dimensions"),
    ],
)
def test_what_does_not_match_is_refused_before_anything_is_computed(y, error, said):
    X = da.ones((10, 4), chunks=(5, 4))
    with pytest.raises(error, match=said):
        aligned(X, y, "y", "it")
    check_collection(X, "X", "it")
