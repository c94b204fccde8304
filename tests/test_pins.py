"""The linters of ``pre-commit`` and of the extra ``dev`` are the same versions, and the version is written once."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import diffgbm

ROOT = Path(__file__).parent.parent
HOOKS = {"ruff": "ruff-pre-commit", "mypy": "mirrors-mypy"}


def dev_extra() -> str:
    # tomllib is new in Python 3.11
    found = re.search(r"^dev = \[(.*?)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("tool", HOOKS)
def test_pre_commit_and_dev_pin_the_same_version(tool):
    pinned = re.search(rf'"{tool}==([0-9.]+)"', dev_extra())
    assert pinned is not None, f"the extra dev does not pin {tool} with =="
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    revisions = {Path(repo["repo"]).name: repo["rev"] for repo in config["repos"]}
    assert revisions[HOOKS[tool]] == f"v{pinned[1]}"


def test_every_linter_of_dev_is_compared():
    assert set(re.findall(r'"([a-z-]+)==', dev_extra())) == set(HOOKS)


def test_the_version_is_written_once():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in text
    assert not re.search(r"^version\s*=", text, re.M)
    assert diffgbm.__version__ == version("diffgbm")
