"""The protocol: distributions of one response and of several answer the same questions."""

import inspect

import numpy as np
import pandas as pd
import pytest

from diffgbm.distributions import Distribution, Ensemble, JointDistribution, Prediction, PredictiveDistribution
from diffgbm.distributions.base import concatenate, matching_observations, row_key

RNG = np.random.default_rng(0)
ONE = PredictiveDistribution.from_points(RNG.normal(size=(6, 20)), "y", pd.RangeIndex(6))
TWO = JointDistribution(RNG.normal(size=(6, 20, 2)), ("a", "b"), pd.RangeIndex(6))
KINDS = pytest.mark.parametrize("distribution", [ONE, TWO], ids=["one response", "two responses"])


def public(protocol):
    return {name for name in vars(protocol) if not name.startswith("_")}


@KINDS
def test_distributions_answer_the_protocol(distribution):
    for name in public(Distribution) | public(Prediction):
        mine, asked = getattr(type(distribution), name, None), inspect.getattr_static(Distribution, name)
        if callable(asked):
            parameters = inspect.signature(mine).parameters
            assert (
                list(inspect.signature(asked).parameters)
                == list(parameters)[: len(inspect.signature(asked).parameters)]
            )
        else:
            assert hasattr(distribution, name)


def test_ensembles_answer_what_scores_ask():
    for name in public(Prediction):
        assert hasattr(Ensemble(np.zeros((3, 4))), name)


@KINDS
def test_results_have_the_shape_of_observations(distribution):
    n, shape = len(distribution), distribution.shape
    y = np.zeros(shape)
    for name in ("mean", "var", "std", "median", "mode"):
        assert getattr(distribution, name)().shape == shape
    for name in ("crps", "pit", "sf", "cdf", "observations"):
        assert getattr(distribution, name)(y).shape == shape
    assert distribution.quantile(0.3).shape == shape
    assert distribution.quantile([0.3, 0.4]).shape == (*shape, 2)
    assert distribution.interval(0.9).shape == (*shape, 2)
    assert distribution.logpdf(y).shape == (n,)
    assert distribution.sample(5, seed=0, first_row=0).shape == (5, *shape)
    assert len(distribution.to_frame([0.5])) == n
    assert distribution.equally_likely_points().shape == (n, 20, len(distribution.marginals()))
    for j, marginal in enumerate(distribution.marginals()):
        assert isinstance(marginal, PredictiveDistribution)
        np.testing.assert_array_equal(marginal.mean(), distribution.mean().reshape(n, -1)[:, j])


@KINDS
def test_equally_likely_points_have_the_mean_of_the_distribution(distribution):
    points = distribution.equally_likely_points().mean(axis=1)
    np.testing.assert_allclose(points, distribution.mean().reshape(points.shape), atol=0.1)


@KINDS
@pytest.mark.parametrize("cuts", [[6], [2, 3, 6], [1, 2, 3, 4, 5, 6]])
def test_blocks_are_concatenated(distribution, cuts):
    blocks = [distribution[first:last] for first, last in zip([0, *cuts], cuts, strict=False)]
    whole = concatenate(blocks)
    assert type(whole) is type(distribution)
    np.testing.assert_array_equal(whole.mean(), distribution.mean())
    pd.testing.assert_index_equal(whole.index, distribution.index)


def test_one_block_stays_as_it_is():
    assert concatenate([ONE]) is ONE
    unlabelled = PredictiveDistribution(ONE.values, ONE.levels)
    assert concatenate([unlabelled, unlabelled]).index is None


def test_matching_observations():
    np.testing.assert_array_equal(matching_observations(ONE, np.ones((6, 1))), np.ones(6))
    np.testing.assert_array_equal(matching_observations(TWO, np.ones((6, 2))), np.ones((6, 2)))
    with pytest.raises(ValueError, match=r"y must have the shape \(6,\) of the predictions; got \(5,\)"):
        matching_observations(ONE, np.ones(5))


def test_a_row_stays_a_table():
    assert row_key(2, 5) == slice(2, 3)
    assert row_key(-1, 5) == slice(-1, None)
    assert row_key([1, 2], 5).tolist() == [1, 2]
    with pytest.raises(IndexError, match="there is no row 5: there are 5 rows"):
        row_key(5, 5)
