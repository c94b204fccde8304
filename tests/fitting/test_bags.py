"""Bags: who holds out what, how they are mixed, and whether out-of-bag laws are honest."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from diffgbm import JointDistribution, metrics
from diffgbm.data.splits import bag_splits
from diffgbm.first_stage import Task, fit_first_stage, plan_first_stage
from diffgbm.fitting.bags import VALIDATION_ROWS
from diffgbm.fitting.boosting import noisy_rows, train_boosters
from diffgbm.fitting.training import fit_model, lightgbm_params, out_of_bag_distributions, seed_integer
from tests.conftest import tiny, toy


@pytest.mark.parametrize("stopping", [None, 3])
def test_one_bag_is_the_model_made_step_by_step(stopping):
    """Table, mean, split, noise, boosters, each from its own seed: what one bag always was."""
    X, y = toy(100)
    model = tiny(n_bags=1, early_stopping_rounds=stopping, eval_percent=0.2).fit(X, y)
    params = model.get_params(deep=False)
    seeds = np.random.SeedSequence(params["seed"]).spawn(5)
    standard = ((y - y.mean()) / y.std())[:, None]
    task = Task(X, standard, [], None, 5, 1, seed_integer(seeds[0]), 1)
    first_stage, said = fit_first_stage(task, plan_first_stage("mean", None, params["extra_residualizer_params"]))
    residuals = (standard - said.location) / said.scale
    train, out = np.arange(100), np.arange(0)
    if stopping:
        train, out = train_test_split(train, test_size=0.2, random_state=seed_integer(seeds[1]))

    def noisy(rows, repeats, seed):
        return noisy_rows(model.recipe_, X[rows], residuals[rows], None, repeats, np.random.default_rng(seed))

    copies = min(params["n_repeats"], -(-VALIDATION_ROWS // max(len(out), 1)))
    boosters = train_boosters(
        noisy(train, params["n_repeats"], seeds[2]),
        noisy(out, copies, seeds[3]) if stopping else None,
        params=lightgbm_params(params, seed_integer(seeds[4]), 1),
        n_estimators=params["n_estimators"],
        early_stopping_rounds=stopping,
        categorical=[],
        tick=lambda loss: None,
        stop=None,
    )
    assert boosters[0].model_to_string() == model.boosters_[0].model_to_string()
    np.testing.assert_array_equal(first_stage.values(X).location, model.model_.first_stage.values(X).location)
    assert not hasattr(model, "oob_distribution_")


def test_bags_differ_and_a_seed_decides():
    X, y = toy()
    one, same = (tiny(n_bags=3).fit(X, y) for _ in range(2))
    texts = [booster.model_to_string() for booster in one.boosters_]
    assert len(set(texts)) == 3
    assert texts == [booster.model_to_string() for booster in same.boosters_]
    np.testing.assert_array_equal(one.oob_distribution_.values, same.oob_distribution_.values)
    assert len(one.n_iterations_) == 3


def test_threads_change_nothing():
    X, y = toy(60)
    small = {"residualize": "off", "n_estimators": 3, "n_bags": 2}
    one, two = (tiny(n_jobs=jobs, **small).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.sample(X, 5, seed=0), two.sample(X, 5, seed=0))
    np.testing.assert_array_equal(one.oob_distribution_.values, two.oob_distribution_.values)


def with_parts(model, **parts):
    """A copy of an estimator whose fitted model has other parts."""
    twin = copy.copy(model)
    twin.model_ = replace(model.model_, **parts)
    return twin


@pytest.mark.parametrize("recipe", ["flow", "published"])
def test_mixture_gives_each_sample_to_one_bag_and_mean_averages_the_fields(recipe):
    X, y = toy()
    model = tiny(recipe, n_bags=3, n_steps=4).fit(X, y)
    mean, mixture = with_parts(model, bag_mix="mean"), with_parts(model, bag_mix="mixture")
    singles = [with_parts(model, bags=(bag,)).sample(X, 9, seed=4) for bag in model.model_.bags]
    mixed = mixture.sample(X, 9, seed=4)
    for i in range(9):
        np.testing.assert_array_equal(mixed[i], singles[i % 3][i])
    averaged = mean.sample(X, 9, seed=4)
    assert not np.allclose(averaged, mixed)
    # one step of the averaged field is the average of one step of each
    state, time = np.full((120, 1), 0.3), np.full((120, model.recipe_.steps(model._sampler({})).columns.shape[1]), 0.5)
    rows = model.model_.with_first_stage(X)[0]
    fields = [np.column_stack([b.predict(np.hstack([state, rows, time])) for b in bag]) for bag in model.model_.bags]
    np.testing.assert_allclose(mean.model_.engine.evaluate(rows, state, time), np.mean(fields, axis=0), rtol=1e-9)


def test_equal_bags_are_as_one():
    X, y = toy()
    model = tiny(n_bags=1).fit(X, y)
    expected = model.sample(X, 4, seed=0)
    for mix in ("mean", "mixture"):
        twice = with_parts(model, bags=model.model_.bags * 2, bag_mix=mix)
        np.testing.assert_allclose(twice.sample(X, 4, seed=0), expected)


def noise(n=400, seed=0):
    """A table of which nothing can be learned."""
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, 3)), rng.normal(size=n)


def test_out_of_bag_distributions_are_honest():
    """Where there is nothing to learn, whoever beats the climatology has seen the answers."""
    X, y = noise()
    model = tiny(n_bags=4, n_estimators=80, n_repeats=10, num_leaves=31, min_child_samples=3).fit(X, y)
    climatology = metrics.climatology_crps(y, y)
    honest = model.oob_distribution_.crps(y) - climatology
    inside = model.crps(X, y) - climatology
    error = np.std(honest) / np.sqrt(len(y))
    assert honest.mean() > -3.0 * error
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
        points = alone.points(X[rows], sampler, len(distributions.levels), said=training.said[rows])
        np.testing.assert_array_equal(distributions.values[rows], np.sort(points[:, :, 0], axis=1))
    estimator = tiny(n_bags=3, **params).fit(X, y)
    np.testing.assert_array_equal(estimator.oob_distribution_.values, distributions.values)


def test_changing_a_response_does_not_change_its_own_out_of_bag_distribution():
    X, y = toy()
    pair = y.copy()
    # the same mean and spread before and after: two rows of one bag change places
    ((_, held), *_) = bag_splits(120, 3, 0.1, seed_integer(np.random.SeedSequence(0).spawn(5)[1]), False)
    i, j = held[:2]
    pair[[i, j]] = pair[[j, i]]
    before, after = (tiny(n_bags=3, residualize="off").fit(X, t).oob_distribution_ for t in (y, pair))
    np.testing.assert_allclose(after.values[held], before.values[held], rtol=1e-9)
    others = np.setdiff1d(np.arange(120), held)
    assert np.abs(after.values[others] - before.values[others]).max() > 1e-3


def test_weights_and_rows_of_no_weight():
    X, y = toy(140)
    weights = np.linspace(0.5, 1.5, 140)
    weights[120:] = 0.0
    model = tiny(n_bags=2).fit(X, y, sample_weight=weights)
    assert len(model.oob_distribution_) == 120
    without = tiny(n_bags=2).fit(X[:120], y[:120], sample_weight=weights[:120])
    np.testing.assert_array_equal(model.oob_distribution_.values, without.oob_distribution_.values)
    flat = tiny(n_bags=2).fit(X[:120], y[:120])
    assert not np.array_equal(flat.oob_distribution_.values, without.oob_distribution_.values)


def test_two_responses():
    X, y = toy(d=2)
    model = tiny(n_bags=2, bag_mix="mixture").fit(X, y)
    assert isinstance(model.oob_distribution_, JointDistribution)
    assert model.oob_distribution_.points.shape[::2] == (120, 2)
    assert len(model.boosters_) == 4
    assert model.sample(X, 3, seed=0).shape == (3, 120, 2)
    assert model.oob_distribution_.crps(y).mean() < np.abs(y[:, None] - y[None]).mean() / 2.0


def test_fitting_again_with_one_bag_forgets_the_distributions():
    X, y = toy()
    model = tiny(n_bags=2).fit(X, y)
    assert not hasattr(model.set_params(n_bags=1).fit(X, y), "oob_distribution_")


def test_more_bags_than_rows():
    X, y = toy(3)
    model = tiny(n_bags=7, residualize="off").fit(X, y)
    assert len(model.model_.bags) == 3
    assert len(model.oob_distribution_) == 3
