"""Which engine is made of boosters, and what is refused."""

import lightgbm as lgb
import numpy as np
import pytest

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.engine import CollapseEngine, LightGBMEngine, TreeSum, make_engine

from . import models


def linear_trees():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(300, 2 + models.P))
    params = {"verbose": -1, "num_threads": 1, "linear_tree": True}
    return [[lgb.train(params, lgb.Dataset(F, F[:, 0] * F[:, 1]), num_boost_round=3)]]


def test_auto_collapses():
    groups = [models.group(1, 1, 0)]
    assert isinstance(make_engine(groups), CollapseEngine)
    assert isinstance(make_engine(groups, "lightgbm"), LightGBMEngine)


def test_linear_trees_fall_back_with_a_reason():
    with pytest.warns(DiffGBMWarning, match="linear_tree"):
        engine = make_engine(linear_trees())
    assert isinstance(engine, LightGBMEngine)
    with pytest.raises(ValueError, match="linear_tree"):
        make_engine(linear_trees(), "collapse")
    with pytest.raises(ValueError, match="linear_tree"):
        TreeSum(linear_trees()[0])


def test_transformed_outputs_fall_back():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(300, 2 + models.P))
    params = {"verbose": -1, "num_threads": 1, "objective": "poisson"}
    groups = [[lgb.train(params, lgb.Dataset(F, np.exp(F[:, 0])), num_boost_round=3)]]
    with pytest.raises(ValueError, match="poisson"):
        make_engine(groups, "collapse")


def test_arguments_are_checked():
    one = models.group(1, 1, 0)
    with pytest.raises(ValueError, match="groups"):
        make_engine([])
    with pytest.raises(ValueError, match="groups"):
        make_engine([one, [*one, *one]])
    with pytest.raises(ValueError, match="engine"):
        make_engine([one], "fast")
    with pytest.raises(ValueError, match="mix"):
        make_engine([one], "auto", "sum")
