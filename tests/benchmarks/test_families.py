"""The registry of families, their search spaces under Optuna, and the rows of this library."""

import json
import subprocess
import sys

import numpy as np
import optuna
import pytest
from benchmarks.families import FAMILIES, HEADLINE
from benchmarks.families.base import need, normal_samples
from benchmarks.protocol import Seeds
from optuna.distributions import CategoricalDistribution as OneOf
from optuna.distributions import FloatDistribution as Float
from optuna.distributions import IntDistribution as Int
from optuna.trial import FixedTrial

from tests.benchmarks.family_checks import SEEDS, check_determinism, check_distribution, draw, fitted

DIFFGBM_ROWS = ["published", "score_flex_sde", "score_flex_ode", "score_plus", "flow_vp", "flow_linear", "flow_trig"]
EXTERNAL = ["qreg_lightgbm", "catboost", "ngboost", "deep_ensemble", "ibug", "card"]

RATE = Float(0.001, 0.3, log=True)
NEURAL_RATE = Float(0.0001, 0.01, log=True)
PAPER = {
    "qreg_lightgbm": {
        "quantile_count": Int(24, 49),
        "n_estimators": Int(50, 500, log=True),
        "learning_rate": Float(0.02, 0.2, log=True),
        "num_leaves": Int(15, 127),
    },
    "catboost": {"iterations": Int(200, 3000, log=True), "learning_rate": RATE, "depth": Int(4, 10)},
    "ngboost": {"n_estimators": Int(200, 3000, log=True), "learning_rate": RATE},
    "deep_ensemble": {
        "hidden_size": OneOf((64, 128, 256, 512)),
        "n_layers": Int(2, 5),
        "learning_rate": NEURAL_RATE,
        "max_epochs": OneOf((100, 200, 400)),
    },
    "ibug": {
        "k": Int(10, 200, log=True),
        "n_estimators": Int(200, 2000, log=True),
        "learning_rate": RATE,
        "max_depth": Int(3, 10),
    },
    "card": {
        "hidden_size": OneOf((64, 128, 256)),
        "n_layers": Int(2, 5),
        "learning_rate": NEURAL_RATE,
        "max_epochs": OneOf((200, 400)),
        "diffusion_epochs": OneOf((200, 400)),
        "n_steps": OneOf((50, 100, 200)),
    },
}
"""The paper's table for the external families, as Optuna's distributions."""


@pytest.fixture
def study():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))


def test_the_registry_is_in_the_papers_order():
    assert list(FAMILIES) == DIFFGBM_ROWS + EXTERNAL
    assert all(family.name == name for name, family in FAMILIES.items())
    assert len(HEADLINE) == 9
    assert set(HEADLINE) <= set(FAMILIES)
    assert len({family.label for family in FAMILIES.values()}) == len(FAMILIES)


def test_trials_are_the_papers():
    assert {FAMILIES[name].n_trials for name in DIFFGBM_ROWS} == {40}
    assert {FAMILIES[name].n_trials for name in EXTERNAL} == {25}
    assert [name for name, family in FAMILIES.items() if family.corners] == ["score_flex_sde", "score_flex_ode"]
    assert [name for name, family in FAMILIES.items() if family.neural] == ["deep_ensemble", "card"]


def test_importing_the_registry_imports_no_competitor():
    code = "import sys, benchmarks.families; print(sorted(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for module in ("torch", "ngboost", "catboost", "xgboost", "optuna"):
        assert f"'{module}'" not in output
    assert "'benchmarks.families'" in output


@pytest.mark.parametrize("name", EXTERNAL)
def test_external_spaces_are_the_papers(name, study):
    for _ in range(20):
        trial = study.ask()
        params = FAMILIES[name].suggest(trial)
        assert trial.distributions == PAPER[name]
        assert params == trial.params
        assert json.loads(json.dumps(params)) == params


@pytest.mark.parametrize("name", DIFFGBM_ROWS)
def test_rows_build_and_repeat_from_what_optuna_stores(name, study):
    for _ in range(10):
        trial = study.ask()
        params = FAMILIES[name].suggest(trial)
        assert FAMILIES[name].suggest(FixedTrial(trial.params)) == params
        estimator = FAMILIES[name].build(params, SEEDS, 1).estimator
        assert {key: getattr(estimator, key) for key in params} == params
        assert (estimator.seed, estimator.n_jobs) == (SEEDS.model, 1)


@pytest.mark.parametrize("name", ["score_flex_sde", "score_flex_ode"])
def test_corners_are_tried_first_as_they_are(name, study):
    for corner in FAMILIES[name].corners:
        study.enqueue_trial(dict(corner))
    for corner in FAMILIES[name].corners:
        trial = study.ask()
        FAMILIES[name].suggest(trial)
        assert trial.params == corner


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("catboost", "catboost", "bench"),
        ("ngboost", "ngboost", "bench"),
        ("ibug", "xgboost", "bench"),
        ("deep_ensemble", "torch", "bench-neural"),
        ("card", "torch", "bench-neural"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, study, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)  # None in sys.modules makes the import fail
    family = FAMILIES[name]
    assert not family.available()
    with pytest.raises(ImportError, match=rf"needs {module}.*pip install 'diffgbm\[{extra}\]'"):
        family.build(family.suggest(study.ask()), SEEDS, 1)


def test_what_is_installed_is_available():
    assert all(FAMILIES[name].available() for name in [*DIFFGBM_ROWS, "qreg_lightgbm"])
    with pytest.raises(ImportError, match=r"diffgbm\[bench\]"):
        need("xgboost.no_such_part")


SMALL = {
    "n_estimators": 200,
    "learning_rate": 0.1,
    "num_leaves": 15,
    "max_depth": 4,
    "min_child_samples": 100,
    "subsample": 0.8,
    "max_bin": 255,
}
FLEX = {
    **SMALL,
    "score_parameterization": "edm",
    "noise_features": "raw_time",
    "t_sampling": "log_sigma_normal",
    "log_sigma_p_mean": -1.0,
    "log_sigma_p_std": 1.0,
    "loss_weighting": "min_snr",
    "min_snr_gamma": 3.0,
    "residualize": "mean",
    "residualizer": "A",
}


@pytest.mark.parametrize("name", DIFFGBM_ROWS)
def test_rows_recover_a_heteroscedastic_distribution(name):
    check_distribution(fitted(name, FAMILIES[name].suggest(FixedTrial(FLEX)), n=1500), factor=1.2)


@pytest.mark.parametrize("name", ["published", "score_flex_sde", "flow_vp"])
def test_rows_are_deterministic(name):
    check_determinism(name, FAMILIES[name].suggest(FixedTrial(FLEX)))


def test_a_rows_samples_have_the_samplers_seed_and_the_recipes_sampler():
    X, y = draw(120, seed=3)
    params = FAMILIES["flow_vp"].suggest(FixedTrial({**SMALL, "min_child_samples": 5}))
    model = FAMILIES["flow_vp"].build(params, Seeds(data=0, model=1, sampler=2), 1).fit(X, y)
    assert np.array_equal(model.sample(X[:5], 10), model.estimator.sample(X[:5], 10, seed=2, n_steps=5))


def test_normal_samples_have_their_distribution():
    mean, std = np.array([-3.0, 0.0, 5.0]), np.array([0.1, 1.0, 4.0])
    z = (normal_samples(mean, std, 4000, seed=0) - mean) / std
    # errors of a mean and a variance of 4000 draws, at five standard deviations
    assert np.all(np.abs(z.mean(axis=0)) < 5.0 / np.sqrt(4000))
    assert np.all(np.abs(z.var(axis=0) - 1.0) < 5.0 * np.sqrt(2.0 / 4000))
