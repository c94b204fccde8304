"""Sizes of the noise model."""

import pytest

from diffgbm import DiffGBM
from diffgbm.fitting.sizes import SIZES, SURFACE
from diffgbm.fitting.training import check_arguments
from diffgbm.tuning.search_spaces import SURFACE as SEARCHED


@pytest.mark.parametrize("name", list(SIZES))
def test_sizes_are_arguments_that_are_valid(name):
    assert set(SIZES[name]) <= set(SURFACE)
    check_arguments(DiffGBM(**SIZES[name]).get_params(deep=False))


def test_sizes_are_ordered_by_their_leaves():
    leaves = {name: SIZES[name]["num_leaves"] for name in ("calm", "usual", "large")}
    assert leaves["calm"] < leaves["usual"] < leaves["large"]


def test_a_search_tunes_the_same_surface():
    assert set(SEARCHED) == set(SURFACE)
    assert all(SIZES["default"][name] in SEARCHED[name] for name in SURFACE)
