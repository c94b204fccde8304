"""The argument ``support``: where a response can be, checked against the responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.data.response import read_response
from diffgbm.distributions.support import Support
from diffgbm.fitting.atoms import atom_values
from diffgbm.fitting.training_table import row_labels

SHOWN = 5
"""Rows that an error shows."""


def check_support(support: Any) -> tuple[float, float] | None:
    """Return the ends of an argument ``support``, infinite where it is open; ``None`` for ``None`` and "auto"."""
    if support is None or (isinstance(support, str) and support == "auto"):
        return None
    message = (
        "support must be None, 'auto' or a pair (low, high) with low < high, in which None is an open end, "
        f"e.g. (0, None); got {support!r}."
    )
    if isinstance(support, str) or np.ndim(np.asarray(support, dtype=object)) != 1 or len(support) != 2:
        raise ValueError(message)
    try:
        low, high = (
            open_end if end is None else float(end) for end, open_end in zip(support, (-np.inf, np.inf), strict=True)
        )
    except (TypeError, ValueError):
        raise ValueError(message) from None
    if not low < high:  # also where an end is NaN
        raise ValueError(message)
    return low, high


def check_supports(support: Any) -> None:
    """Raise unless an argument ``support`` is one for all responses, or a list with one for each."""
    for each in _listed(support) or [support]:
        check_support(each)


def _listed(support: Any) -> list[Any] | None:
    """Return the supports of several responses, if the argument is a list of them; a pair of ends is none."""
    if not isinstance(support, (list, tuple)) or not any(isinstance(each, (list, tuple, str)) for each in support):
        return None
    return list(support)


def listed_supports(support: Any, count: int) -> list[Any]:
    """Return what the argument ``support`` says of each of ``count`` responses."""
    return _listed(support) or [support] * count


def check_responses(y: Array, labels: Any, ends: tuple[float, float] | None) -> None:
    """Raise if responses (n,) lie beyond the ends of ``support``; the message shows the first rows by their labels."""
    if ends is None:
        return
    rows = np.flatnonzero((y < ends[0]) | (y > ends[1]))
    if len(rows) == 0:
        return
    low, high = (None if not np.isfinite(end) else end for end in ends)
    shown = ", ".join(f"{y[row]:g} in row {labels[row]}" for row in rows[:SHOWN].tolist())
    more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    raise ValueError(
        f"support=({low}, {high}): {len(rows):,} of {len(y):,} responses lie outside: {shown}{more}. "
        "Correct or drop these rows, or give wider limits."
    )


def table_support(support: Any, discrete: bool, X: Any, y: Any) -> Support | None:
    """Return the support that arguments ask for, by the responses as the user gave them: outliers are not moved."""
    if support is None and not discrete:
        return None
    given = read_response(y)[1]
    if given.ndim != 1:
        return None
    if _listed(support) is not None:
        raise ValueError(f"support must be one pair (low, high) for one response; got {support!r}.")
    return find_support(support, discrete, given, row_labels(X, y, len(given)))


def table_supports(support: Any, discrete: bool, X: Any, y: Any) -> tuple[Support | None, ...]:
    """Return the support of each of several responses; empty for one response, or if none has limits.

    Limits at which responses pile up are atoms of it.
    """
    names, given = read_response(y)
    if given.ndim == 1 or (support is None and not discrete):
        return ()
    each = listed_supports(support, given.shape[1])
    if len(each) != given.shape[1]:
        raise ValueError(
            f"support must be one pair (low, high), or a list of one for each of {given.shape[1]} responses; got "
            f"{support!r}."
        )
    labels, found = row_labels(X, y, len(given)), []
    for j, (one, column) in enumerate(zip(each, given.T, strict=True)):
        try:
            limits = find_support(one, discrete, column, labels)
        except ValueError as error:
            raise ValueError(f"Response {names[j] if names else j}: {error}") from None
        if limits is not None and not limits.integers:
            piles = np.intersect1d(atom_values(column, "auto"), [limits.low, limits.high])
            limits = replace(limits, atoms=piles)
        found.append(limits)
    return tuple(found) if any(limits is not None for limits in found) else ()


def given_limits(support: Any, X: Any, y: Any) -> tuple[tuple[Any, Support | None], ...]:
    """Return for each response what the argument ``support`` says of it, and its limits if these are numbers."""
    given = read_response(y)[1]
    if given.ndim == 1:
        return ((support, table_support(None if isinstance(support, str) else support, False, X, y)),)
    each = listed_supports(support, given.shape[1])
    named = [None if isinstance(one, str) else one for one in each]
    found = table_supports(named, False, X, y) if any(one is not None for one in named) else ()
    limits = [None if one is None else replace(one, atoms=one.atoms[:0]) for one in found or [None] * len(each)]
    return tuple(zip(each, limits, strict=True))


def find_support(support: Any, discrete: bool, y: Array, labels: Any) -> Support | None:
    """Return limits and whole numbers that the arguments ``support`` and ``discrete`` ask for, by responses (n,).

    ``"auto"`` finds the limit zero of responses that are never negative, and counts.
    """
    ends = check_support(support)
    check_responses(y, labels, ends)
    whole = y == np.rint(y)
    if discrete and not whole.all():
        rows = np.flatnonzero(~whole)
        shown = ", ".join(f"{y[row]:g} in row {labels[row]}" for row in rows[:SHOWN].tolist())
        raise ValueError(
            f"discrete=True needs responses that are whole numbers; {len(rows):,} of {len(y):,} are not: {shown}."
        )
    return support_by(support, discrete, float(y.min()), lambda: are_counts(y))


def support_by(support: Any, discrete: bool, lowest: float, counts: Callable[[], bool]) -> Support | None:
    """Do the same for responses that were checked; ``counts`` says whether they are counts."""
    ends = check_support(support)
    if support is None and not discrete:
        return None
    found = Support(*(ends or (-np.inf, np.inf)), integers=bool(discrete))
    if support is not None and ends is None:
        low = 0.0 if lowest >= 0.0 else -np.inf
        found = replace(found, low=low, integers=bool(discrete) or counts())
    return found if found.is_limited or found.integers else None


def are_counts(y: Array) -> bool:
    """Whether responses (n,) are whole numbers that are never negative, and half of them or more repeat."""
    return bool(y.min() >= 0.0 and (y == np.rint(y)).all() and 2 * len(np.unique(y)) <= len(y))


def wanted_atoms(atoms: Any, support: Any, found: Support | None, y: Array) -> Any:
    """Return what the argument ``atoms`` means beside ``support``: piles of responses (n,) at the limits are atoms.

    Whole numbers are atoms already; only a pile at a limit, such as many zeros, gets a classifier of its own.
    """
    if atoms is not None or found is None:
        return atoms
    return piles_beside(support, found, atom_values(y, "auto")).tolist() or None


def piles_beside(support: Any, found: Support, values: Array) -> Array:
    """Return which of the piles at ``values`` (k,) are atoms beside ``support``: those at the limits, or all."""
    if support is None or found.integers or not isinstance(support, str):
        return np.intersect1d(values, [found.low, found.high])
    return values
