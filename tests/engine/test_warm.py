"""Compilation before it is needed, and not before."""

import subprocess
import sys

from diffgbm.engine import Draws, make_engine, warmup

from . import models


def test_kernels_are_imported_late():
    code = "import sys, diffgbm.engine; sys.exit('diffgbm._util.kernels' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_warmup_compiles_what_predictions_call():
    warmup()
    from diffgbm.engine import _joint_kernels, _scalar_kernels

    for d, integrate in ((1, _scalar_kernels.integrate_block), (2, _joint_kernels.integrate_block_joint)):
        signatures = list(integrate.signatures)
        make_engine([models.group(d, 1, 1)], "collapse").prepare(models.step_table(1))(models.rows(9, 0), Draws(3, 1))
        assert list(integrate.signatures) == signatures


def test_one_response_needs_no_kernels_for_several():
    code = "import sys; from diffgbm.engine import warmup; warmup(joint=False)\n"
    code += "sys.exit('diffgbm.engine._joint_kernels' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
