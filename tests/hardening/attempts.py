"""One attack: a call that must either answer or refuse in our words, silently and in finite time."""

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
"""Seconds after which a call is taken to hang: the run ends with the place where it stands."""
OURS = str(Path(diffgbm.__file__).parent)
CHECKS = str(Path("sklearn", "utils", "validation.py"))
"""scikit-learn's own checks of X and y, whose words its estimator checks ask for."""
NAMED = re.compile(r"(\b(X|y|cat_idx|sample_weight|column|columns|feature|features|rows)\b)")


def small(**params):
    """A model that is fitted in hundredths of a second."""
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
    """A refusal in our words."""


@contextlib.contextmanager
def watched(capfd):
    """Nothing is printed, nothing hangs, and no warning is given that is not ours."""
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
    """Return what a call answers; raise ``Refusal`` where it refuses as it should, and what it raises otherwise."""
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
