"""Candidates: which combinations of first-stage models, recipe and size are tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from diffgbm.auto.first_stages import NONE, FirstStages
from diffgbm.auto.presets import Preset
from diffgbm.diffusion.recipe import noise_model_arguments
from diffgbm.diffusion.sampler import Sampler
from diffgbm.fitting.defaults import DEFAULTS
from diffgbm.fitting.sizes import SIZES

RECIPE_NAMES = {"flow": "flow matching", "edm": "diffusion"}
"""Recipes, as users read them."""
SUBTRACTED_NAMES = {
    NONE: "the response",
    "stack": "the residuals of stacked regressions",
    "stack_shrunk_scale": "the residuals of stacked regressions divided by their scale",
    "lightgbm": "the residuals of LightGBM",
    "gp_rbf": "the residuals of a Gaussian process",
    "mlp_wide": "the residuals of a neural network",
}
"""What a noise model learns after a first-stage model is subtracted."""
FEATURE_NAMES = {
    "mean": "the predicted mean",
    "cdf": "the predicted distribution function",
    "kernel_cdf": "a smooth distribution function",
}
"""First-stage predictions that are features."""
SIZE_NAMES = {"usual": "", "large": "large trees", "calm": "small trees", "probe": "few trees"}
"""Sizes; the usual one is not mentioned."""


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
    member : str
        What a member from outside is called; the other attributes mean nothing then.
    """

    subtracted: str
    features: tuple[str, ...]
    recipe: str
    size: str = "usual"
    sampler: Sampler | None = None
    member: str = ""

    def __str__(self) -> str:
        if self.member:
            return self.member
        if self == CLIMATOLOGY:
            return "climatology (the training responses, without any columns)"
        features = enumerated([FEATURE_NAMES.get(name, f"the prediction of {name}") for name in self.features])
        parts = [
            f"{RECIPE_NAMES.get(self.recipe, self.recipe)} of {SUBTRACTED_NAMES.get(self.subtracted, self.subtracted)}",
            f"given {features}" if features else "",
            SIZE_NAMES.get(self.size, f"size {self.size}"),
            f"sampled by {self.sampler}" if self.sampler else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def family(self) -> Candidate:
        """The candidate in the usual size and with its recipe's sampler: sizes and samplers of one are its variants."""
        return replace(self, size="usual", sampler=None)

    def arguments(self, n_repeats: int, size: str | None = None) -> dict[str, Any]:
        """Return the arguments that its noise model is trained with; ``size`` replaces the candidate's."""
        return {
            **DEFAULTS,
            "residualize": "off",
            **noise_model_arguments(self.recipe),
            **SIZES[size or self.size],
            "n_repeats": n_repeats,
            "noise_design": "even",
        }


def enumerated(names: Sequence[str]) -> str:
    """Return names as a sentence has them: ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


LARGE_PLAIN = Candidate(NONE, (), "edm", "large")
"""A large noise model without first-stage models. On many rows it may be the best of all."""

CLIMATOLOGY = Candidate(NONE, (), "climatology")
"""The training responses as the distribution of every row."""


def outside_candidate(name: str, gives: str) -> Candidate:
    """Return the candidate of a member from outside that gives, for example, quantiles."""
    return Candidate(NONE, (), "member", member=f"{name} (your member: {gives})")


def candidates_of(preset: Preset, first_stages: FirstStages) -> list[Candidate]:
    """Return the preset's candidates, with the features whose first-stage models were fitted.

    A candidate without its subtracted model, or without any of its features, is left out.
    """
    kinds = []
    for subtracted, features in preset.first_stages:
        fitted = tuple(name for name in features if first_stages.has(NONE, (name,)))
        if first_stages.has(subtracted, ()) and (fitted or not features):
            kinds.append((subtracted, fitted))
    return [
        Candidate(subtracted, features, recipe)
        for subtracted, features in dict.fromkeys(kinds)
        for recipe in preset.recipes
    ] or [Candidate(NONE, (), recipe) for recipe in preset.recipes]
