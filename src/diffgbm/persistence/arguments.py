"""Arguments of estimators: plain values as JSON, regressors by skops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from diffgbm.auto.presets import Preset, Round
from diffgbm.members.argument import read_members
from diffgbm.persistence.skops_entries import to_skops
from diffgbm.persistence.store import Reader, Writer
from diffgbm.persistence.values import Stored, list_of, mapping, of_type, plain

REGRESSORS = ("residualize", "first_stage_features", "preprocess", "members")
"""Arguments that may be, or hold, regressors or transformers."""


def write_arguments(params: Mapping[str, Any], writer: Writer) -> dict[str, Any]:
    """Store arguments: plain values, which of them are tuples, and the entries of regressors."""
    values: dict[str, Any] = {}
    entries: dict[str, str] = {}
    for name, value in params.items():
        where = f"params.{name}"
        try:
            values[name] = plain(asdict(value) if isinstance(value, Preset) else value, where)
        except TypeError:
            if name not in REGRESSORS:
                raise
            if name == "members":
                _check_members(value)
            entries[name] = writer.regressors(value, where)
    tuples = [name for name in values if isinstance(params[name], tuple)]
    return {"params": values, "tuples": tuples, "regressors": entries}


def _check_members(members: Any) -> None:
    """Raise an error that names the member which a file cannot hold."""
    for named in read_members(members):
        to_skops(named.estimator, f"the member {named.name!r}")


def read_arguments(stored: Stored, reader: Reader) -> dict[str, Any]:
    """Read arguments."""
    params = dict(mapping(stored, "params"))
    for name in list_of(stored, "tuples", str):
        params[name] = tuple(of_type(params, name, list))
    entries = mapping(stored, "regressors")
    if not set(entries) <= set(REGRESSORS) - set(params):
        raise ValueError(f"only {' and '.join(REGRESSORS)} may hold regressors")
    params |= {name: reader.regressors(of_type(entries, name, str)) for name in entries}
    if isinstance(params.get("preset"), dict):
        params["preset"] = _preset(params["preset"])
    return params


def _preset(stored: dict[str, Any]) -> Preset:
    rounds = tuple(Round(**item) for item in list_of(stored, "rounds", dict))
    return Preset(**{**{name: _tuples(value) for name, value in stored.items()}, "rounds": rounds})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
