"""Both what a forest says and what is sampled from it equal LightGBM's own predictions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm.engine import Draws, Forest, TreeSum, make_engine

from . import models

KINDS = {
    "plain": {},
    "no holes in training": {"holes": 0.0},
    "zero as missing": {"zero_as_missing": True},
    "no missing": {"use_missing": False},
    "numbers only": {"categorical": False},
    "one-hot categories": {"max_cat_to_onehot": 100},
    "dart": {"boosting": "dart", "drop_rate": 0.5},
    "random forest": {"boosting": "rf", "bagging_fraction": 0.6, "bagging_freq": 1},
    "goss": {"data_sample_strategy": "goss"},
    "monotone": {"categorical": False, "monotone_constraints": [1] + [0] * (models.P + 1)},
    "interactions": {"interaction_constraints": [[0, 1, 2], [0, 3, 4, 5]]},
    "one leaf": {"min_data_in_leaf": 1000},
    "huber": {"objective": "huber"},
    "quantile": {"objective": "quantile", "alpha": 0.8},
    "extra trees": {"extra_trees": True},
    "255 bins": {"max_bin": 255, "n": 3000, "leaves": 63, "min_data_in_bin": 1},
    "1023 bins": {"max_bin": 1023, "n": 3000, "leaves": 63, "min_data_in_bin": 1},
    "4095 bins": {"max_bin": 4095, "n": 6000, "leaves": 127, "min_data_in_bin": 1},
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_tree_sum_is_predict(kind):
    boosters = [models.booster(1, 1, seed, **KINDS[kind]) for seed in (1, 2)]
    rng = np.random.default_rng(3)
    Z = np.hstack([rng.normal(size=(700, 1)), models.rows(700, 4, awkward=0.3), rng.normal(size=(700, 1))])
    expected = 0.25 * boosters[0].predict(Z) + 0.75 * boosters[1].predict(Z)
    got = TreeSum(boosters, [0.25, 0.75])(Z)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * (1 + models.size(boosters)))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(sorted(KINDS)),
    awkward=st.floats(0.0, 1.0),
    n=st.integers(1, 200),
)
def test_tree_sum_is_predict_for_drawn_models(seed, kind, awkward, n):
    params = {**KINDS[kind], "n": 300, "trees": 5}
    boosters = [models.booster(1, 1, seed, **params)]
    rng = np.random.default_rng(seed)
    Z = np.hstack([rng.normal(size=(n, 1)), models.rows(n, seed + 1, awkward), rng.normal(size=(n, 1))])
    np.testing.assert_allclose(
        TreeSum(boosters)(Z), boosters[0].predict(Z), rtol=0, atol=1e-12 * (1 + models.size(boosters))
    )


def check_tables(boosters, q, seed, awkward, n=70):
    """The collapsed forest at chosen states, edges of its bins among them, against predict."""
    d = len(boosters)
    rng = np.random.default_rng(seed)
    forest = Forest.from_booster(boosters[0])
    edges = forest.threshold[(forest.feature < d) & np.isfinite(forest.threshold)]
    points = rng.normal(size=(40, d)) * 2
    special = np.concatenate(
        [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), models.TINY, [1e9, -1e9]]
    )
    points[rng.random(points.shape) < 0.6] = 0.0
    points = np.where(points == 0.0, rng.choice(special, points.shape), points)
    X, columns = models.rows(n, seed + 1, awkward), rng.normal(size=q)
    got = make_engine([boosters], "collapse").prepare(models.look(columns))(X, Draws(40, 0, start=points))
    for j, one in enumerate(boosters):
        features = np.concatenate(
            [
                np.broadcast_to(points, (n, 40, d)),
                np.broadcast_to(X[:, None], (n, 40, models.P)),
                np.broadcast_to(columns, (n, 40, q)),
            ],
            axis=2,
        )
        predicted = one.predict(features.reshape(n * 40, -1)).reshape(n, 40)
        # the step adds y, so its rounding counts too
        scale = 1 + models.size(boosters) + np.abs(points[:, j])
        assert np.all(np.abs(got[..., j] - (points[:, j] + predicted)) <= 1e-12 * scale)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_scalar_tables_are_predict(kind):
    check_tables([models.booster(1, 1, 5, **KINDS[kind])], 1, seed=6, awkward=0.2)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(sorted(KINDS)),
    d=st.integers(1, 4),
    q=st.integers(0, 2),
    awkward=st.floats(0.0, 1.0),
)
def test_tables_are_predict_for_drawn_models(seed, kind, d, q, awkward):
    params = {**KINDS[kind], "n": 300, "trees": 5}
    params.pop("interaction_constraints", None)
    if "monotone_constraints" in params:
        params["monotone_constraints"] = [1] + [0] * (d + models.P + q - 1)
    check_tables(models.group(d, q, seed, **params), q, seed, awkward, n=5)


@pytest.mark.parametrize("corrector", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.4])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_engines_agree(d, noise, corrector):
    boosters = [models.group(d, 2, 11)]
    steps, X = models.step_table(2, noise=noise, corrector=corrector), models.rows(66, 8, awkward=0.1)
    draws = Draws(23, 2**63 + 9, first_row=5, first_sample=2)
    fast = make_engine(boosters, "collapse").prepare(steps)(X, draws)
    slow = make_engine(boosters, "lightgbm").prepare(steps)(X, draws)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-9)


@pytest.mark.parametrize("mix", ["mean", "mixture"])
@pytest.mark.parametrize("d", [1, 2])
def test_engines_agree_on_bags(d, mix):
    bags = [models.group(d, 1, seed) for seed in (1, 10, 20)]
    steps, X = models.step_table(1, corrector=0.5), models.rows(9, 3)
    for draws in (
        Draws(10, 4, 1, 7),
        Draws(2, 4),
        Draws(8, 4, start=np.random.default_rng(0).normal(size=(8, d)), shared=True),
    ):
        fast = make_engine(bags, "collapse", mix).prepare(steps)(X, draws)
        slow = make_engine(bags, "lightgbm", mix).prepare(steps)(X, draws)
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-9)


def test_mixture_gives_each_bag_its_samples():
    bags = [models.group(1, 1, seed) for seed in (1, 10)]
    steps, X = models.step_table(1), models.rows(5, 3)
    mixed = make_engine(bags, "collapse", "mixture").prepare(steps)(X, Draws(8, 1, first_sample=1))
    for b, bag in enumerate(bags):
        alone = make_engine([bag], "collapse").prepare(steps)(X, Draws(8, 1, first_sample=1))
        ours = (np.arange(8) + 1) % 2 == b
        np.testing.assert_array_equal(mixed[:, ours], alone[:, ours])


@pytest.mark.parametrize("kind", ["collapse", "lightgbm"])
def test_evaluate_is_predict(kind):
    bags = [models.group(2, 1, seed) for seed in (1, 10)]
    rng = np.random.default_rng(0)
    X, y, columns = models.rows(100, 2, awkward=0.2), rng.normal(size=(100, 2)), rng.normal(size=(100, 1))
    features = np.hstack([y, X, columns])
    expected = np.mean([[one.predict(features) for one in bag] for bag in bags], axis=0).T
    for mix in ("mean", "mixture"):
        np.testing.assert_allclose(make_engine(bags, kind, mix).evaluate(X, y, columns), expected, atol=1e-12)


def test_best_iteration_is_honoured():
    one = models.booster(1, 1, 0)
    one.best_iteration = 4
    Z = np.random.default_rng(0).normal(size=(50, models.P + 2))
    np.testing.assert_allclose(TreeSum([one])(Z), one.predict(Z, num_iteration=4), atol=1e-12)
    assert np.abs(one.predict(Z, num_iteration=12) - TreeSum([one])(Z)).max() > 1e-3
    forest_mean = models.booster(1, 1, 0, **KINDS["random forest"])
    forest_mean.best_iteration = 4
    np.testing.assert_allclose(TreeSum([forest_mean])(Z), forest_mean.predict(Z), atol=1e-12)


def test_states_without_bounds_stay_inside_the_table():
    boosters = [models.group(d, 1, 3) for d in (1, 2)]
    for bag in boosters:
        start = np.full((4, len(bag)), np.nan)
        start[1:] = np.array([np.inf, -np.inf, 1e308])[:, None]
        out = make_engine([bag], "collapse").prepare(models.step_table(1))(models.rows(3, 0), Draws(4, 0, start=start))
        assert out.shape == (3, 4, len(bag))
