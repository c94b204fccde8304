"""The measurement of serving: its page, its peers and its processes."""

import numpy as np
import pytest
from benchmarks.datasets import ROOT
from benchmarks.serving import command, page, peers, worker


def test_the_page_has_the_least_times_and_their_ratios():
    def call(version, model, seconds, rows=100):
        which = {"kind": "call", "question": "interval", "rows": rows}
        return {**which, "version": version, "model": model, "seconds": seconds}

    records = [
        call("before", "fast", 0.08),
        call("before", "fast", 0.06),
        call("now", "fast", 0.02),
        call("now", "fast, compressed", 0.01),
        call("now", "quantile-forest", 0.5),
        {"kind": "compression", "model": "fast, compressed", "text": "One of two bags."},
        {"kind": "first", "model": "fast", "version": "now", "import": 1.0, "load": 0.1, "first": 0.5, "later": 0.002},
    ]
    text = page.page(records, {"n_train": 2000, "rounds": 2, "before": "0123456789abc"})
    assert "| `AutoDiffGBM`, fast | 200 |" in text
    assert "| quantile-forest | 5,000 |" in text
    assert "| `AutoDiffGBM`, fast | 3.0 |" in text
    assert "| `AutoDiffGBM`, fast, compressed | 2.0 |" in text
    assert "commit 0123456789," in text
    assert "One of two bags." in text
    assert "| `AutoDiffGBM`, fast | now | 1,000.0 | 100.0 | 500.0 | 2.0 |" in text


def test_levels_are_interpolated_between_those_that_were_fitted():
    found = peers.interpolated(np.array([peers.LEVELS, 3.0 * peers.LEVELS[::-1]]))
    np.testing.assert_allclose(found[0, 1:-1], peers.ASKED[1:-1])
    np.testing.assert_allclose(found[1, 1:-1], 3.0 * peers.ASKED[1:-1])


def test_quantiles_of_lightgbm_in_order(monkeypatch):
    monkeypatch.setattr(peers, "TREES", 3)
    X, y, rows = worker.table(60, 4)
    interval, quantiles = peers.lightgbm_quantiles(X, y)
    assert interval(rows).shape == (4, 2)
    assert quantiles(rows).shape == (4, 99)
    assert np.all(np.diff(quantiles(rows), axis=1) >= 0.0)


def test_a_process_fits_loads_and_times(tmp_path, flow_model):
    flow_model.save(tmp_path / "m.dgbm")
    here = worker.Worker(20)
    here.rows = here.rows[:, :3]
    here.load("m", str(tmp_path / "m.dgbm"))
    for question in page.QUESTIONS:
        assert here.time("m", question, 5, 2) > 0.0
    assert here.call("m", "quantiles", 5)().shape == (5, 99)


def test_a_commit_that_is_not_there_is_named(tmp_path):
    with pytest.raises(command.ResultsError, match="--before 0000000: this clone has no such commit"):
        command.source_of("0000000", tmp_path)
    assert (ROOT / "benchmarks" / "serving" / "worker.py").exists()
