"""What a distributional regressor says about single rows: which uncertainty, how new a row is, and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from diffgbm._util.docs import fill_docstring
from diffgbm._util.errors import check_count, kept_warnings, warn
from diffgbm._util.types import Array
from diffgbm.data.features import EncodedTable, FeatureTable
from diffgbm.data.frames import frame_like, series_like
from diffgbm.data.novelty import novelty, table_numbers
from diffgbm.data.numbers import as_frame
from diffgbm.distributions import Distribution
from diffgbm.distributions.uncertainty import Uncertainty, stacked
from diffgbm.estimators.row_explanation import QUESTIONS, Of, explanation, question
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.shapley import Columns, background_size, shapley_values
from diffgbm.fitting.submodels import Submodels, is_single

ROWS_AT_ONCE = 4096
"""Rows whose submodels are held at a time: 30 submodels of 89 points are 88 MB."""


class Insights(ABC):
    """Methods that answer questions about single rows; ``DistributionalRegressor`` has them."""

    @abstractmethod
    def fitted_models(self) -> tuple[FittedModel, ...]:
        """Return the fitted models inside."""

    @abstractmethod
    def encode(self, X: Any) -> Array:
        """Encode rows as the fitted models read them."""

    @abstractmethod
    def response_names(self) -> tuple[str, ...]:
        """Return the names of the responses."""

    @abstractmethod
    def _map_distributions(self, X: Any, function: Callable[[Distribution], Array]) -> Array:
        """Apply a function to the distributions of each block and join the results along the rows."""

    def submodels(self, X: Array) -> Submodels:
        """Predict encoded rows (n, p) by parts of the model that have learned from different rows."""
        raise NotImplementedError(
            f"{type(self).__name__} has no predict_uncertainty; call that of a DiffGBM with several bags, or of an "
            "AutoDiffGBM."
        )

    def predict_uncertainty(self, X: Any) -> Any:
        r"""Say which uncertainty a prediction has: noise of the response, or too few training rows.

        Submodels (single bags, with the first-stage models of single folds) have learned from different parts of the
        rows. By the law of total variance, the variance of their mixture is the average of their variances (aleatoric)
        plus the variance of their means (epistemic).

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.

        Returns
        -------
        Uncertainty
            ``total``, ``aleatoric`` and ``epistemic`` variances, the same in units of the CRPS (``total_crps``, ...),
            and ``mean_error``, the standard error of the predicted mean. If ``X`` is a frame: a frame with these
            columns and ``epistemic_share`` (``name_total``, ... for several responses).

        Raises
        ------
        ValueError
            If the model has one bag: it cannot be compared with others.

        Notes
        -----
        Epistemic means what other rows of the same kind would change. It is no measure of errors that all submodels
        share. Trees predict a constant beyond the training rows, and agree on it: ask ``predict_novelty`` too. The
        aleatoric part includes the average error of first-stage models, as the noise model learned from rows that they
        had not seen; it falls to the noise of the response with more rows.

        References
        ----------
        Depeweg, S. et al. (2018). Decomposition of uncertainty in Bayesian deep learning for efficient and
        risk-sensitive learning. International Conference on Machine Learning.

        Efron, B. and Stein, C. (1981). The jackknife estimate of variance. The Annals of Statistics, 9(3), 586-596.
        """
        result = self.uncertainty_parts(X)
        names, columns = self.response_names(), result.columns()
        if result.total.ndim == 2:
            columns = {f"{n}_{label}": v[:, j] for j, n in enumerate(names) for label, v in columns.items()}
        frame = frame_like(X, columns)
        return result if frame is None else frame

    def uncertainty_parts(self, X: Any) -> Uncertainty:
        """Return what ``predict_uncertainty`` returns, as a value also if ``X`` is a frame."""
        matrix = self.encode(X)
        self._check_submodels()
        is_1d = self.fitted_models()[0].response.is_1d
        starts = range(0, len(matrix), ROWS_AT_ONCE)
        blocks = [self.submodels(matrix[i : i + ROWS_AT_ONCE]).uncertainty(is_1d) for i in starts]
        return stacked(blocks, axis=0)

    def _check_submodels(self) -> None:
        """Raise if there is nothing to compare; warn of uncertainty that submodels cannot show."""
        models = self.fitted_models()
        if max(len(model.bags) for model in models) == 1:
            raise ValueError(
                f"predict_uncertainty compares the bags of a model, and this {type(self).__name__} has one. Fit "
                "DiffGBM(n_bags=5), or AutoDiffGBM with a longer time_limit."
            )
        reference = models[0].reference
        if all(map(is_single, models)) or (reference is not None and reference.ordered):
            warn(
                "predict_uncertainty: the parts of this model have learned from the same rows (a fit by time, or a "
                "first-stage model such as 'gp' that has no folds). The epistemic part is too small: it shows the "
                "randomness of training only.",
            )

    def predict_novelty(self, X: Any) -> Any:
        r"""Say how unlike the training rows a row is: a p-value, small for rows unlike all that were seen.

        The score of a row is its mean squared distance to the nearest five of at most 512 training rows, in ranks of
        the columns; beyond the range of a column it grows in units of the central 90% range. Different categories add
        0.5, a value that is missing in one row only 0.25, a category that training did not have 4. The p-value
        :math:`(1 + \#\{s_i \ge s\}) / (m + 1)` compares it with the scores of ``m`` other training rows, at most 512.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            P-values between 1 / (m + 1) and 1; a Series if ``X`` is a frame. For rows from the distribution of the
            training rows they are uniform: a share of 5% is below 0.05. With ``groups`` that holds for rows of new
            groups. With ``time`` the last training rows were compared with earlier ones.

        Notes
        -----
        A row is new by all its columns together, also by those that do not matter for the response. With many columns
        one unusual value may go unnoticed: with 8 columns a value one range beyond the others was always found, with
        385 it was not. The share of fresh rows below 0.05 varies by about a percentage point from table to table, as
        the 512 rows that they are compared with are a sample too.

        References
        ----------
        Bates, S., Candes, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for outliers with conformal p-values.
        The Annals of Statistics, 51(1), 149-178.
        """
        self.encode(X)  # checks the columns, and warns of what is new in them
        model = self.fitted_models()[0]
        if model.reference is None:
            raise ValueError(
                f"predict_novelty compares rows with training rows, and this {type(self).__name__} holds none: it was "
                "fitted to fewer than 20 rows, on a cluster, or by an older version. Fit it again."
            )
        values = novelty(model.reference, X, model.features, type(self).__name__)
        return series_like(X, "novelty", np.asarray(values))

    @fill_docstring(questions=QUESTIONS)
    def explain_rows(
        self, X: Any, of: Of = "mean", background: Any = None, level: float = 0.9, max_evals: int = 2000, seed: int = 0
    ) -> Any:
        """Say which columns make a prediction high or low, or a distribution wide: Shapley values of each row.

        The values of a row add up to its prediction less the mean prediction of the background. A column that the
        model does not use has the value 0. Columns that depend on each other share credit as if they did not: a mixture
        of a row and a background row may be one that does not occur.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to explain.
        of : {questions} or callable, default="mean"
            What is explained: a number of the predictive distribution, or a function of a distribution that returns
            one number, or k, for each row.
        background : array-like or frame of shape (b, p), optional
            Rows that the prediction is compared with, such as training rows; by default the rows of ``X``. Some of them
            are drawn, ``max_evals / 2p`` and at least 5.
        level : float, default=0.9
            Probability inside the interval of ``"width"``; the level of ``"quantile"``.
        max_evals : int, default=2000
            Predictions for each row, about. If they suffice for all sets of columns the values are exact for the
            background that was drawn, else they average random orders of the columns and their reverses.
        seed : int, default=0
            Seed of the background rows and the orders.

        Returns
        -------
        shap.Explanation, or RowExplanation without shap
            ``values`` (n, p) and ``base_values`` (n,), with another axis for several responses or numbers; ``data``,
            ``feature_names``. The plots of shap work on it.

        References
        ----------
        Lundberg, S. M. and Lee, S.-I. (2017). A unified approach to interpreting model predictions. Advances in Neural
        Information Processing Systems, 30.

        Mitchell, R., Cooper, J., Frank, E. and Holmes, G. (2022). Sampling permutations for Shapley value estimation.
        Journal of Machine Learning Research, 23(43), 1-46.
        """
        asked = question(of, level)
        check_count("max_evals", max_evals, 1)
        check_count("seed", seed, 0)
        matrix = self.encode(X).astype(np.float64)
        features, owner = self.fitted_models()[0].features, type(self).__name__
        if any(model.features != features for model in self.fitted_models()):
            raise ValueError(
                f"explain_rows: the models of the folds of this {owner} have read different categories or dates, so "
                "that mixtures of rows have no common reading. Explain one of models_, or use method='split'."
            )
        if background is None and len(matrix) < 2:
            raise ValueError("background must be given to explain a single row: pass training rows, some hundreds.")
        others = matrix if background is None else self.encode(background).astype(np.float64)
        columns = Columns(features.starts, tuple(column.width for column in features.columns))
        size = background_size(len(columns.used), len(others), max_evals)
        others = others[np.sort(np.random.default_rng(seed).permutation(len(others))[:size])]

        def function(rows: Array) -> Array:
            with kept_warnings():
                values = self._map_distributions(EncodedTable(features, rows), asked)
            return values.reshape(len(rows), -1)

        values, base = shapley_values(function, matrix, others, columns, max_evals, seed)
        names = self.response_names()
        several = values.shape[2] > 1
        frame = as_frame(X)
        numbers, _ = table_numbers(X, features, owner)
        return explanation(
            values=values if several else values[:, :, 0],
            base_values=np.tile(base, (len(values), 1)) if several else np.full(len(values), base[0]),
            data=numbers,
            display_data=numbers if frame is None else _cells(frame, features),
            feature_names=list(features.names or (f"column {j}" for j in range(features.n_features))),
            output_names=list(names) if several and len(names) == values.shape[2] else None,
        )


def _cells(frame: Any, features: FeatureTable) -> Any:
    """Return the cells of a frame (n, p) as they are, columns in the order of training."""
    found = {str(name): frame.get_column(name).to_list() for name in frame.columns}
    names = features.names or tuple(map(str, frame.columns))
    cells = np.empty((len(frame), len(names)), dtype=object)
    for j, name in enumerate(names):
        cells[:, j] = found[name]
    return cells
