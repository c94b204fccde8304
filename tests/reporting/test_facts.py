"""Numbers of reports in closed form."""

import numpy as np
import pytest

import diffgbm
from diffgbm import PredictiveDistribution
from diffgbm.metrics.diagnostics import LEVELS as NOMINAL
from diffgbm.reporting import facts
from diffgbm.reporting.rows import read_rows
from diffgbm.reporting.scores import score_rows
from tests.conftest import tiny
from tests.reporting.models import Known


def test_transforms_are_uniform_and_reliability_is_the_diagonal(known_facts):
    response = known_facts.responses[0]
    assert response.pit.counts.sum() == 3000
    assert response.scores["pit_p"] > 0.001
    error = np.sqrt(response.reliability.nominal * (1 - response.reliability.nominal) / 3000)
    assert np.all(np.abs(response.reliability.coverage - NOMINAL) < 4 * error)


def test_transforms_on_point_masses_are_randomised(known):
    class Coin(Known):
        def predict_distribution(self, X, grid="auto", **options):
            return PredictiveDistribution.from_points(np.tile(np.repeat([0.0, 1.0], 50), (len(X), 1)))

    _, X, _ = known
    coin = Coin(**tiny().get_params()).fit(X[:90], X[:90, 0])
    y = (np.arange(2000) % 2).astype(float)
    response = diffgbm.report(coin, X[:2000], y, rows_shown=5).facts.responses[0]
    assert response.scores["pit_p"] > 0.001
    assert response.has_atoms
    assert response.by_features == ()


@pytest.mark.parametrize("y", [np.full(30, 2.0), np.arange(30) % 2 * 1.0])
def test_responses_of_few_values(y):
    X = np.random.default_rng(0).normal(size=(30, 2))
    report = diffgbm.report(tiny(residualize="off").fit(X, y), X, y, n_repeats=1)
    assert "NaN" not in report.html
    assert len(report.facts.responses[0].shown) == 30


def test_sharpness_draws_some_rows_and_averages_all(known):
    model, X, y = known
    scores = score_rows(model, read_rows(model, X), y[:, None], 0).responses[0]
    result = facts.sharpness(scores, 0)
    assert len(result.width) == len(result.error) == facts.POINTS
    assert set(result.width) <= set(scores.width())
    assert len(result.mean_width) == 10
    assert result.mean_width.mean() == pytest.approx(scores.width().mean())


@pytest.mark.parametrize(("n", "expected"), [(2, 5), (49, 5), (120, 12), (10**6, facts.MOST_BARS)])
def test_bars_of_a_histogram(n, expected):
    assert facts.bars(n) == expected


def test_observations_lie_around_the_predicted_medians(known_facts):
    result = known_facts.responses[0].centre
    assert len(result.predicted) == len(result.observed) == facts.POINTS
    np.testing.assert_allclose(result.group_observed, result.group_predicted, atol=0.5)


def test_probabilities_of_exceeding_thresholds_are_reliable(known, known_facts):
    y = known[2]
    events = known_facts.responses[0].events
    np.testing.assert_allclose([event.threshold for event in events], np.quantile(y, facts.THRESHOLDS))
    groups = [(p, h) for event in events for p, h in zip(event.probability, event.happened, strict=True)]
    inside = [h.low <= p <= h.high for p, h in groups]
    assert np.mean(inside) > 0.85
    for event in events:
        assert event.brier < 0.6 * event.reference
        assert sum(h.count for h in event.happened) == len(y)


def test_thresholds_that_nothing_or_everything_exceeds_are_left_out():
    np.testing.assert_array_equal(facts.usual_thresholds(np.array([0.0] * 80 + [1.0] * 20)), [0.0])
    assert len(facts.usual_thresholds(np.full(9, 3.0))) == 0


def test_recipes_are_named_once(flow_model):
    (text,) = facts.recipes_of(flow_model)
    assert text == "velocity target on the vp path, sampled in 5 Heun steps of the ODE"
