"""Fitted first-stage models: boosters, regressors, Gaussian processes, forests and stacks."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from diffgbm.engine.forest import header_value
from diffgbm.first_stage.dense import DenseTable
from diffgbm.first_stage.gaussian_process import GaussianProcess, Kernel
from diffgbm.first_stage.leaf_forest import LeafForest
from diffgbm.first_stage.lightgbm_mean import BoosterAverage
from diffgbm.first_stage.regressors import RegressorAverage
from diffgbm.first_stage.shrunk_scale import ShrunkScale
from diffgbm.first_stage.stack import Weighted
from diffgbm.persistence.forests import read_forest, write_forest
from diffgbm.persistence.scikit_learn import read_regressors, write_regressors
from diffgbm.persistence.store import Kind, Part, Reader, Writer
from diffgbm.persistence.values import Stored, count, list_of, numbers, one_of, positions

LARGEST = float(np.finfo(np.float64).max)
"""Limit of a column that has none."""


def write_dense(dense: DenseTable, writer: Writer) -> dict[str, Any]:
    """Store a dense table: how rows are scaled and one-hot encoded."""
    return {
        "columns": len(dense.numeric) + len(dense.levels),
        "numeric": dense.numeric.tolist(),
        "gaps": dense.gaps.tolist(),
        **{name: getattr(dense, name).tolist() for name in ("fill", "centre", "scale", "low", "high")},
        "levels": [[j, codes.tolist()] for j, codes in dense.levels],
    }


def read_dense(stored: Stored, reader: Reader) -> Part:
    """Read a dense table."""
    p = count(stored, "columns")
    numeric = positions(stored, "numeric", p)
    gaps = positions(stored, "gaps", p)
    fill, centre, scale = (numbers(stored, name, len(numeric)) for name in ("fill", "centre", "scale"))
    # older files have no limits
    unlimited = {"low": [-LARGEST] * len(numeric), "high": [LARGEST] * len(numeric)}
    low, high = (numbers({**unlimited, **stored}, name, len(numeric)) for name in ("low", "high"))
    levels = []
    for item in list_of(stored, "levels", list):
        j, codes = item
        levels.append((int(positions({"levels": [j]}, "levels", p)[0]), numbers({"levels": codes}, "levels")))
    columns = sorted([*numeric.tolist(), *(j for j, _ in levels)])
    # their number first: a list of all columns that an untrusted file claims may not fit into memory
    if len(columns) != p or columns != list(range(p)) or not set(gaps) <= set(numeric):
        raise ValueError("columns are missing or occur twice")
    if not (scale > 0.0).all():
        raise ValueError("the scale of a column must be > 0")
    if not (low <= high).all():
        raise ValueError("the limits of a column must be in order")
    dense = DenseTable(numeric, gaps, fill, centre, scale, tuple(levels), low, high)
    return Part(dense, p, dense.width)


def write_boosters(average: BoosterAverage, writer: Writer) -> dict[str, Any]:
    """Store an average of boosters."""
    models = [[writer.booster(booster) for booster in boosters] for boosters in average.models]
    header = writer.entries[models[0][0]].partition(b"\nTree=")[0].decode()
    return {"columns": int(header_value(header, "max_feature_idx")) + 1, "models": models}


def read_boosters(stored: Stored, reader: Reader) -> Part:
    """Read an average of boosters."""
    p, models = count(stored, "columns"), list_of(stored, "models", list)
    if not models or not all(names and all(isinstance(name, str) for name in names) for names in models):
        raise ValueError("an average of boosters must have boosters for each response")
    average = BoosterAverage(tuple(tuple(reader.booster(name, p) for name in names) for names in models))
    return Part(average, p, len(models))


def write_process(process: GaussianProcess, writer: Writer) -> dict[str, Any]:
    """Store a Gaussian process."""
    return {
        "dense": writer.put(process.dense),
        "kernel": process.kernel,
        "offset": process.offset.tolist(),
        **{name: writer.array(getattr(process, name)) for name in ("points", "lengths", "alpha")},
    }


def read_process(stored: Stored, reader: Reader) -> Part:
    """Read a Gaussian process."""
    dense = reader.part(stored["dense"], ("dense",))
    kernel: Any = one_of(stored, "kernel", get_args(Kernel))
    offset = numbers(stored, "offset")
    points = reader.array(stored, "points", "<f8", (None, dense.gives))
    lengths = reader.array(stored, "lengths", "<f8", (len(offset), dense.gives))
    alpha = reader.array(stored, "alpha", "<f8", (len(offset), len(points)))
    if len(offset) < 1 or len(points) < 1 or not (lengths > 0.0).all():
        raise ValueError("a Gaussian process needs points, responses and lengths > 0")
    return Part(GaussianProcess(dense.value, kernel, points, lengths, alpha, offset), dense.takes, len(offset))


def write_weighted(stack: Weighted, writer: Writer) -> dict[str, Any]:
    """Store a stack."""
    return {"members": [writer.put(member) for member in stack.members], "weights": stack.weights.tolist()}


def read_weighted(stored: Stored, reader: Reader) -> Part:
    """Read a stack."""
    rows = list_of(stored, "weights", list)
    members = [reader.part(i, PREDICTORS) for i in list_of(stored, "members", int, len(rows))]
    d = members[0].gives if members else None
    if not members or {member.gives for member in members} != {d}:
        raise ValueError("the members of a stack must predict the same responses")
    weights = np.array([numbers({"weights": row}, "weights", d) for row in rows])
    return Part(Weighted(tuple(member.value for member in members), weights), common_columns(members), d)


def write_shrunk_scale(scale: ShrunkScale, writer: Writer) -> dict[str, Any]:
    """Store a shrunken scale."""
    numbers_of = {name: getattr(scale, name).tolist() for name in ("exponent", "centre")}
    return {"model": writer.put(scale.model), "location": writer.put(scale.location), **numbers_of}


def read_shrunk_scale(stored: Stored, reader: Reader) -> Part:
    """Read a shrunken scale; its model takes the rows and the predictions of its location."""
    model, location = (reader.part(stored[name], PREDICTORS) for name in ("model", "location"))
    d = location.gives
    exponent, centre = (numbers(stored, name, d) for name in ("exponent", "centre"))
    if model.gives != d or not ((exponent >= 0.0) & (exponent <= 1.0)).all():
        raise ValueError("a shrunken scale must have an exponent in [0, 1] for each response")
    p = None if model.takes is None or d is None else model.takes - d
    takes = common_columns([location, Part(None, p)])
    return Part(ShrunkScale(model.value, location.value, exponent, centre), takes, d)


def common_columns(parts: list[Part]) -> int | None:
    """Return the number of columns of the predictors' input; ``None`` if none of them knows it."""
    known = {part.takes for part in parts if part.takes is not None}
    if len(known) > 1:
        raise ValueError(f"predictors take rows of {' and '.join(map(str, sorted(known)))} columns")
    return next(iter(known), None)


KINDS: dict[type, Kind] = {
    DenseTable: Kind("dense", write_dense, read_dense),
    BoosterAverage: Kind("boosters", write_boosters, read_boosters),
    RegressorAverage: Kind("regressors", write_regressors, read_regressors),
    GaussianProcess: Kind("process", write_process, read_process),
    LeafForest: Kind("forest", write_forest, read_forest),
    Weighted: Kind("weighted", write_weighted, read_weighted),
    ShrunkScale: Kind("shrunk_scale", write_shrunk_scale, read_shrunk_scale),
}
PREDICTORS = tuple(kind.name for stored, kind in KINDS.items() if stored is not DenseTable)
"""Names of the kinds that predict."""
