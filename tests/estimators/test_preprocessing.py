"""A transformer before an automatic model: fitted inside folds, saved, loaded, refused where it cannot work."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler

import diffgbm
from diffgbm.estimators.preprocessing import FOLDS, structure_of
from diffgbm.reporting import report
from tests.auto.tiny_auto import TINY, auto, small_trees  # noqa: F401
from tests.conftest import toy


class LeakyMean(TransformerMixin, BaseEstimator):
    """Replaces the first column by the mean response of its value: of a rare value almost the response itself."""

    def fit(self, X, y):
        self.means_ = pd.Series(y).groupby(X[:, 0]).mean()
        self.overall_ = float(np.mean(y))
        return self

    def transform(self, X):
        return np.column_stack([pd.Series(X[:, 0]).map(self.means_).fillna(self.overall_), X[:, 1:]])


class Centred(TransformerMixin, BaseEstimator):
    """A transformer of somebody's, with numbers that a file can hold."""

    def fit(self, X, y=None):
        self.centre_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.centre_


def noise(n=240):
    """A column with two rows for each of its values, one of noise, and a response that depends on neither."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.permutation(n) // 2, rng.normal(size=n)]).astype(float), rng.normal(size=n)


def frame(n=160):
    X, y = toy(n)
    city = np.random.default_rng(1).choice(["a", "b", "c"], n)
    return pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "city": city}), pd.Series(y, name="price")


COLUMNS = ColumnTransformer([("numbers", StandardScaler(), ["x", "z"]), ("city", OneHotEncoder(), ["city"])])


@pytest.fixture(scope="module")
def fitted():
    X, y = frame()
    return auto(preprocess=COLUMNS).fit(X, y)


def test_a_leaking_transformer_does_not_make_held_out_scores_optimistic():
    X, y = noise()
    climatology = np.abs(y[:, None] - y[None, :]).mean() / 2.0
    outside = auto(repeats="independent").fit(LeakyMean().fit_transform(X, y), y)
    assert outside.oob_distribution_.crps(y[outside.oob_rows_]).mean() < 0.85 * climatology, "the leak is there"
    model = auto(repeats="independent", preprocess=LeakyMean()).fit(X, y)
    assert model.oob_distribution_.crps(y[model.oob_rows_]).mean() > 0.98 * climatology
    assert model.explain().startswith("The columns say little about y")


def test_held_out_rows_reach_no_transformer():
    seen = []

    class Spy(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(set(X[:, 0]))
            return super().fit(X, y, sample_weight)

    X, y = toy(120)
    model = auto(preprocess=Spy()).fit(X, y)
    everything = set(X[:, 0])
    assert [len(everything - rows) for rows in seen] == [30] * FOLDS
    assert set.union(*(everything - rows for rows in seen)) == everything
    np.testing.assert_array_equal(model.oob_rows_, np.arange(120))


def test_raw_columns_in_and_frames_out(fitted):
    X, _ = frame()
    assert fitted.feature_names_in_.tolist() == ["x", "z", "city"]
    assert fitted.n_features_in_ == 3
    interval = fitted.predict_interval(X[:7].set_index(np.arange(10, 17)), coverage=0.9)
    assert interval.index.tolist() == list(range(10, 17))
    shuffled = X[["city", "x", "z"]].assign(more=1.0)
    np.testing.assert_array_equal(fitted.predict(shuffled[:5]), fitted.predict(X[:5]))
    np.testing.assert_array_equal(fitted.predict(X[3:5]), fitted.predict(X)[3:5])
    assert fitted.sample(X[:4], 6, seed=0).shape == (6, 4)
    assert sum(fitted.weights_.values()) == pytest.approx(1.0)
    assert set(fitted.leaderboard_["fold"]) == set(range(FOLDS))
    assert fitted.response_names() == ("price",)


def test_the_model_learns(fitted):
    _, y = frame()
    climatology = np.abs(y.to_numpy()[:, None] - y.to_numpy()).mean() / 2.0
    assert fitted.oob_distribution_.crps(y.to_numpy()).mean() < 0.95 * climatology
    assert "It mixes 4 models, each fitted with its own copy of preprocess" in fitted.explain()


def test_uncertainty_and_novelty_of_raw_rows(fitted):
    X, _ = frame()
    found = fitted.predict_uncertainty(X[:6])
    np.testing.assert_allclose(found["total"], found["aleatoric"] + found["epistemic"])
    assert (found["epistemic"] > 0.0).all()
    assert (np.abs(np.sqrt(found["total"]) / fitted.predict_std(X[:6]) - 1.0) < 0.2).all()
    assert fitted.predict_novelty(X[:6].assign(x=1e6)).max() < 0.05
    with pytest.raises(TypeError, match=r"explain_rows have no answer with preprocess.*Transform X before fit"):
        fitted.explain_rows(X[:6])


def test_a_file_holds_the_transformers(fitted, tmp_path):
    X, _ = frame()
    fitted.save(tmp_path / "m.dgbm")
    loaded = diffgbm.load(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(loaded.predict_distribution(X[:9]).values, fitted.predict_distribution(X[:9]).values)
    assert loaded.explain() == fitted.explain()
    assert loaded.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
    pd.testing.assert_frame_equal(loaded.leaderboard_, fitted.leaderboard_)
    assert isinstance(loaded.preprocess, ColumnTransformer)
    assert not hasattr(clone(loaded), "preprocessed_")


def test_unknown_types_must_be_trusted(tmp_path):
    X, y = toy(60)
    model = auto(preprocess=Centred()).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    with pytest.raises(diffgbm.ModelFileError, match="Centred"):
        diffgbm.load(tmp_path / "m.dgbm")
    loaded = diffgbm.load(tmp_path / "m.dgbm", trusted=[Centred])
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_what_a_file_cannot_hold_is_refused_by_name(tmp_path):
    X, y = toy(60)
    model = auto(preprocess=FunctionTransformer(lambda rows: rows)).fit(X, y)
    with pytest.raises(TypeError, match="preprocess"):
        model.save(tmp_path / "n.dgbm")


@pytest.mark.parametrize(
    ("preprocess", "options", "message"),
    [
        ("scale", {}, "preprocess must be a transformer"),
        (StandardScaler, {}, "preprocess must be a transformer"),
        (StandardScaler(), {"time": np.arange(60)}, "preprocess does not work with time"),
        (StandardScaler(), {"cat_idx": [0]}, "cat_idx does not work with preprocess"),
    ],
)
def test_what_does_not_work_says_so(preprocess, options, message):
    X, y = toy(60)
    with pytest.raises((TypeError, ValueError), match=message):
        auto(preprocess=preprocess).fit(X, y, **options)


def test_errors_of_the_transformer_name_it(fitted):
    X, y = frame()
    with pytest.raises(ValueError, match="preprocess cannot be fitted"):
        auto(preprocess=StandardScaler()).fit(X, y)
    with pytest.raises(ValueError, match="preprocess cannot transform these rows"):
        fitted.predict(X[:3].assign(city="elsewhere"))
    with pytest.raises(ValueError, match="lacks columns that preprocess was fitted to: z"):
        fitted.predict(X.drop(columns="z"))
    with pytest.raises(ValueError, match="preprocess works with one response"):
        auto(preprocess=COLUMNS).fit(X, np.column_stack([y, y]))
    with pytest.raises(TypeError, match="preprocess changes"):
        report(fitted, X, y)
    with pytest.raises(TypeError, match="encode and explain_rows have no answer with preprocess"):
        fitted.encode(X)


def test_groups_weights_and_pipelines():
    X, y = toy(120)
    groups = np.repeat(np.arange(30), 4)
    pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(2))
    model = auto(preprocess=pipeline).fit(X, y, groups=groups, sample_weight=np.ones(120))
    assert "stay together in every split" in model.explain()
    assert np.isfinite(model.predict(X[:5])).all()
    with pytest.raises(ValueError, match="features, but preprocess was fitted to"):
        model.predict(X[:5, :2])
    model.set_params(preprocess=None).fit(X, y)
    assert not hasattr(model, "preprocessed_")


def test_copies_stay_together_also_with_text():
    X, y = frame(60)
    twice = pd.concat([X, X], ignore_index=True)
    labels = structure_of(twice, pd.concat([y, y]), None, "auto").labels
    np.testing.assert_array_equal(labels[:60], labels[60:])
    assert structure_of(X, y, None, "auto").labels is None


def test_intervals_cover_unseen_rows():
    X, y = toy(400)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = auto(TINY, preprocess=StandardScaler()).fit(X_train, y_train)
    low, high = np.asarray(model.predict_interval(X_test, coverage=0.9)).T
    assert 0.8 < np.mean((low <= y_test) & (y_test <= high)) <= 1.0
