"""The library's warning and error, and checks of arguments that name the argument, the value and what is accepted."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from traceback import walk_stack
from typing import TypeVar

import numpy as np

Value = TypeVar("Value")


class DiffGBMWarning(UserWarning):
    """Warning about something you can change: data too small for an option, an engine that had to fall back."""


class WeakFitWarning(DiffGBMWarning):
    """Warning about a model that learned little or nothing: other columns or more rows would help."""


_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_messages: ContextVar[list[str] | None] = ContextVar("messages", default=None)


def warn(message: str, category: type[DiffGBMWarning] = DiffGBMWarning) -> None:
    """Give the user a ``DiffGBMWarning`` at the line that called the library, unless ``kept_warnings`` keeps it."""
    kept = _messages.get()
    if kept is None:
        warnings.warn(message, category, stacklevel=_level_of_caller())
    else:
        kept.append(message)


def _level_of_caller() -> int:
    """Return the ``stacklevel``, as ``warn`` counts, of the line that called the library.

    It is the line below the outermost frame of the package: frames between two of its own (decorators, joblib,
    scikit-learn's cross-validation inside a fit) are not the user's. A constant would be wrong after each refactoring.
    """
    levels = enumerate(frame.f_code.co_filename for frame, _ in walk_stack(sys._getframe(1)))
    return 2 + max((level for level, file in levels if file.startswith(_PACKAGE)), default=0)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Yield a list that takes the messages of ``warn`` inside the block, in this thread, instead of the user.

    ``warnings.catch_warnings`` would change the filters of all threads, for good where two blocks overlap.
    """
    kept: list[str] = []
    token = _messages.set(kept)
    try:
        yield kept
    finally:
        _messages.reset(token)


class ClusterError(RuntimeError):
    """Raised if a cluster cannot do its work: there is none, or a worker left during a fit."""


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
