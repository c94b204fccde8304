"""Novelty and epistemic share in a report, with models that have an answer and models that have none."""

import numpy as np
import pytest

from diffgbm import DiffGBM, report
from diffgbm.reporting.row_insights import MOST_ROWS, RowInsights, row_insights
from diffgbm.reporting.rows import read_rows
from tests.conftest import tiny, toy
from tests.reporting.models import data_of


@pytest.fixture(scope="module")
def bags() -> DiffGBM:
    return tiny(n_bags=2).fit(*toy(200))


def test_a_report_shows_novelty_and_epistemic_share(bags: DiffGBM) -> None:
    X, y = toy(60, seed=1)
    X[:3] = 50.0
    html = report(bags, X, y).html
    table = data_of(html)["responses"][0]["table"]
    assert len(table["novelty"]) == len(table["epistemic"]) == 60
    assert max(table["novelty"][:3]) < 0.02
    assert all(0.0 <= share <= 1.0 for share in table["epistemic"])
    assert '<th scope="col">novelty</th>' in html
    assert "3 of 60 rows (5.0%) are unlike the training rows" in html
    assert "More training rows would remove about" in html


def test_one_bag_has_no_epistemic_share() -> None:
    X, y = toy(120)
    html = report(tiny().fit(X, y), X, y).html
    assert '<th scope="col">epistemic</th>' not in html
    assert '<th scope="col">novelty</th>' in html


def test_long_tables_have_some_shares(bags: DiffGBM) -> None:
    X, _ = toy(MOST_ROWS + 50, seed=2)
    found = row_insights(bags, read_rows(bags, X), seed=0)
    assert found.share is not None
    assert np.isnan(found.share).sum() == 50
    assert f"median of {MOST_ROWS} rows" in found.sentence(0)


def test_a_model_without_answers_says_nothing() -> None:
    assert RowInsights(None, None).sentence(0) == ""
