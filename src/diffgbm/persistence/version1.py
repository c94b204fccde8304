"""Files of version 1 in the words of version 2: the same objects, in a list."""

from __future__ import annotations

from typing import Any

from diffgbm.persistence.values import Stored, list_of, mapping, numbers


def upgraded(manifest: Stored) -> list[dict[str, Any]]:
    """Return the objects of a manifest of version 1, which held one ``DiffGBM`` of one bag."""
    params = mapping(manifest, "params")
    features, response = mapping(manifest, "features"), mapping(manifest, "response")
    objects: list[dict[str, Any]] = [{**features, "kind": "features"}, {**response, "kind": "response"}]
    first_stage = None
    if manifest["first_stage"] is not None:
        objects += _first_stage(mapping(manifest, "first_stage"), features["n_features"])
        first_stage = len(objects) - 1
    model = {
        "kind": "model",
        "features": 0,
        "response": 1,
        "first_stage": first_stage,
        "recipe": manifest["recipe"],
        "bags": [manifest["boosters"]],
        "bag_mix": "mean",
        "engine": params["engine"],
        "n_jobs": params["n_jobs"],
    }
    estimator = {"kind": "diffgbm", "params": params, "tuples": [], "regressors": {}, "model": len(objects)}
    return [*objects, model, estimator]


def _first_stage(stored: Stored, columns: int) -> list[dict[str, Any]]:
    scale = list_of(stored, "scale", list)
    groups = [list_of(stored, "mean", list), *([scale] if scale else [])]
    averages: list[dict[str, Any]] = [{"kind": "boosters", "columns": columns, "models": group} for group in groups]
    first_stage = {
        "kind": "first_stage",
        "location": 2,
        "log_scale": 3 if scale else None,
        "features": [],
        **{name: stored[name] for name in ("centre", "scale_floor")},
        "residual_scale": stored["spread"],
        "shrink": [1.0] * len(numbers(stored, "centre")),
    }
    return [*averages, first_stage]
