"""Members of the real libraries: recognised, calibrated on held-out rows, in a pool, in a file or refused by name."""

import inspect

import numpy as np
import pytest
from catboost import CatBoostRegressor
from ngboost import NGBRegressor
from ngboost.distns import LogNormal
from quantile_forest import RandomForestQuantileRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from skpro.regression.residual import ResidualDouble
from xgboost import XGBRegressor

import diffgbm
from diffgbm.data.splits import bag_splits
from diffgbm.members.argument import read_members
from diffgbm.members.cross_fit import MemberTable, cross_fit
from diffgbm.members.member import ask
from diffgbm.persistence.archive import ModelFileError
from tests.auto.tiny_auto import LEAST, auto, small_trees  # noqa: F401

QUIET = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
LEVELS = np.round(np.arange(0.05, 0.96, 0.1), 2)
MEMBERS = {
    "catboost quantiles": (
        CatBoostRegressor(loss_function="MultiQuantile:alpha=" + ",".join(map(str, LEVELS)), iterations=150, **QUIET),
        "trained_quantiles",
    ),
    "catboost normal": (
        CatBoostRegressor(loss_function="RMSEWithUncertainty", iterations=150, **QUIET),
        "mean_and_variance",
    ),
    "catboost mean": (CatBoostRegressor(iterations=100, **QUIET), "regressor"),
    "ngboost": (NGBRegressor(n_estimators=80, verbose=False), "pred_dist"),
    "ngboost lognormal": (NGBRegressor(Dist=LogNormal, n_estimators=80, verbose=False), "pred_dist"),
    "quantile-forest": (RandomForestQuantileRegressor(n_estimators=40, min_samples_leaf=5), "quantiles"),
    "skpro": (ResidualDouble(RandomForestRegressor(20, min_samples_leaf=5), cv=None), "skpro"),
    "xgboost quantiles": (
        XGBRegressor(objective="reg:quantileerror", quantile_alpha=LEVELS, n_estimators=40, max_depth=3, n_jobs=1),
        "trained_quantiles",
    ),
    "scikit-learn": (GaussianProcessRegressor(RBF() + WhiteKernel(), normalize_y=True), "return_std"),
}


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, 20.0 + 10.0 * X[:, 0] + (0.3 + X[:, 1]) * rng.standard_normal(n)


@pytest.mark.parametrize("name", MEMBERS)
def test_held_out_distributions_are_calibrated(name):
    estimator, way = MEMBERS[name]
    (named,) = read_members([(name, estimator)])
    assert named.way == way
    X, y = data()
    splits = bag_splits(len(y), 2, 0.2, 0, True)
    found = cross_fit(named, MemberTable(X, y, None, (), splits), 89)
    points, held_out = np.concatenate(found.points)[:, :, 0], np.concatenate([rows for _, rows in splits])
    pit = np.mean(points <= y[held_out, None], axis=1)
    assert abs(pit.mean() - 0.5) < 0.1
    assert 0.55 < np.mean((pit > 0.05) & (pit < 0.95)) <= 1.0
    # better than the responses themselves
    crps = np.abs(points - y[held_out, None]).mean() - 0.5 * _mean_difference(points)
    assert crps < 0.6 * (np.abs(y[:, None] - y).mean() - 0.5 * np.abs(y[:, None] - y).mean())


def _mean_difference(points):
    return np.mean([np.abs(row[:, None] - row).mean() for row in points])


def test_they_pool_and_are_saved_or_refused_by_name(tmp_path):
    X, y = data()
    for name in ("catboost quantiles", "ngboost", "quantile-forest", "skpro", "xgboost quantiles"):
        model = auto(LEAST, members=[(name, MEMBERS[name][0])]).fit(X, y)
        if not model.pool_.outside:
            continue
        try:
            model.save(tmp_path / name)
        except TypeError as error:
            assert f"the member {name!r}" in str(error)  # noqa: PT017 - either of two outcomes
            continue
        with pytest.raises(ModelFileError, match="trusted=") as refused:
            diffgbm.load(tmp_path / name)
        types = [part.strip(" '") for part in str(refused.value).split("trusted=[")[1].split("]")[0].split(",")]
        loaded = diffgbm.load(tmp_path / name, trusted=types)
        np.testing.assert_allclose(loaded.predict(X[:9]), model.predict(X[:9]), rtol=1e-6)


def test_several_make_a_better_pool_than_each():
    X, y = data()
    names = ("catboost normal", "ngboost", "quantile-forest")
    model = auto(LEAST, members=[(name, MEMBERS[name][0]) for name in names]).fit(X, y)
    assert len(model.pool_.outside) >= 2
    X_new, y_new = data(1000, 1)
    pooled = model.predict_distribution(X_new)
    for member in model.pool_.outside:
        points = member.points(X_new, 100)[:, :, 0]
        alone = diffgbm.PredictiveDistribution.from_points(points)
        assert pooled.crps(y_new).mean() < 1.02 * alone.crps(y_new).mean()
    low, high = model.predict_interval(X_new, 0.9).T
    assert 0.8 < np.mean((low <= y_new) & (y_new <= high)) < 0.97


@pytest.fixture(scope="module")
def untrained(tmp_path_factory):
    """TabICL's network with random weights: its own weights cannot be downloaded here."""
    tabicl, torch = pytest.importorskip("tabicl"), pytest.importorskip("torch")
    from tabicl._model.tabicl import TabICL

    sizes = {"embed_dim": 16, "col_num_blocks": 1, "row_num_blocks": 1, "icl_num_blocks": 1, "col_num_inds": 8}
    heads = {"col_nhead": 2, "row_nhead": 2, "icl_nhead": 2, "row_num_cls": 2}
    config = {"max_classes": 0, "num_quantiles": 99, "zero_init": False, **sizes, **heads}
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("tabicl") / "weights.ckpt"
    torch.save({"config": config, "state_dict": TabICL(**config).state_dict()}, path)
    return tabicl.TabICLRegressor(model_path=str(path), allow_auto_download=False, n_estimators=1, device="cpu")


def test_tabicl_answers_as_its_way_expects(untrained):
    (named,) = read_members([untrained])
    assert named.way == "output_type"
    X, y = data(60)
    fitted = untrained.fit(X, y)
    for n in (1, 5, 99):
        levels, quantiles = ask("output_type", fitted, np.resize(X, (n, 3)))
        assert quantiles.shape == (n, len(levels))
        assert np.isfinite(quantiles).all()
    expected = fitted.predict(X[:5], output_type="quantiles", alphas=[0.5])
    np.testing.assert_allclose(ask("output_type", fitted, X[:5])[1][:, 49], np.ravel(expected), rtol=1e-5)


def test_tabpfn_has_the_arguments_that_its_way_expects():
    regressor = pytest.importorskip("tabpfn").TabPFNRegressor
    assert {"output_type", "quantiles"} <= set(inspect.signature(regressor.predict).parameters)
