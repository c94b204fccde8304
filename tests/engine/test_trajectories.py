"""Trajectories end where the engines' own integration ends, and begin where the draws say."""

import numpy as np
import pytest

from diffgbm.engine import Draws
from diffgbm.engine.trajectories import drift_at, trajectories
from diffgbm.fitting.quadrature import normal_points
from tests.conftest import tiny, toy

X = np.ascontiguousarray(toy(4, seed=9)[0])


def steps_of(model):
    return model.recipe_.steps(model.recipe_.sampler)


@pytest.fixture(scope="module", params=["flow", "published"])
def models(request):
    """The same model with both engines; without a first stage, so that rows are what the forest sees."""
    options = {"residualize": "off"} | ({"n_steps": 10} if request.param == "published" else {})
    return [tiny(request.param, engine=engine, **options).fit(*toy()) for engine in ("collapse", "lightgbm")]


@pytest.mark.parametrize("draws", [Draws(5, key=3), Draws(5, key=3, start=normal_points(5, 1), shared=True)])
def test_last_states_are_those_of_the_integrator(models, draws):
    for model in models:
        steps, engine = steps_of(model), model.model_.engine
        states = trajectories(engine, X, steps, draws)
        assert states.shape == (steps.n_steps + 1, 4, 5, 1)
        np.testing.assert_allclose(states[-1], engine.prepare(steps)(X, draws), rtol=1e-9, atol=1e-12)
        if draws.start is not None:
            np.testing.assert_array_equal(states[0, 2, :, 0], steps.start * draws.start[:, 0])


def test_low_discrepancy_noise_gives_the_same_set_of_samples(models):
    draws = Draws(13, key=0, start=normal_points(13, 1), shared=True, low_discrepancy=True)
    for model in models:
        steps, engine = steps_of(model), model.model_.engine
        last = trajectories(engine, X, steps, draws)[-1]
        np.testing.assert_allclose(np.sort(last, axis=1), np.sort(engine.prepare(steps)(X, draws), axis=1), rtol=1e-6)


def test_engines_agree_at_every_knot(models):
    draws = Draws(6, key=1)
    fast, slow = (trajectories(m.model_.engine, X, steps_of(m), draws) for m in models)
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)


def test_an_euler_step_follows_the_drift(models):
    model = models[0]
    steps, engine = model.recipe_.steps(model.sampler_with({"sampler_method": "euler"})), model.model_.engine
    states = trajectories(engine, X, steps, Draws(1, key=2))[:, :, 0]
    for k in range(steps.n_steps):
        moved = states[k] + steps.size[k] * drift_at(engine, X, states[k], steps, np.full(len(X), k))
        if not steps.noise[k]:
            np.testing.assert_array_equal(states[k + 1], moved)


def test_several_responses(two_responses):
    engine, steps, draws = two_responses.model_.engine, steps_of(two_responses), Draws(3, key=5)
    rows, _ = two_responses.model_.with_first_stage(X)
    states = trajectories(engine, rows, steps, draws)
    assert states.shape == (steps.n_steps + 1, 4, 3, 2)
    np.testing.assert_allclose(states[-1], engine.prepare(steps)(rows, draws), rtol=1e-9, atol=1e-12)
