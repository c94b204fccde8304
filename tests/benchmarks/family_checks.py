"""Checks that every benchmark family must pass."""

from dataclasses import replace

import numpy as np
from benchmarks.families import FAMILIES
from benchmarks.protocol import seeds
from scipy.stats import norm

from diffgbm.metrics.scores import climatology_crps, crps

SEEDS = seeds(0)


def distribution(X):
    """Mean and standard deviation of y at x: the mean bends in the first column, the second switches the scale."""
    return np.sin(2.0 * X[:, 0]), np.where(X[:, 1] > 0.0, 0.6, 0.15)


def draw(n, seed):
    """Rows with two informative columns and a useless one."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 3))
    mean, std = distribution(X)
    return X, mean + std * rng.standard_normal(n)


def oracle_crps(X, y):
    """CRPS of the true distribution at the observations, in closed form."""
    mean, std = distribution(X)
    z = (y - mean) / std
    return float(np.mean(std * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - 1.0 / np.sqrt(np.pi))))


def fitted(name, params, n=600):
    return FAMILIES[name].build(params, SEEDS, 1).fit(*draw(n, seed=1))


def check_distribution(model, factor, scale_ratio=1.3):
    """CRPS within ``factor`` of that of the true distribution, and a scale that follows the true one.

    Where the true standard deviation is four times larger, that of the samples must be ``scale_ratio`` times larger.
    """
    _, y_train = draw(600, seed=1)
    X, y = draw(400, seed=2)
    samples = model.sample(X, 200)
    assert samples.shape == (200, 400)
    assert samples.dtype == np.float64
    assert np.isfinite(samples).all()
    score, best = float(crps(samples, y).mean()), oracle_crps(X, y)
    assert score < factor * best < float(climatology_crps(y_train, y).mean())
    assert score > 0.95 * best  # no forecast is better in expectation; 400 rows leave an error of a few percent
    wide = X[:, 1] > 0.0
    assert samples[:, wide].std(axis=0).mean() > scale_ratio * samples[:, ~wide].std(axis=0).mean()


def check_determinism(name, params):
    """The same seeds give the same samples; another seed of the sampler gives others of the same fit."""
    X, y = draw(150, seed=3)
    family = FAMILIES[name]
    first = family.build(params, SEEDS, 1).fit(X, y)
    again = family.build(params, SEEDS, 1).fit(X, y).sample(X[:20], 30)
    assert np.array_equal(first.sample(X[:20], 30), again)
    assert np.array_equal(first.sample(X[:20], 30), again)  # drawing does not advance the seed
    other = family.build(params, replace(SEEDS, sampler=SEEDS.sampler + 1), 1).fit(X, y).sample(X[:20], 30)
    assert not np.array_equal(other, again)
    # samples of one distribution: means differ by the error of 30 draws, here at six of its standard deviations
    error = np.sqrt((other.var(axis=0) + again.var(axis=0)) / 30.0)
    assert np.all(np.abs(other.mean(axis=0) - again.mean(axis=0)) < 6.0 * error + 1e-6)
    assert first.sample(X[:1], 1).shape == (1, 1)
