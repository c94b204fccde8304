"""Warnings about fits that learned nothing."""

from linecache import getline

import numpy as np
import pytest

from diffgbm._util.errors import DiffGBMWarning, WeakFitWarning
from tests.conftest import tiny, toy


def messages(X, y, **params):
    with pytest.warns(WeakFitWarning) as caught:
        tiny("flow", **params).fit(X, y)
    weak = [warning for warning in caught if warning.category is WeakFitWarning]
    assert all("fit(X, y)" in getline(warning.filename, warning.lineno) for warning in weak)
    return [str(warning.message) for warning in weak]


def test_noise_is_reported_by_both_stages():
    rng = np.random.default_rng(0)
    found = messages(rng.normal(size=(300, 5)), rng.normal(size=300), n_estimators=50, early_stopping_rounds=5)
    assert any("The first stage predicts y worse than its mean does" in text for text in found)
    assert any("The noise model of y stopped after" in text and "smaller learning_rate" in text for text in found)


def test_a_useful_table_is_not_reported(recwarn):
    X, y = toy(400)
    tiny("flow", n_estimators=60, early_stopping_rounds=5).fit(X, y)
    assert not [warning for warning in recwarn if warning.category is WeakFitWarning]


def test_rounds_that_the_user_chose_are_not_reported(recwarn):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    tiny("flow", n_estimators=2, early_stopping_rounds=2, residualize="off").fit(X, y)
    assert not [warning for warning in recwarn if warning.category is WeakFitWarning]


def test_constant_responses_are_named():
    X, y = toy(100)
    assert any("y is 3.5 in all 100 rows" in text for text in messages(X, np.full(100, 3.5)))
    two = np.column_stack([y, np.zeros(100)])
    assert any("column 1 of y is 0 in all 100 rows" in text for text in messages(X, two))


def test_three_rows_are_too_few():
    X, y = toy(3)
    assert any("X has 3 rows, too few" in text for text in messages(X, y, residualize="off"))


def piled(share, n=200):
    X, y = toy(n)
    y = np.abs(y) + 0.1
    y[: round(share * n)] = 0.0
    return X, y


def test_a_pile_at_the_end_is_named_with_its_share_and_a_remedy():
    with pytest.warns(DiffGBMWarning, match=r"y is exactly 0 in 40% of the rows.*atoms='auto'.*support='auto'"):
        tiny("flow").fit(*piled(0.4))


@pytest.mark.parametrize("arguments", [{"atoms": "auto"}, {"support": "auto"}, {"atoms": [0.0]}])
def test_a_pile_that_is_modelled_is_not_named(arguments):
    tiny("flow", **arguments).fit(*piled(0.4))  # a warning would be an error


def test_small_piles_and_whole_numbers_are_not_named():
    tiny("flow").fit(*piled(0.05))
    X, y = piled(0.4)
    tiny("flow").fit(X, np.rint(y * 3))
