"""The demonstration: its tables, its sentences, and the whole of it with small models."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from diffgbm import AutoDiffGBM
from diffgbm.cli import demo
from tests.auto.tiny_auto import TINY


def line(table, model, crps):
    return demo.Line(table, model, crps, 0.1, 0.5, 0.9, 1.0, 0.1)


@pytest.mark.parametrize("x", [0.2, 0.95])
def test_the_toys_density_is_one(x):
    area, _ = quad(lambda y: demo.toy_density(x, np.array(y)), -200, 200, limit=500)
    assert area == pytest.approx(1.0, abs=1e-4)


def test_the_toys_draws_follow_its_density():
    _, y = demo.draw_toy(20_000, 0)
    assert np.mean(y > 0.0) == pytest.approx(demo.UPPER, abs=0.02)


@pytest.mark.parametrize("model", [demo.QuantileLightGBM(), demo.ConstantVariance()])
def test_peers_predict_distributions(model):
    X, y = demo.draw_toy(200, 1)
    distribution = model.fit(X, y).predict_distribution(X[:7])
    assert len(distribution) == 7
    assert np.all(np.diff(distribution.values, axis=1) >= 0.0)


def test_a_loss_is_explained_and_a_win_is_not():
    lines = [line("t", "AutoDiffGBM", 1.0), line("t", "quantile LightGBM", 1.1), line("t", "DiffGBM flow", 1.2)]
    (sentence,) = demo.explanations(lines)
    assert sentence.startswith("On t, DiffGBM flow loses to quantile LightGBM")
    assert sentence.endswith("Use AutoDiffGBM there.")
    assert demo.explanations(lines[:2]) == []


def test_a_loss_of_the_automatic_model_is_owned():
    auto, peer = line("t", "AutoDiffGBM", 1.2), line("t", "quantile LightGBM", 1.1)
    (sentence,) = demo.explanations([auto, peer])
    assert (
        sentence
        == "On t, AutoDiffGBM loses to quantile LightGBM: this table suits quantile LightGBM better. Use that there."
    )
    (sentence,) = demo.explanations([replace(auto, cut_short=True), peer])
    assert "AutoDiffGBM had 20 s here, too few for its search; give it 30 s or more." in sentence


def test_the_whole_demonstration(tmp_path, monkeypatch, capsys):
    tiny = {"AutoDiffGBM": lambda: AutoDiffGBM(preset=TINY, time_limit=60, seed=0, n_jobs=1)}
    monkeypatch.setattr(demo, "MODELS", {**tiny, "LightGBM, same variance": demo.ConstantVariance})
    small = demo.Table("toy", *demo.draw_toy(120, 0), *demo.draw_toy(40, 1))
    other = demo.Table("diabetes", small.X, small.y, small.X_test, small.y_test)
    monkeypatch.setattr(demo, "tables", lambda: [other, small])
    demo.main(str(tmp_path / "demo.png"))
    text = capsys.readouterr().out
    assert text.count("AutoDiffGBM  ") == 2
    assert "What you get" in text
    assert "observed" in text
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (tmp_path / "demo.html").read_text()
