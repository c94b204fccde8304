"""Step tables and draws as values."""

import numpy as np
import pytest

from diffgbm.engine import Draws

from . import models


@pytest.mark.parametrize(("noise", "deterministic"), [(0.0, True), (0.3, False)])
def test_a_step_table_knows_its_size_and_noise(noise, deterministic):
    table = models.step_table(2, steps=6, noise=noise)
    assert table.n_steps == 6
    assert table.is_deterministic is deterministic
    assert len(table.scale) == len(table.columns) == 7


def test_low_discrepancy_noise_needs_starting_points_of_a_scalar_state():
    with pytest.raises(ValueError, match="low-discrepancy noise needs starting points of a scalar state"):
        Draws(10, key=0, low_discrepancy=True)
    with pytest.raises(ValueError, match="scalar state"):
        Draws(10, key=0, start=np.zeros((10, 2)), low_discrepancy=True)
    assert Draws(10, key=0, start=np.zeros((10, 1)), low_discrepancy=True).low_discrepancy
