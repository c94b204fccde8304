"""Splits: every row on one side, the same rows for the same seed, and for tables in partitions by position alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, train_test_split

from diffgbm.data import splits


def assert_divides(split, n):
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(n))


@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 2**31 - 1), st.booleans())
def test_every_row_is_out_of_bag_exactly_once(n, n_bags, seed, stopping):
    parts = splits.bag_splits(n, n_bags, 0.1, seed, stopping)
    assert len(parts) == min(n, n_bags)
    np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in parts])), np.arange(n))
    for train, out in parts:
        assert_divides((train, out), n)
        assert len(train) > 0
    sizes = [len(out) for _, out in parts]
    assert max(sizes) - min(sizes) <= 1


def test_one_bag_holds_out_the_rows_it_stops_on():
    ((train, out),) = splits.bag_splits(50, 1, 0.2, 3, True)
    expected = train_test_split(np.arange(50), test_size=0.2, random_state=3)
    np.testing.assert_array_equal(train, expected[0])
    np.testing.assert_array_equal(out, expected[1])
    ((train, out),) = splits.bag_splits(50, 1, 0.2, 3, False)
    np.testing.assert_array_equal(train, np.arange(50))
    assert len(out) == 0


def test_an_ordered_split_holds_out_the_same_rows():
    plain, ordered = (splits.bag_splits(50, 1, 0.2, 3, True, ordered=flag) for flag in (False, True))
    for one, other in zip(plain[0], ordered[0], strict=True):
        np.testing.assert_array_equal(np.sort(one), other)
    assert not np.array_equal(plain[0][0], ordered[0][0])


def test_folds_and_holdouts_are_those_of_scikit_learn():
    expected = KFold(4, shuffle=True, random_state=7).split(np.zeros(30))
    for found, split in zip(splits.k_folds(30, 4, 7), expected, strict=True):
        for one, other in zip(found, split, strict=True):
            np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="greater than the number of samples"):
        splits.k_folds(3, 4, 0)
    # to split some rows and to take the positions of a split of their number is the same
    rows = np.arange(100, 140)
    for part, other in zip(
        splits.holdout(40, 0.1, 5), train_test_split(rows, test_size=0.1, random_state=5), strict=True
    ):
        np.testing.assert_array_equal(rows[part], other)


@given(st.integers(1, 50), st.integers(0, 60), st.integers(0, 99))
def test_subsamples(n, size, seed):
    chosen, rest = splits.subsample(n, size, seed)
    assert len(chosen) == min(n, size)
    assert_divides((chosen, rest), n)
    assert (np.diff(chosen) > 0).all()
    shuffled = splits.subsample(n, size, seed, ordered=False)
    np.testing.assert_array_equal(np.concatenate(shuffled), np.random.default_rng(seed).permutation(n))
    np.testing.assert_array_equal(np.sort(shuffled[0]), chosen)


def test_fold_numbers_are_balanced_and_may_share_a_generator():
    counts = np.bincount(splits.fold_numbers(23, 5, 0), minlength=5)
    assert counts.max() - counts.min() <= 1
    rng = np.random.default_rng(3)
    splits.fold_numbers(10, 2, rng)
    assert rng.uniform() != np.random.default_rng(3).uniform()


def test_the_papers_fold_0():
    train, test = splits.paper_holdout(20, 0)
    assert_divides((train, test), 20)
    np.testing.assert_array_equal(test, np.sort(np.random.default_rng(0).permutation(20)[::6]))


@pytest.mark.parametrize(
    ("cv", "count"),
    [(None, 1), (3, 3), (KFold(2), 2), (list(GroupKFold(3).split(np.zeros(30), groups=np.arange(30) // 3)), 3)],
    ids=["paper", "number", "splitter", "pairs"],
)
def test_cross_validation_by_number_splitter_or_pairs(cv, count):
    found = splits.cross_validation_splits(cv, np.zeros((30, 1)), np.zeros(30), 0)
    assert len(found) == count
    for split in found:
        assert_divides(split, 30)


@pytest.mark.parametrize(
    ("cv", "message"),
    [([(np.arange(3),)], "cv must be None"), ([], "at least one split"), (1, "cv must be an integer")],
)
def test_bad_cross_validation(cv, message):
    with pytest.raises(ValueError, match=message):
        splits.cross_validation_splits(cv, np.zeros((30, 1)), np.zeros(30), 0)


@given(st.integers(0, 2**63), st.integers(0, 2**40), st.integers(1, 50), st.integers(0, 50))
def test_a_rows_number_depends_on_its_position_alone(key, first, n, cut):
    positions = first + np.arange(n)
    both = np.concatenate([splits.position_uniforms(part, key) for part in (positions[:cut], positions[cut:])])
    np.testing.assert_array_equal(splits.position_uniforms(positions, key), both)
    assert ((both >= 0.0) & (both < 1.0)).all()


def test_hashed_numbers_are_uniform_and_those_of_two_keys_unrelated():
    n = 40_000
    u, v = (splits.position_uniforms(np.arange(n), key) for key in (1, 2))
    error = 4.5 / np.sqrt(n)
    for x in (u, v):
        counts = np.bincount((x * 10).astype(int), minlength=10) / n
        assert np.abs(counts - 0.1).max() < error * np.sqrt(0.09)
    assert abs(np.corrcoef(u, v)[0, 1]) < error
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < error
    assert set(splits.hashed_folds(np.arange(n), 5, 1)) == set(range(5))
    assert abs(splits.hashed_holdout(np.arange(n), 0.2, 1).mean() - 0.2) < error
    assert not splits.hashed_holdout(np.arange(n), 0.0, 1).any()


LABELS = np.repeat(np.arange(30), np.arange(30) % 4 + 1)[np.random.default_rng(0).permutation(73)]
"""Labels of 73 rows of 30 records."""


def assert_whole(split, records=LABELS):
    assert_divides(split, len(records))
    assert not set(records[split[0]]) & set(records[split[1]])
    assert all(len(part) for part in split)


@pytest.mark.parametrize("seed", range(5))
def test_no_split_divides_a_record(seed):
    n = len(LABELS)
    folds = splits.k_folds(n, 5, seed, LABELS)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in folds])), np.arange(n))
    for split in folds:
        assert_whole(split)
    assert_whole(splits.holdout(n, 0.2, seed, LABELS))
    assert_whole(splits.paper_holdout(n, seed, LABELS))
    assert_whole(splits.subsample(n, 20, seed, records=LABELS))
    for bags in (1, 4):
        for split in splits.bag_splits(n, bags, 0.2, seed, True, records=LABELS):
            assert_whole(split)
    numbers = splits.fold_numbers(n, 5, seed, LABELS)
    assert all(len(set(numbers[label == LABELS])) == 1 for label in range(30))
    assert set(numbers) == set(range(5))


def test_a_part_of_the_records_holds_about_as_many_rows_as_are_asked_for():
    chosen, _ = splits.subsample(len(LABELS), 20, 0, records=LABELS)
    assert 20 <= len(chosen) < 20 + 4


def test_more_folds_than_records_are_as_many_as_records():
    assert len(splits.k_folds(6, 5, 0, np.array([0, 0, 1, 1, 2, 2]))) == 3


def test_each_row_its_own_record_is_no_records_at_all():
    own = np.arange(40)
    for plain, labelled in zip(splits.k_folds(40, 4, 1), splits.k_folds(40, 4, 1, own), strict=True):
        np.testing.assert_array_equal(plain[1], labelled[1])
    np.testing.assert_array_equal(splits.fold_numbers(40, 3, 2), splits.fold_numbers(40, 3, 2, own))


def test_labels_of_a_part_are_numbered_without_gaps():
    np.testing.assert_array_equal(splits.part_of_records(np.array([5, 3, 5, 9, 3]), [0, 3, 2]), [0, 1, 0])
    assert splits.part_of_records(None, [0]) is None


def test_splitters_get_records_as_groups():
    found = splits.cross_validation_splits(GroupKFold(3), np.zeros((len(LABELS), 1)), np.zeros(len(LABELS)), 0, LABELS)
    for split in found:
        assert_whole(split)
