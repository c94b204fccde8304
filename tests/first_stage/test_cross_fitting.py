"""Cross-fitting of every kind of first-stage model: predictions of rows that a model has not seen, and of new ones."""

import pickle
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from diffgbm._util.deadline import NEVER, Deadline, OutOfTime
from diffgbm.data.structure import Structure
from diffgbm.first_stage import Task
from diffgbm.first_stage.catalogue import build
from diffgbm.first_stage.conditional_cdf import ConditionalCDF
from diffgbm.first_stage.cross_fitting import combine
from tests.first_stage.stages import ALL, FOLDED, FUNCTIONS, table, task_of


@pytest.mark.parametrize("name", FOLDED)
def test_the_out_of_fold_prediction_of_a_row_does_not_depend_on_its_response(name):
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
    assert fitted.out_of_fold.shape == (90, 8 if name in FUNCTIONS else 2)
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


@pytest.mark.parametrize("name", [n for n in ALL if n not in FUNCTIONS])
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
    # a leaf of one row predicts the same for any weight
    stage = ConditionalCDF(4, 20, 3) if name == "cdf" else FOLDED[name]
    plain = stage.cross_fit(task_of(X, y)).out_of_fold[:, 0]
    # heavy rows have large responses: predictions rise
    assert stage.cross_fit(task_of(X, y, weights=weights)).out_of_fold[:, 0].mean() > plain.mean() + 0.1


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


def test_the_estimated_gain_is_that_of_averaging():
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


@pytest.mark.parametrize("name", ALL)
def test_by_time_a_row_is_predicted_from_its_past_alone(name):
    X, y = table()
    order = np.random.default_rng(0).permutation(90)
    task = replace(task_of(X, y, 1), structure=Structure(None, order))
    fitted = ALL[name].cross_fit(task)
    known = np.flatnonzero(~np.isnan(fitted.out_of_fold).any(axis=1))
    np.testing.assert_array_equal(known, task.held_out)
    np.testing.assert_array_equal(np.sort(order[known]), np.arange(18, 90))
    # responses of the last window change; stacks and quantiles learn from all of them, but models do not
    if name not in ("stack", *FUNCTIONS):
        later = np.where((order >= 72)[:, None], -y, y)
        other = ALL[name].cross_fit(replace(task, y=later))
        np.testing.assert_allclose(other.out_of_fold[known], fitted.out_of_fold[known], rtol=1e-12)
        new = table(17, seed=1)[0]
        assert np.abs(other.predictor(new) - fitted.predictor(new)).max() > 0.01


def test_new_rows_are_predicted_by_the_model_of_all_rows():
    X, y = table()
    order = np.arange(90)
    by_time = ALL["lightgbm"].cross_fit(replace(task_of(X, y, 1), structure=Structure(None, order)))
    assert [len(models) for models in by_time.predictor.models] == [1]


def ticking(end):
    """A deadline on a clock that moves on by one second whenever it is read."""
    return Deadline(end, count(0.0).__next__)


def small_task(**changes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    return replace(Task(X, X[:, :1] + rng.normal(size=(120, 1)), (), None, 3, 1, 0, 1), **changes)


@pytest.mark.parametrize("name", ["lightgbm", "extra_trees", "cdf"])
def test_boosting_and_forests_end_with_what_they_have(name):
    whole, cut = (build(name).cross_fit(small_task(deadline=d)) for d in (NEVER, ticking(60.0)))
    assert np.isfinite(cut.out_of_fold).all()
    if name == "lightgbm":
        rounds = [booster.best_iteration for booster in cut.predictor.models[0]]
        assert all(1 <= r < 40 for r in rounds)
    else:
        assert len(cut.predictor.roots) < len(whole.predictor.roots)
        assert len(cut.predictor.roots) >= 3


@pytest.mark.parametrize("name", ["ridge", "gp_rbf", "extra_trees", "cdf"])
def test_other_models_give_up(name):
    with pytest.raises(OutOfTime):
        build(name).cross_fit(small_task(deadline=ticking(2.0)))


def test_a_deadline_that_never_comes_changes_nothing():
    for name in ("lightgbm", "extra_trees", "ridge", "gp_rbf"):
        a, b = (build(name).cross_fit(small_task(deadline=d)).out_of_fold for d in (NEVER, ticking(1e8)))
        np.testing.assert_array_equal(a, b)
