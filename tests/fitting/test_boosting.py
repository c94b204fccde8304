import lightgbm as lgb
import numpy as np
import pytest

from diffgbm import DiffGBM
from diffgbm.diffusion.targets import target_at
from diffgbm.fitting.boosting import NoisyRows, _RowSequence, noisy_rows, train_boosters

PARAMS = {
    "objective": "regression",
    "num_leaves": 8,
    "num_threads": 1,
    "seed": 3,
    "deterministic": True,
    "force_col_wise": True,
    "verbosity": -1,
    "min_data_in_leaf": 5,
}


def rows_of(recipe, n=70, p=3, d=2, repeats=6, weights=None, categorical=False):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, p))
    X[::7, 1] = np.nan
    if categorical:
        X[:, 0] = rng.integers(0, 5, n)
    y = X[:, :1].repeat(d, axis=1) + rng.standard_normal((n, d))
    return noisy_rows(recipe, X, y, weights, repeats, np.random.default_rng(2)), X, y


def tiled(rows: NoisyRows) -> np.ndarray:
    repeats = len(rows.states) // len(rows.X)
    return np.hstack([rows.states, np.tile(rows.X, (repeats, 1)), rows.columns])


def trees(booster: lgb.Booster) -> str:
    text = booster.model_to_string()
    return text[text.index("Tree=0") : text.index("end of trees")]


def train(train_rows, valid=None, rounds=12, patience=None, categorical=(), tick=lambda loss: None, **params):
    return train_boosters(
        train_rows,
        valid,
        params={**PARAMS, **params},
        n_estimators=rounds,
        early_stopping_rounds=patience,
        categorical=categorical,
        tick=tick,
    )


@pytest.mark.parametrize("make", [DiffGBM.published, DiffGBM.score_plus, DiffGBM.flow])
def test_rows_equal_the_tiled_matrix(make):
    rows, _, _ = rows_of(make().recipe)
    sequence, matrix = _RowSequence(rows), tiled(rows)
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


@pytest.mark.parametrize("sample_cnt", [200_000, 150], ids=["all rows binned", "some rows binned"])
@pytest.mark.parametrize("weighted", [False, True])
def test_boosters_equal_those_of_the_tiled_matrix(sample_cnt, weighted):
    weights = np.linspace(0.5, 2.0, 70) if weighted else None
    rows, _, _ = rows_of(DiffGBM.score_plus().recipe, weights=weights)
    # given by name, the seed of the binning sample is the same for both of LightGBM's ways to read data
    binning = {"bin_construct_sample_cnt": sample_cnt, "data_random_seed": 5}
    boosters = train(rows, **binning)
    params = {**PARAMS, **binning}
    assert len(boosters) == 2
    for j, booster in enumerate(boosters):
        data = lgb.Dataset(tiled(rows), label=rows.targets[:, j], weight=rows.weights, params=params)
        assert trees(booster) == trees(lgb.train(params, data, 12))


def test_categorical_columns_are_shifted_behind_the_states():
    rows, _, _ = rows_of(DiffGBM.flow().recipe, categorical=True)
    params = {"max_cat_to_onehot": 2, "min_data_per_group": 5, "cat_smooth": 0.0}
    booster = train(rows, categorical=[0], **params)[0]
    data = lgb.Dataset(tiled(rows), label=rows.targets[:, 0], params={**PARAMS, **params}, categorical_feature=[2])
    assert trees(booster) == trees(lgb.train({**PARAMS, **params}, data, 12))
    assert set(booster.dump_model()["feature_infos"]["Column_2"]["values"]) >= {0, 1, 2, 3, 4}


def test_early_stopping_looks_at_the_held_out_rows():
    recipe = DiffGBM.flow().recipe
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.standard_normal((60, 1))
    held_out = noisy_rows(recipe, X[:20], y[:20], None, 1, rng)
    losses = []
    booster = train(
        noisy_rows(recipe, X[20:], y[20:], None, 3, rng), held_out, 400, 5, tick=losses.append, learning_rate=0.5
    )[0]
    assert 1 <= booster.best_iteration < 400
    assert len(losses) == booster.best_iteration + 5 + 1
    assert losses[-1] is None
    finite = losses[:-1]
    assert int(np.argmin(finite)) + 1 == booster.best_iteration
    error = booster.predict(tiled(held_out)) - held_out.targets[:, 0]
    assert min(finite) == pytest.approx(np.mean(error**2), rel=1e-6)


def test_each_response_has_its_booster_and_sees_the_whole_noisy_response():
    recipe = DiffGBM.flow().recipe
    rng = np.random.default_rng(0)
    X, shared = rng.standard_normal((300, 1)), rng.standard_normal((300, 1))
    y = np.hstack([shared, shared])  # the second coordinate tells about the first
    boosters = train(noisy_rows(recipe, X, y, None, 10, rng), rounds=30)
    assert len(boosters) == 2
    for booster in boosters:
        assert (booster.feature_importance()[:2] > 0).all()
