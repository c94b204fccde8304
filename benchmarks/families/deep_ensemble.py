r"""Deep ensemble: five networks that each predict a normal distribution; samples come from their equal mixture.

.. math:: p(y \mid x) = \frac15 \sum_{m=1}^{5} N(y; \mu_m(x), \sigma_m^2(x))

Each network maximises the likelihood on a different 90% of the rows and stops early on the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.families.base import EXTERNAL_TRIALS, Family, Model, need
from benchmarks.protocol import Seeds
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.tuning.search_spaces import Choice, Integer, Range, Real, suggest

if TYPE_CHECKING:
    from torch import Tensor

    from benchmarks.families.networks import Networks

RANGES: dict[str, Range] = {
    "hidden_size": Choice((64, 128, 256, 512)),
    "n_layers": Integer(2, 5),
    "learning_rate": Real(0.0001, 0.01, log=True),
    "max_epochs": Choice((100, 200, 400)),
}
MEMBERS = 5
SMALLEST_VARIANCE = 1e-6
"""For standardised responses: without a floor, the likelihood of an interpolating network is unbounded."""


@dataclass
class DeepEnsemble:
    """Five Gaussian networks."""

    hidden_size: int
    n_layers: int
    learning_rate: float
    max_epochs: int
    seeds: Seeds
    n_jobs: int
    networks: Networks = field(init=False, repr=False)

    def fit(self, X: Array, y: Array) -> DeepEnsemble:
        """Train all members at once."""
        import torch

        from benchmarks.families.networks import Networks, Rows, torch_threads, train

        generator = torch.Generator().manual_seed(self.seeds.model)
        inputs, response = torch.from_numpy(X).float(), torch.from_numpy(y).float()
        rows = Rows.split(len(y), MEMBERS, generator)
        sizes = (X.shape[1], *[self.hidden_size] * self.n_layers, 2)
        networks = self.networks = Networks(MEMBERS, sizes, generator)

        def nll(chosen: Tensor) -> Tensor:
            mean, variance = _distribution(networks(inputs[chosen]))
            return (0.5 * (variance.log() + (response[chosen] - mean) ** 2 / variance)).mean(dim=1)

        with torch_threads(n_threads(self.n_jobs)):
            train(
                networks,
                nll,
                lambda: nll(rows.valid),
                rows,
                epochs=self.max_epochs,
                learning_rate=self.learning_rate,
                generator=generator,
            )
        return self

    def distributions(self, X: Array) -> tuple[Array, Array]:
        """Return the members' means and variances, both (members, n)."""
        import torch

        from benchmarks.families.networks import torch_threads

        with torch_threads(n_threads(self.n_jobs)), torch.inference_mode():
            blocks = [
                _distribution(self.networks(block.expand(MEMBERS, -1, -1)))
                for block in torch.from_numpy(X).float().split(8192)
            ]
        mean, variance = (torch.cat(parts, dim=1).double().numpy() for parts in zip(*blocks, strict=True))
        return mean, variance

    def sample(self, X: Array, n_samples: int) -> Array:
        """Draw from the mixture: a member for each sample, then its normal distribution."""
        mean, variance = self.distributions(X)
        rng = np.random.default_rng(self.seeds.sampler)
        member, rows = rng.integers(MEMBERS, size=(n_samples, len(X))), np.arange(len(X))
        return mean[member, rows] + np.sqrt(variance[member, rows]) * rng.standard_normal((n_samples, len(X)))


def _distribution(output: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance from the two outputs of (members, n, 2)."""
    from torch.nn.functional import softplus

    return output[..., 0], softplus(output[..., 1]) + SMALLEST_VARIANCE


def build(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Model:
    """Build the model."""
    need("torch")
    return DeepEnsemble(**params, seeds=seeds, n_jobs=n_jobs)


FAMILY = Family(
    name="deep_ensemble",
    label="Deep ensemble",
    build=build,
    suggest=lambda trial: suggest(trial, RANGES),
    n_trials=EXTERNAL_TRIALS,
    requires=("torch",),
    packages=("torch", "numpy"),
    sampler="mixture of five normal distributions",
    neural=True,
)
