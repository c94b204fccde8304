"""Reports on the predictions of a model, each in one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.atomic_files import check_folder, replacing
from diffgbm._util.errors import check_count
from diffgbm._util.types import Array
from diffgbm.data.response import read_response
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.reporting.baselines import climatology_of
from diffgbm.reporting.facts import Limits, ReportFacts, gather
from diffgbm.reporting.formatting import number, percent
from diffgbm.reporting.page import page
from diffgbm.reporting.rows import read_observations, read_rows
from diffgbm.reporting.scores import MAIN

__all__ = ["Report", "report"]


REPR_RESPONSES = 3
"""Responses that the representation of a report names."""


@dataclass(frozen=True, repr=False)
class Report:
    """Use this to save or read what ``report`` returns: its page and its numbers.

    Attributes
    ----------
    html : str
        The page.
    facts : ReportFacts
        The numbers of the page.
    """

    html: str
    facts: ReportFacts

    def __repr__(self) -> str:
        """Name the model, the rows and the main scores."""
        facts = self.facts
        lines = [
            f"{r.name}: CRPS {number(r.model.crps)}, skill {percent(r.model.skill)}, "
            f"{percent(MAIN, 0)} intervals cover {percent(r.model.coverage[MAIN])}"
            for r in facts.responses
        ]
        further = len(lines) - REPR_RESPONSES
        shown = "; ".join(lines[:REPR_RESPONSES] + ([f"{further} more"] if further > 0 else []))
        return f"Report({facts.model['model']} on {len(facts.rows):,} rows; {shown})"

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
    labels: Sequence[Any] | None = None,
    thresholds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    explained: Sequence[int] = (),
    importance_rows: int | None = None,
    n_repeats: int = 1,
    rows_shown: int = 2000,
    fit_seconds: float | None = None,
    file_bytes: int | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> Report:
    """Evaluate a model on rows that it has not seen, and write one HTML file that needs no network.

    The report shows scores beside two baselines, observations against predictions, calibration of intervals and of
    probabilities, sharpness, coverage by predicted interquartile range and by features, a table of all rows with a
    search, a filter and a download as CSV, densities of rows that the reader selects, why some rows have their
    predictions, importance and direction of the
    features for the median and for the interquartile range, run times, and a glossary.

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
    labels : sequence of length n, optional
        Labels of the rows, such as customer numbers, by which readers find them. The default is the index of a pandas
        frame.
    thresholds : sequence of float, or mapping of response names to them, optional
        Values ``c`` whose predicted probability P(y > c) is compared with how often it happened. The default is the
        50%, 75% and 90% quantiles of the climatology.
    explained : sequence of int, optional
        Positions of rows of ``X`` whose predictions are explained by Shapley values (``explain_rows`` of the median and
        of the width), beside the typical, best, worst, narrowest and widest row. Tables of more than 100 features are
        not explained.
    importance_rows : int, optional
        Most rows for permutation importance. By default 2,000 rows are predicted over all features, but at least 20
        rows for each feature.
    n_repeats : int
        Permutations of each feature.
    rows_shown : int
        Rows whose densities are in the file, over all responses. The table in the file holds all rows, up to 50,000.
    fit_seconds : float, optional
        Training time, to be shown in the report.
    file_bytes : int, optional
        Size of the model file, to be shown in the report.
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
    >>> report  # doctest: +ELLIPSIS
    Report(DiffGBM on 50 rows; y: CRPS ..., skill ..., 90% intervals cover ...)
    """
    fitted = _fitted(model)
    limits = Limits(
        None if importance_rows is None else check_count("importance_rows", importance_rows, 2),
        check_count("n_repeats", n_repeats, 1),
        check_count("rows_shown", rows_shown, 1),
        check_count("seed", seed, 0),
    )
    if path is not None:
        check_folder(path)
    rows = read_rows(fitted, X, labels)
    if len(rows) < 2:
        raise ValueError(f"A report needs at least 2 rows; got {len(rows)}.")
    observed = read_observations(fitted, y, len(rows))
    train = None if y_train is None else read_observations(fitted, y_train, len(read_response(y_train)[1]), "y_train")
    climatology = climatology_of(fitted, observed, train)
    names = ", ".join(fitted.response_names())
    events = None if thresholds is None else read_thresholds(thresholds, fitted.response_names())
    chosen = read_positions(explained, len(rows))
    facts = gather(fitted, rows, observed, climatology, limits, fit_seconds, file_bytes, verbose, events, chosen)
    result = Report(page(facts, f"Predictions of {names}" if title is None else title), facts)
    if path is not None:
        result.save(path)
    return result


def read_positions(explained: Sequence[int], n: int) -> list[int]:
    """Read positions of rows; raise if one is no row."""
    positions = np.asarray(explained).reshape(-1)
    if len(positions) and (positions.dtype.kind not in "iu" or positions.min() < 0 or positions.max() >= n):
        raise ValueError(f"explained must hold positions of rows from 0 to {n - 1}; got {explained!r}.")
    return [int(i) for i in positions]


def read_thresholds(thresholds: Sequence[float] | Mapping[str, Sequence[float]], names: Sequence[str]) -> list[Array]:
    """Read the thresholds of each response: sorted, finite and distinct."""
    if not isinstance(thresholds, Mapping):
        if len(names) > 1:
            raise ValueError(
                f"thresholds must map names of responses to thresholds for several responses ({', '.join(names)}); "
                f"got {thresholds!r}."
            )
        thresholds = {names[0]: thresholds}
    unknown = [str(name) for name in thresholds if name not in names]
    if unknown:
        raise ValueError(f"thresholds names {', '.join(unknown)}; the responses are {', '.join(names)}.")
    values = [np.unique(np.asarray(thresholds.get(name, ()), dtype=np.float64)) for name in names]
    if not all(np.isfinite(v).all() for v in values):
        raise ValueError(f"thresholds must be finite numbers; got {thresholds!r}.")
    return values


def _fitted(model: Any) -> DistributionalRegressor:
    """Return the model if it is a fitted regressor of this library; raise an error otherwise."""
    if not isinstance(model, DistributionalRegressor):
        raise TypeError(
            f"model must be a DiffGBM, AutoDiffGBM, ConformalDiffGBM or DiffGBMCV; got {type(model).__name__}."
        )
    check_is_fitted(model)
    return model
