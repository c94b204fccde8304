"""Fan charts and densities show the quantiles and densities of the distributions."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from scipy.integrate import trapezoid

from diffgbm import plotting
from diffgbm.distributions import PredictiveDistribution
from tests.plotting.pictures import N, lines, normal_distributions, observed, samples


class TestFan:
    def test_bands_are_the_quantiles_in_the_order_of_x(self):
        distribution, x = normal_distributions(), np.random.default_rng(0).permutation(N).astype(float)
        ax = plotting.fan(x, distribution, levels=(0.8, 0.5))
        assert [c.get_label() for c in ax.collections] == ["80% interval", "50% interval"]
        order = np.argsort(x)
        for level, band in zip((0.8, 0.5), ax.collections, strict=True):
            corners = band.get_paths()[0].vertices
            for q, pick in ((0.5 - level / 2, np.min), (0.5 + level / 2, np.max)):
                shown = [pick(corners[corners[:, 0] == v, 1]) for v in np.sort(x)]
                np.testing.assert_allclose(shown, distribution.quantile(q)[order])

    def test_median_and_observations(self):
        distribution, y, x = normal_distributions(), observed(), -np.arange(N)
        ax = plotting.fan(x, distribution, y)
        np.testing.assert_array_equal(
            lines(ax, "median").get_xydata(), np.column_stack([x, distribution.median()])[::-1]
        )
        np.testing.assert_array_equal(lines(ax, "observed").get_xydata(), np.column_stack([x, y])[::-1])

    def test_samples_give_their_own_quantiles(self):
        ax = plotting.fan(np.arange(N), samples())
        np.testing.assert_allclose(lines(ax, "median").get_ydata(), np.median(samples(), axis=0))
        assert ax.get_ylabel() == "response"

    def test_axes_are_named_after_feature_and_response(self):
        ax = plotting.fan(pd.Series(np.arange(N), name="age"), normal_distributions())
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "price")

    def test_dates(self):
        days = pd.date_range("2024-01-01", periods=N).to_numpy()
        plotting.fan(days, normal_distributions(), observed()).figure.canvas.draw()

    def test_wider_intervals_are_lighter(self):
        ax = plotting.fan(np.arange(N), normal_distributions())
        brightness = [sum(to_rgba(c.get_facecolor()[0])[:3]) for c in ax.collections]
        assert brightness == sorted(brightness, reverse=True)

    def test_one_row_is_visible(self):
        distribution = normal_distributions(1)
        bars = [c for c in plotting.fan([2.0], distribution).collections if c.get_label().startswith("_")]
        assert len(bars) == 3
        np.testing.assert_allclose(bars[0].get_segments()[0][:, 1], distribution.interval(0.95)[0])

    @pytest.mark.parametrize("levels", [(0.0,), (1.0,), (0.5, 1.2)])
    def test_refuses_impossible_levels(self, levels):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            plotting.fan(np.arange(N), normal_distributions(), levels=levels)
        assert not plt.get_fignums()

    def test_refuses_another_number_of_rows(self):
        with pytest.raises(ValueError, match=f"one value for each of the {N} rows"):
            plotting.fan(np.arange(N - 1), normal_distributions())


class TestDensities:
    def test_densities_are_those_of_the_distribution(self):
        distribution = normal_distributions()
        mine, method = plotting.densities(distribution, rows=[3]), distribution.plot(rows=[3])
        np.testing.assert_array_equal(mine.get_lines()[0].get_xydata(), method.get_lines()[0].get_xydata())
        assert mine.get_xlabel() == method.get_xlabel() == "price"

    def test_samples_are_smoothed_as_points(self):
        drawn = plotting.densities(samples(), rows=[1]).get_lines()[0]
        expected = PredictiveDistribution.from_points(samples().T)[1].smooth_pdf(drawn.get_xdata()[None])[0]
        np.testing.assert_allclose(drawn.get_ydata(), expected)
        assert drawn.axes.get_xlabel() == "response"

    def test_the_exact_density_is_there_on_request(self):
        distribution = normal_distributions()
        for ax in (plotting.densities(distribution, rows=[3], smooth=False), distribution.plot(rows=[3], smooth=False)):
            drawn = ax.get_lines()[0]
            np.testing.assert_allclose(drawn.get_ydata(), distribution[3].pdf(drawn.get_xdata()[None])[0])

    def test_point_masses_are_stems_as_high_as_their_probability(self):
        points = np.concatenate([np.zeros(60), np.linspace(1.0, 2.0, 140)])[None]
        ax = plotting.densities(PredictiveDistribution.from_points(points))
        (stem,) = ax.collections[0].get_segments()
        np.testing.assert_allclose(stem, [[0.0, 0.0], [0.0, 0.3]])
        assert [text.get_text() for text in ax.texts] == ["30%"]
        assert "probability" in ax.get_ylabel()
        grid, density = ax.get_lines()[0].get_data()
        assert trapezoid(density, grid) == pytest.approx(0.7, abs=0.02)

    def test_a_picture_of_point_masses_alone(self):
        ax = plotting.densities(PredictiveDistribution.from_points([[0.0] * 5 + [1.0] * 5]))
        assert ax.get_ylim() == (0.0, 1.0)
        ax.figure.canvas.draw()
