"""Pictures of predictions and of the learned field: axes in, axes out.

Every function draws on ``ax`` (a new figure if not given) and returns it, so that titles, limits and scales are the
caller's to change. A ``prediction`` is an array of samples (n_samples, n) or (n_samples, n, d), or a predictive
distribution, as in ``diffgbm.metrics``. Bands and error bars hold 95% probability. Colours are those of Okabe and Ito.
matplotlib is imported when a figure is made.
"""

from diffgbm.plotting.calibration import coverage_by_spread, pit_histogram, reliability, width_against_error
from diffgbm.plotting.distributions import densities, fan
from diffgbm.plotting.field import vector_field

__all__ = [
    "coverage_by_spread",
    "densities",
    "fan",
    "pit_histogram",
    "reliability",
    "vector_field",
    "width_against_error",
]
