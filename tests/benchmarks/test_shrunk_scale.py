"""Residuals divided by a scale or not: lines of all ways, and a page of ratios."""

import argparse

from benchmarks.protocol import Fold, Standardiser

from benchmarks import shrunk_scale, single_fits
from tests.conftest import toy

SMALL = {"n_estimators": 5, "n_repeats": 2, "num_leaves": 4, "early_stopping_rounds": None}


def test_all_ways_are_fitted(tmp_path, monkeypatch):
    X, y = toy(120)
    shift = Standardiser.fit(y)
    monkeypatch.setattr(
        single_fits, "fold_of", lambda *parts: Fold(X[:100], shift.apply(y[:100]), X[100:], y[100:], shift)
    )
    monkeypatch.setattr(shrunk_scale, "RECIPES", {"flow": SMALL})
    monkeypatch.setattr(shrunk_scale, "RESIDUALIZER_C", {"n_estimators": 5, "num_leaves": 4})
    args = argparse.Namespace(
        data_dir=None, data_sets=["concrete"], folds=[0], recipes=["flow"], seeds=1, results_dir=tmp_path
    )
    shrunk_scale.run(args)
    assert "| flow | concrete |" in (tmp_path / "shrunk_scale.md").read_text()


def test_ratios_are_those_to_the_mean():
    line = {"recipe": "flow", "data_set": "wine", "fold": 0, "seed": 0}
    values = {"mean": 2.0, "mean_scale": 3.0, "mean_shrunk_scale": 1.0}
    page = shrunk_scale.page([{**line, "residualize": scale, "crps": crps} for scale, crps in values.items()])
    assert "| flow | wine | 2 | 1.500 | 0.500 |" in page
    assert "1.500 (mean_scale) and 0.500 (mean_shrunk_scale)" in page
