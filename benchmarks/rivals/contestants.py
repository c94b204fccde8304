"""Who takes part: packages with pinned versions, what they are asked to do, and whether they keep a time limit.

Each has its defaults, and what its documentation recommends for distributions. Nobody is tuned.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers.recipes import Package

OURS = "ours"
"""The environment of the source tree."""
LIGHTGBM = "lightgbm==4.7.0 scikit-learn==1.9.1"
AUTOGLUON = "autogluon.tabular[catboost,lightgbm,xgboost,fastai]==1.6.3"
FEWER = "21 levels, those between interpolated: with 99 it trains no model on thousands of rows"


@dataclass(frozen=True)
class Contestant:
    """One row of the comparison.

    Attributes
    ----------
    name : str
        As in results.
    label : str
        As in the page.
    recipe : str
        Name of the function of ``runner.py`` that fits and predicts.
    settings : str
        What is not a default, for the page.
    environment : str
        Folder of its environment; several contestants may share one.
    requirement : str or None
        What pip installs there; ``None`` is the source tree of this repository.
    limited : bool
        Whether it accepts a time limit. Others are fitted once, and appear under the limits that they kept.
    """

    name: str
    label: str
    recipe: str
    settings: str
    environment: str
    requirement: str | None
    limited: bool = False

    @property
    def ours(self) -> bool:
        """Whether it is of this repository."""
        return self.requirement is None

    @property
    def package(self) -> Package:
        """What the environment is made for."""
        return Package(self.environment, self.environment, self.recipe, self.requirement)


_ALL = (
    Contestant("fast", "AutoDiffGBM fast", "ours_auto", "", OURS, None, True),
    Contestant("balanced", "AutoDiffGBM balanced", "ours_auto", "", OURS, None, True),
    Contestant("best", "AutoDiffGBM best", "ours_auto", "", OURS, None, True),
    Contestant("flow", "DiffGBM.flow()", "ours_row", "", OURS, None),
    Contestant("score_plus", "DiffGBM.score_plus()", "ours_row", "", OURS, None),
    Contestant("published", "DiffGBM.published()", "ours_row", "", OURS, None),
    Contestant(
        "autogluon",
        "AutoGluon best_quality",
        "autogluon",
        f'presets="best_quality", dynamic_stacking=False, {FEWER}',
        "autogluon",
        AUTOGLUON,
        True,
    ),
    Contestant("autogluon_medium", "AutoGluon", "autogluon", FEWER, "autogluon", AUTOGLUON, True),
    Contestant(
        "catboost_quantile",
        "CatBoost MultiQuantile",
        "catboost_quantile",
        "MultiQuantile at 21 levels, those between interpolated",
        "catboost",
        "catboost==1.2.10",
    ),
    Contestant(
        "catboost_normal",
        "CatBoost RMSEWithUncertainty",
        "catboost_normal",
        "RMSEWithUncertainty, posterior_sampling",
        "catboost",
        "catboost==1.2.10",
    ),
    Contestant("ngboost", "NGBoost", "ngboost", "Normal", "ngboost", "ngboost==0.5.11"),
    Contestant(
        "lightgbm_quantile",
        "LightGBM quantile",
        "lightgbm_quantile",
        'objective="quantile", one model for each of 99 levels, sorted',
        "lightgbm",
        LIGHTGBM,
    ),
    Contestant(
        "quantile_forest",
        "quantile-forest",
        "quantile_forest",
        "RandomForestQuantileRegressor",
        "quantile-forest",
        "quantile-forest==1.4.2",
    ),
    Contestant(
        "hessboost_flow",
        "hessboost flow",
        "hessboost",
        "DiffusionParams.flow_matching(), 200 samples",
        "hessboost",
        "hessboost==0.3.0",
    ),
    Contestant(
        "hessboost_default",
        "hessboost diffusion",
        "hessboost",
        "DiffusionParams.default(), 200 samples",
        "hessboost",
        "hessboost==0.3.0",
    ),
    Contestant("treeffuser", "treeffuser", "sampler", "200 samples", "treeffuser", "treeffuser==0.2.0 setuptools<81"),
    Contestant("released", "diffgbm 0.1.2", "sampler", "200 samples", "diffgbm", "diffgbm==0.1.2"),
    Contestant(
        "conformal_lightgbm",
        "LightGBM with crepes",
        "crepes",
        "conformal predictive system, normalised by 25 neighbours' residuals, calibrated on a quarter of the rows",
        "crepes",
        f"crepes==0.9.1 {LIGHTGBM}",
    ),
)

CONTESTANTS: dict[str, Contestant] = {contestant.name: contestant for contestant in _ALL}
"""All contestants by name."""
