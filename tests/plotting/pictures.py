"""Predictions, observations and pictures that the tests of the pictures use."""

import matplotlib

matplotlib.use("Agg")

import numpy as np

from diffgbm import plotting
from diffgbm.distributions import PredictiveDistribution
from diffgbm.fitting.quadrature import normal_points

N = 60


def normal_distributions(n: int = N, points: int = 200) -> PredictiveDistribution:
    mean, std = np.linspace(-1.0, 1.0, n), np.linspace(0.5, 2.0, n)
    return PredictiveDistribution.from_points(mean[:, None] + std[:, None] * normal_points(points, 1)[:, 0], "price")


def observed(n: int = N) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.linspace(-1.0, 1.0, n) + np.linspace(0.5, 2.0, n) * rng.standard_normal(n)


def samples(n: int = N, m: int = 40) -> np.ndarray:
    return normal_distributions(n).sample(m, seed=0)


PICTURES = {
    "fan": lambda prediction, y, ax: plotting.fan(np.arange(len(y))[::-1], prediction, y, ax=ax),
    "densities": lambda prediction, y, ax: plotting.densities(prediction, y=y, ax=ax),
    "pit_histogram": lambda prediction, y, ax: plotting.pit_histogram(prediction, y, ax=ax),
    "reliability": lambda prediction, y, ax: plotting.reliability(prediction, y, ax=ax),
    "threshold_reliability": lambda prediction, y, ax: plotting.threshold_reliability(prediction, y, 0.5, ax=ax),
    "coverage_by_iqr": lambda prediction, y, ax: plotting.coverage_by_iqr(prediction, y, ax=ax),
    "width_against_error": lambda prediction, y, ax: plotting.width_against_error(prediction, y, ax=ax),
}
"""Every picture of a prediction, with the same arguments."""
CALIBRATION = [name for name in PICTURES if name not in ("fan", "densities")]


def lines(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)
