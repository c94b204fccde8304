"""Time of a prediction for 1, 100 and 10,000 rows: this version, an earlier one and other packages, taking turns.

Models are fitted once, by the earlier version, and read by both; each version answers from a process of its own. Other
packages that are installed are fitted to the same rows. One call measures everything in about twenty minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.layout import ResultsError
from benchmarks.serving.page import COMPRESSED, QUESTIONS, Record, page
from benchmarks.serving.peers import PEERS, Peer
from benchmarks.serving.worker import table

RESULTS = ROOT / "benchmarks" / "results"
BEFORE = "839025e"
"""The last commit before predictions were made faster."""
SIZES = {1: 30, 100: 5, 10_000: 1}
"""Rows of a call, and calls in a round."""
RECIPES = ("flow", "edm", "fast", "balanced")
TRAINING_ROWS = 4000
"""Rows that the models are fitted to."""
LIMITS = {"fast": 120.0, "balanced": 600.0}
"""Seconds of automatic fits, four times the presets': also on a busy machine no bag is left out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--before", default=BEFORE, help="commit of the earlier version; '' measures only this one")
    parser.add_argument("--quick", action="store_true", help="small models, few rows; nothing is written")
    parser.add_argument("--rounds", type=int, default=3, help="rounds in which versions and packages take turns")
    parser.add_argument("--models", type=Path, help="directory of fitted models: kept there, and used again")


class Process:
    """A worker with the library at a path."""

    def __init__(self, source: Path) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
        script = Path(__file__).with_name("worker.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script), str(source)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=60)

    def ask(self, do: str, **arguments: Any) -> Any:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process that should {do} ended; its message is above")
        return json.loads(line)


def source_of(commit: str, folder: Path) -> Path:
    """Write the library of a commit to a folder and return its path."""
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=False, stdout=subprocess.PIPE)
    if archive.returncode:
        raise ResultsError(f"--before {commit}: this clone has no such commit; name another, or '' for none")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def fitted_models(fitting: Process, folder: Path, args: argparse.Namespace) -> dict[str, Path]:
    """Fit what is missing."""
    paths = {}
    limits = {"fast": 5.0, "balanced": 8.0} if args.quick else LIMITS
    for recipe in RECIPES:
        paths[recipe] = folder / f"{recipe}.dgbm"
        if not paths[recipe].exists():
            print(f"serving: fitting {recipe}", file=sys.stderr, flush=True)
            n_train = 300 if args.quick else TRAINING_ROWS
            fitting.ask("fit", recipe=recipe, path=str(paths[recipe]), n_train=n_train, limits=limits)
    return paths


def compress(now: Process, paths: dict[str, Path], folder: Path) -> list[Record]:
    """Compress the pools at 1%."""
    records = []
    for recipe in ("fast", "balanced"):
        name = COMPRESSED.format(recipe)
        target = folder / f"{recipe}_compressed.dgbm"
        text = now.ask("compress", path=str(paths[recipe]), to=str(target), tolerance=0.01)
        paths[name] = target
        records.append({"kind": "compression", "model": name, "text": text})
    return records


def fitted_peers(args: argparse.Namespace) -> dict[str, Peer]:
    """Fit the packages that are installed."""
    X, y, _ = table(300 if args.quick else TRAINING_ROWS, 1)
    found = {}
    for name, (module, fit) in PEERS.items():
        if find_spec(module) is None:
            print(f"serving: without {name}, which is not installed", file=sys.stderr, flush=True)
            continue
        found[name] = fit(X, y)
        print(f"serving: fitted {name}", file=sys.stderr, flush=True)
    return found


def measure(versions: dict[str, Process], paths: dict[str, Path], peers: dict[str, Peer], rounds: int) -> list[Record]:
    """Time every call of every model, in rounds."""
    rows, records = table(1, 10_000)[2], []
    for version, process in versions.items():
        for name, path in paths.items():
            if version == "now" or name in RECIPES:
                process.ask("load", name=name, path=str(path))
                process.ask("time", name=name, question="interval", n_rows=1, repeats=2)
    for turn in range(rounds):
        for n, repeats in SIZES.items():
            print(f"serving: round {turn + 1} of {rounds}, {n} rows", file=sys.stderr, flush=True)
            for q, question in enumerate(QUESTIONS):
                which = {"kind": "call", "question": question, "rows": n}
                for name in paths:
                    for version, process in versions.items():
                        if version == "now" or name in RECIPES:
                            found = process.ask("time", name=name, question=question, n_rows=n, repeats=repeats)
                            records.append({**which, "model": name, "version": version, "seconds": found})
                for name, peer in peers.items():
                    found = []
                    for _ in range(min(repeats, 5)):
                        started = time.process_time()
                        peer[q](rows[:n])
                        found.append(time.process_time() - started)
                    records.append({**which, "model": name, "version": "now", "seconds": min(found)})
    return records


def first_calls(sources: dict[str, Path], paths: dict[str, Path]) -> list[Record]:
    """Start processes that import, load and predict once."""
    records = []
    for name in ("flow", "balanced"):
        for version, source in [*sources.items()] * 2:
            with Process(source) as process:
                record = {"kind": "first", "model": name, "version": version}
                records.append({**record, **process.ask("first", path=str(paths[name]))})
    return records


def run(args: argparse.Namespace) -> None:
    """Measure, print the page and write ``results/serving.md``."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sources = {"before": source_of(args.before, temporary)} if args.before else {}
        sources["now"] = ROOT / "src"
        folder = args.models or temporary
        folder.mkdir(parents=True, exist_ok=True)
        versions = {version: stack.enter_context(Process(source)) for version, source in sources.items()}
        paths = fitted_models(next(iter(versions.values())), folder, args)
        records = compress(versions["now"], paths, folder)
        records += measure(versions, paths, fitted_peers(args), 1 if args.quick else args.rounds)
        records += first_calls(sources, {name: paths[name] for name in RECIPES})
    facts = {"n_train": 300 if args.quick else TRAINING_ROWS, "rounds": args.rounds, "before": args.before}
    text = page(records, facts)
    if not args.quick:
        (RESULTS / "serving.md").write_text(text, encoding="utf-8")
    print(text)
