"""Reports of every kind of model, their files and their errors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import diffgbm
from tests.auto.tiny_auto import LEAST, auto, small_trees  # noqa: F401  # fixtures
from tests.conftest import tiny, toy
from tests.reporting.models import data_of, without_cost


def test_the_same_seed_gives_the_same_report(flow_model):
    X, y = toy()
    first, again, other = (diffgbm.report(flow_model, X, y, rows_shown=10, n_repeats=1, seed=s).html for s in (0, 0, 1))
    assert without_cost(first) == without_cost(again) != without_cost(other)


def test_several_responses(two_responses):
    X, y = toy(d=2)
    report = diffgbm.report(two_responses, X, y, n_repeats=1, rows_shown=30)
    assert [r.name for r in report.facts.responses] == ["y0", "y1"]
    for j, name in enumerate(("y0", "y1")):
        assert f'id="response-{j}">{name}</h2>' in report.html
        assert f'id="densities-{j}"' in report.html
    assert [len(r["densities"]) for r in data_of(report.html)["responses"]] == [15, 15]
    # frames may have their responses in any order
    swapped = diffgbm.report(
        tiny().fit(X, pd.DataFrame(y, columns=["a", "b"])), X, pd.DataFrame(y[:, ::-1], columns=["b", "a"]), n_repeats=1
    )
    assert [r.model for r in swapped.facts.responses] == [r.model for r in report.facts.responses]


def test_automatic_fits_and_their_files(tmp_path):
    X, y = toy()
    model = auto(LEAST).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    pages = [diffgbm.report(m, X, y, n_repeats=1, seed=3).html for m in (model, diffgbm.load(tmp_path / "m.dgbm"))]
    assert without_cost(pages[0]) == without_cost(pages[1])
    assert "AutoDiffGBM" in pages[0]


def test_two_rows_are_enough(flow_model):
    X, y = toy()
    assert len(diffgbm.report(flow_model, X[:2], y[:2]).facts.rows) == 2


def test_files_are_complete_or_not_written(flow_model, tmp_path, monkeypatch):
    X, y = toy()
    path = tmp_path / "r.html"
    report = diffgbm.report(flow_model, X, y, path, n_repeats=1, fit_seconds=12.0)
    assert path.read_text("utf-8") == report.html
    assert "12 s" in report.html
    assert "srcdoc" in report._repr_html_()
    with pytest.raises(UnicodeEncodeError):
        replace(report, html="\ud800").save(path)
    assert path.read_text("utf-8") == report.html
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_its_representation_names_model_rows_and_scores(flow_model, two_responses):
    X, y = toy()
    report = diffgbm.report(flow_model, X, y, rows_shown=5)
    model = report.facts.responses[0].model
    assert repr(report).startswith("Report(DiffGBM on 120 rows; y: CRPS ")
    assert f"skill {100 * model.skill:.1f}%, 90% intervals cover {100 * model.coverage[0.9]:.1f}%)" in repr(report)
    several = diffgbm.report(two_responses, *toy(d=2), rows_shown=5)
    assert "y0: CRPS" in repr(several)
    assert "y1: CRPS" in repr(several)


def test_thresholds(flow_model, two_responses):
    X, y = toy()
    events = diffgbm.report(flow_model, X, y, thresholds=[0.5, 0.0], rows_shown=5).facts.responses[0].events
    assert [event.threshold for event in events] == [0.0, 0.5]
    report = diffgbm.report(two_responses, *toy(d=2), thresholds={"y1": [0.1]}, rows_shown=5)
    assert [len(r.events) for r in report.facts.responses] == [0, 1]
    with pytest.raises(ValueError, match="thresholds must map names of responses"):
        diffgbm.report(two_responses, *toy(d=2), thresholds=[0.1])
    with pytest.raises(ValueError, match="thresholds names z; the responses are y"):
        diffgbm.report(flow_model, X, y, thresholds={"z": [1.0]})
    with pytest.raises(ValueError, match="thresholds must be finite"):
        diffgbm.report(flow_model, X, y, thresholds=[np.nan])


def test_errors_name_the_argument(flow_model, two_responses, tmp_path):
    X, y = toy()
    with pytest.raises(TypeError, match=r"model must be a DiffGBM, .*; got LinearRegression"):
        diffgbm.report(LinearRegression(), X, y)
    with pytest.raises(ValueError, match="not fitted yet"):
        diffgbm.report(tiny(), X, y)
    with pytest.raises(ValueError, match="at least 2 rows; got 1"):
        diffgbm.report(flow_model, X[:1], y[:1])
    with pytest.raises(ValueError, match=r"y must hold 1 response\(s\) \(y\) for each of 120 rows; got shape \(7,\)"):
        diffgbm.report(flow_model, X, y[:7])
    with pytest.raises(ValueError, match=r"y must hold 2 response\(s\) \(y0, y1\)"):
        diffgbm.report(two_responses, X, y)
    with pytest.raises(ValueError, match="y_train must hold 1"):
        diffgbm.report(flow_model, X, y, y_train=np.zeros((9, 2)))
    with pytest.raises(ValueError, match="y must be finite"):
        diffgbm.report(flow_model, X, np.where(np.arange(120) == 3, np.nan, y))
    with pytest.raises(ValueError, match="expecting 3 features"):
        diffgbm.report(flow_model, X[:, :2], y)
    for name in ("importance_rows", "n_repeats", "rows_shown"):
        with pytest.raises(ValueError, match=f"{name} must be an integer >= "):
            diffgbm.report(flow_model, X, y, **{name: 0})
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        diffgbm.report(flow_model, X, y, tmp_path / "none" / "r.html")
