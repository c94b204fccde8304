r"""CARD-style diffusion in two stages: a network for the mean, then a denoising diffusion around it.

CARD's forward process runs from :math:`y_0` to :math:`N(f(x), 1)`,

.. math:: y_k = \sqrt{\bar\alpha_k}\, y_0 + (1 - \sqrt{\bar\alpha_k}) f(x) + \sqrt{1 - \bar\alpha_k}\, \epsilon,

which is the ordinary DDPM of the residual: with :math:`r = y - f(x)` it reads
:math:`r_k = \sqrt{\bar\alpha_k}\, r_0 + \sqrt{1 - \bar\alpha_k}\, \epsilon`. It is written that way here, with ``r`` in
units of its standard deviation on held-out rows, so that the noise levels suit every data set. The second
network sees :math:`(r_k, x, f(x))` and the noise level, each of its layers is multiplied by a learned vector of the
step, and it predicts :math:`\epsilon`. Samples come from the ancestral sampler with all the steps of training; its
estimates of the residual are kept within the range of the training rows'.
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
    import torch
    from torch import Tensor

    from benchmarks.families.networks import Networks, Rows

RANGES: dict[str, Range] = {
    "hidden_size": Choice((64, 128, 256)),
    "n_layers": Integer(2, 5),
    "learning_rate": Real(0.0001, 0.01, log=True),
    "max_epochs": Choice((200, 400)),
    "diffusion_epochs": Choice((200, 400)),
    "n_steps": Choice((50, 100, 200)),
}
VALIDATION_COPIES = 10
"""Noisy copies of the held-out rows that decide when the diffusion stops."""
BLOCK = 16_384
"""States that are moved at a time."""


@dataclass(frozen=True)
class Schedule:
    r"""How much noise each step adds.

    With as few steps as are searched here, the linear schedule and the posterior's variance of CARD's 1000 steps lose
    15% (where the residual has its average standard deviation) to half (where it has a tenth of it) of the variance
    even with the exact noise. The cosine schedule with variance :math:`\beta_k` keeps it within about 10%.

    Attributes
    ----------
    beta, alpha_bar : ndarray of shape (n_steps,)
        Variance added at each step, and :math:`\prod (1 - \beta)` up to it.
    """

    beta: Array
    alpha_bar: Array

    @classmethod
    def cosine(cls, n_steps: int) -> Schedule:
        r""":math:`\bar\alpha(t) \propto \cos^2(\frac{\pi}{2} \frac{t + 0.008}{1.008})`, with ``beta`` at most 0.5."""
        curve = np.cos(0.5 * np.pi * (np.linspace(0.0, 1.0, n_steps + 1) + 0.008) / 1.008) ** 2
        beta = np.minimum(1.0 - curve[1:] / curve[:-1], 0.5)
        return cls(beta, np.cumprod(1.0 - beta))

    @property
    def keep(self) -> Array:
        r""":math:`\sqrt{\bar\alpha}`: how much of the data is left."""
        return np.sqrt(self.alpha_bar)

    @property
    def level(self) -> Array:
        r""":math:`\sqrt{1 - \bar\alpha}`: how much noise there is."""
        return np.sqrt(1.0 - self.alpha_bar)

    def reverse(self, k: int) -> tuple[float, float, float]:
        r"""Return ``(a, b, c)`` of the ancestral step :math:`r_{k-1} = a \hat r_0 + b r_k + c z`."""
        beta, bar = self.beta[k], self.alpha_bar[k]
        before = self.alpha_bar[k - 1] if k else 1.0
        a = np.sqrt(before) * beta / (1.0 - bar)
        b = np.sqrt(1.0 - beta) * (1.0 - before) / (1.0 - bar)
        return float(a), float(b), float(np.sqrt(beta)) if k else 0.0


@dataclass
class Card:
    """The two networks and the schedule."""

    hidden_size: int
    n_layers: int
    learning_rate: float
    max_epochs: int
    diffusion_epochs: int
    n_steps: int
    seeds: Seeds
    n_jobs: int
    schedule: Schedule = field(init=False, repr=False)
    mean: Networks = field(init=False, repr=False)
    noise: Networks = field(init=False, repr=False)
    scale: float = field(init=False)
    limits: tuple[float, float] = field(init=False)

    def fit(self, X: Array, y: Array) -> Card:
        """Train the mean, then the diffusion of its residuals."""
        import torch

        from benchmarks.families.networks import Rows, torch_threads

        self.schedule = Schedule.cosine(self.n_steps)
        generator = torch.Generator().manual_seed(self.seeds.model)
        inputs, response = torch.from_numpy(X).float(), torch.from_numpy(y).float()
        rows = Rows.split(len(y), 1, generator)
        with torch_threads(n_threads(self.n_jobs)):
            self.mean = self._train_mean(inputs, response, rows, generator)
            with torch.inference_mode():
                centre = self.mean(inputs[None])[0]
            residual = response - centre[:, 0]
            self.scale = max(float(residual[rows.valid[0]].square().mean().sqrt()), 1e-6)
            residual = residual.clone() / self.scale
            self.limits = float(residual.min()), float(residual.max())
            self.noise = self._train_noise(torch.cat([inputs, centre], dim=1).clone(), residual, rows, generator)
        return self

    def _hidden(self) -> list[int]:
        return [self.hidden_size] * self.n_layers

    def _train_mean(self, inputs: Tensor, response: Tensor, rows: Rows, generator: torch.Generator) -> Networks:
        from benchmarks.families.networks import Networks, train

        network = Networks(1, (inputs.shape[1], *self._hidden(), 1), generator)

        def squares(chosen: Tensor) -> Tensor:
            return (network(inputs[chosen])[..., 0] - response[chosen]).square().mean(dim=1)

        train(
            network,
            squares,
            lambda: squares(rows.valid),
            rows,
            generator=generator,
            epochs=self.max_epochs,
            learning_rate=self.learning_rate,
        )
        return network

    def _train_noise(self, conditions: Tensor, residual: Tensor, rows: Rows, generator: torch.Generator) -> Networks:
        import torch

        from benchmarks.families.networks import Networks, train

        network = Networks(1, (conditions.shape[1] + 2, *self._hidden(), 1), generator, self.n_steps)
        keep, level = (torch.from_numpy(a).float() for a in (self.schedule.keep, self.schedule.level))

        def noise_for(chosen: Tensor) -> tuple[Tensor, Tensor]:
            step = torch.randint(self.n_steps, chosen.shape, generator=generator)
            return step, torch.randn(chosen.shape, generator=generator)

        def squares(chosen: Tensor, step: Tensor, noise: Tensor) -> Tensor:
            state = keep[step] * residual[chosen] + level[step] * noise
            x = torch.cat([state[..., None], level[step][..., None], conditions[chosen]], dim=-1)
            return (network(x, step)[..., 0] - noise).square().mean(dim=1)

        held_out = rows.valid.repeat(1, VALIDATION_COPIES)
        held_out_noise = noise_for(held_out)
        train(
            network,
            lambda chosen: squares(chosen, *noise_for(chosen)),
            lambda: squares(held_out, *held_out_noise),
            rows,
            generator=generator,
            epochs=self.diffusion_epochs,
            learning_rate=self.learning_rate,
        )
        return network

    def sample(self, X: Array, n_samples: int) -> Array:
        """Draw by the ancestral sampler, a block of rows at a time."""
        import torch

        from benchmarks.families.networks import torch_threads

        generator = torch.Generator().manual_seed(self.seeds.sampler)
        size = max(1, BLOCK // n_samples)
        with torch_threads(n_threads(self.n_jobs)), torch.inference_mode():
            blocks = torch.from_numpy(X).float().split(size)
            drawn = [self._sample_block(block, n_samples, generator) for block in blocks]
        return torch.cat(drawn, dim=1).double().numpy()

    def _sample_block(self, inputs: Tensor, n_samples: int, generator: torch.Generator) -> Tensor:
        """Draw (n_samples, rows) for a block of inputs (rows, p)."""
        import torch

        centre = self.mean(inputs[None])[0]
        n = n_samples * len(inputs)
        # columns: state, noise level, conditions; the first two change from step to step
        x = torch.empty(1, n, inputs.shape[1] + 3)
        x[0, :, 2:] = torch.cat([inputs, centre], dim=1).repeat(n_samples, 1)
        state = torch.randn(n, generator=generator)
        keep, level = self.schedule.keep, self.schedule.level
        for k in reversed(range(self.n_steps)):
            x[0, :, 0], x[0, :, 1] = state, float(level[k])
            # where little of the data is left, a small error of the noise is a large one of the residual
            residual = ((state - float(level[k]) * self.noise(x, k)[0, :, 0]) / float(keep[k])).clamp_(*self.limits)
            a, b, c = self.schedule.reverse(k)
            state = a * residual + b * state
            if k:
                state += c * torch.randn(n, generator=generator)
        return centre[:, 0] + self.scale * state.view(n_samples, len(inputs))


def build(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Model:
    """Build the model."""
    need("torch")
    return Card(**params, seeds=seeds, n_jobs=n_jobs)


FAMILY = Family(
    name="card",
    label="CARD-style diffusion",
    build=build,
    suggest=lambda trial: suggest(trial, RANGES),
    n_trials=EXTERNAL_TRIALS,
    requires=("torch",),
    packages=("torch", "numpy"),
    sampler="ancestral DDPM, all steps",
    neural=True,
)
