"""Fitted models and pools: exact round trips, and refusal of invalid ones."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from diffgbm import ModelFileError, load
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.climatology import Climatology
from diffgbm.auto.recalibration import Correction
from diffgbm.data.features import FeatureTable
from diffgbm.distributions.support import Support
from tests.persistence.altered_files import (
    position,
    refused,
    set_at,
    wrong_values,
)
from tests.persistence.fixture_models import path_of
from tests.persistence.saved_models import objects, same, table


def test_members_of_a_pool_still_share_their_first_stage_models(auto, tmp_path):
    members = auto.pool_.members
    assert len(members) > 1
    auto.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm").pool_.members
    predictors = [[m.first_stage.location, *m.first_stage.features] for m in members]
    again = [[m.first_stage.location, *m.first_stage.features] for m in loaded]
    flat = [p for own in predictors for p in own if p is not None]
    twins = [p for own in again for p in own if p is not None]
    assert len({id(p) for p in twins}) == len({id(p) for p in flat}) < len(flat)
    assert sum(stored["kind"] == "weighted" for stored in objects(tmp_path / "m.dgbm")) == 1
    assert all(member.features is loaded[0].features for member in loaded)


@pytest.mark.parametrize(
    "shape",
    [
        ResponseShape(np.arange(-1.0, 3.0)),
        ResponseShape(low=0.0),
        ResponseShape(limits=Support(0.0, 9.0, integers=True)),
        ResponseShape(),
    ],
    ids=str,
)
def test_corrections_and_shapes_round_trip(auto, shape, tmp_path):
    X, _ = table()
    correction = Correction(0.05 * np.random.default_rng(0).normal(size=(16, 4)), np.linspace(0.1, 3.0, 101))
    model = copy(auto)
    model.pool_ = replace(auto.pool_, correction=correction, shapes=(shape,))
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    same(loaded, model, X[:9])
    np.testing.assert_array_equal(loaded.pool_.correction.theta, correction.theta)
    np.testing.assert_array_equal(loaded.pool_.correction.iqr_quantiles, correction.iqr_quantiles)
    assert str(loaded.pool_.shapes[0]) == str(shape)


@pytest.mark.parametrize(
    ("theta", "iqr_quantiles"),
    [
        (np.zeros((16, 4)), np.array([2.0, 1.0])),
        (np.zeros((16, 4)), np.array([-1.0, 1.0])),
        (np.zeros((16, 4)), np.array([1.0])),
        (np.zeros((0, 4)), np.array([1.0, 2.0])),
        (np.zeros(16), np.array([1.0, 2.0])),
        (np.full((16, 4), np.nan), np.array([1.0, 2.0])),
    ],
    ids=["not in order", "below zero", "one", "no coefficients", "one axis", "not finite"],
)
def test_invalid_corrections_are_refused(auto, theta, iqr_quantiles, tmp_path):
    model = copy(auto)
    model.pool_ = replace(auto.pool_, correction=Correction(theta, iqr_quantiles))
    model.save(tmp_path / "m.dgbm")
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.dgbm")


@pytest.mark.parametrize(
    ("values", "weight"), [([[np.nan]], 0.4), ([[2.0], [1.0]], 0.4), ([[1.0]], 0.0), ([[1.0]], 0.3), ([[1.0]], 1.2)]
)
def test_invalid_climatology_is_refused(auto, values, weight, tmp_path):
    def with_climatology(values, weight):
        model = copy(auto)
        climatology = Climatology(np.array(values), weight)
        model.pool_ = replace(auto.pool_, weights=0.6 * auto.pool_.weights, climatology=climatology)
        model.weights_ = dict(zip("abcdefgh", model.pool_.shares.tolist(), strict=False))
        model.save(tmp_path / "m.dgbm")
        return load(tmp_path / "m.dgbm")

    loaded = with_climatology([[1.0], [2.0]], 0.4).pool_.climatology
    np.testing.assert_array_equal(loaded.values, [[1.0], [2.0]])
    with pytest.raises(ModelFileError):
        with_climatology(values, weight)


def test_members_of_different_tables_and_weights_that_do_not_sum_to_one_are_refused(tmp_path):
    auto = load(path_of("auto"))
    pool, path = auto.pool_, tmp_path / "altered.dgbm"
    first, second = pool.members
    other = FeatureTable.plain(second.features.names, (None, None, (0.0, 1.0, 9.0)))
    scale = replace(second.response, scale=2.0 * second.response.scale)
    pools = {
        "models of the same table": replace(pool, members=(first, replace(second, features=other))),
        "of the same table": replace(pool, members=(first, replace(second, response=scale))),
        "sum to one": replace(pool, weights=1.1 * pool.weights),
    }
    for message, wrong in pools.items():
        model = copy(auto)
        model.pool_ = wrong
        model.save(path)
        with pytest.raises(ModelFileError, match=message):
            load(path)


NAN = float("nan")
FEATURES, MODEL = (position("first_stage", kind) for kind in ("features", "model"))
ARRAYS = ("centre", "residual_scale", "scale_floor", "shrink")
WRONG = {
    "first_stage": [
        ("first_stage:location", [99, -1, FEATURES, MODEL, "2", 2.0]),
        ("first_stage:log_scale", [99, FEATURES]),
        ("first_stage:features", [None, [99], [FEATURES], [[2]], []]),
        *((f"first_stage:{name}", [[], [1.0, 1.0], [NAN], None]) for name in ARRAYS),
        ("model:first_stage", [None, 99, FEATURES]),
        ("model:features", [None, 99, 1, MODEL]),
        ("model:response", [None, 0]),
        ("model:bags", [[], [[]], [["boosters/2.txt", "boosters/3.txt"]], [["boosters/0.txt"]], None, [[3]]]),
        ("model:bag_mix", ["median", None]),
        ("model:engine", ["fast", None]),
        ("model:n_jobs", [0, "all", 1.5]),
    ],
    "auto": [
        ("pool:members", [[], None, [0, 1], [99, 99]]),
        ("pool:weights", [[], [1.0], [0.5, 0.6], [0.0, 1.0], [-0.5, 1.5], [NAN, 1.0], None]),
        ("pool:correction", ["arrays/0.npy", 3, [], {}, {"theta": "arrays/0.npy"}]),
        ("pool:correction", [{"theta": "arrays/99.npy", "iqr_quantiles": "arrays/99.npy"}]),
        ("pool:shapes", [[], [3], None]),
        ("pool:shapes.0", [{}, {"atoms": [2.0, 1.0], "low": None, "high": None}]),
        ("pool:shapes.0.atoms", [[1.0], [1.0, NAN], "ab"]),
        ("pool:shapes.0.low", ["0", NAN]),
        ("pool:shapes.0.limits", [3, {"atoms": [], "low": 2.0, "high": 1.0}]),
    ],
}


@wrong_values(WRONG)
def test_wrong_fields_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


def test_points_of_a_bag_round_trip_and_are_checked(auto, tmp_path):
    X, _ = table()
    model = copy(auto)
    model.pool_ = replace(auto.pool_, points_of_a_bag=21)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert loaded.pool_.points_of_a_bag == 21
    same(loaded, model, X[:9])
    assert load(path_of("auto")).pool_.points_of_a_bag is None
    for wrong in (1, 378):
        model.pool_ = replace(auto.pool_, points_of_a_bag=wrong)
        model.save(tmp_path / "m.dgbm")
        with pytest.raises(ModelFileError, match="points_of_a_bag must be 2 to 377"):
            load(tmp_path / "m.dgbm")
