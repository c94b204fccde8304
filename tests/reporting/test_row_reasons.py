"""Shapley values of chosen rows in a report."""

import numpy as np
import pandas as pd
import pytest

from diffgbm import ConformalDiffGBM, DiffGBM, report
from diffgbm.reporting.row_reasons import MOST_FEATURES, row_reasons
from diffgbm.reporting.rows import read_rows
from tests.conftest import tiny, toy


@pytest.fixture(scope="module")
def model() -> DiffGBM:
    return tiny("flow").fit(*toy(200))


def test_parts_add_up_to_the_prediction(model: DiffGBM) -> None:
    X, _ = toy(40, seed=1)
    found = row_reasons(model, read_rows(model, X), [3, 7, 3], [11], seed=0)
    assert found is not None
    assert (found.positions, found.chosen) == ((3, 7, 11), (11,))
    dist = model.predict_distribution(X[[3, 7, 11]])
    ends = dist.interval(0.9)
    np.testing.assert_allclose(found.average_median + found.median.sum(axis=1), dist.median()[:, None], atol=1e-6)
    np.testing.assert_allclose(found.average_width + found.width.sum(axis=1), np.diff(ends, axis=1), atol=1e-6)


def test_a_report_explains_named_and_chosen_rows(model: DiffGBM) -> None:
    X, y = toy(40, seed=1)
    made = report(model, X, y, explained=[5])
    html = made.html
    assert "Why these predictions" in html
    assert "Widest row: row" in html
    named = made.facts.responses[0].named.values()
    assert ("row 6" if 5 not in named else "row: row 6") in html
    with pytest.raises(ValueError, match="explained must hold positions of rows from 0 to 39; got"):
        report(model, X, y, explained=[40])


def test_values_and_names_of_features_are_escaped() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"<b>": rng.choice(["<i>", "&"], 120), "z": rng.uniform(size=120)})
    html = report(tiny("flow").fit(X, X["z"]), X, X["z"]).html
    assert "&lt;b&gt; = " in html
    assert "<b> = " not in html


def test_several_responses_have_their_own_parts() -> None:
    X, y = toy(120)
    both = tiny("flow").fit(X, np.column_stack([y, -y]))
    found = row_reasons(both, read_rows(both, X), [0], [], seed=0)
    assert found is not None
    assert found.median.shape == (1, X.shape[1], 2)


def test_wide_tables_are_not_explained_and_folds_are() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, MOST_FEATURES + 1))
    wide = tiny("flow", residualize="off").fit(X, X[:, 0])
    assert row_reasons(wide, read_rows(wide, X), [0], [], seed=0) is None
    X, y = toy(200)
    folds = ConformalDiffGBM(tiny("flow"), method="cv", cv=2, seed=0).fit(X, y)
    assert row_reasons(folds, read_rows(folds, X), [0], [], seed=0) is not None
