"""DaskDiffGBM: DiffGBM for tables in partitions on a cluster. It arranges; it computes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.errors import check_count
from diffgbm._util.optional import need
from diffgbm.dask.fitting import fit_on_cluster
from diffgbm.dask.lazy import DaskDistribution, MethodCall, RemoteModel
from diffgbm.dask.partitions import is_array, is_frame
from diffgbm.data.division import GROUPS_ARE_WHOLE, Division
from diffgbm.distributions import IntervalKind
from diffgbm.estimators.arguments import DiffGBMArguments
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.fitting.model import FittedModel


class DaskDiffGBM(RegressorMixin, DiffGBMArguments):
    """Use this if the table is a Dask array or frame: ``DiffGBM`` trained by all workers, predicting by partition.

    The arguments are those of ``DiffGBM``. The workers make the noisy copies, and LightGBM's distributed learner trains
    on them in place. Predictions are lazy: arrays or frames that Dask computes on request, and completes even if
    workers die.

    Of the arguments, ``n_jobs`` is each worker's number of threads, ``residualize`` may be ``"off"``, ``"mean"`` or
    ``"mean_scale"``, ``first_stage_features`` ``None`` or ``"mean"``, and ``n_bags`` is 1. A table of which only one
    partition has rows is fitted on one worker exactly as ``DiffGBM`` would, with all options.

    Attributes
    ----------
    model_, recipe_, boosters_, n_iterations_, n_features_in_, feature_names_in_, division_
        As those of ``DiffGBM``.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    >>> model = DaskDiffGBM.flow(seed=0).fit(X, y)  # doctest: +SKIP
    >>> model.predict_interval(X_new).to_parquet("intervals")  # doctest: +SKIP
    >>> model.save("model.dgbm")  # doctest: +SKIP
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        cat_idx: Sequence[int] | None = None,
        sample_weight: Any = None,
        client: Any = None,
        workers: Sequence[str] | None = None,
        groups: Any = None,
        time: Any = None,
    ) -> DaskDiffGBM:
        """Learn p(y | x).

        The table is read twice; ``persist`` it first if that takes long. Losing a worker ends the fit with a
        ``ClusterError``.

        Parameters
        ----------
        X : dask array or frame of shape (n, p)
            Numbers and categories; values may be missing. Categories may differ between partitions.
        y : dask array, series or frame of shape (n,) or (n, d)
            Responses, all finite, in the same partitions as ``X``.
        cat_idx : sequence of int, optional
            Categorical columns of an array.
        sample_weight : dask array or series of shape (n,), optional
            Weight of each row.
        client : distributed.Client, optional
            The cluster; by default the current client.
        workers : sequence of str, optional
            Addresses of the workers to train on; by default all of them.
        groups : dask array or series of shape (n,), or str, optional
            What each row belongs to, in the same partitions as ``X``, or the name of a column of ``X``, which is no
            feature then. No split divides a group, wherever its rows are. There must be enough groups that a hash
            divides them: ten for each fold, and ten that are held out for early stopping (100 by default). With
            ``time`` they are divided as by ``DiffGBM``, and need not be many.
        time : dask array or series of shape (n,), or str, optional
            When each row was observed: numbers, dates or ISO dates as text, in the same partitions as ``X``, or the
            name of a column of ``X``, which remains a feature. The table may be in any order. Rows that are held out
            are later than those that are learned from: first-stage models are cross-fitted with expanding windows,
            and the last rows decide when to stop. This process gathers the times: 8 bytes for each row, and 8 for
            its group.

        Returns
        -------
        DaskDiffGBM
            The fitted estimator.
        """
        params = self.get_params(deep=False)
        owner = type(self).__name__
        model = fit_on_cluster(params, X, y, cat_idx, sample_weight, client, workers, owner, groups, time)
        whole_groups = "" if groups is None else GROUPS_ARE_WHOLE
        self.division_ = f"{whole_groups} {Division(by_time=time is not None)}".strip()
        return self._with_model(model)

    def _with_model(self, model: FittedModel) -> DaskDiffGBM:
        """Set the fitted attributes from a fitted model."""
        self.model_ = model
        local = self.to_local()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(local, name):
                setattr(self, name, getattr(local, name))
            elif hasattr(self, name):
                delattr(self, name)
        return self

    def to_local(self) -> DiffGBM:
        """Return the same model for tables in memory."""
        check_is_fitted(self)
        local = DiffGBM.from_model(self.model_, self.get_params(deep=False))
        local.division_ = self.division_
        return local

    @classmethod
    def from_local(cls, model: DiffGBM) -> DaskDiffGBM:
        """Return a fitted model for Dask collections."""
        check_is_fitted(model)
        found = cls(**model.get_params(deep=False))
        found.division_ = getattr(model, "division_", "")
        return found._with_model(model.model_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, the one that ``to_local().save`` writes; ``diffgbm.load`` reads it."""
        self.to_local().save(path)

    def sample(self, X: Any, n_samples: int, n_parallel: int = 50, *positional: Any, **options: Any) -> Any:
        """Draw samples of y for each row, lazily; the options are those of ``DiffGBM.sample``.

        The same seed gives the same samples as ``DiffGBM.sample`` of the whole table, for any partitions: random
        numbers depend on a row's position. Unknown lengths of partitions are counted when Dask computes the samples.

        Returns
        -------
        dask array of shape (n_samples, n) or (n_samples, n, d)
            Samples, in one chunk for each partition.
        """
        if positional:
            raise TypeError("the options of sample must be named.")
        check_count("n_samples", n_samples, 1)
        if options.get("seed") is None:  # one draw for all partitions
            options["seed"] = int(np.random.SeedSequence().generate_state(1)[0])
        first_row = check_count("first_row", options.pop("first_row", 0), 0)
        call = MethodCall("sample", {"n_samples": n_samples, "n_parallel": n_parallel, **options}, axis=1)
        return self._remote().sample(call, X, first_row)

    def predict(
        self, X: Any, tol: float | None = None, max_samples: int | None = None, verbose: bool | int = False
    ) -> Any:
        """Predict the mean of p(y | x), lazily: a dask array of shape (n,) or (n, d)."""
        return self._call("predict", X, {"max_samples": max_samples})

    def predict_median(self, X: Any) -> Any:
        """Medians of p(y | x), lazily: shape (n,) or (n, d); a series or a frame if ``X`` is a frame."""
        return self._call("predict_median", X)

    def predict_std(self, X: Any) -> Any:
        """Standard deviations of p(y | x), lazily: shape (n,) or (n, d); a series or a frame if ``X`` is a frame."""
        return self._call("predict_std", X)

    def predict_quantiles(self, X: Any, alpha: float | Sequence[float] = (0.05, 0.5, 0.95)) -> Any:
        """Quantiles of p(y | x), lazily: shape (n, k) or (n, d, k), or a frame as ``DiffGBM.predict_quantiles``."""
        return self._call("predict_quantiles", X, {"alpha": alpha})

    def predict_interval(self, X: Any, coverage: float | Sequence[float] = 0.9, kind: IntervalKind = "central") -> Any:
        """Interval of probability ``coverage`` under p(y | x), lazily: shape (n, 2) or (n, d, 2), or a frame."""
        return self._call("predict_interval", X, {"coverage": coverage, "kind": kind})

    def predict_cdf(self, X: Any, y: ArrayLike) -> Any:
        r""":math:`P(Y \le y \mid x)`, lazily, at one value or at those of a collection in the partitions of ``X``."""
        if is_array(y) or is_frame(y):
            return self._call("predict_cdf", X, y=y)
        if np.ndim(y) and np.size(y) != len(self.to_local().response_names()):
            raise TypeError("predict_cdf: a value for each row must be a Dask collection, partitioned as X is.")
        return self._call("predict_cdf", X, {"y": np.asarray(y)})

    def predict_dist(self, X: Any, **options: Any) -> Any:
        """Return the predictive distributions: another name for ``predict_distribution``."""
        return self.predict_distribution(X, **options)

    def predict_distribution(
        self,
        X: Any,
        n_samples: int | None = None,
        bandwidth: Any = None,
        verbose: bool | int = False,
        grid: int | str = "auto",
    ) -> Any:
        """Return the predictive distributions as a ``DaskDistribution``, whose methods return lazy arrays."""
        distributions: DaskDistribution = self._remote().distributions(X, grid=grid if n_samples is None else n_samples)
        return distributions

    def crps(self, X: Any, y: Any) -> Any:
        """CRPS of each row, lazily: shape (n,) or (n, d); a series or a frame if ``X`` is a frame."""
        return self._call("crps", X, y=y)

    def compute_nll(
        self, X: Any, y: Any, n_samples: int | None = None, bandwidth: Any = None, verbose: bool | int = False
    ) -> Any:
        """Negative log-likelihood of ``y``, summed over the rows: a ``Delayed`` number."""
        return self._remote().total(MethodCall("compute_nll", {}), X, y=y)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of ``predict``, computed at once, as scikit-learn's regressors have it."""
        check_is_fitted(self)
        predicted, observed = need("dask").compute(self.predict(X), y)
        weights = None if sample_weight is None else need("dask").compute(sample_weight)[0]
        from sklearn.metrics import r2_score

        return float(r2_score(np.asarray(observed), predicted, sample_weight=weights))

    def _call(self, method: str, X: Any, options: dict[str, Any] | None = None, **others: Any) -> Any:
        return self._remote().apply(MethodCall(method, options or {}), X, **others)

    def _remote(self) -> RemoteModel:
        return RemoteModel.of(self.to_local(), type(self).__name__)
