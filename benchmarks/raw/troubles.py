"""Dirty business tables: every trouble that real tables have is a switch.

A trouble is a function of a :class:`Draft`. Those of ``COLUMNS`` add a column, and some of them its effect on the
response; the response is drawn after them. Those of ``RESPONSES`` change the response, those of ``VALUES`` how the
values of plain columns are written, and those of ``ROWS`` the training rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.raw.business import KINDS, Generator, Kind
from diffgbm._util.types import Array, Integers

N_LEVELS = 1000
"""Levels of a column of many."""


@dataclass(frozen=True)
class Draft:
    """A table on its way.

    Attributes
    ----------
    kind : Kind
        What the table is about.
    X : DataFrame of shape (n, p)
        Columns so far.
    signal : ndarray of shape (n,)
        Logarithm of the expected response.
    y : ndarray of shape (n,)
        Responses; empty before they are drawn.
    """

    kind: Kind
    X: pd.DataFrame
    signal: Array
    y: Array

    def __len__(self) -> int:
        return len(self.X)

    def plus(self, word: str, values: object, effect: Any = 0.0) -> Draft:
        """Add a column with its effect on the signal; ``word`` is its role in ``Kind.words``."""
        return replace(self, X=self.X.assign(**{self.kind.words[word]: values}), signal=self.signal + effect)

    def written(self, name: str, values: object) -> Draft:
        """Write the values of a column in another way."""
        return replace(self, X=self.X.assign(**{name: values}))


Trouble = Callable[[Draft, Generator], Draft]


@dataclass(frozen=True)
class Table:
    """Rows to fit and rows to predict, as frames without preparation.

    Attributes
    ----------
    X_train, X_test : DataFrame
        Columns as they are.
    y_train, y_test : ndarray
        Responses.
    low, high : float
        Limits of what the response can be.
    """

    X_train: pd.DataFrame
    y_train: Array
    X_test: pd.DataFrame
    y_test: Array
    low: float = -np.inf
    high: float = np.inf


def _level_codes(n: int, rng: Generator) -> Integers:
    """Draw codes (n,) of ``N_LEVELS`` levels, a few of which are much more frequent than the others."""
    weight = 1.0 / (np.arange(N_LEVELS) + 20.0)
    return rng.choice(N_LEVELS, n, p=weight / weight.sum())


def _named(prefix: str, codes: Integers) -> list[str]:
    return [f"{prefix} {code:04}" for code in codes]


def informative_levels(draft: Draft, rng: Generator) -> Draft:
    """Add text of 1,000 levels, each with its effect."""
    codes = _level_codes(len(draft), rng)
    return draft.plus("levels", _named("L", codes), 0.35 * rng.standard_normal(N_LEVELS)[codes])


def noise_levels(draft: Draft, rng: Generator) -> Draft:
    """Add text of 1,000 levels without any."""
    return draft.plus("noise", _named("N", _level_codes(len(draft), rng)))


def row_names(draft: Draft, rng: Generator) -> Draft:
    """Add text that is different in every row."""
    return draft.plus("id", _named("R", rng.permutation(len(draft))))


def dates(draft: Draft, rng: Generator) -> Draft:
    """Add datetimes, with a season and a trend."""
    day = rng.integers(0, 1100, len(draft))
    effect = 0.25 * np.sin(2.0 * np.pi * day / 365.25) + 0.3 * day / 1100.0
    return draft.plus("date", pd.Timestamp("2021-01-01") + pd.to_timedelta(day, unit="D"), effect)


def iso_dates(draft: Draft, rng: Generator) -> Draft:
    """Add dates as ISO text, with an effect of the day of the week."""
    days = pd.Timestamp("2019-03-04") + pd.to_timedelta(rng.integers(0, 700, len(draft)), unit="D")
    return draft.plus("iso", days.strftime("%Y-%m-%d").to_numpy(dtype=object), -0.2 * (days.dayofweek >= 5))


def durations(draft: Draft, rng: Generator) -> Draft:
    """Add time deltas with an effect."""
    hours = rng.gamma(2.0, 30.0, len(draft)).round()
    return draft.plus("duration", pd.to_timedelta(hours, unit="h"), -0.002 * np.minimum(hours, 150.0))


_PLAIN = (
    "the",
    "a",
    "with",
    "near",
    "and",
    "for",
    "this",
    "one",
    "more",
    "some",
    "then",
    "also",
    "here",
    "well",
    "very",
)
_GOOD = ("quiet", "sunny", "excellent", "renewed", "popular", "premium", "spacious", "modern")
_BAD = ("damaged", "loud", "late", "broken", "poor", "delayed", "dark", "complaint")


def free_text(draft: Draft, rng: Generator) -> Draft:
    """Add sentences in which some words matter."""
    filler = [f"{word}{k}" for word in ("model", "street", "part", "item") for k in range(40)] + list(_PLAIN)
    balance = rng.integers(-2, 3, len(draft))
    texts = []
    for good in balance:
        words = [*rng.choice(filler, rng.integers(5, 12)), *rng.choice(_GOOD if good > 0 else _BAD, abs(int(good)))]
        texts.append(" ".join(rng.permutation(words)))
    return draft.plus("text", np.array(texts, dtype=object), 0.12 * balance)


def leading_zeros(draft: Draft, rng: Generator) -> Draft:
    """Add codes of digits with leading zeros, which are names, 40 of them with an effect."""
    codes = rng.integers(0, 40, len(draft))
    return draft.plus("code", [f"{37 * code:05}" for code in codes], 0.2 * rng.standard_normal(40)[codes])


def numbered_levels(draft: Draft, rng: Generator) -> Draft:
    """Add levels that are numbers in no order, with effects."""
    codes = rng.integers(0, 25, len(draft))
    return draft.plus("number", codes, 0.2 * rng.standard_normal(25)[codes])


def truth_values(draft: Draft, rng: Generator) -> Draft:
    """Add nullable booleans, some missing, with an effect."""
    yes = rng.uniform(size=len(draft)) < 0.4
    values = pd.array(yes, dtype="boolean")
    values[rng.uniform(size=len(draft)) < 0.1] = pd.NA
    return draft.plus("truth", values, 0.15 * yes)


def exact_numbers(draft: Draft, rng: Generator) -> Draft:
    """Add Python's ``Decimal``, with an effect."""
    cents = rng.integers(100, 9000, len(draft))
    return draft.plus("exact", [Decimal(int(c)) / 100 for c in cents], 0.002 * cents / 100.0)


def lists(draft: Draft, rng: Generator) -> Draft:
    """Add lists of different lengths."""
    values = np.empty(len(draft), dtype=object)
    values[:] = [list(range(k)) for k in rng.integers(0, 4, len(draft))]
    return draft.plus("list", values)


def constant_column(draft: Draft, rng: Generator) -> Draft:
    """Add a column with one value."""
    return draft.written("currency", "CHF")


def empty_column(draft: Draft, rng: Generator) -> Draft:
    """Add a column without values."""
    return draft.written("remarks", None)


def counts(draft: Draft, rng: Generator) -> Draft:
    """Make responses whole numbers, most of them small."""
    unit = np.median(draft.y[draft.y > 0.0]) / 5.0
    return replace(draft, y=np.round(draft.y / unit))


def zeros(draft: Draft, rng: Generator) -> Draft:
    """Make three fifths of the responses zero, more often where they are small."""
    rank = np.argsort(np.argsort(draft.signal)) / len(draft)
    return replace(draft, y=np.where(rng.uniform(size=len(draft)) < 0.85 - 0.5 * rank, 0.0, draft.y))


def missing_values(draft: Draft, rng: Generator) -> Draft:
    """Leave out a tenth of the values of the plain columns."""
    for name in list(draft.X)[: draft.kind.columns(1, rng).shape[1]]:
        draft = draft.written(name, draft.X[name].mask(rng.uniform(size=len(draft)) < 0.1))
    return draft


def missing_marks(draft: Draft, rng: Generator) -> Draft:
    """Write the second plain column as text, with marks where it is missing."""
    name = list(draft.X)[1]
    text = draft.X[name].map(lambda value: np.nan if value != value else f"{value:g}").astype(object)
    return draft.written(name, _marked(text, rng, ["?", "n/a", "-", ""]))


def _marked(column: pd.Series, rng: Generator, marks: list[str]) -> pd.Series:
    marked = column.isna() | (rng.uniform(size=len(column)) < 0.05)
    return column.mask(marked, pd.Series(rng.choice(marks, len(column)), index=column.index, dtype=object))


def thousands_separators(draft: Draft, rng: Generator) -> Draft:
    """Write the large numbers as text with separators."""
    name = draft.kind.amount
    return draft.written(name, draft.X[name].map(lambda value: None if value != value else f"{value:,.0f}"))


def repeated_rows(draft: Draft, rng: Generator) -> Draft:
    """Put copies of other rows, with their responses, in the place of a fifth of the rows."""
    n = len(draft)
    source = np.where(rng.uniform(size=n) < 0.2, rng.integers(0, n, n), np.arange(n))
    return replace(draft, X=draft.X.iloc[source].reset_index(drop=True), y=draft.y[source])


def wild_value(draft: Draft, rng: Generator) -> Draft:
    """Mistype one number of a plain column."""
    name = next(c for c in draft.X if c != draft.kind.amount and draft.X[c].dtype.kind in "fi")
    column = draft.X[name].astype(np.float64)
    column.iloc[rng.integers(len(draft))] = 1e9
    return draft.written(name, column)


def wild_response(draft: Draft, rng: Generator) -> Draft:
    """Mistype one response, by a factor of a thousand."""
    y = draft.y.copy()
    y[np.argsort(y)[int(0.8 * len(y))]] *= 1000.0
    return replace(draft, y=y)


COLUMNS: dict[str, Trouble] = {
    "informative levels": informative_levels,
    "noise levels": noise_levels,
    "row names": row_names,
    "dates": dates,
    "ISO dates": iso_dates,
    "durations": durations,
    "free text": free_text,
    "leading zeros": leading_zeros,
    "numbered levels": numbered_levels,
    "truth values": truth_values,
    "exact numbers": exact_numbers,
    "lists": lists,
    "constant column": constant_column,
    "empty column": empty_column,
}
RESPONSES: dict[str, Trouble] = {"counts": counts, "zeros": zeros}
VALUES: dict[str, Trouble] = {
    "missing values": missing_values,
    "missing marks": missing_marks,
    "thousands separators": thousands_separators,
}
ROWS: dict[str, Trouble] = {
    "repeated rows": repeated_rows,
    "wild value": wild_value,
    "wild response": wild_response,
}
TROUBLES = (*COLUMNS, *RESPONSES, *VALUES, *ROWS)
"""All names."""
USUAL = tuple(name for name in TROUBLES if name not in RESPONSES)
"""Troubles of the benchmark: claims have zeros and bikes counts without a switch."""


def business_table(
    kind: str, troubles: Iterable[str] = USUAL, n_train: int = 2000, n_test: int = 1000, seed: int = 0
) -> Table:
    """Draw a table of a kind with troubles.

    Each trouble has random numbers of its own, so that it does not change what the others do.

    Parameters
    ----------
    kind : str
        A name of ``KINDS``.
    troubles : iterable of str
        Names of ``TROUBLES``.
    n_train, n_test : int
        Rows of both parts.
    seed : int
        Seed.

    Returns
    -------
    Table
        Both parts.
    """
    on, about, n = set(troubles), KINDS[kind], n_train + n_test
    if unknown := on - set(TROUBLES):
        raise ValueError(f"unknown troubles {sorted(unknown)}; there are {', '.join(TROUBLES)}.")

    def rng(name: str) -> Generator:
        return np.random.default_rng((seed, *f"{kind} {name}".encode()))

    def with_troubles(draft: Draft, group: dict[str, Trouble]) -> Draft:
        for name, trouble in group.items():
            draft = trouble(draft, rng(name)) if name in on else draft
        return draft

    X = about.columns(n, rng("columns"))
    draft = with_troubles(Draft(about, X, about.signal(X), np.empty(0)), COLUMNS)
    draft = replace(draft, y=about.respond(draft.signal, X, rng("responses")))
    draft = with_troubles(with_troubles(draft, RESPONSES), VALUES)
    test = replace(draft, X=draft.X[n_train:].reset_index(drop=True), y=draft.y[n_train:])
    train = replace(draft, X=draft.X[:n_train], signal=draft.signal[:n_train], y=draft.y[:n_train])
    train = with_troubles(train, ROWS)
    return Table(train.X, train.y, test.X, test.y, about.low, about.high)
