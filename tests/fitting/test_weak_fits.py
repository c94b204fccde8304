"""Warnings about fits that learned nothing."""

import numpy as np
import pytest

from diffgbm._util.errors import WeakFitWarning
from tests.conftest import tiny, toy


def messages(X, y, **params):
    with pytest.warns(WeakFitWarning) as caught:
        tiny("flow", **params).fit(X, y)
    weak = [warning for warning in caught if warning.category is WeakFitWarning]
    assert all(warning.filename == __file__ for warning in weak)
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
