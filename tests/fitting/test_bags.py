"""Bags: they differ, a seed decides them, and they are mixed or averaged."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from diffgbm import JointDistribution
from tests.conftest import tiny, toy


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
    state, time = (
        np.full((120, 1), 0.3),
        np.full((120, model.recipe_.steps(model.sampler_with({})).columns.shape[1]), 0.5),
    )
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


def test_two_responses():
    X, y = toy(d=2)
    model = tiny(n_bags=2, bag_mix="mixture").fit(X, y)
    assert isinstance(model.oob_distribution_, JointDistribution)
    assert model.oob_distribution_.points.shape[::2] == (120, 2)
    assert len(model.boosters_) == 4
    assert model.sample(X, 3, seed=0).shape == (3, 120, 2)
    assert model.oob_distribution_.crps(y).mean() < np.abs(y[:, None] - y[None]).mean() / 2.0


def test_fitting_again_with_one_bag_drops_the_distributions():
    X, y = toy()
    model = tiny(n_bags=2).fit(X, y)
    assert not hasattr(model.set_params(n_bags=1).fit(X, y), "oob_distribution_")


def test_more_bags_than_rows():
    X, y = toy(3)
    model = tiny(n_bags=7, residualize="off").fit(X, y)
    assert len(model.model_.bags) == 3
    assert len(model.oob_distribution_) == 3
