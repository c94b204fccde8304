"""Answers of estimators become one table."""

import numpy as np
import pytest

from diffgbm.members.answers import answer_table, asked, point_answer


def test_any_orientation():
    table = np.arange(6.0).reshape(3, 2)
    for answer in (table, table.T, list(table.T), table[:, :, None], table.T[:, :, None]):
        np.testing.assert_array_equal(answer_table(answer, 3, 2), table)


def test_one_row_and_one_value():
    np.testing.assert_array_equal(answer_table([1.0, 2.0], 1, 2), [[1.0, 2.0]])
    np.testing.assert_array_equal(answer_table([1.0, 2.0], 2, 1), [[1.0], [2.0]])


def test_square_answers_are_asked_for_with_another_row():
    X = np.arange(3.0)[:, None]
    for ask in (lambda rows: rows + np.arange(3.0), lambda rows: (rows + np.arange(3.0)).T):
        np.testing.assert_array_equal(asked(ask, X, 3), X + np.arange(3.0))


def test_other_shapes_are_named():
    with pytest.raises(ValueError, match=r"shape \(3, 5\) for 3 rows and 2 values"):
        answer_table(np.zeros((3, 5)), 3, 2)
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for 4 rows"):
        point_answer(np.zeros((2, 2)), 4)
    np.testing.assert_array_equal(point_answer([[1.0], [2.0]], 2), [1.0, 2.0])
