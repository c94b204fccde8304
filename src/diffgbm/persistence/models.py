"""Fitted models: tables, first-stage models, the noise model, and pools of several models."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.climatology import MAX_POINTS, Climatology
from diffgbm.auto.pooled_model import USUAL_POINTS, PooledModel
from diffgbm.auto.recalibration import Correction
from diffgbm.data.features import FeatureTable
from diffgbm.data.novelty import Reference
from diffgbm.data.response import ResponseTable
from diffgbm.distributions.support import Support
from diffgbm.engine.factory import Kind as EngineKind
from diffgbm.engine.factory import Mix
from diffgbm.first_stage import FittedFirstStage
from diffgbm.fitting.atoms import Atoms
from diffgbm.fitting.model import FittedModel
from diffgbm.members.member import FittedMember
from diffgbm.persistence import tables
from diffgbm.persistence.outside import read_member, write_member
from diffgbm.persistence.predictors import PREDICTORS, common_columns
from diffgbm.persistence.store import Kind, Part, Reader, Writer
from diffgbm.persistence.values import Stored, list_of, mapping, number, numbers, of_type, one_of

_RESIDUALS = ("centre", "residual_scale", "scale_floor", "shrink")
"""Arrays of a fitted first stage."""
_NOTHING = np.finfo(np.float32).max
"""A missing value of a reference row in files; the numbers of reference rows are smaller."""


def write_first_stage(first_stage: FittedFirstStage, writer: Writer) -> dict[str, Any]:
    """Store a fitted first stage."""
    return {
        "location": writer.put(first_stage.location),
        "log_scale": writer.put(first_stage.log_scale),
        "features": [writer.put(predictor) for predictor in first_stage.features],
        **{name: getattr(first_stage, name).tolist() for name in _RESIDUALS},
    }


def read_first_stage(stored: Stored, reader: Reader) -> Part:
    """Read a fitted first stage."""
    location, log_scale = (reader.maybe(stored[name], PREDICTORS) for name in ("location", "log_scale"))
    features = [reader.part(i, PREDICTORS) for i in list_of(stored, "features", int)]
    centre = numbers(stored, "centre")
    arrays = {name: numbers(stored, name, len(centre)) for name in _RESIDUALS}
    subtracted = [part for part in (location, log_scale) if part is not None]
    if any(part.gives != len(centre) for part in subtracted):
        raise ValueError(f"location and scale must predict {len(centre)} response(s)")
    first_stage = FittedFirstStage(
        location=None if location is None else location.value,
        log_scale=None if log_scale is None else log_scale.value,
        features=tuple(part.value for part in features),
        **arrays,
    )
    return Part(first_stage, common_columns([*subtracted, *features]), sum(part.gives or 0 for part in features))


def write_model(model: FittedModel, writer: Writer) -> dict[str, Any]:
    """Store a fitted model."""
    return {
        "features": writer.put(model.features),
        "response": writer.put(model.response),
        "first_stage": writer.put(model.first_stage),
        "recipe": tables.write_recipe(model.recipe),
        "bags": [[writer.booster(booster) for booster in bag] for bag in model.bags],
        "bag_mix": model.bag_mix,
        "engine": model.engine_kind,
        "n_jobs": model.n_jobs,
        "atoms": _write_atoms(model.atoms, writer),
        "reference": writer.put(model.reference),
        "support": write_support(model.support),
        **({"supports": [write_support(support) for support in model.supports]} if model.supports else {}),
        **({"joint_atoms": [_write_atoms(each, writer) for each in model.joint_atoms]} if model.joint_atoms else {}),
    }


def read_model(stored: Stored, reader: Reader) -> Part:
    """Read a fitted model."""
    features: FeatureTable = reader.part(stored["features"], ("features",)).value
    response: ResponseTable = reader.part(stored["response"], ("response",)).value
    recipe = tables.read_recipe(mapping(stored, "recipe"))
    first_stage = reader.maybe(stored["first_stage"], ("first_stage",))
    mix: Any = one_of(stored, "bag_mix", get_args(Mix))
    engine: Any = one_of(stored, "engine", get_args(EngineKind))
    d, p = len(response.scale), features.width
    if first_stage is not None and (first_stage.takes not in (None, p) or len(first_stage.value.centre) != d):
        raise ValueError(f"the first stage does not fit {p} column(s) and {d} response(s)")
    width = d + p + recipe.n_noise_columns
    width += 0 if first_stage is None or first_stage.gives is None else first_stage.gives
    names = [list_of({"bags": bag}, "bags", str, d) for bag in list_of(stored, "bags", list)]
    bags = tuple(tuple(reader.booster(name, width) for name in bag) for bag in names)
    fitted = None if first_stage is None else first_stage.value
    atoms = _read_atoms(stored, reader, p)
    if atoms is not None and not response.is_1d:
        raise ValueError("atoms need one response")
    # older files have no reference rows
    reference = reader.maybe(stored.get("reference"), ("reference",))
    if reference is not None and reference.takes != features.n_features:
        raise ValueError(f"reference rows must have {features.n_features} column(s)")
    rows = None if reference is None else reference.value
    support = read_support(stored)
    if support is not None and not response.is_1d:
        raise ValueError("a support needs one response")
    supports = tuple(read_support({"support": each}) for each in stored.get("supports") or ())
    if supports and (response.is_1d or len(supports) != d):
        raise ValueError(f"there must be a support for each of {d} response(s)")
    joint = _read_joint_atoms(stored, reader, d, p)
    if joint and not supports:
        raise ValueError("the atoms of several responses need supports")
    for each, limits in zip(joint, supports, strict=bool(joint)):
        if each is not None and (limits is None or not np.array_equal(limits.atoms, each.values)):
            raise ValueError("the atoms of several responses must be those of their supports")
    parts = (features, response, fitted, recipe, bags, mix, engine, stored["n_jobs"], atoms, rows, support, supports)
    return Part(FittedModel(*parts, joint))


def write_reference(reference: Reference, writer: Writer) -> dict[str, Any]:
    """Store the rows that new rows are compared with."""
    # arrays in files are finite
    values = np.where(np.isnan(reference.values), _NOTHING, reference.values)
    return {"values": writer.array(values), "scores": writer.array(reference.scores), "ordered": reference.ordered}


def read_reference(stored: Stored, reader: Reader) -> Part:
    """Read the rows that new rows are compared with."""
    values = reader.array(stored, "values", "<f4", (None, None))
    values = np.where(values == _NOTHING, np.float32(np.nan), values)
    scores: Array = reader.array(stored, "scores", "<f8", (None,))
    if len(values) < 1 or len(scores) < 1 or scores[0] < 0.0 or (np.diff(scores) < 0.0).any():
        raise ValueError("reference rows need values, and sorted scores from 0")
    return Part(Reference(values, scores, of_type(stored, "ordered", bool)), values.shape[1])


def write_pool(pool: PooledModel, writer: Writer) -> dict[str, Any]:
    """Store a pool."""
    return {
        "members": [writer.put(member) for member in pool.members],
        "weights": pool.weights.tolist(),
        "correction": None if pool.correction is None else write_correction(pool.correction, writer),
        "shapes": [
            {
                "atoms": None if s.atoms is None else s.atoms.tolist(),
                "low": s.low,
                "high": s.high,
                "limits": write_support(s.limits),
            }
            for s in pool.shapes
        ],
        "atoms": _write_atoms(pool.atoms, writer),
        **({"joint_atoms": [_write_atoms(each, writer) for each in pool.joint_atoms]} if pool.joint_atoms else {}),
        "climatology": None if pool.climatology is None else _write_climatology(pool.climatology, writer),
        "outside": [writer.put(member) for member in pool.outside],
        "points_of_a_bag": pool.points_of_a_bag,
    }


def read_pool(stored: Stored, reader: Reader) -> Part:
    """Read a pool."""
    members = [reader.part(i, ("model",)).value for i in list_of(stored, "members", int)]
    weights = numbers(stored, "weights", len(members))
    if not members:
        raise ValueError("a pool needs a member")
    first: FittedModel = members[0]
    climatology = _read_climatology(stored, reader, first.n_responses)
    # files that are older than members from outside have none
    outside = [reader.part(i, ("member",)) for i in list_of({"outside": [], **stored}, "outside", int)]
    if outside and (not first.response.is_1d or any(m.takes not in (None, first.features.width) for m in outside)):
        raise ValueError("members from outside must be models of the same table, with one response")
    share = (0.0 if climatology is None else climatology.weight) + sum(m.value.weight for m in outside)
    # a model without weight stays beside others: it knows how the table is read
    positive = (weights > 0.0).all() or (abs(share - 1.0) < 1e-9 and len(members) == 1 and weights[0] == 0.0)
    if not positive or abs(weights.sum() + share - 1.0) > 1e-9:
        raise ValueError("a pool's weights must be positive and sum to one")
    if any(member.features != first.features or not _same(member.response, first.response) for member in members):
        raise ValueError("the members of a pool must be models of the same table")
    shapes = tuple(map(_shape, list_of(stored, "shapes", dict, first.n_responses)))
    atoms = _read_atoms(stored, reader, first.features.width)
    if atoms is not None and not first.response.is_1d:
        raise ValueError("atoms need one response")
    others = tuple(member.value for member in outside)
    correction, points = read_correction(stored, reader), _points_of_a_bag(stored)
    joint = _read_joint_atoms(stored, reader, first.n_responses, first.features.width)
    if joint and first.response.is_1d:
        raise ValueError("joint atoms need several responses")
    parts = (tuple(members), weights, correction, shapes, atoms, climatology, others, points, joint)
    return Part(PooledModel(*parts))


def _points_of_a_bag(pool: Stored) -> int | None:
    if pool.get("points_of_a_bag") is None:  # not compressed, or older than this
        return None
    points = of_type(pool, "points_of_a_bag", int)
    if not 2 <= points <= USUAL_POINTS:
        raise ValueError(f"points_of_a_bag must be 2 to {USUAL_POINTS}")
    return points


def _write_climatology(climatology: Climatology, writer: Writer) -> dict[str, Any]:
    return {"values": writer.array(climatology.values), "weight": climatology.weight}


def _read_climatology(pool: Stored, reader: Reader, n_responses: int) -> Climatology | None:
    if pool.get("climatology") is None:  # files that are older than it have none
        return None
    stored = mapping(pool, "climatology")
    values: Array = reader.array(stored, "values", "<f8", (None, n_responses))
    weight = number(stored, "weight")
    if not 0 < len(values) <= MAX_POINTS or not np.isfinite(values).all() or (np.diff(values[:, 0]) < 0.0).any():
        raise ValueError(f"climatology must hold 1 to {MAX_POINTS} finite responses, sorted by the first")
    if not 0.0 < weight <= 1.0:
        raise ValueError("the weight of climatology must be above 0 and at most 1")
    return Climatology(values, weight)


def _write_atoms(atoms: Atoms | None, writer: Writer) -> dict[str, Any] | None:
    if atoms is None:
        return None
    limits = {"low": atoms.low, "high": atoms.high}
    return {
        "predictor": writer.put(atoms.predictor),
        **{name: getattr(atoms, name).tolist() for name in ("values", "base", "trust")},
        **{name: limit if np.isfinite(limit) else None for name, limit in limits.items()},
    }


def _read_joint_atoms(stored: Stored, reader: Reader, count: int, n_columns: int) -> tuple[Atoms | None, ...]:
    """Read the atoms of each of ``count`` responses; files without such atoms have none."""
    if not stored.get("joint_atoms"):
        return ()
    each = list_of(stored, "joint_atoms", (dict, type(None)), count)
    return tuple(_read_atoms({"atoms": one}, reader, n_columns) for one in each)


def _read_atoms(model: Stored, reader: Reader, n_columns: int) -> Atoms | None:
    if model["atoms"] is None:
        return None
    stored = mapping(model, "atoms")
    values = numbers(stored, "values")
    base, trust = (numbers(stored, name, len(values)) for name in ("base", "trust"))
    predictor = reader.part(stored["predictor"], PREDICTORS)
    low, high = (None if stored[name] is None else number(stored, name) for name in ("low", "high"))
    if len(values) == 0 or (np.diff(values) <= 0.0).any():
        raise ValueError("atoms must be increasing numbers")
    if predictor.gives != len(values) or predictor.takes not in (None, n_columns):
        raise ValueError(f"the probabilities of atoms do not fit {n_columns} column(s) and {len(values)} atom(s)")
    if any((part < 0.0).any() or (part > 1.0).any() for part in (base, trust)):
        raise ValueError("base and trust of atoms must lie between 0 and 1")
    if (low is not None and low != values[0]) or (high is not None and high != values[-1]):
        raise ValueError("the limits of a continuous part must be its first and last atom")
    ends = -np.inf if low is None else low, np.inf if high is None else high
    return Atoms(values, predictor.value, base, trust, *ends)


def write_support(support: Support | None) -> dict[str, Any] | None:
    """Store the support of distributions."""
    if support is None:
        return None
    limits = {"low": support.low, "high": support.high}
    return {
        "atoms": support.atoms.tolist(),
        "integers": support.integers,
        **{name: limit if np.isfinite(limit) else None for name, limit in limits.items()},
    }


def read_support(stored: Stored) -> Support | None:
    """Read the support of distributions; files that are older than it have none."""
    if stored.get("support") is None:
        return None
    support = mapping(stored, "support")
    atoms = numbers(support, "atoms")
    low, high = (None if support[name] is None else number(support, name) for name in ("low", "high"))
    ends = -np.inf if low is None else low, np.inf if high is None else high
    if (np.diff(atoms) <= 0.0).any() or ends[0] > ends[1]:
        raise ValueError("the atoms and limits of a support must be increasing")
    return Support(*ends, atoms, of_type(support, "integers", bool) if "integers" in support else False)


def write_correction(correction: Correction, writer: Writer) -> dict[str, Any]:
    """Store a correction."""
    return {"theta": writer.array(correction.theta), "iqr_quantiles": writer.array(correction.iqr_quantiles)}


def read_correction(pool: Stored, reader: Reader) -> Correction | None:
    """Read the correction of a pool, if it has one."""
    if pool["correction"] is None:
        return None
    stored = mapping(pool, "correction")
    theta: Array = reader.array(stored, "theta", "<f8", (None, None))
    ranges: Array = reader.array(stored, "iqr_quantiles", "<f8", (None,))
    if theta.size == 0 or len(ranges) < 2 or ranges[0] < 0.0 or (np.diff(ranges) < 0.0).any():
        raise ValueError("a correction needs coefficients, and iqr_quantiles that increase from at least 0")
    return Correction(theta, ranges)


def read_pit(stored: Stored, reader: Reader) -> Array:
    """Read sorted PIT values."""
    pit: Array = reader.array(stored, "pit", "<f8", (None,))
    if len(pit) < 1 or pit[0] < 0.0 or pit[-1] > 1.0 or (np.diff(pit) < 0.0).any():
        raise ValueError("pit must be sorted numbers from 0 to 1")
    return pit


def _shape(stored: Stored) -> ResponseShape:
    atoms = None if stored["atoms"] is None else numbers(stored, "atoms")
    if atoms is not None and (len(atoms) < 2 or (np.diff(atoms) <= 0.0).any()):
        raise ValueError("atoms must be increasing")
    low, high = (None if stored[name] is None else number(stored, name) for name in ("low", "high"))
    if low is not None and high is not None and low > high:
        raise ValueError("low must not be above high")
    return ResponseShape(atoms, low, high, read_support({"support": stored.get("limits")}))


def _same(a: ResponseTable, b: ResponseTable) -> bool:
    return (a.names, a.is_1d, a.location.tolist(), a.scale.tolist()) == (
        *(b.names, b.is_1d, b.location.tolist(), b.scale.tolist()),
    )


KINDS: dict[type, Kind] = {
    FeatureTable: Kind(
        "features",
        tables.write_features,
        lambda stored, reader: Part(tables.read_features(stored, reader)),
    ),
    ResponseTable: Kind(
        "response",
        lambda value, writer: tables.write_response(value),
        lambda stored, reader: Part(tables.read_response(stored)),
    ),
    FittedFirstStage: Kind("first_stage", write_first_stage, read_first_stage),
    Reference: Kind("reference", write_reference, read_reference),
    FittedModel: Kind("model", write_model, read_model),
    PooledModel: Kind("pool", write_pool, read_pool),
    FittedMember: Kind("member", write_member, read_member),
}
