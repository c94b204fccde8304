"""The page agrees with the recorded lines, and their tests exist."""

import re
from pathlib import Path

import pytest
from reliability import page, records
from reliability.package import script, strange
from reliability.soak import is_flat, slope

TESTS = Path(__file__).parent.parent


def test_the_page_is_that_of_the_recorded_lines():
    assert page.PAGE.read_text() == page.text(), "run: python -m reliability page"


def test_every_finding_has_its_test():
    defined = set(re.findall(r"^def (test_\w+)", (TESTS / "hardening" / "test_files.py").read_text(), re.M))
    findings = records.lines("findings")
    assert len(findings) > 0
    assert {line["test"] for line in findings} <= defined


def test_lines_are_kept_in_order(tmp_path):
    for k in range(3):
        records.record("x", {"k": k}, tmp_path)
    assert [line["k"] for line in records.lines("x", tmp_path)] == [0, 1, 2]
    assert records.lines("y", tmp_path) == []


def test_a_slope_is_that_of_a_line_and_a_leak_is_not_flat():
    import numpy as np

    noise = np.random.default_rng(0).normal(0.0, 1.0, 1200)
    b, error = slope(300.0 + 0.02 * np.arange(1200) + noise)
    assert b == pytest.approx(0.02, abs=4.0 * error)
    assert not is_flat(b, error, 1200, 300.0)
    assert is_flat(*slope(300.0 + noise), 1200, 300.0)


def test_the_first_lines_of_the_readme_compile_and_end_soon():
    lines = script()
    assert "AutoDiffGBM(" in lines
    assert "time_limit=5" in lines
    assert "as_frame" not in lines
    compile(lines, "readme.py", "exec")


def test_a_wheel_with_tests_or_without_types_is_strange():
    good = ["diffgbm/__init__.py", "diffgbm/py.typed", "diffgbm/reporting/page.css", "diffgbm-1.dist-info/METADATA"]
    assert strange(good) == []
    assert strange([*good, "tests/test_x.py"]) == ["tests/test_x.py"]
    assert strange(good[:1]) == ["no py.typed"]


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    wheel = pytest.importorskip("hatchling.builders.wheel")
    import zipfile

    path = next(iter(wheel.WheelBuilder(str(TESTS.parent)).build(directory=str(tmp_path), versions=["standard"])))
    names = zipfile.ZipFile(path).namelist()
    assert strange(names) == []
    assert {f"diffgbm/reporting/page.{ending}" for ending in ("css", "js", "html")} <= set(names)
