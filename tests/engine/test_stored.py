"""Boosters as text: the same trees, LightGBM only when it is needed."""

import pickle

import lightgbm as lgb
import numpy as np
import pytest

from diffgbm.engine.forest import CannotCollapse
from diffgbm.engine.stored import StoredBooster, forest_of, lightgbm_of, text_of

from . import models


def test_a_stored_booster_is_the_booster():
    one = models.booster(1, 1, 3)
    one.best_iteration = 5
    stored = StoredBooster.checked(text_of(one), 2 + models.P)
    rows = np.hstack([models.rows(30, 0), np.zeros((30, 2))])
    assert stored.num_trees() == 5
    np.testing.assert_array_equal(forest_of(stored).value, forest_of(one).value)
    assert "booster" not in vars(stored)  # LightGBM has not read it
    np.testing.assert_array_equal(stored.predict(rows), one.predict(rows))
    assert isinstance(lightgbm_of(stored), lgb.Booster)
    assert lightgbm_of(one) is one


def test_text_and_pickle_survive_a_round_trip():
    stored = StoredBooster(text_of(models.booster(1, 1, 3)))
    assert text_of(stored) == stored.text == stored.model_to_string()
    again = pickle.loads(pickle.dumps(stored))
    assert again.text == stored.text
    np.testing.assert_array_equal(again.forest.value, stored.forest.value)


def test_a_booster_that_is_no_sum_is_stored_without_a_forest():
    F = np.random.default_rng(0).normal(size=(200, 3))
    params = {"verbose": -1, "num_threads": 1, "linear_tree": True}
    linear = lgb.train(params, lgb.Dataset(F, F[:, 0] * F[:, 1]), num_boost_round=2)
    stored = StoredBooster.checked(text_of(linear), 3)
    with pytest.raises(CannotCollapse, match="linear_tree"):
        _ = stored.forest
    np.testing.assert_allclose(stored.predict(F), linear.predict(F))
