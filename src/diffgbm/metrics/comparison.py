"""Is one model better than another? Paired differences of a score, with a confidence interval and a test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from diffgbm._util.docs import fill_docstring
from diffgbm._util.errors import choose, warn
from diffgbm._util.types import Array, Rows
from diffgbm.metrics.predictions import as_distribution
from diffgbm.metrics.scorers import last_step
from diffgbm.metrics.scores import crps, dss, energy_score, interval_score, log_score, variogram_score

Score = Callable[[Any, ArrayLike], ArrayLike]
SCORES: dict[str, Score] = {
    "crps": crps,
    "log_score": log_score,
    "dss": dss,
    "interval_score": interval_score,
    "energy_score": energy_score,
    "variogram_score": variogram_score,
}
"""Proper scores of rows by name; lower is better."""
FEW_CLUSTERS = 10
"""With fewer clusters the interval is unreliable."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two models compared by the mean of a score; what ``compare`` returns. Print it to read it.

    Attributes
    ----------
    score : str
        Name of the score; lower is better.
    mean_a, mean_b : float
        Mean score of each model.
    difference, low, high : float
        Mean difference, that of the first minus that of the second, and its confidence interval. Below zero the first
        model is better.
    level : float
        Probability of the interval.
    pvalue : float
        Two-sided p-value of equal expected scores.
    rows, clusters : int
        Number of rows, and of groups or blocks that count as independent.
    clustered_by : str
        What counts as independent: ``"row"``, ``"group"`` or ``"block"``.
    differences : ndarray of shape (n,)
        Difference of each row.
    """

    score: str
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    level: float
    pvalue: float
    rows: int
    clusters: int
    clustered_by: str
    differences: Array = field(repr=False)

    @property
    def better(self) -> str | None:
        """``"a"`` or ``"b"``, or ``None`` if the interval contains zero: the rows do not tell."""
        return "a" if self.high < 0.0 else "b" if self.low > 0.0 else None

    def __repr__(self) -> str:
        units = f"{self.rows:,} rows"
        if self.clustered_by != "row":
            units += f" in {self.clusters:,} {self.clustered_by}s"
        conclusion = {
            "a": "The first model is better.",
            "b": "The second model is better.",
            None: "No clear difference: these rows do not tell which model is better.",
        }
        p = f"p = {self.pvalue:.2g}" if self.pvalue >= 1e-4 else "p < 0.0001"
        interval = f"{100 * self.level:.4g}% interval {self.low:.4g} to {self.high:.4g}"
        return "\n".join(
            [
                f"{self.score} on {units} (lower is better)",
                f"  first model   {self.mean_a:.5g}",
                f"  second model  {self.mean_b:.5g}",
                f"  difference    {self.difference:.4g}, {interval}, {p}",
                conclusion[self.better],
            ]
        )


@fill_docstring(scores=SCORES)
def compare(
    model_a: Any,
    model_b: Any,
    X: Any,
    y: ArrayLike,
    score: str | Score = "crps",
    *,
    groups: ArrayLike | None = None,
    time: ArrayLike | None = None,
    blocks: int | None = None,
    level: float = 0.95,
) -> Comparison:
    r"""Compare two models by :math:`\bar d = \frac1n \sum_i S(F_{a,i}, y_i) - S(F_{b,i}, y_i)` on the same rows.

    The interval is :math:`\bar d \pm t\,s` with the standard error

    .. math:: s^2 = \frac{G}{(G - 1)\,n^2} \sum_g \Bigl(\sum_{i \in g} (d_i - \bar d)\Bigr)^2

    over ``G`` clusters and the quantile ``t`` of Student's distribution with ``G - 1`` degrees of freedom. A cluster is
    a row, a group of rows, or a block of consecutive rows. Use rows that neither model was fitted to, or out-of-fold
    distributions of ``cross_val_distribution``.

    Parameters
    ----------
    model_a, model_b : fitted estimators, predictive distributions, or arrays of samples (n_samples, n)
        What is compared. Pipelines that end in an estimator of this library work as well.
    X : array-like or frame of shape (n, p)
        Features of the rows; ``None`` if both are distributions or samples.
    y : array-like of shape (n,) or (n, d)
        Observations. Scores of several responses are averaged for each row.
    score : {scores} or callable
        A proper score of ``diffgbm.metrics``, or a function of a prediction and ``y`` that returns scores (n,) or
        (n, d), lower is better.
    groups : array-like of shape (n,), optional
        Labels of rows that belong together: a customer, a machine, a patient. Groups count as independent, rows of a
        group do not.
    time : array-like of shape (n,), optional
        Times of the rows, which need not be sorted. Rows are then compared in ``blocks`` of time; rows of the same time
        are in the same block.
    blocks : int, optional
        Number of blocks of consecutive rows, in the order of ``time`` or of the table. A block should be longer than
        the time for which errors are correlated. By default, if ``time`` is given, the cube root of the number of rows,
        at least 10.
    level : float
        Probability of the confidence interval.

    Returns
    -------
    Comparison
        Means, difference, interval and p-value.

    References
    ----------
    Diebold & Mariano (1995), Comparing predictive accuracy, Journal of Business & Economic Statistics 13.
    Liang & Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73.
    Ibragimov & Mueller (2010), t-statistic based correlation and heterogeneity robust inference, Journal of Business &
    Economic Statistics 28.

    Examples
    --------
    Samples around the truth against samples that are too wide:

    >>> import numpy as np
    >>> from diffgbm import compare
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=500)
    >>> compare(rng.normal(size=(100, 500)), rng.normal(scale=2.0, size=(100, 500)), None, y)
    crps on 500 rows (lower is better)
      first model   0.5758
      second model  0.67318
      difference    -0.09738, 95% interval -0.1139 to -0.08089, p < 0.0001
    The first model is better.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    name = score if isinstance(score, str) else getattr(score, "__name__", "score")
    rule = choose("score", score, SCORES) if isinstance(score, str) else score
    observed = np.asarray(y, dtype=np.float64)
    first, second = (
        _row_scores(argument, model, X, observed, rule)
        for argument, model in (("model_a", model_a), ("model_b", model_b))
    )
    differences = first - second
    kind, labels = _clusters(len(differences), groups, time, blocks)
    error, clusters = _standard_error(differences, labels, kind)
    mean = float(differences.mean())
    reach = float(stats.t.ppf(0.5 * (1.0 + level), clusters - 1)) * error
    # models that agree in every row do not differ
    statistic = mean / error if error > 0.0 else math.copysign(math.inf, mean) if mean else 0.0
    pvalue = float(2.0 * stats.t.sf(abs(statistic), clusters - 1))
    means = float(first.mean()), float(second.mean())
    ends = mean - reach, mean + reach
    return Comparison(name, *means, mean, *ends, level, pvalue, len(differences), clusters, kind, differences)


def _row_scores(argument: str, model: Any, X: Any, y: Array, rule: Score) -> Array:
    """Score each row of a model or a prediction, shape (n,)."""
    estimator = hasattr(model, "fit")
    if estimator and X is None:
        raise ValueError(f"{argument} is an estimator, which needs X to predict; got X=None.")
    prediction = model
    if estimator:
        last, rows = last_step(model, X)
        if not hasattr(last, "predict_distribution"):
            raise TypeError(
                f"{argument} must predict a distribution; {type(last).__name__} has no predict_distribution. Pass its "
                "samples (n_samples, n) instead."
            )
        prediction = last.predict_distribution(rows)
    scores = np.asarray(rule(as_distribution(prediction, y), y), dtype=np.float64)
    if scores.shape[:1] != y.shape[:1]:
        raise ValueError(f"score must return one number for each of {len(y)} rows; got shape {scores.shape}.")
    scores = scores.reshape(len(y), -1).mean(axis=1)
    if not np.isfinite(scores).all():
        bad = int((~np.isfinite(scores)).sum())
        raise ValueError(
            f"the score of {argument} is not finite in {bad:,} of {len(scores):,} rows, so that there is no mean "
            "difference. Is y missing there? Otherwise use another score, like crps."
        )
    return scores


def _clusters(n: int, groups: ArrayLike | None, time: ArrayLike | None, blocks: int | None) -> tuple[str, Rows]:
    """Return what counts as independent, and the cluster (n,) of each row, from 0 on."""
    if groups is not None and (time is not None or blocks is not None):
        raise ValueError("groups and blocks of time are two ways to say which rows belong together: give one of them.")
    if groups is not None:
        return "group", np.unique(_labels("groups", groups, n), return_inverse=True)[1]
    if time is None and blocks is None:
        return "row", np.arange(n)
    count = max(10, round(n ** (1 / 3))) if blocks is None else blocks
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 2:
        raise ValueError(f"blocks must be an integer >= 2; got {blocks!r}.")
    order = np.arange(n) if time is None else np.unique(_labels("time", time, n), return_inverse=True)[1]
    # blocks of about equally many rows; rows of one time have one rank, that of the first of them
    rank = np.searchsorted(np.sort(order), order)
    return "block", np.unique(rank * min(count, n) // n, return_inverse=True)[1]


def _labels(argument: str, values: ArrayLike, n: int) -> Any:
    labels = np.asarray(values)
    if labels.shape != (n,):
        raise ValueError(f"{argument} must have one value for each of the {n} rows; got shape {labels.shape}.")
    missing = [value is None or value != value for value in labels.tolist()]
    if any(missing):
        raise ValueError(f"{argument} has {sum(missing)} missing values: give each row one.")
    return labels.astype(str) if labels.dtype == object and argument == "groups" else labels


def _standard_error(differences: Array, labels: Rows, kind: str) -> tuple[float, int]:
    """Return the cluster-robust standard error of the mean, and the number of clusters."""
    clusters = int(labels.max()) + 1 if len(labels) else 0
    if clusters < 2:
        raise ValueError(f"a comparison needs at least 2 {kind}s; there are {clusters}.")
    if kind != "row" and clusters < FEW_CLUSTERS:
        warn(f"{clusters} {kind}s are few: the confidence interval and the p-value are unreliable.")
    sums = np.bincount(labels, differences - differences.mean(), clusters)
    return math.sqrt(clusters / (clusters - 1.0) * float(sums @ sums)) / len(differences), clusters
