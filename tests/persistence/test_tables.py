"""Tables and recipes: round trips, names of the tables of ``diffusion``, and refusal of invalid ones."""

import json

import numpy as np
import pandas as pd
import pytest

from diffgbm import DiffGBM
from diffgbm.data.file_format import ColumnReading, FileFormat, TableReading
from diffgbm.diffusion.noise_levels import NOISE_FEATURES, TIME_SAMPLINGS, TimeDistribution
from diffgbm.persistence import tables
from diffgbm.persistence.tables import MOST_STEPS, check_steps, read_recipe, write_recipe
from tests.conftest import tiny, toy
from tests.persistence.altered_files import refused, set_at, wrong_values


def test_categories_that_json_cannot_hold_are_refused(tmp_path):
    X, y = toy()
    pairs = pd.DataFrame({"x": X[:, 0], "c": pd.Categorical([(1, 2), (3, 4)] * 60)})
    with pytest.raises(TypeError, match=r"column 1 has the category \(1, 2\)"):
        tiny("flow").fit(pairs, y).save(tmp_path / "m.dgbm")


NAN = float("nan")
WRONG = {
    "mean_scale": [
        ("features:n_features", [0, -1, 2, 4, 10**12, "3", 3.0, None, True]),
        ("features:levels", [None, [], [None], [None, None, 3], [[[]], None, None], {"a": 1}]),
        ("features:levels.0", [["a", "a"], [None], "abc", [["a"]]]),
        ("features:names", [[], ["a", "b"], ["a", "a", "b"], [1, 2, 3], "abc", 3]),
        ("response:scale", [[], [-1.0], ["1"], [NAN], [[1.0]], [1.0, 1.0], None, 1.0]),
        ("response:location", [[], [float("inf")], None, ["x"]]),
        ("response:is_1d", [None, 1, "true"]),
        ("response:names", [["a", "b"]]),
        ("model:recipe", [None, {}, [], 3, "x"]),
        ("model:recipe.path", [None, {}, {"name": "nowhere"}, {"name": "vp", "low": "x"}, "vp"]),
        ("model:recipe.path.high", [-3]),
        ("model:recipe.target", ["nothing", None, 3]),
        ("model:recipe.noise_features", ["nothing", "raw_time"]),
        ("model:recipe.loss_weighting", ["nothing", None]),
        ("model:recipe.times.kind", ["nothing", None]),
        ("model:recipe.times.mean", ["x"]),
        ("model:recipe.sampler.n_steps", [0, "5", 2.5, None, 2_000_000]),
        ("model:recipe.sampler.equation", ["nothing", None]),
        *((f"model:recipe.{name}", [0, -1, "1", None]) for name in ("sigma_data", "min_snr_gamma")),
        ("model:recipe.extra", [1]),
    ],
}


@wrong_values(WRONG)
def test_wrong_fields_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


@pytest.mark.parametrize("name", ["published", "score_plus", "flow"])
def test_recipes_round_trip(name):
    recipe = getattr(DiffGBM, name)(velocity_stochasticity=0.5, pf_ode=None).recipe
    assert read_recipe(json.loads(json.dumps(write_recipe(recipe)))) == recipe


ONES = TimeDistribution(lambda spec, n, path, rng: np.ones(n), lambda spec, u, path: np.ones_like(u))


def test_a_new_entry_of_a_table_is_read(monkeypatch):
    """No second list of names: a noise feature and a time distribution of three columns are registered and read."""
    monkeypatch.setitem(NOISE_FEATURES, "powers", lambda t, point: np.column_stack([t, t**2, t**3]))
    monkeypatch.setitem(TIME_SAMPLINGS, "ones", ONES)
    recipe = DiffGBM(noise_features="powers", t_sampling="ones").recipe
    stored = json.loads(json.dumps(write_recipe(recipe)))
    assert read_recipe(stored) == recipe
    assert recipe.n_noise_columns == 3


def test_the_number_of_steps_is_bounded():
    check_steps(MOST_STEPS)
    with pytest.raises(ValueError, match="n_steps must be at most"):
        check_steps(MOST_STEPS + 1)


READING = TableReading(
    FileFormat("csv", "cp1252", ";", 2, "first", missing=("-999",)),
    (
        ColumnReading("price", "number", ",", ".", "€", missing=("?",), note="a note"),
        ColumnReading("sold", "date", dates="%d|%m|%y", zone=True),
        ColumnReading("town", "typed", type="text"),
    ),
    (("id", "an index"),),
)


def test_the_reading_of_a_file_survives():
    stored = json.loads(json.dumps(tables.write_reading(READING)))
    assert tables.read_reading(stored) == READING
    assert tables.read_reading(tables.write_reading(None)) is None


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("file", "header", 0),
        ("file", "unnamed", "middle"),
        ("file", "encoding", 8),
        ("file", "missing", [1]),
        ("column", "decimal", "."[:0]),
        ("column", "thousands", ".*"),
        ("column", "kind", "pickle"),
        ("column", "zone", "yes"),
        ("column", "name", "sold"),
    ],
)
def test_an_altered_reading_is_refused(part, name, value):
    stored = json.loads(json.dumps(tables.write_reading(READING)))
    (stored["file"] if part == "file" else stored["columns"][0])[name] = value
    with pytest.raises((ValueError, TypeError)):
        tables.read_reading(stored)
