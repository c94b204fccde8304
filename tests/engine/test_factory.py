"""Which engine one gets, what is refused, and what importing costs."""

import subprocess
import sys

import lightgbm as lgb
import numpy as np
import pytest

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.engine import CollapseEngine, Draws, LightGBMEngine, TreeSum, make_engine, warmup

from . import models


def linear_trees():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(300, 2 + models.P))
    params = {"verbose": -1, "num_threads": 1, "linear_tree": True}
    return [[lgb.train(params, lgb.Dataset(F, F[:, 0] * F[:, 1]), num_boost_round=3)]]


def test_auto_collapses():
    groups = [models.group(1, 1, 0)]
    assert isinstance(make_engine(groups), CollapseEngine)
    assert isinstance(make_engine(groups, "lightgbm"), LightGBMEngine)


def test_linear_trees_fall_back_with_a_reason():
    with pytest.warns(DiffGBMWarning, match="linear_tree"):
        engine = make_engine(linear_trees())
    assert isinstance(engine, LightGBMEngine)
    with pytest.raises(ValueError, match="linear_tree"):
        make_engine(linear_trees(), "collapse")
    with pytest.raises(ValueError, match="linear_tree"):
        TreeSum(linear_trees()[0])


def test_transformed_outputs_fall_back():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(300, 2 + models.P))
    params = {"verbose": -1, "num_threads": 1, "objective": "poisson"}
    groups = [[lgb.train(params, lgb.Dataset(F, np.exp(F[:, 0])), num_boost_round=3)]]
    with pytest.raises(ValueError, match="poisson"):
        make_engine(groups, "collapse")


@pytest.mark.parametrize("d", [1, 2])
def test_zero_states_read_as_missing(d):
    groups = [models.group(d, 1, 5, zero_as_missing=True)]
    start = np.array([[0.0], [1e-40], [0.5], [-1e-20]]) * np.ones(d)
    steps, X = models.look(np.array([0.3])), models.rows(20, 1)
    fast = make_engine(groups, "collapse").prepare(steps)(X, Draws(4, 0, start=start))
    slow = make_engine(groups, "lightgbm").prepare(steps)(X, Draws(4, 0, start=start))
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_arguments_are_checked():
    one = models.group(1, 1, 0)
    with pytest.raises(ValueError, match="groups"):
        make_engine([])
    with pytest.raises(ValueError, match="groups"):
        make_engine([one, [*one, *one]])
    with pytest.raises(ValueError, match="engine"):
        make_engine([one], "fast")
    with pytest.raises(ValueError, match="mix"):
        make_engine([one], "auto", "sum")


def test_columns_must_be_monotone():
    steps = models.step_table(1)
    steps.columns[2] = 5.0
    with pytest.raises(ValueError, match="monotone"):
        make_engine([models.group(1, 1, 0)]).prepare(steps)


@pytest.mark.parametrize("d", [1, 2])
def test_shapes_are_checked(d):
    integrator = make_engine([models.group(d, 1, 0)], "collapse").prepare(models.step_table(1))
    X = models.rows(3, 0)
    with pytest.raises(ValueError, match="columns of x"):
        integrator(X[:, :-1], Draws(2, 0))
    with pytest.raises(ValueError, match="starting points"):
        integrator(X, Draws(2, 0, start=np.zeros((1, d))))
    with pytest.raises(ValueError, match="columns of x"):
        TreeSum(models.group(d, 1, 0))(X)


def test_kernels_are_imported_late():
    code = "import sys, diffgbm.engine; sys.exit('diffgbm._util.kernels' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_warmup_says_so_once():
    code = "import logging; logging.basicConfig(level='INFO')\nfrom diffgbm.engine import warmup\nwarmup()\nwarmup()"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.count("loading the sampling kernels") == 1


def test_warmup_runs_here():
    warmup()
