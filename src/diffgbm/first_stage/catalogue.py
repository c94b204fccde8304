"""First-stage models by name: the one table that arguments, messages, presets and model files read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from diffgbm._util.errors import known
from diffgbm.diffusion.recipe import RESIDUALIZER_A, RESIDUALIZER_C
from diffgbm.first_stage.conditional_cdf import ConditionalCDF
from diffgbm.first_stage.cross_fitting import FirstStage
from diffgbm.first_stage.gaussian_process import GaussianProcessMean, Kernel
from diffgbm.first_stage.kernel_cdf import KernelCDF
from diffgbm.first_stage.leaf_forest import ExtraTreesMean
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.first_stage.stack import Stack

OFF = "off"
"""Name of no first-stage model."""
SCALE = "_scale"
"""Suffix of a name whose model is fitted twice: to the response, and to log |residual|."""
SHRUNK_SCALE = "_shrunk_scale"
"""Suffix of a name whose model is fitted to the response, and small trees with a shrunken scale to log |residual|."""
USUAL_STACK = (
    "lightgbm",
    "lightgbm_medium",
    "linear_tree",
    "ridge_to_100",
    "extra_trees",
    "gp_matern",
    "gp_rbf",
)
"""Members of ``"stack"``: trees, lines and smooth functions. One of them fits most tables."""


@dataclass(frozen=True)
class Size:
    """How large first-stage models are.

    Attributes
    ----------
    n_trees : int or None
        Trees of a randomised forest; ``None`` is the forest's default.
    gp_rows : int or None
        Rows that a Gaussian process or a kernel regression is fitted to, at most; ``None`` is its default. A tenth of
        them, at most 500, determine its hyperparameters.
    lightgbm : dict
        Parameters of ``"mean"`` that replace those of ``RESIDUALIZER_A``.
    """

    n_trees: int | None = None
    gp_rows: int | None = None
    lightgbm: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A first-stage model that has a name.

    Attributes
    ----------
    build : callable
        Makes the model in a ``Size``.
    meaning : str
        One line for documentation.
    predicts_response : bool
        Whether it predicts the response itself. Only such a model can be subtracted or stacked.
    public : bool
        Whether ``residualize`` and ``first_stage_features`` accept the name; the other names are for presets.
    scaled : bool
        Whether ``residualize`` accepts the name with the suffixes ``"_scale"`` and ``"_shrunk_scale"``.
    few_columns : bool
        Whether it needs a table of few columns: ``AutoDiffGBM`` leaves it out otherwise.
    """

    build: Callable[[Size], FirstStage]
    meaning: str
    predicts_response: bool = True
    public: bool = False
    scaled: bool = False
    few_columns: bool = False


def build(name: str, size: Size | None = None) -> FirstStage:
    """Make the first-stage model called ``name``."""
    return CATALOGUE[known("first-stage model", name, CATALOGUE)].build(size or Size())


def subtracted_names() -> tuple[str, ...]:
    """Return what ``residualize`` accepts."""
    names = [OFF]
    for name, entry in CATALOGUE.items():
        if entry.public and entry.predicts_response:
            names += [name, name + SCALE, name + SHRUNK_SCALE] if entry.scaled else [name]
    return tuple(names)


def feature_names() -> tuple[str, ...]:
    """Return what ``first_stage_features`` accepts."""
    return tuple(name for name, entry in CATALOGUE.items() if entry.public)


def stacked_names() -> tuple[str, ...]:
    """Return what a list of first-stage models may hold: names of those that predict the response."""
    return tuple(name for name, entry in CATALOGUE.items() if entry.public and entry.predicts_response)


def _lightgbm(**changes: Any) -> Callable[[Size], FirstStage]:
    return lambda size: LightGBMMean({**RESIDUALIZER_C, **changes})


def _gaussian_process(kernel: Kernel) -> Callable[[Size], FirstStage]:
    return lambda size: GaussianProcessMean(kernel, **_process_rows(size))


def _process_rows(size: Size) -> dict[str, Any]:
    return {} if size.gp_rows is None else {"rows_for_lengths": min(500, size.gp_rows // 10), "max_rows": size.gp_rows}


def _trees(size: Size) -> dict[str, int]:
    return {} if size.n_trees is None else {"n_trees": size.n_trees}


def _ridge(*penalties: float) -> Callable[[Size], FirstStage]:
    def build(size: Size) -> FirstStage:
        from sklearn.linear_model import RidgeCV

        return AnyRegressor(RidgeCV(alphas=penalties))

    return build


def _network(layers: tuple[int, ...], penalty: float, rate: float, batch: int) -> Callable[[Size], FirstStage]:
    """Return a neural network that stops early on a tenth of its rows."""

    def build(size: Size) -> FirstStage:
        from sklearn.neural_network import MLPRegressor

        return AnyRegressor(
            MLPRegressor(
                hidden_layer_sizes=layers,
                alpha=penalty,
                learning_rate_init=rate,
                batch_size=batch,
                early_stopping=True,
                n_iter_no_change=15,
                max_iter=1000,
            )
        )

    return build


CATALOGUE: dict[str, Entry] = {
    "mean": Entry(
        lambda size: LightGBMMean({**RESIDUALIZER_A, **size.lightgbm}),
        "LightGBM with squared error; its parameters are an argument of the estimator",
        public=True,
        scaled=True,
    ),
    "stack": Entry(
        lambda size: Stack(tuple(build(name, size) for name in USUAL_STACK)),
        "several models, combined by non-negative least squares",
        public=True,
    ),
    "gp": Entry(_gaussian_process("matern"), "Gaussian process, Matern 5/2", public=True, few_columns=True),
    "cdf": Entry(
        lambda size: ConditionalCDF(**_trees(size)),
        "randomised trees for the conditional distribution function",
        predicts_response=False,
        public=True,
    ),
    "kernel_cdf": Entry(
        lambda size: KernelCDF(**_process_rows(size)),
        "kernel ridge regression of the conditional distribution function",
        predicts_response=False,
        public=True,
        few_columns=True,
    ),
    "lightgbm": Entry(_lightgbm(), "LightGBM, the paper's variant C"),
    "lightgbm_medium": Entry(
        _lightgbm(num_leaves=15, min_child_samples=5, n_estimators=400), "LightGBM with trees of 15 leaves"
    ),
    "lightgbm_small": Entry(
        _lightgbm(num_leaves=8, min_child_samples=5, n_estimators=600), "LightGBM with trees of 8 leaves"
    ),
    "linear_tree": Entry(
        _lightgbm(linear_tree=True, num_leaves=15, linear_lambda=0.1), "LightGBM with linear functions in the leaves"
    ),
    "ridge": Entry(_ridge(0.01, 0.1, 1.0, 10.0, 100.0, 1000.0), "ridge regression"),
    "ridge_to_100": Entry(_ridge(0.01, 0.1, 1.0, 10.0, 100.0), "ridge regression with penalties up to 100"),
    "extra_trees": Entry(lambda size: ExtraTreesMean(**_trees(size)), "randomised trees"),
    "gp_matern": Entry(_gaussian_process("matern"), "Gaussian process, Matern 5/2", few_columns=True),
    "gp_rbf": Entry(_gaussian_process("rbf"), "Gaussian process, squared exponential", few_columns=True),
    "mlp_wide": Entry(_network((128, 128), 1e-3, 2e-3, 128), "neural network of 2 layers of 128", few_columns=True),
    "mlp_deep": Entry(_network((64, 64, 64), 1e-2, 5e-3, 64), "neural network of 3 layers of 64", few_columns=True),
}
"""A new first-stage model is one entry here."""
