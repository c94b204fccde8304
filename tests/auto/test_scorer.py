"""The scorer: CRPS in units of the response, weighted, averaged over responses."""

import numpy as np
import pytest

from diffgbm import metrics
from diffgbm.auto.pool import pool_crps
from diffgbm.auto.scorer import Scorer
from diffgbm.fitting.training_table import read_table

ROWS = np.array([4, 0, 7, 2])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(9, 2)) * [3.0, 50.0] + [100.0, -7.0]
    points = np.sort(y[ROWS, None] + rng.normal(size=(4, 11, 2)), axis=1)
    return rng.normal(size=(9, 3)), y, points


def scorer_of(X, y, weights=None):
    return Scorer.of(read_table(X, y, None, weights, "test"))


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_relative_to_the_standard_deviation(data, weighted):
    X, y, points = data
    weights = np.linspace(0.5, 2.0, 9) if weighted else None
    scorer = scorer_of(X, y, weights)
    crps = np.stack([metrics.crps(points[:, :, j].T, y[ROWS, j]) for j in range(2)], axis=1)
    expected = crps / scorer.units
    np.testing.assert_allclose(scorer.losses(points, ROWS), expected.mean(axis=1))
    used = None if weights is None else weights[ROWS]
    assert scorer.score(points, ROWS) == pytest.approx(np.average(expected.mean(axis=1), weights=used))
    if not weighted:
        np.testing.assert_allclose(scorer.units, y.std(axis=0))


def test_scores_do_not_depend_on_the_unit_of_the_response(data):
    X, y, points = data
    one, other = scorer_of(X, y), scorer_of(X, 4.0 * y)
    np.testing.assert_allclose(one.losses(points, ROWS), other.losses(4.0 * points, ROWS))


def test_terms_give_the_score(data):
    X, y, points = data
    scorer = scorer_of(X, y)
    to_y, between = scorer.mean_terms([points, points + 1.0], ROWS)
    assert pool_crps(np.array([1.0, 0.0]), to_y, between) == pytest.approx(scorer.score(points, ROWS))
    assert pool_crps(np.array([0.0, 1.0]), to_y, between) == pytest.approx(scorer.score(points + 1.0, ROWS))


def test_a_constant_response_has_unit_one(data):
    X, _, _ = data
    scorer = scorer_of(X, np.full(9, 0.1))
    np.testing.assert_array_equal(scorer.units, [1.0])
    assert scorer.score(np.full((4, 3, 1), 0.1), ROWS) == 0.0
    assert scorer.weights_of(ROWS) is None
