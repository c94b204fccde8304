"""File locks: held by one, released by death."""

import os
import subprocess
import sys

import pytest

from diffgbm._util.locks import held, is_held

pytestmark = pytest.mark.skipif(os.name != "posix", reason="flock")


def test_locks_are_held_by_one(tmp_path):
    path = tmp_path / "lock"
    assert not is_held(path)
    with held(path) as mine:
        assert mine
        assert is_held(path)
        with held(path, wait=False) as also_mine:
            assert not also_mine
    assert not is_held(path)


def test_a_killed_process_holds_nothing(tmp_path):
    path = tmp_path / "lock"
    code = "import sys, time; from pathlib import Path; from diffgbm._util.locks import held\n"
    code += "with held(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    assert is_held(path)
    process.kill()
    process.wait()
    assert not is_held(path)
