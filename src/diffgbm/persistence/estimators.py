"""Estimators: their arguments, what they learned, and what they tell of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.errors import check_count, known
from diffgbm._util.parallel import n_threads
from diffgbm.auto.presets import PRESETS, Preset
from diffgbm.diffusion.recipe import resolve
from diffgbm.distributions import PredictiveDistribution
from diffgbm.estimators.auto import METRICS, AutoDiffGBM
from diffgbm.estimators.conformal import METHODS, ConformalDiffGBM, Groups
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.fitting.training import check_arguments
from diffgbm.persistence.arguments import read_arguments, write_arguments
from diffgbm.persistence.models import read_pit
from diffgbm.persistence.store import Kind, Part, Reader, Writer
from diffgbm.persistence.tables import check_steps
from diffgbm.persistence.values import Stored, list_of, mapping, numbers, of_type, plain

ADDED_LATER: dict[str, Any] = {"residualize_repeats": 1, "first_stage_features": None, "n_bags": 1, "bag_mix": "mean"}
"""Arguments of ``DiffGBM`` that older files lack, with the values that change nothing."""
_PLAIN = (str, int, float, type(None))


def write_diffgbm(estimator: DiffGBM, writer: Writer) -> dict[str, Any]:
    """Store a ``DiffGBM``; without its out-of-bag laws, which are laws of the training rows."""
    arguments = write_arguments(estimator.get_params(deep=False), writer)
    return {**arguments, "model": writer.put(getattr(estimator, "model_", None))}


def read_diffgbm(stored: Stored, reader: Reader) -> Part:
    """Read a ``DiffGBM``."""
    params = {**ADDED_LATER, **read_arguments(stored, reader)}
    check_arguments(params)
    check_steps(resolve(params).sampler.n_steps)
    n_threads(params["n_jobs"])
    of_type(params, "verbose", int)
    model = reader.maybe(stored["model"], ("model",))
    estimator = DiffGBM(**params)
    return Part(estimator if model is None else estimator._with_model(model.value))


def write_auto(estimator: AutoDiffGBM, writer: Writer) -> dict[str, Any]:
    """Store an ``AutoDiffGBM``; without its out-of-bag laws."""
    arguments = write_arguments(estimator.get_params(deep=False), writer)
    if not hasattr(estimator, "pool_"):
        return {**arguments, "pool": None}
    leaderboard = estimator.leaderboard_
    return {
        **arguments,
        "pool": writer.put(estimator.pool_),
        "leaderboard": plain(
            leaderboard if isinstance(leaderboard, list) else leaderboard.to_dict("records"), "leaderboard_"
        ),
        "weights": plain(estimator.weights_, "weights_"),
        "first_stage_errors": plain(estimator.first_stage_errors_, "first_stage_errors_"),
        "cut_short": bool(estimator.cut_short_),
        "summary": estimator.explain(),
    }


def read_auto(stored: Stored, reader: Reader) -> Part:
    """Read an ``AutoDiffGBM``."""
    params = read_arguments(stored, reader)
    if not isinstance(params["preset"], Preset):
        known("preset", params["preset"], PRESETS)
    known("metric", params["metric"], METRICS)
    n_threads(params["n_jobs"])
    of_type(params, "verbose", int)
    estimator = AutoDiffGBM(**params)
    pool = reader.maybe(stored["pool"], ("pool",))
    if pool is None:
        return Part(estimator)
    leaderboard = list_of(stored, "leaderboard", dict)
    if not all(isinstance(value, _PLAIN) for line in leaderboard for value in line.values()):
        raise TypeError("leaderboard must hold numbers and text")
    weights, errors = (
        {k: float(v) for k, v in mapping(stored, name).items()} for name in ("weights", "first_stage_errors")
    )
    if list(weights.values()) != pool.value.weights.tolist():
        raise ValueError("weights must be those of the pool")
    summary, cut_short = of_type(stored, "summary", str), of_type(stored, "cut_short", bool)
    return Part(estimator._with_pool(pool.value, leaderboard, weights, errors, cut_short, summary))


def write_conformal(estimator: ConformalDiffGBM, writer: Writer) -> dict[str, Any]:
    """Store a ``ConformalDiffGBM``; the laws of its calibration rows without the rows' labels."""
    params = estimator.get_params(deep=False)
    groups = estimator.groups_
    return {
        "estimator": writer.put(params.pop("estimator")),
        **write_arguments(params, writer),
        "models": [writer.put(model) for model in estimator.models_],
        "distributions": [
            {
                "values": writer.array(distribution.values),
                "levels": writer.array(distribution.levels),
                "name": distribution.name,
            }
            for distribution in estimator.distributions_
        ],
        "observed": [writer.array(np.asarray(y, dtype=np.float64)) for y in estimator.observed_],
        "group": [writer.array(np.asarray(group, dtype=np.int64)) for group in estimator.group_],
        "edges": None if groups.edges is None else groups.edges.tolist(),
        "values": plain(groups.values, "groups_.values"),
        "pit": writer.array(estimator.pit_),
    }


def read_conformal(stored: Stored, reader: Reader) -> Part:
    """Read a ``ConformalDiffGBM``."""
    params = read_arguments(stored, reader)
    known("method", params["method"], METHODS)
    check_count("n_groups", params["n_groups"], 1)
    base = reader.maybe(stored["estimator"], ("diffgbm", "auto"))
    estimator = ConformalDiffGBM(None if base is None else base.value, **params)
    models = [reader.part(i, ("diffgbm", "auto")).value for i in list_of(stored, "models", int)]
    if not models or not all(hasattr(model, "n_features_in_") for model in models):
        raise ValueError("there are no fitted models")
    n = len(models)
    distributions = [_distribution(distribution, reader) for distribution in list_of(stored, "distributions", dict, n)]
    observed = reader.arrays(stored, "observed", "<f8", n)
    group = reader.arrays(stored, "group", "<i8", n)
    if any(
        {len(distribution)} != {len(y), len(own)}
        for distribution, y, own in zip(distributions, observed, group, strict=True)
    ):
        raise ValueError("there must be one observation and one group for each calibration row")
    estimator.models_, estimator.distributions_, estimator.observed_, estimator.group_ = (
        models,
        distributions,
        observed,
        group,
    )
    estimator.groups_ = _groups(stored, params)
    estimator.pit_ = read_pit(stored, reader)
    estimator.n_features_in_ = models[0].n_features_in_
    return Part(estimator)


def _distribution(stored: Stored, reader: Reader) -> PredictiveDistribution:
    values = reader.array(stored, "values", "<f8", (None, None))
    levels = reader.array(stored, "levels", "<f8", (values.shape[1],))
    if values.size == 0 or (np.diff(values, axis=1) < 0.0).any():
        raise ValueError("a law's points must be sorted")
    if levels[0] < 0.0 or levels[-1] > 1.0 or (np.diff(levels) < 0.0).any():
        raise ValueError("a law's levels must be increasing from 0 to 1")
    return PredictiveDistribution(values, levels, of_type(stored, "name", str))


def _groups(stored: Stored, params: dict[str, Any]) -> Groups:
    column = of_type(params, "groups", (int, str, type(None)))
    if isinstance(column, bool):  # an index of rows, for scikit-learn
        raise TypeError("groups must be a column")
    edges = None if stored["edges"] is None else numbers(stored, "edges")
    if edges is not None and (np.diff(edges) < 0.0).any():
        raise ValueError("edges must be increasing")
    values = list_of(stored, "values", _PLAIN)
    if len(set(values)) < len(values):
        raise ValueError("groups must be different")
    return Groups(column, edges, tuple(values))


KINDS: dict[type, Kind] = {
    DiffGBM: Kind("diffgbm", write_diffgbm, read_diffgbm),
    AutoDiffGBM: Kind("auto", write_auto, read_auto),
    ConformalDiffGBM: Kind("conformal", write_conformal, read_conformal),
}
