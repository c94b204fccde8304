"""Fits of single models: folds of limited size."""

import argparse

import numpy as np
import pytest

from benchmarks import single_fits


def test_large_folds_lose_rows(monkeypatch):
    table = argparse.Namespace(X=np.arange(1200.0).reshape(600, 2), y=np.arange(600.0))
    monkeypatch.setattr(single_fits, "load", lambda *parts: table)
    part = single_fits.fold_of("energy", 1, 100, None)
    assert (part.X_train.shape, part.y_train.shape, part.X_test.shape) == ((100, 2), (100,), (100, 2))
    assert len(single_fits.fold_of("energy", 1, 500, None).y_train) == 500
    np.testing.assert_allclose(part.X_train @ [0.5, 0.5], part.y_train)
    with pytest.raises(KeyError):
        single_fits.fold_of("nowhere", 1, 100, None)
