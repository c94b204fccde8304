"""DiffGBM: the whole distribution p(y | x) of a tabular regression target, with gradient-boosted trees."""

from diffgbm import metrics
from diffgbm.errors import DiffGBMWarning
from diffgbm.estimator import DiffGBM
from diffgbm.recipe import Recipe
from diffgbm.samples import Samples

__version__ = "0.1.0"
__all__ = ["DiffGBM", "DiffGBMWarning", "Recipe", "Samples", "__version__", "metrics"]
