"""Optional dependencies: imported when needed, named when missing."""

import re
import sys
from pathlib import Path

import pytest

from diffgbm._util.optional import EXTRAS, need

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_an_installed_module_is_imported():
    assert need("json").dumps([1]) == "[1]"


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=re.escape("pip install optuna (or 'diffgbm[tune]').")):
        need("optuna")


def test_a_package_without_an_extra_is_named_alone():
    with pytest.raises(ImportError, match="needs no_such_package, which is not installed") as caught:
        need("no_such_package.inner")
    assert "diffgbm[" not in str(caught.value)


def test_every_extra_exists():
    text = PYPROJECT.read_text(encoding="utf-8")
    for extra in set(EXTRAS.values()):
        assert re.search(rf"^{extra} = \[", text, re.M), extra
