"""Members from outside in model files: fitted estimators of other packages, in the skops format."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.members.member import FittedMember
from diffgbm.members.residuals import Residuals
from diffgbm.members.ways import WAYS
from diffgbm.persistence.store import Part, Reader, Writer
from diffgbm.persistence.values import Stored, mapping, number, of_type, one_of

ADVICE = "Fit without this member to save the model, or keep the estimator with joblib"


def write_member(member: FittedMember, writer: Writer) -> dict[str, Any]:
    """Store a member; a ``TypeError`` names one that a file cannot hold."""
    try:
        models = writer.regressors(list(member.models), f"the member {member.name!r}")
    except TypeError as error:
        raise TypeError(f"{error}. {ADVICE}.") from error
    residuals = member.residuals
    return {
        "name": member.name,
        "way": member.way,
        "weight": member.weight,
        "models": models,
        "dense": writer.put(member.dense),
        "residuals": None
        if residuals is None
        else {name: writer.array(getattr(residuals, name)) for name in ("predictions", "values")},
    }


def read_member(stored: Stored, reader: Reader) -> Part:
    """Read a member."""
    way = one_of(stored, "way", tuple(WAYS))
    dense = reader.maybe(stored["dense"], ("dense",))
    models = reader.regressors(of_type(stored, "models", str))
    if not isinstance(models, list) or not models:
        raise TypeError("a member has no models")
    weight = number(stored, "weight")
    if not 0.0 < weight <= 1.0:
        raise ValueError("the weight of a member must be above 0 and at most 1")
    residuals = _read_residuals(stored, reader)
    if (way == "regressor") != (residuals is not None):
        raise ValueError("a member has residuals exactly if it is a regressor without a distribution")
    table, takes = (None, None) if dense is None else (dense.value, dense.takes)
    return Part(FittedMember(of_type(stored, "name", str), way, tuple(models), table, residuals, weight), takes)


def _read_residuals(member: Stored, reader: Reader) -> Residuals | None:
    if member["residuals"] is None:
        return None
    stored = mapping(member, "residuals")
    predictions: Array = reader.array(stored, "predictions", "<f8", (None,))
    values: Array = reader.array(stored, "values", "<f8", (len(predictions),))
    if len(values) == 0 or not np.isfinite(values).all() or (np.diff(predictions) < 0.0).any():
        raise ValueError("residuals must be finite, by increasing predictions")
    return Residuals(predictions, values)
