"""A fitted model: everything that was learned, as one value that can draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm.distribution import PredictiveDistribution
from diffgbm.engine import Draws, Engine, LightGBMEngine, StepTable, make_engine
from diffgbm.engine.factory import Kind
from diffgbm.engine.stored import AnyBooster
from diffgbm.guides import Guide
from diffgbm.joint import JointDistribution
from diffgbm.parallel import block_rows, map_blocks, n_threads
from diffgbm.points import normal_points
from diffgbm.progress import progress_bar
from diffgbm.recipe import Recipe
from diffgbm.sampler import Sampler
from diffgbm.table import FeatureTable, ResponseTable

Array = NDArray[np.float64]
Laws = PredictiveDistribution | JointDistribution


@dataclass(frozen=True)
class FittedModel:
    """The parts of a fitted model, in the order in which a row passes through them.

    Attributes
    ----------
    features, response : FeatureTable, ResponseTable
        How the user's tables are read and written.
    guide : Guide or None
        What was taken out of the response first.
    recipe : Recipe
        What the boosters learned, and how it is sampled.
    boosters : tuple of Booster
        One for each response.
    engine_kind : str
        Which engine integrates.
    n_jobs : int or None
        Threads.
    """

    features: FeatureTable
    response: ResponseTable
    guide: Guide | None
    recipe: Recipe
    boosters: tuple[AnyBooster, ...]
    engine_kind: Kind
    n_jobs: int | None
    engine: Engine = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        engine = make_engine([self.boosters], self.engine_kind, n_jobs=n_threads(self.n_jobs))
        object.__setattr__(self, "engine", engine)

    def __reduce__(self) -> tuple[Any, ...]:
        # the engine is made from the boosters: it is not stored twice
        return FittedModel, tuple(getattr(self, f.name) for f in fields(self) if f.init)

    @property
    def n_responses(self) -> int:
        """Number of response coordinates ``d``."""
        return len(self.boosters)

    @property
    def n_iterations(self) -> list[int]:
        """Boosting rounds kept for each response."""
        return [b.best_iteration if b.best_iteration > 0 else b.num_trees() for b in self.boosters]

    def law(
        self, X: Array, sampler: Sampler, n_points: int, index: Any = None, threads: int = 1, verbose: int = 0
    ) -> Laws:
        """Predictive laws of encoded rows ``X`` (n, p), as ``n_points`` evenly spread points carried to the data.

        A scalar state meets evenly spread noise as well; several responses share random noise between rows.
        """
        points = np.empty((len(X), n_points, self.n_responses))

        def receive(rows: slice, values: Array) -> None:
            points[rows] = values

        start = normal_points(n_points, self.n_responses)
        draws = Draws(n_points, key=0, start=start, shared=True, spread=self.n_responses == 1)
        self.integrate(X, self.recipe.steps(sampler), draws, threads, verbose, receive)
        if self.response.is_1d:
            return PredictiveDistribution.from_points(points[:, :, 0], self.response_names[0], index)
        return JointDistribution(points, self.response_names, index)

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
    ) -> None:
        """Integrate ``steps`` for encoded rows ``X`` (n, p), block by block, ``threads`` blocks at a time.

        ``receive(rows, values)`` gets the samples (rows, n_samples, d) of each block in the user's units, from
        several threads at once.
        """
        integrator = self.engine.prepare(steps)
        # LightGBM brings threads of its own; the collapsed tables are integrated by ours
        threads = 1 if isinstance(self.engine, LightGBMEngine) else threads

        def work(first: int, last: int) -> None:
            rows = np.ascontiguousarray(X[first:last], dtype=np.float64)
            states = integrator(rows, replace(draws, first_row=draws.first_row + first))
            if self.guide is not None:
                location, scale = self.guide.location_scale(rows)
                states = location[:, None] + scale[:, None] * states
            receive(slice(first, last), self.response.restore(states))

        size = block_rows(draws.n_samples * self.n_responses, len(X), threads)
        with progress_bar(len(X), "sample", verbose, "row") as bar:
            map_blocks(work, len(X), size, threads, bar)
