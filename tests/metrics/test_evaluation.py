"""Scores of tables in blocks equal the scores of whole tables."""

import numpy as np
import pytest

from diffgbm import JointDistribution, metrics
from diffgbm.metrics.evaluation import LEVELS, Scores, mean_scores, row_scores
from tests.metrics.predictions import calibrated_prediction


@pytest.fixture(scope="module")
def calibrated():
    return calibrated_prediction()[:2]


def test_blocks_do_not_change_the_scores(calibrated):
    distribution, y = calibrated
    whole, parts = Scores(["y"]), Scores(["y"])
    whole.add(distribution, y[:, None])
    for first in range(0, len(y), 300):
        parts.add(distribution[first : first + 300], y[first : first + 300, None])
    assert parts.summary() == whole.summary()
    assert parts.rows == len(y)


def test_scores_are_those_of_the_metrics(calibrated):
    distribution, y = calibrated
    scores = Scores(["y"])
    scores.add(distribution, y[:, None])
    summary = scores.summary()
    values = summary["targets"]["y"]
    assert summary["log_score"] == pytest.approx(metrics.log_score(distribution, y).mean())
    assert values["crps"] == pytest.approx(metrics.crps(distribution, y).mean())
    assert values["skill"] == pytest.approx(metrics.crpss(distribution, y, y))
    assert values["pit_p"] == metrics.pit_ks(distribution, y).pvalue
    assert values["mae"] == pytest.approx(np.abs(distribution.median() - y).mean())
    assert values["rmse"] == pytest.approx(np.sqrt(np.mean((distribution.mean() - y) ** 2)))
    for level in LEVELS:
        assert values[f"coverage_{level:g}"] == pytest.approx(metrics.coverage(distribution, y, level))
        assert values[f"width_{level:g}"] == pytest.approx(metrics.width(distribution, level))


def test_intervals_of_the_model_replace_those_of_the_distribution(calibrated):
    distribution, y = calibrated
    scores = Scores(["y"])
    scores.add(distribution, y[:, None], lambda level: np.tile([-1e9, 1e9], (len(y), 1)))
    assert scores.summary()["targets"]["y"]["coverage_0.5"] == 1.0


def test_several_responses():
    rng = np.random.default_rng(0)
    joint, y = JointDistribution(rng.normal(size=(20, 50, 2)), ("a", "b")), rng.normal(size=(20, 2))
    scores = Scores(joint.names)
    scores.add(joint, y)
    summary = scores.summary()
    for j, name in enumerate(joint.names):
        ends = {level: joint[name].interval(level) for level in LEVELS}
        assert summary["targets"][name] == pytest.approx(mean_scores(row_scores(joint[name], y[:, j], ends)))
    text = scores.table(summary)
    assert text.startswith("20 rows, log score ")
    assert "a" in text.splitlines()[1]
    assert len(text.splitlines()) == 4 + len(summary["targets"]["a"])


def test_numbers_that_are_not_finite_are_none():
    constant = JointDistribution(np.zeros((5, 9, 1)), ("y",))
    scores = Scores(["y"])
    scores.add(constant, np.zeros((5, 1)))
    summary = scores.summary()
    assert summary["targets"]["y"]["skill"] is None
    assert " -" in scores.table(summary)
