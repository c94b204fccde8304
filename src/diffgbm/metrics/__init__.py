"""Scores of predictive distributions, calibration diagnostics, and evaluation of tables in blocks."""

from diffgbm.metrics.calibration import KSTest as KSTest
from diffgbm.metrics.calibration import (
    coverage,
    coverage_error,
    iqr_binned_coverage,
    iqr_mace,
    pit,
    pit_ks,
    q_mace,
    width,
)
from diffgbm.metrics.predictions import as_distribution as as_distribution
from diffgbm.metrics.predictions import central_interval as central_interval
from diffgbm.metrics.scorers import coverage_scorer, crps_scorer
from diffgbm.metrics.scores import (
    climatology_crps,
    crps,
    crpss,
    dss,
    energy_score,
    interval_score,
    log_score,
    threshold_weighted_crps,
    variogram_score,
    weighted_crps,
)

__all__ = [
    "climatology_crps",
    "coverage",
    "coverage_error",
    "coverage_scorer",
    "crps",
    "crps_scorer",
    "crpss",
    "dss",
    "energy_score",
    "interval_score",
    "iqr_binned_coverage",
    "iqr_mace",
    "log_score",
    "pit",
    "pit_ks",
    "q_mace",
    "threshold_weighted_crps",
    "variogram_score",
    "weighted_crps",
    "width",
]
