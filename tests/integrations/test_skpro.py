"""The skpro adapter: skpro's own checks, and the same numbers as the estimator's."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("skpro")

from skpro.utils import check_estimator

from diffgbm import ConformalDiffGBM
from diffgbm.integrations.skpro import DiffGBMRegressor
from tests.conftest import tiny, toy


def frames(d=None):
    X, y = toy(d=d)
    index = pd.RangeIndex(1000, 1000 + len(X))
    columns = ["price"] if d is None else ["price", "rent"]
    return pd.DataFrame(X, index=index, columns=list("abc")), pd.DataFrame(y, index=index, columns=columns)


def test_passes_every_check_of_skpro():
    result = check_estimator(DiffGBMRegressor, raise_exceptions=False, verbose=False)
    assert len(result) > 40
    assert {name: outcome for name, outcome in result.items() if outcome != "PASSED"} == {}


@pytest.mark.parametrize("recipe", ["flow", "published"])
def test_numbers_are_the_distributions_own(recipe):
    X, y = frames()
    model = DiffGBMRegressor(tiny(recipe)).fit(X, y)
    distribution = tiny(recipe).fit(X, y["price"]).predict_distribution(X)
    assert list(model.predict(X).index) == list(X.index)
    np.testing.assert_allclose(model.predict(X)["price"], distribution.mean())
    np.testing.assert_allclose(model.predict_var(X)["price"], distribution.var())
    np.testing.assert_allclose(model.predict_quantiles(X, [0.1, 0.7]), distribution.quantile([0.1, 0.7]))
    interval = model.predict_interval(X, [0.5, 0.9])
    np.testing.assert_allclose(interval["price", 0.9], distribution.interval(0.9))
    np.testing.assert_allclose(interval["price", 0.5], distribution.interval(0.5))


def test_distribution_holds_the_points_of_the_distribution():
    X, y = frames()
    model = DiffGBMRegressor(tiny("flow")).fit(X, y)
    distribution = model.estimator_.predict_distribution(X)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.mean()["price"], distribution.values.mean(axis=1))
    # half the points are at or below a point in the middle
    at = pd.DataFrame(distribution.values[:, [127]], index=X.index, columns=["price"])
    np.testing.assert_allclose(proba.cdf(at)["price"], 0.5, atol=1e-9)


def test_columns_of_two_responses_are_in_skpros_order():
    X, y = frames(d=2)
    model = DiffGBMRegressor(tiny("flow")).fit(X, y)
    distribution = model.estimator_.predict_distribution(X)
    quantiles = model.predict_quantiles(X, [0.2, 0.8])
    intervals = model.predict_interval(X, [0.5, 0.9])
    for j, name in enumerate(["price", "rent"]):
        np.testing.assert_allclose(quantiles[name, 0.8], distribution.quantile(0.8)[:, j])
        np.testing.assert_allclose(intervals[name, 0.9], distribution.interval(0.9)[:, j])
        np.testing.assert_allclose(model.predict_proba(X[:3]).mean()[name], distribution.points[:3, :, j].mean(axis=1))


def test_conformal_intervals_stay_conformal():
    X, y = frames()
    wrapped = ConformalDiffGBM(tiny("flow"), seed=0)
    model = DiffGBMRegressor(wrapped).fit(X, y)
    ends = model.estimator_.predict_interval(X, 0.8)
    np.testing.assert_allclose(model.predict_interval(X, 0.8)["price", 0.8], ends)
    assert not np.allclose(model.predict_quantiles(X, [0.1, 0.9]), ends)
    assert wrapped.get_params()["estimator"].get_params() == tiny("flow").get_params()
