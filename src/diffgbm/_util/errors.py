"""How the library speaks to its user: its warning, its error, and the sentence for a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

import numpy as np

Value = TypeVar("Value")


class DiffGBMWarning(UserWarning):
    """Something the user can change: data too small for an option, an engine that had to fall back."""


class ClusterError(RuntimeError):
    """A cluster that cannot do what it is asked: there is none, or a worker left it in the middle of a fit."""


def known(argument: str, name: object, names: Iterable[str]) -> str:
    """Return ``name`` if it is one of ``names``; otherwise raise a ``ValueError`` that lists them."""
    valid = list(names)
    if isinstance(name, str) and name in valid:
        return name
    near = get_close_matches(name, valid, n=1) if isinstance(name, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{argument} must be one of {', '.join(map(repr, valid))}; got {name!r}.{hint}")


def choose(argument: str, name: object, table: Mapping[str, Value]) -> Value:
    """Look ``name`` up in ``table``: the library's one resolver of option names."""
    return table[known(argument, name, table)]


def check_count(argument: str, value: object, low: int) -> int:
    """Return ``value`` if it is an integer of at least ``low``; otherwise raise a ``ValueError``."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < low:
        raise ValueError(f"{argument} must be an integer >= {low}; got {value!r}.")
    return int(value)
