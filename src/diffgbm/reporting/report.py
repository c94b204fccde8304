"""Reports: what a model is worth on a table, in one HTML file that needs nothing else."""

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
from diffgbm.reporting.facts import Limits, ReportFacts, climatology_of, gather
from diffgbm.reporting.page import page
from diffgbm.reporting.rows import read_observations, read_rows

__all__ = ["Report", "report"]


@dataclass(frozen=True)
class Report:
    """Use this to save or read what ``report`` returns: its page, and the numbers on it.

    Attributes
    ----------
    html : str
        The page.
    facts : ReportFacts
        What it says, as numbers.
    """

    html: str = field(repr=False)
    facts: ReportFacts = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
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
    """Write down what a model is worth on rows that it has not seen: one HTML file that needs no network.

    Scores beside climatology and a point model, calibration, sharpness, coverage by spread and by features, densities
    of rows that can be picked, what moves the centre and what moves the spread, time and size.

    Parameters
    ----------
    model : DiffGBM, AutoDiffGBM, ConformalDiffGBM or DiffGBMCV
        A fitted model.
    X : array-like or frame of shape (n, p)
        At least two rows, best of all ones that the model has not learned from.
    y : array-like, Series or frame of shape (n,) or (n, d)
        What was observed.
    path : str or path, optional
        File to write.
    y_train : array-like, Series or frame, optional
        Responses of training, for the climatology. Left out, these are the responses that a ``ConformalDiffGBM`` was
        calibrated on, and ``y`` itself for other models. The report says which.
    title : str, optional
        Title of the report.
    importance_rows, n_repeats : int
        Rows between which features are shuffled, at most, and how often. Fewer rows are taken if there are many
        features: a million predictions are enough.
    rows_shown : int
        Rows whose densities are in the file, of all responses together.
    fit_seconds : float, optional
        How long training took, if it is to be said.
    file_bytes : int, optional
        Size of the model's file; found by writing one if left out.
    seed : int
        Seed of everything random. The same seed gives the same report, but for the seconds in its last section.
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
    >>> found = diffgbm.report(model, X[150:], y[150:], y_train=y[:150])
    >>> found.html[:15]
    '<!DOCTYPE html>'
    """
    fitted = _model(model)
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
    found = Report(page(facts, f"Predictions of {names}" if title is None else title), facts)
    if path is not None:
        found.save(path)
    return found


def _model(model: Any) -> DistributionalRegressor:
    """Return the model if it is one that can be reported on."""
    if not isinstance(model, DistributionalRegressor):
        raise TypeError(
            f"model must be a DiffGBM, AutoDiffGBM, ConformalDiffGBM or DiffGBMCV; got {type(model).__name__}."
        )
    check_is_fitted(model)
    return model
