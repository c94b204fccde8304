"""Trials of a search: failures, interruptions, seeds and the columns of results."""

import numpy as np
import pytest

from diffgbm._util.progress import SilentBar
from diffgbm.tuning.studies import Budget, StudyStatus, open_study
from diffgbm.tuning.trials import check_comparable, message_of, results, search, settle_seed
from tests.tuning.test_objective import objective


def searched(study, made, n_trials=4):
    search(study, made, Budget(n_trials), SilentBar())
    return results(study.optuna, made)


def test_results_are_columns_in_the_order_of_the_trials():
    with open_study(None, None) as study:
        made = objective()
        found = searched(study, made)
    assert found["trial"].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(found["mean_crps"], [made.scores(params).mean() for params in found["params"]])
    assert found["rank_crps"][np.argmin(found["mean_crps"])] == 1
    assert sorted(found["rank_crps"]) == [1, 2, 3, 4]
    splits = np.array([found[f"split{k}_crps"] for k in range(3)])
    np.testing.assert_allclose(found["std_crps"], splits.std(axis=0))
    np.testing.assert_array_equal(found["param_value"], [params["value"] for params in found["params"]])
    assert (found["error"] == "").all()


def test_a_failed_trial_has_its_message_and_no_score():
    def sometimes(trial):
        value = trial.suggest_float("value", 0.0, 1.0)
        if value < 0.8:
            raise RuntimeError("too small")
        return {"value": value}

    with open_study(None, None) as study:
        found = searched(study, objective(space=sometimes), 2)
        assert study.status().finite + study.status().failed <= 4
    failed = np.isnan(found["mean_crps"])
    assert failed.any()
    assert (found["error"][failed] == "RuntimeError: too small").all()
    assert (found["error"][~failed] == "").all()


def test_an_interruption_ends_the_search_and_does_not_count():
    def interrupt(trial):
        trial.suggest_float("value", 0.0, 1.0)
        raise KeyboardInterrupt

    with open_study(None, None) as study:
        with pytest.raises(KeyboardInterrupt):
            searched(study, objective(space=interrupt))
        assert study.status() == StudyStatus()
        assert [trial.user_attrs["abandoned"] for trial in study.optuna.trials] == [True]


def test_the_seed_is_that_of_the_study():
    with open_study(None, None) as study:
        assert settle_seed(study.optuna, 7) == 7
        assert settle_seed(study.optuna, None) == 7
        with pytest.raises(ValueError, match="was begun with seed=7; got seed=8"):
            settle_seed(study.optuna, 8)
    with open_study(None, None) as study:
        fresh = settle_seed(study.optuna, None)
        assert settle_seed(study.optuna, None) == fresh


def test_scores_of_other_data_are_not_mixed():
    with open_study(None, None) as study:
        check_comparable(study.optuna, objective())
        check_comparable(study.optuna, objective())
        with pytest.raises(ValueError, match="begun with another n_samples and another table: use another storage"):
            check_comparable(study.optuna, objective(n_samples=5, cv=2))


def test_messages_name_the_exception():
    assert message_of(ValueError("x")) == "ValueError: x"
