"""The result of a search beside the default settings."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from diffgbm.cli.comparison import compared, comparison

DEFAULT = {"num_leaves": 31, "max_bin": 255, "learning_rate": 0.1, "seed": 0, "n_jobs": 1}


def search(best: float, default: float) -> SimpleNamespace:
    """A fitted search with one failed trial; its objective gives ``default``."""
    asked: list[dict] = []

    def scores(arguments):
        asked.append(arguments)
        return np.full(2, default)

    return SimpleNamespace(
        cv_results_={"mean_crps": np.array([best, 3.0, np.nan])},
        best_score_=best,
        best_params_={"num_leaves": 63, "max_bin": 255, "learning_rate": 0.01236},
        objective=lambda X, y: SimpleNamespace(scores=scores),
        asked=asked,
    )


@pytest.mark.parametrize(("default", "kept"), [(0.5, "default"), (1.0, "found"), (2.0, "found")])
def test_the_better_of_the_two_is_kept(default, kept):
    made = search(1.0, default)
    outcome = compared(made, None, None, DEFAULT)
    assert outcome["kept"] == kept
    assert (outcome["trials"], outcome["failed"]) == (2, 1)
    assert (outcome["crps"], outcome["default_crps"]) == (1.0, default)
    # seed and threads are those of the search
    assert made.asked == [{name: DEFAULT[name] for name in ("num_leaves", "max_bin", "learning_rate")}]


def test_the_table_has_both_scores_and_the_settings_that_differ():
    outcome = compared(search(1.0, 0.5), None, None, DEFAULT)
    text = comparison(outcome, DEFAULT)
    assert "2 trials, 1 failed" in text
    assert re.search(r"CRPS \(lower is better\) +│ 1 +│ 0\.5 ", text)
    assert re.search(r"num_leaves +│ 63 +│ 31 ", text)
    assert re.search(r"learning_rate +│ 0\.01236 +│ 0\.1 ", text)
    assert "max_bin" not in text
    assert "No trial is better" in text
    assert "No trial is better" not in comparison({**outcome, "kept": "found", "failed": 0}, DEFAULT)
