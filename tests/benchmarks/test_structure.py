"""The benchmark of tables with structure: tables inside their limits, scores, lines that resume, the page."""

import argparse
import json

import numpy as np
import pytest
from benchmarks.structured import command, dependence, joint, limits, models, tables

from diffgbm import PredictiveDistribution


def test_responses_lie_inside_their_limits():
    for _, y, (low, high) in tables.tables(200, 0).values():
        assert low is None or y.min() >= low
        assert high is None or y.max() <= high


def test_rides_are_counts_with_two_peaks():
    X, y = tables.hourly_rides(5000, np.random.default_rng(0))
    assert (y == np.rint(y)).all()
    working = X[:, 1] < 5
    by_hour = [y[working & (X[:, 0] == hour)].mean() for hour in (3, 8, 12, 18)]
    assert by_hour[0] < by_hour[2] < min(by_hour[1], by_hour[3])


def test_entities_repeat_and_a_series_is_steady_before_it_drifts():
    X, _, entity = tables.entities(7, 0)
    assert (np.bincount(entity) == tables.REPEATS).all()
    assert all(len(np.unique(X[entity == e, :2], axis=0)) == 1 for e in range(7))
    X, y = tables.drifting(2500, 0)
    residuals = y - 2.0 * X[:, 0] - np.sin(4.0 * X[:, 1])
    assert abs(residuals[:500].mean()) < 0.05
    assert np.std(residuals[500:]) > 2.0 * np.std(residuals[:500])


def test_scores_count_rows_with_a_prediction_outside():
    dist = PredictiveDistribution.from_points([np.linspace(-1.0, 1.0, 101), np.linspace(1.0, 2.0, 101)])
    found = limits.scores(dist, np.array([0.0, 5.0]), (0.0, None))
    assert (found["coverage"], found["outside"]) == (0.5, 0.5)
    assert limits.scores(dist, np.array([0.0, 5.0]), (None, None))["outside"] == 0.0


def test_windows_of_intervals():
    n = dependence.WINDOW * dependence.WINDOWS
    ends = np.column_stack([np.zeros(n), np.ones(n)])
    y = np.repeat([0.5, 2.0], n // 2)
    found = dependence._windows(ends, y)
    assert [found["window 1"], found[f"window {dependence.WINDOWS}"], found["width"]] == [1.0, 0.0, 1.0]


def test_lines_resume_and_become_a_page(tmp_path, monkeypatch):
    calls = []

    def predict(train, X, ends, seed):
        calls.append(seed)
        return PredictiveDistribution.from_points(np.tile(np.quantile(train[1], [0.1, 0.5, 0.9]), (len(X), 1)))

    for module in (models, limits, command):
        monkeypatch.setattr(module, "MODELS", {"DiffGBM": predict}, raising=False)
    monkeypatch.setattr(limits, "ours", lambda support: predict)
    monkeypatch.setattr(dependence, "RIVALS", {"LightGBM quantiles": predict})
    monkeypatch.setattr(dependence, "FAMILY_FREE", ("LightGBM quantiles",))
    found = {"promised_crps": 0.1, "promised_coverage": 0.9, "fresh_crps": 0.4, "fresh_coverage": 0.5}
    monkeypatch.setattr(dependence, "_library", lambda model, grouped, seed: found)
    args = argparse.Namespace(
        rows=40, seeds=1, models=["DiffGBM"], results_dir=tmp_path, figure=tmp_path / "structure.png"
    )
    command.run(args)
    fitted = len(calls)
    command.run(args)
    assert len(calls) == fitted
    assert args.figure.stat().st_size > 0
    lines = [json.loads(line) for line in (tmp_path / "structure.jsonl").read_text().splitlines()]
    assert {line["table"] for line in lines if line["part"] == "limits"} == set(tables.tables(5, 0))
    page = (tmp_path / "structure.md").read_text()
    assert "| move inside |" in page
    assert "--rows 40 --seeds 1" in page
    assert "| DiffGBM, with groups | 0.100 | 0.400 | 90.0% | 50.0% |" in page
    adaptive = next(line for line in lines if line["model"] == "DiffGBM, AdaptiveConformal")
    assert adaptive["window 4"] == pytest.approx(0.9, abs=0.02)


def test_classifiers_know_how_often_two_responses_are_at_their_atoms():
    found = joint.scores("claims", 400, 200, n_estimators=20, n_repeats=5)
    assert found["classifiers"][0] < 0.6 * found["beyond the limit"][0]
    for make in joint.TABLES.values():
        _, y, truth = make(4000, np.random.default_rng(0))
        np.testing.assert_allclose((y == joint.ATOMS).mean(axis=0), truth.mean(axis=0), atol=0.03)
