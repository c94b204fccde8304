"""Plain values: what JSON can hold of a model, and checks of what a stranger's JSON holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array

Stored = Mapping[str, Any]


def plain(value: Any, where: str) -> Any:
    """Return ``value`` as JSON can hold it; refuse what it cannot."""
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
    """Return the value ``name`` if it is of a type (or of several)."""
    value = stored[name]
    if not isinstance(value, kind):
        raise TypeError(f"{name} is not what it should be; it is {type(value).__name__}")
    return value


def one_of(stored: Stored, name: str, choices: tuple[str, ...]) -> str:
    """Return the text ``name`` if it is one of several."""
    value = of_type(stored, name, str)
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; it is {value[:40]!r}")
    return value


def count(stored: Stored, name: str, low: int = 1) -> int:
    """Return the integer ``name``, at least ``low``."""
    value = stored[name]
    if type(value) is not int or not low <= value < 2**31:
        raise ValueError(f"{name} must be an integer >= {low}; it is {str(value)[:40]!r}")
    return value


def list_of(stored: Stored, name: str, kind: Any, length: int | None = None) -> list[Any]:
    """Return the list ``name`` of values of a type (or of several), of a given length."""
    value = stored[name]
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        raise TypeError(f"{name} is not the list it should be")
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
    """Return the finite numbers ``name``, of a given length."""
    values = list_of(stored, name, (int, float), length)
    found = np.array([float(value) for value in values], dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must hold finite numbers")
    return found


def number(stored: Stored, name: str) -> float:
    """Return the finite number ``name``."""
    return float(numbers({name: [stored[name]]}, name, 1)[0])


def positions(stored: Stored, name: str, end: int) -> NDArray[np.intp]:
    """Return the different integers ``name``, all below ``end``."""
    values = list_of(stored, name, int)
    if len(set(values)) < len(values) or any(type(v) is not int or not 0 <= v < end for v in values):
        raise ValueError(f"{name} must be different positions below {end}")
    return np.array(values, dtype=np.intp)
