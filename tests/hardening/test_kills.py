"""Processes killed while they write: the quick form of ``python -m reliability kills``."""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from reliability.kills import Case, Trial

ROOT = Path(__file__).parent.parent.parent
CASES = ("save", "save_over", "cli_predict")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


def test_finished_results_survive_and_unfinished_ones_are_absent():
    """In a separate process, because a process with threads, such as pytest's, cannot be forked."""
    words = ["kills", "--kills", "1", "--minutes", "5", "--quick", "--cases", *CASES]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    done = subprocess.run(
        [sys.executable, "-m", "reliability", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    assert set(figures["cases"]) == set(CASES)
    assert all(counts["kills"] >= 1 for counts in figures["cases"].values())
    assert sum(counts["absent_parts"] for counts in figures["cases"].values()) > 0


def write(folder: Path, parts: int = 5, careful: bool = True) -> None:
    """Write parts in turn, each under a temporary name first or, if careless, under its final name."""
    for k in range(parts):
        path = folder / f"{k}.txt"
        if not path.exists():
            with open(folder / "part" if careful else path, "w", buffering=1) as file:
                for _ in range(20):
                    file.write(f"line {k}\n")
            if careful:
                os.replace(folder / "part", path)


def whole(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*.txt")}


def killed(case: Case, tmp_path: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    trial, rng = Trial(case, tmp_path), random.Random(0)
    for _ in range(15):
        trial.once(rng, counts)
    return counts


def test_a_careful_writer_survives(tmp_path):
    counts = killed(Case("careful", write, whole), tmp_path)
    assert counts["kills"] >= 15
    assert counts["finished_parts"] > 0
    assert counts["absent_parts"] > 0


def test_a_careless_writer_is_detected(tmp_path):
    case = Case("careless", lambda folder: write(folder, careful=False), whole)
    with pytest.raises(AssertionError, match="is there after a kill, and is wrong"):
        killed(case, tmp_path)


def test_a_case_that_loses_results_is_detected(tmp_path):
    def forget(folder: Path) -> None:
        for path in folder.glob("*.txt"):
            path.unlink()
        write(folder)

    with pytest.raises(AssertionError, match="was finished, and is gone"):
        killed(Case("forgetful", forget, whole), tmp_path)


def test_a_case_that_fails_by_itself_is_not_taken_for_killed(tmp_path):
    def fail(folder: Path) -> None:
        raise RuntimeError("of itself")

    with pytest.raises(AssertionError, match="fails without being killed"):
        Trial(Case("failing", fail, whole), tmp_path)


def test_the_process_dies_at_the_requested_operation(tmp_path):
    trial = Trial(Case("careful", write, whole), tmp_path)
    from reliability.kills import forked

    ends = []
    for at in (1, trial.operations, trial.operations + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        pid = forked(lambda folder=folder: write(folder), at)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    assert ends == [-signal.SIGKILL, -signal.SIGKILL, 0]
