"""Savings inside the members of a pool: fewer steps, points and first-stage trees, with the same bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from diffgbm.auto.pooled_model import PooledModel
from diffgbm.first_stage.thinning import thinned
from diffgbm.fitting.model import FittedModel

LEAST_STEPS = 3
"""Steps of a sampler that are left at least, if it has as many."""


@dataclass(frozen=True)
class Economy:
    """What is left of each member.

    Attributes
    ----------
    trees : float
        Share of the trees of first-stage models; of the points of Gaussian processes half as much.
    steps : float
        Share of the steps of samplers.
    points : int or None
        Points that each bag computes; ``None`` as the whole pool does.
    """

    trees: float = 1.0
    steps: float = 1.0
    points: int | None = None

    @classmethod
    def joined(cls, each: Sequence[Economy]) -> Economy:
        """Return the economy of several models that are mixed: mean shares, and the fewest points."""
        points = [one.points for one in each if one.points is not None]
        trees, steps = sum(one.trees for one in each) / len(each), sum(one.steps for one in each) / len(each)
        return cls(trees, steps, min(points, default=None))

    @property
    def parts(self) -> list[Economy]:
        """The savings one by one."""
        found = [Economy(trees=self.trees), Economy(steps=self.steps), Economy(points=self.points)]
        return [each for each in found if each != WHOLE]

    def __call__(self, pool: PooledModel) -> PooledModel:
        """Return a pool with these savings."""
        if self == WHOLE:
            return pool
        memo: dict[int, Any] = {}
        members = tuple(self._member(member, memo) for member in pool.members)
        return replace(pool, members=members, points_of_a_bag=self.points)

    def _member(self, member: FittedModel, memo: dict[int, Any]) -> FittedModel:
        stage, recipe = member.first_stage, member.recipe
        if stage is not None and self.trees < 1.0:
            stage = thinned(stage, self.trees, memo)
        if self.steps < 1.0:
            n = recipe.sampler.n_steps
            fewer = min(n, max(LEAST_STEPS, round(self.steps * n)))
            recipe = replace(recipe, sampler=replace(recipe.sampler, n_steps=fewer))
        return replace(member, first_stage=stage, recipe=recipe)

    def __str__(self) -> str:
        said = {
            "first-stage models to fewer trees and points": self.trees < 1.0,
            f"samplers to {self.steps:.0%} of their steps": self.steps < 1.0,
            f"bags to {self.points} points": self.points is not None,
        }
        return "".join(f", {text}" for text, is_so in said.items() if is_so)


WHOLE = Economy()
"""No saving at all."""
ECONOMIES = tuple(Economy(*each) for each in product((1.0, 0.5, 0.25, 0.1), (1.0, 0.5, 0.35), (None, 89, 55, 34, 21)))
"""Savings that are tried."""
