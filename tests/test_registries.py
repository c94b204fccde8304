"""A new path, target, schedule, noise feature, first-stage model or recipe is one entry of one table.

Each test registers an entry that the library does not have and takes a model with it through fit, sample, save and
load. Messages read the table when they are written, docstrings when they are imported; no other file lists its names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso

import diffgbm
from diffgbm import DiffGBM, DiffGBMCV
from diffgbm.diffusion.noise_levels import LOSS_WEIGHTINGS, NOISE_FEATURES, TIME_SAMPLINGS, TimeDistribution
from diffgbm.diffusion.paths import PATHS, GaussianPath, PathFamily
from diffgbm.diffusion.recipe import NAMED
from diffgbm.diffusion.sampler import METHODS, SCHEDULES, Sampler
from diffgbm.diffusion.targets import TARGETS, Target, target_at
from diffgbm.first_stage.catalogue import CATALOGUE, Entry, feature_names, subtracted_names
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.fitting.noise_design import NOISE_DESIGNS, NoiseDesign
from diffgbm.tuning.search_spaces import SPACES
from tests.conftest import TINY, tiny, toy

SOURCE = Path(diffgbm.__file__).parent
NEW = "brand_new"


def quadratic_path(t, low, high):
    """``alpha = 1 - t^2, beta = t``."""
    return 1.0 - t**2, t, -2.0 * t, np.ones_like(t)


def half_noise(point, sd):
    """``target = (y0 - z) / 2``."""
    half = np.full_like(point.alpha, 0.5)
    return half, -half, np.ones_like(half)


def three_columns(t, point):
    return np.column_stack([t, np.sqrt(t), point.beta])


@dataclass(frozen=True)
class Registration:
    """A table, a new entry, the argument that takes its name, and arguments of a model that uses it."""

    table: dict[str, Any]
    entry: Any
    argument: str
    params: dict[str, Any]


SCORE = {"residualize": "off", "pf_ode": True, "n_steps": 4}
REGISTRATIONS = {
    "path": Registration(
        PATHS,
        PathFamily(quadratic_path),
        "sde_name",
        {**SCORE, "sde_name": NEW, "score_parameterization": "velocity"},
    ),
    "flow path": Registration(
        PATHS,
        PathFamily(quadratic_path),
        "flow_path",
        {"training_objective": "flow_matching", "flow_path": NEW, "residualize": "off"},
    ),
    "target": Registration(
        TARGETS, Target(half_noise), "score_parameterization", {**SCORE, "score_parameterization": NEW}
    ),
    "weighted target": Registration(
        TARGETS,
        Target(half_noise, weighs_itself=True),
        "score_parameterization",
        {**SCORE, "score_parameterization": NEW, "loss_weighting": "min_snr"},
    ),
    "noise feature": Registration(NOISE_FEATURES, three_columns, "noise_features", {**SCORE, "noise_features": NEW}),
    "times": Registration(
        TIME_SAMPLINGS,
        TimeDistribution(lambda spec, n, path, rng: rng.uniform(0.1, 1.0, n), lambda spec, u, path: 0.1 + 0.9 * u),
        "t_sampling",
        {**SCORE, "t_sampling": NEW},
    ),
    "noise design": Registration(
        NOISE_DESIGNS,
        NoiseDesign(lambda *parts: tuple(part / 2 for part in NOISE_DESIGNS["even"].draw(*parts)), by_row=True),
        "noise_design",
        {"noise_design": NEW},
    ),
    "weights": Registration(
        LOSS_WEIGHTINGS, lambda point, gamma: 1.0 / (1.0 + point.path.beta), "loss_weighting", {"loss_weighting": NEW}
    ),
    "schedule": Registration(
        SCHEDULES,
        lambda t: t**3,
        "velocity_stochasticity_schedule",
        {"residualize": "off", "velocity_stochasticity": 0.5, "velocity_stochasticity_schedule": NEW, "n_steps": 4},
    ),
    "first-stage model": Registration(
        CATALOGUE,
        Entry(lambda size: AnyRegressor(Lasso(alpha=0.01)), "the lasso", public=True, scaled=True),
        "residualize",
        {"residualize": NEW, "first_stage_features": ["cdf", NEW]},
    ),
}


@pytest.mark.parametrize("kind", REGISTRATIONS)
def test_one_entry_is_enough_to_fit_sample_save_and_load(kind, monkeypatch, tmp_path):
    new = REGISTRATIONS[kind]
    monkeypatch.setitem(new.table, NEW, new.entry)
    X, y = toy()
    model = tiny("default", **new.params).fit(X, y)
    samples = model.sample(X[:7], 5, seed=1)
    assert np.isfinite(samples).all()
    model.save(tmp_path / "model.dgbm")
    loaded = diffgbm.load(tmp_path / "model.dgbm")
    assert loaded.recipe_ == model.recipe_
    np.testing.assert_array_equal(loaded.sample(X[:7], 5, seed=1), samples)
    np.testing.assert_array_equal(loaded.predict(X[:7]), model.predict(X[:7]))


@pytest.mark.parametrize("kind", REGISTRATIONS)
def test_messages_read_the_table(kind, monkeypatch):
    new = REGISTRATIONS[kind]
    with pytest.raises(ValueError, match=f"{new.argument} must be one of .*; got '{NEW}'"):
        tiny("default", **new.params).fit(*toy())
    monkeypatch.setitem(new.table, NEW, new.entry)
    with pytest.raises(ValueError, match=f"{new.argument} must be one of .*'{NEW}'.*; got 'unknown'"):
        tiny("default", **{**new.params, new.argument: "unknown"}).fit(*toy())


def test_a_scaled_first_stage_model_has_its_second_name(monkeypatch):
    new = REGISTRATIONS["first-stage model"]
    monkeypatch.setitem(CATALOGUE, NEW, new.entry)
    assert {NEW, f"{NEW}_scale"} <= set(subtracted_names())
    model = tiny("flow", residualize=f"{NEW}_scale").fit(*toy())
    assert model.model_.first_stage.log_scale is not None


def test_a_new_recipe_is_an_entry(monkeypatch, tmp_path):
    arguments = {**NAMED["flow"], "flow_path": "trig", "sampler_method": "euler", "n_steps": 3, "residualize": "off"}
    monkeypatch.setitem(NAMED, NEW, arguments)
    X, y = toy()
    model = DiffGBM.from_recipe(NEW, **TINY).fit(X, y)
    assert (model.recipe_.path.name, model.recipe_.sampler) == ("trig", Sampler("euler", 3, "ode"))
    model.save(tmp_path / "model.dgbm")
    loaded = diffgbm.load(tmp_path / "model.dgbm")
    np.testing.assert_array_equal(loaded.sample(X[:7], 5, seed=1), model.sample(X[:7], 5, seed=1))
    with pytest.raises(ValueError, match=f"recipe must be one of .*'{NEW}'; got 'cake'"):
        DiffGBM.from_recipe("cake")


def test_a_new_search_space_is_an_entry(monkeypatch):
    monkeypatch.setitem(SPACES, NEW, lambda trial: {"num_leaves": trial.suggest_int("num_leaves", 3, 9)})
    small = {"n_estimators": 8, "n_repeats": 3, "early_stopping_rounds": None, "residualize": "off"}
    search = DiffGBMCV(NEW, n_trials=2, n_samples=10, estimator_params=small, n_jobs=1, seed=0).fit(*toy(60))
    assert 3 <= search.best_params_["num_leaves"] <= 9
    with pytest.raises(ValueError, match=f"space must be one of .*'{NEW}'.*; got 'cake'"):
        DiffGBMCV("cake").fit(*toy(60))


def test_a_new_pair_follows_the_identities(monkeypatch):
    """Velocity and score of a new target on a new path come from the general formulas."""
    monkeypatch.setitem(PATHS, NEW, REGISTRATIONS["path"].entry)
    monkeypatch.setitem(TARGETS, NEW, REGISTRATIONS["target"].entry)
    t = np.linspace(0.1, 0.9, 9)
    point = target_at(NEW, GaussianPath(NEW), t)
    y0, z = np.random.default_rng(0).standard_normal((2, 9))
    y = point.path.alpha * y0 + point.path.beta * z
    np.testing.assert_allclose(point.velocity(y, point.of(y0, z)), point.path.d_alpha * y0 + point.path.d_beta * z)
    np.testing.assert_allclose(point.score(y, point.of(y0, z)), -z / point.path.beta)


# no second list

TABLES: dict[str, Iterable[str]] = {
    "sde_name": PATHS,
    "flow_path": PATHS,
    "score_parameterization": TARGETS,
    "noise_features": NOISE_FEATURES,
    "t_sampling": TIME_SAMPLINGS,
    "loss_weighting": LOSS_WEIGHTINGS,
    "noise_design": NOISE_DESIGNS,
    "residualize": subtracted_names(),
    "first_stage_features": feature_names(),
}


@pytest.mark.parametrize("argument", TABLES)
def test_the_docstring_lists_the_table(argument):
    line = next(line for line in DiffGBM.__doc__.splitlines() if line.strip().startswith(f"{argument} : "))
    listed = line[line.index("{") : line.index("}")]
    assert [word.strip('"') for word in listed.strip("{").split(", ")] == list(TABLES[argument])


HOMES = {
    "paths": (PATHS, "diffusion/paths.py"),
    "targets": (TARGETS, "diffusion/targets.py"),
    "noise features": (NOISE_FEATURES, "diffusion/noise_levels.py"),
    "times": (TIME_SAMPLINGS, "diffusion/noise_levels.py"),
    "noise designs": (NOISE_DESIGNS, "fitting/noise_design.py"),
    "weights": (LOSS_WEIGHTINGS, "diffusion/noise_levels.py"),
    "schedules": (SCHEDULES, "diffusion/sampler.py"),
    "methods": (METHODS, "diffusion/sampler.py"),
    "first-stage models": (feature_names(), "first_stage/catalogue.py"),
    "recipes": (NAMED, "diffusion/recipe.py"),
    "search spaces": (SPACES, "tuning/search_spaces.py"),
}
SPECIFIED = {"tuning/search_spaces.py"}
"""Files that name all entries of a small table because the paper does: they do not grow with the table."""


def lists_of_names(path: Path) -> Iterable[tuple[int, str]]:
    """Yield the lines and source of literals and texts in a file that may list names."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
            keys = node.keys if isinstance(node, ast.Dict) else node.elts
            yield node.lineno, " ".join(repr(key.value) for key in keys if isinstance(key, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for line in node.value.splitlines():
                yield node.lineno, line.replace('"', "'")


@pytest.mark.parametrize("table", HOMES)
def test_no_other_file_lists_the_table(table):
    names, home = HOMES[table]
    for path in SOURCE.rglob("*.py"):
        file = path.relative_to(SOURCE).as_posix()
        if file in (home, *SPECIFIED):
            continue
        for line, text in lists_of_names(path):
            assert not all(repr(name) in text for name in names), (
                f"{file}:{line} lists the {table} again: {text.strip()}"
            )
