"""Atoms of several responses: their probability is that of the classifier, and every point keeps its rank."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr, ndtri

from diffgbm import DiffGBM, load
from diffgbm.distributions.support import Support
from diffgbm.fitting.joint_atoms import carried, snapped
from tests.conftest import TINY

SUPPORTS = {
    "low": Support(0.0, np.inf, np.array([0.0])),
    "both": Support(0.0, 2.0, np.array([0.0, 2.0])),
    "middle": Support(atoms=np.array([0.5, 1.0])),
    "other limit": Support(-1.5, 2.0, np.array([2.0])),
    "counts": Support(0.0, np.inf, np.array([0.0]), integers=True),
}


@pytest.mark.parametrize("name", list(SUPPORTS))
def test_atoms_have_their_probability_and_points_their_ranks(name):
    support = SUPPORTS[name]
    rng = np.random.default_rng(0)
    points = rng.normal(1.0, 1.0, size=(50, 64))
    k = len(support.atoms)
    probabilities = np.concatenate([[[0.0] * k, [1.0 / k] * k], rng.dirichlet(np.ones(k + 1), size=48)[:, :k]])
    found = snapped(points, support, probabilities)
    shares = (found[:, :, None] == support.atoms).mean(axis=1)
    np.testing.assert_allclose(shares, probabilities, atol=1.0 / 64)
    assert found.min() >= support.low
    assert found.max() <= support.high
    order = np.argsort(points, axis=1)
    assert (np.diff(np.take_along_axis(found, order, axis=1), axis=1) >= 0.0).all()
    if support.integers:
        np.testing.assert_array_equal(found, np.rint(found))
    else:  # nothing but the atoms is piled up
        rest = found[~np.isin(found, support.atoms)]
        assert len(np.unique(rest)) == len(rest)


def test_points_far_from_an_atom_stay():
    points = np.linspace(-1.0, 5.0, 60)[None]
    found = snapped(points, SUPPORTS["low"], np.array([[0.2]]))
    np.testing.assert_array_equal(found[0, 12:], points[0, 12:])
    np.testing.assert_array_equal(found[0, :12], 0.0)


def test_samples_are_moved_as_points_are():
    support, rng = SUPPORTS["both"], np.random.default_rng(1)
    points = 1.0 + ndtri((np.tile(rng.permutation(400), (3, 1)) + 0.5) / 400)
    probabilities = np.array([[0.3, 0.1], [0.0, 0.5], [0.6, 0.4]])
    samples = rng.normal(1.0, 1.0, size=(4000, 3))
    found = carried(samples, points, snapped(points, support, probabilities), support)
    shares = (found[:, :, None] == support.atoms).mean(axis=0)
    np.testing.assert_allclose(shares, probabilities, atol=0.03)  # 4000 samples
    assert found.min() >= 0.0
    assert found.max() <= 2.0


def table(n, seed):
    """A response that is 0 with a known probability, and one that is capped at 1; they depend on each other."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(n, 3)), columns=list("abc"))
    e, size = rng.normal(size=(2, n))
    zero = expit(3.0 * X["a"]).to_numpy()
    claim = np.where(ndtr(e) < zero, 0.0, np.exp(0.5 * X["b"] + 0.4 * size))
    level = 0.6 + 0.4 * X["c"] + 0.3 * (0.8 * e + 0.6 * rng.normal(size=n))
    full = 1.0 - ndtr((0.4 - 0.4 * X["c"]) / 0.3).to_numpy()
    return X, pd.DataFrame({"claim": claim, "level": np.minimum(level, 1.0)}), np.column_stack([zero, full])


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = table(800, 0)
    return DiffGBM.flow(**{**TINY, "n_estimators": 40}, support=[(0, None), (None, 1)]).fit(X, y)


def test_joint_distributions_keep_atoms_whose_probability_is_known(fitted, tmp_path):
    X, y, truth = table(300, 1)
    dist = fitted.predict_distribution(X)
    found = dist.pmf(np.array([0.0, 1.0]))
    assert np.abs(found - truth).mean() < 0.09
    raw = fitted.model_.points(fitted.encode(X).astype(float), fitted.model_.recipe.sampler, 64)
    below = np.column_stack([(raw[:, :, 0] <= 0.0).mean(axis=1), (raw[:, :, 1] >= 1.0).mean(axis=1)])
    assert np.abs(found - truth).mean() < 0.6 * np.abs(below - truth).mean()
    # quantiles, cumulative probabilities and samples agree
    np.testing.assert_allclose(dist.cdf([0.0, 2.0])[:, 0], found[:, 0], atol=1e-12)
    np.testing.assert_allclose(dist.prob_below([0.0, 1.0])[:, 1], 1.0 - found[:, 1], atol=1e-12)
    level = dist["claim"].quantile(np.maximum(found[:, 0] - 0.02, 1e-6)[:, None])[:, 0]
    np.testing.assert_array_equal(level[found[:, 0] > 0.05], 0.0)
    samples = fitted.sample(X, 200, seed=0)
    assert samples[:, :, 0].min() >= 0.0
    assert samples[:, :, 1].max() <= 1.0
    np.testing.assert_allclose((samples == [0.0, 1.0]).mean(axis=0).mean(axis=0), found.mean(axis=0), atol=0.03)
    # a large claim comes with a high level: the joint points say so
    both = dist.expect(lambda points: (points[..., 0] == 0.0) & (points[..., 1] == 1.0)).mean()
    assert both < 0.8 * (found[:, 0] * found[:, 1]).mean()
    assert abs(both - np.mean((y["claim"] == 0.0) & (y["level"] == 1.0))) < 0.05
    fitted.save(tmp_path / "model.dgbm")
    np.testing.assert_array_equal(load(tmp_path / "model.dgbm").predict_distribution(X).points, dist.points)


def test_atoms_without_limits_and_out_of_bag():
    X, y, _ = table(400, 2)
    settings = {**TINY, "n_estimators": 20}
    model = DiffGBM.flow(**settings, n_bags=2, atoms="auto").fit(X, y)
    found = model.oob_distribution_.pmf(np.array([0.0, 1.0]))
    np.testing.assert_allclose(found.mean(axis=0), (y == [0.0, 1.0]).mean(), atol=0.06)
    assert np.isfinite(model.predict_uncertainty(X[:5]).to_numpy()).all()
    with pytest.warns() as caught:
        DiffGBM.flow(**settings).fit(X, y)
    messages = [str(warning.message) for warning in caught]
    for name, value in (("claim", 0), ("level", 1)):
        assert any(f"{name} is exactly {value} in" in message for message in messages)


def test_counts_of_several_responses_have_the_zeros_of_the_classifiers():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(400, 2))
    y = np.where(rng.uniform(size=(400, 2)) < 0.4, 0.0, 1.0 + rng.poisson(3.0 + 4.0 * X))
    model = DiffGBM.flow(**{**TINY, "n_estimators": 20}, discrete=True, support=(0, None)).fit(X, y)
    dist = model.predict_distribution(X[:60])
    np.testing.assert_allclose(dist.pmf(np.zeros(2)).mean(axis=0), 0.4, atol=0.08)
    for values in (dist.points, model.sample(X[:60], 50, seed=0)):
        np.testing.assert_array_equal(values, np.abs(np.rint(values)))
