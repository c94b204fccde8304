"""The comparison of averaged and mixed bags."""

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.bag_mix import Line
from benchmarks.protocol import prepare
from benchmarks.table_files import Table

from benchmarks import bag_mix
from tests.conftest import tiny, toy


def test_both_mixes_use_the_same_bags_and_original_units():
    X, y = toy(180)
    fold = prepare(Table(X, 100.0 + 10.0 * y, ("a", "b", "c"), "y"), 0)
    lines = bag_mix.measure("toy", "flow", tiny("flow", n_bags=3), fold)
    assert [(line.data_set, line.recipe, line.mix) for line in lines] == [("toy", "flow", m) for m in bag_mix.MIXES]
    assert lines[0].crps != lines[1].crps
    deviation = np.abs(fold.y_test - np.median(fold.y_test)).mean()
    assert all(0.1 * deviation < line.crps < 1.5 * deviation for line in lines)
    assert all(0.0 <= line.coverage_50 <= line.coverage_90 <= 1.0 for line in lines)


def test_the_page_by_hand():
    lines = [
        Line("yacht", "flow", "mean", 2.0, 0.4, 0.9),
        Line("yacht", "flow", "mixture", 1.0, 0.5, 0.95),
        Line("wine", "flow", "mixture", 4.0, 0.5, 0.95),
        Line("wine", "flow", "mean", 2.0, 0.6, 0.8),
    ]
    text = bag_mix.table(lines, 3)
    assert "| yacht | flow | 2 | 1 | 0.500 | 0.400 | 0.500 | 0.900 | 0.950 |" in text
    assert "Geometric mean of the ratios: 1.000. Coverage is off by 0.100 (mean) and 0.000 (mixture)" in text
    assert "by 0.050 and 0.050 at 90%" in text
    assert "--bags 3" in text


def test_recipes_have_the_requested_bags():
    assert {m.n_bags for m in bag_mix.models(4, 1).values()} == {4}
    with pytest.raises(SystemExit):
        main(["bag-mix", "--data-sets", "nothing"])
