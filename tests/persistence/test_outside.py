"""Members from outside in model files: the same predictions again, or a refusal that names the member."""

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge, LinearRegression

import diffgbm
from diffgbm.persistence.archive import ModelFileError
from diffgbm.persistence.outside import ADVICE
from tests.auto.tiny_auto import LEAST, auto, small_trees  # noqa: F401
from tests.members.stand_ins import LikeNGBoost

skops = pytest.importorskip("skops")


def line(n=150):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 3))
    return X, 100.0 + 10.0 * X[:, 0] - 7.0 * X[:, 1] + 0.3 * rng.standard_normal(n)


def test_a_loaded_pool_predicts_the_same(tmp_path):
    X, y = line()
    model = auto(LEAST, members=[BayesianRidge(), ("plain", LinearRegression())]).fit(X, y)
    assert {member.way for member in model.pool_.outside} == {"return_std", "regressor"}
    model.save(tmp_path / "pool.diffgbm")
    loaded = diffgbm.load(tmp_path / "pool.diffgbm")
    np.testing.assert_array_equal(loaded.predict_distribution(X).values, model.predict_distribution(X).values)
    assert loaded.weights_ == model.weights_
    assert [type(loaded.members[0]), loaded.members[1][0]] == [BayesianRidge, "plain"]


def test_types_of_members_are_trusted_by_name(tmp_path):
    X, y = line()
    model = auto(LEAST, members=[("line", LikeNGBoost())]).fit(X, y)
    model.save(tmp_path / "pool.diffgbm")
    with pytest.raises(ModelFileError, match="LikeNGBoost"):
        diffgbm.load(tmp_path / "pool.diffgbm")
    loaded = diffgbm.load(tmp_path / "pool.diffgbm", trusted=[LikeNGBoost])
    np.testing.assert_array_equal(loaded.predict(X[:5]), model.predict(X[:5]))


class Unstorable(LikeNGBoost):
    def fit(self, X, y):
        self.secret_ = (number for number in range(3))
        return super().fit(X, y)


def test_a_member_that_no_file_can_hold_is_named(tmp_path):
    X, y = line()
    model = auto(LEAST, members=[("the unstorable", Unstorable())]).fit(X, y)
    with pytest.raises(TypeError, match=f"cannot hold the member 'the unstorable'.*{ADVICE}"):
        model.save(tmp_path / "pool.diffgbm")
    assert not (tmp_path / "pool.diffgbm").exists()


def test_an_argument_that_no_file_can_hold_is_named(tmp_path):
    X, y = line(60)
    model = auto(LEAST, members=None).fit(X, y)
    model.members = [("odd", LikeNGBoost(ridge=lambda x: x))]
    with pytest.raises(TypeError, match="cannot hold the member 'odd'"):
        model.save(tmp_path / "pool.diffgbm")
