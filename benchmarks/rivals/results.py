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
    folds : tuple of int
        Folds that are averaged.
    """

    limit: float
    tables: tuple[str, ...]
    contestants: tuple[str, ...]
    lines: dict[tuple[str, str], tuple[Record, ...]]
    folds: tuple[int, ...]

    def values(self, field: str, contestants: Sequence[str] | None = None) -> Array:
        """Means over folds, (contestants, tables); NaN where there are none."""
        names = self.contestants if contestants is None else contestants
        return np.array([[self._mean(c, t, field) for t in self.tables] for c in names])

    def _mean(self, contestant: str, table: str, field: str) -> float:
        lines = self.lines.get((contestant, table), ())
        return float(np.mean([line[field] for line in lines])) if lines else float("nan")

    @property
    def complete(self) -> tuple[str, ...]:
        """Contestants that have all tables and folds: those that are ranked."""
        crps = self.values("crps")
        return tuple(c for c, row in zip(self.contestants, crps, strict=True) if np.isfinite(row).all())


def block(lines: Sequence[Record], limit: float, threads: int, folds: Sequence[int]) -> Block:
    """Collect the lines that count under a limit."""
    kept: dict[tuple[str, str], tuple[Record, ...]] = {}
    for line in lines:
        if line["threads"] != threads or line["fold"] not in folds or "failed" in line:
            continue
        if line["limit"] == limit or (line["limit"] is None and line["fit_seconds"] <= KEPT * limit):
            key = (line["contestant"], line["table"])
            kept[key] = (*kept.get(key, ()), line)
    # a mean over fewer folds would be another quantity
    kept = {key: found for key, found in kept.items() if {line["fold"] for line in found} == set(folds)}
    tables = tuple(t for t in (*TABLES, *KNOWN) if any(table == t for _, table in kept))
    names = tuple(c for c in CONTESTANTS if any(name == c for name, _ in kept))
    return Block(limit, tables, names, kept, tuple(folds))


def geometric_ratios(block: Block, reference: str) -> dict[str, tuple[float, int]]:
    """Geometric mean of each contestant's CRPS over that of ``reference``, and on how many tables."""
    base = block.values("crps", [reference])[0]
    out = {}
    for name, row in zip(block.contestants, block.values("crps"), strict=True):
        both = np.isfinite(row) & np.isfinite(base)
        if both.any():
            out[name] = (float(np.exp(np.mean(np.log(row[both] / base[both])))), int(both.sum()))
    return out
