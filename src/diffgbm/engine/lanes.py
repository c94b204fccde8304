"""What a forest needs to be collapsed for several rows together: whole leaf values, and an order of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Integers
from diffgbm.engine.arrays import WritableArrays
from diffgbm.engine.prune import Pruned

BITS = 30
"""Bits of a sum of leaf values in the lines of the kernels, which are int32."""
COLUMNS = 3
"""Columns by which rows are put in order."""
LARGE = 1e300
"""Thresholds between missing and present values are infinite."""
WORTH_IT = 64
"""Rows from which it pays to put them in order."""


@dataclass(frozen=True)
class Lanes(WritableArrays):
    """Leaf values as whole numbers, and cells of the columns that the forest asks about most.

    Whole numbers add up to the same in any order, so that the distribution of a row does not depend on the rows beside
    it. Rows of one cell take much the same ways through the trees: side by side, they reach fewer leaves together.

    Attributes
    ----------
    value : int32 ndarray of shape (leaves,)
        Leaf values in units of ``unit``.
    unit : float
        A power of two, about 1e-9 of the largest sum of leaves.
    columns : tuple of int
        Columns of ``x``, most questions first.
    cuts : list of ndarray of shape (3,)
        For each column, thresholds that divide its questions into quarters.
    """

    value: NDArray[np.int32]
    unit: float
    columns: tuple[int, ...]
    cuts: list[Array]

    @classmethod
    def of(cls, pruned: Pruned) -> Lanes:
        """Round the leaf values, and count the questions about numbers."""
        value, unit = fixed_point(pruned, BITS)
        conditions, n = pruned.conditions, len(pruned.conditions.threshold)
        asked = pruned.nodes[(pruned.nodes[:, 0] >= 0) & (pruned.nodes[:, 0] < n), 0]
        column = np.repeat(conditions.group_column, np.diff(conditions.group_start))[asked]
        count = np.bincount(column, minlength=1)
        columns = [int(c) for c in np.argsort(-count, kind="stable")[:COLUMNS] if count[c]]
        threshold = np.clip(conditions.threshold[asked], -LARGE, LARGE)
        cuts = [np.quantile(threshold[column == c], [0.25, 0.5, 0.75], method="nearest") for c in columns]
        return cls(value.astype(np.int32), unit, tuple(columns), cuts)

    def order(self, X: Array) -> Integers:
        """Return positions (n,) of rows (n, p) with similar ones side by side; fewer than ``WORTH_IT`` stay."""
        if len(X) < WORTH_IT:
            return np.arange(len(X))
        cell = np.zeros(len(X), dtype=np.int64)
        for column, cuts in zip(self.columns, self.cuts, strict=True):
            cell = (len(cuts) + 1) * cell + np.searchsorted(cuts, X[:, column])
        return np.argsort(cell, kind="stable")


def fixed_point(pruned: Pruned, bits: int = 62) -> tuple[Integers, float]:
    """Return the leaf values as multiples of a power of two so small that no sum of the trees fills ``bits`` bits."""
    largest = np.zeros(len(pruned.roots))
    np.maximum.at(largest, pruned.leaf_tree, np.abs(pruned.value))
    _, exponent = np.frexp(largest.sum())
    unit = float(np.ldexp(1.0, max(int(exponent) - bits, -1000)))
    return np.rint(pruned.value / unit).astype(np.int64), unit
