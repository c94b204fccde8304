"""Rows in blocks: the bins and models of the whole matrix, for float32, float64 and memory maps."""

import tracemalloc

import numpy as np
import pytest

from diffgbm.data import blocks
from diffgbm.first_stage import Task
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.fitting.noisy_rows import NoisyRowSequence, noisy_rows
from tests.conftest import tiny, toy

FIRST_STAGE = {"n_estimators": 8, "num_leaves": 6, "min_child_samples": 5}


def on_disk(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def texts(model):
    first_stages = [b.model_to_string() for folds in model.model_.first_stage.location.models for b in folds]
    return [b.model_to_string() for b in model.boosters_] + first_stages


@pytest.fixture
def small_maps_are_large(monkeypatch):
    monkeypatch.setattr(blocks, "MAPPED_BYTES", 100)


def exact(n=130, p=4):
    """Values that float32 holds exactly, with gaps and zeros."""
    X, y = toy(n, p)
    X = X.astype(np.float32).astype(np.float64)
    X[::5, 1], X[::3, 2] = np.nan, 0.0
    return X, y


@pytest.mark.parametrize("stopping", [None, 3])
def test_float32_and_maps_give_the_model_of_float64(stopping, tmp_path, small_maps_are_large):
    X, y = exact()
    inputs = [X, X.astype(np.float32), on_disk(X.astype(np.float32), tmp_path), np.asfortranarray(X)]
    assert blocks.is_large_map(inputs[2])
    models = [tiny(early_stopping_rounds=stopping, eval_percent=0.2).fit(rows, y) for rows in inputs]
    for model in models[1:]:
        assert texts(model) == texts(models[0])
        np.testing.assert_array_equal(model.predict(inputs[2]), models[0].predict(X))


@pytest.mark.parametrize("count", [200_000, 60], ids=["all rows binned", "some rows binned"])
def test_a_map_is_binned_as_the_matrix_is(count, tmp_path, small_maps_are_large):
    """The parameter ``seed`` decides the sample for the bins of both."""
    X, y = exact()
    models = []
    for rows in (X, on_disk(X, tmp_path)):
        params = {**FIRST_STAGE, "bin_construct_sample_cnt": count, "max_bin": 20}
        fitted = LightGBMMean(params).cross_fit(Task(rows, y[:, None], [], None, 3, 1, 5, 1))
        models.append([booster.model_to_string() for booster in fitted.predictor.models[0]])
    assert models[0] == models[1]


def test_weights_that_are_all_positive_copy_nothing():
    from diffgbm.fitting.training_table import read_table

    X, y = exact()
    X = X.astype(np.float32)
    table = read_table(X, y, None, np.linspace(1.0, 2.0, len(y)), "DiffGBM")
    assert np.shares_memory(table.X, X)
    some = read_table(X, y, None, np.arange(len(y)), "DiffGBM")
    np.testing.assert_array_equal(some.X, X[1:])


def test_the_sample_for_the_bins_is_held_once(monkeypatch):
    """LightGBM itself takes two and a half times as much, besides the rows one by one."""
    monkeypatch.setattr(blocks, "BLOCK", 1 << 14)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4000, 60)).astype(np.float32), rng.standard_normal((4000, 1))
    rows = noisy_rows(tiny().recipe, X, y, None, 3, rng)
    label = rows.labels()[0]
    params = {"verbosity": -1, "num_threads": 1, "bin_construct_sample_cnt": 10_000}
    tracemalloc.start()
    blocks.BlockDataset(NoisyRowSequence(rows), label=label, params=params).construct()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sample = 10_000 * 62 * 8
    assert sample < peak < 1.5 * sample


def test_fitting_copies_no_table():
    """What Python holds while fitting is less than one copy of X, let alone of its repeats."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 400)).astype(np.float32)
    y = X[:, 0] + rng.standard_normal(6000)
    model = tiny(n_repeats=2, n_estimators=1, subsample_for_bin=500, residualize="off", early_stopping_rounds=5)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes
    repeats = 2 * 0.9 * X.size * 8
    assert peak < 0.6 * repeats


def test_pages_go_only_where_nothing_is_lost(tmp_path, small_maps_are_large):
    X = np.arange(600.0).reshape(100, 6)
    np.save(tmp_path / "X.npy", X)
    for mode, gives_back in (("r", True), ("r+", True), ("c", False)):
        found = np.load(tmp_path / "X.npy", mmap_mode=mode)
        assert blocks.is_large_map(found) is gives_back
        if mode == "c":
            found[:] += 1.0
        np.testing.assert_array_equal(blocks.take(found[1:], [3, 0, 98]), X[[4, 1, 99]] + (mode == "c"))
        np.testing.assert_array_equal(found, X + (mode == "c"))
    assert not blocks.is_large_map(X)


def test_rows_of_a_sequence():
    X = np.arange(12.0, dtype=np.float32).reshape(6, 2)
    rows = blocks.MatrixSequence(X)
    for index in (slice(1, 4), slice(4, 99), [5, 0]):
        np.testing.assert_array_equal(rows[index], X[index])
        assert rows[index].dtype == np.float64
    np.testing.assert_array_equal(rows[3], X[3])
    assert rows[3].flags["OWNDATA"]
    np.testing.assert_array_equal(rows.columns(np.array([4, 1])), X[[4, 1]].T)
