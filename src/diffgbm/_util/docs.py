"""Docstrings that list the names of a table, so that no second list has to be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Any)


def names_of(table: Iterable[str]) -> str:
    """Write the names of a table as numpydoc writes choices: ``{"a", "b"}``."""
    return "{" + ", ".join(f'"{name}"' for name in table) + "}"


def fill_docstring(**tables: Iterable[str]) -> Callable[[Documented], Documented]:
    """Replace each placeholder ``{name}`` in the docstring of a class or function by the names of a table.

    Examples
    --------
    >>> @fill_docstring(colours=["red", "blue"])
    ... def paint(colour):
    ...     '''Paint in a colour, one of {colours}.'''
    >>> paint.__doc__
    'Paint in a colour, one of {"red", "blue"}.'
    """

    def fill(documented: Documented) -> Documented:
        if documented.__doc__ is not None:  # python -OO removes docstrings
            for name, table in tables.items():
                placeholder = f"{{{name}}}"
                assert placeholder in documented.__doc__, f"no {placeholder} in the docstring of {documented!r}"
                documented.__doc__ = documented.__doc__.replace(placeholder, names_of(table))
        return documented

    return fill
