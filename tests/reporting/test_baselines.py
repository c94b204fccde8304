"""Baselines in closed form: climatology, and a point model with constant residuals."""

import numpy as np
import pytest
from scipy.stats import norm

import diffgbm
from diffgbm.metrics.evaluation import LEVELS
from diffgbm.metrics.scores import climatology_crps
from diffgbm.reporting import baselines
from tests.conftest import toy
from tests.reporting.models import SCALES, known_scales


def test_crps_is_that_of_normal_distributions(known_facts):
    # CRPS of N(m, s) under itself is s / sqrt(pi); half of the rows have each scale
    response = known_facts.responses[0]
    assert response.model.crps == pytest.approx(SCALES.mean() / np.sqrt(np.pi), abs=4 * response.model.error)
    assert response.model.skill == pytest.approx(1 - response.model.crps / response.climatology.crps)
    assert response.climatology.skill == 0.0
    y = known_facts.climatology.responses[:, 0]
    assert response.climatology.crps == pytest.approx(climatology_crps(y, y).mean())
    assert response.model.crps < response.constant.crps < response.climatology.crps


@pytest.mark.parametrize("level", LEVELS)
def test_intervals_of_the_true_distribution_attain_nominal_coverage(known_facts, level):
    response = known_facts.responses[0]
    assert response.model.coverage[level] == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 3000))
    width = 2 * norm.ppf(0.5 + level / 2)
    halves = np.mean(known_scales(known_facts))
    assert response.model.width[level] == pytest.approx(width * halves, rel=2e-3)
    # on average the residuals of the other rows attain it, too
    assert response.constant.coverage[level] == pytest.approx(level, abs=3 / 3000)


@pytest.mark.parametrize("n", [2, 3, 17])
def test_leave_one_out_scores_are_brute_force(n):
    values = np.random.default_rng(n).normal(size=n)
    others = [np.delete(values, i) for i in range(n)]
    expected = [climatology_crps(o, values[i : i + 1])[0] for i, o in enumerate(others)]
    np.testing.assert_allclose(baselines.leave_one_out_crps(values), expected, atol=1e-12)
    expected = np.array([np.quantile(o, [0.05, 0.95]) for o in others])
    np.testing.assert_allclose(np.column_stack(baselines.leave_one_out_interval(values, 0.9)), expected, atol=1e-12)


def test_climatology_is_that_of_training_if_it_is_passed(flow_model):
    X, y = toy()
    in_sample = diffgbm.report(flow_model, X, y, n_repeats=1)
    assert "the 120 responses of this table" in in_sample.html
    with_train = diffgbm.report(flow_model, X, y, n_repeats=1, y_train=y[:50])
    assert "the 50 training responses" in with_train.html
    crps = with_train.facts.responses[0].climatology.crps
    assert crps == pytest.approx(climatology_crps(y[:50], y).mean())
