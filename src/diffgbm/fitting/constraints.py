"""Monotone constraints: one for each column of X, checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


def noise_model_params(params: dict[str, Any], n_columns: int, n_responses: int, width: int) -> dict[str, Any]:
    """Return LightGBM's parameters for noisy rows: constraints of columns of X, none of states and times.

    Parameters
    ----------
    params : dict
        LightGBM's parameters; constraints are those of the ``n_columns`` columns of X.
    n_columns, n_responses, width : int
        Columns of X, noisy responses before them, and all columns of a noisy row.
    """
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
