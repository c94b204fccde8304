"""The base class: predictions are consistent, deterministic, independent of the batch, and agree with samples."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from diffgbm import AdaptiveConformal, ConformalDiffGBM, DiffGBM, JointDistribution, PredictiveDistribution
from diffgbm.estimators import base
from diffgbm.estimators.base import DistributionalRegressor
from tests.conftest import tiny, toy
from tests.exact import ks_limit

SAMPLERS = {
    "ode": ("flow", {}),
    "sde": ("default", {"n_steps": 20}),
    "published sde": ("published", {"n_steps": 15}),
    "interpolant": ("flow", {"velocity_stochasticity": 1.0, "n_steps": 15}),
    "stochastic heun": ("flow", {"velocity_stochasticity": 0.7, "sampler_method": "heun", "n_steps": 10}),
    "euler ode": ("score_plus", {"sampler_method": "euler", "n_steps": 15}),
}
X_TEST = toy(25, seed=5)[0]
Y_TEST = toy(25, seed=5)[1]


@pytest.fixture(scope="module", params=SAMPLERS)
def model(request) -> DiffGBM:
    """A fitted model of one response for each kind of sampler."""
    recipe, params = SAMPLERS[request.param]
    return tiny(recipe, **params).fit(*toy())


@pytest.fixture(scope="module", params=["flow", "published"])
def joint_model(request) -> DiffGBM:
    """A fitted model of two responses, by the ODE and by the SDE."""
    X, y = toy(d=2)
    y[:, 1] += 0.8 * y[:, 0]
    params = {"n_steps": 10} if request.param == "published" else {}
    return tiny(request.param, **params).fit(X, y)


def test_one_response(model):
    distribution = model.predict_distribution(X_TEST)
    assert isinstance(distribution, PredictiveDistribution)
    np.testing.assert_array_equal(model.predict(X_TEST), distribution.mean())
    np.testing.assert_array_equal(model.predict_median(X_TEST), distribution.median())
    np.testing.assert_array_equal(model.predict_std(X_TEST), distribution.std())
    np.testing.assert_array_equal(model.predict_quantiles(X_TEST, [0.1, 0.7]), distribution.quantile([0.1, 0.7]))
    np.testing.assert_array_equal(model.predict_quantiles(X_TEST, 0.3), distribution.quantile([0.3]))
    assert model.predict_quantiles(X_TEST).shape == (25, 3)
    for kind in ("central", "highest_density"):
        np.testing.assert_array_equal(model.predict_interval(X_TEST, 0.8, kind), distribution.interval(0.8, kind))
    np.testing.assert_array_equal(model.predict_cdf(X_TEST, 1.0), distribution.cdf(1.0))
    np.testing.assert_array_equal(model.predict_cdf(X_TEST, Y_TEST), distribution.pit(Y_TEST))
    np.testing.assert_array_equal(model.predict_cdf(X_TEST, [[0.0, 1.0]]), distribution.cdf([[0.0, 1.0]]))
    grid = Y_TEST[:, None] + [[-1.0, 0.0, 1.0]]
    np.testing.assert_array_equal(model.predict_cdf(X_TEST, grid), distribution.cdf(grid))
    np.testing.assert_array_equal(model.predict_dist(X_TEST).values, distribution.values)
    np.testing.assert_array_equal(model.crps(X_TEST, Y_TEST), distribution.crps(Y_TEST))
    assert model.compute_nll(X_TEST, Y_TEST) == pytest.approx(-distribution.logpdf(Y_TEST).sum(), rel=1e-12)
    for y in (Y_TEST[:, None], list(Y_TEST), pd.Series(Y_TEST), pl.Series(Y_TEST)):
        np.testing.assert_array_equal(model.crps(X_TEST, y), distribution.crps(Y_TEST))
        assert model.compute_nll(X_TEST, y) == pytest.approx(-distribution.logpdf(Y_TEST).sum(), rel=1e-12)


def test_two_responses(joint_model):
    X, y = toy(25, d=2, seed=5)
    distribution = joint_model.predict_distribution(X)
    assert isinstance(distribution, JointDistribution)
    assert distribution.names == ("y0", "y1")
    np.testing.assert_array_equal(joint_model.predict(X), distribution.mean())
    np.testing.assert_array_equal(joint_model.predict_median(X), distribution.median())
    np.testing.assert_array_equal(joint_model.predict_std(X), distribution.std())
    np.testing.assert_array_equal(joint_model.predict_quantiles(X, [0.1, 0.7]), distribution.quantile([0.1, 0.7]))
    np.testing.assert_array_equal(joint_model.predict_interval(X, 0.8), distribution.interval(0.8))
    np.testing.assert_array_equal(joint_model.predict_cdf(X, [0.0, 1.0]), distribution.cdf([0.0, 1.0]))
    np.testing.assert_array_equal(joint_model.predict_cdf(X, y), distribution.pit(y))
    np.testing.assert_array_equal(joint_model.crps(X, y), distribution.crps(y))
    assert joint_model.compute_nll(X, y) == pytest.approx(-distribution.logpdf(y).sum(), rel=1e-12)
    assert np.all(np.diff(joint_model.predict_quantiles(X, np.linspace(0.0, 1.0, 21)), axis=-1) >= 0.0)


def test_quantiles_never_cross(model):
    quantiles = model.predict_quantiles(X_TEST, np.linspace(0.0, 1.0, 101))
    assert np.all(np.diff(quantiles, axis=1) >= 0.0)


# independent of the rest of the call


def answers(model, X, y):
    distribution = model.predict_distribution(X)
    return [
        distribution.values if isinstance(distribution, PredictiveDistribution) else distribution.points,
        model.predict(X),
        model.predict_quantiles(X),
        model.predict_interval(X, 0.8, "highest_density"),
        model.predict_std(X),
        model.predict_cdf(X, y),
        model.crps(X, y),
    ]


def test_the_same_every_time(model):
    for first, second in zip(answers(model, X_TEST, Y_TEST), answers(model, X_TEST, Y_TEST), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("rows", [[3], [0, 24, 7], list(range(24, -1, -1))], ids=["one", "some", "reversed"])
def test_independent_of_the_batch(model, rows):
    whole = answers(model, X_TEST, Y_TEST)
    for part, full in zip(answers(model, X_TEST[rows], Y_TEST[rows]), whole, strict=True):
        np.testing.assert_array_equal(part, full[rows])


def test_independent_of_the_batch_for_two_responses(joint_model):
    X, y = toy(25, d=2, seed=5)
    rows = [8, 1, 20]
    for part, full in zip(answers(joint_model, X[rows], y[rows]), answers(joint_model, X, y), strict=True):
        np.testing.assert_array_equal(part, full[rows])


@pytest.mark.parametrize("size", [1, 7, 25])
def test_independent_of_the_blocks(model, monkeypatch, size):
    whole, nll = answers(model, X_TEST, Y_TEST), model.compute_nll(X_TEST, Y_TEST)
    shared = model.predict_cdf(X_TEST, [[0.0, 1.0]])
    monkeypatch.setattr(base, "ROWS_AT_ONCE", size)
    for part, full in zip(answers(model, X_TEST, Y_TEST), whole, strict=True):
        np.testing.assert_array_equal(part, full)
    assert model.compute_nll(X_TEST, Y_TEST) == pytest.approx(nll, rel=1e-12)
    np.testing.assert_array_equal(model.predict_cdf(X_TEST, [[0.0, 1.0]]), shared)


@pytest.mark.parametrize("size", [1, 7])
def test_independent_of_the_blocks_for_two_responses(joint_model, monkeypatch, size):
    X, y = toy(25, d=2, seed=5)
    whole, nll = answers(joint_model, X, y), joint_model.compute_nll(X, y)
    shared = joint_model.predict_cdf(X, [0.0, 1.0])
    monkeypatch.setattr(base, "ROWS_AT_ONCE", size)
    for part, full in zip(answers(joint_model, X, y), whole, strict=True):
        np.testing.assert_array_equal(part, full)
    assert joint_model.compute_nll(X, y) == pytest.approx(nll, rel=1e-12)
    np.testing.assert_array_equal(joint_model.predict_cdf(X, [0.0, 1.0]), shared)


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2024-01-01", periods=25, tz="UTC", name="day"),
        pd.MultiIndex.from_product([range(5), list("abcde")], names=["i", "j"]),
    ],
    ids=["dates", "multi"],
)
def test_blocks_keep_the_index(flow_model, two_responses, monkeypatch, index):
    monkeypatch.setattr(base, "ROWS_AT_ONCE", 7)
    frame = pd.DataFrame(X_TEST, index=index)
    for model in (flow_model, two_responses):
        distribution = model.predict_distribution(frame)
        pd.testing.assert_index_equal(distribution.index, index, exact="equiv")
        pd.testing.assert_index_equal(distribution.to_frame().index, index, exact="equiv")
        assert list(distribution[3].index) == [index[3]]


@pytest.mark.parametrize("size", [2, 8192])
def test_observations_of_another_length_are_refused(flow_model, two_responses, monkeypatch, size):
    monkeypatch.setattr(base, "ROWS_AT_ONCE", size)
    X, y = toy(5)
    _, y2 = toy(5, d=2)
    for wrong in (np.concatenate([y, y]), y[:4], y[:2]):
        for ask in (flow_model.crps, flow_model.compute_nll, flow_model.predict_cdf):
            with pytest.raises(ValueError, match="5 rows"):
                ask(X, wrong)
    for wrong in (np.concatenate([y2, y2]), y2[:4]):
        for ask in (two_responses.crps, two_responses.compute_nll, two_responses.predict_cdf):
            with pytest.raises(ValueError, match="5 rows"):
                ask(X, wrong)
    with pytest.raises(ValueError, match="one observation"):
        flow_model.compute_nll(X[:1], y[None])
    with pytest.raises(ValueError, match="finite"):
        flow_model.crps(X, np.where(np.arange(5) == 2, np.nan, y))


def test_number_of_points(flow_model, sde_model):
    assert flow_model.predict_distribution(X_TEST).values.shape == (25, 256)
    assert sde_model.predict_distribution(X_TEST).values.shape == (25, 144)
    assert flow_model.predict_distribution(X_TEST, grid=64).values.shape == (25, 64)
    assert flow_model.predict_distribution(X_TEST, n_samples=50, bandwidth=1.0).values.shape == (25, 50)
    np.testing.assert_array_equal(
        flow_model.predict(X_TEST, max_samples=64), flow_model.predict_distribution(X_TEST, grid=64).mean()
    )
    for grid in (1, 0, 2.5, "fine"):
        with pytest.raises(ValueError, match="grid"):
            flow_model.predict_distribution(X_TEST, grid=grid)


# frames


@pytest.fixture(scope="module")
def frames():
    """The test rows as a pandas frame with labels and as a polars frame."""
    pandas = pd.DataFrame(X_TEST, columns=["a", "b", "c"], index=pd.Index([f"r{i}" for i in range(25)], name="id"))
    return pandas, pl.DataFrame(dict(pandas))


@pytest.fixture(scope="module")
def named() -> dict[int, DiffGBM]:
    """Models of one and two named responses, fitted on frames."""
    X, y = toy(d=2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    two = pd.DataFrame(y, columns=["height", "weight"])
    return {1: tiny().fit(frame, two["height"]), 2: tiny().fit(frame, two)}


def test_frames_of_one_response(named, frames):
    model, (pandas, polars) = named[1], frames
    distribution = model.predict_distribution(pandas)
    assert distribution.name == "height"
    pd.testing.assert_index_equal(distribution.index, pandas.index)
    pd.testing.assert_index_equal(distribution.to_frame().index, pandas.index)
    assert model.predict_distribution(polars).index is None
    for ask, columns in (
        (lambda X: model.predict_quantiles(X, [0.05, 0.5]), ["q0.05", "q0.5"]),
        (lambda X: model.predict_interval(X, 0.8), ["lower", "upper"]),
    ):
        one, other, plain = ask(pandas), ask(polars), ask(pandas).to_numpy()
        assert isinstance(one, pd.DataFrame)
        assert isinstance(other, pl.DataFrame)
        assert list(one.columns) == other.columns == columns
        pd.testing.assert_index_equal(one.index, pandas.index)
        np.testing.assert_array_equal(one.to_numpy(), plain)
        np.testing.assert_array_equal(other.to_numpy(), plain)
    y = pd.Series(Y_TEST, index=pandas.index)
    for ask, name in (
        (lambda X: model.predict_median(X), "median"),
        (lambda X: model.predict_std(X), "std"),
        (lambda X: model.predict_cdf(X, y), "cdf"),
        (lambda X: model.crps(X, y), "crps"),
    ):
        one, other = ask(pandas), ask(polars)
        assert isinstance(one, pd.Series)
        assert isinstance(other, pl.Series)
        assert one.name == other.name == name
        pd.testing.assert_index_equal(one.index, pandas.index)
        np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())
    np.testing.assert_array_equal(model.predict(pandas), distribution.mean())


def test_frames_of_two_responses(named, frames):
    model, (pandas, polars) = named[2], frames
    distribution = model.predict_distribution(pandas)
    assert distribution.names == ("height", "weight")
    pd.testing.assert_index_equal(distribution["weight"].index, pandas.index)
    interval = model.predict_interval(pandas, 0.8)
    assert list(interval.columns) == ["height_lower", "height_upper", "weight_lower", "weight_upper"]
    pd.testing.assert_index_equal(interval.index, pandas.index)
    np.testing.assert_array_equal(interval["weight_upper"], distribution["weight"].interval(0.8)[:, 1])
    quantiles = model.predict_quantiles(polars, [0.1, 0.9])
    assert quantiles.columns == ["height_q0.1", "height_q0.9", "weight_q0.1", "weight_q0.9"]
    np.testing.assert_array_equal(quantiles["height_q0.9"], distribution["height"].quantile(0.9))
    y = np.column_stack([Y_TEST, Y_TEST])
    for ask, name in (
        (lambda X: model.predict_median(X), "median"),
        (lambda X: model.predict_std(X), "std"),
        (lambda X: model.predict_cdf(X, y), "cdf"),
        (lambda X: model.crps(X, y), "crps"),
    ):
        one, other = ask(pandas), ask(polars)
        assert list(one.columns) == other.columns == [f"height_{name}", f"weight_{name}"]
        pd.testing.assert_index_equal(one.index, pandas.index)
        np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())
    np.testing.assert_array_equal(model.predict_median(pandas)["weight_median"], distribution["weight"].median())


# agreement with samples


def cdf_distance(distribution, samples):
    """Return the largest distance between the distribution function of one row and that of samples (n,)."""
    u = np.sort(np.concatenate([distribution.values[0], np.quantile(samples, np.linspace(0.0, 1.0, 501))]))
    return np.abs(
        distribution.cdf(u[None])[0] - np.searchsorted(np.sort(samples), u, side="right") / len(samples)
    ).max()


N_LONG = 50_000


def test_distributions_agree_with_long_monte_carlo(model):
    rows = X_TEST[:4]
    distribution = model.predict_distribution(rows)
    samples = model.sample(rows, N_LONG, seed=0)
    limit = 0.02 + ks_limit(N_LONG, 1e-4)
    for i in range(len(rows)):
        assert cdf_distance(distribution[i], samples[:, i]) < limit
    error = np.abs(distribution.mean() - samples.mean(axis=0)) / samples.std(axis=0)
    assert error.max() < 0.02 + 4.0 / np.sqrt(N_LONG)
    # the tails of so small a published model hold much of the variance
    np.testing.assert_allclose(
        distribution.std(), samples.std(axis=0), rtol=0.1 if model.residualize == "off" else 0.03
    )


def test_joint_distributions_agree_with_long_monte_carlo(joint_model):
    rows = X_TEST[:3]
    distribution = joint_model.predict_distribution(rows)
    samples = joint_model.sample(rows, N_LONG // 5, seed=0)
    # the noise of several responses is random, shared between rows: its error is that of its number of points
    random = not joint_model._steps({}).is_deterministic
    limit = 0.02 + ks_limit(N_LONG // 5, 1e-4) + (ks_limit(distribution.points.shape[1], 1e-3) if random else 0.0)
    for i in range(len(rows)):
        for j in range(2):
            assert cdf_distance(distribution.marginal(j)[i], samples[:, i, j]) < limit
        correlation = np.corrcoef(samples[:, i].T)[0, 1]
        assert distribution.correlation()[i, 0, 1] == pytest.approx(correlation, abs=0.2 if random else 0.07)


# what every estimator offers


class Normal(DistributionalRegressor):
    """The smallest estimator: one normal distribution for all rows."""

    def fit(self, X, y):
        self.model_ = tiny(residualize="off", n_estimators=1).fit(X, y).model_
        self.mean_, self.std_ = float(np.mean(y)), float(np.std(y))
        self._remember_columns()
        return self

    def fitted_models(self):
        return (self.model_,)

    def sample(self, X, n_samples, *, seed=None, first_row=0):
        return self.predict_distribution(X).sample(n_samples, seed, first_row)

    def _distribution_blocks(self, X, grid="auto", verbose=0):
        points = self.mean_ + self.std_ * ndtri((np.arange(400) + 0.5) / 400)
        for rows, labels in self._blocks(X, self.encode(X)):
            yield PredictiveDistribution.from_points(np.tile(points, (len(rows), 1)), "y", labels)


def test_a_subclass_needs_three_methods():
    X, y = toy()
    model = Normal().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-9)
    np.testing.assert_allclose(model.predict_std(X), y.std(), rtol=0.02)
    np.testing.assert_allclose(model.predict_cdf(X, y.mean()), 0.5, atol=1e-2)
    assert model.crps(X, y).shape == (len(y),)
    assert model.n_features_in_ == 3
    assert model.response_names() == ("y",)
    assert model.sample(X, 5, seed=0).shape == (5, len(y))
    assert model.score(X, y) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(TypeError, match="abstract"):
        DistributionalRegressor()
    with pytest.raises(TypeError, match=r"a model file cannot hold a .*Normal"):
        model.save("nowhere.dgbm")


@pytest.mark.parametrize("name", ["flow_model", "two_responses"])
def test_facts_of_a_fitted_model(name, request):
    model = request.getfixturevalue(name)
    d = len(model.response_names())
    facts = model.describe()
    assert list(facts) == ["model", "targets", "columns", "categories", "schema", "recipe", "trees"]
    assert (facts["model"], facts["columns"], facts["categories"]) == ("DiffGBM", ["0", "1", "2"], [])
    assert facts["targets"] == list(model.response_names()) == (["y"] if d == 1 else ["y0", "y1"])
    assert facts["trees"] == [15] * d
    assert model.fitted_models() == (model.model_,)
    assert model.calibration_responses() is None
    X, _ = toy(5)
    distribution = model.predict_distribution(X)
    np.testing.assert_array_equal(model.interval_of(distribution, X, 0.7), model.predict_interval(X, 0.7))


def test_threads_are_checked_and_set(flow_model):
    model = clone(flow_model)
    assert model.set_threads(2) is model
    assert model.n_jobs == 2
    with pytest.raises(ValueError, match="n_jobs must be a non-zero integer"):
        model.set_threads(0)


def test_arguments_of_sample_give_one_key():
    assert base.sample_key(3, 7, 0) == base.sample_key(5, 7, 9) != base.sample_key(3, 8, 0)
    for arguments in ((0, 1, 0), (1, -1, 0), (1, 1, -1)):
        with pytest.raises(ValueError, match="must be an integer"):
            base.sample_key(*arguments)


def test_several_intervals_at_once(flow_model, two_responses):
    X = toy()[0][:4]
    ends = flow_model.predict_interval(X, [0.5, 0.9])
    assert ends.shape == (4, 2, 2)
    for k, coverage in enumerate((0.5, 0.9)):
        np.testing.assert_array_equal(ends[:, k], flow_model.predict_interval(X, coverage))
    frame = pd.DataFrame(X, index=list("wxyz"))
    named = flow_model.predict_interval(frame, coverage=(0.5, 0.9))
    assert list(named) == ["lower_0.5", "upper_0.5", "lower_0.9", "upper_0.9"]
    np.testing.assert_array_equal(named.to_numpy().reshape(4, 2, 2), ends)
    assert two_responses.predict_interval(X, [0.5, 0.8, 0.9]).shape == (4, 2, 3, 2)
    names = list(two_responses.predict_interval(frame, [0.5, 0.9]))
    assert names[:4] == ["y0_lower_0.5", "y0_upper_0.5", "y0_lower_0.9", "y0_upper_0.9"]
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1, one number or a list"):
        flow_model.predict_interval(X, [0.5, 90])


@pytest.mark.parametrize("d", [None, 2])
def test_warm_up_of_every_estimator_leaves_predictions_as_they_are(d):
    X, y = toy(d=d)
    inner = tiny("flow")
    makes = (
        [inner]
        if d
        else [inner, ConformalDiffGBM(inner), ConformalDiffGBM(inner, method="cv"), AdaptiveConformal(inner)]
    )
    for make in makes:
        model = clone(make).fit(X, y)
        before = model.predict_interval(X_TEST)
        twin = pickle.loads(pickle.dumps(model)).warm_up()
        assert type(twin) is type(model)
        np.testing.assert_array_equal(twin.predict_interval(X_TEST), before)


def test_warm_up_needs_a_fitted_model():
    with pytest.raises(NotFittedError):
        tiny("flow").warm_up()
