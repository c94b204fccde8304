"""Joint scores against brute force, in blocks of any size."""

import numpy as np
import pytest

from diffgbm.distributions import joint_scores

RNG = np.random.default_rng(0)
POINTS, Y = RNG.normal(size=(40, 25, 3)), RNG.normal(size=(40, 3))


def test_energy_score_is_brute_force():
    near = np.linalg.norm(POINTS - Y[:, None], axis=-1).mean(axis=1)
    pairs = np.linalg.norm(POINTS[:, :, None] - POINTS[:, None], axis=-1).mean(axis=(1, 2))
    np.testing.assert_allclose(joint_scores.energy_score(POINTS, Y), near - 0.5 * pairs)


@pytest.mark.parametrize("p", [0.5, 2.0])
def test_variogram_score_is_brute_force(p):
    forecast = (np.abs(POINTS[..., :, None] - POINTS[..., None, :]) ** p).mean(axis=1)
    observed = np.abs(Y[:, :, None] - Y[:, None, :]) ** p
    expected = ((observed - forecast) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(joint_scores.variogram_score(POINTS, Y, p), expected)


def test_blocks_do_not_change_the_scores(monkeypatch):
    whole = joint_scores.energy_score(POINTS, Y)
    monkeypatch.setattr(joint_scores, "PAIRS", 25 * 25 * 3 * 7)
    np.testing.assert_array_equal(joint_scores.energy_score(POINTS, Y), whole)
