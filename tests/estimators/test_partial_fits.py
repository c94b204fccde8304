"""Fits to some of the rows get the groups and times of these rows, and no group that is the only one."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from diffgbm.data.structure import Structure, read_structure
from diffgbm.estimators.partial_fits import fit_options, fitted_part

X, Y = np.arange(12.0)[:, None], np.arange(12.0)
GROUPS = np.repeat(["a", "b", "c"], 4)


class Recorder(RegressorMixin, BaseEstimator):
    """Remembers what its ``fit`` got."""

    def fit(self, X, y, groups=None, time=None, sample_weight=None):
        self.got_ = {"rows": X[:, 0], "groups": groups, "time": time, "weights": sample_weight}
        return self


def part(rows, **given):
    table, structure = read_structure(X, given.pop("groups", None), given.pop("time", None))
    options = fit_options(Recorder(), structure, given)
    return fitted_part(Recorder(), table, Y, rows, options, Structure(structure.labels, structure.order)).got_


def test_a_part_has_its_own_groups_times_and_weights():
    rows = np.array([0, 1, 5, 9])
    got = part(rows, groups=GROUPS, time=np.arange(12)[::-1], sample_weight=X[:, 0])
    np.testing.assert_array_equal(got["rows"], rows)
    assert len(np.unique(got["groups"])) == 3
    assert got["groups"][0] == got["groups"][1] != got["groups"][2]
    assert (np.diff(got["time"]) < 0).all()
    np.testing.assert_array_equal(got["weights"], rows)


def test_a_single_group_or_time_is_left_out():
    got = part(np.arange(4), groups=GROUPS, time=np.repeat([1, 2, 3], 4))
    assert got["groups"] is None
    assert got["time"] is None


def test_an_estimator_that_takes_no_groups_gets_none():
    assert fit_options(LinearRegression(), read_structure(X, GROUPS, None)[1], {}) == {}
