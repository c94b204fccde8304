"""The fast engine for a state of several coordinates: tables where a leaf depends on one, boxes elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Integers
from diffgbm.engine.arrays import WritableArrays
from diffgbm.engine.conditions import n_questions
from diffgbm.engine.forest import CannotCollapse
from diffgbm.engine.lanes import fixed_point
from diffgbm.engine.lookup import make_lookup
from diffgbm.engine.prune import Pruned
from diffgbm.engine.random import as_key, positions
from diffgbm.engine.scalar import HITS_MEMORY, LEAF, Steps, kernel_steps
from diffgbm.engine.steps import Draws, StepTable

MOST_PAIRS = 6
"""Pairs of coordinates that get a difference array over ranks; boxes of other pairs are tried one by one."""


class Lookups(NamedTuple):
    """The look-ups of all coordinates laid end to end."""

    edges: Array
    edges_at: Integers
    first: NDArray[np.uint16]
    first_at: Integers
    low: Array
    inverse: Array
    most: Integers


@dataclass(frozen=True)
class JointField(WritableArrays):
    """A pruned forest of several coordinates, ready to be integrated.

    Attributes
    ----------
    pruned : Pruned
    leaves : ndarray of LEAF
        Position in the tables, or -1 for leaves bounded in several coordinates.
    kinds : int32 ndarray of shape (leaves,)
        Of the latter: ``output * (pairs + 1) + pair``, where the last pair means none.
    pairs : ndarray of shape (pairs, 2)
    fixed : int64 ndarray of shape (leaves,)
        Values in units of ``unit``. Whole numbers add up to the same in any order, so that a sample does not
        depend on which others are integrated with it.
    unit : float
    lookups : Lookups
    steps : Steps
    n_outputs : int
    """

    pruned: Pruned
    leaves: NDArray[np.void]
    kinds: NDArray[np.int32]
    pairs: Integers
    fixed: Integers
    unit: float
    lookups: Lookups
    steps: Steps
    n_outputs: int

    @classmethod
    def make(cls, pruned: Pruned, steps: StepTable) -> JointField:
        """Lay the leaves of a pruned forest out for the kernels."""
        d = len(pruned.edges)
        pairs = np.array(list(combinations(range(d), 2))[:MOST_PAIRS], dtype=np.int64)
        leaves, kinds = classify_leaves(pruned, pairs)
        fixed, unit = fixed_point(pruned)
        lookups = join_lookups(pruned.edges)
        return cls(pruned, leaves, kinds, pairs, fixed, unit, lookups, kernel_steps(steps), d)

    def fill(self, X: Array, draws: Draws, out: Array, offset: int, stride: int) -> None:
        """Write samples ``offset, offset + stride, ...`` of each row into ``out`` (rows, n_samples, d)."""
        from diffgbm.engine import _joint_kernels as kernels

        pruned = self.pruned
        pruned.check_rows(X)
        rows, _ = positions(draws, X.shape[0], offset, stride)
        start = np.empty((0, 0)) if draws.start is None else np.ascontiguousarray(draws.start, dtype=np.float64)
        at_once = max(1, min(64, HITS_MEMORY // (4 * pruned.reach)))
        kernels.integrate_block_joint(
            (
                pruned.conditions,
                n_questions(pruned.conditions),
                pruned.nodes,
                pruned.roots,
                self.leaves,
                pruned.reach,
                pruned.boxes,
                self.kinds,
                self.fixed,
                self.unit,
            ),
            (pruned.knot_cell, pruned.n_cells, table_width(pruned), self.lookups, self.pairs, at_once),
            self.steps,
            as_key(draws.key),
            rows,
            (draws.first_sample, offset, stride),
            X,
            start,
            out,
        )


def table_width(pruned: Pruned) -> int:
    """Return the width of all tables: the most bins of any coordinate, and one to end differences in."""
    return max(len(edges) for edges in pruned.edges) + 2


def classify_leaves(pruned: Pruned, pairs: Integers) -> tuple[NDArray[np.void], NDArray[np.int32]]:
    """Place leaves bounded in at most one coordinate in the table of (output, coordinate); mark the others."""
    d, height, width = len(pruned.edges), pruned.n_cells + 1, table_width(pruned)
    if d * d * height * width > np.iinfo(np.int32).max or max(width, height) > 0xFFFF:
        raise CannotCollapse("the tables of knots and bins are too large")
    bins = np.array([len(edges) + 1 for edges in pruned.edges])
    lower, upper = pruned.boxes[:, 2::2], pruned.boxes[:, 3::2]
    bounded = (lower > 0) | (upper < bins)
    output = pruned.outputs[pruned.leaf_tree].astype(np.int64)
    only = np.argmax(bounded, axis=1)
    number = np.arange(len(only))
    leaves = np.empty(len(pruned.value), dtype=LEAF)
    leaves["value"] = pruned.value
    leaves["wide"] = upper[number, only] - lower[number, only]
    leaves["high"] = pruned.boxes[:, 1] - pruned.boxes[:, 0]
    at = ((output * d + only) * height + pruned.boxes[:, 0]) * width + lower[number, only]
    leaves["at"] = np.where(bounded.sum(axis=1) <= 1, at, -1)

    pair = np.full(len(only), len(pairs))
    for i, (a, b) in enumerate(pairs):
        pair[bounded[:, a] & bounded[:, b] & (bounded.sum(axis=1) == 2)] = i
    return leaves, (output * (len(pairs) + 1) + pair).astype(np.int32)


def join_lookups(edges: list[Array]) -> Lookups:
    """Lay the look-ups of all coordinates end to end."""
    lookups = [make_lookup(edge) for edge in edges]
    return Lookups(
        edges=np.concatenate([lookup.edges for lookup in lookups]),
        edges_at=np.cumsum([0, *(len(lookup.edges) for lookup in lookups)]),
        first=np.concatenate([lookup.first for lookup in lookups]),
        first_at=np.cumsum([0, *(len(lookup.first) for lookup in lookups)]),
        low=np.array([lookup.low for lookup in lookups]),
        inverse=np.array([lookup.inverse for lookup in lookups]),
        most=np.array([lookup.most for lookup in lookups]),
    )
