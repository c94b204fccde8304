"""The shrunken scale: the exponent of held-out residuals, what the trees see, and models with it from fit to file."""

import numpy as np
import pytest

import diffgbm
from diffgbm.first_stage import Task, assemble
from diffgbm.first_stage.catalogue import build
from diffgbm.first_stage.folds import first_stage_folds
from diffgbm.first_stage.shrunk_scale import ShrunkScale, ShrunkScaleModel, exponent
from tests.conftest import tiny, toy


@pytest.mark.parametrize("power", [0.0, 0.4, 1.0])
def test_the_exponent_is_that_of_the_residuals(power):
    rng = np.random.default_rng(0)
    g = rng.standard_normal(4000)
    e = np.exp(power * (g - g.mean())) * rng.laplace(size=4000)
    assert exponent(g - g.mean(), e) == pytest.approx(power, abs=0.08)


def test_an_exponent_that_gains_little_is_zero():
    rng = np.random.default_rng(1)
    found = [exponent(rng.standard_normal(50), rng.standard_normal(50)) for _ in range(40)]
    assert np.mean(np.array(found) == 0.0) > 0.7
    assert exponent(np.arange(5.0), np.zeros(5)) == 0.0


def test_weights_count():
    rng = np.random.default_rng(2)
    g = np.concatenate([rng.standard_normal(1000), rng.standard_normal(1000)])
    e = np.concatenate([np.exp(g[:1000]), np.ones(1000)]) * rng.laplace(size=2000)
    first = np.repeat([1.0, 0.0], 1000)
    assert exponent(g, e, first) > 0.85
    assert exponent(g, e, 1.0 - first) == 0.0


def heteroscedastic(n=1500, seed=0):
    """The scale depends on the mean and on nothing else; columns that the trees cannot use to find it are noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    mean = 3.0 * X[:, 0] + 2.0 * X[:, 1]
    return X, mean + 0.1 * np.exp(0.5 * mean) * rng.standard_normal(n), mean


def test_the_scale_follows_that_of_the_residuals_and_is_calm_where_there_is_none():
    X, y, mean = heteroscedastic()
    y = ((y - y.mean()) / y.std())[:, None]
    task = Task(X, y, [], None, 5, 1, 0, 1)
    stage, values = assemble(task, build("mean").cross_fit(task), [], ShrunkScaleModel())
    assert isinstance(stage.log_scale, ShrunkScale)
    assert np.corrcoef(np.log(values.scale[:, 0]), mean)[0, 1] > 0.7
    assert 0.5 < stage.log_scale.exponent[0] <= 1.0
    shown = stage.values(X)
    np.testing.assert_allclose(np.log(shown.scale), stage.log_scale(X) + np.log(stage.residual_scale * stage.shrink))
    rng = np.random.default_rng(3)
    flat = Task(X, (X[:, :1] + 0.3 * rng.standard_normal((1500, 1))), [], None, 5, 1, 0, 1)
    even, same = assemble(flat, build("mean").cross_fit(flat), [], ShrunkScaleModel())
    assert even.log_scale.exponent[0] < 0.3
    assert same.scale.max() / same.scale.min() < 1.3


def test_folds_of_a_scale_are_scales():
    X, y, _ = heteroscedastic(300)
    model = tiny("default", residualize="mean_shrunk_scale").fit(X, y)
    stages = list(first_stage_folds(model.model_.first_stage))
    assert len(stages) == 5
    whole = model.model_.first_stage.log_scale
    each = [stage.log_scale.model(np.hstack([X, whole.location(X)])) for stage in stages]
    np.testing.assert_allclose(np.mean(each, axis=0), whole.model(np.hstack([X, whole.location(X)])), atol=1e-9)


@pytest.mark.parametrize("d", [None, 2])
def test_a_model_with_a_scale_is_saved_and_loaded(d, tmp_path):
    X, y = toy(300, d=d)
    weights = np.linspace(0.5, 1.5, 300)
    model = tiny("flow", residualize="mean_shrunk_scale").fit(X, y, sample_weight=weights)
    model.save(tmp_path / "m.dgbm")
    loaded = diffgbm.load(tmp_path / "m.dgbm")
    assert isinstance(loaded.model_.first_stage.log_scale, ShrunkScale)
    assert loaded.model_.first_stage.log_scale.location is loaded.model_.first_stage.location
    np.testing.assert_array_equal(loaded.sample(X[:9], 4, seed=1), model.sample(X[:9], 4, seed=1))


def test_rows_in_order_of_time_and_categories():
    X, y, _ = heteroscedastic(400)
    X[:, 2] = np.floor(4.0 * X[:, 2])
    X[::9, 1] = np.nan
    model = tiny("default", residualize="mean_shrunk_scale").fit(X, y, cat_idx=[2], time=np.arange(400))
    assert np.isfinite(model.predict(X[:5])).all()
