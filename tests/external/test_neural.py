"""The two neural families: deep ensemble and CARD-style diffusion."""

import numpy as np
import optuna
import pytest
import torch
from benchmarks.families import FAMILIES
from benchmarks.families.card import Schedule
from benchmarks.families.deep_ensemble import MEMBERS, SMALLEST_VARIANCE

from tests.benchmarks.family_checks import SEEDS, check_determinism, check_distribution, draw, fitted

PARAMS = {
    "deep_ensemble": {"hidden_size": 64, "n_layers": 2, "learning_rate": 5e-3, "max_epochs": 60},
    "card": {
        "hidden_size": 64,
        "n_layers": 2,
        "learning_rate": 5e-3,
        "max_epochs": 60,
        "diffusion_epochs": 80,
        "n_steps": 50,
    },
}
CHEAP = {"deep_ensemble": {"max_epochs": 1}, "card": {"max_epochs": 1, "diffusion_epochs": 1, "n_steps": 50}}


@pytest.mark.parametrize("name", PARAMS)
def test_they_recover_a_heteroscedastic_distribution(name):
    check_distribution(fitted(name, PARAMS[name]), factor=1.15, scale_ratio=1.8)


@pytest.mark.parametrize("name", PARAMS)
def test_they_are_deterministic_and_leave_pytorch_as_it_was(name):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    check_determinism(name, PARAMS[name] | {"max_epochs": 5})
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("name", PARAMS)
def test_suggested_configurations_build_and_fit(name):
    assert FAMILIES[name].available()
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    X, y = draw(60, seed=3)
    for _ in range(5):
        params = FAMILIES[name].suggest(study.ask())
        model = FAMILIES[name].build(params | CHEAP[name], SEEDS, 1).fit(X, y)
        assert model.sample(X[:4], 6).shape == (6, 4)
        network = model.networks if name == "deep_ensemble" else model.noise
        assert len(network.weights) == params["n_layers"] + 1
        assert network.weights[0].shape[-1] == params["hidden_size"]


def test_ensemble_samples_are_the_mixture():
    model = fitted("deep_ensemble", PARAMS["deep_ensemble"] | {"max_epochs": 10})
    X, _ = draw(25, seed=4)
    mean, variance = model.distributions(X)
    assert mean.shape == variance.shape == (MEMBERS, 25)
    assert np.all(variance > SMALLEST_VARIANCE)
    assert np.all(mean.std(axis=0) > 0.0)  # members differ
    samples = model.sample(X, 5000)
    total = variance.mean(axis=0) + mean.var(axis=0)
    # errors of a mean and a variance of 5000 draws (a mixture's kurtosis is near 3), at six standard deviations
    assert np.all(np.abs(samples.mean(axis=0) - mean.mean(axis=0)) < 6.0 * np.sqrt(total / 5000))
    assert np.all(np.abs(samples.var(axis=0) / total - 1.0) < 6.0 * np.sqrt(3.0 / 5000))


def test_ensemble_distributions_do_not_depend_on_the_batch():
    model = fitted("deep_ensemble", PARAMS["deep_ensemble"] | {"max_epochs": 2}, n=100)
    X, _ = draw(9000, seed=4)  # more than one block
    mean, variance = model.distributions(X)
    few = model.distributions(X[8500:8510])
    np.testing.assert_allclose(mean[:, 8500:8510], few[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(variance[:, 8500:8510], few[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_steps", [50, 100, 200])
def test_the_schedule_ends_in_noise(n_steps):
    schedule = Schedule.cosine(n_steps)
    assert np.all(np.diff(schedule.alpha_bar) < 0.0)
    assert np.all((schedule.beta > 0.0) & (schedule.beta < 1.0))
    assert schedule.keep[-1] < 2.0 / n_steps  # what is left of the data when sampling begins without it


@pytest.mark.parametrize("n_steps", [50, 200])
def test_reverse_steps_with_the_posteriors_variance_would_retrace_the_forward_process(n_steps):
    # for r_0 known, r_k ~ N(keep_k r_0, level_k^2); the step's mean and the posterior's variance take k to k - 1
    schedule = Schedule.cosine(n_steps)
    keep, level = schedule.keep, schedule.level
    for k in range(1, n_steps):
        a, b, c = schedule.reverse(k)
        posterior = schedule.beta[k] * level[k - 1] ** 2 / level[k] ** 2
        np.testing.assert_allclose(a + b * keep[k], keep[k - 1])
        np.testing.assert_allclose((b * level[k]) ** 2 + posterior, level[k - 1] ** 2)
        assert c**2 == pytest.approx(schedule.beta[k])
        assert c**2 >= posterior


def test_the_last_step_lands_on_the_residual():
    assert Schedule.cosine(50).reverse(0) == pytest.approx((1.0, 0.0, 0.0))


@pytest.mark.parametrize("n_steps", [50, 100, 200])
@pytest.mark.parametrize(("std", "tolerance"), [(1.0, 0.005), (0.5, 0.04), (0.1, 0.12)])
def test_with_the_exact_noise_of_a_normal_residual_its_variance_comes_back(n_steps, std, tolerance):
    # for r_0 ~ N(0, std^2) the best estimate of r_0 is linear in r_k, and so is every step
    schedule, variance = Schedule.cosine(n_steps), 1.0
    for k in reversed(range(n_steps)):
        a, b, c = schedule.reverse(k)
        keep, level = schedule.keep[k], schedule.level[k]
        estimate = keep * std**2 / (keep**2 * std**2 + level**2)
        variance = (a * estimate + b) ** 2 * variance + c**2
    np.testing.assert_allclose(variance / std**2, 1.0, atol=tolerance)


def test_card_samples_scatter_around_its_mean_at_its_scale():
    X, y = draw(300, seed=4)
    model = FAMILIES["card"].build(PARAMS["card"], SEEDS, 1).fit(X, y)
    with torch.inference_mode():
        mean = model.mean(torch.from_numpy(X).float()[None])[0, :, 0].double().numpy()
    samples = model.sample(X, 100)
    assert np.mean(np.abs(samples.mean(axis=0) - mean)) < model.scale < y.std()
    assert 0.3 * model.scale < samples.std(axis=0).mean() < 1.5 * model.scale


def test_card_blocks_are_not_seen_from_outside(monkeypatch):
    X, y = draw(100, seed=4)
    model = FAMILIES["card"].build(PARAMS["card"] | {"max_epochs": 3, "diffusion_epochs": 3}, SEEDS, 1).fit(X, y)
    monkeypatch.setattr("benchmarks.families.card.BLOCK", 50)  # blocks of two rows
    blocks = model.sample(X[:7], 25)
    assert blocks.shape == (25, 7)
    assert np.isfinite(blocks).all()
    monkeypatch.setattr("benchmarks.families.card.BLOCK", 10)  # fewer than the samples of a row
    assert model.sample(X[:3], 25).shape == (25, 3)
