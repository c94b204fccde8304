"""Regressors of scikit-learn: linear models and networks as arrays, any other by skops.

The library's own stacks hold ridge regressions and networks. Both are a few matrices, with which the same class
predicts the same numbers: they need no skops, and other versions of scikit-learn can read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.first_stage.regressors import RegressorAverage
from diffgbm.persistence.store import Part, Reader, Writer
from diffgbm.persistence.values import Stored, count, list_of, of_type, one_of

LINEAR = ("LinearRegression", "Ridge", "RidgeCV")
"""Classes of ``sklearn.linear_model`` whose prediction is one vector of coefficients and an intercept."""
NETWORKS = ("MLPRegressor",)
"""Classes of ``sklearn.neural_network``."""

ACTIVATIONS = ("identity", "logistic", "tanh", "relu")
"""Activations of ``MLPRegressor``."""


def write_regressors(average: RegressorAverage, writer: Writer) -> dict[str, Any]:
    """Store an average of regressors."""
    start = {"dense": writer.put(average.dense)}
    native = None if average.dense is None else _as_arrays(average, writer)
    if native is not None:
        return {**start, **native}
    models = [list(regressors) for regressors in average.models]
    return {**start, "form": "skops", "models": writer.regressors(models, "the regressor of a first-stage model")}


def read_regressors(stored: Stored, reader: Reader) -> Part:
    """Read an average of regressors."""
    dense = reader.maybe(stored["dense"], ("dense",))
    form = one_of(stored, "form", ("skops", *FORMS))
    if form == "skops":
        models = _checked(reader.regressors(of_type(stored, "models", str)))
    elif dense is None or dense.gives is None:
        raise ValueError("a linear model or network lacks its columns")
    else:
        models = FORMS[form](stored, reader, dense.gives)
    table = None if dense is None else dense.value
    return Part(RegressorAverage(models, table), None if dense is None else dense.takes, len(models))


def _checked(models: Any) -> tuple[tuple[Any, ...], ...]:
    """Check that skops constructed lists of regressors."""
    if not isinstance(models, list) or not models or not all(isinstance(each, list) and each for each in models):
        raise TypeError("regressors are not lists of regressors")
    if not all(callable(getattr(model, "predict", None)) for each in models for model in each):
        raise TypeError("a regressor has no method predict")
    return tuple(tuple(each) for each in models)


def _as_arrays(average: RegressorAverage, writer: Writer) -> dict[str, Any] | None:
    """Store regressors as arrays; return ``None`` if arrays do not describe them."""
    regressors = [model for each in average.models for model in each]
    first = regressors[0]
    if any(type(model) is not type(first) for model in regressors) or len({len(each) for each in average.models}) > 1:
        return None
    form = _form(type(first))
    weights = None if form is None else _weights(regressors, form)
    if weights is None:
        return None
    units, vectors = weights
    shape = (len(average.models), len(average.models[0]), len(vectors[0]))
    return {
        "form": form,
        "class": type(first).__name__,
        "units": units,
        "activation": first.activation if form == "network" else None,
        "weights": writer.array(np.array(vectors).reshape(shape)),
    }


def _form(kind: type) -> str | None:
    """Return the form of a class; by name, because importing scikit-learn's classes takes time."""
    if kind.__module__.startswith("sklearn.linear_model.") and kind.__name__ in LINEAR:
        return "linear"
    if kind.__module__.startswith("sklearn.neural_network.") and kind.__name__ in NETWORKS:
        return "network"
    return None


def _weights(models: Iterable[Any], form: str) -> tuple[list[int], list[Array]] | None:
    """Return the sizes of the layers and, for each model, all its numbers as one vector."""
    sizes: list[int] = []
    vectors = []
    for model in models:
        if form == "network" and model.out_activation_ == "identity":
            pairs = list(zip(model.coefs_, model.intercepts_, strict=True))
        elif form == "linear" and np.ndim(model.coef_) == 1:
            pairs = [(model.coef_, np.atleast_1d(np.float64(model.intercept_)))]
        else:
            return None
        arrays = [array for pair in pairs for array in pair]
        # another memory layout would sum in another order
        if not all(array.dtype == np.float64 and array.flags.c_contiguous for array in arrays):
            return None
        units = [len(pairs[0][0]), *(len(intercept) for _, intercept in pairs)]
        if sizes and units != sizes:
            return None
        sizes = units
        vectors.append(np.concatenate([array.ravel() for array in arrays]))
    return sizes, vectors


def _linear(stored: Stored, reader: Reader, width: int) -> tuple[tuple[Any, ...], ...]:
    from sklearn import linear_model

    make = getattr(linear_model, one_of(stored, "class", LINEAR))
    if stored["units"] != [width, 1] or stored["activation"] is not None:
        raise ValueError("a linear model does not fit its columns")
    weights = reader.array(stored, "weights", "<f8", (None, None, width + 1))

    def model(vector: Array) -> Any:
        regressor = make()
        regressor.coef_, regressor.intercept_ = vector[:-1].copy(), vector[-1]
        regressor.n_features_in_ = width
        return regressor

    return _each(weights, model)


def _networks(stored: Stored, reader: Reader, width: int) -> tuple[tuple[Any, ...], ...]:
    from sklearn.neural_network import MLPRegressor

    one_of(stored, "class", NETWORKS)
    activation = one_of(stored, "activation", ACTIVATIONS)
    units = [count({"units": n}, "units") for n in list_of(stored, "units", int)]
    if len(units) < 2 or units[0] != width or units[-1] != 1:
        raise ValueError("a network's layers do not fit its columns")
    sizes = [size for n, m in pairwise(units) for size in (n * m, m)]
    weights = reader.array(stored, "weights", "<f8", (None, None, sum(sizes)))

    def model(vector: Array) -> Any:
        regressor = MLPRegressor(hidden_layer_sizes=tuple(units[1:-1]), activation=activation)
        parts = [part.copy() for part in np.split(vector, np.cumsum(sizes)[:-1])]
        regressor.coefs_ = [part.reshape(n, -1) for n, part in zip(units, parts[::2], strict=False)]
        regressor.intercepts_ = parts[1::2]
        regressor.n_layers_, regressor.n_outputs_, regressor.out_activation_ = len(units), 1, "identity"
        regressor.n_features_in_ = width
        return regressor

    return _each(weights, model)


def _each(weights: Array, model: Callable[[Array], Any]) -> tuple[tuple[Any, ...], ...]:
    if 0 in weights.shape:
        raise ValueError("an average of no regressors")
    return tuple(tuple(model(vector) for vector in vectors) for vectors in weights)


FORMS: dict[str, Callable[[Stored, Reader, int], tuple[tuple[Any, ...], ...]]] = {
    "linear": _linear,
    "network": _networks,
}
"""Regressors that are stored as arrays, and how they are read."""
