"""Every way to ask gives the same distribution of the same model."""

import numpy as np
import pytest
from scipy.stats import norm

from diffgbm import DiffGBM
from diffgbm.members.member import ask
from diffgbm.members.quantile_points import points_of
from diffgbm.members.ways import SAMPLES, WAYS, frame_of, response_frame, trained_levels, way_of
from tests.members.stand_ins import ALL, CATBOOST, LEVELS, LikeTabICL, Line


def data(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    return X, 3.0 * X[:, 0] + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize("name", WAYS)
def test_estimators_are_recognised_by_their_interface(name):
    assert way_of(ALL[name]) == name


@pytest.mark.parametrize("name", [name for name in WAYS if name != "regressor"])
@pytest.mark.parametrize("n", [1, 2, 7, 99, SAMPLES])
def test_all_ways_give_the_same_distribution(name, n):
    """Also if there are as many rows as quantiles, where the shape of an answer does not say which axis is which."""
    X, y = data()
    model = ALL[name]
    model = model.fit(frame_of(X), response_frame(y)) if WAYS[name].frames else model.fit(X, y)
    levels, quantiles = ask(name, model, X[:n])
    assert quantiles.shape == (n, len(levels))
    assert np.all(np.diff(levels) > 0.0)
    points = points_of(levels, quantiles, 20)
    expected = norm.ppf((np.arange(20) + 0.5) / 20, model.mean(X[:n])[:, None], model.sigma_)
    np.testing.assert_allclose(points, expected, atol=0.4 if name == "sample" else 0.08)


def test_the_two_pretrained_models_differ_in_the_name_of_the_levels():
    X, y = data()
    model = LikeTabICL().fit(X, y)
    assert way_of(model) == "output_type"
    np.testing.assert_allclose(ask("output_type", model, X[:4])[1][:, 49], model.mean(X[:4]))


def test_a_regressor_gives_one_level():
    X, y = data()
    levels, values = ask("regressor", Line().fit(X, y), X[:4])
    assert levels.tolist() == [0.5]
    assert values.shape == (4, 1)


def test_levels_of_catboost_and_xgboost():
    class LikeXGBoost(Line):
        def __init__(self, quantile_alpha=None):
            self.quantile_alpha = quantile_alpha

    assert sorted(trained_levels(CATBOOST["MultiQuantile"])) == list(LEVELS)
    assert trained_levels(LikeXGBoost(np.array([0.1, 0.9]))).tolist() == [0.1, 0.9]
    for one_level in (LikeXGBoost(0.5), LikeXGBoost(), Line(), CATBOOST["RMSEWithUncertainty"]):
        assert trained_levels(one_level) is None


def test_estimators_of_this_library_are_members_too():
    assert way_of(DiffGBM()) == "predict_quantiles"


def test_samples_do_not_change_from_call_to_call():
    X, y = data()
    model = ALL["sample"].fit(X, y)
    np.testing.assert_array_equal(ask("sample", model, X[:3])[1], ask("sample", model, X[:3])[1])


def test_nothing_to_ask():
    with pytest.raises(TypeError, match="no method predict"):
        way_of(object())
