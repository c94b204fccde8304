"""Every picture: axes, inputs, refusals and the import of matplotlib."""

import importlib
import sys
from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import diffgbm
from diffgbm import plotting
from diffgbm.distributions import JointDistribution, PredictiveDistribution
from tests.plotting.pictures import CALIBRATION, PICTURES, N, normal_distributions, observed, samples


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

    @pytest.mark.parametrize("name", CALIBRATION)
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
