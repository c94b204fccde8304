"""Folds, standardisation and seeds of the paper's protocol; the dispatcher."""

import numpy as np
import pytest
from benchmarks.__main__ import COMMANDS, build_parser
from benchmarks.datasets import Table
from benchmarks.protocol import N_FOLDS, Standardiser, cap_test_rows, fold_of_rows, prepare, seeds, split


@pytest.fixture
def table() -> Table:
    rng = np.random.default_rng(3)
    X = rng.normal([5.0, -2.0], [10.0, 0.1], size=(100, 2))
    return Table(np.column_stack([X, np.full(100, 7.0)]), 1e3 * rng.standard_normal(100), ("a", "b", "c"), "y")


@pytest.mark.parametrize("n", [6, 7, 308, 1030])
def test_folds_deal_a_permutation_out_in_turn(n):
    folds = fold_of_rows(n)
    assert np.array_equal(folds[np.random.default_rng(0).permutation(n)], np.arange(n) % 6)
    counts = np.bincount(folds, minlength=N_FOLDS)
    assert counts.max() - counts.min() <= 1
    assert counts.sum() == n


def test_each_row_is_tested_in_exactly_one_fold():
    parts = [split(101, fold) for fold in range(N_FOLDS)]
    assert np.array_equal(np.sort(np.concatenate([p.test for p in parts])), np.arange(101))
    for part in parts:
        assert np.array_equal(np.sort(np.concatenate([part.train, part.test])), np.arange(101))


def test_ct_slices_has_the_papers_training_rows():
    assert len(split(53_500, 1).train) == 44_583


@pytest.mark.parametrize("fold", [-1, 6])
def test_unknown_folds_are_refused(fold):
    with pytest.raises(ValueError, match="fold must be 0 to 5"):
        split(100, fold)


def test_capped_test_rows_are_nested_and_repeatable():
    part = split(600, 1)
    few, more = cap_test_rows(part, 10), cap_test_rows(part, 30)
    assert np.array_equal(few.test, more.test[:10])
    assert set(more.test) <= set(part.test)
    assert np.array_equal(few.train, part.train)
    assert cap_test_rows(part, None) is part
    assert cap_test_rows(part, 10_000) is part


def test_seeds_are_at_the_papers_offsets():
    assert (seeds(3).data, seeds(3).model, seeds(3).sampler) == (3, 10_003, 20_003)


def test_standardisation_is_learned_from_the_training_part_only(table):
    part, fold = split(len(table.y), 2), prepare(table, 2)
    np.testing.assert_allclose(fold.X_train[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(fold.X_train[:, :2].std(axis=0), 1.0)
    np.testing.assert_allclose(fold.y_train.std(), 1.0)
    train = table.X[part.train, 0]
    np.testing.assert_allclose(fold.X_test[:, 0], (table.X[part.test, 0] - train.mean()) / train.std())
    assert np.array_equal(fold.y_test, table.y[part.test])
    np.testing.assert_allclose(fold.response.restore(fold.y_train), table.y[part.train])


def test_a_test_outlier_changes_nothing_in_training(table):
    part = split(len(table.y), 2)
    y = table.y.copy()
    y[part.test[0]] = 1e12
    moved = prepare(Table(table.X, y, table.features, table.target), 2)
    np.testing.assert_array_equal(moved.y_train, prepare(table, 2).y_train)


def test_constant_columns_become_zero(table):
    assert np.all(prepare(table, 1).X_train[:, 2] == 0.0)


def test_standardiser_goes_back_for_samples_of_any_shape():
    scaler = Standardiser.fit(np.array([1.0, 3.0]))
    np.testing.assert_allclose(scaler.restore(np.array([[-1.0, 1.0], [0.0, 2.0]])), [[1.0, 3.0], [2.0, 4.0]])


def test_every_command_has_help_and_options():
    parser = build_parser()
    text = parser.format_help()
    assert all(name in text for name in COMMANDS)
    assert parser.parse_args(["peers", "--folds", "1", "--repeats", "2"]).repeats == 2
    with pytest.raises(SystemExit):
        parser.parse_args([])
