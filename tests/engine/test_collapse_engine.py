"""The fast engine agrees with LightGBM's own predictions at every step."""

import numpy as np
import pytest

from diffgbm.engine import Draws, make_engine
from diffgbm.engine.collapse_engine import VectorForest
from diffgbm.engine.stored import forest_of

from . import models


@pytest.mark.parametrize("corrector", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.4])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_engines_agree(d, noise, corrector):
    boosters = [models.group(d, 2, 11)]
    steps, X = models.step_table(2, noise=noise, corrector=corrector), models.rows(66, 8, awkward=0.1)
    draws = Draws(23, 2**63 + 9, first_row=5, first_sample=2)
    fast = make_engine(boosters, "collapse").prepare(steps)(X, draws)
    slow = make_engine(boosters, "lightgbm").prepare(steps)(X, draws)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-9)


@pytest.mark.parametrize("mix", ["mean", "mixture"])
@pytest.mark.parametrize("d", [1, 2])
def test_engines_agree_on_bags(d, mix):
    bags = [models.group(d, 1, seed) for seed in (1, 10, 20)]
    steps, X = models.step_table(1, corrector=0.5), models.rows(9, 3)
    for draws in (
        Draws(10, 4, 1, 7),
        Draws(2, 4),
        Draws(8, 4, start=np.random.default_rng(0).normal(size=(8, d)), shared=True),
    ):
        fast = make_engine(bags, "collapse", mix).prepare(steps)(X, draws)
        slow = make_engine(bags, "lightgbm", mix).prepare(steps)(X, draws)
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-9)


def test_evaluate_is_predict():
    bags = [models.group(2, 1, seed) for seed in (1, 10)]
    rng = np.random.default_rng(0)
    X, y, columns = models.rows(100, 2, awkward=0.2), rng.normal(size=(100, 2)), rng.normal(size=(100, 1))
    features = np.hstack([y, X, columns])
    expected = np.mean([[one.predict(features) for one in bag] for bag in bags], axis=0).T
    for mix in ("mean", "mixture"):
        np.testing.assert_allclose(make_engine(bags, "collapse", mix).evaluate(X, y, columns), expected, atol=1e-12)


def test_an_average_of_groups_is_the_average_of_their_predictions():
    bags = [models.group(2, 1, seed) for seed in (1, 10, 20)]
    forest = VectorForest.average([[forest_of(one) for one in bag] for bag in bags])
    assert forest.n_outputs == 2
    features = np.random.default_rng(0).normal(size=(30, 3 + models.P))
    expected = np.mean([[one.predict(features) for one in bag] for bag in bags], axis=0).T
    np.testing.assert_allclose(forest.predict(features), expected, atol=1e-12)
