"""Numbers as people write them: decimal comma, thousands separators, currency and per cent signs, units.

A column has one style. It is found from all its values: what only one style can read decides. ``1,234`` fits two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diffgbm._util.optional import need

FEW = 0.05
"""Share of values that may not fit the style of a column of numbers; their rows are named."""
LOOKED_AT = 1000
"""Values at the beginning of a column that tell whether the others need a closer look."""
STYLES = ((".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
"""Decimal marks and thousands separators, the plainest first."""

_CODES = (
    *("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "NZD", "SEK", "NOK"),
    *("DKK", "PLN", "CZK", "HUF", "RUB", "TRY", "BRL", "MXN", "ZAR", "SGD", "HKD", "KRW"),
)
_CURRENCY = rf"(?:[A-Z]{{0,3}}\p{{Sc}}|{'|'.join(_CODES)}|Rs\.?|Fr\.?)"
_UNIT = r"(?:[\p{L}\p{Sc}%‰°][\p{L}\p{Sc}%‰°/²³0-9. ]{0,20})"
_PARTS = (
    rf"^(?P<sign>[+-]?)[ ]?(?P<before>{_CURRENCY}?)[ ]?(?P<inner>[+-]?)"
    rf"(?P<body>(?:[0-9](?:[0-9., ']*[0-9.,])?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?)[ ]?(?P<after>{_UNIT}?)$"
)


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal, thousands : str
        Decimal mark, and separator of thousands or nothing.
    unit : str
        Sign or word beside the numbers, or nothing.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def reads(self, other: NumberStyle) -> bool:
        """Whether numbers of another style mean the same in this one."""
        return self.decimal == other.decimal


@dataclass(frozen=True)
class NumberEvidence:
    """What the values of a column say about its style.

    Attributes
    ----------
    styles : tuple of (str, str)
        Styles (decimal, thousands) that read as many values as any other, the plainest first.
    unit : str
        The unit of most values.
    share : float
        Share of the values that they read.
    ambiguous : str
        A value that two of these styles read differently, or nothing.
    marks : str
        The characters of ``.,' `` that occur in the values.
    """

    styles: tuple[tuple[str, str], ...]
    unit: str
    share: float
    ambiguous: str
    marks: str

    @property
    def decimal(self) -> str | None:
        """The decimal mark, if the values prove it."""
        decimals = {decimal for decimal, _ in self.styles}
        return decimals.pop() if len(decimals) == 1 and self.marks else None

    def style(self, decimal: str | None) -> NumberStyle:
        """Return the plainest style, of those with this decimal mark if there are some."""
        fitting = [style for style in self.styles if decimal in (None, style[0])] or self.styles
        return NumberStyle(*fitting[0], self.unit)


def evidence(text: Any) -> NumberEvidence | None:
    """Find the styles that read most of the values (n,) of a column of text; ``None`` if it holds no numbers.

    Missing values are null already. Values are counted as often as they occur.
    """
    compute = need("pyarrow.compute")
    total = len(text) - text.null_count
    if total == 0:
        return None
    if (plain := _plain_evidence(text)) is not None:
        return plain
    if not _may_be_numbers(text):
        return None
    parts = _split(text)
    unit, in_unit = _most_common_unit(parts)
    bodies = compute.struct_field(parts, "body").filter(in_unit)
    if len(bodies) < (1.0 - FEW) * total:
        return None
    counts = [_count(bodies, _pattern(*style)) for style in STYLES]
    best = max(counts)
    if best == 0 or best < (1.0 - FEW) * total:
        return None
    marks = "".join(mark for mark in ".,' " if compute.any(compute.match_substring(bodies, mark)).as_py())
    styles = [style for style, count in zip(STYLES, counts, strict=True) if count == best]
    # a separator of thousands that never occurs says nothing
    told = [style for style in styles if style[1] == "" or style[1] in marks]
    ambiguous = ""
    for mark in ",.":
        as_decimal = (mark, "") in told
        as_thousands = any(style[1] == mark for style in told)
        if mark in marks and as_decimal and as_thousands:
            hit = compute.match_substring(bodies, mark)
            ambiguous = bodies.filter(hit)[0].as_py()
    return NumberEvidence(tuple(told), unit, best / total, ambiguous, marks)


def _plain_evidence(text: Any) -> NumberEvidence | None:
    """Return what numbers as programs write them say; ``None`` if there are others, or if they may be grouped."""
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    try:
        text.cast(arrow.float64())
    except arrow.ArrowInvalid:
        return None
    pointed = compute.match_substring(text, ".")
    if not compute.any(pointed).as_py():
        return NumberEvidence(STYLES[:2], "", 1.0, "", "")
    some = compute.drop_null(text.filter(pointed).slice(0, LOOKED_AT))
    if _count(some, r"^[+-]?[1-9][0-9]{0,2}[.][0-9]{3}$") == len(some):
        return None
    return NumberEvidence(STYLES[:1], "", 1.0, "", ".")


def _may_be_numbers(text: Any) -> bool:
    """Whether numbers are among the first values; looking at few saves time for columns of words."""
    some = need("pyarrow.compute").drop_null(text.slice(0, LOOKED_AT))
    return len(some) == 0 or _split(some).null_count < len(some)


def grouped_by_size(text: Any, mark: str) -> bool:
    """Whether ``mark`` stands in all numbers of four digits and more: a decimal mark would be missing in some."""
    compute = need("pyarrow.compute")
    bodies = compute.struct_field(_split(text), "body")
    return not _count(bodies, r"^[0-9]{4,}$") and bool(_count(bodies, rf"^[1-9][0-9]{{0,2}}[{mark}][0-9]{{3}}$"))


def parsed(text: Any, style: NumberStyle) -> Any:
    """Read text (n,) as float64; what is missing or does not fit the style is null."""
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    if style == NumberStyle():
        try:
            return text.cast(arrow.float64())
        except arrow.ArrowInvalid:
            pass
    parts = _split(text)
    fits = _has_unit(parts, style.unit)
    body = compute.if_else(fits, compute.struct_field(parts, "body"), None)
    body = compute.if_else(compute.match_substring_regex(body, _pattern(style.decimal, style.thousands)), body, None)
    if style.thousands:
        body = compute.replace_substring(body, style.thousands, "")
    if style.decimal != ".":
        body = compute.replace_substring(body, style.decimal, ".")
    numbers = body.cast(arrow.float64())
    signs = compute.binary_join_element_wise(*(compute.struct_field(parts, name) for name in ("sign", "inner")), "")
    numbers = compute.if_else(compute.equal(signs, "-"), compute.negate(numbers), numbers)
    return _with_words(text, numbers)


def _with_words(text: Any, numbers: Any) -> Any:
    """Add infinity, which the pattern of numbers does not hold."""
    compute = need("pyarrow.compute")
    infinite = compute.match_substring_regex(text, r"(?i)^[+-]?inf(inity)?$")
    if not compute.any(infinite).as_py():
        return numbers
    value = compute.if_else(compute.starts_with(text, "-"), float("-inf"), float("inf"))
    return compute.if_else(infinite, value, numbers)


def has_leading_zeros(text: Any) -> bool:
    """Whether whole numbers are written with leading zeros, as codes are: ``00501``."""
    compute = need("pyarrow.compute")
    return bool(compute.any(compute.match_substring_regex(text, r"^0[0-9]+$")).as_py())


def _pattern(decimal: str, thousands: str) -> str:
    whole = r"[0-9]+" if not thousands else rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:[{thousands}][0-9]{{3}})+)"
    return rf"^(?:{whole}(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+)(?:[eE][+-]?[0-9]+)?$"


def _split(text: Any) -> Any:
    """Split into sign, currency before, number and unit after; null where there is no number."""
    compute = need("pyarrow.compute")
    plain = compute.replace_substring_regex(text, r"[\x{00a0}\x{202f}\x{2009}]", " ")
    plain = compute.replace_substring_regex(plain, r"[\x{2212}\x{2013}]", "-")
    plain = compute.replace_substring_regex(plain, r"[\x{2019}\x{00b4}`]", "'")
    # accountants write a negative number in brackets
    plain = compute.replace_substring_regex(plain, r"^\((.*)\)$", r"-\1")
    parts = compute.extract_regex(plain, _PARTS)
    return parts.combine_chunks() if hasattr(parts, "combine_chunks") else parts


def _units(parts: Any) -> Any:
    compute = need("pyarrow.compute")
    before, after = (compute.struct_field(parts, name) for name in ("before", "after"))
    return compute.utf8_trim_whitespace(compute.binary_join_element_wise(before, after, ""))


def _most_common_unit(parts: Any) -> tuple[str, Any]:
    """Return the unit of most values, and which values have it; a currency may be left out."""
    compute = need("pyarrow.compute")
    found = compute.value_counts(_units(parts)).to_pylist()
    counts = {item["values"]: item["counts"] for item in found if item["values"] is not None}
    if not counts:
        return "", compute.is_valid(parts)
    unit = max(counts, key=lambda name: (counts[name], name))
    named = [name for name in counts if name]
    if unit == "" and len(named) == 1 and is_currency(named[0]) and counts[named[0]] > FEW * sum(counts.values()):
        unit = named[0]
    return unit, _has_unit(parts, unit)


def _has_unit(parts: Any, unit: str) -> Any:
    compute = need("pyarrow.compute")
    units = _units(parts)
    fits = compute.equal(units, unit)
    if unit and is_currency(unit):
        fits = compute.or_(fits, compute.equal(units, ""))
    return compute.fill_null(fits, False)


def is_currency(unit: str) -> bool:
    """Whether a unit is the sign or the code of a currency."""
    compute, arrow = need("pyarrow.compute"), need("pyarrow")
    return bool(compute.match_substring_regex(arrow.array([unit]), rf"^{_CURRENCY}$")[0].as_py())


def _count(values: Any, pattern: str) -> int:
    compute = need("pyarrow.compute")
    return int(compute.sum(compute.match_substring_regex(values, pattern)).as_py() or 0)


def decided(found: NumberEvidence, decimal: str | None, separator: str, by_size: bool) -> tuple[NumberStyle, str]:
    """Choose between the styles that the values allow; return it with a note if they allow two meanings.

    Parameters
    ----------
    found : NumberEvidence
        What the values say.
    decimal : str or None
        The decimal mark of the file's other columns, or the user's.
    separator : str
        Separator of the file's columns.
    by_size : bool
        ``grouped_by_size`` of the ambiguous mark.
    """
    if not found.ambiguous:
        return found.style(found.decimal or decimal), ""
    mark = next(mark for mark in ",." if mark in found.ambiguous)
    other = {",": ".", ".": ","}[mark]
    if decimal is None:
        # a point is a decimal mark unless something speaks against it; a comma if the file avoids it as a separator
        # or if some numbers of four digits have none
        as_decimal = mark == "." or separator == ";" or not by_size
        decimal = mark if as_decimal else other
    style = found.style(decimal)
    if mark == decimal == "." and separator != ";":
        return style, ""
    meaning = f"{found.ambiguous!r} is read as {_shown(found.ambiguous, style)}"
    return style, f"{meaning}; --decimal {other if decimal == mark else mark} reads it otherwise"


def _shown(value: str, style: NumberStyle) -> str:
    number = value.replace(style.thousands, "") if style.thousands else value
    return number.replace(style.decimal, ".")


def styles_of(columns: Sequence[NumberEvidence | None]) -> str | None:
    """Return the decimal mark that the columns of a file prove, if they agree."""
    proven = {found.decimal for found in columns if found is not None} - {None}
    return proven.pop() if len(proven) == 1 else None
