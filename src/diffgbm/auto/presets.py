"""How much work goes into an automatic fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diffgbm.diffusion.recipe import noise_model_arguments

RECIPES: dict[str, dict[str, Any]] = {name: noise_model_arguments(name) for name in ("flow", "edm")}
"""Recipes of candidates, without first-stage models."""


@dataclass(frozen=True)
class Rung:
    """One round of the contest.

    Attributes
    ----------
    rows : int
        Rows of the table that take part, at most.
    n_repeats : int
        Noisy copies of each.
    capacity : str or None
        Size of the noise models; ``None`` is the candidate's own.
    keep : int
        Candidates that go on.
    """

    rows: int
    n_repeats: int
    capacity: str | None
    keep: int


@dataclass(frozen=True)
class Preset:
    """The work of an automatic fit.

    Attributes
    ----------
    time_limit : float
        Seconds, unless the user says otherwise.
    stages : tuple of str
        First-stage models that are tried.
    gp_rows : int
        Rows that a Gaussian process sees, at most.
    guides : tuple of (str, tuple of str)
        What is subtracted and what is given, for each kind of candidate.
    recipes : tuple of str
        Recipes of the noise model.
    rungs : tuple of Rung
        Rounds of the contest.
    capacities : tuple of str
        Sizes tried for the best candidates of the last rung.
    finalists, bags : int
        Candidates that are bagged and pooled, and their bags.
    noisy_rows : int
        Rows times repeats of a final noise model, about.
    small_factor : int
        How many times as many candidates go on where the table is small.
    wild_card : bool
        Whether a large noise model without guides enters the finals of tables with many rows.
    samplers : bool
        Whether finalists are tried with other samplers than their recipe's.
    """

    time_limit: float
    stages: tuple[str, ...]
    gp_rows: int
    first_stages: tuple[tuple[str, tuple[str, ...]], ...]
    recipes: tuple[str, ...]
    rungs: tuple[Rung, ...]
    capacities: tuple[str, ...]
    finalists: int
    bags: int
    noisy_rows: int
    small_factor: int = 1
    wild_card: bool = False
    samplers: bool = True


_TREES = ("lightgbm", "extra_trees", "ridge")
_SMOOTH = ("gp_rbf", "gp_matern")
_FEW = (("stack", ()), ("none", ("mean",)), ("none", ("cdf",)))
_ALL = (
    ("stack", ()),
    ("stack", ("mean",)),
    ("none", ()),
    ("none", ("mean",)),
    ("none", ("cdf",)),
    ("none", ("mean", "cdf")),
    ("lightgbm", ()),
    ("stack", ("mean", "cdf")),
    ("gp_rbf", ()),
    ("mlp_wide", ()),
)

PRESETS: Mapping[str, Preset] = {
    "fast": Preset(
        30.0,
        # the Gaussian process before the slower trees: where it is the best by far, time must not run out before it
        ("lightgbm", "ridge", "gp_rbf", "extra_trees"),
        1500,
        _FEW,
        ("flow", "edm"),
        (Rung(1500, 8, "probe", 2),),
        ("usual", "large"),
        2,
        5,
        160_000,
        1,
        True,
    ),
    "balanced": Preset(
        150.0,
        (*_TREES, "lightgbm_small", *_SMOOTH),
        4000,
        _ALL[:6],
        ("flow", "edm"),
        (Rung(2000, 8, "probe", 4), Rung(8000, 12, "usual", 2)),
        ("usual", "large"),
        2,
        4,
        200_000,
        2,
        True,
    ),
    "best": Preset(
        600.0,
        (*_TREES, "lightgbm_small", "linear_tree", *_SMOOTH, "mlp_wide", "mlp_deep"),
        8000,
        _ALL,
        ("flow", "edm"),
        (Rung(2500, 10, "probe", 6), Rung(8000, 15, "usual", 3)),
        ("calm", "usual", "large"),
        3,
        8,
        300_000,
        2,
        True,
    ),
}
