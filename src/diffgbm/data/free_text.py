r"""Free text as a few numbers: what its words say of the response, and what the text is about.

Words and pairs of words are hashed to ``N_HASHES`` columns, weighted by their inverse document frequency and scaled to
length one. A ridge regression of the response on them gives one number per response, cross-fitted: training rows get
the prediction of the folds that do not hold them. The first ``N_TOPICS`` singular vectors give the topics, which use no
response. Text that predicts the response no better than chance is not used.

References
----------
Weinberger, K. et al. (2009). Feature hashing for large scale multitask learning. ICML.

Deerwester, S. et al. (1990). Indexing by latent semantic analysis. Journal of the American Society for Information
Science, 41(6), 391-407.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

from diffgbm._util.types import Array, Rows
from diffgbm.data.kinds import Levels
from diffgbm.data.numbers import column_values, is_missing

N_HASHES = 4096
N_TOPICS = 8
FEWEST_WORDS = 4.0
"""Words of the mean value of a column of free text."""
REPEATED = 5
"""A column whose values occur more often than this on average holds categories, however long they are."""
PENALTIES = (1.0, 3.0, 10.0)
"""Penalties of the ridge regression that are tried."""
CERTAIN = 3.0
"""Standard errors by which words must predict better than the mean."""


@dataclass(frozen=True, eq=False)
class FreeText:
    """How a column of free text is read.

    Attributes
    ----------
    idf : ndarray of shape (N_HASHES,)
        Inverse document frequencies.
    directions : ndarray of shape (N_HASHES, width)
        Coefficients of the ridge regressions, and singular vectors.
    offset : ndarray of shape (width,)
        Intercepts.
    names : tuple of str
        What the columns are; none if the text is not used.
    n_words : float
        Mean number of words.
    """

    idf: Array
    directions: Array
    offset: Array
    names: tuple[str, ...]
    n_words: float

    kind: ClassVar[str] = "text"
    levels: ClassVar[None] = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeText) and (
            (self.names, self.n_words) == (other.names, other.n_words)
            and all(np.array_equal(getattr(self, a), getattr(other, a)) for a in ("idf", "directions", "offset"))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def width(self) -> int:
        """Number of columns in the matrix."""
        return len(self.names)

    @property
    def detail(self) -> str:
        """How the column was read, in a few words."""
        if not self.names:
            return f"{self.n_words:.0f} words that predict no better than chance: not used"
        predictions = len(self.names) - N_TOPICS
        return f"{self.n_words:.0f} words: {predictions} cross-fitted prediction, {N_TOPICS} topics"

    def encode(self, column: Any, name: str) -> Array:
        """Return the numbers (n, width) of new rows."""
        if not self.names:
            return np.empty((len(column), 0))
        texts = ["" if is_missing(value) else str(value) for value in column_values(column)]
        return np.asarray(_weighted(_hashed(texts), self.idf) @ self.directions + self.offset)

    def shown(self, column: Any, name: str) -> Array:
        """Return the number of words of each row (n,)."""
        values = column_values(column)
        return np.array(
            [np.nan if is_missing(value) else len(str(value).split()) for value in values], dtype=np.float64
        )

    def text(self, value: float) -> str:
        """Format a number of words."""
        return f"{value:.0f} words"


def is_free_text(levels: Levels, n_rows: int) -> bool:
    """Whether categories are texts of many words that hardly repeat."""
    if len(levels) * REPEATED < n_rows or not all(isinstance(level, str) for level in levels):
        return False
    return float(np.mean([len(str(level).split()) for level in levels])) >= FEWEST_WORDS


def learn_text(
    texts: Sequence[str], targets: Array, weights: Array | None, folds: Sequence[tuple[Rows, Rows]]
) -> tuple[FreeText, Array]:
    """Learn what words say; return it with the numbers of the training rows.

    Parameters
    ----------
    texts : sequence of n str
        Texts; empty if missing.
    targets : ndarray of shape (n, d)
        Standardised responses, or what other columns leave of them.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    folds : sequence of (ndarray, ndarray)
        Rows that a regression is fitted to, and rows that get its predictions.

    Returns
    -------
    text : FreeText
        For new rows.
    matrix : ndarray of shape (n, width)
        For the training rows: predictions of the folds that do not hold them, and topics.
    """
    n_words = float(np.mean([len(text.split()) for text in texts]))
    hashed = _hashed(texts)
    frequency = np.asarray((hashed > 0).sum(axis=0)).ravel()
    idf = np.log((1.0 + len(texts)) / (1.0 + frequency)) + 1.0
    weighted = _weighted(hashed, idf)
    tried = {penalty: _out_of_fold(weighted, targets, weights, folds, penalty) for penalty in PENALTIES}
    penalty = min(tried, key=lambda one: float(np.mean((targets - tried[one]) ** 2)))
    held_out = np.concatenate([rows for _, rows in folds])
    centre = np.average(targets, axis=0, weights=weights)
    gain = ((targets - centre) ** 2 - (targets - tried[penalty]) ** 2).mean(axis=1)[held_out]
    if not gain.mean() > CERTAIN * gain.std() / np.sqrt(len(gain)):
        none = np.empty((N_HASHES, 0))
        return FreeText(idf, none, np.empty(0), (), n_words), np.empty((len(texts), 0))
    ridge = Ridge(alpha=penalty).fit(weighted, targets, sample_weight=weights)
    topics = TruncatedSVD(N_TOPICS, random_state=0).fit(weighted).components_.T
    d = targets.shape[1]
    directions = np.hstack([np.reshape(ridge.coef_, (d, N_HASHES)).T, topics])
    offset = np.concatenate([np.ravel(ridge.intercept_), np.zeros(N_TOPICS)])
    names = tuple(f"prediction {j}" for j in range(d)) + tuple(f"topic {k}" for k in range(N_TOPICS))
    return FreeText(idf, directions, offset, names, n_words), np.hstack([tried[penalty], weighted @ topics])


def _out_of_fold(
    words: Any, targets: Array, weights: Array | None, folds: Sequence[tuple[Rows, Rows]], penalty: float
) -> Array:
    """Predict each row (n, d) by a regression on the other folds; the mean where no fold holds a row out."""
    out = np.tile(np.average(targets, axis=0, weights=weights), (len(targets), 1))
    for train, held_out in folds:
        part = None if weights is None else weights[train]
        ridge = Ridge(alpha=penalty).fit(words[train], targets[train], sample_weight=part)
        out[held_out] = np.reshape(ridge.predict(words[held_out]), (len(held_out), -1))
    return out


def _hashed(texts: Sequence[str]) -> Any:
    options = {"ngram_range": (1, 2), "alternate_sign": False, "norm": None, "binary": True}
    return HashingVectorizer(n_features=N_HASHES, **options).transform(texts)


def _weighted(hashed: Any, idf: Array) -> Any:
    return normalize(hashed.multiply(idf[None, :]).tocsr())
