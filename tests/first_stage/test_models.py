"""First-stage models: what they say of rows they have not seen, and of new ones."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import solve
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from diffgbm.first_stage import Task
from diffgbm.first_stage.conditional_cdf import ConditionalCDF, cdf_outputs
from diffgbm.first_stage.cross_fitting import CrossFitted, combine
from diffgbm.first_stage.dense import MOST_LEVELS, DenseTable
from diffgbm.first_stage.gaussian_process import (
    GaussianProcessMean,
    Hyperparameters,
    correlation,
    hyperparameters,
    leave_one_out,
)
from diffgbm.first_stage.leaf_forest import ExtraTreesMean, from_trees
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.regressors import AnyRegressor, seeded
from diffgbm.first_stage.stack import LEAST, Stack, combined, sparse_weights

SMALL = {"n_estimators": 8, "num_leaves": 6, "min_child_samples": 5, "learning_rate": 0.3}
FOLDED = {
    "lightgbm": LightGBMMean(SMALL),
    "stopped": LightGBMMean({**SMALL, "early_stopping_rounds": 3}),
    "linear_trees": LightGBMMean({**SMALL, "linear_tree": True}),
    "extra_trees": ExtraTreesMean(4, 2),
    "cdf": ConditionalCDF(4, 1, 3),
    "ridge": AnyRegressor(Ridge()),
    "pipeline": AnyRegressor(make_pipeline(StandardScaler(), KNeighborsRegressor(3))),
}
"""Models that are cross-fitted fold by fold."""
ALL = {
    **FOLDED,
    "gp_matern": GaussianProcessMean("matern", 40),
    "gp_rbf": GaussianProcessMean("rbf", 40, 70),
    "stack": Stack((LightGBMMean(SMALL), AnyRegressor(Ridge()))),
}


def table(n=90, d=1, seed=0):
    """Numbers, one column with gaps, one category."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n)])
    y = np.sin(2.0 * X[:, :1]) + X[:, 2:] - 1.0 + 0.3 * rng.normal(size=(n, d))
    X[rng.uniform(size=n) < 0.1, 1] = np.nan
    return X, y


def task_of(X, y, repeats=2, weights=None, **options):
    return Task(X, y, [2], weights, 4, repeats, 11, 1, **options)


@pytest.mark.parametrize("name", FOLDED)
def test_what_is_said_of_a_row_does_not_depend_on_its_response(name):
    X, y = table()
    i = int(np.argmax(y[:, 0]))  # quantiles of the response stay where they are
    changed = y.copy()
    changed[i] += 30.0
    for repeats in (1, 3):
        before = FOLDED[name].cross_fit(task_of(X, y, repeats)).out_of_fold
        after = FOLDED[name].cross_fit(task_of(X, changed, repeats)).out_of_fold
        np.testing.assert_array_equal(after[i], before[i])
        assert np.abs(after - before).max() > 0.1


def test_every_repetition_leaves_each_row_out_once():
    X, y = table()
    task = task_of(X, y, 3)
    for folds in task.folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in folds])), np.arange(90))
        assert all(len(np.intersect1d(train, out)) == 0 for train, out in folds)
    assert not np.array_equal(task.folds[0][0][1], task.folds[1][0][1])
    assert (task.n_models, len(task.folds)) == (12, 3)


@pytest.mark.parametrize("name", ALL)
def test_shapes_batches_and_copies(name):
    X, y = table(d=2)
    new = table(17, seed=1)[0]
    ticks = []
    task = task_of(X, y, tick=lambda: ticks.append(1))
    fitted = ALL[name].cross_fit(task)
    k = fitted.out_of_fold.shape[1]
    assert fitted.out_of_fold.shape == (90, 8 if name == "cdf" else 2)
    assert fitted.gained.shape == (k,)
    assert len(ticks) == ALL[name].n_fits(task)
    whole = fitted.predictor(new)
    assert whole.shape == (17, k)
    assert np.isfinite(whole).all()
    # scikit-learn's matrix products may add in another order for fewer rows
    np.testing.assert_allclose(fitted.predictor(new[5:7].copy()), whole[5:7], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted.predictor))(new), whole)
    again = ALL[name].cross_fit(task_of(X, y))
    np.testing.assert_array_equal(again.out_of_fold, fitted.out_of_fold)


@pytest.mark.parametrize("name", [n for n in ALL if n != "cdf"])
def test_every_response_is_predicted(name):
    X, y = table(d=1)
    both = np.hstack([y, -3.0 * y])
    fitted = ALL[name].cross_fit(task_of(X, both))
    for j in range(2):
        assert np.corrcoef(fitted.out_of_fold[:, j], both[:, j])[0, 1] > 0.5
        assert np.corrcoef(fitted.predictor(X)[:, j], both[:, j])[0, 1] > 0.5


@pytest.mark.parametrize("name", ["lightgbm", "extra_trees", "cdf", "ridge"])
def test_weights_are_passed_on(name):
    X, y = table()
    weights = np.where(y[:, 0] > 0.0, 1.0, 1e-3)
    # a leaf of one row says the same whatever its weight
    stage = ConditionalCDF(4, 20, 3) if name == "cdf" else FOLDED[name]
    plain = stage.cross_fit(task_of(X, y)).out_of_fold[:, 0]
    # heavy rows have large responses: what is said rises
    assert stage.cross_fit(task_of(X, y, weights=weights)).out_of_fold[:, 0].mean() > plain.mean() + 0.1


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), noise=st.sampled_from([1e-3, 0.1, 1.0]))
def test_leave_one_out_is_that_of_refits(kernel, seed, noise):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 3)), rng.normal(size=15)
    found = Hyperparameters(2.0, noise, np.array([0.7, 1.5, 3.0]))
    _, left_out = leave_one_out(kernel, found, X, y)
    gram = found.signal * correlation(kernel, X / found.lengths, X / found.lengths)
    for i in range(15):
        rest = np.delete(np.arange(15), i)
        alpha = solve(gram[np.ix_(rest, rest)] + noise * np.eye(14), y[rest], assume_a="pos")
        assert left_out[i] == pytest.approx(gram[i, rest] @ alpha, abs=1e-7)


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


def test_kernels_by_hand():
    a, b = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(correlation("rbf", a, b), [[np.exp(-12.5), 1.0]])
    r = np.sqrt(5.0) * 5.0
    np.testing.assert_allclose(correlation("matern", a, b), [[(1.0 + r + r**2 / 3.0) * np.exp(-r), 1.0]])


def test_rows_beyond_the_processs_are_predicted_by_it():
    X, y = table(n=100)
    stage = GaussianProcessMean("rbf", 40, 60)
    fitted = stage.cross_fit(task_of(X, y))
    unseen = np.random.default_rng(11).permutation(100)[60:]
    np.testing.assert_allclose(fitted.out_of_fold[unseen], fitted.predictor(X[unseen]), rtol=1e-9)
    assert len(fitted.predictor.points) == 60
    changed = y.copy()
    changed[unseen] += 9.0
    np.testing.assert_allclose(stage.cross_fit(task_of(X, changed)).out_of_fold, fitted.out_of_fold, rtol=1e-9)


def test_a_smooth_function_is_found_by_a_process():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(80, 3))
    X[:, 2] = 0.0
    y = np.sin(2.0 * X[:, :1]) * np.cos(X[:, 1:2])
    fitted = GaussianProcessMean("rbf", 60).cross_fit(Task(X, y, [], None, 4, 1, 0, 1))
    assert np.sqrt(np.mean((fitted.out_of_fold - y) ** 2)) < 0.05 * y.std()


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_leaf_forest_is_scikit_learns(outputs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=(80, outputs))
    model = ExtraTreesRegressor(7, min_samples_leaf=2, random_state=0).fit(X, y[:, 0] if outputs == 1 else y)
    trees = [tree.tree_ for tree in model.estimators_]
    forest = from_trees(DenseTable.learn(X, []), trees)
    at_thresholds = rng.normal(size=(60, 4))
    for i in range(60):  # rows that sit exactly where a split is
        tree = trees[i % 7]
        inner = np.flatnonzero(tree.feature >= 0)
        node = inner[i % len(inner)]
        at_thresholds[i, tree.feature[node]] = tree.threshold[node]
    for rows in (X, rng.normal(size=(50, 4)), at_thresholds):
        singles = rows.astype(np.float32)
        leaves = [tree.value[tree.apply(singles)][:, :, 0].astype(np.float32) for tree in trees]
        np.testing.assert_allclose(
            forest.prepared(rows), np.mean(leaves, axis=0, dtype=np.float64), rtol=1e-12, atol=1e-15
        )
        expected = model.predict(rows).reshape(len(rows), outputs)
        np.testing.assert_allclose(forest.prepared(rows), expected, rtol=1e-5, atol=1e-6)


def test_distribution_functions_are_between_zero_and_one_and_rise():
    X, y = table(n=200, d=2)
    fitted = ConditionalCDF(5, 1, 5).cross_fit(task_of(X, y))
    for said in (fitted.out_of_fold, fitted.predictor(table(60, seed=3)[0])):
        for first in (1, 7):
            cdf = said[:, first : first + 5]
            assert cdf.min() >= 0.0
            assert cdf.max() <= 1.0 + 1e-6
            assert np.diff(cdf, axis=1).min() > -1e-6
    # out of fold they are right on average: the share of rows below each quantile
    np.testing.assert_allclose(fitted.out_of_fold[:, 1:6].mean(axis=0), np.arange(1, 6) / 6, atol=0.06)


def test_outputs_of_the_distribution_function():
    y = np.arange(1.0, 17.0)
    outputs = cdf_outputs(y, 3)
    np.testing.assert_array_equal(outputs[:, 0], y)
    np.testing.assert_array_equal(outputs[:, 1:].sum(axis=0), [4, 8, 12])
    few = cdf_outputs(np.array([2.0, 5.0, 5.0, 9.0]), 7)  # between all values of a discrete response
    np.testing.assert_array_equal(few, [[2, 1, 1], [5, 0, 1], [5, 0, 1], [9, 0, 0]])
    assert cdf_outputs(np.full(5, 3.0), 7).shape == (5, 1)


def crossed(columns, gained=None):
    """Members that say what a table's columns hold."""
    gained = np.zeros(columns.shape[1]) if gained is None else gained
    return [
        CrossFitted(lambda X, c=c: c[:, None], c[:, None], np.array([g]))
        for c, g in zip(columns.T, gained, strict=True)
    ]


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_stack_is_no_worse_than_its_best_member(k, seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=60)
    columns = y[:, None] * rng.uniform(0.2, 1.2, k) + rng.normal(size=(60, k)) * rng.uniform(0.1, 2.0, k)
    stack = combined(crossed(columns), y[:, None])
    weights = stack.predictor.weights
    assert (weights >= 0.0).all()
    error = np.mean((y - stack.out_of_fold[:, 0]) ** 2)
    alone = np.mean((y[:, None] - columns) ** 2, axis=0).min()
    assert error <= 1.01 * alone
    assume(len(weights) == k and (weights > LEAST * weights.sum()).all())  # nobody was left out
    assert error <= alone * (1.0 + 1e-9)
    np.testing.assert_allclose(stack.predictor(y[:, None]), stack.out_of_fold)


def test_a_stack_finds_the_weights():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(200, 3))
    y = columns @ [0.7, 0.0, 0.3]
    np.testing.assert_allclose(sparse_weights(columns, y), [0.7, 0.0, 0.3], atol=1e-12)
    stack = combined(crossed(columns, [1.0, 5.0, 2.0]), y[:, None])
    assert len(stack.predictor.members) == 2
    np.testing.assert_allclose(stack.gained, 0.7**2 * 1.0 + 0.3**2 * 2.0)


def test_a_stack_of_nothing_useful_says_nothing():
    y = np.random.default_rng(0).normal(size=(50, 1))
    np.testing.assert_array_equal(combined(crossed(-y), y).out_of_fold, 0.0 * y)


def test_heavy_rows_decide_the_weights_of_a_stack():
    rng = np.random.default_rng(0)
    y, noise = rng.normal(size=100), 3.0 * rng.normal(size=100)
    first = np.arange(100) < 50
    columns = np.column_stack([np.where(first, y, noise), np.where(first, noise, y)])
    weights = combined(crossed(columns), y[:, None], np.where(first, 1.0, 1e-6)).predictor.weights[:, 0]
    np.testing.assert_allclose(weights, [1.0], atol=1e-3)


def test_dense_table():
    nan, inf = np.nan, np.inf
    X = np.array(
        [[1.0, nan, 5.0, 0.0, nan], [2.0, 4.0, 5.0, 1.0, nan], [9.0, inf, 5.0, 1.0, nan], [4.0, 8.0, 5.0, nan, nan]]
    )
    dense = DenseTable.learn(X, [3])
    rows = dense(X)
    assert rows.shape == (4, dense.width) == (4, 4 + 2 + 2)
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(rows[:, :2].std(axis=0), 1.0)
    np.testing.assert_array_equal(dense.fill, [3.0, 6.0, 5.0, 0.0])
    np.testing.assert_array_equal(rows[:, 2:4], 0.0)  # a constant, and a column of which nothing is known
    np.testing.assert_array_equal(rows[:, 4:6], [[1, 1], [0, 1], [1, 1], [0, 1]])  # flags of gaps
    np.testing.assert_array_equal(rows[:, 6:], [[1, 0], [0, 1], [0, 1], [0, 0]])
    # new rows: a gap where there was none, a code that was never seen
    new = dense(np.array([[nan, 4.0, 5.0, 7.0, 2.0]]))
    assert new[0, 0] == pytest.approx((3.0 - 4.0) / X[:, 0].std())
    np.testing.assert_array_equal(new[0, 4:], [0, 0, 0, 0])


def test_only_frequent_categories_get_a_column():
    codes = np.concatenate([np.repeat(np.arange(40.0), 2), np.arange(20.0, 40.0)])
    dense = DenseTable.learn(codes[:, None], [0])
    assert dense.width == MOST_LEVELS
    kept = dense.levels[0][1]
    assert set(np.arange(20.0, 40.0)) <= set(kept)
    np.testing.assert_array_equal(dense(codes[:, None]).sum(axis=1), np.isin(codes, kept))


def test_all_columns_may_be_categories():
    dense = DenseTable.learn(np.array([[0.0], [1.0], [1.0]]), [0])
    np.testing.assert_array_equal(dense(np.array([[1.0], [np.nan]])), [[0, 1], [0, 0]])


def test_average_and_gain_by_hand():
    X, y = table(n=8)
    clean = np.stack([np.full((8, 2), value) for value in (1.0, 2.0, 6.0)])
    clean[:, :, 1] = 0.5
    average, gained = combine(Task(X, y, [2], None, 4, 3, 0, 1), clean)
    np.testing.assert_array_equal(average, np.tile([3.0, 0.5], (8, 1)))
    # variance 7 of one model; the average of 3 keeps a third, that of all 12 a twelfth
    np.testing.assert_allclose(gained, [7.0 * (1.0 / 3.0 - 1.0 / 12.0), 0.0])
    _, nothing = combine(Task(X, y, [2], None, 4, 1, 0, 1), clean[:1])
    np.testing.assert_array_equal(nothing, [0.0, 0.0])


def test_gain_is_what_averaging_gains():
    rng = np.random.default_rng(0)
    n, repeats, k = 4000, 3, 4
    X, y = rng.normal(size=(n, 1)), rng.normal(size=(n, 1))
    models = rng.normal(size=(repeats, k, n, 1))  # the truth is 0, models differ with variance 1
    task = Task(X, y, [], None, k, repeats, 0, 1)
    average, gained = combine(task, models[:, 0])
    measured = np.mean(average**2) - np.mean(models.mean(axis=(0, 1)) ** 2)
    # an average of 4,000 squares of variance 2/9, and what is estimated from as many pairs
    assert gained[0] == pytest.approx(measured, abs=4.0 * np.sqrt(2.0 / 9.0 / n) + 0.01)
    assert gained[0] == pytest.approx(1.0 / 3.0 - 1.0 / 12.0, abs=4.0 * 0.25 / np.sqrt(n))


def test_open_random_states_are_closed_in_pipelines_too():
    model = make_pipeline(StandardScaler(), ExtraTreesRegressor(3))
    assert seeded(model, 5).get_params()["extratreesregressor__random_state"] == 5
    assert seeded(ExtraTreesRegressor(3, random_state=8), 5).random_state == 8
    assert model.get_params()["extratreesregressor__random_state"] is None


def test_what_cannot_predict_is_no_first_stage():
    with pytest.raises(TypeError, match="a guide must be a regressor with fit and predict; got 3"):
        AnyRegressor(3)


@pytest.mark.parametrize(
    "regressor", [RidgeCV(), MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=20, random_state=0)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_a_row_is_told_does_not_depend_on_its_company(regressor):
    """To the last bit: matrix products of other shapes add in another order."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(200, 8)), rng.normal(size=(1600, 8))
    y = (X @ rng.normal(size=8) + rng.normal(size=200))[:, None]
    predict = AnyRegressor(regressor).cross_fit(Task(X, y, (), None, 3, 1, 0, 1)).predictor
    whole = predict(new)
    assert whole.shape == (1600, 1)
    for size in (1, 7, 24, 301):
        firsts = range(0, 1600, size) if size > 1 else range(5)
        for first in firsts:
            np.testing.assert_array_equal(predict(new[first : first + size]), whole[first : first + size])
    assert predict(new[:0]).shape == (0, 1)
