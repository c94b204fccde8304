"""Monotone constraints: those of LightGBM, and ``monotone``, which keeps the whole distribution in order.

With ``monotone={"size": 1}`` the mean that is subtracted increases in the column (LightGBM's constraint on each fold's
model, so also on their average), and the noise model does not see the column. A change of the column then moves the
whole predictive distribution and leaves its shape: mean, quantiles, intervals and samples with the same seed increase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diffgbm.data.features import FeatureTable
from diffgbm.data.kinds import Number
from diffgbm.first_stage import MIN_ROWS

HIDDEN = "columns_without_splits"
"""Name, among LightGBM's parameters, of columns of X that the noise model does not see."""
NAMES = ("monotone_constraints", "mc", "monotone_constraint", "monotonic_cst")
"""LightGBM's names of the parameter."""


def check_constraints(params: Mapping[str, Any], n_columns: int, categorical: Sequence[int]) -> None:
    """Raise a ``ValueError`` unless monotone constraints among the arguments are -1, 0 or 1 for each column."""
    for argument in ("extra_lightgbm_params", "extra_residualizer_params"):
        for name in set(NAMES) & set(params[argument] or {}):
            signs = _signs(argument, name, params[argument][name])
            if len(signs) != n_columns:
                raise ValueError(
                    f"{name} in {argument} must have one value for each of the {n_columns} columns of X; got "
                    f"{len(signs)}: {list(signs)}."
                )
            bad = [j for j in categorical if signs[j]]
            if bad:
                raise ValueError(f"{name} in {argument} must be 0 for column {bad[0]} of X, which is a category.")


def with_monotone(params: Mapping[str, Any], features: FeatureTable, n_rows: int) -> Mapping[str, Any]:
    """Return the estimator's arguments with what ``monotone`` means for LightGBM; raise if there is no guarantee."""
    if not params["monotone"]:
        return params
    signs = [0] * features.width
    for key, sign in _checked(params, n_rows).items():
        signs[features.starts[_position(key, features)]] = sign
    residualizer = {**(params["extra_residualizer_params"] or {}), NAMES[0]: signs}
    noise = {**(params["extra_lightgbm_params"] or {}), HIDDEN: [j for j, sign in enumerate(signs) if sign]}
    return {**params, "extra_residualizer_params": residualizer, "extra_lightgbm_params": noise}


def _checked(params: Mapping[str, Any], n_rows: int) -> Mapping[Any, int]:
    """Check that everything else leaves the guarantee intact."""
    monotone = params["monotone"]
    check_monotone(monotone)
    if not (isinstance(params["residualize"], str) and params["residualize"] == "mean"):
        raise ValueError(
            f"monotone constrains the mean that is subtracted, and needs residualize='mean'; got "
            f"{params['residualize']!r}. A scale, or a model of another kind, would not keep the order."
        )
    for name in ("first_stage_features", "atoms", "support", "discrete"):
        if params[name] is not None and params[name] is not False:
            raise ValueError(
                f"monotone does not go together with {name}={params[name]!r}, which changes the shape of the "
                "distribution with the column. Leave one of them out."
            )
    own = set(NAMES) & set(params["extra_residualizer_params"] or {})
    if own:
        raise ValueError(f"monotone and {own.pop()} in extra_residualizer_params both constrain the mean; pass one.")
    if n_rows < MIN_ROWS:
        raise ValueError(f"monotone needs a mean to constrain, which takes {MIN_ROWS} rows; got {n_rows}.")
    return dict(monotone)


def check_monotone(monotone: Any) -> None:
    """Raise unless ``monotone`` is ``None`` or maps columns to 1 or -1."""
    if monotone is None:
        return
    if not isinstance(monotone, Mapping):
        raise TypeError(f"monotone must map columns to 1 or -1, e.g. {{'size': 1}}; got {monotone!r}.")
    for key, sign in monotone.items():
        if isinstance(sign, bool) or sign not in (1, -1):
            raise ValueError(f"monotone must be 1 (increasing) or -1 (decreasing) for column {key!r}; got {sign!r}.")


def _position(key: Any, features: FeatureTable) -> int:
    """Return the position of a column that ``monotone`` names; raise if it is none, or not a number."""
    if features.names is not None and str(key) in features.names:
        position = features.names.index(str(key))
    elif features.names is None and str(key).isdigit() and int(key) < features.n_features:  # files hold text
        position = int(key)
    else:
        what = f"positions 0 to {features.n_features - 1}" if features.names is None else ", ".join(features.names[:20])
        raise ValueError(f"monotone: there is no column {key!r}; the columns of X are {what}.")
    column = features.columns[position]
    if not isinstance(column, Number):
        raise ValueError(f"monotone: column {key!r} must be a number to have an order; it is read as {column.kind}.")
    return position


def noise_model_params(params: dict[str, Any], n_columns: int, n_responses: int, width: int) -> dict[str, Any]:
    """Return LightGBM's parameters for noisy rows: constraints of columns of X, none of states and times.

    Parameters
    ----------
    params : dict
        LightGBM's parameters; constraints are those of the ``n_columns`` columns of X.
    n_columns, n_responses, width : int
        Columns of X, noisy responses before them, and all columns of a noisy row.
    """
    if HIDDEN in params:
        hidden = {n_responses + j for j in params[HIDDEN]}
        gains = [0.0 if j in hidden else 1.0 for j in range(width)]
        params = {**{name: value for name, value in params.items() if name != HIDDEN}, "feature_contri": gains}
    found = [name for name in NAMES if name in params]
    if not found:
        return params
    signs = _signs("extra_lightgbm_params", found[0], params[found[0]])[:n_columns]
    others = {name: value for name, value in params.items() if name not in NAMES}
    return {**others, NAMES[0]: [0] * n_responses + list(signs) + [0] * (width - n_responses - len(signs))}


def _signs(argument: str, name: str, value: Any) -> tuple[int, ...]:
    """Read constraints, a list or LightGBM's text ``"1,0,-1"``."""
    parts = value.strip("()[] ").split(",") if isinstance(value, str) else value
    try:
        signs = tuple(int(part) for part in parts)
        same = isinstance(value, str) or all(sign == part for sign, part in zip(signs, parts, strict=True))
    except (TypeError, ValueError):
        signs, same = (), False
    if not same or any(sign not in (-1, 0, 1) for sign in signs):
        raise ValueError(f"{name} in {argument} must be a list of -1, 0 or 1; got {value!r}.")
    return signs
