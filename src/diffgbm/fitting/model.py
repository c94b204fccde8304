"""A fitted model: everything that was learned, as one value that can sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from diffgbm._util.parallel import block_rows, map_blocks, n_threads
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm.data.features import FeatureTable
from diffgbm.data.novelty import Reference
from diffgbm.data.response import ResponseTable
from diffgbm.diffusion.recipe import Recipe
from diffgbm.diffusion.sampler import Sampler
from diffgbm.distributions import Distribution, JointDistribution, PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.engine import Draws, Engine, LightGBMEngine, StepTable, make_engine
from diffgbm.engine.factory import Kind, Mix
from diffgbm.engine.stored import AnyBooster
from diffgbm.first_stage import FirstStageValues, FittedFirstStage
from diffgbm.fitting.atoms import Atoms
from diffgbm.fitting.joint_atoms import JointAtoms, carried, probabilities_of, with_joint_atoms
from diffgbm.fitting.quadrature import normal_points


@dataclass(frozen=True)
class FittedModel:
    """The parts of a fitted model, in the order in which a row passes through them.

    Attributes
    ----------
    features, response : FeatureTable, ResponseTable
        How the user's tables are read and written.
    first_stage : FittedFirstStage or None
        What was taken out of the response first, and features for the noise model.
    recipe : Recipe
        What the boosters learned, and how it is sampled.
    bags : tuple of tuple of Booster
        For each bag one booster for each response.
    bag_mix : {"mean", "mixture"}
        Average the bags' fields, or let them share the samples.
    engine_kind : str
        Which engine integrates.
    n_jobs : int or None
        Threads.
    atoms : Atoms or None
        Atoms of the response; the rest of the model is then the continuous part.
    reference : Reference or None
        Training rows that new rows are compared with.
    support : Support or None
        Limits of the response, and whether it is a whole number.
    supports : tuple of Support or None
        The same for each of several responses, with their atoms; empty if none has any.
    joint_atoms : tuple of Atoms or None
        Classifiers of the atoms of each of several responses; empty if none has any. The rest of the model is of all
        rows.
    """

    features: FeatureTable
    response: ResponseTable
    first_stage: FittedFirstStage | None
    recipe: Recipe
    bags: tuple[tuple[AnyBooster, ...], ...]
    bag_mix: Mix
    engine_kind: Kind
    n_jobs: int | None
    atoms: Atoms | None = None
    reference: Reference | None = field(default=None, repr=False, compare=False)
    support: Support | None = None
    supports: tuple[Support | None, ...] = ()
    joint_atoms: JointAtoms = ()
    engine: Engine = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        engine = make_engine(self.bags, self.engine_kind, self.bag_mix, n_jobs=n_threads(self.n_jobs))
        object.__setattr__(self, "engine", engine)

    def __reduce__(self) -> tuple[Any, ...]:
        # the engine is made from the boosters, so it is not stored
        return FittedModel, tuple(getattr(self, f.name) for f in fields(self) if f.init)

    @property
    def n_responses(self) -> int:
        """Number of response coordinates ``d``."""
        return len(self.bags[0])

    @property
    def boosters(self) -> tuple[AnyBooster, ...]:
        """All boosters, bag by bag."""
        return tuple(booster for bag in self.bags for booster in bag)

    @cached_property
    def single_bags(self) -> tuple[FittedModel, ...]:
        """The model with each bag alone, made when first asked for."""
        return (self,) if len(self.bags) == 1 else tuple(replace(self, bags=(bag,)) for bag in self.bags)

    @property
    def n_iterations(self) -> list[int]:
        """Boosting rounds kept for each response, bag by bag."""
        return [b.best_iteration if b.best_iteration > 0 else b.num_trees() for b in self.boosters]

    def distribution(
        self, X: Array, sampler: Sampler, n_points: int, index: Any = None, threads: int = 1, verbose: int = 0
    ) -> Distribution:
        """Predictive distributions of encoded rows ``X`` (n, p), each of ``n_points`` transported quadrature points."""
        found = probabilities_of(self.joint_atoms, X)
        points = self.confined(self.points(X, sampler, n_points, threads, verbose), found)
        if self.atoms is not None:
            points = self.atoms.mixed(points[:, :, 0], self.atoms.probabilities(X))[:, :, None]
        return self.distributions_of(points, index)

    def confined(self, points: Array, probabilities: Sequence[Array | None] = ()) -> Array:
        """Move points (n, m, d) of the continuous part between the limits of the support.

        Those of several responses also to atoms, whose ``probabilities`` (n, k) belong to each response.
        """
        if self.supports:
            return with_joint_atoms(points, self.supports, probabilities or [None] * len(self.supports))
        if self.support is None:
            return points
        low, high = self.support.low, self.support.high
        if self.support.integers:  # rounding confines; what is beside an atom at a limit rounds to other numbers
            atoms = np.empty(0) if self.atoms is None else self.atoms.values
            low, high = low + 0.5 if low in atoms else -np.inf, high - 0.5 if high in atoms else np.inf
        return Support(low, high).confined(np.sort(points[:, :, 0], axis=1))[:, :, None]

    def carried(self, samples: Array, points: Array, X: Array) -> Array:
        """Move samples (s, n, d) of several responses as the points (n, m, d) of their rows are moved."""
        after = self.confined(points, probabilities_of(self.joint_atoms, X))
        columns = []
        for j, support in enumerate(self.supports):
            column = samples[:, :, j]
            if support is not None and self.joint_atoms and self.joint_atoms[j] is not None:
                column = carried(column, points[:, :, j], after[:, :, j], support)
            elif support is not None:
                column = support.carried(column, points[:, :, j])
            columns.append(column)
        return np.stack(columns, axis=2)

    @property
    def whole_support(self) -> Support | None:
        """Support of predictive distributions: limits together with atoms; ``None`` without any."""
        if self.atoms is None or self.support is None:
            return self.support if self.atoms is None else self.atoms.support
        low, high = max(self.support.low, self.atoms.low), min(self.support.high, self.atoms.high)
        return replace(self.support, low=low, high=high, atoms=self.atoms.values)

    def points(
        self,
        X: Array,
        sampler: Sampler,
        n_points: int,
        threads: int = 1,
        verbose: int = 0,
        stage_values: FirstStageValues | None = None,
    ) -> Array:
        """Transport ``n_points`` quadrature points to the predictive distributions of encoded rows ``X`` (n, p).

        A scalar state gets low-discrepancy noise too; several responses share random noise between rows.

        Returns
        -------
        ndarray of shape (n, n_points, d)
            Points in the user's units.
        """
        points = np.empty((len(X), n_points, self.n_responses))

        def receive(rows: slice, values: Array) -> None:
            points[rows] = values

        start = normal_points(n_points, self.n_responses)
        draws = Draws(n_points, key=0, start=start, shared=True, low_discrepancy=self.n_responses == 1)
        self.integrate(X, self.recipe.steps(sampler), draws, threads, verbose, receive, stage_values)
        return points

    def distributions_of(self, points: Array, index: Any = None) -> Distribution:
        """Make predictive distributions of points (n, n_points, d), which are confined and mixed with atoms."""
        if self.response.is_1d:
            support, values = self.whole_support, points[:, :, 0]
            values = values if support is None else support.rounded(values)
            return PredictiveDistribution.from_points(values, self.response_names[0], index, support)
        return JointDistribution(points, self.response_names, index, self.supports or None)

    def with_first_stage(
        self, X: Array, stage_values: FirstStageValues | None = None
    ) -> tuple[Array, FirstStageValues | None]:
        """Return encoded rows with the first-stage features, and the first-stage values (or ``stage_values``)."""
        if stage_values is None and self.first_stage is not None:
            stage_values = self.first_stage.values(X)
        if stage_values is not None and stage_values.features.shape[1]:
            X = np.hstack([X, stage_values.features])
        return X, stage_values

    @property
    def response_names(self) -> tuple[str, ...]:
        """Names of the responses: the user's, or y, y0, y1, ..."""
        if self.response.names is not None:
            return self.response.names
        return ("y",) if self.n_responses == 1 else tuple(f"y{j}" for j in range(self.n_responses))

    def integrate(
        self,
        X: Array,
        steps: StepTable,
        draws: Draws,
        threads: int,
        verbose: int,
        receive: Callable[[slice, Array], None],
        stage_values: FirstStageValues | None = None,
    ) -> None:
        """Integrate ``steps`` for encoded rows ``X`` (n, p), block by block, ``threads`` blocks at a time.

        ``receive(rows, values)`` gets the samples (rows, n_samples, d) of each block in the user's units, from
        several threads at once. ``stage_values`` replace those that the first-stage models predict.
        """
        integrator = self.engine.prepare(steps)
        # LightGBM starts its own threads; the collapsed tables are integrated by ours
        threads = 1 if isinstance(self.engine, LightGBMEngine) else threads

        def work(first: int, last: int) -> None:
            rows = np.ascontiguousarray(X[first:last], dtype=np.float64)
            rows, values = self.with_first_stage(rows, None if stage_values is None else stage_values[first:last])
            states = integrator(rows, replace(draws, first_row=draws.first_row + first))
            if values is not None:
                states = values.location[:, None] + values.scale[:, None] * states
            receive(slice(first, last), self.response.restore(states))

        size = block_rows(draws.n_samples * self.n_responses, len(X), threads)
        with progress_bar(len(X), "sample", verbose, "row") as bar:
            map_blocks(work, len(X), size, threads, bar)
