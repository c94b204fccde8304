"""Tables of every kind are read alike."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import diffgbm
from diffgbm.reporting.rows import read_observations, read_rows
from tests.conftest import tiny, toy


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_every_kind_of_table_gives_the_same_numbers(kind, flow_model):
    X, y = toy()
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(7, 127))
    model = tiny().fit(frame, y)
    table = {"pandas": frame, "polars": pl.DataFrame(X, schema=list("cab")).select("b", "c", "a"), "array": X}[kind]
    if kind == "polars":
        table = pl.DataFrame(dict(zip("abc", X.T, strict=True))).select("c", "a", "b")
    if kind == "array":
        model = flow_model
    facts = diffgbm.report(model, table, y, n_repeats=2).facts
    expected = diffgbm.report(flow_model, X, y, n_repeats=2).facts
    np.testing.assert_allclose(facts.importance.median, expected.importance.median)
    np.testing.assert_allclose(facts.importance.iqr, expected.importance.iqr)
    assert facts.responses[0].model == expected.responses[0].model


@pytest.fixture(scope="module")
def frame_rows():
    frame = pd.DataFrame(
        {"a": [1.5, np.nan, 3.0] * 30, "k": pd.Categorical(["u", "v", None] * 30)}, index=np.arange(90) + 5
    )
    return frame, read_rows(tiny().fit(frame, np.arange(90.0)), frame)


def test_values_are_written_as_the_model_reads_them(frame_rows):
    _, rows = frame_rows
    assert [rows.text(i, 0) for i in range(3)] == ["1.5", "missing", "3"]
    assert [rows.text(i, 1) for i in range(3)] == ["u", "v", "missing or new"]
    assert rows.names == ("a", "k")
    assert rows.labels[:2] == ("5", "6")


def test_one_feature_is_permuted(frame_rows):
    frame, rows = frame_rows
    positions, sources = np.tile(np.arange(3), (2, 1)), np.array([[2, 1, 0], [1, 0, 2]])
    moved = rows.permuted(positions, sources, [0, 1])
    assert list(moved["k"][3:5]) == ["v", "u"]
    np.testing.assert_array_equal(moved["a"][3:], frame["a"][:3])
    np.testing.assert_array_equal(moved["a"][:3], frame["a"].iloc[[2, 1, 0]])
    assert list(moved["k"][:2]) == ["u", "v"]
    pd.testing.assert_frame_equal(rows.take(np.array([4, 2])), frame.iloc[[4, 2]])


def test_numbered_rows_have_no_labels(flow_model):
    X = toy(5)[0]
    assert read_rows(flow_model, X).labels is None
    assert read_rows(flow_model, pd.DataFrame(X)).labels is None
    assert read_rows(flow_model, X).names == ("column 0", "column 1", "column 2")


def test_labels_of_the_user_come_first(flow_model):
    X = toy(3)[0]
    assert read_rows(flow_model, X, ["007", 8, None]).labels == ("007", "8", "None")
    assert read_rows(flow_model, pd.DataFrame(X, index=[5, 6, 7]), iter("abc")).labels == ("a", "b", "c")
    with pytest.raises(ValueError, match="labels must hold one label for each of the 3 rows; got 2"):
        read_rows(flow_model, X, ["a", "b"])


def test_responses_are_read_in_the_order_of_the_model():
    X, y = toy(d=2)
    model = tiny().fit(X, pd.DataFrame(y, columns=["a", "b"]))
    swapped = pd.DataFrame(y[:, ::-1], columns=["b", "a"])
    np.testing.assert_array_equal(read_observations(model, swapped, len(y)), y)
    with pytest.raises(ValueError, match=r"y_train must hold 2 response\(s\) \(a, b\) for each of 3 rows"):
        read_observations(model, y, 3, "y_train")
