"""The objective: arguments of a trial, scores of held-out rows, and any estimator."""

import pickle
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pytest

from diffgbm.tuning.objective import Objective, Pinned, make_objective, space_of
from diffgbm.tuning.search_spaces import ALIASES, CORNERS, SPACES, space_names


@dataclass
class Constant:
    """A regressor whose samples all equal ``value``; its CRPS is the absolute error."""

    value: float = 0.0
    seed: int = 0
    n_jobs: int = 1
    verbose: int = 0
    repeats: str = "independent"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return asdict(self)

    def fit(self, X, y, cat_idx=None, sample_weight=None):
        return self

    def sample(self, X, n_samples, *, seed=None):
        return np.full((n_samples, len(X)), self.value)

    def crps(self, X, y):
        return np.abs(np.asarray(y) - self.value)


class LowestTrial:
    """A trial that chooses the first or lowest value and records the names."""

    def __init__(self):
        self.names, self.attributes = [], {}

    def suggest_int(self, name, low, high, *, log=False):
        self.names.append(name)
        return low

    def suggest_float(self, name, low, high, *, log=False):
        self.names.append(name)
        return low

    def suggest_categorical(self, name, choices):
        self.names.append(name)
        return choices[0]

    def set_user_attr(self, name, value):
        self.attributes[name] = value


def value_space(trial):
    return {"value": trial.suggest_float("value", 2.0, 5.0)}


X, Y = np.arange(24.0)[:, None], np.linspace(0.0, 1.0, 24)


def objective(**options) -> Objective:
    usual = {"cv": 3, "space": value_space, "fixed": None, "n_samples": None, "seed": 0, "n_jobs": 1, "owner": "Search"}
    return make_objective(Constant, X, Y, None, options.pop("weights", None), **{**usual, **options})


@pytest.mark.parametrize("n_samples", [None, 7])
def test_the_score_is_the_mean_crps_of_each_split(n_samples):
    made = objective(n_samples=n_samples)
    expected = [np.abs(Y[test] - 0.3).mean() for _, test in made.splits]
    np.testing.assert_allclose(made.scores({"value": 0.3}), expected, rtol=1e-12)


def test_weights_count_in_the_mean():
    weights = np.arange(1.0, 25.0)
    made = objective(weights=weights)
    expected = [np.average(np.abs(Y[test] - 0.3), weights=weights[test]) for _, test in made.splits]
    np.testing.assert_allclose(made.scores({"value": 0.3}), expected, rtol=1e-12)


def test_a_trial_gets_its_scores_and_their_mean():
    trial = LowestTrial()
    mean = objective()(trial)
    assert trial.names == ["value"]
    assert trial.attributes["splits"] == objective().scores({"value": 2.0}).tolist()
    assert mean == pytest.approx(np.mean(trial.attributes["splits"]))


def test_fixed_arguments_are_not_chosen():
    trial = LowestTrial()
    assert objective(fixed={"value": 0.5}).arguments(trial) == {"value": 0.5}
    assert trial.names == []
    pinned = Pinned(trial, {"a": 1})
    assert (pinned.suggest_int("a", 5, 9), pinned.suggest_int("b", 5, 9)) == (1, 5)
    assert (pinned.suggest_categorical("a", (5, 9)), pinned.suggest_categorical("c", (5, 9))) == (1, 5)
    with pytest.raises(ValueError, match=r"estimator_params must be one of 'value', .*; got 'leaves'"):
        objective(fixed={"leaves": 3})


def test_corners_are_those_of_the_space_without_fixed_arguments():
    made = objective(space="score_flex")
    assert made.corners() == CORNERS["score_flex_sde"]
    assert objective().corners() == ()
    differing = {name: 0 for name in made.corners()[1] if made.corners()[0].get(name) != made.corners()[1][name]}
    (left,) = replace(made, fixed=differing).corners()
    assert left == {name: value for name, value in made.corners()[0].items() if name not in differing}


def test_a_score_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="the CRPS is not finite"):
        objective().scores({"value": np.nan})


def test_it_can_be_sent_to_another_process():
    made = objective(space="flow")
    sent = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(sent.scores({"value": 0.3}), made.scores({"value": 0.3}))


@pytest.mark.parametrize("name", space_names())
def test_every_name_is_a_space(name):
    assert space_of(name) is SPACES[ALIASES.get(name, name)]
    assert space_of(value_space) is value_space
