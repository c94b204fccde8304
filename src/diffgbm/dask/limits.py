"""The arguments ``support``, ``discrete`` and ``atoms`` for a table in partitions, by facts of all of its responses.

Facts of a response are few: partitions send them, and they add up. A value that holds some share of all rows holds it
in one of the partitions, so that the values that many rows of a partition share are all that may be atoms.

References
----------
Bar-Yossef, Jayram, Kumar, Sivakumar & Trevisan (2002), Counting distinct elements in a data stream, RANDOM (the least
hashes tell how many different values there are).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Booleans
from diffgbm.data.records import row_hashes
from diffgbm.data.response import ResponseTable
from diffgbm.distributions.support import Support
from diffgbm.fitting.atoms import MIN_SHARE
from diffgbm.fitting.limits import check_support, listed_supports, piles_beside, support_by

SKETCH = 10_000
"""Hashes of different values that are kept: with more values than that, their number is known to 1%."""


@dataclass(frozen=True)
class ColumnFacts:
    """Facts of one response, of one partition or of several.

    Attributes
    ----------
    rows, outside, fractions : int
        Responses; those beyond the limits that ``support`` names; those that are no whole numbers.
    lowest : float
        The smallest response.
    candidates : ndarray of shape (m,)
        Values that may be atoms, increasing: those of many rows, and the smallest and the largest one, of rows of
        positive weight.
    hashes : ndarray of shape (h,)
        The least hashes of different values, increasing; none if the responses cannot be counts.
    """

    rows: int
    outside: int
    fractions: int
    lowest: float
    candidates: Array
    hashes: NDArray[np.uint64]

    def __add__(self, other: ColumnFacts) -> ColumnFacts:
        return ColumnFacts(
            self.rows + other.rows,
            self.outside + other.outside,
            self.fractions + other.fractions,
            min(self.lowest, other.lowest),
            np.union1d(self.candidates, other.candidates),
            np.union1d(self.hashes, other.hashes)[:SKETCH],
        )

    def are_counts(self) -> bool:
        """Whether responses are whole numbers that are never negative, and half of them or more repeat."""
        if self.fractions or self.lowest < 0.0:
            return False
        different = float(len(self.hashes))
        if len(self.hashes) == SKETCH:
            different = (SKETCH - 1) * 2.0**64 / float(self.hashes[-1])
        return 2.0 * different <= self.rows


def column_facts(values: Array, counted: Booleans, support: Any) -> tuple[ColumnFacts, ...]:
    """Return the facts of responses (n, d) of a partition, of which ``counted`` (n,) have positive weight."""
    asked = listed_supports(support, values.shape[1])
    asked = asked if len(asked) == values.shape[1] else [None] * values.shape[1]  # refused later
    return tuple(_facts(column, counted, check_support(one)) for column, one in zip(values.T, asked, strict=True))


def _facts(y: Array, counted: Booleans, ends: tuple[float, float] | None) -> ColumnFacts:
    outside = 0 if ends is None else int(np.sum((y < ends[0]) | (y > ends[1])))
    fractions = int(np.sum(y != np.rint(y)))
    found, counts = np.unique(y[counted], return_counts=True)
    # a little below the share, so that rounding leaves none out
    many = counts >= 0.99 * MIN_SHARE * counts.sum()
    many[[0, -1] if len(many) else []] = True
    hashes = np.empty(0, dtype=np.uint64)
    if not fractions and y.min() >= 0.0:
        hashes = np.sort(row_hashes(np.unique(y)[:, None]))[:SKETCH]
    return ColumnFacts(len(y), outside, fractions, float(y.min()), found[many], hashes)


def whole_columns(each: Sequence[tuple[ColumnFacts, ...]]) -> list[ColumnFacts]:
    """Add up the facts of all partitions, for each response."""
    return [reduce(ColumnFacts.__add__, column) for column in zip(*each, strict=True)]


def supports_of(
    columns: Sequence[ColumnFacts], support: Any, discrete: bool, names: Sequence[str] | None, is_1d: bool
) -> list[Support | None]:
    """Return the support of each response; raise where responses contradict the arguments."""
    asked = listed_supports(support, len(columns))
    if is_1d and asked[0] is not support:
        raise ValueError(f"support must be one pair (low, high) for one response; got {support!r}.")
    if len(asked) != len(columns):
        raise ValueError(
            f"support must be one pair (low, high), or a list of one for each of {len(columns)} responses; got "
            f"{support!r}."
        )
    found = []
    for j, (one, column) in enumerate(zip(asked, columns, strict=True)):
        of = "" if is_1d else f"Response {names[j] if names else j}: "
        if column.outside:
            named = tuple(end if np.isfinite(end) else None for end in check_support(one) or ())
            raise ValueError(
                f"{of}support={named}: {column.outside:,} of {column.rows:,} responses lie outside. Correct or drop "
                "these rows, or give wider limits."
            )
        if discrete and column.fractions:
            raise ValueError(
                f"{of}discrete=True needs responses that are whole numbers; {column.fractions:,} of {column.rows:,} "
                "are not."
            )
        found.append(support_by(one, discrete, column.lowest, column.are_counts))
    return found


def atoms_among(piled: Array, present: Array, atoms: Any, support: Any, found: Support | None) -> Array:
    """Return the atoms of a response, as of a table in memory; responses pile up at ``piled`` values (k,).

    Those of the argument ``atoms`` count as far as they are ``present`` (m,).
    """
    if atoms is None:
        return piled[:0] if found is None else piles_beside(support, found, piled)
    return piled if isinstance(atoms, str) else np.intersect1d(np.asarray(atoms, dtype=np.float64), present)


def with_piles(found: Support | None, piled: Array) -> Support | None:
    """Return a support whose limits are atoms where responses pile up; whole numbers are atoms anyway."""
    if found is None or found.integers:
        return found
    return replace(found, atoms=np.intersect1d(piled, [found.low, found.high]))


@dataclass(frozen=True)
class ResponseFacts:
    """What is known of the responses before training.

    Attributes
    ----------
    table : ResponseTable
        How they are standardised.
    columns : list of ColumnFacts
        Facts of each; empty if neither limits nor atoms are asked for.
    supports : list of Support or None
        Limits of each.
    """

    table: ResponseTable
    columns: list[ColumnFacts]
    supports: list[Support | None]

    @classmethod
    def of(
        cls, table: ResponseTable, each: Sequence[tuple[ColumnFacts, ...]], params: Mapping[str, Any]
    ) -> ResponseFacts:
        """Add up the facts of all partitions; raise where the responses contradict the arguments."""
        columns = whole_columns(each)
        if not columns:
            return cls(table, [], [None] * len(table.scale))
        found = supports_of(columns, params["support"], params["discrete"], table.names, table.is_1d)
        return cls(table, columns, found)


def asks_for_limits(params: Mapping[str, Any]) -> bool:
    """Whether the arguments ask for limits or atoms."""
    return params["support"] is not None or params["atoms"] is not None or bool(params["discrete"])
