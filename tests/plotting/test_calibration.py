"""Pictures of calibration show the counts, coverages and bands of the diagnostics."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from diffgbm import metrics, plotting
from diffgbm.distributions import PredictiveDistribution
from diffgbm.metrics.diagnostics import tied_groups
from tests.plotting.pictures import N, lines, normal_distributions, observed, samples


class TestPitHistogram:
    @pytest.mark.parametrize("prediction", [normal_distributions(), samples()], ids=["distribution", "samples"])
    def test_bars_are_the_counts(self, prediction):
        ax = plotting.pit_histogram(prediction, observed(), bins=8)
        counts, edges = np.histogram(metrics.pit(prediction, observed()), 8, (0.0, 1.0))
        np.testing.assert_array_equal([bar.get_height() for bar in ax.patches[:8]], counts)
        np.testing.assert_allclose([bar.get_x() for bar in ax.patches[:8]], edges[:-1])

    def test_band_is_binomial(self):
        band, expected = plotting.pit_histogram(normal_distributions(), observed(), bins=8).patches[8:]
        high, _, low = band.get_data()
        np.testing.assert_array_equal(low, np.full(8, binom.ppf(0.025, N, 1 / 8)))
        np.testing.assert_array_equal(high, np.full(8, binom.ppf(0.975, N, 1 / 8)))
        np.testing.assert_allclose(expected.get_data()[0], N / 8)

    def test_band_allows_for_the_values_that_samples_can_take(self):
        band, expected = plotting.pit_histogram(samples(m=10), observed(), bins=4).patches[4:]
        chance = np.array([3, 2, 3, 3]) / 11  # 0, .1, .2 | .3, .4 | .5, .6, .7 | .8, .9, 1
        np.testing.assert_allclose(expected.get_data()[0], N * chance)
        np.testing.assert_array_equal(band.get_data()[0], binom.ppf(0.975, N, chance))

    @pytest.mark.parametrize("m", [0, 9, 50])
    def test_calibrated_bars_lie_in_the_band_as_often_as_promised(self, m):
        rng = np.random.default_rng(1)
        inside = []
        for _ in range(20):
            y = rng.standard_normal(300)
            distribution = PredictiveDistribution.from_points(np.tile(norm.ppf((np.arange(500) + 0.5) / 500), (300, 1)))
            ax = plotting.pit_histogram(rng.standard_normal((m, 300)) if m else distribution, y, bins=10)
            heights = np.array([bar.get_height() for bar in ax.patches[:10]])
            high, _, low = ax.patches[10].get_data()
            inside.append((low <= heights) & (heights <= high))
            plt.close(ax.figure)
        assert 0.91 <= np.mean(inside) <= 0.995

    def test_refuses_no_bars(self):
        with pytest.raises(ValueError, match="bins must be an integer >= 1"):
            plotting.pit_histogram(normal_distributions(), observed(), bins=0)


class TestReliability:
    @pytest.mark.parametrize("prediction", [normal_distributions(), samples()], ids=["distribution", "samples"])
    def test_line_is_the_coverage(self, prediction):
        line = lines(plotting.reliability(prediction, observed()), "observed")
        np.testing.assert_allclose(line.get_xdata(), np.arange(0.05, 0.96, 0.05))
        coverage = [metrics.coverage(prediction, observed(), level) for level in line.get_xdata()]
        np.testing.assert_array_equal(line.get_ydata(), coverage)

    def test_band_is_binomial(self):
        levels = [0.9, 0.5]
        corners = (
            plotting.reliability(normal_distributions(), observed(), levels).collections[0].get_paths()[0].vertices
        )
        for level in levels:
            ends = corners[corners[:, 0] == level, 1]
            np.testing.assert_allclose([ends.min(), ends.max()], binom.ppf([0.025, 0.975], N, level) / N)

    @pytest.mark.parametrize("levels", [(), (0.0, 0.5), (0.5, 1.0), (np.nan,)])
    def test_refuses_impossible_levels(self, levels):
        with pytest.raises(ValueError, match="levels must lie between 0 and 1"):
            plotting.reliability(normal_distributions(), observed(), levels)


class TestThresholdReliability:
    @pytest.mark.parametrize("prediction", [normal_distributions(), samples()], ids=["distribution", "samples"])
    def test_points_are_frequencies_of_groups(self, prediction):
        y = observed()
        ax = plotting.threshold_reliability(prediction, y, 0.3, bins=3)
        x, share = ax.containers[0].lines[0].get_data()
        probability = metrics.predictions.as_distribution(prediction).sf(np.full(N, 0.3))
        assert len(x) == 3
        assert np.all(np.diff(x) > 0.0)
        counts = np.array([len(g) for g in tied_groups(np.round(probability, 9), 3)])
        np.testing.assert_allclose((counts * x).sum(), probability.sum())
        np.testing.assert_allclose((counts * share).sum(), (y > 0.3).sum())

    def test_refuses_a_threshold_that_is_no_number(self):
        with pytest.raises(ValueError, match="threshold must be a finite number; got nan"):
            plotting.threshold_reliability(normal_distributions(), observed(), np.nan)


class TestCoverageByIqr:
    @pytest.mark.parametrize("prediction", [normal_distributions(), samples()], ids=["distribution", "samples"])
    @pytest.mark.parametrize("bins", [1, 5, 7])
    def test_points_are_the_coverage_of_the_groups(self, prediction, bins):
        ax = plotting.coverage_by_iqr(prediction, observed(), 0.8, bins)
        points = ax.containers[0].lines[0]
        expected = metrics.iqr_binned_coverage(prediction, observed(), 0.8, bins)
        np.testing.assert_array_equal(points.get_ydata(), expected)
        assert lines(ax, "nominal, 80%").get_ydata() == [0.8, 0.8]

    def test_error_bars_are_exact(self):
        ax = plotting.coverage_by_iqr(normal_distributions(), observed(), 0.5, 4)
        coverage = ax.containers[0].lines[0].get_ydata()
        for share, bar in zip(coverage, ax.containers[0].lines[2][0].get_segments(), strict=True):
            exact = binomtest(round(share * 15), 15).proportion_ci(0.95)
            np.testing.assert_allclose(bar[:, 1], [exact.low, exact.high])

    def test_groups_are_named_by_their_interquartile_range(self):
        ax = plotting.coverage_by_iqr(normal_distributions(), observed(), bins=2)
        low, high = metrics.central_interval(normal_distributions(), 0.5)
        halves = (high - low).reshape(2, -1).mean(axis=1)
        assert [label.get_text() for label in ax.get_xticklabels()] == [f"{v:.3g}" for v in halves]

    def test_no_more_groups_than_rows(self):
        assert len(plotting.coverage_by_iqr(normal_distributions(3), observed(3), bins=9).get_xticks()) == 3


class TestWidthAgainstError:
    def test_points_and_means(self):
        distribution, y = normal_distributions(), observed()
        ax = plotting.width_against_error(distribution, y, 0.8, bins=3)
        low, high = metrics.central_interval(distribution, 0.8)
        width, error = high - low, np.abs(y - distribution.median())
        np.testing.assert_array_equal(lines(ax, "observations").get_xydata(), np.column_stack([width, error]))
        means = np.column_stack([width.reshape(3, -1).mean(axis=1), error.reshape(3, -1).mean(axis=1)])
        np.testing.assert_allclose(lines(ax, "means of equal groups").get_xydata(), means)
        half = lines(ax, "half the width")
        np.testing.assert_allclose(half.get_ydata(), 0.5 * half.get_xdata())
        assert "80%" in ax.get_xlabel()

    def test_distributions_without_width(self):
        distribution = PredictiveDistribution.from_points(np.zeros((4, 10)))
        plotting.width_against_error(distribution, np.arange(4.0)).figure.canvas.draw()
