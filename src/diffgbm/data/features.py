"""The user's features: numpy, pandas or polars in, one float matrix out.

Categories, column names and their order are remembered from training. A category that training never saw, like
a missing value, becomes NaN, which the trees send down their missing-value branch.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from diffgbm._util.types import Array
from diffgbm.data.numbers import as_frame, column_numbers, column_values, is_missing, plain_array

Levels = tuple[Hashable, ...]

_NARROW = (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean)
"""Types whose every value is a float32."""


@dataclass(frozen=True)
class FeatureTable:
    """What training remembered of ``X``.

    Attributes
    ----------
    n_features : int
        Number of columns.
    names : tuple of str or None
        Column names, if ``X`` was a frame.
    levels : tuple
        For each column the tuple of its categories, or ``None`` for numbers.
    """

    n_features: int
    names: tuple[str, ...] | None
    levels: tuple[Levels | None, ...]

    @property
    def categorical(self) -> list[int]:
        """Positions of the categorical columns."""
        return [j for j, levels in enumerate(self.levels) if levels is not None]

    @classmethod
    def learn(cls, X: Any, cat_idx: Sequence[int] | None, owner: str) -> tuple[FeatureTable, Array]:
        """Learn the table from training data; return it with the encoded matrix (n, p).

        The matrix is float32 if that holds every value exactly; an array of floats is not copied.
        """
        if isinstance(X, EncodedTable):
            if cat_idx is not None:
                raise ValueError("cat_idx is for arrays; the categories of this table are known already.")
            return X.features, X.matrix
        frame = as_frame(X)
        if frame is None:
            array = _as_array(X, owner)
            columns: list[Any] = list(array.T)
            names, p = None, array.shape[1]
            is_category = [False] * p
        else:
            names, p = tuple(map(str, frame.columns)), len(frame.columns)
            _check_size(frame, owner)
            _check_no_cat_idx(cat_idx)
            columns = [frame.get_column(name) for name in frame.columns]
            is_category = [_is_categorical(column) for column in columns]
        for j in _check_cat_idx(cat_idx, p):
            is_category[j] = True
        shown = range(p) if names is None else map(repr, names)
        levels = tuple(_levels(c, n) if flag else None for c, flag, n in zip(columns, is_category, shown, strict=True))
        table = cls(p, names, levels)
        if frame is None and not table.categorical and array.dtype.kind == "f":
            return table, array
        return table, table._encode_columns(columns)

    def encode(self, X: Any, owner: str) -> Array:
        """Encode new rows; frames may have their columns in any order, arrays must have training's."""
        if isinstance(X, EncodedTable):
            if X.features != self:
                raise ValueError("This encoded table has other columns or categories than that of training.")
            return X.matrix
        frame = as_frame(X)
        if frame is not None:
            _check_size(frame, owner)
        if frame is not None and self.names is not None:
            self._check_names(tuple(map(str, frame.columns)))
            by_name = dict(zip(map(str, frame.columns), frame.columns, strict=True))
            return self._encode_columns([frame.get_column(by_name[name]) for name in self.names])
        if frame is not None:
            self._check_width(len(frame.columns), owner)
            return self._encode_columns([frame.get_column(name) for name in frame.columns])
        array = _as_array(X, owner, self.n_features)
        self._check_width(array.shape[1], owner)
        return array if array.dtype.kind == "f" and not self.categorical else self._encode_columns(list(array.T))

    def _check_width(self, width: int, owner: str) -> None:
        if width != self.n_features:
            raise ValueError(f"X has {width} features, but {owner} is expecting {self.n_features} features as input.")

    def _check_names(self, names: tuple[str, ...]) -> None:
        assert self.names is not None
        here, there = set(names), set(self.names)
        missing = [name for name in self.names if name not in here]
        unseen = [name for name in names if name not in there]
        if missing or unseen or len(names) != len(self.names):
            lines = ["The feature names should match those that were passed during fit."]
            if unseen:
                lines.append("Feature names unseen at fit time:\n" + "\n".join(f"- {n}" for n in unseen[:10]))
            if missing:
                lines.append(
                    "Feature names seen at fit time, yet now missing:\n" + "\n".join(f"- {n}" for n in missing[:10])
                )
            raise ValueError("\n".join(lines) + "\n")

    def _encode_columns(self, columns: Sequence[Any]) -> Array:
        narrow = all(levels is not None or _is_narrow(c) for c, levels in zip(columns, self.levels, strict=True))
        matrix = np.empty((len(columns[0]), self.n_features), dtype=np.float32 if narrow else np.float64)
        for j, (column, levels) in enumerate(zip(columns, self.levels, strict=True)):
            name = repr(self.names[j]) if self.names else str(j)
            matrix[:, j] = column_numbers(column, name) if levels is None else _codes(column, levels)
        return matrix


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table that is encoded already, on disk or in memory: estimators take it for ``X`` as it is.

    Attributes
    ----------
    features : FeatureTable
        Its columns and categories.
    matrix : ndarray of shape (n, p)
        Encoded rows, float32 or float64; may be a memory map.
    """

    features: FeatureTable
    matrix: Array

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.matrix.shape


def _check_size(frame: nw.DataFrame[Any], owner: str) -> None:
    rows, columns = frame.shape
    if rows == 0 or columns == 0:
        raise ValueError(
            f"Found array with {rows} sample(s) and {columns} feature(s) (shape=({rows}, {columns})) "
            f"while a minimum of 1 is required by {owner}."
        )


def _as_array(X: Any, owner: str, expected: int = 1) -> NDArray[Any]:
    """Read an array-like as float32 or float64; what may hold text is kept as it is, to be read by columns."""
    series = nw.from_native(X, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        X = series.to_numpy()
    if hasattr(X, "toarray"):  # sparse: refused below, in scikit-learn's words
        return check_array(X, estimator=owner, input_name="X")
    X = plain_array(X, "X")
    if X.ndim == 1 and expected == 1:
        X = X.reshape(-1, 1)
    if X.dtype.kind in "OUSMmV":
        return check_array(X, dtype=None, ensure_all_finite=False, estimator=owner, input_name="X")
    # numbers beyond float64 are infinite
    with np.errstate(over="ignore"):
        return check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, estimator=owner, input_name="X")


def _check_no_cat_idx(cat_idx: Sequence[int] | None) -> None:
    """Refuse positions beside a frame, whose columns have names and types."""
    if cat_idx is not None and not (hasattr(cat_idx, "__len__") and len(cat_idx) == 0):
        raise ValueError(
            f"`cat_idx` should not be provided when X is a DataFrame; got {cat_idx!r}. Make the columns categorical "
            "instead (pandas: X[c].astype('category'); polars: pl.col(c).cast(pl.Categorical))."
        )


def _check_cat_idx(cat_idx: Sequence[int] | None, p: int) -> list[int]:
    if cat_idx is not None and not hasattr(cat_idx, "__iter__"):
        raise TypeError(f"cat_idx must hold column positions between 0 and {p - 1}; got {cat_idx!r}, not a sequence.")
    indices = [] if cat_idx is None else list(cat_idx)
    for j in indices:
        if not isinstance(j, (int, np.integer)) or isinstance(j, bool) or not 0 <= j < p:
            raise ValueError(f"cat_idx must hold column positions between 0 and {p - 1}; got {j!r}.")
    return [int(j) for j in indices]


def _is_categorical(column: nw.Series[Any]) -> bool:
    return column.dtype in (nw.Categorical, nw.Enum)


def _is_narrow(column: Any) -> bool:
    """Whether the type of a column guarantees that float32 holds every value exactly."""
    if isinstance(column, nw.Series):
        return column.dtype in _NARROW
    return column.dtype.kind in "fiub" and np.can_cast(column.dtype, np.float32)


def _levels(column: Any, name: object) -> Levels:
    """Return the distinct values of a column, sorted where they can be."""
    try:
        found = sorted_levels({value for value in column_values(column) if not is_missing(value)})
        return tuple(map(_level, found))
    except TypeError as error:
        raise TypeError(f"X column {name} cannot be categorical: its values must be hashable. ({error})") from None


def _level(value: Any) -> Any:
    """Return a category as a number or text, which a model file holds: an interval of pandas is its text."""
    if not (hasattr(value, "closed") and hasattr(value, "left") and hasattr(value, "right")):
        return value
    low, high = (repr(float(end)) if isinstance(end, Real) else str(end) for end in (value.left, value.right))
    opening = "[" if value.closed in ("left", "both") else "("
    return f"{opening}{low}, {high}" + ("]" if value.closed in ("right", "both") else ")")


def sorted_levels(seen: set[Any]) -> Levels:
    """Return distinct values in order, of their names where they have none."""
    try:
        return tuple(sorted(seen))
    except TypeError:
        return tuple(sorted(seen, key=lambda value: (type(value).__name__, str(value))))


def _codes(column: Any, levels: Levels) -> Array:
    code = {level: float(i) for i, level in enumerate(levels)}
    values = column_values(column)
    known = {value: code.get(_level(value), np.nan) for value in set(values)}
    return np.fromiter((known[v] for v in values), dtype=np.float64, count=len(values))
