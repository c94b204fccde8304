"""Every table gets finite predictions in its order, or an error that names the argument."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffgbm

from .attempts import Refusal, attempt, small, values_of, watched
from .conftest import profile
from .strategies import fingerprint, numbers, responses, tables

SAMPLES = 3


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    """Compile kernels before output is checked."""
    X = np.arange(8.0)[:, None]
    for d in (1, 2):
        model = small().fit(X, np.repeat(X, d, axis=1))
        model.sample(X, 2)
        model.predict(X)


@st.composite
def problems(draw):
    """A table of 0 to 30 rows, its response and the other arguments of ``fit``."""
    n = draw(st.integers(0, 2)) if draw(st.integers(0, 9)) == 0 else draw(st.integers(2, 30))
    arguments = {}
    if draw(st.integers(0, 5)) == 0:
        arguments["cat_idx"] = draw(st.sampled_from([[], [0], (1,), [0, 1], [9], 0, "a", [True], np.array([0])]))
    if draw(st.integers(0, 5)) == 0:
        weights = [np.ones(n), np.zeros(n), numbers(n, 0) ** 2, numbers(n, 0), np.ones(n + 1), [1e300] * n, "w"]
        arguments["sample_weight"] = draw(st.sampled_from(weights))
    # an error in one must not hide an error in the other
    strange = draw(st.sampled_from([(False, False), (False, False), (True, False), (False, True)]))
    return draw(tables(n, strange[0])), draw(responses(n, strange[1])), arguments


def length(X):
    """Number of rows of any table."""
    if isinstance(X, pl.LazyFrame):
        return len(X.collect())
    return X.shape[0] if hasattr(X, "shape") else len(X)


def assert_answers(model, X, n):
    """All predictions are finite and have the right shape; quantiles do not cross."""
    d = () if model.model_.response.is_1d else (model.model_.n_responses,)
    width = d[0] if d else 1
    mean = model.predict(X)
    assert mean.shape == (n, *d)
    samples = model.sample(X, SAMPLES, seed=1)
    assert samples.shape == (SAMPLES, n, *d)
    quantiles = values_of(model.predict_quantiles(X)).reshape(n, width, 3)
    assert (np.diff(quantiles) >= 0.0).all()
    ends = values_of(model.predict_interval(X)).reshape(n, width, 2)
    std = values_of(model.predict_std(X)).reshape(n, width)
    median = values_of(model.predict_median(X)).reshape(n, width)
    probability = values_of(model.predict_cdf(X, 0.0)).reshape(n, -1)
    assert ((probability >= 0.0) & (probability <= 1.0)).all()
    assert (std >= 0.0).all()
    for result in (mean, samples, quantiles, ends, std, median):
        assert np.isfinite(result).all()
    return samples


@given(problems())
@profile()
def test_fitting_and_predicting(capfd, tally, problem):
    X, y, arguments = problem
    before = fingerprint(X), fingerprint(y)
    with watched(capfd):
        try:
            model = attempt(lambda: small().fit(X, y, **arguments))
            assert_answers(model, X, length(X))
            tally["answered"] += 1
        except Refusal:
            tally["refused"] += 1
    assert (fingerprint(X), fingerprint(y)) == before


# --- rows of a known model ---------------------------------------------------------------------------------------

EXACT = ("float16", "float32", "float64", "longdouble", "int8", "int16", "int32", "int64", "Int8", "Int64", "Float32")
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame.reset_index(drop=True)),
    "lazy": lambda frame: pl.from_pandas(frame.reset_index(drop=True)).lazy(),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def houses(n, seed=0):
    """A table whose numbers are exact in every type."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": rng.integers(0, 100, n).astype(float),
            "rooms": rng.integers(1, 6, n),
            "town": pd.Categorical(rng.choice(["Zug", "Bern", "Ulm"], n)),
        }
    )


@pytest.fixture(scope="module")
def known():
    """A model of houses."""
    X = houses(60)
    y = X["size"] + 20.0 * (X["town"] == "Zug") + np.random.default_rng(1).standard_normal(60)
    return small(n_estimators=8).fit(X, y)


@st.composite
def representations(draw):
    """The same houses: in other rows, types, libraries and orders of columns, perhaps with a column more or less."""
    frame = houses(draw(st.integers(1, 30)), draw(st.integers(0, 99)))
    plain = frame.copy()
    changed = frame.astype({name: draw(st.sampled_from(EXACT)) for name in ("size", "rooms")})
    if draw(st.booleans()):
        towns = draw(st.permutations(["Zug", "Bern", "Ulm", "Wil"]))
        changed["town"] = pd.Categorical(changed["town"].astype(str), categories=towns)
    library = draw(st.sampled_from(sorted(LIBRARIES)))
    if library != "pandas":  # which have no such type
        narrow = {c: "float64" for c in changed if str(changed[c].dtype) in ("float16", "longdouble", "float128")}
        changed = changed.astype(narrow)
    order = draw(st.permutations(list(changed)))
    fault = draw(st.sampled_from(["none"] * 4 + ["fewer", "more", "renamed", "text"]))
    match fault:
        case "fewer":
            order = order[:2]
        case "more":
            changed["garden"], order = 1.0, [*order, "garden"]
        case "renamed":
            changed, order = changed.rename(columns={"size": "Size"}), [n.replace("size", "Size") for n in order]
        case "text":
            changed["size"] = changed["size"].astype(str) + " m"
    return plain, LIBRARIES[library](changed[order]), fault


@given(representations())
@profile()
def test_rows_of_any_library_have_the_same_distribution(known, capfd, tally, disguise):
    plain, rows, fault = disguise
    before = fingerprint(rows)
    with watched(capfd):
        if fault == "none":
            np.testing.assert_array_equal(known.predict(rows), known.predict(plain))
            np.testing.assert_array_equal(
                values_of(known.predict_quantiles(rows)), values_of(known.predict_quantiles(plain))
            )
            np.testing.assert_array_equal(known.sample(rows, 2, seed=3), known.sample(plain, 2, seed=3))
            tally["answered"] += 1
        else:
            for ask in (known.predict, known.predict_interval, lambda X: known.sample(X, 2), known.predict_std):
                with pytest.raises(Refusal):
                    attempt(lambda ask=ask: ask(rows))
            tally["refused"] += 1
    assert fingerprint(rows) == before


@given(st.data())
@profile()
def test_rows_that_have_nothing_to_do_with_the_model(known, capfd, tally, data):
    rows = data.draw(tables(data.draw(st.integers(0, 20))))
    before = fingerprint(rows)
    with watched(capfd):
        try:
            assert np.isfinite(attempt(lambda: known.predict(rows))).all()
            assert np.isfinite(known.sample(rows, 2)).all()
            tally["answered"] += 1
        except Refusal:
            tally["refused"] += 1
    assert fingerprint(rows) == before


# --- streams and reports -------------------------------------------------------------------------------------------

WORDS = {"predict": {}, "predict_quantiles": {}, "predict_std": {}, "predict_cdf": {"y": 0.0}}


@given(st.integers(2, 40), st.integers(1, 50), st.sampled_from(sorted(WORDS)), tables(25, strange=False))
@profile()
def test_a_stream_predicts_like_the_table(capfd, tally, n, size, method, X):
    y = np.random.default_rng(n).standard_normal(25)
    before = fingerprint(X)
    with watched(capfd):
        try:
            model = attempt(lambda: small().fit(X, y))
            blocks = attempt(lambda: list(diffgbm.stream(model, X, method, rows=size, **WORDS[method])))
        except Refusal:
            tally["refused"] += 1
        else:
            whole = getattr(model, method)(X, **WORDS[method])
            np.testing.assert_array_equal(np.concatenate([values_of(b) for b in blocks]), values_of(whole))
            tally["answered"] += 1
    assert fingerprint(X) == before


@given(tables(12, strange=False), responses(12, strange=False), st.booleans())
@profile()
def test_a_report_of_any_table(capfd, tally, X, y, with_train):
    before = fingerprint(X), fingerprint(y)
    with watched(capfd):
        try:
            model = attempt(lambda: small(n_estimators=2, n_steps=2).fit(X, y))
            limits = {"importance_rows": 4, "n_repeats": 1, "rows_shown": 3}
            result = attempt(lambda: diffgbm.report(model, X, y, y_train=y if with_train else None, **limits))
            assert result.html.startswith("<!DOCTYPE html>")
            assert len(result.facts.responses) == model.model_.n_responses
            for response in result.facts.responses:
                assert np.isfinite(response.model.crps)
            tally["answered"] += 1
        except Refusal:
            tally["refused"] += 1
    assert (fingerprint(X), fingerprint(y)) == before
