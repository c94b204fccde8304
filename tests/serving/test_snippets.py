import contextlib
import io
import warnings

import numpy as np
import pytest

from diffgbm.serving.explorer import Explorer
from diffgbm.serving.service import Service
from tests.conftest import tiny, toy
from tests.serving.models import ROW, everything, fitted


def numbers(explorer, row, monkeypatch, folder, **asked):
    """What the page shows, and what its Python gives."""
    monkeypatch.chdir(folder)
    [shown] = explorer.predict({"rows": [row], **asked})["predictions"]
    names = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("ignore")
        exec(explorer.python({"row": row, **asked})["code"], names)
    assert printed.getvalue()
    found = (names["mean"][0], *names["interval"][0], *([names["probability"][0]] if "probability" in names else []))
    expected = (shown["mean"], *shown["interval"], *([shown["above"]] if shown["above"] is not None else []))
    return found, expected


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"size": None, "town": None, "floor": None, "built": None, "seen": None, "open": None, "opens": None},
        {"size": 1e308, "rooms": -3, "garden": False, "town": "<b>Genève</b>", "open": 1e-7, "opens": "00:00"},
        {"seen": "2021-01-01T23:59:59-08:00", "built": "2020-02-29T12:34:56", "town": "quo'te\n\"new\\"},
    ],
)
def test_the_python_gives_the_numbers_of_the_page(change, model, monkeypatch, tmp_path):
    model.save(tmp_path / "model 'x'.dgbm")
    explorer = Explorer(Service(model), "model 'x'.dgbm")
    found, expected = numbers(explorer, {**ROW, **change}, monkeypatch, tmp_path, coverage=0.8, threshold=612.5)
    assert found == expected
    assert len(found) == 4


def test_without_a_threshold_there_is_no_probability(model, monkeypatch, tmp_path):
    model.save(tmp_path / "m.dgbm")
    found, expected = numbers(Explorer(Service(model), "m.dgbm"), ROW, monkeypatch, tmp_path)
    assert found == expected
    assert len(found) == 3


def test_several_responses_and_names_that_are_code(monkeypatch, tmp_path):
    X = everything()[["size", "town"]].rename(columns={"size": "a'];\nimport os #"})
    y = np.random.default_rng(0).normal(size=(len(X), 2))
    model = tiny().fit(X, y)
    model.save(tmp_path / "m.dgbm")
    explorer = Explorer(Service(model), "m.dgbm")
    row = {"a'];\nimport os #": 50.0, "town": "Zug"}
    for target in ("y0", "y1"):
        found, expected = numbers(explorer, row, monkeypatch, tmp_path, target=target, threshold=0.1)
        assert found == expected


def test_models_of_arrays(monkeypatch, tmp_path):
    X, y = toy()
    model = tiny().fit(X, y)
    model.save(tmp_path / "m.dgbm")
    explorer = Explorer(Service(model), "m.dgbm")
    for row in ({"0": 0.5, "1": None, "2": 1e-9}, {"0": 0.25, "1": 3, "2": -2.0}):
        found, expected = numbers(explorer, row, monkeypatch, tmp_path, threshold=1.0)
        assert found == expected


def test_trusted_types_are_named():
    explorer = Explorer(Service(fitted(everything()[["size", "town"]])), "m.dgbm", trusted=("my.Regressor",))
    code = explorer.python({"row": {"size": 3.0, "town": "Zug"}})["code"]
    assert "diffgbm.load('m.dgbm', trusted=['my.Regressor'])" in code
