"""What a worker does with one partition before training: summarise it, then encode it as part of the whole table."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from diffgbm._util.types import Array, Booleans, Integers
from diffgbm.dask.groups import counted, group_keys
from diffgbm.dask.limits import ColumnFacts, column_facts
from diffgbm.dask.times import Times, as_numbers, time_values
from diffgbm.data.dates import PARTS, Dates
from diffgbm.data.features import FeatureTable
from diffgbm.data.kinds import NO_VALUES, Category, Column, Number
from diffgbm.data.response import ResponseSummary, ResponseTable, read_response
from diffgbm.data.weights import read_weights


@dataclass(frozen=True)
class Facts:
    """Facts of one partition.

    Attributes
    ----------
    n_rows, counted : int
        Rows, and those of positive weight.
    features : FeatureTable or None
        Columns, with the categories that occur here; ``None`` for a partition without rows.
    names, is_1d
        Of the response.
    summary : ResponseSummary or None
        Of the responses of positive weight.
    groups : ndarray or None
        Keys of the groups of rows of positive weight, if there are any: at most some hundreds, or with times one for
        each row.
    times : ndarray or None
        Times of rows of positive weight, if there are any.
    columns : tuple of ColumnFacts
        What limits and atoms are decided by, for each response; empty if none are asked for.
    """

    n_rows: int
    counted: int
    features: FeatureTable | None = None
    names: tuple[str, ...] | None = None
    is_1d: bool = True
    summary: ResponseSummary | None = None
    groups: Integers | None = None
    times: Times | None = None
    columns: tuple[ColumnFacts, ...] = ()


@dataclass(frozen=True)
class Part:
    """One partition as models see it: rows of positive weight.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Encoded rows.
    y : ndarray of shape (n, d)
        Standardised responses.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    positions : ndarray of shape (n,)
        Of the rows in the whole table.
    keys : ndarray of shape (n,) or None
        What splits hash, if not the positions: rows of the same key stay together.
    times : ndarray of shape (n,) or None
        Times of the rows as numbers, which tell repeated rows apart.
    observed : ndarray of shape (n, d) or None
        Responses as the user gave them, to the last bit, if atoms may be among them.
    """

    X: Array
    y: Array
    weights: Array | None
    positions: Integers
    keys: Integers | None = None
    times: Array | None = None
    observed: Array | None = None

    @property
    def split_keys(self) -> Integers:
        """What splits hash."""
        return self.positions if self.keys is None else self.keys


def facts_of(
    X: Any,
    y: Any,
    weights: Any,
    number: int,
    cat_idx: Sequence[int] | None,
    owner: str,
    groups: Any = None,
    times: Any = None,
    asked: tuple[Any] | None = None,
) -> Facts:
    """Return the facts of partition ``number``, those of limits and atoms if ``asked`` holds the ``support``."""
    for name, values in (("groups", groups), ("time", times)):
        if values is not None and len(values) != len(X):
            raise ValueError(
                f"Partition {number}: X has {len(X)} rows, {name} {len(values)}; the partitions of X and {name} must "
                "match."
            )
    if len(X) != len(y) or (weights is not None and len(weights) != len(X)):
        sizes = f"X has {len(X)} rows, y {len(y)}" + ("" if weights is None else f", sample_weight {len(weights)}")
        raise ValueError(f"Partition {number}: {sizes}; the partitions of X, y and sample_weight must match.")
    if len(X) == 0:
        return Facts(0, 0)
    with _in_partition(number):
        # numbers of rows are no numbers of the table's rows
        features, _ = FeatureTable.learn(X, cat_idx, owner, wanted=list(map(str, getattr(X, "columns", ()))))
        names, values = read_response(y)
        kept, w = _positive(weights, values)
        keys = None if groups is None else group_keys(groups)[kept]
        keys = counted(keys) if times is None and keys is not None else keys
        when = None if times is None else time_values(times)[kept]
    given = values.reshape(len(values), -1)
    columns = () if asked is None else column_facts(given, kept, *asked)
    matrix = given[kept]
    summary = ResponseSummary.of(matrix, w) if len(matrix) else None
    return Facts(len(X), len(matrix), features, names, values.ndim == 1, summary, keys, when, columns)


def encode(
    X: Any,
    y: Any,
    weights: Any,
    number: int,
    first_row: int,
    features: FeatureTable,
    response: ResponseTable,
    owner: str,
    groups: Any = None,
    times: Any = None,
    with_observed: bool = False,
) -> Part:
    """Encode a partition that begins at ``first_row`` of the table."""
    with _in_partition(number):
        matrix = features.encode(X, owner)
        values = read_response(y)[1].reshape(len(X), -1)
        kept, w = _positive(weights, values)
        keys = None if groups is None else group_keys(groups)[kept]
        when = None if times is None else as_numbers(time_values(times)[kept])
    if times is not None and w is None:
        w = np.ones(len(matrix))  # a worker without rows of a window trains on rows of hardly any weight
    observed = values[kept] if with_observed else None
    positions = first_row + np.arange(len(X))[kept]
    return Part(matrix[kept], response.standardise(values)[kept], w, positions, keys, when, observed)


def whole_table(facts: Sequence[Facts], owner: str) -> tuple[FeatureTable, ResponseTable]:
    """Merge the facts of all partitions."""
    rows = sum(f.counted for f in facts)
    if rows < 2:
        raise ValueError(f"{owner} needs at least 2 rows of positive weight; got n_samples={rows}.")
    filled = [f for f in facts if f.features is not None]
    summary = reduce(ResponseSummary.__add__, [f.summary for f in filled if f.summary is not None])
    response = ResponseTable.from_summary(filled[0].names, filled[0].is_1d, summary)
    return _all_levels([f.features for f in filled if f.features is not None], owner), response


def _all_levels(tables: Sequence[FeatureTable], owner: str) -> FeatureTable:
    """Return the table with the categories of all partitions."""
    first = tables[0]
    names = first.names or tuple(map(str, range(first.n_features)))
    columns = [_merged([table.columns[j] for table in tables], name, owner) for j, name in enumerate(names)]
    return FeatureTable(first.names, tuple(columns))


def _merged(parts: Sequence[Column], name: str, owner: str) -> Column:
    """Return how a column is read that was read so in each partition."""
    # a partition without values says nothing
    said = [part for part in parts if part.detail != NO_VALUES] or list(parts)
    kinds = {part.kind for part in said}
    if len(kinds) > 1:
        raise ValueError(
            f"{owner}: column {name!r} is a {' in one partition and a '.join(sorted(kinds))} in another. "
            "Give it one type, e.g. with astype."
        )
    if all(isinstance(part, Category) for part in said):
        return Category(_in_order({level for part in said for level in part.levels or ()}, owner))
    dates = [part for part in said if isinstance(part, Dates)]
    if dates:
        if len({part.zone for part in dates}) > 1:
            raise ValueError(f"{owner}: column {name!r} has several time zones; convert it to one.")
        # a part that is constant within partitions may differ between them
        last = max(part.last for part in dates)
        return Dates(PARTS, min(part.first for part in dates), last, dates[0].zone, dates[0].is_text)
    return replace(said[0], note="") if isinstance(said[0], Number) else said[0]


def _in_order(seen: set[Hashable], owner: str) -> tuple[Hashable, ...]:
    """Sort categories as a table in memory sorts them."""
    if not seen:
        return ()
    column = np.empty((len(seen), 1), dtype=object)
    column[:, 0] = list(seen)
    return FeatureTable.learn(column, [0], owner)[0].levels[0] or ()


def _positive(weights: Any, values: Array) -> tuple[Booleans, Array | None]:
    """Return which rows have positive weight, and their weights."""
    if weights is None:
        return np.ones(len(values), dtype=bool), None
    if not np.any(weights):  # scikit-learn refuses a column of zeros; in one of several partitions it is fine
        return np.zeros(len(values), dtype=bool), np.zeros(0)
    w = read_weights(weights, values)
    return w > 0.0, w[w > 0.0]


@contextmanager
def _in_partition(number: int) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"Partition {number}: {error}") from None
