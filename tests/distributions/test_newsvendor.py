"""Orders: the quantile at the critical ratio, whole units for counts, exact expected costs."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from diffgbm import JointDistribution, PredictiveDistribution, newsvendor
from tests.metrics.predictions import normal_distribution


def expected_cost(points, order, under, over):
    return (under * np.maximum(points - order, 0.0) + over * np.maximum(order - points, 0.0)).mean()


def test_the_order_of_a_normal_demand():
    """The lowest cost is (under + over) sd pdf(z) at the quantile z of the critical ratio."""
    mean, sd = np.array([10.0, 50.0]), np.array([1.0, 8.0])
    order = newsvendor(normal_distribution(mean, sd, 4000), under=3.0, over=1.0)
    z = stats.norm.ppf(0.75)
    np.testing.assert_allclose(order.critical_ratio, 0.75)
    np.testing.assert_allclose(order.quantity, mean + sd * z, rtol=1e-4)
    np.testing.assert_allclose(order.expected_cost, 4.0 * sd * stats.norm.pdf(z), rtol=2e-3)


def test_no_other_order_costs_less():
    rng = np.random.default_rng(0)
    dist = PredictiveDistribution.from_points(rng.gamma(2.0, 10.0, (3, 200)))
    order = newsvendor(dist, under=[1.0, 2.0, 9.0], over=[4.0, 2.0, 1.0])
    for move in (-1.0, -0.01, 0.01, 1.0):
        at = order.quantity + move
        under, over = np.array([1.0, 2.0, 9.0]), np.array([4.0, 2.0, 1.0])
        excess = dist.mean_excess(at)
        assert np.all(under * excess + over * (at - dist.mean() + excess) > order.expected_cost)


@pytest.mark.parametrize(("under", "over"), [(3.0, 1.0), (1.0, 1.0), (1.0, 20.0)])
def test_orders_of_counts_are_whole_and_the_best(under, over):
    points = np.random.default_rng(1).poisson(6.0, (1, 300)).astype(float)
    order = newsvendor(PredictiveDistribution.from_points(points), under, over)
    costs = [expected_cost(points, q, under, over) for q in range(30)]
    assert order.quantity[0] == np.argmin(costs)
    np.testing.assert_allclose(order.expected_cost, min(costs))


def test_whole_units_of_a_continuous_demand():
    dist = normal_distribution([10.0], [3.0])
    quantile = newsvendor(dist, 2.0, 1.0)
    whole = newsvendor(dist, 2.0, 1.0, integer=True)
    assert whole.quantity[0] in (np.floor(quantile.quantity[0]), np.ceil(quantile.quantity[0]))
    assert quantile.expected_cost < whole.expected_cost < 1.1 * quantile.expected_cost


def test_several_responses_are_ordered_by_themselves():
    points = np.random.default_rng(2).normal(size=(4, 60, 2)) * [1.0, 5.0]
    joint = JointDistribution(points, ("a", "b"), pd.Index(list("wxyz")))
    order = newsvendor(joint, under=[2.0, 1.0], over=1.0)
    for j, under in enumerate([2.0, 1.0]):
        alone = newsvendor(joint.marginal(j), under, 1.0)
        np.testing.assert_array_equal(order.quantity[:, j], alone.quantity)
        np.testing.assert_array_equal(order.expected_cost[:, j], alone.expected_cost)
    frame = order.to_frame()
    assert list(frame.index) == list("wxyz")
    assert list(frame)[:2] == ["a_quantity", "a_expected_cost"]


def test_the_order_as_text_and_as_a_frame():
    order = newsvendor(PredictiveDistribution.from_points([[0, 1, 2, 3], [4, 5, 6, 7]]), 1.0, 1.0)
    assert repr(order) == "Order(2 rows, 6 in total, expected cost 2)"
    assert list(order.to_frame()) == ["quantity", "expected_cost", "critical_ratio"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"under": -1.0, "over": 1.0}, "under must be a cost"),
        ({"under": 1.0, "over": np.nan}, "over must be a cost"),
        ({"under": 0.0, "over": 0.0}, "both 0"),
        ({"under": [1.0, 2.0, 3.0], "over": 1.0}, r"under must be one cost, or one for each of \(2,\)"),
        ({"under": 1.0, "over": 1.0, "integer": "yes"}, "integer must be"),
    ],
)
def test_costs_that_mean_nothing_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        newsvendor(PredictiveDistribution.from_points([[0, 1], [2, 3]]), **arguments)
