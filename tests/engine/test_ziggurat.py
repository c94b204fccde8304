"""The layers of the ziggurat have equal areas."""

import numpy as np
from scipy import stats

from diffgbm.engine.ziggurat import EDGES, HEIGHTS, LAYERS, TAIL, WIDTHS


def test_layers_have_equal_areas():
    areas = EDGES[1:-1] * np.diff(HEIGHTS)[1:]
    base = TAIL * HEIGHTS[1] + np.sqrt(2 * np.pi) * stats.norm.sf(TAIL)
    np.testing.assert_allclose(areas, base, rtol=1e-12)
    assert HEIGHTS[-1] == 1.0


def test_tables_belong_together():
    assert len(EDGES) == len(HEIGHTS) == LAYERS + 1
    np.testing.assert_array_equal(HEIGHTS, np.exp(-0.5 * EDGES**2))
    np.testing.assert_array_equal(WIDTHS, EDGES[:LAYERS] / 2.0**52)
    assert EDGES[1] == TAIL
    assert (np.diff(EDGES) < 0.0).all()
