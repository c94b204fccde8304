"""The benchmark of limits, atoms and counts: tables inside their limits, scores, lines that resume, the page."""

import argparse
import json

import numpy as np

from benchmarks import structure
from diffgbm import PredictiveDistribution


def test_responses_lie_inside_their_limits():
    for _, y, (low, high) in structure.tables(200, 0).values():
        assert low is None or y.min() >= low
        assert high is None or y.max() <= high


def test_scores_count_rows_with_a_prediction_outside():
    dist = PredictiveDistribution.from_points([np.linspace(-1.0, 1.0, 101), np.linspace(1.0, 2.0, 101)])
    found = structure.scores(dist, np.array([0.0, 5.0]), (0.0, None))
    assert (found["coverage"], found["outside"]) == (0.5, 0.5)
    assert structure.scores(dist, np.array([0.0, 5.0]), (None, None))["outside"] == 0.0


def test_lines_resume_and_become_a_page(tmp_path, monkeypatch):
    calls = []

    def predict(train, X, ends, seed):
        calls.append(seed)
        return PredictiveDistribution.from_points(np.tile(np.quantile(train[1], [0.1, 0.5, 0.9]), (len(X), 1)))

    monkeypatch.setattr(structure, "MODELS", {"DiffGBM": predict})
    monkeypatch.setattr(structure, "_ours", lambda support: predict)
    args = argparse.Namespace(
        rows=40, seeds=1, models=["DiffGBM"], results_dir=tmp_path, figure=tmp_path / "structure.png"
    )
    structure.run(args)
    fitted = len(calls)
    structure.run(args)
    assert len(calls) == fitted
    assert args.figure.stat().st_size > 0
    lines = [json.loads(line) for line in (tmp_path / "structure.jsonl").read_text().splitlines()]
    assert {line["table"] for line in lines} == set(structure.tables(5, 0))
    page = (tmp_path / "structure.md").read_text()
    assert "| move inside |" in page
    assert "--rows 40 --seeds 1" in page
