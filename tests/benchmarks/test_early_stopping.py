"""When boosting stops: lines that resume, and a page with the variation over seeds."""

import argparse

from benchmarks.protocol import Fold, Standardiser
from benchmarks.records import read

from benchmarks import early_stopping, single_fits
from tests.conftest import tiny, toy


def test_lines_resume_and_become_a_page(tmp_path, monkeypatch):
    X, y = toy(120)
    shift = Standardiser.fit(y)
    part = Fold(X[:100], shift.apply(y[:100]), X[100:], y[100:], shift)
    monkeypatch.setattr(single_fits, "fold_of", lambda *parts: part)
    calls = []

    def make(**params):
        calls.append(params)
        return tiny("default", **{**params, "early_stopping_rounds": 3, "n_repeats": 2})

    monkeypatch.setitem(early_stopping.RECIPES, "DiffGBM()", make)
    args = argparse.Namespace(data_dir=None, data_sets=["energy"], recipes=["DiffGBM()"], seeds=2, results_dir=tmp_path)
    early_stopping.run(args)
    early_stopping.run(args)
    assert len(calls) == len(list(read(tmp_path / "early_stopping.jsonl"))) == 8
    assert "| energy | DiffGBM() | auto | even | 2 |" in (tmp_path / "early_stopping.md").read_text()


def test_variation_is_that_of_rounds():
    line = {
        "data_set": "energy",
        "fold": 0,
        "recipe": "flow",
        "eval_percent": 0.1,
        "design": "even",
        "crps": 1.0,
        "seconds": 1.0,
    }
    page = early_stopping.page([{**line, "seed": seed, "rounds": rounds} for seed, rounds in enumerate((50.0, 150.0))])
    assert "| 2 | 50 to 150 | 0.50 | 1 | 1.0 |" in page
