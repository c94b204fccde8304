"""Docstrings that list the names of a table, so that no second list has to be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from textwrap import dedent, indent
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Any)


def names_of(table: Iterable[str]) -> str:
    """Write the names of a table as numpydoc writes choices: ``{"a", "b"}``."""
    return "{" + ", ".join(f'"{name}"' for name in table) + "}"


def with_paragraphs(**paragraphs: str) -> Callable[[Documented], Documented]:
    r"""Replace each line ``{name}`` in the docstring of a function by a paragraph that several functions share.

    Examples
    --------
    >>> @with_paragraphs(ax="ax : axes, optional\n    Axes to draw on.")
    ... def draw(ax):
    ...     '''Draw.
    ...
    ...     {ax}
    ...     '''
    >>> print(draw.__doc__)
    Draw.
    <BLANKLINE>
        ax : axes, optional
            Axes to draw on.
    <BLANKLINE>
    """

    def fill(documented: Documented) -> Documented:
        if documented.__doc__ is not None:  # python -OO removes docstrings
            lines = []
            for line in documented.__doc__.splitlines(keepends=True):
                name = line.strip()[1:-1]
                if line.strip() == f"{{{name}}}" and name in paragraphs:
                    lines.append(
                        indent(dedent(paragraphs[name]).strip() + "\n", line[: len(line) - len(line.lstrip())])
                    )
                else:
                    lines.append(line)
            documented.__doc__ = "".join(lines)
        return documented

    return fill


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
