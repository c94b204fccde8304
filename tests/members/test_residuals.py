"""Residuals of held-out rows make a distribution."""

import numpy as np
import pytest

from diffgbm.members.residuals import NEAREST, Residuals


def test_few_residuals_are_taken_whole():
    y = np.arange(30.0)
    residuals = Residuals.of(np.zeros(30), y)
    np.testing.assert_allclose(np.sort(residuals.points(np.array([100.0]), 30)[0]), 100.0 + y)


def test_residuals_of_similar_predictions():
    rng = np.random.default_rng(0)
    m = rng.uniform(1.0, 10.0, 20 * NEAREST)
    residuals = Residuals.of(m, m + m * rng.standard_normal(len(m)))
    points = residuals.points(np.array([-5.0, 2.0, 9.0, 99.0]), 55)
    widths = points.std(axis=1)
    np.testing.assert_allclose(widths[1:3], [2.0, 9.0], rtol=0.2)
    # beyond the predictions that were seen: the nearest ones
    np.testing.assert_allclose(widths[[0, 3]], [1.0, 10.0], rtol=0.3)


def test_too_few():
    with pytest.raises(ValueError, match="19 held-out rows are too few"):
        Residuals.of(np.zeros(19), np.zeros(19))
