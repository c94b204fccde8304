"""Measure how the package is arranged, beside packages of the field: modules, functions, documentation, README.

The other packages are downloaded by ``pip download --no-deps`` into a temporary directory and never imported. A package
that cannot be downloaded is left out of the table, and the page names it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email import message_from_string
from math import isnan
from pathlib import Path

from benchmarks.datasets import ROOT
from benchmarks.style_measures import Measures, measure

RESULTS = ROOT / "benchmarks" / "results"
PEERS = ("diffrax", "flow_matching", "lleaves", "scoringrules", "skpro", "pytabkit")
"""Packages of the index, each named like its folder."""
OURS = "ours"


class NotAvailable(Exception):
    """A package could not be downloaded or has an unknown layout."""


@dataclass(frozen=True)
class Download:
    """A package as its distribution has it: version, folder of the source, and README."""

    version: str
    package: Path
    readme: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--packages", nargs="*", default=list(PEERS), metavar="NAME", help="other packages to measure")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of the page")


def download(name: str, folder: Path) -> Download:
    """Download a package and unpack it into ``folder``.

    Raises
    ------
    NotAvailable
        There is no network, no such package, or its archive has no folder of its name.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archives = [path for path in folder.iterdir() if path.is_file()]
    if done.returncode or not archives:
        raise NotAvailable(f"pip cannot download {name}: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    return unpack(archives[0], name, folder / "unpacked")


def unpack(archive: Path, name: str, folder: Path) -> Download:
    """Unpack a wheel or a source distribution; ``METADATA`` or ``PKG-INFO`` holds version and README."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder)
        metadata = sorted(folder.glob("*.dist-info/METADATA"))
    else:
        with tarfile.open(archive) as source:
            source.extractall(folder, filter="data")
        metadata = sorted(folder.glob("*/PKG-INFO"))
    packages = sorted(folder.glob(f"**/{name}/__init__.py"), key=lambda path: len(path.parts))
    if not packages or not metadata:
        raise NotAvailable(f"{archive.name} has no package {name} or no metadata.")
    message = message_from_string(metadata[0].read_text(encoding="utf-8"))
    return Download(str(message["Version"]), packages[0].parent, str(message.get_payload()))


def table(measures: Mapping[str, Measures], missing: Mapping[str, str]) -> str:
    """Write the measures as Markdown, one column for each package."""
    rows = {
        "modules at the top / packages": [f"{m.modules} / {m.packages}" for m in measures.values()],
        "largest file, longest function (p95), lines": [
            f"{m.largest_file}, {m.longest_function} ({m.function_p95})" for m in measures.values()
        ],
        "functions with docstring / return type": [
            f"{m.docstrings:.0%} / {m.return_types:.0%}" for m in measures.values()
        ],
        "import cycles, modules of each": [", ".join(map(str, m.cycles)) or "none" for m in measures.values()],
        "words in README": [f"{m.words:,}" for m in measures.values()],
        "mean sentence in README, words": ["" if isnan(m.sentence) else f"{m.sentence:.0f}" for m in measures.values()],
    }
    lines = [
        "# Arrangement of the code",
        "",
        "`python -m benchmarks style`: the same measures of all packages, without their tests. Function lines exclude",
        "docstrings. Import cycles count imports inside functions and exclude those for type checkers. The README of",
        "another package is the description on the package index. Sentences exclude code, tables and images.",
        "",
        f"| | {' | '.join(measures)} |",
        "|---" * (len(measures) + 1) + "|",
        *(f"| {name} | {' | '.join(values)} |" for name, values in rows.items()),
        *(["", *(f"Not measured: {name} ({reason})." for name, reason in missing.items())] if missing else []),
    ]
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> None:
    """Measure all packages and write ``results/style.md``."""
    measures = {OURS: measure(ROOT / "src" / "diffgbm", (ROOT / "README.md").read_text(encoding="utf-8"))}
    missing = {}
    for name in args.packages:
        print(f"style: {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="diffgbm-style-") as folder:
            try:
                source = download(name, Path(folder))
            except NotAvailable as error:
                missing[name] = str(error)
            else:
                measures[f"{name} {source.version}"] = measure(source.package, source.readme)
    text = table(measures, missing)
    (args.results_dir / "style.md").write_text(text, encoding="utf-8")
    print(text)
