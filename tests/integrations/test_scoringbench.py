"""ScoringBench's interface, with a class of our own in place of the one that it builds distributions with."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from diffgbm.integrations.scoringbench import BASE, DiffGBMWrapper
from tests.conftest import tiny, toy


class DistributionPrediction(SimpleNamespace):
    """Keeps what the constructor for quantiles gets."""

    @classmethod
    def from_multi_quantile(cls, q, alphas, mean=None, *, train_range):
        return cls(q=q, alphas=alphas, mean=mean, train_range=train_range)


@pytest.fixture
def scoringbench(monkeypatch):
    parts = BASE.split(".")
    for i in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:i]), ModuleType(".".join(parts[:i])))
    sys.modules[BASE].DistributionPrediction = DistributionPrediction


def test_distributions_are_handed_over_as_quantiles(scoringbench):
    X, y = toy()
    frame, response = pd.DataFrame(X, columns=list("abc")), pd.Series(y)
    wrapper = DiffGBMWrapper(tiny(), n_quantiles=19)
    assert wrapper.fit(frame, response) is wrapper
    found = wrapper.predict_distribution(frame[:7])
    expected = tiny().fit(frame, y).predict_distribution(frame[:7])
    np.testing.assert_allclose(found.alphas, np.arange(0.05, 0.96, 0.05))
    np.testing.assert_allclose(found.q, expected.quantile(found.alphas))
    np.testing.assert_allclose(found.mean, wrapper.predict(frame[:7]))
    assert found.train_range == (y.min(), y.max())


def test_rows_without_a_response_are_left_out(scoringbench):
    X, y = toy()
    known = DiffGBMWrapper(tiny()).fit(X[5:], y[5:])
    y = np.where(np.arange(len(y)) < 5, np.nan, y)
    np.testing.assert_array_equal(DiffGBMWrapper(tiny()).fit(X, y).predict(X[:3]), known.predict(X[:3]))
    with pytest.raises(ValueError, match="at least 2 finite"):
        DiffGBMWrapper(tiny()).fit(X, np.full(len(y), np.nan))


def test_without_scoringbench():
    X, y = toy()
    wrapper = DiffGBMWrapper(tiny()).fit(X, y)
    with pytest.raises(ImportError, match="clone its repository"):
        wrapper.predict_distribution(X[:2])
    with pytest.raises(ValueError, match="n_quantiles must be an integer >= 3"):
        DiffGBMWrapper(n_quantiles=1)
