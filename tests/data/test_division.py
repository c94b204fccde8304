"""How rows are divided, in words; hints for tables whose rows depend on each other, and none for others."""

import numpy as np
import pytest

from diffgbm.data.division import Division, divided_rows, lag_correlation, serial_correlation
from diffgbm.data.records import find_records, given_records
from diffgbm.data.structure import NOTHING_GIVEN, GivenStructure

N = 600


def drifting(rng, n=N):
    """A random walk about a function of x."""
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.cumsum(rng.normal(size=n)) * 0.5


def blocks(rng, n=N):
    """Twenty consecutive rows of each entity."""
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.repeat(2.0 * rng.normal(size=n // 20), 20) + 0.5 * rng.normal(size=n)


def counted(rng, n=N):
    """A series whose table holds the number of the row."""
    X = np.column_stack([np.arange(n), rng.normal(size=n)])
    return X, np.sin(X[:, 0] / 40.0) + 0.3 * rng.normal(size=n)


def random_rows(rng, n=N):
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.normal(size=n)


def sorted_by_a_feature(rng, n=N):
    X = rng.normal(size=(n, 3))
    X = X[np.argsort(X[:, 0])]
    return X, np.sin(3.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


def sorted_by_an_integer_feature(rng, n=N):
    X = np.column_stack([np.sort(rng.integers(18, 80, n)), rng.normal(size=n)])
    return X, 0.1 * X[:, 0] + rng.normal(size=n)


def sorted_by_the_response(rng, n=N):
    X, y = random_rows(rng, n)
    order = np.argsort(y)
    return X[order], y[order]


def sorted_by_a_category(rng, n=N):
    X = np.column_stack([np.sort(rng.integers(0, 5, n)), rng.normal(size=n)])
    return X, np.array([3.0, -2.0, 0.0, 5.0, 1.0])[X[:, 0].astype(int)] + rng.normal(size=n)


def designed(rng, n=N):
    """A designed experiment in order: all combinations of levels, and hardly any noise."""
    X = np.array(np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 10), np.linspace(0, 1, 10))).reshape(3, -1).T
    return X, np.exp(2.0 * X[:, 0]) + np.sin(5.0 * X[:, 1]) * X[:, 2] + 1e-3 * rng.normal(size=len(X))


@pytest.mark.parametrize("table", [drifting, blocks, counted])
@pytest.mark.parametrize("seed", range(3))
def test_dependent_rows_get_a_hint(table, seed):
    X, y = table(np.random.default_rng(seed))
    text = str(divided_rows(X, y[:, None], find_records(X, y[:, None]), NOTHING_GIVEN))
    assert text.startswith("Hint: consecutive rows have similar residuals (lag-1 autocorrelation 0.")
    assert "time= to fit" in text
    assert "groups=" in text


@pytest.mark.parametrize(
    "table",
    [
        random_rows,
        sorted_by_a_feature,
        sorted_by_an_integer_feature,
        sorted_by_the_response,
        sorted_by_a_category,
        designed,
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_other_rows_get_none(table, seed):
    X, y = table(np.random.default_rng(seed))
    assert serial_correlation(X, y[:, None]) == 0.0
    assert "Hint" not in str(divided_rows(X, y[:, None], find_records(X, y[:, None]), NOTHING_GIVEN))


def test_few_rows_and_constants_get_none():
    X, y = drifting(np.random.default_rng(0), 60)
    assert serial_correlation(X, y[:, None]) == 0.0
    assert lag_correlation(np.ones(50)) == 0.0


def test_rows_that_repeat_often_get_a_hint():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 2)), 20, axis=0)[rng.permutation(600)]
    y = X[:, :1] + rng.normal(size=(600, 1))
    text = str(divided_rows(X, y, find_records(X, y), NOTHING_GIVEN))
    assert "600 rows are of 30 entities" in text
    assert "Hint: identical rows of X repeat often (30 of 600 are different)" in text
    few = rng.integers(0, 2, size=(600, 2)).astype(float)
    assert "Hint" not in str(divided_rows(few, y, find_records(few, y), NOTHING_GIVEN))


def test_what_the_caller_gave_is_said_and_no_hint_is_needed():
    X, y = blocks(np.random.default_rng(0))
    labels = np.arange(N) // 20
    text = str(divided_rows(X, y[:, None], given_records(X, labels), GivenStructure(labels)))
    assert text == "600 rows are of 30 groups: no split divides a group, so that scores are those of new groups."
    given = GivenStructure(None, np.arange(N), sorted=False)
    text = str(divided_rows(X, y[:, None], find_records(X, y[:, None]), given))
    assert text.startswith("Rows are divided by time: models are judged on rows later than those they learned from")
    assert text.endswith("The rows were not sorted by time; they were put in its order.")
    assert str(Division()) == ""
