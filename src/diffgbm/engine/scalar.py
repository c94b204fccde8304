"""The fast engine for a scalar state: each row's forest becomes a table over (knot, bin of ``y``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array
from diffgbm.engine.arrays import WritableArrays
from diffgbm.engine.conditions import n_questions
from diffgbm.engine.forest import CannotCollapse
from diffgbm.engine.lanes import WORTH_IT, Lanes
from diffgbm.engine.lookup import Lookup, make_lookup
from diffgbm.engine.low_discrepancy import arranged_noise
from diffgbm.engine.prune import Pruned
from diffgbm.engine.random import as_key, positions
from diffgbm.engine.steps import Draws, StepTable

LEAF = np.dtype([("value", np.float64), ("at", np.int32), ("wide", np.uint16), ("high", np.uint16)])
"""A leaf and its box in the flat table: 16 bytes, so that four share a cache line."""

HITS_MEMORY = 1 << 25
"""Bytes allowed for the lists of leaves that the rows of a block reach."""


class Steps(NamedTuple):
    """A step table as the kernels take it."""

    scale: Array
    linear: Array
    gain: Array
    size: Array
    noise: Array
    corrector: Array
    start: float


def used_knots(steps: StepTable) -> int:
    """Return how many knots the forest is evaluated at: the last one only by a corrector."""
    return steps.n_steps + int(steps.n_steps > 0 and steps.corrector[-1] != 0)


def kernel_steps(steps: StepTable) -> Steps:
    """Return the step table as contiguous float64 arrays."""

    def plain(values: Array) -> Array:
        return np.ascontiguousarray(values, dtype=np.float64)

    return Steps(
        plain(steps.scale),
        plain(steps.linear),
        plain(steps.gain),
        plain(steps.size),
        plain(steps.noise),
        plain(steps.corrector),
        float(steps.start),
    )


@dataclass(frozen=True)
class ScalarField(WritableArrays):
    """A pruned forest of a scalar state, ready to be integrated.

    Attributes
    ----------
    pruned : Pruned
    leaves : ndarray of LEAF
    lookup : Lookup
    steps : Steps
    lanes : Lanes or None
        What else several rows in the lanes of a vector need, if steps add noise.
    """

    pruned: Pruned
    leaves: NDArray[np.void]
    lookup: Lookup
    steps: Steps
    lanes: Lanes | None = None
    n_outputs: int = 1

    @classmethod
    def make(cls, pruned: Pruned, steps: StepTable) -> ScalarField:
        """Lay the leaves of a pruned forest out for the kernels."""
        lanes = None if steps.is_deterministic else Lanes.of(pruned)
        return cls(pruned, pack_leaves(pruned), make_lookup(pruned.edges[0]), kernel_steps(steps), lanes)

    def fill(self, X: Array, draws: Draws, out: Array, offset: int, stride: int) -> None:
        """Write samples ``offset, offset + stride, ...`` of each row into ``out`` (rows, n_samples, 1)."""
        from diffgbm.engine import _scalar_kernels as kernels

        pruned = self.pruned
        pruned.check_rows(X)
        start = np.empty(0) if draws.start is None else np.ascontiguousarray(draws.start[:, 0], dtype=np.float64)
        arranged = arranged_noise(draws, offset, stride, len(self.steps.size))
        if self.lanes is not None and draws.low_discrepancy:
            room = min(min(64, len(X)) * pruned.reach, len(pruned.value))
            order = self.lanes.order(X)
            kernels.integrate_lanes(
                (pruned.conditions, n_questions(pruned.conditions), pruned.nodes, pruned.roots, pruned.boxes),
                (self.lanes.value, self.lanes.unit),
                (pruned.knot_cell, pruned.n_cells, len(pruned.edges[0]) + 2, self.lookup, room),
                self.steps,
                order,
                (offset, stride),
                X if len(X) < WORTH_IT else X[order],
                start,
                arranged,
                out.reshape(out.shape[:2]),
            )
            return
        rows, _ = positions(draws, X.shape[0], offset, stride)
        at_once = max(1, min(64, HITS_MEMORY // (4 * pruned.reach)))
        kernels.integrate_block(
            (pruned.conditions, n_questions(pruned.conditions), pruned.nodes, pruned.roots, self.leaves, pruned.reach),
            (pruned.knot_cell, pruned.n_cells, len(pruned.edges[0]) + 2, self.lookup, at_once),
            self.steps,
            as_key(draws.key),
            rows,
            (draws.first_sample, offset, stride),
            X,
            start,
            arranged,
            out.reshape(out.shape[:2]),
        )


def pack_leaves(pruned: Pruned) -> NDArray[np.void]:
    """Return the leaves of a scalar forest with the position and extent of their boxes in the flat table."""
    width = len(pruned.edges[0]) + 2
    if (pruned.n_cells + 1) * width > np.iinfo(np.int32).max or max(width, pruned.n_cells) > 0xFFFF:
        raise CannotCollapse("the table of knots and bins is too large")
    k0, k1, b0, b1 = pruned.boxes.T
    leaves = np.empty(len(pruned.value), dtype=LEAF)
    leaves["value"] = pruned.value
    leaves["at"] = k0 * width + b0
    leaves["wide"] = b1 - b0
    leaves["high"] = k1 - k0
    return leaves
