"""Predictive distributions as values: of one response, of several, and as samples."""

from diffgbm.distributions.base import Distribution, IntervalKind, Prediction, concatenate
from diffgbm.distributions.ensemble import Ensemble
from diffgbm.distributions.joint import JointDistribution
from diffgbm.distributions.samples import Samples
from diffgbm.distributions.scalar import PredictiveDistribution

__all__ = [
    "Distribution",
    "Ensemble",
    "IntervalKind",
    "JointDistribution",
    "Prediction",
    "PredictiveDistribution",
    "Samples",
    "concatenate",
]
