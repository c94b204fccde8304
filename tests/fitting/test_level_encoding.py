"""Columns of many categories: noise costs nothing, information is used, however the table is given."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from diffgbm import load
from diffgbm._util.errors import DiffGBMWarning
from diffgbm.data.features import EncodedTable, FeatureTable
from diffgbm.data.level_statistics import LevelStatistics
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.fitting.level_encoding import encode_levels, levelled
from tests.conftest import tiny

N = 600


def rows(effect, seed=0, levels=60):
    rng = np.random.default_rng(seed)
    x, group = rng.uniform(size=N), rng.integers(0, levels, N)
    y = 4.0 * x + effect * rng.standard_normal(levels)[group] + 0.3 * rng.standard_normal(N)
    return pd.DataFrame({"x": x, "id": [f"k{g}" for g in group]}), y


def test_noise_changes_nothing():
    X, y = rows(0.0)
    model = tiny("flow").fit(X, y)
    assert model.schema_["id"].kind == "encoded category"
    assert model.schema_["id"].width == 0
    alone = tiny("flow").fit(X[["x"]], y)
    np.testing.assert_array_equal(model.sample(X, 5, seed=0), alone.sample(X[["x"]], 5, seed=0))


@pytest.fixture(scope="module")
def informed():
    X, y = rows(1.0)
    return tiny("flow", n_estimators=40).fit(X, y), X, y


def test_information_is_used(informed):
    model = informed[0]
    assert model.schema_["id"].detail.startswith("location, count of 60 categories")
    new, y_new = rows(1.0)
    assert np.corrcoef(model.predict(new), y_new)[0, 1] > 0.9
    unseen = new[:5].assign(id="new")
    with pytest.warns(DiffGBMWarning, match="'id': 100% of the rows have a category"):
        assert np.isfinite(model.predict(unseen)).all()


def test_rare_categories_are_not_reported_as_new():
    X, y = rows(1.0)
    X.loc[:99, "id"] = [f"rare{i}" for i in range(100)]
    model = tiny("flow").fit(X, y)
    assert model.model_.features.columns[1].rare_share == pytest.approx(100 / N)
    model.predict(X)
    with pytest.warns(DiffGBMWarning, match="'id': 30% of the rows have a category"):
        model.predict(X.assign(id=[f"new{i}" if i < 0.3 * N else "k0" for i in range(N)]))


def test_every_kind_of_table_gives_the_same_model(informed):
    model, X, y = informed
    expected = model.sample(X, 3, seed=0)
    codes = np.column_stack([X["x"], X["id"].str[1:].astype(float)])
    for same, options in (
        (X.astype({"id": "category"}), {}),
        (pl.from_pandas(X), {}),
        (EncodedTable(*FeatureTable.learn(X, None, "")), {}),
        (codes, {"cat_idx": [1]}),
    ):
        other = tiny("flow", n_estimators=40).fit(same, y, **options)
        np.testing.assert_allclose(other.sample(same, 3, seed=0), expected)
    np.testing.assert_array_equal(model.sample(EncodedTable(*FeatureTable.learn(X, None, "")), 3, seed=0), expected)


def test_a_loaded_model_has_the_statistics(informed, tmp_path):
    model, X, _ = informed
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert loaded.schema_ == model.schema_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_category_is_told_apart_from_what_goes_with_it():
    """All of the difference between the levels is explained by ``x``."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 60, N)
    x = group + 0.0
    y = (0.1 * x + 0.3 * rng.standard_normal(N))[:, None]
    features, X = FeatureTable.learn(pd.DataFrame({"x": x, "id": [f"k{g}" for g in group]}), None, "")
    alone, _ = encode_levels(FeatureTable(("id",), features.columns[1:]), X[:, 1:], y, None, INDEPENDENT)
    both, matrix = encode_levels(features, X, y, None, INDEPENDENT)
    assert "location" in alone.columns[0].names
    assert isinstance(both.columns[1], LevelStatistics)
    assert "location" not in both.columns[1].names
    assert matrix.shape[1] == both.width


def test_few_categories_stay_codes():
    X, y = rows(1.0, levels=8)
    features, matrix = FeatureTable.learn(X, None, "")
    same, again = encode_levels(features, matrix, y[:, None], None, INDEPENDENT)
    assert same is features
    assert again is matrix


def test_fewer_rows_than_columns_are_reported():
    rng = np.random.default_rng(0)
    with pytest.warns(DiffGBMWarning, match="X has 20 rows and 30 columns: .* Drop columns"):
        tiny("flow", residualize="off").fit(rng.standard_normal((20, 30)), rng.standard_normal(20))


def test_rows_in_time_get_statistics_of_earlier_rows():
    X, y = rows(1.0)
    features, matrix = FeatureTable.learn(X, None, "")
    order = Structure(None, np.arange(N))
    _, before = encode_levels(features, matrix, y[:, None], None, order)
    later = y.copy()
    late = int(0.75 * N)
    later[late : late + 6] += 3.0
    _, after = encode_levels(features, matrix, later[:, None], None, order)
    # variances and the mean of all rows change a little
    change = np.abs(after[:, 1] - before[:, 1])
    assert change[:late].max() < 0.3 * change[late + 60 :].max()
    assert (before[: N // 20, -1] == 0.0).all()


def test_free_text_is_used(tmp_path):
    rng = np.random.default_rng(0)
    words = rng.integers(0, 50, (N, 7))
    X = pd.DataFrame({"x": rng.uniform(size=N), "note": [" ".join(f"w{w}" for w in row) for row in words]})
    y = X["x"] + 2.0 * (words == 7).any(axis=1) + 0.2 * rng.standard_normal(N)
    model = tiny("flow", n_estimators=40).fit(X, y)
    assert model.schema_["note"].kind == "text"
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.8
    np.testing.assert_array_equal(model.predict(EncodedTable(*FeatureTable.learn(X, None, ""))), model.predict(X))
    model.save(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(load(tmp_path / "m.dgbm").predict(X), model.predict(X))


def several(rng, n, role):
    """A number, a category of 15 levels and a response in which the category has a role."""
    x, town = rng.standard_normal(n), rng.integers(0, 15, n)
    sign = np.where(town % 2 == 0, 1.0, -1.0)
    noise = rng.standard_normal(n)
    y = {
        "none": x + noise,
        "location": x + 0.5 * sign + noise,
        "spread": x + np.exp(0.4 * sign) * noise,
        "slope": sign * x + noise,
    }[role]
    return pd.DataFrame({"x": x, "town": [f"t{k}" for k in town]}), y


@pytest.mark.parametrize("role", ["location", "spread", "slope"])
def test_several_categories_that_matter_stay_categories(role):
    X, y = several(np.random.default_rng(3), 2000, role)
    assert tiny("flow").fit(X, y).schema_["town"].kind == "category"


def test_several_categories_that_are_noise_are_not_used(tmp_path):
    X, y = several(np.random.default_rng(3), 2000, "none")
    model = tiny("flow").fit(X, y)
    assert model.schema_["town"].detail == "15 categories that differ by no more than chance: not used"
    without = tiny("flow").fit(X[["x"]], y)
    np.testing.assert_array_equal(model.predict(X[:50]), without.predict(X[["x"]][:50]))
    model.save(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(load(tmp_path / "m.dgbm").predict(X[:50]), model.predict(X[:50]))


def test_noise_beside_a_category_of_many_levels():
    X, y = several(np.random.default_rng(3), 2000, "none")
    rng = np.random.default_rng(5)
    shop = rng.integers(0, 200, 2000)
    model = tiny("flow").fit(X.assign(shop=[f"s{k}" for k in shop]), y + rng.standard_normal(200)[shop])
    assert [column.kind for column in model.schema_] == ["number", "encoded category", "encoded category"]
    assert [column.width for column in model.schema_] == [1, 0, 2]


def test_even_responses_stay_and_skew_ones_become_normal_scores():
    rng = np.random.default_rng(0)
    even = np.column_stack([rng.standard_normal(500), rng.uniform(size=500)])
    assert np.array_equal(levelled(even), even)
    skew = np.exp(rng.standard_normal(500))
    scores = levelled(skew[:, None])[:, 0]
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(skew))
    assert abs(scores.std() - 1.0) < 0.02
    wild = np.where(np.arange(500) == 3, 1e6, even[:, 0])
    assert levelled(wild[:, None]).max() < 4.0
    zeros = np.where(np.arange(500) < 300, 0.0, skew)
    assert len(np.unique(levelled(zeros[:, None])[:300])) == 1


def test_factors_of_a_skew_response_are_found():
    rng = np.random.default_rng(0)
    n = 500
    codes = rng.integers(0, 100, n)
    size = rng.uniform(0.0, 3.0, n)
    y = np.exp(2.0 * size + 0.5 * rng.standard_normal(100)[codes] + 0.2 * rng.standard_normal(n))
    y[7] *= 1000.0
    frame = pd.DataFrame({"size": size, "agent": [f"a{code}" for code in codes]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiffGBMWarning)
        model = tiny("flow").fit(frame, y)
    assert model.schema_["agent"].detail.startswith("location")
