"""Numerical limits: every path, target and sampler at both ends of time, for one step and for ten thousand.

These tests define extrapolation. Trees are constant beyond their last thresholds, so that a row outside the training
table has the distribution of the row at its edge. For a state outside the training states the forest returns its value
at the edge, and the drift is affine in the state: the trajectory follows the linear equation of its path and is neither
stopped nor clipped.
"""

import warnings
from itertools import product

import numpy as np
import pytest

from diffgbm.diffusion.paths import PATHS, T_MIN, GaussianPath
from diffgbm.diffusion.sampler import METHODS, SCHEDULES, Sampler, step_table
from diffgbm.diffusion.targets import TARGETS, target_at
from diffgbm.engine import Draws
from tests.conftest import tiny, toy

from .attempts import small

X, Y = toy(100)
ENDS = {"vesde": (1e-4, 1e4), "vpsde": (1e-3, 1e3), "sub-vpsde": (1e-3, 1e3), "vp": (1e-3, 1e3)}
EQUATIONS = [{"equation": "ode"}, {"equation": "sde"}]
EQUATIONS += [{"equation": "interpolant", "strength": c, "schedule": s} for c in (1e-6, 1.0, 100.0) for s in SCHEDULES]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        yield


def pairs():
    """Every path, in its usual and in an extreme range, with every target that it can have."""
    for path, target in product(PATHS, TARGETS):
        ranges = [(None, None), ENDS[path]] if path in ENDS else [(None, None)]
        for low, high in ranges:
            result = GaussianPath(path, low, high)
            if target != "noise" or not result.reaches_noise:
                yield pytest.param(result, target, id=f"{path}-{target}-{high or 'usual'}")


@pytest.mark.parametrize(("path", "target"), list(pairs()))
def test_step_tables_are_finite(path, target):
    for method, equation, n in product(METHODS, EQUATIONS, (1, 2, 50, 10_000)):
        if equation["equation"] == "sde" and path.reaches_noise:
            continue
        table = step_table(Sampler(method, n, **equation), path, target, "raw_time_log_std")
        for part in (table.scale, table.linear, table.gain, table.columns, table.size, table.noise, table.start):
            assert np.isfinite(part).all()


@pytest.mark.parametrize(("path", "target"), list(pairs()))
def test_targets_are_inverted_at_both_ends_of_time(path, target):
    """y0 and z come back from the target and the state, at t = 1e-5 and t = 1, where the path determines them."""
    y0, z = np.random.default_rng(0).standard_normal((2, 50))
    for t in (T_MIN, 1e-3, 0.5, 1.0):
        point = target_at(target, path, t, 1.0)
        alpha, beta = float(point.path.alpha), float(point.path.beta)
        p = point.of(y0, z)
        m_v, n_v = point.velocity_coefficients
        state = alpha * y0 + beta * z
        velocity = float(point.path.d_alpha) * y0 + float(point.path.d_beta) * z
        result = m_v * state + n_v * p
        size = abs(m_v) * np.abs(state).max() + abs(n_v) * np.abs(p).max()
        np.testing.assert_allclose(result, velocity, rtol=0.0, atol=1e-12 * max(size, 1.0))


SAMPLERS = [
    {"n_steps": 1},
    {"n_steps": 3, "sampler_method": "heun"},
    {"n_steps": 3, "sampler_method": "euler", "pf_ode": True},
    {"n_steps": 20, "sampler_method": "heun", "velocity_stochasticity": 1.0},
    {
        "n_steps": 20,
        "sampler_method": "euler",
        "velocity_stochasticity": 1.0,
        "velocity_stochasticity_schedule": "tent",
    },
]


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_recipe_with_every_sampler(path, target):
    reaches = GaussianPath(path).reaches_noise
    if target == "noise" and reaches:
        pytest.skip("refused: the noise target cannot start from alpha(1) = 0")
    low, high = ENDS.get(path, (None, None))
    recipe = {"training_objective": "score", "sde_name": path, "score_parameterization": target}
    model = small(**recipe, sde_hyperparam_min=low, sde_hyperparam_max=high, n_estimators=5, pf_ode=reaches or None)
    model.fit(X, Y)
    for sampler in SAMPLERS:
        assert np.isfinite(model.sample(X[:5], 4, seed=0, **sampler)).all()


@pytest.mark.parametrize("recipe", ["published", "score_plus", "flow"])
def test_ten_thousand_steps(recipe):
    """More steps converge: 10,000 and 2,000 steps agree within sampling error."""
    model = tiny(recipe).fit(X, Y)
    few, many = (model.sample(X[:3], 200, seed=0, n_steps=n) for n in (2000, 10_000))
    assert np.isfinite(many).all()
    # five standard errors of a difference of means
    bound = 5.0 * np.sqrt((few.var(axis=0) + many.var(axis=0)) / 200)
    assert (np.abs(few.mean(axis=0) - many.mean(axis=0)) <= bound).all()


@pytest.mark.parametrize("recipe", ["published", "score_plus", "flow", "default"])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_a_variance_of_1e_minus_12(recipe, offset):
    y = offset + 1e-6 * Y
    samples = tiny(recipe).fit(X, y).sample(X, 50, seed=0)
    assert np.isfinite(samples).all()
    assert 0.1 * y.std() < samples.std() < 10.0 * y.std()
    assert abs(samples.mean() - y.mean()) < y.std()


@pytest.mark.parametrize("recipe", ["published", "score_plus", "flow", "default"])
def test_rows_beyond_the_table_have_the_distribution_of_its_edge(recipe):
    model = tiny(recipe).fit(X, Y)
    edge = np.vstack([X.max(axis=0), X.min(axis=0)])
    distribution = np.asarray(model.predict_quantiles(edge))
    for far in (10.0, 1e6, 1e300, np.inf):
        beyond = np.vstack([np.full(3, far), np.full(3, -far)])
        np.testing.assert_array_equal(model.predict_quantiles(beyond), distribution)


@pytest.mark.parametrize("engine", ["collapse", "lightgbm"])
@pytest.mark.parametrize("recipe", ["score_plus", "flow"])
def test_states_beyond_training_move_by_an_affine_map(recipe, engine):
    """From z far outside, one Euler step gives (1 + h m) y + h n F(edge), for every y."""
    model = tiny(recipe, engine=engine).fit(X, Y).model_
    steps = model.recipe.steps(Sampler("euler", 1, "ode"))
    far = np.array([1e2, 1e3, 1e4, 1e6])
    for sign in (1.0, -1.0):
        start = sign * far[:, None]
        states = start[:, 0] * steps.start
        moved = model.engine.prepare(steps)(X[:2], Draws(len(far), 0, start=start))[:, :, 0]
        gained = moved - (1.0 + steps.size[0] * steps.linear[0]) * states
        value = model.engine.evaluate(X[:2], np.full((2, 1), sign * 1e9), np.repeat(steps.columns[:1], 2, axis=0))
        expected = steps.size[0] * steps.gain[0] * value
        scale = np.abs(states).max() * max(1.0, abs(steps.size[0] * steps.linear[0]))
        np.testing.assert_allclose(gained, np.repeat(expected, len(far), axis=1), rtol=0.0, atol=1e-12 * scale)


def test_starts_beyond_any_normal_stay_finite():
    for recipe in ("published", "score_plus", "flow"):
        model = tiny(recipe).fit(X, Y).model_
        steps = model.recipe.steps(model.recipe.sampler)
        start = np.array([[-1e100], [-1e9], [0.0], [1e9], [1e100]])
        assert np.isfinite(model.engine.prepare(steps)(X[:3], Draws(5, 0, start=start))).all()
