"""DiffGBM: predict the whole distribution p(y | x) of tabular data with gradient-boosted trees."""

from diffgbm import metrics
from diffgbm._util.errors import DiffGBMWarning
from diffgbm._version import __version__
from diffgbm.data.parquet import from_parquet
from diffgbm.diffusion.recipe import Recipe
from diffgbm.distributions.joint import JointDistribution
from diffgbm.distributions.newsvendor import Order, newsvendor
from diffgbm.distributions.samples import Samples
from diffgbm.distributions.scalar import PredictiveDistribution
from diffgbm.distributions.uncertainty import Uncertainty
from diffgbm.estimators.adaptive import AdaptiveConformal
from diffgbm.estimators.auto import AutoDiffGBM
from diffgbm.estimators.conformal import ConformalDiffGBM
from diffgbm.estimators.cross_validation import cross_val_distribution
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.estimators.loading import load
from diffgbm.estimators.search import DiffGBMCV
from diffgbm.estimators.streaming import stream
from diffgbm.fitting.warm import warmup
from diffgbm.metrics.comparison import Comparison, compare
from diffgbm.persistence.archive import ModelFileError
from diffgbm.reporting import Report, report

__all__ = [
    "AdaptiveConformal",
    "AutoDiffGBM",
    "Comparison",
    "ConformalDiffGBM",
    "DiffGBM",
    "DiffGBMCV",
    "DiffGBMWarning",
    "JointDistribution",
    "ModelFileError",
    "Order",
    "PredictiveDistribution",
    "Recipe",
    "Report",
    "Samples",
    "Uncertainty",
    "__version__",
    "compare",
    "cross_val_distribution",
    "from_parquet",
    "load",
    "metrics",
    "newsvendor",
    "report",
    "stream",
    "warmup",
]
