from dataclasses import replace

import numpy as np

from diffgbm.first_stage.dense import DenseTable
from diffgbm.first_stage.gaussian_process import GaussianProcess
from diffgbm.first_stage.leaf_forest import LeafForest
from diffgbm.first_stage.stack import Weighted
from diffgbm.first_stage.thinning import LEAST_POINTS, left_of, thinned
from tests.conftest import tiny, toy

X, Y = toy(200)


def forest() -> LeafForest:
    """A forest of many trees on a response and indicators of it."""
    stage = tiny("flow", residualize="off", first_stage_features="cdf").fit(X, Y).model_.first_stage
    found = stage.features[0]
    assert isinstance(found, LeafForest)
    return found


def test_a_part_of_a_forest_is_the_average_of_its_trees():
    whole = forest()
    chosen = [0, 3, 7, len(whole.roots) - 1]
    single = [whole.part([t])(X[:9]) for t in chosen]
    np.testing.assert_allclose(whole.part(chosen)(X[:9]), np.mean(single, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(whole.part(range(len(whole.roots)))(X), whole(X))
    assert len(whole.part(chosen).values) < len(whole.values)


def test_thinned_first_stages_share_their_predictors():
    stage = tiny("flow", residualize="mean", residualize_k_folds=4).fit(X, Y).model_.first_stage
    memo: dict[int, object] = {}
    half, again = thinned(stage, 0.5, memo), thinned(stage, 0.5, memo)
    assert half.location is again.location
    assert len(half.location.models[0]) == 2
    assert len(stage.location.models[0]) == 4
    assert np.abs(half.values(X).location - stage.values(X).location).max() < 0.5


def test_a_process_keeps_half_as_many_points_but_some():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 2))
    dense = DenseTable.learn(points, [])
    process = GaussianProcess(dense, "rbf", dense(points), np.ones((1, 2)), rng.normal(size=(1, 1000)), np.zeros(1))
    stage = tiny("flow", residualize="mean").fit(X, Y).model_.first_stage
    both = replace(stage, location=Weighted((stage.location, process), np.ones((2, 1))))
    for share, count in ((0.5, 250), (0.25, LEAST_POINTS)):
        thin = thinned(both, share, {}).location
        assert [len(member.points) for member in thin.members[1:]] == [count]
    assert left_of(process, 0.5) == 0.25
    assert left_of(stage.location, 0.5) == 0.5
    assert left_of(process, 1.0) == left_of(len, 0.1) == 1.0
