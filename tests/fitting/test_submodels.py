"""Submodels: bags times folds, and a jackknife that is right where the truth is known."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from diffgbm import DiffGBM
from diffgbm.fitting.submodels import Submodels, cross_fitted_uncertainty, is_single, submodel_points

SMALL = {"n_estimators": 10, "n_repeats": 4, "n_jobs": 1, "seed": 0}


def table(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 2))
    return X, X[:, 0] + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize(("bags", "folds", "count"), [(5, 5, 5), (2, 4, 4), (2, 3, 6), (7, 5, 7)])
def test_each_bag_meets_folds(bags: int, folds: int, count: int) -> None:
    X, y = table()
    model = DiffGBM.flow(n_bags=bags, residualize_k_folds=folds, **SMALL).fit(X, y)
    found = submodel_points(model.model_, X[:6], model.sampler_with({}))
    assert len(found.points) == count
    assert found.points[0].shape[0] == 6
    # the factor lies between those of the two jackknives
    assert np.all(found.factor <= max(bags, folds) - 1 + 1e-9)
    assert np.all(found.factor >= min(bags, folds) - 1 - 1e-9)


def test_repeated_folds_do_not_raise_the_factor() -> None:
    X, y = table()
    model = DiffGBM.flow(n_bags=3, residualize_k_folds=3, residualize_repeats=2, **SMALL).fit(X, y)
    found = submodel_points(model.model_, X[:6], model.sampler_with({}), k_folds=3)
    assert len(found.points) == 6
    np.testing.assert_allclose(found.factor, 2.0)


def test_mean_of_submodels_is_the_mean_of_the_mixture() -> None:
    X, y = table()
    model = DiffGBM.flow(n_bags=3, residualize_k_folds=3, bag_mix="mixture", **SMALL).fit(X, y)
    found = submodel_points(model.model_, X[:20], model.sampler_with({}))
    mean = np.mean([part.mean(axis=(1, 2)) for part in found.points], axis=0)
    np.testing.assert_allclose(mean, model.predict(X[:20]), atol=0.02)


def test_standard_error_is_that_of_least_squares() -> None:
    """The first stage is a line: the variance of its prediction is known, and grows away from the data."""
    X, y = table(400)
    model = DiffGBM.flow(n_bags=10, residualize=LinearRegression(), residualize_k_folds=10, **SMALL).fit(X, y)
    away = 3.0 * np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    design, new = (np.column_stack([np.ones(len(rows)), rows]) for rows in (X, away))
    exact = 0.25 * np.einsum("ij,jk,ik->i", new, np.linalg.inv(design.T @ design), new)
    found = model.predict_uncertainty(away)
    # estimates by ten parts vary by a third, and so does their mean over four corners that share them
    assert 0.6 < np.mean(found.mean_error**2) / np.mean(exact) < 1.7
    assert found.epistemic.mean() > 3.0 * model.predict_uncertainty(X[:100]).epistemic.mean()
    assert found.epistemic_crps.mean() > 3.0 * model.predict_uncertainty(X[:100]).epistemic_crps.mean()


def test_the_epistemic_part_vanishes_with_rows_and_the_aleatoric_one_does_not() -> None:
    parts = []
    for n in (150, 2400):
        X, y = table(n, seed=1)
        model = DiffGBM.flow(n_bags=5, residualize=LinearRegression(), n_estimators=20, n_repeats=4, n_jobs=1, seed=0)
        found = model.fit(X, y).predict_uncertainty(table(200, seed=2)[0])
        parts.append((found.epistemic.mean(), found.epistemic_crps.mean(), found.aleatoric.mean()))
    (few, few_crps, _), (many, many_crps, noise) = parts
    assert many < 0.3 * few
    assert many_crps < 0.3 * few_crps
    assert noise == pytest.approx(0.25, rel=0.15)


def test_joint_responses_and_atoms() -> None:
    X, y = table()
    joint = DiffGBM.flow(n_bags=2, **SMALL).fit(X, np.column_stack([y, -y]))
    found = joint.predict_uncertainty(X[:4])
    assert found.total.shape == (4, 2)
    np.testing.assert_allclose(found.total, found.aleatoric + found.epistemic)
    zeros = np.where(X[:, 1] > 0.0, 0.0, np.exp(y))
    inflated = DiffGBM.flow(n_bags=2, atoms=[0.0], **SMALL).fit(X, zeros)
    points = submodel_points(inflated.model_, X[:40], inflated.sampler_with({})).points
    assert all(np.mean(part == 0.0) > 0.2 for part in points)
    assert np.isfinite(inflated.predict_uncertainty(X).total).all()


def test_submodels_keep_limits_and_whole_numbers() -> None:
    X, y = table()
    positive = DiffGBM.flow(n_bags=2, support=(0, None), **SMALL).fit(X, np.abs(y))
    counts = DiffGBM.flow(n_bags=2, support=(0, None), discrete=True, **SMALL).fit(X, np.rint(np.abs(3.0 * y)))
    for model in (positive, counts):
        points = np.array(submodel_points(model.model_, X, model.sampler_with({})).points)
        assert points.min() >= 0.0
    np.testing.assert_array_equal(points, np.rint(points))


def test_members_count_by_their_weights() -> None:
    X, y = table()
    model = DiffGBM.flow(n_bags=2, residualize_k_folds=2, **SMALL).fit(X, y)
    found = submodel_points(model.model_, X[:5], model.sampler_with({}))
    once = Submodels((found,), np.ones(1)).uncertainty(True)
    twice = Submodels((found, found), np.array([0.3, 0.7])).uncertainty(True)
    for name, values in once.columns().items():
        np.testing.assert_allclose(twice.columns()[name], values, rtol=1e-6, atol=1e-12, err_msg=name)


def test_cross_fitted_models_are_mixed_equally() -> None:
    X, y = table()
    model = DiffGBM.flow(n_bags=2, residualize_k_folds=2, **SMALL).fit(X, y)
    found = Submodels((submodel_points(model.model_, X[:5], model.sampler_with({})),), np.ones(1))
    moved = found.changed(lambda points: points + 2.0)
    both = cross_fitted_uncertainty([found, moved])
    alone = found.uncertainty(True)
    np.testing.assert_allclose(both.aleatoric, alone.aleatoric)
    np.testing.assert_allclose(both.epistemic, alone.epistemic + 1.0)
    np.testing.assert_allclose(both.mean_error, 1.0)  # a jackknife of two


def test_a_single_first_stage_model_is_known() -> None:
    X, y = table()
    assert is_single(DiffGBM.flow(n_bags=2, residualize="gp", **SMALL).fit(X, y).model_)
    assert not is_single(DiffGBM.flow(n_bags=2, **SMALL).fit(X, y).model_)
    assert not is_single(DiffGBM.flow(n_bags=2, residualize="off", **SMALL).fit(X, y).model_)
