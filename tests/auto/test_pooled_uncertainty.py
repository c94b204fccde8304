"""The submodels of a pool are confined and recalibrated as the pool is."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm import DiffGBM
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.climatology import Climatology
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.pooled_uncertainty import pooled_uncertainty
from diffgbm.auto.recalibration import RANKS, Correction

SMALL = {"n_estimators": 10, "n_repeats": 4, "n_jobs": 1, "n_bags": 2, "bag_mix": "mixture", "residualize_k_folds": 2}
PLAIN = ResponseShape(None, None, None)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(200, 2))


@pytest.fixture(scope="module")
def pool(rows: np.ndarray) -> PooledModel:
    y = rows[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(200)
    members = tuple(DiffGBM.flow(seed=seed, **SMALL).fit(rows, y).model_ for seed in (0, 1))
    return PooledModel(members, np.array([0.4, 0.6]), None, (PLAIN,))


def test_the_total_is_the_variance_of_the_pool_and_of_folds(pool: PooledModel, rows: np.ndarray) -> None:
    found = pooled_uncertainty(pool, rows)
    np.testing.assert_allclose(found.total, found.aleatoric + found.epistemic)
    variance = pool.distribution(rows, 377).var()
    # the pool averages folds, submodels do not
    assert np.mean(found.total) == pytest.approx(np.mean(variance), rel=0.3)
    assert np.mean(found.total) > np.mean(variance)


def test_a_correction_widens_the_submodels(pool: PooledModel, rows: np.ndarray) -> None:
    theta = np.zeros((16, 4))
    theta[1, 0] = 0.3  # more PIT values far from the middle: distributions are too narrow
    correction = Correction(theta, np.linspace(0.0, 2.0, len(RANKS)))
    wider = replace(pool, correction=correction)
    before, after = (model.distribution(rows, 377).var().mean() for model in (pool, wider))
    plain, corrected = (pooled_uncertainty(model, rows).total.mean() for model in (pool, wider))
    assert after > 1.1 * before
    assert corrected / plain == pytest.approx(after / before, rel=0.05)


def test_points_stay_where_responses_can_be(pool: PooledModel, rows: np.ndarray) -> None:
    binary = replace(pool, shapes=(ResponseShape(np.array([0.0, 1.0]), None, None),))
    found = pooled_uncertainty(binary, rows)
    # no distribution on 0 and 1 has a larger variance
    assert np.all(found.total <= 0.25 + 0.01)
    assert found.aleatoric.mean() > pooled_uncertainty(pool, rows).aleatoric.mean()


def test_climatology_alone_has_no_uncertainty_between_models(pool: PooledModel, rows: np.ndarray) -> None:
    values = np.linspace(0.0, 1.0, 500)[:, None]
    alone = replace(pool, members=pool.members[:1], weights=np.zeros(1), climatology=Climatology(values))
    found = pooled_uncertainty(alone, rows)
    np.testing.assert_allclose(found.aleatoric, 1.0 / 12.0, rtol=0.02)
    np.testing.assert_allclose(found.epistemic, 0.0, atol=1e-12)
