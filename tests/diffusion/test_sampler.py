import numpy as np
import pytest
from scipy.special import ndtri

from diffgbm.diffusion.paths import PATHS, T_MIN, GaussianPath
from diffgbm.diffusion.sampler import SCHEDULES, Sampler, step_table
from diffgbm.diffusion.targets import target_at
from tests.exact import BIMODAL, UNIMODAL, exact_forest, integrate, ks_distance, ks_limit

N = 4000


def distance(path, target, sampler, distribution=BIMODAL, sd=1.0):
    """Return the KS distance between samples of an exactly known field and their exact distribution."""
    path = GaussianPath(path)
    rng = np.random.default_rng(0)
    steps = step_table(sampler, path, target, "raw_time", sd)
    samples = integrate(steps, exact_forest(distribution, target, path, sd), rng.standard_normal(N), rng)
    return ks_distance(samples, distribution.cdf)


@pytest.mark.parametrize("method", ["euler", "heun"])
@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("vesde", "edm"),
        ("vesde", "noise"),
        ("vpsde", "noise"),
        ("sub-vpsde", "x0"),
        ("vp", "velocity"),
        ("linear", "velocity"),
        ("linear", "edm_raw_in"),
        ("trig", "x0"),
    ],
)
def test_ode_reproduces_a_mixture(path, target, method):
    assert distance(path, target, Sampler(method, 300, "ode")) < ks_limit(N)


@pytest.mark.parametrize("method", ["euler", "heun"])
@pytest.mark.parametrize(
    ("path", "target"),
    [("vesde", "noise"), ("vesde", "edm"), ("vpsde", "x0"), ("sub-vpsde", "edm"), ("vp", "velocity")],
)
def test_reverse_sde_reproduces_a_mixture(path, target, method):
    assert distance(path, target, Sampler(method, 300, "sde")) < ks_limit(N)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("path", "target"), [("linear", "velocity"), ("trig", "edm"), ("vp", "velocity")])
def test_interpolants_reproduce_a_mixture(path, target, schedule):
    sampler = Sampler("heun", 200, "interpolant", 1.5, schedule)
    assert distance(path, target, sampler) < ks_limit(N)


def test_edm_with_another_data_scale_gives_the_same_distribution():
    assert distance("vesde", "edm", Sampler("heun", 200, "ode"), sd=0.4) < ks_limit(N)


def test_a_wrong_field_is_noticed():
    """The threshold is not so wide that anything passes."""
    path = GaussianPath("linear")
    rng = np.random.default_rng(0)
    steps = step_table(Sampler("heun", 100, "ode"), path, "velocity", "raw_time")
    samples = integrate(steps, exact_forest(UNIMODAL, "velocity", path), rng.standard_normal(N), rng)
    assert ks_distance(samples, BIMODAL.cdf) > 3.0 * ks_limit(N)


@pytest.mark.parametrize(("method", "order"), [("euler", 1.0), ("heun", 2.0)])
@pytest.mark.parametrize(
    ("path", "target"), [("linear", "velocity"), ("trig", "velocity"), ("linear", "edm"), ("trig", "x0")]
)
def test_order_of_convergence_on_the_ode(path, target, method, order):
    path = GaussianPath(path)
    start = ndtri((np.arange(64) + 0.5) / 64)
    forest = exact_forest(UNIMODAL, target, path)

    def solve(method, n_steps):
        steps = step_table(Sampler(method, n_steps, "ode"), path, target, "raw_time")
        return integrate(steps, forest, start, np.random.default_rng(0))

    best = solve("heun", 2048)
    counts = np.array([16, 32, 64, 128])
    errors = [np.sqrt(np.mean((solve(method, n) - best) ** 2)) for n in counts]
    measured = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert measured == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("path", PATHS)
def test_table_of_the_ode_is_minus_the_velocity(path):
    path = GaussianPath(path)
    table = step_table(Sampler("euler", 7, "ode"), path, "edm", "raw_time_log_std", 0.8)
    t = np.linspace(1.0, T_MIN, 8)
    point = target_at("edm", path, t, 0.8)
    m, n = point.velocity_coefficients
    np.testing.assert_array_equal(table.columns, np.column_stack([t, np.log(path.at(t).beta)]))
    np.testing.assert_array_equal(table.scale, point.feature_scale)
    np.testing.assert_allclose(table.linear, -m)
    np.testing.assert_allclose(table.gain, -n)
    np.testing.assert_allclose(table.size, -np.diff(t))
    np.testing.assert_array_equal(table.noise, 0.0)
    assert table.is_deterministic
    assert table.start == path.start_scale


@pytest.mark.parametrize("path", ["vesde", "vpsde", "sub-vpsde", "vp"])
def test_table_of_the_sde_is_andersons_reverse_drift(path):
    """-f y + g^2 s in reverse time, with noise g sqrt(h)."""
    path = GaussianPath(path)
    table = step_table(Sampler("euler", 9, "sde"), path, "noise", "raw_time")
    point = target_at("noise", path, np.linspace(1.0, T_MIN, 10))
    g2 = point.path.diffusion**2
    y, p = 0.8, -0.3
    expected = -point.path.d_alpha / point.path.alpha * y + g2 * point.score(y, p)
    np.testing.assert_allclose(table.linear * y + table.gain * p, expected, rtol=1e-9)
    np.testing.assert_allclose(table.noise, np.sqrt(g2[:-1] * table.size))


@pytest.mark.parametrize(
    ("schedule", "shape"),
    [
        ("linear", lambda t: t),
        ("sqrt", lambda t: t**0.5),
        ("quadratic", lambda t: t**2),
        ("tent", lambda t: t * (1 - t)),
    ],
)
def test_interpolant_noise_follows_its_schedule(schedule, shape):
    t = np.linspace(1.0, T_MIN, 11)
    eps = 2.0 * shape(t)
    euler, heun = (
        step_table(Sampler(method, 10, "interpolant", 2.0, schedule), GaussianPath("linear"), "velocity", "raw_time")
        for method in ("euler", "heun")
    )
    np.testing.assert_allclose(euler.noise, eps[:-1] * np.sqrt(euler.size))
    np.testing.assert_allclose(heun.noise, 0.5 * (eps[:-1] + eps[1:]) * np.sqrt(heun.size))


def test_zero_strength_is_the_ode():
    path = GaussianPath("vp")
    ode = step_table(Sampler("heun", 5, "ode"), path, "velocity", "raw_time")
    still = step_table(Sampler("heun", 5, "interpolant", 0.0), path, "velocity", "raw_time")
    for name in ("scale", "linear", "gain", "columns", "size", "noise", "corrector"):
        np.testing.assert_array_equal(getattr(ode, name), getattr(still, name))


def test_correctors():
    path = GaussianPath("linear")
    assert not step_table(Sampler("euler", 5, "ode"), path, "velocity", "raw_time").corrector.any()
    assert (step_table(Sampler("heun", 5, "ode"), path, "velocity", "raw_time").corrector == 0.5).all()
    # the gain of x0 grows like 1/t: no correction where it would multiply the forest's error
    clean = step_table(Sampler("heun", 5, "ode"), path, "x0", "raw_time").corrector
    assert clean[-1] == 0.0
    assert (clean[:2] == 0.5).all()


@pytest.mark.parametrize("path", ["linear", "trig"])
def test_reverse_sde_is_refused_where_it_cannot_start(path):
    with pytest.raises(ValueError, match=rf"reverse SDE cannot start on the '{path}' path.*pf_ode=True"):
        step_table(Sampler("euler", 5, "sde"), GaussianPath(path), "velocity", "raw_time")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "rk4"}, "sampler_method must be one of 'euler', 'heun'; got 'rk4'"),
        ({"schedule": "cubic"}, "velocity_stochasticity_schedule must be one of 'linear', 'sqrt', 'quadratic', 'tent'"),
        ({"n_steps": 0}, "n_steps must be an integer >= 1; got 0"),
        ({"n_steps": 2.5}, "n_steps must be an integer >= 1; got 2.5"),
        ({"strength": -1.0}, "velocity_stochasticity must be finite and >= 0; got -1.0"),
        ({"strength": np.inf}, "velocity_stochasticity must be finite and >= 0; got inf"),
    ],
)
def test_bad_samplers_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Sampler(**arguments)


def test_a_sampler_prints_in_words():
    assert str(Sampler("heun", 25, "ode")) == "heun ODE x25"
    assert str(Sampler("euler", 50, "sde")) == "euler SDE x50"
    assert str(Sampler("euler", 9, "interpolant", 0.5, "tent")) == "euler interpolant eps=0.5 tent x9"
