"""Candidates: which combinations of first-stage models, recipe and size are tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffgbm.auto.first_stages import NONE, FirstStages
from diffgbm.auto.presets import Preset
from diffgbm.diffusion.recipe import noise_model_arguments
from diffgbm.diffusion.sampler import Sampler
from diffgbm.fitting.defaults import DEFAULTS
from diffgbm.fitting.sizes import SIZES


@dataclass(frozen=True)
class Candidate:
    """One way to model the table.

    Attributes
    ----------
    subtracted : str
        First-stage model that is subtracted from the response, or ``"none"``.
    features : tuple of str
        First-stage models whose predictions are features of the noise model.
    recipe, size : str
        Names in ``NAMED`` and ``SIZES``.
    sampler : Sampler or None
        Sampler that replaces the recipe's.
    """

    subtracted: str
    features: tuple[str, ...]
    recipe: str
    size: str = "usual"
    sampler: Sampler | None = None

    def __str__(self) -> str:
        first_stage = f"{self.subtracted} subtracted" if self.subtracted != NONE else "nothing subtracted"
        features = f", {' and '.join(self.features)} as features" if self.features else ""
        sampler = f", {self.sampler}" if self.sampler else ""
        return f"{self.recipe}, {first_stage}{features}, {self.size}{sampler}"

    def arguments(self, n_repeats: int, size: str | None = None) -> dict[str, Any]:
        """Return the arguments that its noise model is trained with; ``size`` replaces the candidate's."""
        return {
            **DEFAULTS,
            "residualize": "off",
            **noise_model_arguments(self.recipe),
            **SIZES[size or self.size],
            "n_repeats": n_repeats,
        }


LARGE_PLAIN = Candidate(NONE, (), "edm", "large")
"""A large noise model without first-stage models. On many rows it may be the best of all."""


def candidates_of(preset: Preset, first_stages: FirstStages) -> list[Candidate]:
    """Return the preset's candidates whose first-stage models were fitted."""
    return [
        Candidate(subtracted, features, recipe)
        for subtracted, features in preset.first_stages
        if first_stages.has(subtracted, features)
        for recipe in preset.recipes
    ] or [Candidate(NONE, (), recipe) for recipe in preset.recipes]
