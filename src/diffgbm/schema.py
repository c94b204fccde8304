"""From a model file's manifest, which may be anything, to a fitted model: every value is checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from diffgbm.engine.stored import StoredBooster
from diffgbm.errors import known
from diffgbm.guides import Guide
from diffgbm.guides.lightgbm_mean import BoosterAverage
from diffgbm.model import FittedModel
from diffgbm.noise_levels import TimeSampling
from diffgbm.paths import GaussianPath
from diffgbm.recipe import Recipe, resolve
from diffgbm.sampler import Equation, Sampler
from diffgbm.table import FeatureTable, ResponseTable
from diffgbm.training import check_arguments

Array = NDArray[np.float64]
Groups = tuple[tuple[StoredBooster, ...], ...]


def read_model(manifest: Mapping[str, Any], entries: Mapping[str, bytes]) -> FittedModel:
    """Build the model that a manifest describes; ``ValueError``, ``TypeError`` or ``KeyError`` if there is none."""
    params = _mapping(manifest, "params")
    check_arguments(params)
    resolve(params)
    features, response = _features(_mapping(manifest, "features")), _response(_mapping(manifest, "response"))
    recipe = _recipe(_mapping(manifest, "recipe"))
    texts = _Texts(entries)
    d, p = len(response.scale), features.n_features
    guide = None if manifest["guide"] is None else _guide(_mapping(manifest, "guide"), texts, d, p)
    names = _list(manifest, "boosters", str, d)
    width = d + p + (2 if recipe.noise_features == "raw_time_log_std" else 1)
    boosters = tuple(texts.booster(name, width) for name in names)
    if texts.left:
        raise ValueError(f"nothing refers to {sorted(texts.left)[0]!r}")
    return FittedModel(features, response, guide, recipe, (boosters,), "mean", params["engine"], params["n_jobs"])


class _Texts:
    """The boosters' texts, each to be used once."""

    def __init__(self, entries: Mapping[str, bytes]) -> None:
        self.left = {name: content for name, content in entries.items() if name != "manifest.json"}

    def booster(self, name: str, width: int) -> StoredBooster:
        """Read a booster; its text is checked before anything follows it."""
        text = self.left.pop(name).decode()
        try:
            return StoredBooster.checked(text, width)
        except ValueError as error:
            raise ValueError(f"booster {name!r} cannot be used: {error}") from None

    def groups(self, names: list[Any], n_groups: int, width: int) -> Groups:
        """Read the boosters of the folds of each response."""
        if len(names) != n_groups or not all(isinstance(group, list) and group for group in names):
            raise ValueError(f"the guide must have models for {n_groups} response(s)")
        return tuple(tuple(self.booster(name, width) for name in group) for group in names)


def _features(stored: Mapping[str, Any]) -> FeatureTable:
    n = stored["n_features"]
    if type(n) is not int or n < 1:
        raise ValueError(f"n_features must be a positive integer; got {n!r}")
    levels = [None if column is None else _levels(column) for column in _list(stored, "levels", (list, type(None)), n)]
    return FeatureTable(n, _names(stored, n), tuple(levels))


def _levels(column: list[Any]) -> tuple[Any, ...]:
    if not all(isinstance(level, (str, int, float)) for level in column) or len(set(column)) < len(column):
        raise ValueError("categories must be different numbers or text")
    return tuple(column)


def _response(stored: Mapping[str, Any]) -> ResponseTable:
    if not isinstance(stored["is_1d"], bool):
        raise TypeError("is_1d must be true or false")
    scale = _numbers(stored, "scale", None)
    d = len(scale)
    if d < 1 or (scale < 0.0).any() or (stored["is_1d"] and d > 1):
        raise ValueError("the response's scale must be one number >= 0 for each response")
    return ResponseTable(_names(stored, d), stored["is_1d"], _numbers(stored, "location", d), scale)


def _guide(stored: Mapping[str, Any], texts: _Texts, d: int, p: int) -> Guide:
    scale = _list(stored, "scale", list)
    centre, spread, floor = (_numbers(stored, name, d) for name in ("centre", "spread", "scale_floor"))
    return Guide(
        BoosterAverage(texts.groups(_list(stored, "mean", list), d, p)),
        BoosterAverage(texts.groups(scale, d, p)) if scale else None,
        (),
        centre,
        spread,
        floor,
        np.ones(d),
    )


def _recipe(stored: Mapping[str, Any]) -> Recipe:
    parts = {
        "path": GaussianPath(**_mapping(stored, "path")),
        "times": TimeSampling(**_mapping(stored, "times")),
        "sampler": Sampler(**_mapping(stored, "sampler")),
    }
    for owner, names in (("times", ("mean", "std", "endpoint_fraction")), ("sampler", ("strength",))):
        for name in names:
            _numbers({name: [stored[owner][name]]}, name, 1)
    for name in ("min_snr_gamma", "sigma_data"):
        if not _numbers({name: [stored[name]]}, name, 1) > 0.0:
            raise ValueError(f"{name} must be > 0; got {stored[name]!r}")
    known("equation", stored["sampler"]["equation"], get_args(Equation))
    return Recipe(**{**stored, **parts})


def _mapping(stored: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = stored[name]
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be an object; got {type(value).__name__}")
    return value


def _list(stored: Mapping[str, Any], name: str, kind: Any, length: int | None = None) -> list[Any]:
    value = stored[name]
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        raise TypeError(f"{name} is not the list it should be")
    if length is not None and len(value) != length:
        raise ValueError(f"{name} must hold {length} value(s); it holds {len(value)}")
    return value


def _names(stored: Mapping[str, Any], n: int) -> tuple[str, ...] | None:
    if stored["names"] is None:
        return None
    names = _list(stored, "names", str, n)
    if len(set(names)) < n:
        raise ValueError("columns must have different names")
    return tuple(names)


def _numbers(stored: Mapping[str, Any], name: str, length: int | None) -> Array:
    values = _list(stored, name, (int, float), length)
    numbers = np.array([float(value) for value in values], dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must hold finite numbers")
    return numbers
