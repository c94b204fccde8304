"""The trainer: from a candidate and a split of the rows to a fitted model and its predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffgbm._util.deadline import NEVER, Deadline
from diffgbm._util.types import Array, Rows
from diffgbm.auto.candidates import Candidate
from diffgbm.auto.problem import Problem
from diffgbm.data.splits import Split
from diffgbm.diffusion.recipe import resolve
from diffgbm.fitting.bags import Bag, train_bag
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.noise_table import NoiseTable
from diffgbm.fitting.training import lightgbm_params, seed_integer

POINTS = 55
"""Points of a distribution that is only scored. Low-discrepancy noise suits Fibonacci numbers best."""


@dataclass(frozen=True)
class Trainer:
    """Trains candidates of one problem.

    Attributes
    ----------
    problem : Problem
        The table and its first-stage models.
    stop : callable
        Asked after each boosting round; training ends once it returns True.
    deadline : Deadline
        When ``stop`` will return True, as far as it is known.
    """

    problem: Problem
    stop: Callable[[], bool] = lambda: False
    deadline: Deadline = NEVER

    def train(
        self,
        candidate: Candidate,
        arguments: Mapping[str, Any],
        split: Split,
        stream: tuple[int, ...],
        stop: Callable[[], bool] | None = None,
    ) -> tuple[FittedModel, Bag]:
        """Train one bag of a candidate.

        Parameters
        ----------
        candidate : Candidate
            What to train.
        arguments : dict
            Those of the noise model, see ``Candidate.arguments``.
        split : (ndarray of int, ndarray of int)
            Rows to learn from, and rows that decide when to stop.
        stream : tuple of int
            Name of the stream of random numbers.
        stop : callable, optional
            Asked besides ``self.stop``.

        Returns
        -------
        model : FittedModel
            The model of this bag.
        bag : Bag
            Its boosters.
        """
        problem, inputs = self.problem, self.problem.inputs(candidate)
        table = problem.table
        residuals = (table.y - inputs.values.location) / inputs.values.scale
        recipe = resolve(arguments)
        if candidate.sampler is not None:
            recipe = replace(recipe, sampler=candidate.sampler)
        seeds = np.random.SeedSequence((problem.seed, *stream)).spawn(3)
        bag = train_bag(
            NoiseTable(inputs.X, residuals, table.weights, table.features.categorical),
            recipe,
            split,
            params=arguments,
            lightgbm=lightgbm_params(arguments, seed_integer(seeds[2]), problem.n_jobs),
            seeds=seeds[:2],
            tick=lambda loss: None,
            stop=self.stop if stop is None else lambda: self.stop() or stop(),
            deadline=self.deadline if stop is None else NEVER,
        )
        model = FittedModel(
            features=table.features,
            response=table.response,
            first_stage=inputs.first_stage,
            recipe=recipe,
            bags=(bag.boosters,),
            bag_mix="mixture",
            engine_kind="auto",
            n_jobs=problem.n_jobs,
            reference=table.reference,
        )
        return model, bag

    def points(self, candidate: Candidate, model: FittedModel, rows: Rows, n_points: int = POINTS) -> Array:
        """Sorted points of predictive distributions of training rows: shape (rows, n_points, d).

        First-stage values are out of fold.
        """
        values = self.problem.inputs(candidate).values[rows]
        X = self.problem.table.X[rows]
        points = model.points(X, model.recipe.sampler, n_points, self.problem.n_jobs, stage_values=values)
        return np.sort(points, axis=1)

    def out_of_bag(
        self, candidate: Candidate, model: FittedModel, held_out: Sequence[Rows], n_points: int = POINTS
    ) -> list[Array]:
        """Sorted points (rows, n_points, d) for each bag of a model, of the rows that the bag holds out."""
        bags = [replace(model, bags=(bag,)) for bag in model.bags]
        return [self.points(candidate, bag, rows, n_points) for bag, rows in zip(bags, held_out, strict=True)]
