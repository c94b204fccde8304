"""Lines of the comparison as matrices: contestants by tables, under a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.records import Record
from benchmarks.rivals.contestants import CONTESTANTS
from benchmarks.rivals.problems import KNOWN, TABLES
from diffgbm._util.types import Array

KEPT = 1.2
"""A contestant without a time limit counts under a limit if its fit took at most this multiple of it."""
REFERENCE = {30.0: "fast", 120.0: "balanced", 600.0: "best"}
"""Our contestant that others are compared with under each limit."""
NEARLY_EXACT = "naval"
"""Its response has few values, which some contestants hit exactly: ratios of CRPS would be infinite."""
DISCRETE = ("wine", NEARLY_EXACT)
"""Responses of few values: an interval contains a value or not, and one of the true distribution covers too much."""


@dataclass(frozen=True, eq=False)
class Block:
    """What was measured under one time limit.

    Attributes
    ----------
    limit : float
        Seconds.
    tables : tuple of str
        Tables of which anyone has all folds.
    contestants : tuple of str
        Contestants that have all folds of any table.
    lines : dict
        Lines of all folds by (contestant, table).
    late : frozenset of (str, str)
        Contestants and tables that were run, but failed or took too long.
    folds : tuple of int
        Folds that are averaged.
    own : dict
        Time limit of each contestant that takes one: this one, or the longest shorter one that it was run with.
    """

    limit: float
    tables: tuple[str, ...]
    contestants: tuple[str, ...]
    lines: dict[tuple[str, str], tuple[Record, ...]]
    late: frozenset[tuple[str, str]]
    folds: tuple[int, ...]
    own: dict[str, float]

    def label(self, contestant: str) -> str:
        """Name of a contestant, with its time limit if it is another one."""
        label, own = CONTESTANTS[contestant].label, self.own.get(contestant, self.limit)
        return label if own == self.limit else f"{label} ({own:g} s)"

    def values(self, field: str, contestants: Sequence[str] | None = None) -> Array:
        """Means over folds, (contestants, tables); NaN where there are none."""
        names = self.contestants if contestants is None else contestants
        return np.array([[self._mean(c, t, field) for t in self.tables] for c in names])

    def _mean(self, contestant: str, table: str, field: str) -> float:
        lines = self.lines.get((contestant, table), ())
        return float(np.mean([line[field] for line in lines])) if lines else float("nan")

    @property
    def complete(self) -> tuple[str, ...]:
        """Contestants that were run on all tables and folds: those that are ranked."""
        return tuple(c for c in self.contestants if not np.isnan(self.to_rank([c])).any())

    def to_rank(self, contestants: Sequence[str]) -> Array:
        """CRPS (contestants, tables), infinite where a contestant failed or took too long: it comes last there."""
        late = np.array([[(c, t) in self.late for t in self.tables] for c in contestants], dtype=bool)
        return np.where(late, np.inf, self.values("crps", contestants))

    @property
    def reference(self) -> str:
        """Our contestant of this limit, or the first that there is."""
        named = REFERENCE.get(self.limit, "balanced")
        return named if named in self.contestants else self.contestants[0]


def block(lines: Sequence[Record], limit: float, threads: int, folds: Sequence[int]) -> Block:
    """Collect the lines that count under a limit."""
    lines = [line for line in lines if line["threads"] == threads and line["fold"] in folds]
    own: dict[str, float] = {}
    for line in lines:
        if line["limit"] is not None and line["limit"] <= limit:
            own[line["contestant"]] = max(line["limit"], own.get(line["contestant"], 0.0))
    found: dict[tuple[str, str], tuple[Record, ...]] = {}
    for line in lines:
        if line["limit"] in (own.get(line["contestant"]), None):
            key = (line["contestant"], line["table"])
            found[key] = (*found.get(key, ()), line)
    # a mean over fewer folds would be another quantity
    found = {key: of for key, of in found.items() if {line["fold"] for line in of} == set(folds)}
    late = frozenset(key for key, of in found.items() if any(is_late(line, limit) for line in of))
    kept = {key: of for key, of in found.items() if key not in late}
    tables = tuple(t for t in (*TABLES, *KNOWN) if any(table == t for _, table in kept))
    names = tuple(c for c in CONTESTANTS if any(name == c for name, _ in kept))
    return Block(limit, tables, names, kept, late, tuple(folds), own)


def is_late(line: Record, limit: float) -> bool:
    """Whether a line has no result that counts: the fit failed, or takes no limit and exceeded this one."""
    return "failed" in line or (line["limit"] is None and line["fit_seconds"] > KEPT * limit)


def shown_folds(lines: Sequence[Record], limit: float, threads: int, folds: Sequence[int]) -> tuple[int, ...]:
    """Return the folds on which our contestant of the limit has most tables: others are not measured yet."""
    of = REFERENCE.get(limit, "balanced")
    mine = [x for x in lines if x["threads"] == threads and (x["contestant"], x["limit"]) == (of, limit)]
    counts = {fold: sum(line["fold"] == fold for line in mine) for fold in folds}
    most = max(counts.values(), default=0)
    if most:
        return tuple(fold for fold in folds if counts[fold] == most)
    return tuple(fold for fold in folds if any(line["fold"] == fold for line in lines))[:1]


def geometric_ratios(block: Block, reference: str) -> dict[str, tuple[float, int]]:
    """Geometric mean of each contestant's CRPS over that of ``reference``, and on how many tables.

    The table that some predict exactly is left out.
    """
    base = block.values("crps", [reference])[0]
    wanted = np.array([table != NEARLY_EXACT for table in block.tables])
    out = {}
    for name, row in zip(block.contestants, block.values("crps"), strict=True):
        both = np.isfinite(row) & np.isfinite(base) & wanted
        if both.any():
            out[name] = (float(np.exp(np.mean(np.log(row[both] / base[both])))), int(both.sum()))
    return out


def lower(block: Block, reference: str) -> dict[str, int]:
    """On how many tables each contestant has a lower CRPS than ``reference``."""
    base = block.to_rank([reference])[0]
    return {c: int(np.sum(block.to_rank([c])[0] < base)) for c in block.contestants}
