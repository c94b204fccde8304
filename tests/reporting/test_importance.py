"""Permutation importance in closed form."""

import numpy as np
import pytest
from scipy.stats import norm

from diffgbm.reporting import importance
from diffgbm.reporting.rows import read_rows
from tests.reporting.models import SCALES


def test_importance_for_median_and_interquartile_range(known_facts):
    # the median depends on feature 0 alone, the interquartile range on feature 1 alone
    median, iqr = known_facts.importance.median[:, 0], known_facts.importance.iqr[:, 0]
    assert median[1] == median[2] == iqr[2] == 0.0
    assert iqr[0] < 1e-9
    assert (known_facts.importance.rows, known_facts.importance.repeats) == (1000, 3)
    # |x - x'| of independent normals is 2 s / sqrt(pi); the range changes for half of the rows by a known amount
    assert median[0] == pytest.approx(2 * 3.0 / np.sqrt(np.pi), rel=0.1)
    assert iqr[1] == pytest.approx(0.5 * np.ptp(SCALES) * 2 * norm.ppf(0.75), rel=0.1)
    assert known_facts.responses[0].order.tolist() == [0, 1, 2]
    assert [grouping.by for grouping in known_facts.responses[0].by_features] == ["column 0", "column 1"]


def test_many_features_use_fewer_rows(known, monkeypatch):
    model, X, _ = known
    monkeypatch.setattr(importance, "BUDGET", 600)
    rows = read_rows(model, X)
    assert importance.permutation_importance(model, rows, repeats=2).rows == 100
    assert importance.permutation_importance(model, rows, max_rows=70, repeats=2).rows == 70
    monkeypatch.setattr(importance, "BUDGET", 1)
    assert importance.permutation_importance(model, rows, repeats=2).rows == importance.FEWEST


def test_a_constant_feature_has_no_importance(mixed):
    assert mixed[3].facts.importance.median[2].item() == 0.0
