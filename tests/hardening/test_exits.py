"""Errors of the command line end with code 2 and one line; the count of other endings would see an abort."""

import os
import signal
import subprocess
import sys

import pytest
from reliability import exits, records
from reliability.forked import Forks

from diffgbm.cli.entry import main


def test_every_case_is_refused_and_recorded_runs_count(tmp_path, monkeypatch, capfd):
    def here(words, folder):
        monkeypatch.chdir(folder)
        with pytest.raises(SystemExit) as left:
            main(list(words))
        return subprocess.CompletedProcess(words, left.value.code, *capfd.readouterr())

    class InThisProcess(Forks):
        def __init__(self, folder):
            self.folder = folder

        def __exit__(self, *error):
            monkeypatch.chdir(tmp_path)

        def command(self, words):
            return here(words, self.folder)

    monkeypatch.setattr(exits, "command", here)
    monkeypatch.setattr(exits, "Forks", InThisProcess)
    monkeypatch.setattr(exits, "record", lambda name, figures: records.record(name, figures, tmp_path))
    monkeypatch.setattr(exits, "lines", lambda name: records.lines(name, tmp_path))
    figures = exits.run(5.0, most=1)
    assert figures["findings"] == 0, figures
    assert all(count == {"runs": 1, "others": 0} for count in figures["cases"].values())
    assert [exits.recorded(case) for case in exits.CASES] == [1] * len(exits.CASES)
    monkeypatch.setattr(exits, "prepare", lambda folder: None)
    assert exits.run(5.0, most=1)["runs"] == 0


def test_a_fork_that_aborts_at_its_end_is_seen(tmp_path, monkeypatch):
    """A handler at exit stands for a thread that outlives the command."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os\nparent = os.getpid()\natexit.register(lambda: os.getpid() != parent and os.abort())\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with Forks(tmp_path) as forks:
        done = forks.command(["predict", "none.dgbm", "none.csv"])
    assert done.returncode == -signal.SIGABRT
    assert "no model file" in done.stderr
    assert not exits.refused(done)


def test_other_endings_are_seen():
    ends = [(2, "diffgbm: no.\n"), (134, "diffgbm: no.\nterminate called\n"), (2, ""), (1, "diffgbm: no.\n")]
    assert [exits.refused(subprocess.CompletedProcess([], code, "", text)) for code, text in ends] == [
        *(True, False, False, False),
    ]
