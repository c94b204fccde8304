"""TabPFN's interface: the same numbers as the distribution's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from diffgbm import AutoDiffGBM
from diffgbm.integrations.tabpfn import OUTPUT_TYPES, DiffGBMRegressor
from diffgbm.members.member import ask
from diffgbm.members.ways import LEVELS, way_of
from tests.conftest import tiny, toy

EXPECTED_FAILURES = {
    "check_fit1d": "a one-dimensional X is one column, by design",
    "check_sample_weight_equivalence_on_dense_data": "a weight is not a repetition: each copy of a row has other noise",
}


@pytest.fixture(scope="module")
def fitted():
    X, y = toy()
    return DiffGBMRegressor(tiny()).fit(X, y), tiny().fit(X, y).predict_distribution(X[:7]), X[:7]


def test_every_output_type(fitted):
    model, distribution, X = fitted
    np.testing.assert_array_equal(model.predict(X), distribution.mean())
    np.testing.assert_array_equal(model.predict(X, output_type="median"), distribution.median())
    np.testing.assert_array_equal(model.predict(X, output_type="mode"), distribution.mode())
    low, high = model.predict(X, output_type="quantiles", quantiles=[0.05, 0.95])
    np.testing.assert_allclose(np.column_stack([low, high]), distribution.interval(0.9))
    deciles = model.predict(X, output_type="quantiles")
    assert len(deciles) == 9
    main = model.predict(X, output_type="main")
    assert list(main) == ["mean", "median", "mode", "quantiles"]
    np.testing.assert_array_equal(main["quantiles"][4], main["median"])
    full = model.predict(X, output_type="full")
    assert set(full) - set(main) == {"distribution"}
    np.testing.assert_array_equal(full["distribution"].values, distribution.values)
    assert set(OUTPUT_TYPES) == {"mean", "median", "mode", "quantiles", "main", "full"}


def test_what_is_wrong_is_named(fitted):
    model, _, X = fitted
    with pytest.raises(ValueError, match=r"output_type must be one of 'mean'.*got 'logits'"):
        model.predict(X, output_type="logits")
    with pytest.raises(ValueError, match="quantiles must be a list of levels between 0 and 1"):
        model.predict(X, output_type="quantiles", quantiles=[5, 95])
    with pytest.raises(NotFittedError):
        DiffGBMRegressor().predict(X)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        DiffGBMRegressor(tiny()).fit(*toy(d=2))


def test_it_is_a_scikit_learn_regressor():
    X, y = toy(200)
    model = DiffGBMRegressor(tiny())
    assert clone(model).estimator.get_params() == tiny().get_params()
    assert np.isfinite(cross_val_score(model, X, y, cv=2)).all()
    frame = pd.DataFrame(X, columns=list("abc"))
    assert list(model.fit(frame, y).feature_names_in_) == list("abc")
    assert isinstance(DiffGBMRegressor()._base(), AutoDiffGBM)


@parametrize_with_checks(
    [DiffGBMRegressor(tiny(n_repeats=3, n_estimators=8, n_steps=5, min_child_samples=5))],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore::diffgbm._util.errors.DiffGBMWarning")
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_it_can_be_a_member_like_tabpfn_itself(fitted):
    model, distribution, X = fitted
    assert way_of(model) == "output_type"
    np.testing.assert_allclose(ask("output_type", model, X)[1], distribution.quantile(LEVELS))
