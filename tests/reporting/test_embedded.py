"""The data of the script: all rows, packed densities, and nothing that ends a script element."""

import json

import numpy as np

import diffgbm
from diffgbm.reporting import embedded
from tests.conftest import toy
from tests.reporting.models import data_of


def unpacked(text):
    digits = [embedded.ALPHABET.index(c) for c in text]
    return np.array([64 * a + b for a, b in zip(digits[::2], digits[1::2], strict=True)]) / 4095


def test_json_cannot_end_its_script():
    text = embedded.as_json({"a": "</script><script>&\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><script>&\u2028"}


def test_packed_numbers():
    values = np.linspace(0.0, 1.0, 1001)
    np.testing.assert_allclose(unpacked(embedded.packed(values)), values, atol=0.5 / 4095 + 1e-12)
    assert len(embedded.packed(values)) == 2 * len(values)


def test_numbers_of_the_table():
    assert embedded._rounded(np.array([5e-324, 1.23456789, -2.0, 1e-9])) == [0.0, 1.234568, -2.0, 1e-9]
    assert embedded._rounded(np.zeros(2)) == [0.0, 0.0]


def test_all_rows_are_in_the_table(known_facts):
    data = json.loads(embedded.script_data(known_facts))
    response, rows = data["responses"][0], known_facts.responses[0].rows
    assert data["count"] == data["total"] == len(rows) == 3000
    assert data["rows"] is data["labels"] is None
    np.testing.assert_allclose(response["table"]["observed"], rows.y, rtol=1e-6)
    np.testing.assert_allclose(response["table"]["upper"], rows.ends[:, 1], rtol=1e-6)
    assert len(response["densities"]) == len(data["drawn"]) == 30
    # 60 bytes for each row, and 500 for each density
    assert len(embedded.script_data(known_facts)) < 80 * 3000 + 600 * 30


def test_a_density_is_the_smooth_one(known_facts):
    shown = known_facts.responses[0].shown[0]
    stored = json.loads(embedded.script_data(known_facts))["responses"][0]["densities"][str(shown.position + 1)]
    low, high = stored["range"]
    np.testing.assert_allclose(low + (high - low) * unpacked(stored["x"]), shown.picture.grid, atol=(high - low) / 4000)
    density = stored["peak"] * unpacked(stored["y"])
    np.testing.assert_allclose(density, shown.picture.density, atol=stored["peak"] / 4000)


def test_features_are_those_of_the_rows_with_a_density(mixed):
    _, X, _, report = mixed
    data = data_of(report.html)
    constant = next(column for column in data["columns"].values() if column["name"] == "constant")
    assert constant["values"] == ["1"] * len(data["drawn"])
    assert len(data["drawn"]) == 20
    assert len(data["labels"]) == len(X)


def test_long_tables_keep_the_named_rows(flow_model, monkeypatch):
    monkeypatch.setattr(embedded, "MOST_ROWS", 40)
    X, y = toy()
    report = diffgbm.report(flow_model, X, y, rows_shown=8)
    data = data_of(report.html)
    assert data["count"] == len(data["rows"]) == len(data["responses"][0]["table"]["crps"]) == 40
    assert data["total"] == 120
    assert {position + 1 for position in report.facts.responses[0].named.values()} <= set(data["rows"])
    assert set(data["drawn"]) <= set(data["rows"])
