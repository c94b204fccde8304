"""The user's features: numpy, pandas, polars or Arrow in, one float matrix out.

How each column is read, its categories, the column names and their order are remembered from training. A category that
training never saw, like a missing value, becomes NaN, which the trees send down their missing-value branch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from diffgbm._util.errors import warn
from diffgbm._util.types import Array, Booleans, Rows
from diffgbm.data.dates import Dates
from diffgbm.data.free_text import FreeText
from diffgbm.data.kinds import (
    Category,
    Column,
    Dropped,
    Levels,
    Number,
    is_narrow,
    recognised,
    unseen_rows,
    unseen_share,
)
from diffgbm.data.level_statistics import LevelStatistics
from diffgbm.data.numbers import as_frame, plain_array
from diffgbm.data.row_numbers import row_numbers

NUMBERED = (
    "What a model learns from the numbers of its rows fails on new ones. If a column was measured, pass it as floats; "
    "if it is the order in time, say fit(..., time=column)."
)
"""What to do about columns that number the rows."""
UNSEEN = 0.05
"""Share of rows with new categories, or far outside the training dates, from which a prediction warns."""


@dataclass(frozen=True)
class FeatureTable:
    """What training remembered of ``X``.

    Attributes
    ----------
    names : tuple of str or None
        Column names, if ``X`` was a frame.
    columns : tuple of Column
        How each column is read.
    ignored : tuple of str
        Columns of frames that are no features: that of the groups.
    """

    names: tuple[str, ...] | None
    columns: tuple[Column, ...]
    ignored: tuple[str, ...] = ()

    @classmethod
    def plain(cls, names: tuple[str, ...] | None, levels: Sequence[Levels | None]) -> FeatureTable:
        """Return the table of numbers (levels ``None``) and categories."""
        return cls(names, tuple(Number() if found is None else Category(found) for found in levels))

    @classmethod
    def of_columns(cls, names: tuple[str, ...] | None, columns: tuple[Column, ...]) -> FeatureTable:
        """Return the table of columns; warn of those that are not used."""
        table = cls(names, columns)
        unused = [(n, c) for n, c in zip(table._shown_names(), columns, strict=True) if isinstance(c, Dropped)]
        for remedy in dict.fromkeys(how.remedy for _, how in unused):
            reasons = "; ".join(f"{name} {how.reason}" for name, how in unused if how.remedy == remedy)
            warn(f"X: columns that are not used: {reasons}. {remedy}")
        return table

    @property
    def n_features(self) -> int:
        """Number of columns of the user's table."""
        return len(self.columns)

    @property
    def levels(self) -> tuple[Levels | None, ...]:
        """For each column of the user's table its categories, or ``None``."""
        return tuple(column.levels for column in self.columns)

    @property
    def width(self) -> int:
        """Number of columns of the matrix; at least one, which is constant if no column is used."""
        return max(1, sum(column.width for column in self.columns))

    @cached_property
    def _is_plain(self) -> bool:
        """Whether all columns are numbers that nobody encodes."""
        return all(column == Number() for column in self.columns)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Position in the matrix of each column's first number."""
        return tuple(int(start) for start in np.cumsum([0, *(column.width for column in self.columns)])[:-1])

    @property
    def categorical(self) -> list[int]:
        """Positions in the matrix of the columns of codes."""
        return [start for start, column in zip(self.starts, self.columns, strict=True) if isinstance(column, Category)]

    @classmethod
    def learn(
        cls, X: Any, cat_idx: Sequence[int] | None, owner: str, wanted: Collection[str] = ()
    ) -> tuple[FeatureTable, Array]:
        """Learn the table from training data; return it with the encoded matrix (n, width).

        The matrix is float32 if that holds every value exactly; an array of floats is not copied. Columns of a frame
        that number its rows are not used, but for those that are ``wanted``.
        """
        if isinstance(X, EncodedTable):
            if cat_idx is not None:
                raise ValueError("cat_idx is for arrays; the categories of this table are known already.")
            return X.features, X.matrix
        frame = as_frame(X)
        if frame is None:
            array = _as_array(X, owner)
            found: list[Any] = list(array.T)
            names = None
        else:
            names = tuple(map(str, frame.columns))
            _check_size(frame, owner)
            _check_no_cat_idx(cat_idx)
            found = [frame.get_column(name) for name in frame.columns]
        as_category = set(_check_cat_idx(cat_idx, len(found)))
        shown = list(map(str, range(len(found)))) if names is None else list(map(repr, names))
        columns = tuple(
            Category.learn(column, name) if j in as_category else recognised(column, name)
            for j, (column, name) in enumerate(zip(found, shown, strict=True))
        )
        if names is not None:
            numbers = row_numbers(dict(zip(names, found, strict=True)))
            unused = {name: reason for name, reason in numbers.items() if name not in wanted}
            columns = without_numbers(names, columns, unused, NUMBERED)
        table = cls.of_columns(names, columns)
        if frame is None and array.dtype.kind == "f" and not as_category:
            return table, array
        matrix = table._encode_columns(found)
        return (table if frame is None else table.with_notes(matrix)), matrix

    def encode(self, X: Any, owner: str, warns: bool = False) -> Array:
        """Encode new rows; frames may have their columns in any order, arrays must have training's.

        ``warns`` reports categories that training did not have, and dates far outside its period.
        """
        if isinstance(X, EncodedTable):
            return X.matrix if X.features == self else self._encode_again(X)
        columns, plain = self._columns_of(X, owner)
        if plain is not None:
            return plain
        if warns:
            self._report_new(columns)
        return self._encode_columns(columns)

    def _encode_again(self, X: EncodedTable) -> Array:
        """Encode a table of which columns of many categories are encoded as codes."""
        pairs = list(zip(X.features.columns, self.columns, strict=False))
        same = X.features.names == self.names and X.features.n_features == self.n_features
        if not same or any(old != new and not _is_recodable(old, new) for old, new in pairs):
            raise ValueError(
                "This encoded table has other columns, categories or dates than that of training. To predict another "
                "file, read it as a frame, or use diffgbm.stream(model, file)."
            )
        matrix = np.zeros((len(X), self.width))
        for (old, new), before, after in zip(pairs, X.features.starts, self.starts, strict=True):
            if isinstance(new, Dropped):
                continue
            values = X.matrix[:, before : before + old.width]
            if isinstance(old, Category) and isinstance(new, LevelStatistics):
                values = new.recoded(values[:, 0].astype(np.float64), old.levels)
            elif isinstance(old, Category) and isinstance(new, FreeText):
                texts = [None if code != code else old.levels[int(code)] for code in values[:, 0].tolist()]
                values = new.encode(np.array(texts, dtype=object), "")
            matrix[:, after : after + new.width] = values
        return matrix

    def overview(self, X: Any, owner: str, rows: Rows | None = None) -> Array:
        """Return one number for each row, or some ``rows``, and column of the user's table (n, p)."""
        columns, plain = self._columns_of(X, owner, rows)
        if plain is not None:
            return plain
        pairs = zip(self.columns, columns, self._shown_names(), strict=True)
        return np.column_stack([how.shown(column, name) for how, column, name in pairs])

    def unseen(self, X: Any, owner: str, rows: Rows | None = None) -> Booleans:
        """Return which values (n, p) of the user's table are categories that training did not have.

        Rare categories of a column of many are pooled, so that new ones cannot be told from them.
        """
        columns, plain = self._columns_of(X, owner, rows)
        found = np.zeros((len(columns[0]), self.n_features), dtype=bool)
        for j, (how, column) in enumerate(zip(self.columns, columns, strict=True)):
            if plain is None and how.levels is not None and not _is_pooled(how):
                found[:, j] = unseen_rows(column, how.levels)
        return found

    def text(self, value: float, column: int) -> str:
        """Format a number of ``overview``."""
        if np.isnan(value):
            return "missing" if self.levels[column] is None else "missing or new"
        return self.columns[column].text(float(value))

    def _columns_of(self, X: Any, owner: str, rows: Rows | None = None) -> tuple[list[Any], Array | None]:
        """Return the columns of new rows in training's order; if they are floats that nobody encodes, their array.

        ``rows`` selects some of them.
        """
        frame = as_frame(X)
        if frame is not None:
            _check_size(frame, owner)
            frame = frame if rows is None else frame[rows.tolist()]
        if frame is not None and self.names is not None:
            self._check_names(tuple(str(name) for name in frame.columns if str(name) not in self.ignored))
            by_name = dict(zip(map(str, frame.columns), frame.columns, strict=True))
            # a column that is not used need not be there: of another one in its place only the length is looked at
            return [frame.get_column(by_name.get(name, frame.columns[0])) for name in self.names], None
        if frame is not None:
            self._check_width(len(frame.columns), owner)
            return [frame.get_column(name) for name in frame.columns], None
        array = _as_array(X, owner, self.n_features)
        self._check_width(array.shape[1], owner)
        array = array if rows is None else array[rows]
        plain = array.dtype.kind == "f" and self._is_plain
        return list(array.T), array if plain else None

    def _check_width(self, width: int, owner: str) -> None:
        if width != self.n_features:
            raise ValueError(f"X has {width} features, but {owner} is expecting {self.n_features} features as input.")

    def _check_names(self, names: tuple[str, ...]) -> None:
        assert self.names is not None
        here, there = set(names), set(self.names)
        unused = {name for name, how in zip(self.names, self.columns, strict=True) if isinstance(how, Dropped)}
        missing = [name for name in self.names if name not in here | unused]
        unseen = [name for name in names if name not in there]
        if missing or unseen or len(names) != len(here):
            lines = ["The feature names should match those that were passed during fit."]
            if unseen:
                lines.append("Feature names unseen at fit time:\n" + "\n".join(f"- {n}" for n in unseen[:10]))
            if missing:
                lines.append(
                    "Feature names seen at fit time, yet now missing:\n" + "\n".join(f"- {n}" for n in missing[:10])
                )
            raise ValueError("\n".join(lines) + "\n")

    def _shown_names(self) -> list[str]:
        return list(map(str, range(self.n_features))) if self.names is None else list(map(repr, self.names))

    def _encode_columns(self, columns: Sequence[Any]) -> Array:
        narrow = all(
            how.width == 0 or isinstance(how, Category) or (isinstance(how, Number) and is_narrow(column))
            for how, column in zip(self.columns, columns, strict=True)
        )
        # zeros: a table of which no column is used has one constant column
        matrix = np.zeros((len(columns[0]), self.width), dtype=np.float32 if narrow else np.float64)
        for how, start, column, name in zip(self.columns, self.starts, columns, self._shown_names(), strict=True):
            matrix[:, start : start + how.width] = how.encode(column, name)
        return matrix

    def with_notes(self, matrix: Array) -> FeatureTable:
        """Note which numbers are constant. They stay in the matrix: trees do not split on them."""
        columns = list(self.columns)
        for j, (how, start) in enumerate(zip(self.columns, self.starts, strict=True)):
            if isinstance(how, Number) and not how.note:
                values = matrix[:, start]
                # most columns differ in their first rows
                if values[0] == values[-1] and np.all(values == values[0]):
                    columns[j] = replace(how, note="constant")
        return replace(self, columns=tuple(columns))

    def _report_new(self, columns: Sequence[Any]) -> None:
        """Warn of categories that training did not have, and of dates far outside its period."""
        for how, column, name in zip(self.columns, columns, self._shown_names(), strict=True):
            usual = how.rare_share if isinstance(how, LevelStatistics) else 0.0
            share = unseen_share(column, how.levels) if how.levels is not None and how.width else 0.0
            if share > UNSEEN + usual:
                warn(
                    f"X column {name}: {share:.0%} of the rows have a category that training did not have. They are "
                    "predicted as if it were missing. Check the spelling, or fit the model again with such rows.",
                )
            if isinstance(how, Dates) and (share := how.beyond(column, name)) > UNSEEN:
                warn(
                    f"X column {name}: {share:.0%} of the rows lie outside the training period ({how.period}) by more "
                    "than a tenth of it. No trend is continued: elapsed time is held at the end of the period. Fit the "
                    "model again with newer rows.",
                )


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


def without_numbers(
    names: Sequence[str], columns: Sequence[Column], numbers: Mapping[str, str], remedy: str
) -> tuple[Column, ...]:
    """Drop the columns that number the rows, by name with the reason."""
    pairs = zip(names, columns, strict=True)
    return tuple(Dropped(numbers[name], remedy) if name in numbers else how for name, how in pairs)


def _is_pooled(column: Column) -> bool:
    return isinstance(column, LevelStatistics) and column.n_levels > len(column.levels)


def _is_recodable(old: Column, new: Column) -> bool:
    recoded = isinstance(old, Category) and isinstance(new, (LevelStatistics, FreeText))
    return recoded or isinstance(new, Dropped)


def _check_size(frame: nw.DataFrame[Any], owner: str) -> None:
    rows, columns = frame.shape
    if rows == 0 or columns == 0:
        raise ValueError(
            f"Found array with {rows} sample(s) and {columns} feature(s) (shape=({rows}, {columns})) "
            f"while a minimum of 1 is required by {owner}."
        )


def _as_array(X: Any, owner: str, expected: int = 1) -> NDArray[Any]:
    """Read an array-like as float32 or float64; what may hold text is kept as it is, to be read by columns."""
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype in (np.float64, np.float32):
        return X  # as the checks below would return it
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
