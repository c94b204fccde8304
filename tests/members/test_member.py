"""Fitted members predict mixtures of their models."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from diffgbm.members.member import FittedMember, MemberError, ask
from tests.members.stand_ins import FailsToPredict, NoneForFarRows, WithQuantiles


def shifted(by, kind=WithQuantiles):
    X = np.linspace(0.0, 1.0, 50)[:, None]
    return kind().fit(X, X[:, 0] + by + 0.1 * np.sin(40.0 * X[:, 0]))


def test_models_are_mixed():
    member = FittedMember("m", "predict_quantiles", (shifted(0.0), shifted(10.0)), None)
    points = member.points(np.array([[0.5]]), 20)
    assert points.shape == (1, 20, 1)
    assert np.sum(points > 5.0) == 10
    assert np.all(np.diff(points[0, :, 0]) >= 0.0)
    assert member.alone(1).points(np.array([[0.5]]), 20).min() > 5.0
    assert member.weighted(0.3).weight == 0.3


def test_at_least_as_many_points_as_wanted():
    member = FittedMember("m", "predict_quantiles", (shifted(0.0),) * 3, None)
    assert member.points(np.array([[0.5]]), 20).shape == (1, 21, 1)


def test_rows_without_an_answer():
    member = FittedMember("m", "predict_quantiles", (shifted(0.0, NoneForFarRows),), None)
    points = member.points(np.array([[0.5], [6.0]]), 10)
    assert np.isfinite(points[0]).all()
    assert np.isnan(points[1]).all()


def test_errors_name_the_member():
    member = FittedMember("my model", "predict_quantiles", (shifted(0.0, FailsToPredict),), None)
    with pytest.raises(MemberError, match="'my model' cannot predict these rows: RuntimeError: no weights"):
        member.points(np.array([[0.5]]), 10)


def test_the_last_step_of_a_pipeline_is_asked():
    X = np.linspace(0.0, 9.0, 50)[:, None]
    model = make_pipeline(StandardScaler(), WithQuantiles()).fit(X, 2.0 * X[:, 0])
    np.testing.assert_allclose(ask("predict_quantiles", model, X[:3])[1][:, 49], 2.0 * X[:3, 0], atol=1e-9)
