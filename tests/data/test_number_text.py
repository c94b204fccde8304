"""Numbers as people write them: the style is found from the values, and what two styles read is decided and said."""

import math

import pyarrow as pa
import pytest

from diffgbm.data import number_text
from diffgbm.data.number_text import NumberStyle


def column(values):
    return pa.chunked_array([pa.array(values, pa.string())])


@pytest.mark.parametrize(
    ("values", "style", "numbers"),
    [
        (["1", "2.5", None, "-3", "1e5", ".5"], NumberStyle(), [1.0, 2.5, None, -3.0, 1e5, 0.5]),
        (["12,5", "1,234"], NumberStyle(","), [12.5, 1.234]),
        (["0,125", "7"], NumberStyle(","), [0.125, 7.0]),
        (["1.234,5", "12"], NumberStyle(",", "."), [1234.5, 12.0]),
        (["1,234,567", "1"], NumberStyle(".", ","), [1234567.0, 1.0]),
        (["1.234.567", "1"], NumberStyle(",", "."), [1234567.0, 1.0]),
        (["1 234,5", "12,0"], NumberStyle(",", " "), [1234.5, 12.0]),
        (["1'234.5", "2"], NumberStyle(".", "'"), [1234.5, 2.0]),
        (["$1,200.50", "$3", "7"], NumberStyle(".", ",", "$"), [1200.5, 3.0, 7.0]),
        (["€ 1.200", "5 €", "-1.300.000 €"], NumberStyle(",", ".", "€"), [1200.0, 5.0, -1.3e6]),
        (["-$5", "$-6", "($7)"], NumberStyle(unit="$"), [-5.0, -6.0, -7.0]),
        (["12%", "13.5 %"], NumberStyle(unit="%"), [12.0, 13.5]),
        (["120 km", "95km"], NumberStyle(unit="km"), [120.0, 95.0]),
        (["(1234)", "\u22125"], NumberStyle(), [-1234.0, -5.0]),
        (["1", "inf", "-Infinity"] + ["2"] * 60, NumberStyle(), [1.0, math.inf, -math.inf] + [2.0] * 60),
    ],
)
def test_a_style_is_found_and_read(values, style, numbers):
    found = number_text.evidence(column(values))
    assert number_text.decided(found, None, ",", True) == (style, "")
    assert number_text.parsed(column(values), style).to_pylist() == numbers


@pytest.mark.parametrize(
    "values",
    [
        ["Zug", "Bern"],
        ["12%", "13"],  # per cent or not
        ["$5", "€6"],
        ["5 km", "6 mi"],
        ["12A", "12B"],
        ["Zone 1", "Zone 2"],
        ["1.2k", "1.3M"],
        ["2020-01-05", "2020-01-06"],
        ["1.2.3", "1.2.4"],
        [None, None],
    ],
)
def test_other_text_is_no_number(values):
    assert number_text.evidence(column(values)) is None


def test_a_comma_before_three_digits_is_decided_by_the_column_then_the_file():
    found = number_text.evidence(column(["1,234", "567"]))
    assert found.ambiguous == "1,234"
    assert found.decimal is None
    thousands, note = number_text.decided(found, None, ",", True)
    assert thousands == NumberStyle(".", ",")
    assert note == "'1,234' is read as 1234; --decimal , reads it otherwise"
    # the decimal mark of the other columns, a separator that avoids the comma, a large number without a comma
    assert number_text.decided(found, ",", ",", True)[0] == NumberStyle(",")
    assert number_text.decided(found, None, ";", True)[0] == NumberStyle(",")
    assert number_text.decided(found, None, ",", False)[0] == NumberStyle(",")
    assert not number_text.grouped_by_size(column(["1,234", "5678"]), ",")
    assert number_text.grouped_by_size(column(["1,234", "567"]), ",")


def test_a_point_before_three_digits_is_a_decimal_mark_unless_the_file_says_otherwise():
    found = number_text.evidence(column(["1.234", "5.678"]))
    assert number_text.decided(found, None, ",", True) == (NumberStyle(), "")
    assert number_text.decided(found, ",", ";", True)[0] == NumberStyle(",", ".")


def test_whole_numbers_prove_no_decimal_mark():
    found = number_text.evidence(column(["12", "1234"]))
    assert found.decimal is None
    assert number_text.decided(found, ",", ";", False) == (NumberStyle(","), "")
    proven = number_text.evidence(column(["1,5"]))
    assert number_text.styles_of([found, None, proven]) == ","
    assert number_text.styles_of([number_text.evidence(column(["1.5"])), proven]) is None


def test_a_few_values_may_be_something_else():
    values = ["5"] * 39 + ["5 km"]
    found = number_text.evidence(column(values))
    assert found.unit == ""
    assert found.share == 39 / 40
    assert number_text.parsed(column(values), NumberStyle()).to_pylist() == [5.0] * 39 + [None]
    assert number_text.evidence(column(values[-10:])) is None


def test_codes_have_leading_zeros():
    assert number_text.has_leading_zeros(column(["00501", "12345"]))
    assert not number_text.has_leading_zeros(column(["0", "0.5", "10"]))


@pytest.mark.parametrize(("unit", "is_one"), [("$", True), ("US$", True), ("CHF", True), ("km", False), ("%", False)])
def test_currencies(unit, is_one):
    assert number_text.is_currency(unit) is is_one
