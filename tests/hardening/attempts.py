"""One attempt: a call must either return or raise one of our errors, without output and in finite time."""

import contextlib
import faulthandler
import re
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

import diffgbm
from diffgbm import DiffGBM
from diffgbm._util.errors import DiffGBMWarning

HANGS = 300
"""Seconds after which a call counts as hanging: the run ends with a traceback."""
OURS = str(Path(diffgbm.__file__).parent)
CHECKS = str(Path("sklearn", "utils", "validation.py"))
"""Messages of scikit-learn's checks of X and y, which its estimator checks require."""
NAMED = re.compile(r"(\b(X|y|cat_idx|sample_weight|column|columns|feature|features|rows)\b)")


def small(**params):
    """A model that fits in hundredths of a second."""
    usual = {
        "n_repeats": 2,
        "n_estimators": 3,
        "early_stopping_rounds": None,
        "num_leaves": 4,
        "min_child_samples": 2,
        "residualize": "off",
        "seed": 0,
        "n_jobs": 1,
    }
    return DiffGBM.flow(**{**usual, **params})


class Refusal(Exception):
    """The call raised one of our errors."""


@contextlib.contextmanager
def watched(capfd):
    """Check that nothing is printed, nothing hangs, and all warnings are ours."""
    capfd.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (DiffGBMWarning, DeprecationWarning, FutureWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", kind)
        faulthandler.dump_traceback_later(HANGS, exit=True, file=sys.__stderr__)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
    assert capfd.readouterr() == ("", "")


def attempt(call, names=NAMED):
    """Return the result of a call; raise ``Refusal`` for one of our errors, and any other exception unchanged."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1].filename
        if not where.endswith(CHECKS) and not (where.startswith(OURS) and names.search(str(error))):
            raise
        raise Refusal(str(error)) from None


def values_of(answer):
    """An answer as an array: (n, k) of frames, as they are otherwise."""
    return np.asarray(answer.to_numpy() if hasattr(answer, "to_numpy") else answer, dtype=np.float64)
