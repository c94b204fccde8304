"""Questions about single rows, through the estimators."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import diffgbm
from diffgbm import AdaptiveConformal, ConformalDiffGBM, DiffGBM, DiffGBMWarning
from diffgbm.estimators.base import DistributionalRegressor

SMALL = {"n_estimators": 10, "n_repeats": 4, "n_jobs": 1, "seed": 0}


def table(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=n), "kind": rng.choice(["x", "y"], n)}, index=np.arange(n) + 1000)
    return X, X["a"].to_numpy() + 0.3 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def model() -> DiffGBM:
    return DiffGBM.flow(n_bags=2, **SMALL).fit(*table())


def test_frames_in_frames_out(model: DiffGBM) -> None:
    X, _ = table()
    found = model.predict_uncertainty(X[:5])
    assert found.index.tolist() == X.index[:5].tolist()
    assert {"total", "aleatoric", "epistemic", "total_crps", "mean_error", "epistemic_share"} <= set(found.columns)
    np.testing.assert_allclose(found["total"], found["aleatoric"] + found["epistemic"])
    p = model.predict_novelty(X[:5])
    assert p.name == "novelty"
    assert p.index.tolist() == X.index[:5].tolist()


def test_a_row_does_not_depend_on_the_others(model: DiffGBM) -> None:
    X, _ = table()
    whole = model.predict_uncertainty(X)
    pd.testing.assert_frame_equal(model.predict_uncertainty(X[7:9]), whole[7:9])
    pd.testing.assert_series_equal(model.predict_novelty(X[7:9]), model.predict_novelty(X)[7:9])


def test_several_responses_have_names() -> None:
    X, y = table()
    joint = DiffGBM.flow(n_bags=2, **SMALL).fit(X, pd.DataFrame({"u": y, "v": -y}))
    assert {"u_total", "v_epistemic_crps"} <= set(joint.predict_uncertainty(X[:3]).columns)


def test_stored_models_answer_the_same(model: DiffGBM, tmp_path: Path) -> None:
    X, _ = table()
    model.save(tmp_path / "model.dgbm")
    loaded = diffgbm.load(tmp_path / "model.dgbm")
    assert isinstance(loaded, DistributionalRegressor)
    pd.testing.assert_frame_equal(loaded.predict_uncertainty(X[:9]), model.predict_uncertainty(X[:9]))
    pd.testing.assert_series_equal(loaded.predict_novelty(X), model.predict_novelty(X))


def test_missing_values_of_reference_rows_are_stored(tmp_path: Path) -> None:
    X, y = table()
    X.loc[X.index[::3], "a"] = np.nan
    gaps = DiffGBM.flow(**SMALL).fit(X, y)
    gaps.save(tmp_path / "model.dgbm")
    loaded = diffgbm.load(tmp_path / "model.dgbm")
    assert isinstance(loaded, DistributionalRegressor)
    pd.testing.assert_series_equal(loaded.predict_novelty(X), gaps.predict_novelty(X))


def test_one_bag_is_refused_with_the_remedy() -> None:
    one = DiffGBM.flow(**SMALL).fit(*table())
    with pytest.raises(ValueError, match=r"DiffGBM\(n_bags=5\)"):
        one.predict_uncertainty(table()[0])


def test_conformal_models_ask_the_model_inside(model: DiffGBM) -> None:
    X, y = table()
    conformal = ConformalDiffGBM(model).calibrate(X, y)
    pd.testing.assert_frame_equal(conformal.predict_uncertainty(X[:4]), model.predict_uncertainty(X[:4]))
    pd.testing.assert_series_equal(conformal.predict_novelty(X[:4]), model.predict_novelty(X[:4]))
    adaptive = AdaptiveConformal(DiffGBM.flow(n_bags=2, **SMALL)).fit(X, y)
    assert len(adaptive.predict_uncertainty(X[:4])) == 4


def test_cross_fitted_conformal_models_are_compared_with_each_other() -> None:
    X, y = table()
    X.loc[X.index[0], "kind"] = "rare"  # the models of the folds have different categories
    crossed = ConformalDiffGBM(DiffGBM.flow(**SMALL), method="cv", cv=3, seed=0).fit(X, y)
    found = crossed.predict_uncertainty(X[1:21])
    np.testing.assert_allclose(found["total"], found["aleatoric"] + found["epistemic"])
    means = [model.predict(X[1:21]) for model in crossed.models_]
    np.testing.assert_allclose(found["mean_error"], np.sqrt(2.0) * np.std(means, axis=0), rtol=0.2)
    assert (found["epistemic"] > 0.5 * np.var(means, axis=0)).all()
    assert len(crossed.predict_novelty(X[1:5])) == 4
    with pytest.raises(ValueError, match=r"different categories or dates.*Explain one of models_"):
        crossed.explain_rows(X[1:5], background=X[1:])


def test_other_estimators_inside_are_refused_with_the_remedy() -> None:
    class Other:
        """Not of this library."""

    conformal = ConformalDiffGBM()
    conformal.models_ = [Other()]
    with pytest.raises(TypeError, match=r"Other\. Calibrate a DiffGBM"):
        conformal.predict_uncertainty(table()[0])


def test_a_fit_by_time_warns_that_the_epistemic_part_is_too_small() -> None:
    X, y = table()
    ordered = DiffGBM.flow(n_bags=2, residualize="off", **SMALL).fit(X, y, time=np.arange(len(y)))
    with pytest.warns(DiffGBMWarning, match="learned from the same rows"):
        ordered.predict_uncertainty(X[:3])


def test_few_rows_have_no_novelty() -> None:
    X, y = table(15)
    few = DiffGBM.flow(residualize="off", early_stopping_rounds=None, **SMALL).fit(X, y)
    with pytest.raises(ValueError, match="fewer than 20 rows"):
        few.predict_novelty(X)


def test_rows_of_no_weight_and_copies_are_no_reference() -> None:
    X, y = table()
    far = pd.concat([X, X.assign(a=100.0)])
    weights = np.repeat([1.0, 0.0], len(X))
    weighted = DiffGBM.flow(**SMALL).fit(far, np.append(y, y), sample_weight=weights)
    assert weighted.predict_novelty(X.assign(a=100.0)).max() < 0.02
    stacked = DiffGBM.flow(**SMALL).fit(pd.concat([X, X]), np.append(y, y))
    alone = DiffGBM.flow(**SMALL).fit(X, y)
    pd.testing.assert_series_equal(stacked.predict_novelty(X), alone.predict_novelty(X))
