"""DiffGBM: weights, samples, units, fitting and progress bars."""

import re

import numpy as np
import pandas as pd
import pytest

from diffgbm import DiffGBM
from tests.conftest import tiny, toy

X, Y = toy()
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
RECIPES = ["published", "score_plus", "flow", "default"]


def draws(model, X, n=6, seed=4):
    return model.sample(X, n, seed=seed)


# weights


@pytest.mark.parametrize("recipe", ["published", "flow"])
def test_samples_follow_the_weights(recipe):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(400, 1))
    branch = rng.choice([-1.0, 1.0], 400)
    y = branch + 0.1 * rng.standard_normal(400)
    model = tiny(recipe, n_repeats=20, n_estimators=60, n_steps=20)

    def upper(weights):
        return np.mean(model.fit(x, y, sample_weight=weights).sample(x[:20], 50, seed=0) > 0.0)

    assert 0.4 < upper(None) < 0.6
    assert upper((branch > 0.0).astype(float)) > 0.97
    assert upper((branch < 0.0).astype(float)) < 0.03
    assert 0.65 < upper(np.where(branch > 0.0, 3.0, 1.0)) < 0.85


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("patience", [None, 5])
def test_rows_of_zero_weight_are_ignored(recipe, patience):
    w = np.ones(240)
    w[::2] = 0.0
    x, y = toy(240)
    wild = np.where(w > 0.0, y, 1e6)
    model = tiny(recipe, early_stopping_rounds=patience, n_steps=4)
    with_them = draws(model.fit(x, wild, sample_weight=w), x)
    np.testing.assert_allclose(with_them, draws(model.fit(x[1::2], y[1::2], sample_weight=w[1::2]), x), rtol=1e-9)


def test_equal_weights_change_nothing():
    """The factor is one because LightGBM's leaves have a minimum weight."""
    np.testing.assert_allclose(
        draws(tiny().fit(X, Y, sample_weight=np.ones(120)), X), draws(tiny().fit(X, Y), X), rtol=1e-6, atol=1e-6
    )


# samples


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_seed_decides(recipe):
    models = [tiny(recipe, n_steps=4, seed=seed).fit(X, Y) for seed in (0, 0, 1)]
    first, same, other = (draws(m, X) for m in models)
    np.testing.assert_array_equal(first, same)
    assert not np.allclose(first, other)
    assert not np.allclose(first, draws(models[0], X, seed=5))
    assert not np.array_equal(models[0].sample(X, 3), models[0].sample(X, 3))


@pytest.mark.parametrize("recipe", ["published", "flow"])
def test_threads_do_not_matter(recipe):
    one, two = (tiny(recipe, n_jobs=jobs, n_steps=4).fit(X, Y) for jobs in (1, 2))
    np.testing.assert_array_equal(draws(one, X), draws(two, X))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("name", ["flow_model", "sde_model", "two_responses"])
def test_more_rows_and_more_samples_extend_the_samples(name, request):
    model = request.getfixturevalue(name)
    many = draws(model, X, n=8)
    # several responses: the order in which leaves are added may depend on how many samples there are
    tolerance = 0.0 if many.ndim == 2 else 1e-12
    np.testing.assert_allclose(draws(model, X[:7], n=8), many[:, :7], rtol=tolerance)
    np.testing.assert_allclose(draws(model, X, n=3), many[:3], rtol=tolerance)


@pytest.mark.parametrize("name", ["flow_model", "sde_model", "two_responses"])
def test_rows_and_samples_are_different_draws(name, request):
    model = request.getfixturevalue(name)
    same_row = np.repeat(X[:1], 5, axis=0)
    values = draws(model, same_row, n=5).reshape(5, 5, -1)[..., 0]
    assert len(np.unique(values)) == 25


@pytest.mark.parametrize("name", ["flow_model", "sde_model", "two_responses"])
def test_predict_depends_on_the_row_alone(name, request):
    model = request.getfixturevalue(name)
    mean = model.predict(X)
    np.testing.assert_array_equal(model.predict(X), mean)
    order = np.random.default_rng(0).permutation(120)
    for rows in (order, slice(30, 33), [5], [0] * 70):
        np.testing.assert_array_equal(model.predict(X[rows]), mean[rows])


@pytest.mark.parametrize("name", ["flow_model", "sde_model", "two_responses"])
def test_predict_is_the_mean_of_the_samples(name, request):
    model = request.getfixturevalue(name)
    samples = model.sample(X[:5], 2000, seed=0)
    error = samples.std(axis=0) / np.sqrt(2000)
    fixed = samples.std(axis=0) / np.sqrt(256)  # predict uses a few hundred points
    assert (np.abs(model.predict(X[:5]) - samples.mean(axis=0)) < 4.0 * (error + fixed)).all()


def test_predict_accepts_a_number_of_points(flow_model):
    few, many = (flow_model.predict(X[:9], max_samples=n) for n in (8, 4096))
    assert not np.array_equal(few, many)
    np.testing.assert_allclose(flow_model.predict(X[:9], tol=0.1), flow_model.predict(X[:9]))
    std = flow_model.sample(X[:9], 200, seed=0).std(axis=0)
    assert (np.abs(flow_model.predict(X[:9]) - many) < 0.05 * std).all()


@pytest.mark.parametrize("recipe", RECIPES)
def test_score_is_the_share_of_variance_explained(recipe):
    x, y = toy(400)
    assert tiny(recipe, n_repeats=10, n_estimators=40, n_steps=10).fit(x, y).score(x, y) > 0.2


# scale


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("a", [2.0**-30, 2.0**40])
def test_powers_of_two_change_the_units_alone(recipe, a):
    model = tiny(recipe, n_steps=4)
    np.testing.assert_allclose(draws(model.fit(X, a * Y), X), a * draws(model.fit(X, Y), X), rtol=1e-12)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(("a", "b"), [(1e-9, 0.0), (1e12, 0.0), (3.0, 7.0), (1.0, -1000.0)])
def test_samples_move_with_the_response(recipe, a, b):
    """Rounding may move a value across the edge of a bin; the difference must be small."""
    model = tiny(recipe, n_steps=4)
    samples = draws(model.fit(X, Y), X)
    moved = draws(model.fit(X, a * Y + b), X)
    assert np.isfinite(moved).all()
    difference = np.abs((moved - b) / a - samples)
    assert np.median(difference) < 1e-6
    assert difference.mean() < 0.05 * samples.std()


# fitting


def test_early_stopping_keeps_the_best_round():
    x, y = toy(200)
    model = tiny("flow", n_estimators=500, early_stopping_rounds=5, learning_rate=0.3).fit(x, y)
    assert 1 <= model.n_estimators_true[0] < 500
    assert model.boosters_[0].num_trees() == model.n_estimators_true[0]


def test_arguments_reach_lightgbm():
    model = tiny(
        num_leaves=5, max_depth=3, learning_rate=0.07, max_bin=63, min_child_samples=9, subsample=0.5, subsample_freq=1
    ).set_params(subsample_for_bin=1000, extra_lightgbm_params={"lambda_l2": 3.5, "max_bin": 31})
    text = model.fit(X, Y).boosters_[0].model_to_string()
    for line in (
        "[num_leaves: 5]",
        "[max_depth: 3]",
        "[learning_rate: 0.07]",
        "[max_bin: 31]",
        "[min_data_in_leaf: 9]",
        "[bagging_fraction: 0.5]",
        "[bagging_freq: 1]",
        "[bin_construct_sample_cnt: 1000]",
        "[lambda_l2: 3.5]",
    ):
        assert line in text


def test_residualizer_is_used_and_undone():
    x, y = toy(200)
    plain, with_first_stage = (tiny("flow", residualize=mode).fit(x, y) for mode in ("off", "mean_scale"))
    assert plain.model_.first_stage is None
    assert with_first_stage.model_.first_stage.log_scale is not None
    for model in (plain, with_first_stage):
        samples = model.sample(x, 20, seed=0)
        assert abs(samples.mean() - y.mean()) < 0.3
        assert 0.5 < samples.std() / y.std() < 1.5


def test_engines_agree():
    one, other = (tiny("flow", engine=engine).fit(X, Y) for engine in ("auto", "lightgbm"))
    np.testing.assert_allclose(draws(one, X), draws(other, X), rtol=1e-9, atol=1e-9)


def test_numpy_integers_are_integers():
    model = tiny(n_repeats=np.int64(3), n_estimators=np.int32(5), seed=np.int64(1), n_jobs=np.int64(1)).fit(X, Y)
    assert model.sample(X, np.int64(2), seed=np.int64(0), n_steps=np.int64(2)).shape == (2, 120)


def test_without_a_seed_every_fit_differs():
    assert not np.array_equal(*(tiny(seed=None).fit(X, Y).predict(X) for _ in range(2)))


def test_every_argument_is_documented():
    for name in DiffGBM().get_params():
        assert name in DiffGBM.__doc__


# progress bars


@pytest.mark.parametrize("recipe", RECIPES)
def test_verbose_0_prints_nothing_at_all(recipe, capfd, recwarn):
    constant = np.column_stack([np.ones(120), X[:, 0]])  # LightGBM has something to say about the first column
    for patience in (None, 5):
        model = tiny(recipe, early_stopping_rounds=patience, n_steps=3).fit(constant, Y)
        model.predict(constant)
        model.sample(constant, 2)
        model.sample(constant[:1], 2)
    tiny(recipe, residualize="off", n_steps=3).fit(constant[:10], Y[:10]).predict(constant)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    assert [str(w.message) for w in recwarn] == []


class Terminal:
    """A stderr that claims to be a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


def test_verbose_1_says_what_a_fit_does_and_shows_a_bar_for_sampling(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    model = tiny("flow", verbose=1, early_stopping_rounds=5, n_estimators=40).fit(X, Y)
    fitted = terminal.text
    assert "fit: fitting first-stage models (1 of 5 fits done)" in fitted
    assert "fit: boosting: round 1, validation loss" in fitted
    model.sample(X, 3)
    assert "sample: 100%" in terminal.text[len(fitted) :]
    assert "120/120" in terminal.text


@pytest.mark.parametrize(("mode", "fits"), [("off", 0), ("mean", 3), ("mean_scale", 6)])
def test_the_line_counts_to_the_end_and_never_beyond(monkeypatch, mode, fits):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("diffgbm._util.progress.BETWEEN", 0.0)
    tiny("flow", verbose=1, residualize=mode, residualize_k_folds=3, early_stopping_rounds=None).fit(X, Y)
    done = [(int(n), int(total)) for n, total in re.findall(r"\((\d+) of (\d+) fits done", terminal.text)]
    rounds = [(int(n), int(total)) for n, total in re.findall(r"round (\d+) of (\d+)", terminal.text)]
    assert (done[-1] if done else (0, 0)) == (fits, fits)
    assert rounds[-1] == (15, 15)
    assert all(n <= total for n, total in done + rounds)


def test_verbose_in_sample_alone(monkeypatch, flow_model):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    flow_model.sample(X, 3)
    assert terminal.text == ""
    flow_model.sample(X, 3, verbose=True)
    assert "sample: 100%" in terminal.text


def test_without_a_terminal_there_is_no_bar(capfd):
    tiny(verbose=1).fit(X, Y).sample(X, 2)
    assert capfd.readouterr() == ("", "")
