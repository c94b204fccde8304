"""First-stage models and a table that the tests of this room share."""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from diffgbm.first_stage import Task
from diffgbm.first_stage.conditional_cdf import ConditionalCDF
from diffgbm.first_stage.gaussian_process import GaussianProcessMean
from diffgbm.first_stage.kernel_cdf import KernelCDF
from diffgbm.first_stage.leaf_forest import ExtraTreesMean
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.first_stage.stack import Stack

SMALL = {"n_estimators": 8, "num_leaves": 6, "min_child_samples": 5, "learning_rate": 0.3}
FOLDED = {
    "lightgbm": LightGBMMean(SMALL),
    "stopped": LightGBMMean({**SMALL, "early_stopping_rounds": 3}),
    "linear_trees": LightGBMMean({**SMALL, "linear_tree": True}),
    "extra_trees": ExtraTreesMean(4, 2),
    "cdf": ConditionalCDF(4, 1, 3),
    "ridge": AnyRegressor(Ridge()),
    "pipeline": AnyRegressor(make_pipeline(StandardScaler(), KNeighborsRegressor(3))),
}
"""Models that are cross-fitted fold by fold."""
ALL = {
    **FOLDED,
    "gp_matern": GaussianProcessMean("matern", 40),
    "gp_rbf": GaussianProcessMean("rbf", 60, 70),
    "kernel_cdf": KernelCDF("rbf", 60, 70, 3),
    "stack": Stack((LightGBMMean(SMALL), AnyRegressor(Ridge()))),
}
FUNCTIONS = ("cdf", "kernel_cdf")
"""Models of the distribution function: their first output of each response is its mean."""


def table(n=90, d=1, seed=0):
    """Numbers, one column with gaps, one category."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n)])
    y = np.sin(2.0 * X[:, :1]) + X[:, 2:] - 1.0 + 0.3 * rng.normal(size=(n, d))
    X[rng.uniform(size=n) < 0.1, 1] = np.nan
    return X, y


def task_of(X, y, repeats=2, weights=None, **options):
    return Task(X, y, [2], weights, 4, repeats, 11, 1, **options)
