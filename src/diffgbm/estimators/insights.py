"""What a distributional regressor says about single rows: which uncertainty, how new a row is, and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from diffgbm._util.errors import warn
from diffgbm._util.types import Array
from diffgbm.data.frames import frame_like, series_like
from diffgbm.data.novelty import novelty
from diffgbm.distributions.uncertainty import Uncertainty, stacked
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.submodels import is_single

ROWS_AT_ONCE = 1024
"""Rows whose submodels are held at a time: 30 submodels of 89 points are 22 MB."""


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

    def _uncertainty(self, X: Array) -> Uncertainty:
        """Decompose the uncertainty of encoded rows (n, p)."""
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
        matrix = self.encode(X)
        self._check_submodels()
        blocks = [self._uncertainty(matrix[i : i + ROWS_AT_ONCE]) for i in range(0, len(matrix), ROWS_AT_ONCE)]
        result = stacked(blocks, axis=0)
        names, columns = self.response_names(), result.columns()
        if result.total.ndim == 2:
            columns = {f"{n}_{label}": v[:, j] for j, n in enumerate(names) for label, v in columns.items()}
        frame = frame_like(X, columns)
        return result if frame is None else frame

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
                stacklevel=3,
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
        one unusual value may go unnoticed, if it is within the range of the column.

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
