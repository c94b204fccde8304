"""Tables and boxes of several states equal LightGBM's predictions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm.engine import Draws, Forest, make_engine
from diffgbm.engine.lanes import fixed_point
from diffgbm.engine.prune import prune

from . import models


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(sorted(models.KINDS)),
    d=st.integers(1, 4),
    q=st.integers(0, 2),
    awkward=st.floats(0.0, 1.0),
)
def test_tables_are_predict_for_drawn_models(seed, kind, d, q, awkward):
    params = {**models.KINDS[kind], "n": 300, "trees": 5}
    params.pop("interaction_constraints", None)
    if "monotone_constraints" in params:
        params["monotone_constraints"] = [1] + [0] * (d + models.P + q - 1)
    models.check_tables(models.group(d, q, seed, **params), q, seed, awkward, n=5)


def test_states_without_bounds_stay_inside_the_table():
    boosters = [models.group(d, 1, 3) for d in (1, 2)]
    for bag in boosters:
        start = np.full((4, len(bag)), np.nan)
        start[1:] = np.array([np.inf, -np.inf, 1e308])[:, None]
        out = make_engine([bag], "collapse").prepare(models.step_table(1))(models.rows(3, 0), Draws(4, 0, start=start))
        assert out.shape == (3, 4, len(bag))


def test_leaf_values_in_fixed_point_add_up_in_any_order():
    forest = Forest.from_booster(models.booster(2, 1, 3))
    pruned = prune(forest, np.zeros(len(forest.tree_nodes) - 1, dtype=np.int64), 2, np.array([[0.3]]))
    fixed, unit = fixed_point(pruned)
    np.testing.assert_allclose(fixed * unit, pruned.value, rtol=0, atol=0.5 * unit)
    largest = [np.abs(fixed[pruned.leaf_tree == tree]).max() for tree in range(len(pruned.roots))]
    assert sum(map(int, largest)) < 2**63
