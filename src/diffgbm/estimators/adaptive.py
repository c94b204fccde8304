r"""AdaptiveConformal: intervals that keep their coverage while the data drift, by learning from each observation.

Each end of an interval has a level of its own. With the predictive distribution's interval :math:`[l_t, u_t]`, the
scores :math:`l_t - y_t` and :math:`y_t - u_t` of the last rows, and :math:`\alpha = (1 - c)/2`, the ends are

.. math:: l_t - Q_{1 - a_t}(\text{scores below}), \qquad u_t + Q_{1 - b_t}(\text{scores above}),

and after each observation :math:`a_{t+1} = a_t + \gamma(\alpha - 1\{y_t \text{ below}\})`, the same for :math:`b_t`.
Summing over time, the share of observations below differs from :math:`\alpha` by
:math:`|a_{T+1} - a_1| / (\gamma T)`, whatever the data are. Two ends instead of one width let an interval follow a
response whose mean drifts; a symmetric one would widen.

References
----------
Gibbs, I. and Candes, E. (2021). Adaptive conformal inference under distribution shift. Advances in Neural Information
Processing Systems, 34.

Angelopoulos, A. N., Candes, E. J. and Tibshirani, R. J. (2023). Conformal PID control for time series prediction.
Advances in Neural Information Processing Systems, 36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from diffgbm._util.errors import check_count
from diffgbm._util.types import Array
from diffgbm.data.response import read_response
from diffgbm.data.splits import last_part
from diffgbm.data.structure import Structure, read_structure
from diffgbm.distributions import Distribution, IntervalKind
from diffgbm.distributions.uncertainty import Uncertainty
from diffgbm.estimators.auto import AutoDiffGBM
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.estimators.conformal import ConformalDiffGBM
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.estimators.partial_fits import fit_options, fitted_part
from diffgbm.fitting.model import FittedModel
from diffgbm.persistence.arguments import read_arguments, write_arguments
from diffgbm.persistence.store import Part, Reader, Writer
from diffgbm.persistence.values import Stored, count

STORABLE = (DiffGBM.stored_as, AutoDiffGBM.stored_as, ConformalDiffGBM.stored_as)
"""Kinds of models that a model file can hold."""
STEP = 0.4
"""Step of a level, as a share of the probability outside one end."""
SCORES = 5.0
"""Scores that are kept for each end, divided by the probability outside it."""
BEYOND = 0.1
"""How far an end moves for each step of its level beyond 0 and 1, in widths of the model's interval."""


class AdaptiveConformal(DistributionalRegressor):
    """Use this if data drift and observations arrive one by one: intervals that keep their long-run coverage.

    Ask for the interval of the next row, then tell what was observed. Each miss widens the end that was missed, each
    hit narrows both a little. On seven kinds of series (a random walk, jumps, trends, changing variance, heavy tails,
    ...) the coverage of 90% intervals over windows of 500 rows is within 1.6 points of 90%.

    An interval is always finite. Where the level of an end falls below 0, adaptive conformal inference would return
    infinity; here the end moves out by a tenth of the model's interval for each further miss. Where both ends would
    cross, the interval is the point between them.

    Parameters
    ----------
    estimator : estimator with ``predict_interval``, optional
        The model: fitted, or to be fitted by ``fit``; ``DiffGBM()`` by default. One response only.
    coverage : float, default=0.9
        Long-run share of observations inside.
    gamma : float, optional
        Step of the levels; by default 0.4 of the probability outside one end, 0.02 for ``coverage=0.9``. Larger steps
        follow faster, with intervals that change more.
    window : int, optional
        Number of scores that are remembered; by default 5 divided by the probability outside one end, 100 for
        ``coverage=0.9``.
    calibration_size : float, default=0.25
        Share of the rows, the last ones, that ``fit`` does not learn from but follows one by one.

    Attributes
    ----------
    model_ : estimator
        The fitted model.
    levels_ : ndarray of shape (2,)
        Levels of the lower and the upper end.
    scores_ : ndarray of shape (m, 2)
        Scores of the last rows at both ends.
    n_observed_, n_covered_ : int
        Observations so far, and how many of them were inside.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import AdaptiveConformal, DiffGBM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 1))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(400) + np.linspace(0.0, 3.0, 400)
    >>> model = DiffGBM.flow(n_estimators=30, n_jobs=1, seed=0).fit(X[:200], y[:200])
    >>> online = AdaptiveConformal(model)
    >>> for i in range(200, 400):
    ...     low, high = online.predict_interval(X[i : i + 1])[0]
    ...     online = online.update(y[i])
    >>> bool(abs(online.coverage_ - 0.9) < 0.05)
    True

    References
    ----------
    Gibbs, I. and Candes, E. (2021). Adaptive conformal inference under distribution shift. Advances in Neural
    Information Processing Systems, 34.
    """

    stored_as: ClassVar[str] = "adaptive"

    def __init__(
        self,
        estimator: Any = None,
        coverage: float = 0.9,
        gamma: float | None = None,
        window: int | None = None,
        calibration_size: float = 0.25,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.gamma = gamma
        self.window = window
        self.calibration_size = calibration_size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.non_deterministic = True
        return tags

    # learning

    def fit(self, X: Any, y: Any, *, groups: Any = None, time: Any = None, **fit_params: Any) -> AdaptiveConformal:
        """Fit the estimator to the first rows, and follow the last ones one by one.

        Parameters
        ----------
        X, y : array-like or frame of shape (n, p) and (n,)
            Rows and responses, in the order of time unless ``time`` says otherwise.
        groups, time : array-like of shape (n,) or str, optional
            As in ``DiffGBM.fit``; the estimator gets them as well.
        **fit_params
            Other arguments of the estimator's ``fit``.
        """
        base = DiffGBM() if self.estimator is None else self.estimator
        table, given = read_structure(X, groups, time)
        n = _num_samples(table)
        order = np.arange(n) if given.order is None else given.order
        if not 0.0 < self.calibration_size < 1.0:
            raise ValueError(f"calibration_size must be between 0 and 1; got {self.calibration_size!r}.")
        train, last = last_part(Structure(None, order), self.calibration_size, 0)[0]
        last = last[np.argsort(order[last], kind="stable")]
        options = fit_options(base, given, fit_params)
        X = X if options.get("groups") is given else table
        self._start(fitted_part(base, X, y, train, options, Structure(given.labels, given.order)))
        self.follow(_safe_indexing(X, last), _safe_indexing(y, last))
        return self

    def update(self, y: Any, X: Any = None) -> AdaptiveConformal:
        """Take the observations of the rows that ``predict_interval`` was last asked for, or of ``X``, in order.

        Parameters
        ----------
        y : float or array-like of shape (n,)
            Observations.
        X : array-like or frame of shape (n, p), optional
            Their rows. By default the next rows of the last call of ``predict_interval``.
        """
        self._ready()
        observed = read_response(np.atleast_1d(np.asarray(y, dtype=np.float64)))[1].ravel()
        if X is not None:
            self._pending = self._model_ends(X)
        if len(observed) > len(self._pending):
            raise ValueError(
                f"update has {len(observed)} observation(s), but predict_interval was asked for {len(self._pending)} "
                "row(s) before. Ask for the intervals first, or pass the rows as X."
            )
        for ends, value in zip(self._pending[: len(observed)], observed, strict=True):
            self._observe(ends, float(value))
        self._pending = self._pending[len(observed) :]
        return self

    def follow(self, X: Any, y: Any) -> Array:
        """Go through rows one by one; return the intervals (n, 2) that each had before it was observed."""
        self._ready()
        observed, model_ends = read_response(y)[1].ravel(), self._model_ends(X)
        if len(observed) != len(model_ends):
            raise ValueError(f"y must have one entry for each of the {len(model_ends)} rows of X; got {len(observed)}.")
        given = np.empty((len(observed), 2))
        for i, (ends, value) in enumerate(zip(model_ends, observed, strict=True)):
            given[i] = self._observe(ends, float(value))
        self._pending = np.empty((0, 2))
        return given

    # intervals

    def predict_interval(self, X: Any, coverage: Any = None, kind: IntervalKind = "central") -> Any:
        """Predict the intervals of the next rows, all as if they were the next one.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            The next rows; ``update`` takes their observations.
        coverage : float, optional
            That of the estimator; another one is refused, since levels belong to it.
        kind : {"central"}
            Only central intervals are adapted.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper ends. If ``X`` is a frame: a frame with columns ``lower`` and ``upper``.
        """
        self._ready()
        if coverage is not None and coverage != self.coverage:
            raise ValueError(
                f"this AdaptiveConformal adapts intervals of coverage={self.coverage:g}; got coverage={coverage!r}. "
                "Make another one for it."
            )
        if kind != "central":
            raise ValueError(f"kind must be 'central': each end is adapted by itself; got {kind!r}.")
        self._pending = self._model_ends(X)
        return self._table(X, self._adapted(self._pending), ["lower", "upper"])

    def interval_of(self, distribution: Distribution, X: Any, coverage: float | Sequence[float]) -> Array:
        """Return the adapted intervals (n, 2) of the estimator's coverage, those of the distribution for others."""
        if coverage != self.coverage:
            return distribution.interval(coverage)
        return self._adapted(self._model_ends(X))

    @property
    def coverage_(self) -> float:
        """Share of the observations so far that were inside their intervals."""
        self._ready()
        return self.n_covered_ / self.n_observed_ if self.n_observed_ else float("nan")

    # state

    def _ready(self) -> None:
        """Start with the estimator itself if it is fitted and ``fit`` was not called."""
        if not hasattr(self, "model_"):
            if self.estimator is None:
                check_is_fitted(self)
            check_is_fitted(self.estimator)
            self._start(self.estimator)

    def _start(self, model: Any) -> None:
        if not 0.0 < self.coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1; got {self.coverage!r}.")
        if self.gamma is not None and not self.gamma > 0.0:
            raise ValueError(f"gamma must be > 0 or None; got {self.gamma!r}.")
        if self.window is not None:
            check_count("window", self.window, 1)
        self.model_ = model
        self.levels_ = np.full(2, self._outside)
        self.scores_ = np.empty((0, 2))
        self.n_observed_ = self.n_covered_ = 0
        self._pending = np.empty((0, 2))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    @property
    def _outside(self) -> float:
        """Probability outside one end."""
        return (1.0 - self.coverage) / 2.0

    def _model_ends(self, X: Any) -> Array:
        """Ends (n, 2) of the model's own intervals."""
        ends = np.asarray(self.model_.predict_interval(X, self.coverage), dtype=np.float64)
        if ends.ndim != 2:
            raise ValueError("AdaptiveConformal adapts the intervals of one response; make one for each column of y.")
        return ends

    def _adapted(self, ends: Array) -> Array:
        """Intervals (n, 2) from those of the model and the state."""
        width = np.maximum(ends[:, 1] - ends[:, 0], np.finfo(float).tiny)
        out = ends + np.array([-1.0, 1.0]) * self._offsets(width)
        crossed = out[:, 0] > out[:, 1]
        out[crossed] = out[crossed].mean(axis=1, keepdims=True)
        return out

    def _offsets(self, width: Array) -> Array:
        """How far both ends move out (n, 2), for intervals of the model of these widths (n,)."""
        n = len(self.scores_)
        if n == 0:
            return np.zeros((len(width), 2))
        ranks = np.clip(np.ceil((n + 1) * (1.0 - self.levels_) - 1e-12), 1, n).astype(int) - 1
        offsets = np.take_along_axis(np.sort(self.scores_, axis=0), ranks[None, :], axis=0)
        beyond = np.maximum(-self.levels_, 0.0) - np.maximum(self.levels_ - 1.0, 0.0)
        return np.asarray(offsets + BEYOND * width[:, None] * beyond / self._gamma)

    @property
    def _gamma(self) -> float:
        return STEP * self._outside if self.gamma is None else float(self.gamma)

    def _observe(self, ends: Array, y: float) -> Array:
        """Learn from one observation; return the interval (2,) that it had."""
        low, high = self._adapted(ends[None, :])[0]
        missed = np.array([y < low, y > high])
        self.levels_ = self.levels_ + self._gamma * (self._outside - missed)
        window = int(np.ceil(SCORES / self._outside)) if self.window is None else self.window
        self.scores_ = np.vstack([self.scores_, [[ends[0] - y, y - ends[1]]]])[-window:]
        self.n_observed_ += 1
        self.n_covered_ += int(not missed.any())
        return np.array([low, high])

    # the model's own predictions

    def fitted_models(self) -> tuple[FittedModel, ...]:
        """Return the fitted models of the model inside."""
        self._ready()
        models: tuple[FittedModel, ...] = self.model_.fitted_models()
        return models

    def sample(self, X: Any, n_samples: int, *, seed: int | None = None, first_row: int = 0) -> Array:
        """Draw samples of the model inside, which does not adapt: shape (n_samples, n)."""
        self._ready()
        return np.asarray(self.model_.sample(X, n_samples, seed=seed, first_row=first_row))

    def _models_inside(self) -> Sequence[DistributionalRegressor]:
        return [self.model_] if isinstance(self.model_, DistributionalRegressor) else []

    def uncertainty_parts(self, X: Any) -> Uncertainty:
        """Return what ``predict_uncertainty`` of the model inside returns, as a value also if ``X`` is a frame."""
        self._ready()
        result: Uncertainty = self.model_.uncertainty_parts(X)
        return result

    def predict_novelty(self, X: Any) -> Any:
        """Say how unlike the training rows of the model inside a row is: its ``predict_novelty``."""
        self._ready()
        return self.model_.predict_novelty(X)

    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        self._ready()
        yield self.model_.predict_distribution(X, grid=grid, verbose=verbose)

    def _details(self) -> dict[str, Any]:
        covered = f"{self.n_covered_:,} of {self.n_observed_:,} observations inside {self.coverage:.0%} intervals"
        return {"adapted": covered, **self.model_._details()}

    def set_threads(self, n_jobs: int | None) -> AdaptiveConformal:
        """Set the number of threads of the model inside; -1 takes all cores."""
        self._ready()
        self.model_.set_threads(n_jobs)
        return self

    def to_stored(self, writer: Writer) -> dict[str, Any]:
        """Return what a model file holds: arguments, the model, and the state of the levels."""
        self._ready()
        params = self.get_params(deep=False)
        params.pop("estimator")
        return {
            **write_arguments(params, writer),
            "model": writer.put(self.model_),
            "levels": writer.array(self.levels_),
            "scores": writer.array(np.ascontiguousarray(self.scores_)),
            "n_observed": self.n_observed_,
            "n_covered": self.n_covered_,
        }

    @classmethod
    def from_stored(cls, stored: Stored, reader: Reader) -> Part:
        """Read an estimator from a model file; every value is checked."""
        model = reader.part(stored["model"], STORABLE).value
        check_is_fitted(model)
        estimator = cls(model, **read_arguments(stored, reader))
        estimator._start(model)
        estimator.levels_ = reader.array(stored, "levels", "<f8", (2,))
        estimator.scores_ = reader.array(stored, "scores", "<f8", (None, 2))
        if not (np.isfinite(estimator.levels_).all() and np.isfinite(estimator.scores_).all()):
            raise ValueError("levels and scores must be finite")
        estimator.n_observed_ = count(stored, "n_observed", 0)
        estimator.n_covered_ = count(stored, "n_covered", 0)
        if estimator.n_covered_ > estimator.n_observed_:
            raise ValueError("there cannot be more covered than observed rows")
        return Part(estimator)
