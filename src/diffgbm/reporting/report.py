"""Reports on the predictions of a model, each in one self-contained HTML file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from typing import Any

from sklearn.utils.validation import check_is_fitted

from diffgbm._util.atomic_files import check_folder, replacing
from diffgbm._util.errors import check_count
from diffgbm.data.response import read_response
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.reporting.baselines import climatology_of
from diffgbm.reporting.facts import Limits, ReportFacts, gather
from diffgbm.reporting.page import page
from diffgbm.reporting.rows import read_observations, read_rows

__all__ = ["Report", "report"]


@dataclass(frozen=True)
class Report:
    """Use this to save or read what ``report`` returns: its page and its numbers.

    Attributes
    ----------
    html : str
        The page.
    facts : ReportFacts
        The numbers of the page.
    """

    html: str = field(repr=False)
    facts: ReportFacts = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, completely or not at all."""
        with replacing(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return f'<iframe srcdoc="{escape(self.html)}" style="width: 100%; height: 45rem; border: 0"></iframe>'


def report(
    model: DistributionalRegressor,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    y_train: Any = None,
    title: str | None = None,
    importance_rows: int = 2000,
    n_repeats: int = 5,
    rows_shown: int = 200,
    fit_seconds: float | None = None,
    file_bytes: int | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> Report:
    """Evaluate a model on rows that it has not seen, and write one HTML file that needs no network.

    The report shows scores beside two baselines, calibration, sharpness, coverage by predicted interquartile range and
    by features, densities of rows that the reader selects, feature importance for the median and for the interquartile
    range, run times and sizes.

    Parameters
    ----------
    model : DiffGBM, AutoDiffGBM, ConformalDiffGBM or DiffGBMCV
        A fitted model.
    X : array-like or frame of shape (n, p)
        At least two rows, preferably not rows of the training table.
    y : array-like, Series or frame of shape (n,) or (n, d)
        Observations.
    path : str or path, optional
        File to write.
    y_train : array-like, Series or frame, optional
        Training responses, for the climatology. The default is the responses that a ``ConformalDiffGBM`` was
        calibrated on, and ``y`` for other models. The report states which.
    title : str, optional
        Title of the report.
    importance_rows, n_repeats : int
        Most rows for permutation importance, and permutations of each feature. With many features fewer rows are used,
        to predict at most a million rows.
    rows_shown : int
        Rows whose densities are in the file, over all responses.
    fit_seconds : float, optional
        Training time, to be shown in the report.
    file_bytes : int, optional
        Size of the model file; by default the report saves the model to measure it.
    seed : int
        Seed of all random choices. The same seed gives the same report, except for the run times in its last section.
    verbose : int
        1 shows progress bars on a terminal.

    Returns
    -------
    Report
        The page (``html``), its numbers (``facts``) and ``save(path)``.

    Examples
    --------
    >>> import numpy as np
    >>> import diffgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> y = X[:, 0] + (0.1 + X[:, 1]) * rng.standard_normal(200)
    >>> model = diffgbm.DiffGBM.flow(n_estimators=20, n_jobs=1, seed=0).fit(X[:150], y[:150])
    >>> report = diffgbm.report(model, X[150:], y[150:], y_train=y[:150])
    >>> report.html[:15]
    '<!DOCTYPE html>'
    """
    fitted = _fitted(model)
    limits = Limits(
        check_count("importance_rows", importance_rows, 2),
        check_count("n_repeats", n_repeats, 1),
        check_count("rows_shown", rows_shown, 1),
        check_count("seed", seed, 0),
    )
    if path is not None:
        check_folder(path)
    rows = read_rows(fitted, X)
    if len(rows) < 2:
        raise ValueError(f"A report needs at least 2 rows; got {len(rows)}.")
    observed = read_observations(fitted, y, len(rows))
    train = None if y_train is None else read_observations(fitted, y_train, len(read_response(y_train)[1]), "y_train")
    climatology = climatology_of(fitted, observed, train)
    facts = gather(fitted, rows, observed, climatology, limits, fit_seconds, file_bytes, verbose)
    names = ", ".join(fitted.response_names())
    result = Report(page(facts, f"Predictions of {names}" if title is None else title), facts)
    if path is not None:
        result.save(path)
    return result


def _fitted(model: Any) -> DistributionalRegressor:
    """Return the model if it is a fitted regressor of this library; raise an error otherwise."""
    if not isinstance(model, DistributionalRegressor):
        raise TypeError(
            f"model must be a DiffGBM, AutoDiffGBM, ConformalDiffGBM or DiffGBMCV; got {type(model).__name__}."
        )
    check_is_fitted(model)
    return model
