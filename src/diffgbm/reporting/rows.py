"""The rows of a report: the table of the user, and the matrix that the model reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.types import Array
from diffgbm._util.types import Rows as Positions
from diffgbm.data.features import FeatureTable
from diffgbm.data.frames import row_index
from diffgbm.data.response import read_response
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.reporting.formatting import number


@dataclass(frozen=True, eq=False)
class Rows:
    """A table of ``n`` rows and ``p`` features.

    Attributes
    ----------
    table : narwhals.DataFrame or ndarray of shape (n, p)
        The table of the user.
    matrix : ndarray of shape (n, p)
        One number per cell: codes for categories, days for dates, NaN for missing values and unknown categories.
    features : FeatureTable
        The columns of the training table.
    labels : tuple of str or None
        Row labels of a frame, unless they are the row numbers.
    """

    table: Any
    matrix: Array
    features: FeatureTable
    labels: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features; those of an array are numbered from 0."""
        return self.features.names or tuple(f"column {j}" for j in range(self.features.n_features))

    def take(self, positions: Positions) -> Any:
        """Return some of the rows as the same kind of table."""
        if isinstance(self.table, nw.DataFrame):
            return self.table[positions.tolist()].to_native()
        return self.table[positions]

    def permuted(self, positions: Positions, sources: Positions, features: Sequence[int]) -> Any:
        """Return the rows ``positions[f]`` of each feature ``f`` in turn, with the feature's values of ``sources[f]``.

        Both have shape (p, m). The table has m rows for each of ``features``.
        """
        base = np.concatenate([positions[f] for f in features])
        m = positions.shape[1]
        index = {f: base.copy() for f in features}
        for k, f in enumerate(features):
            index[f][k * m : (k + 1) * m] = sources[f]
        if not isinstance(self.table, nw.DataFrame):
            table = self.table[base]
            for f, rows in index.items():
                table[:, f] = self.table[rows, f]
            return table
        columns = self.table.columns
        by_name = {str(name): name for name in columns}
        names = [by_name[name] for name in self.names] if self.features.names else columns
        replaced = [self.table.get_column(names[f])[rows.tolist()].alias(names[f]) for f, rows in index.items()]
        return self.table[base.tolist()].with_columns(replaced).to_native()

    def text(self, row: int, feature: int) -> str:
        """Format a value as the model reads it."""
        value = float(self.matrix[row, feature])
        if self.features.columns[feature].kind == "number" and not np.isnan(value):
            return number(value, 6)
        return self.features.text(value, feature)


def read_rows(model: DistributionalRegressor, X: Any, labels: Iterable[Any] | None = None) -> Rows:
    """Read the table of the user; raise the error of the model if its columns do not match.

    ``labels`` name the rows; by default the index of a pandas frame does.
    """
    if getattr(model, "preprocess", None) is not None:
        raise TypeError(
            "a report reads the columns of the model's own table, which preprocess changes: fit the model to "
            "transformed rows and report on those."
        )
    features = model.fitted_models()[0].features
    matrix = features.overview(X, type(model).__name__)
    table = nw.from_native(X, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    if not isinstance(table, nw.DataFrame):
        table = np.asarray(X)
        table = table.reshape(len(table), -1)
    index = row_index(X) if labels is None else labels
    texts = None if index is None else tuple(map(str, index))
    if texts is not None and len(texts) != len(matrix):
        raise ValueError(f"labels must hold one label for each of the {len(matrix)} rows; got {len(texts)}.")
    numbered = texts is None or texts == tuple(map(str, range(len(texts))))
    return Rows(table, matrix, features, None if numbered else texts)


def read_observations(model: DistributionalRegressor, y: Any, n: int, argument: str = "y") -> Array:
    """Read responses as (n, d) in the order of the model; the columns of a frame may have any order."""
    names, values = read_response(y)
    expected = model.response_names()
    matrix = values.reshape(len(values), -1)
    if matrix.shape != (n, len(expected)):
        raise ValueError(
            f"{argument} must hold {len(expected)} response(s) ({', '.join(expected)}) for each of {n} rows; "
            f"got shape {values.shape}."
        )
    if names is not None and set(names) == set(expected):
        matrix = matrix[:, [names.index(name) for name in expected]]
    return matrix
