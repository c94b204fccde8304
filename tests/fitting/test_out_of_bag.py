"""Out-of-bag distributions: each from the bags that have not seen the row, nor its group, nor its future."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm import metrics
from diffgbm.data.splits import bag_splits
from diffgbm.fitting.out_of_bag import out_of_bag_distributions
from diffgbm.fitting.training import fit_model, seed_integer
from tests.conftest import tiny, toy


def noise(n=400, seed=0):
    """A table of which nothing can be learned."""
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, 3)), rng.normal(size=n)


def test_out_of_bag_distributions_have_not_seen_their_rows():
    """Where nothing can be learned, only a model that has seen the responses beats climatology."""
    X, y = noise()
    model = tiny(n_bags=4, n_estimators=80, n_repeats=10, num_leaves=31, min_child_samples=3).fit(X, y)
    climatology = metrics.climatology_crps(y, y)
    out_of_bag = model.oob_distribution_.crps(y) - climatology
    inside = model.crps(X, y) - climatology
    error = np.std(out_of_bag) / np.sqrt(len(y))
    assert out_of_bag.mean() > -3.0 * error
    assert inside.mean() < -3.0 * np.std(inside) / np.sqrt(len(y))


@pytest.mark.parametrize(
    "params", [{"residualize": "off"}, {"first_stage_features": "cdf"}], ids=["none", "first_stages"]
)
def test_a_rows_out_of_bag_distribution_comes_from_the_bag_that_holds_it_out(params):
    X, y = toy()
    arguments = tiny(n_bags=3, **params).get_params(deep=False)
    model, training = fit_model(arguments, X, y, None, None, "DiffGBM")
    sampler = model.recipe.sampler
    distributions = out_of_bag_distributions(model, training, sampler, 1)
    for bag, rows in enumerate(training.held_out):
        alone = replace(model, bags=(model.bags[bag],))
        points = alone.points(X[rows], sampler, len(distributions.levels), stage_values=training.stage_values[rows])
        np.testing.assert_array_equal(distributions.values[rows], np.sort(points[:, :, 0], axis=1))
    estimator = tiny(n_bags=3, **params).fit(X, y)
    np.testing.assert_array_equal(estimator.oob_distribution_.values, distributions.values)


def test_changing_a_response_does_not_change_its_out_of_bag_distribution():
    X, y = toy()
    pair = y.copy()
    # the same mean and variance before and after: two rows of one bag are exchanged
    ((_, held), *_) = bag_splits(120, 3, 0.1, seed_integer(np.random.SeedSequence(0).spawn(5)[1]), False)
    i, j = held[:2]
    pair[[i, j]] = pair[[j, i]]
    before, after = (tiny(n_bags=3, residualize="off").fit(X, t).oob_distribution_ for t in (y, pair))
    np.testing.assert_allclose(after.values[held], before.values[held], rtol=1e-9)
    others = np.setdiff1d(np.arange(120), held)
    assert np.abs(after.values[others] - before.values[others]).max() > 1e-3


def fitted_by_time(X, y, time, **params):
    arguments = tiny(n_bags=3, **params).get_params(deep=False)
    model, training = fit_model(arguments, X, y, None, None, "DiffGBM", None, time)
    return out_of_bag_distributions(model, training, model.recipe.sampler, 1), training


def test_by_time_the_last_rows_are_out_of_bag_and_no_later_row_matters():
    X, y = toy()
    time = np.random.default_rng(0).permutation(120)
    distributions, training = fitted_by_time(X, y, time)
    np.testing.assert_array_equal(training.rows, np.flatnonzero(time >= 108))
    assert len(distributions) == 12
    # two of the last responses are exchanged: mean and variance stay, and no model has learned from them
    last, before = np.flatnonzero(time == 119)[0], np.flatnonzero(time == 118)[0]
    pair = y.copy()
    pair[[last, before]] = pair[[before, last]]
    again, _ = fitted_by_time(X, pair, time, early_stopping_rounds=None, residualize="off")
    first, _ = fitted_by_time(X, y, time, early_stopping_rounds=None, residualize="off")
    np.testing.assert_allclose(again.values, first.values, rtol=1e-9)


def test_by_time_rows_at_atoms_are_judged_if_they_are_late():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.gamma(2.0, size=200)
    y[rng.uniform(size=200) < 0.4] = 0.0
    distributions, training = fitted_by_time(X, y, np.arange(200), atoms=[0.0])
    assert len(distributions) == len(training.rows)
    assert np.isfinite(distributions.values).all()
    first = training.rows.min()
    np.testing.assert_array_equal(training.rows, np.arange(first, 200))
    assert 160 < first < 195
