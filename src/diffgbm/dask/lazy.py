"""Lazy predictions of a fitted model: computed partition by partition, when and where Dask computes them."""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.dask.partitions import Delayed, aligned, check_collection, is_frame, lengths, pieces
from diffgbm.distributions import Distribution, IntervalKind, concatenate
from diffgbm.estimators.diffgbm import DiffGBM


@dataclass(frozen=True)
class MethodCall:
    """A method of ``DiffGBM`` and its options, to be called with the rows of one partition.

    Attributes
    ----------
    method : str
        Its name.
    options : dict
        Its options, the same for all partitions.
    axis : int
        Axis of the result that the rows are along.
    """

    method: str
    options: dict[str, Any]
    axis: int = 0

    def __call__(self, model: DiffGBM, X: Any, *others: Any, **more: Any) -> Any:
        """Call the method; a partition without rows gives a result without rows."""
        method = getattr(model, self.method)
        if len(X):
            return method(X, *others, **self.options, **more)
        # a row of missing values shows the shape
        one = method(_missing_row(X), *(np.zeros((1, *np.shape(part)[1:])) for part in others), **self.options)
        return _without_rows(one, X, self.axis)


@dataclass(frozen=True)
class RemoteModel:
    """A model as a Dask task. On a worker every call uses one thread, as Dask expects of a task.

    Attributes
    ----------
    model : DiffGBM
        The model on the client.
    delayed : Delayed
        The model on the workers: a task like any other, so that Dask repeats it if a worker is lost.
    owner : str
        Name of the estimator for messages.
    """

    model: DiffGBM
    delayed: Delayed
    owner: str

    @classmethod
    def of(cls, model: DiffGBM, owner: str) -> RemoteModel:
        """Make a task of a model."""
        params = {**model.get_params(deep=False), "n_jobs": 1, "verbose": 0}
        alone = DiffGBM.from_model(replace(model.model_, n_jobs=1), params)
        content = pickle.dumps(alone)
        name = f"diffgbm-{hashlib.sha256(content).hexdigest()[:24]}"
        return cls(alone, need("dask").delayed(pickle.loads)(content, dask_key_name=name), owner)

    def apply(self, call: MethodCall, X: Any, **others: Any) -> Any:
        """Call a method for each partition of ``X`` and of other collections: an array, or a frame if ``X`` is one."""
        check_collection(X, "X", self.owner)
        columns = [aligned(X, other, name, self.owner) for name, other in others.items()]
        example = call(self.model, empty(X), *map(empty, others.values()))
        delayed = need("dask").delayed
        results = [delayed(call, pure=False)(self.delayed, *row) for row in zip(pieces(X), *columns, strict=True)]
        if isinstance(example, np.ndarray):
            return stacked(results, lengths(X), example)
        frames = need("dask.dataframe")
        return frames.from_delayed(results, meta=example, divisions=X.divisions, verify_meta=False)

    def total(self, call: MethodCall, X: Any, **others: Any) -> Delayed:
        """Add up one number for each partition; partitions without rows add nothing."""
        check_collection(X, "X", self.owner)
        columns = [aligned(X, other, name, self.owner) for name, other in others.items()]
        delayed = need("dask").delayed
        rows = zip(pieces(X), *columns, strict=True)
        return delayed(sum)([delayed(_number, pure=False)(call, self.delayed, *row) for row in rows])

    def sample(self, call: MethodCall, X: Any, first_row: int = 0) -> Any:
        """Draw samples; random numbers depend on a row's position in all of ``X``, which begins at ``first_row``."""
        check_collection(X, "X", self.owner)
        example, blocks, rows = call(self.model, empty(X)), pieces(X), lengths(X)
        delayed = need("dask").delayed
        results = [
            delayed(call, pure=False)(self.delayed, block, first_row=first)
            for block, first in zip(blocks, first_rows(rows, blocks, first_row), strict=True)
        ]
        return stacked(results, rows, example, call.axis)

    def distributions(self, X: Any, **options: Any) -> DaskDistribution:
        """Return lazy predictive distributions."""
        check_collection(X, "X", self.owner)
        call, delayed = MethodCall("predict_distribution", options), need("dask").delayed
        parts = tuple(delayed(_distributions, pure=False)(call, self.delayed, block) for block in pieces(X))
        return DaskDistribution(parts, tuple(lengths(X)), call(self.model, _missing_row(empty(X))))


@dataclass(frozen=True, eq=False)
class DaskDistribution:
    """Use this to query distributions of a Dask collection lazily: every result is a lazy array.

    Attributes
    ----------
    parts : tuple of Delayed
        Distributions of each partition, ``None`` for one without rows.
    rows : tuple of float
        Rows of each, NaN where they are not known.
    example : PredictiveDistribution or JointDistribution
        Distribution of one row, whose results have the shapes of all.
    """

    parts: tuple[Delayed, ...]
    rows: tuple[float, ...]
    example: Distribution

    def mean(self) -> Any:
        """Means: shape (n,) or (n, d)."""
        return self._call("mean")

    def median(self) -> Any:
        """Medians: shape (n,) or (n, d)."""
        return self._call("median")

    def std(self) -> Any:
        """Standard deviations: shape (n,) or (n, d)."""
        return self._call("std")

    def quantile(self, alpha: float | Sequence[float]) -> Any:
        """Quantiles at one level, or at ``k`` of them along a last axis."""
        return self._call("quantile", alpha)

    def interval(self, coverage: float | Sequence[float] = 0.9, kind: IntervalKind = "central") -> Any:
        """Intervals of probability ``coverage``: shape (n, 2) or (n, d, 2)."""
        return self._call("interval", coverage, kind)

    def cdf(self, y: ArrayLike) -> Any:
        """Probability of at most ``y``, one value (for each response) for all rows."""
        return self._call("cdf", y)

    def compute(self, **options: Any) -> Distribution:
        """Compute the distributions and concatenate them in memory."""
        results = [
            distribution for distribution in need("dask").compute(*self.parts, **options) if distribution is not None
        ]
        return self.example[:0] if not results else concatenate(results)

    def _call(self, method: str, *arguments: Any) -> Any:
        delayed = need("dask").delayed
        shape = np.shape(getattr(self.example, method)(*arguments))[1:]
        results = [delayed(_result, pure=False)(part, method, arguments, shape) for part in self.parts]
        return stacked(results, self.rows, np.empty((0, *shape)))


def first_rows(rows: Sequence[float], blocks: Sequence[Delayed], first_row: int = 0) -> list[Any]:
    """Return the position of each partition's first row; unknown lengths are counted when Dask computes."""
    delayed = need("dask").delayed
    known = not any(map(math.isnan, rows))
    counts = [int(n) for n in rows] if known else [delayed(len)(block) for block in blocks]
    starts: list[Any] = [first_row]
    for count in counts[:-1]:
        starts.append(starts[-1] + count if known else delayed(add)(starts[-1], count))
    return starts


def stacked(results: Sequence[Delayed], rows: Sequence[float], example: Array, axis: int = 0) -> Any:
    """Make an array of the results of all partitions; ``example`` is a result without rows."""
    before, after = example.shape[:axis], example.shape[axis + 1 :]
    chunks = (*((n,) for n in before), tuple(rows), *((n,) for n in after))
    name = f"diffgbm-results-{uuid4().hex}"
    # da.concatenate drops partitions without rows
    blocks = {(name, *[0] * len(before), i, *[0] * len(after)): one.key for i, one in enumerate(results)}
    graph = need("dask.highlevelgraph").HighLevelGraph.from_collections(name, blocks, dependencies=list(results))
    return need("dask.array").Array(graph, name, chunks, dtype=np.float64)


def empty(collection: Any) -> Any:
    """Return a partition without rows."""
    return collection._meta if is_frame(collection) else np.empty((0, *collection.shape[1:]))


def _missing_row(X: Any) -> Any:
    """Return one row of missing values, an array or a frame as ``X`` is."""
    if not hasattr(X, "columns"):
        return np.full((1, *np.shape(X)[1:]), np.nan)
    return need("pandas").DataFrame({name: [np.nan] for name in X.columns})


def _without_rows(result: Any, X: Any, axis: int) -> Any:
    """Return a result for one row without its row, with the (empty) labels of ``X``."""
    if isinstance(result, np.ndarray):
        return result.take([], axis=axis)
    return result.iloc[:0].set_axis(X.index[:0], axis=0)


def _distributions(call: MethodCall, model: DiffGBM, X: Any) -> Distribution | None:
    distributions: Distribution | None = call(model, X) if len(X) else None
    return distributions


def _result(
    distribution: Distribution | None, method: str, arguments: tuple[Any, ...], shape: tuple[int, ...]
) -> Array:
    return np.empty((0, *shape)) if distribution is None else np.asarray(getattr(distribution, method)(*arguments))


def _number(call: MethodCall, model: DiffGBM, X: Any, *others: Any) -> float:
    return float(call(model, X, *others)) if len(X) else 0.0
