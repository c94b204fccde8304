"""The slow engine asks LightGBM, in chunks that change nothing."""

import numpy as np

from diffgbm.engine import Draws, lightgbm_engine, make_engine

from . import models


def test_evaluate_is_predict():
    bags = [models.group(2, 1, seed) for seed in (1, 10)]
    rng = np.random.default_rng(0)
    X, y, columns = models.rows(100, 2, awkward=0.2), rng.normal(size=(100, 2)), rng.normal(size=(100, 1))
    features = np.hstack([y, X, columns])
    expected = np.mean([[one.predict(features) for one in bag] for bag in bags], axis=0).T
    for mix in ("mean", "mixture"):
        np.testing.assert_allclose(make_engine(bags, "lightgbm", mix).evaluate(X, y, columns), expected, atol=1e-12)


def test_chunks_of_rows_change_nothing(monkeypatch):
    integrator = make_engine([models.group(2, 1, 3)], "lightgbm").prepare(models.step_table(1))
    X = models.rows(9, 0)
    whole = integrator(X, Draws(5, 1))
    monkeypatch.setattr(lightgbm_engine, "CHUNK", 100)
    np.testing.assert_array_equal(integrator(X, Draws(5, 1)), whole)


def test_one_euler_step_by_hand():
    """Drift ``linear y + gain F``, from starting points, without noise."""
    booster = models.booster(1, 1, 4)
    steps, X = models.step_table(1, steps=1, noise=0.0), models.rows(3, 0)
    start = np.array([[0.2], [-1.0]])
    states = make_engine([[booster]], "lightgbm").prepare(steps)(X, Draws(2, 0, start=start))
    for i in range(3):
        for s in range(2):
            y = steps.start * start[s, 0]
            features = np.concatenate([[steps.scale[0] * y], X[i], steps.columns[0]])[None]
            drift = steps.linear[0] * y + steps.gain[0] * booster.predict(features)[0]
            np.testing.assert_allclose(states[i, s, 0], y + steps.size[0] * drift, rtol=1e-12)
