"""What an estimator remembers of the columns that it was fitted to."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.errors import warn
from diffgbm.data.features import FeatureTable


class RemembersColumns:
    """Knows its columns again, and can be written to a file."""

    @abstractmethod
    def _columns(self) -> FeatureTable:
        """Return what was learned of the columns."""

    def _remember_columns(self) -> None:
        """Set the attributes by which scikit-learn knows the columns."""
        columns = self._columns()
        self.n_features_in_ = columns.n_features
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _encode(self, X: Any) -> NDArray[np.float64]:
        """Encode rows (n, p) as the models know them."""
        check_is_fitted(self)
        columns, owner = self._columns(), type(self).__name__
        if columns.names is not None and isinstance(X, np.ndarray):
            said = f"X does not have valid feature names, but {owner} was fitted with feature names"
            warn(said, stacklevel=3)
        return columns.encode(X, owner)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one compressed file, whole or not at all; ``diffgbm.load`` reads it.

        The file holds data only and runs nothing when it is read; a loaded model draws the same samples to the last
        bit. Everything but the out-of-bag laws, which are laws of the training rows, is kept.
        """
        from diffgbm.persistence.files import save

        check_is_fitted(self)
        save(cast(Any, self), path)
