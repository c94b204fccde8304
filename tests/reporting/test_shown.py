"""The rows that are drawn, and their densities and point masses."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from diffgbm import PredictiveDistribution
from diffgbm.reporting import shown
from diffgbm.reporting.rows import read_rows
from diffgbm.reporting.scores import score_rows


def test_named_rows(known):
    model, X, y = known
    scores = score_rows(model, read_rows(model, X[:200]), y[:200, None], 0).responses[0]
    named = shown.named_rows(scores)
    crps, width = scores.values["crps"], scores.width()
    assert crps[named["best"]] == crps.min()
    assert crps[named["worst"]] == crps.max()
    assert width[named["narrowest"]] == width.min()
    assert width[named["widest"]] == width.max()
    for values in (crps, width):
        assert 0.25 < np.mean(values <= values[named["typical"]]) < 0.9
    chosen = shown.rows_to_show(named, 200, 20, 0)
    assert len(chosen) == len(set(chosen)) == 20
    assert set(named.values()) <= set(chosen)
    assert shown.rows_to_show(named, 200, 10**6, 0).tolist() == list(range(200))
    assert set(shown.rows_to_show(named, 200, 1, 0)) == set(named.values())


def test_a_normal_density():
    distribution = PredictiveDistribution.from_points(norm.ppf((np.arange(400) + 0.5) / 400)[None])
    drawn = shown.pictures(distribution)[0]
    assert len(drawn.atoms) == 0
    assert trapezoid(drawn.density, drawn.grid) == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(drawn.density, norm.pdf(drawn.grid), atol=0.03)
    np.testing.assert_allclose(drawn.quantiles, norm.ppf(shown.MARKS), atol=0.01)


def test_point_masses_are_separated_from_the_density():
    distribution = PredictiveDistribution.from_points(np.concatenate([np.zeros(30), np.linspace(1, 2, 70)])[None])
    drawn = shown.pictures(distribution)[0]
    assert drawn.atoms.tolist() == [0.0]
    assert drawn.masses == pytest.approx([0.3])
    assert trapezoid(drawn.density, drawn.grid) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("points", [[5.0] * 9, [1.0, 1.0, 2.0, 2.0], [3.0], [0.0] * 50 + [1.0] * 48 + [7.0, 9.0]])
def test_a_distribution_of_point_masses_only_has_no_density(points):
    drawn = shown.pictures(PredictiveDistribution.from_points([points]))[0]
    assert len(drawn.grid) == len(drawn.density) == 0
    assert drawn.masses.sum() == pytest.approx(1.0)
    assert drawn.atoms.tolist() == sorted(set(points))
