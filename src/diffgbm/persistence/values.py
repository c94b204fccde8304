"""Values in JSON: writing plain values, and checking those of untrusted files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array

Stored = Mapping[str, Any]
"""An object of the manifest."""
PLAIN = (str, int, float, type(None))
"""Types of single JSON values; a truth value is an int."""


def plain(value: Any, where: str) -> Any:
    """Return ``value`` as numbers, text, lists and dicts; raise ``TypeError`` if it holds anything else."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise TypeError(f"{where} is a {type(value).__name__}, which a model file cannot hold: it holds numbers and text.")


def mapping(stored: Stored, name: str) -> dict[str, Any]:
    """Return the object ``name``."""
    return of_type(stored, name, dict)


def of_type(stored: Stored, name: str, kind: Any) -> Any:
    """Return the value ``name``, which must be an instance of ``kind`` (a type or several)."""
    value = stored[name]
    if not isinstance(value, kind):
        raise TypeError(f"{name} has the wrong type {type(value).__name__}")
    return value


def one_of(stored: Stored, name: str, choices: Iterable[str]) -> str:
    """Return the text ``name``, which must be one of ``choices``."""
    value = of_type(stored, name, str)
    if value not in (choices := tuple(choices)):
        raise ValueError(f"{name} must be one of {', '.join(choices)}; it is {value[:40]!r}")
    return value


def count(stored: Stored, name: str, low: int = 1) -> int:
    """Return the integer ``name``, at least ``low``."""
    value = stored[name]
    if type(value) is not int or not low <= value < 2**31:
        raise ValueError(f"{name} must be an integer >= {low}; it is {str(value)[:40]!r}")
    return value


def list_of(stored: Stored, name: str, kind: Any, length: int | None = None) -> list[Any]:
    """Return the list ``name``, whose items are instances of ``kind``; ``length`` is checked if not ``None``."""
    value = stored[name]
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        raise TypeError(f"{name} is not a list of values of the right type")
    if length is not None and len(value) != length:
        raise ValueError(f"{name} must hold {length} value(s); it holds {len(value)}")
    return value


def names_of(stored: Stored, n: int) -> tuple[str, ...] | None:
    """Return the names of ``n`` columns, all different, or ``None``."""
    if stored["names"] is None:
        return None
    names = list_of(stored, "names", str, n)
    if len(set(names)) < n:
        raise ValueError("columns must have different names")
    return tuple(names)


def numbers(stored: Stored, name: str, length: int | None = None) -> Array:
    """Return the list ``name`` of finite numbers as an array; ``length`` is checked if not ``None``."""
    values = list_of(stored, name, (int, float), length)
    array = np.array([float(value) for value in values], dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers")
    return array


def number(stored: Stored, name: str) -> float:
    """Return the finite number ``name``."""
    return float(numbers({name: [stored[name]]}, name, 1)[0])


def positions(stored: Stored, name: str, end: int) -> NDArray[np.intp]:
    """Return the list ``name`` of distinct integers from 0 to ``end - 1``."""
    values = list_of(stored, name, int)
    if len(set(values)) < len(values) or any(type(v) is not int or not 0 <= v < end for v in values):
        raise ValueError(f"{name} must be distinct positions below {end}")
    return np.array(values, dtype=np.intp)
