"""Tables whose true predictive distributions are known, each with a difficulty that real tables have.

A case draws a training table and fresh rows with their true distributions, as points at even levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from diffgbm import PredictiveDistribution
from diffgbm._util.types import Array
from diffgbm.distributions.support import Support

POINTS = 400
"""Points of a true distribution."""
LEVELS = (np.arange(POINTS) + 0.5) / POINTS
Draw = Callable[[np.random.Generator, Array], Array]
Quantiles = Callable[[Array], Array]


@dataclass(frozen=True)
class Case:
    """A kind of table.

    Attributes
    ----------
    about : str
        What it is, for the page.
    n, p : int
        Rows and columns of the training table, before ``spoilt``.
    draw : callable
        From a generator and rows (n, p) to responses (n,).
    quantiles : callable
        From rows (n, p) to the true distributions' points (n, POINTS).
    atoms : tuple of float
        Values of positive probability.
    low, high : float
        Limits of the response.
    integers : bool
        Whether the response takes integers only.
    spoilt : callable, optional
        From a generator and the training table to the one that models are fitted to: stacked, or with a wild row.
    """

    about: str
    n: int
    draw: Draw
    quantiles: Quantiles
    p: int = 3
    atoms: tuple[float, ...] = ()
    low: float = -np.inf
    high: float = np.inf
    integers: bool = False
    spoilt: Callable[[np.random.Generator, Array, Array], tuple[Array, Array]] | None = None

    def table(self, seed: int) -> tuple[Array, Array]:
        """Draw the training table."""
        rng = np.random.default_rng((seed, 0))
        X = rng.uniform(size=(self.n, self.p))
        y = self.draw(rng, X)
        return (X, y) if self.spoilt is None else self.spoilt(rng, X, y)

    def fresh(self, n: int, seed: int) -> tuple[Array, Array]:
        """Draw ``n`` rows that no model has seen."""
        rng = np.random.default_rng((seed, 1))
        X = rng.uniform(size=(n, self.p))
        return X, self.draw(rng, X)

    def truth(self, X: Array) -> PredictiveDistribution:
        """Return the true distributions of rows (n, p)."""
        points = np.broadcast_to(self.quantiles(X), (len(X), POINTS))
        atoms = np.unique(points) if self.integers else np.array(self.atoms)
        return PredictiveDistribution.from_points(points, support=Support(self.low, self.high, atoms))


def _normal(rng: np.random.Generator, X: Array) -> Array:
    return X[:, 0] + rng.standard_normal(len(X))


def _normal_points(X: Array) -> Array:
    return np.asarray(X[:, :1] + stats.norm.ppf(LEVELS))


def _stacked(times: int) -> Callable[[np.random.Generator, Array, Array], tuple[Array, Array]]:
    return lambda rng, X, y: (np.vstack([X] * times), np.tile(y, times))


def _entities(rng: np.random.Generator, X: Array, y: Array) -> tuple[Array, Array]:
    """Twenty records of each row: its response, and noise of 2% of its standard deviation."""
    rows = np.repeat(np.arange(len(X)), 20)
    return X[rows], y[rows] + 0.02 * rng.standard_normal(len(rows))


def _one_wild(rng: np.random.Generator, X: Array, y: Array) -> tuple[Array, Array]:
    return X, np.where(np.arange(len(y)) == 7, 1e6 * y, y)


def _two_parts(share: Callable[[Array], Array], quantile: Callable[[Array], Array]) -> tuple[Draw, Quantiles]:
    """Zero with probability ``share(X)``, else the quantile function ``quantile`` of a uniform number."""

    def points(X: Array) -> Array:
        zero = share(X)[:, None]
        return np.where(zero > LEVELS, 0.0, quantile(np.clip((LEVELS - zero) / (1.0 - zero), 0.0, 1.0)))

    def draw(rng: np.random.Generator, X: Array) -> Array:
        return np.where(rng.uniform(size=len(X)) < share(X), 0.0, quantile(rng.uniform(size=len(X))))

    return draw, points


def _clipped(low: float, high: float) -> tuple[Draw, Quantiles]:
    """A sensor that saturates: 2 x0 - 1 plus noise of standard deviation 0.5, between two limits."""

    def points(X: Array) -> Array:
        return np.clip(2.0 * X[:, :1] - 1.0 + 0.5 * stats.norm.ppf(LEVELS), low, high)

    def draw(rng: np.random.Generator, X: Array) -> Array:
        return np.clip(2.0 * X[:, 0] - 1.0 + 0.5 * rng.standard_normal(len(X)), low, high)

    return draw, points


def _family(quantile: Callable[[Array, Array], Array]) -> tuple[Draw, Quantiles]:
    """The quantile function of levels (n, m) and rows' first column (n, 1)."""

    def draw(rng: np.random.Generator, X: Array) -> Array:
        return np.asarray(quantile(rng.uniform(size=(len(X), 1)), X[:, :1])[:, 0])

    return draw, lambda X: np.asarray(quantile(LEVELS[None, :], X[:, :1]))


def _exponential(u: Array) -> Array:
    return -np.log1p(-np.minimum(u, 1.0 - 1e-12))


def _step(X: Array) -> Array:
    return np.asarray(0.4 + 0.5 * (X[:, 0] > 0.5))


CASES: dict[str, Case] = {
    "linear": Case("x0 + N(0, 1), 400 rows", 400, _normal, _normal_points),
    "stacked_2": Case("these 400 rows, stacked on themselves", 400, _normal, _normal_points, spoilt=_stacked(2)),
    "linear_250": Case("250 rows of it", 250, _normal, _normal_points),
    "stacked_4": Case("the 250 rows, four times", 250, _normal, _normal_points, spoilt=_stacked(4)),
    "entities": Case("50 entities of 20 rows each; fresh entities", 50, _normal, _normal_points, spoilt=_entities),
    "zeros": Case(
        "70% zeros, else exponential",
        800,
        *_two_parts(lambda X: np.full(len(X), 0.7), _exponential),
        atoms=(0.0,),
        low=0.0,
    ),
    "zeros_by_x": Case(
        "40% or 90% zeros, by x0, else exponential", 800, *_two_parts(_step, _exponential), atoms=(0.0,), low=0.0
    ),
    "cap": Case("a sensor that saturates at 0.8", 800, *_clipped(-np.inf, 0.8), atoms=(0.8,), high=0.8),
    "both_ends": Case(
        "a sensor that saturates at -0.8 and 0.8",
        800,
        *_clipped(-0.8, 0.8),
        atoms=(-0.8, 0.8),
        low=-0.8,
        high=0.8,
    ),
    "counts": Case(
        "Poisson counts with mean exp(2 x0)",
        800,
        *_family(lambda u, x: stats.poisson.ppf(u, np.exp(2.0 * x))),
        low=0.0,
        integers=True,
    ),
    "two_values": Case(
        "0 or 1, with P(1) from 0.1 to 0.9 by x0",
        800,
        *_family(lambda u, x: (u > 0.9 - 0.8 * x).astype(np.float64)),
        low=0.0,
        high=1.0,
        integers=True,
    ),
    "one_wild_row": Case(
        "x0 + 0.3 N(0, 1), one response of 800 times 1e6",
        800,
        *_family(lambda u, x: x + 0.3 * stats.norm.ppf(u)),
        spoilt=_one_wild,
    ),
    "positive": Case("lognormal around x0", 800, *_family(lambda u, x: np.exp(x + 0.8 * stats.norm.ppf(u))), low=0.0),
    "bounded": Case(
        "beta between 0 and 1, by x0",
        800,
        *_family(lambda u, x: stats.beta.ppf(u, 1.0 + 2.0 * x, 2.0)),
        low=0.0,
        high=1.0,
    ),
    "noise": Case("N(0, 1), whatever the five columns", 400, *_family(lambda u, x: stats.norm.ppf(u) + 0.0 * x), p=5),
    "heavy_tails": Case("x0 + Student t, 2 degrees of freedom", 800, *_family(lambda u, x: x + stats.t.ppf(u, 2))),
}
"""Cases by name."""
