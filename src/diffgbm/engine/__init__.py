"""Forests as arrays; collapse; integrate. Knows nothing of diffusion."""

from diffgbm.engine.base import Engine, Integrator
from diffgbm.engine.factory import make_engine
from diffgbm.engine.lightgbm_engine import LightGBMEngine
from diffgbm.engine.random import normals
from diffgbm.engine.steps import Draws, StepTable

__all__ = ["Draws", "Engine", "Integrator", "LightGBMEngine", "StepTable", "make_engine", "normals"]
