"""Predictions that several test files of the metrics use."""

import numpy as np
from scipy import stats

from diffgbm import PredictiveDistribution

SAMPLES = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 3.0], [5.0, 9.0]])
"""Four samples of two rows."""
Y = np.array([1.0, 4.0])


def normal_distribution(mean, sd, m=1000):
    z = stats.norm.ppf((np.arange(m) + 0.5) / m)
    return PredictiveDistribution.from_points(np.asarray(mean)[:, None] + np.asarray(sd)[:, None] * z)


def calibrated_prediction():
    """Return normal distributions of 2000 rows, observations drawn from them, and 200 samples of each."""
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=2000), rng.uniform(0.5, 2.0, 2000)
    return normal_distribution(mean, sd, 200), rng.normal(mean, sd), rng.normal(mean, sd, (200, 2000))
