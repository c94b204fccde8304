"""The benchmark of many levels: columns of noise that are noise, lines that resume, ratios by hand, the page."""

import argparse
import json

import numpy as np
import pytest

from benchmarks import levels
from diffgbm import PredictiveDistribution


def test_a_column_of_noise_leaves_the_rest_of_the_table_alone():
    plain, noisy, own = (levels.noise_table("waves", number, 200, 3) for number in (0, 20, -1))
    for other in (noisy, own):
        np.testing.assert_array_equal(plain.y, other.y)
        np.testing.assert_array_equal(plain.X, other.X)
    assert list(noisy.frame(False)) == [*plain.frame(False), "level"]
    assert len(set(noisy.levels)) == 20
    assert own.frame(True)["level"].is_unique


@pytest.mark.parametrize("effect", levels.EFFECTS)
def test_informative_columns_explain_the_response(effect):
    table = levels.informative_table(effect, 1000, 20_000, 0)
    left = table.y - np.sin(2.0 * table.X[:, 0]) - 0.5 * table.X[:, 1]
    left = np.log(np.abs(left)) if effect == "spread" else left
    count = np.maximum(1, np.bincount(table.levels, minlength=1000))
    means = np.bincount(table.levels, left, minlength=1000) / count
    assert np.var(means[table.levels]) > 0.2 * np.var(left)


def line(part, kind, number, model, crps, seed=0):
    return {
        **{"part": part, "kind": kind, "levels": number, "rows": 2000, "seed": seed, "model": model},
        **{"crps": crps, "coverage": 0.9},
    }


def test_ratios_by_hand():
    lines = [line("noise", "waves", 0, "DiffGBM", 1.0), line("noise", "waves", 20, "DiffGBM", 1.01)]
    lines += [line("noise", "waves", 0, "DiffGBM", 2.0, 1), line("noise", "waves", 20, "DiffGBM", 2.06, 1)]
    lines += [line("informative", "normal", 0, "CatBoost", 2.0), line("informative", "normal", 1000, "CatBoost", 1.0)]
    lines += [line("informative", "normal", 1000, "DiffGBM", 1.1)]
    assert levels.ratios(lines, "noise", "DiffGBM", 2000) == {("waves", 20): (pytest.approx(1.02), 1.03, 2)}
    assert levels.ratios(lines, "informative", "DiffGBM", 2000) == {("normal", 1000): (1.1, 1.1, 1)}
    page = levels.page(lines)
    assert "| DiffGBM, 2,000 | waves | 1.020 (1.030, 2) |" in page
    assert "| DiffGBM, 2,000 | normal | 1.100 (1.100, 1) | , 50% | 0.900, 0.900 |" in page
    assert "Missed: DiffGBM, 2,000 rows, normal, 1,000 levels: 1.100." in page


def test_lines_resume(tmp_path, monkeypatch):
    calls = []

    def predict(table, with_levels, seed):
        assert ("level" in table.frame(True, with_levels)) == with_levels
        calls.append(seed)
        points = np.quantile(table.train, [0.1, 0.5, 0.9])
        return PredictiveDistribution.from_points(np.tile(points, (len(table.test), 1)))

    monkeypatch.setattr(levels, "MODELS", {"DiffGBM": predict})
    monkeypatch.setattr(levels, "warmup", lambda: None)
    monkeypatch.setattr(levels, "TEST_ROWS", 50)
    args = argparse.Namespace(
        seeds=[5],
        models=["DiffGBM"],
        rows=[2000],
        parts=["noise"],
        kinds=None,
        levels=None,
        results_dir=tmp_path,
        page=False,
    )
    levels.run(args)
    levels.run(args)
    assert len(calls) == len(levels.RESPONSES) * len(levels.NUMBERS)
    kept = [json.loads(text) for text in (tmp_path / "levels.jsonl").read_text().splitlines()]
    assert {found["levels"] for found in kept} == set(levels.NUMBERS)
    assert "1.000 (1.000, 1)" in (tmp_path / "levels.md").read_text()
