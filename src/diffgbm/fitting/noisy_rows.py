"""Noisy copies of the rows, without ever tiling X.

A training row is ``[c(t) y_t, x, time columns]`` with target ``a(t) y0 + b(t) z``. Only the times and the noise of the
copies are kept in memory, and only until LightGBM has binned the rows, which are put together block by block.

References
----------
.. [1] N. Beltran-Velez, A. A. Grande, A. Nazaret, A. Kucukelbir, D. Blei (2024). Treeffuser: Probabilistic predictions
   via conditional diffusions with gradient-boosted trees. NeurIPS 37.
.. [2] T. Karras, M. Aittala, T. Aila, S. Laine (2022). Elucidating the design space of diffusion-based generative
   models. NeurIPS 35.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.errors import choose
from diffgbm._util.types import Array, Integers, Rows
from diffgbm.data.blocks import BlockSequence, block_length, ranges, take
from diffgbm.diffusion.noise_levels import LOSS_WEIGHTINGS, NOISE_FEATURES
from diffgbm.diffusion.recipe import Recipe
from diffgbm.diffusion.targets import TargetPoint, target_at
from diffgbm.fitting.noise_design import NOISE_DESIGNS

_TEMPORARIES = 16
"""Numbers that a noisy row needs while its target is computed."""


@dataclass(frozen=True)
class NoisyRows:
    """``n_repeats`` noisy copies of m rows, row ``i`` of copy ``r`` at position ``r m + i``.

    Attributes
    ----------
    recipe : Recipe
        What is learned.
    X : ndarray of shape (n, p)
        The clean features, one copy.
    y : ndarray of shape (m, d)
        Standardised responses.
    row_weights : ndarray of shape (m,) or None
        Weight of each row.
    times : ndarray of shape (n_repeats m,)
        Time of each copy.
    noise : ndarray of shape (n_repeats m, d)
        Noise ``z`` of each copy.
    chosen : ndarray of shape (m,) or None
        Rows of ``X`` that are learned from; ``None`` is all of them.
    stage_features : ndarray of shape (n, k) or None
        Columns of the first-stage models, if they are not among those of ``X``.
    """

    recipe: Recipe
    X: Array
    y: Array
    row_weights: Array | None
    times: Array
    noise: Array
    chosen: Rows | None = None
    stage_features: Array | None = None

    def __len__(self) -> int:
        return len(self.times)

    @property
    def states(self) -> Array:
        """``c(t) y_t`` of all copies: shape (n_repeats m, d)."""
        return self._all(self.states_at, self.y.shape[1:])

    @property
    def columns(self) -> Array:
        """Time columns of all copies: shape (n_repeats m, q)."""
        return self.columns_at(np.arange(len(self)))

    @property
    def targets(self) -> Array:
        """What the trees regress on: shape (n_repeats m, d)."""
        return self._all(self.targets_at, self.y.shape[1:])

    @property
    def weights(self) -> Array | None:
        """Weight of each copy: shape (n_repeats m,), or ``None`` if all are equal."""
        if self.row_weights is None and self.weights_at(np.arange(min(1, len(self)))) is None:
            return None
        return self._all(self.weights_at, ())

    def labels(self) -> list[NDArray[np.float32]]:
        """Return the targets as LightGBM keeps them: d arrays of length ``n_repeats m``."""
        labels = [np.empty(len(self), dtype=np.float32) for _ in range(self.y.shape[1])]
        for part in ranges(len(self), block_length(_TEMPORARIES)):
            targets = self.targets_at(np.arange(part.start, part.stop))
            for label, values in zip(labels, targets.T, strict=True):
                label[part] = values
        return labels

    def states_at(self, position: Rows) -> Array:
        """``c(t) y_t`` at some positions (k,): shape (k, d)."""
        point = self._point(position)
        y0 = self.y[position % len(self.y)]
        return point.feature_scale * (point.path.alpha * y0 + point.path.beta * self.noise[position])

    def columns_at(self, position: Rows) -> Array:
        """Time columns at some positions (k,): shape (k, q)."""
        t = self.times[position]
        return NOISE_FEATURES[self.recipe.noise_features](t, self.recipe.path.at(t))

    def targets_at(self, position: Rows) -> Array:
        """Targets at some positions (k,): shape (k, d)."""
        return self._point(position).of(self.y[position % len(self.y)], self.noise[position])

    def weights_at(self, position: Rows) -> Array | None:
        """Weights at some positions (k,), or ``None`` if all are equal."""
        level = LOSS_WEIGHTINGS[self.recipe.loss_weighting](self._point(position), self.recipe.min_snr_gamma)
        if self.row_weights is None:
            return None if level is None else level[:, 0]
        weights = self.row_weights[position % len(self.y)]
        return weights * (1.0 if level is None else level[:, 0])

    def features_at(self, position: Rows) -> list[NDArray[Any]]:
        """Return the clean columns at some positions (k,): those of ``x``, and those of the first-stage models."""
        rows = position % len(self.y)
        rows = rows if self.chosen is None else self.chosen[rows]
        return [take(self.X, rows), *([] if self.stage_features is None else [self.stage_features[rows]])]

    def _point(self, position: Rows) -> TargetPoint:
        t = self.times[position][:, None]
        return target_at(self.recipe.target, self.recipe.path, t, self.recipe.sigma_data)

    def _all(self, function: Callable[[Rows], Array | None], shape: tuple[int, ...]) -> Array:
        values = np.empty((len(self), *shape))
        for part in ranges(len(self), block_length(_TEMPORARIES)):
            values[part] = function(np.arange(part.start, part.stop))
        return values


def noisy_rows(
    recipe: Recipe,
    X: Array,
    y: Array,
    weights: Array | None,
    n_repeats: int,
    seed: np.random.SeedSequence,
    design: str = "independent",
    positions: Integers | None = None,
    chosen: Rows | None = None,
    stage_features: Array | None = None,
) -> NoisyRows:
    """Draw the noise model's training data from standardised responses ``y`` (m, d) of the chosen rows of ``X``.

    ``design`` is a name in ``NOISE_DESIGNS``, ``positions`` (m,) those of the rows in the whole table; by default these
    rows are the whole table.
    """
    positions = np.arange(len(y)) if positions is None else positions
    times, noise = choose("noise_design", design, NOISE_DESIGNS).draw(recipe, n_repeats, positions, y.shape[1], seed)
    return NoisyRows(recipe, X, y, weights, times, noise, chosen, stage_features)


class NoisyRowSequence(BlockSequence):
    """LightGBM's view of noisy rows: states, features, time columns."""

    def __init__(self, noisy: NoisyRows) -> None:
        self._noisy = noisy
        k = 0 if noisy.stage_features is None else noisy.stage_features.shape[1]
        q = noisy.columns_at(np.arange(0)).shape[1]
        super().__init__(len(noisy), noisy.y.shape[1] + noisy.X.shape[1] + k + q)

    def rows(self, position: Rows) -> Array:
        """Put rows together."""
        noisy = self._noisy
        parts = [noisy.states_at(position), *noisy.features_at(position), noisy.columns_at(position)]
        matrix, first = np.empty((len(position), self.width)), 0
        for part in parts:
            last = first + part.shape[1]
            matrix[:, first:last] = part
            first = last
        return matrix
