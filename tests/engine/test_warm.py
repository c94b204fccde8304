"""Compilation before it is needed, and not before."""

import subprocess
import sys

from diffgbm.engine import warmup


def test_kernels_are_imported_late():
    code = "import sys, diffgbm.engine; sys.exit('diffgbm._util.kernels' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_warmup_says_so_once():
    code = "import logging; logging.basicConfig(level='INFO')\nfrom diffgbm.engine import warmup\nwarmup()\nwarmup()"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.count("loading the sampling kernels") == 1


def test_warmup_runs_here():
    warmup()
