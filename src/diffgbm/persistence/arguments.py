"""Arguments of estimators: plain values as JSON, regressors among them by skops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from diffgbm.auto.presets import Preset, Round
from diffgbm.persistence.store import Reader, Writer
from diffgbm.persistence.values import Stored, list_of, mapping, of_type, plain

REGRESSORS = ("residualize", "first_stage_features")
"""Arguments that may be, or hold, regressors."""


def write_arguments(params: Mapping[str, Any], writer: Writer) -> dict[str, Any]:
    """Store arguments: those that JSON holds, which of them were tuples, and entries with the others."""
    found: dict[str, Any] = {}
    entries: dict[str, str] = {}
    for name, value in params.items():
        where = f"params.{name}"
        try:
            found[name] = plain(asdict(value) if isinstance(value, Preset) else value, where)
        except TypeError:
            if name not in REGRESSORS:
                raise
            entries[name] = writer.regressors(value, where)
    tuples = [name for name in found if isinstance(params[name], tuple)]
    return {"params": found, "tuples": tuples, "regressors": entries}


def read_arguments(stored: Stored, reader: Reader) -> dict[str, Any]:
    """Read arguments."""
    params = dict(mapping(stored, "params"))
    for name in list_of(stored, "tuples", str):
        params[name] = tuple(of_type(params, name, list))
    entries = mapping(stored, "regressors")
    if not set(entries) <= set(REGRESSORS) - set(params):
        raise ValueError("regressors stand where they should not")
    params |= {name: reader.regressors(of_type(entries, name, str)) for name in entries}
    if isinstance(params.get("preset"), dict):
        params["preset"] = _preset(params["preset"])
    return params


def _preset(stored: dict[str, Any]) -> Preset:
    rounds = tuple(Round(**item) for item in list_of(stored, "rounds", dict))
    return Preset(**{**{name: _tuples(value) for name, value in stored.items()}, "rounds": rounds})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
