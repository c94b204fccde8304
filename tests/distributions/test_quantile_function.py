"""Risk measures, several intervals, and distributions of functions of a response."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from diffgbm import DiffGBMWarning, JointDistribution, PredictiveDistribution
from diffgbm.distributions.support import Support
from tests.metrics.predictions import normal_distribution

NORMAL = normal_distribution([0.0, 1.0], [1.0, 2.0], 2000)
RNG = np.random.default_rng(0)
UNEVEN = PredictiveDistribution(np.sort(RNG.normal(size=(3, 40)), axis=1), np.linspace(0.01, 0.99, 40) ** 1.3)
ATOMS = PredictiveDistribution.from_points(
    np.maximum(RNG.normal(size=(2, 101)), 0.0), support=Support(low=0.0, atoms=np.array([0.0]))
)
LEVELS = [0.013, 0.2, 0.5, 0.777, 0.99]


# risk


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_risk_of_a_normal_loss(level):
    z = stats.norm.ppf(level)
    np.testing.assert_allclose(NORMAL.value_at_risk(level), [z, 1.0 + 2.0 * z], atol=2e-3)
    tail = stats.norm.pdf(z) / (1.0 - level)
    np.testing.assert_allclose(NORMAL.expected_shortfall(level), [tail, 1.0 + 2.0 * tail], rtol=3e-3)


@pytest.mark.parametrize("dist", [NORMAL, UNEVEN, ATOMS], ids=["normal", "uneven", "atoms"])
@pytest.mark.parametrize("level", [0.6, 0.9, 0.95])
def test_expected_shortfall_is_the_lowest_bound_of_rockafellar_and_uryasev(dist, level):
    value, shortfall = dist.value_at_risk(level), dist.expected_shortfall(level)
    np.testing.assert_allclose(shortfall, value + dist.mean_excess(value) / (1.0 - level), atol=1e-12)
    for other in (value - 0.1, value + 0.1):
        assert np.all(shortfall <= other + dist.mean_excess(other) / (1.0 - level) + 1e-12)


@pytest.mark.parametrize("dist", [NORMAL, UNEVEN, ATOMS], ids=["normal", "uneven", "atoms"])
def test_a_gain_is_minus_a_loss(dist):
    negative = PredictiveDistribution(
        -dist.values[:, ::-1],
        1.0 - dist.levels[::-1],
        support=None if dist.support is None else Support(-np.inf, 0.0, np.array([0.0])),
    )
    for method in ("value_at_risk", "expected_shortfall"):
        for level in (0.5, 0.9):
            risk = getattr(dist, method)(level, outcome="gain")
            np.testing.assert_allclose(risk, getattr(negative, method)(level), atol=1e-12)


def test_an_atom_counts_in_part():
    """Half of the outcomes lose nothing, half lose 1: of the worst 80%, 5 in 8 lose 1."""
    dist = PredictiveDistribution.from_points(
        [[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]], support=Support(atoms=np.array([0, 1.0]))
    )
    with pytest.warns(DiffGBMWarning, match="level=0.2 is the probability"):
        np.testing.assert_allclose(dist.expected_shortfall(0.2), 5 / 8)
    assert dist.value_at_risk(0.5) == 0.0
    np.testing.assert_allclose(dist.expected_shortfall(0.5), 1.0)


def test_several_levels():
    for method in ("value_at_risk", "expected_shortfall"):
        several = getattr(UNEVEN, method)([0.6, 0.9])
        assert several.shape == (3, 2)
        np.testing.assert_array_equal(several[:, 1], getattr(UNEVEN, method)(0.9))


def test_levels_that_mislead_are_warned_about():
    with pytest.warns(DiffGBMWarning, match="beyond the outermost of 40 points"):
        UNEVEN.value_at_risk(0.999)
    with pytest.warns(DiffGBMWarning, match=r"pass level=0.95"):
        UNEVEN.expected_shortfall(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NORMAL.expected_shortfall([0.5, 0.95, 0.99])
    for level in (0.0, 1.0, 95, np.nan, [], [[0.9]]):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            NORMAL.value_at_risk(level)
    with pytest.raises(ValueError, match=r"outcome must be one of 'loss', 'gain'"):
        NORMAL.value_at_risk(0.9, outcome="profit")


def test_risk_of_several_responses_is_that_of_the_marginals():
    joint = JointDistribution(RNG.normal(size=(3, 50, 2)), ("a", "b"))
    for method in ("value_at_risk", "expected_shortfall"):
        assert getattr(joint, method)([0.8, 0.9]).shape == (3, 2, 2)
        np.testing.assert_array_equal(getattr(joint, method)(0.8)[:, 1], getattr(joint["b"], method)(0.8))
    np.testing.assert_array_equal(joint.mean_excess([0.0, 1.0])[:, 1], joint["b"].mean_excess(1.0))


# intervals


def test_several_intervals():
    for kind in ("central", "highest_density"):
        ends = UNEVEN.interval([0.5, 0.9], kind)
        assert ends.shape == (3, 2, 2)
        np.testing.assert_array_equal(ends[:, 1], UNEVEN.interval(0.9, kind))
    joint = JointDistribution(RNG.normal(size=(3, 50, 2)), ("a", "b"))
    assert joint.interval([0.5, 0.8, 0.9]).shape == (3, 2, 3, 2)
    for coverage in ([], [0.5, 1.0], [[0.5]], 90):
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1, one number or a list"):
            UNEVEN.interval(coverage)


# functions of a response

INCREASING = {"exp": np.exp, "cube": lambda y: y**3, "cap": lambda y: np.minimum(y, 0.3), "round": np.round}
DECREASING = {"negative": np.negative, "falling": lambda y: np.exp(-y), "shortage": lambda y: np.maximum(0.5 - y, 0.0)}


@pytest.mark.parametrize("dist", [NORMAL, UNEVEN, ATOMS], ids=["normal", "uneven", "atoms"])
@pytest.mark.parametrize("name", [*INCREASING, *DECREASING])
def test_a_monotone_function_is_exact(dist, name):
    function = (INCREASING | DECREASING)[name]
    new = dist.transform(function)
    source = dist.quantile(LEVELS) if name in INCREASING else -dist.transform(np.negative).quantile(LEVELS)
    np.testing.assert_allclose(new.quantile(LEVELS), function(source), rtol=1e-12)
    np.testing.assert_array_equal(new.median(), new.quantile(0.5))
    # P(g(Y) <= g(c)) is P(Y <= c) where g increases strictly
    if name in ("exp", "cube"):
        at = np.array([[-0.4, 0.0, 0.9]])
        np.testing.assert_allclose(new.cdf(function(at)), dist.cdf(at), atol=1e-9)
        np.testing.assert_allclose(new.pmf(function(at)), dist.pmf(at), atol=1e-9)


def test_samples_of_an_increasing_function_are_exact():
    np.testing.assert_array_equal(NORMAL.transform(np.exp).sample(50, seed=3), np.exp(NORMAL.sample(50, seed=3)))


def test_a_decreasing_function_reverses_probabilities():
    new = UNEVEN.transform(lambda y: 3.0 - 2.0 * y)
    np.testing.assert_allclose(new.cdf(2.0), UNEVEN.sf(0.5), atol=1e-9)
    np.testing.assert_allclose(new.mean(), 3.0 - 2.0 * UNEVEN.mean())
    np.testing.assert_allclose(new.var(), 4.0 * UNEVEN.var())
    np.testing.assert_allclose(new.crps([1.0, 2.0, 3.0]), 2.0 * UNEVEN.crps([1.0, 0.5, 0.0]))


def test_moments_of_a_log_normal_response():
    price = normal_distribution([0.0, 1.0], [0.5, 0.25], 4000).transform(np.exp, name="price")
    np.testing.assert_allclose(price.mean(), np.exp([0.125, 1.0 + 0.03125]), rtol=1e-3)
    grid = np.array([[0.7, 1.0, 1.5]])
    np.testing.assert_allclose(price[0].pdf(grid), stats.lognorm(0.5).pdf(grid), rtol=0.05)
    assert price.name == "price"


def test_a_deductible_makes_an_atom():
    paid = NORMAL.transform(lambda y: np.maximum(y - 1.0, 0.0))
    np.testing.assert_allclose(paid.pmf(0.0), NORMAL.cdf(1.0), atol=1e-9)
    np.testing.assert_allclose(paid.mean(), NORMAL.mean_excess(1.0), rtol=1e-3)
    np.testing.assert_array_equal(paid.cdf(-1e-9), 0.0)
    assert paid.sample(200, seed=0).min() == 0.0
    for method in ("pdf", "logpdf"):
        with pytest.raises(ValueError, match="no density: function is constant on an interval, where it is 0"):
            getattr(paid, method)(1.0)
    for method in ("mode", "entropy"):
        with pytest.raises(ValueError, match="no density"):
            getattr(paid, method)()


def test_other_functions_go_through_points():
    square = NORMAL.transform(np.square)
    at = np.array([[0.2, 1.0, 4.0]])
    np.testing.assert_allclose(square[0].cdf(at), stats.chi2(1).cdf(at), atol=2e-3)
    np.testing.assert_allclose(square.mean(), [1.0, 5.0], rtol=5e-3)
    assert np.all(square.quantile(0.0) >= 0.0)
    assert np.all(square.pdf(1.0) > 0.0)
    # points of a recalibrated distribution are not equally likely
    expected = (UNEVEN.cdf(0.5) - UNEVEN.cdf(-0.5))[:, None]
    np.testing.assert_allclose(UNEVEN.transform(np.abs).cdf([[0.5]]), expected, atol=1 / 40)


def test_atoms_go_to_atoms():
    for function in (np.sqrt, np.cos, lambda y: (y - 1.0) ** 2):
        new = ATOMS.transform(function)
        np.testing.assert_allclose(new.pmf(float(function(0.0))), ATOMS.pmf(0.0), atol=1e-9)


def test_a_function_of_a_function():
    twice = UNEVEN.transform(np.exp).transform(np.log)
    np.testing.assert_allclose(twice.quantile(LEVELS), UNEVEN.quantile(LEVELS), atol=1e-12)
    np.testing.assert_allclose(twice.crps([0.0, 1.0, 2.0]), UNEVEN.crps([0.0, 1.0, 2.0]))
    falling = UNEVEN.transform(np.exp).transform(np.negative)
    np.testing.assert_allclose(falling.quantile(0.3), -np.exp(UNEVEN.quantile(0.7)))


def test_a_function_without_a_value_beyond_the_points():
    """Half a gap below the smallest point, 0.1, lies below zero, where there is no logarithm."""
    dist = PredictiveDistribution.from_points([[0.1, 0.9, 1.0, 2.0]])
    logs = dist.transform(np.log)
    np.testing.assert_allclose(logs.quantile(dist.levels), np.log(dist.values))
    assert np.isfinite(logs.sample(500, seed=0)).all()
    with pytest.raises(ValueError, match=r"returns nan at -1.0, and is not finite at 1 of 2 points"):
        PredictiveDistribution.from_points([[-1.0, 1.0]]).transform(np.log)


def test_rows_of_a_transformed_distribution():
    labelled = PredictiveDistribution(UNEVEN.values, UNEVEN.levels, "y", pd.Index(["a", "b", "c"]))
    new = labelled.transform(np.exp)
    np.testing.assert_array_equal(new[[2, 0]].quantile(0.3), new.quantile(0.3)[[2, 0]])
    np.testing.assert_array_equal(new[1].cdf(1.2), new.cdf(1.2)[[1]])
    assert list(new.to_frame().index) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="append first"):
        new.append([new])
    assert len(UNEVEN[:0].transform(np.exp)) == 0


def test_a_number_of_several_responses():
    points = RNG.normal(size=(3, 50, 2))
    joint = JointDistribution(points, ("a", "b"), pd.Index(["x", "y", "z"]))
    total = joint.transform(lambda p: p.sum(axis=-1), "total")
    np.testing.assert_array_equal(total.values, np.sort(points.sum(axis=2), axis=1))
    assert (total.name, list(total.index)) == ("total", ["x", "y", "z"])
    assert np.all(total.pdf(0.0) > 0.0)
    late = joint.transform(lambda p: p[..., 0] > p[..., 1])
    np.testing.assert_allclose(late.pmf(1.0), (points[..., 0] > points[..., 1]).mean(axis=1))
    with pytest.raises(ValueError, match="no density: several points are 0"):
        late.pdf(0.5)
