"""Style of figures."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_rgb

from diffgbm._util import figures


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_axes_are_kept_or_made():
    figure, ax = plt.subplots()
    assert figures.axes(ax) is ax
    made = figures.axes(None, size=(3.0, 2.0))
    assert made.figure is not figure
    assert tuple(made.figure.get_size_inches()) == (3.0, 2.0)


def test_finish_removes_spines_and_the_frame_of_the_legend():
    ax = figures.axes(None)
    ax.plot([0, 1], label="line")
    assert figures.finish(ax, loc="upper left") is ax
    assert not ax.spines["top"].get_visible()
    assert not ax.get_legend().get_frame_on()
    assert figures.finish(figures.axes(None), legend=False).get_legend() is None


def test_tints_go_from_white_to_the_colour():
    assert figures.tint(figures.BLUE, 0.0) == (1.0, 1.0, 1.0)
    assert figures.tint(figures.BLUE, 1.0) == pytest.approx(to_rgb(figures.BLUE))
    assert sum(figures.tint(figures.INK, 0.3)) > sum(figures.tint(figures.INK, 0.6))


def test_many_dots_are_smaller_and_rasterized():
    sizes = [figures.dots(n)["markersize"] for n in (0, 10, 1000, 10**6)]
    assert sizes == sorted(sizes, reverse=True)
    assert [figures.dots(n)["rasterized"] for n in (5000, 5001)] == [False, True]


@pytest.mark.parametrize(("level", "text"), [(0.9, "90%"), (0.995, "99.5%"), (1 / 3, "33.33%")])
def test_percentages(level, text):
    assert figures.percent(level) == text
