"""The user's table: numpy, pandas or polars in, one float matrix out; responses standardised and back.

Categories, column names and their order are remembered from training. A category that training never saw, like
a missing value, becomes NaN, which the trees send down their missing-value branch.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from diffgbm._util.types import Array

Levels = tuple[Hashable, ...]

_NARROW = (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean)
"""Types whose every value is a float32."""
_LARGEST, _SMALLEST = 1e150, 1e-150
"""Responses beyond these have no variance in floating point."""


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
        frame = _as_frame(X)
        if frame is None:
            array = _as_array(X, owner)
            columns: list[Any] = list(array.T)
            names, p = None, array.shape[1]
            is_category = [False] * p
        else:
            names, p = tuple(map(str, frame.columns)), len(frame.columns)
            _check_size(frame, owner)
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
        frame = _as_frame(X)
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

    def _check_names(self, given: tuple[str, ...]) -> None:
        assert self.names is not None
        here, there = set(given), set(self.names)
        missing = [name for name in self.names if name not in here]
        unseen = [name for name in given if name not in there]
        if missing or unseen or len(given) != len(self.names):
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
            matrix[:, j] = _numbers(column, name) if levels is None else _codes(column, levels)
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


@dataclass(frozen=True)
class ResponseTable:
    """What training remembered of ``y``: its names, shape, location and scale (arrays of length d)."""

    names: tuple[str, ...] | None
    is_1d: bool
    location: Array
    scale: Array

    @classmethod
    def learn(cls, y: Any, weights: Array | None, n_rows: int) -> tuple[ResponseTable, Array]:
        """Learn from the ``n_rows`` training responses; return them standardised, of shape (n, d).

        A constant response has scale 0: its samples are that constant, exactly.
        """
        names, values = read_response(y)
        if len(values) != n_rows:
            raise ValueError(f"X and y must have the same number of rows; got X with {n_rows}, y with {len(values)}.")
        matrix = values.reshape(len(values), -1)
        counted = matrix if weights is None else matrix[weights > 0.0]
        if len(counted) == 0:
            raise ValueError("sample_weight must be positive for some rows; got only zeros.")
        check_units(counted.min(axis=0), counted.max(axis=0))
        w = None if weights is None else weights[weights > 0.0]
        location = np.average(counted, axis=0, weights=w)
        scale = np.sqrt(np.average((counted - location) ** 2, axis=0, weights=w))
        # below rounding error of the values themselves there is nothing to learn
        scale[scale <= 1e-13 * np.abs(counted).max(axis=0)] = 0.0
        # an average of equal numbers may miss them by a rounding error
        location = np.where(scale > 0.0, location, counted[0])
        table = cls(names, values.ndim == 1, location, scale)
        return table, (matrix - location) / np.where(scale > 0.0, scale, 1.0)

    def restore(self, states: Array) -> Array:
        """Map standardised values (..., d) back to the user's units."""
        return self.location + self.scale * states

    def squeeze(self, values: Array) -> Array:
        """Drop the last axis again if the user's ``y`` was one-dimensional."""
        return values[..., 0] if self.is_1d else values


def read_response(y: Any) -> tuple[tuple[str, ...] | None, Array]:
    """Read ``y`` as float64 of shape (n,) or (n, d), with its names if it has any."""
    if y is None:
        raise ValueError(
            "DiffGBM requires y to be passed, but the target y is None: it must be an array, Series or frame."
        )
    names: tuple[str, ...] | None = None
    frame = _as_frame(y)
    if frame is not None:
        names = tuple(map(str, frame.columns))
        if not names:
            raise ValueError("y must have at least one column; got none.")
        y = np.column_stack([_numbers(frame.get_column(name), repr(name), "y") for name in frame.columns])
    else:
        series = nw.from_native(y, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            names = (str(series.name),) if series.name not in (None, "") else None
            y = _numbers(series, repr(series.name), "y")
    y = _plain_array(y, "y")
    dtype = y.dtype
    if dtype.kind in "USMmV":
        raise TypeError(_not_numbers("y", "", dtype))
    try:
        # numbers beyond float64 become infinite, which is refused below
        with np.errstate(over="ignore"):
            values = check_array(
                y,
                dtype=np.float64,
                ensure_2d=False,
                allow_nd=True,
                ensure_min_features=0,
                ensure_all_finite=False,
                input_name="y",
            )
    except (TypeError, ValueError, OverflowError) as error:
        if dtype.kind != "O":
            raise
        raise TypeError(f"{_not_numbers('y', '', dtype)} ({error})") from None
    if values.ndim not in (1, 2):
        raise ValueError(f"y must have shape (n,) or (n, d); got shape {values.shape}.")
    if values.ndim == 2 and values.shape[1] == 0:
        raise ValueError("y must have at least one column; got none.")
    bad = ~np.isfinite(values)
    if bad.any():
        rows = np.flatnonzero(bad.reshape(len(values), -1).any(axis=1))
        raise ValueError(
            f"y must be finite; Input y contains NaN or infinity in {len(rows)} row(s), first at row {rows[0]}. "
            "Drop these rows: a response that is not known cannot be learned from."
        )
    return names, values


def check_units(lowest: Array, highest: Array) -> None:
    """Refuse responses between these (d,) if their squares are no numbers any more, or nothing but zeros."""
    for j, (low, high) in enumerate(zip(lowest, highest, strict=True)):
        largest, spread = max(-low, high), high * 0.5 - low * 0.5
        if largest > _LARGEST or 0.0 < spread < _SMALLEST:
            what = (
                f"is as large as {largest:.3g}" if largest > _LARGEST else f"varies by no more than {2.0 * spread:.3g}"
            )
            raise ValueError(
                f"y (column {j}) {what}: its variance cannot be computed. Choose units in which it lies between "
                f"{-_LARGEST:g} and {_LARGEST:g} and varies by more than {2.0 * _SMALLEST:g}, or not at all."
            )


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"The columns of a frame must have different names. {error}") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"The columns of a frame must have different names as text; got {_some(names)}.")
    return frame


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
    X = _plain_array(X, "X")
    if X.ndim == 1 and expected == 1:
        X = X.reshape(-1, 1)
    if X.dtype.kind in "OUSMmV":
        return check_array(X, dtype=None, ensure_all_finite=False, estimator=owner, input_name="X")
    # numbers beyond float64 are infinite
    with np.errstate(over="ignore"):
        return check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, estimator=owner, input_name="X")


def _plain_array(values: Any, argument: str) -> NDArray[Any]:
    """Make an array of an array-like of anything but complex numbers; what is masked is missing."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64 if values.dtype.kind in "fiub" else object), np.nan)
    try:
        found = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must be an array or a frame, its rows of one length. ({error})") from None
    if found.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {argument} has dtype {found.dtype}.")
    return found


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
    """Whether float32 holds every value of a column exactly, which its type says."""
    if isinstance(column, nw.Series):
        return column.dtype in _NARROW
    return column.dtype.kind in "fiub" and np.can_cast(column.dtype, np.float32)


def _values(column: Any) -> list[Any]:
    return column.to_list() if isinstance(column, nw.Series) else column.tolist()


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA says neither yes nor no
        return True


def _levels(column: Any, name: object) -> Levels:
    """Return the distinct values of a column, sorted where they can be."""
    try:
        return sorted_levels({value for value in _values(column) if not _is_missing(value)})
    except TypeError as error:
        raise TypeError(f"X column {name} cannot be categorical: its values must be hashable. ({error})") from None


def sorted_levels(seen: set[Any]) -> Levels:
    """Return distinct values in order, of their names where they have none."""
    try:
        return tuple(sorted(seen))
    except TypeError:
        return tuple(sorted(seen, key=lambda value: (type(value).__name__, str(value))))


def _codes(column: Any, levels: Levels) -> Array:
    code = {level: float(i) for i, level in enumerate(levels)}
    values = _values(column)
    return np.fromiter((code.get(v, np.nan) for v in values), dtype=np.float64, count=len(values))


def _numbers(column: Any, name: str, argument: str = "X") -> Array:
    """Read one numeric column as float64, missing values as NaN."""
    if not isinstance(column, nw.Series):
        dtype: Any = column.dtype
        numeric = dtype.kind in "fiub"
    else:
        dtype = column.dtype
        numeric = dtype.is_numeric() or dtype == nw.Boolean
        if dtype == nw.Unknown and (native := column.to_numpy()).dtype.kind in "fiub":
            # sparse columns, and long doubles: numbers that only numpy has a name for
            with np.errstate(over="ignore"):
                return native.astype(np.float64)
    if numeric and isinstance(column, nw.Series):
        return _floats(column)
    if isinstance(column, nw.Series) and column.null_count() == len(column):
        return np.full(len(column), np.nan)
    if not (numeric or dtype == nw.Object or getattr(dtype, "kind", "") in ("O", "U", "S")):
        raise TypeError(_not_numbers(argument, name, dtype))
    try:
        found = np.array([np.nan if _is_missing(v) else v for v in _values(column)], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{_not_numbers(argument, name, dtype)} ({error})") from None
    if found.ndim != 1:
        raise TypeError(f"{_not_numbers(argument, name, dtype)} (its values are sequences)")
    return found


def _floats(column: nw.Series[Any]) -> Array:
    """Read a column of a numeric type as float64; integers of more than 53 bits are rounded."""
    if isinstance(getattr(column.to_native(), "dtype", None), np.dtype):
        # what numpy holds has no other missing values than NaN; wide tables are read ten times faster
        return np.array(column.to_native(), dtype=np.float64)
    if column.implementation.is_pyarrow():
        # narwhals asks Arrow for a cast that refuses to round
        native = column.to_native()
        column = nw.from_native(native.cast("float64", safe=False), series_only=True)
    if column.implementation.is_pandas():
        # an Arrow column of an older pandas takes NaN for missing and keeps it as NA
        return np.asarray(column.to_native().to_numpy(dtype=np.float64, na_value=np.nan))
    with np.errstate(over="ignore"):
        return column.cast(nw.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


def _not_numbers(argument: str, name: str, dtype: Any) -> str:
    if argument == "y":
        return f"y{f' column {name}' if name else ''} has dtype {dtype}; responses must be numbers."
    return (
        f"X column {name} has dtype {dtype}, which is neither numeric nor categorical. Make it a category "
        "(pandas: X[c].astype('category'); polars: pl.col(c).cast(pl.Categorical); arrays: cat_idx=[...] in fit), "
        "or turn it into numbers (dates: into days, months, ...)."
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
