"""How much work a prediction of a pool is, from the sizes of its parts: the same on every machine.

Times of one row, in nanoseconds, were measured on one processor. Only their ratios matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from diffgbm.auto.economy import WHOLE, Economy
from diffgbm.auto.pooled_model import POINTS_OF_A_BAG, USUAL_POINTS, PooledModel
from diffgbm.engine import CollapseEngine
from diffgbm.engine.scalar import ScalarField
from diffgbm.first_stage.gaussian_process import GaussianProcess
from diffgbm.first_stage.leaf_forest import LeafForest
from diffgbm.first_stage.lightgbm_mean import BoosterAverage
from diffgbm.first_stage.stack import Weighted
from diffgbm.first_stage.thinning import left_of
from diffgbm.fitting.model import FittedModel

STEP, NOISY_STEP = 1.5, 2.0
"""A point at a step, and what noise adds to it."""
CELL, LEAF = 0.5, 5.0
"""A cell of a row's table, and a leaf that the row reaches."""
NOISY_CELL, NOISY_LEAF = 0.12, 2.5
"""The same where there is noise, and eight rows are collapsed together."""
OTHER = 50_000.0
"""A predictor, or a forest, of another kind."""
ALWAYS = 15_000.0
"""What every prediction does: sort points, confine, correct."""

PREDICTORS: dict[type, Callable[[Any], float]] = {
    BoosterAverage: lambda found: 3.0 * sum(b.num_trees() for boosters in found.models for b in boosters),
    LeafForest: lambda found: 100.0 * len(found.roots),
    GaussianProcess: lambda found: 0.35 * (found.points.size * len(found.alike) + found.alpha.size),
}
"""First-stage predictors that are not put together from others."""


def _parts(predictor: Any) -> list[Any]:
    if isinstance(predictor, Weighted):
        return [part for member in predictor.members for part in _parts(member)]
    return [predictor]


@dataclass(frozen=True)
class Work:
    """Operations of a bag: for each point, and for its table, which fewer steps make smaller too; or all together."""

    point: float = 0.0
    table: float = 0.0
    rest: float = 0.0

    def total(self, points: float, steps: float) -> float:
        """Operations for some points, with a share of the steps."""
        return self.point * points * steps + self.table * (1.0 + steps) / 2.0 + self.rest


def _bag(member: FittedModel, b: int) -> Work:
    """Operations of one bag for one row."""
    engine, steps = member.engine, member.recipe.steps(member.recipe.sampler)
    if not isinstance(engine, CollapseEngine):
        return Work(rest=OTHER)
    fields = engine.prepare(steps).fields
    shared = len(fields) < len(member.bags)  # the mean of all bags is one field
    field = fields[0 if shared else b]
    if not isinstance(field, ScalarField):
        return Work(rest=OTHER * member.n_responses / (len(member.bags) if shared else 1))
    knots = sum(2 if w else 1 for w in steps.corrector)
    noisy = sum(bool(e) for e in steps.noise)
    point = STEP * knots + NOISY_STEP * noisy
    cell, leaf = (NOISY_CELL, NOISY_LEAF) if noisy else (CELL, LEAF)
    table = cell * field.pruned.n_cells * (len(field.pruned.edges[0]) + 2) + leaf * field.pruned.reach
    return Work(point, table / (len(member.bags) if shared else 1))


@dataclass(frozen=True, eq=False)
class Operations:
    """Operations of the bags and of the first-stage predictors of a pool.

    Attributes
    ----------
    bags : tuple of tuple of Work
        Operations of each bag of each member.
    predictors : dict of int to float
        Operations of each first-stage predictor, by its identity: members share them.
    members : tuple of frozenset of int
        The predictors that each member needs.
    parts : dict of int to object
        The predictors themselves.
    """

    bags: tuple[tuple[Work, ...], ...]
    predictors: dict[int, float]
    members: tuple[frozenset[int], ...]
    parts: dict[int, Any]

    @classmethod
    def of(cls, pool: PooledModel) -> Operations:
        """Count the operations of a pool."""
        needed = []
        for member in pool.members:
            stage = member.first_stage
            whole = [] if stage is None else [stage.location, stage.log_scale, *stage.features]
            needed.append([part for each in whole if each is not None for part in _parts(each)])
        return cls(
            tuple(tuple(_bag(member, b) for b in range(len(member.bags))) for member in pool.members),
            {id(part): PREDICTORS.get(type(part), lambda _: OTHER)(part) for parts in needed for part in parts},
            tuple(frozenset(map(id, parts)) for parts in needed),
            {id(part): part for parts in needed for part in parts},
        )

    def total(self, kept: Sequence[Sequence[int]], economy: Economy = WHOLE) -> float:
        """Operations of the bags that are left of each member, and of the predictors that they need."""
        used = frozenset[int]().union(*(parts for parts, bags in zip(self.members, kept, strict=True) if bags))
        members, bags = sum(map(bool, kept)), 0.0
        for m, left in enumerate(kept):
            for b in left:
                # of the whole pool's points, few bags compute many each
                points = economy.points or max(POINTS_OF_A_BAG, USUAL_POINTS / members / len(left))
                bags += self.bags[m][b].total(points, economy.steps)
        trees = sum(self.predictors[part] * left_of(self.parts[part], economy.trees) for part in used)
        return ALWAYS + bags + trees
