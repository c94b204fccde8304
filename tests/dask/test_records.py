"""Repeated rows in partitions: the same fold for records of the same thing, wherever they are."""

import numpy as np
import pytest

pytest.importorskip("distributed")

from diffgbm.dask import DaskDiffGBM
from diffgbm.dask.reading import Part
from diffgbm.dask.records import MAX_ROWS, evidence, evidence_share, key_of, keyed
from diffgbm.data.splits import hashed_folds
from tests.dask.tables import SMALL, cut


def linear(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + rng.normal(size=n))[:, None]


def divided(X, y, n=3):
    """Cut a table into partitions."""
    return [Part(X[rows], y[rows], None, rows) for rows in np.array_split(np.arange(len(X)), n)]


def key(X, y, repeats="auto", share=1.0):
    return key_of([evidence(part, share) for part in divided(X, y)], repeats)


def test_what_keys_are_made_of():
    X, y = linear(300, 0)
    rng = np.random.default_rng(1)
    twice = np.vstack([X, X]), np.vstack([y, y])
    entities = np.repeat(X[:50], 20, axis=0), rng.normal(size=(1000, 1))
    people = rng.integers(0, 3, size=(2000, 3)).astype(float), rng.normal(size=(2000, 1))
    assert key(X, y) == "position"
    assert key(*twice) == "x and y"
    assert key(*entities) == "x"
    assert key(*people) == "position"
    assert key(*people, repeats="together") == "x"
    assert key(*twice, repeats="independent") == "position"


def test_copies_in_different_partitions_have_the_same_fold():
    X, y = linear(300, 0)
    parts = [keyed(part, "x and y") for part in divided(np.vstack([X, X]), np.vstack([y, y]))]
    folds = np.concatenate([hashed_folds(part.split_keys, 5, key=7) for part in parts])
    np.testing.assert_array_equal(folds[:300], folds[300:])
    assert np.bincount(folds, minlength=5).min() > 80
    plain = np.concatenate(
        [hashed_folds(part.split_keys, 5, key=7) for part in divided(np.vstack([X, X]), np.tile(y, (2, 1)))]
    )
    assert (plain[:300] != plain[300:]).mean() > 0.5


def test_evidence_has_all_repetitions_of_a_row_or_none():
    X, y = linear(4000, 0)
    X, y = np.vstack([X, X, X]), np.vstack([y, y, y])
    rows, responses = (np.concatenate(c) for c in zip(*(evidence(part, 0.1) for part in divided(X, y)), strict=True))
    assert len(rows) == pytest.approx(0.1 * len(X), rel=0.2)
    np.testing.assert_array_equal(np.unique(rows, axis=0, return_counts=True)[1], 3)
    assert len(responses) == len(rows)
    assert key(X, y, share=0.1) == "x and y"
    assert evidence_share(1000, 3) == 1.0
    assert evidence_share(10 * MAX_ROWS, 3) == 0.1
    assert evidence_share(10 * MAX_ROWS, 1000) == 0.01


def test_a_stacked_table_in_partitions_covers_as_the_table_does(client):
    """Early stopping and cross-fitting are not fooled by copies in other partitions."""
    X, y = linear(200, 2)
    fresh, observed = linear(1000, 3)
    arguments = {**SMALL, "residualize": "off", "n_estimators": 60, "early_stopping_rounds": 5, "n_repeats": 5}
    arguments |= {"num_leaves": 31, "learning_rate": 0.5}
    stacked = np.vstack([X, X]), np.tile(y[:, 0], 2)

    def coverage(repeats):
        model = DaskDiffGBM.flow(**arguments, repeats=repeats).fit(*cut(*stacked, (200, 200)), client=client)
        low, high = np.asarray(model.to_local().predict_interval(fresh, 0.9)).T
        return np.mean((low <= observed[:, 0]) & (observed[:, 0] <= high))

    together = coverage("auto")
    assert together > 0.8
    assert coverage("independent") < together - 0.05
