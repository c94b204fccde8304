"""The weight of climatology beside a pool, on distributions made by hand."""

import numpy as np
import pytest

from diffgbm.auto.climatology_choice import climatology_weight
from diffgbm.auto.pool import mixture_points
from diffgbm.auto.scorer import Scorer

M = 55
NORMAL = np.sort(np.random.default_rng(9).standard_normal(M))


def weight(points, n=400, seed=0, signal=0.0):
    rng = np.random.default_rng(seed)
    known = signal * rng.standard_normal(n)
    y = known + rng.standard_normal(n)
    scorer = Scorer(y[:, None], np.ones(1), None)
    climatology = np.broadcast_to(np.sqrt(1.0 + signal**2) * NORMAL, (n, M))
    members = [np.broadcast_to(points(known, rng), (n, M))[:, :, None], climatology[:, :, None]]
    share = climatology_weight(scorer, members[0], members[1], np.arange(n))
    mixed = mixture_points(members, np.array([1.0 - share, share]), M)
    return share, scorer.score(mixed, np.arange(n)), scorer.score(members[1], np.arange(n))


def test_good_models_stay_alone():
    assert weight(lambda known, rng: known[:, None] + NORMAL, signal=1.0)[0] == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_models_of_noise_get_no_weight(seed):
    """Locations that are noise widen no distribution: they are wrong."""
    share, mixed, reference = weight(lambda known, rng: rng.standard_normal((400, 1)) + NORMAL, seed=seed)
    assert share == 1.0
    assert mixed == pytest.approx(reference)


@pytest.mark.parametrize("n", [3, 20, 400])
@pytest.mark.parametrize("seed", range(5))
def test_a_mixture_is_no_worse_than_climatology(n, seed):
    share, mixed, reference = weight(lambda known, rng: 0.3 * rng.standard_normal((n, 1)) + NORMAL, n, seed)
    assert mixed <= 1.01 * reference
    assert share == 0.0 or share >= 0.05


def test_overconfident_models_are_widened():
    """Models that know something but promise far too much take a part of climatology."""
    share, mixed, reference = weight(lambda known, rng: known[:, None] + 0.05 * NORMAL, signal=1.0)
    assert 0.0 < share < 0.5
    assert mixed < reference
