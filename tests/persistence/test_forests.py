"""Forests: shapes restored from preorder, and refusal of invalid ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from diffgbm import load
from diffgbm.persistence.forests import unfolded
from tests.conftest import tiny, toy
from tests.persistence.altered_files import array_at, changed, refused, set_at, wrong_values
from tests.persistence.saved_models import FEW_FOLDS


@settings(max_examples=200, deadline=None)
@given(arrays.arrays(np.int32, st.integers(1, 60), elements=st.integers(-1, 3)))
def test_any_columns_give_valid_trees_or_are_refused(feature):
    """No cycle, no child out of range, no two parents: or it is refused."""
    inner = np.flatnonzero(feature >= 0)
    cuts = np.arange(len(inner), dtype=np.float32)
    try:
        roots, threshold, left, right = unfolded(feature, cuts)
    except ValueError:
        # cut off: fewer leaves than splits leave open, at the end of the last tree
        balance = np.cumsum(np.where(feature >= 0, 1, -1))
        trees = 1 - np.minimum.accumulate(np.concatenate([[0], balance[:-1]]))
        assert balance[-1] > -trees[-1]
        return
    children = np.concatenate([left[inner], right[inner]])
    parents = np.concatenate([inner, inner])
    assert (children > parents).all()
    assert (children < len(feature)).all()
    assert sorted([*children, *roots]) == list(range(len(feature)))
    np.testing.assert_array_equal(left[feature < 0], np.arange(len(feature) - len(inner)))
    np.testing.assert_array_equal(threshold[inner], cuts)


@pytest.mark.parametrize(
    ("where", "make", "message"),
    [
        ("forest:feature", array_at(0, 99), "columns that do not exist"),
        ("forest:feature", array_at(0, -2), "columns that do not exist"),
        ("forest:feature", array_at(0, -128), "columns that do not exist"),
        ("forest:feature", array_at(-1, 0), "instead of"),
        ("forest:feature", np.sort, "incomplete"),
        ("forest:feature", lambda v: np.roll(v, 1), "incomplete"),
        ("forest:feature", lambda v: v[:0], "columns that do not exist"),
        ("forest:codes", array_at(3, 255), "numbers that do not exist"),
        ("forest:table", lambda v: v[:1], "numbers that do not exist"),
    ],
)
def test_wrong_numbers_are_refused(where, make, message, tmp_path):
    refused("first_stage", changed(where, make), tmp_path, message)


WRONG = {
    "first_stage": [
        ("forest:outputs", [0, 1, 99, None, "8"]),
        ("forest:coded", [[], [0, 0], [99], [-1], None]),
        *((f"forest:{name}", ["arrays/99.npy", "arrays/0.npy", None]) for name in ("feature", "threshold", "codes")),
    ],
}


@wrong_values(WRONG)
def test_wrong_fields_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


@pytest.mark.parametrize("distinct", [3, 300])
def test_values_of_leaves_round_trip_with_few_and_with_many_distinct_numbers(distinct, tmp_path):
    X, y = toy(d=2)
    y = np.round(y * distinct) / distinct
    model = tiny("flow", residualize="off", first_stage_features="cdf", **FEW_FOLDS).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    before, after = (m.model_.first_stage.values(np.ascontiguousarray(X[:9])).features for m in (model, loaded))
    np.testing.assert_array_equal(after, before)
