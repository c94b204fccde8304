"""Forests as arrays, collapsed to tables and integrated. Knows nothing of diffusion.

A sampler is a table of steps (``steps``). A LightGBM forest becomes arrays (``forest``), is specialised to the times of
the steps (``prune``), and for each row to a table of the state (``scalar``, ``joint``), which is integrated. LightGBM's
``predict`` integrates the same steps slowly (``lightgbm_engine``); the tests compare the two.
"""

from diffgbm.engine.base import Engine, Integrator
from diffgbm.engine.collapse_engine import CollapseEngine
from diffgbm.engine.factory import make_engine
from diffgbm.engine.forest import Forest
from diffgbm.engine.lightgbm_engine import LightGBMEngine
from diffgbm.engine.random import normals, row_uniforms
from diffgbm.engine.steps import Draws, StepTable
from diffgbm.engine.tree_sum import TreeSum
from diffgbm.engine.warm import warmup

__all__ = [
    "CollapseEngine",
    "Draws",
    "Engine",
    "Forest",
    "Integrator",
    "LightGBMEngine",
    "StepTable",
    "TreeSum",
    "make_engine",
    "normals",
    "row_uniforms",
    "warmup",
]
