r"""Categories of many levels as numbers: shrunken statistics of the response in each level.

For a level with ``c`` rows, mean :math:`\bar r` and the variances :math:`\sigma^2` within and :math:`\tau^2` between
levels, the location is the empirical-Bayes mean

.. math:: \mu + \frac{c\,\tau^2}{c\,\tau^2 + \sigma^2} (\bar r - \mu),

the spread is the same of :math:`\log |r - \text{location}|`, and the count is :math:`\log_2 (1 + c)`. Training rows get
the statistics of the other folds, so that no row sees its own response; new rows get those of all training rows. A
level that training did not have, or that is rare, has the location and spread of all rows and the count 0.

A statistic is used only if levels differ in it by more than chance: a column of noise is not used at all.

References
----------
Micci-Barreca, D. (2001). A preprocessing scheme for high-cardinality categorical attributes in classification and
prediction problems. ACM SIGKDD Explorations, 3(1), 27-32.

Good, I. J. (1953). The population frequencies of species and the estimation of population parameters. Biometrika,
40(3-4), 237-264.

Searle, S. R., Casella, G. and McCulloch, C. E. (1992). Variance components. Wiley. (Section 3.6, unbalanced data)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import f as f_distribution

from diffgbm._util.types import Array, Integers, Rows
from diffgbm.data.kinds import Category, Levels, level_codes, some_levels
from diffgbm.data.numbers import column_values, is_missing

Split = tuple[Rows, Rows]
"""Rows to learn from, and rows held out, as in ``splits``."""
LIMITS = ((8, 0), (20, 100), (250, 400))
"""Numbers of levels that the trees may split by sets of codes, with the rows that each level needs: always 8; up to 20
with 100 rows for each and up to 250 with 400, if rows of different levels differ by more than chance."""
FEWEST_WITHIN = 10
"""Rows beyond the first of their level from which the variance within levels is known: two rows that agree by chance,
like a copy with a typing error, would make a column of names look like the best of all."""
KEPT = 20_000
"""Levels that have statistics, at most about so many: a level needs a share of 1 / KEPT of the rows."""
NAMED = 250
"""Levels that are remembered of a column that is not used, at most."""
SIGNIFICANCE = 1e-3
"""Level of the test that levels differ."""
FARTHEST = 10.0
"""Interquartile ranges from the median at which responses are clipped: a mean of few rows must not follow one of
them."""
LEAST_MAGNITUDE = 0.05
"""Added to |residual| before its logarithm is taken, as a share of its mean."""
FOLDS = 10


def most_levels(n_rows: int) -> int:
    """Return the largest number of levels that ``n_rows`` rows can tell apart one by one."""
    return max(most if not rows else min(most, n_rows // rows) for most, rows in LIMITS)


def few_levels() -> int:
    """Return the number of levels that are always told apart one by one."""
    return LIMITS[0][0]


def rarest(n_rows: int) -> int:
    """Return the fewest rows of a level that has statistics of its own; rarer levels are pooled.

    One row is enough, as its mean is shrunken: without a row of its own a training row's level has c - 1 rows, as often
    as a new row's level has so many. If levels of one row were pooled for new rows, more of them would be in the pool
    than training says, and intervals too narrow there.
    """
    return max(1, -(-n_rows // KEPT))


@dataclass(frozen=True, eq=False)
class LevelStatistics:
    """How a column of many categories is read.

    Attributes
    ----------
    levels : tuple
        Categories that are frequent enough to have statistics.
    table : ndarray of shape (k + 1, width)
        Statistics of each of them; the last row is that of all other categories.
    names : tuple of str
        What the columns are.
    n_levels : int
        Categories of the training rows, rare ones included.
    has_missing : bool
        Whether training had missing values, which then stay missing; otherwise they are other categories.
    """

    levels: Levels
    table: Array
    names: tuple[str, ...]
    n_levels: int
    has_missing: bool

    kind: ClassVar[str] = "encoded category"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LevelStatistics) and (
            (self.levels, self.names, self.n_levels, self.has_missing)
            == (other.levels, other.names, other.n_levels, other.has_missing)
            and np.array_equal(self.table, other.table)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def width(self) -> int:
        """Number of columns in the matrix."""
        return len(self.names)

    @property
    def rare_share(self) -> float:
        """Share of the training rows whose category is pooled or has no other row: about that of new categories.

        This is the estimate of Good (1953); a pooled category counts as one row, which is too few.
        """
        rows = 2.0 ** self.table[:-1, -1] - 1.0 if self.names else np.zeros(0)
        pooled = self.n_levels - len(self.levels)
        return (pooled + int(np.sum(rows < 1.5))) / max(1.0, pooled + float(rows.sum()))

    @property
    def detail(self) -> str:
        """How the column was read, in a few words."""
        if not self.names:
            return f"{self.n_levels:,} categories that differ by no more than chance: not used"
        rare = self.n_levels - len(self.levels)
        pooled = f", {rare:,} rare ones together" if rare else ""
        return f"{', '.join(self.names)} of {self.n_levels:,} categories{pooled}: {some_levels(self.levels)}"

    def encode(self, column: Any, name: str) -> Array:
        """Return the statistics (n, width) of new rows."""
        return self.of_codes(self.shown(column, name), _is_null(column))

    def of_codes(self, codes: Array, missing: Any) -> Array:
        """Return the statistics (n, width) of codes (n,), NaN for other categories and for the ``missing``."""
        found = self.table[np.where(np.isnan(codes), len(self.levels), codes).astype(np.intp)]
        if self.has_missing:
            found[np.asarray(missing, dtype=bool)] = np.nan
        return found

    def recoded(self, codes: Array, levels: Levels) -> Array:
        """Return the statistics (n, width) of codes (n,) of other ``levels``; NaN is missing."""
        own = {level: float(i) for i, level in enumerate(self.levels)}
        new = np.array([*(own.get(level, np.nan) for level in levels), np.nan])
        missing = np.isnan(codes)
        return self.of_codes(new[np.where(missing, len(levels), codes).astype(np.intp)], missing)

    def shown(self, column: Any, name: str) -> Array:
        """Return the codes (n,); other categories are NaN."""
        return level_codes(column, self.levels)

    def text(self, value: float) -> str:
        """Format a code."""
        return str(self.levels[int(value)])


def unused(levels: Levels) -> LevelStatistics:
    """Return a column that is not used; reports still name its levels, unless there are very many."""
    named = levels if len(levels) <= NAMED else ()
    return LevelStatistics(named, np.empty((len(named) + 1, 0)), (), len(levels), False)


def learn_statistics(
    column: Category, codes: Array, targets: Array, weights: Array | None, folds: Sequence[Split]
) -> tuple[LevelStatistics, Array]:
    """Learn the statistics of a column; return them with those of the training rows from the other folds.

    Parameters
    ----------
    column : Category
        The column as categories.
    codes : ndarray of shape (n,)
        Codes of the training rows; NaN is missing.
    targets : ndarray of shape (n, d)
        Standardised responses, or what other columns leave of them.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    folds : sequence of (ndarray, ndarray)
        Rows that statistics are computed from, and rows that get them. A row that no fold holds out, like the first
        ones in the order of time, is read as one of another category.

    Returns
    -------
    statistics : LevelStatistics
        For new rows.
    matrix : ndarray of shape (n, width)
        For the training rows.
    """
    missing = np.isnan(codes)
    n_levels = len(column.levels)
    counts = np.bincount(codes[~missing].astype(np.intp), minlength=n_levels)
    kept = np.flatnonzero(counts >= rarest(len(codes)))
    # rare levels and missing values are the level after the last
    position = np.full(n_levels + 1, len(kept))
    position[kept] = np.arange(len(kept))
    own = position[np.where(missing, n_levels, codes).astype(np.intp)]
    rows = _Rows(own, len(kept), np.ones(len(codes)) if weights is None else weights, folds, rarest(len(codes)))
    names: list[str] = []
    parts: list[tuple[Array, Array]] = []
    several = targets.shape[1] > 1
    for j, target in enumerate(targets.T):
        value = _clipped(target)
        location = rows.shrunken(value)
        centred = value - (rows.mean(value) if location is None else location[1])
        size = np.abs(centred)
        spread = rows.shrunken(np.log(size + LEAST_MAGNITUDE * max(float(size.mean()), 1e-12)))
        for name, part in (("location", location), ("spread", spread)):
            if part is not None:
                names.append(f"{name} {j}" if several else name)
                parts.append(part)
    if parts:
        names.append("count")
        parts.append(rows.counts())
    if not parts:
        return unused(column.levels), np.empty((len(codes), 0))
    has_missing = bool(missing.any())
    table, matrix = (np.column_stack([part[side] for part in parts]) for side in (0, 1))
    matrix[missing] = np.nan
    return LevelStatistics(tuple(column.levels[k] for k in kept), table, tuple(names), n_levels, has_missing), matrix


def levels_differ(codes: Array, n_levels: int, targets: Array, numbers: Array) -> bool:
    """Whether rows of different levels differ in location, spread, or the slope of a number, by more than chance.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Codes of the training rows; NaN is missing, and a level of its own here.
    n_levels : int
        Number of levels.
    targets : ndarray of shape (n, d)
        Standardised responses, or what other columns leave of them.
    numbers : ndarray of shape (n, p)
        Columns whose slopes may differ; missing values count as the mean.
    """
    own = np.where(np.isnan(codes), n_levels, codes).astype(np.intp)
    rows = _Rows(own, n_levels + 1, np.ones(len(codes)), (), 1)
    centred = numbers - np.nanmean(numbers, axis=0) if numbers.size else numbers
    for target in targets.T:
        value = _clipped(target)
        value = value - value.mean()
        size = np.abs(value)
        spread = np.log(size + LEAST_MAGNITUDE * max(float(size.mean()), 1e-12))
        slopes = [value * _clipped(np.nan_to_num(column)) for column in centred.T]
        if any(rows.differ(one, SIGNIFICANCE) for one in (value, spread)):
            return True
        if any(rows.differ(one, SIGNIFICANCE / len(slopes)) for one in slopes):
            return True
    return False


@dataclass(frozen=True)
class _Rows:
    """Training rows by level: codes (n,), the last of which is not a level, weights (n,), folds, fewest rows."""

    codes: Integers
    n_levels: int
    weights: Array
    folds: Sequence[Split]
    fewest: int

    def mean(self, values: Array) -> float:
        return float(np.average(values, weights=self.weights))

    def counts(self) -> tuple[Array, Array]:
        """Return log2(1 + rows) of each level, and of each training row's level in the other folds."""
        return self._cross_fitted(lambda rows: np.log2(1.0 + self._sums(np.ones(len(self.codes)), rows)), 0.0)

    def shrunken(self, values: Array) -> tuple[Array, Array] | None:
        """Return empirical-Bayes means of values (n,) in each level; ``None`` if levels differ by chance."""
        ratio = self._variance_ratio(values, SIGNIFICANCE)
        if ratio is None:
            return None
        centre = self.mean(values)

        def means(rows: Integers) -> Array:
            count = self._sums(self.weights, rows)
            total = self._sums(self.weights * (values - centre), rows)
            return centre + total / (count + ratio)

        return self._cross_fitted(means, centre)

    def _sums(self, values: Array, rows: Integers) -> Array:
        sums = np.bincount(self.codes[rows], weights=values[rows], minlength=self.n_levels + 1)
        return np.asarray(sums[: self.n_levels], dtype=np.float64)

    def _cross_fitted(self, function: Any, prior: float) -> tuple[Array, Array]:
        """Apply a function of rows to all rows and to the other folds of each; ``prior`` is for other levels."""

        def values(rows: Integers) -> Array:
            enough = self._sums(np.ones(len(self.codes)), rows) >= self.fewest
            return np.append(np.where(enough, function(rows), prior), prior)

        out = np.full(len(self.codes), prior)
        for train, held_out in self.folds:
            out[held_out] = values(train)[self.codes[held_out]]
        return values(np.arange(len(self.codes))), out

    def differ(self, values: Array, significance: float) -> bool:
        """Whether levels differ in the mean of values (n,) by more than chance."""
        return self._variance_ratio(values, significance) is not None

    def _variance_ratio(self, values: Array, significance: float) -> float | None:
        r"""Return :math:`\sigma^2 / \tau^2` by the analysis of variance; ``None`` if levels differ by chance."""
        # levels of one row say nothing of the variance within
        several = np.append(self._sums(np.ones(len(values)), np.arange(len(values))) > 1.0, False)
        inside = np.flatnonzero(several[self.codes])
        count = self._sums(np.ones(len(values)), inside)
        n, k = len(inside), int(np.sum(count > 0))
        if k < 2 or n - k < FEWEST_WITHIN:
            return None
        mean = self._sums(values, inside) / np.maximum(count, 1.0)
        centre = float(values[inside].mean())
        between = float(np.sum(count * (mean - centre) ** 2)) / (k - 1)
        within = float(np.sum((values[inside] - mean[self.codes[inside]]) ** 2)) / (n - k)
        if within <= 0.0:
            return 1e-6 if between > 0.0 else None
        if f_distribution.sf(between / within, k - 1, n - k) > significance:
            return None
        size = (n - float(np.sum(count**2)) / n) / (k - 1)
        tau = (between - within) / size
        # weights of any scale: the ratio is in units of a row of mean weight
        return within / tau * float(self.weights.mean())


def _clipped(values: Array) -> Array:
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    reach = FARTHEST * (high - low)
    return np.clip(values, median - reach, median + reach) if reach > 0.0 else values


def _is_null(column: Any) -> list[bool]:
    return [is_missing(value) for value in column_values(column)]
