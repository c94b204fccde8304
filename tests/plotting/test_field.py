"""The field of one row: trajectories that end in the predictive distribution, and a drift that they follow."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from diffgbm import plotting
from diffgbm.engine import Draws
from diffgbm.fitting.quadrature import normal_points
from diffgbm.plotting.field import row_field
from tests.conftest import tiny, toy

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

    def test_steps_of_the_recipe_by_default(self, flow_model):
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
