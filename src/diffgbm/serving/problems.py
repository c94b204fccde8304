"""Requests that are refused: a status of HTTP, and what is wrong with which row and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_PROBLEMS = 20
"""Most problems that one answer lists."""
LONGEST = 60
"""Most characters of a value that a message repeats."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a request, and what to do.

    Attributes
    ----------
    message : str
        Names the column, what was found and the remedy.
    row : int, optional
        Position of the row, from 0.
    column : str, optional
        Name of the column.
    """

    message: str
    row: int | None = None
    column: str | None = None

    def facts(self) -> dict[str, Any]:
        """Return it for JSON."""
        place = {"row": self.row, "column": self.column}
        return {**{name: value for name, value in place.items() if value is not None}, "message": self.message}


class RequestError(Exception):
    """A request that is refused.

    Parameters
    ----------
    status : int
        Status of HTTP: 400 is no JSON, 413 is too large, 415 is of another type, 422 does not fit the model.
    problems : Problem, or sequence of them, or str
        What is wrong.
    """

    def __init__(self, status: int, problems: Problem | Sequence[Problem] | str) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        found = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__(found[0].message)
        self.status = status
        self.problems = found

    def facts(self) -> dict[str, Any]:
        """Return the answer for JSON: the first message, and all of them with their places."""
        listed = [problem.facts() for problem in self.problems[:MOST_PROBLEMS]]
        left = len(self.problems) - len(listed)
        more = {"more_problems": left} if left else {}
        return {"error": self.problems[0].message, "problems": listed, **more}


def shown(value: object) -> str:
    """Return a value as a message repeats it: short, in one line."""
    text = value if isinstance(value, str) else _plain(value)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return repr(text) if isinstance(value, str) else text


def _plain(value: object) -> str:
    """Return a value of JSON in the words of JSON; of lists and objects only what they are."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 512:  # Python refuses to write thousands of digits
        return f"an integer of {value.bit_length()} bits"
    return str(value)
