"""Normal distributions that are correct, too narrow, too wide, or of single bags of a pool."""

import numpy as np
from scipy.stats import norm

from diffgbm.auto.recalibration import CELLS, adjusted_observations
from diffgbm.distributions.scalar import PredictiveDistribution

NORMAL = norm.ppf((np.arange(89) + 0.5) / 89)


EVEN = np.linspace(0.0, 1.0, CELLS + 1)


def normal_distributions(n, width, seed=0, scale=1.0):
    """Distributions of the correct centre and ``width`` times the correct width, and observations."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=n)
    points = centre[:, None] + np.broadcast_to(width * scale, n)[:, None] * NORMAL
    return PredictiveDistribution.from_points(points), centre + scale * rng.normal(size=n)


def half_informative_distributions(n, seed=0):
    """Distributions whose log widths vary half as much as they should."""
    scale = np.exp(np.random.default_rng((seed, 1)).normal(size=n))
    return normal_distributions(n, scale**-0.5, seed, scale)


def distributions_of_ranks(n):
    """Distributions of increasing width."""
    return PredictiveDistribution.from_points((1.0 + np.arange(n))[:, None] * NORMAL)


def covered(correction, level, at=0.5):
    """Coverage of intervals according to a correction."""
    return np.interp(level, EVEN, correction.coverage(np.array([at]))[0])


def distributions_of_bags(n, rho, bags=50, seed=0):
    """N(m + a, 1) of single bags, which differ by ``a`` of variance ``rho``; their mixtures; observations.

    The distributions of single bags are right: observations are N(m, 1 - rho).
    """
    rng = np.random.default_rng(seed)
    scale = np.exp(rng.normal(size=n))[:, None]
    one = NORMAL + np.sqrt(rho) * rng.normal(size=(n, 1))
    centres = norm.ppf((np.arange(bags) + 0.5) / bags, scale=np.sqrt(rho))
    many = np.tile(np.sort((NORMAL + centres[:, None]).ravel()), (n, 1))
    y = np.sqrt(1.0 - rho) * rng.normal(size=n)
    return *(PredictiveDistribution.from_points(scale * points) for points in (one, many)), scale[:, 0] * y


def adjusted(distribution, y, rho):
    return adjusted_observations(distribution, y, rho, np.random.default_rng(1).uniform(size=len(y)))
