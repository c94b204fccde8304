"""What a request asks about its rows: mean, intervals, quantiles, probabilities, samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from diffgbm.serving.problems import RequestError, shown

MOST_LEVELS = 1000
"""Most quantiles, intervals or probabilities of one request."""
MOST_SEED = 2**63
NAMES = ("mean", "interval", "quantiles", "probability", "samples", "seed")
"""Questions of a request, in the order of the documentation."""
EVENTS = ("above", "below", "between")


@dataclass(frozen=True)
class Event:
    r"""An event whose probability is asked for: :math:`low < Y \le high`.

    Attributes
    ----------
    low, high : float
        Ends; infinite where there is none.
    label : dict
        How the request named it: ``{"above": 5.0}``.
    """

    low: float
    high: float
    label: Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """What is asked about each row.

    Attributes
    ----------
    mean : bool
        Whether the mean is asked for.
    coverages : tuple of float
        Coverages of intervals.
    levels : tuple of float
        Levels of quantiles.
    events : tuple of Event
        Events whose probabilities are asked for.
    samples, seed : int
        Samples for each row, and their seed.
    """

    mean: bool = False
    coverages: tuple[float, ...] = ()
    levels: tuple[float, ...] = ()
    events: tuple[Event, ...] = ()
    samples: int = 0
    seed: int = 0

    @property
    def numbers(self) -> int:
        """Numbers of the answer for each row and response."""
        return self.mean + 2 * len(self.coverages) + len(self.levels) + len(self.events) + self.samples


DEFAULT = Question(mean=True, coverages=(0.9,))
"""What is answered if nothing is asked."""


def read_question(asked: Mapping[str, Any]) -> Question:
    """Read the questions of a JSON object; without any, the answer is the mean and the 90% interval."""
    for name in asked:
        if name not in NAMES:
            raise RequestError(422, f"There is no question {shown(name)}. {_known(name, (*NAMES, 'rows'))}")
    values = {name: value for name, value in asked.items() if value is not None}
    question = Question(
        mean=_flag(values.get("mean", False)),
        coverages=_levels("interval", values.get("interval", []), open_ends=True),
        levels=_levels("quantiles", values.get("quantiles", []), open_ends=False),
        events=_events(values.get("probability", [])),
        samples=_count("samples", values.get("samples", 0), 10**9),
        seed=_count("seed", values.get("seed", 0), MOST_SEED),
    )
    return question if question.numbers else DEFAULT


def query_question(query: Sequence[tuple[str, str]]) -> Question:
    """Read the questions of a query string: ``?interval=0.5,0.9&above=10&samples=100``."""
    asked: dict[str, Any] = {}
    for name, text in query:
        if name in EVENTS:
            numbers = [_parsed(name, part) for part in text.split(",")]
            value: Any = numbers if name == "between" else numbers[0] if len(numbers) == 1 else numbers
            asked.setdefault("probability", []).append({name: value})
        elif name == "mean":
            asked[name] = {"true": True, "1": True, "": True, "false": False, "0": False}.get(text.lower(), text)
        elif name in ("interval", "quantiles"):
            asked.setdefault(name, []).extend(_parsed(name, part) for part in text.split(","))
        elif name in ("samples", "seed"):
            asked[name] = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text
        else:
            names = (*(n for n in NAMES if n != "probability"), *EVENTS)
            raise RequestError(422, f"There is no query parameter {shown(name)}. {_known(name, names)}")
    return read_question(asked)


def _known(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name[:100], names, n=1)
    return (f"Did you mean {near[0]!r}? " if near else "") + f"Known are {', '.join(names)}."


def _parsed(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RequestError(422, f"{name} must be a number; got {shown(text)}.") from None


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RequestError(422, f"mean must be true or false; got {shown(value)}.")
    return value


def _finite(name: str, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            if math.isfinite(number := float(value)):
                return number
        except OverflowError:
            pass
    raise RequestError(422, f"{name} must be a finite number; got {shown(value)}.")


def _levels(name: str, value: Any, open_ends: bool) -> tuple[float, ...]:
    values = value if isinstance(value, list) else [value]
    if len(values) > MOST_LEVELS:
        raise RequestError(422, f"{name} may have at most {MOST_LEVELS} levels; got {len(values):,}.")
    found = tuple(dict.fromkeys(_finite(name, one) for one in values))
    for level in found:
        if not (0.0 < level < 1.0 if open_ends else 0.0 <= level <= 1.0):
            remedy = f" For {level:g}% send {level / 100:g}." if 1.0 < level <= 100.0 else ""
            ends = "between 0 and 1, e.g. 0.9" if open_ends else "from 0 to 1, e.g. 0.05"
            raise RequestError(422, f"{name} must be {ends}, or a list of such numbers; got {level:g}.{remedy}")
    return found


def _count(name: str, value: Any, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < most:
        raise RequestError(422, f"{name} must be an integer >= 0; got {shown(value)}.")
    return value


def _events(value: Any) -> tuple[Event, ...]:
    values = value if isinstance(value, list) else [value]
    if len(values) > MOST_LEVELS:
        raise RequestError(422, f"probability may have at most {MOST_LEVELS} events; got {len(values):,}.")
    return tuple(map(_event, values))


def _event(value: Any) -> Event:
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in EVENTS:
        raise RequestError(
            422,
            'probability must be {"above": 5}, {"below": 5} or {"between": [2, 5]}, or a list of such objects; got '
            f"{shown(value)}.",
        )
    [(name, ends)] = value.items()
    if name == "above":
        return Event(_finite(name, ends), math.inf, value)
    if name == "below":
        return Event(-math.inf, _finite(name, ends), value)
    if not isinstance(ends, list) or len(ends) != 2:
        raise RequestError(422, f"between must be a list of two numbers; got {shown(ends)}.")
    low, high = (_finite(name, end) for end in ends)
    if low > high:
        raise RequestError(422, f"between must have its lower end first; got {low:g} and {high:g}.")
    return Event(low, high, value)
