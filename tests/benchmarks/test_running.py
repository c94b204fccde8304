"""The commands tune, evaluate and run: units over processes, skipped families and data sets, error messages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.__main__ import main
from benchmarks.datasets import ROOT
from benchmarks.dispatch import dispatch
from benchmarks.evaluation import KEY
from benchmarks.layout import Layout
from benchmarks.monitor import Pace, duration
from benchmarks.selection import SYNTHETIC
from benchmarks.units import Unit

from benchmarks import configs, provenance, records
from diffgbm._util.locks import is_held
from diffgbm.tuning.journals import open_journal
from tests.benchmarks import fake_families as fake


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No network, and no data of this machine."""
    monkeypatch.setenv("DIFFGBM_OFFLINE", "1")
    monkeypatch.setenv("DIFFGBM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DIFFGBM_DATA", str(tmp_path / "data"))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "log"
    folder.mkdir()
    monkeypatch.setenv("FAKE_LOG", str(folder))
    return folder


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "results")


def call(layout: Layout, *words: str, registry: str = "ALL") -> int:
    """Call a command with the fake families."""
    return main([*words, "--registry", f"tests.benchmarks.fake_families:{registry}", "--results-dir", str(layout.root)])


def only(*families: str) -> list[str]:
    return ["--data-sets", SYNTHETIC, "--families", *families]


def scores_of(layout: Layout) -> dict[tuple[Any, ...], Any]:
    return {key: line["metrics"] for key, line in records.latest(layout.evaluation, KEY).items()}


def test_tune_then_evaluate(layout, log):
    assert call(layout, "tune", *only("point", "noise"), "--trials", "2") == 0
    assert fake.n_fits(log) == 4
    assert call(layout, "evaluate", *only("point", "noise"), "--folds", "2", "5", "--test-rows", "10") == 0
    assert set(scores_of(layout)) == {(SYNTHETIC, family, fold) for family in ("point", "noise") for fold in (2, 5)}
    assert {line["n_test"] for line in records.read(layout.evaluation)} == {10}
    assert fake.n_fits(log) == 8


def test_the_quick_preset_goes_through_everything(layout, log, capsys):
    assert call(layout, "run", "--quick", "--jobs", "1", registry="FAMILIES") == 0
    output = capsys.readouterr()
    assert "yacht is not available" in output.err
    assert "missing is left out: it needs no_such_module" in output.err
    pairs = {(data, family) for data in ("diabetes", SYNTHETIC) for family in ("point", "noise")}
    assert set(scores_of(layout)) == {(*pair, fold) for pair in pairs for fold in (1, 2)}
    for pair in pairs:
        config = configs.read(layout.config(*pair))
        assert config is not None
        assert config.n_trials_finite == 2
    assert fake.n_fits(log) == 4 * (2 + 2)
    # the smaller data set first, each with all families
    order = [(line["data_set"], line["family"]) for line in records.read(layout.evaluation)]
    assert order[::2] == [(data, family) for data in (SYNTHETIC, "diabetes") for family in ("point", "noise")]
    written = [Path(line) for line in output.out.split()]
    assert written
    assert all(path.is_file() and layout.root in path.parents for path in written)

    assert call(layout, "run", "--quick", "--jobs", "1", registry="FAMILIES") == 0
    assert fake.n_fits(log) == 4 * (2 + 2)


def test_results_are_the_same_for_any_number_of_processes(layout, tmp_path):
    words = ("run", *only("point", "noise"), "--trials", "3", "--folds", "1", "2")
    other = Layout(tmp_path / "other")
    assert call(layout, *words, "--jobs", "1") == 0
    assert call(other, *words, "--jobs", "2") == 0
    assert scores_of(layout) == scores_of(other)
    assert len(scores_of(layout)) == 4


@pytest.mark.parametrize("command", ["tune", "evaluate", "run"])
def test_a_directory_that_is_not_writable_is_reported_in_one_line(tmp_path, capsys, command):
    (tmp_path / "file").touch()
    assert call(Layout(tmp_path / "file" / "results"), command, *only("point")) == 1
    output = capsys.readouterr().err
    assert output.startswith(f"benchmarks {command}: cannot write results into ")
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--families", "pont"], "Did you mean 'point'?"),
        (["--families", "missing"], "needs no_such_module"),
        (["--families", "point", "--data-sets", "yatch"], "Did you mean 'yacht'?"),
        (["--families", "point", "--data-sets", "yacht"], "Put yacht.csv.gz"),
    ],
)
def test_names_on_the_command_line_must_be_available(layout, capsys, words, message):
    assert call(layout, "tune", *words) == 1
    output = capsys.readouterr().err
    assert message in output
    assert output.count("\n") == 1


def test_a_missing_registry_is_reported(layout, capsys):
    assert call(layout, "tune", *only("point"), registry="NONE") == 1
    assert "no registry of families at 'tests.benchmarks.fake_families:NONE'" in capsys.readouterr().err


def test_a_family_that_fails_stops_no_other(layout, capsys):
    assert call(layout, "run", *only("far", "point"), "--trials", "1", "--folds", "1") == 1
    assert set(scores_of(layout)) == {(SYNTHETIC, "point", 1)}
    output = capsys.readouterr().err
    assert f"tune {SYNTHETIC} far: failed, all 2 trials failed; the last: RuntimeError: shift" in output
    assert output.rstrip().endswith(f"no result of 1 units: tune {SYNTHETIC} far.")


def test_no_work_begins_when_the_time_is_over(layout, log, capsys):
    assert call(layout, "run", *only("point"), "--minutes-total", "0") == 0
    assert fake.n_fits(log) == 0
    assert "time is over" in capsys.readouterr().err


def test_evaluating_what_is_not_tuned_says_so(layout, capsys):
    assert call(layout, "evaluate", *only("point"), "--folds", "1") == 0
    assert "untuned" in capsys.readouterr().err


def test_a_killed_command_takes_its_processes_with_it_and_continues(layout, log):
    words = [*only("point", "noise"), "--trials", "3", "--folds", "1"]
    fixed = ["--registry", "tests.benchmarks.fake_families:ALL", "--results-dir", str(layout.root)]
    path = os.pathsep.join(map(str, (ROOT, ROOT / "src", ROOT / "tests")))
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", "run", *words, *fixed, "--jobs", "2", "--threads", "1"],
        env={**os.environ, "PYTHONPATH": path, "FAKE_HANG": "2"},
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    fake.wait_until((log / "hanging").exists)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    fake.wait_until(lambda: not any(is_held(path) for path in layout.studies.glob("*.worker")))
    assert call(layout, "run", *words) == 0
    for family in ("point", "noise"):
        with open_journal(layout.journal(SYNTHETIC, family)) as study:
            assert study.status().finite == 3
    assert set(scores_of(layout)) == {(SYNTHETIC, "point", 1), (SYNTHETIC, "noise", 1)}
    assert len(list(records.read(layout.evaluation))) == 2


def double(number: int) -> int:
    return 2 * number


def double_or_die(number: int) -> int:
    if number == 3:
        os._exit(9)
    return double(number)


def follow_tens(seen: list[int], number: int, result: int) -> list[int]:
    """A multiple of ten adds two more units."""
    seen.append(result)
    return [number + 1, number + 2] if number % 10 == 0 else []


def test_units_that_a_result_adds_come_next():
    seen: list[int] = []
    assert dispatch([10, 20, 30], double, partial(follow_tens, seen)) == []
    assert seen == [20, 22, 24, 40, 42, 44, 60, 62, 64]


def test_units_that_stop_leaves_undone_are_returned():
    seen: list[int] = []
    left = dispatch([10, 20], double, partial(follow_tens, seen), stop=lambda: len(seen) == 2)
    assert seen == [20, 22]
    assert left == [12, 20]


def test_processes_do_the_same_and_a_death_costs_one_unit():
    seen: list[int] = []
    lost: list[int] = []
    assert dispatch([10, 3, 20], double_or_die, partial(follow_tens, seen), lost=lost.append, jobs=2) == []
    assert sorted(seen) == [20, 22, 24, 40, 42, 44]
    assert lost == [3]


def test_the_time_left_is_by_rows_and_family():
    pace = Pace()
    unit: Callable[..., Unit] = partial(Unit, "a")
    assert pace.left([unit("f", 1, 10)], 1) is None
    assert pace.left([], 1) == 0.0
    pace.note(unit("f", 1, 10), 5.0)
    pace.note(unit("g", 1, 10), 15.0)
    assert pace.of(unit("f", 2, 40)) == 20.0
    assert pace.of(unit("h", 1, 10)) == 10.0
    assert pace.left([unit("f", 2, 40), unit("h", 1, 10)], 2) == 15.0
    # studies have no estimate yet: they count as long as the others
    assert pace.left([unit("f", 2, 40), unit("f", None, 40)], 1) == 40.0


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "time left unknown"), (80.0, "about 80 s left"), (600.0, "about 10 min left")]
)
def test_durations_in_words(seconds, text):
    assert duration(seconds) == text


def test_the_hash_follows_content_and_names(tmp_path):
    def tree(name: str, **files: str) -> Path:
        root = tmp_path / name
        (root / "src").mkdir(parents=True)
        for file, content in files.items():
            (root / "src" / f"{file}.py").write_text(content)
        return root

    trees = [tree("a", x="1", y="2"), tree("b", x="1", y="2"), tree("c", x="1", y="3"), tree("d", x="1", z="2")]
    hashes = [provenance.source_hash(root, ("src",)) for root in trees]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_a_tree_without_git_has_an_unknown_commit(tmp_path):
    assert provenance.commit(tmp_path) == "unknown"


def test_versions_of_what_is_not_installed():
    assert provenance.versions(["no-such-package"])["no-such-package"] == "missing"
