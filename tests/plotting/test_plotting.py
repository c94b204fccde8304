import importlib
import sys
from copy import deepcopy

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from scipy import integrate
from scipy.stats import binom, binomtest, norm
from sklearn.exceptions import NotFittedError

import diffgbm
from diffgbm import metrics, plotting
from diffgbm.distributions.joint import JointDistribution
from diffgbm.distributions.scalar import PredictiveDistribution
from diffgbm.engine import Draws
from diffgbm.fitting.quadrature import normal_points
from diffgbm.plotting.field import row_field
from tests.conftest import tiny, toy

N = 60


def normal_distributions(n: int = N, points: int = 200) -> PredictiveDistribution:
    mean, std = np.linspace(-1.0, 1.0, n), np.linspace(0.5, 2.0, n)
    return PredictiveDistribution.from_points(mean[:, None] + std[:, None] * normal_points(points, 1)[:, 0], "price")


def observed(n: int = N) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.linspace(-1.0, 1.0, n) + np.linspace(0.5, 2.0, n) * rng.standard_normal(n)


def samples(n: int = N, m: int = 40) -> np.ndarray:
    return normal_distributions(n).sample(m, seed=0)


@pytest.fixture(autouse=True)
def _close_figures():
    plt.close("all")  # those of other tests in this process
    yield
    plt.close("all")


PICTURES = {
    "fan": lambda prediction, y, ax: plotting.fan(np.arange(len(y))[::-1], prediction, y, ax=ax),
    "densities": lambda prediction, y, ax: plotting.densities(prediction, y=y, ax=ax),
    "pit_histogram": lambda prediction, y, ax: plotting.pit_histogram(prediction, y, ax=ax),
    "reliability": lambda prediction, y, ax: plotting.reliability(prediction, y, ax=ax),
    "coverage_by_iqr": lambda prediction, y, ax: plotting.coverage_by_iqr(prediction, y, ax=ax),
    "width_against_error": lambda prediction, y, ax: plotting.width_against_error(prediction, y, ax=ax),
}
CHECKS = [name for name in PICTURES if name not in ("fan", "densities")]


def lines(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)


class TestAllPictures:
    @pytest.mark.parametrize("name", PICTURES)
    @pytest.mark.parametrize("kind", ["distribution", "samples"])
    @pytest.mark.parametrize("n", [1, 2, N])
    def test_draws_on_given_axes_and_returns_them(self, name, kind, n):
        prediction = normal_distributions(n) if kind == "distribution" else samples(n)
        figure, (left, right) = plt.subplots(1, 2)
        assert PICTURES[name](prediction, observed(n), right) is right
        assert right.has_data()
        assert not left.has_data()
        assert plt.get_fignums() == [figure.number]
        assert right.get_xlabel()
        assert right.get_ylabel()
        figure.canvas.draw()

    @pytest.mark.parametrize("name", PICTURES)
    def test_makes_a_figure_of_its_own(self, name):
        plt.figure()
        ax = PICTURES[name](normal_distributions(), observed(), None)
        assert ax.figure.number == plt.get_fignums()[-1]
        assert len(plt.get_fignums()) == 2
        assert not ax.get_legend().get_frame_on()
        ax.figure.canvas.draw()

    @pytest.mark.parametrize("name", PICTURES)
    @pytest.mark.parametrize("prediction", [normal_distributions(), samples()], ids=["distribution", "samples"])
    def test_leaves_its_inputs_alone(self, name, prediction):
        y = observed()
        before, y_before = deepcopy(prediction), y.copy()
        PICTURES[name](prediction, y, None)
        after, before = (p.values if isinstance(p, PredictiveDistribution) else p for p in (prediction, before))
        np.testing.assert_array_equal(after, before)
        np.testing.assert_array_equal(y, y_before)

    @pytest.mark.parametrize("name", PICTURES)
    def test_reads_series_and_columns(self, name):
        y = observed()
        by_array, by_series, by_column = (
            PICTURES[name](normal_distributions(), v, None)
            for v in (y, pd.Series(y, index=np.arange(N) + 100), y[:, None])
        )
        for ax in (by_series, by_column):
            for mine, other in zip(ax.get_lines(), by_array.get_lines(), strict=True):
                np.testing.assert_array_equal(mine.get_xydata(), other.get_xydata())

    @pytest.mark.parametrize("name", PICTURES)
    @pytest.mark.parametrize("prediction", [normal_distributions(), samples()], ids=["distribution", "samples"])
    def test_refuses_observations_of_other_rows(self, name, prediction):
        draw = PICTURES[name]
        if name == "fan":
            draw = lambda p, y, ax: plotting.fan(np.arange(N), p, y, ax=ax)  # noqa: E731
        with pytest.raises(ValueError, match=rf"y must have the shape \({N},\)"):
            draw(prediction, np.zeros(N + 1), None)
        assert not plt.get_fignums()

    @pytest.mark.parametrize("name", PICTURES)
    def test_says_what_to_install(self, name, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match=r"pip install matplotlib \(or 'diffgbm\[plot\]'\)"):
            PICTURES[name](normal_distributions(), observed(), None)

    def test_importing_does_not_import_matplotlib(self, monkeypatch):
        monkeypatch.setattr(diffgbm, "plotting", plotting)  # put back afterwards
        for module in [name for name in sys.modules if name.startswith("diffgbm.plotting")]:
            monkeypatch.delitem(sys.modules, module)
        for module in ("matplotlib", "matplotlib.pyplot"):
            monkeypatch.setitem(sys.modules, module, None)
        assert importlib.import_module("diffgbm.plotting") is not plotting

    @pytest.mark.parametrize("name", CHECKS)
    def test_several_responses_count_as_more_observations(self, name):
        y = np.stack([observed(), observed()[::-1]], axis=1)
        points = np.random.default_rng(0).normal(size=(N, 32, 2))
        joint = JointDistribution(points, ("a", "b"))
        for prediction in (joint, points.swapaxes(0, 1)):
            assert PICTURES[name](prediction, y, None).has_data()

    @pytest.mark.parametrize("name", ["fan", "densities"])
    def test_one_response_must_be_chosen(self, name):
        points = np.random.default_rng(0).normal(size=(N, 32, 2))
        for prediction in (JointDistribution(points, ("a", "b")), points.swapaxes(0, 1)):
            with pytest.raises(ValueError, match=r"select it, as in dist\['name'\]"):
                PICTURES[name](prediction, observed(), None)
        assert PICTURES[name](JointDistribution(points, ("a", "b"))["b"], observed(), None).has_data()


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
    def test_first_five_rows(self):
        ax = plotting.densities(normal_distributions())
        assert [line.get_label() for line in ax.get_lines()] == [f"row {i}" for i in range(5)]

    def test_curves_are_the_densities_on_one_grid(self):
        distribution = normal_distributions()
        ax = plotting.densities(distribution, rows=[3, -1])
        grid = ax.get_lines()[0].get_xdata()
        for line, row in zip(ax.get_lines(), (3, N - 1), strict=True):
            np.testing.assert_array_equal(line.get_xdata(), grid)
            np.testing.assert_allclose(line.get_ydata(), distribution[row].pdf(grid[None])[0])
            assert line.get_label() == f"row {row}"
            assert integrate.trapezoid(line.get_ydata(), grid) == pytest.approx(1.0, abs=0.01)

    def test_narrow_distributions_beside_wide_ones_keep_their_area(self):
        distribution = PredictiveDistribution.from_points(np.array([[1e-4], [1.0]]) * normal_points(200, 1)[:, 0])
        for line in plotting.densities(distribution).get_lines():
            assert integrate.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1.0, abs=0.02)

    def test_observations_are_ticks_and_dots_on_their_curves(self):
        distribution, y = normal_distributions(), observed()
        y[2] = 30.0
        ax = plotting.densities(distribution, rows=[2, 7], y=y)
        ticks, dots = ax.collections
        np.testing.assert_array_equal([s[0, 0] for s in ticks.get_segments()], y[[2, 7]])
        np.testing.assert_allclose(
            dots.get_offsets(), np.column_stack([y[[2, 7]], distribution[[2, 7]].pdf(y[[2, 7]])])
        )
        assert ax.get_xlim()[1] > 30.0
        assert [to_rgba(c) for c in ticks.get_colors()] == [to_rgba(line.get_color()) for line in ax.get_lines()[:2]]

    def test_colours_and_dashes_differ(self):
        drawn = plotting.densities(normal_distributions(), rows=range(7)).get_lines()
        assert len({line.get_color() for line in drawn}) == 7
        assert len({str(line._dash_pattern) for line in drawn}) == 7

    @pytest.mark.parametrize("rows", [2, [2], np.arange(N) == 2, slice(2, 3)])
    def test_ways_to_name_rows(self, rows):
        if isinstance(rows, slice):
            rows = np.arange(N)[rows]
        assert [line.get_label() for line in plotting.densities(normal_distributions(), rows=rows).get_lines()] == [
            "row 2"
        ]

    def test_labels_of_a_frame(self):
        distribution = normal_distributions(3)
        named = PredictiveDistribution(distribution.values, distribution.levels, "y", pd.Index(["a", "b", "c"]))
        assert [line.get_label() for line in plotting.densities(named, [2, 0]).get_lines()] == ["row c", "row a"]

    def test_many_rows_are_not_named(self):
        assert plotting.densities(normal_distributions(), rows=range(40)).get_legend() is None

    def test_no_rows(self):
        with pytest.raises(ValueError, match="at least one row"):
            plotting.densities(normal_distributions(), rows=[])

    def test_point_mass(self):
        plotting.densities(PredictiveDistribution.from_points(np.full((1, 50), 3.0))).figure.canvas.draw()

    def test_method_of_the_distribution(self):
        ax = plt.figure().add_subplot()
        assert normal_distributions().plot(rows=[1], ax=ax) is ax
        assert ax.get_lines()[0].get_label() == "row 1"


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


class TestCoverageBySpread:
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

    def test_groups_are_named_by_their_spread(self):
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


ROW = toy(1, seed=9)[0]


class TestVectorField:
    @pytest.mark.parametrize("model", ["flow_model", "sde_model"])
    def test_draws_on_given_axes_and_returns_them(self, model, request):
        figure, (left, right) = plt.subplots(1, 2)
        row = ROW.copy()
        ax = plotting.vector_field(request.getfixturevalue(model), row, n_paths=7, ax=right, colorbar=False)
        assert ax is right
        assert not left.has_data()
        assert len(figure.axes) == 2
        assert len(ax.get_lines()) == 7 + 1
        assert ax.get_xlim() == (1.0, 0.0)
        np.testing.assert_array_equal(row, ROW)
        figure.canvas.draw()

    def test_shows_the_field_it_computes(self, flow_model):
        field = row_field(flow_model, ROW, 5)
        ax = plotting.vector_field(flow_model, ROW, 5)
        np.testing.assert_array_equal(ax.collections[0].get_array().reshape(field.drift.shape), field.drift)
        for line, path in zip(ax.get_lines(), field.paths.T, strict=False):
            np.testing.assert_array_equal(line.get_xydata(), np.column_stack([field.path_times, path]))
        assert len(ax.figure.axes) == 2

    @pytest.mark.parametrize("rescale", [True, False])
    def test_paths_of_a_flow_end_in_its_distribution(self, flow_model, rescale):
        ends = row_field(flow_model, ROW, 16, rescale).paths[-1]
        distribution = flow_model.predict_distribution(ROW, grid=16)
        np.testing.assert_allclose(np.sort(ends), distribution.values[0], rtol=1e-9)

    def test_paths_of_an_sde_end_in_its_samples(self, sde_model):
        ends = row_field(sde_model, ROW, 16, seed=5).paths[-1]
        key = int(np.random.SeedSequence(5).generate_state(1, np.uint64)[0])
        received = []
        sde_model.model_.integrate(
            ROW,
            sde_model.recipe_.steps(sde_model.recipe_.sampler),
            Draws(16, key, start=normal_points(16, 1)),
            1,
            0,
            lambda rows, values: received.append(values),
        )
        np.testing.assert_allclose(ends, received[0][0, :, 0], rtol=1e-9)

    @pytest.mark.parametrize("model", ["flow_model", "sde_model"])
    @pytest.mark.parametrize("rescale", [True, False])
    def test_paths_follow_the_drift(self, model, rescale, request):
        fitted = request.getfixturevalue(model)
        field = row_field(fitted, ROW, 9, rescale, n_steps=480, pf_ode=True)
        speed = -np.diff(field.paths, axis=0) / np.diff(field.path_times)[:, None]
        middle = 0.5 * (field.path_times[1:] + field.path_times[:-1])
        value = 0.5 * (field.paths[1:] + field.paths[:-1])
        column = np.abs(middle[:, None] - field.times).argmin(axis=1)
        row = np.abs(value[..., None] - field.values).argmin(axis=2)
        shown = field.drift[row, column[:, None]]
        # cells are constant and the forest has steps: most of the way, not all of it, agrees
        error = np.abs(speed - shown) / np.quantile(np.abs(shown), 0.9)
        assert np.median(error) < 0.03
        assert np.corrcoef(speed.ravel(), shown.ravel())[0, 1] > 0.9

    def test_rescaled_noise_is_as_wide_as_data(self, sde_model):
        raw, scaled = (row_field(sde_model, ROW, 20, rescale, pf_ode=True) for rescale in (False, True))
        assert np.ptp(raw.paths[0]) > 10.0 * np.ptp(scaled.paths[0])
        assert (raw.rescaled, scaled.rescaled) == (False, True)
        np.testing.assert_allclose(raw.paths[-1], scaled.paths[-1])
        assert plotting.vector_field(sde_model, ROW, 3).get_ylabel() == "y (noise rescaled)"

    def test_variance_preserving_paths_need_no_rescaling(self, flow_model):
        assert not row_field(flow_model, ROW, 3).rescaled

    def test_own_steps_unless_told(self, flow_model):
        assert len(row_field(flow_model, ROW, 3).path_times) == 6
        assert len(row_field(flow_model, ROW, 3, n_steps=11).path_times) == 12

    def test_seed_moves_only_stochastic_paths(self, flow_model, sde_model):
        same, first, other = (
            [row_field(m, ROW, 3, seed=s).paths for s in seeds]
            for m, seeds in ((flow_model, (0, 1)), (sde_model, (0, 0)), (sde_model, (0, 1)))
        )
        np.testing.assert_array_equal(*same)
        np.testing.assert_array_equal(*first)
        assert not np.allclose(*other)

    def test_ways_to_give_a_row(self, flow_model):
        by_matrix, by_vector, by_list = (row_field(flow_model, r, 3).paths for r in (ROW, ROW[0], ROW[0].tolist()))
        np.testing.assert_array_equal(by_matrix, by_vector)
        np.testing.assert_array_equal(by_matrix, by_list)

    def test_frames(self):
        X, y = toy()
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = tiny("flow").fit(frame, pd.Series(y, name="price"))
        assert plotting.vector_field(model, frame.iloc[[3]], 3).get_ylabel() == "price"

    def test_units_follow_the_response(self):
        X, y = toy()
        plain, moved = (
            row_field(tiny("flow", residualize="off").fit(X, v), ROW, 5) for v in (y, 2.0**10 * y + 2.0**12)
        )
        np.testing.assert_allclose(moved.paths, 2.0**10 * plain.paths + 2.0**12, rtol=1e-6)
        np.testing.assert_allclose(moved.drift, 2.0**10 * plain.drift, rtol=1e-4, atol=1e-3)

    def test_one_path(self, flow_model):
        plotting.vector_field(flow_model, ROW, n_paths=1).figure.canvas.draw()

    def test_refusals(self, flow_model, two_responses):
        with pytest.raises(ValueError, match="X_row must hold one row; got 2"):
            plotting.vector_field(flow_model, toy(2)[0])
        with pytest.raises(ValueError, match="this model has 2"):
            plotting.vector_field(two_responses, ROW)
        with pytest.raises(ValueError, match="n_paths must be an integer >= 1"):
            plotting.vector_field(flow_model, ROW, n_paths=0)
        with pytest.raises(NotFittedError):
            plotting.vector_field(tiny(), ROW)
        with pytest.raises(ValueError, match="no field to draw"):
            plotting.vector_field(tiny("flow").fit(toy()[0], np.ones(120)), ROW)

    def test_says_what_to_install(self, flow_model, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match="pip install matplotlib"):
            plotting.vector_field(flow_model, ROW)
