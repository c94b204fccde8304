"""Predictive distributions against distributions with known answers; rows, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scoringrules
from scipy import integrate, stats

from diffgbm import PredictiveDistribution
from tests.exact import ks_limit

M = 512
LEVELS = (np.arange(M) + 0.5) / M


@dataclass(frozen=True)
class Known:
    """A known distribution, and how far from it ``M`` points may be (in standard deviations)."""

    cdf: Callable[[np.ndarray], np.ndarray]
    ppf: Callable[[np.ndarray], np.ndarray]
    pdf: Callable[[np.ndarray], np.ndarray]
    mean: float
    var: float
    crps: Callable[[np.ndarray], np.ndarray] | None = None
    tail: float = 0.02
    std: float = 0.003
    density: tuple[float, float] | None = (0.01, 0.99)

    @property
    def sd(self) -> float:
        return float(np.sqrt(self.var))

    @property
    def distribution(self) -> PredictiveDistribution:
        return PredictiveDistribution.from_points(self.ppf(LEVELS)[None])


def frozen(distribution, **more) -> Known:
    return Known(
        distribution.cdf,
        distribution.ppf,
        distribution.pdf,
        float(distribution.mean()),
        float(distribution.var()),
        **more,
    )


def normal_mixture() -> Known:
    w, m, s = np.array([0.3, 0.7]), np.array([-2.0, 1.0]), np.array([0.5, 0.8])
    grid = np.linspace(-6.0, 7.0, 200_001)

    def cdf(y):
        return stats.norm.cdf(np.asarray(y)[..., None], m, s) @ w

    table = cdf(grid)
    return Known(
        cdf,
        lambda q: np.interp(q, table, grid),
        lambda y: stats.norm.pdf(np.asarray(y)[..., None], m, s) @ w,
        float(w @ m),
        float(w @ (s**2 + m**2) - (w @ m) ** 2),
        lambda y: np.array([scoringrules.crps_mixnorm(v, m, s, w) for v in y]),
    )


def point_mass() -> Known:
    """Zero with probability 0.3, gamma distributed otherwise."""
    rest = stats.gamma(2.0)
    return Known(
        lambda y: 0.3 * (np.asarray(y) >= 0.0) + 0.7 * rest.cdf(y),
        lambda q: np.where(np.asarray(q) <= 0.3, 0.0, rest.ppf(np.clip((np.asarray(q) - 0.3) / 0.7, 0.0, 1.0))),
        lambda y: 0.7 * rest.pdf(y),
        1.4,
        0.7 * 6.0 - 1.4**2,
        density=None,
    )


KNOWN = {
    "normal": frozen(stats.norm(3.0, 2.0), crps=lambda y: scoringrules.crps_normal(y, 3.0, 2.0)),
    "mixture": normal_mixture(),
    "lognormal": frozen(
        stats.lognorm(0.5), crps=lambda y: scoringrules.crps_lognormal(y, 0.0, 0.5), tail=0.04, std=0.008
    ),
    "gamma": frozen(stats.gamma(2.0), crps=lambda y: scoringrules.crps_gamma(y, 2.0, 1.0)),
    "beta": frozen(stats.beta(2.0, 3.0), crps=lambda y: scoringrules.crps_beta(y, 2.0, 3.0), density=(0.05, 0.95)),
    "uniform": frozen(
        stats.uniform(-1.0, 4.0), crps=lambda y: scoringrules.crps_uniform(y, -1.0, 3.0), density=(0.05, 0.95)
    ),
    "point mass": point_mass(),
}
SMOOTH = [name for name, known in KNOWN.items() if known.density is not None]
every = pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
smooth = pytest.mark.parametrize("known", [KNOWN[name] for name in SMOOTH], ids=SMOOTH)
INNER = np.linspace(0.005, 0.995, 100)


@every
def test_moments_and_quantiles(known):
    distribution = known.distribution
    assert distribution.mean()[0] == pytest.approx(known.mean, abs=1e-3 * known.sd)
    assert distribution.std()[0] == pytest.approx(known.sd, rel=known.std)
    assert distribution.var()[0] == pytest.approx(known.var, rel=2.1 * known.std)
    assert distribution.median()[0] == pytest.approx(known.ppf(0.5), abs=1e-4 * known.sd)
    np.testing.assert_allclose(distribution.quantile(INNER)[0], known.ppf(INNER), rtol=0, atol=known.tail * known.sd)


@every
def test_probabilities(known):
    distribution = known.distribution
    y = np.concatenate([known.ppf(INNER), [known.mean - 20.0 * known.sd, known.mean + 20.0 * known.sd]])
    # at a point mass the points are one step of 1/M off at most; elsewhere the error is of second order
    atol = 1.0 / M if known.density is None else 1e-4
    np.testing.assert_allclose(distribution.cdf(y[None])[0], known.cdf(y), rtol=0, atol=atol)
    np.testing.assert_allclose(distribution.sf(y[None])[0], 1.0 - known.cdf(y), rtol=0, atol=atol)
    low, high = known.ppf(0.35), known.ppf(0.85)
    assert distribution.prob_between(low, high)[0] == pytest.approx(0.5, abs=2.0 * atol)
    assert distribution.pit([known.ppf(0.7)])[0] == pytest.approx(0.7, abs=atol)


@every
def test_crps_is_that_of_the_distribution(known):
    y = np.concatenate([known.ppf([0.01, 0.2, 0.5, 0.9]), [known.mean - 5.0 * known.sd, known.mean + 5.0 * known.sd]])
    u = np.linspace(known.mean - 10.0 * known.sd, known.mean + 20.0 * known.sd, 400_001)
    integrals = np.array([integrate.trapezoid((known.cdf(u) - (u >= v)) ** 2, u) for v in y])
    distribution = PredictiveDistribution.from_points(np.tile(known.ppf(LEVELS), (len(y), 1)))
    np.testing.assert_allclose(distribution.crps(y), integrals, rtol=0, atol=1e-3 * known.sd)
    if known.crps is not None:
        np.testing.assert_allclose(distribution[:4].crps(y[:4]), known.crps(y[:4]), rtol=0, atol=1e-3 * known.sd)


@every
def test_expectation(known):
    fine = known.ppf((np.arange(200_000) + 0.5) / 200_000)
    distribution = known.distribution
    assert distribution.expect(np.cos)[0] == pytest.approx(np.cos(fine).mean(), abs=2e-3)
    assert distribution.expect(lambda y: y)[0] == pytest.approx(known.mean, abs=2e-3 * known.sd)
    assert distribution.expect(lambda y: y > known.mean)[0] == pytest.approx(1.0 - known.cdf(known.mean), abs=1.5 / M)


@every
def test_central_interval(known):
    for coverage in (0.5, 0.8, 0.95):
        expected = known.ppf([0.5 * (1.0 - coverage), 0.5 * (1.0 + coverage)])
        np.testing.assert_allclose(
            known.distribution.interval(coverage)[0], expected, rtol=0, atol=known.tail * known.sd
        )


@every
def test_highest_density_interval_is_the_shortest(known):
    for coverage in (0.5, 0.8, 0.95):
        start = np.linspace(0.0, 1.0 - coverage, 5001)[1:-1]
        shortest = (known.ppf(start + coverage) - known.ppf(start)).min()
        low, high = known.distribution.interval(coverage, kind="highest_density")[0]
        assert high - low == pytest.approx(shortest, abs=0.01 * known.sd)
        probability = known.cdf(high) - (known.cdf(low) if low > 0.0 or known.density else 0.0)
        assert probability == pytest.approx(coverage, abs=0.005)


@every
def test_samples_follow_the_distribution(known):
    drawn = np.sort(known.distribution.sample(4000, seed=1)[:, 0])
    u = known.ppf(np.linspace(0.001, 0.999, 999))
    empirical = np.searchsorted(drawn, u, side="right") / len(drawn)
    assert np.abs(empirical - known.cdf(u)).max() < ks_limit(len(drawn), 1e-3) + 1.0 / M


@smooth
def test_density(known):
    distribution = known.distribution
    y = known.ppf(np.linspace(*known.density, 99))
    # the accuracy of the docstring; the valley of the mixture and the ends of bounded distributions are smoothed
    np.testing.assert_allclose(distribution.pdf(y[None])[0], known.pdf(y), rtol=0.1, atol=0.02 / known.sd)
    np.testing.assert_allclose(distribution.logpdf(y[None])[0], np.log(distribution.pdf(y[None])[0]), rtol=1e-12)


@pytest.mark.parametrize(("m", "rtol"), [(64, 0.25), (256, 0.15), (1024, 0.15)])
def test_density_of_a_normal_distribution_is_as_close_as_documented(m, rtol):
    distribution = PredictiveDistribution.from_points(stats.norm.ppf((np.arange(m) + 0.5) / m)[None])
    y = stats.norm.ppf(np.linspace(0.01, 0.99, 99))
    np.testing.assert_allclose(distribution.pdf(y[None])[0], stats.norm.pdf(y), rtol=rtol)
    # the log score is within 0.01 of the entropy
    truths = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    assert -distribution.logpdf(truths[None]).mean() == pytest.approx(stats.norm.entropy(), abs=0.01)


def test_density_of_few_points_has_no_gaps():
    distribution = PredictiveDistribution.from_points(np.arange(10.0)[None])
    y = np.linspace(1.0, 8.0, 101)
    np.testing.assert_allclose(distribution.pdf(y[None])[0], 0.1, rtol=0.2)


@smooth
def test_mode_and_entropy(known):
    distribution = known.distribution
    peak = known.pdf(known.ppf(np.linspace(0.001, 0.999, 5001))).max()
    assert known.pdf(distribution.mode())[0] >= 0.98 * peak
    fine = known.ppf((np.arange(20_000) + 0.5) / 20_000)
    assert distribution.entropy()[0] == pytest.approx(-np.log(known.pdf(fine)).mean(), abs=0.02)


def test_a_point_mass_is_a_step_and_a_peak():
    distribution = KNOWN["point mass"].distribution
    assert distribution.cdf(-1e-9)[0] == 0.0
    assert distribution.cdf(0.0)[0] == pytest.approx(0.3, abs=1.0 / M)
    assert distribution.mode()[0] == 0.0
    assert distribution.pdf(0.0)[0] > 50.0
    assert (distribution.sample(1000, seed=0) == 0.0).mean() == pytest.approx(0.3, abs=0.06)


@pytest.mark.filterwarnings("error")
def test_constant_distribution():
    values = np.array([0.0, 7.0, -1e6])
    distribution = PredictiveDistribution.from_points(np.repeat(values[:, None], 50, axis=1))
    for got in (
        distribution.mean(),
        distribution.median(),
        distribution.mode(),
        *distribution.quantile([0.0, 0.2, 1.0]).T,
        *distribution.sample(3, seed=0),
    ):
        np.testing.assert_allclose(got, values, rtol=1e-12)
    np.testing.assert_allclose(distribution.std(), 0.0, atol=1e-9)
    np.testing.assert_array_equal(distribution.cdf(values), 1.0)
    np.testing.assert_array_equal(distribution.cdf(np.nextafter(values, -np.inf)), 0.0)
    np.testing.assert_allclose(distribution.crps(values + 2.0), 2.0)
    np.testing.assert_allclose(distribution.crps(values), 0.0, atol=1e-12)
    for kind in ("central", "highest_density"):
        np.testing.assert_allclose(distribution.interval(0.9, kind), values[:, None] * [1.0, 1.0])
    assert np.all(distribution.pdf(values) > 1e2)
    assert np.all(distribution.pdf(values + 1.0) == 0.0)
    assert np.all(distribution.entropy() < 0.0)


# rows, shapes and errors


@pytest.fixture
def three() -> PredictiveDistribution:
    points = np.random.default_rng(0).normal([[0.0], [5.0], [-5.0]], [[1.0], [2.0], [0.5]], (3, 80))
    return PredictiveDistribution.from_points(points, "price", pd.Index(["a", "b", "c"], name="row"))


def test_rows(three):
    assert len(three) == 3
    for key, rows in (
        (1, [1]),
        (-1, [2]),
        (np.int64(0), [0]),
        (slice(1, None), [1, 2]),
        (slice(None, None, -1), [2, 1, 0]),
        ([2, 0], [2, 0]),
        (np.array([True, False, True]), [0, 2]),
        (np.array([], dtype=int), []),
    ):
        part = three[key]
        np.testing.assert_array_equal(part.values, three.values[rows])
        assert list(part.index) == [["a", "b", "c"][i] for i in rows]
        assert part.name == "price"
    np.testing.assert_array_equal([distribution.mean()[0] for distribution in three], three.mean())
    assert [len(distribution) for distribution in three] == [1, 1, 1]


@pytest.mark.parametrize("row", [3, -4, 100])
def test_a_row_that_is_not_there(three, row):
    with pytest.raises(IndexError, match="3 rows"):
        three[row]


@pytest.mark.parametrize("rows", [[3], [0, -4], np.array([7])])
def test_rows_that_are_not_there(three, rows):
    with pytest.raises(IndexError, match=r"there is no row -?[0-9]: there are 3 rows"):
        three[rows]


@pytest.mark.parametrize("mask", [[True], [True] * 4])
def test_a_mask_of_other_rows(three, mask):
    with pytest.raises(IndexError, match=f"one value for each of 3 rows; got {len(mask)}"):
        three[mask]


@pytest.mark.parametrize(
    "key", [None, Ellipsis, "a", 1.0, [0.5], ["a"], True, (0, 1), (slice(None), 0), [[0, 1]], np.eye(3) > 0, {0}]
)
def test_keys_that_select_no_rows_are_refused(three, key):
    with pytest.raises(TypeError, match="selected by a position, a slice, positions or a mask"):
        three[key]


def test_a_distribution_of_some_rows_answers_as_before(three):
    for name in ("mean", "std", "median", "mode", "entropy"):
        np.testing.assert_allclose(getattr(three[[2, 1]], name)(), getattr(three, name)()[[2, 1]], rtol=1e-12)


def test_to_frame(three):
    frame = three.to_frame(quantiles=(0.1, 0.5))
    assert list(frame.columns) == ["mean", "std", "q0.1", "q0.5"]
    pd.testing.assert_index_equal(frame.index, three.index)
    np.testing.assert_array_equal(frame["q0.1"], three.quantile(0.1))
    np.testing.assert_array_equal(three[1:].to_frame().index, ["b", "c"])
    assert list(PredictiveDistribution.from_points([[1.0, 2.0]]).to_frame().index) == [0]


@pytest.mark.parametrize("method", ["cdf", "sf", "pdf", "logpdf"])
def test_argument_shapes(three, method):
    ask = getattr(three, method)
    grid = np.array([[-1.0, 0.0], [4.0, 5.5], [-5.0, 3.0]])
    whole = ask(grid)
    assert whole.shape == (3, 2)
    np.testing.assert_allclose(ask(grid[:, 1]), whole[:, 1], rtol=1e-12)
    np.testing.assert_allclose(ask(list(grid[:, 0])), whole[:, 0], rtol=1e-12)
    np.testing.assert_allclose(ask(grid[:1]), np.column_stack([ask(-1.0), ask(0.0)]), rtol=1e-12)
    assert ask(1.0).shape == (3,)
    assert ask(np.empty((3, 0))).shape == (3, 0)
    for wrong in (np.zeros(2), np.zeros((2, 2)), np.zeros((3, 1, 1))):
        with pytest.raises(ValueError, match="one for each of the 3 rows"):
            ask(wrong)


def test_shapes_of_results(three):
    assert three.quantile(0.3).shape == (3,)
    assert three.quantile([0.3]).shape == (3, 1)
    assert three.quantile([0.3, 0.1]).shape == (3, 2)
    levels = np.array([[0.3, 0.1], [0.0, 1.0], [0.5, 0.5]])
    result = three.quantile(levels)
    assert result.shape == (3, 2)
    for i, row in enumerate(levels):
        np.testing.assert_allclose(result[i], three.quantile(row)[i], rtol=1e-12)
    assert three.interval(0.5).shape == three.interval(0.5, "highest_density").shape == (3, 2)
    assert three.sample(7, seed=0).shape == (7, 3)
    np.testing.assert_array_equal(three.crps(np.zeros((3, 1))), three.crps(np.zeros(3)))
    assert "price" in repr(three)
    assert "3 rows" in repr(three)


def test_large_grids_are_answered_in_blocks():
    rng = np.random.default_rng(0)
    distribution = PredictiveDistribution.from_points(rng.normal(size=(2500, 40)))
    grid = rng.normal(size=(2500, 60))
    np.testing.assert_allclose(
        distribution.logpdf(grid)[[0, 1200, 2499]], distribution[[0, 1200, 2499]].logpdf(grid[[0, 1200, 2499]])
    )
    y = rng.normal(size=2500)
    np.testing.assert_allclose(
        distribution.crps(y)[[0, 1200, 2499]], distribution[[0, 1200, 2499]].crps(y[[0, 1200, 2499]])
    )


def test_samples_repeat_with_the_seed(three):
    np.testing.assert_array_equal(three.sample(9, seed=4), three.sample(9, seed=4))
    np.testing.assert_array_equal(three.sample(9, seed=4)[:5], three.sample(5, seed=4))
    np.testing.assert_array_equal(three[:2].sample(9, seed=4), three.sample(9, seed=4)[:, :2])
    assert not np.array_equal(three.sample(9, seed=4), three.sample(9, seed=5))
    assert not np.array_equal(three.sample(9), three.sample(9))


def test_missing_observations_stay_missing(three):
    y = np.array([0.0, np.nan, -5.0])
    for got in (three.cdf(y), three.crps(y), three.logpdf(y)):
        assert list(np.isnan(got)) == [False, True, False]


def test_errors(three):
    for q in (-0.1, 1.1, np.nan, [0.5, 2.0], [[0.5]], [[0.5]] * 2, [[0.5], [0.5], [2.0]]):
        with pytest.raises(ValueError, match="between 0 and 1"):
            three.quantile(q)
    for coverage in (0.0, 1.0, 90):
        with pytest.raises(ValueError, match="coverage"):
            three.interval(coverage)
    with pytest.raises(ValueError, match="Did you mean 'central'"):
        three.interval(0.9, kind="centrall")
    with pytest.raises(ValueError, match="one observation for each"):
        three.crps([1.0, 2.0])
    with pytest.raises(ValueError, match="one observation for each"):
        three.pit(0.0)
    with pytest.raises(ValueError, match="keep the shape"):
        three.expect(lambda y: y.mean(axis=1))
    with pytest.raises(ValueError, match="n_samples"):
        three.sample(0)


# what does not depend on where zero is


@pytest.mark.parametrize("centre", [1e3, -1e6, 1e9, 1e10, 1e11, -1e11])
@pytest.mark.parametrize("known", ["normal", "point mass"])
def test_zero_may_be_anywhere(known, centre):
    points = stats.norm.ppf((np.arange(256) + 0.5) / 256)
    if known == "point mass":
        points[100:150] = points[100]
    points, y = (np.sort((v + centre) - centre) for v in (points, np.linspace(-4.0, 4.0, 81)))  # without rounding
    here, there = (PredictiveDistribution.from_points([v]) for v in (points, points + centre))
    for method in ("pdf", "logpdf", "cdf", "sf", "prob_at_least"):
        np.testing.assert_allclose(
            getattr(there, method)([y + centre]), getattr(here, method)([y]), rtol=1e-6, atol=1e-6, err_msg=method
        )
    for method in ("var", "std", "entropy"):
        np.testing.assert_allclose(getattr(there, method)(), getattr(here, method)(), rtol=1e-6, err_msg=method)
    crps = [[d.crps([u + c])[0] for u in y] for d, c in ((there, centre), (here, 0.0))]
    np.testing.assert_allclose(*crps, rtol=1e-6, atol=1e-6)
    for method in ("mean", "median", "mode"):
        np.testing.assert_allclose(
            getattr(there, method)() - centre, getattr(here, method)(), atol=2.0 * np.spacing(abs(centre)), rtol=0
        )


def test_the_density_of_a_normal_distribution_far_from_zero():
    points = 1e10 + stats.norm.ppf((np.arange(256) + 0.5) / 256)
    assert PredictiveDistribution.from_points([points]).pdf(1e10)[0] == pytest.approx(0.399, abs=1e-3)


# point masses


def test_survival_at_a_point_mass():
    distribution = PredictiveDistribution.from_points([[0.0] * 6 + [1.0, 2.0, 3.0, 4.0]])
    at = np.array([[-1.0, -1e-9, 0.0, 1e-9, 2.0, 9.0]])
    np.testing.assert_allclose(distribution.cdf(at)[0, [0, 1, 2]], [0.0, 0.0, 0.55])
    np.testing.assert_allclose(distribution.sf(at), 1.0 - distribution.cdf(at))
    np.testing.assert_allclose(distribution.prob_at_least(at)[0, [0, 1, 2, 5]], [1.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(distribution.prob_at_least(at)[0, 3:], distribution.sf(at)[0, 3:])


# rows and labels


def test_distributions_of_no_rows(three):
    none = three[:0]
    for method in ("mean", "var", "std", "median", "mode", "entropy"):
        assert getattr(none, method)().shape == (0,)
    for method in ("cdf", "sf", "prob_at_least", "pdf", "logpdf"):
        assert getattr(none, method)(0.0).shape == (0,)
        assert getattr(none, method)([[0.0, 1.0]]).shape == (0, 2)
    assert none.crps([]).shape == none.pit([]).shape == none.expect(lambda v: v).shape == (0,)
    assert none.interval().shape == none.interval(kind="highest_density").shape == (0, 2)
    assert none.sample(3).shape == (3, 0)
    assert none.quantile([0.1, 0.9, 1.0]).shape == (0, 3)
    assert len(none.to_frame()) == 0


def test_levels_close_to_each_other_have_labels_of_their_own(three):
    frame = three.to_frame([0.5, 0.5000001, 0.9999999, 1.0])
    assert list(frame)[2:] == ["q0.5", "q0.5000001", "q0.9999999", "q1"]
