"""Permutation importance in closed form."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from diffgbm.reporting import importance
from diffgbm.reporting.rows import read_rows
from tests.conftest import tiny
from tests.reporting.models import SCALES, Known


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
    rows = read_rows(model, X)
    monkeypatch.setattr(importance, "USUAL", 600)
    assert importance.permutation_importance(model, rows, repeats=2).rows == 100
    monkeypatch.setattr(importance, "BUDGET", 600)
    assert importance.permutation_importance(model, rows, max_rows=1000, repeats=2).rows == 100
    assert importance.permutation_importance(model, rows, max_rows=70, repeats=2).rows == 70
    monkeypatch.setattr(importance, "BUDGET", 1)
    assert importance.permutation_importance(model, rows, repeats=2).rows == importance.FEWEST


def test_directions_and_effects(known, known_facts):
    result, rows = known_facts.importance, known_facts.rows
    assert result.median_direction[0, 0] == pytest.approx(1.0)
    assert result.iqr_direction[1, 0] == pytest.approx(1.0)
    assert np.isnan(result.median_direction[2, 0])
    # the median is the first feature, so its partial dependence is the feature less its mean
    chosen = np.unique(result.positions)
    effect = importance.effect_of(result, rows, 0, 0)
    x = rows.matrix[result.sources[0], 0]
    groups = importance.labelled_groups(rows, 0, result.sources[0])
    for group, (label, positions) in zip(effect.groups, groups, strict=True):
        assert group.label == label
        expected = x[positions].mean() - rows.matrix[chosen, 0].mean()
        assert abs(group.median - expected) < 4 * group.median_error + 1e-9
        assert group.iqr == pytest.approx(0.0, abs=1e-9)
    down = importance.permutation_importance(Falling(**known[0].get_params()).fit(known[1][:90], known[2][:90]), rows)
    assert down.median_direction[0, 0] == pytest.approx(-1.0)


class Falling(Known):
    """The known model with its median turned around."""

    def predict_distribution(self, X, grid="auto", **options):
        return super().predict_distribution(np.asarray(X) * [-1.0, 1.0, 1.0])


def test_batches_do_not_change_the_importance(known, monkeypatch):
    model, X, _ = known
    rows = read_rows(model, X[:200])
    whole = importance.permutation_importance(model, rows, repeats=2)
    monkeypatch.setattr(importance, "BATCH", 1)
    np.testing.assert_array_equal(whole.median, importance.permutation_importance(model, rows, repeats=2).median)


def test_categories_have_no_direction(mixed):
    assert np.isnan(mixed[3].facts.importance.median_direction[1]).all()


def test_categories_of_many_levels_have_no_direction_either():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 150, 400)
    X = pd.DataFrame({"zip": pd.Categorical([f"z{k:03}" for k in codes]), "x": rng.uniform(size=400)})
    rows = read_rows(model := tiny().fit(X, codes + X.x), X)
    result = importance.permutation_importance(model, rows)
    assert np.isnan(result.median_direction[0]).all()
    assert result.median_direction[1, 0] >= -1.0


def test_a_constant_feature_has_no_importance(mixed):
    assert mixed[3].facts.importance.median[2].item() == 0.0
