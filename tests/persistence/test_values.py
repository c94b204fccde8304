"""Values in JSON: plain values are written, anything else and wrong values are refused with the name of the field."""

import numpy as np
import pytest

from diffgbm.persistence import values


def test_plain_values_are_numbers_text_lists_and_dicts():
    value = {"a": (1, 2.5), "b": np.arange(2), "c": np.float64(0.5), "d": None, "e": [True, "x"]}
    assert values.plain(value, "params") == {"a": [1, 2.5], "b": [0, 1], "c": 0.5, "d": None, "e": [True, "x"]}


@pytest.mark.parametrize(
    ("value", "where"), [({"a": [1, {2}]}, r"params\.a\[1\] is a set"), ({1: 2}, "params is a dict"), (print, "params")]
)
def test_other_values_are_refused_by_name(value, where):
    with pytest.raises(TypeError, match=where):
        values.plain(value, "params")


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (lambda s: values.of_type(s, "a", str), "text"),
        (lambda s: values.mapping(s, "a"), {"b": 1}),
        (lambda s: values.one_of(s, "a", ("x", "y")), "y"),
        (lambda s: values.count(s, "a"), 3),
        (lambda s: values.list_of(s, "a", str, 2), ["x", "y"]),
        (lambda s: values.number(s, "a"), 0.5),
    ],
)
def test_right_values_are_returned(read, value):
    assert read({"a": value}) == value


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (lambda s: values.of_type(s, "a", str), 3),
        (lambda s: values.mapping(s, "a"), []),
        (lambda s: values.one_of(s, "a", ("x", "y")), "z"),
        (lambda s: values.one_of(s, "a", ("x", "y")), 3),
        (lambda s: values.count(s, "a"), 0),
        (lambda s: values.count(s, "a"), True),
        (lambda s: values.count(s, "a"), 2**31),
        (lambda s: values.list_of(s, "a", str, 2), ["x"]),
        (lambda s: values.list_of(s, "a", str), ["x", 1]),
        (lambda s: values.numbers(s, "a"), [1.0, float("nan")]),
        (lambda s: values.number(s, "a"), "1"),
        (lambda s: values.positions(s, "a", 3), [0, 0]),
        (lambda s: values.positions(s, "a", 3), [3]),
        (lambda s: values.positions(s, "a", 3), [True]),
    ],
)
def test_wrong_values_are_refused_with_the_name_of_the_field(read, wrong):
    with pytest.raises((TypeError, ValueError), match=r"\ba\b"):
        read({"a": wrong})


def test_a_missing_field_raises_a_key_error():
    with pytest.raises(KeyError, match="a"):
        values.numbers({}, "a")


@pytest.mark.parametrize(("names", "n"), [(["a", "a"], 2), (["a"], 2), ([1, 2], 2)])
def test_names_must_be_distinct_text_for_each_column(names, n):
    with pytest.raises((TypeError, ValueError), match="names"):
        values.names_of({"names": names}, n)
    assert values.names_of({"names": None}, n) is None
    assert values.names_of({"names": ["a", "b"]}, 2) == ("a", "b")


def test_positions_and_numbers_are_arrays():
    np.testing.assert_array_equal(values.positions({"a": [2, 0]}, "a", 3), [2, 0])
    np.testing.assert_array_equal(values.numbers({"a": [2, 0.5]}, "a", 2), [2.0, 0.5])
