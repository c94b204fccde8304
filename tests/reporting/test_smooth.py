"""Curves and point masses that a report draws."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from diffgbm import PredictiveDistribution
from diffgbm.reporting import smooth


def test_a_normal_density():
    distribution = PredictiveDistribution.from_points(norm.ppf((np.arange(400) + 0.5) / 400)[None])
    drawn = smooth.pictures(distribution)[0]
    assert len(drawn.atoms) == 0
    assert trapezoid(drawn.density, drawn.grid) == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(drawn.density, norm.pdf(drawn.grid), atol=0.03)
    np.testing.assert_allclose(drawn.quantiles, norm.ppf(smooth.MARKS), atol=0.01)


def test_point_masses_are_separated_from_the_density():
    distribution = PredictiveDistribution.from_points(np.concatenate([np.zeros(30), np.linspace(1, 2, 70)])[None])
    drawn = smooth.pictures(distribution)[0]
    assert drawn.atoms.tolist() == [0.0]
    assert drawn.masses == pytest.approx([0.3])
    assert trapezoid(drawn.density, drawn.grid) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("points", [[5.0] * 9, [1.0, 1.0, 2.0, 2.0], [3.0], [0.0] * 50 + [1.0] * 48 + [7.0, 9.0]])
def test_a_distribution_of_point_masses_only_has_no_density(points):
    drawn = smooth.pictures(PredictiveDistribution.from_points([points]))[0]
    assert len(drawn.grid) == len(drawn.density) == 0
    assert drawn.masses.sum() == pytest.approx(1.0)
    assert drawn.atoms.tolist() == sorted(set(points))


def test_flat_ends_are_cut():
    drawn = smooth.pictures(PredictiveDistribution.from_points([np.r_[np.linspace(0.0, 1.0, 500), 1e6]]))[0]
    assert drawn.grid[-1] < 10.0
