"""P-values are uniform on fresh rows and small away from the data."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from diffgbm.data.features import EncodedTable, FeatureTable
from diffgbm.data.novelty import MOST_NUMBERS, MOST_ROWS, Reference, category_columns, learn_reference, novelty
from diffgbm.data.structure import Structure


def frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    table = pd.DataFrame(
        {
            "a": a,
            "b": a + 0.1 * rng.standard_normal(n),
            "heavy": rng.standard_t(1, n),
            "kind": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
            "count": rng.poisson(1.0, n),
        }
    )
    return table.mask(rng.uniform(size=table.shape) < 0.02)


def learned(X: object, structure: Structure | None = None) -> tuple[FeatureTable, Reference]:
    features, matrix = FeatureTable.learn(X, None, "test")
    reference = learn_reference(X, features, np.arange(len(matrix)), "test", structure or Structure())
    assert reference is not None
    return features, reference


def test_p_values_are_uniform_on_fresh_rows() -> None:
    features, reference = learned(frame(3000, 0))
    p = novelty(reference, frame(2000, 1), features, "test")
    assert p.min() >= 1.0 / (len(reference.scores) + 1)
    assert p.max() <= 1.0
    # the scores that p-values are ranks among are a sample too: compare two samples
    own = (1.0 + np.arange(len(reference.scores))) / (len(reference.scores) + 1.0)
    assert ks_2samp(p, own).pvalue > 0.01
    assert np.mean(p <= 0.05) < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / len(reference.scores))


def test_rows_away_from_the_data_have_small_p_values() -> None:
    features, reference = learned(frame(3000, 0))
    base = pd.DataFrame({"a": [0.0], "b": [0.0], "heavy": [0.0], "kind": ["x"], "when": ["2021-01-01"], "count": [1]})
    base["when"] = pd.to_datetime(base["when"])
    changes = [
        {},
        {"a": 30.0, "b": 30.0},  # outside the range
        {"a": 2.5, "b": -2.5},  # each inside, together never seen
        {"kind": "new"},
        {"when": pd.Timestamp("2035-01-01")},
        {"count": 50},
        {"heavy": np.inf},
    ]
    rows = pd.concat([base.assign(**change) for change in changes], ignore_index=True)
    p = novelty(reference, rows, features, "test")
    assert p[0] > 0.2
    assert np.all(p[1:] < 0.02)


def test_a_missing_value_is_new_only_where_none_was_missing() -> None:
    X = np.random.default_rng(0).standard_normal((400, 2))
    features, reference = learned(X)
    assert novelty(reference, np.array([[0.0, np.nan]]), features, "test")[0] < 0.02
    X[::2, 1] = np.nan
    features, reference = learned(X)
    assert novelty(reference, np.array([[0.0, np.nan]]), features, "test")[0] > 0.2


def test_groups_are_on_one_side() -> None:
    """Rows of one group are nearly equal: beside one of its own rows no row would be new."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((100, 5))
    labels = np.repeat(np.arange(100), 10)
    X = centres[labels] + 0.01 * rng.standard_normal((1000, 5))
    fresh = rng.standard_normal((300, 5))
    features, kept_whole = learned(X, Structure(labels))
    _, divided = learned(X)
    assert np.mean(novelty(kept_whole, fresh, features, "test") < 0.1) < 0.25
    assert np.mean(novelty(divided, fresh, features, "test") < 0.1) > 0.6


def test_by_time_the_last_rows_are_compared() -> None:
    X = np.arange(300.0)[:, None]
    _, reference = learned(X, Structure(None, np.arange(300)))
    assert reference.ordered
    assert reference.values.max() < 200.0


def test_what_is_stored_is_small() -> None:
    rng = np.random.default_rng(0)
    for p in (2, 300, 3000):
        _, reference = learned(rng.standard_normal((1200, p)))
        assert len(reference.scores) == MOST_ROWS
        assert len(reference.values) <= MOST_ROWS
        assert reference.values.size <= max(MOST_NUMBERS, 32 * p)
        assert reference.values.dtype == np.float32


def test_few_rows_have_no_reference() -> None:
    X = np.zeros((10, 1))
    features, _ = FeatureTable.learn(X, None, "test")
    assert learn_reference(X, features, np.arange(10), "test") is None


def test_constant_columns_and_copies() -> None:
    X = np.column_stack([np.full(100, 7.0), np.zeros(100)])
    features, reference = learned(X)
    p = novelty(reference, np.array([[7.0, 0.0], [9.0, 0.0], [7.0, 1.0]]), features, "test")
    np.testing.assert_allclose(p, [1.0, 1.0 / 51.0, 1.0 / 51.0])


def test_encoded_tables_are_compared_by_numbers_and_categories() -> None:
    X = frame(500, 0)[["a", "b", "kind"]]
    features, matrix = FeatureTable.learn(X, None, "test")
    encoded = EncodedTable(features, matrix)
    raw, table = learned(X)[1], learned(encoded)[1]
    np.testing.assert_array_equal(raw.values, table.values)
    new = frame(20, 1)[["a", "b", "kind"]]
    again = EncodedTable(features, features.encode(new, "test"))
    np.testing.assert_array_equal(novelty(raw, new, features, "test"), novelty(table, again, features, "test"))
    whole = frame(500, 0)
    features, reference = learned(whole)
    with pytest.raises(ValueError, match="column 'when' of an encoded table"):
        novelty(reference, EncodedTable(features, features.encode(whole, "test")), features, "test")


def test_columns_of_categories() -> None:
    features, _ = FeatureTable.learn(frame(100, 0), None, "test")
    assert category_columns(features).tolist() == [False, False, False, True, False, False]
