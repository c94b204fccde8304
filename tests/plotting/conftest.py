"""Figures are closed before and after each test."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    plt.close("all")  # those of other tests in this process
    yield
    plt.close("all")
