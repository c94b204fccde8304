"""Splits: every row on one side, the same rows for the same seed, and for tables in partitions by position alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit, train_test_split

from diffgbm.data import splits
from diffgbm.data.structure import INDEPENDENT, Structure


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
    [
        ([(np.arange(3),)], "cv must be a number of folds, a splitter of scikit-learn or pairs"),
        ([], "at least one split"),
        (1, "cv must be an integer"),
        ("five", "or pairs of row numbers; got 'five'"),
        ([(np.arange(10), np.arange(5))], "cv learns from rows that it holds out, 5 of them"),
        (GroupKFold(2), r"cv=GroupKFold.* needs groups: pass groups= as well"),
    ],
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


STRUCTURE = Structure(LABELS)


def assert_whole(split, records=LABELS):
    assert_divides(split, len(records))
    assert not set(records[split[0]]) & set(records[split[1]])
    assert all(len(part) for part in split)


@pytest.mark.parametrize("seed", range(5))
def test_no_split_divides_a_record(seed):
    n = len(LABELS)
    folds = splits.k_folds(n, 5, seed, STRUCTURE)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in folds])), np.arange(n))
    for split in folds:
        assert_whole(split)
    assert_whole(splits.holdout(n, 0.2, seed, STRUCTURE))
    assert_whole(splits.paper_holdout(n, seed, STRUCTURE))
    assert_whole(splits.subsample(n, 20, seed, structure=STRUCTURE))
    for bags in (1, 4):
        for split in splits.bag_splits(n, bags, 0.2, seed, True, structure=STRUCTURE):
            assert_whole(split)
    numbers = splits.fold_numbers(n, 5, seed, STRUCTURE)
    assert all(len(set(numbers[label == LABELS])) == 1 for label in range(30))
    assert set(numbers) == set(range(5))


def test_a_part_of_the_records_holds_about_as_many_rows_as_are_asked_for():
    chosen, _ = splits.subsample(len(LABELS), 20, 0, structure=STRUCTURE)
    assert 20 <= len(chosen) < 20 + 4


def test_more_folds_than_records_are_as_many_as_records():
    assert len(splits.k_folds(6, 5, 0, Structure(np.array([0, 0, 1, 1, 2, 2])))) == 3


def test_each_row_its_own_record_is_no_records_at_all():
    own = Structure(np.arange(40))
    for plain, labelled in zip(splits.k_folds(40, 4, 1), splits.k_folds(40, 4, 1, own), strict=True):
        np.testing.assert_array_equal(plain[1], labelled[1])
    np.testing.assert_array_equal(splits.fold_numbers(40, 3, 2), splits.fold_numbers(40, 3, 2, own))


def test_labels_of_a_part_are_numbered_without_gaps():
    np.testing.assert_array_equal(Structure(np.array([5, 3, 5, 9, 3])).part([0, 3, 2]).labels, [0, 1, 0])
    assert INDEPENDENT.part([0]).labels is None


def test_splitters_get_records_as_groups():
    y = np.zeros(len(LABELS))
    found = splits.cross_validation_splits(GroupKFold(3), y[:, None], y, 0, STRUCTURE)
    for split in found:
        assert_whole(split)


# by time


def times(n=120, n_times=40, seed=0):
    return np.unique(np.random.default_rng(seed).integers(0, n_times, n), return_inverse=True)[1]


def assert_past(split, structure):
    train, held_out = split
    assert len(train)
    assert len(held_out)
    assert structure.order[train].max() < structure.order[held_out].min()
    if structure.labels is not None:
        assert not set(structure.labels[train]) & set(structure.labels[held_out])


def all_splits(structure, seed):
    """Every split by time that the library makes."""
    n = len(structure.order)
    return [
        *splits.k_folds(n, 5, seed, structure),
        splits.holdout(n, 0.2, seed, structure),
        splits.paper_holdout(n, seed, structure),
        splits.reserve(n, 20, (seed, 1), structure),
        *splits.trial_folds(n, 5, seed, structure),
        *splits.bag_splits(n, 1, 0.2, seed, True, structure=structure),
        *splits.bag_splits(n, 4, 0.2, seed, True, structure=structure),
        *splits.cross_validation_splits(3, np.zeros((n, 1)), np.zeros(n), seed, structure),
    ]


@given(st.integers(10, 150), st.integers(2, 60), st.integers(0, 99))
def test_no_split_learns_from_the_future(n, n_times, seed):
    structure = Structure(None, times(n, n_times, seed))
    if structure.order.max() == 0:
        return
    for split in all_splits(structure, seed):
        assert_past(split, structure)


@given(st.integers(4, 30), st.integers(0, 99), st.booleans())
def test_no_split_by_time_divides_a_group(n_groups, seed, panel):
    rng, order = np.random.default_rng(seed), times(150, 40, seed)
    # a panel has every group at all times; otherwise groups come and go
    labels = (
        rng.integers(0, n_groups, 150) if panel else (order * n_groups // (order.max() + 1) + rng.integers(0, 2, 150))
    )
    structure = Structure(np.unique(labels, return_inverse=True)[1], order)
    for split in all_splits(structure, seed):
        assert_past(split, structure)


def test_windows_expand_and_hold_out_every_row_but_those_of_the_first():
    structure = Structure(None, np.arange(120)[::-1].copy())
    folds = splits.k_folds(120, 5, 0, structure)
    assert [len(train) for train, _ in folds] == [20, 40, 60, 80, 100]
    np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in folds])), np.arange(100))
    _, held_out = splits.holdout(120, 0.1, 0, structure)
    np.testing.assert_array_equal(held_out, np.arange(12))


def test_a_panel_is_held_out_by_parts_of_its_groups():
    structure = Structure(np.tile(np.arange(10), 12), np.repeat(np.arange(12), 10))
    folds = splits.k_folds(120, 5, 0, structure)
    held_out = np.sort(np.concatenate([out for _, out in folds]))
    np.testing.assert_array_equal(held_out, np.arange(20, 120))
    assert len(folds) == 15
    assert min(len(train) for train, _ in folds) >= 10


def test_one_group_at_all_times_leaves_nothing_to_learn_from():
    structure = Structure(np.r_[np.zeros(50, int), 1], np.r_[np.arange(50), 50])
    assert len(splits.k_folds(51, 5, 0, structure)) == 1
    everywhere = Structure(np.zeros(50, int), np.arange(50))
    with pytest.raises(ValueError, match="groups and time leave no windows"):
        splits.k_folds(50, 5, 0, everywhere)


def test_splits_of_the_caller_are_checked():
    n = 40
    folds = splits.cross_validation_splits(KFold(4), np.zeros((n, 1)), np.zeros(n), 0)
    with pytest.raises(ValueError, match="cv divides 1 of the groups"):
        splits.check_splits(folds, Structure(np.arange(n) // 8), "cv")
    with pytest.raises(ValueError, match="cv learns from rows that are not earlier, by time="):
        splits.check_splits(folds, Structure(None, np.arange(n)), "cv")
    past = splits.cross_validation_splits(TimeSeriesSplit(4), np.zeros((n, 1)), np.zeros(n), 0)
    splits.check_splits(past, Structure(None, np.arange(n)), "cv")


def test_bags_by_rows():
    structure = Structure(None, np.arange(30))
    held_out = [out for _, out in splits.bag_splits(30, 3, 0.2, 0, True, structure=structure)]
    assert splits.bags_by_rows(held_out) == [[0, 1, 2]]
    assert splits.bags_by_rows([out for _, out in splits.bag_splits(30, 3, 0.2, 0, True)]) == [[0], [1], [2]]


# large groups


LARGE = Structure(np.repeat(np.arange(4), [900, 40, 30, 30]))
"""Four groups, one of which has nine rows in ten."""


@pytest.mark.parametrize("seed", range(8))
def test_a_group_of_most_rows_is_not_what_is_held_out(seed):
    for train, held_out in (splits.holdout(1000, 0.1, seed, LARGE), splits.reserve(1000, 100, (seed, 1), LARGE)):
        assert_whole((train, held_out), LARGE.labels)
        assert 30 <= len(held_out) <= 100


def test_rows_of_all_groups_are_drawn_if_whole_groups_would_be_too_few():
    chosen, rest = splits.subsample(1000, 200, 0, structure=LARGE)
    assert_divides((chosen, rest), 1000)
    assert len(chosen) == 200
    assert len(np.unique(LARGE.labels[chosen])) == 4
    assert not splits.draws_labels(LARGE.labels, 200)
    assert splits.draws_labels(LARGE.labels, 1000)
    assert splits.draws_labels(np.arange(1000) // 5, 200)


def test_folds_to_test_on_have_rows():
    folds = splits.trial_folds(100, 5, 0, Structure(np.arange(100) // 50))
    assert len(folds) == 2
    for split in folds:
        assert_whole(split, np.arange(100) // 50)
