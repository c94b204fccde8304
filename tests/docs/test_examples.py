"""Every example of the gallery, end to end."""

import runpy
import warnings
from pathlib import Path

import pytest

from diffgbm._util.errors import WeakFitWarning

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("pandas")

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_prints_and_draws(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        # examples are small: a noise model may have nothing to learn
        warnings.simplefilter("ignore", WeakFitWarning)
        runpy.run_path(str(file))
    assert capsys.readouterr().out
    assert plt.get_fignums()
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()
        assert all(ax.has_data() for ax in figure.axes)
    plt.close("all")
    assert list(tmp_path.iterdir()) == []
