"""Gaussian processes: rows left out in closed form, kernels, rows that the process has not seen."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from diffgbm import DiffGBM
from diffgbm.data.splits import subsample
from diffgbm.data.structure import Structure
from diffgbm.first_stage import Task, gaussian_process
from diffgbm.first_stage.dense import DenseTable
from diffgbm.first_stage.gaussian_process import (
    PRECISION,
    GaussianProcess,
    GaussianProcessMean,
    Hyperparameters,
    correlation,
    hyperparameters,
    left_out_predictions,
)
from tests.first_stage.stages import table, task_of


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), noise=st.sampled_from([1e-3, 0.1, 1.0]))
def test_leave_one_out_is_that_of_refits(kernel, seed, noise):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 3)), rng.normal(size=15)
    found = Hyperparameters(2.0, noise, np.array([0.7, 1.5, 3.0]))
    _, left_out = left_out_predictions(kernel, found, X, y[:, None])
    gram = found.signal * correlation(kernel, X / found.lengths, X / found.lengths)
    for i in range(15):
        rest = np.delete(np.arange(15), i)
        alpha = solve(gram[np.ix_(rest, rest)] + noise * np.eye(14), y[rest], assume_a="pos")
        assert left_out[i, 0] == pytest.approx(gram[i, rest] @ alpha, abs=PRECISION * np.std(y) + 1e-7)


def test_columns_of_training_rows_are_predicted_without_their_fold(monkeypatch):
    """With the hyperparameters and the prior mean of all rows."""
    monkeypatch.setattr(gaussian_process, "ROWS_PER_LENGTH", 0)
    monkeypatch.setattr(gaussian_process, "ROWS_PER_LENGTH_OF_COLUMNS", 0)
    X, y = table(n=60)
    task = task_of(X, y)
    rows = task.dense[1]
    fitted = GaussianProcessMean("rbf", 60, 60).cross_fit(task)
    seen, _ = subsample(60, 60, task.seed, ordered=False)
    params = hyperparameters("rbf", rows[seen], y[seen, 0] - y.mean(), task.seed)
    scaled = rows / params.lengths
    for train, held_out in task.folds[0]:
        gram = correlation("rbf", scaled[train], scaled[train]) + params.noise / params.signal * np.eye(len(train))
        alpha = np.linalg.solve(gram, y[train, 0] - y.mean())
        expected = y.mean() + correlation("rbf", scaled[held_out], scaled[train]) @ alpha
        np.testing.assert_allclose(fitted.columns[held_out, 0], expected, rtol=0, atol=PRECISION * np.std(y))


def test_columns_of_few_rows_come_from_processes_that_have_not_seen_them(monkeypatch):
    monkeypatch.setattr(gaussian_process, "ROWS_PER_LENGTH", 0)
    X, y = table(n=60)
    task = task_of(X, y)
    stage = GaussianProcessMean("rbf", 60, 60)
    assert stage.n_fits(task) == 5
    fitted = stage.cross_fit(task)
    fold = task.folds[0][1][1]
    changed = y.copy()
    changed[fold] *= -1.0
    other = stage.cross_fit(replace(task, y=changed))
    np.testing.assert_array_equal(other.columns[fold], fitted.columns[fold])
    assert np.abs(other.out_of_fold[fold] - fitted.out_of_fold[fold]).max() > 0.01


@pytest.mark.parametrize("feature", ["gp", "kernel_cdf"])
def test_trees_do_not_find_the_response_in_smooth_predictions_of_it(feature):
    """Left out alone, a row would differ from the smooth function by what its own response does to that function."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(600, 1)), rng.standard_normal(600)
    params = {"num_leaves": 31, "learning_rate": 0.2, "min_child_samples": 5, "n_estimators": 200, "n_repeats": 10}
    model = DiffGBM(residualize="off", first_stage_features=feature, n_bags=3, n_jobs=1, seed=0, **params).fit(X, y)
    promised = float(np.mean(model.oob_distribution_.crps(y)))
    climatology = 0.5 * float(np.abs(y[:, None] - y).mean())
    assert promised > 0.99 * climatology


def test_kernels_by_hand():
    a, b = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(correlation("rbf", a, b), [[np.exp(-12.5), 1.0]])
    r = np.sqrt(5.0) * 5.0
    np.testing.assert_allclose(correlation("matern", a, b), [[(1.0 + r + r**2 / 3.0) * np.exp(-r), 1.0]])


def test_rows_that_the_process_has_not_seen_are_predicted_by_it(monkeypatch):
    monkeypatch.setattr(gaussian_process, "ROWS_PER_LENGTH", 0)
    X, y = table(n=100)
    stage = GaussianProcessMean("rbf", 40, 60)
    fitted = stage.cross_fit(task_of(X, y))
    unseen = np.random.default_rng(11).permutation(100)[60:]
    np.testing.assert_allclose(fitted.out_of_fold[unseen], fitted.predictor(X[unseen]), rtol=1e-9)
    assert len(fitted.predictor.points) == 60
    changed = y.copy()
    changed[unseen] += 9.0
    np.testing.assert_allclose(stage.cross_fit(task_of(X, changed)).out_of_fold, fitted.out_of_fold, rtol=1e-9)


def test_many_length_scales_of_few_rows_explain_no_noise(monkeypatch):
    """Length scales that are estimated from all rows tell a row of its own response."""
    rng = np.random.default_rng(0)
    task = Task(rng.standard_normal((80, 10)), rng.standard_normal((80, 1)), [], None, 5, 3, 0, 1)

    def explained():
        return 1.0 - np.mean((task.y - GaussianProcessMean("rbf").cross_fit(task).out_of_fold) ** 2) / task.y.var()

    assert GaussianProcessMean("rbf").n_fits(task) == 6
    assert explained() < 0.0
    monkeypatch.setattr(gaussian_process, "ROWS_PER_LENGTH", 0)
    assert explained() > 0.03


def test_a_smooth_function_is_found_by_a_process():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(80, 3))
    X[:, 2] = 0.0
    y = np.sin(2.0 * X[:, :1]) * np.cos(X[:, 1:2])
    fitted = GaussianProcessMean("rbf", 60).cross_fit(Task(X, y, [], None, 4, 1, 0, 1))
    assert np.sqrt(np.mean((fitted.out_of_fold - y) ** 2)) < 0.05 * y.std()


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
def test_hyperparameters_are_scikit_learns_without_its_warnings(kernel):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 3))
    y = np.sin(5.0 * X[:, 0])  # two columns that do not matter and no noise: bounds are reached
    shape = (
        Matern(np.full(3, np.sqrt(3.0)), (1e-2, 1e3), nu=2.5)
        if kernel == "matern"
        else RBF(np.full(3, np.sqrt(3.0)), (1e-2, 1e3))
    )
    prior = ConstantKernel(1.0, (1e-2, 1e3)) * shape + WhiteKernel(0.1, (1e-8, 2.0))
    with pytest.warns(ConvergenceWarning):
        theta = np.exp(GaussianProcessRegressor(prior, random_state=0).fit(X, y).kernel_.theta)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = hyperparameters(kernel, X, y, 0)
    np.testing.assert_array_equal([found.signal, *found.lengths, found.noise], theta)


def test_leaving_records_out_is_that_of_refits():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    records = np.array([0, 1, 1, 2, 2, 2, 3, 4, 4, 5, 0, 3])
    found = Hyperparameters(1.3, 0.2, np.array([0.8, 1.5]))
    _, left_out = left_out_predictions("matern", found, X, y[:, None], records)
    for record in range(6):
        out = records == record
        K = correlation("matern", X[~out] / found.lengths, X[~out] / found.lengths)
        K += found.noise / found.signal * np.eye(len(K))
        expected = correlation("matern", X[out] / found.lengths, X[~out] / found.lengths) @ np.linalg.solve(K, y[~out])
        np.testing.assert_allclose(left_out[out, 0], expected, rtol=0, atol=PRECISION * np.std(y))


def test_groups_that_are_too_large_to_be_drawn_whole_are_left_out_by_folds():
    X, y = table()
    labels = np.arange(90) % 4
    task = replace(task_of(X, y, 1), structure=Structure(labels))
    stage = GaussianProcessMean("matern", 40, 60)
    fitted = stage.cross_fit(task)
    assert np.isfinite(fitted.out_of_fold).all()
    assert stage.n_fits(task) == 5
    # no row of a group has a say in its predictions
    other = stage.cross_fit(replace(task, y=np.where((labels == 1)[:, None], -y, y)))
    np.testing.assert_array_equal(other.out_of_fold[labels == 1], fitted.out_of_fold[labels == 1])
    assert np.abs(other.out_of_fold - fitted.out_of_fold).max() > 0.1


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
@pytest.mark.parametrize("m", [1, 7, 512, 1030])
def test_posterior_means_are_sums_of_correlations(kernel, m):
    """Also far away, where exponentials are as good as zero; and each row by itself."""
    rng = np.random.default_rng(m)
    points, rows = rng.normal(size=(m, 3)), rng.normal(size=(50, 3))
    rows[:3] *= 1000.0
    dense = DenseTable.learn(np.vstack([rows, points]), ())
    fitted = GaussianProcess(dense, kernel, points, np.array([[0.5, 1.0, 2.0]]), rng.normal(size=(1, m)), np.ones(1))
    weights = correlation(kernel, dense(rows) / fitted.lengths[0], points / fitted.lengths[0])
    found = fitted(rows)
    np.testing.assert_allclose(found[:, 0], 1.0 + weights @ fitted.alpha[0], rtol=0, atol=1e-12 * m)
    np.testing.assert_array_equal(np.vstack([fitted(rows[i : i + 1]) for i in range(50)]), found)
    again = pickle.loads(pickle.dumps(fitted))
    assert "scaled_points" not in vars(again)
    np.testing.assert_array_equal(again(rows), found)


def smooth_process(kernel, m=400):
    rng = np.random.default_rng(1)
    points = rng.uniform(-1.0, 1.0, size=(m, 2))
    lengths = np.array([[1.0, 1.5], [0.8, 2.0]])
    alpha = rng.normal(size=(2, m)) / m
    dense = DenseTable.learn(points, [])
    return GaussianProcess(dense, kernel, dense(points), lengths, alpha, np.array([0.5, -1.0])), points


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
def test_a_part_of_the_points_has_nearly_the_same_means(kernel):
    process, points = smooth_process(kernel)
    part = process.part(100)
    assert part.points.shape == (100, 2)
    assert part.alpha.shape == (2, 100)
    new = np.random.default_rng(2).uniform(-1.0, 1.0, size=(200, 2))
    for rows in (points, new):
        whole = process(rows)
        assert np.sqrt(np.mean((part(rows) - whole) ** 2)) < 0.03 * whole.std()
    # coefficients of the same points alone are something else
    cut = replace(process, points=part.points, alpha=process.alpha[:, ((np.arange(100) + 0.5) * 4).astype(int)])
    assert np.abs(cut(new) - process(new)).max() > 5.0 * np.abs(part(new) - process(new)).max()


def test_a_part_of_all_points_is_the_process_and_equal_points_do_no_harm():
    process, _ = smooth_process("rbf", m=60)
    assert process.part(60) is process
    assert process.part(100) is process
    same = replace(process, points=np.repeat(process.points[:10], 6, axis=0))
    np.testing.assert_allclose(same.part(30)(same.points), same(same.points), rtol=0, atol=1e-3)


def test_a_row_far_from_all_others_does_not_tell_its_response():
    """Its prediction is the mean to the last digit: trees tell apart numbers that differ by a rounding error."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 4)), rng.standard_normal(200)
    indicators = (y[:, None] <= [-0.5, 0.5]).astype(float)
    outputs = indicators - indicators.mean(axis=0)
    far = Hyperparameters(1.0, 0.01, np.full(4, 0.01))
    alpha, alone, folds = left_out_predictions("rbf", far, X, outputs, None, np.arange(200) % 5)
    raw = outputs - alpha * 1.01
    assert len(np.unique(raw)) > 1  # the error, which differs between indicators of zero and of one
    assert np.all(alone == 0.0)
    assert np.all(folds == 0.0)
