import json

import numpy as np
import pytest
from scipy.integrate import trapezoid

from diffgbm import ConformalDiffGBM
from diffgbm.serving.explorer import Explorer
from diffgbm.serving.problems import RequestError
from diffgbm.serving.service import Service
from diffgbm.serving.table_rows import read_rows
from tests.conftest import tiny, toy
from tests.serving.models import ROW, as_frame, everything, fitted, response


@pytest.fixture(scope="module")
def explorer(service):
    return Explorer(service, "houses.dgbm")


@pytest.fixture(scope="module")
def with_table(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "rows.parquet"
    X = everything()
    X.assign(size=X["size"] + 100.0, price=response(X)).to_parquet(path)
    model = fitted(X)
    return Explorer(Service(model), "m.dgbm", read_rows(path, model.fitted_models()[0].features, ["price"]))


def refused(function, asked):
    with pytest.raises(RequestError) as caught:
        function(asked)
    assert caught.value.status == 422
    return str(caught.value)


def test_the_page_gets_controls_and_a_row_to_start_with(explorer, model):
    facts = json.loads(json.dumps(explorer.facts(), allow_nan=False))
    kinds = {control["name"]: control["kind"] for control in facts["controls"]}
    assert kinds == {
        "size": "number",
        "rooms": "number",
        "garden": "flag",
        "town": "category",
        "floor": "category",
        "built": "date",
        "seen": "moment",
        "open": "number",
        "opens": "time",
        "unused": "unused",
    }
    assert facts["table"] is None
    [prediction] = explorer.predict({"rows": [facts["start"]]})["predictions"]
    # a typical row is like many training rows
    assert prediction["novelty"] > 0.5
    assert prediction["warnings"] == []


def test_a_row_is_predicted_as_python_does(explorer, model):
    [found] = explorer.predict({"rows": [ROW], "coverage": 0.8, "threshold": 500})["predictions"]
    X = as_frame([ROW])
    distribution = model.predict_distribution(X)
    assert found["mean"] == model.predict(X)[0]
    assert found["median"] == distribution.median()[0]
    assert found["interval"] == distribution.interval(0.8)[0].tolist()
    assert found["above"] == distribution.sf(500.0)[0]
    assert found["novelty"] == model.predict_novelty(X).iloc[0]
    grid, density = np.array(found["grid"]), np.array(found["density"])
    assert trapezoid(density, grid) == pytest.approx(1.0, abs=0.03)


def test_two_settings_have_their_own_warnings(explorer):
    first, second = explorer.predict({"rows": [ROW, {**ROW, "town": "new"}]})["predictions"]
    assert first["warnings"] == []
    assert "'town'" in second["warnings"][0]


def test_point_masses_have_the_probabilities_of_the_distribution():
    X = everything()[["size", "town"]]
    y = response(X).clip(lower=500.0)
    model = tiny(atoms=[500.0]).fit(X, y)
    explorer = Explorer(Service(model), "m")
    for size in (40.0, 80.0, 120.0):
        row = {"size": size, "town": "Bern"}
        [found] = explorer.predict({"rows": [row], "threshold": 500.0})["predictions"]
        assert found["atoms"][0] == 500.0
        assert found["masses"][0] + found["above"] == pytest.approx(1.0)


def test_intervals_are_the_calibrated_ones():
    X, y = toy(200)
    model = ConformalDiffGBM(tiny()).fit(X, y)
    explorer = Explorer(Service(model), "m")
    row = dict(zip("012", X[0].tolist(), strict=True))
    [found] = explorer.predict({"rows": [row], "coverage": 0.9})["predictions"]
    assert found["interval"] == model.predict_interval(X[:1], 0.9)[0].tolist()


@pytest.mark.parametrize("column", ["size", "rooms", "garden", "town", "floor", "built", "seen", "open"])
def test_a_fan_has_the_numbers_of_the_rows_along_it(explorer, column):
    fan = explorer.fan({"row": ROW, "column": column, "coverage": 0.9})
    assert len(fan["values"]) == len(fan["median"]) == len(fan["inner"]) == len(fan["outer"]) >= 2
    k = len(fan["values"]) // 2
    [one] = explorer.predict({"rows": [{**ROW, column: fan["values"][k]}], "coverage": 0.9})["predictions"]
    assert fan["outer"][k] == one["interval"]
    assert fan["median"][k] == one["median"]


def test_a_column_without_a_range_has_no_fan(explorer):
    assert explorer.fan({"row": ROW, "column": "opens"})["values"] == []


def test_rows_of_a_table_are_loaded_with_their_responses(with_table):
    facts = with_table.facts()
    assert facts["table"] == {"name": "rows.parquet", "rows": 160}
    found = with_table.row({"row": 5})
    X = everything()
    assert found["row"]["size"] == X["size"][5] + 100.0
    assert found["observed"] == {"price": response(X)[5]}
    with_table.predict({"rows": [found["row"]]})
    # sliders reach the values of the table
    size = next(control for control in facts["controls"] if control["name"] == "size")
    assert size["high"] >= X["size"].max() + 100.0 > 250.0
    assert size["low"] <= X["size"].min()


def test_tables_of_few_rows_leave_no_ranges():
    X, y = toy(12)
    explorer = Explorer(Service(tiny(residualize="off").fit(X, y)), "m")
    facts = explorer.facts()
    assert facts["start"] == {"0": None, "1": None, "2": None}
    [found] = explorer.predict({"rows": [facts["start"]]})["predictions"]
    assert found["novelty"] is None


@pytest.mark.parametrize(
    ("name", "asked", "words"),
    [
        ("predict", None, "object"),
        ("predict", {"rows": []}, "at most 2 rows"),
        ("predict", {"rows": [ROW] * 3}, "at most 2 rows"),
        ("predict", {"rows": [{**ROW, "size": "big"}]}, "'size' must be a number"),
        ("predict", {"rows": [ROW], "coverage": 1}, "coverage must lie"),
        ("predict", {"rows": [ROW], "coverage": "x"}, "coverage must lie"),
        ("predict", {"rows": [ROW], "threshold": 10**400}, "threshold must be a number"),
        ("predict", {"rows": [ROW], "target": ["price"]}, "target must be one of"),
        ("fan", {"row": ROW, "column": "nothing"}, "column must be"),
        ("fan", {"row": ROW, "column": ["size"]}, "column must be"),
        ("fan", {"row": [1], "column": "size"}, "object"),
        ("python", {"row": {"size": 1}}, "no column"),
        ("row", {"row": 0}, "There is no table"),
    ],
)
def test_wrong_questions_are_refused(explorer, name, asked, words):
    assert words in refused(getattr(explorer, name), asked)


@pytest.mark.parametrize("i", [-1, 160, 1.5, True, None, "a"])
def test_rows_that_are_not_there_are_refused(with_table, i):
    assert "0 to 159" in refused(with_table.row, {"row": i})
