"""Loading models: the table of estimators that a model file can hold."""

from __future__ import annotations

import os
from collections.abc import Iterable

from diffgbm.estimators.adaptive import AdaptiveConformal
from diffgbm.estimators.auto import AutoDiffGBM
from diffgbm.estimators.conformal import ConformalDiffGBM
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.persistence.files import read_file

Loaded = DiffGBM | AutoDiffGBM | ConformalDiffGBM | AdaptiveConformal

ESTIMATORS = (DiffGBM, AutoDiffGBM, ConformalDiffGBM, AdaptiveConformal)


def load(path: str | os.PathLike[str], trusted: Iterable[str | type] = ()) -> Loaded:
    """Read a model that ``save`` of an estimator wrote.

    Nothing in the file is run. A file that is truncated, altered, forged or of a later version is refused.

    Parameters
    ----------
    path : str or path
        The model file.
    trusted : iterable of str or type
        Types of regressors, by their full names, that the file may hold besides those of the library and those that
        skops considers harmless. A file that holds others is refused with a message that names them. Trust a type
        only if you trust the author of the file.

    Returns
    -------
    DiffGBM, AutoDiffGBM, ConformalDiffGBM or AdaptiveConformal
        The fitted estimator. It draws the same samples and predicts the same distributions as the saved one, to the
        last bit. Out-of-bag distributions of the training rows are not stored.

    Raises
    ------
    ModelFileError
        If the file is anything but a model file that this version can read.
    """
    model: Loaded = read_file(path, ESTIMATORS, trusted)
    return model
