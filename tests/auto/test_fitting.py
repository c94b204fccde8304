"""The order of an automatic fit: held-out rows, shapes and recalibration."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm import load
from diffgbm.auto import finishing, fitting
from diffgbm.auto.recalibration import Correction
from tests.auto.tiny_auto import LEAST, TINY, auto, small_trees  # noqa: F401
from tests.conftest import toy
from tests.fitting.test_joint_atoms import table as claims


def test_recalibration_is_reported_and_can_be_turned_off(monkeypatch):
    theta = np.zeros((16, 4))
    theta[1, 0] = -0.3  # PIT values are near the middle: distributions are too wide
    correction = Correction(theta, np.linspace(0.0, 1.0, 101))
    monkeypatch.setattr(finishing, "accepted_correction", lambda *known: correction)
    X, y = toy()
    recalibrated, plain = auto(LEAST).fit(X, y), auto(LEAST, recalibrate=False).fit(X, y)
    assert "recalibrated" in recalibrated.explain()
    assert recalibrated.pool_.correction is correction
    assert "recalibrated" not in plain.explain()
    assert plain.pool_.correction is None
    narrow, wide = (np.diff(model.predict_interval(X, coverage=0.5)) for model in (recalibrated, plain))
    assert (narrow < 0.9 * wide).all()


def test_large_tables_are_recalibrated_by_held_out_rows(monkeypatch):
    asked = []
    monkeypatch.setattr(finishing, "accepted_correction", lambda *known: asked.append(known))
    monkeypatch.setattr(fitting, "LARGE_TABLE", 100)
    X, y = toy()
    weights = np.linspace(0.5, 1.5, len(y))
    model = auto(LEAST).fit(X, y, sample_weight=weights)
    held_out = np.setdiff1d(np.arange(len(y)), model.oob_rows_)
    assert len(held_out) == len(y) // 20
    assert len(model.oob_distribution_) == len(y) - len(held_out)
    distribution, seen_y, seen_weights, *_ = asked[0]
    np.testing.assert_array_equal(seen_y, y[held_out])
    np.testing.assert_allclose(seen_weights / seen_weights[0], weights[held_out] / weights[held_out][0])
    # the correction is fitted to the pool, not to its out-of-bag distributions
    pool = model.pool_.distribution(model.encode(X[held_out]), finishing.HOLDOUT_POINTS)
    np.testing.assert_array_equal(distribution.values, pool.values)
    # rows are held out only for recalibration
    asked.clear()
    two = auto(LEAST).fit(X, np.column_stack([y, -y]))
    off = auto(LEAST, recalibrate=False).fit(X, y)
    for whole in (two, off):
        np.testing.assert_array_equal(np.sort(whole.oob_rows_), np.arange(len(y)))
    assert not asked


@pytest.mark.parametrize(("n", "held_out"), [(20_000, 0), (20_020, 1001), (40_000, 2000), (300_000, 2000)])
def test_how_many_rows_are_held_out(n, held_out):
    kept, out = fitting.divided(n, 7, True)
    assert len(out) == held_out
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, out])), np.arange(n))
    np.testing.assert_array_equal(fitting.divided(n, 7, True)[1], out)


def grades(n=600):
    """Three values, of which one is all but certain at many rows."""
    X, _ = toy(n)
    return X, np.digitize(X[:, 0] + 0.02 * X[:, 1], [0.35, 0.7]) * 0.1 + 0.1


def test_automatic_fits_keep_to_the_values_and_report_it():
    X, y = grades()
    preset, values = replace(TINY, recipes=("edm",), noisy_rows=4000), np.unique(y)
    model = auto(preset).fit(X, y)
    np.testing.assert_array_equal(model.pool_.shapes[0].atoms, values)
    assert "kept to 3 values from 0.1 to 0.3" in model.explain()
    assert np.isin(model.oob_distribution_.values, values).all()
    assert np.isin(model.sample(X, 5, seed=0), values).all()
    distribution = model.predict_distribution(X)
    assert np.isin(distribution.quantile(np.linspace(0.0, 1.0, 51)), values).all()
    np.testing.assert_allclose(sum(distribution.pmf(value) for value in values), 1.0)
    assert not auto(preset, discrete=False).fit(X, y).pool_.shapes[0]


def test_positive_responses_have_positive_predictions():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = np.exp(X[:, 0] + rng.standard_normal(300))
    model = auto().fit(X, y)
    distribution = model.predict_distribution(X)
    assert (distribution.cdf(-1e-12) == 0.0).all()
    assert (distribution.quantile([0.0, 0.001, 0.05]) >= 0.0).all()
    assert (model.sample(X, 20, seed=0) >= 0.0).all()
    assert "at least 0" in model.explain()
    assert (distribution.pmf(0.0) == 0.0).all()  # no response is exactly zero
    assert (model.sample(X, 20, seed=0) > 0.0).all()
    assert (model.oob_distribution_.pmf(0.0) == 0.0).all()


@pytest.mark.parametrize(("support", "low", "high"), [((0.1, 2.0), 0.1, 2.0), ((None, 2.0), -np.inf, 2.0)])
def test_support_limits_predictions(support, low, high, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = np.clip(0.3 * rng.standard_normal(300) + 2.0 * X[:, 0], 0.1, 2.0)
    model = auto(support=support).fit(X, y)
    model.save(tmp_path / "m.diffgbm")
    loaded = load(tmp_path / "m.diffgbm")
    assert loaded.support == support
    for each in (model, loaded):
        distribution = each.predict_distribution(X)
        assert distribution.quantile(0.0).min() >= low
        assert distribution.quantile(1.0).max() <= high
        assert each.sample(X, 20, seed=0).max() <= high
    assert "at most 2" in model.explain()
    with pytest.raises(ValueError, match=r"support=\(0\.5, None\): \d+ of 300 responses lie outside"):
        auto(support=(0.5, None)).fit(X, y)
    with pytest.raises(ValueError, match="support must be None, 'auto' or a pair"):
        auto(support=(3, 1)).fit(X, y)


def test_limits_of_nobody_and_counts_of_many_values():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    counts = rng.poisson(80.0 * X[:, 0]).astype(float)
    assert auto(support=None).fit(X, counts + 0.5).pool_.shapes[0].limits is None
    model = auto(discrete=True).fit(X, counts)
    distribution = model.predict_distribution(X)
    np.testing.assert_allclose(distribution.pmf(np.arange(300.0)[None]).sum(axis=1), 1.0)
    samples = model.sample(X, 20, seed=0)
    assert (samples == np.rint(samples)).all()
    assert "whole numbers at least 0" in model.explain()


def test_atoms_of_a_column_of_responses():
    X, y = grades(240)
    model = auto().fit(X, y[:, None])
    assert model.sample(X[:4], 3, seed=0).shape == (3, 4, 1)


def test_several_responses_keep_their_atoms(tmp_path):
    X, y, truth = claims(500, 0)
    model = auto().fit(X, y)
    assert "A classifier predicts how often claim is exactly 0; the joint model says with what." in model.explain()
    assert "level is exactly 1" in model.explain()
    dist = model.predict_distribution(X)
    found = dist.pmf(np.array([0.0, 1.0]))
    assert np.abs(found - truth).mean() < 0.12
    np.testing.assert_allclose(found.mean(axis=0), truth.mean(axis=0), atol=0.04)
    out_of_bag = model.oob_distribution_.pmf(np.array([0.0, 1.0]))
    observed = y.to_numpy()[model.oob_rows_]
    np.testing.assert_allclose(out_of_bag.mean(axis=0), (observed == [0.0, 1.0]).mean(axis=0), atol=0.05)
    samples = model.sample(X[:50], 200, seed=0)
    np.testing.assert_allclose((samples == [0.0, 1.0]).mean(axis=(0, 1)), found[:50].mean(axis=0), atol=0.08)
    assert samples[..., 0].min() >= 0.0
    assert samples[..., 1].max() <= 1.0
    assert np.isfinite(model.predict_uncertainty(X[:5]).to_numpy()).all()
    model.save(tmp_path / "model.dgbm")
    np.testing.assert_array_equal(load(tmp_path / "model.dgbm").predict_distribution(X).points, dist.points)
