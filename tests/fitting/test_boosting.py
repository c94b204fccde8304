"""Boosters of noisy rows are those of the tiled matrix; held-out rows decide when they stop."""

import lightgbm as lgb
import numpy as np
import pytest

from diffgbm import DiffGBM
from diffgbm.fitting.boosting import train_boosters
from diffgbm.fitting.noisy_rows import noisy_rows
from tests.fitting.test_noisy_rows import rows_of, tiled

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


def test_held_out_rows_that_all_weigh_one_are_scored_like_any_others():
    """LightGBM drops weights that are all one; the zeros that it then keeps ended training after one round."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X[:, :1] + 0.1 * rng.standard_normal((200, 1))
    weights = np.where(np.arange(160) < 3, 2.0, 1.0)
    recipe, losses = DiffGBM.flow().recipe, []
    held_out = noisy_rows(recipe, X[160:], y[160:], np.ones(40), 2, rng)
    booster = train(
        noisy_rows(recipe, X[:160], y[:160], weights, 5, rng), held_out, 60, 5, tick=losses.append, learning_rate=0.3
    )[0]
    assert losses[-1] is None
    assert np.isfinite(losses[:-1]).all()
    assert booster.best_iteration > 5
    error = booster.predict(tiled(held_out)) - held_out.targets[:, 0]
    assert min(losses[:-1]) == pytest.approx(np.mean(error**2), rel=1e-6)


def test_a_few_copied_rows_do_not_end_training():
    """Copies are one row with their weight, and most bags hold out rows of weight one alone."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(300)
    X, y = np.vstack([X, X[:2]]), np.append(y, y[:2])
    model = DiffGBM.flow(n_bags=5, n_repeats=3, n_estimators=60, early_stopping_rounds=5, residualize="off", seed=0)
    model.fit(X, y)
    assert min(bag[0].num_trees() for bag in model.model_.bags) > 5
