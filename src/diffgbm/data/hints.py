"""What text looks like that is read as categories: dates or numbers in another spelling, or with a few typing errors.

A model fitted to such a column learns little from it, and nothing else would say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

from diffgbm.data.dates import is_iso_date

MOSTLY = 0.9
"""Share of values from which a column is called one of numbers or dates, but for the others."""
REMEDY = "Correct these rows, or make them missing."
_OTHER_DATE = re.compile(
    r"\s*(\d{1,2}([./-])\d{1,2}\2(\d{4}|\d{2})|\d{4}([./])\d{1,2}\4\d{1,2}|\d{4}[-/](0[1-9]|1[0-2]))"
    r"([ T]\d{1,2}:\d{2}.*)?\s*"
)
"""A date that is not ISO 8601: day or month first, with other marks, or without a day."""
_SIGN = r"(?:[A-Z]{0,3}[$€£¥₹]|CHF|EUR|USD|GBP|JPY)"
_SPACES = r"'\u2019 \u00a0\u202f"
_BODY = rf"(?:\d{{1,3}}(?:[,{_SPACES}]\d{{3}})+(?:\.\d+)?|\d{{1,3}}(?:[.{_SPACES}]\d{{3}})+(?:,\d+)?|\d+(?:[.,]\d+)?)"
_UNIT = r"(?:%|‰|°[CF]?|[kmc]?m[²2³3]?|k?g|lbs?|ft|sq\.? ?ft|sqm|m?l|km/h|mph|mpg|hp|kW|cc|k?Wh|min|hrs?|h|s)"
_OTHER_NUMBER = re.compile(rf"\s*[+-]?\s?{_SIGN}?\s?[+-]?{_BODY}\s?(?:{_SIGN}|{_UNIT})?\s*")
"""A number with a separator of thousands, a decimal comma, a currency or a unit."""


def spelling_hint(
    name: str, every: Sequence[Any], numbers: Mapping[str, float | None], has_codes: bool, distinct: bool
) -> str | None:
    """Return a message on a column of text that is read as categories, or ``None``.

    Parameters
    ----------
    name : str
        Name of the column in quotes.
    every : sequence
        Its values, also missing ones.
    numbers : mapping of str to float or None
        Each distinct text as a number, if it is one.
    has_codes : bool
        Whether it has codes like 00501, which are no numbers.
    distinct : bool
        Whether ``every`` has each value once, so that positions are no rows.
    """
    text = list(numbers)
    known = [v for v in every if isinstance(v, (str, Real)) and v == v]
    said = f"X column {name} is read as categories"
    if _share(text, _OTHER_DATE.fullmatch) >= MOSTLY and len(text) > 1:
        return (
            f"{said}, but looks like dates that are not ISO 8601, like {text[0]!r}. Convert it: "
            "pandas.to_datetime(X[c], format='%d/%m/%Y'), or polars' str.to_date('%d/%m/%Y')."
        )
    if MOSTLY <= _share(known, is_iso_date) < 1.0:
        return f"{said}, because of {_strange(every, known, is_iso_date, distinct)} are dates. {REMEDY}"
    if has_codes:
        return None

    def is_number(value: Any) -> bool:
        return numbers[value] is not None if isinstance(value, str) else True

    if MOSTLY <= _share(known, is_number) < 1.0:
        return f"{said}, because of {_strange(every, known, is_number, distinct)} are numbers. {REMEDY}"
    forms = [t for t in text if numbers[t] is None and _OTHER_NUMBER.fullmatch(t)]
    others = sum(numbers[t] is None for t in text) - len(forms)
    if forms and len(text) > 1 and others <= (1.0 - MOSTLY) * len(text):
        return (
            f"{said}, but looks like numbers in a form that is not read, like {forms[0]!r}. Convert it: remove signs "
            "and units, and write a decimal point."
        )
    return None


def _share(values: Sequence[Any], test: Callable[[Any], Any]) -> float:
    return sum(bool(test(value)) for value in values) / max(1, len(values))


def _strange(every: Sequence[Any], known: Sequence[Any], test: Callable[[Any], Any], distinct: bool) -> str:
    """Name the first value that fails a test, and the share of those that pass."""
    row = next(i for i, v in enumerate(every) if isinstance(v, str) and not test(v))
    where, what = ("", "distinct values") if distinct else (f" in row {row}", "values")
    return f"text like {every[row]!r}{where}; {_share(known, test):.1%} of its {what}"
