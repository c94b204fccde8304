"""The user's table as models see it: read, encoded, standardised, with what is known of how its rows repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.errors import warn
from diffgbm._util.types import Array, Booleans, Rows
from diffgbm.data.division import NOT_DIVIDED, Division, divided_rows
from diffgbm.data.features import FeatureTable
from diffgbm.data.frames import row_index
from diffgbm.data.later_rows import later_hint, period_note, time_columns
from diffgbm.data.novelty import Reference, learn_reference
from diffgbm.data.outliers import warn_of_outliers, winsorised
from diffgbm.data.power_scale import PowerScale
from diffgbm.data.records import Records, find_records, given_records
from diffgbm.data.response import ResponseTable, read_response
from diffgbm.data.structure import INDEPENDENT, GivenStructure, Structure, read_structure
from diffgbm.data.weights import read_weights
from diffgbm.fitting.level_encoding import encode_levels
from diffgbm.fitting.outliers import warn_of_residuals
from diffgbm.fitting.weak_fits import warn_of_table


@dataclass(frozen=True)
class TrainingTable:
    """The user's table as models see it.

    Attributes
    ----------
    features, response : FeatureTable, ResponseTable
        How it was read.
    X : ndarray of shape (n, p)
        Encoded rows of positive weight.
    y : ndarray of shape (n, d)
        Standardised responses.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    observed : ndarray of shape (n, d)
        Responses as the user gave them, to the last bit; outliers are moved (``winsorised``).
    repetition : Records
        How the rows repeat.
    structure : Structure
        Rows that stay together in every split, and their order.
    division : Division
        How rows are divided, in words.
    copies : ndarray of shape (m,) or None
        For each of the user's ``m`` rows of positive weight its row here: copies of a row are one row with their
        weight.
    labels : array of shape (n,) or None
        The user's row labels, or positions, for messages.
    moved : ndarray of shape (n,) or None
        Whether the response is an outlier that was moved.
    reference : Reference or None
        Rows that new rows are compared with.
    """

    features: FeatureTable
    response: ResponseTable
    X: Array
    y: Array
    weights: Array | None
    observed: Array
    repetition: Records
    structure: Structure = INDEPENDENT
    copies: Rows | None = None
    division: Division = NOT_DIVIDED
    labels: Any = None
    moved: Booleans | None = None
    reference: Reference | None = None

    def part(self, rows: Rows) -> TrainingTable:
        """Return some of the rows, read as the whole table was."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            weights=weights,
            observed=self.observed[rows],
            structure=self.structure.part(rows),
            labels=None if self.labels is None else self.labels[rows],
            moved=None if self.moved is None else self.moved[rows],
        )

    def with_responses(self, y: Array, rows: Rows) -> TrainingTable:
        """Return the table with standardised responses ``y`` (n, d), of which ``rows`` were moved; warn of them."""
        if len(rows) == 0:
            return self
        observed = self.observed.copy()
        observed[rows] = self.response.restore(y[rows])
        unknown = np.setdiff1d(rows, self.suspects)
        labels = np.arange(len(y)) if self.labels is None else self.labels
        warn_of_residuals(unknown, self.observed, observed, labels)
        return replace(self, y=y, observed=observed)

    def continuous(self, rest: Rows) -> TrainingTable:
        """Return the rows ``rest``, those of a continuous part, with their response standardised anew."""
        part = self.part(rest)
        response, y = ResponseTable.learn(part.observed[:, 0], part.weights, len(rest))
        part = replace(part, response=replace(response, names=self.response.names), y=y)
        return part if self.response.power is None else part.on_scale(self.response.power)

    def on_scale(self, power: PowerScale) -> TrainingTable:
        """Return the table with its one response standardised on a power scale."""
        response = self.response.on_scale(power, self.observed, self.weights)
        return replace(self, response=response, y=response.standardise(self.observed))

    @property
    def suspects(self) -> Rows:
        """Rows whose responses are outliers among all responses."""
        return np.arange(0) if self.moved is None else np.flatnonzero(self.moved)

    @property
    def sources(self) -> Rows:
        """Position of each row among the user's rows of positive weight; the first of its copies."""
        return np.arange(len(self.y)) if self.copies is None else np.unique(self.copies, return_index=True)[1]


def read_table(
    X: Any,
    y: Any,
    cat_idx: Sequence[int] | None,
    sample_weight: Any,
    owner: str,
    repeats: str = "auto",
    groups: Any = None,
    time: Any = None,
    threads: int = 1,
) -> TrainingTable:
    """Read the user's table; ``owner`` is the estimator's name for messages, ``repeats`` its argument.

    Columns of many categories become cross-fitted statistics, see ``level_encoding``.
    """
    X, given = read_structure(X, groups, time)
    features, matrix = FeatureTable.learn(X, cat_idx, owner, given.wanted)
    if given.group_column is not None:
        features = replace(features, ignored=(given.group_column,))
    weights = None if sample_weight is None else read_weights(sample_weight, matrix)
    response, standard = ResponseTable.learn(y, weights, len(matrix))
    raw = read_response(y)[1].reshape(standard.shape)
    observed, outliers = winsorised(raw, None if weights is None else weights > 0.0)
    labels = row_labels(X, y, len(matrix))
    warn_of_outliers(raw, outliers, labels)
    moved = None if observed is raw else np.any(observed != raw, axis=1)
    n_given, counted = len(matrix), None
    if weights is not None and not np.all(weights > 0.0):  # rows of no weight are left out
        counted = weights > 0.0
        matrix, standard, weights = matrix[counted], standard[counted], weights[counted]
        raw, observed, labels = raw[counted], observed[counted], labels[counted]
        moved = None if moved is None else moved[counted]
        given = given.part(counted)
    if len(matrix) < 2:
        raise ValueError(f"{owner} needs at least 2 rows of positive weight; got n_samples={len(matrix)}.")
    found = _records(matrix, raw, repeats, given)
    structure = Structure(found.labels, given.order).part(slice(None))
    is_given = given.labels is not None or given.order is not None
    times = {} if is_given else time_columns(features, matrix)
    if later := later_hint(matrix, raw, times):
        warn(later)
    division = divided_rows(matrix, raw, found, given, later, period_note(times))
    parts = (features, response, matrix, standard, weights, observed, found, structure)
    table = TrainingTable(*parts, division=division, labels=labels, moved=moved)
    table = _without_copies(table) if found.are_copies else table
    warn_of_table(table.observed, response.names)
    if len(table.X) < features.n_features:
        warn(
            f"X has {len(table.X):,} rows and {features.n_features:,} columns: with fewer rows than columns a model "
            "finds patterns in noise. Drop columns that cannot matter, or check the out-of-bag scores.",
        )
    features, encoded = encode_levels(features, table.X, table.y, table.weights, table.structure, threads)
    rows = (np.arange(n_given) if counted is None else np.flatnonzero(counted))[table.sources]
    reference = learn_reference(X, features, rows, owner, table.structure)
    return replace(table, features=features, X=encoded, reference=reference)


def _records(matrix: Array, observed: Array, repeats: str, given: GivenStructure) -> Records:
    """Find out how rows repeat; groups of the caller decide it, and an observation at another time is another one."""
    if given.labels is not None:
        return given_records(matrix, given.labels)
    if given.order is not None and repeats == "auto":
        return find_records(np.column_stack([matrix, given.order]), observed, repeats)
    return find_records(matrix, observed, repeats)


def row_labels(X: Any, y: Any, n: int) -> Any:
    """Return the labels of the user's rows: those of ``y`` or ``X``, or positions."""
    known = [index for index in map(row_index, (nw.to_native(y, pass_through=True), X)) if index is not None]
    return np.asarray(known[0]) if known else np.arange(n)


def _without_copies(table: TrainingTable) -> TrainingTable:
    """Keep one row of each record, with the weight of all; a table stacked on itself becomes the table."""
    labels = table.structure.labels
    assert labels is not None
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    # in the order of the first copies, so that a stacked table is divided as the table itself is
    order = np.argsort(first, kind="stable")
    copies = np.empty_like(order)
    copies[order] = np.arange(len(order))
    copies = copies[inverse.ravel()]
    weights: Array | None = np.bincount(copies, weights=table.weights).astype(np.float64)
    if table.weights is None and weights is not None and weights.min() == weights.max():
        weights = None
    part = replace(table, weights=None, structure=Structure(None, table.structure.order)).part(first[order])
    return replace(part, weights=weights, copies=copies)
