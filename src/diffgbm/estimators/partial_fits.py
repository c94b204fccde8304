"""Fits of an estimator to some of the rows, with the groups and times that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from diffgbm._util.types import Rows
from diffgbm.data.structure import GivenStructure, Structure
from diffgbm.estimators.base import DistributionalRegressor


def fit_options(base: Any, given: GivenStructure, fit_params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an estimator's ``fit``, with the groups and times that it takes.

    They are values, also where the caller named columns: a part of the rows may hold a single group or time, which no
    estimator takes. An estimator of ours treats named columns in its own way and gets ``given``.
    """
    names_columns = given.group_column is not None or given.time_column is not None
    if names_columns and isinstance(base, DistributionalRegressor):
        return {"groups": given, **fit_params}
    named = {"groups": given.labels, "time": given.order} if has_fit_parameter(base, "groups") else {}
    return {**{name: value for name, value in named.items() if value is not None}, **fit_params}


def fitted_part(base: Any, X: Any, y: Any, rows: Rows, options: Mapping[str, Any], structure: Structure) -> Any:
    """Fit a clone of an estimator to some rows; a single group or a single time among them is not worth mentioning."""
    some = dict(_check_method_params(X, options, indices=rows))
    part = structure.part(rows)
    if isinstance(given := some.get("groups"), GivenStructure):
        some["groups"] = replace(given, labels=part.labels, order=part.order)
        return clone(base).fit(_safe_indexing(X, rows), _safe_indexing(y, rows), **some)
    for name, numbers in (("groups", part.labels), ("time", part.order)):
        if name in some and numbers is None:
            del some[name]
    return clone(base).fit(_safe_indexing(X, rows), _safe_indexing(y, rows), **some)
