"""Distinct questions of a forest about x."""

import numpy as np

from diffgbm.engine import Forest
from diffgbm.engine.conditions import gather_conditions, n_questions
from diffgbm.engine.forest import CATEGORICAL

from . import models


def test_equal_splits_are_one_question():
    forest = Forest.from_booster(models.booster(1, 1, 2, trees=40))
    last = 1 + models.P
    conditions, question = gather_conditions(forest, 1, last)
    about_x = (forest.feature >= 1) & (forest.feature < last)
    np.testing.assert_array_equal(question >= 0, about_x)
    numeric = about_x & ((forest.decision & CATEGORICAL) == 0)
    splits = np.column_stack([forest.feature, forest.decision, forest.threshold])[numeric]
    assert len(conditions.threshold) == len(np.unique(splits, axis=0))
    assert len(conditions.threshold) < numeric.sum()
    assert n_questions(conditions) == question.max() + 1


def test_a_question_is_the_split_of_its_nodes():
    forest = Forest.from_booster(models.booster(1, 1, 2))
    conditions, question = gather_conditions(forest, 1, 1 + models.P)
    n = len(conditions.threshold)
    group = np.searchsorted(conditions.group_start, np.arange(n), side="right") - 1
    for node in np.flatnonzero(question >= 0):
        asked = question[node]
        if asked < n:
            assert conditions.threshold[asked] == forest.threshold[node]
            assert conditions.group_column[group[asked]] == forest.feature[node] - 1
            assert conditions.group_missing[group[asked]] == forest.missing[node]
        else:
            words = slice(*conditions.set_start[asked - n : asked - n + 2])
            number = int(forest.threshold[node])
            expected = forest.set_words[forest.set_start[number] : forest.set_start[number + 1]]
            np.testing.assert_array_equal(conditions.set_words[words], expected)


def test_thresholds_of_a_group_ascend():
    conditions, _ = gather_conditions(Forest.from_booster(models.booster(1, 1, 2, trees=40)), 1, 1 + models.P)
    for first, last in zip(conditions.group_start[:-1], conditions.group_start[1:], strict=True):
        assert (np.diff(conditions.threshold[first:last]) > 0.0).all()
