r"""Which rows are records of the same thing, and so must stay on one side of every split.

A table often holds a row more than once: it was stacked on itself, a bottle of wine was listed again, an entity was
measured twenty times. A model that learns from one copy and is scored on another is scored on what it remembers.
Rows may also agree by chance: ten thousand people described by three categories share few distinct rows, and their
responses differ as independent draws do. These must not be held apart from their like.

Three kinds of evidence tell the two apart.

1. *Stacked*: every distinct row :math:`(x, y)` occurs a multiple of :math:`m \ge 2` times.
2. *Copies*: rows that agree in ``x`` agree in ``y`` more often than a row and its nearest neighbour with another ``x``
   do, and they agree in ``x`` more often than independent columns would.
   Responses that are recorded finely and vary among rows of the same ``x`` are enough: they do not agree by chance.
3. *Entities*: rows agree in ``x`` although a column is recorded so finely that ties do not happen by chance; their
   responses may differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, rankdata
from sklearn.neighbors import NearestNeighbors

from diffgbm._util.errors import known
from diffgbm._util.types import Array, Booleans, Integers
from diffgbm.data.hashing import STEP, Bits, mixed_bits
from diffgbm.data.structure import Structure

Repeats = Literal["auto", "together", "independent"]
REPEATS: tuple[Repeats, ...] = ("auto", "together", "independent")
"""Values of the argument ``repeats``."""

Kind = Literal["distinct", "independent", "stacked", "copies", "entities", "together", "groups"]

MIN_DISTINCT = 10
"""Distinct rows below which multiples and ties say nothing."""
CHANCE = 10.0
"""How many times as many pairs of equal rows dependent columns may have as independent ones, if nothing is known."""
MARGIN = 3.0
"""The same, if rows that agree in ``x`` but not in ``y`` show how dependent the columns are."""
MIN_PAIRS = 3
"""Pairs of such rows that show it."""
MOST_TWINS = 10
"""Equal rows that stay together where predictions of them become columns, at most: of more, each fold has many."""
VARIED = 1 / 3
"""Distinct responses of rows that agree in ``x``, as a share of these rows: above it ``x`` does not determine them."""
MOST_COPIES = 4
"""Times that a row is copied as a rule. A response that many rows of the same ``x`` share is a price, not a copy."""
SIGNIFICANCE = 1e-4
"""Level of the test that rows which agree in ``x`` agree in ``y`` more often than neighbours do."""
FINE = 1e4
"""A column is recorded finely if it could hold so many times as many values as the table has rows."""
SHOWN = 20_000
"""Rows that the resolution of a column is read from, at most."""
PILE = 10.0
"""A value that occurs so many times as often as the median value of its column is a pile, and tells nobody apart."""
IDENTIFYING = 0.1
"""Least share of the values that occur again, piles aside, whose rows agree in ``X`` in a column that identifies
things."""
NEIGHBOURS = 2000
"""Rows whose nearest neighbours are looked up, at most."""
BLOCK = 1 << 13
"""Rows that are hashed together."""
DIGITS = 15
"""Decimal digits of a float."""
ROUNDING = 1e-15
"""Relative error of a decimal number that is read, and multiplied by a power of ten."""


@dataclass(frozen=True)
class Records:
    """How the rows of a table repeat.

    Attributes
    ----------
    labels : ndarray of shape (n,) or None
        The same number for rows that stay together in every split; ``None`` if each row is on its own.
    kind : str
        Why: ``"distinct"`` (no two rows agree in ``x``), ``"independent"`` (rows agree by chance, or the caller says
        so), ``"stacked"``, ``"copies"``, ``"entities"``, ``"together"`` (the caller says so), or ``"groups"`` (the
        caller says which).
    n_rows, n_distinct : int
        Rows, and distinct rows of ``x``.
    """

    labels: Integers | None
    kind: Kind
    n_rows: int
    n_distinct: int

    @property
    def are_copies(self) -> bool:
        """Whether rows with the same label agree in ``x`` and ``y``: one of them with their weight is enough."""
        return self.kind in ("stacked", "copies")

    @property
    def n_records(self) -> int:
        """Number of things that the rows are records of."""
        return self.n_rows if self.labels is None else int(self.labels.max()) + 1

    def __str__(self) -> str:
        return _SENTENCES[self.kind].format(rows=self.n_rows, distinct=self.n_distinct, records=self.n_records)


_SENTENCES: dict[Kind, str] = {
    "distinct": "All {rows:,} rows are distinct.",
    "independent": "{rows:,} rows hold {distinct:,} distinct rows of X; they are treated as independent draws.",
    "stacked": "Every row occurs several times: {rows:,} rows are {records:,} records. Copies of a record stay "
    "together in every split.",
    "copies": "{rows:,} rows are {records:,} records: rows that agree in X and y are copies, and stay together in "
    "every split.",
    "entities": "{rows:,} rows are of {records:,} entities: rows that agree in X stay together in every split, so that "
    "scores are those of new entities.",
    "together": "{rows:,} rows are {records:,} records: rows that agree in X stay together in every split.",
    "groups": "{rows:,} rows are of {records:,} groups: no split divides a group, so that scores are those of new "
    "groups.",
}


def find_records(X: Array, y: Array, repeats: str = "auto") -> Records:
    """Find the rows that are records of the same thing.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Encoded rows; NaN is a value like any other.
    y : ndarray of shape (n, d)
        Responses.
    repeats : {"auto", "together", "independent"}
        Decide by evidence, keep all rows that agree in ``X`` together, or none.

    Returns
    -------
    Records
        Labels, the reason, and counts.
    """
    repeats = known("repeats", repeats, REPEATS)
    same_x = row_labels(X)
    count_x = np.bincount(same_x)
    n, distinct = len(X), len(count_x)
    if distinct == n:
        return Records(None, "distinct", n, distinct)
    if repeats != "auto":
        return Records(
            same_x if repeats == "together" else None,
            "together" if repeats == "together" else "independent",
            n,
            distinct,
        )
    same_xy = row_labels(X, y)
    count_xy = np.bincount(same_xy)
    copies = int(np.gcd.reduce(count_xy))
    if copies > 1 and len(count_xy) >= MIN_DISTINCT:
        return Records(_copies(same_xy, copies), "stacked", n, distinct)
    identified = identified_rows(X, same_x) & (count_x[same_x] > 1)
    copied = _repeats_fine_responses(y, same_x, same_xy) or (
        pairs(count_x) > _chance(X, same_x, same_xy) * pairs_by_chance(X) and _agree_in_y(X, y, count_x, count_xy)
    )
    if not (copied or identified.any()):
        return Records(None, "independent", n, distinct)
    # what repeats to the last digit is the same thing, whether its responses agree or not
    alone = np.arange(n) if not copied else same_xy
    labels = _numbered(np.where(identified, same_x, n + alone))
    agree = len(np.unique(same_xy[identified])) == len(np.unique(same_x[identified]))
    return Records(labels, "copies" if agree else "entities", n, distinct)


def given_records(X: Array, labels: Integers) -> Records:
    """Return the records that the caller's groups (n,) say; how the rows of ``X`` (n, p) repeat is only counted."""
    return Records(labels, "groups", len(X), len(np.unique(row_hashes(X))))


def row_labels(*tables: Array) -> Integers:
    """Number the distinct rows of tables (n, p), side by side, from 0: equal rows, NaN included, have equal numbers."""
    return _numbered(row_hashes(*tables))


def few_twins_together(X: Array, structure: Structure) -> Structure:
    """Return a structure that keeps rows of ``X`` (n, p) together that are equal, unless they are many.

    A cross-fitted prediction of a row is made of the responses of its twins. Where these are few, and are left out in
    different folds, their predictions differ by their own responses: trees that see both find the response. Rows that
    have more than ``MOST_TWINS`` are divided, as are those of a structure that keeps others together or has an order.
    """
    if structure.labels is not None or structure.order is not None:
        return structure
    labels = row_labels(X)
    count = np.bincount(labels)
    if not np.any((count > 1) & (count <= MOST_TWINS)):
        return structure
    many = count[labels] > MOST_TWINS
    labels[many] = len(count) + np.arange(np.count_nonzero(many))
    return Structure(labels=_numbered(labels))


def _numbered(values: NDArray[Any]) -> Integers:
    """Number the distinct values (n,) from 0."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64).ravel()


def row_hashes(*tables: Array) -> Bits:
    """Hash each row of tables (n, p), side by side, to 64 bits, block by block: a table on disk is never copied whole.

    Two different rows of ten million have the same hash with a probability of 3e-6.
    """
    n = len(tables[0])
    hashes = np.zeros(n, dtype=np.uint64)
    for first in range(0, n, BLOCK):
        rows = slice(first, first + BLOCK)
        block = hashes[rows]
        for table in tables:
            for j in range(table.shape[1]):
                column = np.asarray(table[rows, j], dtype=np.float64)
                # adding zero turns -0.0 into 0.0, and one NaN stands for all
                bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
                block = mixed_bits(block + STEP + mixed_bits(bits))
        hashes[rows] = block
    return hashes


def pairs(counts: Integers) -> float:
    r"""Pairs of equal rows, :math:`\sum_k c_k (c_k - 1) / 2`, for values that occur ``counts`` times."""
    return float(np.sum(counts * (counts - 1.0)) / 2.0)


def pairs_by_chance(X: Array) -> float:
    r"""Expected pairs of equal rows if the columns were independent: :math:`\binom n2 \prod_j \sum_k p_{jk}^2`."""
    n = len(X)
    ties = [np.sum((np.bincount(row_labels(column[:, None])) / n) ** 2) for column in X.T]
    return float(0.5 * n * (n - 1.0) * np.prod(ties))


def is_fine(column: Array, n_rows: int) -> bool:
    """Whether a column is recorded so finely that two of ``n_rows`` rows do not agree in it by chance.

    The smallest power of ten that divides all values is the resolution; the range holds so many steps of it.
    """
    # some rows show the resolution of all
    some = column[:: 1 + len(column) // SHOWN]
    values = np.unique(some[np.isfinite(some)])
    if len(values) < MIN_DISTINCT:
        return False
    size = float(np.abs(values).max())
    for digits in range(DIGITS - int(np.ceil(np.log10(max(size, 1e-300)))) + 1):
        scaled = values * 10.0**digits
        if np.all(np.abs(scaled - np.round(scaled)) <= ROUNDING * np.abs(scaled)):
            return bool((scaled[-1] - scaled[0]) > FINE * n_rows)
    return True


def identified_rows(X: Array, same_x: Integers) -> Booleans:
    """Say which rows (n, p) hold a value that only one thing has: rows that share it are records of that thing.

    Such a value stands in a column that is recorded finely. It is neither missing nor a pile, which many rows share
    (a zero amount), and all rows that hold it agree in ``X``. In a column that identifies things many of the values
    that occur again do so: two sales on one day may agree by chance, but on most days they differ.
    """
    n = len(X)
    known = np.zeros(n, dtype=bool)
    for column in X.T:
        if is_fine(column, n):
            value = row_labels(column[:, None])
            count = np.bincount(value)
            # all rows of a value agree in X if pairs of value and X are no more than values
            variants = np.bincount(np.unique(np.column_stack([value, same_x]), axis=0)[:, 0], minlength=len(count))
            rare = count <= PILE * np.median(count)
            again = rare & (count > 1)
            if np.sum(variants[again] == 1) >= IDENTIFYING * np.sum(again):
                known |= np.isfinite(column) & (rare & (variants == 1))[value]
    return known


def neighbour_agreement(X: Array, y: Array) -> float:
    """Share of distinct rows whose nearest neighbour with another ``X``, by ranks, has the same response."""
    first = np.unique(row_labels(X), return_index=True)[1]
    if len(first) < MIN_DISTINCT:
        return 1.0
    ranks = np.column_stack([rankdata(np.nan_to_num(column, nan=-np.inf)) for column in X[first].T]) / len(first)
    asked = np.random.default_rng(0).permutation(len(first))[:NEIGHBOURS]
    nearest = NearestNeighbors(n_neighbors=2).fit(ranks).kneighbors(ranks[asked], return_distance=False)
    other = np.where(nearest[:, 0] == asked, nearest[:, 1], nearest[:, 0])
    return float(np.mean(np.all(y[first[asked]] == y[first[other]], axis=1)))


def _repeats_fine_responses(y: Array, same_x: Integers, same_xy: Integers) -> bool:
    """Whether finely recorded responses repeat within rows of the same ``X`` where others differ.

    A tariff gives all rows of the same ``X`` one price: there the repeated response says nothing.
    """
    count = np.bincount(same_xy)
    if not np.any(count > 1) or np.median(count[count > 1]) > MOST_COPIES:
        return False
    repeated = count[same_xy] > 1
    if repeated.sum() < 2 * MIN_PAIRS or not any(is_fine(column, len(y)) for column in y.T):
        return False
    rows = np.isin(same_x, same_x[repeated])
    return len(np.unique(same_xy[rows])) > VARIED * rows.sum()


def _chance(X: Array, same_x: Integers, same_xy: Integers) -> float:
    """How many times as many pairs of equal rows chance may make as independent columns would.

    Rows that agree in ``X`` but not in ``y`` agree by chance. Without exact copies, their pairs show how much the
    dependence of the columns adds.
    """
    first = np.unique(same_xy, return_index=True)[1]
    found = pairs(np.bincount(same_x[first]))
    if found < MIN_PAIRS:
        return CHANCE
    return min(CHANCE, MARGIN * max(1.0, found / pairs_by_chance(X[first])))


def _agree_in_y(X: Array, y: Array, count_x: Integers, count_xy: Integers) -> bool:
    """Whether responses of rows that agree in ``X`` agree more often than those of neighbours."""
    repeated = float(np.sum(count_x > 1))
    share = pairs(count_xy) / pairs(count_x)
    # as many independent observations as there are repeated rows: the pairs of one row are not independent
    return bool(binom.sf(np.floor(share * repeated) - 1, repeated, neighbour_agreement(X, y)) < SIGNIFICANCE)


def _copies(labels: Integers, copies: int) -> Integers:
    """Divide each run of equal rows into records of ``copies`` rows each."""
    order = np.argsort(labels, kind="stable")
    records = np.empty_like(labels)
    # runs are multiples of ``copies``, so that no record straddles two of them
    records[order] = np.arange(len(labels)) // copies
    return records
