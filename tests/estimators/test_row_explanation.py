"""Shapley values through the estimators, with and without shap."""

import numpy as np
import pandas as pd
import pytest

from diffgbm import DiffGBM
from diffgbm.distributions import Distribution
from diffgbm.estimators.row_explanation import RowExplanation, question

SMALL = {"n_estimators": 30, "n_repeats": 8, "n_jobs": 1, "seed": 0}


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            "level": rng.uniform(size=n),
            "noise": rng.uniform(size=n),
            "idle": rng.uniform(size=n),
            "kind": rng.choice(["x", "y"], n),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
        }
    )
    y = 3.0 * X["level"] + (X["kind"] == "x") + (0.1 + X["noise"]) * rng.standard_normal(n)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def model(table: tuple[pd.DataFrame, np.ndarray]) -> DiffGBM:
    return DiffGBM.flow(**SMALL).fit(*table)


@pytest.fixture
def without_shap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffgbm.estimators.row_explanation.find_spec", lambda name: None)


@pytest.mark.usefixtures("without_shap")
@pytest.mark.parametrize("of", ["mean", "median", "std", "width", "quantile", lambda d: d.cdf(1.0)])
def test_values_add_up_to_the_difference_from_the_background(
    of: object, model: DiffGBM, table: tuple[pd.DataFrame, np.ndarray]
) -> None:
    X, _ = table
    found = model.explain_rows(X[:3], of=of, background=X[:12], max_evals=120)
    asked = question(of, 0.9)
    rows, base = asked(model.predict_distribution(X[:3])), asked(model.predict_distribution(X[:12]))
    assert isinstance(found, RowExplanation)
    assert found.values.shape == (3, 5)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, rows, atol=1e-6)
    np.testing.assert_allclose(found.base_values, base.mean(), atol=1e-9)


@pytest.mark.usefixtures("without_shap")
def test_what_moves_the_mean_and_what_widens() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1500, 3))  # moves the mean, widens, is idle
    y = 3.0 * X[:, 0] + (0.1 + 2.0 * X[:, 1]) * rng.standard_normal(len(X))
    noisy = DiffGBM.flow(**{**SMALL, "n_estimators": 60}).fit(X, y)
    mean, width = (
        np.abs(noisy.explain_rows(X[:20], of=of, background=X, max_evals=200).values).mean(axis=0)
        for of in ("mean", "width")
    )
    assert np.argmax(mean) == 0
    assert np.argmax(width) == 1
    assert mean[0] > 2.0 * mean[2]
    assert width[1] > 2.0 * width[2]


@pytest.mark.usefixtures("without_shap")
def test_rows_are_shown_as_they_were_given(model: DiffGBM, table: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, _ = table
    other_order = X[["when", "kind", "idle", "noise", "level"]][:2]
    found = model.explain_rows(other_order, background=X[:10], max_evals=40)
    assert found.feature_names == list(X.columns)
    assert found.display_data[0, 3] == X["kind"][0]
    assert found.data.dtype == np.float64


@pytest.mark.usefixtures("without_shap")
def test_several_responses_have_one_axis_more(table: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = table
    joint = DiffGBM.flow(**{**SMALL, "n_estimators": 5}).fit(X, pd.DataFrame({"u": y, "v": -y}))
    found = joint.explain_rows(X[:2], background=X[:5], max_evals=20)
    assert found.values.shape == (2, 5, 2)
    assert found.output_names == ["u", "v"]
    difference = joint.predict(X[:2]) - joint.predict(X[:5]).mean(axis=0)
    np.testing.assert_allclose(found.values.sum(axis=1), difference, atol=1e-6)


def test_bad_arguments_are_named(model: DiffGBM, table: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, _ = table
    with pytest.raises(ValueError, match="of must be one of 'mean'"):
        model.explain_rows(X[:2], of="wideness")
    with pytest.raises(TypeError, match="of must be one of"):
        model.explain_rows(X[:2], of=3)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        model.explain_rows(X[:2], of="width", level=90)
    with pytest.raises(ValueError, match="background must be given"):
        model.explain_rows(X[:1])
    with pytest.raises(ValueError, match="of must return one number"):
        model.explain_rows(X[:2], of=lambda distribution: 1.0)


def test_shap_draws_it_and_agrees(model: DiffGBM, table: tuple[pd.DataFrame, np.ndarray]) -> None:
    shap = pytest.importorskip("shap", reason="shap is not installed: pip install 'diffgbm[explain]'")
    X, _ = table
    numbers = X[["level", "noise", "idle"]].to_numpy()
    plain = DiffGBM.flow(**SMALL).fit(numbers, table[1])
    found = plain.explain_rows(numbers[:3], background=numbers[:10])
    assert isinstance(found, shap.Explanation)
    explainer = shap.explainers.Exact(plain.predict, shap.maskers.Independent(numbers[:10]))
    theirs = explainer(numbers[:3])
    np.testing.assert_allclose(found.values, theirs.values, atol=1e-6)
    np.testing.assert_allclose(found.base_values, theirs.base_values, atol=1e-6)
    framed = model.explain_rows(X[:5], of="width", background=X[:10], max_evals=40)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    shap.plots.waterfall(framed[0], show=False)
    shap.plots.beeswarm(framed, show=False)


def test_a_function_of_a_distribution_is_asked() -> None:
    class Two:
        def __len__(self) -> int:
            return 2

    asked = question(lambda distribution: [1.0, 2.0], 0.5)
    distribution: Distribution = Two()  # type: ignore[assignment]
    np.testing.assert_array_equal(asked(distribution), [1.0, 2.0])
