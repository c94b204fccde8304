"""Pictures of predictions, of their calibration, and of the learned vector field.

Every function draws on ``ax``, by default those of a new figure, and returns them, so that you can change titles,
limits and scales. A ``prediction`` is an array of samples (n_samples, n) or (n_samples, n, d), or a predictive
distribution, as in ``diffgbm.metrics``. Bands and error bars have 95% probability. matplotlib is imported when a figure
is drawn.
"""

from diffgbm.plotting.calibration import (
    coverage_by_iqr,
    pit_histogram,
    reliability,
    threshold_reliability,
    width_against_error,
)
from diffgbm.plotting.distributions import densities, fan
from diffgbm.plotting.field import vector_field

__all__ = [
    "coverage_by_iqr",
    "densities",
    "fan",
    "pit_histogram",
    "reliability",
    "threshold_reliability",
    "vector_field",
    "width_against_error",
]
