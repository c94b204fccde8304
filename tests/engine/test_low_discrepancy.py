"""Low-discrepancy noise instead of random noise."""

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm

from diffgbm._util.kernels import LANES, kernel
from diffgbm.engine import Draws, StepTable, low_discrepancy, make_engine
from diffgbm.engine._low_discrepancy_kernels import sort_lanes
from diffgbm.engine.low_discrepancy import arranged_noise, low_discrepancy_noise, sorting_network
from diffgbm.fitting.quadrature import normal_points

from . import models


@kernel
def sort_compiled(states, pairs):
    sort_lanes(states, pairs)


def even(n, **options):
    """Draws without random numbers."""
    return Draws(n, key=0, start=normal_points(n, 1), shared=True, low_discrepancy=True, **options)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(8, 700), steps=st.integers(1, 60))
def test_normals_of_each_step_are_stratified_and_uncorrelated_with_rank(n, steps):
    normals = low_discrepancy_noise(n, steps).normals
    assert normals.shape == (steps, n)
    rank = ndtri((np.arange(n) + 0.5) / n)
    np.testing.assert_allclose(normals.mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(normals.var(axis=1), 1.0)
    np.testing.assert_allclose(normals @ rank / n, 0.0, atol=1e-12)


@pytest.mark.parametrize("n", [89, 233, 320])
def test_each_step_uses_about_each_stratum_once(n):
    """Taking the correlation with the rank out moves a normal by no more than that correlation times its rank."""
    strata = ndtri((np.arange(n) + 0.5) / n)
    for used in low_discrepancy_noise(n, 50).normals:
        assert np.abs(np.sort(used) - strata / strata.std()).max() < 0.3
        assert np.abs(np.sort(used) - strata / strata.std()).mean() < 0.03


def test_neighbours_in_rank_meet_the_whole_normal_distribution():
    """Every run of ranks sees noise as even as its length allows: (rank, noise) fill the square."""
    n = 320
    for normals in low_discrepancy_noise(n, 50).normals:
        level = norm.cdf(normals)
        for first in range(0, n, 40):
            part = np.sort(level[first : first + 40])
            assert np.abs(part - (np.arange(40) + 0.5) / 40).max() < 0.08


def test_steps_are_shifted_differently():
    assert len(np.unique(low_discrepancy_noise(320, 50).normals.round(9), axis=0)) == 50


def test_one_sample_and_no_steps():
    assert low_discrepancy_noise(1, 3).normals.tolist() == [[0.0], [0.0], [0.0]]
    assert low_discrepancy_noise(4, 0).normals.shape == (0, 4)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 300), scale=st.sampled_from([1e-300, 1e-3, 1.0, 1e6]))
def test_a_network_sorts_all_lanes(seed, n, scale):
    states = np.random.default_rng(seed).standard_normal((n, LANES)).round(1) * scale
    compiled = states.ravel().copy()
    sort_compiled(compiled, low_discrepancy_noise(n, 1).pairs)
    np.testing.assert_array_equal(compiled.reshape(n, LANES), np.sort(states, axis=0))


@pytest.mark.parametrize("n", range(1, 13))
def test_the_network_sorts_all_zeros_and_ones(n):
    """A network that sorts all sequences of zeros and ones sorts everything (Knuth's 0-1 principle)."""
    values = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    for i, j in sorting_network(n):
        values[:, [i, j]] = np.sort(values[:, [i, j]], axis=1)
    assert np.all(np.diff(values, axis=1) >= 0)


def test_no_number_is_lost_where_some_are_not_numbers():
    states = np.random.default_rng(0).standard_normal((55, LANES))
    states[::7] = np.nan
    states[1, 2] = np.inf
    compiled = states.ravel().copy()
    sort_compiled(compiled, low_discrepancy_noise(55, 1).pairs)
    np.testing.assert_array_equal(np.sort(compiled.reshape(55, LANES), axis=0), np.sort(states, axis=0))


def test_the_lanes_of_python_and_of_the_compiler_are_equally_many():
    assert low_discrepancy.LANES == LANES


@pytest.mark.parametrize("n", [55, 144])
def test_a_sample_whose_rank_stays_meets_all_levels(n):
    """Its normals over the steps are a stratified sample too, so that what they add up to has the right variance."""
    normals = low_discrepancy_noise(n, 50).normals
    for of_rank in normals.T[n // 5 : -n // 5]:
        level = np.sort(norm.cdf(of_rank))
        assert np.abs(level - (np.arange(50) + 0.5) / 50).max() < 0.06


def test_bags_meet_different_noise():
    normals = [arranged_noise(even(89 * 4), bag, 4, 20).normals for bag in range(4)]
    assert all(part.shape == (20, 89) for part in normals)
    assert len({part.tobytes() for part in normals}) == 4


@pytest.mark.parametrize("corrector", [0.0, 0.5])
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("n", [1, 2, 37, 128])
def test_both_engines_agree(n, noise, corrector):
    boosters = [models.booster(1, 2, seed=3)]
    steps = models.step_table(2, steps=6, noise=noise, corrector=corrector)
    X = models.rows(9, 1, awkward=0.1)
    fast, slow = (make_engine([boosters], kind).prepare(steps)(X, even(n)) for kind in ("collapse", "lightgbm"))
    assert fast.shape == (9, n, 1)
    # where there is noise, leaf values are multiples of a unit that 30 bits hold
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-9 if noise == 0.0 else 1e-7)


@pytest.mark.parametrize("kind", ["collapse", "lightgbm"])
def test_bags_take_turns(kind):
    groups = [[models.booster(1, 1, seed)] for seed in (1, 2)]
    steps = models.step_table(1, noise=0.0)
    X = models.rows(4, 1)
    whole = make_engine(groups, kind, "mixture").prepare(steps)(X, even(60))
    # each bag carries its own points of the start
    for b, group in enumerate(groups):
        start = normal_points(60, 1)[b::2]
        own = Draws(30, key=0, start=start, shared=True, low_discrepancy=True)
        part = make_engine([group], kind).prepare(steps)(X, own)
        np.testing.assert_allclose(whole[:, b::2], part, rtol=0, atol=1e-9)


def test_both_engines_give_bags_the_same_noise():
    groups, X = [[models.booster(1, 1, seed)] for seed in (1, 2, 3)], models.rows(20, 1)
    steps = models.step_table(1, noise=0.3)
    fast, slow = (make_engine(groups, kind, "mixture").prepare(steps)(X, even(60)) for kind in ("collapse", "lightgbm"))
    np.testing.assert_allclose(np.sort(fast, axis=1), np.sort(slow, axis=1), rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", ["collapse", "lightgbm"])
def test_rows_key_and_position_do_not_matter(kind):
    integrator = make_engine([[models.booster(1, 1, 5)]], kind).prepare(models.step_table(1))
    X = models.rows(6, 2)
    whole = integrator(X, even(50))
    np.testing.assert_array_equal(integrator(X[4:5], even(50, first_row=17)), whole[4:5])
    other_key = Draws(50, key=99, start=normal_points(50, 1), low_discrepancy=True)
    np.testing.assert_array_equal(integrator(X, other_key), whole)


def constant_booster(value):
    """One leaf, whatever it is asked."""
    data = lgb.Dataset(np.random.default_rng(0).normal(size=(50, 2 + models.P)), np.full(50, value))
    settings = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 1000}
    return lgb.train(settings, data, num_boost_round=1)


def linear_steps(n_steps, noise, corrector, start):
    t = np.linspace(1.0, 0.0, n_steps + 1)
    return StepTable(
        scale=np.ones(n_steps + 1),
        linear=-0.5 - t,
        gain=0.3 + t,
        columns=t[:, None],
        size=np.full(n_steps, 1.0 / n_steps),
        noise=np.full(n_steps, noise),
        corrector=np.full(n_steps, corrector),
        start=start,
    )


def propagate(steps, value):
    """Mean and variance of the last state: each step is an affine map plus noise."""
    mean, var = 0.0, steps.start**2
    for k in range(steps.n_steps):
        h, e, w = steps.size[k], steps.noise[k], steps.corrector[k]
        a, b = steps.linear[k], steps.gain[k] * value
        c, d = steps.linear[k + 1], steps.gain[k + 1] * value
        # y + h [(1-w)(a y + b) + w (c (y + h (a y + b) + e xi) + d)] + e xi
        slope = 1.0 + h * ((1.0 - w) * a + w * c * (1.0 + h * a))
        offset = h * ((1.0 - w) * b + w * (c * h * b + d))
        mean, var = slope * mean + offset, slope**2 * var + (e * (1.0 + h * w * c)) ** 2
    return mean, np.sqrt(var)


@pytest.mark.parametrize("corrector", [0.0, 0.5], ids=["euler", "heun"])
@pytest.mark.parametrize(("noise", "start"), [(0.0, 1.0), (0.2, 1.0), (0.5, 0.3), (0.4, 20.0)])
@pytest.mark.parametrize("n_steps", [1, 10, 50])
def test_a_normal_distribution_stays_normal(n_steps, noise, start, corrector):
    steps = linear_steps(n_steps, noise, corrector, start)
    booster = constant_booster(0.7)
    mean, sd = propagate(steps, booster.predict(np.zeros((1, 2 + models.P)))[0])
    n = 320
    states = make_engine([[booster]], "collapse").prepare(steps)(np.zeros((1, models.P)), even(n))
    points = np.sort(states[0, :, 0])
    # without noise there is no error; with it rank and noise are not quite uncorrelated, which adds up over the steps
    # (random samples of this size: 0.06 and 0.04 for mean and standard deviation, 0.05 to 0.09 for the CDF)
    assert points.mean() == pytest.approx(mean, abs=0.01 * sd)
    assert points.std() == pytest.approx(sd, rel=0.04 if noise else 0.003)
    level = norm.cdf(points, mean, sd)
    assert np.abs(level - (np.arange(n) + 0.5) / n).max() < (0.02 if noise else 1e-9)
    q = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(np.quantile(points, q), norm.ppf(q, mean, sd), rtol=0, atol=0.08 * sd)
