"""DiffGBM: the whole distribution p(y | x) of a tabular regression target, with gradient-boosted trees."""

from diffgbm import metrics
from diffgbm.auto import AutoDiffGBM
from diffgbm.calibration import ConformalDiffGBM
from diffgbm.distribution import PredictiveDistribution
from diffgbm.errors import DiffGBMWarning
from diffgbm.estimator import DiffGBM
from diffgbm.joint import JointDistribution
from diffgbm.parquet import from_parquet
from diffgbm.persistence import ModelFileError, load
from diffgbm.recipe import Recipe
from diffgbm.reporting import Report, report
from diffgbm.samples import Samples
from diffgbm.streaming import stream
from diffgbm.tuning import DiffGBMCV
from diffgbm.warm import warmup

__version__ = "0.1.0"
__all__ = [
    "AutoDiffGBM",
    "ConformalDiffGBM",
    "DiffGBM",
    "DiffGBMCV",
    "DiffGBMWarning",
    "JointDistribution",
    "ModelFileError",
    "PredictiveDistribution",
    "Recipe",
    "Report",
    "Samples",
    "__version__",
    "from_parquet",
    "load",
    "metrics",
    "report",
    "stream",
    "warmup",
]
