"""DiffGBMCV: the paper's joint search over recipes and trees."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.docs import fill_docstring, with_paragraphs
from diffgbm._util.errors import check_count
from diffgbm._util.parallel import n_threads
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm.diffusion.recipe import Recipe
from diffgbm.distributions import Distribution
from diffgbm.distributions.uncertainty import Uncertainty
from diffgbm.estimators.base import SHARED, DistributionalRegressor
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.fitting.model import FittedModel
from diffgbm.tuning.cluster import search_on
from diffgbm.tuning.objective import Objective, make_objective, space_of
from diffgbm.tuning.search_spaces import Space, space_names
from diffgbm.tuning.studies import Budget, open_study
from diffgbm.tuning.trials import check_comparable, results, search, settle_seed


@fill_docstring(spaces=space_names())
class DiffGBMCV(DistributionalRegressor):
    """Use this to tune ``DiffGBM`` by the paper's search: the arguments with the lowest CRPS of held-out rows.

    The search is the paper's: seeded TPE over the axes of a recipe together with the LightGBM surface. It starts at the
    corners of the space. It needs Optuna (``diffgbm[tune]``). If you want a good model without a search space to
    choose, use ``AutoDiffGBM``.

    Parameters
    ----------
    space : {spaces} or callable, default="score_flex"
        ``"score_flex"`` searches the score recipe's axes under the reverse SDE, ``"score_flex_ode"`` under the
        probability-flow ODE. The others search the trees of a fixed recipe; ``"flow"`` is on the VP path. You can also
        pass a function from an Optuna trial to arguments of ``DiffGBM``.
    n_trials : int or None, default=40
        Trials that must succeed, in at most twice as many attempts. ``None``: as many as ``timeout`` allows.
    timeout : float or None, default=None
        Seconds of trials after which no further trial starts.
    cv : None, int, splitter or iterable of (train, test), default=None
        Held-out rows: one row in six (the paper's fold 0, if ``seed`` is 0), each of several shuffled folds in turn,
        or the test rows of a splitter, which gets ``groups``. With ``time`` the last sixth, or each of several
        windows.
    n_samples : int or None, default=100
        Samples that score each held-out row, as in the paper. ``None`` scores the predictive distribution without
        sampling error. It takes about twice the time to score, which is little compared with training.
    storage : str, path or Optuna storage, default=None
        Where the study is kept: an Optuna URL or object, or the path of an SQLite file. A search resumes the study it
        finds there. Several processes may share one, each with the same arguments and seed; ``k`` processes may then
        run up to ``k - 1`` trials too many.
    study_name : str or None, default=None
        Name of the study; ``"diffgbm-<space>"`` by default.
    estimator_params : dict or None, default=None
        Arguments of ``DiffGBM`` that are fixed instead of searched; the space need not contain them.
    refit : bool, default=True
        Fit all rows with the best arguments.
    n_jobs : int, default=-1
        Threads of each model; trials run one after another.
    seed : int or None
        Seed of splits, models and search. The same seed gives the same trials, also after an interruption, unless
        ``timeout`` ends them.
    verbose : int, default=0
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    best_params_ : dict
        Arguments of ``DiffGBM`` with the lowest CRPS.
    best_score_ : float
        Their CRPS, lower is better: the mean over the splits, in the response's units. Several responses count in
        units of their standard deviations.
    best_index_ : int
        Their index in ``cv_results_``.
    best_estimator_ : DiffGBM
        The model, if ``refit``.
    cv_results_ : dict of arrays
        All finished trials, failed ones with an ``error``; ``pandas.DataFrame`` reads it.
    study_ : optuna.Study
        The study.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import DiffGBMCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(120, 1))
    >>> y = X[:, 0] * rng.standard_normal(120)
    >>> small = {"n_estimators": 10, "n_repeats": 4, "residualize": "off"}
    >>> search = DiffGBMCV("flow", n_trials=2, estimator_params=small, n_jobs=1, seed=0).fit(X, y)
    >>> len(search.cv_results_["mean_crps"]), search.best_params_["n_estimators"]
    (2, 10)
    """

    def __init__(
        self,
        space: str | Space = "score_flex",
        n_trials: int | None = 40,
        timeout: float | None = None,
        cv: Any = None,
        n_samples: int | None = 100,
        storage: Any = None,
        study_name: str | None = None,
        estimator_params: Mapping[str, Any] | None = None,
        refit: bool = True,
        n_jobs: int | None = -1,
        seed: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.space = space
        self.n_trials = n_trials
        self.timeout = timeout
        self.cv = cv
        self.n_samples = n_samples
        self.storage = storage
        self.study_name = study_name
        self.estimator_params = estimator_params
        self.refit = refit
        self.n_jobs = n_jobs
        self.seed = seed
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.seed is None or self.timeout is not None
        return tags

    @with_paragraphs(**SHARED)
    def fit(
        self,
        X: Any,
        y: Any,
        cat_idx: Sequence[int] | None = None,
        sample_weight: Any = None,
        client: Any = None,
        groups: Any = None,
        time: Any = None,
    ) -> DiffGBMCV:
        """Search, and fit all rows with the best arguments.

        Parameters
        ----------
        {table}
        sample_weight : array-like of shape (n,), optional
            Weight of each row, in training and in the score.
        client : distributed.Client, optional
            A Dask cluster that runs as many trials at a time as it has workers. The same seed and number of workers
            give the same trials. The final model is fitted in this process.
        groups, time : array-like of shape (n,) or str, optional
            What each row belongs to, and when it was observed, as in ``DiffGBM.fit``. No group is on both sides of a
            split, and no split learns from the future; every model gets them as well.

        Returns
        -------
        DiffGBMCV
            The fitted search.
        """
        budget = self._budget()
        space_of(self.space)
        if self.seed is not None:
            check_count("seed", self.seed, 0)
        named = self.space if isinstance(self.space, str) else getattr(self.space, "__name__", "space")
        name = f"diffgbm-{named}" if self.study_name is None and self.storage is not None else self.study_name
        with open_study(self.storage, name) as study:
            seed = settle_seed(study.optuna, self.seed)
            objective = self.objective(X, y, cat_idx, sample_weight, seed=seed, groups=groups, time=time)
            check_comparable(study.optuna, objective)
            with progress_bar(self.n_trials, "tune", self.verbose, "trial") as bar:
                if client is None:
                    search(study, objective, budget, bar)
                else:
                    search_on(client, study, objective, budget, bar)
            self._with_results(study.optuna, objective)
        self.n_features_in_ = objective.X.shape[1]
        if self.refit:
            params = {"seed": seed, "n_jobs": self.n_jobs, **self.best_params_}
            self.best_estimator_ = DiffGBM(**params).fit(X, y, cat_idx, sample_weight, groups, time)
            self._remember_columns()
        elif hasattr(self, "best_estimator_"):
            del self.best_estimator_
        return self

    def objective(
        self,
        X: Any,
        y: Any,
        cat_idx: Sequence[int] | None = None,
        sample_weight: Any = None,
        *,
        seed: int | None = None,
        groups: Any = None,
        time: Any = None,
    ) -> Objective:
        """Return the objective of the search, a picklable function of an Optuna trial.

        Its ``scores(params)`` gives the CRPS of any other arguments of ``DiffGBM`` on the same held-out rows.
        """
        seed = self.seed if seed is None else seed
        n_threads(self.n_jobs)
        return make_objective(
            DiffGBM,
            X,
            y,
            cat_idx,
            sample_weight,
            groups,
            time,
            cv=self.cv,
            space=self.space,
            fixed=self.estimator_params,
            n_samples=self.n_samples,
            seed=0 if seed is None else seed,
            n_jobs=self.n_jobs,
            owner=type(self).__name__,
        )

    def _budget(self) -> Budget:
        if self.n_trials is None and self.timeout is None:
            raise ValueError("set n_trials or timeout: without either the search would never end.")
        if self.n_trials is not None:
            check_count("n_trials", self.n_trials, 1)
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"timeout must be a number of seconds > 0 or None; got {self.timeout!r}.")
        return Budget(self.n_trials, self.timeout)

    def _with_results(self, study: Any, objective: Objective) -> None:
        trials = results(study, objective)
        if not np.isfinite(trials["mean_crps"]).any():
            raise ValueError(f"All {len(trials['error'])} trials failed; the last: {trials['error'][-1]}")
        self.study_, self.cv_results_ = study, trials
        self.best_index_ = int(np.nanargmin(trials["mean_crps"]))
        self.best_params_ = trials["params"][self.best_index_]
        self.best_score_ = float(trials["mean_crps"][self.best_index_])

    def _best(self) -> DiffGBM:
        check_is_fitted(self, "best_params_")
        if not hasattr(self, "best_estimator_"):
            raise NotFittedError(f"This {type(self).__name__} was fitted with refit=False: it has no fitted model.")
        return self.best_estimator_

    @property
    def recipe_(self) -> Recipe:
        """Recipe of the best model."""
        return self._best().recipe_

    def fitted_models(self) -> tuple[FittedModel, ...]:
        """Return the fitted model of the best arguments, alone in a tuple."""
        return self._best().fitted_models()

    def sample(self, X: Any, n_samples: int, **options: Any) -> Array:
        """Draw samples of y for each row, as ``DiffGBM.sample``: shape (n_samples, n) or (n_samples, n, d)."""
        return self._best().sample(X, n_samples, **options)

    def describe(self) -> dict[str, Any]:
        """Describe the best model, the ``DiffGBM`` that ``save`` writes."""
        return self._best().describe()

    def set_threads(self, n_jobs: int | None) -> DiffGBMCV:
        """Set the number of threads of the best model; -1 takes all cores."""
        self._best().set_threads(n_jobs)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the best model to a file; ``diffgbm.load`` returns it as a ``DiffGBM``."""
        self._best().save(path)

    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        return self._best()._distribution_blocks(X, grid, verbose)

    def _models_inside(self) -> Sequence[DistributionalRegressor]:
        return [self._best()]

    def uncertainty_parts(self, X: Any) -> Uncertainty:
        """Return what ``predict_uncertainty`` of the best model returns, as a value also if ``X`` is a frame."""
        return self._best().uncertainty_parts(X)
