"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import diffgbm

MODULES = ["diffgbm", *(m.name for m in pkgutil.walk_packages(diffgbm.__path__, "diffgbm."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"needs an optional package: {error}")
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
