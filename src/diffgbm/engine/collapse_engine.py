"""The fast engine: forests as arrays, pruned for the steps of a sampler, collapsed row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from diffgbm._util.types import Array, Integers
from diffgbm.engine.base import Field, Mixture
from diffgbm.engine.forest import Forest, concatenate
from diffgbm.engine.joint import JointField
from diffgbm.engine.prepared import Prepared
from diffgbm.engine.prune import prune
from diffgbm.engine.scalar import ScalarField, used_knots
from diffgbm.engine.steps import StepTable
from diffgbm.engine.tree_sum import plain, predict_sum


@dataclass(frozen=True)
class VectorForest:
    """The forests of all response coordinates, laid end to end.

    Attributes
    ----------
    forest : Forest
    outputs : ndarray of shape (trees,)
        Response coordinate of each tree.
    n_outputs : int
    """

    forest: Forest
    outputs: Integers
    n_outputs: int

    @classmethod
    def average(cls, groups: Sequence[Sequence[Forest]]) -> VectorForest:
        """Average several groups of one forest for each coordinate: their trees, divided by their number."""
        forests = [forest for group in groups for forest in group]
        d = len(groups[0])
        outputs = [np.full(len(f.tree_nodes) - 1, i % d, dtype=np.int64) for i, f in enumerate(forests)]
        joined = concatenate(forests, [1.0 / len(groups)] * len(forests))
        return cls(joined, np.concatenate(outputs), d)

    def prepare(self, steps: StepTable) -> Field:
        """Prune the forest for the knots it will be evaluated at."""
        columns = np.asarray(steps.columns, dtype=np.float64)[: used_knots(steps)]
        pruned = prune(self.forest, self.outputs, self.n_outputs, columns)
        return ScalarField.make(pruned, steps) if self.n_outputs == 1 else JointField.make(pruned, steps)

    def predict(self, features: Array) -> Array:
        """Evaluate feature rows [y, x, columns] of shape (n, features): shape (n, d)."""
        pruned = plain(self.forest)
        return np.column_stack(
            [predict_sum(pruned, features, pruned.roots[self.outputs == j]) for j in range(self.n_outputs)]
        )


@dataclass(frozen=True)
class CollapseEngine:
    """Integrate over exact tables of each row's forest.

    Attributes
    ----------
    fields : sequence of VectorForest
        Sample ``i`` is integrated with field ``i`` modulo their number.
    prepared : Prepared
        Integrators that were made before.
    """

    fields: Sequence[VectorForest]
    prepared: Prepared = field(default_factory=Prepared, init=False, repr=False, compare=False)

    @property
    def n_outputs(self) -> int:
        """Number of response coordinates ``d``."""
        return self.fields[0].n_outputs

    def prepare(self, steps: StepTable) -> Mixture:
        """Prune the forests for the steps, or return what was made for the same steps before."""
        found: Mixture = self.prepared.get(steps.key, lambda: Mixture([field.prepare(steps) for field in self.fields]))
        return found

    def evaluate(self, X: Array, y: Array, columns: Array) -> Array:
        """Evaluate the forest at rows (n, p), scaled states (n, d) and known columns (n, q): shape (n, d)."""
        features = np.ascontiguousarray(np.hstack([y, X, columns]), dtype=np.float64)
        total: Array = sum((field.predict(features) for field in self.fields), np.zeros(np.shape(y)))
        return total / len(self.fields)
