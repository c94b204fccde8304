"""Questions to a fitted model that are answered partition by partition, when and where Dask computes them."""

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
class Question:
    """A method of ``DiffGBM`` and its options: asked of the rows of one partition, and of what belongs to them.

    Attributes
    ----------
    method : str
        Its name.
    options : dict
        Its options, the same for all partitions.
    axis : int
        The axis of the answer along which the rows are.
    """

    method: str
    options: dict[str, Any]
    axis: int = 0

    def __call__(self, model: DiffGBM, X: Any, *own: Any, **more: Any) -> Any:
        """Ask; a partition without rows gets an answer without rows."""
        ask = getattr(model, self.method)
        if len(X):
            return ask(X, *own, **self.options, **more)
        # one row in which everything is missing tells the shape
        one = ask(_any_row(X), *(np.zeros((1, *np.shape(part)[1:])) for part in own), **self.options)
        return _without_rows(one, X, self.axis)


@dataclass(frozen=True)
class Shipped:
    """A model on its way to the workers, where every answer uses the threads that Dask gives it: one.

    Attributes
    ----------
    model : DiffGBM
        Here.
    delayed : Delayed
        There: a task like any other, so that Dask makes it again where a worker is lost.
    owner : str
        Name of the estimator for messages.
    """

    model: DiffGBM
    delayed: Delayed
    owner: str

    @classmethod
    def of(cls, model: DiffGBM, owner: str) -> Shipped:
        """Make a task of a model."""
        alone = DiffGBM(**{**model.get_params(deep=False), "n_jobs": 1, "verbose": 0})
        alone._with_model(replace(model.model_, n_jobs=1))
        content = pickle.dumps(alone)
        name = f"diffgbm-{hashlib.sha256(content).hexdigest()[:24]}"
        return cls(alone, need("dask").delayed(pickle.loads)(content, dask_key_name=name), owner)

    def ask(self, question: Question, X: Any, **others: Any) -> Any:
        """Ask of each partition of ``X``, together with those of other collections: an array, or what ``X`` is."""
        check_collection(X, "X", self.owner)
        columns = [aligned(X, other, name, self.owner) for name, other in others.items()]
        example = question(self.model, empty(X), *map(empty, others.values()))
        delayed = need("dask").delayed
        found = [delayed(question, pure=False)(self.delayed, *row) for row in zip(pieces(X), *columns, strict=True)]
        if isinstance(example, np.ndarray):
            return stacked(found, lengths(X), example)
        frames = need("dask.dataframe")
        return frames.from_delayed(found, meta=example, divisions=X.divisions, verify_meta=False)

    def total(self, question: Question, X: Any, **others: Any) -> Delayed:
        """Add up a number of each partition; those without rows count nothing."""
        check_collection(X, "X", self.owner)
        columns = [aligned(X, other, name, self.owner) for name, other in others.items()]
        delayed = need("dask").delayed
        rows = zip(pieces(X), *columns, strict=True)
        return delayed(sum)([delayed(_number, pure=False)(question, self.delayed, *row) for row in rows])

    def sample(self, question: Question, X: Any, first_row: int = 0) -> Any:
        """Draw samples, whose random numbers belong to a row's position after ``first_row`` in all of ``X``."""
        check_collection(X, "X", self.owner)
        example, blocks, rows = question(self.model, empty(X)), pieces(X), lengths(X)
        delayed = need("dask").delayed
        found = [
            delayed(question, pure=False)(self.delayed, block, first_row=first)
            for block, first in zip(blocks, first_rows(rows, blocks, first_row), strict=True)
        ]
        return stacked(found, rows, example, question.axis)

    def distributions(self, X: Any, **options: Any) -> DaskDistribution:
        """Return lazy laws."""
        check_collection(X, "X", self.owner)
        question, delayed = Question("predict_distribution", options), need("dask").delayed
        parts = tuple(delayed(_distributions, pure=False)(question, self.delayed, block) for block in pieces(X))
        return DaskDistribution(parts, tuple(lengths(X)), question(self.model, _any_row(empty(X))))


@dataclass(frozen=True, eq=False)
class DaskDistribution:
    """Use this to query distributions of a Dask collection lazily: every result is a lazy array.

    Attributes
    ----------
    parts : tuple of Delayed
        Laws of each partition, ``None`` for one without rows.
    rows : tuple of float
        Rows of each, NaN where they are not known.
    example : PredictiveDistribution or JointDistribution
        Laws of one row, whose answers have the shapes of all.
    """

    parts: tuple[Delayed, ...]
    rows: tuple[float, ...]
    example: Distribution

    def mean(self) -> Any:
        """Means: shape (n,) or (n, d)."""
        return self._ask("mean")

    def median(self) -> Any:
        """Medians: shape (n,) or (n, d)."""
        return self._ask("median")

    def std(self) -> Any:
        """Standard deviations: shape (n,) or (n, d)."""
        return self._ask("std")

    def quantile(self, alpha: float | Sequence[float]) -> Any:
        """Quantiles at one level, or at ``k`` of them along a last axis."""
        return self._ask("quantile", alpha)

    def interval(self, coverage: float = 0.9, kind: IntervalKind = "central") -> Any:
        """Intervals that hold ``coverage``: shape (n, 2) or (n, d, 2)."""
        return self._ask("interval", coverage, kind)

    def cdf(self, y: ArrayLike) -> Any:
        """Probability of at most ``y``, one value (for each response) for all rows."""
        return self._ask("cdf", y)

    def compute(self, **options: Any) -> Distribution:
        """Compute the laws themselves and put them together in memory."""
        found = [
            distribution for distribution in need("dask").compute(*self.parts, **options) if distribution is not None
        ]
        return self.example[:0] if not found else concatenate(found)

    def _ask(self, method: str, *arguments: Any) -> Any:
        delayed = need("dask").delayed
        shape = np.shape(getattr(self.example, method)(*arguments))[1:]
        found = [delayed(_answer, pure=False)(part, method, arguments, shape) for part in self.parts]
        return stacked(found, self.rows, np.empty((0, *shape)))


def first_rows(rows: Sequence[float], blocks: Sequence[Delayed], first_row: int = 0) -> list[Any]:
    """Return the position of each partition's first row; what is not known yet is counted when it is computed."""
    delayed = need("dask").delayed
    known = not any(map(math.isnan, rows))
    counts = [int(n) for n in rows] if known else [delayed(len)(block) for block in blocks]
    starts: list[Any] = [first_row]
    for count in counts[:-1]:
        starts.append(starts[-1] + count if known else delayed(add)(starts[-1], count))
    return starts


def stacked(found: Sequence[Delayed], rows: Sequence[float], example: Array, axis: int = 0) -> Any:
    """Make an array of the answers of all partitions; ``example`` is an answer without rows."""
    before, after = example.shape[:axis], example.shape[axis + 1 :]
    chunks = (*((n,) for n in before), tuple(rows), *((n,) for n in after))
    name = f"diffgbm-answers-{uuid4().hex}"
    # da.concatenate would leave out the partitions without rows
    blocks = {(name, *[0] * len(before), i, *[0] * len(after)): one.key for i, one in enumerate(found)}
    graph = need("dask.highlevelgraph").HighLevelGraph.from_collections(name, blocks, dependencies=list(found))
    return need("dask.array").Array(graph, name, chunks, dtype=np.float64)


def empty(collection: Any) -> Any:
    """Return a partition without rows."""
    return collection._meta if is_frame(collection) else np.empty((0, *collection.shape[1:]))


def _any_row(X: Any) -> Any:
    """Return one row of the kind of ``X``, in which everything is missing."""
    if not hasattr(X, "columns"):
        return np.full((1, *np.shape(X)[1:]), np.nan)
    return need("pandas").DataFrame({name: [np.nan] for name in X.columns})


def _without_rows(answer: Any, X: Any, axis: int) -> Any:
    """Cut an answer for one row down to none, with the labels of ``X``, which has none either."""
    if isinstance(answer, np.ndarray):
        return answer.take([], axis=axis)
    return answer.iloc[:0].set_axis(X.index[:0], axis=0)


def _distributions(question: Question, model: DiffGBM, X: Any) -> Distribution | None:
    distributions: Distribution | None = question(model, X) if len(X) else None
    return distributions


def _answer(
    distribution: Distribution | None, method: str, arguments: tuple[Any, ...], shape: tuple[int, ...]
) -> Array:
    return np.empty((0, *shape)) if distribution is None else np.asarray(getattr(distribution, method)(*arguments))


def _number(question: Question, model: DiffGBM, X: Any, *own: Any) -> float:
    return float(question(model, X, *own)) if len(X) else 0.0
