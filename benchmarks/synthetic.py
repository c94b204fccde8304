"""The seven synthetic distributions of the diagnostics, with exact conditional distributions.

The paper names the distributions without formulas; the formulas are ours. ``X`` is uniform on the unit square and
y | x is known in closed form, so that the best attainable score is known exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.conditionals import Conditional, Gamma, Normal, Student, TwoNormals, TwoResponses
from benchmarks.table_files import Table
from diffgbm._util.types import Array

N_FEATURES = 2


@dataclass(frozen=True)
class KnownDistribution:
    """A distribution of (x, y).

    Attributes
    ----------
    name : str
        Key in ``DISTRIBUTIONS``.
    formula : str
        The distribution of y | x, in one line.
    conditional : callable
        From X (n, 2) to the distributions of y | x for its rows.
    n_outputs : int
        Number of responses; with one, y is (n,), with two (n, 2).
    """

    name: str
    formula: str
    conditional: Callable[[Array], Conditional]
    n_outputs: int = 1

    def features(self, n: int, rng: np.random.Generator) -> Array:
        """Draw X of shape (n, 2), uniform on the unit square."""
        return rng.uniform(size=(n, N_FEATURES))

    def draw(self, n: int, rng: np.random.Generator) -> Table:
        """Draw n rows (X, y)."""
        X = self.features(n, rng)
        return Table(X, self.sample(X, 1, rng)[0], tuple(f"x{j + 1}" for j in range(N_FEATURES)), "y")

    def sample(self, X: Array, n: int, rng: np.random.Generator) -> Array:
        """Draw y | x: (n, rows), or (n, rows, 2)."""
        return self.conditional(X).sample(n, rng)

    def cdf(self, X: Array, y: ArrayLike) -> Array:
        """Return P(Y <= y | x), or the Rosenblatt transform of two responses: uniform if y follows the distribution."""
        return self.conditional(X).cdf(y)

    def quantile(self, X: Array, p: ArrayLike) -> Array:
        """Return the inverse of ``cdf``; p broadcasts against the rows."""
        return self.conditional(X).quantile(p)

    def mean(self, X: Array) -> Array:
        """Return E(Y | x)."""
        return self.conditional(X).mean()

    def std(self, X: Array) -> Array:
        """Return the standard deviation of Y | x."""
        return self.conditional(X).std()

    def score(self, X: Array, y: ArrayLike) -> Array:
        """Return the oracle's CRPS at y, or its energy score for two responses; (n,)."""
        return self.conditional(X).score(y)

    def expected_score(self, X: Array) -> Array:
        """Return the expectation of ``score`` over y | x, the best expected score of any forecast; (n,)."""
        return self.conditional(X).expected_score()


def _homoscedastic(X: Array) -> Conditional:
    return Normal(np.sin(2.0 * np.pi * X[:, 0]) + X[:, 1], np.full(len(X), 0.3))


def _heteroscedastic_linear(X: Array) -> Conditional:
    return Normal(np.sin(3.0 * X[:, 0]), 0.1 + 0.9 * X[:, 0])


def _heteroscedastic_nonlinear(X: Array) -> Conditional:
    return Normal(2.0 * X[:, 0], 0.1 + 0.8 * np.sin(np.pi * X[:, 0]) ** 2 * X[:, 1])


def _student_t(X: Array) -> Conditional:
    return Student(np.sin(3.0 * X[:, 0]) + X[:, 1], 0.2 + 0.3 * X[:, 0], 4.0)


def _skewed(X: Array) -> Conditional:
    return Gamma(1.0 + 4.0 * X[:, 0], 0.5 + X[:, 1])


def _bimodal(X: Array) -> Conditional:
    branch = 0.5 + 2.0 * X[:, 0]
    return TwoNormals(0.3 + 0.4 * X[:, 1], -branch, branch, np.full(len(X), 0.2))


def _two_outputs(X: Array) -> Conditional:
    location = np.column_stack([np.sin(3.0 * X[:, 0]), X[:, 1] - X[:, 0]])
    scale = np.column_stack([0.2 + 0.3 * X[:, 0], np.full(len(X), 0.3)])
    return TwoResponses(location, scale, 0.9 * np.cos(np.pi * X[:, 1]))


_DISTRIBUTIONS = (
    KnownDistribution("homoscedastic", "N(sin(2 pi x1) + x2, 0.3^2)", _homoscedastic),
    KnownDistribution("heteroscedastic_linear", "N(sin(3 x1), (0.1 + 0.9 x1)^2)", _heteroscedastic_linear),
    KnownDistribution(
        "heteroscedastic_nonlinear", "N(2 x1, (0.1 + 0.8 sin(pi x1)^2 x2)^2)", _heteroscedastic_nonlinear
    ),
    KnownDistribution("student_t", "sin(3 x1) + x2 + (0.2 + 0.3 x1) t_4", _student_t),
    KnownDistribution("skewed", "Gamma(shape 1 + 4 x1, scale 0.5 + x2)", _skewed),
    KnownDistribution(
        "bimodal", "N(b, 0.2^2) with probability 0.3 + 0.4 x2, else N(-b, 0.2^2); b = 0.5 + 2 x1", _bimodal
    ),
    KnownDistribution(
        "two_outputs",
        "normal: means sin(3 x1) and x2 - x1, deviations 0.2 + 0.3 x1 and 0.3, correlation 0.9 cos(pi x2)",
        _two_outputs,
        n_outputs=2,
    ),
)

DISTRIBUTIONS: dict[str, KnownDistribution] = {distribution.name: distribution for distribution in _DISTRIBUTIONS}
"""The distributions by name."""
