"""The defaults below the estimators are those of the estimator."""

import inspect

import pytest

from diffgbm import DiffGBM
from diffgbm.fitting.defaults import DEFAULTS
from diffgbm.fitting.training import check_arguments


def test_they_are_the_signatures():
    signature = {name: p.default for name, p in inspect.signature(DiffGBM).parameters.items()}
    assert list(DEFAULTS.items()) == list(signature.items())


def test_they_are_valid_and_cannot_be_changed():
    check_arguments(DEFAULTS)
    with pytest.raises(TypeError):
        DEFAULTS["seed"] = 1
