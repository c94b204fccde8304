"""What a worker trains, without a network: the same trees as a table in memory gives."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("distributed")

from diffgbm import DiffGBM
from diffgbm.dask.boosting import (
    cross_fit,
    held_out_rows,
    noise_table,
    noisy_part,
    sampled_noisy,
    sampled_part,
    train_noise,
)
from diffgbm.dask.part_splits import HashedFolds, HashedHoldout
from diffgbm.dask.reading import Part
from diffgbm.data.splits import hashed_folds
from diffgbm.engine.stored import text_of
from diffgbm.first_stage.assembly import no_first_stage_values
from diffgbm.fitting.boosting import train_boosters
from diffgbm.fitting.noise_table import joined
from diffgbm.fitting.noisy_rows import NoisyRows
from diffgbm.fitting.training import lightgbm_params
from tests.conftest import TINY, toy

PARAMS = {**DiffGBM.flow(**TINY).get_params(), "n_estimators": 12}
SEED = np.random.SeedSequence(3)


def parts(n=300, cut=120, d=2):
    X, y = toy(n, d=d)
    X[:, 1] = np.floor(4 * X[:, 1])
    positions = np.arange(n)
    weights = np.linspace(0.5, 1.5, n)
    return [Part(X[s], y[s], weights[s], positions[s]) for s in (slice(0, cut), slice(cut, n))]


def trees(text):
    """The lines that decide predictions; the text before them depends on the bins, too."""
    kept = ("split_feature", "threshold", "decision_type", "leaf_value", "cat_threshold")
    return [line for line in text.splitlines() if line.startswith(kept)]


@pytest.mark.parametrize(("stopping", "design"), [(None, "independent"), (3, "independent"), (3, "even")])
def test_noise_models_are_those_of_the_same_noisy_rows_in_memory(stopping, design):
    recipe = DiffGBM.flow().recipe
    tables = [noise_table(part, no_first_stage_values(part.y), [1]) for part in parts()]
    share = 0.2 if stopping else 0.0
    split = HashedHoldout(share, 5)
    held = [held_out_rows(rows, part, split) for rows, part in zip(tables, parts(), strict=True)]
    noise = {"recipe": recipe, "repeats": 3, "seed": SEED, "design": design}
    pairs = enumerate(zip(tables, parts(), strict=True))
    noisy = [noisy_part(rows, part, split, i, **noise) for i, (rows, part) in pairs]
    kept = 300 - sum(len(rows.X) for rows in held)
    assert sum(len(n) for n in noisy) == 3 * kept
    assert (kept < 300) == bool(stopping)
    sample = [sampled_noisy(n, len(n), i, SEED) for i, n in enumerate(noisy)]
    lightgbm = {**lightgbm_params(PARAMS, 1, 1), "feature_pre_filter": False}
    here = {
        "recipe": recipe,
        "params": lightgbm,
        "rounds": 12,
        "patience": stopping,
        "repeats": 3,
        "seed": SEED,
        "design": design,
    }
    texts = train_noise(
        noisy, held_out=held, sample=sample, categorical=[1], link=None, threads=1, is_first=True, **here
    )
    whole, valid = _together(noisy), None
    if stopping:
        table = joined(held)
        valid = table.validation_copies(np.arange(len(table.X)), recipe, 3, SEED, design)
    expected = train_boosters(
        whole,
        valid,
        params=lightgbm,
        n_estimators=12,
        early_stopping_rounds=stopping,
        categorical=[1],
        tick=lambda loss: None,
    )
    assert [trees(text) for text in texts] == [trees(text_of(booster)) for booster in expected]


def test_even_copies_are_those_of_the_table_in_memory():
    recipe, table = DiffGBM.flow().recipe, parts()
    tables = [noise_table(part, no_first_stage_values(part.y), [1]) for part in table]
    split = HashedHoldout(0.2, 5)
    draw = {"recipe": recipe, "repeats": 3, "seed": SEED, "design": "even"}
    pairs = list(zip(tables, table, strict=True))
    noisy = [noisy_part(rows, part, split, i, **draw) for i, (rows, part) in enumerate(pairs)]
    held = joined([held_out_rows(rows, part, split) for rows, part in pairs])
    valid = held.validation_copies(np.arange(len(held.X)), recipe, 3, SEED, "even")
    whole = joined([replace(rows, positions=None) for rows in tables])
    assert whole.positions is None
    every = np.setdiff1d(np.arange(300), held.positions)
    train = whole.noisy_copies(every, recipe, 3, SEED, "even")
    assert len(train) == sum(map(len, noisy))
    for name in ("times", "noise"):
        found = [getattr(part, name).reshape(3, len(part.y), -1) for part in noisy]
        np.testing.assert_array_equal(np.concatenate(found, axis=1).ravel(), getattr(train, name).ravel())
        local = getattr(whole.validation_copies(held.positions, recipe, 3, SEED, "even"), name)
        np.testing.assert_array_equal(getattr(valid, name), local)


def _together(noisy):
    """Lay the noisy rows of partitions end to end, each with its copy of X."""
    rows = [np.arange(len(n)) for n in noisy]
    X = np.concatenate([n.features_at(at)[0] for n, at in zip(noisy, rows, strict=True)])
    y = np.concatenate([n.y[at % len(n.y)] for n, at in zip(noisy, rows, strict=True)])
    weights = np.concatenate([n.row_weights[at % len(n.y)] for n, at in zip(noisy, rows, strict=True)])
    times, noise = (np.concatenate([getattr(n, name) for n in noisy]) for name in ("times", "noise"))
    return NoisyRows(noisy[0].recipe, X, y, weights, times, noise)


def test_cross_fitted_models_have_not_seen_the_rows_that_they_predict():
    table, folds = parts(), [HashedFolds(3, (11, 12))] * 2
    sample = [sampled_part(part, 50, i, SEED) for i, part in enumerate(table)]
    assert [s.shape for s in sample] == [(50, 3), (50, 3)]
    lightgbm = {"verbosity": -1, "objective": "regression", "deterministic": True, "force_col_wise": True}
    here = {"sample": sample, "means": np.zeros((6, 2)), "repeats": 2, "params": lightgbm, "rounds": 5}
    here |= {"categorical": [1], "link": None, "threads": 1}
    fitted = cross_fit(table, [part.y for part in table], folds, is_first=True, **here)
    assert list(map(len, fitted.texts)) == [6, 6]
    assert [c.shape for c in fitted.clean] == [(2, 120, 2), (2, 180, 2)]
    # a response that changes in the rows of one fold changes the predictions of all other rows
    out = [hashed_folds(part.positions, 3, 11) == 1 for part in table]
    changed = [np.where(mask[:, None], -part.y, part.y) for mask, part in zip(out, table, strict=True)]
    again = cross_fit(table, changed, folds, is_first=False, **here)
    assert again.texts == [[], []]
    for before, after, mask in zip(fitted.clean, again.clean, out, strict=True):
        np.testing.assert_array_equal(before[0, mask], after[0, mask])
        assert (before[0, ~mask] != after[0, ~mask]).mean() > 0.9
