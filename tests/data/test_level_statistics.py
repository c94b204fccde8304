"""Statistics of categories: closed forms, no row sees its own response, noise is not used."""

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from diffgbm.data import level_statistics
from diffgbm.data.kinds import Category
from diffgbm.data.level_statistics import FOLDS, LevelStatistics, learn_statistics, most_levels, rarest
from diffgbm.data.splits import k_folds

N, L = 3000, 300


def drawn(effect, seed=0, n=N, levels=L):
    """Codes, and responses whose mean differs between levels by ``effect``."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, levels, n)
    y = rng.standard_normal(n) + effect * rng.standard_normal(levels)[codes]
    return codes.astype(float), y[:, None], Category(tuple(f"k{i:03d}" for i in range(levels)))


def learn(codes, y, column, weights=None):
    return learn_statistics(column, codes, y, weights, k_folds(len(codes), FOLDS, 0))


def test_levels_that_rows_can_tell_apart():
    assert [most_levels(n) for n in (10, 500, 2000, 10_000, 40_000, 10**6)] == [8, 8, 20, 25, 100, 250]
    assert [rarest(n) for n in (10, 20_000, 40_000, 10**6, 40_001)] == [1, 1, 2, 50, 3]


@pytest.mark.parametrize("levels", [100, 300, 1000, N])
@pytest.mark.parametrize("seed", range(5))
def test_noise_is_not_used(levels, seed):
    codes, y, column = drawn(0.0, seed, levels=levels)
    if levels == N:
        codes = np.arange(N, dtype=float)
    statistics, matrix = learn(codes, y, column)
    assert (statistics.width, matrix.shape) == (0, (N, 0))
    assert statistics.detail == f"{levels:,} categories that differ by no more than chance: not used"
    assert statistics.encode(nw.from_native(pd.Series(["k001", "new"]), series_only=True), "").shape == (2, 0)


def test_a_copy_does_not_make_names_useful():
    y = np.random.default_rng(0).standard_normal((200, 1))
    codes = np.arange(200.0)
    for copy, of in ((1, 0), (3, 2)):  # two rows that differ in another column only
        codes[copy], y[copy] = codes[of], y[of]
    statistics, _ = learn(codes, y, Category(tuple(map(str, range(200)))))
    assert statistics.width == 0


def test_the_location_is_the_empirical_bayes_mean():
    codes, y, column = drawn(1.0)
    statistics, matrix = learn(codes, y, column)
    assert statistics.names[0] == "location"
    code = codes.astype(int)
    count, mean = np.bincount(code), np.bincount(code, y[:, 0]) / np.bincount(code)
    # sigma^2 / tau^2 = 1 here, up to the error of 300 levels
    shrunken = y.mean() + count / (count + 1.0) * (mean - y.mean())
    np.testing.assert_allclose(statistics.table[:-1, 0], shrunken, atol=0.15)
    assert statistics.table[-1, 0] == pytest.approx(y.mean(), abs=0.05)
    np.testing.assert_allclose(statistics.table[:-1, -1], np.log2(1.0 + count))
    assert statistics.table[-1, -1] == 0.0
    assert np.corrcoef(matrix[:, 0], y[:, 0])[0, 1] > 0.6


def test_no_row_sees_its_own_response():
    codes, y, column = drawn(1.0)
    statistics, matrix = learn(codes, y, column)
    changed = y.copy()
    changed[7] = -changed[7]
    again = learn(codes, changed, column)[1]
    others = np.flatnonzero((codes == codes[7]) & (np.arange(N) != 7))
    # the variances of all rows change a little, the mean of the others does not
    assert abs(again[7, 0] - matrix[7, 0]) < 0.01
    assert np.abs(again[others, 0] - matrix[others, 0]).max() > 0.03
    assert not np.array_equal(matrix[:, 0], statistics.table[codes.astype(int), 0])


def test_spread_of_levels():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, L, N)
    scale = np.exp(rng.standard_normal(L))
    y = (scale[codes] * rng.standard_normal(N))[:, None]
    statistics, _ = learn(codes.astype(float), y, drawn(0.0)[2])
    assert statistics.names[-2:] == ("spread", "count")
    assert np.corrcoef(statistics.table[:-1, statistics.names.index("spread")], np.log(scale))[0, 1] > 0.8


def test_weights_of_any_scale_give_the_same():
    codes, y, column = drawn(1.0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N)
    one, two = (learn(codes, y, column, factor * weights)[1][:, 0] for factor in (1.0, 1000.0))
    np.testing.assert_allclose(one, two)


def test_missing_rare_and_new_categories(monkeypatch):
    codes, y, column = drawn(1.0)
    codes[:50] = np.nan
    codes[codes == 3] = 4.0
    codes[[100, 101]] = 3.0
    monkeypatch.setattr(level_statistics, "KEPT", N / 3)  # three rows are needed
    statistics, matrix = learn(codes, y, column)
    assert np.isnan(matrix[:50]).all()
    assert "k003" not in statistics.levels
    assert f"{L - len(statistics.levels)} rare ones together" in statistics.detail
    np.testing.assert_array_equal(matrix[100], statistics.table[-1])
    values = nw.from_native(pd.Series(["k003", "new", None, "k004"]), series_only=True)
    found = statistics.encode(values, "")
    np.testing.assert_array_equal(found[:2], [statistics.table[-1]] * 2)
    assert np.isnan(found[2]).all()
    assert found[3, -1] > 1.0
    # without missing values in training a missing one is another category
    complete = learn(*drawn(1.0))[0]
    np.testing.assert_array_equal(complete.encode(values, "")[2], complete.table[-1])


def test_a_single_row_has_statistics_that_it_does_not_see():
    codes, y, column = drawn(1.0)
    codes[codes == 3] = 4.0
    codes[100] = 3.0
    y[100] = 3.0
    statistics, matrix = learn(codes, y, column)
    np.testing.assert_array_equal(matrix[100], statistics.table[-1])
    location, count = statistics.table[3, [0, -1]]
    assert count == 1.0
    assert 0.3 * 3.0 < location < 0.7 * 3.0


@pytest.mark.parametrize("kept", [20_000, N / 2])
def test_new_rows_have_rare_categories_as_often_as_training_rows(kept, monkeypatch):
    """Rows of the pool are predicted by what training says of them: their share must be the same."""
    monkeypatch.setattr(level_statistics, "KEPT", kept)
    codes, y, _ = drawn(1.0, levels=1000, n=2 * N)
    column = Category(tuple(range(1000)))
    statistics, matrix = learn(codes[:N], y[:N], column)
    own = {level: i for i, level in enumerate(statistics.levels)}
    new = statistics.table[[own.get(int(code), -1) for code in codes[N:]], -1]
    training, predicted = np.mean(matrix[:, -1] == 0.0), np.mean(new == 0.0)
    assert training == pytest.approx(predicted, abs=4.0 * np.sqrt(2.0 * 0.25 / N))
    assert statistics.rare_share < training + 0.02


def test_codes_of_another_table():
    statistics = learn(*drawn(1.0))[0]
    found = statistics.recoded(np.array([0.0, 1.0, np.nan, 2.0]), ("k005", "new", "k000"))
    expected = statistics.table[[5, L, L, 0]]
    np.testing.assert_array_equal(found, expected)


def test_statistics_are_compared_by_value():
    one, two = learn(*drawn(1.0))[0], learn(*drawn(1.0))[0]
    assert one == two
    assert one != LevelStatistics(one.levels, one.table + 1.0, one.names, one.n_levels, one.has_missing)
    assert one != Category(one.levels)


def test_one_wild_response_moves_no_level_far():
    codes, y, column = drawn(1.0)
    before = learn(codes, y, column)[0].table
    y[0] = 1e9
    after = learn(codes, y, column)[0].table
    assert np.abs(after[:, 0] - before[:, 0]).max() < 3.0


def test_several_responses():
    codes, y, column = drawn(1.0)
    noise = np.random.default_rng(3).standard_normal(N)
    statistics, matrix = learn(codes, np.column_stack([noise, y]), column)
    assert statistics.names == ("location 1", "count")
    assert matrix.shape == (N, 2)
