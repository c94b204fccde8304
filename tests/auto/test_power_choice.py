"""Skewed responses are learned on the scale that lowers the CRPS of unseen rows, others on the user's."""

import numpy as np
import pytest

from diffgbm import load
from diffgbm.auto.atom_choice import PROBE
from diffgbm.auto.budget import Clock
from diffgbm.auto.power_choice import on_best_scale, skewness
from diffgbm.fitting.training_table import read_table
from tests.auto.tiny_auto import LEAST, auto, small_trees  # noqa: F401


@pytest.fixture(autouse=True)
def small_probe(monkeypatch):
    """Compare smaller models."""
    small = {"n_repeats": 4, "n_estimators": 40, "extra_residualizer_params": {"n_estimators": 40, "num_leaves": 8}}
    monkeypatch.setattr("diffgbm.auto.atom_choice.PROBE", {**PROBE, **small})


def prices(n, seed=0, noise=0.5):
    """Prices that columns multiply, with multiplicative noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 1000.0 * np.exp(0.5 * X[:, 0] + 0.3 * X[:, 1] + noise * rng.standard_normal(n))


def counts(n, seed=0):
    """Overdispersed counts with many zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(1.0 + 0.6 * X[:, 0]) * rng.gamma(0.8, 1.0 / 0.8, n)).astype(float)


def chosen(X, y, clock=None, **options):
    table = read_table(X, y, None, options.get("weights"), "test")
    return on_best_scale(table, 0, 1, clock or Clock(None)).response.power


def test_multiplicative_noise_is_learned_as_a_logarithm():
    X, y = prices(300)
    scale = chosen(X, y)
    assert scale.power == 0.0
    assert scale.unit == pytest.approx(np.quantile(y, 0.1))


def test_counts_get_a_scale():
    assert chosen(*counts(300)) is not None


def test_others_keep_their_scale():
    X, y = prices(300)
    rng = np.random.default_rng(1)
    assert chosen(X, y - 100.0) is None  # negative somewhere
    assert chosen(X, 10.0 + X[:, 0] + 0.1 * rng.standard_normal(300)) is None  # not skewed
    assert chosen(X, np.column_stack([y, y])) is None
    assert chosen(X[:80], y[:80]) is None  # few rows
    assert chosen(*prices(300, noise=0.01)) is None  # nearly known
    assert chosen(X, y, Clock(10.0, now=lambda: 0.0)) is None  # little time


def test_time_cuts_the_comparison_short():
    seconds = iter(np.arange(0.0, 1000.0, 5.0))
    clock = Clock(30.0, now=lambda: float(next(seconds)))
    assert chosen(*prices(300), clock) is None
    assert clock.cut


def test_skewness():
    y = np.array([0.0, 0.0, 3.0])
    assert skewness(y, None) == pytest.approx(np.sqrt(0.5))
    assert skewness(y, np.array([0.5, 0.5, 1.0])) == pytest.approx(0.0)
    assert skewness(np.ones(5), None) == 0.0


def test_automatic_fits_learn_on_the_scale(tmp_path, monkeypatch):
    monkeypatch.setattr("diffgbm.auto.power_choice.MIN_NOISE", 0.0)
    X, y = prices(300, noise=0.25)
    model = auto(LEAST).fit(X, y)
    assert model.pool_.first.response.power is not None
    assert f"Candidates learn {model.pool_.first.response.power} of y, which is better on such rows." in model.explain()
    fresh, observed = prices(500, seed=1, noise=0.25)
    distribution = model.predict_distribution(fresh)
    out_of_bag = model.oob_distribution_.crps(y[model.oob_rows_]).mean()
    assert distribution.crps(observed).mean() == pytest.approx(out_of_bag, rel=0.25)
    assert (distribution.quantile(0.0) >= 0.0).all()
    assert model.sample(fresh[:20], 200, seed=0).mean(axis=0) == pytest.approx(distribution[:20].mean(), rel=0.1)
    far = model.predict_distribution(np.full((1, 3), 30.0))
    assert far.quantile(0.99)[0] < 20.0 * y.max()
    model.save(tmp_path / "m.dgbm")
    same = load(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(same.predict_distribution(fresh).values, distribution.values)
