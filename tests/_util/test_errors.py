"""Warnings that a block keeps, without touching the filters of the process."""

import threading
import warnings
from linecache import getline

import pytest

from diffgbm import ConformalDiffGBM
from diffgbm._util.errors import DiffGBMWarning, kept_warnings, warn
from tests.conftest import tiny, toy


def test_a_warning_names_the_line_of_its_caller():
    with pytest.warns(DiffGBMWarning, match="too few rows") as caught:
        warn("too few rows")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("model", [tiny("flow"), ConformalDiffGBM(tiny("flow"), cv=2)], ids=["one", "conformal"])
def test_a_warning_from_deep_inside_names_the_line_that_called_the_library(model):
    X, _ = toy(100)
    with pytest.warns(DiffGBMWarning) as caught:
        model.fit(X, X[:, 0] * 0.0)  # the user's line
    assert {getline(warning.filename, warning.lineno).split("#")[-1].strip() for warning in caught} == {
        "the user's line"
    }


def test_a_block_keeps_its_warnings():
    filters = list(warnings.filters)
    with kept_warnings() as outer:
        warn("one")
        with kept_warnings() as inner:
            warn("two")
        warn("three")
        assert list(warnings.filters) == filters
    assert (outer, inner) == (["one", "three"], ["two"])
    with pytest.warns(DiffGBMWarning, match="four"):
        warn("four")


def test_another_thread_warns_as_ever():
    with pytest.warns(DiffGBMWarning, match="elsewhere"), kept_warnings() as kept:  # noqa: PT031
        thread = threading.Thread(target=warn, args=["elsewhere"])
        thread.start()
        thread.join()
    assert kept == []
