"""DiffGBMCV: its objective, its trials, how it resumes, and its predictions."""

import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import optuna
import pandas as pd
import pytest
from benchmarks.protocol import split
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import diffgbm
from diffgbm import DiffGBM, DiffGBMCV, metrics
from diffgbm.data.splits import paper_holdout
from diffgbm.tuning import studies, trials
from diffgbm.tuning.search_spaces import PUBLISHED_CORNER, SCORE_AXES, SCORE_PLUS_CORNER, SURFACE
from tests.conftest import toy
from tests.estimators.test_sklearn import EXPECTED_FAILURES

SMALL = {"n_estimators": 8, "n_repeats": 3, "early_stopping_rounds": None, "num_leaves": 7, "max_bin": 255}
LIGHT = {**SMALL, "residualize": "off"}
RESIDUALS = {**SMALL, "extra_residualizer_params": {"n_estimators": 10}}


def search(space="flow", **params) -> DiffGBMCV:
    """A search of four trials, of a fraction of a second each."""
    usual = {"n_trials": 4, "n_samples": 20, "estimator_params": LIGHT, "n_jobs": 1, "seed": 0}
    return DiffGBMCV(space, **{**usual, **params})


def chosen(fitted: DiffGBMCV) -> pd.DataFrame:
    """Return the arguments of the trials and their scores."""
    frame = pd.DataFrame(fitted.cv_results_)
    return frame.drop(columns=["trial", "params", "seconds"])


class Stop(BaseException):
    """Raised instead of an interruption; it does not count as a failed trial."""


@parametrize_with_checks(
    [search(n_trials=1, estimator_params={**RESIDUALS, "min_child_samples": 5})],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore::diffgbm._util.errors.DiffGBMWarning")
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# the objective


@pytest.mark.parametrize("n", [6, 50, 301])
def test_the_rows_held_out_are_the_papers_fold_0(n):
    train, test = paper_holdout(n, 0)
    np.testing.assert_array_equal(train, split(n, 0).train)
    np.testing.assert_array_equal(test, split(n, 0).test)


@pytest.mark.parametrize("n_samples", [25, None])
def test_the_score_is_the_crps_of_the_rows_held_out(n_samples):
    X, y = toy()
    weights = np.random.default_rng(1).uniform(size=len(y))
    objective = search(cv=3, n_samples=n_samples).objective(X, y, sample_weight=weights)
    found = objective.scores({**LIGHT, "subsample": 0.7})
    expected = []
    for k, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(X)):
        seeds = np.random.SeedSequence([0, k]).generate_state(2) >> 1
        model = DiffGBM(**LIGHT, subsample=0.7, n_jobs=1, seed=int(seeds[0]))
        model.fit(X[train], y[train], sample_weight=weights[train])
        if n_samples is None:
            each = model.predict_distribution(X[test]).crps(y[test])
        else:
            each = metrics.crps(model.sample(X[test], 25, seed=int(seeds[1])), y[test])
        expected.append(np.average(each, weights=weights[test]))
    np.testing.assert_array_equal(found, expected)


def test_several_responses_count_in_units_of_their_standard_deviations():
    X, y = toy(d=2)
    objective, other = (search(n_samples=None).objective(X, y * unit) for unit in (1.0, [1.0, 1000.0]))
    np.testing.assert_allclose(other.scores(LIGHT), objective.scores(LIGHT), rtol=1e-9)
    in_units = search(n_samples=None).objective(X, 1000.0 * y[:, 0]).scores(LIGHT)
    np.testing.assert_allclose(in_units, 1000.0 * search(n_samples=None).objective(X, y[:, 0]).scores(LIGHT))


def test_categories_are_scored_as_categories():
    X, y = toy()
    town = np.random.default_rng(2).choice(["a", "b", "c"], len(y))
    y = y + 3.0 * (town == "b")
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(town=pd.Categorical(town))
    codes = np.column_stack([X, np.searchsorted(["a", "b", "c"], town)])
    by_frame, by_codes = search().objective(frame, y), search().objective(codes, y, cat_idx=[3])
    assert by_frame.categorical == (3,)
    np.testing.assert_array_equal(by_frame.scores(LIGHT), by_codes.scores(LIGHT))
    assert by_frame.scores(LIGHT) != search().objective(codes, y).scores(LIGHT)


def test_the_objective_can_be_sent_to_another_process():
    X, y = toy(100)
    for name in ("score_flex", "flow_trig"):
        objective = search(name, estimator_params=RESIDUALS).objective(X, y)
        sent = pickle.loads(pickle.dumps(objective))
        values = [f(optuna.trial.FixedTrial({**PUBLISHED_CORNER})) for f in (objective, sent)]
        assert values[0] == values[1] > 0.0


@pytest.mark.parametrize(
    ("cv", "n_splits"),
    [
        (None, 1),
        (4, 4),
        (KFold(2), 2),
        ([(np.arange(0, 60), np.arange(60, 120))], 1),
        (list(GroupKFold(3).split(np.zeros(120), groups=np.arange(120) // 10)), 3),
    ],
)
def test_held_out_rows(cv, n_splits):
    fitted = search(cv=cv, n_trials=2).fit(*toy())
    splits = np.array([fitted.cv_results_[f"split{k}_crps"] for k in range(n_splits)])
    assert f"split{n_splits}_crps" not in fitted.cv_results_
    np.testing.assert_allclose(fitted.cv_results_["mean_crps"], splits.mean(axis=0))
    np.testing.assert_allclose(fitted.cv_results_["std_crps"], splits.std(axis=0))


# trials


def test_a_search_follows_the_conventions_of_scikit_learn():
    X, y = toy()
    fitted = search(cv=2, n_trials=5).fit(X, y)
    found = fitted.cv_results_
    assert len(pd.DataFrame(found)) == 5
    assert fitted.best_index_ == np.argmin(found["mean_crps"])
    assert fitted.best_score_ == found["mean_crps"].min() == fitted.study_.best_value
    assert found["rank_crps"][fitted.best_index_] == 1
    assert sorted(found["rank_crps"]) == [1, 2, 3, 4, 5]
    assert fitted.best_params_ == found["params"][fitted.best_index_]
    np.testing.assert_allclose(fitted.objective(X, y).scores(fitted.best_params_).mean(), fitted.best_score_)
    twin = DiffGBM(**fitted.best_params_, seed=0, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(fitted.best_estimator_.sample(X, 3, seed=1), twin.sample(X, 3, seed=1))
    assert fitted.best_params_["training_objective"] == "flow_matching"
    assert (found["error"] == "").all()
    assert clone(fitted).get_params() == fitted.get_params()


def test_fixed_arguments_are_not_searched():
    fitted = search("score_flex", n_trials=6).fit(*toy(60))
    searched = {name.removeprefix("param_") for name in fitted.cv_results_ if name.startswith("param_")}
    assert not searched & {*LIGHT, "residualizer"}
    assert searched >= {*SURFACE, "t_sampling", "score_parameterization"} - set(LIGHT)
    assert all(params.items() >= LIGHT.items() for params in fitted.cv_results_["params"])


def test_score_flex_starts_at_its_corners():
    fitted = search("score_flex", n_trials=3, estimator_params={"n_repeats": 3, "n_estimators": 8}).fit(*toy(100))
    published, score_plus, other = (trial.params for trial in fitted.study_.trials)
    kept = {"n_estimators": 3000}  # fixed, and so not chosen
    assert {**published, **kept} == PUBLISHED_CORNER
    assert {**score_plus, **kept} == SCORE_PLUS_CORNER
    assert {**other, **kept} not in (PUBLISHED_CORNER, SCORE_PLUS_CORNER)
    assert set(other) <= {*SURFACE, *SCORE_AXES}


def test_a_function_is_a_space():
    def leaves(trial):
        return {"num_leaves": trial.suggest_int("num_leaves", 3, 5)}

    fitted = search(leaves).fit(*toy(60))
    assert fitted.best_params_["num_leaves"] == LIGHT["num_leaves"]
    free = {name: value for name, value in LIGHT.items() if name != "num_leaves"}
    fitted = search(leaves, estimator_params=free).fit(*toy(60))
    assert set(fitted.cv_results_["param_num_leaves"]) <= {3, 4, 5}


def test_the_same_seed_makes_the_same_trials():
    X, y = toy()
    first, second = (search(n_trials=13).fit(X, y) for _ in range(2))  # ten are random, three are not
    pd.testing.assert_frame_equal(chosen(first), chosen(second), check_exact=True)
    other = search(n_trials=13, seed=1).fit(X, y)
    assert not chosen(first).equals(chosen(other))
    np.testing.assert_array_equal(first.sample(X[:5], 3, seed=0), second.sample(X[:5], 3, seed=0))


def failing(share):
    """A space of which trials of small learning rate cannot be fitted."""

    def space(trial):
        rate = trial.suggest_float("rate", 0.0, 1.0)
        if rate < share:
            raise RuntimeError(f"too slow: {rate:.3f}")
        return {"learning_rate": rate}

    return space


def test_trials_that_fail_do_not_stop_the_search():
    fitted = search(failing(0.5), n_trials=5).fit(*toy(60))
    scores, errors = fitted.cv_results_["mean_crps"], fitted.cv_results_["error"]
    assert np.isfinite(scores).sum() == 5
    assert 5 < len(scores) <= 10
    assert all(("too slow" in error) == np.isnan(score) for score, error in zip(scores, errors, strict=True))
    assert set(fitted.cv_results_["rank_crps"][np.isfinite(scores)]) == {1, 2, 3, 4, 5}


def test_at_most_twice_the_trials_are_attempted():
    study = optuna.storages.InMemoryStorage()
    with pytest.raises(ValueError, match=r"All 6 trials failed; the last: RuntimeError: too slow"):
        search(failing(2.0), n_trials=3, storage=study, study_name="s").fit(*toy(60))
    assert len(optuna.load_study(storage=study, study_name="s").trials) == 6


def test_time_ends_a_search(monkeypatch):
    ticks = iter(range(0, 10_000, 10))
    monkeypatch.setattr(trials, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    X, y = toy(60)
    assert len(search(n_trials=None, timeout=25.0).fit(X, y).study_.trials) == 3  # of 10 seconds each
    assert len(search(n_trials=2, timeout=25.0).fit(X, y).study_.trials) == 2
    fitted = search(n_trials=9, timeout=1e-9).fit(X, y)
    assert len(fitted.study_.trials) == 1
    assert list(fitted.cv_results_["seconds"]) == [10]


# resuming


def interrupting(number):
    """An objective that is interrupted in the trial of this number, once its choices are made."""
    score, count = trials.Objective.__call__, iter(range(1000))

    def interrupted(self, trial):
        if next(count) == number:
            self.arguments(trial)
            raise Stop
        return score(self, trial)

    return interrupted


@pytest.mark.parametrize(("kind", "number"), [("memory", 0), ("memory", 1), ("memory", 3), ("file", 1)])
def test_an_interrupted_search_resumes_with_the_same_trials(kind, number, tmp_path, monkeypatch):
    X, y = toy(60)
    expected = search("score_flex", n_trials=5).fit(X, y)
    storage = optuna.storages.InMemoryStorage() if kind == "memory" else tmp_path / "study.db"
    with monkeypatch.context() as patch:
        patch.setattr(trials.Objective, "__call__", interrupting(number))
        with pytest.raises(Stop):
            search("score_flex", n_trials=5, storage=storage).fit(X, y)
    fitted = search("score_flex", n_trials=5, storage=storage, seed=None).fit(X, y)
    pd.testing.assert_frame_equal(chosen(fitted), chosen(expected), check_exact=True)
    assert len(fitted.study_.trials) == 6
    again = search("score_flex", n_trials=5, storage=storage).fit(X, y)
    assert len(again.study_.trials) == 6
    longer = search("score_flex", n_trials=6, storage=storage).fit(X, y)
    assert len(longer.cv_results_["mean_crps"]) == 6


def left_running(storage, process) -> None:
    """Leave a running trial of index 0 behind, as a process that was killed does."""
    study = optuna.create_study(storage=storage, study_name="s", load_if_exists=True)
    trial = study.ask()
    trial.set_user_attr(studies.INDEX, 0)
    trial.set_user_attr("process", [studies.socket.gethostname(), process])


def test_trials_of_killed_processes_are_tried_again():
    X, y = toy(60)
    expected = search(n_trials=3).fit(X, y)
    storage = optuna.storages.InMemoryStorage()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left_running(storage, dead.pid)
    fitted = search(n_trials=3, storage=storage, study_name="s").fit(X, y)
    pd.testing.assert_frame_equal(chosen(fitted), chosen(expected), check_exact=True)
    for _ in range(2):  # three deaths at one index count as a failed trial
        left_running(storage, dead.pid)
    with studies.open_study(storage, "s") as study:
        study.close_abandoned()
        seconds = pytest.approx(sum(fitted.cv_results_["seconds"]))
        assert study.status() == studies.StudyStatus(3, 1, 0, seconds)


def test_a_study_is_shared_with_processes_that_live():
    X, y = toy(60)
    expected = search(n_trials=3).fit(X, y)
    storage = optuna.storages.InMemoryStorage()
    left_running(storage, studies.os.getpid())
    fitted = search(n_trials=2, storage=storage, study_name="s").fit(X, y)
    # index 0 is taken by the other process: this one makes the trials after it
    np.testing.assert_array_equal(fitted.cv_results_["param_subsample"], expected.cv_results_["param_subsample"][1:])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": None}, "begun with another n_samples:"),
        ({"estimator_params": {**LIGHT, "n_repeats": 2}}, "begun with another estimator_params:"),
        ({"cv": 3}, "begun with another table:"),
        ({"space": "flow_trig", "study_name": "diffgbm-flow"}, "begun with another space:"),
        ({"seed": 1}, "begun with seed=0; got seed=1"),
        ({"rows": 59}, "begun with another table:"),
    ],
)
def test_scores_that_cannot_be_compared_are_not_mixed(change, message):
    storage = optuna.storages.InMemoryStorage()
    X, y = toy(60)
    search(n_trials=1, storage=storage).fit(X, y)
    change = dict(change)
    rows = change.pop("rows", 60)
    with pytest.raises(ValueError, match=message):
        search(n_trials=1, storage=storage, **change).fit(X[:rows], y[:rows])


def test_a_file_that_is_not_a_study_is_named(tmp_path):
    (tmp_path / "s.db").write_text("not a data base, but long enough to be taken for one " * 50)
    with pytest.raises(ValueError, match=r"s\.db cannot be used to store a search: file is not a database"):
        search(storage=tmp_path / "s.db").fit(*toy(60))


# errors are raised at once


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"space": "cake"}, "space must be one of 'score_flex', 'flow', .*; got 'cake'"),
        ({"n_trials": 0}, "n_trials must be an integer >= 1"),
        ({"n_trials": None}, "set n_trials or timeout"),
        ({"timeout": 0.0}, "timeout must be a number of seconds > 0"),
        ({"n_samples": 1}, "n_samples must be an integer >= 2"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"cv": 1}, "cv must be an integer >= 2"),
        ({"cv": [(1, 2, 3)]}, "cv must be a number of folds, a splitter of scikit-learn or pairs of row numbers"),
        ({"cv": [([0, 1], [])]}, "rows on both sides"),
        ({"cv": []}, "at least one split"),
        ({"n_jobs": 0}, "n_jobs must be a non-zero integer"),
        ({"estimator_params": {"leaves": 3}}, "estimator_params must be one of .*; got 'leaves'"),
    ],
)
def test_wrong_arguments(params, message):
    with pytest.raises(ValueError, match=message):
        search(**params).fit(*toy(60))


def test_wrong_tables_make_no_trials():
    X, y = toy(60)
    storage = optuna.storages.InMemoryStorage()
    for words, message in (
        ((X, np.where(y > 0, y, np.nan)), "y must be finite"),
        ((X[:50], y), "same number of rows"),
        ((X[:5], y[:5]), "at least 6 rows; got n_samples=5"),
    ):
        with pytest.raises(ValueError, match=message):
            search(storage=storage).fit(*words)
    assert optuna.load_study(storage=storage, study_name="diffgbm-flow").trials == []


def test_optuna_is_needed_only_to_search():
    code = (
        "import sys; sys.modules['optuna'] = None\n"
        "import diffgbm, numpy as np\n"
        "search = diffgbm.DiffGBMCV()\n"
        "try: search.fit(np.zeros((9, 1)), np.arange(9.0))\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "This needs optuna, which is not installed: pip install optuna (or 'diffgbm[tune]').\n"


def test_optuna_is_quiet_and_left_as_it_was(capfd):
    optuna.logging.set_verbosity(optuna.logging.DEBUG)
    try:
        search(failing(0.5), n_trials=2).fit(*toy(60))
        assert capfd.readouterr() == ("", "")
        assert optuna.logging.get_verbosity() == optuna.logging.DEBUG
    finally:
        optuna.logging.set_verbosity(optuna.logging.INFO)


# predictions


def test_the_search_predicts_with_its_best_model(tmp_path):
    X, y = toy()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = search(n_trials=2).fit(frame, pd.Series(y, name="price"))
    best = fitted.best_estimator_
    np.testing.assert_array_equal(fitted.predict(frame), best.predict(frame))
    np.testing.assert_array_equal(fitted.crps(frame, y), best.crps(frame, y))
    pd.testing.assert_frame_equal(fitted.predict_interval(frame), best.predict_interval(frame))
    np.testing.assert_array_equal(
        fitted.sample(frame, 3, seed=0, first_row=2), best.sample(frame, 3, seed=0, first_row=2)
    )
    assert fitted.predict_distribution(frame).name == "price"
    assert fitted.recipe_ == best.recipe_
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    fitted.save(tmp_path / "m.dgbm")
    loaded = diffgbm.load(tmp_path / "m.dgbm")
    assert isinstance(loaded, DiffGBM)
    np.testing.assert_array_equal(loaded.sample(frame, 3, seed=0), best.sample(frame, 3, seed=0))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(frame), fitted.predict(frame))
    fitted.fit(X, y)
    assert not hasattr(fitted, "feature_names_in_")


def test_without_a_refit_there_is_no_model():
    X, y = toy(60)
    fitted = search(n_trials=1).fit(X, y).set_params(refit=False).fit(X, y)
    assert fitted.best_params_["flow_path"] == "vp"
    with pytest.raises(NotFittedError, match="refit=False"):
        fitted.predict(X)
    with pytest.raises(NotFittedError):
        search().predict_interval(X)
