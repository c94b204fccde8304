"""Arrays that the kernels can take wherever an object was sent."""

from __future__ import annotations

from typing import Any

import numpy as np


def writable(value: Any) -> Any:
    """Return a value whose arrays, also inside tuples and lists, are writable: copies of those that are not."""
    if isinstance(value, np.ndarray):
        return np.require(value, requirements=["W"])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(writable, value))
    if isinstance(value, list):
        return list(map(writable, value))
    return value


class WritableArrays:
    """Unpickle with writable arrays. Joblib hands workers read-only maps, for which kernels would compile again."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, writable(value))
