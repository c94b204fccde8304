"""Distribution files: build wheel and sdist, check them with twine, inspect, install and use them in a new environment.

``python -m reliability package``; it needs build, twine and a package index.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from reliability.records import record

ROOT = Path(__file__).parent.parent


def run(name: str | None = "package") -> dict[str, Any]:
    """Build, check, install and use the package; return and record the figures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _do(sys.executable, "-m", "build", "--outdir", folder, ROOT)
        wheel, sdist = next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))
        output = _do(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
        python = folder / "empty" / "bin" / "python"
        _do(sys.executable, "-m", "venv", folder / "empty")
        _do(python, "-m", "pip", "install", "--quiet", wheel)
        (folder / "readme.py").write_text(script())
        shown = _do(python, "readme.py", cwd=folder)
        figures = {
            "wheel_kb": round(wheel.stat().st_size / 1e3),
            "sdist_kb": round(sdist.stat().st_size / 1e3),
            "files_in_wheel": len(zipfile.ZipFile(wheel).namelist()),
            "files_in_sdist": len(_do("tar", "-tzf", sdist).splitlines()),
            "twine": "passed" if output.count("PASSED") == 2 else output,
            "strange_in_wheel": strange(zipfile.ZipFile(wheel).namelist()),
            "installed": _do(python, "-m", "pip", "list", "--format=freeze").count("=="),
            "readme": "the lines ran" if shown.strip().endswith("done") else shown,
        }
    if name:
        record(name, figures)
    return figures


def audit(name: str | None = "audit") -> dict[str, Any]:
    """Ask pip-audit about the dependencies that every user gets, and theirs; return and record the answer."""
    with tempfile.TemporaryDirectory() as scratch:
        python = Path(scratch) / "bin" / "python"
        _do(sys.executable, "-m", "venv", scratch)
        _do(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip")
        _do(python, "-m", "pip", "install", "--quiet", ROOT)
        site = next((Path(scratch) / "lib").glob("python*/site-packages"))
        words = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--path", site]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        figures: dict[str, Any] = {"asked": 0, "answered": 0, "vulnerable": [], "said": done.stderr.strip()[-200:]}
    else:
        known = [package for package in packages if "vulns" in package]
        figures = {
            "asked": len(packages),
            "answered": len(known),
            "vulnerable": [package["name"] for package in known if package["vulns"]],
        }
    if name:
        record(name, figures)
    return figures


def strange(names: list[str]) -> list[str]:
    """Return the files of a wheel that are neither the package nor its metadata, and what is missing of it."""
    expected = re.compile(r"diffgbm/.*\.(py|typed|css|js|html|svg)|diffgbm-[^/]+\.dist-info/.*")
    missing = [f"no {name}" for name in ("py.typed",) if f"diffgbm/{name}" not in names]
    return [name for name in names if not expected.fullmatch(name) or "/tests/" in name] + missing


def script() -> str:
    """Return the Python block of the README, with arrays instead of frames, and a word after it."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    if block is None:
        raise ValueError("the README shows no Python")
    # pandas is not installed; a short limit, because the check is whether the lines run, not how accurate they are
    lines = block[1].replace(", as_frame=True", "").replace("time_limit=60", "time_limit=5")
    return f"{lines}\nprint('done')\n"


def _do(*words: Any, cwd: Path | None = None) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, cwd=cwd, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
