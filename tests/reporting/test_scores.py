"""Scores of rows, in blocks, with the intervals of the model."""

import numpy as np
import pytest

import diffgbm
from diffgbm import ConformalDiffGBM
from diffgbm.reporting.rows import read_rows
from diffgbm.reporting.scores import score_rows
from tests.conftest import toy


def test_blocks_do_not_change_the_scores(known, monkeypatch):
    model, X, y = known
    rows = read_rows(model, X[:50])
    whole = score_rows(model, rows, y[:50, None], 0).responses[0]
    monkeypatch.setattr("diffgbm.reporting.scores.BLOCK", 7)
    parts = score_rows(model, rows, y[:50, None], 0).responses[0]
    for name, values in whole.values.items():
        np.testing.assert_array_equal(values, parts.values[name])
    np.testing.assert_array_equal(whole.inside, parts.inside)


def test_conformal_intervals_are_scored(flow_model):
    X, y = toy(seed=3)
    model = ConformalDiffGBM(flow_model).calibrate(X, y)
    X, y = toy(seed=4)
    report = diffgbm.report(model, X, y, n_repeats=1)
    low, high = model.predict_interval(X, 0.9).T
    response = report.facts.responses[0]
    assert response.model.coverage[0.9] == np.mean((low <= y) & (y <= high))
    assert response.model.width[0.9] == pytest.approx(np.mean(high - low))
    assert response.conformal
    assert "conformal intervals" in report.html
    assert "the 120 responses that the model was calibrated on" in report.html
    few = ConformalDiffGBM(flow_model).calibrate(X[:12], y[:12])
    rest = diffgbm.report(few, X[12:], y[12:], n_repeats=1).facts.responses[0]
    assert np.isnan(rest.model.coverage[0.95])
    assert np.isfinite(rest.model.coverage[0.9])
