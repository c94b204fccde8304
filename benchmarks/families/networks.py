"""Small neural networks, several at a time, and how they are trained. Importing this module imports PyTorch.

The members of an ensemble are one batch of matrices: every parameter has the member as its first axis, so that one
batched product serves all of them and their gradients do not mix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

VALIDATION = 0.1
PATIENCE = 30
"""Share of the rows that decide when to stop, and epochs without improvement that do."""


@contextmanager
def torch_threads(n: int) -> Iterator[None]:
    """Let PyTorch use ``n`` threads inside the block; the previous number is restored afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Networks(nn.Module):
    """Multi-layer perceptrons with ReLU, all of the same shape.

    Parameters
    ----------
    members : int
        How many.
    sizes : sequence of int
        Inputs, hidden layers, outputs.
    generator : torch.Generator
        Draws the initial weights.
    n_steps : int
        If positive, each hidden layer is multiplied by a learned vector of the step, as in CARD.
    """

    def __init__(self, members: int, sizes: Sequence[int], generator: torch.Generator, n_steps: int = 0) -> None:
        super().__init__()
        self.weights, self.biases, self.gates = nn.ParameterList(), nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise(sizes):
            bound = fan_in**-0.5
            weight = torch.empty(members, fan_in, fan_out).uniform_(-bound, bound, generator=generator)
            bias = torch.empty(members, 1, fan_out).uniform_(-bound, bound, generator=generator)
            self.weights.append(weight)
            self.biases.append(bias)
        if n_steps:
            for hidden in sizes[1:-1]:
                self.gates.append(torch.ones(members, n_steps, hidden))

    def forward(self, x: Tensor, step: Tensor | int | None = None) -> Tensor:
        """Map (members, n, inputs) to (members, n, outputs).

        ``step`` is one number for all rows, or (members, n) of them.
        """
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias, x, weight)
            if layer == last:
                break
            if step is not None:
                x = x * _gate(self.gates[layer], step)
            x = torch.relu(x)
        return x


def _gate(table: Tensor, step: Tensor | int) -> Tensor:
    """Look (members, n_steps, hidden) up: (members, 1 or n, hidden)."""
    if isinstance(step, int):
        return table[:, step : step + 1]
    return table[torch.arange(len(table))[:, None], step]


@dataclass(frozen=True)
class Rows:
    """Row numbers for each member, (members, n_train) and (members, n_valid)."""

    train: Tensor
    valid: Tensor

    @classmethod
    def split(cls, n: int, members: int, generator: torch.Generator) -> Rows:
        """Hold out a tenth of ``n`` rows, another tenth for each member."""
        n_valid = max(1, round(VALIDATION * n))
        order = _permutations(members, n, generator)
        return cls(order[:, n_valid:], order[:, :n_valid])


def train(
    networks: Networks,
    loss: Callable[[Tensor], Tensor],
    validation_loss: Callable[[], Tensor],
    rows: Rows,
    *,
    epochs: int,
    learning_rate: float,
    generator: torch.Generator,
) -> None:
    """Train in place with AdamW; each member keeps the weights of its best epoch.

    Parameters
    ----------
    networks : Networks
        What is trained.
    loss : callable
        Row numbers (members, batch) to the members' losses (members,).
    validation_loss : callable
        The members' losses (members,) on their held-out rows.
    rows : Rows
        Which rows are trained on.
    epochs : int
        At most; training ends when no member has improved for ``PATIENCE`` epochs.
    learning_rate : float
        Of AdamW.
    generator : torch.Generator
        Shuffles the rows.
    """
    optimiser = torch.optim.AdamW(networks.parameters(), lr=learning_rate, fused=True)
    members, n = rows.train.shape
    batch = batch_size(n)
    best_loss = torch.full((members,), float("inf"))
    best = [p.detach().clone() for p in networks.parameters()]
    last_improvement = 0
    for epoch in range(epochs):
        order = rows.train.gather(1, _permutations(members, n, generator))
        for first in range(0, n, batch):
            optimiser.zero_grad(set_to_none=True)
            loss(order[:, first : first + batch]).sum().backward()
            optimiser.step()
        with torch.inference_mode():
            now = validation_loss()
        better = now < best_loss  # a NaN loss is never better
        if better.any():
            last_improvement = epoch
            best_loss[better] = now[better]
            for kept, p in zip(best, networks.parameters(), strict=True):
                kept[better] = p.detach()[better]
        elif epoch - last_improvement >= PATIENCE:
            break
    with torch.no_grad():
        for kept, p in zip(best, networks.parameters(), strict=True):
            p.copy_(kept)


def batch_size(n: int) -> int:
    """Return the batch for ``n`` rows: about 32 steps in an epoch, but between 32 and 256 rows each."""
    return max(32, min(256, n // 32))


def _permutations(members: int, n: int, generator: torch.Generator) -> Tensor:
    return torch.stack([torch.randperm(n, generator=generator) for _ in range(members)])
