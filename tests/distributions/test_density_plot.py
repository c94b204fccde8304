"""Densities of some rows on one grid, with observations."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from scipy import integrate

from diffgbm import PredictiveDistribution
from diffgbm.distributions.density_plot import density_grid, draw_densities
from diffgbm.fitting.quadrature import normal_points
from tests.plotting.pictures import N, normal_distributions, observed


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_the_grid_includes_observations_and_refines_narrow_densities():
    distribution = PredictiveDistribution.from_points(np.array([[1e-4], [1.0]]) * normal_points(200, 1)[:, 0])
    grid = density_grid(distribution, np.array([9.0]), even=11, fine=64)
    assert np.all(np.diff(grid) > 0.0)
    assert grid[-1] > 9.0
    low, high = distribution.interval(0.9)[0]
    assert ((grid > low) & (grid < high)).sum() > 20


class TestDensities:
    def test_first_five_rows(self):
        ax = draw_densities(normal_distributions())
        assert [line.get_label() for line in ax.get_lines()] == [f"row {i}" for i in range(5)]

    def test_curves_are_the_densities_on_one_grid(self):
        distribution = normal_distributions()
        ax = draw_densities(distribution, rows=[3, -1])
        grid = ax.get_lines()[0].get_xdata()
        for line, row in zip(ax.get_lines(), (3, N - 1), strict=True):
            np.testing.assert_array_equal(line.get_xdata(), grid)
            np.testing.assert_allclose(line.get_ydata(), distribution[row].smooth_pdf(grid[None])[0])
            assert line.get_label() == f"row {row}"
            assert integrate.trapezoid(line.get_ydata(), grid) == pytest.approx(1.0, abs=0.01)

    def test_narrow_distributions_beside_wide_ones_keep_their_area(self):
        distribution = PredictiveDistribution.from_points(np.array([[1e-4], [1.0]]) * normal_points(200, 1)[:, 0])
        for line in draw_densities(distribution).get_lines():
            assert integrate.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1.0, abs=0.02)

    def test_observations_are_ticks_and_dots_on_their_curves(self):
        distribution, y = normal_distributions(), observed()
        y[2] = 30.0
        ax = draw_densities(distribution, rows=[2, 7], y=y)
        ticks, dots = ax.collections[:2]
        np.testing.assert_array_equal([s[0, 0] for s in ticks.get_segments()], y[[2, 7]])
        np.testing.assert_allclose(
            dots.get_offsets(), np.column_stack([y[[2, 7]], distribution[[2, 7]].smooth_pdf(y[[2, 7]])])
        )
        assert ax.get_xlim()[1] > 30.0
        assert [to_rgba(c) for c in ticks.get_colors()] == [to_rgba(line.get_color()) for line in ax.get_lines()[:2]]

    def test_colours_and_dashes_differ(self):
        drawn = draw_densities(normal_distributions(), rows=range(7)).get_lines()
        assert len({line.get_color() for line in drawn}) == 7
        assert len({str(line._dash_pattern) for line in drawn}) == 7

    @pytest.mark.parametrize("rows", [2, [2], np.arange(N) == 2, slice(2, 3)])
    def test_ways_to_name_rows(self, rows):
        if isinstance(rows, slice):
            rows = np.arange(N)[rows]
        assert [line.get_label() for line in draw_densities(normal_distributions(), rows=rows).get_lines()] == ["row 2"]

    def test_labels_of_a_frame(self):
        distribution = normal_distributions(3)
        named = PredictiveDistribution(distribution.values, distribution.levels, "y", pd.Index(["a", "b", "c"]))
        assert [line.get_label() for line in draw_densities(named, [2, 0]).get_lines()] == ["row c", "row a"]

    def test_many_rows_are_not_named(self):
        assert draw_densities(normal_distributions(), rows=range(40)).get_legend() is None

    def test_no_rows(self):
        with pytest.raises(ValueError, match="at least one row"):
            draw_densities(normal_distributions(), rows=[])

    def test_point_mass(self):
        draw_densities(PredictiveDistribution.from_points(np.full((1, 50), 3.0))).figure.canvas.draw()

    def test_plot_is_a_method_of_the_distribution(self):
        ax = plt.figure().add_subplot()
        assert normal_distributions().plot(rows=[1], ax=ax) is ax
        assert ax.get_lines()[0].get_label() == "row 1"
