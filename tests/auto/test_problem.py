"""The problem that candidates share."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from diffgbm.auto.candidates import Candidate
from tests.auto.tiny_auto import small_trees, trainer_of  # noqa: F401
from tests.conftest import toy


@pytest.fixture(scope="module")
def problem(small_trees):  # noqa: F811
    return trainer_of(*toy())[0].problem


def test_candidates_of_the_same_first_stage_share_their_inputs(problem):
    one, other = (problem.inputs(Candidate("stack", ("mean",), recipe)) for recipe in ("flow", "edm"))
    assert one is other
    assert problem.inputs(Candidate("stack", (), "flow")) is not one


def test_inputs_are_the_rows_with_their_features(problem):
    plain, fed = problem.inputs(Candidate("none", (), "flow")), problem.inputs(Candidate("none", ("mean",), "flow"))
    assert plain.X is problem.table.X
    np.testing.assert_array_equal(plain.values.location, 0.0)
    np.testing.assert_array_equal(fed.X[:, :-1], problem.table.X)
    np.testing.assert_array_equal(fed.X[:, -1:], problem.first_stages.fitted["stack"].out_of_fold)


def test_a_problem_does_not_change(problem):
    assert problem.n_rows == 120
    with pytest.raises(FrozenInstanceError):
        problem.seed = 3
