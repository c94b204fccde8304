"""A fit step by step."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from diffgbm.first_stage import Task, fit_first_stage, plan_first_stage
from diffgbm.fitting.boosting import train_boosters
from diffgbm.fitting.noise_table import VALIDATION_ROWS
from diffgbm.fitting.noisy_rows import noisy_rows
from diffgbm.fitting.training import lightgbm_params, seed_integer
from tests.conftest import tiny, toy


@pytest.mark.parametrize("stopping", [None, 3])
def test_one_bag_is_the_model_made_step_by_step(stopping):
    """Table, mean, split, noise, boosters, each from its seed: the parts that one bag is made of."""
    X, y = toy(100)
    model = tiny(n_bags=1, early_stopping_rounds=stopping, eval_percent=0.2).fit(X, y)
    params = model.get_params(deep=False)
    seeds = np.random.SeedSequence(params["seed"]).spawn(5)
    standard = ((y - y.mean()) / y.std())[:, None]
    task = Task(X, standard, [], None, 5, 1, seed_integer(seeds[0]), 1)
    first_stage, stage_values = fit_first_stage(
        task, plan_first_stage("mean", None, params["extra_residualizer_params"])
    )
    residuals = stage_values.residuals(standard)
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
