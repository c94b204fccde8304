"""Sizes of the noise model by name: the one table that presets and search spaces read."""

from __future__ import annotations

from typing import Any

from diffgbm.fitting.defaults import DEFAULTS

SURFACE = ("n_estimators", "learning_rate", "num_leaves", "max_depth", "min_child_samples", "subsample", "max_bin")
"""LightGBM's arguments that make up a size; a size that leaves one out takes its default."""

SIZES: dict[str, dict[str, Any]] = {
    "default": {name: DEFAULTS[name] for name in SURFACE},
    "probe": {"num_leaves": 31, "learning_rate": 0.15, "n_estimators": 150, "min_child_samples": 20},
    "calm": {"num_leaves": 15, "learning_rate": 0.03, "n_estimators": 1500, "min_child_samples": 200},
    "usual": {"num_leaves": 31, "learning_rate": 0.1, "n_estimators": 1500, "min_child_samples": 20},
    "large": {"num_leaves": 127, "learning_rate": 0.05, "n_estimators": 2000, "min_child_samples": 20, "max_bin": 1023},
}
"""``"probe"`` ranks candidates on few rows; ``"calm"`` is small and strongly regularised."""
