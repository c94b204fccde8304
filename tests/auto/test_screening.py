"""Screening of wide tables: columns that predict stay, columns of noise leave no trace in held-out scores."""

import numpy as np
import pytest

from diffgbm import load
from diffgbm.auto import screening
from diffgbm.auto.screening import correlates, screened, screening_rows, useful_columns, without_columns
from diffgbm.data.features import FeatureTable
from diffgbm.data.kinds import Dropped
from diffgbm.data.structure import Structure
from diffgbm.fitting.training_table import read_table
from tests.auto.tiny_auto import LEAST, auto, small_trees  # noqa: F401


def wide(n=400, p=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, 2.0 * X[:, 3] + np.exp(0.8 * X[:, 77]) * rng.normal(size=n)


def test_location_and_size_of_errors_are_found():
    X, y = wide(800)
    useful = useful_columns(X, y[:, None], None, [], 0, 1)
    assert useful[[3, 77]].all()
    assert useful.sum() <= 4


def test_noise_rarely_stays():
    kept = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        kept.append(useful_columns(rng.normal(size=(150, 120)), rng.normal(size=(150, 1)), None, [], seed, 1).sum())
    assert sum(kept) <= 3


def test_only_wide_tables_with_little_time_are_screened():
    table = read_table(*wide(), None, None, "test")
    seconds = table.X.size / screening.CELLS_PER_SECOND
    assert screened(table, 1.01 * seconds, 0, 1) is table
    narrow = read_table(*wide(p=99), None, None, "test")
    assert screened(narrow, 1e-9, 0, 1) is narrow
    assert screened(table, 0.99 * seconds, 0, 1).X.shape[1] < 10


def test_a_table_of_noise_keeps_its_columns():
    rng = np.random.default_rng(4)
    table = read_table(rng.normal(size=(150, 120)), rng.normal(size=150), None, None, "test")
    assert screened(table, 0.1, 0, 1) is table


def test_rows_are_independent_and_leave_the_last_ones_out():
    labels = np.repeat(np.arange(50), 4)
    rows = screening_rows(200, Structure(labels), 0)
    np.testing.assert_array_equal(labels[rows], np.arange(50))
    order = np.random.default_rng(0).permutation(500)
    assert order[screening_rows(500, Structure(None, order), 0)].max() < 400
    assert len(screening_rows(100_000, Structure(), 0)) == screening.MOST_ROWS


def test_correlations_take_missing_values_and_constants():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200)
    X[::3, 0], X[:, 1] = np.nan, 1.0
    np.testing.assert_array_equal(correlates(X, y), [True, False, False])


def test_dropped_columns_say_why():
    features = FeatureTable.plain(("a", "b", "c"), (None, None, (0.0, 1.0)))
    after, kept = without_columns(features, np.array([True, False, True]), 1234)
    assert kept.tolist() == [0, 2]
    assert isinstance(after.columns[1], Dropped)
    assert "no better than chance on 1,234 rows" in after.columns[1].detail
    assert after.categorical == [1]


def test_a_model_remembers_its_columns(tmp_path):
    X, y = wide()
    model = auto(LEAST, time_limit=4.5).fit(X, y)
    used = [row for row in model.schema_.records() if row["kind"] != "not used"]
    assert 1 <= len(used) < 10
    assert model.n_features_in_ == 120
    changed = X.copy()
    changed[:, 5] = 1e6
    assert model.schema_.records()[5]["kind"] == "not used"
    np.testing.assert_array_equal(model.predict(changed), model.predict(X))
    model.save(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(load(tmp_path / "m.dgbm").predict(X[:9]), model.predict(X[:9]))
    assert "columns were screened out" in model.explain()
    # rows are new by the columns that are used
    np.testing.assert_array_equal(model.predict_novelty(changed), model.predict_novelty(X))
    far = X.copy()
    far[:, 3] = 1e6
    assert model.predict_novelty(X).mean() == pytest.approx(0.55, abs=0.15)
    assert model.predict_novelty(far).max() < 0.05
    with pytest.raises(ValueError, match="120 features"):
        model.predict(X[:, :50])
