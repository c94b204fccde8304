"""Noisy rows: copies with their target, put together without tiling X."""

import numpy as np
import pytest

from diffgbm import DiffGBM
from diffgbm.diffusion.targets import target_at
from diffgbm.fitting.noisy_rows import NoisyRows, NoisyRowSequence, noisy_rows


def rows_of(recipe, n=70, p=3, d=2, repeats=6, weights=None, categorical=False):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, p))
    X[::7, 1] = np.nan
    if categorical:
        X[:, 0] = rng.integers(0, 5, n)
    y = X[:, :1].repeat(d, axis=1) + rng.standard_normal((n, d))
    return noisy_rows(recipe, X, y, weights, repeats, np.random.SeedSequence(2)), X, y


def tiled(rows: NoisyRows) -> np.ndarray:
    repeats = len(rows.states) // len(rows.X)
    return np.hstack([rows.states, np.tile(rows.X, (repeats, 1)), rows.columns])


@pytest.mark.parametrize("make", [DiffGBM.published, DiffGBM.score_plus, DiffGBM.flow])
def test_rows_equal_the_tiled_matrix(make):
    rows, _, _ = rows_of(make().recipe)
    sequence, matrix = NoisyRowSequence(rows), tiled(rows)
    assert len(sequence) == len(matrix) == 420
    np.testing.assert_array_equal(sequence[:], matrix)
    np.testing.assert_array_equal(sequence[65:75], matrix[65:75])
    np.testing.assert_array_equal(sequence[417:500], matrix[417:500])
    np.testing.assert_array_equal(sequence[[3, 400, 69, 70]], matrix[[3, 400, 69, 70]])
    for i in (0, 69, 70, 419):
        np.testing.assert_array_equal(sequence[i], matrix[i])


@pytest.mark.parametrize("make", [DiffGBM.published, DiffGBM.score_plus, DiffGBM.flow])
def test_rows_are_noisy_copies_with_their_target(make):
    recipe = make().recipe
    rows, _, y = rows_of(recipe)
    t = rows.columns[:, 0]
    point = target_at(recipe.target, recipe.path, t[:, None], recipe.sigma_data)
    y0 = np.tile(y, (6, 1))
    z = (rows.states / point.feature_scale - point.path.alpha * y0) / point.path.beta
    np.testing.assert_allclose(point.a * y0 + point.b * z, rows.targets, rtol=1e-6, atol=1e-6)
    assert abs(z.mean()) < 4.0 / np.sqrt(z.size)
    assert abs(z.std() - 1.0) < 4.0 / np.sqrt(2 * z.size)
    assert rows.weights is None


def test_weights_multiply():
    weights = np.linspace(0.5, 2.0, 70)
    plain, _, _ = rows_of(DiffGBM.flow().recipe, weights=weights)
    np.testing.assert_array_equal(plain.weights, np.tile(weights, 6))
    recipe = DiffGBM.score_plus(loss_weighting="min_snr").recipe
    levels, _, _ = rows_of(recipe)
    both, _, _ = rows_of(recipe, weights=weights)
    np.testing.assert_allclose(both.weights, np.tile(weights, 6) * levels.weights)


def test_rows_and_first_stage_features_are_looked_up():
    rng = np.random.default_rng(0)
    X, y, chosen = rng.standard_normal((9, 2)), rng.standard_normal((4, 1)), np.array([7, 0, 3, 8])
    features = rng.standard_normal((9, 2))
    rows = noisy_rows(DiffGBM.flow().recipe, X, y, None, 3, rng, chosen=chosen, stage_features=features)
    matrix = NoisyRowSequence(rows)[:]
    np.testing.assert_array_equal(matrix[:, 1:5], np.tile(np.hstack([X, features])[chosen], (3, 1)))
