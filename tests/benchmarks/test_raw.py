"""The comparison of raw tables: preparation that packages demand, scores, lines that resume, and the page."""

import json
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from benchmarks.__main__ import main
from benchmarks.peers.environments import PeerError
from benchmarks.raw import command, models
from benchmarks.raw.models import Settings, even_levels, least_preparation, lightgbm_quantiles, scores
from benchmarks.raw.page import page, table_ratios
from benchmarks.raw.real_tables import REAL, real_table
from benchmarks.raw.troubles import USUAL, business_table

LEVELS = even_levels(19)


def climatology(table, settings):
    return np.tile(np.quantile(table.y_train, settings.levels), (len(table.y_test), 1))


def test_preparation_is_what_the_packages_demand():
    table = business_table("houses", USUAL, 100, 30)
    frame, categories, texts = least_preparation(table.X_train)
    assert list(frame) == list(table.X_train)
    assert texts == ["description"]
    # numbers that are written as text stay text; exact numbers, dates and durations are numbers
    assert {"lot", "size", "town", "agent", "listed", "photos", "remarks"} <= set(categories)
    numbers = frame.drop(columns=categories + texts)
    assert {"built", "tax", "sold", "on market", "garden"} <= set(numbers)
    assert all(column.dtype.kind == "f" for _, column in numbers.items())
    assert numbers["tax"].iloc[0] == float(table.X_train["tax"].iloc[0])
    found = lightgbm_quantiles(table, Settings(1.0, 0))
    assert found.shape == (30, 19)
    assert np.isfinite(found).all()


def test_scores_of_the_true_quantiles():
    rng = np.random.default_rng(0)
    y = rng.uniform(size=4000)
    found = scores(np.tile(LEVELS, (4000, 1)), y, 0.0, 1.0)
    assert found["coverage90"] == pytest.approx(0.9, abs=0.02)
    assert found["coverage50"] == pytest.approx(0.5, abs=0.03)
    # the CRPS of the uniform distribution is 1/6; quantiles at 19 levels leave out the tails
    assert found["crps"] == pytest.approx(1.0 / 6.0, abs=0.01)
    assert found["impossible"] == 0.0
    assert scores(np.tile(LEVELS, (2, 1)) - [[0.0], [0.1]], y[:2], 0.0, 1.0)["impossible"] == 0.5


def test_ninety_nine_quantiles():
    y = np.random.default_rng(0).uniform(size=4000)
    assert even_levels(99)[[0, 4, -1]].tolist() == [0.01, 0.05, 0.99]
    found = scores(np.tile(even_levels(99), (4000, 1)), y, 0.0, 1.0)
    assert found["coverage90"] == pytest.approx(0.9, abs=0.02)
    assert found["crps"] == pytest.approx(1.0 / 6.0, abs=0.005)
    assert len(found["losses"]) == 20
    assert np.mean(found["losses"]) == pytest.approx(found["crps"], rel=1e-6)


def test_standard_errors_are_paired():
    rng = np.random.default_rng(0)
    hard = rng.exponential(size=20)  # what makes a block hard is the same for both

    def line(model, losses):
        return {"table": "a", "split": 0, "model": model, "crps": losses.mean(), "losses": losses.tolist()}

    base = line("CatBoost", 1.0 + hard)
    close = table_ratios([base, line("LightGBM", 1.1 * (1.0 + hard))], "LightGBM")["a"]
    assert (close.value, close.error) == (pytest.approx(1.1), pytest.approx(0.0, abs=1e-12))
    noisy = table_ratios([base, line("LightGBM", 1.0 + rng.permutation(hard))], "LightGBM")["a"]
    assert noisy.value == pytest.approx(1.0)
    assert 0.05 < noisy.error < 0.5
    assert str(noisy).startswith("1.000 ± 0.")


def test_coverage_is_shared_out_at_an_atom():
    found = scores(np.tile(np.where(LEVELS < 0.705, 0.0, LEVELS), (1000, 1)), np.arange(1000) * 0.0, 0.0, np.inf)
    # 14 quantiles are zero: the cells 0 to 14 are possible, 14 of them inside of 90% and 10 inside of 50%
    assert found["coverage90"] == pytest.approx(14 / 15)
    assert found["coverage50"] == pytest.approx(10 / 15)


def test_lines_resume_and_become_a_page(tmp_path, monkeypatch):
    calls = []

    def counted(table, settings):
        calls.append(settings.seed)
        return climatology(table, settings)

    def broken(table, settings):
        raise PeerError("no such package")

    shifted = {"CatBoost": lambda table, settings: climatology(table, settings) * 2.0, "AutoGluon": broken}
    monkeypatch.setattr(command, "MODELS", {"AutoDiffGBM fast": counted, **shifted})
    words = ["raw", "--tables", "houses", "claims", "--rows", "80", "--test-rows", "40", "--results-dir", str(tmp_path)]
    words += ["--models", "AutoDiffGBM fast", "CatBoost", "AutoGluon", "--time-limit", "5"]
    assert main(words) == 0
    assert calls == [0, 0, 1, 1]
    assert main([*words, "--first-split", "1000", "--splits", "1"]) == 0
    assert main(words) == 0
    assert calls == [0, 0, 1, 1, 1000, 1000]
    lines = [json.loads(line) for line in (tmp_path / "raw.jsonl").read_text().splitlines()]
    assert {(line["table"], line["split"]) for line in lines} == {
        (t, s) for t in ("houses", "claims") for s in (0, 1, 1000)
    }
    more = [*words, "--quantiles", "99", "--threads", "2", "--splits", "1", "--models", "CatBoost", "AutoDiffGBM fast"]
    text = (tmp_path / "raw.md").read_text()
    assert main(more) == 0  # other quantiles are other lines
    assert len(calls) == 8
    assert "--time-limit 5 --quantiles 99 --threads 2`" in (tmp_path / "raw.md").read_text()
    assert "--rows 80 --test-rows 40 --splits 2 --time-limit 5" in text
    assert "AutoDiffGBM fast: 0." in text
    assert "AutoGluon |" not in text


def test_losses_are_named():
    line = {
        "split": 0,
        "rows": 9,
        "time_limit": 5.0,
        "coverage50": 0.5,
        "coverage90": 0.8,
        "impossible": 0,
        "seconds": 1,
        "test_rows": 9,
    }
    names = [("a", "CatBoost", 1.0), ("a", "LightGBM", 1.1), ("b", "CatBoost", 2.0), ("b", "LightGBM", 1.0)]
    text = page([{**line, "table": t, "model": m, "crps": c} for t, m, c in names], ["b"])
    assert "- LightGBM: 0.742 of CatBoost's CRPS (geometric mean of 2 tables); higher on a (+10.0%)." in text
    assert "off by 0.100 on average" in text
    assert "Fewer splits" not in text
    assert "1 seed(s)" in text
    more = [{**line, "table": "a", "model": "CatBoost", "crps": 3.0, "split": 1}]
    marked = page([{**line, "table": t, "model": m, "crps": c} for t, m, c in names] + more, ["b"])
    assert "| a | **2** | 1.1 † |" in marked  # the lowest of those with all splits
    assert "† Fewer splits than the others" in marked
    third = [{**line, "table": "c", "model": "CatBoost", "crps": 3.0}]
    assert "of real ones (2 of a); a quarter" in page([*more, *third, {**third[0], "table": "d"}], ["b"])
    assert text.index("| b | 2 | **1** |") < text.index("| a | **1** | 1.1 |")


@pytest.mark.skipif(find_spec("vega_datasets") is None, reason="the tables are in the package vega_datasets")
def test_real_tables_are_split_without_preparation():
    table = real_table("cars", 200, 100, 0)
    assert (len(table.X_train), len(table.X_test)) == (200, 99)
    assert pd.api.types.is_string_dtype(table.X_train["Name"])
    assert pd.api.types.is_datetime64_any_dtype(table.X_train["Year"])
    assert REAL["cars"].target not in table.X_train
    assert np.isfinite(table.y_train).all()
    other = real_table("cars", 200, 100, 1)
    assert not np.array_equal(other.y_test, table.y_test)


def test_a_peer_that_fails_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(models, "python_of", lambda package, cache: "/bin/false")
    with pytest.raises(PeerError, match="AutoGluon failed"):
        models.autogluon_quantiles(business_table("shop", USUAL, 50, 10), Settings(1.0, 0, tmp_path))
