"""A strict reader: plain values into frozen dataclasses, every error names its location and the accepted values."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, Union

from benchmarks.layout import ResultsError

Value = TypeVar("Value")

_PLAIN: dict[type, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class StudyError(ResultsError):
    """A study file is invalid; the message says where and why."""


def complaint(where: str, what: str) -> StudyError:
    """Return the error for a location in a file."""
    return StudyError(f"{where}: {what}")


def no_such(where: str, what: str, name: object, accepted: typing.Iterable[str]) -> StudyError:
    """Return the error for a name that is not among the accepted ones."""
    valid = [str(item) for item in accepted]
    near = get_close_matches(str(name), valid, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return complaint(where, f"{what} {name!r} is not known; accepted: {', '.join(valid) or 'none'}.{hint}")


def read_as(kind: Any, value: Any, where: str) -> Any:
    """Read a plain value (of YAML) as ``kind``.

    Parameters
    ----------
    kind : type
        ``str``, ``int``, ``float``, ``bool``, ``Any``, a ``Literal``, ``X | None``, ``tuple[X, ...]``,
        ``Mapping[str, X]`` or a dataclass of these.
    value : object
        The value from the file.
    where : str
        Location, for error messages.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return read_as(inner, value, where)
    if origin is Literal:
        if value not in arguments:
            raise no_such(where, "the value", value, arguments)
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise complaint(where, f"expected a list; got {value!r}.")
        return tuple(read_as(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        return {name: read_as(arguments[1], item, f"{where}.{name}") for name, item in _mapping(value, where).items()}
    if dataclasses.is_dataclass(kind):
        return read_dataclass(typing.cast(type, kind), value, where)
    return _plain(kind, value, where)


def read_dataclass(kind: type[Value], value: Any, where: str) -> Value:
    """Read a mapping as a dataclass: no other keys, and all that have no default."""
    entries = _mapping(value, where)
    hints, fields = typing.get_type_hints(kind), dataclasses.fields(kind)  # type: ignore[arg-type]
    names = [field.name for field in fields]
    for name in entries:
        if name not in names:
            raise no_such(where, "the key", name, names)
    for field in fields:
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and field.name not in entries:
            raise complaint(where, f"the key {field.name!r} is missing.")
    return kind(**{name: read_as(hints[name], item, f"{where}.{name}") for name, item in entries.items()})


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise complaint(where, f"expected a mapping with text as keys; got {value!r}.")
    return dict(value)


def _plain(kind: type, value: Any, where: str) -> Any:
    # reject a bool where an int is expected, accept an int where a float is expected
    good = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not good or (isinstance(value, bool) and kind is not bool):
        raise complaint(where, f"expected {_PLAIN[kind]}; got {value!r}.")
    return float(value) if kind is float else value
