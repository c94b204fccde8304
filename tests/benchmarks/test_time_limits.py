"""The measurement of short time limits."""

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.protocol import prepare
from benchmarks.table_files import Table
from benchmarks.time_limits import Line

from benchmarks import time_limits
from tests.auto.tiny_auto import TINY, auto, small_trees  # noqa: F401


class Watch:
    """Is 3 seconds later at each look."""

    at = 0.0

    def __call__(self):
        self.at += 3.0
        return self.at


class Climatology:
    preset, time_limit = "fast", 2.0

    def fit(self, X, y):
        self.y = y
        return self

    def crps(self, X, y):
        return np.abs(y - self.y.mean())


def test_a_line_is_in_original_units():
    X, y = np.arange(24.0)[:, None], np.arange(24.0) ** 2
    fold = prepare(Table(X, y, ("a",), "y"), 0)
    line = time_limits.measure("toy", fold, Climatology(), Watch())
    mean = fold.response.restore(fold.y_train).mean()
    assert (line.data_set, line.preset, line.rows, line.limit, line.seconds) == ("toy", "fast", 20, 2.0, 3.0)
    assert line.crps == pytest.approx(np.abs(fold.y_test - mean).mean())
    assert not line.within_limit


def test_the_real_estimator_makes_a_line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    fold = prepare(Table(X, 10.0 * X[:, 0] + rng.normal(size=90), ("a", "b"), "y"), 0)
    line = time_limits.measure("toy", fold, auto(TINY, time_limit=1e6))
    assert line.within_limit
    assert 0.2 < line.crps < 10.0


def test_the_page_by_hand():
    lines = [Line("yacht", "fast", 256, 5.0, 6.0, 0.1234), Line("wine", "best", 5414, 20.0, 24.1, 0.3)]
    text = time_limits.table(lines, 2)
    assert "--threads 2" in text
    assert "| yacht | 256 | fast | 5 | 6.0 | 1.20 | 0.123 |" in text
    assert "| wine | 5414 | best | 20 | 24.1 | 1.21 | 0.3 |" in text
    assert "1 of 2 took at most 1.2 times the limit" in text


def test_the_command_fits_every_table_with_every_preset_under_every_limit(tmp_path, monkeypatch, capsys):
    fold = prepare(Table(np.arange(24.0)[:, None], np.arange(24.0), ("a",), "y"), 0)
    made = []
    monkeypatch.setattr(time_limits, "first_folds", lambda args: ((name, fold) for name in args.data_sets))
    monkeypatch.setattr(time_limits, "AutoDiffGBM", lambda **arguments: made.append(arguments) or Climatology())
    options = ["--data-sets", "yacht", "wine", "--limits", "5", "20", "--threads", "2"]
    assert main(["time-limits", *options, "--results-dir", str(tmp_path)]) == 0
    once = [("fast", 5.0, 2), ("fast", 20.0, 2), ("best", 5.0, 2), ("best", 20.0, 2)]
    assert [(arguments["preset"], arguments["time_limit"], arguments["n_jobs"]) for arguments in made] == once * 2
    text = (tmp_path / "time_limits.md").read_text(encoding="utf-8")
    assert text.count("| yacht |") == text.count("| wine |") == 4
    assert " of 8 took at most" in text
