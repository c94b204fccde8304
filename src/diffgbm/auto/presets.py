"""How much work goes into an automatic fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Round:
    """One round of the search.

    Attributes
    ----------
    rows : int
        Rows of the table that take part, at most.
    n_repeats : int
        Noisy copies of each.
    size : str or None
        Size of the noise models; ``None`` is the candidate's.
    keep : int
        Candidates that go on.
    """

    rows: int
    n_repeats: int
    size: str | None
    keep: int


@dataclass(frozen=True)
class Preset:
    """The work of an automatic fit.

    Attributes
    ----------
    time_limit : float
        Seconds, unless the user sets a limit.
    first_stage_models : tuple of str
        First-stage models that are tried, by their names in the catalogue.
    gp_rows : int
        Rows that a Gaussian process or a kernel regression is fitted to, at most.
    first_stages : tuple of (str, tuple of str)
        For each kind of candidate, the first-stage model that is subtracted and those that are features.
    recipes : tuple of str
        Recipes of the noise model.
    rounds : tuple of Round
        Rounds of the search.
    sizes : tuple of str
        Sizes that the best candidate of the last round is tried in.
    final_models, bags : int
        Candidates that are trained on all rows and pooled, and the bags of each.
    noisy_rows : int
        Rows times noisy copies of a final model, about.
    small_factor : int
        On a small table, this many times as many candidates go on.
    large_plain : bool
        Whether a large noise model without first-stage models is added on tables with many rows.
    samplers : bool
        Whether other samplers than the recipe's are compared.
    """

    time_limit: float
    first_stage_models: tuple[str, ...]
    gp_rows: int
    first_stages: tuple[tuple[str, tuple[str, ...]], ...]
    recipes: tuple[str, ...]
    rounds: tuple[Round, ...]
    sizes: tuple[str, ...]
    final_models: int
    bags: int
    noisy_rows: int
    small_factor: int = 1
    large_plain: bool = False
    samplers: bool = True


_FEW_FIRST_STAGES = (("stack", ()), ("none", ("mean", "kernel_cdf")), ("none", ("mean", "cdf", "kernel_cdf")))
_SEVERAL_FIRST_STAGES = (
    ("stack", ()),
    ("stack", ("mean",)),
    ("none", ()),
    ("none", ("mean", "kernel_cdf")),
    ("none", ("cdf",)),
    ("none", ("mean", "cdf", "kernel_cdf")),
)
_ALL_FIRST_STAGES = (
    *_SEVERAL_FIRST_STAGES,
    ("lightgbm", ()),
    ("stack", ("mean", "cdf")),
    ("gp_rbf", ()),
    ("mlp_wide", ()),
    ("stack_shrunk_scale", ()),
)

PRESETS: Mapping[str, Preset] = {
    "fast": Preset(
        time_limit=30.0,
        # the Gaussian process comes before the slower trees: on some tables it is the best by far
        first_stage_models=("lightgbm", "ridge", "gp_rbf", "extra_trees"),
        gp_rows=3000,
        first_stages=_FEW_FIRST_STAGES,
        recipes=("flow", "edm"),
        rounds=(Round(rows=1500, n_repeats=8, size="probe", keep=2),),
        sizes=("usual", "large"),
        final_models=2,
        bags=5,
        noisy_rows=160_000,
        large_plain=True,
    ),
    "balanced": Preset(
        time_limit=150.0,
        first_stage_models=("lightgbm", "extra_trees", "ridge", "lightgbm_small", "gp_rbf", "gp_matern"),
        gp_rows=4000,
        first_stages=_SEVERAL_FIRST_STAGES,
        recipes=("flow", "edm"),
        rounds=(
            Round(rows=2000, n_repeats=8, size="probe", keep=4),
            Round(rows=8000, n_repeats=12, size="usual", keep=2),
        ),
        sizes=("usual", "large"),
        final_models=2,
        bags=4,
        noisy_rows=200_000,
        small_factor=2,
        large_plain=True,
    ),
    "best": Preset(
        time_limit=600.0,
        first_stage_models=(
            *("lightgbm", "extra_trees", "ridge", "lightgbm_small", "linear_tree"),
            *("gp_rbf", "gp_matern", "mlp_wide", "mlp_deep"),
        ),
        gp_rows=8000,
        first_stages=_ALL_FIRST_STAGES,
        recipes=("flow", "edm"),
        rounds=(
            Round(rows=2500, n_repeats=10, size="probe", keep=6),
            Round(rows=8000, n_repeats=15, size="usual", keep=3),
        ),
        sizes=("calm", "usual", "large"),
        final_models=3,
        bags=8,
        noisy_rows=300_000,
        small_factor=2,
        large_plain=True,
    ),
}


def least_work(preset: Preset) -> Preset:
    """Return a preset with one candidate and nothing to compare: a constant response needs no search."""
    return replace(
        preset,
        first_stage_models=(),
        first_stages=(("none", ()),),
        recipes=preset.recipes[:1],
        rounds=(),
        sizes=preset.sizes[:1],
        final_models=1,
        bags=1,
        noisy_rows=1,
        small_factor=1,
        large_plain=False,
        samplers=False,
    )
